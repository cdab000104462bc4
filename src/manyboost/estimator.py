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
from sklearn.utils.validation import check_is_fitted

from manyboost.calibration import fit_temperature, folds_of_rows
from manyboost.callbacks import CallbackSupportMixin, Rounds, with_callbacks
from manyboost.columns import Columns, read_columns
from manyboost.labels import encode_labels, read_labels, read_weights
from manyboost.loop import Boosted, Settings, Threads, Validation, best_round, boost
from manyboost.maths.links import best_temperature
from manyboost.parameters import (
    check_parameters,
    checked,
    choice,
    count_or_fraction,
    flag,
    integer,
    is_choice_of_columns,
    is_class_weight,
    is_list_of_callables,
    is_number_of_jobs,
    is_random_state,
    number,
)
from manyboost.progress import progress_of
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.binning import MAX_BINS, Binning, Table, apply_bins, find_cuts, row_keys, share_columns, take_rows
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
    Share of the rows that each tree is grown on. Steps and weights always use all rows. A tree that is then of no use is drawn again, ten
    times at most.
sampling : {"uniform", "weight"}
    Draw the rows of a tree evenly without replacement, equal rows together, or with replacement in proportion to their weights.
prune : {None, "merge", "cost_complexity"}
    Merge leaves that vote for the same label, or prune by five-fold cross-validation. For trees whose leaves vote for a label.
categorical_features : "from_dtype", None, or array-like
    Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
handle_unknown : {"error", "missing"}
    What to do in predict with a category that did not occur in training.
class_weight : None, "balanced" or dict
    Factors of the rows' weights by class, as everywhere in scikit-learn.
