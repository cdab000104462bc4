"""The sums of the rows of each code: of categories, and of columns that several features share.

Codes of many columns that have few of them are compared in vector registers, see :mod:`~manyboost.trees.lanes`; sums of others are looked
up. A feature of such a column owns some of its codes; with all others it is in its ``zero_bin``, see
:func:`~manyboost.trees.binning.share_columns`.
"""

import numpy as np

from manyboost.compiled import compiled_part
from manyboost.trees.exact_sums import COARSE_BLOCK
from manyboost.trees.lanes import FEW, as_long, load, plus_below, store, zeros

CODES_TO_PACK = 24  # of a column, on average; with more of them, taking the sums of each block apart costs more than it saves
MOST_CODES_IN_LANES = 8  # of a column
LEVELS = np.repeat(np.arange(MOST_CODES_IN_LANES + 1, dtype=np.uint8)[:, None], FEW, axis=1)  # row c: c in every lane


@compiled_part
def _shared_columns(table):
    """The columns that several features share, and which of them each column is."""
    n_columns = table.columns.size - 1
    shared = np.empty(n_columns, np.uint64)
    number = np.empty(n_columns, np.int64)
    n = 0
    for c in range(n_columns):
        number[c] = n
        if table.features[table.columns[c].first].start >= 0:
            shared[n] = c
            n += 1
    return shared[:n], number


@compiled_part
def _find_codes(bins, rows, start, end, columns, found):
    """Which codes the rows have in some of the columns."""
    for begin in range(start, end, COARSE_BLOCK):
        stop = min(begin + COARSE_BLOCK, end)
        for c in range(columns.size):
            column, of_column = bins[:, columns[c]], found[c]
            for r in range(begin, stop):
                of_column[column[np.uint64(rows[r])]] = 1


@compiled_part
def ranges_of_features(stored, table, rows, start, end, low, high):
    """From ranges of columns to ranges of features; backwards, because no feature stands before its column.

    Features of two bins have one threshold, whatever their range: where all rows are on one side of it, its split is of no use. So codes
    need not be looked at for them.
    """
    if stored is None:  # a plain table: no columns are shared
        return
    only_twos = True
    for f in range(table.features.size - 1):
        only_twos &= (table.features[f].start < 0) | (table.features[f].n_bins == 2)
    if only_twos:
        for f in range(table.features.size - 2, -1, -1):
            feature = table.features[f]
            low[f] = low[feature.column] if feature.start < 0 else np.uint8(0)
            high[f] = high[feature.column] if feature.start < 0 else np.uint8(1)
        return
    shared, number = _shared_columns(table)
    found = np.zeros((shared.size, 256), np.uint8)
    _find_codes(table.bins, rows, start, end, shared, found)
    n_found = np.zeros(shared.size, np.int64)
    for c in range(shared.size):
        for code in range(256):
            n_found[c] += found[c, code]
    for f in range(table.features.size - 2, -1, -1):
        feature = table.features[f]
        if feature.start < 0:
            low[f] = low[feature.column]
            high[f] = high[feature.column]
            continue
        low[f] = 255
        high[f] = 0
        c = number[feature.column]
        n_other = n_found[c]  # codes with which the feature is in its zero_bin
        for other in range(feature.n_bins - 1):
            if found[c, feature.start + other]:
                b = np.uint8(other + np.int64(other >= feature.zero_bin))
                low[f] = min(low[f], b)
                high[f] = max(high[f], b)
                n_other -= 1
        if n_other > 0:
            low[f] = min(low[f], np.uint8(feature.zero_bin))
            high[f] = max(high[f], np.uint8(feature.zero_bin))


@compiled_part
def _sum_all_by_code(bins, grid, rows, start, end, columns, places, hist):
    """:func:`sum_codes` of any statistics."""
    size, n_dense = np.uint64(grid.size), np.uint64(grid.n_dense)
    dense, label, weight, counted = grid.dense, grid.label, grid.weight, grid.counted  # read once, not for each row
    for r in range(start, end):
        i = np.uint64(rows[r])
        values = bins[i]
        for c in range(columns.size):
            at = places[c] + size * np.uint64(values[columns[c]])
            for s in range(n_dense):  # by places: a slice for each row would take as long as its sums
                hist[at + s] += dense[i, s]
            if label.size:
                hist[at + n_dense + np.uint64(label[i])] += weight[i]
            if counted:
                hist[at + size - np.uint64(1)] += 1


@compiled_part
def _sum_pair_by_code(bins, rows, start, end, dense, columns, places, hist):
    """:func:`sum_codes` of two statistics, which is much the faster for knowing it."""
    for begin in range(start, end, COARSE_BLOCK):
        stop = min(begin + COARSE_BLOCK, end)
        for c in range(columns.size):
            column, of_column = bins[:, columns[c]], hist[places[c] :]
            for r in range(begin, stop):
                i = np.uint64(rows[r])
                at = np.uint64(2) * np.uint64(column[i])
                of_column[at] += dense[i, 0]
                of_column[at + np.uint64(1)] += dense[i, 1]


