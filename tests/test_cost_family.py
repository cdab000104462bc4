"""Algorithms that train with costs: what they become at special costs, and what their papers prove."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hook_driver import drive, shares
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from manyboost import (
    AdaBoostECCClassifier,
    AdaBoostM2Classifier,
    AdaBoostMHClassifier,
    AdaBoostMMClassifier,
    AdaBoostMRClassifier,
    AdaBoostOCClassifier,
    BAdaCostClassifier,
    CostSensitiveAdaBoostClassifier,
    PIBoostClassifier,
    RebelClassifier,
    SAMMEClassifier,
    StructBoostClassifier,
)
from manyboost.algorithms.badacost import cost_margins
from manyboost.checks import digest
from manyboost.maths.codes import symmetric

X, Y = load_wine(return_X_y=True)
RNG = np.random.default_rng(0)


def answers(n: int, K: int, y: Any, n_rounds: int = 4) -> list[Any]:
    """Responses that are right more often than not."""
    return [np.where(RNG.random(n) < 0.6, y, RNG.integers(0, K, n)) for _ in range(n_rounds)]


def with_costs(model: Any, cost: Any) -> Any:
    """The questions can be asked before a fit."""
    model.cost_matrix_ = cost
    return model


@pytest.mark.parametrize("K", [2, 3, 5])
def test_at_uniform_costs_badacost_is_samme(K: int) -> None:
    y = np.arange(60) % K
    responses = answers(60, K, y)
    mine = list(drive(with_costs(BAdaCostClassifier(), None), y, K, responses))
    theirs = list(drive(SAMMEClassifier(), y, K, responses))
    for one, other in zip(mine, theirs, strict=True):
        assert one.answers[0].size == pytest.approx((K - 1) ** 2 / K * other.answers[0].size, rel=1e-9)
        assert_allclose(shares(one.state), shares(other.state), rtol=1e-9)
        assert_allclose(one.F, other.F - other.F.mean(axis=1, keepdims=True), atol=1e-8)


def test_at_uniform_costs_the_fitted_models_agree() -> None:
    shape = {"n_estimators": 15, "max_depth": 2, "calibrate": False, "random_state": 0}
    mine, theirs = BAdaCostClassifier(**shape).fit(X, Y), SAMMEClassifier(**shape).fit(X, Y)
    assert_array_equal(mine.forest_.nodes["feature"], theirs.forest_.nodes["feature"])
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


def test_rows_of_the_margins_sum_to_zero_and_meet_the_code_words() -> None:
    cost = RNG.random((4, 4)) * (1 - np.eye(4))
    margins = cost_margins(cost, 4)
    assert_allclose(margins.sum(axis=1), 0, atol=1e-15)
    assert_allclose(margins @ symmetric(4), 4 / 3 * margins, atol=1e-15)


def test_the_step_is_the_least_of_the_loss() -> None:
    K, y, cost = 4, np.arange(80) % 4, RNG.random((4, 4)) * (1 - np.eye(4))
    (made,) = drive(with_costs(BAdaCostClassifier(), cost), y, K, answers(80, K, y, 1), cost=cost)
    model = with_costs(BAdaCostClassifier(), cost)
    unit = made.F / made.answers[0].size  # scores are -C* f

    def loss(a: float) -> float:
        return float(np.exp(-a * unit[np.arange(80), y]).mean())

    least = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10})
    assert made.answers[0].size == pytest.approx(least.x, rel=1e-5)
    task_loss = model.loss(None, made.state)  # type: ignore[arg-type]
    assert task_loss == pytest.approx(loss(made.answers[0].size), rel=1e-9)


@pytest.mark.parametrize(("K", "s"), [(2, 1), (5, 1), (5, 2)])
def test_a_separator_of_piboost_is_cost_sensitive_adaboost(K: int, s: int) -> None:
    y = np.arange(100) % K
    inside = y < s
    C1, C2 = 1 / (s * (K - 1)), 1 / ((K - s) * (K - 1))
    responses = answers(100, 2, inside.astype(int))
    separator = PIBoostClassifier(separators=[list(range(s))])
    separator.classes_ = np.arange(K)
    largest = max(C1, C2)
    cost = np.array([[0.0, C2], [C1, 0.0]])
    mine = with_costs(CostSensitiveAdaBoostClassifier(), cost)
    pi = drive(separator, y, K, responses, n_leaves=2, labels=lambda problem, sums: np.arange(2))
    binary = drive(mine, inside.astype(int), 2, responses, n_leaves=2, labels=lambda problem, sums: np.arange(2), cost=cost)
    for one, other in zip(binary, pi, strict=True):
        assert one.answers[0].size / largest == pytest.approx(other.answers[0].size, rel=1e-9)  # costs are divided by the largest
        assert_allclose(shares(one.state), shares(other.state), rtol=1e-9)


def test_without_costs_two_classes_are_adaboosts() -> None:
    y = np.arange(60) % 2
    responses = answers(60, 2, y)
    mine = list(drive(with_costs(CostSensitiveAdaBoostClassifier(), None), y, 2, responses))
    theirs = list(drive(SAMMEClassifier(), y, 2, responses))
    for one, other in zip(mine, theirs, strict=True):
        assert one.answers[0].size == pytest.approx(other.answers[0].size / 2, rel=1e-9)
        assert_allclose(shares(one.state).ravel(), shares(other.state), rtol=1e-9)


def test_the_link_is_the_population_minimiser() -> None:
    cost, p = np.array([[0.0, 1.0], [4.0, 0.0]]), 0.3
    model = with_costs(CostSensitiveAdaBoostClassifier(), cost)
    model.classes_ = np.arange(2)
    C1, C2 = model.costs(2, cost)[0]
    H = minimize_scalar(lambda h: p * np.exp(-C1 * h) + (1 - p) * np.exp(C2 * h)).x
    assert_allclose(model.link(np.array([[H]])), [[1 - p, p]], rtol=1e-5)
    assert (H > 0) == (p * 4.0 > (1 - p) * 1.0)  # its sign is the decision of least cost


@pytest.mark.parametrize("model", [BAdaCostClassifier(), CostSensitiveAdaBoostClassifier()], ids=["BAdaCost", "CS"])
def test_permuting_the_labels_permutes_the_scores(model: Any) -> None:
    order = np.array([2, 0, 1])
    cost = np.array([[0.0, 1.0, 6.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])
    turned = np.zeros_like(cost)
    turned[np.ix_(order, order)] = cost
    shape = {"n_estimators": 5, "max_depth": 2, "subsample": 1.0, "calibrate": False}
    plain = model.set_params(**shape, cost_matrix=cost).fit(X, Y).decision_function(X)
    other = model.set_params(**shape, cost_matrix=turned).fit(X, order[Y]).decision_function(X)
    assert_allclose(other[:, order], plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("leaves", ["vector", "shared"])
def test_rebels_loss_bounds_the_mean_cost(leaves: str) -> None:
    cost = np.array([[0.0, 1.0, 6.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])
    model = RebelClassifier(
        leaves=leaves, cost_matrix=cost, costs="train", n_estimators=12, max_depth=1, random_state=0, calibrate=False
    ).fit(X[:, :3], Y)
    start = np.array([cost[Y, k].mean() for k in range(3)])
    assert 6.0 * model.history_["loss"][0] < start.sum()  # costs are shares of the largest
    for loss, F in zip(model.history_["loss"], model.staged_decision_function(X[:, :3]), strict=True):
        ranked = F - F[np.arange(len(Y)), Y][:, None]
        worst = np.where(ranked >= 0, cost[Y], 0.0).max(axis=1)  # ties count as errors
        assert worst.mean() <= 6.0 * loss * (1 + 1e-12)


# ---- weights that start at the costs: one mechanism of seven algorithms ---------------------------------------------------------------

STARTING = [
    AdaBoostM2Classifier(), AdaBoostM2Classifier(response="probability", grow_by="classes"), AdaBoostMMClassifier(), AdaBoostMRClassifier(),
    AdaBoostOCClassifier(), AdaBoostECCClassifier(votes="asymmetric"), AdaBoostMHClassifier(), AdaBoostMHClassifier(weights="balanced"),
    RebelClassifier(), RebelClassifier(leaves="shared"),
]  # fmt: skip
TRAINING = [*STARTING, BAdaCostClassifier(), CostSensitiveAdaBoostClassifier(), StructBoostClassifier()]
SHORT: dict[str, Any] = {"n_estimators": 6, "random_state": 0, "calibrate": False}
COSTS = np.array([[0.0, 1.0, 6.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])


def trained(model: Any, **parameters: Any) -> Any:
    """The model that trains with costs, if it can do without."""
    return clone(model).set_params(**SHORT, **({"costs": "train"} if "costs" in model.get_params() else {}), **parameters)


def names(models: list[Any]) -> Any:
    return pytest.mark.parametrize("model", models, ids=[str(model).replace("Classifier", "") for model in models])


@names(STARTING)
def test_uniform_costs_are_none(model: Any) -> None:
    plain, uniform = (trained(model, cost_matrix=cost).fit(X, Y) for cost in (None, 7.0 * (1 - np.eye(3))))
    assert digest(plain) == digest(uniform)
    assert uniform.trains_with_costs
    assert_array_equal(plain.predict(X), uniform.predict(X))


@names(TRAINING)
def test_the_unit_of_costs_does_not_matter(model: Any) -> None:
    one, large, small = (trained(model, cost_matrix=unit * COSTS).fit(X[:, :3], Y) for unit in (1.0, 3.0, 1 / 64))
    other = trained(model, cost_matrix=COSTS.T).fit(X[:, :3], Y)
    assert digest(one) == digest(large) == digest(small) != digest(other)


@names([model for model in STARTING if getattr(model, "weights", "") != "balanced"])
def test_the_loss_bounds_the_mean_cost(model: Any) -> None:
    fitted = trained(model, cost_matrix=COSTS, max_depth=1).fit(X[:, :3], Y)
    of_loss = {AdaBoostMMClassifier: 1.0, RebelClassifier: 1.0, AdaBoostMHClassifier: 1.5}.get(type(model), 2.0)  # 1, K/2 or K - 1
    for loss, F in zip(fitted.history_["loss"], fitted.staged_decision_function(X[:, :3]), strict=True):
        worst = np.where(F >= F[np.arange(len(Y)), Y][:, None], COSTS[Y], 0.0).max(axis=1)  # ties count as errors
        assert worst.mean() <= COSTS.max() * of_loss * loss * (1 + 1e-12)


@names(STARTING)
def test_costs_lower_the_cost_on_rows_not_seen(model: Any) -> None:
    """Digits by small trees, where saying the next digit is dear: by training with costs, and by deciding by them."""
    images, digits = load_digits(return_X_y=True)
    digits = digits % 5  # fewer classes, harder to tell apart
    costs = 1.0 - np.eye(5) + 19.0 * np.eye(5, k=1)
    shape = {"random_state": 0, "n_estimators": 10, "max_depth": 2, "max_leaf_nodes": None, "splitter": "best"}
    paid = []
    for how in ({}, {"cost_matrix": costs}, {"cost_matrix": costs, "costs": "train"}):
        fitted = clone(model).set_params(**shape, **how).fit(images[::3], digits[::3])
        paid.append(costs[digits[1::3], fitted.predict(images[1::3])].mean())
    assert paid[1] < 0.8 * paid[0]
    assert paid[2] < paid[0]


@names(TRAINING)
def test_without_trees_the_least_expected_cost_decides(model: Any) -> None:
    fitted = trained(model, cost_matrix=COSTS).fit(np.zeros((6, 1)), [0, 1, 1, 1, 2, 2])
    assert fitted.n_estimators_ == 0
    assert_allclose(fitted.decision_function([[0.0]])[0], -np.array([1, 3, 2]) / 6 @ COSTS)
