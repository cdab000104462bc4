"""The contract between an algorithm and the loop: what is asked, what is answered.

An algorithm answers four questions and nothing else is in its file:

    start(task)                        -> the state kept per row
    pose(task, state, rng)             -> problems: statistics per row to grow by, and to sum at the leaves, and a criterion
    step(task, problem, leaves)        -> what each leaf adds to the columns of scores, seeing sums of leaves only
    update(task, state, gains)         -> the new state, which may be written over the old

``pose`` may also answer with groups of problems, of which the loop keeps the one after which the loss is least. Where a step has no closed
form, ``step`` gives a direction, and a fifth question, ``slope(task, state, gain)``, how steep the loss of each row is along it: the loop
sums these and finds the length.

Where the state holds the columns of scores, ``columns(state)`` shows them, and they are added up once and not twice.

Two more are answered by algorithms whose members depend on one another:

    settle(task, state, gains)         -> vectors of a round's members, set for one another before they are shrunk and added
    revised(task, state)               -> where ``revises`` is true, the vectors of all members of all rounds, after each update

What a solver did not reach, ``shortfall(task, state)`` says in words that name the parameter and the remedy; the user is warned.

A round whose problems are all refused is posed again with other random numbers, where ``pose`` drew any; ``update`` may therefore depend on
what a problem's leaves added, but not on what was drawn.

The loop, never the algorithm, calls the weak learner; the questions are pure and never see X. But for one thing: nobody asks for the old
state again after ``update``, so that its arrays, the largest of a fit, may become those of the new one. Not so where ``pose`` answers with
groups, as the updates of all begin at the same state. Because ``step`` sees only sums, the same file gives the same model on any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.lasting_weights import LastingWeights
from manyboost.maths.number_steps import scaled_by_number
from manyboost.rows import add_leaf_vectors, scale_by_leaf, scaled_at_classes, scaled_pairs
from manyboost.trees.criteria import Criterion
from manyboost.trees.exact_sums import sum_leaves
from manyboost.trees.statistics import Statistics

Floats = NDArray[np.float64]


def rows_of_weight(weight: Floats) -> float:
    """How many rows these weights stand for: one of the smallest counts once, of weight zero not at all, and all ten times at the most."""
    some = weight if weight.min() > 0 else weight[weight > 0]
    return min(float(some.sum()) / float(some.min()), 10.0 * len(some))


@dataclass(frozen=True)
class Task:
    """The training rows as an algorithm sees them.

    Attributes
    ----------
    codes : (n,) classes 0..K-1, in two bytes: passes over rows wait for memory
    K : number of classes
    weight : (n,) weights that sum to one; where all are equal, one number seen n times, which is not to be written to
    N : number of rows, a row of the smallest weight counting once: what smoothing, samples and stop rules that name N refer to.
        Rows of weight two and rows given twice are the same; very unequal weights count for ten times the rows at most.
    cost : (K, K) cost of each decision (column) for each true class (row), as shares of the largest, so that their unit does not matter;
        where the algorithm trains with costs and the user gave some
    """

    codes: NDArray[np.uint16]
    K: int
    weight: Floats
    N: float
    cost: Floats | None = None

    @classmethod
    def of(cls, y: NDArray[np.integer], K: int, weight: Floats, cost: Floats | None = None) -> Task:
        """A task with weights scaled to sum to one, and costs to be one at most."""
        total, least, n_rows = float(weight.sum()), float(weight.min()), rows_of_weight(weight)
        # kept as long as the rows are: eight bytes for each of them, unless one number says all
        weight = weight / total if least < weight.max() else np.broadcast_to(weight[0] / total, weight.shape)
        return cls(y.astype(np.uint16, copy=False), K, weight, n_rows, None if cost is None else cost / cost.max())

    @cached_property
    def y(self) -> NDArray[np.intp]:
        """The classes as numbers to reckon with; once asked for, they are kept, eight bytes for each row."""
        return self.codes.astype(np.intp)

    def part(self, rows: NDArray[np.intp]) -> Task:
        """The task of some of the rows; what counts once stays what it was."""
        weight = self.weight[rows]
        share = float(weight.sum())
        return Task(self.codes[rows], self.K, weight / share, self.N * share, self.cost)


class Problem(NamedTuple):
    """One tree to grow.

    Attributes
    ----------
    statistics : what to grow by, or a function that makes it. That is better: nothing is made before a learner works on the problem, or
        kept longer than it needs it, and where the members are there already nothing is made at all
    criterion : what makes a split good
    leaf_statistics : what to sum at the leaves, where it differs from ``statistics``, or a function that makes it
    column : the first column of scores that the leaves add to
    tag : what the algorithm wants to know of the problem again in ``step`` and ``update``
    rewards : for learners that know labels only, where the criterion is none of labels: a way to the (n, K) rewards of saying each label,
        none negative. With a cost A of each label they are ``max_m A_m - A`` (Bylander's transformation).
    shares : the algorithm can use a learner's shares of the labels instead of one label
    numbers : the algorithm can use a learner that answers with one number in [-1, 1]. The statistics are then the weights (n, K) and, as
        labels, the classes of an exponential loss: a class's weights for are those of its rows, all others are against.
    width : how many columns the leaves add to. Needed only of problems that share their first column with another of the same round
    then : further sums of each leaf, (L, T), by a second pass, from the sums of the first (L, S) and the leaf of each row; they must not
        depend on the order of the rows. ``step`` sees the sums of both passes side by side
    """

    statistics: Statistics | Callable[[], Statistics]
    criterion: Criterion
    leaf_statistics: Statistics | Callable[[], Statistics] | None = None
    column: int = 0
    tag: Any = None
    rewards: Callable[[], Floats] | None = None
    shares: bool = False
    numbers: bool = False
    width: int = 0
    then: Callable[[Floats, NDArray[np.int32]], Floats] | None = None

    def made(self) -> Statistics:
        """The statistics to grow by."""
        return self.statistics if isinstance(self.statistics, Statistics) else self.statistics()

    @property
    def summed(self) -> Statistics:
        """The statistics to sum at the leaves."""
        if self.leaf_statistics is None:
            return self.made()
        return self.leaf_statistics if isinstance(self.leaf_statistics, Statistics) else self.leaf_statistics()


class Leaves(NamedTuple):
    """The leaves of a grown tree.

    Attributes
    ----------
    sums : (L, S) exact sums of the problem's leaf statistics
    label : (L,) what the weak learner says in each leaf: for a tree, the label of most weight (the first of equals)
    shares : (L, K) what the learner says of the labels where its answer is no partition of the rows: every row is then a leaf of its own,
        and what is kept of the answer is ``Answer.of_label``. None otherwise.
    numbers : (n,) what the learner says of each row where it says a number in [-1, 1]: the one vector of the answer is multiplied by it.
        ``sums`` are then the dense statistics of the rows themselves. None otherwise.
    near : (2, K) coefficients near those of the least loss along ``numbers`` and its second derivatives there, where the search knows them
    """

    sums: Floats
    label: NDArray[np.intp]
    shares: Floats | None = None
    numbers: Floats | None = None
    near: Floats | None = None


class Answer(NamedTuple):
    """What the leaves add, and what should be known about it.

    Attributes
    ----------
    vectors : (L, width) what each leaf adds to the columns
    size : the step, for the history
    clipped : a step without a finite optimum was cut off
    stop : where the tree makes no error, so that no weight would change: why the fit ends after this round, unless the user wants another
        tree in its place and one can be had. None otherwise; other reasons to end a fit are answers to ``enough``
    of_label : (K, width) where the learner says shares of the labels: what one that is sure of a label adds, so that the vectors are
        ``shares @ of_label``. None is ``size`` times the label's own column.
    longest : where positive, the vectors are only a direction: the loop multiplies them by the length, up to this one, at which the
        algorithm's ``slope`` says that the loss is least
    merit : where answers of a round have one, only that of the greatest is kept (the first of equals)
    perfect : the tree makes no error, though the fit could go on: if the user wants that, another is grown in its place, as with ``stop``
    """

    vectors: Floats
    size: float
    clipped: bool = False
    stop: str | None = None
    of_label: Floats | None = None
    longest: float = 0.0
    merit: float | None = None
    perfect: bool = False


# the slope and the curvature of the loss at a length along a direction, of each row, (n,), or of rows that are alike together
Slope = Callable[[float], tuple[Floats, Floats]]
Problems = Sequence[Problem] | Sequence[Sequence[Problem]]


@dataclass(frozen=True)
class Refusal:
    """The tree is of no use; ``reason`` says why. ``of_any``: nor would another be, so that none is grown in its place."""

    reason: str
    of_any: bool = False


class Gain(NamedTuple):
    """What a member has added: the shrunken vectors of its leaves, the leaf of each row, and its number where the learner says one."""

    problem: Problem
    vectors: Floats
    leaf: NDArray[np.integer]
    numbers: Floats | None = None

    def add_to(self, columns: Floats, factor: float = 1.0) -> None:
        """Add ``factor * vectors[leaf]`` to the problem's columns of (n, C), best those of one class side by side in memory."""
        add_leaf_vectors(columns, factor * self.vectors, self.leaf, self.problem.column)

    def at_classes(self, table: Floats, y: NDArray[np.integer]) -> Floats:
        """``table[leaf, y]``: a table with an entry, a number or several, per leaf and class, read at each row's class."""
        return np.take(table.reshape(-1, *table.shape[2:]), self.leaf * np.intp(table.shape[1]) + y, axis=0)

    def sums_of_alike(self, values: Floats, y: NDArray[np.intp], K: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
        """``values`` (n, W) summed over the rows of each leaf and class, as exactly as over a leaf's: (G, W), and which leaf and class.

        For losses whose change depends on leaf and class alone: there are far fewer of these than rows.
        """
        group = self.leaf * np.intp(K) + y
        met = np.bincount(group, minlength=len(self.vectors) * K) > 0
        place = np.cumsum(met, dtype=np.int32) - 1
        leaf, label = np.divmod(np.flatnonzero(met), K)
        return sum_leaves(Statistics.of_rows(values), np.take(place, group), len(leaf)), leaf, label

    def scale_at_classes(self, values: Floats, table: Floats, task: Task, out: Floats | None = None) -> Floats:
        """``values * table[leaf, y]``, in ``out`` if given: a table with an entry per leaf and class, read at each row's class."""
        if table.shape[1] != task.K:  # the kernel checks no bounds, and trees may come from a file
            raise ValueError(f"leaves of {table.shape[1]} numbers do not fit {task.K} classes.")
        return scaled_at_classes(values, table, task.codes, self.leaf, out)

    def scale_lasting(self, weights: LastingWeights, table: Floats, task: Task, common: float) -> LastingWeights:
        """``weights * table[leaf, y] * common``, written over: a table with an entry per leaf and class, where most are 1."""
        if table.shape[1] != task.K:
            raise ValueError(f"leaves of {table.shape[1]} numbers do not fit {task.K} classes.")
        return weights.scaled(table, task.codes, self.leaf, common)

    def scale(self, values: Floats, others: Floats, own: Floats, y: NDArray[np.uint16]) -> Floats:
        """``values`` (n, K), multiplied where they are by ``others[leaf]``, but by ``own[leaf]`` at each row's class."""
        scale_by_leaf(values, others, own, y, self.leaf)
        return values

    def scale_exponentially(self, values: Floats, y: NDArray[np.uint16]) -> Floats:
        """``values`` (n, K), which may be written over, times the exponential of what was added, but divided by it at each row's class."""
        if self.numbers is not None:
            return scaled_by_number(values, self.vectors[0], self.numbers, y)
        return self.scale(values, np.exp(self.vectors), np.exp(-self.vectors), y)

    def scale_pairs(self, values: Floats, exponents: Floats, y: NDArray[np.intp]) -> Floats:
        """``values`` (n, K) of pairs, each row's class against class k, times ``exp(exponents[leaf, k] - exponents[leaf, y])``."""
        return scaled_pairs(values, exponents, y, self.leaf)
