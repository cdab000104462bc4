"""From numbers and categories to bins of one byte.

A numeric column is cut midway between distinct values: all of them when there are few, else where the exact cumulative weight
passes each quantile. A categorical column has one bin per category. A missing value has the bin after the last. Weights are integers on
the fine grid while they are added up, so the cuts do not depend on the order of the rows, and a weight of two is two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.compiled import compiled
from manyboost.trees.exact_sums import fine_exponent, on_fine_grid
from manyboost.trees.lanes import FEW
from manyboost.trees.random_numbers import mix, words_of
from manyboost.trees.statistics import Floats

MAX_BINS = 255
HEAVY = 4  # quantiles that one value holds, from which on it leaves a bin to the lighter ones before it
FEATURE_MAJOR, ROW_MAJOR, SPARSE = range(3)
FEATURE = np.dtype(
    [
        ("offset", np.int64),  # of its column's first bin in a histogram of all columns
        ("n_bins", np.int64),  # without the missing bin, whose number this is
        ("zero_bin", np.int64),
        ("categorical", np.bool_),
        ("missing", np.bool_),  # are values missing in this table?
        ("column", np.int64),  # of ``bins`` that holds it
        ("start", np.int64),  # in a shared column, the code of its first bin other than zero_bin; -1 in a column of its own
    ],
    align=True,
)
COLUMN = np.dtype([("offset", np.int64), ("first", np.int64)], align=True)  # its first histogram bin, its first feature
MAX_SHARED_BINS = 16  # a feature of more bins has a column of its own
CELLS_WORTH_KERNELS = 1 << 16  # fewer are read in a ten-thousandth of a second; kernels for shared columns compile for many seconds
MIN_SHARED_IN_ROW = 8  # where rows are read whole, so many columns of one byte cost what looking up one code does
Mapper = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]


class Stored(NamedTuple):
    """What is stored of sparse rows: row i holds ``entries[a:b]`` at the columns ``indices[a:b]``, ``a, b = indptr[i:i+2]``."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    entries: NDArray[np.uint8]


class Table(NamedTuple):
    """Binned rows, as the kernels see them.

    ``bins`` is (columns, n) when FEATURE_MAJOR, (n, :func:`row_width`) when ROW_MAJOR, with zeros behind the last column, and empty when
    SPARSE, where a row has the entries that are ``stored`` and ``zero_bin`` everywhere else. Unless SPARSE, neighbouring features of which
    no row has more than one off its ``zero_bin``, such as one-hot columns, may share a column: see :func:`share_columns`.
    """

    layout: int
    n_rows: int
    bins: NDArray[np.uint8]
    stored: Stored | None  # unless SPARSE, None, or empty where kernels are told of a table that is not plain
    features: NDArray[np.void]  # (p + 1,) of FEATURE; the last only says where the histogram ends
    columns: NDArray[np.void]  # (columns + 1,) of COLUMN; likewise

    @property
    def n_features(self) -> int:
        return len(self.features) - 1

    @property
    def is_plain(self) -> bool:
        """Are all rows dense and of numbers, of which none is missing and each has a column of its own?"""
        features = self.features
        return self.stored is None and not (features["categorical"] | features["missing"] | (features["start"] >= 0)).any()


@dataclass(frozen=True)
class Binning:
    """Where each column is cut.

    Attributes
    ----------
    cuts : flat array; column f owns ``cuts[offset[f]:offset[f + 1]]``, rising
    offset : (p + 1,) array
    n_categories : (p,) array, 0 for a numeric column
    """

    cuts: Floats
    offset: NDArray[np.int64]
    n_categories: NDArray[np.int32]

    @property
    def n_features(self) -> int:
        return len(self.n_categories)

    def column_cuts(self, feature: int) -> Floats:
        return self.cuts[self.offset[feature] : self.offset[feature + 1]]

    def n_bins(self) -> NDArray[np.int32]:
        return np.where(self.n_categories > 0, self.n_categories, np.diff(self.offset) + 1).astype(np.int32)

    def thresholds(self, feature: NDArray[np.int32], bin_: NDArray[np.int32]) -> Floats:
        """The value at or below which a row goes left; 0 at categorical columns and at leaves (feature -1).

        Infinite after the last bin, where known values part from missing ones.
        """
        numeric = (feature >= 0) & (self.n_categories[feature] == 0)
        at = self.offset[feature] + bin_
        inside = numeric & (at < self.offset[feature + 1])
        out = np.where(numeric, np.inf, 0.0)
        out[inside] = self.cuts[at[inside]]
        return out


