"""Any scikit-learn classifier as the weak learner: the labels it says are the leaves.

A problem with weights of labels is given to the classifier as it is. One with a cost for each label reaches it as copies of each row, one
for each label, weighted by what saying that label earns (Bylander's transformation, :attr:`manyboost.protocol.Problem.rewards`). A
classifier whose ``fit`` takes no ``sample_weight`` sees rows drawn by weight instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from manyboost.contributions import DecidedRow
from manyboost.parameters import is_sampler
from manyboost.protocol import Floats, Leaves, Problem, Task
from manyboost.row_keys import keys_of_numbers
from manyboost.rows import Response, mixed
from manyboost.synthetic import Pool, made_up_rows
from manyboost.threads import Threads
from manyboost.trees.random_numbers import seed_of
from manyboost.trees.sampling import draw_by_weight, draw_evenly, draw_uniformly
from manyboost.trees.statistics import Statistics
from manyboost.weak_learning import MAX_DRAWS, Grown, GrownMember, Settings, counted_rows, sums_of_leaves


@dataclass(frozen=True)
class Fitted:
    """A fitted classifier; ``fitted`` is None where one label was all there was to learn.

    Attributes
    ----------
    n_labels : labels of the problem, of which the classifier may know some only
    only : the one label there was, where there was one
    says_shares : a row's answer is its shares of the labels, not one label
    n_leaves : different answers to the training rows
    """

    fitted: Any
    n_labels: int
    only: int
    says_shares: bool
    n_leaves: int

    def labels(self, X: Any) -> NDArray[np.int32]:
        if self.fitted is None or not X.shape[0]:  # learners refuse to be asked of no rows
            return np.full(X.shape[0], self.only, np.int32)
        return np.asarray(self.fitted.predict(X)).astype(np.int32)

    def shares(self, X: Any) -> Floats:
        out = np.zeros((X.shape[0], self.n_labels))
        if self.fitted is None:
            out[:, self.only] = 1.0
        elif X.shape[0]:
            out[:, self.fitted.classes_] = self.fitted.predict_proba(X)
        return out

    def respond(self, X: Any, vectors: Floats) -> Response:
        """What the rows add."""
        if self.says_shares:
            return Response(mixed(self.shares(X), vectors), np.arange(X.shape[0], dtype=np.int32))
        return Response(vectors, self.labels(X))


@dataclass(frozen=True)
class CommitteeMember:
    """A fitted classifier, what its answers add, from which column on, and its round."""

    member: Fitted
    vectors: Floats
    column: int
    round: int

    @property
    def fitted(self) -> Any:
        return self.member.fitted


@dataclass(frozen=True)
class Committee:
    """Fitted classifiers in the order they were added; what :class:`~manyboost.trees.forest.Forest` is for trees."""

    members: tuple[CommitteeMember, ...]
    n_columns: int

    @property
    def n_rounds(self) -> int:
        return self.members[-1].round + 1 if self.members else 0

    @property
    def is_constant(self) -> bool:
        return all(one.member.n_leaves < 2 for one in self.members)

    def first_rounds(self, n_rounds: int) -> Committee:
        return Committee(tuple(one for one in self.members if one.round < n_rounds), self.n_columns)

    def replay(self, X: Any) -> Iterator[tuple[int, int, Response]]:
        """For each member its round, its first column, and what the rows of X add."""
        for one in self.members:
            yield one.round, one.column, one.member.respond(X, one.vectors)

    def columns(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> Floats:
        """The sum of all members for each row, (n, C); ``each`` may be a thread pool's map."""
        columns = np.zeros((X.shape[0], self.n_columns))
        for one, response in zip(self.members, each(lambda one: one.member.respond(X, one.vectors), self.members), strict=True):
            columns[:, one.column : one.column + response.vectors.shape[1]] += response.at_rows()
        return columns

    def staged_columns(self, X: Any) -> Iterator[Floats]:
        """The same sum after each round; the array is one and the same."""
        columns = np.zeros((X.shape[0], self.n_columns))
        at = 0
        for round_, column, response in self.replay(X):
            if round_ > at:
                yield columns
                at = round_
            columns[:, column : column + response.vectors.shape[1]] += response.at_rows()
        if self.members:
            yield columns

    def importances(self, n_features: int, decoder: Floats) -> Floats:
        """The learners' own importances, (p, K): each spread over the classes as its answers move their scores."""
        out = np.zeros((n_features, decoder.shape[1]))
        for one in self.members:
            if one.fitted is None:
                continue
            own = getattr(one.fitted, "feature_importances_", None)
            if own is None and hasattr(one.fitted, "coef_"):
                own = np.abs(np.atleast_2d(one.fitted.coef_)).mean(axis=0)
            if own is None:
                raise AttributeError(
                    f"{type(one.fitted).__name__} has no feature_importances_; use sklearn.inspection.permutation_importance on the model."
                )
            moved = (one.vectors @ decoder[one.column : one.column + one.vectors.shape[1]]).var(axis=0)
            out += np.asarray(own, np.float64)[:, None] * moved
        return out

    def contributions(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> tuple[Floats, Floats]:
        raise TypeError(f"contributions are of features in our own trees; this model is made of {self._kinds()}, so ask its estimators_.")

    def explained(self, row: DecidedRow) -> NoReturn:
        raise TypeError(
            f"explain looks into our own trees and into localized similarities; this model is made of {self._kinds()}, "
            "so ask its estimators_."
        )

    def _kinds(self) -> str:
        return " and ".join(sorted({type(one.fitted).__name__ for one in self.members if one.fitted is not None})) or "no classifier"


@dataclass(frozen=True)
class PlainRows:
    """Rows as numbers, with a key of what is in each; members are fitted classifiers, and together a :class:`Committee`."""

    X: Any  # (n, p), dense or CSR
    keys: NDArray[np.uint64]
    estimator: Any
    categorical: NDArray[np.bool_]

    @classmethod
    def of(cls, numeric: Any, labels: NDArray[np.intp], estimator: Any, categorical: NDArray[np.bool_]) -> PlainRows:
        X = numeric.astype(np.float64, copy=False)
        return cls(X, keys_of_numbers(X, labels), estimator, categorical)

    def part(self, rows: NDArray[np.intp]) -> PlainRows:
        return PlainRows(self.X[rows], self.keys[rows], self.estimator, self.categorical)

    def in_order(self, order: NDArray[np.intp], labels: NDArray[np.uint16]) -> PlainRows:
        return self.part(order)

    def agreed(self, task: Task) -> Task:
        return task

    def learner(self, task: Task, settings: Settings, threads: Threads) -> ClassifierLearner:
        return ClassifierLearner(self, task, settings, threads)

    def no_members(self, n_columns: int) -> Committee:
        return Committee((), n_columns)

    def extended(self, committee: Committee, grown: Sequence[GrownMember]) -> Committee:
        return Committee(committee.members + tuple(CommitteeMember(*one) for one in grown), committee.n_columns)

    def respond(self, member: Fitted, vectors: Floats) -> Response:
        return member.respond(self.X, vectors)

    def replay(self, committee: Committee) -> Iterator[tuple[int, int, Response]]:
        return committee.replay(self.X)


class ClassifierLearner:
    """Fits a classifier for each problem of a round."""

    def __init__(self, rows: PlainRows, task: Task, settings: Settings, threads: Threads):
        self.rows, self.task, self.settings, self.threads = rows, task, settings, threads
        self.pool: Pool | None = None
        self.X = rows.X
        if is_sampler(settings.sampling):
            raise ValueError(f"sampling={settings.sampling!r} is for our own trees; with another learner use one of the named ways.")
        if settings.sampling == "smote":
            self.pool = made_up_rows(rows.X, rows.keys, task, rows.categorical, settings.seed)
            self.X = self.pool.with_rows(rows.X)
        self.n_drawn = max(1, int(settings.subsample * counted_rows(task)))
        self.takes_weights = has_fit_parameter(rows.estimator, "sample_weight")

    def n_draws(self, found: Grown) -> int:
        """How often a classifier of no use is fitted: where chance has no part in it, it would be the same."""
        chance = any(name == "random_state" or name.endswith("__random_state") for name in self.rows.estimator.get_params())
        drawn = self.settings.subsample < 1.0 or self.settings.sampling != "uniform" or not self.takes_weights
        return MAX_DRAWS if chance or drawn else 1

    def grow_again(self, problem: Problem, *of: int, fewer: bool = False) -> Grown:
        try:
            return self._fit(problem, seed_of(self.settings.seed, *of), self.settings.share(fewer))
        except _NoLabels:
            raise ValueError(
                f"estimator={self.rows.estimator!r} says labels, but this algorithm, as it is set, fits numbers; "
                "use estimator=None, our trees."
            ) from None
        except Exception as error:
            kind = type(error) if type(error) in (TypeError, MemoryError) else ValueError
            raise kind(f"round {of[0] + 1}: the learner {self.rows.estimator!r} failed: {error}") from error

    def grow_all(self, problems: Sequence[Problem], round_: int) -> list[Grown]:
        return list(self.threads.map(lambda item: self.grow_again(item[1], round_, item[0]), list(enumerate(problems))))

    def _fit(self, problem: Problem, seed: int, share: float) -> Grown:
        index, label, weight, n_labels = _labelled(problem)
        settings, keys = self.settings, self.rows.keys
        if self.pool is not None:
            index, label, weight = _with_pool(self.pool, len(keys), index, label, weight)
        if settings.sampling != "weight":
            shown = np.zeros(self.X.shape[0], bool)
            if settings.sampling == "under":
                shown[draw_evenly(keys, self.task.y, settings.subsample, seed)] = True
            else:
                shown[draw_uniformly(keys, share, seed)] = True
            if self.pool is not None:
                shown[len(keys) + self.pool.drawn(seed)] = True
            kept = shown[index]
            index, label, weight = index[kept], label[kept], weight[kept]
        sample_weight = {}
        if not weight.any():  # a draw of rows that all have no weight: there is nothing to learn from them
            return self._grown(problem, Fitted(None, n_labels, int(label[0]), problem.shares, 2))
        if settings.sampling == "weight" or not self.takes_weights:
            rows = draw_by_weight(Statistics.of_labels(label, weight, n_labels), self.n_drawn, seed)
            index, label = index[rows], label[rows]
        else:
            used = np.flatnonzero(weight)
            index, label, weight = index[used], label[used], weight[used]
            # learners that count rows (smoothing, least sizes of leaves) want weights that sum to the number of rows
            sample_weight = {"sample_weight": weight * (len(np.unique(index)) / weight.sum())}
        fitted, only = None, int(label[0])
        if (label != only).any():
            fitted = self._prepared(seed).fit(self.X[index], label.astype(np.intp), **sample_weight)
        soft = problem.shares and (fitted is None or hasattr(fitted, "predict_proba"))
        return self._grown(problem, Fitted(fitted, n_labels, only, soft, 2))

    def _prepared(self, seed: int) -> Any:
        """A copy of the user's classifier with a seed of its own, told which columns are categories if it wants to know."""
        estimator = clone(self.rows.estimator)
        names = sorted(name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state"))
        chosen: dict[str, Any] = {name: int(seed_of(seed, at) % 2**32) for at, name in enumerate(names)}
        if self.rows.categorical.any() and "categorical_features" in estimator.get_params(deep=False):
            chosen["categorical_features"] = self.rows.categorical
        return estimator.set_params(**chosen)

    def _grown(self, problem: Problem, member: Fitted) -> Grown:
        X, n = self.rows.X, len(self.rows.keys)
        if member.says_shares:
            shares, leaf = member.shares(X), np.arange(n, dtype=np.int32)
            return Grown(member, leaf, Leaves(sums_of_leaves(problem, problem.summed, leaf, n), shares.argmax(axis=1), shares))
        leaf = member.labels(X)
        member = Fitted(member.fitted, member.n_labels, member.only, False, len(np.unique(leaf)))
        return Grown(member, leaf, Leaves(sums_of_leaves(problem, problem.summed, leaf, member.n_labels), np.arange(member.n_labels)))


class _NoLabels(Exception):
    """The problem asks for numbers."""


def _labelled(problem: Problem) -> tuple[NDArray[np.intp], NDArray[np.integer], Floats, int]:
    """The problem as rows (by number), a label and a weight for each, and the number of labels."""
    statistics = problem.made()
    of_labels = problem.criterion.of_labels
    if problem.rewards is not None or (of_labels and not statistics.n_labels):
        rewards = statistics.dense if problem.rewards is None else problem.rewards()
        index, label = np.nonzero(rewards > 0)
        return index, label, rewards[index, label], rewards.shape[1]
    if of_labels:
        return np.arange(statistics.n_rows), statistics.label, statistics.weight, statistics.n_labels
    raise _NoLabels


def _with_pool(
    pool: Pool, n: int, index: NDArray[np.intp], label: NDArray[np.integer], weight: Floats
) -> tuple[NDArray[np.intp], NDArray[np.integer], Floats]:
    """The entries of the rows and, behind them, those of the pool: of each its parent's."""
    begin, end = np.searchsorted(index, pool.parent), np.searchsorted(index, pool.parent, side="right")
    which = np.repeat(np.arange(len(begin)), end - begin)
    entry = np.arange(len(which)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin) + begin[which]
    of_pool = weight[entry] * pool.copies[which]
    return np.concatenate([index, n + which]), np.concatenate([label, label[entry]]), np.concatenate([weight, of_pool])
