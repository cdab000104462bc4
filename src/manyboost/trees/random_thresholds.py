"""One random threshold for each feature of a node, and the sums of the rows at or below it.

Rows are read whole, so the table is row-major. Some columns of a row are one value in a vector register, see
:mod:`~manyboost.trees.lanes`; the last of them end with the row, and may begin before those in front of them end. Of a column that several
features share, the rows of each code are summed elsewhere, and each feature is told its part.
"""

import numpy as np

from manyboost.compiled import Kernel, compiled_part
from manyboost.trees.binning import SPARSE
from manyboost.trees.code_sums import ranges_of_features
from manyboost.trees.exact_sums import COARSE_BLOCK
from manyboost.trees.lanes import FEW, MANY, greatest, least, load, plus_below, store, zeros
from manyboost.trees.random_numbers import uniform

LOW, HIGH, THRESHOLD, MISSING_BIN, COLUMN_THRESHOLD = range(5)  # the first three of features, the others of columns
BELOW, MISSING, MISSING_BELOW = range(3)  # sums at or below thresholds, of missing values, and of both


def _least_and_greatest_of(n_lanes: int) -> Kernel:
    @compiled_part
    def least_and_greatest(bins, rows, start, end, first, ranges):
        """A missing value has the highest bin of all and is never the least; where its bin counts as 0, it is not the greatest either."""
        low, high = load(ranges, LOW, first, n_lanes), load(ranges, HIGH, first, n_lanes)
        missing_bin = load(ranges, MISSING_BIN, first, n_lanes)
        for r in range(start, end):
            values = load(bins, rows[r], first, n_lanes)
            low = least(low, values)
            high = greatest(high, values - missing_bin)  # in 8 bits: what is below it stays in order and above 0
        store(ranges, LOW, first, low)
        store(ranges, HIGH, first, high)

    return least_and_greatest


_least_and_greatest_of_many, _least_and_greatest_of_few = _least_and_greatest_of(MANY), _least_and_greatest_of(FEW)


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
def find_ranges(table, rows, start, end, ranges):
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
    for begin in range(start, end, COARSE_BLOCK):  # which stay near while their columns are gone through
        stop = min(begin + COARSE_BLOCK, end)
        for first in range(0, width - MANY + 1, MANY):
            _least_and_greatest_of_many(table.bins, rows, begin, stop, first, ranges)
        for first in range(width - width % MANY, width, FEW):
            _least_and_greatest_of_few(table.bins, rows, begin, stop, min(first, width - FEW), ranges)
    for c in range(n_columns):
        if high[c] > 0:
            high[c] += ranges[MISSING_BIN, c]
    if n_columns < table.features.size - 1:
        ranges_of_features(table.stored, table, rows, start, end, low, high)


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
def _one_below(bins, rows, start, end, dense, s, first, ranges, block):
    """The sums of one statistic over the rows at or below the thresholds of some columns."""
    threshold = load(ranges, COLUMN_THRESHOLD, first, FEW)
    total = zeros(32, FEW)
    for r in range(start, end):
        i = np.uint64(rows[r])
        total = plus_below(total, load(bins, i, first, FEW), threshold, dense[i, s])
    store(block, s, first, total)


@compiled_part
def _two_below(bins, rows, start, end, dense, first, ranges, block):
    """The same of two."""
    threshold = load(ranges, COLUMN_THRESHOLD, first, FEW)
    total0, total1 = zeros(32, FEW), zeros(32, FEW)
    for r in range(start, end):
        i = np.uint64(rows[r])
        values = load(bins, i, first, FEW)
        total0 = plus_below(total0, values, threshold, dense[i, 0])
        total1 = plus_below(total1, values, threshold, dense[i, 1])
    store(block, 0, first, total0)
    store(block, 1, first, total1)


@compiled_part
def _four_below(bins, rows, start, end, dense, s, first, ranges, block):
    """The same of four statistics, from ``s`` on."""
    threshold = load(ranges, COLUMN_THRESHOLD, first, FEW)
    total0, total1, total2, total3 = zeros(32, FEW), zeros(32, FEW), zeros(32, FEW), zeros(32, FEW)
    s0, s1, s2, s3 = np.uint64(s), np.uint64(s + 1), np.uint64(s + 2), np.uint64(s + 3)
    for r in range(start, end):
        i = np.uint64(rows[r])
        values = load(bins, i, first, FEW)
        total0 = plus_below(total0, values, threshold, dense[i, s0])
        total1 = plus_below(total1, values, threshold, dense[i, s1])
        total2 = plus_below(total2, values, threshold, dense[i, s2])
        total3 = plus_below(total3, values, threshold, dense[i, s3])
    store(block, s0, first, total0)
    store(block, s1, first, total1)
    store(block, s2, first, total2)
    store(block, s3, first, total3)