calibrate : {"auto", False}
    Fit one temperature on held-out rows so that probabilities are honest, or use the algorithm's own link alone. It changes no decision
    by the scores (PIBoost's probability="separators" decides by probabilities, and there it may).
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
    Rounds made and kept; 0 when no tree was of use.
history_ : dict of arrays
    For each round: loss, training_error, validation_error, step, n_trees, n_clipped, seconds. ``pandas.DataFrame(model.history_)`` is a
    table. With early stopping it goes on behind the last round that was kept.
stop_reason_ : str
    Why the fit ended.
n_clipped_steps_ : int
    Steps without a finite optimum that were cut off.
class_prior_ : (n_classes,) array
    Share of each class in the weight of the training rows: what a model without trees says.
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
    categorical_features: Any = checked(
        "from_dtype", "'from_dtype', None, a mask, or a list of column numbers or names", is_choice_of_columns
    )
    handle_unknown: str = choice("error", "error", "missing")
    class_weight: Any = checked(None, "None, 'balanced' or a dict of factors by class", is_class_weight)
    calibrate: str | bool = choice("auto", "auto", False)
    early_stopping: bool = flag(False)
    validation_fraction: float = number(0.1, low=0, high=1, open_low=True, open_high=True)
    n_iter_no_change: int = integer(20, low=1)
    tol: float = number(0.0, low=0)
    warm_start: bool = flag(False)
    callbacks: Sequence[Callable[[dict[str, float]], Any]] | None = checked(None, "None or a list of callables", is_list_of_callables)
    verbose: int = integer(0, low=0)
    n_jobs: int | None = checked(None, "a whole number other than 0, -1 for all cores, or None", is_number_of_jobs)
    random_state: Any = checked(None, "a whole number from 0 to 2**32 - 1, a numpy RandomState, or None", is_random_state)

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

    def scores(self, columns: Floats) -> Floats:
        """The scores F (n, K) that decide, from the columns; they must be highest where ``link`` is."""
        return columns if self._decoder is None else columns @ self._decoder

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
        if not going_on:
            self.__dict__.pop("forest_", None)  # a fit that fails leaves no model, rather than half of an old one
        numeric, columns = read_columns(
            self, X, self._columns if going_on else None, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown
        )
        labels = read_labels(numeric, y, sample_weight, self.class_weight)
        if going_on:
            self._check_same_task(labels.classes)
        else:
            self.classes_ = labels.classes
            self._columns: Columns = columns
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with Threads.of(self._n_threads()) as threads:
            self._fit_rows(numeric, labels.y, labels.weight, (X_val, y_val, sample_weight_val), threads, going_on, Rounds(
                self, self.n_estimators, X, y, {"sample_weight": sample_weight}
            ))  # fmt: skip
        return self

    def _n_threads(self) -> int:
        check_parameters(self)  # predict may be called with other parameters than fit
        return max(1, int(effective_n_jobs(self.n_jobs)))

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
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            limits=limits,
            subsample=self.subsample,
            sampling=self.sampling,
            prune=self.prune,
            seed=self._seed,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
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
        table, keys, labels, weight = self._in_order(numeric, labels, weight, settings, threads)
        task = Task.of(labels, K, weight)
        if not going_on:
            self.class_prior_ = np.bincount(task.y, task.weight, K)
        decoder = self.decoder(K)
        n_columns = K if decoder is None else len(decoder)
        validation, task, table, keys = self._validation(validation_set, task, table, keys, settings, threads)
        context = table, keys, self._binning, decoder, n_columns, settings, threads
        earlier = self._earlier() if going_on else None
        if earlier is None or not self._ended_by_itself():
            with progress_of(self, settings.n_estimators, earlier.forest.n_rounds if earlier else 0) as show:

                def after_round(round_: int, row: dict[str, float], forest: Callable[[], Forest]) -> bool:
                    show(round_, row)
                    record = {"round": round_ + 1, **row}
                    stop = any([bool(callback(record)) for callback in self.callbacks or ()])  # noqa: C419 (each is called)
                    return rounds.end_round(lambda: self._fitted_attributes(forest(), decoder, 1.0)) or stop

                boosted = boost(self, task, *context, validation=validation, earlier=earlier, after_round=after_round)
            self._take_over(boosted, decoder, validation, settings)
        if self.calibrate == "auto":
            self._calibrate(task, context, validation)
        rounds.end(lambda: self._fitted_attributes(self.forest_, decoder, self.temperature_))

    def _in_order(
        self, numeric: Any, labels: NDArray[np.intp], weight: Floats, settings: Settings, threads: Threads
    ) -> tuple[Table, NDArray[np.uint64], NDArray[np.intp], Floats]:
        """Binned rows, keys, labels and weights in an order that depends on what is in the rows alone.

        So does, from there on, everything that is drawn or added up.
        """
        table = apply_bins(numeric, self._binning, settings.limits.layout, threads.map)
        keys = row_keys(table, labels)
        order = np.lexsort((weight, keys))
        return share_columns(take_rows(table, order)), keys[order], labels[order], weight[order]

    def _validation(
        self, given: tuple[Any, Any, Any], task: Task, table: Table, keys: NDArray[np.uint64], settings: Settings, threads: Threads
    ) -> tuple[Validation | None, Task, Table, NDArray[np.uint64]]:
        """The rows to watch, and what is left to train on."""
        X_val, y_val, weight_val = given
        if (X_val is None) != (y_val is None) or (X_val is None and weight_val is not None):
            raise ValueError("X_val and y_val must be given together, and sample_weight_val only with them.")
        if not self.early_stopping:
            if X_val is not None:
                raise ValueError("X_val is only used with early_stopping=True; set that, or leave the validation set out.")
            return None, task, table, keys
        if X_val is not None:
            try:
                numeric = self._read(X_val)
            except (TypeError, ValueError) as error:
                raise type(error)(f"X_val: {error}") from None
            labels = encode_labels(y_val, self.classes_, numeric.shape[0], "y_val")
            weight = read_weights(numeric, weight_val, "sample_weight_val")
            watched, _, labels, weight = self._in_order(numeric, labels, weight, settings, threads)
            return Validation(watched, labels, weight), task, table, keys
        fold = folds_of_rows(task, keys, 1.0 - self.validation_fraction)
        inside, outside = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
        if not len(outside):
            raise ValueError(
                f"early_stopping: validation_fraction={self.validation_fraction} leaves no row to watch; "
                "give a larger fraction, X_val and y_val, or set early_stopping=False."
            )
        validation = Validation(take_rows(table, outside), task.y[outside], task.weight[outside])
        return validation, task.part(inside), take_rows(table, inside), keys[inside]

    def _earlier(self) -> Boosted:
        history = {name: list(values) for name, values in self.history_.items()}
        return Boosted(self.forest_, history, self.stop_reason_)

    def _ended_by_itself(self) -> bool:
        """Did the earlier fit end for a reason that would have ended a longer one, too?"""
        return not self.stop_reason_.startswith(("all ", "a callback"))

    def _fitted_attributes(self, forest: Forest, decoder: Floats | None, temperature: float) -> dict[str, Any]:
        return {"forest_": forest, "n_estimators_": forest.n_rounds, "_decoder": decoder, "temperature_": temperature}

    def _take_over(self, boosted: Boosted, decoder: Floats | None, validation: Validation | None, settings: Settings) -> None:
        self.forest_: Forest  # with the others of a usable model below
        forest, n_rounds = boosted.forest, boosted.forest.n_rounds
        if validation is not None and n_rounds:
            n_rounds = best_round(boosted.history["validation_error"], settings.tol) + 1
            forest = forest.first_rounds(n_rounds)
        for name, value in self._fitted_attributes(forest, decoder, 1.0).items():
            setattr(self, name, value)
        self.history_ = {name: np.array(values) for name, values in boosted.history.items()}
        self.stop_reason_ = boosted.stop_reason
        self.n_clipped_steps_ = int(self.history_["n_clipped"][:n_rounds].sum())

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
        return read_columns(self, X, self._columns, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)[0]

    def _columns_of(self, X: Any) -> Floats:
        check_is_fitted(self)
        numeric = self._read(X)
        with Threads.of(self._n_threads()) as threads:
            return self.forest_.columns(numeric, threads.map)

    def _decision(self, scores: Floats) -> Floats:
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, columns: Floats) -> Floats:
        """The scores that decide; without trees, those of the classes' shares."""
        if self.n_estimators_:
            return self.scores(columns)
        return np.tile(np.log(np.maximum(self.class_prior_, np.finfo(float).tiny)), (len(columns), 1))

    def _probability(self, columns: Floats) -> Floats:
        if self.n_estimators_:
            return self.link(columns * self.temperature_)
        return np.tile(self.class_prior_, (len(columns), 1))

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
        check_is_fitted(self)
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
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")
