"""CWBoost and StructBoost: coefficients against other solvers, what holds at an optimum, and what follows from revising members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, minimize, minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from manyboost import CWBoostClassifier, StructBoostClassifier
from manyboost.checks import digest, some_rows
from manyboost.loop import _of_most_merit
from manyboost.maths.corrective import in_turn, minimise_exponential, minimise_hinge
from manyboost.maths.cutting_planes import Cuts, minimise_hinge_by_cuts
from manyboost.maths.pairs import exponential_pairs, lead_over_own, pulls, shared_out, smoothed_hinge, worst_pairs
from manyboost.maths.responses import Responses
from manyboost.protocol import Answer, Refusal

K, N, M = 4, 60, 9
RNG = np.random.default_rng(0)
Y = RNG.integers(0, K, N)
WEIGHT = RNG.dirichlet(np.full(N, 3.0))
UNIT = 1 - np.eye(K)
COSTS = RNG.uniform(0.2, 2.0, (K, K)) * UNIT


def some_members(columns: str = "class") -> Responses:
    """Members that are right of their class more often than not."""
    members = []
    for m in range(M):
        c = m % K
        right = np.where(Y == c, 1, -1) * np.where(RNG.random(N) < 0.7, 1, -1)
        members.append((np.array([-1.0, 1.0]), (right > 0).astype(np.int32), [c] if columns == "class" else range(K)))
    return Responses.none(N, K).added(members)


SAID = some_members()


def features(said: Responses) -> Any:
    """delta F_y - delta F_l of every pair for each coefficient, by loops: (pairs, J), and the pairs."""
    pairs = [(i, c) for i in range(N) for c in range(K) if c != Y[i]]
    out = np.zeros((len(pairs), said.n_coefficients))
    for j, (m, c) in enumerate(zip(said.member, said.column, strict=True)):
        for at, (i, other) in enumerate(pairs):
            out[at, j] = said.signs[m, i] * (int(c == Y[i]) - int(c == other))
    return out, np.array(pairs)


def full_programme(said: Responses, costs: Any, C: float) -> Any:
    """min 1'w + C sum_i weight_i xi_i with a slack for each row, as it stands in the papers."""
    phi, pairs = features(said)
    J = said.n_coefficients
    slack = np.zeros((len(pairs), N))
    slack[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    right = costs[Y[pairs[:, 0]], pairs[:, 1]]
    return linprog(np.r_[np.ones(J), C * WEIGHT], -np.hstack([phi, slack]), -right, method="highs")


# ---- scores, pulls and pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["class", "shared"])
def test_responses_against_loops(columns: str) -> None:
    said = some_members(columns)
    w, values = RNG.random(said.n_coefficients), RNG.normal(size=(K, N))
    scores = np.zeros((K, N))
    for j, (m, c) in enumerate(zip(said.member, said.column, strict=True)):
        scores[c] += w[j] * said.signs[m]
    along = [(said.signs[m] * values[c]).sum() for m, c in zip(said.member, said.column, strict=True)]
    assert_allclose(said.scores(w), scores, atol=1e-12)
    assert_allclose(said.along(values), along, atol=1e-12)
    assert_allclose(said.along(values, 5), along[5:], atol=1e-12)
    vectors = said.vectors(w)
    assert len(vectors) == M
    assert_allclose(vectors[3], np.outer([-1, 1], w[said.member == 3]))


def test_pulls_are_slopes_of_the_losses() -> None:
    F, unit, h = RNG.normal(size=(K, N)), np.zeros((K, N)), 1e-6
    cost = COSTS[Y].T
    U = exponential_pairs(F, Y, WEIGHT)
    soft = smoothed_hinge(F, Y, WEIGHT, cost, 0.3)[2]
    for c, i in [(0, 0), (1, 7), (Y[9], 9)]:
        unit[:] = 0
        unit[c, i] = h
        slope = (exponential_pairs(F + unit, Y, WEIGHT).sum() - exponential_pairs(F - unit, Y, WEIGHT).sum()) / (2 * h)
        assert slope == pytest.approx(-pulls(U, Y)[c, i], rel=1e-5, abs=1e-9)
        ends = [smoothed_hinge(F + sign * unit, Y, WEIGHT, cost, 0.3)[1] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(-pulls(soft, Y)[c, i], rel=1e-5, abs=1e-9)


def test_soft_maximum_is_above_the_hinge_by_no_more_than_its_bound() -> None:
    F, cost = RNG.normal(size=(K, N)), COSTS[Y].T
    plain = sum(WEIGHT[i] * max(0.0, max(COSTS[Y[i], c] - F[Y[i], i] + F[c, i] for c in range(K) if c != Y[i])) for i in range(N))
    for temperature in (1.0, 0.1, 0.01):
        hinge, soft, U = smoothed_hinge(F, Y, WEIGHT, cost, temperature)
        assert hinge == pytest.approx(plain)
        assert hinge <= soft <= hinge + temperature * np.log(K)
        assert (U.sum(axis=0) <= WEIGHT * (1 + 1e-12)).all()
    top, worst = worst_pairs(F, Y, cost)
    assert float(WEIGHT @ top) == pytest.approx(plain)
    assert_allclose((shared_out(worst, WEIGHT) * (cost + lead_over_own(F, Y))).sum(axis=0), WEIGHT * top, atol=1e-9)


# ---- solvers ---------------------------------------------------------------------------------------------------------------------------


def test_steps_in_turn_are_those_of_a_line_search() -> None:
    F = RNG.normal(size=(K, N)) / 3
    U = exponential_pairs(F, Y, WEIGHT)
    found = in_turn(SAID, Y, U, 0.0)
    order, w = np.argsort(-SAID.along(pulls(U, Y))), np.zeros(M)
    for j in order:

        def loss(step: float, j: int = j) -> float:
            return float(exponential_pairs(F + SAID.scores(w + step * (np.arange(M) == j)), Y, WEIGHT).sum())

        w[j] = max(0.0, minimize_scalar(loss, bracket=(-1, 1), tol=1e-10).x)
    assert (w > 0.05).sum() > 4
    assert_allclose(found, w, atol=1e-6)
    shorter = in_turn(SAID, Y, U, 0.1)
    assert (shorter <= found + 1e-12).all() or shorter[order[0]] < found[order[0]]


@pytest.mark.parametrize("columns", ["class", "shared"])
@pytest.mark.parametrize("nu", [1e-3, 0.05])
def test_corrective_exponential_optimum(columns: str, nu: float) -> None:
    said = some_members(columns)
    phi, pairs = features(said)
    J = said.n_coefficients

    def objective(w: Any) -> Any:
        loss = WEIGHT[pairs[:, 0]] * np.exp(-phi @ w)
        return loss.sum() + nu * w.sum(), nu - phi.T @ loss

    other = minimize(objective, np.full(J, 0.1), jac=True, method="SLSQP", bounds=[(0, None)] * J, options={"maxiter": 2000, "ftol": 1e-14})
    found = minimise_exponential(said, Y, WEIGHT, nu, np.zeros(J), 1000)
    assert found.value == pytest.approx(other.fun, rel=1e-6)
    assert found.value == pytest.approx(objective(found.w)[0], rel=1e-12)
    assert found.value - other.fun - 1e-9 <= found.gap <= 0.01 * found.value  # the bound is certified ...
    early = minimise_exponential(said, Y, WEIGHT, nu, np.zeros(J), 1)
    assert early.gap >= early.value - other.fun > 0.01 * early.value  # ... also of a search that was broken off
    slope = nu - said.along(pulls(found.U, Y))  # the conditions of Karush, Kuhn and Tucker
    assert (found.w >= 0).all()
    assert slope.min() > -0.01 * nu
    assert np.abs(slope[found.w > 0]).max() < 0.01 * nu


@pytest.mark.parametrize("C", [20.0, 60.0])
@pytest.mark.parametrize("costs", [UNIT, COSTS], ids=["0/1", "costs"])
@pytest.mark.parametrize("how", ["smoothed", "cutting planes"])
def test_hinge_optimum_is_that_of_the_programme_with_all_slacks(how: str, costs: Any, C: float) -> None:
    """With 0/1 it is MultiBoost's with nu = N/C: sum_i xi_i + nu 1'w, here divided by N."""
    exact = full_programme(SAID, costs, C).fun / C
    asked = SAID, Y, WEIGHT, np.ascontiguousarray(costs[Y].T), 1 / C, np.zeros(M), 1e-3, 1000
    found = minimise_hinge(*asked) if how == "smoothed" else minimise_hinge_by_cuts(*asked, Cuts.none())[0]
    assert exact - 1e-9 <= found.value <= exact + 1e-3
    assert found.value - exact - 1e-9 <= found.gap <= 1e-3
    score = SAID.along(pulls(found.U, Y))
    assert score.max() <= (1 + 1e-4) / C  # the dual variables are feasible ...
    assert (found.U.sum(axis=0) <= WEIGHT * (1 + 1e-5)).all()
    assert (found.U * costs[Y].T).sum() >= found.value - 1.1e-3  # ... and as good as the coefficients
    assert found.w.max() > 0


def test_cuts_are_kept_for_new_columns() -> None:
    cost, price = np.ascontiguousarray(UNIT[Y].T), 1 / 40
    few = Responses(SAID.signs[:5], SAID.leaves[:5], SAID.member[:5], SAID.column[:5], K)
    first, cuts = minimise_hinge_by_cuts(few, Y, WEIGHT, cost, price, np.zeros(5), 1e-4, 1000, Cuts.none())
    second, _ = minimise_hinge_by_cuts(SAID, Y, WEIGHT, cost, price, np.r_[first.w, np.zeros(M - 5)], 1e-4, 1000, cuts)
    assert len(cuts.right) > 0
    assert second.value <= first.value
    assert second.value == pytest.approx(full_programme(SAID, UNIT, 40.0).fun / 40, abs=1e-4)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_cuts_that_are_too_few_leave_a_certified_gap(max_iter: int) -> None:
    asked = SAID, Y, WEIGHT, np.ascontiguousarray(UNIT[Y].T), 1 / 40, np.zeros(M), 1e-6
    found, cuts = minimise_hinge_by_cuts(*asked, max_iter, Cuts.none())
    assert len(cuts.right) <= max_iter
    assert found.gap >= found.value - full_programme(SAID, UNIT, 40.0).fun / 40 > 1e-6


def test_a_programme_without_solution_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([True, True, False])

    def failing(*asked: Any, **more: Any) -> Any:
        solved = linprog(*asked, **more)
        solved.success = next(left)
        return solved

    monkeypatch.setattr("manyboost.maths.cutting_planes.linprog", failing)
    found, cuts = minimise_hinge_by_cuts(SAID, Y, WEIGHT, np.ascontiguousarray(UNIT[Y].T), 1 / 40, np.zeros(M), 1e-6, 1000, Cuts.none())
    assert next(left, None) is None  # it was asked no more
    assert 1e-6 < found.gap < np.inf
    assert len(cuts.right) <= 2


# ---- the estimators --------------------------------------------------------------------------------------------------------------------

X_WINE, Y_WINE = load_wine(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
REVISING = [
    CWBoostClassifier(coefficients="corrective", n_estimators=8, max_depth=2, nu=1e-3, random_state=0),
    CWBoostClassifier(coefficients="corrective", learners="shared", n_estimators=8, max_depth=2, random_state=0),
    StructBoostClassifier(n_estimators=8, max_depth=2, random_state=0),
]
EACH = pytest.mark.parametrize("model", REVISING, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'learners', '')}")


def test_column_generation_stops_when_no_learner_has_a_score() -> None:
    """On few distinct rows it reaches the optimum over all trees that the criterion would make, and says so."""
    X, y = np.round(X_IRIS[:, 2:3]), Y_IRIS
    for model in (
        StructBoostClassifier(n_estimators=60, max_depth=1, subsample=1.0, C=50.0, random_state=0),
        CWBoostClassifier(coefficients="corrective", n_estimators=60, max_depth=1, splitter="best", nu=1e-2),
    ):
        model.fit(X, y)
        assert model.n_estimators_ < 60
        assert "no learner of a class lowers the loss" in model.stop_reason_
        assert (np.diff(model.history_["loss"]) <= 1e-9).all()
        assert model.score(X, y) > 0.85


@EACH
def test_the_loss_falls_and_the_model_is_the_last_solution(model: Any) -> None:
    X, y = some_rows()
    seen: list[float] = []
    fitted = clone(model).set_params(callbacks=[lambda record: seen.append(record["training_error"])], calibrate=False).fit(X, y)
    assert (np.diff(fitted.history_["loss"]) <= 1e-9).all()
    assert 1 - fitted.score(X, y) == pytest.approx(seen[-1])
    assert seen[-1] < 0.7 * seen[0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            CWBoostClassifier(coefficients="corrective", n_estimators=4, max_depth=2),
            "least after solver_steps=1 .* raise solver_steps or nu",
        ),
        (
            StructBoostClassifier(n_estimators=4, tolerance=1e-4),
            "tolerance=0.0001, after solver_steps=1 .*smoothed.* raise solver_steps or tol",
        ),
        (
            StructBoostClassifier(n_estimators=4, solver="cutting_planes"),
            "after solver_steps=1 .*cutting_planes.*; raise solver_steps",
        ),
    ],
)
def test_a_solver_that_falls_short_is_not_silent(model: Any, words: str) -> None:
    X, y = some_rows()
    with pytest.warns(ConvergenceWarning, match=f"rounds are not solved as promised; the last of them, round .*{words}") as caught:
        short = clone(model).set_params(solver_steps=1, calibrate=False, random_state=0).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    n = short.n_estimators_  # coefficients that are far from the optimum may end the fit
    assert f"of {n} rounds are not solved as promised; the last of them, round {n}: " in str(caught[0].message)
    assert short.history_["unsolved"][-1] == 1
    whole = clone(model).set_params(calibrate=False, random_state=0, tolerance=0.1).fit(X, y) if "tolerance" in model.get_params() else None
    assert whole is None or not whole.history_["unsolved"].any()  # and there is no warning


