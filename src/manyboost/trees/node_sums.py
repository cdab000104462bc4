"""Statistics of rows as integers, and their sums over the rows of a node.

With the criterion ``pair_of_classes`` each node has statistics of its own: those of the pair of classes that it gains most by.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled_part
from manyboost.trees.lanes import EIGHT, as_floats, as_integers, as_long, load, nearest, spread, store, zeros

ROWS_EXACT_AS_FLOATS = 1 << 28  # of numbers of at most 25 bits, as on the coarse grid


class Shares(NamedTuple):
    """What the pair of classes of a node is chosen by: w p of each class, the row's class and w."""

    of_class: NDArray[np.signedinteger]  # (n, K); behind the last row there is room for the lanes of its last classes
    own: NDArray[np.uint16]
    weight: NDArray[np.signedinteger]


class Grid(NamedTuple):
    """Statistics as integers: int64 on the fine grid, or int32 on the coarse one.

    There are no weights, but labels, where each weight is the row's dense number of its label: see :func:`weights_of_labels`.
    """

    dense: NDArray[np.signedinteger] | None  # None where the kernels are those of plain tables and one weight of each row is all
    label: NDArray[np.uint16]
    weight: NDArray[np.signedinteger]
    n_dense: int
    n_labels: int
    size: int  # sums of a node, the count of rows last if it is kept
    counted: bool
    shares: Shares | None  # of no rows unless the criterion is pair_of_classes; None where the kernels are those of plain tables


@compiled_part
def weights_of_labels(grid):
    """An array that has what counts for the label of row i at ``i * pitch + label * step``, and both of these: no branch for each row."""
    if grid.weight.size:
        return grid.weight, np.uint64(1), np.uint64(0)
    return grid.dense.reshape(-1), np.uint64(grid.n_dense), np.uint64(1)


@compiled_part
def _sum_labels(label, weight, rows, start, end, sums):
    """Four rows at a time into sums of their own, so that rows of one label do not wait for each other."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    of_turn = np.zeros((4, sums.size), np.int64)
    s0, s1, s2, s3 = of_turn[0], of_turn[1], of_turn[2], of_turn[3]
    for q in range((end - start) >> 2):
        r = np.uint64(start + 4 * q)
        i0, i1, i2, i3 = np.uint64(rows[r]), np.uint64(rows[r + one]), np.uint64(rows[r + two]), np.uint64(rows[r + three])
        s0[label[i0]] += weight[i0]
        s1[label[i1]] += weight[i1]
        s2[label[i2]] += weight[i2]
        s3[label[i3]] += weight[i3]
    for r in range(end - ((end - start) & 3), end):
        i = rows[r]
        s0[label[i]] += weight[i]
    for k in range(sums.size):
        sums[k] = (s0[k] + s1[k]) + (s2[k] + s3[k])


@compiled_part
def _sum_two(dense, rows, start, end, sums):
    """Two statistics, in registers."""
    first, second = np.int64(0), np.int64(0)
    for r in range(start, end):
        i = np.uint64(rows[r])
        first += dense[i, 0]
        second += dense[i, 1]
    sums[0], sums[1] = first, second


@compiled_part
def _sum_dense(dense, n_dense, label, rows, start, end, sums):
    """Dense statistics; those of the rows' labels once more, behind them, if there are labels."""
    if dense is None:
        return
    for s in range(sums.size):
        sums[s] = 0
    if n_dense == 2:
        _sum_two(dense, rows, start, end, sums)
    elif n_dense > 0:
        for r in range(start, end):
            i = np.uint64(rows[r])
            for s in range(n_dense):
                sums[s] += dense[i, s]
    if label.size:
        of_labels = sums[n_dense:]
        for r in range(start, end):
            i = np.uint64(rows[r])
            k = np.uint64(label[i])
            of_labels[k] += dense[i, k]


@compiled_part
def sum_rows(grid, rows, start, end, sums):
    """The sums of a node."""
    n_dense = grid.n_dense
    labels_have_weights = grid.weight.size > 0
    _sum_dense(grid.dense, n_dense, grid.label[: 0 if labels_have_weights else grid.label.size], rows, start, end, sums)
    if labels_have_weights:
        _sum_labels(grid.label, grid.weight, rows, start, end, sums[n_dense : n_dense + grid.n_labels])
    if grid.counted:
        sums[grid.size - 1] = end - start


@compiled_part
def sum_parts(grid, rows, stretches, sums):
    """The sums of a node whose rows are in several stretches."""
    sum_rows(grid, rows, stretches[0, 0], stretches[0, 1], sums)
    if stretches.shape[0] > 1:
        more = np.empty(grid.size, np.int64)
        for u in range(1, stretches.shape[0]):
            sum_rows(grid, rows, stretches[u, 0], stretches[u, 1], more)
            for s in range(grid.size):
                sums[s] += more[s]


@compiled_part
def sum_runs(grid, runs, pieces, sums):
    """The sums of pieces of the table where one weight of each row is all, and runs of one label are known."""
    for k in range(grid.n_labels):
        sums[k] = 0
    for piece in range(pieces.shape[0]):
        for run in range(1, runs[0] + 1):
            start, end = max(runs[run], pieces[piece, 0]), min(runs[run + 1], pieces[piece, 1])
            if start < end:
                of_run, total = grid.weight[start:end], np.int64(0)
                for r in range(of_run.size):
                    total += of_run[r]
                sums[grid.label[start]] += total


