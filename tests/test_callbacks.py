"""Callbacks, ours and scikit-learn's, and what ``verbose`` shows."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import numpy as np
import pytest
from estimators import each
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyboost import AdaBoostMHClassifier, SAMMEClassifier, progress
from manyboost.callbacks import SUPPORTED
from manyboost.checks import digest, some_rows

X, Y = some_rows()
EVERY = pytest.mark.parametrize("estimator", each(n_estimators=4, random_state=0), ids=lambda estimator: type(estimator).__name__)
SCIKIT_LEARN = pytest.mark.skipif(not SUPPORTED, reason="scikit-learn before 1.9 has no callbacks")


def small(**parameters):
    return SAMMEClassifier(**{"n_estimators": 5, "max_depth": 2, "random_state": 0, **parameters})


# ---- ours ------------------------------------------------------------------------------------------------------------------------------


@EVERY
def test_a_callback_hears_of_every_round(estimator):
    heard = []
    model = clone(estimator).set_params(callbacks=[heard.append]).fit(X, Y)
    assert [record["round"] for record in heard] == list(range(1, model.n_estimators_ + 1))
    for name, values in model.history_.items():
        np.testing.assert_array_equal([record[name] for record in heard], values)
    assert digest(model) == digest(clone(estimator).fit(X, Y))


def test_a_callback_stops_the_fit():
    heard = []
    stop_after_three = [lambda record: record["round"] >= 3, heard.append]
    model = small(callbacks=stop_after_three, calibrate=False).fit(X, Y)
    assert model.n_estimators_ == 3
    assert model.stop_reason_ == "a callback asked to stop"
    assert len(heard) == 3  # all are called, also when the first one stops
    short = small(n_estimators=3, calibrate=False).fit(X, Y)
    assert (model.decision_function(X) == short.decision_function(X)).all()


def test_a_stopped_fit_can_go_on():
    model = small(callbacks=[lambda record: record["round"] >= 2], warm_start=True).fit(X, Y)
    assert model.n_estimators_ == 2
    model.set_params(callbacks=None).fit(X, Y)
    assert digest(model) == digest(small().fit(X, Y))


def test_pilot_fits_of_the_calibration_are_not_told():
    heard = []
    small(callbacks=[heard.append], calibrate="auto").fit(X, Y)
    assert len(heard) == 5


def test_an_error_in_a_callback_reaches_the_user():
    def fail(record):
        raise RuntimeError("no disk")

    with pytest.raises(RuntimeError, match="no disk"):
        small(callbacks=[fail]).fit(X, Y)


# ---- scikit-learn's --------------------------------------------------------------------------------------------------------------------


class Listener:
    """What scikit-learn's protocol asks of a callback; remembers, and stops after some rounds."""

    def __init__(self, stop_after=10**6):
        self.stop_after, self.calls, self.scores, self.weights = stop_after, [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(f"end {context.task_name} {context.task_id}")
        self.scores.append(accuracy_score(y, fitted_estimator.predict(X)))
        self.weights.append(metadata["sample_weight"])
        return context.task_name == "round" and context.task_id + 1 >= self.stop_after


@SCIKIT_LEARN
@EVERY
def test_the_tasks_of_a_fit(estimator):
    listener = Listener()
    model = clone(estimator).set_callbacks(listener).fit(X, Y)
    rounds = [f"{what} round {t}" for t in range(model.n_estimators_) for what in ("begin", "end")]
    assert listener.calls == ["setup", "begin fit 0", *rounds, "end fit 0", "teardown"]
    stages = [accuracy_score(Y, stage) for stage in model.staged_predict(X)]
    if model.revises:  # stages are by the last coefficients
        stages[:-1] = listener.scores[: len(stages) - 1]
    assert listener.scores == pytest.approx([*stages, model.score(X, Y)])  # each is given a usable model of so many rounds
    assert digest(model) == digest(clone(estimator).fit(X, Y))


@SCIKIT_LEARN
def test_a_callback_of_scikit_learn_stops_the_fit():
    listener = Listener(stop_after=2)
    model = small().set_callbacks(listener).fit(X, Y)
    assert model.n_estimators_ == 2
    assert model.stop_reason_ == "a callback asked to stop"
    assert listener.calls[-2:] == ["end fit 0", "teardown"]


@SCIKIT_LEARN
def test_weights_are_handed_on():
    listener = Listener()
    weight = np.random.default_rng(0).exponential(size=len(Y))
    small().set_callbacks(listener).fit(X, Y, weight)
    assert all((given == weight).all() for given in listener.weights)


@SCIKIT_LEARN
def test_callbacks_are_torn_down_after_an_error():
    listener = Listener()
    with pytest.raises(ValueError, match="prune"):
        AdaBoostMHClassifier(n_estimators=3, prune="merge").set_callbacks(listener).fit(X, Y)
    assert listener.calls[0] == "setup"
    assert listener.calls[-1] == "teardown"


@SCIKIT_LEARN
def test_going_on_and_nothing_to_learn():
    listener = Listener()
    model = small(n_estimators=2, warm_start=True).set_callbacks(listener).fit(X, Y)
    model.set_params(n_estimators=4).fit(X, Y)
    assert sum(call.startswith("end round") for call in listener.calls) == 4
    listener = Listener()
    small().set_callbacks(listener).fit(np.ones((len(Y), 2)), Y)
    assert listener.calls[-2:] == ["end fit 0", "teardown"]


@SCIKIT_LEARN
def test_scoring_monitor():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring=["accuracy", "neg_log_loss"])
    model = small(calibrate=False).set_callbacks(monitor).fit(X, Y)
    log = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert [row["accuracy"] for row in log] == pytest.approx([accuracy_score(Y, stage) for stage in model.staged_predict(X)])
    assert all(np.isfinite(row["neg_log_loss"]) for row in log)


