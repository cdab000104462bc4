"""Grow one tree: one compiled call, or the same of several threads that share its large nodes.

Nodes are split depth-first, or best-first when the number of leaves is limited.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.threads import ALONE, MOST_SEGMENTS, Threads, pieces_of, segments_at_hand
from manyboost.trees.binning import FEATURE_MAJOR, MAX_SHARED_BINS, ROW_MAJOR, SPARSE, Stored, Table
from manyboost.trees.crew import LINES_APART, by_crew, is_worth_a_crew
from manyboost.trees.criteria import PAIR_OF_CLASSES, Criterion, Rule
from manyboost.trees.exact_sums import Empty, to_coarse_grid, to_fine_grid
from manyboost.trees.histogram_splits import COLUMNS_PER_PASS, grow_by_histogram
from manyboost.trees.lanes import EIGHT
from manyboost.trees.node_sums import Grid, Shares
from manyboost.trees.nodes import BEST, N_NODES, N_NOW, NODE, Growth, Limits, weight_of_rows
from manyboost.trees.random_categories import Categories, find_categories, n_category_bins
from manyboost.trees.random_splits import grow_at_random
from manyboost.trees.root_histogram import Changes, KeptWeights
from manyboost.trees.routing import find_leaves
from manyboost.trees.statistics import ROWS_OF_BLOCK, Statistics

WORTH_KEEPING = 1 << 16  # rows times columns of a root
HISTOGRAM_BUDGET = 64 << 20  # bytes kept for histograms of nodes that may be split later
ROWS_OF_BIN = 2  # and statistic, in a node from which on threads count their own rows
NEVER = 1 << 62
PARTIAL_BUDGET = 4 << 20  # bytes of a histogram that each of several threads has for itself
FINE_TIE = 2.0**-36
COARSE_TIE = 2.0**-18  # 24 bits of the largest row leave so much
MANY_RUNS = 64  # of two labels, where each is that of some classes
NO_CHANGES = Changes(np.empty(0, np.int32), np.empty(0, np.int64), -1, np.empty((0, 2), np.int64))


@dataclass(frozen=True)
class GrowthLimits:
    """The user's limits of a tree; None is no limit, what is no whole number is a fraction of the rows the tree is grown on."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int | float = 1
    min_samples_split: int | float = 2
    min_weight_fraction_leaf: float = 0.0
    splitter: str = "best"

    def on(self, n_rows: int, total_weight: float, seed: int) -> Limits:
        def count(limit: int | float) -> int:
            return int(limit) if isinstance(limit, Integral) else int(np.ceil(limit * n_rows))

        depth = self.max_depth if self.max_depth is not None else n_rows
        leaves = n_rows if self.max_leaf_nodes is None else self.max_leaf_nodes
        if depth < 31:
            leaves = min(leaves, 1 << depth)
        return Limits(
            max_depth=depth,
            max_leaves=min(leaves, n_rows),
            min_leaf=max(1, count(self.min_samples_leaf)),
            min_split=max(2, count(self.min_samples_split)),
            min_weight=self.min_weight_fraction_leaf * total_weight,
            best_first=self.max_leaf_nodes is not None,
            tie=self.tie,
            seed=np.uint64(seed),
        )

    @property
    def random(self) -> bool:
        return self.splitter == "random"

    @property
    def tie(self) -> float:
        return COARSE_TIE if self.random else FINE_TIE

    @property
    def layout(self) -> int:
        """How the table should be laid out for these limits."""
        return ROW_MAJOR if self.random else FEATURE_MAJOR


class Tree:
    """A grown tree in terms of bins; children come after their parents, leaves are numbered in node order.

    Parameters
    ----------
    nodes : of NODE
    sums : (nodes, S) sums the tree was grown by
    """

    def __init__(self, nodes: NDArray[np.void], sums: NDArray[np.float64]):
        self.nodes, self.sums = nodes, sums
        self.is_leaf: NDArray[np.bool_] = nodes["feature"] < 0
        self.n_leaves = int(np.count_nonzero(self.is_leaf))

    def leaf_number(self) -> NDArray[np.int32]:
        """The number of the leaf at each node that is one."""
        return self.is_leaf.cumsum(dtype=np.int32) - np.int32(1)

    def leaves_of(self, table: Table) -> NDArray[np.int32]:
        """The leaf of each row of a table, (n,)."""
        leaf = np.empty(table.n_rows, np.int32)
        find_leaves(table, self.nodes, self.leaf_number(), leaf)
        return leaf


