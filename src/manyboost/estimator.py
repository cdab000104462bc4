"""The scikit-learn face shared by all boosted classifiers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from manyboost.calibration import fit_temperature, folds_of_rows
from manyboost.callbacks import CallbackSupportMixin, Rounds, with_callbacks
from manyboost.columns import read_columns
from manyboost.loop import Boosted, Settings, Threads, Validation, best_round, boost
from manyboost.maths.links import best_temperature
from manyboost.parameters import anything, check_parameters, choice, count_or_fraction, flag, integer, number
from manyboost.progress import progress_of
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.binning import MAX_BINS, Binning, apply_bins, find_cuts, row_keys, take_rows
from manyboost.trees.forest import Forest
from manyboost.trees.growing import GrowthLimits

_SHARED_PARAMETERS = """\
n_estimators : int
    Rounds of boosting.
learning_rate : float
    Factor of every step, in (0, 1].
max_depth : int or None
    Depth of a tree; None is no limit.
max_leaf_nodes : int or None
    Leaves of a tree, split best-first; None is no limit, and nodes are then split depth-first.
min_samples_leaf, min_samples_split : int or float
    Fewest rows of a leaf, and of a node that is split: a count, or a fraction of the rows a tree is grown on.
min_weight_fraction_leaf : float
    Least share of the weight in a leaf.
splitter : {"best", "random"}
    Try all thresholds, or one random threshold for each feature and node.
max_bins : int
    Bins of a numeric column, at most 255; missing values have one of their own.
subsample : float
    Share of the rows that each tree is grown on. Steps and weights always use all rows.
sampling : {"uniform", "weight"}
    Draw the rows of a tree evenly without replacement, or with replacement in proportion to their weights.
prune : {None, "merge", "cost_complexity"}
    Merge leaves that vote for the same label, or prune by five-fold cross-validation. For trees whose leaves vote for a label.
categorical_features : "from_dtype", None, or array-like
    Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
handle_unknown : {"error", "missing"}
    What to do in predict with a category that did not occur in training.
class_weight : None, "balanced" or dict
    Factors of the rows' weights by class, as everywhere in scikit-learn.
calibrate : {"auto", False}
    Fit one temperature on held-out rows so that probabilities are honest, or use the algorithm's own link alone. It changes no decision.
early_stopping : bool
    Hold out rows, or use the given validation set, and keep the rounds up to the best validation error.
validation_fraction : float
    Share of the rows held out for early stopping.
n_iter_no_change : int
    Rounds without a better validation error after which early stopping ends the fit.
tol : float
    By how much the validation error must fall to count as better.
warm_start : bool
    Let the next ``fit`` on the same rows go on to a larger ``n_estimators``. The model is that of one longer fit, bit for bit.
callbacks : None or list of callables
    Each is called after every round with a dict of its history (and ``round``) and stops the fit by returning True.
verbose : int
    0 is silent, 1 shows a progress bar, 2 or more prints a line every so many rounds through ``logging``.
n_jobs : int or None
    Threads; the model does not depend on it. None is one, unless in a joblib context; -1 is all.
random_state : int, RandomState or None
    Seed of everything that is drawn.
"""
_SHARED_ATTRIBUTES = """\
classes_ : array of the K class labels
n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any
n_estimators_ : int
    Rounds made.
history_ : dict of arrays
    For each round: loss, training_error, validation_error, step, n_trees, seconds. ``pandas.DataFrame(model.history_)`` is a table.
stop_reason_ : str
    Why the fit ended.
n_clipped_steps_ : int
    Steps without a finite optimum that were cut off.
temperature_ : float
    Factor of the scores inside the link; 1 when not calibrated.
forest_ : Forest
    The trees as plain arrays.
feature_importances_ : (n_features,) array
    Share of each feature in the movement of the scores.
class_importances_ : (n_features, n_classes) array
    The same for the score of each class.
