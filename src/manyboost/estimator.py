"""The scikit-learn face shared by all boosted classifiers."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from manyboost.calibration import Pilots, run_pilots
from manyboost.callbacks import SUPPORTED, CallbackSupportMixin, Rounds, with_callbacks
from manyboost.columns import Columns, TakesTables, dense_rows, feature_names, read_columns
from manyboost.committee import Committee, PlainRows
from manyboost.contributions import TreeExplanation, one_row
from manyboost.labels import encode_labels, read_costs, read_labels, read_weights
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.similarities import Similarities
from manyboost.learners.similarity_explanation import Explanation, explain_row
from manyboost.learners.similarity_space import Space
from manyboost.loop import Boosted, Ensemble, Rows, Settings, Threads, Validation, Work, best_round, boost
from manyboost.maths.links import best_temperature
from manyboost.parameters import (
    anything,
    check_parameters,
    checked,
    choice,
    count_or_fraction,
    flag,
    integer,
    is_choice_of_columns,
    is_class_weight,
    is_learner,
    is_list_of_callables,
    is_number_of_jobs,
    is_random_state,
    number,
    way_of_sampling,
)
from manyboost.progress import progress_of
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Slope, Task
from manyboost.similarity_learner import SimilarityRows
from manyboost.similarity_metric import space_for
from manyboost.tree_learner import BinnedRows
from manyboost.trees.binning import MAX_BINS, Binning, find_cuts
from manyboost.trees.forest import Forest
from manyboost.trees.growing import GrowthLimits
from manyboost.validation import hold_out

_SHARED_PARAMETERS = """\
estimator : None, a scikit-learn classifier or a learner of ``manyboost.learners``
    The weak learner: our trees, or any classifier; for REBEL also similarities to training rows. A classifier without ``sample_weight`` in
    ``fit`` sees rows drawn by weight; a problem with a cost for each label reaches it as copies of the rows, one for each label, by their
    weight (Bylander's transformation).
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
    Least share of the weight in a leaf, and on either side of a similarity: then no row is isolated.
splitter : {"best", "random"}
    Try all thresholds, or one random threshold for each feature and node.
max_bins : int
    Bins of a numeric column, at most 255; missing values have one of their own.
subsample : float
    Share of the rows that each tree is grown on. Steps and weights always use all rows. A tree that is then of no use is drawn again, ten
    times at most.
sampling : {"uniform", "weight", "under", "smote"} or a sampler of imbalanced-learn
    Draw the rows of a tree evenly without replacement, equal rows together, or with replacement in proportion to their weights. For classes
    of very different sizes: draw from all classes as much as the smallest has ("under", as in RUSBoost), or show beside the rows new ones
    between neighbours of the smaller classes ("smote"). A sampler with ``fit_resample`` makes the rows itself, and a row it makes counts
    like the nearest of its class; for our own trees. Steps and weights use the rows themselves, and all of them.
prune : {None, "merge", "cost_complexity"}
    Merge leaves that vote for the same label, or prune by five-fold cross-validation. For trees whose leaves vote for a label.
categorical_features : "from_dtype", None, or array-like
    Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
handle_unknown : {"error", "missing"}
    What to do in predict with a category that did not occur in training.
class_weight : None, "balanced" or dict
    Factors of the rows' weights by class, as everywhere in scikit-learn.
cost_matrix : None, array, dict or data frame
    Cost of each decision (column) for each true class (row): an array in the order of ``classes_``, ``{(true, decided): cost}`` or
    ``{true: {decided: cost}}`` with 1 where nothing is said, or a frame with the classes as index and columns. COSTS
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
    Let the next ``fit`` on the same rows go on to a larger ``n_estimators``. The model is that of one longer fit, bit for bit. (An
    algorithm whose rounds revise all members starts anew.)
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
    For each round: loss, training_error, validation_error, step, n_trees, n_clipped, n_made (all trees, those that were refused or lost
    against others among them), unsolved (1 where a solver fell short, of which there is a warning), seconds.
    ``pandas.DataFrame(model.history_)`` is a table. With early stopping it goes on behind the last round that was kept.
stop_reason_ : str
    Why the fit ended.
n_clipped_steps_ : int
    Steps without a finite optimum that were cut off.
class_prior_ : (n_classes,) array
    Share of each class in the weight of the training rows: what a model without trees says.
temperature_ : float
    Factor of the scores inside the link; 1 when not calibrated.
forest_ : Forest or Committee
    The trees as plain arrays; with ``estimator``, the fitted learners (also ``estimators_``).
cost_matrix_ : (n_classes, n_classes) array or None
    The costs in the order of ``classes_``.
feature_importances_ : (n_features,) array
    Share of each feature in the movement of the scores.
class_importances_ : (n_features, n_classes) array
    The same for the score of each class.
"""


OF_OUR_TREES = {
    "max_depth", "max_leaf_nodes", "min_samples_leaf", "min_samples_split", "min_weight_fraction_leaf", "splitter", "max_bins", "prune",
}  # fmt: skip


_COSTS = {  # by what an estimator does with them
    "decide": "The class of least expected cost is decided for.",
    "train": "They take part in training.",
    "either": """See ``costs``.
costs : {"decide", "train"}
    Decide for the class of least expected cost; or let the weights start at the costs of the labels, so that the loss bounds the mean cost,
    and decide by the scores, which then lean as the costs do. Trees that soon make no mistake leave the start behind: with them the first
    mostly costs less.""",
}


def _full_docstring(own: str, use_of_costs: str) -> str:
    """The docstring of an estimator with the shared parameters and attributes behind its own."""
    text = inspect.cleandoc(own)
    shared = "Shared parameters\n-----------------\n" + _SHARED_PARAMETERS.replace("COSTS", _COSTS[use_of_costs])
    attributes = "Attributes\n----------\n" + _SHARED_ATTRIBUTES
    for heading in ("\nReferences\n", "\nExamples\n"):
        if heading in text:
            before, after = text.split(heading, 1)
            return f"{before.rstrip()}\n\n{shared}\n{attributes}{heading}{after}"
    return f"{text}\n\n{shared}\n{attributes}"


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingClassifier(TakesTables, ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the boosted classifiers; a subclass answers the four questions of :mod:`manyboost.protocol`."""

    estimator: Any = checked(None, "None (our trees), a scikit-learn classifier that is not fitted, or LocalizedSimilarity()", is_learner)
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
    sampling: Any = way_of_sampling("uniform")
    prune: str | None = choice(None, None, "merge", "cost_complexity")
    categorical_features: Any = checked(
        "from_dtype", "'from_dtype', None, a mask, or a list of column numbers or names", is_choice_of_columns
    )
    handle_unknown: str = choice("error", "error", "missing")
    class_weight: Any = checked(None, "None, 'balanced' or a dict of factors by class", is_class_weight)
    cost_matrix: Any = anything(None)
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

    _seed = 0  # for questions that are asked before a fit draws one

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        always = isinstance(inspect.getattr_static(cls, "trains_with_costs"), bool)
        cls.__doc__ = _full_docstring(cls.__doc__ or "", "either" if hasattr(cls, "costs") else "train" if always else "decide")

    @property
    def trains_with_costs(self) -> bool:
        """Does the algorithm itself use ``Task.cost``? One that may or may not has the parameter ``costs``."""
        return getattr(self, "costs", "decide") == "train"

    # ---- the questions -------------------------------------------------------------------------------------------------------

    def start(self, task: Task) -> Any:
        """The state kept per row."""
        raise NotImplementedError

    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Problems:
        """The problems of a round, or groups of them of which the best is kept."""
        raise NotImplementedError

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        """What each leaf adds to the columns of scores."""
        raise NotImplementedError

    def settle(self, task: Task, state: Any, gains: Sequence[Gain]) -> Sequence[Floats]:
        """The vectors of a round's members, where they are set for one another; as ``step`` gave them otherwise."""
        return [gain.vectors for gain in gains]

    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any:
        """The state after a round."""
        raise NotImplementedError

    def slope(self, task: Task, state: Any, gain: Gain) -> Slope:
        """How steep the loss of each row is along the direction of a gain; asked where ``step`` answers with ``longest``."""
        raise NotImplementedError

    @property
    def revises(self) -> bool:
        """Does every round set the vectors of all members anew? A fit is then never taken up: it starts anew and comes to the same."""
        return False

    def revised(self, task: Task, state: Any) -> Sequence[Floats]:
        """The vectors of all members so far, in the order they were added, where the algorithm revises them."""
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

    def shortfall(self, task: Task, state: Any) -> str | None:
        """What the state is not though the algorithm promises it, as when a solver reached its limit, and the remedy; None if nothing."""
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
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, validation_set: tuple[Any, Any, Any] = (None, None, None),
        keys: NDArray[np.uint64] | None = None, n_stages: int = 2,
    ) -> Pilots | None:  # fmt: skip
        """Fit, and the pilots that gave the temperature. Models whose pilots are to hold out the same rows are given ``keys`` of these."""
        check_parameters(self)
        self._check_learner()
        self._check_learning_rate()
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
            self.cost_matrix_: Floats | None = read_costs(self.cost_matrix, labels.classes)
            self._columns: Columns = columns
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with Threads.of(self._n_threads()) as threads:
            return self._fit_rows(numeric, labels.y, labels.weight, validation_set, threads, going_on, Rounds(
                self, self.rounds_wanted, X, y, {"sample_weight": sample_weight}
            ), keys, n_stages)  # fmt: skip

    @property
    def rounds_wanted(self) -> int:
        """Rounds of boosting at most: ``n_estimators``, or what it stands for where None is allowed."""
        return self.n_estimators

    @property
    def shrinkage(self) -> float:
        """The factor of every step: ``learning_rate``, or what it stands for where None is allowed."""
        return self.learning_rate

    def _n_threads(self) -> int:
        check_parameters(self)  # predict may be called with other parameters than fit
        return max(1, int(effective_n_jobs(self.n_jobs)))

    def _check_same_task(self, classes: NDArray[Any]) -> None:
        if self.rounds_wanted < self.n_estimators_:
            raise ValueError(
                f"warm_start: n_estimators={self.rounds_wanted} must be at least the {self.n_estimators_} rounds already made; "
                "use warm_start=False to start anew."
            )
        if not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start: y has other classes than in the earlier fit; use warm_start=False to start anew.")

    def _check_learner(self) -> None:
        """Parameters of our trees say nothing to another learner."""
        if self.estimator is None:
            return
        meaningless = OF_OUR_TREES - getattr(self.estimator, "limits", frozenset())
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if parameter.name in meaningless and value != parameter.default:
                raise ValueError(
                    f"{parameter.name}={value!r} is for our own trees; with estimator={self.estimator!r} leave it out and set the "
                    "learner's own parameters."
                )

    def _check_learning_rate(self) -> None:
        if self.revises and self.shrinkage != 1.0:
            raise ValueError(
                f"learning_rate={self.learning_rate} shortens steps, but here every round solves for all coefficients anew; leave it at 1."
            )

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
            n_estimators=self.rounds_wanted,
            learning_rate=self.shrinkage,
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
        going_on: bool, rounds: Rounds, keys: NDArray[np.uint64] | None, n_stages: int,
    ) -> Pilots | None:  # fmt: skip
        settings, K = self._settings(), len(self.classes_)
        used = np.flatnonzero(labels >= 0)
        if len(used) < len(labels):
            numeric, labels, weight = numeric[used], labels[used], weight[used]
            keys = None if keys is None else keys[used]
        if not going_on:
            self._binning: Binning | None = self._learn_bins(numeric, weight, threads)
            self._space: Space | None = self._learn_space(numeric, labels, weight)
        rows, labels, weight, order = self._in_order(numeric, labels, weight, used, settings, threads)
        keys = rows.keys if keys is None else keys[order]
        task = Task.of(labels, K, weight, self.cost_matrix_ if self.trains_with_costs else None)
        if not going_on:
            self.class_prior_ = np.bincount(task.y, task.weight, K)
        decoder = self.decoder(K)
        work = Work(decoder, K if decoder is None else len(decoder), settings, threads)
        validation, task, rows = self._validation(validation_set, task, rows, settings, threads)
        keys = keys if validation is None else rows.keys  # rows are left that no pilot needs
        earlier = self._earlier() if going_on and not self.revises else None
        if earlier is None or not self._ended_by_itself():
            with progress_of(self, settings.n_estimators, earlier.ensemble.n_rounds if earlier else 0) as show:

                def after_round(round_: int, row: dict[str, float], so_far: Callable[[], Any]) -> bool:
                    show(round_, row)
                    record = {"round": round_ + 1, **row}
                    stop = any([bool(callback(record)) for callback in self.callbacks or ()])  # noqa: C419 (each is called)
                    return rounds.end_round(lambda: self._fitted_attributes(so_far(), decoder, 1.0)) or stop

                boosted = boost(self, task, rows, work, validation=validation, earlier=earlier, after_round=after_round)
            self._take_over(boosted, decoder, validation, settings)
        pilots = self._calibrate(task, rows, work, validation, keys, n_stages) if self.calibrate == "auto" else None
        rounds.end(lambda: self._fitted_attributes(self.forest_, decoder, self.temperature_))
        return pilots

    def _learn_bins(self, numeric: Any, weight: Floats, threads: Threads) -> Binning | None:
        if self.estimator is not None:
            return None
        return find_cuts(numeric, weight, self._columns.n_categories, self.max_bins, threads.map)

    def _learn_space(self, numeric: Any, labels: NDArray[np.intp], weight: Floats) -> Space | None:
        if not isinstance(self.estimator, LocalizedSimilarity):
            return None
        check_parameters(self.estimator)
        return space_for(self.estimator, numeric, labels, weight, self._columns.n_categories)

    def _in_order(
        self, numeric: Any, labels: NDArray[np.intp], weight: Floats, number: NDArray[np.intp], settings: Settings, threads: Threads
    ) -> tuple[Rows, NDArray[np.intp], Floats, NDArray[np.intp]]:
        """Rows, labels, weights and where they stood, in an order that depends on what is in the rows alone.

        So does, from there on, everything that is drawn or added up.
        """
        rows: Rows
        if self._space is not None:
            rows = SimilarityRows.of(numeric, labels, number, self.estimator, self._space)
        elif self._binning is None:
            rows = PlainRows.of(numeric, labels, self.estimator, self._columns.n_categories > 0)
        else:
            rows = BinnedRows.of(numeric, labels, self._binning, settings, threads)
        order = np.lexsort((weight, rows.keys))
        return rows.in_order(order), labels[order], weight[order], order

    def _validation(
        self, given: tuple[Any, Any, Any], task: Task, rows: Rows, settings: Settings, threads: Threads
    ) -> tuple[Validation | None, Task, Rows]:
        """The rows to watch, and what is left to train on."""
        X_val, y_val, weight_val = given
        if (X_val is None) != (y_val is None) or (X_val is None and weight_val is not None):
            raise ValueError("X_val and y_val must be given together, and sample_weight_val only with them.")
        if not self.early_stopping:
            if X_val is not None:
                raise ValueError("X_val is only used with early_stopping=True; set that, or leave the validation set out.")
            return None, task, rows
        if X_val is None:
            return hold_out(task, rows, self.validation_fraction)
        try:
            numeric = self._read(X_val)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X_val: {error}") from None
        labels = encode_labels(y_val, self.classes_, numeric.shape[0], "y_val")
        weight = read_weights(numeric, weight_val, "sample_weight_val")
        return Validation(*self._in_order(numeric, labels, weight, np.arange(len(labels)), settings, threads)[:3]), task, rows

    def _earlier(self) -> Boosted:
        history = {name: list(values) for name, values in self.history_.items()}
        return Boosted(self.forest_, history, self.stop_reason_)

    def _ended_by_itself(self) -> bool:
        """Did the earlier fit end for a reason that would have ended a longer one, too?"""
        return not self.stop_reason_.startswith(("all ", "a callback"))

    def _fitted_attributes(self, ensemble: Ensemble, decoder: Floats | None, temperature: float) -> dict[str, Any]:
        return {"forest_": ensemble, "n_estimators_": ensemble.n_rounds, "_decoder": decoder, "temperature_": temperature}

    def _take_over(self, boosted: Boosted, decoder: Floats | None, validation: Validation | None, settings: Settings) -> None:
        self.forest_: Ensemble  # with the others of a usable model below
        ensemble, n_rounds = boosted.ensemble, boosted.ensemble.n_rounds
        if validation is not None and n_rounds:
            n_rounds = best_round(boosted.history["validation_error"], settings.tol) + 1
            ensemble = ensemble.first_rounds(n_rounds)
        for name, value in self._fitted_attributes(ensemble, decoder, 1.0).items():
            setattr(self, name, value)
        self.history_ = {name: np.array(values) for name, values in boosted.history.items()}
        self.stop_reason_ = boosted.stop_reason
        if boosted.shortfall:
            n_unsolved = int(self.history_["unsolved"].sum())
            of = f"{n_unsolved} of {len(self.history_['unsolved'])} rounds are not solved as promised; the last of them, "
            warnings.warn(f"{type(self).__name__}: {of}{boosted.shortfall}", ConvergenceWarning, stacklevel=5 + SUPPORTED)
        self.n_clipped_steps_ = int(self.history_["n_clipped"][:n_rounds].sum())

    def _calibrate(
        self, task: Task, rows: Rows, work: Work, validation: Validation | None, keys: NDArray[np.uint64], n_stages: int
    ) -> Pilots | None:
        """Set the temperature: from the validation rows where there are some, else from pilot fits, which are returned."""
        self.temperature_ = 1.0
        if not self.n_estimators_:
            return None
        if validation is not None and (validation.weight > 0).any():
            columns = np.zeros((len(validation.y), self.forest_.n_columns))
            for _, column, response in validation.rows.replay(self.forest_):
                columns[:, column : column + response.vectors.shape[1]] += response.at_rows()
            self.temperature_ = best_temperature(lambda factor: self.link(columns * factor), validation.y, validation.weight)
            return None
        if self.stop_reason_.startswith("a callback"):  # no use in pilots that are longer than the model
            work = replace(work, settings=replace(work.settings, n_estimators=self.n_estimators_))
        pilots = run_pilots(self, self.link, task, rows, work, keys, n_stages)
        if pilots is not None:
            self.temperature_ = pilots.temperature_after(self.n_estimators_, work.settings.n_estimators)
        return pilots

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
        """The scores that decide; without members, those of the classes' shares."""
        if self.cost_matrix_ is not None and not (self.trains_with_costs and self.n_estimators_):
            return -self._probability(columns) @ self.cost_matrix_  # minus the expected cost of each decision
        if self.n_estimators_:
            return self.scores(columns)
        return np.tile(np.log(np.maximum(self.class_prior_, np.finfo(float).tiny)), (len(columns), 1))

    def _probability(self, columns: Floats) -> Floats:
        if self.n_estimators_:
            return self.link(columns * self.temperature_)
        return np.tile(self.class_prior_, (len(columns), 1))

    def decision_function(self, X: Any) -> Floats:
        """Scores F, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``.

        With a ``cost_matrix`` that was not trained with, minus the expected cost of deciding for each class.
        """
        return self._decision(self._scores(self._columns_of(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        return self._probability(self._columns_of(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,)."""
        return self._labels(self._columns_of(X))

    def _labels(self, columns: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self._scores(columns).argmax(axis=1)])

    def contributions(self, X: Any) -> tuple[Floats, Floats]:
        """What each feature adds to each score of each row, (n, p, K), and where the scores start, (K,); of models of our own trees.

        ``start + contributions.sum(axis=1)`` are the scores. On its way through a tree a row passes nodes of ever fewer training rows; the
        feature of each split is given the change of the mean score there.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import SAMMEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SAMMEClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> added, start = model.contributions(X)
        >>> added.shape, bool(abs(start + added.sum(axis=1) - model.decision_function(X)).max() < 1e-9)
        ((150, 4, 3), True)
        """
        check_is_fitted(self)
        if not isinstance(self.forest_, Forest):
            raise TypeError("contributions are of features in our own trees; this model has other members, so ask explain or the members.")
        with Threads.of(self._n_threads()) as threads:
            added, start = self.forest_.contributions(self._read(X), threads.map)
        return (added, start) if self._decoder is None else (added @ self._decoder, start @ self._decoder)

    def explain(self, X: Any) -> TreeExplanation | Explanation:
        """Why the model decides as it does for one row.

        Parameters
        ----------
        X : one row: a table of one row, or its values

        Returns
        -------
        TreeExplanation or Explanation
            What each feature adds to the scores, of our own trees; of localized similarities, the training examples that the row was
            compared with and what each comparison adds. ``print`` it, or ask its ``why``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import AdaBoostMHClassifier, RebelClassifier
        >>> from manyboost.learners import LocalizedSimilarity
        >>> X, y = load_iris(return_X_y=True)
        >>> print(AdaBoostMHClassifier(random_state=0).fit(X, y).explain(X[100]))
        Predicted: 2 (probability ...).
        2 and not 1: the scores of the trees differ by ...
        >>> print(RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X, y).explain(X[100]))
        Predicted: 2 (probability ...).
        2 and not 1: the scores differ by ...
        """
        check_is_fitted(self)
        row = one_row(X)
        numeric = self._read(row)
        columns = self.forest_.columns(numeric)
        scores, probability = self._scores(columns)[0], self._probability(columns)[0]
        if isinstance(self.forest_, Similarities):
            decoder = np.eye(len(self.classes_)) if self._decoder is None else self._decoder
            return explain_row(self.forest_, numeric, decoder, self.classes_.tolist(), scores, probability, self._columns.decoded)
        if isinstance(self.forest_, Forest):
            added, start = self.contributions(row)
            names = feature_names(self)
            values = self._columns.decoded(dense_rows(numeric))[0]
            return TreeExplanation(self.classes_, names, values, start, added[0], probability, self.classes_[int(scores.argmax())])
        raise TypeError(
            f"explain looks into our own trees and into localized similarities; this model is made of {type(self.estimator).__name__}, "
            "so ask its estimators_."
        )

    def _staged(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        return self.forest_.staged_columns(self._read(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """:meth:`decision_function` after each round; where rounds revise earlier members, by what these add in the end."""
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
    def description_(self) -> str:
        """What was done, in a few words."""
        check_is_fitted(self)
        return f"{self.n_estimators_} rounds, {self.stop_reason_}"

    @property
    def estimators_(self) -> list[Any]:
        check_is_fitted(self)
        if not isinstance(self.forest_, Committee):
            raise AttributeError("estimators_ is there with a scikit-learn classifier as estimator; other members are in forest_.")
        return [member.fitted for member in self.forest_.members]

    @property
    def class_importances_(self) -> Floats:
        check_is_fitted(self)
        decoder = np.eye(len(self.classes_)) if self._decoder is None else self._decoder
        return self.forest_.importances(self.n_features_in_, decoder)

    @property
    def feature_importances_(self) -> Floats:
        total = self.class_importances_.sum(axis=1)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")
