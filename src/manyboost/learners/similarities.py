"""Members that compare a row with stored training examples, as plain arrays; what :class:`~manyboost.trees.forest.Forest` is for trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.contributions import DecidedRow
from manyboost.learners.similarity_explanation import Comparison as ComparedExamples
from manyboost.learners.similarity_explanation import Example, Explanation
from manyboost.learners.similarity_kernels import add_distances, add_responses, add_scores
from manyboost.learners.similarity_space import Space
from manyboost.rows import Response

Floats = NDArray[np.float64]
ENTRIES = 1 << 17  # distances that stay in the second-level cache
REPLAYED = 32  # members at a time


class Comparison(NamedTuple):
    """What a member compares with: rows by number, -1 where there is none.

    Without a first it says +1 of every row. Without a second it says how much nearer than the root of ``tau`` a row is to the first; else
    how much nearer to the first than to the second. ``hard`` members say only the sign of it.
    """

    first: int
    second: int
    tau: float
    hard: bool

    @property
    def n_leaves(self) -> int:
        return 1 if self.first < 0 else 2


def squared_distances(rows: Floats, points: Floats) -> Floats:
    """(m, n) between the columns of coordinates (c, n) and (c, m)."""
    out = np.empty((points.shape[1], rows.shape[1]))
    add_distances(rows, np.ascontiguousarray(points.T), 0, rows.shape[1], out)
    return out


@dataclass(frozen=True)
class Similarities:
    """Members in the order they were added, and the training examples they compare with.

    Attributes
    ----------
    space : how rows become coordinates
    points : (P, p) the examples, as numbers
    label : (P,) their classes
    row : (P,) their places in the table that was fitted; -1 where that is not known, as in a model that was loaded
    first, second, tau, hard, column, round : (T,) of each member; see :class:`Comparison`, the examples being numbers of points
    vectors : (T, width) what each member's answer is multiplied by
    n_columns : columns in all
    """

    space: Space
    points: Floats
    label: NDArray[np.int32]
    row: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    tau: Floats
    hard: NDArray[np.bool_]
    column: NDArray[np.int32]
    round: NDArray[np.int32]
    vectors: Floats
    n_columns: int

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no more than the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def empty(cls, space: Space, n_columns: int) -> Similarities:
        none = np.empty(0, np.int32)
        points = np.empty((0, space.n_features))
        return cls(
            space, points, none, np.empty(0, np.int64), none, none, np.empty(0), np.empty(0, bool), none, none,
            np.empty((0, n_columns)), n_columns,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.first)

    @property
    def n_rounds(self) -> int:
        return int(self.round[-1]) + 1 if len(self) else 0

    @property
    def is_constant(self) -> bool:
        return not bool((self.first >= 0).any())

    @cached_property
    def coordinates(self) -> Floats:
        """(c, P) of the points."""
        return self.space.coordinates(self.points)

    @cached_property
    def scale(self) -> Floats:
        """(T,) what distances are compared with: tau, or a quarter of the squared distance of the two points."""
        two = np.flatnonzero(self.second >= 0)
        scale = self.tau.copy()
        at = self.coordinates
        for t in two:
            scale[t] = squared_distances(at[:, [self.first[t]]], at[:, [self.second[t]]])[0, 0] / 4
        return scale

    def first_rounds(self, n_rounds: int) -> Similarities:
        kept = int(np.searchsorted(self.round, n_rounds))
        used = np.union1d(self.first[:kept], self.second[:kept])
        n_points = int(used.max(initial=-1)) + 1  # points stand in the order of their first use
        members = {name: getattr(self, name)[:kept] for name in ("first", "second", "tau", "hard", "column", "round", "vectors")}
        return replace(self, points=self.points[:n_points], label=self.label[:n_points], row=self.row[:n_points], **members)

    def extended(self, comparisons: Sequence[Comparison], vectors: Sequence[Floats], column: Sequence[int], round_: Sequence[int]) -> Any:
        """These and, behind them, further members whose examples are numbers of points."""
        return replace(
            self,
            first=np.append(self.first, [one.first for one in comparisons]).astype(np.int32),
            second=np.append(self.second, [one.second for one in comparisons]).astype(np.int32),
            tau=np.append(self.tau, [one.tau for one in comparisons]),
            hard=np.append(self.hard, [one.hard for one in comparisons]).astype(bool),
            column=np.append(self.column, column).astype(np.int32),
            round=np.append(self.round, round_).astype(np.int32),
            vectors=np.concatenate([self.vectors, *vectors]),
        )

    def answers(self, rows: Floats) -> Iterator[Floats]:
        """What each member in turn says of the rows, given by their coordinates: (n,)."""
        for begin in range(0, len(self), REPLAYED):
            some = slice(begin, begin + REPLAYED)
            used = np.unique(np.concatenate([self.first[some], self.second[some]]))
            used = used[used >= 0]
            distance = squared_distances(rows, np.take(self.coordinates, used, axis=1))
            for t in range(begin, min(begin + REPLAYED, len(self))):
                out = np.empty(rows.shape[1])
                places = [int(np.searchsorted(used, one)) if one >= 0 else -1 for one in (self.first[t], self.second[t])]
                add_responses(distance, *places, self.scale[t], self.hard[t], out)
                yield out

    def replay(self, rows: Floats) -> Iterator[tuple[int, int, Response]]:
        """For each member its round, its first column, and what the rows, given by their coordinates, add."""
        leaf = np.zeros(rows.shape[1], np.int32)
        for t, numbers in enumerate(self.answers(rows)):
            yield int(self.round[t]), int(self.column[t]), Response(self.vectors[t : t + 1], leaf, numbers)

    def columns(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> Floats:
        """The sum of all members for each row, (n, C); ``each`` may be a thread pool's map."""
        out = np.zeros((X.shape[0], self.n_columns))
        n_rows = min(max(16, ENTRIES // max(len(self.points), 1)), 512)

        def add(begin: int) -> None:
            part = slice(begin, begin + n_rows)
            distance = squared_distances(self.space.coordinates(X[part]), self.coordinates)
            columns = np.zeros((self.n_columns, distance.shape[1]))
            add_scores(distance, self.first, self.second, self.scale, self.hard, self.vectors, self.column, columns)
            out[part] = columns.T

        list(each(add, range(0, len(out), n_rows)))
        return out

    def staged_columns(self, X: Any) -> Iterator[Floats]:
        """The same sum after each round; the array is one and the same."""
        columns = np.zeros((X.shape[0], self.n_columns))
        width = self.vectors.shape[1]
        for t, numbers in enumerate(self.answers(self.space.coordinates(X))):
            if t and self.round[t] > self.round[t - 1]:
                yield columns
            columns[:, self.column[t] : self.column[t] + width] += numbers[:, None] * self.vectors[t]
        if len(self):
            yield columns

    def importances(self, n_features: int, decoder: Floats) -> Floats:
        """(p, K): each member's coefficients, spread over the columns by how far apart its two examples are in them."""
        out = np.zeros((n_features, decoder.shape[1]))
        pairs = np.flatnonzero(self.second >= 0)
        plain = replace(self.space, matrix=np.empty((0, 0)))
        at, column, width = plain.coordinates(self.points), plain.column, self.vectors.shape[1]
        for t in pairs:
            apart = (at[:, self.first[t]] - at[:, self.second[t]]) ** 2
            moved = np.abs(self.vectors[t] @ decoder[self.column[t] : self.column[t] + width])
            out += np.bincount(column, apart / apart.sum(), n_features)[:, None] * moved
        return out

    def contributions(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> tuple[Floats, Floats]:
        raise TypeError("contributions are of features in our own trees; this model has other members, so ask explain.")

    def explained(self, row: DecidedRow) -> Explanation:
        """Why a row is decided as it is: by the training examples that it was compared with."""
        at, classes = self.space.coordinates(row.numeric), row.classes.tolist()
        distance = np.sqrt(squared_distances(at, self.coordinates)[:, 0])
        examples = [
            Example(None if number < 0 else int(number), tuple(values), classes[label], float(far))
            for number, values, label, far in zip(self.row, row.columns.decoded(self.points), self.label, distance, strict=True)
        ]
        answers = np.array([float(answer[0]) for answer in self.answers(at)])
        width = self.vectors.shape[1]
        votes = np.zeros((len(self), len(classes)))
        for t, (f, a, column) in enumerate(zip(answers, self.vectors, self.column, strict=True)):
            votes[t] = f * a @ row.decoder[column : column + width]
        groups: dict[tuple[int, int], list[int]] = {}
        for t, pair in enumerate(zip(self.first.tolist(), self.second.tolist(), strict=True)):
            groups.setdefault(pair, []).append(t)
        compared = [
            ComparedExamples(
                examples[first] if first >= 0 else None,
                examples[second] if second >= 0 else None,
                float(np.mean(answers[of])),
                tuple(of),
                votes[of].sum(axis=0),
            )
            for (first, second), of in groups.items()
        ]
        return Explanation(tuple(classes), row.scores, row.probability, classes[int(row.scores.argmax())], tuple(compared))
