"""Histograms: for each bin of each feature, the integer sums of the rows of a node.

A histogram of columns c..d is one flat array; bin b of column c starts at ``(offset[c] - offset[first] + b) * S``. A column holds
one feature, or several that exclude each other (:func:`~manyboost.trees.binning.share_columns`).
"""

import numpy as np

from manyboost.compiled import compiled_part
from manyboost.trees.binning import SPARSE
from manyboost.trees.node_sums import weights_of_labels

ROWS_AT_ONCE = 256  # are looked at together for a change of label


@compiled_part
def gather(grid, rows, start, end, labels, weights):
    """Labels and weights of a node's rows in the order of the rows, so that each pass over features reads on."""
    label, weight = grid.label, grid.weight
    for r in range(start, end):
        i = rows[r]
        labels[r] = label[i]
        weights[r] = weight[i]


@compiled_part
def of_labels(table, grid):
    """Is one weight of each row all that is counted?"""
    return table.layout != SPARSE and grid.n_dense == 0 and not grid.counted


@compiled_part
def find_runs(labels, start, end, runs):
    """Where runs of one label begin, and where the last ends, behind their number; 0 of them if they are more than there is room for.

    All rows of a table are sorted by label, and a node's stay so.
    """
    n_runs = 0
    runs[0] = 0
    for begin in range(start, end, ROWS_AT_ONCE):
        stop = min(begin + ROWS_AT_ONCE, end)
        n_changes = np.int64(begin == start)
        before, after = labels[max(begin - 1, start) : stop - 1], labels[max(begin, start + 1) : stop]
        for r in range(after.size):
            n_changes += before[r] != after[r]
        if n_runs + n_changes > runs.size - 2:
            return
        if n_changes > 0:
            for r in range(begin, stop):
                if r == start or labels[r] != labels[r - 1]:
                    n_runs += 1
                    runs[n_runs] = r
    runs[n_runs + 1] = end
    runs[0] = n_runs


@compiled_part
def runs_of_piece(of_all, start, end, runs):
    """:func:`find_runs` among rows ``start`` to ``end`` of the table, from the runs of all of them; 0 if those are not known."""
    n_runs = 0
    for run in range(1, of_all[0] + 1):
        begin = max(of_all[run], start)
        if begin < min(of_all[run + 1], end):
            n_runs += 1
            runs[n_runs] = begin
    runs[n_runs + 1] = end
    runs[0] = n_runs


@compiled_part
def runs_of_node(of_all, label, rows, start, end, runs, labels):
    """:func:`find_runs` among ``rows[start:end]``, which are in their order, from the runs of all rows; the label where each begins."""
    n_runs, at = 0, start
    for run in range(2, of_all[0] + 2):
        low, high = at, end
        while low < high:
            middle = (low + high) >> 1
            if rows[middle] < of_all[run]:
                low = middle + 1
            else:
                high = middle
        if low > at:
            n_runs += 1
            runs[n_runs] = at
            labels[at] = label[rows[at]]
            at = low
    runs[n_runs + 1] = end
    runs[0] = n_runs


@compiled_part
def _add_run(table, first, last, rows, start, end, in_order, weights, size, apart, hist):
    """Rows of one label, up to four columns at once: their sums are close together, and where they begin is known.

    Rows that are all of the table, ``in_order``, need not be looked up.
    """
    columns = table.columns
    at1, at2, at3 = np.uint64(256), np.uint64(512), np.uint64(768)
    # columns that are not asked for are filled like the last, and forgotten
    c0, c1, c2, c3 = table.bins[first], table.bins[min(first + 1, last - 1)], table.bins[min(first + 2, last - 1)], table.bins[last - 1]
    for c in range(4):
        of_column = apart[256 * c : 256 * c + columns[min(first + c, last - 1) + 1].offset - columns[min(first + c, last - 1)].offset]
        for b in range(of_column.size):
            of_column[b] = 0
    if last - first <= 2:  # as a thread may have that shares a node
        for r in range(start, end):
            j = np.uint64(r)
            i = j if in_order else np.uint64(rows[j])
            w = weights[j]
            apart[np.uint64(c0[i])] += w
            apart[np.uint64(c1[i]) + at1] += w
    else:
        for r in range(start, end):
            j = np.uint64(r)
            i = j if in_order else np.uint64(rows[j])
            w = weights[j]
            apart[np.uint64(c0[i])] += w
            apart[np.uint64(c1[i]) + at1] += w
            apart[np.uint64(c2[i]) + at2] += w
            apart[np.uint64(c3[i]) + at3] += w
    for c in range(first, last):
        of_column, found = hist[np.uint64(columns[c].offset - columns[first].offset) * size :], apart[256 * (c - first) :]
        for b in range(columns[c + 1].offset - columns[c].offset):
            of_column[np.uint64(b) * size] += found[b]


