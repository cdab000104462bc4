"""Costs of decisions, in every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification

import manyboost
from manyboost import SAMMEClassifier
from manyboost.labels import read_costs

X, Y = load_wine(return_X_y=True)
X = X[:, :3]  # so that there are mistakes
NAMES = np.array(["a", "b", "c"])[Y]
COSTS = np.array([[0.0, 1.0, 10.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
CLASSES = np.array(["a", "b", "c"])


@pytest.mark.parametrize("model", each(random_state=0, n_estimators=8), ids=lambda model: type(model).__name__)
def test_costs_lower_the_cost(model: Any) -> None:
    X, y = make_classification(1500, 8, n_informative=4, n_classes=3, flip_y=0.2, class_sep=0.7, random_state=0)
    plain, careful = (clone(model).set_params(cost_matrix=costs).fit(X[:500], y[:500]) for costs in (None, 20 * COSTS))
    costs = [COSTS[y[500:], fitted.predict(X[500:])].mean() for fitted in (plain, careful)]
    assert costs[1] < costs[0]
    scores = careful.decision_function(X)
    assert_array_equal(careful.predict(X), careful.classes_[scores.argmax(axis=1)])
    assert_array_equal(list(careful.staged_predict(X))[-1], careful.predict(X))
    if not careful.trains_with_costs:  # as it is set
        assert_allclose(scores, -careful.predict_proba(X) @ (20 * COSTS))
        assert_array_equal(careful.predict_proba(X), plain.predict_proba(X))  # costs change decisions, not probabilities


@pytest.mark.parametrize("model", each(random_state=0, n_estimators=5), ids=lambda model: type(model).__name__)
def test_costs_are_in_the_model_file(model: Any, tmp_path: Any) -> None:
    frame = pd.DataFrame(COSTS, CLASSES, CLASSES)
    fitted = clone(model).set_params(cost_matrix=frame).fit(X, NAMES)
    digest = manyboost.save(fitted, tmp_path / "model")
    again = manyboost.load(tmp_path / "model", digest=digest)
    assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert_array_equal(again.cost_matrix_, COSTS)


def test_all_ways_to_say_it_are_one() -> None:
    ways = [
        COSTS,
        COSTS.tolist(),
        {("a", "c"): 10},
        {"a": {"c": 10.0}},
        pd.DataFrame(COSTS, CLASSES, CLASSES).loc[["c", "a", "b"], ["b", "c", "a"]],
    ]
    for way in ways:
        assert_array_equal(read_costs(way, CLASSES), COSTS)
    assert read_costs(None, CLASSES) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones((2, 2)), r"shape \(2, 2\)"),
        (COSTS[:2], "true classes as rows"),
        (-COSTS, "negative"),
        (COSTS * np.nan, "NaN"),
        (np.where(COSTS == 10, np.inf, COSTS), "infinite"),
        (COSTS + np.eye(3), "diagonal"),
        (np.zeros((3, 3)), "no cost for the true class 'a'"),
        ({("a", "d"): 1}, "'d'"),
        ({("a", "b"): 10**400}, "cost_matrix has an entry that is .* infinite"),
        ([[0, 1, 10**400], [1, 0, 1], [1, 1, 0]], "cost_matrix has a whole number that is too large for a float"),
        ({("a",): 1}, "pairs"),
        ({"a": {"x": 1}}, "'x'"),
        (pd.DataFrame(COSTS, CLASSES, ["a", "b", "d"]), "columns"),
        (pd.DataFrame(COSTS, [0, 1, 2], CLASSES), "index"),
    ],
)
def test_bad_costs_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SAMMEClassifier(cost_matrix=given, n_estimators=2).fit(X, NAMES)


@pytest.mark.parametrize(
    "given", ["costs", 3, [["a"]], {("a", "b"): "much"}, object(), COSTS + 1j, pd.DataFrame(COSTS + 1j, CLASSES, CLASSES), {("a", "b"): 1j}]
)
def test_costs_that_are_no_numbers_are_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="cost_matrix"):
        SAMMEClassifier(cost_matrix=given, n_estimators=2).fit(X, NAMES)


def test_two_classes() -> None:
    y = (Y == 0).astype(int)
    model = SAMMEClassifier(n_estimators=5, max_depth=2, random_state=0, cost_matrix=[[0, 1], [9, 0]]).fit(X, y)
    expected = -model.predict_proba(X) @ np.array([[0.0, 1.0], [9.0, 0.0]])
    assert_allclose(model.decision_function(X), expected[:, 1] - expected[:, 0])
    assert_array_equal(model.predict(X), (model.predict_proba(X)[:, 1] >= 0.1).astype(int))
