"""The loop: early stopping, shrinkage, sampling, pruning, weights, history, and going on where a fit ended."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from estimators import each, each_with_settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from manyboost import AdaBoostMHClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.algorithms import ALGORITHMS
from manyboost.checks import digest, some_rows
from manyboost.estimator import BoostingClassifier
from manyboost.loop import HISTORY, best_round
from manyboost.model_file import fingerprint
from manyboost.protocol import Problem, Task
from manyboost.trees.nodes import NODE
from manyboost.trees.random_numbers import seed_of
from manyboost.trees.sampling import draw_by_weight, draw_uniformly
from manyboost.trees.statistics import Statistics
from manyboost.weak_learning import MAX_COPIES, counted_rows

X, Y = some_rows()
WEIGHT = np.random.default_rng(1).exponential(size=len(Y))
EVERY = pytest.mark.parametrize("estimator", each(n_estimators=8, random_state=0), ids=lambda estimator: type(estimator).__name__)


def small(**parameters):
    return SAMMEClassifier(**{"n_estimators": 12, "max_depth": 2, "random_state": 0, "calibrate": False, **parameters})


# ---- early stopping --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "tol", "best"),
    [
        ([0.5], 0.0, 0),
        ([0.5, 0.4, 0.4, 0.3, 0.3], 0.0, 3),  # the first of equals
        ([0.5, 0.45, 0.42, 0.3], 0.1, 3),
        ([0.5, 0.45, 0.41, 0.37], 0.1, 3),  # small steps count together, too
        ([0.5, 0.45, 0.44], 0.1, 0),
        ([np.nan, np.nan, 0.9, 0.95], 0.0, 2),  # rounds before anybody watched
        ([np.nan, np.nan], 0.0, 0),
    ],
)
def test_best_round(errors, tol, best):
    assert best_round(errors, tol) == best


@EVERY
@pytest.mark.parametrize("given", [False, True], ids=["fraction", "given set"])
def test_the_best_round_is_kept(estimator, given):
    estimator = clone(estimator).set_params(early_stopping=True, validation_fraction=0.3, learning_rate=1.0)
    rows = {"X_val": X[100:], "y_val": Y[100:], "sample_weight_val": WEIGHT[100:]} if given else {}
    model = clone(estimator).fit(X[:100], Y[:100], **rows)
    errors = model.history_["validation_error"]
    assert len(errors) <= 8
    assert model.n_estimators_ == errors.argmin() + 1
    assert len(list(model.staged_predict(X))) == model.n_estimators_
    if given and not model.revises:  # stages are by the last coefficients
        classes = np.searchsorted(model.classes_, Y[100:])
        for error, F in zip(errors[: model.n_estimators_], model.staged_decision_function(X[100:]), strict=True):
            ahead = F - F[np.arange(len(F)), classes][:, None]
            np.put_along_axis(ahead, classes[:, None], -np.inf, axis=1)
            surely, perhaps = (np.average(ahead.max(axis=1) > level, weights=WEIGHT[100:]) for level in (1e-9, -1e-9))
            assert surely - 1e-12 <= error <= perhaps + 1e-12  # which of level classes is said may hang on the last bit


def test_patience():
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    model = small(n_estimators=200, early_stopping=True, n_iter_no_change=5).fit(
        noise[:200], labels[:200], X_val=noise[200:], y_val=labels[200:]
    )
    assert model.stop_reason_ == "the validation error has not fallen for 5 rounds"
    assert len(model.history_["loss"]) == model.n_estimators_ + 5 < 200
    patient = small(n_estimators=200, early_stopping=True, n_iter_no_change=20).fit(
        noise[:200], labels[:200], X_val=noise[200:], y_val=labels[200:]
    )
    assert len(patient.history_["loss"]) >= len(model.history_["loss"])
    strict = small(n_estimators=200, early_stopping=True, n_iter_no_change=5, tol=0.5).fit(X, Y)
    assert strict.n_estimators_ == 1  # nothing falls by a half


def test_a_kept_model_is_that_of_a_shorter_fit():
    rows = {"X_val": X[100:], "y_val": Y[100:]}
    model = small(early_stopping=True, n_estimators=20).fit(X[:100], Y[:100], **rows)
    plain = small(n_estimators=model.n_estimators_).fit(X[:100], Y[:100])
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert model.n_clipped_steps_ == plain.n_clipped_steps_


def test_held_out_rows_are_not_trained_on():
    """Every class has its share held out, and what is held out is watched: the error of the stages on it is the history."""
    model = small(early_stopping=True, validation_fraction=0.25, n_estimators=4).fit(X, Y)
    full = small(n_estimators=4).fit(X, Y)
    assert digest(model) != digest(full)
    assert model.forest_.nodes["cover"][0] == pytest.approx(0.75 * len(Y), abs=3)


# ---- steps -----------------------------------------------------------------------------------------------------------------------------


@EVERY
def test_learning_rate(estimator):
    """The first tree is the same, and its step is shrunk; from then on the weights differ."""
    if estimator.revises:
        pytest.skip("rounds solve for all coefficients anew")
    full, half = (clone(estimator).set_params(learning_rate=rate, calibrate=False).fit(X, Y) for rate in (1.0, 0.5))
    first_full, first_half = (next(iter(model.staged_decision_function(X))) for model in (full, half))
    assert_allclose(first_half, first_full / 2, atol=1e-12)
    assert full.history_["step"][0] == half.history_["step"][0]
    assert not np.allclose(half.decision_function(X), full.decision_function(X) / 2)


@EVERY
def test_history_is_a_table(estimator):
    model = clone(estimator).fit(X, Y, WEIGHT)
    table = pd.DataFrame(model.history_)
    assert tuple(table.columns) == HISTORY
    assert len(table) == model.n_estimators_
    wrong = [np.average(stage != Y, weights=WEIGHT) for stage in model.staged_predict(X)]
    if not model.revises:  # stages are by the last coefficients
        assert_allclose(table["training_error"], wrong, atol=1e-12)
    assert table["training_error"].iloc[-1] == pytest.approx(wrong[-1])
    assert (table["loss"].diff().dropna() < 1e-9).all()  # all lower it by every step
    assert (table["seconds"] > 0).all()
    assert table["n_trees"].sum() == len(model.forest_.members)
    assert table["n_clipped"].sum() == model.n_clipped_steps_


def test_reasons_to_stop():
    assert small(n_estimators=3).fit(X, Y).stop_reason_ == "all 3 rounds were made"
    apart = np.arange(30.0)[:, None], np.arange(30) // 10
    perfect = small(on_perfect="stop").fit(*apart)
    assert perfect.stop_reason_ == "a tree made no error"
    assert (perfect.n_estimators_, perfect.n_clipped_steps_) == (1, 1)
    assert "below 1/N" in RebelClassifier(n_estimators=200, stop_when_separated=True).fit(*apart).stop_reason_
    rng = np.random.default_rng(0)
    noise = small(n_estimators=300, max_depth=1).fit(rng.integers(0, 2, (40, 2)), rng.integers(0, 2, 40))
    assert "not below 1 - 1/K" in noise.stop_reason_


@pytest.mark.parametrize("algorithm", "adaboost_m1 adaboost_m2 adaboost_mm adaboost_hm badacost rebel samme".split())
def test_in_the_place_of_a_tree_without_error_another_is_grown(algorithm):
    X_, y_ = load_wine(return_X_y=True)
    settings = {"n_estimators": 12, "max_depth": None, "max_leaf_nodes": None, "random_state": 0, "calibrate": False}
    algorithm = ALGORITHMS[algorithm]
    assert algorithm(**settings, on_perfect="stop").fit(X_[::2], y_[::2]).score(X_[::2], y_[::2]) == 1
    model = algorithm(**settings).fit(X_[::2], y_[::2])
    assert model.n_estimators_ == 12
    added = np.diff(np.array(list(model.staged_decision_function(X_[1::2]))), axis=0)
    assert len({row.tobytes() for row in added > 0}) > 5  # not the same tree again and again
    assert model.score(X_[1::2], y_[1::2]) > 0.93
    backwards = algorithm(**settings, n_jobs=2).fit(X_[::2][::-1], y_[::2][::-1])
    assert fingerprint(backwards) == fingerprint(model)
    longer = algorithm(**{**settings, "n_estimators": 5}, warm_start=True).fit(X_[::2], y_[::2])
    longer.set_params(n_estimators=12).fit(X_[::2], y_[::2])
    assert digest(longer) == digest(model)


def test_in_the_place_of_a_classifier_without_error_another_is_fitted():
    X_, y_ = load_wine(return_X_y=True)
    for algorithm in ("adaboost_m1", "samme"):
        model = ALGORITHMS[algorithm](DecisionTreeClassifier(), n_estimators=20, random_state=0, calibrate=False).fit(X_[::2], y_[::2])
        assert model.n_estimators_ == 20
        assert model.score(X_[1::2], y_[1::2]) > 0.93


def test_a_tree_without_error_ends_the_fit_if_no_other_can_be_had():
    X_, y_ = np.repeat([0.0, 1.0], 20)[:, None], np.repeat([0, 1], 20)  # of fewer rows a tree is perfect, too, or has no split
    model = small().fit(X_, y_)
    assert (model.n_estimators_, model.stop_reason_) == (1, "a tree made no error")
    assert model.history_["n_made"].tolist() == [10]
    assert model.score(X_, y_) == 1


# ---- sampling --------------------------------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("sampling", ["uniform", "weight"])
def test_trees_are_grown_on_a_sample(estimator, sampling):
    model = clone(estimator).set_params(subsample=0.5, sampling=sampling, calibrate=False).fit(X, Y)
    roots = model.forest_.nodes["cover"][model.forest_.members["root"]]
    assert abs(roots.mean() / len(Y) - 0.5) < 0.1
    if sampling == "weight":
        assert (roots == len(Y) // 2).all()
    else:
        assert len(set(roots.tolist())) > 1  # each row by itself
    assert model.score(X, Y) > 0.5


def test_uniform_draws():
    keys = np.random.default_rng(0).integers(0, 2**63, 10_000, dtype=np.uint64)
    rows = draw_uniformly(keys, 0.3, seed=5)
    assert abs(len(rows) - 3000) < 200
    assert (np.diff(rows) > 0).all()
    kept = np.random.default_rng(1).permutation(10_000)[:5000]
    assert set(keys[kept][draw_uniformly(keys[kept], 0.3, seed=5)]) == set(keys[rows]) & set(keys[kept])  # whoever else is there
    assert len(np.intersect1d(rows, draw_uniformly(keys, 0.3, seed=6))) == pytest.approx(900, abs=150)
    assert len(draw_uniformly(keys[:3], 1e-9, seed=5)) == 1
    assert len(draw_uniformly(keys, 1.0, seed=5)) == 10_000


def test_draws_by_weight():
    weight = np.r_[np.full(50, 3.0), np.full(50, 1.0), np.zeros(50)]
    statistics = Statistics.of_labels(np.tile([0, 1], 75), weight, 2)
    counts = np.bincount(draw_by_weight(statistics, 4000, seed=1), minlength=150)
    assert counts[:50].sum() == pytest.approx(3000, abs=150)
    assert counts[100:].sum() == 0


def test_every_label_occurs_in_a_draw_by_weight():
    label = np.r_[np.zeros(60, int), 1]
    statistics = Statistics.of_labels(label, np.ones(61), 2)
    found = [1 in label[draw_by_weight(statistics, 20, seed_of(seed))] for seed in range(40)]
    assert np.mean(found) > 0.8  # of one draw it would be 0.28


@pytest.mark.parametrize(
    ("weight", "n_rows"),
    [
        ([1.0, 1.0, 1.0], 3),
        ([1.0, 2.0, 3.0], 6),
        ([0.1, 0.2, 0.3], 6),
        ([1.0, 1.5, 3.0], 3),  # no numbers of rows
        ([1.0, 1.0, 2.0**40], 3),  # too many
        ([5e-324, 1.0, 1.0], 3),
    ],
)
def test_how_many_rows_weights_stand_for(weight, n_rows):
    assert counted_rows(Task.of(np.array([0, 1, 1]), 2, np.array(weight))) == n_rows
    assert MAX_COPIES < 2**40


def test_equal_weights_take_no_memory():
    y = np.array([0, 1, 1])
    equal, others = Task.of(y, 2, np.full(3, 0.5)).weight, Task.of(y, 2, np.array([0.5, 0.5, 1.0])).weight
    assert_array_equal(equal, np.full(3, 1 / 3))
    assert_array_equal(others, [0.25, 0.25, 0.5])
    assert equal.strides == (0,)
    assert others.strides == (8,)


def test_draws_by_weight_of_weights_that_spread_far():
    model = small(sampling="weight", subsample=0.5).fit(X, Y, np.ldexp(1.0, np.arange(len(Y)) % 40))
    assert (model.forest_.nodes["cover"][model.forest_.members["root"]] == len(Y) // 2).all()


def test_a_tree_of_no_use_is_drawn_again():
    """One draw of these few rows often gives a tree that is no better than chance; ten seldom do."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    rounds = [small(subsample=0.3, n_estimators=20, random_state=seed).fit(rows, labels).n_estimators_ for seed in range(10)]
    assert np.mean(rounds) > 15