@compiled_part
def _add_short_run(column, rows, start, end, in_order, weights, size, hist):
    """The same of so few rows that it would take longer to bring their sums together."""
    for r in range(start, end):
        j = np.uint64(r)
        i = j if in_order else np.uint64(rows[j])
        hist[np.uint64(column[i]) * size] += weights[j]


@compiled_part
def _add_any_labels(column, rows, start, end, labels, weights, size, hist):
    """Rows in any order into one column."""
    for r in range(start, end):
        j = np.uint64(r)
        hist[np.uint64(column[np.uint64(rows[j])]) * size + np.uint64(labels[j])] += weights[j]


@compiled_part
def add_labels(table, first, last, rows, start, end, in_order, runs, labels, weights, size, hist):
    """One label weight per row, those of ``rows[start:end]`` side by side, into columns ``first`` to ``last``, four of them at most.

    Where runs are known, labels are so of the first row of each.
    """
    origin = table.columns[first].offset
    if runs[0] == 0:
        for c in range(first, last):
            of_column = hist[np.uint64(table.columns[c].offset - origin) * size :]
            _add_any_labels(table.bins[c], rows, start, end, labels, weights, size, of_column)
        return
    apart = np.empty(4 * 256, np.int64)
    n_bins = table.columns[last].offset - origin
    for run in range(1, runs[0] + 1):
        begin, stop = runs[run], runs[run + 1]
        of_label = hist[labels[begin] :]
        if stop - begin >= n_bins:
            _add_run(table, first, last, rows, begin, stop, in_order, weights, size, apart, of_label)
        else:
            for c in range(first, last):
                at = np.uint64(table.columns[c].offset - origin) * size
                _add_short_run(table.bins[c], rows, begin, stop, in_order, weights, size, of_label[at:])


@compiled_part
def _add_column(column, grid, rows, start, end, size, at, hist):
    """All statistics of the rows into one feature."""
    n_dense, dense, label, counted = grid.n_dense, grid.dense, grid.label, grid.counted  # read once, not for each row
    weights, pitch, step = weights_of_labels(grid)
    for r in range(start, end):
        i = np.uint64(rows[r])
        base = np.uint64(column[i]) * size + at
        if n_dense == 2:
            hist[base] += dense[i, 0]
            hist[base + np.uint64(1)] += dense[i, 1]
        else:
            for s in range(np.uint64(n_dense)):  # by places: a slice for each row would take as long as its sums
                hist[base + s] += dense[i, s]
        if label.size:
            k = np.uint64(label[i])
            hist[base + np.uint64(n_dense) + k] += weights[i * pitch + k * step]
        if counted:
            hist[base + size - np.uint64(1)] += 1


