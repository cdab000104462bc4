"""Any scikit-learn classifier as the weak learner."""

from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from estimators import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import manyboost
from manyboost import AdaBoostHMClassifier, AdaBoostM2Classifier, AdaBoostMHClassifier, PIBoostClassifier, SAMMEClassifier
from manyboost.maths.rewards import rewards_of
from manyboost.row_keys import keys_of_numbers

X, Y = load_iris(return_X_y=True)
STUMP = DecisionTreeClassifier(max_depth=1)
LEARNERS = [
    DecisionTreeClassifier(max_depth=2),
    LogisticRegression(C=10.0),
    GaussianNB(),
    MLPClassifier((4,), max_iter=30, learning_rate_init=0.05),
    SVC(),
    LinearDiscriminantAnalysis(),  # takes no weights
    KNeighborsClassifier(3),  # nor does this
    make_pipeline(StandardScaler(), LogisticRegression()),  # nor, without routing, a pipeline
]
NO_LABELS = {"ABCLogitBoostClassifier", "AOSOLogitBoostClassifier", "GentleBoostClassifier", "LogitBoostClassifier", "MCBoostClassifier"}


@pytest.fixture(autouse=True)
def _short_networks() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def with_learner(learner: Any, **parameters: Any) -> list[Any]:
    every = each(n_estimators=4, calibrate=False, random_state=0, **parameters)
    return [model.set_params(estimator=learner) for model in every if type(model).__name__ not in NO_LABELS]


# every algorithm with a learner that takes weights and one that does not, and every learner with a problem of each kind
KINDS = (SAMMEClassifier, AdaBoostM2Classifier, PIBoostClassifier)
PAIRS = [
    (model, learner)
    for model in with_learner(None)
    for learner in LEARNERS
    if isinstance(model, KINDS) or isinstance(learner, (DecisionTreeClassifier, LinearDiscriminantAnalysis))
]


@pytest.mark.parametrize(("model", "learner"), PAIRS, ids=lambda one: type(one).__name__)
def test_it_learns_and_is_one_model_for_any_order_and_number_of_threads(model: Any, learner: Any) -> None:
    model = clone(model).set_params(estimator=learner).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert all(isinstance(one, type(learner)) for one in model.estimators_ if one is not None)
    order = np.random.default_rng(0).permutation(len(Y))
    other = clone(model).set_params(n_jobs=2).fit(X[order], Y[order])
    assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_samme_is_that_of_scikit_learn() -> None:
    X_, y_ = X[::2], Y[::2]
    ours = SAMMEClassifier(estimator=STUMP, n_estimators=10, calibrate=False, random_state=0).fit(X_, y_)
    theirs = AdaBoostClassifier(STUMP, n_estimators=10, random_state=0).fit(X_, y_)
    steps = ours.history_["step"]
    assert_allclose(steps, theirs.estimator_weights_[: len(steps)], rtol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("model", with_learner(STUMP), ids=lambda model: type(model).__name__)
def test_going_on_is_one_longer_fit(model: Any) -> None:
    whole = clone(model).fit(X, Y)
    part = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, Y)
    part.set_params(n_estimators=4).fit(X, Y)
    assert_array_equal(part.decision_function(X), whole.decision_function(X))
    assert_allclose(part.history_["loss"], whole.history_["loss"], rtol=0)
    stages = list(whole.staged_decision_function(X))
    assert len(stages) == whole.n_estimators_
    assert_array_equal(stages[-1], whole.decision_function(X))


@pytest.mark.parametrize("model", with_learner(GaussianNB()), ids=lambda model: type(model).__name__)
def test_weights_are_copies(model: Any) -> None:
    if model.sampling == "weight":
        model.set_params(subsample=1.0, sampling="uniform")
    weight = np.random.default_rng(1).integers(1, 3, len(Y))
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    copied = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert_allclose(weighted.decision_function(X), copied.decision_function(X), rtol=1e-6, atol=1e-9)


def test_early_stopping_calibration_pickles_and_importances(tmp_path: Any) -> None:
    model = SAMMEClassifier(estimator=STUMP, n_estimators=12, early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, Y)
    assert model.history_["validation_error"].shape == model.history_["loss"].shape
    assert model.temperature_ != 1.0
    joblib.dump(model, tmp_path / "model")
    assert_array_equal(joblib.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="permutation_importance"):
        _ = SAMMEClassifier(estimator=GaussianNB(), n_estimators=2).fit(X, Y).feature_importances_
    with pytest.raises(TypeError, match="skops"):
        manyboost.save(model, tmp_path / "file")


def test_two_rows_a_class_leave_none_to_calibrate_with() -> None:
    rows = np.array([[0.0], [1.0], [0.1], [1.1]])
    model = SAMMEClassifier(estimator=STUMP, n_estimators=3, random_state=0).fit(rows, [0, 1, 0, 1])
    assert_array_equal(model.predict(rows), [0, 1, 0, 1])


def test_rows_may_be_sparse() -> None:
    dense = SAMMEClassifier(estimator=STUMP, n_estimators=3, random_state=0).fit(X, Y)
    thin = clone(dense).fit(sparse.csr_matrix(X), Y)
    assert_array_equal(dense.predict(X), thin.predict(sparse.csr_matrix(X)))


