"""Bins: exact weighted quantiles, cuts midway, the same for any order and storage of the rows."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tree_cases import columns, make, positive, sparse_copy

from manyboost.trees import reference
from manyboost.trees.binning import (
    FEATURE_MAJOR,
    MAX_BINS,
    ROW_MAJOR,
    SPARSE,
    Binning,
    apply_bins,
    bin_values,
    find_cuts,
    row_keys,
    take_rows,
)
from manyboost.trees.exact_sums import fine_exponent, on_fine_grid

NUMERIC = np.zeros(1, np.int32)
many = settings(max_examples=200, deadline=None, derandomize=True)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def cuts_of(values, weight=None, max_bins=255):
    values = np.asarray(values, np.float64)
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    return find_cuts(values[:, None], weight, NUMERIC, max_bins).column_cuts(0).tolist()


def random_column(rng):
    n = int(rng.integers(1, 300))
    values = rng.integers(0, int(rng.integers(1, 400)), n).astype(float) if rng.random() < 0.5 else rng.standard_normal(n)
    return np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.2]), np.nan, values), positive(rng, n) + 2.0**-21


def equal_binnings(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("cuts", "offset", "n_categories"))


# ---- cuts --------------------------------------------------------------------------------------------------------------------------------


def test_cuts_are_those_of_the_reference():
    rng = np.random.default_rng(0)
    n_quantiles = 0
    for _ in range(300):
        values, weight = random_column(rng)
        max_bins = int(rng.choice([2, 3, 7, 16, 100, 255]))
        whole = on_fine_grid(weight, fine_exponent(weight)).tolist()
        expected = reference.column_cuts(values.tolist(), whole, max_bins)
        assert cuts_of(values, weight, max_bins) == expected
        assert len(expected) < max_bins
        n_quantiles += len(set(values[~np.isnan(values)])) > max_bins
    assert n_quantiles > 100


def test_cuts_lie_midway_between_distinct_values():
    assert cuts_of([3, 1, 1, 2, 8]) == [1.5, 2.5, 5.5]
    assert cuts_of([1.0, np.nan, 2.0]) == [1.5]


def test_quantiles_by_hand():
    assert cuts_of(range(8), max_bins=4) == [1.5, 3.5, 5.5]
    assert cuts_of(range(8), max_bins=2) == [3.5]
    assert cuts_of(range(3), max_bins=2) == [1.5]  # the second value reaches the half
    assert cuts_of([0, 1, 2, 3], weight=[9, 1, 1, 1], max_bins=3) == [0.5]  # one value may hold several quantiles
    # a value shares its bin with lighter ones before it that reach no quantile of their own, even where that leaves no cut at all ...
    assert cuts_of([0, 1, 2, 3], weight=[1, 1, 1, 9], max_bins=3) == []
    # ... but where it holds four and more, it leaves one of its bins to them
    assert cuts_of(range(6), weight=[1, 1, 1, 1, 1, 95], max_bins=5) == [4.5]
    assert cuts_of(range(7), weight=[1, 1, 1, 95, 1, 1, 1], max_bins=5) == [2.5, 3.5]


def test_the_sign_of_a_column_does_not_hide_its_rare_values():
    values = np.zeros(5000)
    values[:300] = 1 + np.arange(300)
    for sign in (1, -1):
        cuts = np.array(cuts_of(sign * values, max_bins=255))
        assert len(cuts) < 255
        assert ((cuts > 0) if sign == 1 else (cuts < 0)).any()


@pytest.mark.parametrize("max_bins", [2, 3, 7, 100, 255])
def test_a_weight_of_two_is_two_rows(max_bins):
    rng = np.random.default_rng(max_bins)
    for _ in range(40):
        values, _ = random_column(rng)
        times = rng.integers(1, 5, len(values))
        assert cuts_of(values, times, max_bins) == cuts_of(np.repeat(values, times), None, max_bins)
        for factor in (2, 3, 5, 7):  # a quantile that falls between two values must not hang on a rounding
            expected = cuts_of(values, None, max_bins)
            assert cuts_of(np.tile(values, factor), None, max_bins) == expected
            assert cuts_of(values, np.full(len(values), factor / 3), max_bins) == expected


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    for _ in range(60):
        values, weight = random_column(rng)
        order = rng.permutation(len(values))
        for max_bins in (2, 9, 255):
            assert cuts_of(values[order], weight[order], max_bins) == cuts_of(values, weight, max_bins)


def test_columns_that_cannot_be_cut():
    for values in ([7.0] * 4, [np.nan] * 4, [7.0, np.nan], [0.0, -0.0]):
        for weight in (None, np.arange(1.0, len(values) + 1)):
            assert cuts_of(values, weight) == []
    binning = find_cuts(np.full((3, 1), np.nan), np.ones(3), NUMERIC, 255)
    table = apply_bins(np.array([[np.nan], [1.0]]), binning, FEATURE_MAJOR)
    assert table.bins.tolist() == [[1, 0]]
    assert table.features["missing"][0]


def test_huge_and_neighbouring_values():
    assert cuts_of([1e308, 1.5e308, -1e308]) == [0.0, 1.25e308]
    assert cuts_of([np.finfo(float).max, -np.finfo(float).max]) == [0.0]
    low, high = 1.0, np.nextafter(1.0, 2.0)
    (cut,) = cuts_of([low, high])
    assert low <= cut < high
    (cut,) = cuts_of([0.0, 5e-324])
    assert 0.0 <= cut < 5e-324
    (cut,) = cuts_of([-5e-324, 0.0])
    assert -5e-324 <= cut < 0.0


def test_more_values_than_bins():
    values = np.random.default_rng(0).permutation(10_000).astype(float)
    for max_bins in (2, 100, MAX_BINS):
        binning = find_cuts(values[:, None], np.ones(10_000), NUMERIC, max_bins)
        assert binning.n_bins().tolist() == [max_bins]
        counts = np.bincount(apply_bins(values[:, None], binning, FEATURE_MAJOR).bins[0])
        assert len(counts) == max_bins
        assert counts.max() - counts.min() <= 1  # each holds its share, to a row


@many
@given(st.lists(numbers, min_size=1, max_size=30), st.lists(numbers, max_size=10), st.integers(2, 12))
def test_a_bin_is_at_or_below_b_where_the_value_is_at_or_below_cut_b(values, others, max_bins):
    binning = find_cuts(np.array(values)[:, None], np.ones(len(values)), NUMERIC, max_bins)
    cuts = binning.column_cuts(0)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) < max_bins
    tried = np.array(values + others + cuts.tolist() + [np.nan])
    out = np.empty(len(tried), np.uint8)
    bin_values(tried, binning, 0, out)
    assert out.tolist() == [reference.bin_of_value(x, cuts.tolist()) for x in tried.tolist()]
    for b, cut in enumerate(cuts):
        assert ((out <= b) == (tried <= cut)).all()
    assert len(set(out[: len(values)].tolist())) == len(cuts) + 1  # no bin is empty


def test_thresholds():
    binning = Binning(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 2, 3]), np.array([0, 4, 0], np.int32))
    feature, bin_ = np.array([0, 0, 0, 1, 2, 2, -1], np.int32), np.array([0, 1, 2, -1, 0, 1, -1], np.int32)
    assert binning.thresholds(feature, bin_).tolist() == [1.0, 2.0, np.inf, 0.0, 5.0, np.inf, 0.0]
    assert binning.n_bins().tolist() == [3, 4, 2]


def test_categories_are_their_own_bins():
    X = np.array([[0.0], [254.0], [np.nan], [64.0]])
    binning = find_cuts(X, np.ones(4), np.array([255], np.int32), 2)
    assert len(binning.cuts) == 0
    table = apply_bins(X, binning, FEATURE_MAJOR)
    assert table.bins.tolist() == [[0, 254, 255, 64]]
    assert (table.features["n_bins"][0], table.features["categorical"][0], table.features["missing"][0]) == (255, True, True)


# ---- tables ------------------------------------------------------------------------------------------------------------------------------


def test_all_layouts_hold_the_same_bins():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        X, n_categories = columns(rng, n, int(rng.integers(1, 7)))
        binning = find_cuts(X, np.ones(n), n_categories, int(rng.choice([2, 8, 255])))
        expected = [
            [
                reference.bin_of_value(x, binning.column_cuts(f).tolist()) if not k else k if np.isnan(x) else int(x)
                for f, (x, k) in enumerate(zip(row, n_categories.tolist(), strict=True))
            ]
            for row in X.tolist()
        ]
        missing = np.isnan(X).any(axis=0).tolist()
        with ThreadPoolExecutor(2) as pool:
            tables = [apply_bins(X, binning, layout, each) for layout in (FEATURE_MAJOR, ROW_MAJOR) for each in (map, pool.map)]
        tables += [apply_bins(sparse_copy(X, kind), binning, FEATURE_MAJOR) for kind in ("csr", "csc")]
        assert [table.layout for table in tables] == [FEATURE_MAJOR] * 2 + [ROW_MAJOR] * 2 + [SPARSE] * 2
        some = rng.integers(0, n, n)
        for table in tables:
            assert reference.bins_of(table) == expected
            assert table.features["missing"][:-1].tolist() == missing
            assert reference.bins_of(take_rows(table, some)) == [expected[i] for i in some]


def test_shared_columns_hold_the_same_bins():
    for seed in range(40):
        case = make(seed, "gini").with_exclusive_columns()
        plain = case.on_matrix(case.X).table
        assert len(case.table.columns) < len(plain.columns)
        assert reference.bins_of(case.table) == reference.bins_of(plain)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_columns_are_cut_as_dense_ones(kind):
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 80))
        X, n_categories = columns(rng, n, 4)
        weight = np.ones(n) if seed % 2 else positive(rng, n)
        max_bins = int(rng.choice([2, 5, 255]))
        dense = find_cuts(X, weight, n_categories, max_bins)
        assert equal_binnings(find_cuts(sparse_copy(X, kind), weight, n_categories, max_bins), dense), seed


@pytest.mark.parametrize("max_bins", [2, 4, 255])
def test_wide_sparse_columns_are_cut_and_binned_as_dense_ones(max_bins):
    """Columns with nothing in them, with values only and with missing ones only, of either sign, by themselves and among others."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, p = 300, 400
        X = np.where(rng.random((n, p)) < rng.choice([0.0, 0.01, 0.05, 1.0], p, p=[0.3, 0.3, 0.3, 0.1]), rng.standard_normal((n, p)), 0.0)
        X = X.round(1) if seed % 2 else X
        X[(X != 0) & (rng.random((n, p)) < rng.choice([0.0, 0.1, 1.0], p))] = np.nan
        weight, none = np.ones(n) if seed % 3 else positive(rng, n), np.zeros(p, np.int32)
        binning, held = find_cuts(X, weight, none, max_bins), sparse.csr_array(X)
        assert equal_binnings(find_cuts(held, weight, none, max_bins), binning)
        dense, stored = apply_bins(X, binning, ROW_MAJOR), apply_bins(held, binning, ROW_MAJOR)
        np.testing.assert_array_equal(dense.features, stored.features)
        zero_bins = [sum(cut < 0 for cut in binning.column_cuts(f).tolist()) for f in range(p)]
        assert stored.features["zero_bin"][:-1].tolist() == zero_bins
        label = rng.integers(0, 3, n)
        np.testing.assert_array_equal(row_keys(stored, label), row_keys(dense, label))


