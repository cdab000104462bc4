"""Our trees as the weak learner: binned rows, and a tree for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.parameters import is_sampler
from manyboost.protocol import Floats, Leaves, Problem, Task
from manyboost.row_keys import keys_of_numbers
from manyboost.rows import Response
from manyboost.synthetic import Pool, made_up_rows, resampled_rows
from manyboost.threads import Threads
from manyboost.trees.binning import Binning, Table, apply_bins, put_in_order, row_keys, share_columns, take_rows
from manyboost.trees.forest import Forest
from manyboost.trees.growing import Grower, Tree
from manyboost.trees.pruning import merge_equal_leaves, prune_by_cost_complexity
from manyboost.trees.random_numbers import seed_of
from manyboost.trees.sampling import draw_by_weight, draw_evenly, draw_uniformly
from manyboost.trees.statistics import Statistics
from manyboost.weak_learning import MAX_DRAWS, Grown, GrownMember, Settings, counted_rows, sums_of_leaves

MAX_IN_BYTE = 256


@dataclass(frozen=True)
class BinnedRows:
    """Rows as a table of bins, and their labels; members are trees, and together a :class:`Forest`."""

    table: Table
    labels: NDArray[np.uint16]
    binning: Binning
    numeric: Any = None  # as they came, where rows are to be made up from them

    @classmethod
    def of(cls, numeric: Any, labels: NDArray[np.intp], binning: Binning, settings: Settings, threads: Threads) -> BinnedRows:
        return cls.binned(apply_bins(numeric, binning, settings.limits.layout, threads.map), numeric, labels, binning, settings)

    @classmethod
    def binned(cls, table: Table, numeric: Any, labels: NDArray[np.intp], binning: Binning, settings: Settings) -> BinnedRows:
        makes_rows = settings.sampling == "smote" or is_sampler(settings.sampling)
        return cls(table, labels.astype(np.uint16), binning, numeric if makes_rows else None)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A key of what is in each row, made when it is asked for: most fits need none once the rows are in order.

        Rows of the same bins are the same to a tree, but not where rows are made up from the numbers themselves.
        """
        return row_keys(self.table, self.labels) if self.numeric is None else keys_of_numbers(self.numeric, self.labels)

    def part(self, rows: NDArray[np.intp]) -> BinnedRows:
        return BinnedRows(
            take_rows(self.table, rows), self.labels[rows], self.binning, None if self.numeric is None else self.numeric[rows]
        )

    def in_order(self, order: NDArray[np.intp], labels: NDArray[np.uint16]) -> BinnedRows:
        numeric = None if self.numeric is None else self.numeric[order]
        return BinnedRows(share_columns(put_in_order(self.table, order)), labels, self.binning, numeric)

    def agreed(self, task: Task) -> Task:
        return task

    def learner(self, task: Task, settings: Settings, threads: Threads) -> TreeLearner:
        return TreeLearner(self, task, settings, threads)

    def no_members(self, n_columns: int) -> Forest:
        return Forest.empty(n_columns)

    def extended(self, forest: Forest, grown: Sequence[GrownMember]) -> Forest:
        return forest.extended(grown, self.binning)

    def respond(self, tree: Tree, vectors: Floats) -> Response:
        return Response(vectors, tree.leaves_of(self.table))

    def replay(self, forest: Forest) -> Iterator[tuple[int, int, Response]]:
        return ((round_, column, Response(vectors, leaf)) for round_, column, vectors, leaf in forest.replay(self.table))


