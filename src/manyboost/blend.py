"""The classifier to start with: several boosted models as one, with nothing to choose but how long it may take.

    quality       what is fitted
    "fast"        one run of AdaBoost.MH; its temperature from shorter pilot runs
    "balanced"    the mean of several such runs, each with chances of its own
    "best"        longer runs of AdaBoost.MH and AdaBoost.MR with trees that grow with the data, and REBEL with localized similarities where
                  there are not too many rows; the weights of the three from rows they had not seen

Probabilities are the weighted mean of the members' own. The weights are those of the mixture that makes held-out rows most likely, found by
expectation maximisation, with a few pseudo-rows that were made by each part in equal shares: few rows cannot rule out a part.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
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
from manyboost.maths.links import best_temperature, softmax
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
MOST_LEAVES = 2048
ROWS_FOR_SIMILARITIES = 30_000  # with more, comparing examples takes longer than all the trees


@dataclass(frozen=True)
class Part:
    """A model of the blend that is fitted ``n_runs`` times, each time with chances of its own."""

    name: str
    model: BoostingClassifier
    n_runs: int


@dataclass(kw_only=True, eq=False, repr=False)
class ManyBoostClassifier(ClassifierMixin, BaseEstimator):
    """The one to start with: boosted trees, and similarities where they help, without anything to set.

    Parameters
    ----------
    quality : {"fast", "balanced", "best"}
        One run of AdaBoost.MH; the mean of several; or a blend of longer runs of AdaBoost.MH and AdaBoost.MR, with larger trees where
        there are many rows, and of REBEL with localized similarities, weighted by how well they do on rows they have not seen.
    time_limit : float or None
        Seconds after which no further round and no further model is begun; ``description_`` says what was left out. A model that was cut
        short depends on the machine. None is no limit.
    n_estimators : int or None
        Rounds of each run of trees; None leaves it to ``quality``.
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
    4 runs of AdaBoost.MH (200 rounds, trees of up to 16 leaves)
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
        if len(parts) == 1 and self.time_limit is None:
            self._fit_mean(parts[0], rows, random)
        else:
            self._fit_weighted(parts, rows, random, None if self.time_limit is None else began + self.time_limit)
        return self

    def _parts(self, n_rows: int) -> list[Part]:
        """What is to be fitted."""
        best = self.quality == "best"
        leaves = self.max_leaf_nodes or _leaves(n_rows, grow=best)
        shared = {
            "categorical_features": self.categorical_features,
            "handle_unknown": self.handle_unknown,
            "verbose": self.verbose,
            "n_jobs": self.n_jobs,
        }
        trees = {
            "n_estimators": self.n_estimators or (400 if best else 200),
            "max_leaf_nodes": leaves,
            **shared,
        }
        n_runs = self.n_runs or {"fast": 1, "balanced": 4, "best": 2}[self.quality]
        parts = [Part("AdaBoost.MH", ALGORITHMS["adaboost_mh"](**trees), n_runs)]
        if best:
            parts.append(Part("AdaBoost.MR", ALGORITHMS["adaboost_mr"](**trees), n_runs))
        if self.similarities is True or (self.similarities == "auto" and best and n_rows <= ROWS_FOR_SIMILARITIES):
            parts.append(Part("REBEL with localized similarities", ALGORITHMS["rebel"](estimator=LocalizedSimilarity(), **shared), 1))
        return parts

    def _fit_mean(self, part: Part, rows: _Rows, random: np.random.RandomState) -> None:
        """Equal runs of one part; the first finds the temperature for all."""
        first = rows.fitted(part.model, random)
        models = [first]
        for _ in range(part.n_runs - 1):
            another = rows.fitted(part.model, random, calibrate=False)
            another.temperature_ = first.temperature_
            models.append(another)
        self._take_over([_Fitted(part, models, 1.0)], 1.0, first._calibration, [])

    def _fit_weighted(self, parts: list[Part], rows: _Rows, random: np.random.RandomState, deadline: float | None) -> None:
        """Temperatures, weights and sharpness from rows that are held out; then the parts on all rows.

        With a deadline, each fit has its share of the time that is left.
        """
        folds = rows.folds()
        time_left = _TimeLeft(deadline, len(folds) * len(parts) + sum(part.n_runs for part in parts))
        pilots = {part.name: [rows.held_out(part.model, random, *fold, time_left) for fold in folds] for part in parts}
        held = np.concatenate([outside for _, outside in folds]) if folds else np.empty(0, np.intp)
        y, weight = rows.y[held], rows.weight[held]
        probability, fitted, left_out = [], [], []
        for part in parts:
            runs = [rows.fitted(part.model, random, time_left, calibrate=False) for _ in range(part.n_runs)]
            runs = [run for run in runs if run.n_estimators_] or runs[:1]
            of_pilots = pilots[part.name]
            columns = np.concatenate([found for found, _ in of_pilots]) if held.size else np.empty((0, runs[0].forest_.n_columns))
            usable = bool(columns.any() and runs[0].n_estimators_)
            if not usable and (fitted or part is not parts[-1]):
                left_out.append(part.name)
                continue
            temperature = best_temperature(lambda factor, run=runs[0], at=columns: run.link(at * factor), y, weight) if usable else 1.0
            for run in runs:  # scores grow with the rounds, and those of a pilot may be others
                rounds = float(np.mean([length for _, length in of_pilots])) if usable else 1.0
                run.temperature_ = temperature * (rounds / run.n_estimators_ if time_left.was_short and usable else 1.0)
            probability.append(runs[0].link(columns * temperature) if usable else np.empty((0, len(self.classes_))))
            fitted.append(_Fitted(part, runs, 1.0))
        shares = mixture_weights(probability, y, weight)
        fitted = [_Fitted(one.part, one.models, float(share)) for one, share in zip(fitted, shares, strict=True)]
        mixture = sum(share * p for share, p in zip(shares, probability, strict=True))
        sharpness, held_out = 1.0, None
        if len(mixture):
            sharpness = best_temperature(lambda power: _sharpened(mixture, power), y, weight)
            held_out = Calibration.of(sharpness, _sharpened(mixture, sharpness), y, weight)
        self._take_over(fitted, sharpness, held_out, left_out)

    def _take_over(self, fitted: list[_Fitted], sharpness: float, held_out: Calibration | None, left_out: list[str]) -> None:
        self.models_ = [model for one in fitted for model in one.models]
        self.weights_ = np.concatenate([np.full(len(one.models), one.share / len(one.models)) for one in fitted])
        self.sharpness_ = sharpness
        self.held_out_error_, self.held_out_log_loss_ = (held_out.error, held_out.log_loss) if held_out else (np.nan, np.nan)
        self.description_ = " + ".join(one.described(len(fitted) > 1) for one in fitted)
        if left_out:
            self.description_ += f"; left out for want of time or of anything to learn: {', '.join(left_out)}"

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        check_is_fitted(self)
        mean = sum(weight * self._run_as_we_do(model).predict_proba(X) for model, weight in zip(self.models_, self.weights_, strict=True))
        return np.asarray(mean) if self.sharpness_ == 1.0 else _sharpened(np.asarray(mean), self.sharpness_)

    def _run_as_we_do(self, model: BoostingClassifier) -> BoostingClassifier:
        """The model, with the threads asked for now, which may be others than in fit."""
        check_parameters(self)
        return model.set_params(n_jobs=self.n_jobs)

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
        return sum(factor * added for factor, added, _ in parts), sum(factor * start for factor, _, start in parts)

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
class _Rows:
    """The training rows: as they were given, as numbers, their classes 0..K-1 and their weights."""

    X: Any
    numeric: Any
    y: NDArray[np.intp]
    weight: Floats
    classes: NDArray[Any]

    def fitted(
        self, model: BoostingClassifier, random: np.random.RandomState, time_left: _TimeLeft | None = None, **parameters: Any
    ) -> BoostingClassifier:
        """A copy of the model fitted to all rows, with chances of its own."""
        seed, stop = random.randint(np.iinfo(np.int32).max), time_left and time_left.callbacks()
        fitted = clone(model).set_params(random_state=seed, callbacks=stop or None, **parameters)
        fitted.fit(self.X, self.classes[self.y], self.weight)
        return fitted.set_params(callbacks=None)

    def folds(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to learn from and rows to hold out: one to five times, until there are enough of these."""
        task = Task.of(self.y, len(self.classes), self.weight)
        fold = folds_of_rows(task, keys_of_numbers(self.numeric, self.y), *(np.arange(1, N_FOLDS) / N_FOLDS))
        n_used = int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / len(self.y)), 1, N_FOLDS))
        pairs = [(np.flatnonzero(fold != held), np.flatnonzero(fold == held)) for held in range(n_used)]
        return [(inside, outside) for inside, outside in pairs if len(outside)]

    def held_out(
        self, model: BoostingClassifier, random: np.random.RandomState, inside: NDArray[np.intp], outside: NDArray[np.intp],
        time_left: _TimeLeft,
    ) -> tuple[Floats, int]:  # fmt: skip
        """Columns of scores of the rows outside, from a fit to those inside, and the rounds that it made."""
        part = _Rows(_safe_indexing(self.X, inside), self.numeric[inside], self.y[inside], self.weight[inside], self.classes)
        pilot = part.fitted(model, random, time_left, calibrate=False)
        return pilot._columns_of(_safe_indexing(self.X, outside)), pilot.n_estimators_


def _sharpened(probability: Floats, power: float) -> Floats:
    return softmax(power * np.log(np.maximum(probability, np.finfo(float).tiny)))


def _leaves(n_rows: int, grow: bool) -> int:
    """Leaves of a tree: few for few rows, and for the best quality more for many."""
    usual = int(np.clip(n_rows // 16, 16, 64))
    return int(np.clip(64 * (n_rows / 10_000) ** 0.75, usual, MOST_LEAVES)) if grow else usual


def _is_time(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < np.inf)
