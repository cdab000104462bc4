"""The best splits by histograms.

A node's children are evaluated together: the smaller is filled, the larger is its parent minus the smaller, in place, four columns at a
time while they are in cache.
"""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import FEATURE_MAJOR, MAX_SHARED_BINS, SPARSE
from manyboost.trees.borrowing import borrowed
from manyboost.trees.crew import crew_for_job, meet, share
from manyboost.trees.criteria import node_weight
from manyboost.trees.histogram import fill, find_runs, gather, of_feature, of_labels, runs_of_node
from manyboost.trees.nodes import (
    IN_ORDER,
    LARGE,
    LARGE_OPEN,
    MORE,
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
from manyboost.trees.root_histogram import count_root
from manyboost.trees.splitting import loss_before, rest_of_tree, scan

COLUMNS_PER_PASS = 4


@compiled_part
def look_at_all_rows(table, grid, growth):
    """Before a tree is grown on all rows: put them in their order, and find runs of one label among them."""
    for i in range(growth.rows.size):
        growth.rows[i] = i
    if of_labels(table, grid):
        find_runs(grid.label, np.int64(0), np.int64(grid.label.size), growth.runs[2])


@compiled_part
def _is_counted(now, which):
    """Are the rows of this node of the job counted? Else it is what its sibling leaves of its parent."""
    return which == 0 or (now[LARGE_OPEN] and now[PARENT_SLOT] < 0)


@compiled_part
def _first_counted(nodes, now):
    """The first of the job's rows that are counted: from there on labels and weights stand side by side."""
    start = nodes[now[SMALL]].start
    return min(start, nodes[now[LARGE]].start) if now[LARGE_OPEN] and now[PARENT_SLOT] < 0 else start


@compiled_part
def prepare_job(table, grid, growth, labels, weights):
    """Find runs of one label among the rows that will be counted; where there are none, bring their labels and weights side by side."""
    now, of_all = growth.now, growth.runs[2]
    if now[WHOLE]:
        for run in range(of_all.size):
            growth.runs[0, run] = of_all[run]
        return
    first = _first_counted(growth.nodes, now)
    rows = growth.rows[first:]
    for which in range(2):
        if _is_counted(now, which):
            node, runs = growth.nodes[now[SMALL + which]], growth.runs[which]
            runs[0] = 0
            if of_all[0] > 0:
                runs_of_node(of_all, grid.label, rows, node.start - first, node.end - first, runs, labels)
            elif of_labels(table, grid):
                gather(grid, rows, node.start - first, node.end - first, labels, weights)
                find_runs(labels, node.start - first, node.end - first, runs)


@compiled_part
def gather_weights(grid, growth, weights, crew):
    """Bring the weights of rows that stand in runs side by side."""
    if growth.now[WHOLE] or growth.runs[2, 0] == 0:
        return
    first = _first_counted(growth.nodes, growth.now)
    for which in range(2):
        if _is_counted(growth.now, which):
            node = growth.nodes[growth.now[SMALL + which]]
            start, end = share(crew, node.start, node.end)
            gathered, rows = weights[start - first :], growth.rows[start:end]
            for r in range(rows.size):
                gathered[r] = grid.weight[np.uint64(rows[r])]


@compiled_part
def evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, first, last, best, lefts, sides, order, positions, hist):
    """Fill and scan the histograms of the job's nodes for columns ``first`` to ``last``."""
    size, now = grid.size, growth.now
    pool_size = table.columns[table.columns.size - 1].offset * size
    own = hist[hist.size - (MAX_SHARED_BINS + 1) * size :]
    step = max(last - first, 1) if table.layout == SPARSE else COLUMNS_PER_PASS
    rest = np.empty(growth.signed.size, np.int64)
    counted = np.int64(_first_counted(growth.nodes, now))
    rows = growth.rows[counted:]
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
                if whole and growth.root.size:
                    part = growth.root[begin:end]
                else:
                    fill(
                        table,
                        grid,
                        rows,
                        node.start - counted,
                        node.end - counted,
                        whole,
                        growth.runs[which],
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


@compiled_part
def _columns_of_part(table, grid, crew):
    """The columns that are this thread's, counted together as far as that is of use."""
    n_columns = table.columns.size - 1
    # labels are counted in two columns at once nearly as fast as in four, but where there are two of them
    together = 2 if of_labels(table, grid) and grid.n_labels > 2 else COLUMNS_PER_PASS
    first, last = share(crew, np.int64(0), np.int64(-(-n_columns // together)))
    return min(together * first, n_columns), min(together * last, n_columns)


@compiled_part
def _place_of(positions, part):
    """What a thread sorts categories by; None where the table is plain."""
    if positions is None:
        return None
    return positions[part]


@compiled_part
def _take_best(crew, best, lefts):
    """The best that any thread has found, in the order of columns and so of features, so that ties go to the lowest."""
    for part in range(1, crew.n):
        for which in range(2):
            if best[part, which].gain > best[0, which].gain:
                best[0, which] = best[part, which]
                for s in range(lefts.shape[2]):
                    lefts[0, which, s] = lefts[part, which, s]


@compiled
def grow_by_histogram(
    table, grid, rule, limits, growth, whole, changes, labels, weights, pool, best, lefts, sides, order, positions, hist, crew, leaf
):
    """The whole tree in one call, of each thread of the crew; what they work in has a place for each."""
    table, grid, rule, limits, growth, changes, crew = borrowed((table, grid, rule, limits, growth, changes, crew))
    labels, weights, pool, hist, leaf = borrowed((labels, weights, pool, hist, leaf))
    best, lefts, sides, order, positions = borrowed((best, lefts, sides, order, positions))
    part, now, more = crew.part, growth.now, False
    own = best[part], lefts[part], sides[part], order[part], _place_of(positions, part), hist[part]
    if whole and part == 0 and changes.n < 0:  # else changes stand where rows will stand, and runs are those of the tree before
        look_at_all_rows(table, grid, growth)
    if growth.root.size:
        if not meet(crew):
            return
        count_root(table, grid, changes, growth, *_columns_of_part(table, grid, crew))
        meet(crew)
    if part == 0:
        more = start_tree(grid, rule, limits, growth, whole)
        now[IN_ORDER] = whole and table.layout == FEATURE_MAJOR
    while True:
        if part == 0:
            if more:
                prepare_job(table, grid, growth, labels, weights)
            now[MORE] = more
        at_work = crew_for_job(table, growth, crew, more)
        if at_work.n == crew.n:
            meet(crew)
            if not now[MORE]:
                break
        first, last = _columns_of_part(table, grid, at_work)
        gather_weights(grid, growth, weights, at_work)
        meet(at_work)
        evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, first, last, *own)
        meet(at_work)
        if part == 0:
            _take_best(at_work, best, lefts)
            settle(grid, rule, growth, best[0], lefts[0])
            more = split_next(table, grid, rule, limits, growth)
    if part == 0:
        close_tree(table, growth, leaf)
