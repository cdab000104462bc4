"""Arrays that kernels borrow are the same arrays, and nobody counts who uses them; what is lent is told by where it is."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numpy.testing import assert_array_equal

from manyboost.trees.borrowing import borrowed, lent, set_apart


class Pair(NamedTuple):
    numbers: np.ndarray
    nothing: None
    factor: int


@njit
def _part(pair, other):
    return pair.numbers[1:] * pair.factor + other[1:]


@njit
def _kernel(pair, other, out):
    pair, other, out = borrowed((pair, other, out))
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = _part(pair, other)


def test_borrowed_arrays_are_read_and_written_in_place():
    pair, other, out = Pair(np.arange(4), None, 3), np.arange(4) * 10, np.zeros((2, 3), np.int64)
    _kernel(pair, other, out)
    assert_array_equal(out, np.tile([13, 26, 39], (2, 1)))


def test_nothing_is_counted_or_freed():
    numbers, other, out = np.arange(4), np.arange(4) * 10, np.zeros((2, 3), np.int64)
    pair = Pair(numbers, None, 3)
    _kernel(Pair(numbers.copy(), None, 3), other.copy(), out.copy())  # compiled: that keeps what it was called with for a while
    before = [sys.getrefcount(array) for array in (numbers, other, out)]
    for _ in range(100):
        _kernel(pair, other, out)
    assert [sys.getrefcount(array) for array in (numbers, other, out)] == before
    assert_array_equal(numbers, np.arange(4))


def test_views_and_records_keep_their_shape():
    records = np.zeros(6, [("weight", np.float64), ("count", np.int32)])[::2]

    @njit
    def fill(records, whole):
        records, whole = borrowed((records, whole))
        for i in range(records.size):
            records[i].weight, records[i].count = whole[i, 1], i

    fill(records, np.arange(6.0).reshape(3, 2))
    assert_array_equal(records["weight"], [1, 3, 5])
    assert_array_equal(records["count"], [0, 1, 2])


class Whole(NamedTuple):
    pair: Pair
    rate: float
    out: np.ndarray


@njit
def _of_row(whole, i):
    return whole.pair.numbers[i] * whole.pair.factor * whole.rate


@njit
def _fill(whole, pair):
    set_apart()
    if whole.pair.nothing is None:
        for i in range(whole.out.size):
            whole.out[i] = _of_row(whole, i) + pair.numbers[0]


@njit
def _lending(whole, pair):
    whole, pair = lent((whole, pair))
    _fill(whole, pair)


def test_what_is_lent_is_read_and_written_in_place():
    numbers, out = np.arange(4), np.zeros(4)
    whole, pair = Whole(Pair(numbers, None, 3), 0.5, out), Pair(np.array([10]), None, 1)
    _lending(Whole(Pair(numbers.copy(), None, 3), 0.5, out.copy()), pair)  # compiled
    before = [sys.getrefcount(array) for array in (numbers, out)]
    for _ in range(100):
        _lending(whole, pair)
    assert_array_equal(out, 10 + 1.5 * np.arange(4))
    assert [sys.getrefcount(array) for array in (numbers, out)] == before


def test_a_part_that_is_set_apart_stays_a_function_of_its_own():
    _lending(Whole(Pair(np.arange(4), None, 3), 0.5, np.zeros(4)), Pair(np.array([10]), None, 1))
    (code,) = _lending.inspect_llvm().values()
    called = [line for line in code.splitlines() if " call " in line]
    assert sum("_fill" in line for line in called) == 1
    assert not any("_of_row" in line for line in called)


def test_what_is_lent_has_no_other_fields():
    @njit
    def ask(pair):
        (pair,) = lent((pair,))
        return pair.divisor

    with pytest.raises(TypingError, match="divisor"):
        ask(Pair(np.arange(2), None, 1))