@compiled_part
def _add_any_four(table, first, last, grid, rows, start, end, size, hist):
    """All statistics of the rows into up to four columns at once: they are read once for all, and the updates do not wait for each other.

    Columns that are not asked for are filled like the last, and forgotten.
    """
    n_dense, n_columns, end_of_bin = np.uint64(grid.n_dense), last - first, size - np.uint64(1)
    dense, label, counted = grid.dense, grid.label, grid.counted  # read once, not for each row
    spare = np.empty(np.int64(256 * size) if n_columns < 4 else 0, np.int64)
    origin = table.columns[first].offset
    h1 = hist[np.uint64(table.columns[first + 1].offset - origin) * size :]
    h2 = hist[np.uint64(table.columns[first + 2].offset - origin) * size :] if n_columns > 2 else spare
    h3 = hist[np.uint64(table.columns[first + 3].offset - origin) * size :] if n_columns > 3 else spare
    c0, c1, c2, c3 = table.bins[first], table.bins[first + 1], table.bins[min(first + 2, last - 1)], table.bins[last - 1]
    weights, pitch, step = weights_of_labels(grid)
    for r in range(start, end):
        i = np.uint64(rows[r])
        b0, b1, b2, b3 = np.uint64(c0[i]) * size, np.uint64(c1[i]) * size, np.uint64(c2[i]) * size, np.uint64(c3[i]) * size
        for s in range(n_dense):
            amount = dense[i, s]
            hist[b0 + s] += amount
            h1[b1 + s] += amount
            h2[b2 + s] += amount
            h3[b3 + s] += amount
        if label.size:
            k = np.uint64(label[i])
            own, amount = n_dense + k, weights[i * pitch + k * step]
            hist[b0 + own] += amount
            h1[b1 + own] += amount
            h2[b2 + own] += amount
            h3[b3 + own] += amount
        if counted:
            hist[b0 + end_of_bin] += 1
            h1[b1 + end_of_bin] += 1
            h2[b2 + end_of_bin] += 1
            h3[b3 + end_of_bin] += 1


@compiled_part
def _add_stored(stored, features, grid, rows, start, end, first, last, hist):
    """Stored entries by row."""
    if stored is None:
        return
    size, n_dense, dense, label, counted = grid.size, grid.n_dense, grid.dense, grid.label, grid.counted
    weights, pitch, step = weights_of_labels(grid)
    origin = features[first].offset
    for r in range(start, end):
        i = rows[r]
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            f = stored.indices[e]
            if f < first or f >= last:
                continue
            base = (features[f].offset - origin + stored.entries[e]) * size
            for s in range(n_dense):
                hist[base + s] += dense[i, s]
            if label.size:
                k = np.uint64(label[i])
                hist[base + n_dense + np.int64(k)] += weights[np.uint64(i) * pitch + k * step]
            if counted:
                hist[base + size - 1] += 1


@compiled_part
def _add_rest(features, size, first, last, node_sums, hist):
    """What is not stored is the rest of the node's sums, exactly."""
    origin = features[first].offset
    for f in range(first, last):
        begin = (features[f].offset - origin) * size
        zero = begin + features[f].zero_bin * size
        for s in range(size):
            total = np.int64(0)
            for b in range(features[f].n_bins + 1):
                total += hist[begin + b * size + s]
            hist[zero + s] += node_sums[s] - total


@compiled_part
def _add_dense(table, grid, dense, rows, start, end, first, last, hist):
    """All statistics of rows of a dense table; nothing where the kernel is one for labels alone."""
    if dense is None:
        return
    size = np.uint64(grid.size)
    if last - first > 1:
        _add_any_four(table, first, last, grid, rows, start, end, size, hist)
    else:
        for f in range(first, last):
            at = np.uint64((table.columns[f].offset - table.columns[first].offset) * grid.size)
            _add_column(table.bins[f], grid, rows, start, end, size, at, hist)


@compiled_part
def add_statistics(table, grid, rows, start, end, first, last, hist):
    """Add ``rows[start:end]`` to the histogram of columns ``first`` to ``last`` where more than labels is counted, or in a sparse table."""
    if table.layout == SPARSE:
        _add_stored(table.stored, table.features, grid, rows, start, end, first, last, hist)
    else:
        _add_dense(table, grid, grid.dense, rows, start, end, first, last, hist)


@compiled_part
def complete(table, grid, first, last, node_sums, hist):
    """When all rows of a node are added: those of which a sparse table has nothing."""
    if table.layout == SPARSE:
        _add_rest(table.features, grid.size, first, last, node_sums, hist)


@compiled_part
def of_feature(table, f, size, node_sums, column_hist, own):
    """The histogram of one feature of a shared column, unpacked into ``own``; its zero_bin is the rest of the node."""
    feature = table.features[f]
    for s in range((feature.n_bins + 1) * size):
        own[s] = 0
    for s in range(size):
        rest = node_sums[s]
        for other in range(feature.n_bins - 1):
            amount = column_hist[(feature.start + other) * size + s]
            own[(other + np.int64(other >= feature.zero_bin)) * size + s] = amount
            rest -= amount
        own[feature.zero_bin * size + s] = rest