class TreeLearner:
    """Grows the trees of a round, several at a time where there are several."""

    def __init__(self, rows: BinnedRows, task: Task, settings: Settings, threads: Threads):
        self.rows, self.table, self.task, self.settings, self.threads = rows, rows.table, task, settings, threads
        self.pool: Pool | None = None
        if rows.numeric is not None:
            if is_sampler(settings.sampling):
                self.pool = resampled_rows(settings.sampling, rows.numeric, task, settings.seed)
            else:
                self.pool = made_up_rows(rows.numeric, self.keys, task, rows.binning.n_categories > 0, settings.seed)
            everything = self.pool.with_rows(rows.numeric)
            self.table = share_columns(apply_bins(everything, rows.binning, settings.limits.layout, threads.map))
        self.n_drawn = max(1, int(settings.subsample * counted_rows(task)))
        drawn = settings.subsample < 1.0 or settings.sampling != "uniform"
        self.by_chance = drawn or settings.limits.random or settings.prune == "cost_complexity"
        self.alone = Grower(self.table, settings.limits, threads)
        self.growers: SimpleQueue[Grower] = SimpleQueue()
        for _ in range(threads.n):
            self.growers.put(self.alone if threads.n == 1 else Grower(self.table, settings.limits))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Where rows are drawn by them."""
        return self.rows.keys

    def _seed(self, *of: int) -> int:
        """Of what is drawn for a tree; where nothing is, there is none to be found."""
        return seed_of(self.settings.seed, *of) if self.by_chance else 0

    def n_draws(self, found: Grown) -> int:
        """How often a tree of no use is grown: where chance has no part in it, it would be the same tree.

        A tree without a split has tried a threshold of every column. If all weight is at equal rows of different classes, no other helps.
        """
        settings = self.settings
        if settings.subsample < 1.0 or settings.sampling != "uniform":
            return MAX_DRAWS
        if not settings.limits.random:
            return 1
        return MAX_DRAWS if found.member.n_leaves > 1 else -(-MAX_DRAWS // self.table.n_features)

    def grow_again(self, problem: Problem, *of: int, fewer: bool = False) -> Grown:
        """A tree for one problem, by the random numbers of (round, problem, draw)."""
        return self._grow(self.alone, problem, seed_of(self.settings.seed, *of), self.settings.share(fewer))

    def grow_all(self, problems: Sequence[Problem], round_: int) -> list[Grown]:
        share = self.settings.subsample
        if len(problems) == 1:
            return [self._grow(self.alone, problems[0], self._seed(round_, 0), share)]

        def grow(item: tuple[int, Problem]) -> Grown:
            grower = self.growers.get()
            try:
                return _in_bytes(self._grow(grower, item[1], self._seed(round_, item[0]), share))
            finally:
                self.growers.put(grower)

        items = list(enumerate(problems))
        # the last ones, if they would be grown by few threads while the others wait, by all together
        n_left = len(items) % self.threads.n
        n_apart = len(items) - (n_left if 2 * n_left <= self.threads.n and self.alone.has_crew() else 0)
        grown = list(self.threads.map(grow, items[:n_apart]))
        return grown + [_in_bytes(self._grow(self.alone, problem, self._seed(round_, at), share)) for at, problem in items[n_apart:]]

    def _grow(self, grower: Grower, problem: Problem, seed: int, share: float) -> Grown:
        posed, settings = problem.made(), self.settings
        statistics, rows = posed, None
        if share < 1.0 and settings.sampling == "uniform":
            rows = draw_uniformly(self.keys, share, seed)
        elif settings.sampling == "weight":
            rows = draw_by_weight(statistics, self.n_drawn, seed)
            statistics = statistics.per_unit_weight()
        elif settings.sampling == "under":
            rows = draw_evenly(self.keys, self.task.y, settings.subsample, seed)
        elif self.pool is not None:
            beside = np.empty(0, np.int32) if self.pool.alone else draw_uniformly(self.keys, settings.subsample, seed)
            rows = np.concatenate([beside, self.rows.table.n_rows + self.pool.drawn(seed)]).astype(np.int32)
            statistics = self.pool.statistics(statistics)
        # grown on all rows on the fine grid, a tree has the exact sums itself
        exact = problem.leaf_statistics is None and rows is None and not settings.limits.random and settings.prune is None
        n_dense, n_labels = statistics.n_dense, statistics.n_labels
        numbers = grower.on_grid(statistics, problem.criterion, rows)
        if settings.prune is None and (exact or problem.leaf_statistics is not None):
            del posed, statistics  # nobody asks for them again, and the largest arrays of a fit need not be there twice
        tree, leaf = grower.grow_on_grid(numbers, problem.criterion, seed, rows, leaves=settings.prune is None)
        del numbers
        if settings.prune is not None:
            if not problem.criterion.of_labels:
                raise ValueError(
                    f"prune={settings.prune!r} needs trees whose leaves vote for a label; this algorithm's leaves hold vectors. "
                    "Use prune=None."
                )
            if settings.prune == "merge":
                tree = merge_equal_leaves(tree, n_dense if n_labels else 0)
            else:
                drawn = np.arange(self.table.n_rows, dtype=np.int32) if rows is None else rows

                def grow(part: NDArray[np.int32]) -> Tree:
                    return grower.grow(statistics, problem.criterion, seed, part, leaves=False)[0]

                made_up = np.arange(len(self.keys), self.table.n_rows, dtype=np.uint64)
                tree = prune_by_cost_complexity(tree, self.table, statistics, drawn, np.append(self.keys, made_up), seed, grow)
            leaf = tree.leaves_of(self.table)
        if self.pool is not None:
            leaf = leaf[: self.rows.table.n_rows]  # not of rows that were made up
        grown_by = tree.sums[tree.is_leaf]
        summed = grown_by if exact else posed if problem.leaf_statistics is None else problem.summed
        sums = sums_of_leaves(problem, summed, leaf, tree.n_leaves)
        # a leaf says the label of most weight, among the rows the tree was grown on where they are labelled
        if n_labels or problem.criterion.of_labels:
            votes = grown_by[:, n_dense if n_labels else 0 :]
        else:
            votes = sums[:, summed.n_dense if isinstance(summed, Statistics) else n_dense :]
        label = votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(sums), np.intp)
        return Grown(tree, leaf, Leaves(sums, label))


def _in_bytes(found: Grown) -> Grown:
    """The same with leaves in a byte for each row, if there are so few: those of all trees of a round wait for the update together."""
    return Grown(found.member, found.leaf.astype(np.uint8), found.leaves) if found.member.n_leaves <= MAX_IN_BYTE else found
