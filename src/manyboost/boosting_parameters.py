"""The parameters that all boosted classifiers share: what each allows, what it means, and what they come to for the loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from joblib import effective_n_jobs

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
from manyboost.trees.binning import MAX_BINS
from manyboost.trees.growing import GrowthLimits
from manyboost.weak_learning import Settings

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
on_perfect : {"regrow", "stop"}
    What to do with a tree that makes no error, which would outvote all others: grow another in its place, on as many rows as ``subsample``
    says or on 70 % of them, ten times at most; or end the fit, as the papers do. On small tables deep trees are often perfect.
prune : {None, "merge", "cost_complexity"}
    Merge leaves that vote for the same label, or prune by five-fold cross-validation. For trees whose leaves vote for a label.
categorical_features : "from_dtype", None, or array-like
    Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
handle_unknown : {"error", "missing"}
    What to do in predict with a category that did not occur in training. With "missing", a column of more than 255 categories is taken,
    too: its most frequent ones, by weight, are told apart, the others count as missing, with a warning.
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
    For each round: loss, training_error, validation_error, step, n_trees, n_clipped, n_made (all trees, those that were refused, replaced
    or lost against others among them), unsolved (1 where a solver fell short, of which there is a warning), seconds.
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


def full_docstring(own: str, use_of_costs: str) -> str:
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
class BoostingParameters:
    """The shared parameters as fields."""

    estimator: Any = checked(
        None, "None (our trees), a scikit-learn classifier that is not fitted, or LocalizedSimilarity()", is_learner, positional=True
    )
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
    on_perfect: str = choice("regrow", "regrow", "stop")
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

    def _check_choices(self, revises: bool) -> None:
        """Each parameter by itself, and those that contradict one another; ``revises`` where every round sets all coefficients anew."""
        check_parameters(self)
        if self.estimator is not None:
            self._check_learner()
        if revises and self.shrinkage != 1.0:
            raise ValueError(
                f"learning_rate={self.learning_rate} shortens steps, but here every round solves for all coefficients anew; leave it at 1."
            )

    def _check_learner(self) -> None:
        """Parameters of our trees say nothing to another learner."""
        meaningless = OF_OUR_TREES - getattr(self.estimator, "limits", frozenset())
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if parameter.name in meaningless and value != parameter.default:
                raise ValueError(
                    f"{parameter.name}={value!r} is for our own trees; with estimator={self.estimator!r} leave it out and set the "
                    "learner's own parameters."
                )

    def _settings(self, seed: int) -> Settings:
        """What the loop is told."""
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
            regrows=self.on_perfect == "regrow",
            prune=self.prune,
            seed=seed,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
        )
