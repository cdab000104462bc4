"""Arrays that kernels borrow are the same arrays, and nobody counts who uses them."""

import sys
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.testing import assert_array_equal

from manyboost.trees.borrowing import borrowed


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
