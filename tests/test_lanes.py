"""Columns in vector registers: every function against numpy, and ranges of tables of any width."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from manyboost.trees import lanes
from manyboost.trees.binning import ROW_MAJOR, apply_bins, find_cuts
from manyboost.trees.random_thresholds import HIGH, LOW, find_ranges

RNG = np.random.default_rng(0)
FEW, EIGHT = lanes.FEW, lanes.EIGHT


@numba.njit
def _of_bins(rows, first, second, out):  # type: ignore[no-untyped-def]
    a, b = lanes.load(rows, first, 0, FEW), lanes.load(rows, second, 0, FEW)
    lanes.store(out, 0, 0, lanes.least(a, b))
    lanes.store(out, 1, 0, lanes.greatest(a, b))
    lanes.store(out, 2, 0, a - b)


@numba.njit
def _below(rows, thresholds, amounts, out):  # type: ignore[no-untyped-def]
    total = lanes.zeros(32, FEW)
    for i in range(len(rows)):
        total = lanes.plus_below(total, lanes.load(rows, i, 0, FEW), lanes.load(thresholds, 0, 0, FEW), amounts[i])
    lanes.store(out, 0, 0, total)


@numba.njit
def _arithmetic(values, number, factor, out):  # type: ignore[no-untyped-def]
    a = lanes.as_long(lanes.load(values, 1, 2, EIGHT))
    d = lanes.as_floats(lanes.spread(number, EIGHT) - a)
    lanes.store(out, 0, 0, a + lanes.as_integers(lanes.nearest(d * d * lanes.spread(factor, EIGHT) - d)))


def test_bins_are_compared_without_sign() -> None:
    rows = RNG.integers(0, 256, (2, FEW), np.uint8)
    rows[:, :3] = [[7, 0, 255], [7, 255, 0]]
    out = np.empty((3, FEW), np.uint8)
    _of_bins(rows, 0, 1, out)
    assert_array_equal(out, [rows.min(axis=0), rows.max(axis=0), rows[0] - rows[1]])


def test_sums_below() -> None:
    rows, thresholds = RNG.integers(0, 256, (50, FEW), np.uint8), RNG.integers(0, 256, (1, FEW), np.uint8)
    amounts = RNG.integers(-(2**24), 2**24, 50).astype(np.int32)
    out = np.empty((1, FEW), np.int32)
    _below(rows, thresholds, amounts, out)
    assert_array_equal(out[0], ((rows <= thresholds) * amounts[:, None]).sum(axis=0))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_numbers_of_both_kinds(kind: type) -> None:
    values = RNG.integers(-(2**23), 2**23, (2, EIGHT + 3)).astype(kind)
    out = np.empty((1, EIGHT), np.int64)
    _arithmetic(values, 12345, 2.0**-20 / 3, out)
    a = values[1, 2 : 2 + EIGHT].astype(np.int64)
    d = (12345 - a).astype(np.float64)
    assert_array_equal(out[0], a + np.rint(d * d * (2.0**-20 / 3) - d).astype(np.int64))


@pytest.mark.parametrize("p", [1, 16, 17, 64, 65, 100, 150])
@pytest.mark.parametrize("n", [1, 126, 127, 400])
def test_ranges_of_tables_of_any_width(p: int, n: int) -> None:
    X = RNG.normal(size=(500, p))
    X[RNG.random((500, p)) < 0.2] = np.nan
    table = apply_bins(X, find_cuts(X, np.ones(500), np.zeros(p, np.int32), 255), ROW_MAJOR)
    rows = RNG.permutation(500)[:n].astype(np.int32)
    ranges = np.zeros((5, max(p, table.bins.shape[1])), np.uint8)
    numba.njit(lambda *given: find_ranges(*given))(table, rows, 0, n, ranges)
    bins = table.bins[rows][:, :p]
    assert_array_equal(ranges[LOW, :p], bins.min(axis=0))  # a missing value is in the highest bin
    assert_array_equal(ranges[HIGH, :p], np.where(np.isnan(X[rows]), 0, bins).max(axis=0))
