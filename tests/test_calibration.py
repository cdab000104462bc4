"""Probabilities are honest: calibration lowers the log-loss on rows that no fit has seen, and changes no decision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from manyboost.algorithms import ALGORITHMS
from manyboost.estimator import BoostingClassifier
from manyboost.maths.links import best_temperature

N_TRAINED = 400


def noisy_rows() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three classes that overlap, a tenth of the labels wrong: whoever is sure of a class is often mistaken."""
    X, y = make_classification(
        n_samples=1600, n_features=8, n_informative=4, n_classes=3, class_sep=0.8, flip_y=0.15, random_state=0
    )  # fmt: skip
    return X, y


@pytest.fixture(scope="module", params=ALGORITHMS)
def pair(request: pytest.FixtureRequest) -> tuple[BoostingClassifier, BoostingClassifier]:
    """One algorithm, calibrated and not."""
    X, y = noisy_rows()
    algorithm = ALGORITHMS[request.param]
    first, second = (algorithm(calibrate=calibrate, random_state=0).fit(X[:N_TRAINED], y[:N_TRAINED]) for calibrate in ("auto", False))
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


def test_the_temperature_is_near_the_best(request: pytest.FixtureRequest, pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    model, _ = pair
    if isinstance(model, ALGORITHMS["samme"]):
        request.applymarker(pytest.mark.xfail(reason="SAMME's temperature, worked out from shorter pilots, is about twice the best"))
    X, y = (part[N_TRAINED:] for part in noisy_rows())
    columns = model.forest_.columns(X)
    best = best_temperature(lambda factor: model.link(columns * factor), y, np.ones(len(y)))  # as if the answers were known
    assert log_loss(y, model.predict_proba(X)) < 1.03 * log_loss(y, model.link(columns * best))


def test_decisions_stay(pair: tuple[BoostingClassifier, BoostingClassifier]) -> None:
    X, _ = noisy_rows()
    calibrated, plain = pair
    assert plain.temperature_ == 1.0
    assert 0 < calibrated.temperature_ < 1.0
    np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
    np.testing.assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))
