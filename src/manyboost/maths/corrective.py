"""Coefficients of members that say +1 or -1: one after the other, or all at once under a price on their sum.

All are minimised over w >= 0; ``said.scores(w)`` are the scores, and the slope of a loss in w is ``-said.along(pulls)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import xlogy

from manyboost.maths.pairs import exponential_pairs, pulls, smoothed_hinge
from manyboost.maths.responses import Responses
from manyboost.maths.steps import half_log_odds

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]
MAX_HALVINGS = 12
UNIT = 2.0**-40  # of the values that a search sees


@dataclass(frozen=True)
class Solution:
    """Coefficients w (J,), weights of pairs U (K, n) there, the value of the objective, and how far above its least it may be."""

    w: Floats
    U: Floats
    value: float
    gap: float


def in_turn(said: Responses, y: Classes, U: Floats, smoothing: float) -> Floats:
    """One exact step for each coefficient, the steepest first, the weights of pairs U being brought up to date in between.

    ``w = 1/2 ln(V+ / V-)``, where V+ and V- are the weights of the pairs whose margin the column raises and lowers; to both,
    ``smoothing`` of their sum is added. A step that would be negative is none.
    """
    U, w = U.copy(), np.zeros(said.n_coefficients)
    slope = said.along(pulls(U, y))
    for j in np.argsort(-slope, kind="stable"):
        c, h = said.column[j], said.signs[said.member[j]]
        inside, outside = np.flatnonzero(y == c), np.flatnonzero(y != c)
        for_class, against = U[:, inside].sum(axis=0), U[c, outside]
        up, down = h[inside] > 0, h[outside] < 0
        raised = float(for_class[up].sum() + against[down].sum())
        lowered = float(for_class[~up].sum() + against[~down].sum())
        if raised <= lowered:
            continue
        w[j] = half_log_odds(np.array(raised), np.array(lowered), smoothing * (raised + lowered))
        U[:, inside] *= np.exp(-w[j] * h[inside])
        U[c, outside] *= np.exp(w[j] * h[outside])
    return w


def _minimise(value_and_slope: Callable[[Floats], tuple[float, Floats]], w: Floats, steepest: float, max_iter: int) -> Floats:
    """The w >= 0 where no slope that a step could follow is above ``steepest``, if it is reached; never a higher value than at the given w.

    The search branches, so that a last bit could lead it elsewhere along a flat valley. It sees rounded numbers only, and coefficients in
    an order of its own: a row of weight two and two rows, or classes in another order, then make it go the same way.
    """
    unit = np.ldexp(1.0, np.frexp(steepest)[1] - 18)

    def rounded(at: Floats) -> tuple[float, Floats]:
        value, slope = value_and_slope(at)
        return round(value / UNIT) * UNIT, np.rint(slope / unit) * unit

    before, slope = rounded(w)
    order = np.lexsort((w, slope))
    back = np.argsort(order)

    def in_order(at: Floats) -> tuple[float, Floats]:
        value, slope = rounded(at[back])
        return value, slope[order]

    at, value = w[order], before
    while max_iter > 0:  # it may think itself done where the value hardly falls, though slopes are steep: begun anew there it goes on
        found = minimize(
            in_order, at, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(w),
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": steepest, "ftol": 1e-10, "maxcor": 20},
        )  # fmt: skip
        fell = value - found.fun
        if fell >= 0:
            at, value = np.asarray(found.x), found.fun
        if fell <= 2 * UNIT or np.abs(np.maximum(found.x - found.jac, 0.0) - found.x).max() <= steepest:
            break
        max_iter -= max(1, found.nit)
    return at[back]


def _scaled_down(U: Floats, said: Responses, y: Classes, price: float) -> Floats:
    """U, made smaller until no coefficient would lower the loss by more than its price: then it is a solution of the dual."""
    return np.asarray(U / max(1.0, float(said.along(pulls(U, y)).max()) / price))


def minimise_exponential(said: Responses, y: Classes, weight: Floats, price: float, w: Floats, max_iter: int) -> Solution:
    """The least ``sum_il weight_i exp(-rho_il) + price sum w``, from w on.

    Since ``weight e^-rho = max_U U (1 - ln(U / weight) - rho)``, every solution U of the dual bounds it by ``sum U (1 - ln(U / weight))``.
    """

    def value_and_slope(at: Floats) -> tuple[float, Floats]:
        U = exponential_pairs(said.scores(at), y, weight)
        return float(U.sum()) + price * float(at.sum()), price - said.along(pulls(U, y))

    w = _minimise(value_and_slope, w, 1e-3 * price, max_iter)
    U = exponential_pairs(said.scores(w), y, weight)
    value, dual = float(U.sum()) + price * float(w.sum()), _scaled_down(U, said, y, price)
    return Solution(w, U, value, value - float((dual - xlogy(dual, dual / weight)).sum()))


def minimise_hinge(
    said: Responses, y: Classes, weight: Floats, cost: Floats, price: float, w: Floats, tolerance: float, max_iter: int
) -> Solution:
    """The least ``sum_i weight_i max(0, max_l cost_li - rho_il) + price sum w``, from w on, by soft maxima.

    At the minimum of a soft maximum its slopes U are a solution of the linear programme's dual, so that ``sum U cost`` is below the least
    value; where a slope is still too steep, U is scaled down until it is one. The temperature is halved until the gap is ``tolerance``.
    """

    def hinge(at: Floats) -> float:
        return smoothed_hinge(said.scores(at), y, weight, cost, 1.0)[0] + price * float(at.sum())

    best, value, bound, U = w, hinge(w), -np.inf, np.zeros((said.K, len(y)))
    temperature, steepest = 4 * tolerance, tolerance * price / 2  # U is scaled down by what slopes are too steep, and the bound with it
    for _ in range(MAX_HALVINGS):

        def value_and_slope(at: Floats, temperature: float = temperature) -> tuple[float, Floats]:
            _, soft, U = smoothed_hinge(said.scores(at), y, weight, cost, temperature)
            return soft + price * float(at.sum()), price - said.along(pulls(U, y))

        w = _minimise(value_and_slope, w, steepest, max_iter)
        if hinge(w) < value:
            best, value = w, hinge(w)
        U = _scaled_down(smoothed_hinge(said.scores(w), y, weight, cost, temperature)[2], said, y, price)
        bound = max(bound, float((U * cost).sum()))
        if value - bound <= tolerance:
            break
        temperature, steepest = temperature / 2, steepest / 2
    shares = np.rint(U / weight * 2.0**20) / 2.0**20  # rows with next to no weight must not decide between splits that are equal
    return Solution(best, weight * shares, value, value - bound)
