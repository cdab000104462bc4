"""One random threshold for each feature of a node, and the sums of the rows at or below it.

Rows are read whole, so the table is row-major. The inner loops run over columns and touch plain arrays only: that is what lets the
compiler use vector registers. They run over the whole width of the table, in which zeros behind the last column fill the registers up.
Of a column that several features share, the rows of each code are summed, and each feature is told its part.
"""

import numpy as np

from manyboost.compiled import compiled_part
from manyboost.trees.binning import SPARSE
from manyboost.trees.code_sums import ranges_of_features, sums_of_features
from manyboost.trees.exact_sums import COARSE_BLOCK
from manyboost.trees.random_numbers import uniform

LOW, HIGH, THRESHOLD, MISSING_BIN, COLUMN_THRESHOLD = range(5)  # the first three of features, the others of columns
BELOW, MISSING = range(2)


@compiled_part
def _least_and_greatest(bins, rows, start, end, low, high, missing_bin):
    """A missing value has the highest bin of all: it is never the least, and is not taken for the greatest."""
    for r in range(start, end):
        values = bins[np.uint64(rows[r])]
        for f in range(low.size):
            b = values[f]
            low[f] = min(low[f], b)
            high[f] = max(high[f], np.uint8(0) if b == missing_bin[f] else b)


@compiled_part
def _ranges_of_stored(stored, features, rows, start, end, low, high):
    """:func:`find_ranges` of sparse rows."""
    if stored is None:
        return
    n_features = features.size - 1
    n_stored = np.zeros(n_features, np.int64)
    for r in range(start, end):
        i = rows[r]
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            f = stored.indices[e]
            b = stored.entries[e]
            n_stored[f] += 1
            if b < features[f].n_bins:
                low[f] = min(low[f], b)
                high[f] = max(high[f], b)
    for f in range(n_features):
        if n_stored[f] < end - start:
            zero = np.uint8(features[f].zero_bin)
            low[f] = min(low[f], zero)
            high[f] = max(high[f], zero)


@compiled_part
def find_ranges(table, rows, start, end, ranges, codes):
    """The least and the greatest bin of each feature over the rows, missing values aside."""
    low, high = ranges[LOW], ranges[HIGH]
    n_columns = table.columns.size - 1
    for f in range(low.size):
        low[f] = 255
        high[f] = 0
    if table.layout == SPARSE:
        _ranges_of_stored(table.stored, table.features, rows, start, end, low, high)
        return
    for c in range(n_columns):
        ranges[MISSING_BIN, c] = table.features[table.columns[c].first].n_bins
    width = table.bins.shape[1]
    _least_and_greatest(table.bins, rows, start, end, low[:width], high[:width], ranges[MISSING_BIN])
    if n_columns < table.features.size - 1:
        ranges_of_features(table, rows, start, end, low, high, codes)


@compiled_part
def draw_thresholds(table, limits, node, ranges):
    """One threshold for each feature, uniform over the bins between the least and the greatest."""
    for f in range(table.features.size - 1):
        low, high = np.int64(ranges[LOW, f]), np.int64(ranges[HIGH, f])
        if low >= high:  # one value: only its being known can part the rows
            ranges[THRESHOLD, f] = table.features[f].n_bins - 1
        else:
            ranges[THRESHOLD, f] = low + np.int64(uniform(limits.seed, node, f) * (high - low))
    for c in range(table.columns.size - 1):
        ranges[COLUMN_THRESHOLD, c] = ranges[THRESHOLD, table.columns[c].first]


@compiled_part
def _pair_below(bins, rows, start, end, dense, threshold, first_block, second_block, first_sums, second_sums):
    """Sums of two statistics over the rows at or below each threshold; blocks of rows add up in 32 bits."""
    width = threshold.size
    for begin in range(start, end, COARSE_BLOCK):
        for f in range(width):
            first_block[f] = 0
            second_block[f] = 0
        for r in range(begin, min(begin + COARSE_BLOCK, end)):
            i = np.uint64(rows[r])
            values = bins[i]
            first, second = dense[i, 0], dense[i, 1]
            for f in range(width):
                below = -np.int32(values[f] <= threshold[f])
                first_block[f] += first & below
                second_block[f] += second & below
        for f in range(width):
            first_sums[f] += first_block[f]
            second_sums[f] += second_block[f]


@compiled_part
def _four_below(bins, rows, start, end, dense, first, threshold, block, n_done):
    """Add four statistics from the ``first`` on, over the rows at or below each threshold, to their sums in ``block``.

    The first ``n_done`` of all have their sums already, and keep them.
    """
    width = threshold.size
    scratch = np.empty((4, width), np.int32)
    for s in range(4):
        for f in range(width):
            scratch[s, f] = block[first + s, f]
    sums0, sums1, sums2, sums3 = scratch[0], scratch[1], scratch[2], scratch[3]
    at0, at1, at2, at3 = np.uint64(first), np.uint64(first + 1), np.uint64(first + 2), np.uint64(first + 3)
    for r in range(start, end):
        i = np.uint64(rows[r])
        values = bins[i]
        v0, v1, v2, v3 = dense[i, at0], dense[i, at1], dense[i, at2], dense[i, at3]
        for f in range(width):
            below = -np.int32(values[f] <= threshold[f])
            sums0[f] += v0 & below
            sums1[f] += v1 & below
            sums2[f] += v2 & below
            sums3[f] += v3 & below
    for s in range(4):
        if first + s >= n_done:
            for f in range(width):
                block[first + s, f] = scratch[s, f]


