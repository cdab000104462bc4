"""Features that exclude each other share a column of bins; nothing but the time to read it may change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from manyboost import SAMMEClassifier
from manyboost.trees import reference
from manyboost.trees.binning import FEATURE_MAJOR, ROW_MAJOR, Table, apply_bins, find_cuts, put_in_order, row_keys, share_columns, take_rows
from manyboost.trees.criteria import GINI_CRITERION, exponential, newton
from manyboost.trees.growing import Grower, GrowthLimits
from manyboost.trees.nodes import MASK_WORDS
from manyboost.trees.statistics import Statistics


def one_hot_rows(seed: int, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, groups of five, four (of -1 and +1) and twelve (of 0 and 1 to 5) one-hot columns, and a column of three values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400)) if n is None else n
    group = rng.integers(0, 5, n)
    signs, many = np.eye(4)[rng.integers(0, 4, n)] * 2 - 1, np.eye(12)[rng.integers(0, 12, n)] * rng.integers(1, 6, n)[:, None]
    X = np.column_stack([rng.normal(size=n), np.eye(5)[group], rng.integers(0, 3, n), signs, rng.normal(size=n), many])
    return X, (group + rng.integers(0, 2, n)) % 3


def tables(X: np.ndarray, weight: np.ndarray, layout: int = FEATURE_MAJOR) -> tuple[Table, Table]:
    binning = find_cuts(X, weight, np.zeros(X.shape[1], np.int32), 255)
    plain = apply_bins(X, binning, layout)
    return plain, share_columns(plain, worth=0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 9, "min_samples_leaf": 3}])
def test_same_tree(seed: int, limits: dict[str, Any], splitter: str) -> None:
    X, y = one_hot_rows(seed)
    rng = np.random.default_rng(seed)
    weight = rng.random(len(y))
    growth = GrowthLimits(**limits, splitter=splitter)
    plain, shared = tables(X, weight, growth.layout)
    assert len(shared.columns) < len(plain.columns)
    assert shared.bins.size < plain.bins.size
    for statistics, criterion in (
        (Statistics.of_labels(y, weight, 3), GINI_CRITERION),
        (Statistics.of_rows(np.column_stack([rng.normal(size=len(y)), weight])), newton(1, 0.1)),
        (Statistics.of_both(np.repeat(weight[:, None], 3, axis=1), y, weight, 3), exponential(3)),
    ):
        one, leaf_of_one = Grower(plain, growth).grow(statistics, criterion, 1)
        other, leaf_of_other = Grower(shared, growth).grow(statistics, criterion, 1)
        for name in ("feature", "bin", "left", "right", "missing_left", "gain"):
            assert one.nodes[name].tolist() == other.nodes[name].tolist()
        assert leaf_of_one.tolist() == leaf_of_other.tolist()
        assert other.leaves_of(shared).tolist() == other.leaves_of(plain).tolist() == leaf_of_one.tolist()
        assert one.nodes["mask"].shape[1] == MASK_WORDS


@pytest.mark.parametrize("layout", [FEATURE_MAJOR, ROW_MAJOR])
def test_same_keys(layout: int) -> None:
    for seed in range(8):
        X, y = one_hot_rows(seed)
        plain, shared = tables(X, np.ones(len(y)), layout)
        assert row_keys(shared, y).tolist() == row_keys(plain, y).tolist() == reference.row_keys(shared, y.tolist())


def test_what_is_shared() -> None:
    X, y = one_hot_rows(0)
    _, shared = tables(X, np.ones(len(y)))
    assert shared.columns["first"].tolist() == [0, 1, 6, 7, 11, 12, 24]  # a number, five one-hot, three values, four, a number, twelve
    assert shared.features["start"][:12].tolist() == [-1, 1, 2, 3, 4, 5, -1, 1, 2, 3, 4, -1]
    some = np.arange(0, len(y), 2)
    assert take_rows(shared, some).bins.tolist() == shared.bins[:, some].tolist()
    _, by_row = tables(X, np.ones(len(y)), ROW_MAJOR)
    assert by_row.columns["first"].tolist() == [*range(13), 24]  # only the twelve are worth it
    assert take_rows(by_row, some).bins.tolist() == by_row.bins[some].tolist()
    order = np.random.default_rng(0).permutation(len(y))
    for table in (shared, by_row):
        taken = take_rows(table, order).bins.tolist()
        assert put_in_order(table, order).bins.tolist() == taken


def test_conflicting_and_other_features_stay_alone() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 4)).astype(float)  # two of them are often on together
    X = np.column_stack([X, np.where(rng.random(200) < 0.1, np.nan, np.eye(2)[rng.integers(0, 2, 200)][:, 0])])
    plain, shared = tables(X, np.ones(200))
    assert shared is plain
    rows = apply_bins(X, find_cuts(X, np.ones(200), np.zeros(5, np.int32), 255), ROW_MAJOR)
    assert share_columns(rows, worth=0) is rows


def test_a_plain_table_stays_one_unless_much_is_saved() -> None:
    X, y = one_hot_rows(0)
    plain, shared = tables(X, np.ones(len(y)))
    saved = plain.bins.size - shared.bins.size
    assert share_columns(plain) is plain
    assert share_columns(plain, worth=saved + 1) is plain
    assert share_columns(plain, worth=saved).bins.tolist() == shared.bins.tolist()
    X[0, 0] = np.nan  # kernels for any table are needed anyway
    binning = find_cuts(X, np.ones(len(y)), np.zeros(X.shape[1], np.int32), 255)
    assert share_columns(apply_bins(X, binning, FEATURE_MAJOR)).bins.shape == shared.bins.shape


def test_estimator_predicts_rows_that_break_the_exclusion() -> None:
    X, y = one_hot_rows(3, n=4000)
    table = apply_bins(X, find_cuts(X, np.ones(len(y)), np.zeros(X.shape[1], np.int32), 255), FEATURE_MAJOR)
    assert len(share_columns(table).columns) < len(table.columns)
    model = SAMMEClassifier(n_estimators=10, max_depth=3, calibrate=False, random_state=0).fit(X, y)
    both = X[:20].copy()
    both[:, 1:6] = 1.0
    assert np.isfinite(model.decision_function(both)).all()
    more = SAMMEClassifier(n_estimators=4, max_depth=3, calibrate=False, random_state=0, warm_start=True).fit(X, y)
    more.set_params(n_estimators=10).fit(X, y)
    assert model.decision_function(X).tolist() == more.decision_function(X).tolist()
