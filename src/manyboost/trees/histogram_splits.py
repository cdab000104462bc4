"""The best splits by histograms.

A node's children are evaluated together: the smaller is filled, the larger is its parent minus the smaller, in place, four columns at a
time while they are in cache.
"""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import MAX_SHARED_BINS, SPARSE
from manyboost.trees.borrowing import borrowed
from manyboost.trees.criteria import node_weight
from manyboost.trees.histogram import fill, gather, of_feature
from manyboost.trees.nodes import (
    LARGE,
    LARGE_OPEN,
    PARENT_SLOT,
    SMALL,
    SMALL_OPEN,
    SMALL_SLOT,
    WHOLE,
    close_tree,
    settle,
    split_next,
    start_tree,
)
from manyboost.trees.splitting import loss_before, rest_of_tree, scan

COLUMNS_PER_PASS = 4


@compiled_part
def _first_gathered(nodes, now):
    """The first of the job's rows whose labels and weights are brought side by side."""
    start = nodes[now[SMALL]].start
    both = now[LARGE_OPEN] and now[PARENT_SLOT] < 0
    return min(start, nodes[now[LARGE]].start) if both else start


@compiled_part
def prepare_job(grid, growth, labels, weights):
    """Bring the labels and weights of the rows that will be counted side by side."""
    now = growth.now
    if now[WHOLE] or grid.label.size == 0 or grid.n_dense > 0 or grid.counted:  # where there is more, rows are read one by one
        return
    for which in range(2):
        if which == 0 or (now[LARGE_OPEN] and now[PARENT_SLOT] < 0):
            node, first = growth.nodes[now[SMALL + which]], _first_gathered(growth.nodes, now)
            gather(grid, growth.rows[first:], node.start - first, node.end - first, labels, weights)


@compiled_part
def evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, first, last, best, lefts, sides, order, positions, hist):
    """Fill and scan the histograms of the job's nodes for columns ``first`` to ``last``."""
    size, now = grid.size, growth.now
    pool_size = table.columns[table.columns.size - 1].offset * size
    own = hist[hist.size - (MAX_SHARED_BINS + 1) * size :]
    step = max(last - first, 1) if table.layout == SPARSE else COLUMNS_PER_PASS
    rest = np.empty(growth.signed.size, np.int64)
    gathered = np.int64(_first_gathered(growth.nodes, now))
    rows = growth.rows[gathered:]
    for which in range(2):
        best[which].gain = 0.0
        best[which].feature = -1
    for c in range(first, last, step):
        d = min(c + step, last)
        begin, end = table.columns[c].offset * size, table.columns[d].offset * size
        part = hist[: end - begin]
        for which in range(2):
            opened = now[SMALL_OPEN + which]
            derived = which == 1 and now[PARENT_SLOT] >= 0
            if not opened and (which == 1 or now[PARENT_SLOT] < 0):
                continue
            number = now[SMALL + which]
            node, node_sums = growth.nodes[number], growth.sums[number]
            if derived:
                at = now[PARENT_SLOT] * pool_size
                parent = pool[at + begin : at + end]
                for s in range(parent.size):
                    parent[s] -= part[s]
                part = parent
            else:
                whole = now[WHOLE] == 1
                fill(
                    table,
                    grid,
                    rows,
                    node.start - gathered,
                    node.end - gathered,
                    whole,
                    grid.label if whole else labels,
                    grid.weight if whole else weights,
                    c,
                    d,
                    node_sums,
                    part,
                )
                if now[SMALL_SLOT + which] >= 0:
                    at = now[SMALL_SLOT + which] * pool_size
                    kept = pool[at + begin : at + end]
                    for s in range(kept.size):
                        kept[s] = part[s]
            if opened:
                rest_of_tree(rule, node_sums, growth.signed, node.sign, rest)
                before = loss_before(rule, node_sums, grid.n_dense, grid.n_labels, growth.signed)
                weight = node_weight(rule, node_sums, grid.n_dense, grid.n_labels)
                for f in range(table.columns[c].first, table.columns[d].first):
                    feature = table.features[f]
                    of_column = part[feature.offset * size - begin :]
                    if positions is not None and feature.start >= 0:  # None where the table is plain
                        of_feature(table, f, size, node_sums, of_column, own)
                        of_column = own
                    found = best[which], lefts[which]
                    scan(feature, f, grid, rule, limits, of_column, node_sums, rest, before, weight, *found, sides, order, positions)


@compiled
def grow_by_histogram(table, grid, rule, limits, growth, whole, labels, weights, pool, best, lefts, sides, order, positions, hist, leaf):
    """The whole tree in one call."""
    table, grid, rule, limits, growth = borrowed((table, grid, rule, limits, growth))
    labels, weights, pool, hist, leaf = borrowed((labels, weights, pool, hist, leaf))
    best, lefts, sides, order, positions = borrowed((best, lefts, sides, order, positions))
    more = start_tree(grid, rule, limits, growth, whole)
    while more:
        prepare_job(grid, growth, labels, weights)
        last = table.columns.size - 1
        evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, 0, last, best, lefts, sides, order, positions, hist)
        settle(grid, rule, growth, best, lefts)
        more = split_next(table, grid, rule, limits, growth)
    close_tree(table, growth, leaf)
