"""Localized similarities as the weak learner: rows as coordinates, and a comparison for each problem.

    Appel and Perona (2017)                          here
    U, u_n = w_n * y_n / sqrt(N sum_m w_m)           never made; U U' is ``products`` divided by the roots of the classes' totals    (7),
                                                     equal rows being one: a weight of two is two rows
    v, the first eigenvector of U' U                 v = U' q with q that of the K x K matrix U U'                                   (8)
    b_n = sign(v_n)                                  ``v < 0`` and ``v > 0``, the two groups; either of v and -v will do
    f_1, the homogeneous stump                       HOMOGENEOUS                                                      5.2, steps 0 and 3
    f_i, the isolating similarity                    ``isolator``, tau a quarter of the squared distance to the nearest row    5.2, 2
    steps 4 to 6                                     ``_of_the_paper``

By default pairs are not sought by steps 4 to 6: rows drawn in proportion to |v|, anchors and partners of the other group, are paired and
compared by the Newton gain along q, ``(sum f v)^2 / sum f^2 h``, on rows drawn likewise; the best few are compared by their loss on
all rows. The guarantee stays: where no candidate lowers the loss by the bound of section 5, the hard isolator is taken, and
that whose product with v is largest is enough for the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.distance_rows import DistanceRows
from manyboost.learners.localized_similarity import LocalizedSimilarity
from manyboost.learners.pair_search import best_pairs, n_numbers, single_precision
from manyboost.learners.similarities import Comparison, Similarities, squared_distances
from manyboost.learners.similarity_kernels import (
    add_along,
    add_products,
    add_responses,
    add_signed_weights,
    isolator_losses,
)
from manyboost.learners.similarity_space import Space
from manyboost.maths.number_steps import binned_steps
from manyboost.maths.steps import NO_EDGE
from manyboost.parameters import is_sampler
from manyboost.protocol import Floats, Leaves, Problem, Task
from manyboost.row_keys import keys_of_content, keys_of_numbers
from manyboost.rows import Response, in_parts, own_entries
from manyboost.threads import Threads
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.sampling import draw_by_weight, draw_evenly, draw_uniformly
from manyboost.weak_learning import Grown, GrownMember, Settings, counted_rows

BLOCK = 4096  # rows whose sums are made together
JUDGED = 8  # comparisons whose answers are in memory together
HOMOGENEOUS = Comparison(-1, -1, 0.0, False)
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Compared:
    """A comparison of the training rows: their numbers, and the coordinates (c, 0 to 2) of those it names."""

    comparison: Comparison
    points: Floats
    scale: float

    @property
    def n_leaves(self) -> int:
        return self.comparison.n_leaves

    def answer(self, Z: Floats) -> Floats:
        """What it says of rows, given by their coordinates: (n,)."""
        n = self.points.shape[1]
        out = np.empty(Z.shape[1])
        first, second = (0 if n else -1), (1 if n > 1 else -1)
        add_responses(squared_distances(Z, self.points), first, second, self.scale, self.comparison.hard, out)
        return out


@dataclass(frozen=True)
class SimilarityRows:
    """Rows as coordinates, with a key of what is in each; members are comparisons, and together :class:`Similarities`.

    Attributes
    ----------
    Z : (c, n) coordinates; a row is a column here
    keys, labels, row : (n,) key, class and place in ``source`` of each row
    source : the rows as they came
    number : which row of the user's table each of them was
    """

    Z: Floats
    keys: NDArray[np.uint64]
    labels: NDArray[np.intp]
    row: NDArray[np.int64]
    source: Any
    number: NDArray[np.int64]
    space: Space
    estimator: LocalizedSimilarity

    @classmethod
    def of(cls, numeric: Any, labels: NDArray[np.intp], number: Rows, estimator: LocalizedSimilarity, space: Space) -> SimilarityRows:
        keys, places = keys_of_numbers(numeric, labels), np.arange(len(labels))
        return cls(space.coordinates(numeric), keys, labels, places, numeric, number.astype(np.int64), space, estimator)

    def part(self, rows: Rows) -> SimilarityRows:
        return replace(self, Z=np.take(self.Z, rows, axis=1), keys=self.keys[rows], labels=self.labels[rows], row=self.row[rows])

    def in_order(self, order: Rows, labels: NDArray[np.uint16]) -> SimilarityRows:
        return self.part(order)

    @cached_property
    def points(self) -> tuple[Rows, Rows]:
        """A row for each of the different points that rows stand at, in the order of the rows, and each row's point."""
        _, first, number = np.unique(keys_of_numbers(self.Z.T, np.zeros(len(self.row), np.intp)), return_index=True, return_inverse=True)
        return np.sort(first), np.argsort(np.argsort(first))[number]

    def agreed(self, task: Task) -> Task:
        if self.estimator.coincident == "keep":
            return task
        first, point = self.points
        votes = np.zeros((len(first), task.K))
        np.add.at(votes, (point, task.y), task.weight)
        if self.estimator.coincident == "majority":
            return replace(task, codes=votes.argmax(axis=1)[point].astype(np.uint16))
        if task.cost is not None:
            raise ValueError(
                "coincident='mixed' trains one more class, of which cost_matrix says nothing; use coincident='majority' or costs='decide'."
            )
        several = (votes > 0).sum(axis=1) > 1
        return replace(task, codes=np.where(several[point], task.K, task.y).astype(np.uint16), K=task.K + 1)

    def learner(self, task: Task, settings: Settings, threads: Threads) -> SimilarityLearner:
        return SimilarityLearner(self, task, settings, threads)

    def no_members(self, n_columns: int) -> Similarities:
        return Similarities.empty(self.space, n_columns)

    def extended(self, members: Similarities, grown: Sequence[GrownMember]) -> Similarities:
        """The members with further ones. Equal rows are one point."""
        if not grown:
            return members
        keys = keys_of_content(self.keys, self.labels)
        number = {int(key): at for at, key in enumerate(keys_of_content(keys_of_numbers(members.points, members.label), members.label))}
        new: list[int] = []

        def point_of(row: int) -> int:
            if row < 0:
                return -1
            at = number.setdefault(int(keys[row]), len(number))
            if at == len(members.points) + len(new):
                new.append(row)
            return at

        comparisons = [
            one.comparison._replace(first=point_of(one.comparison.first), second=point_of(one.comparison.second)) for one, _, _, _ in grown
        ]
        chosen = self.source[self.row[new]] if new else self.source[:0]
        values = np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen, np.float64)
        with_points = replace(
            members,
            points=np.concatenate([members.points, values]),
            label=np.append(members.label, self.labels[new]).astype(np.int32),
            row=np.append(members.row, self.number[self.row[new]]).astype(np.int64),
        )
        _, vectors, column, round_ = zip(*grown, strict=True)
        return with_points.extended(comparisons, vectors, column, round_)  # type: ignore[no-any-return]

    def respond(self, member: Compared, vectors: Floats) -> Response:
        return Response(vectors, np.zeros(len(self.row), np.int32), member.answer(self.Z))

    def replay(self, members: Similarities) -> Iterator[tuple[int, int, Response]]:
        return members.replay(self.Z)