# ---- pruning ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prune", ["merge", "cost_complexity"])
@pytest.mark.parametrize("algorithm", [SAMMEClassifier, PIBoostClassifier])
def test_pruned_trees_are_smaller(algorithm, prune):
    common = {"n_estimators": 4, "max_depth": 4, "min_samples_split": 2, "subsample": 1.0, "sampling": "uniform", "calibrate": False}
    pruned, whole = (algorithm(prune=how, **common).fit(X, Y) for how in (prune, None))
    assert len(pruned.forest_.nodes) / len(pruned.forest_.members) < len(whole.forest_.nodes) / len(whole.forest_.members)
    assert pruned.score(X, Y) > 0.6


def test_merging_changes_no_vote():
    common = {"n_estimators": 1, "max_depth": 4, "calibrate": False}
    pruned, whole = (SAMMEClassifier(prune=how, **common).fit(X, Y) for how in ("merge", None))
    assert_allclose(pruned.decision_function(X), whole.decision_function(X), rtol=1e-12)
    assert len(pruned.forest_.nodes) < len(whole.forest_.nodes)


@pytest.mark.parametrize("estimator", [AdaBoostMHClassifier(), RebelClassifier(), RebelClassifier(leaves="shared")], ids=repr)
@pytest.mark.parametrize("prune", ["merge", "cost_complexity"])
def test_leaves_that_hold_vectors_are_not_pruned(estimator, prune):
    with pytest.raises(ValueError, match=f"prune='{prune}' needs trees whose leaves vote for a label.*Use prune=None"):
        clone(estimator).set_params(prune=prune).fit(X, Y)


