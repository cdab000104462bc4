"""The errors that C4.5 expects a leaf to make on new rows: the upper limit of a confidence interval of the training errors.

With n the weight of the leaf, e that of its errors, CF the confidence and z the normal quantile of 1 - CF, the errors to be added are

    e = 0          : n (1 - CF^(1/n))
    0 < e < 1      : linear between e = 0 and e = 1
    e + 1/2 >= n   : max(n - e, 0)
    else           : n (f + z²/2n + z sqrt(f/n - f²/n + z²/4n²)) / (1 + z²/n) - e, where f = (e + 1/2) / n
"""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part


@compiled_part
def limit_of_errors(n, e, z):
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    f = (e + 0.5) / n
    square = z * z
    rate = (f + square / (2 * n) + z * np.sqrt(f / n - f * f / n + square / (4 * n * n))) / (1 + square / n)
    return rate * n - e


@compiled
def added_errors(n, e, confidence, z):
    """What is added to the ``e`` training errors of a leaf of weight ``n``."""
    if e >= 1:
        return limit_of_errors(n, e, z)
    none = n * (1 - confidence ** (1 / n))
    return none if e == 0 else none + e * (limit_of_errors(n, 1.0, z) - none)
