"""Which way rows go: the bin of a row, the side of a split it is on, and the rows of a node parted by it."""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import FEATURE_MAJOR, SPARSE

ROWS_AT_ONCE = 512  # stay in the first-level cache together with a small tree
ROWS_OF_NODE = 64  # as many rows for each node make it worth while to tell first which way each code goes
MOST_LEVELS = 16  # of a tree whose leaves are about equally deep


@compiled_part
def _bin_of_code(feature, code):
    """The bin of a feature in a row that has this code in its column."""
    if feature.start < 0:
        return code
    other = code - feature.start
    if other < 0 or other >= feature.n_bins - 1:
        return np.int64(feature.zero_bin)
    return other + np.int64(other >= feature.zero_bin)


@compiled_part
def _stored_bin(stored, i, f, zero_bin):
    """:func:`bin_of` in sparse rows."""
    if stored is None:
        return np.int64(0)
    low, high = stored.indptr[i], stored.indptr[i + 1]
    while low < high:
        middle = (low + high) >> 1
        if stored.indices[middle] < f:
            low = middle + 1
        else:
            high = middle
    if low < stored.indptr[i + 1] and stored.indices[low] == f:
        return np.int64(stored.entries[low])
    return np.int64(zero_bin)


@compiled_part
def bin_of(table, i, f):
    """The bin of row i in feature f."""
    if table.layout != SPARSE:
        feature = table.features[f]
        code = table.bins[feature.column, i] if table.layout == FEATURE_MAJOR else table.bins[i, feature.column]
        return _bin_of_code(feature, np.int64(code))
    return _stored_bin(table.stored, i, f, table.features[f].zero_bin)


@compiled_part
def _goes_left(b, n_bins, bin, missing_left, mask):
    """:func:`goes_left` by what was read of the split."""
    if b == n_bins:
        return missing_left
    if bin >= 0:
        return b <= bin
    return (mask[b >> 6] >> np.uint64(b & 63)) & np.uint64(1) != 0


@compiled_part
def goes_left(b, split, n_bins):
    """Which way a bin goes."""
    return _goes_left(b, n_bins, split.bin, split.missing_left, split.mask)


@compiled_part
def _part(column, goes_right, rows, start, pieces, buffer, in_order):
    """:func:`partition` by the codes of one column."""
    one = np.uint64(1)
    at = np.uint64(start)
    n_right = np.uint64(0)
    for piece in range(pieces.shape[0]):
        for r in range(pieces[piece, 0], pieces[piece, 1]):
            i = np.int32(r) if in_order else rows[np.uint64(r)]
            right = np.uint64(goes_right[column[np.uint64(i)]])
            rows[at] = i  # both written, one kept: no branch to mispredict
            buffer[n_right] = i
            at += one - right
            n_right += right
    for r in range(n_right):
        rows[at + np.uint64(r)] = buffer[np.uint64(r)]
    return np.int64(at)


@compiled_part
def _sides_of_codes(feature, split, goes_right):
    """Which way each code of the feature's column goes; the split is read once, which takes longer than to ask it."""
    n_bins, bin, missing_left, mask = feature.n_bins, split.bin, split.missing_left, split.mask
    for code in range(256 if feature.start >= 0 else n_bins + 1):
        goes_right[code] = not _goes_left(min(_bin_of_code(feature, code), n_bins), n_bins, bin, missing_left, mask)


@compiled_part
def partition(table, node, rows, start, pieces, buffer, in_order):
    """Bring rows to ``rows[start:]``: those that go left before those that go right, each in their order; where the right side starts.

    Each piece is where some of them begin and end: there in ``rows``, from ``start`` on, or if they are ``in_order`` those of the table
    themselves, which is dense. They need not be looked up.
    """
    feature = table.features[node.feature]
    if table.layout != SPARSE:
        goes_right = np.empty(256, np.uint8)
        _sides_of_codes(feature, node, goes_right)
        if table.layout == FEATURE_MAJOR:
            return _part(table.bins[feature.column], goes_right, rows, start, pieces, buffer, in_order)
        return _part(table.bins[:, feature.column], goes_right, rows, start, pieces, buffer, in_order)
    at = start
    n_right = 0
    for piece in range(pieces.shape[0]):
        for r in range(pieces[piece, 0], pieces[piece, 1]):
            i = rows[r]
            right = 1 - np.int64(goes_left(bin_of(table, i, node.feature), node, feature.n_bins))
            rows[at] = i
            buffer[n_right] = i
            at += 1 - right
            n_right += right
    for r in range(n_right):
        rows[at + r] = buffer[r]
    return at


