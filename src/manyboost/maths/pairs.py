"""Pairs of a row and a class that is not its own: weights U, (K, n), zero at each row's own class y; margins ``rho_il = F_y - F_l``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]


def lead_over_own(scores: Floats, y: Classes) -> Floats:
    """``F_l - F_y``, minus the margins: (K, n)."""
    return np.asarray(scores - scores[y, np.arange(len(y))])


def pulls(U: Floats, y: Classes) -> Floats:
    """Minus the slope in the scores of a loss whose slope in the margins is -U: (K, n).

    All of a row's weight pulls its own class up, the weight of each pair the other class down. A column of +1 and -1 for class c has the
    score ``sum_i h_i pulls_ci``: by how much the loss falls for a small coefficient.
    """
    out = -U
    out[y, np.arange(len(y))] = U.sum(axis=0)
    return out


def exponential_pairs(scores: Floats, y: Classes, weight: Floats) -> Floats:
    """``weight_i exp(-rho_il)``."""
    U = weight * np.exp(np.minimum(lead_over_own(scores, y), 500.0))  # a search may try coefficients far out
    U[y, np.arange(len(y))] = 0.0
    return U


def smoothed_hinge(scores: Floats, y: Classes, weight: Floats, cost: Floats, temperature: float) -> tuple[float, float, Floats]:
    """The hinge loss ``sum_i weight_i max(0, max_l cost_li - rho_il)``, its soft maximum, and that one's slope in minus the margins.

    The soft maximum ``T ln(1 + sum_l exp((cost - rho) / T))`` is at most ``T ln K`` above the hinge.
    """
    rows = np.arange(len(y))
    short = cost + lead_over_own(scores, y)
    short[y, rows] = 0.0
    top = short.max(axis=0)
    shares = np.exp((short - top) / temperature)
    total = shares.sum(axis=0)
    hinge = weight * top
    U = shares * (weight / total)
    U[y, rows] = 0.0
    return float(hinge.sum()), float((hinge + temperature * weight * np.log(total)).sum()), U


def worst_pairs(scores: Floats, y: Classes, cost: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The hinge of each row, (n,), and the pairs (K, n) that have it, none where it is zero."""
    rows = np.arange(len(y))
    short = cost + lead_over_own(scores, y)
    short[y, rows] = 0.0
    top = short.max(axis=0)
    worst = (short >= top - 1e-9 * (1 + top)) & (top > 1e-12)
    worst[y, rows] = False
    return top, worst


def shared_out(worst: NDArray[np.bool_], weight: Floats) -> Floats:
    """The weight of each row in equal parts to its worst pairs, so that no order of the classes matters: (K, n)."""
    return np.asarray(worst * (weight / np.maximum(worst.sum(axis=0), 1)))
