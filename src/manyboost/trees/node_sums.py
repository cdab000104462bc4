"""Statistics of rows as integers, and their sums over the rows of a node.

With the criterion ``pair_of_classes`` each node has statistics of its own: those of the pair of classes that it gains most by.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled_part


class Shares(NamedTuple):
    """What the pair of classes of a node is chosen by: w p of each class, the row's class and w."""

    of_class: NDArray[np.signedinteger]  # (n, K)
    own: NDArray[np.uint16]
    weight: NDArray[np.signedinteger]


class Grid(NamedTuple):
    """Statistics as integers: int64 on the fine grid, or int32 on the coarse one."""

    dense: NDArray[np.signedinteger]
    label: NDArray[np.uint16]
    weight: NDArray[np.signedinteger]
    n_dense: int
    n_labels: int
    size: int  # sums of a node, the count of rows last if it is kept
    counted: bool
    shares: Shares | None  # of no rows unless the criterion is pair_of_classes; None where the kernels are those of plain tables


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
def sum_rows(grid, rows, start, end, sums):
    """The sums of a node."""
    n_dense = grid.n_dense
    for s in range(n_dense):
        sums[s] = 0
    if n_dense > 0:
        for r in range(start, end):
            i = np.uint64(rows[r])
            for s in range(n_dense):
                sums[s] += grid.dense[i, s]
    if grid.label.size:
        _sum_labels(grid.label, grid.weight, rows, start, end, sums[n_dense : n_dense + grid.n_labels])
    if grid.counted:
        sums[grid.size - 1] = end - start


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
def look_through_best_pair(of_rows, dense, rows, start, end, tie):
    """Set the dense statistics of a node's rows to gradient and curvature of its best pair of classes (AOSO's two-step choice).

    What differs by less than ``tie`` times the node's weight is equal, and of equals the first counts.
    """
    if of_rows is None:
        return
    shares, classes, weights = of_rows
    K = shares.shape[1]
    g = np.zeros(K, np.int64)
    h = np.zeros(K, np.int64)
    weight = np.int64(0)
    for r in range(start, end):
        i = rows[r]
        for k in range(K):
            g[k] -= shares[i, k]
        g[classes[i]] += weights[i]
        weight += weights[i]
    unit = tie * np.float64(weight)
    up = 0
    for k in range(K):
        up = k if g[k] > g[up] else up
    most = np.float64(g[up])
    up = 0
    while np.float64(g[up]) < most - unit:
        up += 1
    for r in range(start, end):
        i = rows[r]
        q, inverse = shares[i, up], _inverse(weights[i])
        for k in range(K):
            h[k] += _curvature_of_pair(q, shares[i, k], inverse)
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
    for r in range(start, end):
        i = rows[r]
        q, other = shares[i, up], shares[i, down]
        own = np.int64(classes[i] == up) - np.int64(classes[i] == down)
        dense[i, 0] = own * weights[i] - q + other
        dense[i, 1] = _curvature_of_pair(q, other, _inverse(weights[i]))
