"""From the answers f (n, c) of the columns of a code to scores (n, K) of the classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
LOSSES: dict[str, Callable[[Floats], Floats]] = {
    # half of the log-odds minimise the exponential loss
    "exponential": lambda z: np.asarray(np.exp(np.minimum(-z / 2, 300.0))),
    "hinge": lambda z: np.asarray(np.maximum(0.0, 1.0 - z)),
    "logistic": lambda z: np.asarray(np.logaddexp(0.0, -z)),
    "hamming": lambda z: np.asarray((1.0 - np.sign(z)) / 2),
}


def minus_loss(f: Floats, code: NDArray[np.int8], loss: str) -> Floats:
    """Minus the sum over the columns of loss(M f), for each class; columns that leave a class out cost loss(0)."""
    of = LOSSES[loss]
    at_zero = float(of(np.zeros(1))[0])
    right, wrong = of(f), of(-f)
    out = right @ (code == 1).T.astype(float) + wrong @ (code == -1).T.astype(float)
    return np.asarray(-(out + at_zero * (code == 0).sum(axis=1)))


def minus_weighted_loss(f: Floats, code: NDArray[np.int8], reliability: Floats) -> Floats:
    """Minus the mean over the columns of the logistic loss of M f, weighted for each class by how reliable they are, (K, c), for it.

    Loss-weighted decoding (Escalera, Pujol and Radeva 2010); columns that leave a class out have no weight for it. A class that all leave
    out is neither likely nor unlikely.
    """
    of = LOSSES["logistic"]
    total = reliability.sum(axis=1)
    weight = reliability / np.where(total > 0, total, 1.0)[:, None]
    out = of(f) @ np.where(code == 1, weight, 0.0).T + of(-f) @ np.where(code == -1, weight, 0.0).T
    return np.asarray(-(out + np.where(total > 0, 0.0, np.log(2))))


def decoded(f: Floats, words: Floats, how: str) -> Floats:
    """Scores (n, K) of classes whose code words are the columns of ``words`` (c, K).

    "linear": the product with the word; "hamming": minus the bits that differ; "loss": minus the logarithm of the exponential loss.
    """
    if how == "linear":
        return np.asarray(f @ words)
    if how == "hamming":
        return minus_loss(f, words.T.astype(np.int8), "hamming")
    return np.column_stack([-logsumexp(-word * f, axis=1) for word in words.T])


def votes(f: Floats, code: NDArray[np.int8]) -> Floats:
    """How many columns are for each class; an answer of 0 is for the side of 1."""
    said = np.where(f >= 0, 1, -1)
    return np.asarray((said == 1) @ (code == 1).T.astype(float) + (said == -1) @ (code == -1).T.astype(float))


def sums(f: Floats, code: NDArray[np.int8]) -> Floats:
    """The sum of the answers for each class."""
    return np.asarray(f @ code.T.astype(float))