@dataclass(frozen=True)
class _Direction:
    """Where the loss falls: v and h along the first eigenvector, added up over the rows of each of P points, and the weights' sums."""

    W: Floats  # (n, K)
    totals: Floats  # (K,) weight
    signed: Floats  # (P, K) weight for less weight against, of each point
    differences: Floats  # (K,) the same of all
    v: Floats  # (P,)
    h: Floats  # (P,)


@dataclass(frozen=True)
class _Candidate:
    comparison: Comparison
    scale: float
    answer: Floats  # (n,)
    loss: float
    near: Floats | None  # (2, K) steps and second derivatives


class SimilarityLearner:
    """Finds a comparison for each problem of a round."""

    def __init__(self, rows: SimilarityRows, task: Task, settings: Settings, threads: Threads):
        self.rows, self.task, self.settings, self.threads = rows, task, settings, threads
        self.learner, self.Z = rows.estimator, rows.Z
        if settings.sampling == "smote" or is_sampler(settings.sampling):
            raise ValueError(
                f"sampling={settings.sampling!r} makes rows up, and a similarity compares with training rows only; use another sampling."
            )
        n = len(rows.row)
        self.row_of, self.point = rows.points
        self.n_points = len(self.row_of)
        self.leaf, self.label = np.zeros(n, np.int32), np.zeros(n, np.intp)
        self.n_drawn = max(1, int(settings.subsample * counted_rows(task)))
        self.distances = DistanceRows(self.Z, self.learner.cache_size, threads)
        self.searched = single_precision(self.Z, self.row_of)
        self.numbers = np.arange(n_numbers(self.learner), dtype=np.uint64)
        self.hard = self.learner.response == "sign"
        self.least_share = settings.limits.min_weight_fraction_leaf

    def n_draws(self, found: Grown) -> int:
        """Where even an isolator is of no use, so is any other draw."""
        return 1

    def grow_again(self, problem: Problem, *of: int, fewer: bool = False) -> Grown:
        """A comparison for one problem, by the random numbers of (round, problem, draw)."""
        if not problem.numbers:
            raise ValueError(
                f"estimator={self.learner!r} answers with a number for each row, which this algorithm, as it is set, cannot use; "
                "use RebelClassifier."
            )
        seed = seed_of(self.settings.seed, *of)
        direction = self._direction(problem.made().dense)
        best = self._best(direction, self._drawn(problem, seed), seed)
        named = [row for row in (best.comparison.first, best.comparison.second) if row >= 0]
        points = np.take(self.Z, np.array(named, np.intp), axis=1)
        leaves = Leaves(direction.W, self.label, numbers=best.answer, near=best.near)
        return Grown(Compared(best.comparison, points, best.scale), self.leaf, leaves)

    def grow_all(self, problems: Sequence[Problem], round_: int) -> list[Grown]:
        return [self.grow_again(problem, round_, at) for at, problem in enumerate(problems)]

    # ---- where the loss falls --------------------------------------------------------------------------------------------------------

    def _direction(self, W: Floats) -> _Direction:
        n, K, P = len(W), W.shape[1], self.n_points
        signed, totals = np.zeros((P, K)), np.zeros(K)
        add_signed_weights(W, self.task.y, self.point, totals, signed)
        n_blocks = -(-P // BLOCK)
        products = np.zeros((n_blocks, K, K))

        def add(first: int, last: int) -> None:
            for block in range(first, last):
                add_products(signed, block * BLOCK, min((block + 1) * BLOCK, P), products[block])

        in_parts(self.threads, n_blocks, add)
        unit = np.divide(1.0, np.sqrt(totals), out=np.zeros(K), where=totals > 0)
        q = np.linalg.eigh(products.sum(axis=0) * unit * unit[:, None], UPLO="L")[1][:, -1] * unit
        v, h = np.empty(P), np.empty(n)
        add_along(signed, q, 0, P, v)
        add_along(W, q * q, 0, n, h)
        v[np.abs(v) <= NO_EDGE * np.abs(v).max()] = 0.0  # the rows of a point may cancel but for rounding
        own = np.bincount(self.task.y, own_entries(W, self.task.codes), K)
        return _Direction(W, totals, signed, 2 * own - totals, v, h if n == P else np.bincount(self.point, h, P).astype(np.float64))

    def _drawn(self, problem: Problem, seed: int) -> NDArray[np.bool_]:
        """The points that may be compared with, where the user wants a sample of the rows."""
        settings, keys = self.settings, self.rows.keys
        if settings.sampling == "weight":
            rows = draw_by_weight(problem.made(), self.n_drawn, seed)
        elif settings.sampling == "under":
            rows = draw_evenly(keys, self.task.y, settings.subsample, seed)
        elif settings.subsample < 1.0:
            rows = draw_uniformly(keys, settings.subsample, seed)
        else:
            return np.ones(self.n_points, bool)
        drawn = np.zeros(self.n_points, bool)
        drawn[self.point[rows]] = True
        return drawn

    # ---- candidates ------------------------------------------------------------------------------------------------------------------

    def _best(self, direction: _Direction, drawn: NDArray[np.bool_], seed: int) -> _Candidate:
        """The candidate of the least loss; the isolator in its hard form where the others do not lower the loss by as much as is proved."""
        before = float(direction.totals.sum())
        point = self._isolated_point(direction, drawn)
        isolator = Comparison(int(self.row_of[point]), -1, np.nan, self.hard)  # its tau follows from the distances
        compared = [isolator]
        if self.learner.mode == "two-point" and self.learner.procedure == "anchors":
            pairs, gain = self._screened_pairs(direction, drawn, seed)
            v, h = direction.v, direction.h
            worth_it = (2 * v[point] - v.sum()) ** 2 > gain / 2 * h.sum()  # by the Newton gain of its hard form
            compared = [isolator, *pairs] if worth_it else pairs
        candidates = chain([self._homogeneous(direction)], self._judged(direction, compared))
        if self.learner.mode == "two-point" and self.learner.procedure == "paper":
            candidates = chain(candidates, self._of_the_paper(direction, point, drawn))
        best = min(candidates, key=lambda one: one.loss)
        proved = 1.0 - 2.0 / (direction.W.shape[1] * self.n_points**2)
        if best.loss > proved * before:
            best = min([best, *self._judged(direction, [isolator._replace(hard=True)])], key=lambda one: one.loss)
        return best

    def _homogeneous(self, direction: _Direction) -> _Candidate:
        loss = np.sqrt(np.maximum(direction.totals**2 - direction.differences**2, 0.0)).sum()
        return _Candidate(HOMOGENEOUS, 0.0, np.ones(len(self.point)), float(loss), None)

    def _isolated_point(self, direction: _Direction, drawn: NDArray[np.bool_]) -> int:
        """The point to isolate: that of the least loss, or, when pairs are screened along v, that of the largest product with v."""
        if self.learner.procedure == "paper" or self.learner.mode == "one-point":
            losses = np.empty(self.n_points)
            isolator_losses(direction.signed, direction.totals, direction.differences, losses)
            worth = -losses
        else:
            worth = np.abs(2 * direction.v - direction.v.sum())
        return int(np.where(drawn, worth, -np.inf).argmax())

    def _judged(self, direction: _Direction, comparisons: Sequence[Comparison]) -> Iterator[_Candidate]:
        """Each comparison's answers to all rows, and the loss after the best step along them; few at a time are in memory."""
        together = min(JUDGED, self.distances.most // 2)
        for begin in range(0, len(comparisons), together):
            some = comparisons[begin : begin + together]
            used = sorted({row for one in some for row in (one.first, one.second) if row >= 0})
            table, places = self.distances.of(used)
            judge = partial(self._judge, direction, table, dict(zip(used, places, strict=True)))
            yield from (found for found in self.threads.map(judge, some) if found is not None)

    def _judge(self, direction: _Direction, distance: Floats, place: dict[int, int], one: Comparison) -> _Candidate | None:
        near = distance[place[one.first]]
        if one.second < 0:
            one = one._replace(tau=float(near[near > 0].min(initial=np.inf)) / 4)
            scale = one.tau
        else:
            scale = float(near[one.second]) / 4
        if not 0 < scale < np.inf:
            return None
        out = np.empty(len(near))
        add_responses(distance, place[one.first], place.get(one.second, -1), scale, one.hard, out)
        if self.least_share > 0:
            share = float(self.task.weight[out >= 0].sum())
            if min(share, 1 - share) < self.least_share:
                return None
        steps, loss = binned_steps(out, direction.W, self.task.y)
        return _Candidate(one, scale, out, loss, steps)

    def _screened_pairs(self, direction: _Direction, drawn: NDArray[np.bool_], seed: int) -> tuple[list[Comparison], float]:
        """The pairs of anchors and partners of the largest Newton gain, and the largest."""
        numbers = uniform_of_keys(seed, self.numbers)
        pairs, gains = best_pairs(self.searched, direction.v, direction.h, drawn, numbers, self.learner)
        return [Comparison(i, j, 0.0, self.hard) for i, j in self.row_of[pairs].tolist()], float(gains.max(initial=0.0))

    def _of_the_paper(self, direction: _Direction, point: int, drawn: NDArray[np.bool_]) -> Iterator[_Candidate]:
        """Procedure 5.2, steps 4 to 6: the isolated row against its nearest opposite rows, and whatever is near these left out."""
        i, points = int(self.row_of[point]), self.row_of
        table, [first] = self.distances.of([i])
        to_first, answer = table[first, points], np.empty(self.n_points)
        alive = drawn & (direction.v * direction.v[point] < 0) & (to_first > 0)
        left = self.n_points if self.learner.max_candidates is None else self.learner.max_candidates
        while left and alive.any():
            nearest = int(np.where(alive, to_first, np.inf).argmin())
            pair = Comparison(i, int(points[nearest]), 0.0, self.hard)
            yield from self._judged(direction, [pair])
            table, pairs = self.distances.of([i, pair.second])
            add_responses(np.take(table[pairs], points, axis=1), 0, 1, float(to_first[nearest]) / 4, False, answer)
            alive &= answer > answer[nearest] / 2
            alive[nearest] = False
            left -= 1