def _midpoints(low: Floats, high: Floats) -> Floats:
    """A number not below ``low`` and below ``high``; halves first, so that 1e308 does not overflow."""
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)


def _column_cuts(values: Floats, weights: NDArray[np.int64] | None, max_bins: int) -> Floats:
    if weights is None:
        distinct, mass = np.unique(values, return_counts=True)
    else:
        order = np.argsort(values, kind="stable")
        values = values[order]
        first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.empty(0, np.intp)
        distinct, mass = values[first], np.add.reduceat(weights[order], first) if len(first) else np.empty(0, np.int64)
    if len(distinct) <= max_bins:
        return _midpoints(distinct[:-1], distinct[1:])
    cumulative = np.cumsum(mass)
    each, over = divmod(int(cumulative[-1]), max_bins)  # total * k / max_bins, rounded up, in integers: a tie must not hang on a rounding
    k = np.arange(1, max_bins)
    last, n_quantiles = np.unique(np.searchsorted(cumulative[:-1], each * k - (-over * k // max_bins)), return_counts=True)
    # a value that holds many quantiles leaves bins to spare: one for the lighter ones before it, which would be told from it nowhere
    last = np.union1d(last, last[(n_quantiles >= HEAVY) & (last > 0)] - 1)  # the last value of each bin
    last = last[last < len(distinct) - 1]
    return _midpoints(distinct[last], distinct[last + 1])


def _column(X: Any, feature: int) -> Floats:
    return np.ascontiguousarray(X[:, feature], dtype=np.float64)


def find_cuts(X: Any, weight: Floats, n_categories: NDArray[np.int32], max_bins: int, each: Mapper = map) -> Binning:
    """Weighted quantiles of each numeric column of ``X`` (array or sparse matrix); ``each`` may be a thread pool's map."""
    uniform = bool((weight == weight[0]).all())
    whole = None if uniform else on_fine_grid(weight, fine_exponent(weight))
    if sparse.issparse(X):
        return _sparse_cuts(X.tocsc(), np.ones(len(weight), np.int64) if whole is None else whole, n_categories, max_bins, each)

    def cuts_of(feature: int) -> Floats:
        if n_categories[feature]:
            return np.empty(0)
        values = _column(X, feature)
        known = ~np.isnan(values)
        if known.all():
            return _column_cuts(values, whole, max_bins)
        return _column_cuts(values[known], None if whole is None else whole[known], max_bins)

    cuts = list(each(cuts_of, range(X.shape[1])))
    offset = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
    return Binning(np.concatenate([np.empty(0), *cuts]), offset, n_categories.astype(np.int32))


def _sparse_cuts(X: Any, weight: NDArray[np.int64], n_categories: NDArray[np.int32], max_bins: int, each: Mapper) -> Binning:
    """As :func:`_column_cuts` of each column, the zeros that are not stored being one value of their joint weight.

    A column with room for all of its values is cut between them, whatever they weigh: all such columns are cut together, since calls
    of numpy for each of a hundred thousand columns would take longer than all else. Time and memory grow with what is stored.
    """
    n, p = X.shape
    n_stored = np.diff(X.indptr)
    numeric = n_categories == 0
    together = numeric & (n_stored > 0) & (n_stored < max_bins)
    chosen = np.flatnonzero(np.repeat(together, n_stored) & ~np.isnan(X.data))
    with_zeros = np.flatnonzero(together & (n_stored < n))
    values = np.append(X.data[chosen].astype(np.float64), np.zeros(len(with_zeros)))
    column = np.append(np.repeat(np.arange(p, dtype=np.int32), n_stored)[chosen], with_zeros)
    order = np.lexsort((values, column))
    values, column = values[order], column[order]
    step = np.flatnonzero((column[1:] == column[:-1]) & (values[1:] != values[:-1]))
    total = weight.sum()

    def cuts_of(feature: int) -> Floats:
        begin, end = X.indptr[feature], X.indptr[feature + 1]
        values, rows = X.data[begin:end].astype(np.float64), X.indices[begin:end]
        known = ~np.isnan(values)
        values, weights = values[known], weight[rows[known]]
        if len(rows) < n:
            values, weights = np.append(values, 0.0), np.append(weights, total - weight[rows].sum())
        return _column_cuts(values, weights, max_bins)

    alone = np.flatnonzero(numeric & (n_stored >= max_bins))
    found = list(each(cuts_of, alone.tolist()))
    cuts = np.concatenate([_midpoints(values[step], values[step + 1]), *found])
    owner = np.append(column[step], np.repeat(alone, np.array([len(part) for part in found], np.intp)))
    offset = np.append(0, np.cumsum(np.bincount(owner, minlength=p))).astype(np.int64)
    return Binning(cuts[np.argsort(owner, kind="stable")], offset, n_categories.astype(np.int32))


@compiled
def _bin_values(values, cuts, missing_bin, out):
    """The number of cuts below each value."""
    for i in range(values.size):
        x = values[i]
        low = 0
        high = cuts.size
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < x:
                low = middle + 1
            else:
                high = middle
        out[i] = missing_bin if np.isnan(x) else low


@compiled
def _bin_stored(values, indptr, cuts, offset, out):
    """:func:`_bin_values` of each column of a sparse matrix, as if all were numbers; one call, since there may be very many columns."""
    for f in range(indptr.size - 1):
        a, b = indptr[f], indptr[f + 1]
        c, d = offset[f], offset[f + 1]
        _bin_values(values[a:b], cuts[c:d], d - c + 1, out[a:b])


def bin_values(values: Floats, binning: Binning, feature: int, out: NDArray[np.uint8]) -> None:
    """Bins of values of one column; categories are their own bins, unknown and missing ones (NaN) go to the missing bin."""
    if n := int(binning.n_categories[feature]):
        out[:] = np.where(np.isnan(values), n, np.nan_to_num(values)).astype(np.uint8)
    else:
        cuts = binning.column_cuts(feature)
        _bin_values(values, cuts, len(cuts) + 1, out)


def row_width(p: int) -> int:
    """The bytes of a row of p bins: enough for a vector register, and a multiple of four, for rows that are moved by words."""
    return max(FEW, -(-p // 4) * 4)


def apply_bins(X: Any, binning: Binning, layout: int, each: Mapper = map) -> Table:
    """The rows of ``X`` as bins; a sparse matrix stays sparse whatever ``layout`` is asked for."""
    n, p = X.shape
    n_bins = binning.n_bins()
    n_negative = np.append(0, np.cumsum(binning.cuts < 0.0))
    zero_bin = np.diff(n_negative[binning.offset])  # the number of cuts below zero; a column of categories has none
    features = np.zeros(p + 1, FEATURE)
    features["offset"][1:] = np.cumsum(n_bins + 1)
    features["n_bins"][:p], features["zero_bin"][:p], features["categorical"][:p] = n_bins, zero_bin, binning.n_categories > 0
    missing = features["missing"]
    bins = np.empty((0, 0), np.uint8)
    stored = None
    if sparse.issparse(X):
        layout = SPARSE
        columns = X.tocsc()
        coded = np.empty(columns.nnz, np.uint8)
        values, indptr = np.asarray(columns.data, np.float64), columns.indptr.astype(np.int64)
        _bin_stored(values, indptr, binning.cuts, binning.offset, coded)
        for feature in np.flatnonzero(binning.n_categories).tolist():
            begin, end = indptr[feature], indptr[feature + 1]
            bin_values(values[begin:end], binning, feature, coded[begin:end])
        where = np.flatnonzero(coded == np.repeat(n_bins.astype(np.uint8), np.diff(indptr)))
        missing[np.searchsorted(indptr, where, side="right") - 1] = True
        rows = sparse.csc_array((coded, columns.indices, columns.indptr), shape=(n, p)).tocsr()
        rows.sort_indices()
        stored = Stored(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)
    else:
        bins = np.empty((p, n), np.uint8) if layout == FEATURE_MAJOR else np.zeros((n, row_width(p)), np.uint8)

        def fill(feature: int) -> None:
            column = bins[feature] if layout == FEATURE_MAJOR else np.empty(n, np.uint8)
            bin_values(_column(X, feature), binning, feature, column)
            missing[feature] = bool((column == n_bins[feature]).any())
            if layout == ROW_MAJOR:
                bins[:, feature] = column

        list(each(fill, range(p)))
    features["column"], features["start"] = np.arange(p + 1), -1
    columns = np.zeros(p + 1, COLUMN)
    columns["offset"], columns["first"] = features["offset"], np.arange(p + 1)
    return Table(layout, n, bins, stored, features, columns)


def _exclusive_runs(table: Table, n_least: int) -> list[list[int]]:
    """The features in order, in runs of at least ``n_least`` that may share a column, the others by themselves."""
    features = table.features
    columns = table.bins if table.layout == FEATURE_MAJOR else table.bins.T
    fits = (features["n_bins"] <= MAX_SHARED_BINS) & ~features["missing"] & ~features["categorical"]
    runs: list[list[int]] = []
    n_codes, taken = 0, np.zeros(table.n_rows, np.bool_)
    for f in range(table.n_features):
        off = columns[f] != features["zero_bin"][f] if fits[f] else None
        more = int(features["n_bins"][f]) - 1
        if off is not None and runs and n_codes and n_codes + more <= MAX_BINS and not (taken & off).any():
            runs[-1].append(f)
            n_codes, taken = n_codes + more, taken | off
        else:
            runs.append([f])
            n_codes, taken = (1 + more, off) if off is not None else (0, taken)
    return [part for run in runs for part in ([run] if len(run) >= n_least else [[f] for f in run])]


def share_columns(table: Table, worth: int = CELLS_WORTH_KERNELS) -> Table:
    """The same table, in which runs of features that exclude each other share a column: less to read for one-hot columns.

    A plain table would no longer be one, and stays as it is unless that saves at least ``worth`` cells.

    Code 0 of a shared column is "all of them in their zero_bin"; each feature owns the codes of its other bins. What a histogram of the
    column lacks, the zero_bin of each feature, is the rest of the node's sums, exactly.
    """
    if table.layout == SPARSE:
        return table
    runs = _exclusive_runs(table, 2 if table.layout == FEATURE_MAJOR else MIN_SHARED_IN_ROW)
    saved = (table.n_features - len(runs)) * table.n_rows
    if saved == 0 or (table.is_plain and saved < worth):
        return table
    by_row = table.layout == ROW_MAJOR
    bins, features = table.bins.T if by_row else table.bins, table.features.copy()
    columns = np.zeros(len(runs) + 1, COLUMN)
    kept = np.zeros((table.n_rows, row_width(len(runs))) if by_row else (len(runs), table.n_rows), np.uint8)
    shared = kept.T if by_row else kept
    for c, run in enumerate(runs):
        columns["first"][c], columns["offset"][c + 1] = run[0], columns["offset"][c] + features["n_bins"][run[0]] + 1
        features["column"][run], features["offset"][run] = c, columns["offset"][c]
        if len(run) == 1:
            shared[c] = bins[run[0]]
            continue
        code = 1
        for f in run:
            features["start"][f] = code
            zero = int(features["zero_bin"][f])
            rows = np.flatnonzero(bins[f] != zero)
            others = bins[f][rows].astype(np.int64)
            shared[c][rows] = code + others - (others > zero)
            code += int(features["n_bins"][f]) - 1
        columns["offset"][c + 1] = columns["offset"][c] + code
    columns["first"][-1] = table.n_features
    features["offset"][-1], features["column"][-1] = columns["offset"][-1], len(runs)
    return table._replace(bins=kept, features=features, columns=columns)


def take_rows(table: Table, rows: NDArray[np.intp]) -> Table:
    """The table of the given rows, in the given order."""
    if table.stored is not None:
        indptr, indices, entries = table.stored
        part = sparse.csr_array((entries, indices, indptr), shape=(table.n_rows, table.n_features))[rows]
        part.sort_indices()
        return table._replace(n_rows=len(rows), stored=Stored(part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data))
    return table._replace(n_rows=len(rows), bins=np.take(table.bins, rows, axis=1 if table.layout == FEATURE_MAJOR else 0))


def put_in_order(table: Table, order: NDArray[np.intp]) -> Table:
    """The table of all rows in the given order, in the same memory unless it is sparse: nobody else may hold it."""
    if table.stored is not None:
        return take_rows(table, order)
    for column in table.bins if table.layout == FEATURE_MAJOR else table.bins.view(np.uint32).T:  # four columns of rows at once
        column[:] = np.take(column, order)
    return table


@compiled
def _add_stored_keys(stored, zeros, keys):
    """:func:`_add_keys` of sparse rows, ``zeros`` being each feature's word of its ``zero_bin``.

    Other words are made where they are met: those of all bins of all features would be far more than what is stored.
    """
    base = np.uint64(0)
    for f in range(zeros.size):
        base += zeros[f]
    for i in range(keys.size):
        key = base
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            f = np.int64(stored.indices[e])
            key += mix(np.uint64(256 * f + stored.entries[e])) - zeros[f]
        keys[i] += key


@compiled
def _add_keys(table, words, keys):
    """Add a word of (column, code) for each column; the words wrap around, so the order does not matter."""
    n_columns = table.columns.size - 1
    if table.layout == ROW_MAJOR:
        for i in range(table.n_rows):
            for c in range(n_columns):
                keys[i] += words[c, table.bins[i, c]]
    else:
        for c in range(n_columns):
            for i in range(table.n_rows):
                keys[i] += words[c, table.bins[c, i]]


def _words_of_codes(table: Table, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What the words of features (p, 256) add up to for each code of a column: (columns, 256)."""
    features = table.features[:-1]
    out: NDArray[np.uint64] = words[table.columns["first"][:-1]]
    zeros = words[np.arange(len(words)), features["zero_bin"]]
    for c in np.unique(features["column"][features["start"] >= 0]).tolist():
        shared = np.flatnonzero(features["column"] == c)
        out[c] = zeros[shared].sum()
        for f in shared:
            others = np.delete(words[f, : features["n_bins"][f]], features["zero_bin"][f])
            start = features["start"][f]
            out[c, start : start + len(others)] += others - zeros[f]
    return out


def row_keys(table: Table, label: NDArray[np.integer]) -> NDArray[np.uint64]:
    """A 64-bit key of each row's bins and label: equal rows have equal keys, wherever they stand and however they are stored."""
    if len(label) != table.n_rows:  # the kernel checks no bounds
        raise ValueError(f"there are {len(label)} labels for {table.n_rows} rows.")
    n_words = 256 * table.n_features
    keys = words_of(label.astype(np.uint64) + np.uint64(n_words))  # as if of one more feature: words of its own
    if table.stored is not None:
        zeros = 256 * np.arange(table.n_features, dtype=np.uint64) + table.features["zero_bin"][:-1].astype(np.uint64)
        _add_stored_keys(table.stored, words_of(zeros), keys)
    else:
        words = words_of(np.arange(n_words, dtype=np.uint64)).reshape(-1, 256)
        _add_keys(table, _words_of_codes(table, words), keys)
    return keys