@pytest.mark.parametrize("model", [model for model in each() if type(model).__name__ in NO_LABELS], ids=lambda model: type(model).__name__)
def test_algorithms_that_fit_numbers_refuse_learners_of_labels(model: Any) -> None:
    with pytest.raises(ValueError, match="says labels, but this algorithm, as it is set, fits numbers; use estimator=None"):
        clone(model).set_params(estimator=GaussianNB()).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostM2Classifier(response="probability"),
        AdaBoostM2Classifier(response="probability", grow_by="classes"),
        AdaBoostHMClassifier(response="probability"),
        AdaBoostMHClassifier(leaves="probability"),
    ],
    ids=["M2", "M2 by class", "HM", "MH"],
)
def test_probabilities_are_used_where_the_algorithm_knows_them(model: Any) -> None:
    model = clone(model).set_params(estimator=GaussianNB(), n_estimators=4, calibrate=False, learning_rate=1.0).fit(X, Y)
    assert all(one.member.says_shares for one in model.forest_.members)
    F = sum(one.fitted.predict_proba(X) @ one.vectors for one in model.forest_.members)
    assert_allclose(model.decision_function(X), F, rtol=1e-12, atol=1e-12)
    assert len(np.unique(F)) > 3 * model.n_estimators_ * 2  # not votes
    again = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, Y)
    assert_array_equal(again.set_params(n_estimators=4).fit(X, Y).decision_function(X), model.decision_function(X))
    losses = model.history_["loss"]
    assert (np.diff(losses) < 0).all()


def test_without_probabilities_labels_do() -> None:
    model = AdaBoostHMClassifier(response="probability", estimator=SVC(), n_estimators=3, calibrate=False).fit(X, Y)
    assert not any(one.member.says_shares for one in model.forest_.members)
    assert model.score(X, Y) > 0.9


class Coin(ClassifierMixin, BaseEstimator):
    """Knows nothing: says the classes in turn, so that it is as good as chance."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Coin:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argsort(np.argsort(X[:, 0])) % len(self.classes_)]


class FailsLater(ClassifierMixin, BaseEstimator):
    """Works once."""

    n_fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FailsLater:
        FailsLater.n_fits += 1
        if FailsLater.n_fits > 2:
            raise RuntimeError("out of luck")
        self.tree_ = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_.predict(X)


def test_a_learner_no_better_than_chance_leaves_the_classes_shares() -> None:
    X_ = np.arange(60.0)[:, None]
    worst = np.roll(np.tile([0, 1, 2], 20), 1)  # the coin is wrong on every row
    model = SAMMEClassifier(estimator=Coin(), calibrate=False).fit(X_, worst)
    assert model.n_estimators_ == 0
    assert "not below" in model.stop_reason_
    assert_allclose(model.predict_proba(X_), 1 / 3)


def test_a_learner_that_fails_is_named_with_its_round() -> None:
    FailsLater.n_fits = 0
    with pytest.raises(ValueError, match=r"round 3: the learner FailsLater\(\) failed: out of luck"):
        SAMMEClassifier(estimator=FailsLater(), n_estimators=5).fit(X, Y)


def test_missing_values_are_the_learners_affair() -> None:
    holes = X.copy()
    holes[::7, 1] = np.nan
    with pytest.raises(ValueError, match=r"round 1: the learner GaussianNB\(\) failed: .*NaN"):
        SAMMEClassifier(estimator=GaussianNB()).fit(holes, Y)
    assert SAMMEClassifier(estimator=STUMP, n_estimators=5).fit(holes, Y).score(holes, Y) > 0.8


def test_parameters_of_our_trees_are_refused_beside_a_learner() -> None:
    with pytest.raises(ValueError, match="max_depth=2 is for our own trees"):
        SAMMEClassifier(estimator=GaussianNB(), max_depth=2).fit(X, Y)
    for wrong in (3, "tree", DecisionTreeClassifier, StandardScaler()):
        with pytest.raises((TypeError, ValueError), match="estimator="):
            SAMMEClassifier(estimator=wrong).fit(X, Y)


def test_separators_and_missing_labels_reach_the_learner() -> None:
    model = PIBoostClassifier(estimator=GaussianNB(), separators="singles", n_estimators=3, subsample=1.0, sampling="uniform").fit(X, Y)
    assert len(model.estimators_) == 9
    assert {tuple(one.classes_) for one in model.estimators_} == {(0, 1)}


def test_bylanders_transformation_keeps_differences_of_cost() -> None:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(20, 4))
    rewards = rewards_of(A)
    one, two = rng.dirichlet(np.ones(4), 20), rng.dirichlet(np.ones(4), 20)
    assert rewards.min() == 0.0
    assert ((1 - one) * rewards).sum() - ((1 - two) * rewards).sum() == pytest.approx((A * one).sum() - (A * two).sum())


def test_keys_know_zeros_signs_and_holes() -> None:
    rows = np.array([[0.0, 1.0, np.nan], [-0.0, 1.0, np.nan], [1.0, 0.0, np.nan], [0.0, 1.0, 0.0]])
    keys = keys_of_numbers(rows, np.zeros(4, np.intp))
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3
    assert_array_equal(keys_of_numbers(sparse.csr_array(rows), np.zeros(4, np.intp)), keys)
    assert (keys_of_numbers(rows, np.ones(4, np.intp)) != keys).all()
