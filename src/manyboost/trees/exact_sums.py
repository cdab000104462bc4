"""Sums that do not depend on the order, the threads or the workers that made them.

Row statistics are put once on a grid of a power of two and are then integers, so histograms, sibling subtraction and leaf sums are
exact int64. Two grids are in use:

* the fine grid spends 62 bits on the total: what leaves are summed on, and histograms;
* the coarse grid spends 24 bits on the largest row: what random thresholds are compared on. Blocks of 127 such rows add up
  in int32 without overflow, which keeps eight lanes of a vector register at work.

The fine grid follows from counts of binary exponents, which are integers themselves: they too are the same in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.threads import over_rows
from manyboost.trees.statistics import Floats, Statistics

TOTAL_BITS = 62
COARSE_BITS = 24
COARSE_BLOCK = 127
Empty = Callable[[Any, Any], NDArray[Any]]


@compiled_part
def _count_exponents(values, counts):
    """Count binary exponents; four tables take turns, so that equal exponents do not wait for each other."""
    bits = values.view(np.uint64)
    shift, mask = np.uint64(52), np.uint64(0x7FF)
    for q in range(bits.size >> 2):
        i = np.uint64(4 * q)
        counts[(bits[i] >> shift) & mask] += 1
        counts[((bits[i + np.uint64(1)] >> shift) & mask) + np.uint64(2048)] += 1
        counts[((bits[i + np.uint64(2)] >> shift) & mask) + np.uint64(4096)] += 1
        counts[((bits[i + np.uint64(3)] >> shift) & mask) + np.uint64(6144)] += 1
    for i in range(bits.size & ~3, bits.size):
        counts[(bits[i] >> shift) & mask] += 1


@compiled_part
def _n_bits(value):
    n = 0
    while value > 0:
        value >>= 1
        n += 1
    return n


@compiled_part
def _bits_of_largest(values):
    """The largest absolute value as it is stored, its exponent in front."""
    bits = values.view(np.int64)
    largest = np.int64(0)
    for i in range(bits.size):  # in order of size, as integers, which vector registers compare
        largest = max(largest, bits[i] & np.int64(0x7FFFFFFFFFFFFFFF))
    return largest


@compiled_part
def _sum_of_powers(values, unit):
    """The sum of ``2**(e - unit)`` over the binary exponents e of all values, without those below ``unit``."""
    bits = values.view(np.int64)
    total = np.int64(0)
    for i in range(bits.size):
        above = ((bits[i] >> np.int64(52)) & np.int64(0x7FF)) - unit
        total += (np.int64(1) << max(above, np.int64(0))) & -np.int64(above >= 0)
    return total


@compiled_part
def _bound_from_counts(first, second, highest):
    """The sum of ``2**(e - highest)`` over the binary exponents e of all values, rounded down."""
    counts = np.zeros(4 * 2048, np.int64)
    _count_exponents(first, counts)
    _count_exponents(second, counts)
    bound = np.int64(0)  # in units of the exponent at hand: rounding down loses no bit that could carry
    for e in range(1, highest + 1):  # exponent 0: zeros and denormal numbers
        bound = (bound >> 1) + (counts[e] + counts[2048 + e] + counts[4096 + e] + counts[6144 + e])
    return bound


@compiled_part
def exponent_for(first, second):
    """The e for which the absolute total of all values, times 2**e, has at most 62 bits."""
    highest = max(_bits_of_largest(first), _bits_of_largest(second)) >> 52
    if highest == 0:
        return 0
    n = first.size + second.size
    room = TOTAL_BITS - _n_bits(n)
    n_bits = -1
    if highest > room:
        least = _sum_of_powers(first, highest - room) + _sum_of_powers(second, highest - room)
        most = least + n  # what was left out of a row is below one
        if _n_bits(least >> room) == _n_bits(most >> room):
            n_bits = _n_bits(least >> room)
    if n_bits < 0:  # at a power of two the smallest rows may decide
        n_bits = _n_bits(_bound_from_counts(first, second, highest))
    return min(max(TOTAL_BITS - (n_bits + highest - 1022), -1000), 1000)


@compiled
def _fine_exponent(first, second):
    return exponent_for(first, second)


@compiled_part
def _round_to_grid(values, scale, out):
    for i in range(out.size):
        out[i] = np.int64(np.rint(values[i] * scale))


@compiled
def _to_fine_grid(first, second, less, out_first, out_second):
    """Both, as far as they are asked for, on the grid that their total allows, made coarser by ``less``; its exponent."""
    exponent = exponent_for(first, second) - less
    _round_to_grid(first, math.ldexp(1.0, exponent), out_first)
    _round_to_grid(second, math.ldexp(1.0, exponent), out_second)
    return exponent


@compiled_part
def _round_to_coarse_grid(values, scale, out):
    for i in range(values.size):
        out[i] = np.int32(np.rint(values[i] * scale))


@compiled
def _to_coarse_grid(first, second, less, out_first, out_second):
    """Both on the grid that their largest value allows, made coarser by ``less``; its exponent."""
    bits = max(_bits_of_largest(first), _bits_of_largest(second))
    exponent = (min(COARSE_BITS - ((bits >> 52) - 1022), 1000) if bits > 0 else 0) - less
    _round_to_coarse_grid(first, math.ldexp(1.0, exponent), out_first)
    _round_to_coarse_grid(second, math.ldexp(1.0, exponent), out_second)
    return exponent


@compiled_part
def _add_pairs(dense, leaf, scale, sums):
    """:func:`_add_rows` of two numbers, which is much the faster for knowing it."""
    for r in range(leaf.size):
        i = np.uint64(r)
        at = np.uint64(leaf[i])
        sums[at, 0] += np.int64(np.rint(dense[i, 0] * scale))
        sums[at, 1] += np.int64(np.rint(dense[i, 1] * scale))


@compiled_part
def _add_rows(dense, leaf, scale, sums):
    """Add every row's numbers, rounded to the fine grid, to the sums of its leaf."""
    for r in range(leaf.size):
        i = np.uint64(r)
        row = sums[np.uint64(leaf[i])]
        for s in range(dense.shape[1]):
            row[s] += np.int64(np.rint(dense[i, s] * scale))


