"""Against scikit-learn: SAMME against its AdaBoost, our trees against its trees."""

from __future__ import annotations

import numpy as np
import pytest
from hook_driver import Floats, Integers, drive, shares
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from manyboost import SAMMEClassifier

# ---- SAMME ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("depth", [2, 3])
def test_samme_on_the_trees_of_adaboost(n_classes: int, depth: int) -> None:
    """Given the labels that the peer's trees say, SAMME has the peer's errors, weights and votes."""
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    rng = np.random.default_rng(0)
    X, weight = X + rng.normal(0, 4.0, X.shape), rng.uniform(0.5, 2.0, len(y))  # noise, so that no tree is perfect
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=20, random_state=0).fit(X, y, sample_weight=weight)
    assert len(peer.estimators_) == 20
    rounds = list(drive(SAMMEClassifier(), y, n_classes, [tree.predict(X) for tree in peer.estimators_], weight=weight))
    alpha = np.array([made.answers[0].size for made in rounds])
    np.testing.assert_allclose(alpha, peer.estimator_weights_, rtol=1e-12)
    np.testing.assert_allclose((n_classes - 1) / (n_classes - 1 + np.exp(alpha)), peer.estimator_errors_, rtol=1e-12)
    # the peer votes +1 for a class and -1/(K-1) for the others, and divides by the sum of alpha; for K = 2 it keeps their difference
    votes = rounds[-1].F / alpha.sum()
    coded = (n_classes * votes - 1) / (n_classes - 1)
    expected = peer.decision_function(X)
    np.testing.assert_allclose(coded[:, 1] - coded[:, 0] if n_classes == 2 else coded, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(rounds[-1].F.argmax(axis=1), peer.predict(X))


def test_weights_of_samme_are_those_adaboost_grows_by() -> None:
    """The peer keeps no weights; but the tree of each round is the one its learner grows on ours."""
    X, y = load_wine(return_X_y=True)
    X = X + np.random.default_rng(0).normal(0, X.std(axis=0), X.shape)
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8, random_state=0).fit(X, y)
    rounds = drive(SAMMEClassifier(), y, 3, [tree.predict(X) for tree in peer.estimators_[:-1]])
    for made, tree in zip(rounds, peer.estimators_[1:], strict=True):
        again = DecisionTreeClassifier(max_depth=1, random_state=tree.random_state).fit(X, y, sample_weight=shares(made.state))
        np.testing.assert_array_equal(again.tree_.feature, tree.tree_.feature)
        np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-9)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("load", [load_digits, load_wine], ids=["digits", "wine"])
def test_samme_is_as_accurate_as_adaboost(load: object, depth: int) -> None:
    """Within one standard error of the peer's mean accuracy over the same five folds, or above it."""
    X, y = load(return_X_y=True)  # type: ignore[operator]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=50, random_state=0)
    ours = SAMMEClassifier(max_depth=depth, n_estimators=50, calibrate=False, random_state=0)
    theirs, accuracy = cross_val_score(peer, X, y, cv=folds), cross_val_score(ours, X, y, cv=folds)
    standard_error = max(theirs.std(ddof=1), accuracy.std(ddof=1)) / np.sqrt(5)
    assert accuracy.mean() >= theirs.mean() - standard_error


# ---- trees ---------------------------------------------------------------------------------------------------------------------------


def one_tree(X: Floats, y: Integers, depth: int, criterion: str, weight: Floats | None = None) -> SAMMEClassifier:
    return SAMMEClassifier(max_depth=depth, n_estimators=1, criterion=criterion, calibrate=False).fit(X, y, sample_weight=weight)


def leaves_of(model: SAMMEClassifier, X: Floats) -> Integers:
    """The leaf of each row, told by where its path ends."""
    nodes = model.forest_.nodes
    at = np.zeros(len(X), int)
    while (inside := nodes["feature"][at] >= 0).any():
        rows = np.flatnonzero(inside)
        right = X[rows, nodes["feature"][at[rows]]] > nodes["threshold"][at[rows]]
        at[rows] = nodes["left"][at[rows]] + right
    return at


def impurity(leaf: Integers, y: Integers, weight: Floats, criterion: str) -> float:
    """The weighted mean impurity of the leaves."""
    total = 0.0
    for number in np.unique(leaf):
        w = np.bincount(y[leaf == number], weight[leaf == number])
        p = w[w > 0] / w.sum()
        total += w.sum() * (1 - (p**2).sum() if criterion == "gini" else -(p * np.log(p)).sum())
    return total / weight.sum()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(10))
def test_stump_has_the_split_of_a_decision_tree(seed: int, criterion: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (120, 4)).astype(float)
    K = 2 + seed % 3
    y = np.where(rng.random(120) < 0.6, (X[:, seed % 4] * K // 6).astype(int), rng.integers(0, K, 120))
    weight = rng.uniform(0.2, 2.0, 120)  # no two splits are equally good
    peer = DecisionTreeClassifier(max_depth=1, criterion=criterion).fit(X, y, sample_weight=weight)
    ours = one_tree(X, y, 1, criterion, weight)
    root = ours.forest_.nodes[0]
    assert root["feature"] == peer.tree_.feature[0]
    assert root["threshold"] == peer.tree_.threshold[0]  # both midway
    np.testing.assert_array_equal(leaves_of(ours, X) == 1, peer.apply(X) == 1)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_iris, load_wine], ids=["iris", "wine"])
def test_tree_is_that_of_a_decision_tree(load: object, criterion: str) -> None:
    """Random weights leave no ties, and the columns have fewer distinct values than bins: the same tree is best at every node."""
    X, y = load(return_X_y=True)  # type: ignore[operator]
    assert max(len(np.unique(column)) for column in X.T) <= 255
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    peer = DecisionTreeClassifier(max_depth=3, criterion=criterion, random_state=0).fit(X, y, sample_weight=weight)
    ours = one_tree(X, y, 3, criterion, weight)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    leaf, theirs = leaves_of(ours, X), peer.apply(X)
    assert len(np.unique(leaf)) == len(np.unique(theirs)) == len(np.unique(np.column_stack([leaf, theirs]), axis=0))
    assert impurity(leaf, y, weight, criterion) == pytest.approx(impurity(theirs, y, weight, criterion), rel=1e-12)
