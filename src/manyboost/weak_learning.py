"""The contract between the loop and a weak learner: rows, members for problems, and what all members are together.

A kind of weak learner is a class of :class:`Rows`, which makes a :class:`Learner` for the problems of a fit and an :class:`Ensemble` of the
members that were grown. What the loop and the algorithm say to each other is in :mod:`manyboost.protocol`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from manyboost.protocol import Floats, Leaves, Problem, Task
from manyboost.rows import Response
from manyboost.threads import Threads
from manyboost.trees.exact_sums import sum_leaves
from manyboost.trees.growing import GrowthLimits
from manyboost.trees.statistics import Statistics

MAX_DRAWS = 10  # of a learner's chance, and of that in what it is asked
MAX_COPIES = 10  # of a row, on average
SHARE_OF_REGROWN = 0.7  # of the rows, where all of them gave a member without error


@dataclass(frozen=True)
class Settings:
    """What the loop is told by the user."""

    n_estimators: int
    learning_rate: float
    limits: GrowthLimits
    subsample: float
    sampling: Any  # a name, or a sampler with fit_resample
    regrows: bool  # is another member made in the place of one that makes no error?
    prune: str | None
    seed: int
    n_iter_no_change: int
    tol: float

    def share(self, fewer: bool) -> float:
        """Of the rows that a member is made by; ``fewer`` where one by so many was perfect."""
        return SHARE_OF_REGROWN if fewer and self.subsample == 1.0 and self.sampling == "uniform" else self.subsample


class Ensemble(Protocol):
    """Members in the order they were added, as :class:`~manyboost.trees.forest.Forest` has trees."""

    @property
    def n_columns(self) -> int: ...
    @property
    def n_rounds(self) -> int: ...
    @property
    def is_constant(self) -> bool: ...
    def first_rounds(self, n_rounds: int) -> Any: ...
    def columns(self, X: Any, each: Callable[..., Any] = ...) -> Floats: ...
    def staged_columns(self, X: Any) -> Iterator[Floats]: ...
    def importances(self, n_features: int, decoder: Floats) -> Floats: ...
    def contributions(self, X: Any, each: Callable[..., Any] = ...) -> tuple[Floats, Floats]: ...
    def explained(self, row: Any) -> Any: ...  # why: of a :class:`~manyboost.contributions.DecidedRow`


GrownMember = tuple[Any, Floats, int, int]  # a member, its vectors, the first column they are added to, its round


class Grown(NamedTuple):
    """What a weak learner made for a problem: a member, the leaf of each training row, and what is known of the leaves."""

    member: Any
    leaf: NDArray[np.integer]
    leaves: Leaves


class Learner(Protocol):
    """Makes members for problems; ``n_draws(found)`` is how often one is made, by chances of its own, if all are of no use as this is.

    One that is made again may be so by ``fewer`` rows, because one by all of them made no error.
    """

    def n_draws(self, found: Grown) -> int: ...
    def grow_all(self, problems: Sequence[Problem], round_: int) -> list[Grown]: ...
    def grow_again(self, problem: Problem, *of: int, fewer: bool = False) -> Grown: ...


class Rows(Protocol):
    """Rows as a weak learner takes them."""

    @property
    def keys(self) -> NDArray[np.uint64]: ...  # equal rows of one class have equal keys
    def part(self, rows: NDArray[np.intp]) -> Any: ...
    def in_order(self, order: NDArray[np.intp], labels: NDArray[np.uint16]) -> Any: ...  # all rows, from now on in this order; their labels
    def agreed(self, task: Task) -> Task: ...  # the task as it is taught, where rows that cannot be told apart are to agree
    def learner(self, task: Task, settings: Settings, threads: Threads) -> Learner: ...
    def no_members(self, n_columns: int) -> Any: ...
    def extended(self, ensemble: Any, grown: Sequence[GrownMember]) -> Any: ...
    def respond(self, member: Any, vectors: Floats) -> Response: ...
    def replay(self, ensemble: Any) -> Iterator[tuple[int, int, Response]]: ...  # round, column, and what is added


@dataclass(frozen=True)
class Validation:
    """Rows kept aside."""

    rows: Rows
    y: NDArray[np.integer]
    weight: Floats


def counted_rows(task: Task) -> int:
    """The number of rows, a weight of two being two rows. Weights that are no whole numbers, or large ones, are no numbers of rows."""
    n_rows = len(task.codes)
    if task.N / n_rows >= MAX_COPIES:
        return n_rows
    copies = task.weight * task.N
    return round(task.N) if (np.abs(copies - np.rint(copies)) < 1e-6).all() else n_rows


def sums_of_leaves(problem: Problem, summed: Statistics | Floats, leaf: NDArray[np.int32], n_leaves: int) -> Floats:
    """What ``step`` sees: the sums of the leaf statistics, which may be known, and of a second pass where the problem wants one."""
    sums = sum_leaves(summed, leaf, n_leaves) if isinstance(summed, Statistics) else summed
    if problem.then is None:
        return sums
    return np.hstack([sums, problem.then(sums, leaf)])