@compiled_part
def _add_labels(label, weight, leaf, scale, first, sums):
    """The same of its weight, to the sum of its label; ``first`` is that of label 0."""
    for r in range(leaf.size):
        i = np.uint64(r)
        sums[np.uint64(leaf[i]), np.uint64(first + label[i])] += np.int64(np.rint(weight[i] * scale))


@compiled
def _add_to_leaves(dense, label, weight, leaf, exponent, sums, start, end):
    """Add the statistics of rows ``start`` to ``end``, rounded to the fine grid, to the sums of their leaves."""
    scale = math.ldexp(1.0, exponent)
    n_dense = dense.shape[1]
    if n_dense == 2:
        _add_pairs(dense[start:end], leaf[start:end], scale, sums)
    elif n_dense > 0:
        _add_rows(dense[start:end], leaf[start:end], scale, sums)
    if label.size:
        _add_labels(label[start:end], weight[start:end], leaf[start:end], scale, n_dense, sums)


def _flat(values: Floats) -> Floats:
    return np.ascontiguousarray(values).reshape(-1)


def fine_exponent(*arrays: Floats) -> int:
    """The e for which the absolute total of all values, times 2**e, has at most 62 bits."""
    first, *others = arrays or (np.empty(0),)
    return int(_fine_exponent(_flat(first), np.concatenate([np.empty(0), *map(_flat, others)])))


def to_fine_grid(
    first: Floats, second: Floats, less: int, empty: tuple[Empty, Empty], *, first_only: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Both arrays as whole multiples of 2**-exponent, and the exponent: :func:`fine_exponent` of both, less ``less``.

    With ``first_only`` the second has a part in the exponent alone, and is empty.
    """
    out = empty[0](first.shape, np.int64), empty[1](0 if first_only else second.shape, np.int64)
    exponent = int(_to_fine_grid(_flat(first), _flat(second), less, out[0].reshape(-1), out[1].reshape(-1)))
    return *out, exponent


def to_coarse_grid(
    first: Floats, second: Floats, less: int, empty: tuple[Empty, Empty] = (np.empty, np.empty)
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """The same in 32 bits. The exponent is that at which the largest absolute value has at most 24 bits, less ``less``."""
    out = empty[0](first.shape, np.int32), empty[1](second.shape, np.int32)
    exponent = int(_to_coarse_grid(_flat(first), _flat(second), less, out[0].reshape(-1), out[1].reshape(-1)))
    return *out, exponent


def on_fine_grid(values: Floats, exponent: int) -> NDArray[np.int64]:
    """The values as whole multiples of 2**-exponent."""
    return np.rint(values * 2.0**exponent).astype(np.int64)


def sum_leaves(statistics: Statistics, leaf: NDArray[np.int32], n_leaves: int) -> Floats:
    """The statistics summed over the rows of each leaf, exact but for one rounding of each row: (L, S)."""
    dense, label, weight = statistics.dense, statistics.label, statistics.weight
    exponent = int(_fine_exponent(_flat(dense), weight))
    parts: list[NDArray[np.int64]] = []

    def add(start: int, end: int) -> None:
        sums = np.zeros((n_leaves, statistics.size), np.int64)
        _add_to_leaves(dense, label, weight, leaf, exponent, sums, start, end)
        parts.append(sums)

    over_rows(len(leaf), statistics.size, add)
    return np.ldexp(sum(parts[1:], start=parts[0]).astype(np.float64), -exponent)


def exact_total(values: Floats) -> float:
    """The total of all values, the same for any order of them."""
    exponent = fine_exponent(values)
    return float(np.ldexp(float(on_fine_grid(values, exponent).sum()), -exponent))