@compiled_part
def _add_packed(bins, rows, start, end, dense, columns, places, packed):
    """Add both statistics of the rows in one word to the sums of their codes in some of the columns.

    Four columns at a time: with few codes most rows have that of the row before, and must wait for its sum.
    """
    four, c = np.uint64(columns.size & ~3), np.uint64(0)
    while c < four:
        k0, k1, k2, k3 = columns[c], columns[c + np.uint64(1)], columns[c + np.uint64(2)], columns[c + np.uint64(3)]
        p0, p1, p2, p3 = places[c], places[c + np.uint64(1)], places[c + np.uint64(2)], places[c + np.uint64(3)]
        for r in range(np.uint64(start), np.uint64(end)):
            i = np.uint64(rows[r])
            both = (np.int64(dense[i, 0]) << 32) + np.int64(dense[i, 1])
            packed[p0 + np.uint64(bins[i, k0])] += both
            packed[p1 + np.uint64(bins[i, k1])] += both
            packed[p2 + np.uint64(bins[i, k2])] += both
            packed[p3 + np.uint64(bins[i, k3])] += both
        c += np.uint64(4)
    while c < np.uint64(columns.size):
        k0, p0 = columns[c], places[c]
        for r in range(np.uint64(start), np.uint64(end)):
            i = np.uint64(rows[r])
            packed[p0 + np.uint64(bins[i, k0])] += (np.int64(dense[i, 0]) << 32) + np.int64(dense[i, 1])
        c += np.uint64(1)


@compiled_part
def _sum_packed_pair_by_code(bins, rows, start, end, dense, columns, places, hist):
    """The same with both in one word, in which the sums of a block of rows do not meet: half the additions."""
    packed = np.zeros(hist.size >> 1, np.int64)
    first_of = places >> np.uint64(1)
    for begin in range(start, end, COARSE_BLOCK):
        _add_packed(bins, rows, begin, min(begin + COARSE_BLOCK, end), dense, columns, first_of, packed)
        for s in range(packed.size):
            second = np.int64(np.int32(packed[s]))
            hist[2 * s] += (packed[s] - second) >> 32
            hist[2 * s + 1] += second
            packed[s] = 0


@compiled_part
def _at_or_below_two(bins, rows, start, end, dense, first, code, below):
    """Add to ``below`` the sums of two statistics over the rows at or below ``code``, then those up to the next, in :data:`FEW` columns."""
    low, high = load(LEVELS, code, 0, FEW), load(LEVELS, code + 1, 0, FEW)
    for begin in range(start, end, COARSE_BLOCK):
        g_low, h_low, g_high, h_high = zeros(32, FEW), zeros(32, FEW), zeros(32, FEW), zeros(32, FEW)
        for r in range(begin, min(begin + COARSE_BLOCK, end)):
            i = np.uint64(rows[r])
            values = load(bins, i, first, FEW)
            g_low = plus_below(g_low, values, low, dense[i, 0])
            h_low = plus_below(h_low, values, low, dense[i, 1])
            g_high = plus_below(g_high, values, high, dense[i, 0])
            h_high = plus_below(h_high, values, high, dense[i, 1])
        store(below, 2 * code, 0, load(below, 2 * code, 0, FEW) + as_long(g_low))
        store(below, 2 * code + 1, 0, load(below, 2 * code + 1, 0, FEW) + as_long(h_low))
        store(below, 2 * code + 2, 0, load(below, 2 * code + 2, 0, FEW) + as_long(g_high))
        store(below, 2 * code + 3, 0, load(below, 2 * code + 3, 0, FEW) + as_long(h_high))


@compiled_part
def sum_few_codes(bins, rows, start, end, dense, total, n_codes, places, hist):
    """Sums of two statistics over the rows of each code; ``total`` are those of all rows.

    Of each :data:`FEW` neighbouring columns ``n_codes`` is the largest number of codes, 0 where they are none of ours. Of each column
    ``places`` says where its sums begin in ``hist``, and of how many codes there are some: none where it is looked up instead.
    """
    below = np.empty((2 * MOST_CODES_IN_LANES, FEW), np.int64)
    for group in range(n_codes.size):
        n, first = n_codes[group], min(group * FEW, bins.shape[1] - FEW)
        below[:] = 0
        for code in range(0, n - 1, 2):
            _at_or_below_two(bins, rows, start, end, dense, first, code, below)
        for lane in range(group * FEW - first, FEW if n > 0 else 0):  # without those that are of the group before, too
            at, n_sums = places[0, first + lane], places[1, first + lane]
            g, h = np.int64(0), np.int64(0)
            for code in range(n_sums):
                last = code >= n - 1
                to_g = total[0] if last else below[2 * code, lane]
                to_h = total[1] if last else below[2 * code + 1, lane]
                hist[at + 2 * code] = to_g - g
                hist[at + 2 * code + 1] = to_h - h
                g, h = to_g, to_h


@compiled_part
def sum_codes(table, grid, rows, start, end, columns, places, hist):
    """Sums over the rows of each code of some of the columns, those of each from its place on: a row is read once for all."""
    if grid.size != 2 or grid.n_dense != 2:
        _sum_all_by_code(table.bins, grid, rows, start, end, columns, places, hist)
    elif hist.size <= 2 * CODES_TO_PACK * columns.size:
        _sum_packed_pair_by_code(table.bins, rows, start, end, grid.dense, columns, places, hist)
    else:
        _sum_pair_by_code(table.bins, rows, start, end, grid.dense, columns, places, hist)


@compiled_part
def sums_of_features(features, size, node_sums, by_code, place, threshold, below):
    """From sums of columns to sums of features, as :func:`ranges_of_features`; ``place`` says where those of its codes begin."""
    for f in range(features.size - 2, -1, -1):
        feature = features[f]
        if feature.start < 0:
            for s in range(size):
                below[s, f] = below[s, feature.column]
            continue
        with_zero = feature.zero_bin <= threshold[f]
        for s in range(size):
            amount = node_sums[s] if with_zero else np.int64(0)
            for other in range(feature.n_bins - 1):  # with the zero_bin, all but those above the threshold
                is_below = other + np.int64(other >= feature.zero_bin) <= threshold[f]
                if is_below != with_zero:
                    amount += by_code[place[f] + other * size + s] * (-1 if with_zero else 1)
            below[s, f] = amount