@compiled_part
def _labels_below(bins, rows, start, end, label, weight, n_dense, first, ranges, block):
    """The weights of each label over the rows at or below the thresholds of some columns."""
    threshold = load(ranges, COLUMN_THRESHOLD, first, FEW)
    for s in range(n_dense, block.shape[0]):
        store(block, s, first, zeros(32, FEW))
    for r in range(start, end):
        i = np.uint64(rows[r])
        at = np.uint64(n_dense + label[i])
        store(block, at, first, plus_below(load(block, at, first, FEW), load(bins, i, first, FEW), threshold, weight[i]))


@compiled_part
def _count_below(bins, rows, start, end, first, ranges, block, at):
    """How many rows are at or below the thresholds of some columns."""
    threshold = load(ranges, COLUMN_THRESHOLD, first, FEW)
    total = zeros(32, FEW)
    for r in range(start, end):
        total = plus_below(total, load(bins, rows[r], first, FEW), threshold, 1)
    store(block, at, first, total)


@compiled_part
def _all_below(bins, rows, start, end, grid, ranges, block, below):
    """Sums over the rows at or below each threshold; blocks of rows add up in 32 bits."""
    n_dense, width = grid.n_dense, bins.shape[1]
    for begin in range(start, end, COARSE_BLOCK):
        stop = min(begin + COARSE_BLOCK, end)
        for column in range(0, width, FEW):
            first = min(column, width - FEW)  # what the last have in common with those before them is found again
            if n_dense == 2:
                _two_below(bins, rows, begin, stop, grid.dense, first, ranges, block)
            elif n_dense < 4:
                for s in range(n_dense):
                    _one_below(bins, rows, begin, stop, grid.dense, s, first, ranges, block)
            else:
                for s in range(0, n_dense, 4):
                    _four_below(bins, rows, begin, stop, grid.dense, min(s, n_dense - 4), first, ranges, block)
            if grid.label.size:
                _labels_below(bins, rows, begin, stop, grid.label, grid.weight, n_dense, first, ranges, block)
            if grid.counted:
                _count_below(bins, rows, begin, stop, first, ranges, block, grid.size - 1)
        for s in range(grid.size):
            for f in range(width):
                below[s, f] += block[s, f]


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
    for begin in range(start, end, COARSE_BLOCK):
        stop = min(begin + COARSE_BLOCK, end)
        for c in range(features.size):
            column, missing = bins[:, columns[c]], missing_bin[columns[c]]
            first, second = np.int64(0), np.int64(0)
            for r in range(begin, stop):
                i = np.uint64(rows[r])
                is_missing = -np.int64(column[i] == missing)
                first += np.int64(dense[i, 0]) & is_missing
                second += np.int64(dense[i, 1]) & is_missing
            sums[0, features[c]] += first
            sums[1, features[c]] += second


@compiled_part
def _sum_all_missing(stored, table, grid, rows, start, end, missing_bin, missing):
    """Sums over the rows whose value is missing, for each feature of numbers."""
    if stored is None:  # a plain table: nothing is missing
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
    if grid.size == 2 and grid.n_dense == 2:
        _sum_missing_pairs(table.bins, grid.dense, rows, start, end, features[:n], columns[:n], missing_bin, missing)
    else:
        _sum_missing(table.bins, grid, rows, start, end, features[:n], columns[:n], missing_bin, missing)


@compiled_part
def sum_below(table, grid, rows, start, end, ranges, block, sums):
    """For each feature, the sums of the rows at or below its threshold and of the rows whose value is missing.

    Where features share columns, the first are those of each column: it takes the sums of codes to tell features apart.
    """
    below, missing = sums[BELOW], sums[MISSING]
    for s in range(grid.size):
        for f in range(ranges.shape[1]):
            below[s, f] = 0
            missing[s, f] = 0
    if table.layout == SPARSE:
        _sparse_below(table.stored, table.features, grid, rows, start, end, ranges[THRESHOLD], below, missing)
        return
    _all_below(table.bins, rows, start, end, grid, ranges, block, below)
    _sum_all_missing(table.stored, table, grid, rows, start, end, ranges[MISSING_BIN], missing)
