"""Categories where splits are drawn at random: the sums of each, and an order of them that is cut at random.

A node's children are summed together: the smaller is filled, the larger is what is left of their parent. The codes of columns that
several features share are summed with them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled_part
from manyboost.trees.binning import SPARSE, Table
from manyboost.trees.code_sums import MOST_CODES_IN_LANES, sum_codes, sum_few_codes
from manyboost.trees.lanes import FEW
from manyboost.trees.nodes import LARGE_OPEN, PARENT_SLOT, SMALL, SMALL_OPEN, SMALL_SLOT
from manyboost.trees.random_numbers import uniform
from manyboost.trees.random_thresholds import BELOW, MISSING
from manyboost.trees.splitting import order_categories, sort_by_position, used_bins

LOOKED_UP_MEANWHILE = 3  # codes, while two are compared with those of all columns side by side
ROWS_FOR_LANES = 32  # of a node; in smaller ones taking the sums apart costs more than it saves
CATEGORIES_TO_COUNT = 16  # with more of them, sorting is faster than counting how many come before each


class Categories(NamedTuple):
    """The categorical features, and room for the sums of their codes and of those of shared columns.

    Attributes
    ----------
    features : the numbers of the categorical ones
    columns : (m,) all columns whose codes are summed
    starts : (m,) where the sums of each begin among those of a node; one behind the categories of a feature is for missing values
    place : (p,) where those of a feature's own codes begin
    others, other_starts : the same as ``columns`` and ``starts`` of those whose codes are looked up in large nodes, too
    n_codes, in_lanes : what :func:`~manyboost.trees.code_sums.sum_few_codes` is told of the rest
    n_sums : of a node
    sums : of the nodes that are kept, by their slots, behind them of two more, and then of each part of rows but the first
    positions : (256,) of the categories of a feature in their order
    """

    features: NDArray[np.int64]
    columns: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    place: NDArray[np.int64]
    others: NDArray[np.uint64]
    other_starts: NDArray[np.uint64]
    n_codes: NDArray[np.int64]
    in_lanes: NDArray[np.int64]
    n_sums: int
    sums: NDArray[np.int64]
    positions: NDArray[np.float64]


def _are_summed(table: Table) -> NDArray[np.bool_]:
    """Which columns are of categories, or shared."""
    first = table.features[table.columns["first"][:-1]]
    return np.asarray(first["categorical"] | (first["start"] >= 0))


def n_category_bins(table: Table) -> int:
    """How many sums of one statistic a node has."""
    return int(np.diff(table.columns["offset"])[_are_summed(table)].sum())


def find_categories(table: Table, size: int, sums: NDArray[np.int64], positions: NDArray[np.float64]) -> Categories:
    """Those of a table; ``size`` is the number of statistics, ``sums`` and ``positions`` the room."""
    features = table.features[:-1]
    columns = np.flatnonzero(_are_summed(table))
    n_sums = np.diff(table.columns["offset"])[columns]
    ends = size * np.cumsum(n_sums)
    starts = ends - size * n_sums
    place = np.zeros(len(table.columns) - 1, np.int64)
    place[columns] = starts
    place = place[features["column"]] + size * np.maximum(features["start"], 0)
    first = features[table.columns["first"][columns]]
    n_codes, in_lanes = _for_lanes(
        table, columns, starts, n_sums, np.where(first["categorical"], first["n_bins"] + first["missing"], n_sums)
    )
    other = np.ones(len(columns), bool) if table.layout == SPARSE else in_lanes[1, columns] == 0
    numbers, begins = columns.astype(np.uint64), starts.astype(np.uint64)
    total = int(ends[-1]) if len(ends) else 0
    return Categories(
        np.flatnonzero(features["categorical"]),
        numbers,
        begins,
        place,
        numbers[other],
        begins[other],
        n_codes,
        in_lanes,
        total,
        sums,
        positions,
    )


def _for_lanes(
    table: Table, columns: NDArray[np.int64], starts: NDArray[np.int64], n_sums: NDArray[np.int64], n_codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of neighbouring columns the number of codes, and of each column its place and the number of its sums, where lanes are faster.

    They are where many columns have few codes: comparing all of them with two codes takes as long as looking up some codes.
    """
    groups = np.zeros(-(-table.bins.shape[1] // FEW), np.int64)
    places = np.zeros((2, table.bins.shape[1]), np.int64)
    for group in range(len(groups) if table.layout != SPARSE else 0):
        ours = np.flatnonzero((columns // FEW == group) & (n_codes <= MOST_CODES_IN_LANES))
        most = int(n_codes[ours].max(initial=0))
        if len(ours) >= LOOKED_UP_MEANWHILE * (most // 2) and most > 0:
            groups[group] = most
            places[:, columns[ours]] = starts[ours], n_sums[ours]
    return groups, places


@compiled_part
def _sum_stored_categories(stored, zero_bin, grid, rows, start, end, f, hist):
    """Sums of the statistics for each category of a feature of a sparse table."""
    if stored is None:
        return
    size, n_dense = grid.size, grid.n_dense
    dense, label, weight, counted = grid.dense, grid.label, grid.weight, grid.counted  # read once, not for each row
    for r in range(start, end):
        i = rows[r]
        b = np.int64(zero_bin)
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            if stored.indices[e] == f:
                b = np.int64(stored.entries[e])
        for s in range(n_dense):
            hist[b * size + s] += dense[i, s]
        if label.size:
            hist[b * size + n_dense + label[i]] += weight[i]
        if counted:
            hist[b * size + size - 1] += 1


@compiled_part
def sums_of_node(categories, growth, which):
    """Where the sums of a node of the job are."""
    slot = growth.now[SMALL_SLOT + which]
    at = (slot if slot >= 0 else growth.free.size + which) * categories.n_sums
    return categories.sums[at : at + categories.n_sums]


@compiled_part
def _sums_of_part(categories, growth, which, part):
    """Where a part sums its rows of a node of the job: the first at the place of the node."""
    at = (growth.free.size + 1 + part) * categories.n_sums
    return sums_of_node(categories, growth, which) if part == 0 else categories.sums[at : at + categories.n_sums]


@compiled_part
def _are_categories_summed(now, which):
    """Are the rows of this node of the job summed? Else nobody asks, or it is what its sibling leaves of its parent."""
    if which == 1:
        return now[LARGE_OPEN] == 1 and now[PARENT_SLOT] < 0
    return now[SMALL_OPEN] == 1 or (now[PARENT_SLOT] >= 0 and now[LARGE_OPEN] == 1)


@compiled_part
def sum_categories(categories, table, grid, growth, which, part):
    """The sums by code of a part's rows of a node of the job."""
    if categories is None or not _are_categories_summed(growth.now, which):
        return
    number, own = growth.now[SMALL + which], _sums_of_part(categories, growth, which, part)
    start, end = growth.stretch[part, number, 0], growth.stretch[part, number, 1]
    for s in range(own.size):
        own[s] = 0
    if table.layout != SPARSE:
        columns, starts, node = categories.columns, categories.starts, growth.nodes[number]
        if grid.size == 2 and grid.n_dense == 2 and node.end - node.start >= ROWS_FOR_LANES:
            # what is left of the total goes to the last code: the first part has all of it, and the others owe theirs
            total, n_codes, in_lanes = growth.sums[number] if part == 0 else np.zeros(2, np.int64), categories.n_codes, categories.in_lanes
            sum_few_codes(table.bins, growth.rows, start, end, grid.dense, total, n_codes, in_lanes, own)
            columns, starts = categories.others, categories.other_starts
        if columns.size:
            sum_codes(table, grid, growth.rows, start, end, columns, starts, own)
        return
    for f in categories.features:
        of_feature = own[categories.place[f] :]
        _sum_stored_categories(table.stored, table.features[f].zero_bin, grid, growth.rows, start, end, f, of_feature)


@compiled_part
def add_up_categories(categories, growth, which):
    """The sums by code of a node of the job, when each part has its own; of the larger, what the smaller leaves of their parent."""
    if categories is None:
        return
    now, own = growth.now, sums_of_node(categories, growth, which)
    if _are_categories_summed(now, which):
        for part in range(1, growth.stretch.shape[0]):
            more = _sums_of_part(categories, growth, which, part)
            for s in range(own.size):
                own[s] += more[s]
    elif which == 1 and now[LARGE_OPEN]:  # it has the slot of its parent
        of_small = sums_of_node(categories, growth, 0)
        for s in range(own.size):
            own[s] -= of_small[s]


@compiled_part
def categories_before_cut(limits, node, f, n_used):
    """How many of a feature's categories that hold rows come before the cut: at least one, and not all where there are two."""
    return 1 + np.int64(uniform(limits.seed, node, f) * (n_used - 1)) if n_used > 1 else n_used


@compiled_part
def cut_categories(table, grid, rule, limits, node, f, hist, order, position, sums):
    """Put the categories in order, cut the order at random, and give the sums before the cut; (how many, how many before)."""
    size = grid.size
    n_bins = table.features[f].n_bins
    n_used = used_bins(hist, n_bins, size, order)
    if n_used > 1:
        order_categories(grid, rule, hist, order, n_used, position)
    n_left = categories_before_cut(limits, node, f, n_used)
    for s in range(size):
        sums[BELOW, s, f] = 0
        sums[MISSING, s, f] = hist[n_bins * size + s]
        for u in range(n_left):
            sums[BELOW, s, f] += hist[order[u] * size + s]
    return n_used, n_left


@compiled_part
def positions_of_categories(n_bins, l2, hist, order, position):
    """The categories that hold rows, and where one output puts each; how many there are."""
    n_used = 0
    for b in range(n_bins):
        g, h = hist[2 * b], hist[2 * b + 1]
        order[n_used] = b
        position[n_used] = np.float64(g) / (np.float64(h) + l2) if h > 0 else 0.0
        n_used += np.int64((g | h) != 0)
    return n_used


@compiled_part
def _is_before(position, n_used, u, n_left):
    """Is category u among the first ``n_left`` by position, the first of equals before the others? Counted: sorting would mispredict."""
    rank = np.int64(0)
    at = position[u]
    for v in range(u):
        rank += np.int64(position[v] <= at)
    for v in range(u + 1, n_used):
        rank += np.int64(position[v] < at)
    return rank < n_left


@compiled_part
def cut_categories_of_pairs(features, l2, limits, node, categories, of_node, order, sums):
    """:func:`cut_categories` by one output, for all features; the order itself is not found where counting is faster."""
    position = categories.positions
    for f in categories.features:
        n_bins = np.int64(features[f].n_bins)
        hist = of_node[categories.place[f] :]
        n_used = positions_of_categories(n_bins, l2, hist, order, position)
        n_left = categories_before_cut(limits, node, f, n_used)
        left_g, left_h = np.int64(0), np.int64(0)
        if n_used <= CATEGORIES_TO_COUNT:
            for u in range(n_used):
                is_before = -np.int64(_is_before(position, n_used, u, n_left))
                left_g += hist[2 * order[u]] & is_before
                left_h += hist[2 * order[u] + 1] & is_before
        else:
            sort_by_position(order, position[:n_used])
            for u in range(n_left):
                left_g += hist[2 * order[u]]
                left_h += hist[2 * order[u] + 1]
        sums[BELOW, 0, f] = left_g
        sums[BELOW, 1, f] = left_h
        sums[MISSING, 0, f] = hist[2 * n_bins]
        sums[MISSING, 1, f] = hist[2 * n_bins + 1]


@compiled_part
def any_numbers(categories, n_features):
    """Are there features that are no categories?"""
    if categories is None:
        return True
    return categories.features.size < n_features
