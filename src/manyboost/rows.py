"""Compiled passes over rows: one fixed order of operations for each row, whatever block or thread it is in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.threads import LINE, Threads, over_pieces

Floats = NDArray[np.float64]
BLOCK = 1 << 15  # rows that columns are added to one after the other, so that the leaves of the rows stay in the second-level cache


@compiled_part
def _add_amounts(column, amounts, leaf, start, end):
    for r in range(start, end):
        i = np.uint64(r)
        column[i] += amounts[np.uint64(leaf[i])]


@compiled
def _add_leaf_vectors(columns, vectors, leaf, column, pieces):
    """``columns`` is (C, n): a row's entries are far apart, those of a column side by side."""
    amounts = np.empty(vectors.shape[0])
    for piece in range(pieces.shape[0]):
        for begin in range(pieces[piece, 0], pieces[piece, 1], BLOCK):
            for k in range(vectors.shape[1]):
                used = False
                for row in range(vectors.shape[0]):
                    amounts[row] = vectors[row, k]
                    used |= vectors[row, k] != 0.0
                if used:
                    _add_amounts(columns[column + k], amounts, leaf, begin, min(begin + BLOCK, pieces[piece, 1]))


@compiled
def _scale_by_leaf(values, others, own, y, leaf, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            factors = others[leaf[i]]
            at_own = values[i, y[i]] * own[leaf[i], y[i]]
            for k in range(values.shape[1]):
                values[i, k] *= factors[k]
            values[i, y[i]] = at_own


@compiled
def _scaled_pairs(values, grown, shrunken, y, leaf, out, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            factors = grown[leaf[i]]
            own = shrunken[leaf[i], y[i]]
            for k in range(values.shape[1]):
                out[i, k] = values[i, k] * (factors[k] * own)


@compiled
def _scaled_at_classes(values, factors, y, leaf, out, pieces):
    for piece in range(pieces.shape[0]):
        for r in range(pieces[piece, 0], pieces[piece, 1]):
            i = np.uint64(r)
            out[i] = values[i] * factors[np.uint64(leaf[i]), np.uint64(y[i])]


@compiled
def _sides(side, y, label, pieces):
    for piece in range(pieces.shape[0]):
        for r in range(pieces[piece, 0], pieces[piece, 1]):
            i = np.uint64(r)
            label[i] = side[np.uint64(y[i])]


@compiled
def _sides_and_costs(values, side, cost, y, label, out, pieces):
    """Rows of one class that stand together, as most do, in vector registers."""
    for piece in range(pieces.shape[0]):
        for begin in range(pieces[piece, 0], pieces[piece, 1], LINE):
            stop = min(begin + LINE, pieces[piece, 1])
            own, label_here, out_here, given = y[begin:stop], label[begin:stop], out[begin:stop], values[begin:stop]
            n_others = 0
            for r in range(own.size):
                n_others += own[r] != own[0]
            if n_others == 0:
                of_class, factor = side[own[0]], cost[own[0]]
                for r in range(own.size):
                    label_here[r] = of_class
                    out_here[r] = given[r] * factor
            else:
                for r in range(own.size):
                    k = np.uint64(own[r])
                    label_here[r] = side[k]
                    out_here[r] = given[r] * cost[k]


@compiled
def _along(weights, direction, y, out, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            first = 0.0
            second = 0.0
            for k in range(direction.size):
                first += direction[k] * weights[i, k]
                second += direction[k] * direction[k] * weights[i, k]
            out[i, 0] = 2.0 * direction[y[i]] * weights[i, y[i]] - first
            out[i, 1] = second


@compiled
def _pairs_along(weights, direction, y, out, of_row, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            total, first, second = 0.0, 0.0, 0.0
            for k in range(direction.size):
                total += weights[i, k]
                first += direction[k] * weights[i, k]
                second += direction[k] * direction[k] * weights[i, k]
            v = direction[y[i]]
            out[i, 0] = v * total - first
            out[i, 1] = v * v * total + second
            of_row[i] = total


@compiled
def _pair_rewards(weights, y, out, of_row, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            total, most = 0.0, 0.0
            for k in range(weights.shape[1]):
                total += weights[i, k]
                most = max(most, weights[i, k])
            for k in range(weights.shape[1]):
                out[i, k] = most - weights[i, k]
            out[i, y[i]] = most + total
            of_row[i] = total


@compiled
def _own_entries(values, y, out, pieces):
    for piece in range(pieces.shape[0]):
        for i in range(pieces[piece, 0], pieces[piece, 1]):
            out[i] = values[i, y[i]]


@compiled
def _add_multiples(columns, vector, numbers, column, pieces):
    for k in range(vector.size):
        a = vector[k]
        part = columns[column + k]
        for piece in range(pieces.shape[0]):
            for i in range(pieces[piece, 0], pieces[piece, 1]):
                part[i] += numbers[i] * a


class Response(NamedTuple):
    """What a member adds to each row: ``vectors[leaf]``, times the row's number where the member says one.

    Attributes
    ----------
    vectors : (L, width)
    leaf : (n,)
    numbers : (n,), with one vector and every leaf 0; None where there are none
    """

    vectors: Floats
    leaf: NDArray[np.integer]
    numbers: Floats | None = None

    def at_rows(self) -> Floats:
        """(n, width)"""
        return np.take(self.vectors, self.leaf, axis=0) if self.numbers is None else self.numbers[:, None] * self.vectors


def mixed(shares: Floats, vectors: Floats) -> Floats:
    """``shares @ vectors``, (n, width), every row by itself: the same whatever rows are beside it."""
    return np.asarray(np.einsum("nk,kw->nw", shares, vectors))


def in_parts(team: Threads, n_blocks: int, work: Callable[[int, int], None]) -> None:
    """Have blocks ``first`` to ``last`` worked on by each thread, if there are several for each."""
    if team.n == 1 or n_blocks < 2:
        work(0, n_blocks)
        return
    ends = [n_blocks * part // team.n for part in range(team.n + 1)]
    list(team.map(lambda part: work(ends[part], ends[part + 1]), range(team.n)))


def check_columns(vectors: Floats, column: int, n_columns: int) -> None:
    """The kernels check no bounds, and trees may come from a file."""
    if column + vectors.shape[1] > n_columns:
        raise ValueError(f"leaves of {vectors.shape[1]} numbers do not fit columns {column} to {n_columns - 1}.")


def add_leaf_vectors(columns: Floats, vectors: Floats, leaf: NDArray[np.integer], column: int) -> None:
    """Add ``vectors[leaf]`` to ``columns`` (n, C) from ``column`` on."""
    check_columns(vectors, column, columns.shape[1])
    over_pieces(len(columns), vectors.shape[1], partial(_add_leaf_vectors, columns.T, vectors, leaf, column))


def add_multiples(columns: Floats, vector: Floats, numbers: Floats, column: int) -> None:
    """Add ``numbers * vector`` to ``columns`` (n, C) from ``column`` on."""
    over_pieces(len(numbers), len(vector), partial(_add_multiples, columns.T, vector, numbers, column))


def scaled_at_classes(
    values: Floats, factors: Floats, y: NDArray[np.uint16], leaf: NDArray[np.integer], out: Floats | None = None
) -> Floats:
    """``values * factors[leaf, y]``: (n,)."""
    out = np.empty_like(values) if out is None else out
    over_pieces(len(y), 1, partial(_scaled_at_classes, np.ascontiguousarray(values), factors, y, leaf, out))
    return out


def scale_by_leaf(values: Floats, others: Floats, own: Floats, y: NDArray[np.uint16], leaf: NDArray[np.integer]) -> None:
    """Multiply ``values`` (n, K), where they are, by ``others[leaf]``, but by ``own[leaf]`` at each row's class."""
    if others.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {others.shape[1]} numbers do not fit {values.shape[1]} classes.")
    over_pieces(len(y), values.shape[1], partial(_scale_by_leaf, values, others, own, y, leaf))


def scaled_pairs(values: Floats, exponents: Floats, y: NDArray[np.integer], leaf: NDArray[np.integer]) -> Floats:
    """``values * exp(exponents[leaf, k] - exponents[leaf, y])`` at each class k: (n, K)."""
    if exponents.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {exponents.shape[1]} numbers do not fit {values.shape[1]} classes.")
    centred = exponents - (exponents.max(axis=1, keepdims=True) + exponents.min(axis=1, keepdims=True)) / 2  # neither overflows
    out = np.empty_like(values)
    over_pieces(len(y), values.shape[1], partial(_scaled_pairs, values, np.exp(centred), np.exp(-centred), y, leaf, out))
    return out


def sides(side: NDArray[np.uint16], y: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """``side[y]`` of each row; numpy would make indices of eight bytes for it."""
    label = np.empty(len(y), np.uint16)
    over_pieces(len(y), 1, partial(_sides, side, y, label))
    return label


def sides_and_costs(values: Floats, side: NDArray[np.uint16], cost: Floats, y: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], Floats]:
    """``side[y]`` and ``values * cost[y]`` of each row."""
    label, out = np.empty(len(y), np.uint16), np.empty(len(y))
    over_pieces(len(y), 1, partial(_sides_and_costs, values, side, cost, y, label, out))
    return label, out


def along_direction(weights: Floats, direction: Floats, y: NDArray[np.integer]) -> Floats:
    """``sum_k v_k Y_ik D_ik`` and ``sum_k v_k^2 D_ik`` with Y = +1 at the row's class and -1 elsewhere: (n, 2)."""
    out = np.empty((len(y), 2))
    over_pieces(len(y), weights.shape[1], partial(_along, weights, direction, y, out))
    return out


def pairs_along(weights: Floats, direction: Floats, y: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """:func:`along_direction` of pairs, (n, K) with nothing at a row's class, whose weight for it is their sum; and that sum, (n,)."""
    out, of_row = np.empty((len(y), 2)), np.empty(len(y))
    over_pieces(len(y), weights.shape[1], partial(_pairs_along, weights, direction, y, out, of_row))
    return out, of_row


def pair_rewards(weights: Floats, y: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """What saying each label earns, (n, K), if saying a wrong one costs its weight and the true one earns their sum; and that sum, (n,).

    The least of a row is zero.
    """
    out, of_row = np.empty_like(weights), np.empty(len(y))
    over_pieces(len(y), weights.shape[1], partial(_pair_rewards, weights, y, out, of_row))
    return out, of_row


def own_entries(values: Floats, y: NDArray[np.integer]) -> Floats:
    """``values[i, y[i]]`` for each row."""
    out = np.empty(len(y))
    over_pieces(len(y), 1, partial(_own_entries, values, y, out))
    return out