# ---- weights ---------------------------------------------------------------------------------------------------------------------------


@EVERY
def test_balanced_classes(estimator):
    X, Y = some_rows()
    keep = np.r_[np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:20], np.flatnonzero(Y == 2)[:5]]
    X, Y, weight = X[keep], Y[keep], WEIGHT[keep]
    balanced = clone(estimator).set_params(class_weight="balanced")
    by_hand = len(Y) / (3 * np.bincount(Y))
    assert_allclose(clone(balanced).fit(X, Y).predict_proba(X), clone(estimator).fit(X, Y, by_hand[Y]).predict_proba(X), atol=1e-9)
    weighted = weight.sum() / (3 * np.bincount(Y, weight))
    model = clone(balanced).fit(X, Y, weight)
    assert_allclose(model.class_prior_, 1 / 3)
    assert_allclose(model.predict_proba(X), clone(estimator).fit(X, Y, weight * weighted[Y]).predict_proba(X), atol=1e-9)


@EVERY
def test_factors_of_classes(estimator):
    names = np.array(["ant", "bee", "cat"])
    model = clone(estimator).set_params(class_weight={"bee": 4.0}).fit(X, names[Y])
    by_hand = clone(estimator).fit(X, names[Y], np.where(Y == 1, 4.0, 1.0))
    assert digest(model) == digest(by_hand)
    assert (model.predict(X) == "bee").sum() >= (clone(estimator).fit(X, names[Y]).predict(X) == "bee").sum()


