"""The best splits by histograms.

A node's children are evaluated together: the smaller is filled, the larger is its parent minus the smaller, in place, four columns at a
time while they are in cache.
"""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import FEATURE_MAJOR, MAX_SHARED_BINS, SPARSE
from manyboost.trees.borrowing import borrowed, lent, set_apart
from manyboost.trees.crew import call_others, close_tree, crew_for_node, meet, share, split_node
from manyboost.trees.criteria import node_weight
from manyboost.trees.histogram import (
    add_labels,
    add_statistics,
    complete,
    find_runs,
    gather,
    of_feature,
    of_labels,
    runs_of_node,
    runs_of_piece,
)
from manyboost.trees.nodes import (
    AT_HAND,
    IN_ORDER,
    LARGE,
    LARGE_OPEN,
    MORE,
    PARENT_SLOT,
    SMALL,
    SMALL_OPEN,
    SMALL_SLOT,
    WHOLE,
    deal_rows,
    next_to_split,
    place_part,
    runs_of_all,
    settle,
    start_tree,
    sum_part,
)
from manyboost.trees.root_histogram import add_changes, prepare_changes, sum_root
from manyboost.trees.splitting import loss_before, rest_of_tree, scan

COLUMNS_PER_PASS = 4


@compiled_part
def _columns_of_part(table, grid, crew):
    """The columns that are this thread's, counted together as far as that is of use."""
    n_columns = table.columns.size - 1
    # labels are counted in two columns at once nearly as fast as in four, but where there are two of them
    together = 2 if of_labels(table, grid) and grid.n_labels > 2 else COLUMNS_PER_PASS
    first, last = share(crew, np.int64(0), np.int64(-(-n_columns // together)))
    return min(together * first, n_columns), min(together * last, n_columns)


@compiled_part
def _is_counted(now, which):
    """Are the rows of this node of the job counted? Else it is what its sibling leaves of its parent."""
    return which == 0 or (now[LARGE_OPEN] and now[PARENT_SLOT] < 0)


@compiled_part
def _first_counted(stretch, now):
    """The first of the job's rows in a part that are counted: from there on labels and weights stand side by side."""
    start = stretch[now[SMALL], 0]
    return min(start, stretch[now[LARGE], 0]) if now[LARGE_OPEN] and now[PARENT_SLOT] < 0 else start


@compiled_part
def _prepare_job(table, grid, growth, labels, weights, part):
    """Bring weights of a part's rows that will be counted side by side; find runs of one label, or bring labels side by side, too."""
    if labels is None:  # the kernel is one for other statistics
        return
    now, of_all, stretch = growth.now, runs_of_all(growth), growth.stretch[part]
    if now[WHOLE]:
        return
    first, at = _first_counted(stretch, now), stretch[0, 0]
    rows = growth.rows[first:]
    for which in range(2):
        if _is_counted(now, which):
            number, runs = now[SMALL + which], growth.runs[2 * part + which]
            start, end = stretch[number, 0] - first, stretch[number, 1] - first
            runs[0] = 0
            if of_all[0] > 0:
                runs_of_node(of_all, grid.label, rows, start, end, runs, labels[at:])
                gathered, weight = weights[at + start :], grid.weight
                for r in range(end - start):
                    gathered[r] = weight[np.uint64(rows[start + r])]
            elif of_labels(table, grid):
                gather(grid, rows, start, end, labels[at:], weights[at:])
                find_runs(labels[at:], start, end, runs)


@compiled_part
def _add_part(table, grid, growth, which, labels, weights, part, c, d, hist):
    """Add a part's rows of a node of the job to the histogram of columns c to d."""
    now, stretch = growth.now, growth.stretch[part]
    first, at, number, runs = np.int64(_first_counted(stretch, now)), stretch[0, 0], now[SMALL + which], growth.runs[2 * part + which]
    start, end = stretch[number, 0] - first, stretch[number, 1] - first
    if labels is not None and of_labels(table, grid):  # None where the kernel is one for other statistics
        size = np.uint64(grid.size)
        if now[WHOLE]:
            of_piece = np.empty_like(runs)
            for piece in range(growth.pieces.shape[1]):
                start, end = growth.pieces[part, piece, 0], growth.pieces[part, piece, 1]
                runs_of_piece(runs_of_all(growth), start, end, of_piece)
                add_labels(table, c, d, growth.rows, start, end, True, of_piece, grid.label, grid.weight, size, hist)
        else:
            add_labels(table, c, d, growth.rows[first:], start, end, False, runs, labels[at:], weights[at:], size, hist)
    else:
        add_statistics(table, grid, growth.rows[first:], start, end, c, d, hist)


@compiled_part
def _add_up(partials, begin, end, hist):
    """Add what each part has counted."""
    for part in range(partials.shape[0]):
        counted = partials[part, begin:end]
        for s in range(counted.size):
            hist[s] += counted[s]


@compiled_part
def _is_counted_by_parts(table, n_rows, crew):
    """Does each thread count its own rows in all columns, and not all rows in some of the columns?

    Where bins are many, it takes longer to add up what each has counted than to read rows that others have moved.
    """
    return crew.n > 1 and n_rows * (table.columns.size - 1) >= crew.tall


@compiled_part
def _count_root(table, grid, changes, growth, labels, weights, partials, crew):
    """Bring the root's histogram up to date, and its sums."""
    if changes is None:  # the kernel is one that keeps none
        return
    n_columns, size, n_parts = table.columns.size - 1, grid.size, growth.stretch.shape[0]
    n_rows = changes.n if changes.n >= 0 else table.n_rows
    by_parts = _is_counted_by_parts(table, n_rows, crew)
    for part in range(*share(crew, np.int64(0), np.int64(n_parts))):
        prepare_changes(grid, changes, growth, labels, weights, part)
        if by_parts:
            partials[part, :] = 0
            for c in range(0, n_columns, COLUMNS_PER_PASS):
                d = min(c + COLUMNS_PER_PASS, n_columns)
                own = partials[part, table.columns[c].offset * size : table.columns[d].offset * size]
                add_changes(table, grid, changes, growth, labels, weights, part, c, d, own)
    meet(crew)
    first, last = _columns_of_part(table, grid, crew)
    for c in range(first, last, COLUMNS_PER_PASS):
        d = min(c + COLUMNS_PER_PASS, last)
        begin, end = table.columns[c].offset * size, table.columns[d].offset * size
        root = growth.root[begin:end]
        if changes.n < 0:
            root[:] = 0
        if by_parts:
            _add_up(partials, begin, end, root)
        else:
            for part in range(n_parts):
                add_changes(table, grid, changes, growth, labels, weights, part, c, d, root)
    if first == 0:
        sum_root(table.columns[1].offset, size, growth.root, growth.sums[0])
    meet(crew)


@compiled_part
def _evaluate_columns(
    table, grid, rule, limits, growth, labels, weights, pool, partials, by_parts, first, last, best, lefts, sides, order, positions, hist
):
    """Fill and scan the histograms of the job's nodes for columns ``first`` to ``last``."""
    size, now = grid.size, growth.now
    pool_size = table.columns[table.columns.size - 1].offset * size
    own = hist[hist.size - (MAX_SHARED_BINS + 1) * size :]
    step = max(last - first, 1) if table.layout == SPARSE else COLUMNS_PER_PASS
    rest = np.empty(growth.signed.size, np.int64)
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
                if now[WHOLE] and growth.root.size:
                    part = growth.root[begin:end]
                else:
                    for s in range(part.size):
                        part[s] = 0
                    if by_parts:
                        _add_up(partials, begin, end, part)
                    else:
                        for of_rows in range(growth.stretch.shape[0]):
                            _add_part(table, grid, growth, which, labels, weights, of_rows, c, d, part)
                    complete(table, grid, c, d, node_sums, part)
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
                    work = best[which], lefts[which], sides, order, positions
                    scan(feature, f, grid, rule, limits, labels, of_column, node_sums, rest, before, weight, *work)


@compiled_part
def _evaluate(table, grid, rule, limits, growth, labels, weights, pool, partials, crew, own):
    """Find the best splits of the job's nodes: of a thread, among its columns."""
    now, n_columns, size = growth.now, table.columns.size - 1, grid.size
    node = growth.nodes[now[SMALL]]
    by_parts = _is_counted_by_parts(table, node.end - node.start, crew) and not _is_counted(now, np.int64(1))
    if now[WHOLE] and growth.root.size:  # it is counted already
        by_parts = False
    for part in range(*share(crew, np.int64(0), np.int64(growth.stretch.shape[0]))):
        _prepare_job(table, grid, growth, labels, weights, part)
        if by_parts:
            partials[part, :] = 0
            for c in range(0, n_columns, COLUMNS_PER_PASS):
                d = min(c + COLUMNS_PER_PASS, n_columns)
                counted = partials[part, table.columns[c].offset * size : table.columns[d].offset * size]
                _add_part(table, grid, growth, np.int64(0), labels, weights, part, c, d, counted)
    meet(crew)
    columns = _columns_of_part(table, grid, crew)
    _evaluate_columns(table, grid, rule, limits, growth, labels, weights, pool, partials, by_parts, *columns, *own)
    meet(crew)


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


@compiled_part
def _are_runs(labels, table, grid, growth):
    """Is one weight of each row all that is counted, and are the runs of one label known?"""
    return labels is not None and of_labels(table, grid) and runs_of_all(growth)[0] > 0


@compiled_part
def _is_anew(changes):
    """Are all rows to be counted?"""
    return True if changes is None else changes.n < 0


@compiled_part
def _grow(
    table, grid, rule, limits, growth, whole, changes, labels, weights, pool, partials,
    best, lefts, sides, order, positions, hist, crew, leaf,
):  # fmt: skip
    """:func:`grow_by_histogram` by what is lent and borrowed."""
    set_apart()
    call_others(crew)
    thread, now, n_parts = crew.part, growth.now, np.int64(growth.stretch.shape[0])
    own = best[thread], lefts[thread], sides[thread], order[thread], _place_of(positions, thread), hist[thread]
    anew = _is_anew(changes)
    if labels is not None and whole and thread == 0 and anew and of_labels(table, grid):  # else they are those of the tree before
        find_runs(grid.label, np.int64(0), np.int64(grid.label.size), runs_of_all(growth))
    if not meet(crew):
        return
    # one part has all rows in their order, and runs of one label can be told piece by piece: such rows need not be looked up
    in_order = whole and (n_parts == 1 or growth.root.size > 0 or _are_runs(labels, table, grid, growth))
    for part in range(*share(crew, np.int64(0), n_parts)):
        place_part(growth, part)
        if anew and (n_parts == 1 or growth.root.size or not in_order):  # else changes stand where rows will stand
            deal_rows(growth, whole, part)
    if growth.root.size:
        _count_root(table, grid, changes, growth, labels, weights, partials, crew)
    for part in range(*share(crew, np.int64(0), n_parts)):
        sum_part(grid, growth, growth.of_part, part, in_order)
    meet(crew)
    if thread == 0:
        start_tree(grid, rule, limits, growth)
        now[WHOLE] = in_order
        now[IN_ORDER] = in_order and table.layout == FEATURE_MAJOR
    while True:
        at_work = crew_for_node(table, growth, crew)
        if at_work.n == crew.n:
            if not meet(crew):
                return
            if now[AT_HAND] < 0:
                break
        split_node(table, grid, rule, limits, growth, at_work)
        if now[MORE]:
            _evaluate(table, grid, rule, limits, growth, labels, weights, pool, partials, at_work, own)
        if thread == 0:
            if now[MORE]:
                _take_best(at_work, best, lefts)
                settle(grid, rule, growth, best[0], lefts[0])
            next_to_split(table, grid, rule, limits, growth)
    close_tree(table, growth, crew, leaf)


@compiled
def grow_by_histogram(
    table, grid, rule, limits, growth, whole, changes, labels, weights, pool, partials,
    best, lefts, sides, order, positions, hist, crew, leaf,
):  # fmt: skip
    """The whole tree in one call, of each thread of the crew; what they work in has a place for each."""
    table, grid, rule, limits, growth = lent((table, grid, rule, limits, growth))
    labels, weights, pool, partials, hist, leaf, crew, changes = borrowed((labels, weights, pool, partials, hist, leaf, crew, changes))
    best, lefts, sides, order, positions = borrowed((best, lefts, sides, order, positions))
    _grow(
        table, grid, rule, limits, growth, whole, changes, labels, weights, pool, partials,
        best, lefts, sides, order, positions, hist, crew, leaf,
    )  # fmt: skip
