"""Against Weka, where its jar is at hand: J48 is the referee of the C4.5 tree, and of the weights it is given in boosting.

Weka takes values closer than 1e-5 for one, so numbers go in multiplied by 1024. Its files have 15 digits.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import weka
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from manyboost import AdaBoostM1Classifier, LogitBoostClassifier, OutputCodeClassifier
from manyboost.learners import C45Tree

pytestmark = weka.needs_weka
DATA = Path(os.environ.get("MANYBOOST_DATA", "nowhere"))
NUMERIC = ["vowel", "segment", "vehicle", "glass"]
MIXED = ["hypothyroid", "soybean", "lymph", "anneal"]  # categories; the first two have missing values


def load(name: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Numbers, classes 0..K-1, and which columns are categorical."""
    if not (DATA / f"{name}.csv.gz").is_file():
        pytest.skip(f"needs {name}.csv.gz in the folder MANYBOOST_DATA")
    categorical = json.loads((DATA / "index.json").read_text())[name]["categorical_columns"]
    frame = pd.read_csv(DATA / f"{name}.csv.gz", dtype=dict.fromkeys([*categorical, "class"], str))
    y = np.unique(frame.pop("class"), return_inverse=True)[1]
    X = np.column_stack([pd.factorize(frame[c], sort=True)[0] if c in categorical else 1024 * frame[c] for c in frame]).astype(float)
    at = [frame.columns.get_loc(c) for c in categorical]
    X[:, at] = np.where(X[:, at] < 0, np.nan, X[:, at])
    return X, y, at


def halves(X: np.ndarray, y: np.ndarray, categorical: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to train on, two in three, and test rows whose categories all occur among them; all classes occur there, too."""
    order = np.random.default_rng(seed).permutation(len(y))
    inside = np.sort(np.union1d(order[: 2 * len(y) // 3], [np.flatnonzero(y == k)[0] for k in range(y.max() + 1)]))
    X = X.copy()
    for at in categorical:
        X[~np.isin(X[:, at], X[inside, at]), at] = np.nan
    return X, inside, np.setdiff1d(order, inside)


@pytest.mark.parametrize("name", NUMERIC + MIXED)
@pytest.mark.parametrize(
    ("options", "parameters"),
    [((), {}), (("-S",), {"subtree_raising": False}), (("-U", "-O", "-A"), {"prune": False, "collapse": False, "laplace": True})],
    ids=["pruned", "not raised", "as grown"],
)
def test_the_tree_is_that_of_j48(name, options, parameters):
    X, y, categorical = load(name)
    X, inside, outside = halves(X, y, categorical)
    ours = C45Tree(categorical_features=categorical, **parameters).fit(X[inside], y[inside])
    theirs = weka.run(weka.J48, X[inside], y[inside], X[outside], *options, categorical=categorical, in_words=True)
    probability = ours.predict_proba(X[outside])
    same = float((probability.argmax(axis=1) == theirs.label).mean())
    print(f"\n{name}: equal predictions {same:.4f}, nodes {len(ours.nodes_)} and {theirs.tree_size}")
    assert same == 1.0
    assert_allclose(probability, theirs.probability, atol=1e-9)
    if not categorical:  # there, categories that do not occur in training have branches
        assert len(ours.nodes_) == theirs.tree_size


@pytest.mark.parametrize("name", ["vehicle", "soybean"])
def test_weights_of_rows(name):
    X, y, categorical = load(name)
    X, inside, outside = halves(X, y, categorical)
    weight = np.random.default_rng(1).exponential(size=len(inside))
    weight *= len(inside) / weight.sum()
    ours = C45Tree(categorical_features=categorical).fit(X[inside], y[inside], weight)
    theirs = weka.run(weka.J48, X[inside], y[inside], X[outside], weight=weight, categorical=categorical)
    assert_allclose(ours.predict_proba(X[outside]), theirs.probability, atol=1e-9)


def vote(learner, X, y, X_test, n_rounds: int) -> np.ndarray:
    """AdaBoost.M1 (Freund and Schapire 1996): the share of each class in the votes, made probabilities as Weka does."""
    w, F = np.ones(len(y)), np.zeros((len(X_test), y.max() + 1))
    for _ in range(n_rounds):
        learner.fit(X, y, w)
        right = learner.predict(X) == y
        error = w[~right].sum() / w.sum()
        assert 0 < error < 0.5
        beta = error / (1 - error)
        F[np.arange(len(F)), learner.predict(X_test)] -= np.log(beta)
        w = np.where(right, w * beta, w)
        w *= len(y) / w.sum()
    likely = np.exp(F - F.max(axis=1, keepdims=True))
    return likely / likely.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("name", "n_rounds"), [("vehicle", 3), ("glass", 6)])
def test_boosted_trees_are_those_of_adaboost_m1(name, n_rounds):
    """In each round the weights of the last one decide the tree.

    From round 4 on the trees of vehicle differ: J48 wants a number of rows, whatever they weigh, before it tries thresholds. With that rule
    put in, six rounds agreed to 1e-14.
    """
    X, y, _ = load(name)
    X, inside, outside = halves(X, y, [])
    theirs = weka.boosted("AdaBoostM1", weka.J48, X[inside], y[inside], X[outside], n_rounds)
    ours = vote(C45Tree(), X[inside], y[inside], X[outside], n_rounds)
    assert_array_equal(ours.argmax(axis=1), theirs.label)
    assert_allclose(ours, theirs.probability, atol=1e-9)


def test_boosted_stumps_are_those_of_adaboost_m1():
    """The helper for the boosters' own tests: two classes, where stumps by entropy and by Gini rarely differ."""
    X, y = load_iris(return_X_y=True)
    X, y = 1024 * X[50:] + 0.0, y[50:] - 1
    theirs = weka.boosted("AdaBoostM1", weka.STUMP, X, y, X, 3)
    stump = DecisionTreeClassifier(max_depth=1, criterion="entropy", random_state=0)
    assert_allclose(vote(stump, X, y, X, 3), theirs.probability, atol=1e-6)


def test_logitboost_of_weka():
    """The helper for the boosters' own tests: K regression stumps a round, working responses cut off at 3."""
    X, y = load_wine(return_X_y=True)
    X = 1024 * X
    K, n_rounds = 3, 4
    theirs = weka.boosted("LogitBoost", weka.STUMP, X, y, X, n_rounds)
    F, true = np.zeros((len(y), K)), np.eye(K)[y]
    for _ in range(n_rounds):
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        z = np.where(true == 1, np.minimum(1 / p, 3.0), np.maximum(-1 / (1 - p), -3.0))
        weight = (true - p) / z
        f = np.column_stack([DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, z[:, k], weight[:, k]).predict(X) for k in range(K)])
        F += (K - 1) / K * (f - f.mean(axis=1, keepdims=True))
    expected = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    assert_allclose(theirs.probability, expected, atol=1e-5)


