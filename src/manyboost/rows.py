"""Compiled passes over rows: one fixed order of operations for each row, whatever block or thread it is in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.threads import Threads, over_rows

Floats = NDArray[np.float64]


BITS_OF_WEIGHT = 61  # of the total of weights that are added up in whole numbers
BLOCK = 1 << 15  # rows that columns are added to one after the other, so that the leaves of the rows stay in the second-level cache
CHUNK = 256  # rows whose scores stay in the first-level cache


@compiled_part
def _add_amounts(column, amounts, leaf, start, end):
    for r in range(start, end):
        i = np.uint64(r)
        column[i] += amounts[np.uint64(leaf[i])]


@compiled
def _add_leaf_vectors(columns, vectors, leaf, column, start, end):
    """``columns`` is (C, n): a row's entries are far apart, those of a column side by side."""
    amounts = np.empty(vectors.shape[0])
    for begin in range(start, end, BLOCK):
        for k in range(vectors.shape[1]):
            used = False
            for row in range(vectors.shape[0]):
                amounts[row] = vectors[row, k]
                used |= vectors[row, k] != 0.0
            if used:
                _add_amounts(columns[column + k], amounts, leaf, begin, min(begin + BLOCK, end))


@compiled_part
def _weight_of_wrong(said, y, weight, begin):
    """The weight of the rows from ``begin`` on of which something wrong is said; one weight is that of every row."""
    wrong = np.int64(0)
    if weight.size == 1:
        for r in range(y.size):
            wrong += said[r] != y[r]
        return wrong * weight[0]
    weights = weight[begin : begin + y.size]
    for r in range(y.size):
        wrong += weights[r] if said[r] != y[r] else np.int64(0)
    return wrong


@compiled
def _add_votes(columns, label, amount, leaf, lead, y, weight, said, start, end):
    """Each leaf adds a positive amount to the score of one label, so that no other label can overtake a row's first; the weight mistaken.

    First the scores of a few rows, which lie far apart, then what follows from them, in vector registers.
    """
    scores, own = columns.reshape(-1), np.empty(CHUNK)
    first, voted = np.empty(label.size, np.uint64), np.empty(CHUNK, np.uint16)
    for of in range(label.size):
        first[of] = label[of] * columns.shape[1]
    wrong = np.int64(0)
    for begin in range(start, end, CHUNK):
        n = min(CHUNK, end - begin)
        for r in range(n):
            i = np.uint64(begin + r)
            of = np.uint64(leaf[i])
            score = scores[first[of] + i] + amount[of]
            scores[first[of] + i] = score
            own[r] = score
            voted[r] = label[of]
        before, highest = said[begin : begin + n], lead[begin : begin + n]
        true = y[begin : begin + n]
        for r in range(n):
            better = (own[r] > highest[r]) | ((own[r] == highest[r]) & (voted[r] <= before[r]))
            highest[r] = max(own[r], highest[r])
            before[r] = voted[r] if better else before[r]
        wrong += _weight_of_wrong(before, true, weight, begin)
    return wrong


@compiled_part
def _add_up(columns, column, factor, begin, end, start, score):
    """The sum of ``factor`` times ``column`` over the places ``begin`` to ``end``, of the rows from ``start`` on."""
    for r in range(score.size):
        score[r] = 0.0
    for at in range(begin, end, 2):  # two at a time: fewer loads and stores of the score
        other = min(at + 1, end - 1)
        a, b = factor[at], factor[other] if other > at else 0.0
        part, next_part = columns[column[at], start : start + score.size], columns[column[other], start : start + score.size]
        for r in range(score.size):
            score[r] += part[r] * a + next_part[r] * b


