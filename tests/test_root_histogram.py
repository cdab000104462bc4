"""Histograms of the root that are kept from tree to tree: every tree is the one that a new grower makes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from tree_cases import assert_same_tree

from manyboost import AdaBoostM1Classifier, SAMMEClassifier, fingerprint
from manyboost.threads import ALONE, Threads
from manyboost.trees import crew, growing
from manyboost.trees.binning import FEATURE_MAJOR, apply_bins, find_cuts, share_columns
from manyboost.trees.criteria import ENTROPY_CRITERION, GINI_CRITERION
from manyboost.trees.exact_sums import fine_exponent
from manyboost.trees.growing import Grower, GrowthLimits
from manyboost.trees.root_histogram import GRID_STEP, KeptWeights
from manyboost.trees.statistics import ROWS_OF_BLOCK, Lasting, Statistics


@pytest.fixture(autouse=True)
def kept_of_small_tables_too(monkeypatch):
    monkeypatch.setattr(growing, "WORTH_KEEPING", 0)


def changed(rng, weight):
    """Weights after a round: of some rows, of most, of none or of all, by a factor of any size; sometimes all are rescaled."""
    share = rng.choice([0.0, 0.01, 0.3, 0.49, 0.51, 1.0])
    weight = np.where(rng.random(len(weight)) < share, weight * 2.0 ** rng.uniform(-12, 6), weight)
    if rng.random() < 0.1:
        weight = np.where(rng.random(len(weight)) < 0.2, 0.0, weight)
    if rng.random() < 0.2:
        weight = weight * 2.0 ** rng.integers(-150, 150)
    return weight if weight.any() else np.ones(len(weight))


def no_turns(n):
    return Lasting(np.zeros(-(-n // ROWS_OF_BLOCK), np.int64), 0)


def after_turn(lasting, before, weight):
    """What is told of new weights: blocks that have changed, and now and then one that has not."""
    rows = np.flatnonzero(before != weight)
    lasting.changed[rows // ROWS_OF_BLOCK] = lasting.turn + 1
    lasting.changed[lasting.turn % len(lasting.changed)] = lasting.turn + 1
    return lasting._replace(turn=lasting.turn + 1)


def put(kept, label, weight, K, lasting):
    half, pieces = len(label) // 2 + 1, np.array([[[0, len(label)]]])
    statistics = Statistics.of_labels(label, weight, K, lasting)
    return kept.put(statistics, lasting, np.empty(half, np.int32), np.empty(half, np.int64), pieces)


def test_the_grid_follows_from_the_weights_alone():
    rng = np.random.default_rng(0)
    n_followed = 0
    for n in (1, 7, 1024, 2500):
        label, weight, kept, lasting = rng.integers(0, 3, n).astype(np.uint16), rng.random(n), KeptWeights(), no_turns(n)
        for _ in range(150):
            before, last = kept._values.copy(), weight
            weight = changed(rng, weight)
            lasting = after_turn(lasting, last, weight)
            if rng.random() < 0.2:  # nobody grew a tree
                continue
            grid, exponent, changes = put(kept, label, weight, 3, lasting)
            assert exponent == fine_exponent(weight) // GRID_STEP * GRID_STEP
            np.testing.assert_array_equal(grid.weight, np.rint(np.ldexp(weight, exponent)).astype(np.int64))
            if changes.n >= 0:
                rows = changes.rows[: changes.n]
                np.testing.assert_array_equal(rows, np.flatnonzero(grid.weight != before))
                np.testing.assert_array_equal(changes.amount[: changes.n], (grid.weight - before)[rows])
                n_followed += changes.n > 0
    assert n_followed > 50


def test_other_labels_and_other_weights_are_counted_anew():
    label, weight, kept, lasting = np.zeros(9, np.uint16), np.ones(9), KeptWeights(), no_turns(9)
    counts = [put(kept, which, weight, 2, lasting)[2].n for which in (label, label, label.copy())]
    assert counts == [-1, 0, -1]
    assert put(kept, kept._labels, weight, 2, no_turns(9))[2].n == -1
    kept.forget()
    assert put(kept, label, weight, 2, lasting)[2].n == -1


@pytest.mark.parametrize(("n_threads", "rows_of_bin"), [(1, 2), (3, 2), (3, 0)])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("K", [2, 3, 7])
def test_trees_are_those_of_a_new_grower(K, in_order, n_threads, rows_of_bin, monkeypatch):
    monkeypatch.setattr(crew, "THREAD_WORK", 1 << 10)
    monkeypatch.setattr(growing, "ROWS_OF_BIN", rows_of_bin)
    usual, counts = KeptWeights.put, []

    def told(self, *asked):
        found = usual(self, *asked)
        counts.append(found[2].n)
        return found

    monkeypatch.setattr(KeptWeights, "put", told)
    rng = np.random.default_rng(K)
    n = 1500
    with Threads.of(n_threads) as team:
        for case in range(12):
            label = rng.integers(0, K, n)
            label = (np.sort(label) if in_order else label).astype(np.uint16)
            X = rng.integers(0, rng.choice([2, 30, 300]), (n, int(rng.integers(1, 8)))) + (rng.random((n, 1)) < 0.3) * label[:, None] * 3.0
            if case % 3 == 0:
                X[rng.random(X.shape) < 0.1] = np.nan
            if case % 3 == 1:
                X = np.hstack([X, np.eye(9)[rng.integers(0, 9, n)]])
            table = share_columns(apply_bins(X, find_cuts(X, np.ones(n), np.zeros(X.shape[1], np.int32), 255), FEATURE_MAJOR), worth=0)
            limits = GrowthLimits(max_depth=int(rng.integers(1, 5)), max_leaf_nodes=rng.choice([None, 6]))
            criterion = ENTROPY_CRITERION if case % 4 == 3 else GINI_CRITERION
            grower, weight, lasting = Grower(table, limits, team), rng.random(n), no_turns(n)
            for turn in range(8):
                statistics = Statistics.of_labels(label, weight, K, lasting)
                drawn = rng.permutation(n)[: n // 2].astype(np.int32) if turn == 5 else None
                made = [one.grow(statistics, criterion, 0, drawn) for one in (grower, Grower(table, limits, ALONE))]
                assert_same_tree(*made, (case, turn))
                last, weight = weight, np.where(rng.random(n) < rng.choice([0.0, 0.02, 0.3, 0.7]), weight * rng.uniform(0.05, 0.9), weight)
                lasting = after_turn(lasting, last, weight)
    assert sum(count >= 0 for count in counts) > 20


@pytest.mark.parametrize("model", [SAMMEClassifier(max_depth=2, max_leaf_nodes=None), AdaBoostM1Classifier(max_depth=6)])
def test_a_fit_that_is_taken_up_has_nothing_kept_and_makes_the_same_trees(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 6))
    y = (3 * X[:, 0] + X[:, 1] + 0.3 * rng.random(3000)).astype(int)
    model.set_params(calibrate=False, random_state=0)
    once = fingerprint(clone(model).set_params(n_estimators=30).fit(X, y))
    with monkeypatch.context() as patched:
        patched.setattr(growing, "WORTH_KEEPING", 1 << 30)
        for n_jobs in (1, 2):
            assert fingerprint(clone(model).set_params(n_estimators=30, n_jobs=n_jobs).fit(X, y)) == once
    model.set_params(warm_start=True, n_estimators=11).fit(X, y)
    assert fingerprint(model.set_params(n_estimators=30).fit(X, y)) == once