@pytest.mark.parametrize("estimator", each_with_settings(random_state=0), ids=repr)
def test_rows_of_weight_zero_are_absent(estimator):
    absent = np.arange(len(Y)) % 3 == 0
    strange = np.where(absent[:, None], 1e9, X)  # they must not even move the bins
    model = clone(estimator).fit(strange, Y, np.where(absent, 0.0, WEIGHT))
    assert digest(model) == digest(clone(estimator).fit(X[~absent], Y[~absent], WEIGHT[~absent]))


# ---- going on --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"subsample": 0.5},
        {"subsample": 0.5, "sampling": "weight"},
        {"splitter": "random"},
        {"early_stopping": True, "validation_fraction": 0.3},
        {"class_weight": "balanced", "learning_rate": 0.3},
        {"prune": "merge"},
    ],
    ids=str,
)
@pytest.mark.parametrize("algorithm", [SAMMEClassifier, PIBoostClassifier])
def test_warm_start(algorithm, parameters):
    common = {"random_state": 0, "max_depth": 2, **parameters}
    model = algorithm(n_estimators=3, warm_start=True, **common).fit(X, Y, WEIGHT)
    for n_estimators in (4, 9, 9):
        model.set_params(n_estimators=n_estimators).fit(X, Y, WEIGHT)
    whole = algorithm(n_estimators=9, **common).fit(X, Y, WEIGHT)
    assert digest(model) == digest(whole)
    assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_warm_start_goes_on_with_its_own_random_numbers():
    model = SAMMEClassifier(n_estimators=3, max_depth=2, subsample=0.5, warm_start=True, random_state=np.random.RandomState(3)).fit(X, Y)
    model.set_params(n_estimators=6, random_state=17).fit(X, Y)
    whole = SAMMEClassifier(n_estimators=6, max_depth=2, subsample=0.5, random_state=np.random.RandomState(3)).fit(X, Y)
    assert digest(model) == digest(whole)