@EACH
def test_going_on_and_stopping_early_are_fits_of_that_length(model: Any) -> None:
    X, y = some_rows()
    whole = clone(model).fit(X, y)
    part = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y)
    assert digest(part.set_params(n_estimators=8).fit(X, y)) == digest(whole)
    early = (
        clone(model)
        .set_params(early_stopping=True, n_iter_no_change=3, n_estimators=20)
        .fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    )
    errors = early.history_["validation_error"]
    assert early.n_estimators_ == errors.argmin() + 1 < len(errors)
    assert (early.predict(X[100:]) != y[100:]).mean() == pytest.approx(errors.min())
    short = clone(model).set_params(n_estimators=early.n_estimators_, calibrate=False).fit(X[:100], y[:100])
    assert_array_equal(short.decision_function(X), early.decision_function(X))


@EACH
def test_shrinkage_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="learning_rate=0.5 .*leave it at 1"):
        clone(model).set_params(learning_rate=0.5).fit(X_IRIS, Y_IRIS)


def test_stagewise_goes_on_and_shrinks() -> None:
    X, y = some_rows()
    model = CWBoostClassifier(n_estimators=3, warm_start=True, random_state=0, learning_rate=0.5).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    assert digest(model) == digest(CWBoostClassifier(n_estimators=6, random_state=0, learning_rate=0.5).fit(X, y))


