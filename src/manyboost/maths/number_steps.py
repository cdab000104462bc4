"""Steps along a learner that answers with a number f in [-1, 1], one coefficient for each class.

With weights W (n, K) and Y = +1 at a row's class y and -1 elsewhere, the exponential loss after a step of coefficients a is

    sum_k sum_n W_nk exp(-a_k Y_nk f_n) = sum_k sum_n W_nk exp(a_k z_nk),    z_nk = -Y_nk f_n,

so every class has a convex sum of its own. Its least value is found by Newton's method, first on a histogram of z whose bins stand for
their centres of mass, then once more on the rows themselves: the first comes within a few parts in 10^5 of the root, and Newton's error is
squared by each step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.maths.steps import KAPPA, MAX_STEP, half_log_odds

Floats = NDArray[np.float64]
N_BINS = 128
BLOCK = 4096  # rows whose sums are made together; those of the blocks are added in their order
MAX_NEWTON = 60


@compiled_part
def exp_of_step(x):
    """e^x to 13 digits for |x| up to 8: the 512th power of a Taylor sum, which the compiler can do for several classes at a time."""
    t = x * 0.001953125
    p = 1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6.0 + t * (1.0 / 24.0 + t * (1.0 / 120.0 + t * (1.0 / 720.0))))))
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p


@compiled_part
def _bin_of(z):
    return min(np.int64((z + 1.0) * (0.5 * N_BINS)), N_BINS - 1)


@compiled_part
def _add_to_histogram(f, W, y, begin, end, others, histogram):
    """Weights and weighted z of rows ``begin`` to ``end``, by bins of z: (bins, 2 K); ``others`` is one everywhere."""
    K = W.shape[1]
    for i in range(begin, end):
        z = f[i]
        own = y[i]
        others[own] = 0.0
        row = histogram[_bin_of(z)]
        for k in range(K):
            row[k] += W[i, k] * others[k]
        for k in range(K):
            row[K + k] += W[i, k] * others[k] * z
        others[own] = 1.0
        row = histogram[_bin_of(-z)]
        row[own] += W[i, own]
        row[K + own] -= W[i, own] * z


@compiled_part
def _sum_at(w, z, n, a):
    """sum_j w_j exp(a z_j) and its first two derivatives."""
    value, slope, curve = 0.0, 0.0, 0.0
    for j in range(n):
        e = w[j] * exp_of_step(a * z[j])
        value += e
        slope += e * z[j]
        curve += e * z[j] * z[j]
    return value, slope, curve


@compiled_part
def _least(w, z, n, largest):
    """The a in [-largest, largest] of the least sum, and that sum: Newton on its rising slope, kept in by halves."""
    value, slope, _ = _sum_at(w, z, n, largest)
    if slope <= 0.0:
        return largest if n else 0.0, value
    value, slope, _ = _sum_at(w, z, n, -largest)
    if slope >= 0.0:
        return -largest, value
    low, high, a = -largest, largest, 0.0
    for _ in range(MAX_NEWTON):
        value, slope, curve = _sum_at(w, z, n, a)
        if slope > 0.0:
            high = a
        else:
            low = a
        step = slope / curve if curve > 0.0 else math.inf
        if abs(step) <= 1e-7:
            break
        a = a - step if low < a - step < high else 0.5 * (low + high)
    return a, value


@compiled
def _binned_steps(f, W, y, largest, a):
    """The steps of all classes by the histogram, and the loss after them."""
    n, K = W.shape
    others = np.ones(K)
    total = np.zeros((N_BINS, 2 * K))
    part = np.empty((N_BINS, 2 * K))
    for begin in range(0, n, BLOCK):
        part[:] = 0.0
        _add_to_histogram(f, W, y, begin, min(begin + BLOCK, n), others, part)
        total += part
    w, z = np.empty(N_BINS), np.empty(N_BINS)
    loss = 0.0
    for k in range(K):
        used = 0
        for b in range(N_BINS):
            if total[b, k] > 0.0:
                w[used], z[used] = total[b, k], total[b, K + k] / total[b, k]
                used += 1
        a[k], value = _least(w, z, used, largest)
        loss += value
    return loss


@compiled
def _derivatives(f, W, y, a, slope, curve):
    """First and second derivative of each class's sum at a, added block by block."""
    n, K = W.shape
    sign = np.ones(K)
    first, second = np.empty(K), np.empty(K)
    slope[:] = 0.0
    curve[:] = 0.0
    for begin in range(0, n, BLOCK):
        first[:] = 0.0
        second[:] = 0.0
        for i in range(begin, min(begin + BLOCK, n)):
            own = y[i]
            sign[own] = -1.0
            for k in range(K):
                z = f[i] * sign[k]
                e = W[i, k] * exp_of_step(a[k] * z) * z
                first[k] += e
                second[k] += e * z
            sign[own] = 1.0
        slope += first
        curve += second


@compiled
def _scaled_by_number(values, vector, numbers, y, out):
    sign = np.ones(vector.size)
    for i in range(y.size):
        own = y[i]
        sign[own] = -1.0
        for k in range(vector.size):
            out[i, k] = values[i, k] * exp_of_step(vector[k] * (numbers[i] * sign[k]))
        sign[own] = 1.0


def binned_steps(f: Floats, W: Floats, y: NDArray[np.intp], largest: float = MAX_STEP) -> tuple[Floats, float]:
    """The coefficient of each class, (K,), within a few parts in 10^5, and the loss after the step."""
    a = np.empty(W.shape[1])
    return a, float(_binned_steps(f, W, y, largest, a))


def exact_steps(f: Floats, W: Floats, y: NDArray[np.intp], largest: float = MAX_STEP) -> tuple[Floats, bool]:
    """The coefficient of each class that makes the loss least, within +-largest, and whether one of them was cut off there."""
    a, _ = binned_steps(f, W, y, largest)
    slope, curve = np.empty_like(a), np.empty_like(a)
    _derivatives(f, W, y, a, slope, curve)
    inside = (np.abs(a) < largest) & (curve > 0)
    a = np.clip(a - np.where(inside, slope, 0.0) / np.where(inside, curve, 1.0), -largest, largest)
    return a, bool((np.abs(a) == largest).any())


def bound_steps(f: Floats, W: Floats, y: NDArray[np.intp]) -> tuple[Floats, bool]:
    """The same by the chord that bounds each exponential, half the log-odds of ``sum W (1 - z) / 2`` against ``sum W (1 + z) / 2``."""
    towards = -np.einsum("n,nk->k", f, W)  # - sum W z, but for the rows' own classes
    np.add.at(towards, y, 2.0 * f * W[np.arange(len(y)), y])
    total = W.sum(axis=0)
    floor = KAPPA * total
    a = half_log_odds(np.maximum((total + towards) / 2, floor), np.maximum((total - towards) / 2, floor))
    a = np.nan_to_num(a, posinf=0.0, neginf=0.0)
    return a, bool((np.abs(a) >= MAX_STEP * (1 - 1e-9)).any())


def scaled_by_number(values: Floats, vector: Floats, numbers: Floats, y: NDArray[np.intp]) -> Floats:
    """``values * exp(vector * number)`` at each row, but ``values / exp(vector * number)`` at each row's class: (n, K)."""
    out = np.empty_like(values)
    _scaled_by_number(values, vector, numbers, y, out)
    return out