@pytest.mark.parametrize(("name", "n_rounds"), [("vehicle", 3), ("glass", 6)])
def test_our_adaboost_m1_of_c45_trees_is_wekas(name, n_rounds):
    X, y, _ = load(name)
    X, inside, outside = halves(X, y, [])
    theirs = weka.boosted("AdaBoostM1", weka.J48, X[inside], y[inside], X[outside], n_rounds)
    ours = AdaBoostM1Classifier(estimator=C45Tree(), n_estimators=n_rounds, calibrate=False).fit(X[inside], y[inside])
    print(f"{name}: {np.mean(ours.predict(X[outside]) == theirs.label):.1%} of the predictions of Weka's AdaBoostM1 of J48 are ours")
    assert_allclose(ours.predict_proba(X[outside]), theirs.probability, atol=1e-9)


def test_our_logitboost_of_stumps_is_wekas():
    X, y = load_wine(return_X_y=True)
    X = 1024 * X
    theirs = weka.boosted("LogitBoost", weka.STUMP, X, y, X, 4)
    ours = LogitBoostClassifier(
        n_estimators=4, z_max=3.0, max_leaf_nodes=2, learning_rate=1.0, splitter="best", max_step=50.0, calibrate=False
    ).fit(X, y)
    print(f"wine: probabilities of Weka's LogitBoost differ by at most {np.abs(ours.predict_proba(X) - theirs.probability).max():.1e}")
    assert_allclose(ours.predict_proba(X), theirs.probability, atol=1e-5)


@pytest.mark.parametrize("name", ["iris", "vehicle", "glass"])
def test_the_exhaustive_code_is_that_of_weka(name):
    """Weka adds up, for each class, the probabilities that the columns give to its side."""
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        X, categorical = 1024 * X, []
    else:
        X, y, categorical = load(name)
    X, inside, outside = halves(X, y, categorical)
    ours = OutputCodeClassifier(estimator=C45Tree(), code="exhaustive").fit(X[inside], y[inside])
    theirs = weka.run("weka.classifiers.meta.MultiClassClassifier", X[inside], y[inside], X[outside], "-M", "2", "-W", weka.J48)
    of_one = np.column_stack([column.predict_proba(X[outside])[:, 1] for column in ours.estimators_])
    sides = of_one @ (ours.code_ == 1).T + (1 - of_one) @ (ours.code_ == -1).T
    assert_allclose(sides / sides.sum(axis=1, keepdims=True), theirs.probability, atol=1e-9)
    # where no column is torn, that sum decides as the Hamming distance does
    sure = np.sort(sides, axis=1)
    clear = sure[:, -1] - sure[:, -2] > np.abs(of_one - (of_one > 0.5)).sum(axis=1) * 2
    assert clear.mean() > 0.3
    assert_array_equal(ours.set_params(decode="hamming").predict(X[outside])[clear], theirs.label[clear])