def test_loss_of_the_history_is_that_of_the_scores() -> None:
    X, y = some_rows()
    for parameters in ({}, {"learners": "shared"}, {"coefficients": "corrective"}):
        model = CWBoostClassifier(n_estimators=5, max_depth=2, calibrate=False, random_state=0, **parameters).fit(X, y)
        F = model.decision_function(X).T
        loss = exponential_pairs(F, y, np.full(len(y), 1 / len(y))).sum()
        price = model.nu * sum(np.abs(model.forest_.tree(m)[1]).max(axis=0).sum() for m in range(len(model.forest_.members)))
        assert model.history_["loss"][-1] == pytest.approx(loss + (price if model.revises else 0.0), rel=1e-9)


def test_shared_learners_are_one_a_round_and_serve_every_class() -> None:
    X, y = some_rows()
    model = CWBoostClassifier(learners="shared", n_estimators=6, max_depth=2, random_state=0, calibrate=False).fit(X, y)
    assert_array_equal(model.history_["n_trees"], 1)
    assert (model.forest_.members["width"] == 3).all()
    own = CWBoostClassifier(n_estimators=6, max_depth=2, random_state=0, calibrate=False).fit(X, y)
    assert (own.forest_.members["width"] == 1).all()
    assert own.history_["loss"][-1] < model.history_["loss"][-1]


