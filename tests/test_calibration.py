"""Probabilities are honest: calibration lowers the log-loss on rows that no fit has seen, and changes no decision."""

from __future__ import annotations

import numpy as np
import pytest
from estimators import CALIBRATED, each
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.metrics import log_loss

from manyboost import AdaBoostMHClassifier, SAMMEClassifier, calibration
from manyboost.algorithms import ALGORITHMS
from manyboost.calibration import PilotPlan
from manyboost.checks import some_rows
from manyboost.estimator import BoostingClassifier
from manyboost.loop import Boosted
from manyboost.maths.links import best_temperature, careful_log_loss
from manyboost.protocol import Task
from manyboost.trees.forest import Forest
from manyboost.validation import folds_of_rows

N_TRAINED = 400


def noisy_rows() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three classes that overlap, a tenth of the labels wrong: whoever is sure of a class is often mistaken."""
    X, y = make_classification(
        n_samples=1600, n_features=8, n_informative=4, n_classes=3, class_sep=0.8, flip_y=0.15, random_state=0
    )  # fmt: skip
    return X, y


@pytest.fixture(scope="module", params=[*CALIBRATED, "adaboost_m2", "adaboost_ecc", "aoso_logitboost", "gentleboost"])
def pair(request: pytest.FixtureRequest) -> tuple[BoostingClassifier, BoostingClassifier]:
    """One algorithm, calibrated and not."""
    X, y = noisy_rows()
    algorithm = ALGORITHMS[request.param]
    length = {} if request.param in CALIBRATED else {"n_estimators": 40}  # some defaults take their time
    first, second = (
        algorithm(calibrate=calibrate, random_state=0, **length).fit(X[:N_TRAINED], y[:N_TRAINED]) for calibrate in ("auto", False)
    )
    return first, second


def test_log_loss_of_unseen_rows_falls(pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    X, y = (part[N_TRAINED:] for part in noisy_rows())
    calibrated, plain = (log_loss(y, model.predict_proba(X)) for model in pair)
    assert calibrated < plain
    assert calibrated < np.log(3)  # better than to know nothing


def test_confidence_comes_nearer_the_share_of_right_answers(pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    X, y = (part[N_TRAINED:] for part in noisy_rows())
    calibrated, plain = (abs(model.predict_proba(X).max(axis=1).mean() - model.score(X, y)) for model in pair)
    assert calibrated < plain


def test_the_temperature_is_near_the_best(pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    model, _ = pair
    X, y = (part[N_TRAINED:] for part in noisy_rows())
    columns = model.forest_.columns(X)
    best = best_temperature(lambda factor: model.link(columns * factor), y, np.ones(len(y)))  # as if the answers were known
    assert log_loss(y, model.predict_proba(X)) < 1.03 * log_loss(y, model.link(columns * best))


def test_decisions_stay(pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    X, _ = noisy_rows()
    calibrated, plain = pair
    assert plain.temperature_ == 1.0
    assert 0 < calibrated.temperature_ < (np.inf if calibrated.revises else 1.0)  # a price on coefficients keeps scores small
    np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
    np.testing.assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))


# ---- also in short fits, of few rows, and with weights -----------------------------------------------------------------------------------

SHORT = pytest.mark.parametrize(
    "estimator", each(n_estimators=5, random_state=0, calibrate="auto"), ids=lambda estimator: type(estimator).__name__
)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("name", CALIBRATED)
def test_unseen_digits(name: str, early_stopping: bool) -> None:
    X, y = load_digits(return_X_y=True)
    estimator = ALGORITHMS[name](n_estimators=5, random_state=0, early_stopping=early_stopping)
    calibrated, plain = (clone(estimator).set_params(calibrate=calibrate).fit(X[::3], y[::3]) for calibrate in ("auto", False))
    unseen, said = np.delete(X, slice(None, None, 3), axis=0), np.delete(y, slice(None, None, 3))
    assert log_loss(said, calibrated.predict_proba(unseen)) < log_loss(said, plain.predict_proba(unseen))
    np.testing.assert_array_equal(calibrated.predict(unseen), plain.predict(unseen))
    np.testing.assert_array_equal(calibrated.predict_proba(unseen).argmax(axis=1), calibrated.predict(unseen))
    assert plain.temperature_ == 1
    assert 0 < calibrated.temperature_ != 1


@SHORT
def test_validation_rows_serve_where_there_are_some(estimator: BoostingClassifier) -> None:
    X, y = some_rows()
    model = clone(estimator).set_params(early_stopping=True).fit(X[:90], y[:90], X_val=X[90:], y_val=y[90:])
    columns = model.forest_.columns(X[90:])
    n, weight = len(y[90:]), np.ones(len(y[90:]))
    losses = [careful_log_loss(model.link(columns * model.temperature_ * factor), y[90:], weight, n) for factor in (1.0, 0.8, 1.25)]
    assert losses[0] == min(losses)


@pytest.mark.parametrize("name", CALIBRATED)
def test_few_validation_rows_that_are_all_told_right_make_nothing_sure(name: str) -> None:
    """Their plain log-loss is the least where the temperature is infinite."""
    X, y = load_wine(return_X_y=True)
    model = ALGORITHMS[name](n_estimators=40, early_stopping=True, random_state=0).fit(X[::2], y[::2])
    probability = model.predict_proba(X[1::2])
    assert log_loss(y[1::2], probability) < 0.7
    assert model.temperature_ < 10
    np.testing.assert_array_equal(probability.argmax(axis=1), model.predict(X[1::2]))


@SHORT
def test_tiny_classes(estimator: BoostingClassifier) -> None:
    X, y = some_rows()
    y = y.copy()
    y[0], y[1:3] = 7, 8  # one row of a class, two of another
    weight = np.where(np.arange(len(y)) == 2, 1000.0, 1.0)
    for given in (None, weight):
        model = clone(estimator).fit(X, y, given)
        assert np.isfinite(model.predict_proba(X)).all()
        assert 0 < model.temperature_ < np.inf


def test_no_row_to_spare() -> None:
    model = SAMMEClassifier(n_estimators=3, random_state=0).fit(np.arange(4.0)[:, None], [0, 1, 2, 3])
    assert model.n_estimators_ > 0
    assert model.temperature_ == 1


def test_pilots_that_learn_nothing_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = some_rows()
    pilots = []

    def learn_nothing(*arguments: object, **_: object) -> Boosted:
        pilots.append(arguments)
        return Boosted(Forest.empty(3), {"loss": []})

    monkeypatch.setattr(calibration, "boost", learn_nothing)
    model = SAMMEClassifier(n_estimators=3, random_state=0).fit(X, y)
    assert len(pilots) == 5
    assert model.n_estimators_ == 3
    assert model.temperature_ == 1


def test_temperature_is_a_matter_of_the_rows_only() -> None:
    X, y = some_rows()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = AdaBoostMHClassifier(n_estimators=5, random_state=0).fit(X, y, weight)
    repeated = AdaBoostMHClassifier(n_estimators=5, random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert weighted.temperature_ == pytest.approx(repeated.temperature_, rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS.values())
def test_what_ends_a_fit_early_ends_its_pilots(algorithm: type[BoostingClassifier]) -> None:
    """A table that one tree settles: temperature and probabilities are finite and say what is so."""
    X = np.repeat(np.eye(3), 20, axis=0)
    y = np.repeat([0, 1, 2], 20)
    model = algorithm(n_estimators=40, random_state=0).fit(X, y)
    probability = model.predict_proba(np.eye(3))
    assert np.isfinite(probability).all()
    assert (probability.argmax(axis=1) == [0, 1, 2]).all()
    assert 0 < model.temperature_ < 1e3


# ---- parts of the rows -------------------------------------------------------------------------------------------------------------------


def parts(y: NDArray[np.intp], keys: NDArray[np.uint64], *cuts: float, weight: NDArray[np.float64] | None = None) -> NDArray[np.intp]:
    task = Task.of(y, int(y.max()) + 1, np.ones(len(y)) if weight is None else weight)
    return folds_of_rows(task, keys, *cuts)


def some_keys(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(n).integers(0, 2**63, n, dtype=np.uint64)


def test_parts_have_their_shares_of_every_class() -> None:
    y = np.repeat([0, 1, 2], [500, 100, 20]).astype(np.intp)
    part = parts(y, some_keys(len(y)), 0.2, 0.5)
    for k, n in enumerate((500, 100, 20)):
        np.testing.assert_array_equal(np.bincount(part[y == k]), [0.2 * n, 0.3 * n, 0.5 * n])


def test_parts_do_not_depend_on_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    y, keys, weight = rng.integers(0, 3, 200), some_keys(200), rng.exponential(size=200)
    order = rng.permutation(200)
    part = parts(y, keys, 0.3, 0.6, weight=weight)
    np.testing.assert_array_equal(parts(y[order], keys[order], 0.3, 0.6, weight=weight[order]), part[order])


def test_a_weight_of_two_is_two_rows_in_the_same_part() -> None:
    rng = np.random.default_rng(2)
    y, keys, weight = rng.integers(0, 3, 100), some_keys(100), rng.integers(1, 4, 100)
    part = parts(y, keys, 0.25, 0.5, 0.75, weight=weight.astype(float))
    np.testing.assert_array_equal(parts(y.repeat(weight), keys.repeat(weight), 0.25, 0.5, 0.75), part.repeat(weight))


def test_equal_rows_stay_together() -> None:
    y = np.zeros(100, np.intp)
    keys = some_keys(10).repeat(10)
    part = parts(y, keys, 0.5)
    assert all(len(set(part[keys == key])) == 1 for key in keys)
    assert set(part) == {0, 1}


@pytest.mark.parametrize("weight", [[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1e-6, 1.0, 1e6]])
def test_no_class_is_ever_held_out_as_a_whole(weight: list[float]) -> None:
    y = np.array([0, 1, 1, 2, 2])  # one row, two equal rows, two rows that differ
    keys = np.array([5, 9, 9, 3, 4], np.uint64)
    part = parts(y, keys, 0.2, 0.4, 0.6, 0.8, weight=np.array(weight))
    assert part[0] == part[1] == part[2] == -1
    for held in range(5):
        assert set(y[part != held]) == {0, 1, 2}


# ---- pilots that look for the best length ----------------------------------------------------------------------------------------------


def test_pilots_that_come_first_end_soon_after_the_best_length() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + rng.normal(0, 1.5, 400) > 0).astype(int)  # mostly noise: a few rounds learn all there is
    model = AdaBoostMHClassifier(n_estimators=512, random_state=0)
    pilots = clone(model)._fit(X, y, None, plan=PilotPlan(n_stages=6))
    assert pilots is not None
    assert not pilots.gave_up
    fitted = clone(model)
    found = fitted._fit(X, y, None, plan=PilotPlan(n_stages=6, first=True))
    assert found is not None
    assert found.gave_up
    assert found.n_made == found.lengths[-1] < pilots.lengths[-1]
    assert found.lengths == pilots.lengths[: len(found.lengths)]
    for ours, theirs in zip(found.columns, pilots.columns, strict=False):
        np.testing.assert_array_equal(ours, theirs)
    assert found.best_length == pilots.best_length == fitted.n_estimators_
    short = clone(model).set_params(n_estimators=fitted.n_estimators_, calibrate=False).fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), short.decision_function(X))
