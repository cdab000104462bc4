"""What columns of scores decide of rows whose classes are known, and the weight of the rows that they mistake, round after round."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.rows import Floats, Response, add_leaf_vectors, add_multiples, check_columns
from manyboost.threads import over_rows

BITS_OF_WEIGHT = 61  # of the total of weights that are added up in whole numbers
CHUNK = 256  # rows whose scores stay in the first-level cache
BYTES_OF_SCORE = 2  # of a row, for votes that wait to be added together: a quarter of what its scores take
LEAST_BYTES_OF_ROW, MOST_BYTES_OF_ROW = 6, 32
BYTES_WAITING = 1 << 20  # where rows are few


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


@compiled_part
def _add_two_votes(first, second, leaf, shift, left, right, label, other, own, voted):
    """Of two leaves, in vector registers: the scores of both labels are read and written, and to one of them nothing is added."""
    bit = np.uint8(1) << shift
    for r in range(leaf.size):
        of_second = (leaf[r] & bit) != 0
        score = first[r] + (0.0 if of_second else left)
        first[r] = score
        score_of_other = second[r] + (right if of_second else 0.0)  # read behind the first, which it is where both are of one label
        second[r] = score_of_other
        own[r] = score_of_other if of_second else score
    for r in range(leaf.size):
        voted[r] = other if (leaf[r] & bit) != 0 else label


@compiled
def _add_votes(columns, leaves, bits, begin_of, label, amount, y, weight, said, wrong, start, end):
    """In each round each leaf adds a positive amount to the score of one label; the weight mistaken after each round.

    All rounds of a few rows one after the other, while their scores are in cache. In a round no other label can overtake a row's first:
    so first the scores of the labels that are voted for, which lie apart, then what follows from them, in vector registers.
    """
    scores, n_rows = columns.reshape(-1), np.uint64(columns.shape[1])
    own, voted, best, first = np.empty(CHUNK), np.empty(CHUNK, np.uint16), np.empty(CHUNK), np.empty(label.size, np.uint64)
    for of in range(label.size):
        first[of] = np.uint64(label[of]) * n_rows
    for begin in range(start, end, CHUNK):
        n = min(CHUNK, end - begin)
        before, true = said[begin : begin + n], y[begin : begin + n]
        for r in range(n):
            best[r] = scores[np.uint64(before[r]) * n_rows + np.uint64(begin + r)]
        for t in range(wrong.size):
            leaf = leaves[t >> 1 if bits == 4 else t, begin : begin + n]
            shift, mask = np.uint64(4 * (t & 1) if bits == 4 else 0), np.uint64((1 << bits) - 1)
            of_leaf, more, at_leaf = label[begin_of[t] :], amount[begin_of[t] :], first[begin_of[t] :]
            if begin_of[t + 1] - begin_of[t] == 2:
                one, other = scores[np.int64(first[begin_of[t]]) + begin :][:n], scores[np.int64(first[begin_of[t] + 1]) + begin :][:n]
                _add_two_votes(one, other, leaf, np.uint8(shift), more[0], more[1], of_leaf[0], of_leaf[1], own, voted)
            else:
                for r in range(n):
                    of = (np.uint64(leaf[r]) >> shift) & mask
                    at = at_leaf[of] + np.uint64(begin + r)
                    score = scores[at] + more[of]
                    scores[at] = score
                    own[r] = score
                    voted[r] = of_leaf[of]
            for r in range(n):
                better = (own[r] > best[r]) | ((own[r] == best[r]) & (voted[r] <= before[r]))
                best[r] = max(own[r], best[r])
                before[r] = voted[r] if better else before[r]
            wrong[t] += _weight_of_wrong(before, true, weight, begin)


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
def _decide(columns, leads, y, weight, said, wrong, start, end):
    """The label of the highest score of each row, the first of equals, and the weight of the rows where it is wrong."""
    room, best, label = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    n_scores = leads.start.size - 1 if leads.start.size else columns.shape[0]
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
        wrong[0] += _weight_of_wrong(said[begin : begin + n], y[begin : begin + n], weight, begin)


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


def _bits_of(n_leaves: int) -> int:
    return 4 if n_leaves <= 16 else 8 if n_leaves <= 256 else 32


class _Votes:
    """Votes of the leaves of some trees for one label each, which wait: added together they are added in a fraction of the time.

    The leaf of a row takes half a byte, a byte or four, so that those of several trees take little room: the more columns of scores there
    are to be read and written, the more.
    """

    def __init__(self, n_columns: int) -> None:
        self._bytes_of_row = max(BYTES_OF_SCORE * n_columns, LEAST_BYTES_OF_ROW)
        self._bits, self._n_beside = 0, 1  # of a leaf, and how many trees' leaves are in one number
        self._leaves: NDArray[Any] = np.empty((0, 0), np.uint8)
        self._cast: list[tuple[NDArray[np.intp], Floats]] = []  # label and amount of each leaf

    def __len__(self) -> int:
        return len(self._cast)

    def has_room(self, n_leaves: int) -> bool:
        """For a tree of so many leaves, beside those that wait."""
        return not self._cast or (len(self._cast) < len(self._leaves) * self._n_beside and _bits_of(n_leaves) == self._bits)

    def put(self, label: NDArray[np.intp], amount: Floats, leaf: NDArray[np.integer]) -> None:
        bits = _bits_of(len(label))
        if bits != self._bits:
            n_bytes = min(max(self._bytes_of_row, BYTES_WAITING // len(leaf)), MOST_BYTES_OF_ROW)
            n_trees, kind = (n_bytes, np.uint8) if bits < 32 else (n_bytes // 4, np.int32)
            self._bits, self._n_beside, self._leaves = bits, 2 if bits == 4 else 1, np.empty((n_trees, len(leaf)), kind)
        at, second = divmod(len(self._cast), self._n_beside)
        if second:
            shifted = leaf.astype(np.uint8)
            shifted *= 16  # to shift bytes takes numpy many times as long
            self._leaves[at] += shifted
        else:
            self._leaves[at] = leaf
        self._cast.append((label, amount))

    def take(self) -> tuple[NDArray[Any], int, NDArray[np.intp], NDArray[np.uint16], Floats]:
        """The leaf of each row in each tree, the bits that it takes, where the leaves of each tree begin, their labels and amounts."""
        labels, amounts = zip(*self._cast, strict=True)
        self._cast = []
        begin_of = np.cumsum([0, *map(len, labels)])
        return self._leaves, self._bits, begin_of, np.concatenate(labels).astype(np.uint16), np.concatenate(amounts)


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
        self._decided = decoder is None  # is that said of all that was added?
        self._votes = _Votes(n_columns)
        self._ends: list[int] = []  # of rounds, among the votes that wait
        self._errors: list[float] = []

    def add(self, response: Response, column: int) -> None:
        """Add what a member says of each row to its columns, from ``column`` on."""
        vectors, leaf, numbers = response
        check_columns(vectors, column, len(self._columns))
        if numbers is None and self._decided and np.count_nonzero(vectors) == len(vectors):
            label, amount = vectors.argmax(axis=1), np.maximum.reduce(vectors, axis=1)
            if np.minimum.reduce(amount) > 0:  # one of each leaf, and not below zero
                if not self._votes.has_room(len(vectors)):
                    self._add_votes()
                self._votes.put(label + column, amount, leaf)
                return
        self._add_votes()
        self._decided = False
        if numbers is None:
            add_leaf_vectors(self._columns.T, vectors, leaf, column)
        else:
            add_multiples(self._columns.T, vectors[0], numbers, column)

    def _add_votes(self) -> None:
        """Add the votes that wait, and find the errors of the rounds that ended between them."""
        if len(self._votes):
            n = len(self._votes)
            wrong = self._wrong(partial(_add_votes, self._columns, *self._votes.take()), n)
            self._errors += [wrong[end - 1] for end in self._ends]
            self._ends = []

    def _wrong(self, decide: Callable[..., None], n_rounds: int) -> list[float]:
        """Have the rows decided; the weight of those that are mistaken after each round."""
        parts: list[NDArray[np.int64]] = []

        def work(start: int, end: int) -> None:
            wrong = np.zeros(n_rounds, np.int64)
            decide(self._y, self._weight, self._said, wrong, start, end)
            parts.append(wrong)

        over_rows(len(self._y), 1, work)
        return [math.ldexp(value, -self._exponent) for value in np.sum(parts, axis=0)]

    def read(self, columns: Floats) -> None:
        """From now on these, (n, C) with those of a column side by side in memory, are the columns: who keeps them has added to them."""
        self._columns, self._decided = columns.T, False

    def clear(self) -> None:
        """Start anew, as when all that was added has changed."""
        self._add_votes()
        self._columns[:] = 0.0
        self._said[:] = 0
        self._decided = len(self._leads.start) == 0

    def end_round(self) -> None:
        """The error at this point will be among the :meth:`errors`."""
        if len(self._votes):
            self._ends.append(len(self._votes))
        else:
            self._errors += self._wrong(partial(_decide, self._columns, self._leads), 1)
            self._decided = len(self._leads.start) == 0

    def errors(self) -> list[float]:
        """The weight of the rows whose highest score (the first of equals) is not at their class, of each round ended since this was asked.

        To ask after many rounds takes less time than after each.
        """
        self._add_votes()
        errors, self._errors = self._errors, []
        return errors
