"""The classifier to start with: several boosted models as one, with nothing to choose but how long it may take.

    quality       what is fitted
    "fast"        one run of AdaBoost.MH
    "balanced"    two runs of AdaBoost.MH and two of AdaBoost.MR, each with chances of its own
    "best"        longer ones, of trees that grow with the data, and REBEL with localized similarities where there are not too many rows

Before that, pilots: shorter runs on four fifths of the rows, which tell how long a run should be, how sure it may be of itself (its
temperature) and what share in the blend each part deserves, all from the rows they have not seen. Probabilities are the weighted mean of
the parts' own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from manyboost.algorithms import ALGORITHMS
from manyboost.calibration import Calibration
from manyboost.columns import dense_rows, feature_names, read_columns
from manyboost.contributions import BlendExplanation, TreeExplanation, one_row
from manyboost.estimator import BoostingClassifier
from manyboost.labels import read_costs, read_labels
from manyboost.learners import LocalizedSimilarity
from manyboost.maths.links import best_temperature, careful_log_loss, softmax
from manyboost.maths.mixtures import mixture_weights
from manyboost.parameters import (
    anything,
    check_parameters,
    checked,
    choice,
    integer,
    is_choice_of_columns,
    is_class_weight,
    is_number_of_jobs,
    is_random_state,
)
from manyboost.protocol import Task
from manyboost.row_keys import keys_of_numbers
from manyboost.validation import folds_of_rows

Floats = NDArray[np.float64]
N_FOLDS = 5
HELD_OUT_ROWS = 2000  # how many held-out rows are wanted in all
SHORTEST = 16  # rounds: pilots of shorter models have their full length
N_STAGES = 4  # lengths that pilots try, each half of the next
MOST_LEAVES = 2048
ROWS_FOR_SIMILARITIES = 30_000  # with more, comparing examples takes longer than all the trees


@dataclass(frozen=True)
class Part:
    """A model of the blend that is fitted ``n_runs`` times, each time with chances of its own."""

    name: str
    model: BoostingClassifier
    n_runs: int
    n_rounds: int | None  # of each run; None: it ends by itself


@dataclass(kw_only=True, eq=False, repr=False)
class ManyBoostClassifier(ClassifierMixin, BaseEstimator):
    """The one to start with: boosted trees, and similarities where they help, without anything to set.

    Parameters
    ----------
    quality : {"fast", "balanced", "best"}
        One run of AdaBoost.MH; a blend of runs of AdaBoost.MH and AdaBoost.MR; or one of longer runs, with larger trees where there are
        many rows, and of REBEL with localized similarities. Parts are weighted by how well they do on rows they have not seen.
    time_limit : float or None
        Seconds after which no further round and no further model is begun; ``description_`` says what was left out. A model that was cut
        short depends on the machine. None is no limit.
    n_estimators : int or None
        Rounds of each run of trees at most; None leaves it to ``quality``. Pilots may find fewer to be better.
    n_runs : int or None
        Runs of each kind of trees; None leaves it to ``quality``.
    max_leaf_nodes : int or None
        Leaves of each tree; None leaves it to ``quality`` and the number of rows.
    similarities : {"auto", True, False}
        Whether localized similarities take part: with quality="best" and up to 30,000 rows, always, or never.
    categorical_features : "from_dtype", None, or array-like
        Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
    handle_unknown : {"missing", "error"}
        What to do in predict with a category that did not occur in training.
    class_weight : None, "balanced" or dict
        Factors of the rows' weights by class, as everywhere in scikit-learn.
    cost_matrix : None, array, dict or data frame
        Cost of each decision (column) for each true class (row). The class of least expected cost is decided for.
    verbose : int
        0 is silent, 1 shows a progress bar for each run.
    n_jobs : int or None
        Threads; the model does not depend on it. None is one, unless in a joblib context; -1 is all.
    random_state : int, RandomState or None
        Seed of everything that is drawn.

    Attributes
    ----------
    classes_ : array of the K class labels
    n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any
    models_ : list of fitted classifiers
    weights_ : (n_models,) array
        The share of each in the probabilities.
    sharpness_ : float
        Power of the mean of the probabilities that makes it honest; 1 where it was not fitted.
    description_ : str
        What was done, in a sentence or two.
    held_out_error_, held_out_log_loss_ : float
        Error and log-loss on rows that a shorter fit had not seen: how sure it is. NaN where no row could be spared.
    cost_matrix_ : (K, K) array or None
    feature_importances_, class_importances_ : (n_features,) and (n_features, n_classes) arrays
        Of the trees.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import ManyBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ManyBoostClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    >>> print(model.description_)
    58% 2 runs of AdaBoost.MH (...
    """

    quality: str = choice("balanced", "fast", "balanced", "best")
    time_limit: float | None = checked(None, "None (no limit) or a number of seconds above 0", lambda value: _is_time(value))
    n_estimators: int | None = integer(None, low=1, none="by quality")
    n_runs: int | None = integer(None, low=1, none="by quality")
    max_leaf_nodes: int | None = integer(None, low=2, none="by quality and rows")
    similarities: str | bool = choice("auto", "auto", True, False)
    categorical_features: Any = checked(
        "from_dtype", "'from_dtype', None, a mask, or a list of column numbers or names", is_choice_of_columns
    )
    handle_unknown: str = choice("missing", "missing", "error")
    class_weight: Any = checked(None, "None, 'balanced' or a dict of factors by class", is_class_weight)
    cost_matrix: Any = anything(None)
    verbose: int = integer(0, low=0)
    n_jobs: int | None = checked(None, "a whole number other than 0, -1 for all cores, or None", is_number_of_jobs)
    random_state: Any = checked(None, "a whole number from 0 to 2**32 - 1, a numpy RandomState, or None", is_random_state)

    # ---- fit -----------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ManyBoostClassifier:
        """Fit all models of the blend.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Missing values (NaN, None) are allowed; infinite ones are not.
        y : array of shape (n,)
            Class labels: numbers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        self.__dict__.pop("models_", None)  # a fit that fails leaves no model, rather than half of an old one
        began = time.monotonic()
        numeric, _ = read_columns(self, X, None, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)
        labels = read_labels(numeric, y, sample_weight, self.class_weight)
        self.classes_ = labels.classes
        self.cost_matrix_: Floats | None = read_costs(self.cost_matrix, labels.classes)
        random = check_random_state(self.random_state)
        used = np.flatnonzero(labels.y >= 0)
        rows = _Rows(_safe_indexing(X, used), numeric[used], labels.y[used], labels.weight[used], labels.classes)
        parts = self._parts(len(used))
        n_fits = len(parts) * len(rows.folds) + sum(part.n_runs for part in parts)
        self._fit_parts(parts, rows, random, _TimeLeft(None if self.time_limit is None else began + self.time_limit, n_fits))
        return self

    def _parts(self, n_rows: int) -> list[Part]:
        """What is to be fitted."""
        best = self.quality == "best"
        shared = {
            "categorical_features": self.categorical_features,
            "handle_unknown": self.handle_unknown,
            "verbose": self.verbose,
            "n_jobs": self.n_jobs,
        }
        trees = {
            "n_estimators": self.n_estimators or (400 if best else 200),
            "max_leaf_nodes": self.max_leaf_nodes or _leaves(n_rows, grow=best),
            **shared,
        }
        n_runs = self.n_runs or (1 if self.quality == "fast" else 2)
        parts = [Part("AdaBoost.MH", ALGORITHMS["adaboost_mh"](**trees), n_runs, trees["n_estimators"])]
        if self.quality != "fast":
            parts.append(Part("AdaBoost.MR", ALGORITHMS["adaboost_mr"](**trees), n_runs, trees["n_estimators"]))
        if self.similarities is True or (self.similarities == "auto" and best and n_rows <= ROWS_FOR_SIMILARITIES):
            parts.append(Part("REBEL with localized similarities", ALGORITHMS["rebel"](estimator=LocalizedSimilarity(), **shared), 1, None))
        return parts

    def _fit_parts(self, parts: list[Part], rows: _Rows, random: np.random.RandomState, time_left: _TimeLeft) -> None:
        """Lengths, temperatures, weights and sharpness from rows that are held out; then the parts on all rows."""
        pilots, runs = [], []
        for part in parts:
            if runs and time_left.is_up:
                break
            pilot = rows.pilot(part, random, time_left)
            of_part = [rows.fitted(part.model, random, time_left, calibrate=False, **pilot.length) for _ in range(part.n_runs)]
            for run in of_part:
                run.temperature_ = pilot.temperature * pilot.correction(run.n_estimators_)
            pilots.append(pilot)
            runs.append(of_part)
        held = rows.of_pilots
        shares = mixture_weights([pilot.probability for pilot in pilots], held.y, held.weight)
        fitted = [_Fitted(*one) for one in zip(parts, runs, shares.tolist(), strict=False)]
        mixture = np.asarray(sum(share * pilot.probability for share, pilot in zip(shares, pilots, strict=True)))
        sharpness, held_out = 1.0, None
        if np.ptp(mixture, axis=1).any():
            sharpness = 1.0 if len(fitted) == 1 else best_temperature(lambda power: _sharpened(mixture, power), held.y, held.weight, held.N)
            held_out = Calibration.of(sharpness, _sharpened(mixture, sharpness), held.y, held.weight)
        self.models_ = [model for one in fitted for model in one.models]
        self.weights_ = np.concatenate([np.full(len(one.models), one.share / len(one.models)) for one in fitted])
        self.sharpness_ = sharpness
        self.held_out_error_, self.held_out_log_loss_ = (held_out.error, held_out.log_loss) if held_out else (np.nan, np.nan)
        self.description_ = " + ".join(one.described(len(fitted) > 1) for one in fitted)
        if time_left.was_short:
            left_out = "".join(f", without {part.name}" for part in parts[len(fitted) :])
            self.description_ += f"; cut short by time_limit={self.time_limit:g}{left_out}"

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        check_is_fitted(self)
        mean = sum(weight * self._run_as_we_do(model).predict_proba(X) for model, weight in zip(self.models_, self.weights_, strict=True))
        return np.asarray(mean) if self.sharpness_ == 1.0 else _sharpened(np.asarray(mean), self.sharpness_)

    def _run_as_we_do(self, model: BoostingClassifier) -> BoostingClassifier:
        """The model, with the threads asked for now, which may be others than in fit."""
        check_parameters(self)
        model.n_jobs = self.n_jobs
        return model

    def decision_function(self, X: Any) -> Floats:
        """The logarithms of the probabilities, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``.

        With a ``cost_matrix``, minus the expected cost of deciding for each class.
        """
        scores = self._scores(self.predict_proba(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, probability: Floats) -> Floats:
        if self.cost_matrix_ is not None:
            return -probability @ self.cost_matrix_
        return np.log(np.maximum(probability, np.finfo(float).tiny))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,)."""
        return np.asarray(self.classes_[self._scores(self.predict_proba(X)).argmax(axis=1)])

    # ---- explain -------------------------------------------------------------------------------------------------------------

    def _trees(self) -> list[tuple[BoostingClassifier, float]]:
        """The models of trees, and their shares among themselves."""
        check_is_fitted(self)
        trees = [(model, weight) for model, weight in zip(self.models_, self.weights_, strict=True) if model.estimator is None]
        total = sum(weight for _, weight in trees)
        return [(model, weight / total) for model, weight in trees]

    def contributions(self, X: Any) -> tuple[Floats, Floats]:
        """What each feature adds to the score of each class by the trees, (n, p, K), and where the scores start, (K,).

        The score is the mean of the trees' scores, each at its temperature; ``start + contributions.sum(axis=1)`` is that mean.
        """
        parts = [(share * model.temperature_, *model.contributions(X)) for model, share in self._trees()]
        added, start = sum(factor * one for factor, one, _ in parts), sum(factor * one for factor, _, one in parts)
        return np.asarray(added), np.asarray(start)

    def explain(self, X: Any) -> BlendExplanation:
        """Why the blend decides as it does for one row: by features, and by training examples where similarities take part.

        Parameters
        ----------
        X : one row: a table of one row, or its values

        Returns
        -------
        BlendExplanation
            ``print`` it, or ask its ``why``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import ManyBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ManyBoostClassifier(random_state=0).fit(X, y)
        >>> print(model.explain(X[100]))
        Predicted: 2 (probability ...).
        2 and not 1: ...
        """
        check_is_fitted(self)
        row = one_row(X)
        added, start = self.contributions(row)
        probability = self.predict_proba(row)[0]
        first = self._trees()[0][0]
        values = first._columns.decoded(dense_rows(first._read(row)))[0]
        by_features = TreeExplanation(self.classes_, feature_names(self), values, start, added[0], probability, self.predict(row)[0])
        others = [model.explain(row) for model in self.models_ if model.estimator is not None]
        return BlendExplanation(by_features, tuple(others))

    @property
    def class_importances_(self) -> Floats:
        total = np.zeros((self.n_features_in_, len(self.classes_)))
        for model, share in self._trees():
            of_model = model.class_importances_
            total += share * of_model / (of_model.sum() or 1.0)
        return total

    @property
    def feature_importances_(self) -> Floats:
        total = self.class_importances_.sum(axis=1)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")


# ---- what fit works with ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fitted:
    """The runs of a part, and its share in the blend."""

    part: Part
    models: list[BoostingClassifier]
    share: float

    def described(self, with_share: bool) -> str:
        first, n = self.models[0], len(self.models)
        lengths = {model.n_estimators_ for model in self.models}
        rounds = " to ".join(map(str, sorted({min(lengths), max(lengths)})))
        trees = f", trees of up to {first.max_leaf_nodes} leaves" if first.estimator is None else ""
        share = f"{self.share:.0%} " if with_share else ""
        return f"{share}{'one run' if n == 1 else f'{n} runs'} of {self.part.name} ({rounds} rounds{trees})"


class _TimeLeft:
    """A share of the time up to a deadline for each of a number of fits; what one does not need is left to the others."""

    def __init__(self, deadline: float | None, n_fits: int) -> None:
        self.deadline, self.n_fits, self.was_short = deadline, n_fits, False

    @property
    def is_up(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        self.was_short |= late
        return late

    def callbacks(self) -> list[Any] | None:
        """For the next fit: what ends it when its share is used up."""
        if self.deadline is None:
            return None
        now = time.monotonic()
        until = now + max(0.0, self.deadline - now) / max(1, self.n_fits)
        self.n_fits -= 1

        def is_late(_: dict[str, float]) -> bool:
            late = time.monotonic() >= until
            self.was_short |= late
            return late

        return [is_late]


@dataclass(frozen=True)
class _Pilot:
    """What runs on some of the rows say of the others.

    Attributes
    ----------
    n_rounds : how long the runs of the model are to be; None: they end by themselves
    temperature : factor of their scores
    probability : (m, K) of the held-out rows
    """

    n_rounds: int | None
    temperature: float
    probability: Floats

    @property
    def length(self) -> dict[str, int]:
        return {} if self.n_rounds is None else {"n_estimators": self.n_rounds}

    def correction(self, n_rounds: int) -> float:
        """Of the temperature of a run that made fewer rounds than it was to: scores grow with the rounds."""
        return self.n_rounds / n_rounds if self.n_rounds is not None and n_rounds else 1.0


@dataclass(frozen=True)
class _Rows:
    """The training rows: as they were given, as numbers, their classes 0..K-1 and their weights."""

    X: Any
    numeric: Any
    y: NDArray[np.intp]
    weight: Floats
    classes: NDArray[Any]

    def fitted(
        self, model: BoostingClassifier, random: np.random.RandomState, time_left: _TimeLeft, **parameters: Any
    ) -> BoostingClassifier:
        """A copy of the model fitted to these rows, with chances of its own."""
        seed = random.randint(np.iinfo(np.int32).max)
        fitted: BoostingClassifier = clone(model).set_params(random_state=seed, callbacks=time_left.callbacks(), **parameters)
        fitted.fit(self.X, self.classes[self.y], self.weight)
        fitted.callbacks = None
        return fitted

    def part(self, rows: NDArray[np.intp]) -> _Rows:
        return _Rows(_safe_indexing(self.X, rows), self.numeric[rows], self.y[rows], self.weight[rows], self.classes)

    @cached_property
    def folds(self) -> list[tuple[_Rows, _Rows]]:
        """Rows to learn from and rows to hold out: one to five times, until there are enough of these."""
        task = Task.of(self.y, len(self.classes), self.weight)
        fold = folds_of_rows(task, keys_of_numbers(self.numeric, self.y), *(np.arange(1, N_FOLDS) / N_FOLDS))
        n_used = int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / len(self.y)), 1, N_FOLDS))
        pairs = [(np.flatnonzero(fold != held), np.flatnonzero(fold == held)) for held in range(n_used)]
        return [(self.part(inside), self.part(outside)) for inside, outside in pairs if len(outside)]

    @cached_property
    def of_pilots(self) -> Task:
        """The held-out rows of all folds. Their number counts like that of all rows."""
        y = np.concatenate([outside.y for _, outside in self.folds] or [np.empty(0, np.intp)])
        weight = np.concatenate([outside.weight for _, outside in self.folds] or [np.empty(0)])
        of_all = Task.of(self.y, len(self.classes), self.weight).N / self.weight.sum()
        return Task(y, len(self.classes), weight, of_all * weight.sum())

    def pilot(self, part: Part, random: np.random.RandomState, time_left: _TimeLeft) -> _Pilot:
        """Runs of half the length on the folds; the length of which held-out rows are told best is that of the model.

        Where it is all of the half, the model goes on to the full length, and the temperature, which falls geometrically with the
        rounds, is that of the half squared, divided by that of a quarter.
        """
        held, n_rounds = self.of_pilots, part.n_rounds
        half = None if n_rounds is None else max(1, n_rounds // 2) if n_rounds >= SHORTEST else n_rounds
        lengths: Sequence[int | None] = [None] if half is None else sorted({max(1, half >> shift) for shift in range(N_STAGES)})
        stages: list[list[Floats]] = [[] for _ in lengths]
        parameters = {} if half is None else {"n_estimators": half}
        link = part.model.link
        for inside, outside in self.folds:
            run = inside.fitted(part.model, random, time_left, calibrate=False, **parameters)
            link = run.link
            for stage, columns in zip(stages, _columns_at(run, outside.X, lengths), strict=True):
                stage.append(columns)
        found = []
        for length, stage in zip(lengths, stages, strict=True):
            columns = np.concatenate(stage) if stage else np.empty((0, 1))
            if not columns.any():
                continue
            temperature = best_temperature(_at(link, columns), held.y, held.weight, held.N)
            probability = link(columns * temperature)
            found.append((careful_log_loss(probability, held.y, held.weight, held.N), length, temperature, probability))
        if not found:
            return _Pilot(n_rounds, 1.0, np.full((len(held.y), held.K), 1 / held.K))
        best = min(range(len(found)), key=lambda at: found[at][0])
        _, length, temperature, probability = found[best]
        if length != half or n_rounds == half:
            return _Pilot(length, temperature, probability)
        earlier = found[best - 1][2] if best else temperature
        return _Pilot(n_rounds, min(temperature, temperature**2 / earlier), probability)


def _columns_at(run: BoostingClassifier, X: Any, lengths: Sequence[int | None]) -> list[Floats]:
    """The columns of scores after so many rounds, or as many as there are."""
    wanted = [run.n_estimators_ if length is None else min(length, run.n_estimators_) for length in lengths]
    found = {0: np.zeros((X.shape[0], run.forest_.n_columns))}
    for n_rounds, columns in enumerate(run._staged(X), start=1):
        if n_rounds in wanted:
            found[n_rounds] = columns.copy()
    return [found[n_rounds] for n_rounds in wanted]


def _at(link: Callable[[Floats], Floats], columns: Floats) -> Callable[[float], Floats]:
    return lambda factor: link(columns * factor)


def _sharpened(probability: Floats, power: float) -> Floats:
    return softmax(power * np.log(np.maximum(probability, np.finfo(float).tiny)))


def _leaves(n_rows: int, grow: bool) -> int:
    """Leaves of a tree: few for few rows, and for the best quality more for many."""
    usual = int(np.clip(n_rows // 16, 16, 64))
    return int(np.clip(64 * (n_rows / 10_000) ** 0.75, usual, MOST_LEAVES)) if grow else usual


def _is_time(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < np.inf)
