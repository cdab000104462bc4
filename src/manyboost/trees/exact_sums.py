"""Sums that do not depend on the order, the threads or the workers that made them.

Row statistics are put once on a grid of a power of two and are then integers, so histograms, sibling subtraction and leaf sums are
exact int64. Two grids are in use:

* the fine grid spends 62 bits on the total: what leaves are summed on, and histograms;
* the coarse grid spends 24 bits on the largest row: what random thresholds are compared on. Blocks of 127 such rows add up
  in int32 without overflow, which keeps eight lanes of a vector register at work.

The fine grid follows from counts of binary exponents, which are integers themselves: they too are the same in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.trees.statistics import Floats, Statistics

TOTAL_BITS = 62
COARSE_BITS = 24
COARSE_BLOCK = 127


@compiled
def _count_exponents(values, counts):
    bits = values.view(np.uint64)
    for i in range(bits.size):
        counts[(bits[i] >> np.uint64(52)) & np.uint64(0x7FF)] += 1


@compiled
def _round_to_grid(values, scale, out):
    for i in range(values.size):
        out[i] = np.int64(np.rint(values[i] * scale))


@compiled
def _round_to_coarse_grid(values, scale, out):
    for i in range(values.size):
        out[i] = np.int32(np.rint(values[i] * scale))


@compiled
def _sum_leaves(dense, label, weight, leaf, scale, sums):
    """Add every row's statistics, rounded to the grid, to the sums of its leaf."""
    n_dense = dense.shape[1]
    for i in range(dense.shape[0]):
        row = sums[leaf[i]]
        for s in range(n_dense):
            row[s] += np.int64(np.rint(dense[i, s] * scale))
        if label.size:
            row[n_dense + label[i]] += np.int64(np.rint(weight[i] * scale))


def fine_exponent(*arrays: Floats) -> int:
    """The e for which the absolute total of all values, times 2**e, has at most 62 bits."""
    counts = np.zeros(2048, np.int64)
    for array in arrays:
        _count_exponents(np.ascontiguousarray(array).reshape(-1), counts)
    used = np.flatnonzero(counts)
    used = used[used > 0]  # exponent 0: zeros and denormal numbers
    if not len(used):
        return 0
    lowest = int(used[0])
    bound = sum(int(counts[e]) << (int(e) - lowest) for e in used)  # in units of 2**(lowest - 1022)
    return int(np.clip(TOTAL_BITS - (bound.bit_length() + lowest - 1022), -1000, 1000))


def on_fine_grid(values: Floats, exponent: int) -> NDArray[np.int64]:
    """The values as whole multiples of 2**-exponent."""
    out = np.empty(values.shape, np.int64)
    _round_to_grid(np.ascontiguousarray(values).reshape(-1), 2.0**exponent, out.reshape(-1))
    return out


def coarse_exponent(*arrays: Floats) -> int:
    """The e for which the largest absolute value, times 2**e, has at most 24 bits."""
    largest = max((float(np.abs(array).max(initial=0.0)) for array in arrays), default=0.0)
    return int(np.clip(COARSE_BITS - np.frexp(largest)[1], -1000, 1000)) if largest else 0


def on_coarse_grid(values: Floats, exponent: int) -> NDArray[np.int32]:
    """The values as whole multiples of 2**-exponent, in 32 bits."""
    out = np.empty(values.shape, np.int32)
    _round_to_coarse_grid(np.ascontiguousarray(values).reshape(-1), 2.0**exponent, out.reshape(-1))
    return out


def sum_leaves(statistics: Statistics, leaf: NDArray[np.int32], n_leaves: int) -> Floats:
    """The statistics summed over the rows of each leaf, exact but for one rounding of each row: (L, S)."""
    exponent = fine_exponent(statistics.dense, statistics.weight)
    sums = np.zeros((n_leaves, statistics.size), np.int64)
    _sum_leaves(statistics.dense, statistics.label, statistics.weight, leaf, 2.0**exponent, sums)
    return np.ldexp(sums.astype(np.float64), -exponent)


def exact_total(values: Floats) -> float:
    """The total of all values, the same for any order of them."""
    exponent = fine_exponent(values)
    return float(np.ldexp(float(on_fine_grid(values, exponent).sum()), -exponent))
