"""One contestant on one split of a data set: fitted, timed and tested."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostClassifier
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import manyboost
from manyboost.evaluation.datasets import DataSet
from manyboost.evaluation.protocols import Indices, Split
from manyboost.loop import ASKED_TO_STOP

MOST_POINTS = 60  # of a learning curve
LEAST_PROBABILITY = 1e-15
_STARTED: set[str] = set()  # settings whose kernels this process has


@dataclass(frozen=True)
class Trial:
    """One contestant on one split."""

    data: DataSet
    contestant: str
    candidates: tuple[Any, ...]
    split: Split
    seed: int
    settings: str
    curves: bool

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.data.name, self.contestant, self.split.name, self.settings


def tested(trial: Trial) -> dict[str, Any]:
    """Fit and test; a line of the journal."""
    X, y, split = trial.data.X, trial.data.y, trial.split
    record: dict[str, Any] = {
        "data_set": trial.data.name, "algorithm": trial.contestant, "split": split.name, "seed": trial.seed, "settings": trial.settings,
        "train_rows": len(split.train), "test_rows": len(split.test), "versions": _versions(),
    }  # fmt: skip
    labels, code = np.unique(y[split.train], return_inverse=True)  # some libraries want 0..K-1 without gaps
    with threadpool_limits(1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model, seconds = _best(trial, labels, code)
            began = time.process_time()
            said = labels[np.asarray(model.predict(X.iloc[split.test]), np.intp).ravel()]
            record["predict_seconds"] = f"{time.process_time() - began:.4g}"
            record["log_loss"] = f"{_log_loss(model, labels, X.iloc[split.test], y[split.test]):.6g}"
            record |= {"fit_seconds": f"{seconds:.4g}", "parameters": written_out(model)}
            record |= {"rounds": _rounds(model) or "", "weak_learners": _weak_learners(model)}
            if trial.curves:
                record["curve"] = _curve(model, labels, X.iloc[split.test], y[split.test])
            record["error"] = f"{np.mean(said != y[split.test]):.8g}"
            said_aside = {f"{one.category.__name__}: {_first_line(one.message)}" for one in warned}
            if getattr(model, "stop_reason_", "") == ASKED_TO_STOP:
                said_aside.add(f"ended by the time limit after {model.n_estimators_} of {model.n_estimators} rounds")
            record["message"] = "; ".join(sorted(said_aside))
        except Exception as error:  # whatever a library raises: the others go on, and the journal says why this one did not
            record["message"] = f"{type(error).__name__}: {_first_line(error)}"
    return record


def _best(trial: Trial, labels: NDArray[Any], code: Indices) -> tuple[Any, float]:
    """The fitted candidate of least validation error, and the CPU seconds of all fits."""
    X, split = trial.data.X, trial.split
    seconds, best, least = 0.0, None, np.inf
    _start_kernels(trial)
    for candidate in trial.candidates:
        model = deepcopy(candidate)  # not every library can be cloned
        began = time.process_time()
        model.fit(X.iloc[split.train], code)
        seconds += time.process_time() - began
        error = 0.0
        if len(trial.candidates) > 1:
            error = float(np.mean(labels[model.predict(X.iloc[split.validation])] != trial.data.y[split.validation]))
        if error < least:
            best, least = model, error
    return best, seconds


def compile_kernels(trials: Sequence[Trial], n_jobs: int) -> None:
    """Compile what the trials need before the first of them: several kinds of classifiers at a time, not each in every process."""
    once = list({trial.settings: trial for trial in reversed(trials)}.values())[::-1]
    splitters = [getattr(trial.candidates[0], "splitter", None) for trial in once]
    order = sorted(range(len(once)), key=lambda at: splitters[at] in splitters[:at])  # kernels that differ most begin together
    Parallel(n_jobs=n_jobs)(delayed(_compiled_for)(once[at]) for at in order)


def _compiled_for(trial: Trial) -> None:
    with suppress(Exception):  # what cannot be fitted is told by the trial itself
        _start_kernels(trial)


def _start_kernels(trial: Trial) -> None:
    """Two rounds of each candidate of ours, once in a process, so that no kernel is compiled or read from the cache by the clock."""
    if trial.settings in _STARTED:
        return
    _STARTED.add(trial.settings)
    split = trial.split
    X, y = trial.data.X.iloc[split.train], np.unique(trial.data.y[split.train], return_inverse=True)[1]
    for candidate in trial.candidates:
        few = {name: 2 for name in candidate.get_params() if name.rpartition("__")[2] == "n_estimators"}
        if few and type(candidate).__module__.startswith("manyboost."):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about so few rounds
                model = deepcopy(candidate).set_params(**few).fit(X, y)
                for way in ("predict", "predict_proba", *(["staged_predict"] if trial.curves else [])):
                    if hasattr(model, way):
                        list(getattr(model, way)(X))


def _log_loss(model: Any, labels: NDArray[Any], X: Any, y: NDArray[Any]) -> float:
    """Mean of -ln p of the true class; a class that was not trained has the least probability. NaN without probabilities."""
    if not hasattr(model, "predict_proba"):
        return float("nan")
    probability = np.asarray(model.predict_proba(X), np.float64)
    at = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
    p = np.where(labels[at] == y, probability[np.arange(len(y)), at], 0.0)
    return float(-np.log(np.clip(p, LEAST_PROBABILITY, 1)).mean())


def _curve(model: Any, labels: NDArray[Any], X: Any, y: NDArray[Any]) -> str:
    """``round:error`` at some rounds, with spaces between."""
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X), model[-1]
    n_rounds = _rounds(model)
    if not n_rounds or not hasattr(model, "staged_predict"):
        return ""
    shown = set(np.unique(np.geomspace(1, n_rounds, MOST_POINTS).round().astype(int)).tolist())
    points = []
    for round_, said in enumerate(model.staged_predict(X), start=1):
        if round_ in shown:
            points.append(f"{round_}:{np.mean(labels[np.asarray(said, np.intp)] != y):.5g}")
    return " ".join(points)


def _rounds(model: Any) -> int:
    """Rounds that were made; 0 for a classifier that does not say."""
    model = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(model, AdaBoostClassifier):
        return len(model.estimators_)
    for name in ("n_estimators_", "n_iter_"):
        value = getattr(model, name, None)
        if isinstance(value, (int, np.integer)):
            return int(value)
    return 0


def _weak_learners(model: Any) -> int | str:
    history = getattr(model, "history_", None)
    return int(history["n_trees"][: model.n_estimators_].sum()) if isinstance(history, dict) and "n_trees" in history else ""


def written_out(model: Any) -> str:
    """The classifier as one would write it, all on one line."""
    text = model.__repr__(N_CHAR_MAX=10**6) if isinstance(model, BaseEstimator) else f"{type(model).__name__}({model.get_params()})"
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(text.split()))  # where an object lies says nothing


@cache
def _versions() -> str:
    found = [f"manyboost {manyboost.__version__}"]
    for name in ("scikit-learn", "numpy", "lightgbm", "xgboost", "catboost"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return " ".join(found)


def _first_line(error: Any) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else ""