def test_cuts_and_keys_of_a_wide_sparse_matrix_take_memory_for_what_is_stored():
    rng = np.random.default_rng(0)
    n, p = 500, 1 << 16
    X = sparse.csr_array((rng.integers(1, 5, 5000) / 2, (rng.integers(0, n, 5000), rng.integers(0, p, 5000))), shape=(n, p))
    none = np.zeros(p, np.int32)
    row_keys(apply_bins(X[:9], find_cuts(X[:9], np.ones(9), none, 255), ROW_MAJOR), np.zeros(9, int))  # compiles
    tracemalloc.start()
    try:
        row_keys(apply_bins(X, find_cuts(X, np.ones(n), none, 255), ROW_MAJOR), np.zeros(n, int))
        assert tracemalloc.get_traced_memory()[1] < 24 * 2**20  # words of all bins would take 128 MB
    finally:
        tracemalloc.stop()


def test_zeros_left_out_of_a_sparse_matrix_count_even_if_they_weigh_nothing():
    X = np.array([[0.0], [0.0], [3.0], [4.0]])
    weight = np.array([0.0, 0.0, 1.0, 2.0])
    assert cuts_of(X[:, 0], weight) == [1.5, 3.5]
    assert find_cuts(sparse.csr_array(X), weight, NUMERIC, 255).cuts.tolist() == [1.5, 3.5]


