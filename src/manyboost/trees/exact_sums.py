"""Sums that do not depend on the order, the threads or the workers that made them.

Row statistics are put once on a grid of a power of two and are then integers, so histograms, sibling subtraction and leaf sums are
exact int64. Two grids are in use:

* the fine grid spends 62 bits on the total: what leaves are summed on, and histograms;
* the coarse grid spends 24 bits on the largest row: what random thresholds are compared on. Blocks of 127 such rows add up
  in int32 without overflow, which keeps eight lanes of a vector register at work.

The fine grid follows from the sum of the powers of two at or below all values, a whole number itself: it too is the same in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import Kernel, compiled, compiled_part
from manyboost.threads import WORTH_SHARING, over_rows
from manyboost.trees.statistics import Floats, Statistics

TOTAL_BITS = 62
COARSE_BITS = 24
COARSE_BLOCK = 127
LEAST_EXPONENT = 1022  # below zero, of numbers of full precision
MOST_EXPONENT = 1000  # of a grid
IN_DOUBT = 1 << 20  # an exponent that no grid has
VALUES_AT_ONCE = 1 << 13  # stay in the cache, and take little beside a small table
BITS_OF_POWER = np.int64(0x7FF << 52)  # of a number, those of the power of two at or below its absolute value
DOUBT = 2.0**-20  # far more than adding up a table rounds
LANES = 64  # sums of powers that are kept at once, in vector registers
Empty = Callable[[Any, Any], NDArray[Any]]


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
def _exponent_by_largest(first, second):
    """The e for which the absolute total of all values, times 2**e, has at most 62 bits; IN_DOUBT where the smallest may decide."""
    highest = max(_bits_of_largest(first), _bits_of_largest(second)) >> 52
    if highest == 0:
        return 0
    n = first.size + second.size
    room = TOTAL_BITS - _n_bits(n)
    if highest <= room:
        return IN_DOUBT
    least = _sum_of_powers(first, highest - room) + _sum_of_powers(second, highest - room)
    n_bits = _n_bits(least >> room)
    if n_bits < _n_bits((least + n) >> room):  # what was left out of a row is below one
        return IN_DOUBT
    return min(max(TOTAL_BITS - (n_bits + highest - LEAST_EXPONENT), -MOST_EXPONENT), MOST_EXPONENT)


@compiled
def _add_up_powers(values):
    """The sum of the powers of two at or below the absolute values, but for rounding; infinite where they are too large."""
    bits, sums, room = values.view(np.int64), np.zeros(LANES), np.empty(LANES, np.int64)
    powers = room.view(np.float64)
    for begin in range(0, bits.size, LANES):
        these = bits[begin : begin + LANES]
        for lane in range(these.size):
            room[lane] = these[lane] & BITS_OF_POWER
        for lane in range(these.size):
            sums[lane] += powers[lane]
    return sums.sum()


@compiled
def _bits_of_largest_of(values):
    return _bits_of_largest(values)


@compiled_part
def _round_to_grid(values, scale, out):
    for i in range(out.size):
        out[i] = np.int64(np.rint(values[i] * scale))


@compiled
def _to_fine_grid(first, second, less, exponent, out_first, out_second):
    """Both, as far as they are asked for, on the grid that their total allows, made coarser by ``less``; its exponent.

    It is found anew if the one that is given is IN_DOUBT, and if it still is, nothing is rounded.
    """
    if exponent == IN_DOUBT:
        exponent = _exponent_by_largest(first, second)
        if exponent == IN_DOUBT:
            return exponent
    exponent -= less
    _round_to_grid(first, math.ldexp(1.0, exponent), out_first)
    _round_to_grid(second, math.ldexp(1.0, exponent), out_second)
    return exponent


@compiled_part
def _round_to_coarse_grid(values, scale, out):
    for i in range(values.size):
        out[i] = np.int32(np.rint(values[i] * scale))


@compiled
def _to_coarse_grid(first, second, less, largest, out_first, out_second):
    """Both on the grid that their largest value allows, made coarser by ``less``; its exponent.

    The bits of the largest are found here if those that are given are below zero.
    """
    bits = largest if largest >= 0 else max(_bits_of_largest(first), _bits_of_largest(second))
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


def _each_part(work: Callable[[Floats], Any], *arrays: Floats) -> list[Any]:
    """What is found of parts of the values, by all threads where they are many: those of the same rows by the same thread."""
    found: list[Any] = []
    for values in arrays:
        flat, width = _flat(values), values.size // max(len(values), 1)

        def of_rows(start: int, end: int, flat: Floats = flat, width: int = width) -> None:
            found.append(work(flat[start * width : end * width]))

        over_rows(len(values), width, of_rows)
    return found


def _put_parts(kernel: Kernel, given: Sequence[Floats], less: int, known: int, out: Sequence[NDArray[Any]]) -> int:
    """Have rows put on the grid of which enough is known, in the same way; its exponent."""
    exponents = []
    for values, made in zip(given, out, strict=True):
        flat, whole, width = _flat(values), made.reshape(-1), made.size // max(len(made), 1)

        def put(start: int, end: int, flat: Floats = flat, whole: NDArray[Any] = whole, width: int = width) -> None:
            part = slice(start * width, end * width)
            exponents.append(kernel(flat[part], flat[:0], less, known, whole[part], whole[:0]))

        over_rows(len(made), width, put)
    return int(exponents[0])


def _sum_of_powers_in_floats(values: Floats) -> float:
    """:func:`_add_up_powers` by numpy, which need not be compiled first."""
    total, bits, room = 0.0, values.view(np.int64), np.empty(min(VALUES_AT_ONCE, len(values)), np.int64)
    for start in range(0, len(bits), VALUES_AT_ONCE):
        part = bits[start : start + VALUES_AT_ONCE]
        powers = np.bitwise_and(part, BITS_OF_POWER, out=room[: len(part)])
        total += float(np.add.reduce(powers.view(np.float64)))
    return total


def exponent_by_counts(*arrays: Floats) -> int:
    """:func:`fine_exponent` by counts of binary exponents, without any rounding, in four times as long."""
    counts = np.zeros(2048, np.int64)
    for values in map(_flat, arrays):
        for start in range(0, len(values), VALUES_AT_ONCE):  # so that it takes little memory
            bits = values[start : start + VALUES_AT_ONCE].view(np.int64)
            counts += np.bincount((bits >> 52) & 0x7FF, minlength=len(counts))
    counts[0] = 0  # of zeros and denormal numbers
    total = sum(int(counts[e]) << int(e) for e in np.flatnonzero(counts))
    return min(max(TOTAL_BITS + LEAST_EXPONENT - total.bit_length(), -MOST_EXPONENT), MOST_EXPONENT) if total else 0


def fine_exponent(*arrays: Floats) -> int:
    """The e for which the absolute total of all values, times 2**e, has at most 62 bits."""
    add_up = _add_up_powers if sum(values.size for values in arrays) >= WORTH_SHARING else _sum_of_powers_in_floats
    with np.errstate(over="ignore"):
        total = sum(_each_part(add_up, *arrays))
    if total == 0:
        return 0
    fraction, exponent = math.frexp(total)
    if not 0.5 + DOUBT < fraction < 1 - DOUBT:  # at a power of two rounding may decide, and infinity has no fraction
        return exponent_by_counts(*arrays)
    return min(max(TOTAL_BITS - 1 - exponent, -MOST_EXPONENT), MOST_EXPONENT)


def to_fine_grid(
    first: Floats, second: Floats, less: int, empty: tuple[Empty, Empty], *, first_only: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Both arrays as whole multiples of 2**-exponent, and the exponent: :func:`fine_exponent` of both, less ``less``.

    With ``first_only`` the second has a part in the exponent alone, and is empty.
    """
    out = empty[0](first.shape, np.int64), empty[1](0 if first_only else second.shape, np.int64)
    flat, exponent = (_flat(first), _flat(second), out[0].reshape(-1), out[1].reshape(-1)), IN_DOUBT
    if first.size + second.size < WORTH_SHARING:
        exponent = int(_to_fine_grid(*flat[:2], less, IN_DOUBT, *flat[2:]))
    if exponent == IN_DOUBT:
        exponent = _put_parts(_to_fine_grid, (first, second), less, fine_exponent(first, second), out)
    return *out, exponent


def to_coarse_grid(
    first: Floats, second: Floats, less: int, empty: tuple[Empty, Empty] = (np.empty, np.empty)
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """The same in 32 bits. The exponent is that at which the largest absolute value has at most 24 bits, less ``less``."""
    out = empty[0](first.shape, np.int32), empty[1](second.shape, np.int32)
    if first.size + second.size < WORTH_SHARING:
        exponent = int(_to_coarse_grid(_flat(first), _flat(second), less, -1, out[0].reshape(-1), out[1].reshape(-1)))
    else:
        largest = max(_each_part(_bits_of_largest_of, first, second))
        exponent = _put_parts(_to_coarse_grid, (first, second), less, largest, out)
    return *out, exponent


def on_fine_grid(values: Floats, exponent: int) -> NDArray[np.int64]:
    """The values as whole multiples of 2**-exponent."""
    return np.rint(values * 2.0**exponent).astype(np.int64)


def sum_leaves(statistics: Statistics, leaf: NDArray[np.int32], n_leaves: int) -> Floats:
    """The statistics summed over the rows of each leaf, exact but for one rounding of each row: (L, S)."""
    dense, label, weight = statistics.dense, statistics.label, statistics.weight
    exponent = fine_exponent(dense, weight)
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
