"""Steps: how far to go along a weak learner."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]
ROOT_TOLERANCE = 1e-15
KAPPA = 1e-6  # errors below this count as none, and above one minus this as all
MAX_STEP = 0.5 * float(np.log((1 - KAPPA) / KAPPA))  # half the log-odds of such an error
NO_EDGE = 1e-10  # edges and steps below this are roundings of none: what a leaf adds is rounded, too


def half_log_odds(right: Floats, wrong: Floats, smoothing: float | Floats = 0.0) -> Floats:
    """Half the log-odds of the weight that is right against the weight that is wrong."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 0.5 * np.log((right + smoothing) / (wrong + smoothing))


def confidences(W_plus: Floats, W_minus: Floats, smoothing: float, largest: float) -> tuple[Floats, float, bool]:
    """Half the log-odds of the weights for and against, kept within +-largest; the largest of them, and whether one was cut off.

    Of a leaf without weight it is 0.
    """
    c = half_log_odds(W_plus, W_minus, smoothing)
    if smoothing == 0.0:
        c[np.isnan(c)] = 0.0
    most = float(np.abs(c).max())
    return (np.clip(c, -largest, largest), largest, True) if most > largest else (c, most, False)


def clipped_error(error: float) -> tuple[float, bool]:
    """The error kept in [kappa, 1 - kappa], and whether that changed it."""
    kept = min(max(error, KAPPA), 1 - KAPPA)
    return kept, kept != error


def votes(right: Floats, wrong: Floats) -> Floats:
    """+1 where the weight for it is not less than that against it, else -1; what is less by rounding is not less."""
    return np.where(right - wrong >= -NO_EDGE * (right.sum() + wrong.sum()), 1.0, -1.0)


def exponential_step(q: Floats, v: Floats, largest: float) -> tuple[float, bool]:
    """The a that minimises sum_j q_j e^{-a v_j} for q >= 0, kept within +-largest, and whether that was needed.

    The sum is convex in a, so its slope has one root at most; none where all v with weight have one sign.
    """

    def slope(a: float) -> float:
        return -float((q * v * np.exp(-a * v)).sum())

    if slope(largest) <= 0:
        return largest, True
    if slope(-largest) >= 0:
        return -largest, True
    return float(brentq(slope, -largest, largest, xtol=1e-15, rtol=4 * np.finfo(float).eps)), False


def separator_root(s: int, K: int, A1: float, e1: float, A2: float, e2: float) -> tuple[float, bool]:
    """The u = ln R of PIBoost's polynomial, and whether it was cut off because there is none or it is too large.

    g(u) = (K-s) (e1 e^{(K-s)u} - (A1-e1) e^{-(K-s)u}) + s (e2 e^{su} - (A2-e2) e^{-su}) rises in u; its root lies between the roots of
    its two parts. The polynomial itself is never expanded. It has no root where nothing is mistaken, and u is then that of an error of
    KAPPA. Where nothing is mistaken in S alone it has one, many times as large when K is: S would lose all its weight at one step, and a
    tree that makes mistakes would outvote those that make none. So that u is the largest of all.
    """
    r = K - s
    cap = 0.5 * math.log((1 - KAPPA) / KAPPA) / r
    total = A1 + A2
    right1, right2 = max(A1 - e1, 0.0), max(A2 - e2, 0.0)  # sums of many leaves, of which one may be rounded up and the other down
    if e1 + e2 <= KAPPA * total:
        return cap, True
    if right1 + right2 <= KAPPA * total:
        return -cap, True

    ends = []
    for good, bad, rate in ((right1, e1, r), (right2, e2, s)):
        if good > 0 and bad > 0:
            ends.append(math.log(good / bad) / (2 * rate))
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)

    def slope(u: float) -> tuple[float, float]:
        """g and its derivative; with many classes e^{(K-s)u} overflows far from the root."""
        x1, x2 = r * u, s * u
        grown1 = math.exp(x1 if -700.0 < x1 < 700.0 else math.copysign(700.0, x1))
        grown2 = math.exp(x2 if -700.0 < x2 < 700.0 else math.copysign(700.0, x2))
        of1, of2, against1, against2 = e1 * grown1, e2 * grown2, right1 / grown1, right2 / grown2
        return r * (of1 - against1) + s * (of2 - against2), r * r * (of1 + against1) + s * s * (of2 + against2)

    if len(ends) < 2:  # one part has no root, and the other's is no end of the interval
        width = 1.0 / r
        while slope(low)[0] > 0:
            low, width = low - width, 2 * width
        width = 1.0 / r
        while slope(high)[0] < 0:
            high, width = high + width, 2 * width
    start, stiff = 0.5 * (low + high), 2 * r * math.sqrt(e1 * right1)
    if stiff > 0 and len(ends) == 2:  # the first part is 2r sqrt(..) sinh(r (u - ends[0])); the second hardly changes meanwhile
        start = ends[0] - math.asinh(slope(ends[0])[0] / stiff) / r
    u = increasing_root(slope, low, high, start)
    return (u, False) if abs(u) <= cap else (math.copysign(cap, u), True)


def increasing_root(function: Callable[[float], tuple[float, float]], low: float, high: float, start: float) -> float:
    """The root between ``low`` and ``high`` of an increasing function that is given with its derivative, sought from ``start`` on.

    By Newton's method, or by halves where that would leave the interval or come no nearer.
    """
    x, last = min(max(start, low), high), high - low
    while low < high:
        value, derivative = function(x)
        if value == 0:
            break
        low, high = (low, x) if value > 0 else (x, high)
        step = value / derivative if derivative > 0 else math.inf
        is_near = abs(step) <= ROOT_TOLERANCE * max(abs(x), 1.0)  # and x itself may be an end of the interval by now
        if not is_near and (not low < x - step < high or abs(step) > 0.5 * last):
            step = x - 0.5 * (low + high)
            is_near = abs(step) <= ROOT_TOLERANCE * max(abs(x), 1.0)
        if is_near:
            return x - step
        x, last = x - step, abs(step)
    return x


def length_of_least_loss(slope: Callable[[float], tuple[float, float]], longest: float) -> tuple[float, bool]:
    """Where in (0, longest] a rising slope vanishes, and whether it was cut off because it does not.

    ``slope(a)`` is the first and the second derivative at a; the first is negative at 0. Where the loss grows too large for a number its
    slope is as good as infinite.
    """

    def at(a: float) -> tuple[float, float]:
        first, second = slope(a)
        return (first, second) if math.isfinite(first) and math.isfinite(second) else (math.inf, math.inf)

    low, high = 0.0, min(1.0, longest)
    while at(high)[0] < 0:
        if high == longest:
            return longest, True
        low, high = high, min(2 * high + 1.0, longest)
    return increasing_root(at, low, high, (low + high) / 2), False
