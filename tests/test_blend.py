"""ManyBoostClassifier: one model of several, what it says of itself, and why it decides as it does."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from estimators import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import manyboost
from manyboost import BadModelFile, ManyBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.checks import odd_rows, some_rows
from manyboost.learners import LocalizedSimilarity
from manyboost.maths.links import best_temperature, careful_log_loss, softmax
from manyboost.maths.mixtures import mixture_weights

QUALITIES = ("fast", "balanced", "best")
SHORT = {"n_estimators": 20, "random_state": 0}


@parametrize_with_checks([
    ManyBoostClassifier(quality="fast", n_estimators=6),
    ManyBoostClassifier(quality="best", n_estimators=2, n_runs=1),
])  # fmt: skip
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def models():
    X, y = odd_rows()
    return {quality: ManyBoostClassifier(quality=quality, categorical_features=[5], **SHORT).fit(X, y) for quality in QUALITIES}


# ---- what it is ------------------------------------------------------------------------------------------------------------------------


def test_parts(models):
    assert [type(model).__name__ for model in models["fast"].models_] == ["AdaBoostMHClassifier"]
    assert [type(model).__name__ for model in models["balanced"].models_] == ["AdaBoostMHClassifier"] * 2 + ["AdaBoostMRClassifier"] * 2
    assert models["best"].models_[-1].estimator is not None
    for model in models.values():
        assert model.weights_.sum() == pytest.approx(1)
        assert "AdaBoost.MH" in model.description_
        assert 0 < model.held_out_error_ < 1
        assert 0 < model.held_out_log_loss_ < np.log(3)


def test_probabilities_are_the_mean_of_the_members(models):
    X, _ = odd_rows()
    for model in models.values():
        mean = sum(weight * one.predict_proba(X) for one, weight in zip(model.models_, model.weights_, strict=True))
        powered = mean**model.sharpness_
        assert_allclose(model.predict_proba(X), powered / powered.sum(axis=1, keepdims=True))
        assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
        assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_what_is_held_out_tells_the_error_of_unseen_rows():
    X, y = load_digits(return_X_y=True)
    model = ManyBoostClassifier(quality="fast", random_state=0, n_estimators=60).fit(X[::2], y[::2])
    found = 1 - model.score(X[1::2], y[1::2]), log_loss(y[1::2], model.predict_proba(X[1::2]))
    assert abs(model.held_out_error_ - found[0]) < 0.015
    assert 0.6 < model.held_out_log_loss_ / found[1] < 1.6


def test_pilots_end_a_run_that_only_gets_worse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = np.where(rng.random(1000) < 0.4, rng.integers(0, 3, 1000), (X[:, 0] > 0).astype(int) + (X[:, 1] > 1))
    model = ManyBoostClassifier(quality="fast", random_state=0).fit(X, y)
    (run,) = model.models_
    assert run.n_estimators_ == len(run.history_["loss"]) < 100
    assert str(run.n_estimators_) in model.description_


def test_rows_that_are_all_told_right_make_no_one_certain():
    X, y = load_wine(return_X_y=True)
    model = ManyBoostClassifier(quality="best", n_estimators=40, random_state=0).fit(X[::2], y[::2])
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.25
    perfect = np.tile([5.0, 0.0, 0.0], (40, 1))
    zeros, ones = np.zeros(40, int), np.ones(40)
    assert best_temperature(lambda factor: softmax(perfect * factor), zeros, ones) > 5
    assert 0.5 < best_temperature(lambda factor: softmax(perfect * factor), zeros, ones, 40) < 2
    smoothed = careful_log_loss(softmax(perfect), zeros, ones, 40)
    p = softmax(perfect)[0]
    assert smoothed == pytest.approx(-(40 * np.log(p[0]) + 0.5 * (np.log(p[1]) + np.log(p[2])) / 2) / 40.5)


def test_weights_of_a_mixture():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 4000)
    good = softmax(2 * np.eye(3)[y] + rng.normal(size=(4000, 3)))
    fair, noise = (softmax(edge * np.eye(3)[y] + rng.normal(size=(4000, 3))) for edge in (1.5, 0.0))
    shares = mixture_weights([good, fair], y, np.ones(4000), 4000)
    losses = [log_loss(y, a * good + (1 - a) * fair) for a in np.linspace(0, 1, 101)]
    assert 5 < np.argmin(losses) < 99
    assert log_loss(y, shares[0] * good + shares[1] * fair) < min(losses) + 2e-3
    assert mixture_weights([good, noise], y, np.ones(4000), 4000)[0] > 0.9
    assert_allclose(mixture_weights([good, noise], y, np.ones(4000), 1e-9), 0.5, atol=1e-3)  # rows that count for nothing
    assert_allclose(mixture_weights([good, good], y, np.ones(4000), 4000), 0.5)
    assert_allclose(mixture_weights([good, noise], y[:0], np.ones(0), 0), 0.5)


# ---- promises --------------------------------------------------------------------------------------------------------------------------


def test_one_model_for_any_number_of_threads_and_any_order():
    X, y = some_rows()
    found = set()
    for n_jobs in (1, 2, 3):
        order = np.random.default_rng(n_jobs).permutation(len(y))
        model = ManyBoostClassifier(quality="best", n_jobs=n_jobs, n_estimators=10, random_state=0).fit(X[order], y[order])
        found.add(manyboost.fingerprint(model))
    assert len(found) == 1


@pytest.mark.parametrize("quality", QUALITIES)
def test_saved_copied_and_pickled(models, quality, tmp_path):
    X, _ = odd_rows()
    model = models[quality]
    digest = manyboost.save(model, tmp_path / "model")
    again = manyboost.load(tmp_path / "model", digest=digest)
    assert type(again) is ManyBoostClassifier
    for copy in (again, pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert manyboost.fingerprint(copy) == digest
        assert copy.description_ == model.description_
        assert copy.held_out_error_ == model.held_out_error_
    assert not hasattr(clone(model), "models_")


def test_damaged_and_forged_files(models, tmp_path):
    path = tmp_path / "model"
    manyboost.save(models["best"], path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(data), 60):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :])
        with pytest.raises(BadModelFile):
            manyboost.load(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(BadModelFile):
        manyboost.load(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": [0.5, 0.6]}, "add up to one"),
        ({"weights": [1.0]}, "one weight for each"),
        ({"weights": [1.5, -0.5]}, "between 0 and 1"),
        ({"sharpness": 0.0}, "positive"),
        ({"lengths": [10, 10]}, "another length"),
        ({"held_out": [0.1]}, "two figures"),
        ({"parameters": {"quality": "cheap"}}, "not allowed"),
        ({"parameters": {"spell": 1}}, "does not have"),
        ({"description": 7}, "text"),
    ],
    ids=str,
)
def test_what_a_blend_may_say(change, said, tmp_path):
    import hashlib
    import json

    from manyboost.model_file.container import DIGEST, HEAD, MAGIC

    X, y = some_rows()
    manyboost.save(ManyBoostClassifier(n_estimators=2, n_runs=1, random_state=0).fit(X, y), tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    _, version, length = HEAD.unpack(data[: HEAD.size])
    manifest = json.loads(data[HEAD.size : HEAD.size + length]) | change
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    forged = HEAD.pack(MAGIC, version, len(text)) + text + data[HEAD.size + length : -DIGEST]
    (tmp_path / "model").write_bytes(forged + hashlib.sha256(forged).digest())
    with pytest.raises(BadModelFile, match=said):
        manyboost.load(tmp_path / "model")


def test_a_blend_of_blends_or_of_different_tables_is_refused(tmp_path):
    X, y = some_rows()
    model = ManyBoostClassifier(n_estimators=2, n_runs=1, random_state=0).fit(X, y)
    other = ManyBoostClassifier(n_estimators=2, n_runs=1, random_state=0).fit(X[:, :3], y)
    mixed = pickle.loads(pickle.dumps(model))
    mixed.models_[1] = other.models_[1]
    with pytest.raises(ValueError, match="different tables"):
        manyboost.save(mixed, tmp_path / "model")


# ---- tables of all kinds ---------------------------------------------------------------------------------------------------------------


def test_frames_strings_missing_values_and_unknown_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "green", "blue"], 90)})
    label = np.where(frame["colour"] == "red", "a", np.where(frame["size"] > 0, "b", "c"))
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    model = ManyBoostClassifier(quality="best", **SHORT).fit(frame, label)
    assert model.score(frame, label) > 0.8
    unseen = pd.DataFrame({"size": [0.5, np.nan], "colour": ["mauve", None]})
    assert_allclose(model.predict_proba(unseen).sum(axis=1), 1)
    with pytest.raises(ValueError, match="mauve"):
        ManyBoostClassifier(handle_unknown="error", **SHORT).fit(frame, label).predict(unseen)
    assert list(model.feature_names_in_) == ["size", "colour"]


def test_columns_of_very_many_categories():
    rng = np.random.default_rng(0)
    number = rng.permutation(np.concatenate([np.arange(400), np.repeat(np.arange(200), 4)]))
    frame = pd.DataFrame({"place": [f"p{k}" for k in number], "size": rng.normal(size=len(number))})
    label = np.where(number < 200, number % 3, 3)
    with pytest.warns(UserWarning, match="'place' has 400 categories"):
        model = ManyBoostClassifier(**SHORT).fit(frame, label)
    assert model.score(frame, label) > 0.8


def test_sparse_is_dense():
    X, y = some_rows()
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense, stored = (ManyBoostClassifier(**SHORT).fit(table, y) for table in (X, sparse.csr_matrix(X)))
    assert_array_equal(dense.predict_proba(X), stored.predict_proba(sparse.csc_array(X)))


def test_costs_and_weights_of_classes():
    X, y = some_rows()
    costs = 1 - np.eye(3)
    costs[2, :2] = 30
    plain, careful = (ManyBoostClassifier(quality="fast", cost_matrix=matrix, **SHORT).fit(X, y) for matrix in (None, costs))
    assert (careful.predict(X) == 2).sum() > (plain.predict(X) == 2).sum()
    assert_array_equal(careful.predict(X), (careful.predict_proba(X) @ costs).argmin(axis=1))
    assert_allclose(careful.predict_proba(X), plain.predict_proba(X))
    heavy = ManyBoostClassifier(quality="fast", class_weight={0: 1, 1: 1, 2: 20}, **SHORT).fit(X, y)
    assert heavy.predict_proba(X)[:, 2].mean() > plain.predict_proba(X)[:, 2].mean()


@pytest.mark.parametrize("quality", QUALITIES)
def test_many_and_rare_classes_and_few_rows(quality):
    y = np.repeat(np.arange(100), 2)
    model = ManyBoostClassifier(quality=quality, n_estimators=4, random_state=0).fit(np.c_[y, y % 7], y)
    assert model.predict_proba([[3, 3]]).shape == (1, 100)
    alone = ManyBoostClassifier(quality=quality, n_estimators=4, random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert np.isfinite(alone.predict_proba([[0.5]])).all()
    nothing = ManyBoostClassifier(quality=quality, n_estimators=4, random_state=0).fit(np.ones((10, 2)), [0] * 3 + [1] * 7)
    assert_allclose(nothing.predict_proba(np.ones((1, 2))), [[0.3, 0.7]])


def test_a_time_limit_cuts_short_and_says_so():
    X, y = load_digits(return_X_y=True)
    model = ManyBoostClassifier(quality="best", time_limit=0.3, random_state=0).fit(X[::4], y[::4])
    assert "cut short by time_limit=0.3" in model.description_
    assert model.score(X[1::4], y[1::4]) > 0.5
    assert max(one.n_estimators_ for one in model.models_) < 400


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"quality": "perfect"}, "quality='perfect' is not allowed"),
        ({"time_limit": 0}, "time_limit=0 is not allowed"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"similarities": "yes"}, "similarities='yes'"),
        ({"cost_matrix": np.ones((2, 2))}, "cost_matrix has the shape"),
    ],
)
def test_parameters_that_cannot_be(parameters, said):
    X, y = some_rows()
    with pytest.raises(ValueError, match=said):
        ManyBoostClassifier(**parameters).fit(X, y)


# ---- why -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", each(random_state=0), ids=lambda one: type(one).__name__)
def test_contributions_add_up_to_the_scores(estimator):
    X, y = odd_rows()
    model = clone(estimator).set_params(categorical_features=[5], calibrate=False).fit(X, y)
    added, start = model.contributions(X)
    assert added.shape == (len(X), 6, 3)
    columns = model.forest_.columns(X)
    assert_allclose(start + added.sum(axis=1), columns if model._decoder is None else columns @ model._decoder, atol=1e-9)
    used = model.forest_.nodes["feature"]
    assert not added[:, np.setdiff1d(np.arange(6), used)].any()


def test_contributions_of_one_stump():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1, 1])
    model = SAMMEClassifier(n_estimators=1, max_depth=1, calibrate=False).fit(X, y)
    added, start = model.contributions(X)
    scores = model.forest_.columns(X)
    assert_allclose(start, scores.mean(axis=0))  # by the rows the tree was grown on
    assert_allclose(added[:, 0], scores - scores.mean(axis=0))


def test_an_explanation_by_features():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = SAMMEClassifier(n_estimators=20, random_state=0).fit(X, names[y])
    why = model.explain(X.iloc[[100]])
    assert why.predicted == "virginica"
    assert_allclose(why.scores, model.decision_function(X.iloc[[100]])[0], atol=1e-12)
    contrast = why.why("virginica", "setosa")
    assert contrast.difference == pytest.approx(why.scores[2] - why.scores[0])
    amounts = [abs(reason.contribution) for reason in contrast.reasons]
    assert amounts == sorted(amounts, reverse=True)
    assert contrast.reasons[0].feature in X.columns
    assert "virginica and not setosa" in str(contrast)
    assert "petal" in str(why)
    with pytest.raises(ValueError, match="no class of this model"):
        why.why("tulip")
    with pytest.raises(ValueError, match="two different classes"):
        why.why("setosa", "setosa")
    with pytest.raises(ValueError, match="one row, not 2"):
        model.explain(X.iloc[:2])


def test_the_blend_explains_by_features_and_by_examples(models):
    X, _ = odd_rows()
    added, start = models["best"].contributions(X)
    trees = [(one, weight) for one, weight in zip(models["best"].models_, models["best"].weights_, strict=True) if one.estimator is None]
    mean = sum(weight * one.temperature_ * one.forest_.columns(X) for one, weight in trees) / sum(weight for _, weight in trees)
    assert_allclose(start + added.sum(axis=1), mean, atol=1e-9)
    why = models["best"].explain(X[7])
    assert why.predicted == models["best"].predict(X[[7]])[0]
    assert "training row" in str(why)
    assert "scores of the trees differ" in str(why)
    assert "1 and not 0" in why.why(1, 0)
    assert models["fast"].explain(X[7]).by_examples == ()
    assert_allclose(models["best"].feature_importances_.sum(), 1)


def test_what_cannot_be_explained_says_so():
    X, y = some_rows()
    model = SAMMEClassifier(estimator=LogisticRegression(), n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="our own trees"):
        model.contributions(X)
    with pytest.raises(TypeError, match="LogisticRegression"):
        model.explain(X[0])
    similar = RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="other members"):
        similar.contributions(X)