def test_only_the_answer_of_most_merit_is_kept() -> None:
    def one(merit: float | None) -> Any:
        return None, None, Answer(np.zeros((1, 1)), 1.0, merit=merit)

    refused: Any = (None, None, Refusal("no"))
    low, high, same, plain = one(1.0), one(2.0), one(2.0), one(None)
    assert _of_most_merit([low, high, refused, same]) == [high, refused]
    assert _of_most_merit([plain, refused]) == [plain, refused]
    assert _of_most_merit([refused]) == [refused]


def test_training_with_costs_lowers_the_cost() -> None:
    X, y = some_rows()
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [8.0, 8.0, 0.0]])
    model = StructBoostClassifier(n_estimators=10, max_depth=1, C=20.0, random_state=0, calibrate=False)
    plain = clone(model).fit(X, y).predict(X)
    careful = clone(model).set_params(cost_matrix=costs).fit(X, y)
    said = careful.predict(X)
    assert costs[y, said].mean() < costs[y, plain].mean()
    assert (said == 2).sum() > (plain == 2).sum()
    scaled = clone(model).set_params(cost_matrix=4 * costs).fit(X, y)
    assert digest(scaled) == digest(careful)  # the unit of the costs does not matter


def test_two_classes_are_one_problem() -> None:
    """With K = 2 the learners of both classes ask the same, and the weights are AdaBoost's: the last learner is right by half."""
    X, y = some_rows(2)
    model = CWBoostClassifier(n_estimators=1, max_depth=1, splitter="best", calibrate=False).fit(X, y)
    f = model.decision_function(X)
    w = np.exp(-np.where(y == 1, f, -f))
    assert w[(f > 0) == (y == 1)].sum() / w.sum() == pytest.approx(0.5, abs=0.01)  # but for 1/(2N)


@EACH
def test_other_learners(model: Any) -> None:
    weak = DecisionTreeClassifier(max_depth=2)
    other = clone(model).set_params(max_depth=type(model)().max_depth, splitter=type(model)().splitter, estimator=weak).fit(X_IRIS, Y_IRIS)
    assert other.score(X_IRIS, Y_IRIS) > 0.93


@pytest.mark.parametrize(
    "model", [CWBoostClassifier(random_state=0, n_estimators=30), StructBoostClassifier(random_state=0, n_estimators=30)]
)
def test_clearly_better_than_its_weak_learner(model: Any) -> None:
    X, y = X_WINE[:, :6], Y_WINE
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    assert clone(model).fit(X[train], y[train]).score(X[test], y[test]) > tree
