"""Compiled passes over rows: one fixed order of operations for each row, whatever block or thread it is in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def _add_leaf_vectors(columns, vectors, leaf, column):
    width = vectors.shape[1]
    only = np.zeros(vectors.shape[0], np.int64)  # where a leaf's vector has its one entry that is not zero
    most = 0
    for n in range(vectors.shape[0]):
        n_used = 0
        for k in range(width):
            if vectors[n, k] != 0:
                only[n] = k
                n_used += 1
        most = max(most, n_used)
    if most <= 1:
        for i in range(leaf.size):
            k = only[leaf[i]]
            columns[i, column + k] += vectors[leaf[i], k]
        return
    for i in range(leaf.size):
        for k in range(width):
            columns[i, column + k] += vectors[leaf[i], k]


@compiled
def _error_weight(scores, y, weight):
    wrong = 0.0
    for i in range(y.size):
        row = scores[i]
        own = row[y[i]]
        beaten = False
        for k in range(y[i]):
            beaten |= row[k] >= own  # of equal scores the first counts
        for k in range(y[i] + 1, row.size):
            beaten |= row[k] > own
        wrong += weight[i] * beaten
    return wrong


@compiled
def _scaled_by_leaf(values, others, own, y, leaf, out):
    for i in range(leaf.size):
        factors = others[leaf[i]]
        for k in range(values.shape[1]):
            out[i, k] = values[i, k] * factors[k]
        out[i, y[i]] = values[i, y[i]] * own[leaf[i], y[i]]


@compiled
def _scaled_pairs(values, grown, shrunken, y, leaf, out):
    for i in range(leaf.size):
        factors = grown[leaf[i]]
        own = shrunken[leaf[i], y[i]]
        for k in range(values.shape[1]):
            out[i, k] = values[i, k] * (factors[k] * own)


@compiled
def _along(weights, direction, y, out):
    for i in range(y.size):
        first = 0.0
        second = 0.0
        for k in range(direction.size):
            first += direction[k] * weights[i, k]
            second += direction[k] * direction[k] * weights[i, k]
        out[i, 0] = 2.0 * direction[y[i]] * weights[i, y[i]] - first
        out[i, 1] = second


@compiled
def _own_entries(values, y, out):
    for i in range(y.size):
        out[i] = values[i, y[i]]


def add_leaf_vectors(columns: Floats, vectors: Floats, leaf: NDArray[np.int32], column: int) -> None:
    """Add the vector of each row's leaf to its columns, from ``column`` on, in place."""
    if column + vectors.shape[1] > columns.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {vectors.shape[1]} numbers do not fit columns {column} to {columns.shape[1] - 1}.")
    _add_leaf_vectors(columns, vectors, leaf, column)


def mixed(shares: Floats, vectors: Floats) -> Floats:
    """``shares @ vectors``, (n, width), every row by itself: the same whatever rows are beside it."""
    return np.asarray(np.einsum("nk,kw->nw", shares, vectors))


def error_weight(scores: Floats, y: NDArray[np.integer], weight: Floats) -> float:
    """The weight of the rows whose highest score (the first of equals) is not at their class."""
    return float(_error_weight(scores, y, weight))


def scaled_by_leaf(values: Floats, others: Floats, own: Floats, y: NDArray[np.integer], leaf: NDArray[np.int32]) -> Floats:
    """``values * others[leaf]``, but ``values * own[leaf]`` at each row's class: (n, K)."""
    if others.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {others.shape[1]} numbers do not fit {values.shape[1]} classes.")
    out = np.empty_like(values)
    _scaled_by_leaf(values, others, own, y, leaf, out)
    return out


def scaled_pairs(values: Floats, exponents: Floats, y: NDArray[np.integer], leaf: NDArray[np.int32]) -> Floats:
    """``values * exp(exponents[leaf, k] - exponents[leaf, y])`` at each class k: (n, K)."""
    if exponents.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {exponents.shape[1]} numbers do not fit {values.shape[1]} classes.")
    centred = exponents - (exponents.max(axis=1, keepdims=True) + exponents.min(axis=1, keepdims=True)) / 2  # neither overflows
    out = np.empty_like(values)
    _scaled_pairs(values, np.exp(centred), np.exp(-centred), y, leaf, out)
    return out


def along_direction(weights: Floats, direction: Floats, y: NDArray[np.integer]) -> Floats:
    """``sum_k v_k Y_ik D_ik`` and ``sum_k v_k^2 D_ik`` with Y = +1 at the row's class and -1 elsewhere: (n, 2)."""
    out = np.empty((len(y), 2))
    _along(weights, direction, y, out)
    return out


def own_entries(values: Floats, y: NDArray[np.integer]) -> Floats:
    """``values[i, y[i]]`` for each row."""
    out = np.empty(len(y))
    _own_entries(values, y, out)
    return out
