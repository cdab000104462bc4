"""Class probabilities from those of binary problems, each between two sets of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
MAX_STEPS = 200


def couple(log_odds: Floats, code: NDArray[np.int8], weight: Floats) -> Floats:
    """The p with the highest likelihood if column j says sum of p over +1, of the sum over -1 and +1, with probability sigma(log_odds).

    The generalised Bradley-Terry model (Huang, Weng and Lin 2006); ``weight`` (c,) are the rows behind each column. Over the pairs of
    classes it is pairwise coupling (Hastie and Tibshirani 1998): p_i <- p_i sum_j n_ij r_ij / sum_j n_ij p_i / (p_i + p_j).
    """
    inside, outside = (code == 1).astype(float), (code == -1).astype(float)  # (K, c)
    r = expit(log_odds)
    p = np.full((len(r), len(code)), 1.0 / len(code))
    moving = np.arange(len(r))  # rows stop one by one, so that none depends on the others
    tiny = np.finfo(float).tiny
    for _ in range(MAX_STEPS):
        old, said = p[moving], r[moving]
        plus, minus = np.maximum(old @ inside, tiny), np.maximum(old @ outside, tiny)
        gain = (weight * said / plus) @ inside.T + (weight * (1 - said) / minus) @ outside.T
        new = old * gain / ((weight / (plus + minus)) @ (inside + outside).T)
        new = np.maximum(new, tiny)
        new /= new.sum(axis=1, keepdims=True)
        p[moving] = new
        moving = moving[np.abs(new - old).max(axis=1) >= 1e-9]
        if not len(moving):
            break
    return p
