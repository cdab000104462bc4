"""Localized similarities: the formulas, what the paper proves, along real runs, odd input, explanations and files."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from similarity_twin import best_steps, eigenvector, least_loss_of_signs, loss_of, one_point, pairs_by_newton_gain, signs, two_point
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs

import manyboost
from manyboost import RebelClassifier
from manyboost.checks import digest
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.distance_rows import DistanceRows
from manyboost.learners.pair_search import best_pairs, single_precision
from manyboost.learners.similarities import squared_distances
from manyboost.learners.similarity_kernels import add_responses
from manyboost.learners.similarity_space import learn_space
from manyboost.maths.number_steps import binned_steps, bound_steps, exact_steps, scaled_by_number
from manyboost.maths.weights import Weights
from manyboost.protocol import Task
from manyboost.similarity_learner import SimilarityLearner, SimilarityRows
from manyboost.similarity_metric import space_for
from manyboost.threads import ALONE, Threads
from manyboost.weak_learning import Settings

RNG = np.random.default_rng(0)
IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)


def model_of(learner: dict[str, Any] | None = None, **parameters: Any) -> RebelClassifier:
    return RebelClassifier(estimator=LocalizedSimilarity(**(learner or {})), **{"random_state": 0, "calibrate": False, **parameters})


def spirals(n: int, n_classes: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    y = np.arange(n) % n_classes
    t = rng.uniform(0.3, 2.5, n) * np.pi
    angle = t + 2 * np.pi * y / n_classes
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + rng.normal(0, 0.1, (n, 2)), y


# ---- formulas --------------------------------------------------------------------------------------------------------------------------


def answers(points: Any, rows: Any, scale: float, hard: bool = False) -> Any:
    out = np.empty(len(rows))
    add_responses(squared_distances(rows.T.copy(), points.T.copy()), 0, 1 if len(points) > 1 else -1, scale, hard, out)
    return out


def test_responses_are_the_papers() -> None:
    points, rows = RNG.normal(size=(2, 5)), RNG.normal(size=(40, 5))
    e = ((points[0] - points[1]) ** 2).sum() / 4
    wanted = [two_point(x, *points) for x in rows]
    assert_allclose(answers(points, rows, e), wanted, rtol=1e-12, atol=1e-14)
    assert_allclose(answers(points, rows, e, True), np.sign(wanted))
    assert_allclose(answers(points[:1], rows, 0.7), [one_point(x, points[0], 0.7) for x in rows], rtol=1e-12)


def test_the_largest_response_is_one_and_its_scale_does_not_matter() -> None:
    first, second = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    along = (first + second) / 2 + np.linspace(0, 4, 100001)[:, None] * (first - second) / 2
    found = answers(np.stack([first, second]), along, 0.5)
    assert found.max() == pytest.approx(1.0, abs=1e-9)
    assert along[found.argmax()] == pytest.approx((first + second) / 2 + 1.07457 * (first - second) / 2, abs=1e-4)
    assert answers(np.stack([first, second]), first[None], 0.5)[0] == pytest.approx(0.99265, abs=1e-5)
    for unit in (1e-120, 1e120):
        assert_allclose(answers(unit * np.stack([first, second]), unit * along, 0.5 * unit**2), found, rtol=1e-9, atol=1e-12)
    far = np.full((1, 2), 1e150)
    assert answers(np.stack([first, second]), far, 0.5) == 0
    assert answers(first[None], far, 0.5) == -1


@pytest.mark.parametrize(("n_rows", "n_points", "n_columns"), [(1, 1, 1), (700, 9, 5), (520, 4, 2), (3, 6, 3)])
def test_distances_do_not_depend_on_what_is_beside_them(n_rows: int, n_points: int, n_columns: int) -> None:
    rows, points = RNG.normal(size=(n_columns, n_rows)), RNG.normal(size=(n_columns, n_points))
    found = squared_distances(rows, points)
    assert_allclose(found, ((rows[:, None] - points[:, :, None]) ** 2).sum(axis=0), rtol=1e-13)
    for i, j in ((0, 0), (n_points - 1, n_rows - 1)):
        assert squared_distances(rows[:, [j]], points[:, [i]])[0, 0] == found[i, j]


@pytest.mark.parametrize("hard", [False, True])
def test_exact_steps_are_the_least_loss_of_each_class(hard: bool) -> None:
    n, K = 300, 4
    W, y = RNG.exponential(size=(n, K)) ** 3, RNG.integers(0, K, n)
    f = np.tanh(RNG.normal(size=n) + (y == 1) - 0.5 * (y == 2))
    f = np.sign(f) if hard else f
    a, clipped = exact_steps(f, W, y)
    wanted = best_steps(f, W, y)
    assert not clipped
    assert_allclose(a, wanted, atol=2e-6)
    assert loss_of(f, W, y, a) <= loss_of(f, W, y, wanted) * (1 + 1e-14)
    near, loss = binned_steps(f, W, y)
    assert_allclose(near[0], a, atol=3e-4)
    assert_allclose(loss, loss_of(f, W, y, a), rtol=1e-4)
    slopes = (-signs(y, K) * f[:, None] * W * np.exp(-signs(y, K) * np.outer(f, a))).sum(axis=0)
    assert (np.abs(slopes) < 1e-7 * W.sum()).all()
    by_bound, _ = bound_steps(f, W, y)
    if hard:  # the bound is the loss itself
        assert_allclose(by_bound, a, atol=1e-9)
        assert_allclose(loss_of(f, W, y, a), least_loss_of_signs(f, W, y), rtol=1e-9)
    else:
        assert (np.abs(by_bound) < np.abs(a)).all()
        bound = (W.sum(axis=0) * np.sqrt(1 - ((signs(y, K) * f[:, None] * W).sum(axis=0) / W.sum(axis=0)) ** 2)).sum()
        assert loss_of(f, W, y, by_bound) <= bound


def test_steps_without_an_end_are_cut_off_and_weights_follow_the_steps() -> None:
    y = np.array([0, 0, 1, 1])
    f = np.array([1.0, 0.5, -0.5, -1.0])
    a, clipped = exact_steps(f, np.ones((4, 2)), y)
    assert clipped
    assert_allclose(a, [6.9078, -6.9078], atol=1e-4)
    W = RNG.exponential(size=(4, 2))
    assert_allclose(scaled_by_number(W, a, f, y), W * np.exp(-signs(y, 2) * np.outer(f, a)), rtol=1e-12)


@pytest.mark.parametrize(("n", "hard"), [(40, False), (40, True), (300, False)])
def test_the_search_finds_the_pairs_of_the_largest_newton_gain(n: int, hard: bool) -> None:
    rng = np.random.default_rng(n)
    at, v, h, numbers = rng.normal(size=(n, 5)), rng.normal(size=n), rng.exponential(size=n), rng.random(1 + 6 + 4 * 8)
    drawn = rng.random(n) < 0.8
    learner = LocalizedSimilarity(
        n_anchors=6, n_partners=8, n_finalists=4, n_screened=64, response="sign" if hard else "real"
    )  # fmt: skip
    wanted = pairs_by_newton_gain(at, v, h, drawn, numbers, learner)
    pairs, gains = best_pairs(single_precision(1e60 * at.T, np.arange(n)), v, h, drawn, numbers, learner)
    assert len(wanted) > 4 == len(pairs)
    assert_allclose(gains, sorted(wanted.values(), reverse=True)[:4], rtol=1e-4)
    assert_allclose(gains, [wanted[tuple(pair)] for pair in pairs.tolist()], rtol=1e-4)
    assert drawn[pairs].all()
    one_group, _ = best_pairs(single_precision(at.T, np.arange(n)), np.abs(v), h, drawn, numbers, learner)
    assert len(one_group) == 0


def test_the_direction_is_the_first_eigenvector_of_the_large_matrix() -> None:
    X, y = IRIS
    W = RNG.exponential(size=(len(y), 3))
    learner = learner_of(X, y)
    direction = learner._direction(W)
    _, v = eigenvector(W, y[learner.rows.row])
    _, point = learner.rows.points
    of_rows = np.array([direction.v[point[point == p]][0] / (point == p).sum() for p in point])
    if len(learner.row_of) == len(y):
        assert abs(of_rows @ v) / np.linalg.norm(of_rows) == pytest.approx(1.0)
    assert_array_equal(direction.totals, W.sum(axis=0))


def learner_of(X: Any, y: Any, **parameters: Any) -> SimilarityLearner:
    one = LocalizedSimilarity(**{"metric": "standard", **parameters})
    task = Task.of(y, int(y.max()) + 1, np.ones(len(y)))
    space = space_for(one, X, y, np.ones(len(y)), np.zeros(X.shape[1], np.int32))
    found: Settings = clone(model_of())._settings(0)
    return SimilarityLearner(SimilarityRows.of(X, y, np.arange(len(y)), one, space), task, found, ALONE)


# ---- what is proved, along real runs ---------------------------------------------------------------------------------------------------

RUNS = {
    "signs, as in the paper": {"response": "sign", "procedure": "paper"},
    "signs": {"response": "sign"},
    "real": {},
    "real, as in the paper": {"procedure": "paper"},
    "one point": {"mode": "one-point"},
}
SMALL = make_blobs(60, centers=6, cluster_std=2.5, random_state=3)
SMALL = SMALL[0], SMALL[1] % 3


@pytest.mark.parametrize("name", RUNS)
def test_the_loss_falls_by_what_is_proved_and_training_error_ends_at_zero(name: str) -> None:
    X, y = SMALL
    K, N = 3, len(y)
    model = model_of(RUNS[name], n_estimators=4000).fit(X, y)
    losses = np.concatenate([[K / 2], model.history_["loss"]])
    assert (losses[1:] <= losses[:-1] * (1 - 2 / (K * N**2)) * (1 + 1e-12)).all()
    assert (model.history_["training_error"] <= losses[1:] + 1e-12).all()
    assert "below 1/N" in model.stop_reason_
    assert losses[-1] < 1 / N <= losses[-2]
    assert model.history_["training_error"][-1] == 0
    assert model.score(X, y) == 1.0
    bound = np.ceil(np.log(2 / (K * N)) / np.log(1 - 2 / (K * N**2)))
    assert model.n_estimators_ <= bound


def test_the_bounds_of_sections_4_and_5_hold_at_the_weights_of_a_run() -> None:
    X, y = SMALL
    K, N = 3, len(y)
    learner = learner_of(X, y, response="sign", procedure="paper")
    y = y[learner.rows.row]
    state = Weights.of(np.full((N, K), 0.5 / N))
    model = model_of({"response": "sign"})
    for round_ in range(30):
        (problem,) = model.pose(learner.task, state, np.random.default_rng(0))
        W = state.values
        before = W.sum()
        values, v = eigenvector(W * N, y)  # with the paper's weights, whose mean over the rows is the loss
        assert values.sum() >= before / N * (1 - 1e-12)
        assert values[-1] >= before / (K * N) * (1 - 1e-12)
        b = np.where(v >= 0, 1.0, -1.0)
        assert (b @ v) ** 2 >= 1 - 1e-12
        assert least_loss_of_signs(b, W, y) <= before * (1 - 1 / (2 * K * N))
        isolators = 2 * np.eye(N) - 1
        assert ((isolators @ v) ** 2).max() >= 4 / N * (1 - 1e-12)
        losses = [least_loss_of_signs(f, W, y) for f in isolators]
        assert min(losses) <= before * (1 - 2 / (K * N**2))
        point = learner._isolated_point(learner._direction(W), np.ones(learner.n_points, bool))
        assert_allclose(losses[learner.row_of[point]], min(losses), rtol=1e-12)
        u = (-signs(y, K) * W * N / np.sqrt(N * (W * N).sum(axis=0))).T
        found = learner.grow_again(problem, round_, 0)
        f = found.leaves.numbers
        assert f is not None
        assert set(np.unique(f)) <= {-1.0, 1.0}
        assert least_loss_of_signs(f, W, y) <= before - 0.5 * ((u @ f) ** 2).sum() + 1e-12  # eq. 6
        assert least_loss_of_signs(f, W, y) <= min(losses) * (1 + 1e-12)
        state = Weights.of(scaled_by_number(W, exact_steps(f, W, y)[0], f, y))


def test_steps_4_to_6_of_the_papers_procedure() -> None:
    X, y = SMALL
    learner = learner_of(X, y, procedure="paper")
    Z, W = learner.Z, RNG.exponential(size=(len(y), 3))
    direction = learner._direction(W)
    everything = np.ones(learner.n_points, bool)
    point = learner._isolated_point(direction, everything)
    found = learner._of_the_paper(direction, point, everything)
    at = Z.T[learner.row_of]
    alive = set(np.flatnonzero(direction.v * direction.v[point] < 0))
    wanted = []
    while alive:
        j = min(alive, key=lambda n: ((at[n] - at[point]) ** 2).sum())
        wanted.append((learner.row_of[point], learner.row_of[j]))
        alive = {n for n in alive if two_point(at[n], at[point], at[j]) > two_point(at[j], at[point], at[j]) / 2}
    assert [(one.comparison.first, one.comparison.second) for one in found] == wanted
    assert len(wanted) > 2


def test_one_point_similarities_alone_need_more_rounds_and_generalise_worse() -> None:
    X, y = spirals(200)
    both, one = (model_of({"mode": mode}, n_estimators=2000).fit(X[::2], y[::2]) for mode in ("two-point", "one-point"))
    assert both.score(X[1::2], y[1::2]) > one.score(X[1::2], y[1::2])
    assert both.n_estimators_ < one.n_estimators_
    assert (one.forest_.second < 0).all()


def test_spirals_are_learnt_without_error_and_going_on_does_no_harm() -> None:
    X, y = spirals(500)
    model = model_of(n_estimators=600, stop_when_separated=False).fit(X[::2], y[::2])
    errors = [np.mean(said != y[1::2]) for said in model.staged_predict(X[1::2])]
    done = int(np.flatnonzero(model.history_["training_error"] == 0)[0])
    assert done < 200
    assert max(errors[done:]) <= errors[done] + 0.03
    assert np.mean(errors[-200:]) <= 0.02


def test_wrong_labels_do_limited_harm() -> None:
    X, y = spirals(450)
    rng = np.random.default_rng(0)
    train = np.arange(len(y)) % 5 > 1
    shown = y.copy()
    wrong = train & (rng.random(len(y)) < 0.1)
    shown[wrong] = (y[wrong] + 1) % 3
    model = model_of(n_estimators=2000).fit(X[train], shown[train])
    assert model.score(X[train], shown[train]) == 1.0  # also the wrong ones, by isolation
    assert model.score(X[~train], y[~train]) > 0.85


# ---- what the model does not depend on -------------------------------------------------------------------------------------------------


def test_classes_in_another_order_give_the_same_model() -> None:
    X, y = SMALL
    permutation = np.array([2, 0, 1])
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(y))  # no ties
    model = model_of({"procedure": "paper"}, n_estimators=25).fit(X, y, weight)
    other = clone(model).fit(X, permutation[y], weight)
    assert_allclose(other.decision_function(X)[:, permutation], model.decision_function(X), atol=1e-8)


def test_large_samples_threads_and_order() -> None:
    """More rows than are screened or summed at once."""
    X, y = make_blobs(9000, centers=12, n_features=3, cluster_std=3.0, random_state=0)
    y = y % 4
    model = model_of(n_estimators=4).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    other = clone(model).set_params(n_jobs=3).fit(X[order], y[order])
    assert digest(other) == digest(model)
    assert manyboost.fingerprint(other) == manyboost.fingerprint(model)
    assert_array_equal(model.set_params(n_jobs=2).decision_function(X), model.set_params(n_jobs=1).decision_function(X))


def test_kept_distances_are_those_that_would_be_made_and_the_last_asked_for_stay() -> None:
    Z = RNG.normal(size=(5, 70))
    row = 8 * 70 / 2**20  # in megabytes
    with Threads.of(2) as team:
        rows = DistanceRows(Z, 3.5 * row, team)
        assert rows.most == 3
        assert DistanceRows(Z, 0, team).most == 2  # a comparison needs them
        assert DistanceRows(Z, 1e9, team).most == 70
        made: list[int] = []
        make, rows._make = rows._make, lambda some, out: (made.extend(some), make(some, out))[1]  # type: ignore[method-assign]
        for asked in ([0, 1], [2], [0], [3, 4], [0, 3, 4], [1], [0, 4, 0]):
            table, places = rows.of(asked)
            assert_array_equal(table[places], squared_distances(Z, Z[:, asked]))
            assert table.shape == (3, 70)
    assert made == [0, 1, 2, 3, 4, 1, 0]  # 0 was asked for before 3 and 4 were, and left when 1 came


@pytest.mark.parametrize("learner", [{}, {"procedure": "paper", "response": "sign"}, {"mode": "one-point"}, {"n_finalists": 30}], ids=str)
def test_the_memory_for_distances_changes_no_bit(learner: dict[str, Any]) -> None:
    X, y = spirals(150)
    none, little, much = (model_of({"cache_size": size, **learner}, n_estimators=25) for size in (0, 0.02, 200))
    none.fit(X, y)
    assert manyboost.fingerprint(little.set_params(n_jobs=2).fit(X, y)) == manyboost.fingerprint(none)
    assert manyboost.fingerprint(much.fit(X, y)) == manyboost.fingerprint(none)


def test_only_used_points_are_stored_and_rows_are_those_of_the_table() -> None:
    X, y = WINE
    model = model_of().fit(X, y)
    members = model.forest_
    assert len(members.points) == len(set(members.first) | set(members.second) - {-1} | set()) - (-1 in members.first)
    assert_array_equal(members.points, X[members.row])
    assert_array_equal(members.label, y[members.row])
    weight = np.arange(len(y)) % 3 > 0  # some rows are left out
    some = model_of().fit(X, y, weight).forest_
    assert_array_equal(some.points, X[some.row])
    shorter = members.first_rounds(3)
    assert shorter.n_rounds == 3
    assert len(shorter.points) <= 6


def test_learnt_weights_drown_columns_of_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = IRIS
    noisy = np.column_stack([X, rng.normal(size=(len(y), 40))])
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    plain, weighted = (
        model_of({"metric": "standard", "feature_weights": weights}).fit(noisy[train], y[train]) for weights in (None, "relevance")
    )
    assert weighted.score(noisy[test], y[test]) > plain.score(noisy[test], y[test])
    given = np.r_[np.ones(4), np.zeros(40)]
    assert_array_equal(model_of({"feature_weights": given}, n_estimators=2).fit(noisy, y).forest_.space.column, np.arange(4))
    with pytest.raises(ValueError, match="feature_weights must be one finite factor"):
        model_of({"feature_weights": [1.0, 2.0]}).fit(X, y)


# ---- the metric ------------------------------------------------------------------------------------------------------------------------


def space_of(metric: str, X: Any, y: Any, categories: Any = None) -> Any:
    n_categories = np.zeros(X.shape[1], np.int32) if categories is None else np.asarray(categories, np.int32)
    return learn_space(X, y, np.full(len(y), 1 / len(y)), n_categories, tuple(metric.split("+")), None, len(y))


def test_metrics() -> None:
    X, y = WINE
    standard = space_of("standard", X, y).coordinates(X).T
    assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    assert_allclose(standard.std(axis=0), 1)
    within = space_of("within", X, y).coordinates(X).T
    centred = within - np.stack([within[y == k].mean(axis=0) for k in range(3)])[y]
    covariance = centred.T @ centred / len(y)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 0.2 < np.diag(covariance).min()
    none = space_of("none", X, y).coordinates(X)
    apart = squared_distances(none, none) / squared_distances(X.T.copy(), X.T.copy()).clip(1e-300)
    assert_allclose(apart[~np.eye(len(X), dtype=bool)], apart[0, 1])


@pytest.mark.parametrize("metrics", ["standard+none", "standard+within", "standard+within+none"])
def test_a_mean_of_metrics_is_the_mean_of_their_squared_distances(metrics: str) -> None:
    X, y = WINE
    X = np.column_stack([X[:, :5], X[:, 6] > 2.5, X[:, 0] * 0])  # a category, and a column that says nothing
    wanted = np.zeros((len(X), len(X)))
    for name in metrics.split("+"):
        Z = space_of(name, X, y, [0, 0, 0, 0, 0, 2, 0]).coordinates(X)
        wanted += squared_distances(Z, Z) / squared_distances(Z, Z).mean()
    space = space_of(metrics, X, y, [0, 0, 0, 0, 0, 2, 0])
    found = squared_distances(space.coordinates(X), space.coordinates(X))
    assert_allclose(found / found.mean(), wanted / wanted.mean(), rtol=1e-8, atol=1e-10)
    assert space.metric == metrics


def test_mixed_tables() -> None:
    X = np.array([[1.0, 0], [2, 1], [np.nan, 2], [3, np.nan]])
    Z = space_of("standard", X, np.array([0, 1, 0, 1]), [0, 3]).coordinates(X).T
    assert Z.shape == (4, 4)
    assert Z[2, 0] == 0  # at the mean
    assert_array_equal(Z[3, 1:], 0)
    apart = ((Z[0, 1:] - Z[1, 1:]) ** 2).sum()
    assert apart == pytest.approx(2 / (1 - 3 / 9))  # each category has a third of the known rows; random rows are then 2 apart on average
    frame = pd.DataFrame({"number": [0.1, 0.2, 5, 6] * 10, "word": pd.Categorical(["a", "b", "a", "b"] * 10), "flag": [True, False] * 20})
    y = np.array(["u", "v", "w", "x"] * 10)
    model = model_of().fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert_array_equal(model.explain(frame.iloc[1]).scores, model.explain(frame.iloc[[1]]).scores)
    values = model.explain(frame.iloc[[1]]).comparisons[-1].first.values
    assert isinstance(values[1], str)
    assert isinstance(values[2], bool)


def test_auto_leaves_out_the_metrics_that_held_out_rows_speak_against(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    common = rng.normal(size=400) * 10
    X = np.column_stack([common + y, common - y]) + rng.normal(0, 0.2, (400, 2))  # parted across a long shared direction
    assert model_of().fit(X, y).forest_.space.metric == "within"
    few = model_of().fit(X[:12], y[:12])
    assert few.forest_.space.metric == "standard+within+none"  # few rows are no proof
    assert digest(model_of({"metric": "mean"}).fit(X[:12], y[:12])) == digest(few)
    manyboost.save(few, tmp_path / "model")
    assert_array_equal(manyboost.load(tmp_path / "model").decision_function(X), few.decision_function(X))
    few.forest_ = replace(few.forest_, space=replace(few.forest_.space, metric="none+standard"))
    with pytest.raises(ValueError, match="metric is unknown"):
        manyboost.save(few, tmp_path / "model")


# ---- odd input -------------------------------------------------------------------------------------------------------------------------


def check_usable(model: Any, X: Any, y: Any) -> Any:
    model = model.fit(X, y)
    for asked in (X, np.vstack([np.asarray(X, float) * 3 + 1, np.full((1, np.shape(X)[1]), np.nan)])):
        assert np.isfinite(model.decision_function(asked)).all()
        assert_allclose(model.predict_proba(asked).sum(axis=1), 1)
    assert np.isfinite(model.history_["loss"]).all()
    return model


@pytest.mark.parametrize(
    "learner", [{}, {"procedure": "paper", "response": "sign"}, {"mode": "one-point"}, {"metric": "none"}, {"metric": "mean"}], ids=str
)
def test_odd_tables(learner: dict[str, Any]) -> None:
    make = model_of(learner, calibrate=False if learner else "auto", n_estimators=120)
    X, y = SMALL[0][::2], SMALL[1][::2]
    y_of_10 = np.repeat([0, 1, 2], [2, 5, 3])
    model = check_usable(clone(make), np.ones((10, 2)), y_of_10)  # all points equal
    assert model.n_estimators_ == 0
    assert_allclose(model.predict_proba(np.ones((1, 2))), [[0.2, 0.5, 0.3]])
    assert model.explain([1, 1]).why().comparisons == ()
    assert check_usable(clone(make), np.arange(10.0)[:, None], y_of_10).score(np.arange(10.0)[:, None], y_of_10) == 1  # one column
    constant = np.column_stack([X, np.zeros(len(X))])
    assert_allclose(
        check_usable(clone(make), constant, y).decision_function(constant), clone(make).fit(X, y).decision_function(X), atol=1e-6
    )
    for n in (2, 3):
        assert check_usable(clone(make), np.arange(2.0 * n).reshape(n, 2), np.arange(n)).n_estimators_ > 0
    for scale in (1e-150, 1e150):
        assert check_usable(clone(make), X * scale, y).score(X * scale, y) > 0.8
    uneven = X * [1e-150, 1e150]
    check_usable(clone(make), uneven, y)
    lonely = np.where(np.arange(len(y)) == 7, 3, y % 2)  # a class of one row
    assert check_usable(clone(make), X, lonely).predict(X[[7]]) == [3]


def test_equal_rows_of_different_classes() -> None:
    X, y = SMALL
    X, y = np.vstack([X, X[:5], X[:5]]), np.r_[y, (y[:5] + 1) % 3, (y[:5] + 1) % 3]  # outvoted two to one
    majority = model_of(n_estimators=1500).fit(X, y)
    assert "below 1/N" in majority.stop_reason_
    assert majority.history_["training_error"][-1] == pytest.approx(5 / 70)  # no model does better
    assert_array_equal(majority.predict(X[:5]), (SMALL[1][:5] + 1) % 3)
    kept = model_of({"coincident": "keep"}, n_estimators=100).fit(X, y)
    assert kept.history_["training_error"][-1] >= 5 / 70 - 1e-12
    two = kept.forest_.second >= 0
    assert (kept.forest_.scale[two] > 0).all()


def test_mixed_points_are_a_class_that_is_never_decided_for(tmp_path: Any) -> None:
    X, y = SMALL
    X, y = np.vstack([X, X[:5], X[:5]]), np.r_[y, (y[:5] + 1) % 3, (y[:5] + 1) % 3]
    mixed = np.r_[np.arange(5), np.arange(60, 70)]
    model = model_of({"coincident": "mixed"}, n_estimators=1500).fit(X, y)
    assert "below 1/N" in model.stop_reason_  # so that no row is mistaken, four classes being told apart
    columns = model.forest_.columns(X)
    assert_array_equal(columns.argmax(axis=1), np.where(np.isin(np.arange(70), mixed), 3, y))
    assert_array_equal(model.predict(X), columns[:, :3].argmax(axis=1))
    assert_array_equal(model.decision_function(X), columns[:, :3])
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    wrong = model.predict(X) != y
    assert model.history_["training_error"][-1] == pytest.approx(wrong.mean())
    assert set(np.flatnonzero(wrong)) <= set(mixed)
    explanation = model.explain(X[20])
    assert_allclose(sum(one.votes for one in explanation.comparisons), explanation.scores, atol=1e-9)

    manyboost.save(model, tmp_path / "model")
    again = manyboost.load(tmp_path / "model")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    model._decoder = np.eye(4, 3)[:, ::-1]
    with pytest.raises(ValueError, match="the decoder is none of this learner"):
        manyboost.save(model, tmp_path / "other")
    short = model_of({"coincident": "mixed"}, n_estimators=4, warm_start=True).fit(X, y)
    longer = model_of({"coincident": "mixed"}, n_estimators=40).fit(X, y)
    assert_array_equal(short.set_params(n_estimators=40).fit(X, y).decision_function(X), longer.decision_function(X))
    order = np.random.default_rng(0).permutation(len(y))
    assert digest(model_of({"coincident": "mixed"}, n_estimators=20, calibrate="auto").fit(X[order], y[order])) == digest(
        model_of({"coincident": "mixed"}, n_estimators=20, calibrate="auto").fit(X, y)
    )
    assert model_of({"coincident": "mixed"}, n_estimators=1500).fit(*SMALL).score(*SMALL) == 1.0  # without any such point
    with pytest.raises(ValueError, match="coincident='mixed' trains one more class, of which cost_matrix says nothing"):
        model_of({"coincident": "mixed"}, cost_matrix=1 - np.eye(3), costs="train").fit(X, y)


def test_sparse_rows_and_samples_of_rows() -> None:
    X, y = IRIS
    assert_array_equal(
        model_of().fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(X)), model_of().fit(X, y).decision_function(X)
    )
    drawn = model_of(n_estimators=30, subsample=0.1).fit(X, y)
    assert drawn.score(X, y) > 0.9
    with pytest.raises(ValueError, match="sampling='smote' makes rows up"):
        model_of(sampling="smote").fit(X, y)


def test_refusals() -> None:
    X, y = IRIS
    for other in (manyboost.SAMMEClassifier(), manyboost.AdaBoostMHClassifier(), RebelClassifier(leaves="shared")):
        with pytest.raises(ValueError, match="answers with a number for each row.*use RebelClassifier"):
            other.set_params(estimator=LocalizedSimilarity()).fit(X, y)
    with pytest.raises(ValueError, match="metric='manhattan' is not allowed; give one of"):
        model_of({"metric": "manhattan"}).fit(X, y)
    with pytest.raises(ValueError, match="max_depth=3 is for our own trees"):
        model_of(max_depth=3).fit(X, y)
    with pytest.raises(ValueError, match="estimator=.*is not allowed|estimator=.*give None"):
        RebelClassifier(estimator="similarity").fit(X, y)


def test_a_least_share_on_either_side_forbids_isolation() -> None:
    X, y = spirals(120)
    wrong = y.copy()
    wrong[5] = (y[5] + 1) % 3
    model = model_of(n_estimators=60, min_weight_fraction_leaf=0.05).fit(X, wrong)
    assert ((model.forest_.second >= 0) | (model.forest_.first < 0)).all()


# ---- explanations and files ------------------------------------------------------------------------------------------------------------


def test_explanations_add_up_and_name_training_rows() -> None:
    X, y = WINE
    names = np.array(["first", "second", "third"])
    model = model_of(calibrate="auto").fit(X, names[y])
    explanation = model.explain(X[70])
    assert explanation.predicted == model.predict(X[[70]])[0]
    assert_allclose(explanation.scores, model.decision_function(X[[70]])[0])
    assert_allclose(sum(one.votes for one in explanation.comparisons), explanation.scores, atol=1e-9)
    assert sorted(t for one in explanation.comparisons for t in one.members) == list(range(len(model.forest_)))
    contrast = explanation.why("second", "third")
    assert contrast.difference == pytest.approx(explanation.scores[1] - explanation.scores[2])
    assert sum(amount for amount, _ in contrast.comparisons) == pytest.approx(contrast.difference)
    sizes = [abs(amount) for amount, _ in contrast.comparisons]
    assert sizes == sorted(sizes, reverse=True)
    for one in explanation.comparisons:
        for example in (one.first, one.second):
            if example is not None:
                assert example.label == names[y[example.row]]
                assert_array_equal(example.values, X[example.row])
    text = str(explanation)
    assert "Predicted: second" in text
    assert "more like training row" in text
    assert "against it" in str(contrast)
    reverse = explanation.why("third", "second")
    assert reverse.difference == pytest.approx(-contrast.difference)
    with pytest.raises(ValueError, match="other='fourth' is no class of the model"):
        explanation.why("first", "fourth")
    with pytest.raises(ValueError, match="this and other are both 'first'"):
        explanation.why("first", "first")
    with pytest.raises(ValueError, match="explain takes one row, not 2"):
        model.explain(X[:2])


def test_files_and_pickles(tmp_path: Any) -> None:
    X, y = WINE
    model = model_of({"metric": "within", "feature_weights": np.ones(13)}, calibrate="auto").fit(X, y)
    saved = manyboost.save(model, tmp_path / "model")
    again = manyboost.load(tmp_path / "model", digest=saved)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.estimator.get_params()["feature_weights"] == [1.0] * 13
    assert again.explain(X[3]).comparisons[-1].first.row is None
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    longer = again.set_params(warm_start=True, n_estimators=40, stop_when_separated=False)
    short = clone(longer).set_params(n_estimators=4).fit(X, y)
    assert_array_equal(short.set_params(n_estimators=40).fit(X, y).decision_function(X), clone(longer).fit(X, y).decision_function(X))


HARM = {
    "an example that does not exist": ("first", 10**6, "compares with an example that does not exist"),
    "an example twice": ("second", 0, "two different examples|order of their first use"),
    "no finite vector": ("vectors", np.inf, "vector is not finite"),
    "a wrong tau": ("tau", -1.0, "tau is not what it must be"),
    "a column too far": ("column", 1, "adds to columns that do not exist"),
    "a class that does not exist": ("label", 3, "class that does not exist"),
    "an infinite example": ("points", np.inf, "infinite value"),
    "a wrong round": ("round", 5, "rounds are not numbered"),
}


@pytest.mark.parametrize("harm", HARM)
def test_forged_files_are_refused(harm: str, tmp_path: Any) -> None:
    name, value, message = HARM[harm]
    X, y = IRIS
    model = model_of(n_estimators=5).fit(X, y)
    changed = getattr(model.forest_, name).copy()
    changed.flat[-1 if name != "second" else np.flatnonzero(model.forest_.first == 0)[0]] = value
    model.forest_ = replace(model.forest_, **{name: changed})
    with pytest.raises(ValueError, match=message):
        manyboost.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ---- the display -----------------------------------------------------------------------------------------------------------------------


def test_regions_show_decisions_pairs_and_mistakes() -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    from manyboost.plots import SimilarityRegionsDisplay

    X, y = spirals(120)
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = model_of(n_estimators=30).fit(frame, y)
    shown = (y + (np.arange(len(y)) == 3)) % 3  # one row that the model will be said to mistake
    display = SimilarityRegionsDisplay.from_estimator(model, X, shown, grid=30, most_pairs=5)
    assert display.decision.shape == (30, 30)
    assert_array_equal(np.unique(display.decision), [0, 1, 2])
    assert display.pairs.shape[1:] == (2, 2)
    assert len(display.pairs) == 5
    stored = {tuple(point) for point in model.forest_.points}
    assert all(tuple(end) in stored for pair in display.pairs for end in pair)
    assert display.strength[0] == 1.0
    assert display.wrong.sum() >= 1
    assert display.ax_.get_xlabel() == "east"
    pyplot.close(display.figure_)
    with pytest.raises(ValueError, match="regions can be drawn of two columns, and the model has 4"):
        SimilarityRegionsDisplay.from_estimator(model_of(n_estimators=2).fit(*IRIS))
    with pytest.raises(ValueError, match="X says where to draw"):
        SimilarityRegionsDisplay.from_estimator(RebelClassifier(n_estimators=2).fit(X, y))