@compiled_part
def _all_below(bins, rows, start, end, dense, label, weight, counted, threshold, mask, block, below):
    """The same of any statistics: dense ones four at a time, in half to three quarters of the time of one by one."""
    n_dense, n_sums, width = dense.shape[1], below.shape[0], threshold.size
    n_by_four = n_dense if n_dense >= 4 else 0
    one_by_one = n_by_four < n_dense or label.size > 0 or counted
    for s in range(n_sums):
        for f in range(width):
            block[s, f] = 0
    for begin in range(start, end, COARSE_BLOCK):
        stop = min(begin + COARSE_BLOCK, end)
        for first in range(0, n_by_four, 4):
            _four_below(bins, rows, begin, stop, dense, min(first, n_by_four - 4), threshold, block, first)
        if one_by_one:
            for r in range(begin, stop):
                i = np.uint64(rows[r])
                values = bins[i]
                for f in range(width):
                    mask[f] = -np.int32(values[f] <= threshold[f])
                for s in range(n_by_four, n_dense):
                    value, sums = dense[i, s], block[s]
                    for f in range(width):
                        sums[f] += value & mask[f]
                if label.size:
                    value, sums = weight[i], block[n_dense + label[i]]
                    for f in range(width):
                        sums[f] += value & mask[f]
                if counted:
                    sums = block[n_sums - 1]
                    for f in range(width):
                        sums[f] -= mask[f]
        for s in range(n_sums):
            for f in range(width):
                below[s, f] += block[s, f]
                block[s, f] = 0


@compiled_part
def _add_row(grid, i, sums, f):
    for s in range(grid.n_dense):
        sums[s, f] += grid.dense[i, s]
    if grid.label.size:
        sums[grid.n_dense + grid.label[i], f] += grid.weight[i]
    if grid.counted:
        sums[grid.size - 1, f] += 1


@compiled_part
def _sparse_below(stored, features, grid, rows, start, end, threshold, below, missing):
    """The same from stored entries; the rows whose zero is not stored are the rest of the node."""
    if stored is None:
        return
    off_zero = np.zeros(below.shape, np.int64)
    total = np.zeros((grid.size, 1), np.int64)
    for r in range(start, end):
        i = rows[r]
        _add_row(grid, i, total, 0)
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            f = stored.indices[e]
            b = stored.entries[e]
            _add_row(grid, i, off_zero, f)
            if b <= threshold[f]:
                _add_row(grid, i, below, f)
            elif b == features[f].n_bins:
                _add_row(grid, i, missing, f)
    for f in range(below.shape[1]):
        if features[f].zero_bin <= threshold[f]:
            for s in range(grid.size):
                below[s, f] += total[s, 0] - off_zero[s, f]


@compiled_part
def _sum_missing(bins, grid, rows, start, end, features, columns, missing_bin, sums):
    """Sums over the rows whose value is missing, for some of the features and their columns."""
    for r in range(start, end):
        i = np.int64(rows[r])
        values = bins[i]
        for c in range(features.size):
            if values[columns[c]] == missing_bin[columns[c]]:
                _add_row(grid, i, sums, features[c])


@compiled_part
def _sum_missing_pairs(bins, dense, rows, start, end, features, columns, missing_bin, sums):
    """The same of two statistics, without a branch to mispredict."""
    n = features.size
    missing = np.empty(n, np.uint8)
    first_sums, second_sums = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for c in range(n):
        missing[c] = missing_bin[columns[c]]
    for r in range(start, end):
        i = np.uint64(rows[r])
        values = bins[i]
        first, second = np.int64(dense[i, 0]), np.int64(dense[i, 1])
        for c in range(n):
            is_missing = -np.int64(values[columns[c]] == missing[c])
            first_sums[c] += first & is_missing
            second_sums[c] += second & is_missing
    for c in range(n):
        sums[0, features[c]] = first_sums[c]
        sums[1, features[c]] = second_sums[c]


@compiled_part
def sum_below(table, grid, rows, start, end, ranges, block, sums, codes):
    """For each feature, the sums of the rows at or below its threshold and of the rows whose value is missing."""
    below, missing = sums[BELOW], sums[MISSING]
    for s in range(grid.size):
        for f in range(ranges.shape[1]):
            below[s, f] = 0
            missing[s, f] = 0
    if table.layout == SPARSE:
        _sparse_below(table.stored, table.features, grid, rows, start, end, ranges[THRESHOLD], below, missing)
        return
    width = table.bins.shape[1]
    threshold = ranges[COLUMN_THRESHOLD, :width]
    pairs = grid.size == 2 and grid.n_dense == 2
    if pairs:
        _pair_below(table.bins, rows, start, end, grid.dense, threshold, block[0], block[1], below[0], below[1])
    else:
        statistics = grid.dense, grid.label, grid.weight, grid.counted
        _all_below(table.bins, rows, start, end, *statistics, threshold, block[grid.size, :width], block, below)
    if table.columns.size < table.features.size:
        sums_of_features(table, grid, rows, start, end, ranges[THRESHOLD], below, codes)
    if codes is None:  # a plain table: nothing is missing
        return
    features = np.empty(table.features.size - 1, np.uint64)
    columns = np.empty(features.size, np.uint64)
    n = 0
    for f in range(features.size):
        if table.features[f].missing and not table.features[f].categorical:
            features[n] = f
            columns[n] = table.features[f].column
            n += 1
    if n == 0:
        return
    if pairs:
        _sum_missing_pairs(table.bins, grid.dense, rows, start, end, features[:n], columns[:n], ranges[MISSING_BIN], missing)
    else:
        _sum_missing(table.bins, grid, rows, start, end, features[:n], columns[:n], ranges[MISSING_BIN], missing)
