"""How classifiers are tested: which rows train and which test, the same for all of them, and a journal of what was found.

    protocol                                        used by
    KFold(5)                                        PIBoost (Fernandez-Baldera and Baumela 2014)
    KFold(10), KFold(10, repeats=10)                M2T and MHT (Bylander 2010), AdaBoost.HM (Jin, Hou and Liu 2010)
    OfficialSplit()                                 AdaBoost.HM, sets that come in two parts
    FiftyTwentyFive(5)                              REBEL (Appel and Perona 2017): half trains, a quarter chooses, a quarter tests

The splits of a data set depend on its name and the seed alone, so all classifiers see the same ones, on every machine and in every run.
"""

from __future__ import annotations

import hashlib
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

import manyboost
from manyboost.algorithms import ALGORITHMS
from manyboost.estimator import BoostingClassifier
from manyboost.evaluation.contestants import Contestant
from manyboost.evaluation.datasets import DataSet
from manyboost.evaluation.journal import Journal
from manyboost.progress import progress_of_jobs

FIELDS = (
    "data_set", "algorithm", "split", "error", "log_loss", "fit_seconds", "predict_seconds", "rounds", "weak_learners", "train_rows",
    "test_rows", "seed", "settings", "parameters", "versions", "message", "curve",
)  # fmt: skip
KEYS = ("data_set", "algorithm", "split", "settings")
MOST_POINTS = 60  # of a learning curve
LEAST_PROBABILITY = 1e-15
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Rows that train, rows that choose among settings (may be none), rows that test."""

    name: str
    train: Indices
    test: Indices
    validation: Indices | None = None


class SplitRule(Protocol):
    """What a protocol must answer."""

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        """The splits of a data set."""

    def notes(self, data: DataSet) -> list[str]:
        """What one should know about this protocol on these rows."""


def seed_of(data: DataSet, seed: int) -> int:
    """A seed of its own for every data set, so that sets of equal size do not share their folds."""
    return (crc32(data.name.encode()) + seed) % 2**32


@dataclass(frozen=True)
class KFold:
    """Stratified k-fold cross-validation, once or several times over."""

    n_folds: int = 5
    repeats: int = 1

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        largest = int(_class_sizes(data).max())
        if not 2 <= self.n_folds <= largest:
            raise ValueError(
                f"{data.name}: {self.n_folds} folds need a class of so many rows, and the largest has {largest}; use 2 or more."
            )
        found = []
        for repeat in range(self.repeats):
            folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=(seed_of(data, seed) + repeat) % 2**32)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # said by notes
                for fold, (train, test) in enumerate(folds.split(np.zeros(len(data.y)), data.y)):
                    found.append(Split(f"{repeat + 1}-{fold + 1}", train, test))  # no number: 1.10 would be 1.1
        return found

    def notes(self, data: DataSet) -> list[str]:
        sizes = _class_sizes(data)
        small = sizes[sizes < self.n_folds]
        if not len(small):
            return []
        shown = ", ".join(f"{label!r} ({size})" for label, size in small.items())
        return [f"{data.name}: some folds lack rows of classes with fewer rows than the {self.n_folds} folds: {shown}."]

    def __str__(self) -> str:
        return f"{self.n_folds}-fold cross-validation" + (f", {self.repeats} times" if self.repeats > 1 else "")


@dataclass(frozen=True)
class OfficialSplit:
    """Train on the official training part, test on the rest."""

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        if data.n_train is None:
            raise ValueError(f"{data.name} has no official split; use KFold, or say with {data.name}.split how many leading rows train.")
        rows = np.arange(len(data.y))
        return [Split("official", rows[: data.n_train], rows[data.n_train :])]

    def notes(self, data: DataSet) -> list[str]:
        return []

    def __str__(self) -> str:
        return "official split"


@dataclass(frozen=True)
class FiftyTwentyFive:
    """Random splits into a half that trains, a quarter that chooses and a quarter that tests."""

    n_splits: int = 5

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        found = []
        for number in range(self.n_splits):
            drawn = np.random.RandomState((seed_of(data, seed) + number) % 2**32)
            train, rest = _halves(np.arange(len(data.y)), data.y, drawn)
            validation, test = _halves(rest, data.y[rest], drawn)
            found.append(Split(f"{number + 1}", train, test, validation))
        return found

    def notes(self, data: DataSet) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"{self.n_splits} random splits of 50/25/25 %"


@dataclass
class TimeLimit:
    """A callback that ends a fit when its rounds have taken so many seconds."""

    seconds: float
    spent: float = field(default=0.0, repr=False)

    def __call__(self, row: dict[str, float]) -> bool:
        self.spent = row["seconds"] + (self.spent if row["round"] > 1 else 0.0)
        return self.spent >= self.seconds


def run(
    data_sets: Sequence[DataSet],
    contestants: Sequence[Contestant],
    protocol: SplitRule,
    journal: str | Path,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    n_splits: int | None = None,
    curves: bool = True,
    verbose: int = 0,
) -> pd.DataFrame:
    """Test every contestant on every split of every data set.

    Each finished split is added to ``journal`` at once. A run with the same arguments goes on where an earlier one ended; splits with
    other settings, seeds or rows in the same file are left alone. A fit that fails is noted in ``message``, and tried again next time.

    Parameters
    ----------
    data_sets, contestants, protocol
        What to test, whom, and how.
    journal : path of the CSV file
    seed : int
        Of the splits, and of the classifiers.
    n_jobs : int
        Splits at the same time; every fit has one thread. -1 is all cores.
    n_splits : int or None
        Run the first so many splits of the protocol only. A later run may go on with the others.
    curves : bool
        Keep the test error after each round, of classifiers that can tell (``staged_predict``).
    verbose : int
        0 is silent; 1 shows how far it is and the remaining time.

    Returns
    -------
    data frame with a row for each data set, contestant and split, in that order: the fields of the journal

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyboost.evaluation import KFold, load, run
    >>> from manyboost.evaluation.contestants import chosen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run([load("wine")], chosen(["HistGradientBoosting"]), KFold(2), Path(folder) / "journal.csv")
    >>> found[["data_set", "algorithm", "split"]].to_numpy().tolist()
    [['wine', 'HistGradientBoosting', '1-1'], ['wine', 'HistGradientBoosting', '1-2']]
    """
    writer = Journal(journal, FIELDS, text=KEYS)
    jobs = list(_jobs(data_sets, contestants, protocol, seed, n_splits, curves))
    finished = _finished(writer)
    todo = [job for job in jobs if job.key not in finished]
    if n_jobs != 1:
        _compile_kernels(todo, n_jobs)
    with progress_of_jobs("comparing", len(jobs), len(jobs) - len(todo), verbose) as show:
        running = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(delayed(_test)(job) for job in todo)
        for record in running:
            writer.add(record)
            show(f"{record['data_set']}, {record['algorithm']}, split {record['split']}")
    return _in_order(writer.read(), jobs)


def mean_errors(results: pd.DataFrame, measure: str = "error") -> pd.DataFrame:
    """Means over the splits, data sets by algorithms; algorithms that failed anywhere are left out."""
    whole = results.groupby("algorithm")[measure].transform(lambda values: values.notna().all()).astype(bool)
    table = results[whole].pivot_table(index="data_set", columns="algorithm", values=measure, aggfunc="mean", sort=False)
    return table.rename_axis(index=None, columns=None)


@dataclass(frozen=True)
class _Job:
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


def _jobs(
    data_sets: Sequence[DataSet],
    contestants: Sequence[Contestant],
    protocol: SplitRule,
    seed: int,
    n_splits: int | None,
    curves: bool,
) -> Iterator[_Job]:
    for given in data_sets:
        data = _prepared(given)
        rows = hashlib.sha256(pd.util.hash_pandas_object(data.X, index=False).to_numpy().tobytes())
        rows.update("\n".join(map(str, data.y)).encode())
        splits = protocol.splits(data, seed)
        for contestant in contestants:
            made = contestant.make(given, seed)
            candidates = tuple(made) if isinstance(made, (list, tuple)) else (made,)
            if len(candidates) > 1 and splits[0].validation is None:
                raise ValueError(
                    f"{contestant.name} has {len(candidates)} settings to choose from, but {protocol} has no rows to choose by."
                )
            said = f"{protocol!r} {seed} {rows.hexdigest()} {[_parameters(one) for one in candidates]}"
            settings = hashlib.sha256(said.encode()).hexdigest()[:12]
            for split in splits[:n_splits]:
                yield _Job(data, contestant.name, candidates, split, seed, settings, curves)


def _prepared(data: DataSet) -> DataSet:
    """Categories as such, with all their values known, and columns named by their number, as some libraries refuse some names."""
    X = data.X.copy()
    X.columns = [f"x{at}" for at in range(X.shape[1])]
    text = [name for name in X.columns if X[name].dtype.kind not in "iuf"]
    X[text] = X[text].astype("category")
    return DataSet(data.name, X, data.y, data.n_train, data.source)


def _finished(journal: Journal) -> set[tuple[str, str, str, str]]:
    found = journal.read()
    found = found[found["error"].notna()]
    return set(found[list(KEYS)].itertuples(index=False, name=None))


def _in_order(found: pd.DataFrame, jobs: Sequence[_Job]) -> pd.DataFrame:
    place = pd.Series({job.key: at for at, job in enumerate(jobs)})
    found = found.drop_duplicates(KEYS, keep="last").set_index(list(KEYS))
    found = found[found.index.isin(place.index)]
    return found.loc[sorted(found.index, key=lambda key: place[key])].reset_index()[list(FIELDS)]


def _test(job: _Job) -> dict[str, Any]:
    """Fit and test; a line of the journal."""
    X, y, split = job.data.X, job.data.y, job.split
    record: dict[str, Any] = {
        "data_set": job.data.name, "algorithm": job.contestant, "split": split.name, "seed": job.seed, "settings": job.settings,
        "train_rows": len(split.train), "test_rows": len(split.test), "versions": _versions(),
    }  # fmt: skip
    labels, code = np.unique(y[split.train], return_inverse=True)  # some libraries want 0..K-1 without gaps
    with threadpool_limits(1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model, seconds = _best(job, labels, code)
            began = time.process_time()
            said = labels[np.asarray(model.predict(X.iloc[split.test]), np.intp).ravel()]
            record["predict_seconds"] = f"{time.process_time() - began:.4g}"
            record["log_loss"] = f"{_log_loss(model, labels, X.iloc[split.test], y[split.test]):.6g}"
            record |= {"fit_seconds": f"{seconds:.4g}", "parameters": _parameters(model)}
            record |= {"rounds": _rounds(model) or "", "weak_learners": _weak_learners(model)}
            if job.curves:
                record["curve"] = _curve(model, labels, X.iloc[split.test], y[split.test])
            record["error"] = f"{np.mean(said != y[split.test]):.8g}"
            said_aside = {f"{one.category.__name__}: {_first_line(one.message)}" for one in warned}
            if getattr(model, "stop_reason_", "").startswith("a callback"):
                said_aside.add(f"ended by the time limit after {model.n_estimators_} of {model.n_estimators} rounds")
            record["message"] = "; ".join(sorted(said_aside))
        except Exception as error:  # whatever a library raises: the others go on, and the journal says why this one did not
            record["message"] = f"{type(error).__name__}: {_first_line(error)}"
    return record


def _best(job: _Job, labels: NDArray[Any], code: Indices) -> tuple[Any, float]:
    """The fitted candidate of least validation error, and the CPU seconds of all fits."""
    X, split = job.data.X, job.split
    seconds, best, least = 0.0, None, np.inf
    for candidate in job.candidates:
        model = deepcopy(candidate)  # not every library can be cloned
        _start_kernels(model)
        began = time.process_time()
        model.fit(X.iloc[split.train], code)
        seconds += time.process_time() - began
        error = 0.0
        if len(job.candidates) > 1:
            error = float(np.mean(labels[model.predict(X.iloc[split.validation])] != job.data.y[split.validation]))
        if error < least:
            best, least = model, error
    return best, seconds


def _compile_kernels(jobs: Sequence[_Job], n_jobs: int) -> None:
    """Random thresholds and histograms have kernels of their own: compile each kind once, at the same time, not in every process."""
    needed = {needs for job in jobs for model in job.candidates if (needs := _kernels_of(model))}
    kinds = [sorted(one for one in needed if one[1] == splitter) for splitter in {splitter for _, splitter in needed}]
    Parallel(n_jobs=n_jobs)(delayed(_start_all)(kind) for kind in kinds)


def _start_all(needed: Sequence[tuple[str, str]]) -> None:
    for algorithm, splitter in needed:
        _started(algorithm, splitter)


def _start_kernels(model: Any) -> None:
    """Compile, or read from the cache, before the clock runs."""
    if needs := _kernels_of(model):
        _started(*needs)


def _kernels_of(model: Any) -> tuple[str, str] | None:
    """Algorithm and kind of split of a model of ours with our trees."""
    if isinstance(model, BoostingClassifier) and model.estimator is None:
        return next(((name, model.splitter) for name, kind in ALGORITHMS.items() if kind is type(model)), None)
    return None


@cache
def _started(algorithm: str, splitter: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    model = ALGORITHMS[algorithm](n_estimators=2, splitter=splitter, random_state=0).fit(X, y)
    model.predict_proba(X)
    list(model.staged_predict(X))


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
    for name in ("n_estimators_", "n_iter_"):
        value = getattr(model, name, None)
        if isinstance(value, (int, np.integer)):
            return int(value)
    return 0


def _weak_learners(model: Any) -> int | str:
    history = getattr(model, "history_", None)
    return int(history["n_trees"][: model.n_estimators_].sum()) if isinstance(history, dict) and "n_trees" in history else ""


def _parameters(model: Any) -> str:
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


def _class_sizes(data: DataSet) -> pd.Series:
    return pd.Series(data.y).value_counts().sort_index()


def _halves(rows: Indices, y: NDArray[Any], drawn: np.random.RandomState) -> tuple[Indices, Indices]:
    """Two random halves, stratified over the classes that have two rows at least."""
    labels, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    groups = np.where(counts[code] > 1, code, len(labels))  # single rows together are one group
    stratify = groups if np.bincount(groups)[np.unique(groups)].min() > 1 else None
    first, second = train_test_split(rows, test_size=0.5, random_state=drawn, stratify=stratify)
    return first, second
