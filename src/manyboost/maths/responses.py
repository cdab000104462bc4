"""Members that say +1 or -1 of each row, and what coefficients make of them: scores of classes one way, slopes the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]


@compiled
def _add_scores(signs, member, column, w, scores):
    for j in range(w.size):
        if w[j] != 0:
            row = signs[member[j]]
            for i in range(row.size):
                scores[column[j], i] += w[j] * row[i]


@compiled
def _sum_along(signs, member, column, first, values, out):
    n = signs.shape[1]
    for j in range(first, member.size):
        row = signs[member[j]]
        at = values[column[j]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at a time, always the same four
        i = 0
        while i + 4 <= n:
            a += row[i] * at[i]
            b += row[i + 1] * at[i + 1]
            c += row[i + 2] * at[i + 2]
            d += row[i + 3] * at[i + 3]
            i += 4
        while i < n:
            a += row[i] * at[i]
            i += 1
        out[j - first] = (a + b) + (c + d)


def signs_of_leaves(in_favour: Floats, against: Floats) -> Floats:
    """+1 where a leaf has as much weight in favour as against, else -1. The hinge makes many weights equal: no last bit decides."""
    return np.where(in_favour >= against * (1 - 1e-9), 1.0, -1.0)


@dataclass(frozen=True)
class Responses:
    """What M members say, and the J coefficients: each of one member, for the score of one class.

    Attributes
    ----------
    signs : (M, n) +1 or -1
    leaves : what the leaves of each member say, (L,)
    member, column : (J,) the member and the class of each coefficient; those of a member stand together
    K : number of classes
    """

    signs: Signs
    leaves: tuple[Floats, ...]
    member: NDArray[np.intp]
    column: NDArray[np.intp]
    K: int

    @classmethod
    def none(cls, n: int, K: int) -> Responses:
        return cls(np.empty((0, n), np.int8), (), np.empty(0, np.intp), np.empty(0, np.intp), K)

    def added(self, members: Iterable[tuple[Floats, NDArray[np.integer], Iterable[int]]]) -> Responses:
        """These and, behind them, members: what their leaves say, the leaf of each row, the classes they have a coefficient for."""
        signs, leaves, member, column = [self.signs], list(self.leaves), self.member.tolist(), self.column.tolist()
        for says, leaf, classes in members:
            of = list(classes)
            member += [len(leaves)] * len(of)
            column += of
            leaves.append(says)
            signs.append(np.take(says.astype(np.int8), leaf)[None])
        return Responses(np.concatenate(signs), tuple(leaves), np.array(member, np.intp), np.array(column, np.intp), self.K)

    @property
    def n_coefficients(self) -> int:
        return len(self.member)

    def scores(self, w: Floats) -> Floats:
        """The scores of the classes at coefficients w (J,): (K, n)."""
        out = np.zeros((self.K, self.signs.shape[1]))
        _add_scores(self.signs, self.member, self.column, w, out)
        return out

    def along(self, values: Floats, first: int = 0) -> Floats:
        """The sum over rows of what each coefficient, from the ``first`` on, adds times ``values`` (K, n)."""
        out = np.empty(self.n_coefficients - first)
        _sum_along(self.signs, self.member, self.column, first, values, out)
        return out

    def vectors(self, w: Floats) -> list[Floats]:
        """What the leaves of each member add, (L, number of its coefficients)."""
        starts = np.searchsorted(self.member, np.arange(len(self.leaves) + 1))
        return [np.outer(says, w[start:end]) for says, start, end in zip(self.leaves, starts[:-1], starts[1:], strict=True)]