@compiled
def _decide(columns, leads, y, weight, said, start, end):
    """The label of the highest score of each row, the first of equals, and the weight of the rows where it is wrong."""
    room, best, label = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    n_scores = leads.start.size - 1 if leads.start.size else columns.shape[0]
    wrong = np.int64(0)
    for begin in range(start, end, CHUNK):
        n = min(CHUNK, end - begin)
        for k in range(n_scores):
            score = room[:n]
            if leads.start.size:
                _add_up(columns, leads.column, leads.factor, leads.start[k], leads.start[k + 1], begin, score)
            else:
                score = columns[k, begin : begin + n]
            for r in range(n):
                better = k == 0 or score[r] > best[r]
                best[r] = score[r] if better else best[r]
                label[r] = k if better else label[r]
        for r in range(n):
            said[begin + r] = label[r]
        wrong += _weight_of_wrong(said[begin : begin + n], y[begin : begin + n], weight, begin)
    return wrong


@compiled
def _scale_by_leaf(values, others, own, y, leaf, start, end):
    for i in range(start, end):
        factors = others[leaf[i]]
        at_own = values[i, y[i]] * own[leaf[i], y[i]]
        for k in range(values.shape[1]):
            values[i, k] *= factors[k]
        values[i, y[i]] = at_own


@compiled
def _scaled_pairs(values, grown, shrunken, y, leaf, out, start, end):
    for i in range(start, end):
        factors = grown[leaf[i]]
        own = shrunken[leaf[i], y[i]]
        for k in range(values.shape[1]):
            out[i, k] = values[i, k] * (factors[k] * own)


@compiled
def _scaled_at_classes(values, factors, y, leaf, out, start, end):
    for r in range(start, end):
        i = np.uint64(r)
        out[i] = values[i] * factors[np.uint64(leaf[i]), np.uint64(y[i])]


@compiled
def _sides(side, y, label, start, end):
    for r in range(start, end):
        i = np.uint64(r)
        label[i] = side[np.uint64(y[i])]


@compiled
def _sides_and_costs(values, side, cost, y, label, out, start, end):
    for r in range(start, end):
        i = np.uint64(r)
        k = np.uint64(y[i])
        label[i] = side[k]
        out[i] = values[i] * cost[k]


@compiled
def _along(weights, direction, y, out, start, end):
    for i in range(start, end):
        first = 0.0
        second = 0.0
        for k in range(direction.size):
            first += direction[k] * weights[i, k]
            second += direction[k] * direction[k] * weights[i, k]
        out[i, 0] = 2.0 * direction[y[i]] * weights[i, y[i]] - first
        out[i, 1] = second


@compiled
def _pairs_along(weights, direction, y, out, of_row, start, end):
    for i in range(start, end):
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
def _pair_rewards(weights, y, out, of_row, start, end):
    for i in range(start, end):
        total, most = 0.0, 0.0
        for k in range(weights.shape[1]):
            total += weights[i, k]
            most = max(most, weights[i, k])
        for k in range(weights.shape[1]):
            out[i, k] = most - weights[i, k]
        out[i, y[i]] = most + total
        of_row[i] = total


@compiled
def _own_entries(values, y, out, start, end):
    for i in range(start, end):
        out[i] = values[i, y[i]]


@compiled
def _add_multiples(columns, vector, numbers, column, start, end):
    for k in range(vector.size):
        a = vector[k]
        part = columns[column + k]
        for i in range(start, end):
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


def _check_columns(vectors: Floats, column: int, n_columns: int) -> None:
    """The kernels check no bounds, and trees may come from a file."""
    if column + vectors.shape[1] > n_columns:
        raise ValueError(f"leaves of {vectors.shape[1]} numbers do not fit columns {column} to {n_columns - 1}.")