def _with_room_behind(empty: Empty, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array behind whose end the lanes of its last row may reach."""
    size = math.prod(shape)
    return empty(size + EIGHT, dtype)[:size].reshape(shape)


def to_grid(
    statistics: Statistics,
    random: bool,
    rows: NDArray[np.int32] | None = None,
    empty: tuple[Empty, Empty] = (np.empty, np.empty),
    *,
    pairs: bool = False,
) -> tuple[Grid, int]:
    """The statistics as integers, and the exponent of their grid, whose sums over ``rows`` (or all rows) fit into 62 bits.

    ``empty`` gives the memory for them. With ``pairs`` they stay behind the two of a node's pair of classes, of which the first may be
    twice the weight of a row.
    """
    parts = statistics.dense, statistics.weight
    if pairs:
        empty = partial(_with_room_behind, empty[0]), empty[1]
    dense: NDArray[np.signedinteger]
    weight: NDArray[np.signedinteger]
    if random:
        dense, weight, exponent = to_coarse_grid(*parts, int(pairs), empty)
    else:  # the total of all rows has 62 bits: copies of a row need room
        copies = 0 if rows is None else int(np.bincount(rows).max() - 1).bit_length()
        dense, weight, exponent = to_fine_grid(*parts, copies, empty, first_only=statistics.own)
    if pairs:
        two = np.zeros((statistics.n_rows, 2), dense.dtype)
        shares = Shares(dense, statistics.label, weight)
        return Grid(two, np.empty(0, np.uint16), np.empty(0, weight.dtype), 2, 0, 2, False, shares), exponent
    return Grid(dense, statistics.label, weight, statistics.n_dense, statistics.n_labels, statistics.size, False, None), exponent


class Numbers(NamedTuple):
    """Statistics on a grid, its exponent, what has changed since the tree before, and memory for rows and leaves if that holds it."""

    grid: Grid
    exponent: int
    changes: Changes
    spare: tuple[NDArray[np.int32], NDArray[np.int32]] | None


class Room(NamedTuple):
    """Limits in numbers, and the memory of a tree: the same for all trees of a shape."""

    limits: Limits  # but for the seed, another for each tree
    growth: Growth
    workspace: tuple[Any, ...]  # with a place for each thread
    of_histograms: tuple[Any, ...]  # labels and weights side by side, histograms kept and of each part; of no use at random thresholds


class Grower:
    """Grows trees on one table, keeping its working memory between trees. One thread at a time may use it.

    Parameters
    ----------
    table : the binned rows, laid out as ``limits.layout`` says
    limits : the user's limits
    team : threads to share large nodes with
    """

    def __init__(self, table: Table, limits: GrowthLimits, team: Threads = ALONE):
        self.table = table
        self._is_plain = table.is_plain
        self.limits = limits
        self.team = team
        self._memory: dict[str, NDArray[Any]] = {}
        self._kept = KeptWeights()
        self._counts_rows = limits.on(table.n_rows, 0.0, 0).min_leaf > 1
        self._held_pieces: dict[tuple[Any, ...], NDArray[np.int64]] = {}
        self._room_key: tuple[Any, ...] = ()
        self._held_room: Room
        self._categories_key = (-1, -1)
        self._held_categories: Categories

    def _array(self, name: str, shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        held = self._memory.get(name)
        if held is None or held.size < size:
            held = self._memory[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)

    def _counts_root(self, statistics: Statistics) -> bool:
        """Is the histogram of all rows kept from tree to tree, where labels and most weights are?

        Of a small table it hardly saves time, and there the kernel that keeps none may be needed anyway: in the place of trees without
        error others are grown on some of the rows.
        """
        table = self.table
        return (
            table.layout == FEATURE_MAJOR
            and table.n_rows * (len(table.columns) - 1) >= WORTH_KEEPING
            and not self._counts_rows
            and 8 * self._n_bins * statistics.size <= HISTOGRAM_BUDGET
        )

    def _room(
        self, grid: Grid, n_outputs: int, n_rows: int, total_weight: float, whole: bool, plain: bool, keep: bool, root: bool, team: Threads
    ) -> Room:
        """Room for a tree; ``keep`` histograms where a child's is its parent's minus its sibling's, and that of the ``root``."""
        n_parts = team.n
        key = grid.size, grid.n_dense, len(grid.label), n_outputs, n_rows, total_weight, whole, plain, keep, root, n_parts
        if key != self._room_key:  # most trees of a fit are of one shape
            limits = self.limits.on(n_rows, total_weight, 0)
            size = grid.size + (limits.min_leaf > 1)
            growth = self._growth(limits, size, n_outputs, keep, root, self._pieces(n_rows, whole, root, team))
            if plain and root:
                growth = growth._replace(of_part=None)
            n_gathered = n_rows if len(grid.label) and grid.n_dense == 0 and limits.min_leaf == 1 and not self.limits.random else 0
            # the root's rows stand, and then the smaller child's are enough: half of all, though not of those of each part
            halves = whole and n_parts == 1 and len(growth.free) == self._n_slots(limits)
            others = plain and n_gathered == 0  # statistics, for which there is a kernel without labels side by side
            of_histograms = (
                None if others else self._array("labels", n_gathered // 2 if halves else n_gathered, np.uint16),
                None if others else self._array("weights", 0 if halves else n_gathered, np.int64),
                self._array("pool", 0 if self.limits.random else len(growth.free) * self._n_bins * size, np.int64),
                self._array("partials", (n_parts, self._n_partial(size) if n_parts > 1 else 0), np.int64),
            )
            self._room_key, self._held_room = key, Room(limits, growth, self._workspace(size, plain, n_parts), of_histograms)
        return self._held_room

    def has_crew(self) -> bool:
        """Are trees on all rows grown by several threads?"""
        return self._team_for(self.table.n_rows).n > 1

    def _team_for(self, n_rows: int) -> Threads:
        """Who grows a tree on so many rows."""
        return self.team if self.team.n > 1 and is_worth_a_crew(n_rows, self.table) else ALONE

    def _places(self, n_rows: int, n_buffer: int, team: Threads) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Room for rows, and to move so many of them about; of several threads the same each time, so that it is near to whom it was."""
        n_buffer = 2 * (n_buffer // 2 + 1)  # can be looked at as half as many numbers of 64 bits, and one more
        if team.n == 1:
            return np.empty(n_rows, np.int32), np.empty(n_buffer, np.int32)
        return self._array("places", n_rows, np.int32), self._array("buffer", n_buffer, np.int32)

    def _pieces(self, n_rows: int, whole: bool, in_blocks: bool, team: Threads) -> NDArray[np.int64]:
        """The rows that each thread has: of all, those that it has in other passes over them."""
        key = n_rows, whole, in_blocks, team.n
        if key not in self._held_pieces:
            ends = segments_at_hand(n_rows) if whole else n_rows * np.arange(MOST_SEGMENTS + 1) // MOST_SEGMENTS
            pieces = pieces_of(ends if team.n > 1 else ends[[0, -1]], team.n, ROWS_OF_BLOCK if in_blocks else 1)
            self._held_pieces = {key: pieces}  # that of other rows is not asked for again
        return self._held_pieces[key]

    def _n_partial(self, size: int) -> int:
        """How many numbers a thread's own histogram has, if it may have one."""
        dense = self.table.layout == FEATURE_MAJOR
        return self._n_bins * size if dense and 8 * self._n_bins * size <= PARTIAL_BUDGET else 0

    def _growth(self, limits: Limits, size: int, n_outputs: int, keep: bool, root: bool, pieces: NDArray[np.int64]) -> Growth:
        n_parts = len(pieces)
        n = 2 * limits.max_leaves - 1
        n_slots, n_bins = 0, n_category_bins(self.table) if self.limits.random else self._n_bins
        if keep and n_bins and limits.max_depth > 1:
            n_slots = min(self._n_slots(limits), max(2, HISTOGRAM_BUDGET // (8 * size * n_bins)))
        return Growth(
            nodes=self._array("nodes", n, NODE),
            sums=self._array("node sums", (n, size), np.int64),
            left=self._array("left sums", (n, size), np.int64),
            stretch=self._array("stretch", (n_parts, n, 2), np.int64),
            of_part=self._array("sums of parts", (n_parts, size), np.int64),
            open=self._array("open", limits.max_leaves, np.int32),
            free=self._array("free", n_slots, np.int32),
            signed=self._array("signed", max(n_outputs, 1), np.int64),
            now=self._array("now", N_NOW, np.int64),
            runs=self._array("runs", (2 * n_parts + 1, max(size, MANY_RUNS) + 2), np.int64),
            root=self._array("root", n_bins * size if root else 0, np.int64),
            pieces=pieces,
            rows=np.empty(0, np.int32),  # others for each tree: they are as long as the table
            buffer=np.empty(0, np.int32),
        )

    @staticmethod
    def _n_slots(limits: Limits) -> int:
        """So many histograms that no node is ever without its parent's."""
        return min(limits.max_leaves if limits.best_first else limits.max_depth + 1, limits.max_leaves)

    @cached_property
    def _any_table(self) -> Table:
        """The table as kernels see it that are for any.

        Numba compiles a kernel for the types it is called with, and leaves out what None has no use for. So there are those for plain
        tables, compiled in half the time, and one for all others, rather than one for each mixture of what a table may have.
        """
        nothing = Stored(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8))
        return self.table._replace(stored=self.table.stored or nothing)

    @cached_property
    def _n_bins(self) -> int:
        return int(self.table.columns["offset"][-1])

    def _workspace(self, size: int, plain: bool, n: int) -> tuple[NDArray[Any] | None, ...]:
        """What n threads need to compare splits: best, the sums left of it, sides, order; by histogram also positions, histogram.

        Before them, where splits are drawn at random, what that needs: ranges, block, sums. Where the kernels are those of plain tables,
        positions of categories are None.
        """
        apart = 2 + (-(-LINES_APART // (8 * size)) if n > 1 else 0)  # two, and room behind them
        compared = (
            self._array("best", (n, 4), BEST),
            self._array("lefts", (n, apart, size), np.int64),
            self._array("sides", (n, apart, size), np.int64),
            self._array("order", (n, 256), np.int64),
        )
        if self.limits.random:
            p = max(self.table.bins.shape[1], self.table.n_features)
            return (
                self._array("ranges", (n, 5, p), np.uint8),
                self._array("block", (n, size, p), np.int32),
                self._array("sums", (n, 3, size, p), np.int64),
                *compared,
            )
        n_bins = self._n_bins if self.table.layout == SPARSE else COLUMNS_PER_PASS * 256
        return (
            *compared,
            self._array("positions", (n, 256), np.float64) if not plain else None,
            self._array("histogram", (n, (n_bins + MAX_SHARED_BINS + 1) * size), np.int64),
        )

    def _categories(self, n_slots: int, size: int) -> Categories:
        """The categorical features, with room for the sums of so many nodes and of two more; the same for tree after tree."""
        if self._categories_key != (n_slots, size):
            sums = self._array("categories", (n_slots + 1 + self.team.n) * n_category_bins(self.table) * size, np.int64)
            positions = self._array("positions", 256, np.float64)
            self._categories_key, self._held_categories = (n_slots, size), find_categories(self.table, size, sums, positions)
        return self._held_categories

    def grow(
        self, statistics: Statistics, criterion: Criterion, seed: int, rows: NDArray[np.int32] | None = None, *, leaves: bool = True
    ) -> tuple[Tree, NDArray[np.int32]]:
        """A tree for these statistics, grown on ``rows`` (which may repeat) or on all, and the leaf of every row.

        With ``leaves=False`` the second is not worth looking at: a tree that will be pruned has other leaves.
        """
        return self.grow_on_grid(self.on_grid(statistics, criterion, rows), criterion, seed, rows, leaves=leaves)

    def on_grid(self, statistics: Statistics, criterion: Criterion, rows: NDArray[np.int32] | None = None) -> Numbers:
        """The statistics as whole numbers: the first step of :meth:`grow`, after which they need not be there any more."""
        if rows is None and statistics.lasting is not None and statistics.n_dense == 0 and not self.limits.random:
            n = self.table.n_rows
            team = self._team_for(n)
            places, buffer = self._places(n, n, team)
            pieces = self._pieces(n, True, True, team)
            grid, exponent, changes = self._kept.put(statistics, statistics.lasting, places, buffer.view(np.int64), pieces, team)
            return Numbers(grid, exponent, *((changes, (places, buffer)) if self._counts_root(statistics) else (NO_CHANGES, None)))
        self._kept.forget()
        return Numbers(*to_grid(statistics, self.limits.random, rows, pairs=criterion.code == PAIR_OF_CLASSES), NO_CHANGES, None)

    def grow_on_grid(
        self, numbers: Numbers, criterion: Criterion, seed: int, rows: NDArray[np.int32] | None = None, *, leaves: bool = True
    ) -> tuple[Tree, NDArray[np.int32]]:
        """The second step."""
        whole, pairs = rows is None, criterion.code == PAIR_OF_CLASSES
        plain = self._is_plain and not pairs
        table = self.table if plain else self._any_table
        grid, exponent, changes, spare = numbers
        if not plain and grid.shares is None:
            grid = grid._replace(shares=Shares(np.empty((0, 0), grid.weight.dtype), grid.label[:0], grid.weight[:0]))
        rule = Rule.on_grid(criterion, exponent)
        n_rows = table.n_rows if rows is None else len(rows)
        total_weight = 0.0
        if self.limits.min_weight_fraction_leaf:
            used = np.arange(n_rows, dtype=np.int32) if rows is None else rows.astype(np.int32)
            total_weight = weight_of_rows(grid, rule, used, self.limits.tie)
        team = self._team_for(n_rows)
        room = self._room(grid, rule.n_outputs, n_rows, total_weight, whole, plain, not pairs, spare is not None, team)
        if room.limits.min_leaf > 1:
            grid = grid._replace(size=grid.size + 1, counted=True)
        places, buffer = spare or self._places(n_rows, max(table.n_rows, n_rows), team)
        # rows are moved about by way of memory that is to tell their leaves when they stand; but not by several threads, who have other
        # places in the one than in the other
        leaf = buffer[: table.n_rows] if team.n == 1 else np.empty(table.n_rows, np.int32)
        growth = room.growth._replace(rows=places, buffer=buffer)
        labels, weights, pool, partials = room.of_histograms
        if labels is not None and len(weights) < len(labels):
            weights = buffer.view(np.int64)  # no row is moved while weights are looked at
        if rows is not None:
            growth.buffer[:n_rows] = rows  # from where they are dealt out
        if changes.n < 0:
            growth.runs[-1, 0] = 0
        limits = room.limits._replace(seed=np.uint64(seed)) if self.limits.random else room.limits
        if plain and labels is not None:
            grid = grid._replace(dense=None)
        context = table, grid, rule, limits, growth, whole
        grow: Callable[..., None]
        if self.limits.random:
            categories = None if plain else self._categories(len(growth.free), grid.size)
            grow, given = grow_at_random, (*context, *room.workspace, categories)
        else:
            kept = None if plain and spare is None else changes
            grow, given = grow_by_histogram, (*context, kept, labels, weights, pool, partials, *room.workspace)
        n_partial = self._n_partial(grid.size)
        by_crew(team, grow, given, ROWS_OF_BIN * n_partial if n_partial else NEVER, leaf)
        tree = self._tree(growth, grid, exponent)
        return tree, tree.leaves_of(self.table) if leaves and not whole else leaf

    def _tree(self, growth: Growth, grid: Grid, exponent: int) -> Tree:
        n = int(growth.now[N_NODES])
        nodes = np.frombuffer(bytearray(growth.nodes[:n].tobytes()), NODE)  # to copy records takes several times as long
        unit = 2.0**-exponent
        nodes["gain"] *= unit
        return Tree(nodes, np.multiply(growth.sums[:n, : grid.n_dense + grid.n_labels], unit, dtype=np.float64))
