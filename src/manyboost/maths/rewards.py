"""Costs of labels as a learner of labels can use them: what is earned by saying each label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rewards_of(costs: Floats) -> Floats:
    """``max_m A[i, m] - A[i, l]``: rows copied for every label with these weights make a classifier lower the cost (Bylander, 2005)."""
    return np.asarray(costs.max(axis=1, keepdims=True) - costs)


def hamming_rewards(D: Floats, y: NDArray[np.intp]) -> Floats:
    """Those of AdaBoost.MH's loss: another label than the true one mistakes both, with weights D (n, K)."""
    rows = np.arange(len(y))
    costs = D + D[rows, y][:, None]
    costs[rows, y] = 0.0
    return rewards_of(costs)