"""


def _full_docstring(own: str) -> str:
    """The docstring of an estimator with the shared parameters and attributes behind its own."""
    text = inspect.cleandoc(own)
    shared = "Shared parameters\n-----------------\n" + _SHARED_PARAMETERS
    attributes = "Attributes\n----------\n" + _SHARED_ATTRIBUTES
    for heading in ("\nReferences\n", "\nExamples\n"):
        if heading in text:
            before, after = text.split(heading, 1)
            return f"{before.rstrip()}\n\n{shared}\n{attributes}{heading}{after}"
    return f"{text}\n\n{shared}\n{attributes}"


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingClassifier(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the boosted classifiers; a subclass answers the four questions of :mod:`manyboost.protocol`."""

    n_estimators: int = integer(100, low=1)
    learning_rate: float = number(1.0, low=0, high=1, open_low=True)
    max_depth: int | None = integer(None, low=1, none="no limit")
    max_leaf_nodes: int | None = integer(None, low=2, none="no limit")
    min_samples_leaf: int | float = count_or_fraction(1, low=1)
    min_samples_split: int | float = count_or_fraction(2, low=2)
    min_weight_fraction_leaf: float = number(0.0, low=0, high=0.5)
    splitter: str = choice("best", "best", "random")
    max_bins: int = integer(MAX_BINS, low=2, high=MAX_BINS)
    subsample: float = number(1.0, low=0, high=1, open_low=True)
    sampling: str = choice("uniform", "uniform", "weight")
    prune: str | None = choice(None, None, "merge", "cost_complexity")
    categorical_features: Any = anything("from_dtype")
    handle_unknown: str = choice("error", "error", "missing")
    class_weight: Any = anything(None)
    calibrate: str | bool = choice("auto", "auto", False)
    early_stopping: bool = flag(False)
    validation_fraction: float = number(0.1, low=0, high=1, open_low=True, open_high=True)
    n_iter_no_change: int = integer(20, low=1)
    tol: float = number(0.0, low=0)
    warm_start: bool = flag(False)
    callbacks: Sequence[Callable[[dict[str, float]], Any]] | None = anything(None)
    verbose: int = integer(0, low=0)
    n_jobs: int | None = anything(None)
    random_state: Any = anything(None)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = _full_docstring(cls.__doc__ or "")

    # ---- the questions -------------------------------------------------------------------------------------------------------

    def start(self, task: Task) -> Any:
        """The state kept per row."""
        raise NotImplementedError

    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Sequence[Problem]:
        """The problems of a round."""
        raise NotImplementedError

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        """What each leaf adds to the columns of scores."""
        raise NotImplementedError

    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any:
        """The state after a round."""
        raise NotImplementedError

    def link(self, columns: Floats) -> Floats:
        """Probabilities (n, K) from the columns of scores."""
        raise NotImplementedError

    def loss(self, task: Task, state: Any) -> float:
        """What the algorithm minimises: for exponential losses, the total of the weights."""
        return float(state.total())

    def enough(self, task: Task, loss: float) -> str | None:
        """A reason to stop at this loss, or None."""
        return None

    def decoder(self, K: int) -> Floats | None:
        """(C, K): what the columns mean for the K scores. None: the columns are the scores."""
        return None

    # ---- fit -----------------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None, sample_weight_val: Any = None
    ) -> BoostingClassifier:
        """Boost on the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Missing values (NaN, None) are allowed; infinite ones are not.
        y : array of shape (n,)
            Class labels: numbers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Non-negative weights; rows of weight zero are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to watch for early stopping, instead of a held-out fraction.

        Returns
        -------
        self
        """
        check_parameters(self)
        going_on = self.warm_start and hasattr(self, "forest_")
        numeric, columns = read_columns(
            self, X, self._columns if going_on else None, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown
        )
        labels, weight, classes = self._read_labels(X, y, sample_weight, numeric.shape[0])
        if going_on:
            self._check_same_task(classes)
        else:
            self.classes_ = classes
            self._columns = columns
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with Threads.of(self._n_threads()) as threads:
            self._fit_rows(numeric, labels, weight, (X_val, y_val, sample_weight_val), threads, going_on, Rounds(
                self, self.n_estimators, X, y, {"sample_weight": sample_weight}
            ))  # fmt: skip
        return self

    def _n_threads(self) -> int:
        try:
            return max(1, int(effective_n_jobs(self.n_jobs)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{type(self).__name__}: n_jobs={self.n_jobs!r} is not allowed; give a whole number other than 0, -1 for all cores, or None."
            ) from None

    def _read_labels(self, X: Any, y: Any, sample_weight: Any, n_rows: int) -> tuple[NDArray[np.intp], Floats, NDArray[Any]]:
        """Classes as 0..K-1 (-1 for rows without weight), weights, and the class labels."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        if len(y) != n_rows:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows and y has {len(y)}.")
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weight > 0
        if not used.any():
            raise ValueError("sample_weight is zero for every row; give at least one row of each of two classes a positive weight.")
        classes, labels = np.unique(y[used], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes; y (rows of positive weight) has only one class, {classes[0]!r}."
            )
        if len(classes) > np.iinfo(np.uint16).max:
            raise ValueError(f"y has {len(classes)} classes; at most {np.iinfo(np.uint16).max} can be told apart. Is y a number to be predicted?")
        encoded = np.full(len(y), -1, np.intp)
        encoded[used] = labels
        if self.class_weight is not None:
            weight = weight.copy()
            weight[used] *= self._class_factors(classes, y[used])[labels]
            if not (np.isfinite(weight).all() and (weight >= 0).all()):
                raise ValueError("class_weight must hold finite, non-negative numbers.")
            encoded[weight == 0] = -1
        return encoded, weight, classes

    def _class_factors(self, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
        if isinstance(self.class_weight, dict):
            unknown = [label for label in self.class_weight if label not in classes.tolist()]
            if unknown:
                raise ValueError(f"class_weight names {unknown[0]!r}, which is no class of y; the classes are {classes.tolist()}.")
        return np.asarray(compute_class_weight(self.class_weight, classes=classes, y=y))

    def _check_same_task(self, classes: NDArray[Any]) -> None:
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"warm_start: n_estimators={self.n_estimators} must be at least the {self.n_estimators_} rounds already made; "
                "use warm_start=False to start anew."
            )
        if not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start: y has other classes than in the earlier fit; use warm_start=False to start anew.")

    def _settings(self) -> Settings:
        limits = GrowthLimits(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            splitter=self.splitter,
        )
        return Settings(
            self.n_estimators, self.learning_rate, limits, self.subsample, self.sampling, self.prune, self._seed, self.n_iter_no_change, self.tol
        )

    def _fit_rows(
        self, numeric: Any, labels: NDArray[np.intp], weight: Floats, validation_set: tuple[Any, Any, Any], threads: Threads,
        going_on: bool, rounds: Rounds,
    ) -> None:  # fmt: skip
        settings, K = self._settings(), len(self.classes_)
        used = np.flatnonzero(labels >= 0)
        if len(used) < len(labels):
            numeric, labels, weight = numeric[used], labels[used], weight[used]
        if not going_on:
            self._binning: Binning = find_cuts(numeric, weight, self._columns.n_categories, self.max_bins, threads.map)
        table = apply_bins(numeric, self._binning, settings.limits.layout, threads.map)
        keys = row_keys(table, labels)
        # From here on rows stand in an order that depends on what is in them alone: so does everything that is drawn or added up.
        order = np.lexsort((weight, keys))
        table, keys, labels, weight = take_rows(table, order), keys[order], labels[order], weight[order]
        task = Task.of(labels, K, weight)
        decoder = self.decoder(K)
        n_columns = K if decoder is None else len(decoder)
        validation, task, table, keys = self._validation(validation_set, task, table, keys, settings)
        context = table, keys, self._binning, decoder, n_columns, settings, threads
        earlier = self._earlier() if going_on else None
        if earlier is None or not self._ended_by_itself():
            with progress_of(self, settings.n_estimators, earlier.forest.n_rounds if earlier else 0) as show:

                def after_round(round_: int, row: dict[str, float], forest: Callable[[], Forest]) -> bool:
                    show(round_, row)
                    record = {"round": round_ + 1, **row}
                    stop = any([bool(callback(record)) for callback in self.callbacks or ()])
                    return rounds.end_round(lambda: self._fitted_attributes(forest(), decoder, 1.0)) or stop

                boosted = boost(self, task, *context, validation=validation, earlier=earlier, after_round=after_round)
            self._take_over(boosted, decoder, validation, settings)
        if self.calibrate == "auto":
            self._calibrate(task, context, validation)
        rounds.end(lambda: self._fitted_attributes(self.forest_, decoder, self.temperature_))

    def _validation(
        self, given: tuple[Any, Any, Any], task: Task, table: Any, keys: Any, settings: Settings
    ) -> tuple[Validation | None, Task, Any, Any]:
        """The rows to watch, and what is left to train on."""
        X_val, y_val, weight_val = given
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together.")
        if not self.early_stopping:
            if X_val is not None:
                raise ValueError("X_val is only used with early_stopping=True; set that, or leave the validation set out.")
            return None, task, table, keys
        if X_val is not None:
            numeric = self._read(X_val)
            y_val = column_or_1d(y_val)
            where = np.searchsorted(self.classes_, y_val)
            known = self.classes_[np.minimum(where, len(self.classes_) - 1)] == y_val
            if not known.all():
                raise ValueError(f"y_val has the label {y_val[~known][0]!r}, which does not occur in y.")
            weight = _check_sample_weight(weight_val, X_val, dtype=np.float64, ensure_non_negative=True)
            return Validation(apply_bins(numeric, self._binning, settings.limits.layout), where, weight), task, table, keys
        fold = folds_of_rows(task, keys, 1.0 - self.validation_fraction)
        inside, outside = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
        if not len(outside):
            raise ValueError(
                f"early_stopping: validation_fraction={self.validation_fraction} leaves no row to watch; give a larger fraction, X_val and y_val, "
                "or set early_stopping=False."
            )
        watched = Validation(take_rows(table, outside), task.y[outside], task.weight[outside])
        return watched, Task.of(task.y[inside], task.K, task.weight[inside]), take_rows(table, inside), keys[inside]

    def _earlier(self) -> Boosted:
        history = {name: list(values) for name, values in self.history_.items()}
        return Boosted(self.forest_, np.empty((0, 0)), history, self.stop_reason_, self.n_clipped_steps_)

    def _ended_by_itself(self) -> bool:
        """Did the earlier fit end for a reason that would have ended a longer one, too?"""
        return not self.stop_reason_.startswith(("all ", "a callback"))

    def _fitted_attributes(self, forest: Forest, decoder: Floats | None, temperature: float) -> dict[str, Any]:
        return {"forest_": forest, "n_estimators_": forest.n_rounds, "_decoder": decoder, "temperature_": temperature}

    def _take_over(self, boosted: Boosted, decoder: Floats | None, validation: Validation | None, settings: Settings) -> None:
        forest, n_rounds = boosted.forest, boosted.forest.n_rounds
        if validation is not None and n_rounds:
            n_rounds = best_round(boosted.history["validation_error"], settings.tol) + 1
            forest = forest.first_rounds(n_rounds)
        for name, value in self._fitted_attributes(forest, decoder, 1.0).items():
            setattr(self, name, value)
        self.history_ = {name: np.array(values) for name, values in boosted.history.items()}
        self.stop_reason_ = boosted.stop_reason
        self.n_clipped_steps_ = boosted.n_clipped

    def _calibrate(self, task: Task, context: tuple[Any, ...], validation: Validation | None) -> None:
        """Set the temperature: from the validation rows where there are some, else from pilot fits."""
        self.temperature_ = 1.0
        if not self.n_estimators_:
            return
        if validation is not None and (validation.weight > 0).any():
            columns = np.zeros((len(validation.y), self.forest_.n_columns))
            for _, column, vectors, leaf in self.forest_.replay(validation.table):
                columns[:, column : column + vectors.shape[1]] += vectors[leaf]
            self.temperature_ = best_temperature(lambda factor: self.link(columns * factor), validation.y, validation.weight)
            return
        found = fit_temperature(self, self.link, task, *context)
        self.temperature_ = 1.0 if found is None else found

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_columns(self, X, self._columns, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)[0]

    def _columns_of(self, X: Any) -> Floats:
        numeric = self._read(X)
        with Threads.of(self._n_threads()) as threads:
            return self.forest_.columns(numeric, threads.map)

    def _scores(self, columns: Floats) -> Floats:
        return columns if self._decoder is None else columns @ self._decoder

    def _decision(self, scores: Floats) -> Floats:
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _probability(self, columns: Floats) -> Floats:
        return self.link(columns * self.temperature_)

    def decision_function(self, X: Any) -> Floats:
        """Scores F, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``."""
        return self._decision(self._scores(self._columns_of(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        return self._probability(self._columns_of(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,)."""
        return self._labels(self._columns_of(X))

    def _labels(self, columns: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self._scores(columns).argmax(axis=1)])

    def _staged(self, X: Any) -> Iterator[Floats]:
        return self.forest_.staged_columns(self._read(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """:meth:`decision_function` after each round."""
        for columns in self._staged(X):
            yield self._decision(self._scores(columns)).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """:meth:`predict_proba` after each round, at the temperature of the whole model."""
        for columns in self._staged(X):
            yield self._probability(columns)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """:meth:`predict` after each round."""
        for columns in self._staged(X):
            yield self._labels(columns)

    @property
    def class_importances_(self) -> Floats:
        check_is_fitted(self)
        decoder = np.eye(len(self.classes_)) if self._decoder is None else self._decoder
        return self.forest_.importances(self.n_features_in_, decoder)

    @property
    def feature_importances_(self) -> Floats:
        total = self.class_importances_.sum(axis=1)
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")


