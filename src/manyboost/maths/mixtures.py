"""Weights of several sources of probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PSEUDO_ROWS = 5.0  # of each source: few rows cannot rule one out
MAX_STEPS, CHANGE = 1000, 1e-6


def mixture_weights(sources: Sequence[Floats], y: NDArray[np.integer], weight: Floats, n_rows: float) -> Floats:
    """The weights of the mixture of probabilities, each (n, K), that makes the classes y of ``n_rows`` rows most likely.

    By expectation maximisation: a source gets the share of the rows that it explains. To these come a few rows of each source that only
    it can explain, so that the weights are equal without rows and all but free of them with many.

    Examples
    --------
    >>> import numpy as np
    >>> sure, unsure = np.tile([0.9, 0.1], (500, 1)), np.full((500, 2), 0.5)
    >>> mixture_weights([sure, unsure], np.zeros(500, int), np.ones(500), 500).round(2)
    array([0.98, 0.02])
    """
    shares = np.full(len(sources), 1 / len(sources))
    if not len(y):
        return shares
    likelihood = np.column_stack([np.maximum(p[np.arange(len(y)), y], np.finfo(float).tiny) for p in sources])
    count = n_rows * weight / weight.sum()
    for _ in range(MAX_STEPS):
        explained = shares * likelihood
        found = count @ (explained / explained.sum(axis=1, keepdims=True)) + PSEUDO_ROWS
        found /= found.sum()
        moved, shares = np.abs(found - shares).max(), found
        if moved < CHANGE:
            break
    return np.asarray(shares)