@compiled_part
def tell_sides(table, node, rows, pieces, in_order, number, leaf):
    """Tell rows of a node which of its two leaves is theirs, ``number`` or the next; how many are in the second.

    They are given as they are to :func:`partition`.
    """
    feature = table.features[node.feature]
    column = table.bins[feature.column]
    n_right = np.int64(0)
    if in_order and node.bin >= 0 and feature.start < 0:  # codes are compared in vector registers
        last, left_as_well = np.uint8(node.bin), np.uint8(feature.n_bins if node.missing_left else node.bin)
        for piece in range(pieces.shape[0]):
            codes, told = column[pieces[piece, 0] : pieces[piece, 1]], leaf[pieces[piece, 0] : pieces[piece, 1]]
            for r in range(codes.size):
                right = np.int32((codes[r] > last) & (codes[r] != left_as_well))
                told[r] = number + right
                n_right += right
        return n_right
    goes_right = np.empty(256, np.uint8)
    _sides_of_codes(feature, node, goes_right)
    for piece in range(pieces.shape[0]):
        for r in range(pieces[piece, 0], pieces[piece, 1]):
            i = np.uint64(r) if in_order else np.uint64(rows[np.uint64(r)])
            right = goes_right[column[i]]
            leaf[i] = number + right
            n_right += right
    return n_right


@compiled_part
def _find_leaves_by_codes(table, nodes, depth, number, leaf):
    """:func:`find_leaves` in a dense table of many rows: those of a block go down one level together, and a leaf has itself for a child.

    That is more steps, but none that a processor could mispredict.
    """
    sides = np.zeros((number.size, 256), np.uint8)
    child, column = np.empty((number.size, 2), np.int32), np.zeros(number.size, np.int32)
    for n in range(number.size):
        child[n, 0] = child[n, 1] = n
        if nodes[n].feature >= 0:
            feature = table.features[nodes[n].feature]
            child[n, 0], child[n, 1], column[n] = nodes[n].left, nodes[n].right, feature.column
            _sides_of_codes(feature, nodes[n], sides[n])
    at = np.empty(ROWS_AT_ONCE, np.uint32)
    for begin in range(0, table.n_rows, ROWS_AT_ONCE):
        here = at[: min(ROWS_AT_ONCE, table.n_rows - begin)]
        for r in range(here.size):
            here[r] = 0
        for _ in range(depth):
            for r in range(here.size):
                n, i = np.uint64(here[r]), np.uint64(begin + r)
                c = np.uint64(column[n])
                code = np.uint64(table.bins[c, i] if table.layout == FEATURE_MAJOR else table.bins[i, c])
                here[r] = child[n, np.uint64(sides[n, code])]
        for r in range(here.size):
            leaf[begin + r] = number[here[r]]


@compiled
def find_leaves(table, nodes, number, leaf):
    """The number of the leaf each row of the table falls into."""
    depths = np.zeros(number.size, np.int64)  # children come after their parents; a tree of a forest has no depths of its own
    for n in range(number.size):
        if nodes[n].feature >= 0:
            depths[nodes[n].left] = depths[nodes[n].right] = depths[n] + 1
    depth = depths.max()
    if table.layout != SPARSE and depth <= MOST_LEVELS and number.size * ROWS_OF_NODE <= table.n_rows:
        _find_leaves_by_codes(table, nodes, depth, number, leaf)
        return
    for i in range(table.n_rows):
        n = 0
        while nodes[n].feature >= 0:
            f = nodes[n].feature
            n = nodes[n].left if goes_left(bin_of(table, i, f), nodes[n], table.features[f].n_bins) else nodes[n].right
        leaf[i] = number[n]
