"""RUSBoost, SMOTEBoost and what they draw: `sampling="under"` and `sampling="smote"`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from manyboost import AdaBoostM2Classifier, RUSBoostClassifier, SAMMEClassifier, SMOTEBoostClassifier, synthetic
from manyboost.protocol import Task
from manyboost.synthetic import POOL, made_up_rows, wanted_rows
from manyboost.trees.sampling import draw_evenly

X, Y = make_classification(1500, 8, n_informative=5, n_classes=3, weights=[0.9, 0.07, 0.03], flip_y=0.01, random_state=0)
KEYS = np.arange(len(Y), dtype=np.uint64)
TASK = Task.of(Y, 3, np.ones(len(Y)))
NO_CATEGORIES = np.zeros(8, bool)


def test_classes_are_drawn_evenly() -> None:
    rows = draw_evenly(KEYS, Y, 1.0, 7)
    counts = np.bincount(Y[rows])
    least = np.bincount(Y).min()
    assert counts[np.bincount(Y).argmin()] == least  # all of the smallest
    assert_allclose(counts, least, atol=5 * np.sqrt(least))
    assert len(np.bincount(Y[draw_evenly(KEYS, Y, 1e-9, 7)])) == 3  # one of each at least
    assert not np.array_equal(rows, draw_evenly(KEYS, Y, 1.0, 8))


def test_rows_are_made_between_neighbours_of_their_class() -> None:
    pool = made_up_rows(X, KEYS, TASK, NO_CATEGORIES, 3)
    assert_array_equal(np.bincount(Y[pool.parent], minlength=3), POOL * wanted_rows(Y, KEYS, 3))
    assert wanted_rows(Y, KEYS, 3)[0] == 0
    for row, parent in zip(pool.X[:50], pool.parent[:50], strict=True):
        same = X[Y == Y[parent]]
        along = same - X[parent]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = ((row - X[parent]) / along)[np.abs(along).min(axis=1) > 0]
        on_line = np.ptp(share, axis=1) < 1e-6
        assert on_line.any()
        assert 0 <= share[on_line][0].mean() <= 1
    assert_allclose(np.mean([len(pool.drawn(seed)) for seed in range(20)]), wanted_rows(Y, KEYS, 3).sum(), rtol=0.05)


def test_weights_copies_and_order_change_no_made_up_row() -> None:
    weight = np.random.default_rng(0).integers(1, 3, len(Y)).astype(float)
    copies = np.repeat(np.arange(len(Y)), weight.astype(int))
    one = made_up_rows(X, KEYS, Task.of(Y, 3, weight), NO_CATEGORIES, 3)
    two = made_up_rows(X[copies], KEYS[copies], Task.of(Y[copies], 3, np.ones(len(copies))), NO_CATEGORIES, 3)
    assert_array_equal(one.X, two.X)
    order = np.random.default_rng(1).permutation(len(Y))
    three = made_up_rows(X[order], KEYS[order], Task.of(Y[order], 3, weight[order]), NO_CATEGORIES, 3)
    assert_array_equal(one.X, three.X)


def test_categories_and_holes_are_taken_from_one_side() -> None:
    mixed = X.copy()
    mixed[:, 0] = np.round(np.abs(X[:, 0]) * 3)
    mixed[::3, 1] = np.nan
    pool = made_up_rows(mixed, KEYS, TASK, np.arange(8) == 0, 3)
    assert set(pool.X[:, 0]) <= set(mixed[:, 0])
    assert 0 < np.isnan(pool.X[:, 1]).mean() < 0.5
    assert not np.isnan(pool.X[:, 2:]).any()


@pytest.mark.parametrize("most", [100, 30])
def test_in_a_large_class_neighbours_are_looked_for_among_some(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "MOST_COMPARED", most)
    rows = np.random.default_rng(0).normal(size=(100, 8))
    asked = np.arange(0, 100, 2)
    found = synthetic._nearest(rows, asked, 5, np.random.default_rng(1))
    drawn = np.arange(100) if most == 100 else np.sort(np.random.default_rng(1).choice(100, most, replace=False))
    scaled = rows / rows.std(axis=0)
    for row, its in zip(asked, found, strict=True):
        others = drawn[drawn != row]
        assert_array_equal(its, others[np.argsort(((scaled[others] - scaled[row]) ** 2).sum(axis=1))[:5]])


def test_a_class_of_one_row_has_no_neighbours() -> None:
    y = np.r_[np.zeros(20, int), np.ones(10, int), 2]
    rows = np.random.default_rng(0).normal(size=(31, 8))
    pool = made_up_rows(rows, np.arange(31, dtype=np.uint64), Task.of(y, 3, np.ones(31)), NO_CATEGORIES, 0)
    assert set(y[pool.parent]) == {1}
    assert SMOTEBoostClassifier(n_estimators=3).fit(rows, y).predict(rows).shape == (31,)


@pytest.mark.parametrize("booster", ["m2", "samme"])
@pytest.mark.parametrize("algorithm", [RUSBoostClassifier, SMOTEBoostClassifier])
def test_rare_classes_are_found_more_often(algorithm: Any, booster: str) -> None:
    shape = {"n_estimators": 20, "calibrate": False, "random_state": 0}
    alone = AdaBoostM2Classifier(splitter="best", max_depth=8, max_leaf_nodes=None) if booster == "m2" else SAMMEClassifier()
    plain = alone.set_params(**shape)
    scores = [
        balanced_accuracy_score(Y[1::2], clone(model).fit(X[::2], Y[::2]).predict(X[1::2]))
        for model in (plain, algorithm(booster=booster, **shape))
    ]
    assert scores[1] > scores[0]


def test_without_a_sample_the_booster_is_itself() -> None:
    shape = {"n_estimators": 5, "max_depth": 3, "random_state": 0, "calibrate": False}
    mine = RUSBoostClassifier(booster="samme", sampling="uniform", **shape).fit(X, Y)
    assert_array_equal(mine.decision_function(X), SAMMEClassifier(**shape).fit(X, Y).decision_function(X))


@pytest.mark.parametrize("algorithm", [RUSBoostClassifier, SMOTEBoostClassifier])
def test_other_learners_and_sparse_rows(algorithm: Any) -> None:
    model = algorithm(estimator=DecisionTreeClassifier(max_depth=3, random_state=0), n_estimators=3, random_state=0, calibrate=False)
    order = np.random.default_rng(0).permutation(len(Y))
    assert_array_equal(clone(model).fit(X, Y).predict(X), clone(model).fit(X[order], Y[order]).predict(X))
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    shape = {"n_estimators": 3, "random_state": 0, "calibrate": False}
    dense, scarce = algorithm(**shape).fit(thin, Y), algorithm(**shape).fit(sparse.csr_matrix(thin), Y)
    assert_array_equal(dense.predict(thin), scarce.predict(thin))


def test_beside_imbalanced_learn() -> None:
    referee = pytest.importorskip("imblearn.ensemble").RUSBoostClassifier
    theirs = referee(DecisionTreeClassifier(max_depth=4), n_estimators=40, random_state=0).fit(X[::2], Y[::2])
    ours = RUSBoostClassifier(booster="samme", max_depth=4, n_estimators=40, random_state=0, calibrate=False).fit(X[::2], Y[::2])
    found = [balanced_accuracy_score(Y[1::2], model.predict(X[1::2])) for model in (ours, theirs)]
    print(f"balanced accuracy: RUSBoost {found[0]:.3f}, imbalanced-learn's {found[1]:.3f}")
    assert found[0] > found[1] - 0.05


class OnlyAFew(BaseEstimator):
    """A sampler of the simplest kind: so many rows of each class, and one more that it made up."""

    def __init__(self, n=8, random_state=None):
        self.n, self.random_state = n, random_state

    def fit_resample(self, rows, labels):
        rng = np.random.default_rng(self.random_state)
        chosen = np.concatenate([rng.choice(np.flatnonzero(labels == k), self.n) for k in np.unique(labels)])
        between = [rows[labels == k][:2].mean(axis=0) for k in np.unique(labels)]
        return np.concatenate([rows[chosen], between]), np.append(labels[chosen], np.unique(labels))


@pytest.mark.parametrize("algorithm", [RUSBoostClassifier, SMOTEBoostClassifier, SAMMEClassifier])
def test_a_sampler_of_ones_own(algorithm: Any) -> None:
    shape = {"n_estimators": 6, "max_depth": 3, "random_state": 0, "calibrate": False}
    model = algorithm(sampling=OnlyAFew(), **shape).fit(X, Y)
    assert int(model.forest_.nodes["cover"].max()) == 9 * len(np.unique(Y))
    assert model.score(X, Y) > 0.5
    order = np.random.default_rng(0).permutation(len(Y))
    assert_array_equal(model.predict_proba(X), algorithm(sampling=OnlyAFew(), **shape).fit(X[order], Y[order]).predict_proba(X))
    other = algorithm(sampling=OnlyAFew(), **{**shape, "random_state": 1}).fit(X, Y)
    assert (model.predict_proba(X) != other.predict_proba(X)).any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("algorithm", "sampling"), [(SMOTEBoostClassifier, "smote"), (AdaBoostM2Classifier, "smote"), (SAMMEClassifier, "sampler")]
)
def test_numbers_of_one_bin_in_any_order(algorithm: Any, sampling: str, weighted: bool) -> None:
    """Where a bin holds several numbers, rows that are alike to a tree are not so to what makes rows of them."""
    how = OnlyAFew() if sampling == "sampler" else sampling
    model = algorithm(sampling=how, n_estimators=3, max_bins=8, subsample=0.8, random_state=0)
    rows, weight = np.round(X[:, :2], 3), 1.0 + np.arange(len(Y)) % 3 if weighted else None
    wanted = clone(model).fit(rows, Y, weight).decision_function(rows)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(Y))
        found = clone(model).fit(rows[order], Y[order], None if weight is None else weight[order])
        assert_array_equal(found.decision_function(rows), wanted)
    scarce = clone(model).fit(sparse.csr_array(rows[order]), Y[order], None if weight is None else weight[order])
    assert_array_equal(scarce.decision_function(rows), wanted)


def test_samplers_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="could not resample the rows"):
        RUSBoostClassifier(sampling=OnlyAFew(n=-1), n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="for our own trees"):
        RUSBoostClassifier(sampling=OnlyAFew(), estimator=DecisionTreeClassifier(), n_estimators=2).fit(X, Y)
    with pytest.raises((ValueError, TypeError), match="a sampler with fit_resample"):
        RUSBoostClassifier(sampling=OnlyAFew).fit(X, Y)
    with pytest.raises(ValueError, match="a sampler with fit_resample"):
        RUSBoostClassifier(sampling="over").fit(X, Y)


@pytest.mark.parametrize("name", ["over_sampling.SMOTE", "under_sampling.RandomUnderSampler", "combine.SMOTEENN"])
def test_samplers_of_imbalanced_learn(name: str) -> None:
    module, kind = name.split(".")
    sampler = getattr(pytest.importorskip(f"imblearn.{module}"), kind)()
    model = SMOTEBoostClassifier(sampling=sampler, n_estimators=10, random_state=0, calibrate=False).fit(X[::2], Y[::2])
    assert balanced_accuracy_score(Y[1::2], model.predict(X[1::2])) > 0.6