def test_threads_find_the_same_cuts():
    rng = np.random.default_rng(0)
    X, n_categories = columns(rng, 200, 12)
    weight = positive(rng, 200) + 1e-3
    with ThreadPoolExecutor(3) as pool:
        assert equal_binnings(find_cuts(X, weight, n_categories, 16, pool.map), find_cuts(X, weight, n_categories, 16))


# ---- keys --------------------------------------------------------------------------------------------------------------------------------


def test_keys_do_not_depend_on_storage_or_order():
    for seed in range(40):
        case = make(seed, "gini", all_rows=True)
        X, label = case.X, np.arange(case.table.n_rows) % 3
        keys = row_keys(case.table, label)
        assert keys.tolist() == reference.row_keys(case.table, label.tolist())
        for other in (apply_bins(X, case.binning, ROW_MAJOR), case.on_matrix(sparse_copy(X, "csr")).table):
            np.testing.assert_array_equal(row_keys(other, label), keys)
        order = np.random.default_rng(seed).permutation(len(label))
        np.testing.assert_array_equal(row_keys(take_rows(case.table, order), label[order]), keys[order])


def test_keys_are_equal_where_rows_are_and_only_there():
    """Rows are put in order by their keys, so rows that differ must have different keys: also a label that is another's bin."""
    X = np.array([[a, b] for a in range(12) for b in range(12) for _ in range(12)], float)
    label = np.tile(np.arange(12), 144)
    table = apply_bins(X, find_cuts(X, np.ones(len(X)), np.zeros(2, np.int32), 255), FEATURE_MAJOR)
    assert len(set(row_keys(table, label).tolist())) == 12**3
    twice = take_rows(table, np.repeat(np.arange(len(X)), 2))
    assert len(set(row_keys(twice, np.repeat(label, 2)).tolist())) == 12**3
