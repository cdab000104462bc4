"""Steps along a learner that answers with a number f in [-1, 1], one coefficient for each class.

With weights W (n, K) and Y = +1 at a row's class y and -1 elsewhere, the exponential loss after a step of coefficients a is

    sum_k sum_n W_nk exp(-a_k Y_nk f_n) = sum_k sum_n W_nk exp(a_k z_nk),    z_nk = -Y_nk f_n,

so every class has a convex sum of its own. Its least value is found by Newton's method, first on a histogram of z whose bins stand for
their centres of mass, then once more by the slope at the rows themselves: the first comes within a few parts in 10^5 of the root, and the
last step leaves the square of that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.maths.steps import KAPPA, MAX_STEP, half_log_odds

Floats = NDArray[np.float64]
N_BINS = 128
BLOCK = 4096  # rows whose sums are made together; those of the blocks are added in their order
CHUNK = 256  # rows whose exponentials are made together, classes and all
MAX_NEWTON = 60
CLOSE = 1e-5


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
def _sum_at(w, z, e, a):
    """sum_j w_j exp(a z_j) and its first two derivatives; e is room for the terms, which the compiler can do several at a time."""
    for j in range(e.size):
        e[j] = w[j] * exp_of_step(a * z[j])
    value, slope, curve = 0.0, 0.0, 0.0
    for j in range(e.size):
        value += e[j]
        slope += e[j] * z[j]
        curve += e[j] * z[j] * z[j]
    return value, slope, curve


@compiled_part
def _least(w, z, e, largest):
    """The a in [-largest, largest] of the least sum, that sum and its second derivative: Newton on the slope, kept in by halves."""
    low, high, a = -2.0 * largest, 2.0 * largest, 0.0  # of which the slope has the other sign, once it was asked
    value, curve = 0.0, 0.0
    for _ in range(MAX_NEWTON):
        value, slope, curve = _sum_at(w, z, e, a)
        if slope > 0.0:
            high = a
        else:
            low = a
        if (a == largest and slope <= 0.0) or (a == -largest and slope >= 0.0):  # the least sum is beyond
            break
        step = slope / curve if curve > 0.0 else 0.0
        if abs(step) <= CLOSE:  # the next would be about the square of it
            a -= step
            value -= 0.5 * slope * step
            break
        a = min(max(a - step, -largest), largest)
        if not low < a < high:
            a = min(max(0.5 * (low + high), -largest), largest)
    return min(max(a, -largest), largest), value, curve


@compiled
def _binned_steps(f, W, y, largest, a, curve):
    """The steps of all classes by the histogram, the second derivatives there, and the loss."""
    n, K = W.shape
    others = np.ones(K)
    total = np.zeros((N_BINS, 2 * K))
    part = np.empty((N_BINS, 2 * K))
    for begin in range(0, n, BLOCK):
        part[:] = 0.0
        _add_to_histogram(f, W, y, begin, min(begin + BLOCK, n), others, part)
        total += part
    w, z, e = np.empty(N_BINS), np.empty(N_BINS), np.empty(N_BINS)
    loss = 0.0
    for k in range(K):
        used = 0
        for b in range(N_BINS):
            if total[b, k] > 0.0:
                w[used], z[used] = total[b, k], total[b, K + k] / total[b, k]
                used += 1
        a[k], value, curve[k] = _least(w[:used], z[:used], e[:used], largest)
        loss += value
    return loss


@compiled_part
def _exponents(numbers, vector, y, out):
    """``vector * number`` at each row, but minus that at each row's class, row after row."""
    K = vector.size
    for i in range(y.size):
        z = numbers[i]
        row = out[i * K : (i + 1) * K]
        for k in range(K):
            row[k] = vector[k] * z
        row[y[i]] = -row[y[i]]


@compiled
def _slopes(f, W, y, a, out):
    """The derivative of each class's sum at a, added block by block."""
    n, K = W.shape
    weights = W.reshape(-1)
    x, part = np.empty(CHUNK * K), np.empty(K)
    out[:] = 0.0
    for begin in range(0, n, CHUNK):
        end = min(begin + CHUNK, n)
        of = weights[begin * K : end * K]
        _exponents(f[begin:end], a, y[begin:end], x)
        for j in range(of.size):
            x[j] = of[j] * exp_of_step(x[j])
        part[:] = 0.0
        for i in range(end - begin):
            z = f[begin + i]
            row = x[i * K : (i + 1) * K]
            for k in range(K):
                part[k] += row[k] * z
            own = y[begin + i]
            part[own] -= 2.0 * row[own] * z
        for k in range(K):
            out[k] += part[k]


@compiled
def _scaled_by_number(values, vector, numbers, y, out):
    n, K = values.shape
    old, new = values.reshape(-1), out.reshape(-1)
    x = np.empty(CHUNK * K)
    for begin in range(0, n, CHUNK):
        end = min(begin + CHUNK, n)
        _exponents(numbers[begin:end], vector, y[begin:end], x)
        before, after = old[begin * K : end * K], new[begin * K : end * K]
        for j in range(before.size):
            after[j] = before[j] * exp_of_step(x[j])


def binned_steps(f: Floats, W: Floats, y: NDArray[np.intp], largest: float = MAX_STEP) -> tuple[Floats, float]:
    """The coefficient of each class within a few parts in 10^5 and, below it, the second derivative there, (2, K); and the loss."""
    near = np.empty((2, W.shape[1]))
    return near, float(_binned_steps(f, W, y, largest, near[0], near[1]))


def exact_steps(f: Floats, W: Floats, y: NDArray[np.intp], largest: float = MAX_STEP, near: Floats | None = None) -> tuple[Floats, bool]:
    """The coefficient of each class that makes the loss least, within +-largest, and whether one of them was cut off there.

    ``near`` is what :func:`binned_steps` found, where that is known.
    """
    a, curve = binned_steps(f, W, y, largest)[0] if near is None else near
    slope = np.empty_like(a)
    _slopes(f, np.ascontiguousarray(W), y, a, slope)
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


def scaled_by_number(values: Floats, vector: Floats, numbers: Floats, y: NDArray[np.integer]) -> Floats:
    """``values * exp(vector * number)`` at each row, but ``values / exp(vector * number)`` at each row's class: (n, K)."""
    out = np.empty_like(values)
    _scaled_by_number(values, vector, numbers, y, out)
    return out