@compiled_part
def _inverse(w):
    """1 / w of a row: one division serves all classes."""
    return 1.0 / np.float64(w) if w > 0 else 0.0


@compiled_part
def _curvature_of_pair(q, other, inverse):
    """``w (p (1-p) + p' (1-p') + 2 p p')`` of a row for q = w p, other = w p' and 1 / w, as a whole number."""
    d = np.float64(q - other)
    return np.int64(np.rint(np.float64(q) + np.float64(other) - d * d * inverse))


@compiled_part
def has_pairs(of_rows):
    """Has each node a pair of classes of its own?"""
    if of_rows is None:
        return False
    return of_rows.own.size > 0


@compiled_part
def _sum_shares(shares, rows, start, end, sums):
    """The sums of w p of each class; those behind the last class are not worth looking at."""
    for first in range(0, shares.shape[1], EIGHT):
        total = zeros(64, EIGHT)
        for r in range(start, end):
            total = total + as_long(load(shares, rows[r], first, EIGHT))
        store(sums, 0, first, total)


@compiled_part
def _sum_fine_curvatures(shares, weights, rows, start, end, up, sums):
    """:func:`_sum_curvatures` of numbers too large, or too many, for floats to add them exactly."""
    for first in range(0, shares.shape[1], EIGHT):
        total = zeros(64, EIGHT)
        for r in range(start, end):
            i = np.uint64(rows[r])
            q, other = spread(shares[i, up], EIGHT), as_long(load(shares, i, first, EIGHT))
            d = as_floats(q - other)
            curvature = as_floats(q) + as_floats(other) - d * d * spread(_inverse(weights[i]), EIGHT)
            total = total + as_integers(nearest(curvature))
        store(sums, 0, first, total)


@compiled_part
def _sum_curvatures(shares, weights, rows, start, end, up, sums):
    """The sums of :func:`_curvature_of_pair` of one class and each."""
    if shares.itemsize > 4 or end - start > ROWS_EXACT_AS_FLOATS:
        _sum_fine_curvatures(shares, weights, rows, start, end, up, sums)
        return
    for first in range(0, shares.shape[1], EIGHT):
        total = spread(
            0.0, EIGHT
        )  # exact: whole numbers of 25 bits, of fewer than 2^28 rows; and few machines turn eight floats into integers
        for r in range(start, end):
            i = np.uint64(rows[r])
            q, other = spread(np.float64(shares[i, up]), EIGHT), as_floats(load(shares, i, first, EIGHT))
            d = q - other
            total = total + nearest(q + other - d * d * spread(_inverse(weights[i]), EIGHT))
        store(sums, 0, first, as_integers(total))


@compiled_part
def look_through_best_pair(of_rows, dense, rows, stretches, tie):
    """Set the dense statistics of a node's rows to gradient and curvature of its best pair of classes (AOSO's two-step choice).

    Its rows are in one stretch or more. What differs by less than ``tie`` times the node's weight is equal, and of equals the first counts.
    """
    if of_rows is None:
        return
    shares, classes, weights = of_rows
    K = shares.shape[1]
    of_classes = np.empty((1, K + EIGHT), np.int64)
    g, h, of_stretch, weight = np.zeros(K, np.int64), np.zeros(K, np.int64), np.empty(K, np.int64), np.int64(0)
    for u in range(stretches.shape[0]):
        _sum_labels(classes, weights, rows, stretches[u, 0], stretches[u, 1], of_stretch)
        _sum_shares(shares, rows, stretches[u, 0], stretches[u, 1], of_classes)
        for k in range(K):
            weight += of_stretch[k]
            g[k] += of_stretch[k] - of_classes[0, k]
    unit = tie * np.float64(weight)
    up = 0
    for k in range(K):
        up = k if g[k] > g[up] else up
    most = np.float64(g[up])
    up = 0
    while np.float64(g[up]) < most - unit:
        up += 1
    for u in range(stretches.shape[0]):
        _sum_curvatures(shares, weights, rows, stretches[u, 0], stretches[u, 1], np.uint64(up), of_classes)
        for k in range(K):
            h[k] += of_classes[0, k]
    gains = np.empty(K)
    for k in range(K):
        d = np.float64(g[up] - g[k])
        gains[k] = d * d / (np.float64(h[k]) if h[k] > 0 else 1.0)
    gains[up] = -np.inf
    most = -np.inf
    for k in range(K):
        most = max(most, gains[k])
    down = 0
    while gains[down] < most - unit:
        down += 1
    first, second = np.uint64(up), np.uint64(down)
    for u in range(stretches.shape[0]):
        for r in range(stretches[u, 0], stretches[u, 1]):
            i = np.uint64(rows[r])
            q, other = shares[i, first], shares[i, second]
            own = np.int64(classes[i] == first) - np.int64(classes[i] == second)
            dense[i, 0] = own * weights[i] - q + other
            dense[i, 1] = _curvature_of_pair(q, other, _inverse(weights[i]))