def test_warm_start_after_the_fit_ended_by_itself():
    apart = np.arange(30.0)[:, None], np.arange(30) // 10
    model = small(warm_start=True, on_perfect="stop").fit(*apart)
    before = digest(model)
    assert model.n_estimators_ == 1
    assert digest(model.set_params(n_estimators=30).fit(*apart)) == before


@pytest.mark.parametrize(
    "changed",
    [
        {"separators": [{0}, {1}]},  # fewer columns of scores
        {"separators": [{2}, {1}, {0}]},  # the same in another order
        {"cost_matrix": 1 - np.eye(3)},
        {"max_bins": 9},
        {"categorical_features": [0]},
        {"estimator": DecisionTreeClassifier()},
    ],
    ids=str,
)
def test_warm_start_refuses_what_it_cannot_go_on_with(changed):
    model = PIBoostClassifier(n_estimators=2, separators="singles", warm_start=True, random_state=0).fit(X, Y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match=r"warm_start: .* is not what it was .* warm_start=False"):
        model.set_params(n_estimators=4, **changed).fit(X, Y)
    model.set_params(separators="singles", cost_matrix=None)
    assert_array_equal(model.decision_function(X), scores)


def test_a_forest_has_no_room_for_columns_beyond_its_own():
    model = PIBoostClassifier(n_estimators=2, separators="singles", calibrate=False, random_state=0).fit(X, Y)
    tree = SimpleNamespace(nodes=np.zeros(1, NODE), leaf_number=lambda: np.zeros(1, np.int32))
    tree.nodes["feature"] = -1
    with pytest.raises(ValueError, match="beyond the 3"):
        model.forest_.extended([(tree, np.ones((1, 1)), 3, 2)], model._binning)


def test_early_stopping_that_begins_later():
    """Rounds made before anybody watched have no validation error; the first watched one is then the best so far."""
    model = small(n_estimators=3, warm_start=True).fit(X[:100], Y[:100])
    model.set_params(n_estimators=8, early_stopping=True).fit(X[:100], Y[:100], X_val=X[100:], y_val=Y[100:])
    assert_array_equal(np.isnan(model.history_["validation_error"]), np.arange(len(model.history_["loss"])) < 3)
    assert model.n_estimators_ > 3


def test_without_warm_start_a_fit_begins_anew():
    model = small(n_estimators=5).fit(X, Y)
    assert digest(model.fit(X[:, :3], Y)) == digest(small(n_estimators=5).fit(X[:, :3], Y))
    assert model.n_features_in_ == 3


# ---- columns that the state holds ------------------------------------------------------------------------------------------------------

HOLDERS = [one for one in each_with_settings(n_estimators=6, random_state=0) if type(one).columns is not BoostingClassifier.columns]


@pytest.mark.parametrize("estimator", HOLDERS, ids=lambda estimator: type(estimator).__name__)
def test_columns_of_the_state_are_what_the_members_add_up_to(estimator, monkeypatch):
    shown = digest(clone(estimator).fit(X, Y, sample_weight=WEIGHT))
    longer = clone(estimator).set_params(n_estimators=3, warm_start=True).fit(X, Y, sample_weight=WEIGHT)
    assert digest(longer.set_params(n_estimators=6).fit(X, Y, sample_weight=WEIGHT)) == shown
    monkeypatch.setattr(type(estimator), "columns", BoostingClassifier.columns)
    assert digest(clone(estimator).fit(X, Y, sample_weight=WEIGHT)) == shown


def test_some_algorithms_hold_them():
    assert {"ABCLogitBoostClassifier", "AOSOLogitBoostClassifier"} <= {type(one).__name__ for one in HOLDERS}


# ---- statistics that are made when they are wanted -------------------------------------------------------------------------------------


@EVERY
def test_going_on_makes_no_statistics_of_rounds_that_are_made(estimator, monkeypatch):
    made = []
    monkeypatch.setattr(Problem, "made", lambda self, as_before=Problem.made: made.append(self) or as_before(self))
    model = clone(estimator).set_params(n_estimators=4, warm_start=True, calibrate=False).fit(X, Y)
    if model.revises:
        pytest.skip("starts anew")
    first = len(made)
    model.set_params(n_estimators=5).fit(X, Y)
    assert first > 0
    assert len(made) - first < first