class Leads(NamedTuple):
    """How far each score leads what is common to all: a decoder less the most frequent number of each column, which decides nothing.

    Score k is the sum of ``factor`` times ``column`` over the places ``start[k]`` to ``start[k + 1]``. Empty where columns are scores.
    """

    start: NDArray[np.intp]
    column: NDArray[np.intp]
    factor: Floats

    @classmethod
    def of(cls, decoder: Floats | None) -> Leads:
        if decoder is None:
            return cls(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
        common = []
        for row in decoder:
            numbers, counts = np.unique(row, return_counts=True)
            common.append(numbers[counts.argmax()])
        leads = decoder - np.array(common)[:, None]
        score, column = np.nonzero(leads.T)
        return cls(np.searchsorted(score, np.arange(decoder.shape[1] + 1)), column, leads[column, score])


class Decisions:
    """The columns of rows whose classes are known, and the weight of the rows that they mistake, added up in whole numbers.

    Parameters
    ----------
    y, weight : (n,) classes and weights of the rows
    n_columns : C, the number of columns; they start at zero
    decoder : (C, K) what a column means for the K scores; None when the columns are the scores
    """

    def __init__(self, y: NDArray[np.integer], weight: Floats, n_columns: int, decoder: Floats | None):
        self._y = y.astype(np.uint16, copy=False)
        self._exponent = BITS_OF_WEIGHT - int(np.frexp(weight.sum())[1])
        weight = weight[:1] if (weight == weight[0]).all() else weight
        self._weight = np.rint(np.ldexp(weight, self._exponent)).astype(np.int64)
        self._columns = np.zeros((n_columns, len(y)))
        self._leads = Leads.of(decoder)
        self._said = np.zeros(len(y), np.uint16)
        self._lead: Floats | None = None  # the score of what is said, where all votes were added since
        self._wrong = 0
        self._decided = decoder is None

    def add(self, response: Response, column: int) -> None:
        """Add what a member says of each row to its columns, from ``column`` on."""
        vectors, leaf, numbers = response
        _check_columns(vectors, column, len(self._columns))
        n = len(self._y)
        if numbers is not None:
            self._decided, self._lead = False, None
            over_rows(n, vectors.shape[1], partial(_add_multiples, self._columns, vectors[0], numbers, column))
            return
        label = vectors.argmax(axis=1)
        amount = vectors[np.arange(len(vectors)), label]
        if self._decided and np.count_nonzero(vectors) == len(vectors) and amount.min() > 0:  # one of each leaf, and not below zero
            if self._lead is None:  # at first all are zero, and to look each of them up would take room
                self._lead = self._columns[self._said, np.arange(n)] if self._said.any() or self._columns[0].any() else np.zeros(n)
            self._weigh(partial(_add_votes, self._columns, label + column, amount, leaf, self._lead))
            return
        self._decided, self._lead = False, None
        over_rows(n, vectors.shape[1], partial(_add_leaf_vectors, self._columns, vectors, leaf, column))

    def _weigh(self, decide: Callable[..., int]) -> None:
        """Have the rows decided, and add up the weight of those that are mistaken."""
        wrong: list[int] = []
        rows = self._y, self._weight, self._said
        over_rows(len(self._y), 1, lambda start, end: wrong.append(int(decide(*rows, start, end))))
        self._wrong = sum(wrong)

    def read(self, columns: Floats) -> None:
        """From now on these, (n, C) with those of a column side by side in memory, are the columns: who keeps them has added to them."""
        self._columns, self._decided, self._lead = columns.T, False, None

    def clear(self) -> None:
        """Start anew, as when all that was added has changed."""
        self._columns[:] = 0.0
        self._said[:] = 0
        self._lead = None
        self._decided = not len(self._leads.start)

    def error(self) -> float:
        """The weight of the rows whose highest score (the first of equals) is not at their class."""
        if not self._decided:
            self._weigh(partial(_decide, self._columns, self._leads))
            self._decided = not len(self._leads.start)
        return float(np.ldexp(float(self._wrong), -self._exponent))


def add_leaf_vectors(columns: Floats, vectors: Floats, leaf: NDArray[np.integer], column: int) -> None:
    """Add ``vectors[leaf]`` to ``columns`` (n, C) from ``column`` on."""
    _check_columns(vectors, column, columns.shape[1])
    over_rows(len(columns), vectors.shape[1], partial(_add_leaf_vectors, columns.T, vectors, leaf, column))


def scaled_at_classes(
    values: Floats, factors: Floats, y: NDArray[np.uint16], leaf: NDArray[np.integer], out: Floats | None = None
) -> Floats:
    """``values * factors[leaf, y]``: (n,)."""
    out = np.empty_like(values) if out is None else out
    over_rows(len(y), 1, partial(_scaled_at_classes, np.ascontiguousarray(values), factors, y, leaf, out))
    return out


def scale_by_leaf(values: Floats, others: Floats, own: Floats, y: NDArray[np.uint16], leaf: NDArray[np.integer]) -> None:
    """Multiply ``values`` (n, K), where they are, by ``others[leaf]``, but by ``own[leaf]`` at each row's class."""
    if others.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {others.shape[1]} numbers do not fit {values.shape[1]} classes.")
    over_rows(len(y), values.shape[1], partial(_scale_by_leaf, values, others, own, y, leaf))


def scaled_pairs(values: Floats, exponents: Floats, y: NDArray[np.integer], leaf: NDArray[np.integer]) -> Floats:
    """``values * exp(exponents[leaf, k] - exponents[leaf, y])`` at each class k: (n, K)."""
    if exponents.shape[1] != values.shape[1]:  # the kernel checks no bounds, and trees may come from a file
        raise ValueError(f"leaves of {exponents.shape[1]} numbers do not fit {values.shape[1]} classes.")
    centred = exponents - (exponents.max(axis=1, keepdims=True) + exponents.min(axis=1, keepdims=True)) / 2  # neither overflows
    out = np.empty_like(values)
    over_rows(len(y), values.shape[1], partial(_scaled_pairs, values, np.exp(centred), np.exp(-centred), y, leaf, out))
    return out


def sides(side: NDArray[np.uint16], y: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """``side[y]`` of each row; numpy would make indices of eight bytes for it."""
    label = np.empty(len(y), np.uint16)
    over_rows(len(y), 1, partial(_sides, side, y, label))
    return label


def sides_and_costs(values: Floats, side: NDArray[np.uint16], cost: Floats, y: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], Floats]:
    """``side[y]`` and ``values * cost[y]`` of each row."""
    label, out = np.empty(len(y), np.uint16), np.empty(len(y))
    over_rows(len(y), 1, partial(_sides_and_costs, values, side, cost, y, label, out))
    return label, out


def along_direction(weights: Floats, direction: Floats, y: NDArray[np.integer]) -> Floats:
    """``sum_k v_k Y_ik D_ik`` and ``sum_k v_k^2 D_ik`` with Y = +1 at the row's class and -1 elsewhere: (n, 2)."""
    out = np.empty((len(y), 2))
    over_rows(len(y), weights.shape[1], partial(_along, weights, direction, y, out))
    return out


def pairs_along(weights: Floats, direction: Floats, y: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """:func:`along_direction` of pairs, (n, K) with nothing at a row's class, whose weight for it is their sum; and that sum, (n,)."""
    out, of_row = np.empty((len(y), 2)), np.empty(len(y))
    over_rows(len(y), weights.shape[1], partial(_pairs_along, weights, direction, y, out, of_row))
    return out, of_row


def pair_rewards(weights: Floats, y: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """What saying each label earns, (n, K), if saying a wrong one costs its weight and the true one earns their sum; and that sum, (n,).

    The least of a row is zero.
    """
    out, of_row = np.empty_like(weights), np.empty(len(y))
    over_rows(len(y), weights.shape[1], partial(_pair_rewards, weights, y, out, of_row))
    return out, of_row


def own_entries(values: Floats, y: NDArray[np.integer]) -> Floats:
    """``values[i, y[i]]`` for each row."""
    out = np.empty(len(y))
    over_rows(len(y), 1, partial(_own_entries, values, y, out))
    return out