@SCIKIT_LEARN
def test_progress_bar(capfd):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    small().set_callbacks(ProgressBar()).fit(X, Y)
    shown = "".join(capfd.readouterr())
    assert "SAMMEClassifier" in shown
    assert "100%" in shown


@SCIKIT_LEARN
def test_callbacks_inside_other_estimators():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = small().set_callbacks(monitor)
    make_pipeline(StandardScaler(), model).fit(X, Y)
    assert len(monitor.get_logs().data) == 6  # five rounds and the whole
    search = GridSearchCV(model, {"max_depth": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.4


# ---- verbose ---------------------------------------------------------------------------------------------------------------------------


@contextmanager
def nobody_has_set_up_logging():
    """As in a process that never heard of it; pytest itself has."""
    root, ours, level = logging.getLogger(), progress.LOGGER, progress.LOGGER.level
    handlers = root.handlers[:], ours.handlers[:]
    root.handlers[:], ours.handlers[:] = [], []
    ours.setLevel(logging.NOTSET)
    try:
        yield
    finally:
        root.handlers[:], ours.handlers[:] = handlers
        ours.setLevel(level)


def test_silence(capfd):
    with nobody_has_set_up_logging():
        small(verbose=0).fit(X, Y)
    assert capfd.readouterr() == ("", "")


def test_a_bar(capfd):
    pytest.importorskip("rich")
    small(verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "SAMMEClassifier" in err
    assert "5/5" in err
    assert "training error" in err


def test_lines_where_there_is_no_rich(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_bar_columns", lambda: None)
    with nobody_has_set_up_logging():
        small(verbose=1, n_estimators=20, learning_rate=0.5).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 10


@pytest.mark.parametrize(("verbose", "rounds"), [(2, [1, 2, 3, 4, 5]), (3, [2, 4, 5]), (9, [5])])
def test_lines(capsys, verbose, rounds):
    with nobody_has_set_up_logging():
        small(verbose=verbose).fit(X, Y)
        out, err = capsys.readouterr()
        small(verbose=verbose).fit(X, Y)  # the second fit writes to the same place, and not twice
        assert capsys.readouterr() == (out, err)
    assert out == ""
    lines = err.splitlines()
    assert [int(line.split("round ")[1].split(" of ")[0]) for line in lines] == rounds
    assert all(line.startswith("SAMMEClassifier: round ") and "loss" in line and "validation_error" not in line for line in lines)


def test_lines_go_where_the_user_sends_them(caplog, capsys):
    assert logging.getLogger().level == logging.WARNING  # as in most programs; lines were asked for, so they are logged
    small(verbose=2, early_stopping=True).fit(X, Y)
    assert len(caplog.records) == 5
    assert {record.name for record in caplog.records} == {"manyboost"}
    assert all("validation_error" in record.getMessage() for record in caplog.records)
    assert capsys.readouterr() == ("", "")
