"""The classifier to start with: several boosted models as one, with nothing to choose but how long it may take.

    quality       what is fitted
    "fast"        one run of AdaBoost.MH, and one pilot
    "balanced"    two runs of AdaBoost.MH and two of AdaBoost.MR, each with chances of its own
    "best"        longer ones, of trees that grow with the data, and REBEL with localized similarities where there are not too many rows

Before that, pilots: shorter runs on four fifths of the rows, which tell how long a run should be, how sure it may be of itself (its
temperature) and what share in the blend each part deserves, all from the rows they have not seen. Probabilities are the weighted mean of
the parts' own.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from manyboost.algorithms import ALGORITHMS
from manyboost.blend_parts import FittedPart, Part, TimeLeft, TrainingRows
from manyboost.calibration import PilotPlan
from manyboost.columns import TakesTables, feature_names, given_table
from manyboost.contributions import BlendExplanation, DecidedRow, one_row
from manyboost.estimator import BoostingClassifier
from manyboost.labels import read_costs, read_labels
from manyboost.learners import LocalizedSimilarity
from manyboost.maths.links import best_temperature, log_loss, softmax
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
    number,
)
from manyboost.protocol import Task
from manyboost.row_keys import keys_of_numbers
from manyboost.validation import N_FOLDS

Floats = NDArray[np.float64]
MOST_LEAVES = 2048
STAGES_OF_TREES, STAGES_OF_SIMILARITIES = 4, 9  # lengths that pilots try, each half of the next: down to a dozen or two of rounds
ROWS_FOR_SIMILARITIES = 30_000  # with more, comparing examples takes longer than all the trees


@dataclass(kw_only=True, eq=False, repr=False)
class ManyBoostClassifier(TakesTables, ClassifierMixin, BaseEstimator):
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
        What to do in predict with a category that did not occur in training. With "missing", a column of more than 255 categories is
        taken, too: its most frequent ones, by weight, are told apart, the others count as missing, with a warning.
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
    50% from 2 runs of AdaBoost.MH (200 rounds, trees of up to 16 leaves) + 50% from 2 runs of AdaBoost.MR (50 rounds, ...
    """

    quality: str = choice("balanced", "fast", "balanced", "best")
    time_limit: float | None = number(None, low=0, open_low=True, none="no limit")
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
        table = given_table(self, X, None, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)
        labels = read_labels(table, y, sample_weight, self.class_weight)
        numeric, columns = table.read(labels.weight)
        self.classes_ = labels.classes
        self.cost_matrix_: Floats | None = read_costs(self.cost_matrix, labels.classes)
        random = check_random_state(self.random_state)
        used = labels.y >= 0
        task = Task.of(labels.y[used], len(labels.classes), labels.weight[used])
        weight, names = np.where(used, labels.weight, 0.0), getattr(self, "feature_names_in_", None)
        rows = TrainingRows(X, y, weight, keys_of_numbers(numeric, labels.y), numeric, columns, names)
        parts = self._parts(task.N)
        deadline = None if self.time_limit is None else began + self.time_limit
        self._fit_parts(parts, rows, random, TimeLeft(deadline, sum(part.n_runs for part in parts)))
        return self

    def _parts(self, n_rows: float) -> list[Part]:
        """What is to be fitted."""
        best = self.quality == "best"
        shared = {
            "categorical_features": self.categorical_features,
            "handle_unknown": self.handle_unknown,
            "verbose": self.verbose,
            "n_jobs": self.n_jobs,
        }
        trees = {
            "n_estimators": self.n_estimators or (400 if best else _rounds(n_rows, few=self.quality == "fast")),
            "max_leaf_nodes": self.max_leaf_nodes or _leaves(n_rows, grow=best),
            **shared,
        }
        fast = self.quality == "fast"
        n_runs = self.n_runs or (1 if fast else 2)
        plan = PilotPlan(STAGES_OF_TREES, n_most=1 if fast else N_FOLDS)
        parts = [Part("AdaBoost.MH", ALGORITHMS["adaboost_mh"](**trees), n_runs, plan)]
        if not fast:
            parts.append(Part("AdaBoost.MR", ALGORITHMS["adaboost_mr"](**trees), n_runs, plan))
        if self.similarities is True or (self.similarities == "auto" and best and n_rows <= ROWS_FOR_SIMILARITIES):
            model = ALGORITHMS["rebel"](estimator=LocalizedSimilarity(), **shared)
            parts.append(Part("REBEL with localized similarities", model, 1, replace(plan, n_stages=STAGES_OF_SIMILARITIES)))
        return parts

    def _fit_parts(self, parts: list[Part], rows: TrainingRows, random: np.random.RandomState, time_left: TimeLeft) -> None:
        """The parts one after the other; their pilots find lengths, temperatures and shares."""
        fitted: list[FittedPart] = []
        for part in parts:
            if fitted and time_left.is_up:
                break
            fitted.append(rows.fitted(part, random, time_left))
        fitted = [one for one in fitted if one.models[0].n_estimators_] or fitted[:1]
        held = next((one.pilots for one in fitted if one.pilots is not None), None)
        self.sharpness_, self.held_out_error_, self.held_out_log_loss_ = 1.0, np.nan, np.nan
        shares = np.full(len(fitted), 1 / len(fitted))
        if held is not None:
            said = [np.full((len(held.y), len(self.classes_)), 1 / len(self.classes_)) if one.said is None else one.said for one in fitted]
            shares = mixture_weights(said, held.y, held.weight, held.N)
            mixture = np.asarray(sum(share * of_part for share, of_part in zip(shares, said, strict=True)))
            if len(fitted) > 1:
                self.sharpness_ = best_temperature(lambda power: _sharpened(mixture, power), held.y, held.weight, held.N)
            final = _sharpened(mixture, self.sharpness_)
            self.held_out_error_ = float((final.argmax(axis=1) != held.y) @ held.weight / held.weight.sum())
            self.held_out_log_loss_ = log_loss(final, held.y, held.weight)
        self.models_ = [model for one in fitted for model in one.models]
        self.weights_ = np.concatenate(
            [np.full(len(one.models), share / len(one.models)) for one, share in zip(fitted, shares, strict=True)]
        )
        self.description_ = " + ".join(
            (f"{share:.0%} from " if len(fitted) > 1 else "") + str(one) for one, share in zip(fitted, shares, strict=True)
        )
        left_out = [part.name for part in parts if not any(one.part is part for one in fitted)]
        if left_out:
            self.description_ += f"; without {' and '.join(left_out)}"
        if time_left.was_short:
            self.description_ += f"; cut short by time_limit={self.time_limit:g}"

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        check_is_fitted(self)
        mean = sum(weight * self._run_as_we_do(model).predict_proba(X) for model, weight in zip(self.models_, self.weights_, strict=True))
        return np.asarray(mean) if self.sharpness_ == 1.0 else _sharpened(np.asarray(mean), self.sharpness_)

    def _run_as_we_do(self, model: BoostingClassifier) -> BoostingClassifier:
        """A view of the model with the threads asked for now, which may be others than in fit; the model itself may be in use elsewhere."""
        check_parameters(self)
        view = copy(model)
        view.n_jobs = self.n_jobs
        return view

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
        best = self._scores(self.predict_proba(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])

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
        probability = self.predict_proba(row)
        first = self._trees()[0][0]
        decided = DecidedRow(
            numeric=first._read(row),
            columns=first._columns,
            features=feature_names(self),
            classes=self.classes_,
            decoder=np.eye(len(self.classes_)),
            scores=self._scores(probability)[0],
            probability=probability[0],
        )
        others = [model.explain(row) for model in self.models_ if model.estimator is not None]
        return BlendExplanation(decided.by_features(added[0], start), tuple(others))

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")


def _sharpened(probability: Floats, power: float) -> Floats:
    return softmax(power * np.log(np.maximum(probability, np.finfo(float).tiny)))


def _rounds(n_rows: float, few: bool) -> int:
    """Rounds of a run: where it is to be fast, few for few rows."""
    return int(np.clip(n_rows / 8, 100, 200)) if few else 200


def _leaves(n_rows: float, grow: bool) -> int:
    """Leaves of a tree: few for few rows, and for the best quality more for many."""
    usual = int(np.clip(n_rows / 16, 16, 64))
    return int(np.clip(64 * (n_rows / 10_000) ** 0.75, usual, MOST_LEAVES)) if grow else usual
