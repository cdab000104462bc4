"""Squared distances of training rows to all others, made when asked for and kept within a budget of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.similarity_kernels import add_distances
from manyboost.rows import in_parts
from manyboost.threads import Threads

Floats = NDArray[np.float64]
BLOCK = 4096  # rows that a thread works on at a time
LEAST = 2  # rows of distances that a comparison needs at once
TOGETHER = 4  # of them are made at a time, as the kernel likes it


class DistanceRows:
    """Rows of the matrix of squared distances, of which those last asked for stay in memory.

    Heavy rows are heavy for many rounds, so that most of what a fit asks for was asked for before. Every distance is made by itself in one
    order: whether it was kept, or made again, or by how many threads, is not to be seen in its bits.

    Parameters
    ----------
    Z : (c, n) coordinates; a row is a column here
    megabytes : of the rows that are kept; never fewer than two of them
    team : threads
    """

    def __init__(self, Z: Floats, megabytes: float, team: Threads):
        self._Z, self._team = Z, team
        n = Z.shape[1]
        self.most = max(LEAST, min(n, int(megabytes * 2**20 / (8 * max(n, 1)))))
        self._kept = np.empty((self.most, n))  # memory that was never written to is not taken
        self._place: OrderedDict[int, int] = OrderedDict()  # of each row that is kept, the last asked for at the end

    def of(self, rows: Sequence[int]) -> tuple[Floats, list[int]]:
        """The table of what is kept, (most, n), and where in it each of the rows, at most ``most``, stands until the next call."""
        for row in rows:
            if row in self._place:
                self._place.move_to_end(row)
        new = [row for row in dict.fromkeys(rows) if row not in self._place]
        for begin in range(0, len(new), TOGETHER):
            some = new[begin : begin + TOGETHER]
            n_free = self.most - len(self._place)
            places = [len(self._place) + at if at < n_free else self._place.popitem(last=False)[1] for at in range(len(some))]
            self._place.update(zip(some, places, strict=True))
            if n_free >= len(some):  # they stand side by side
                self._make(some, self._kept[places[0] : places[-1] + 1])
            else:
                made = np.empty((len(some), self._kept.shape[1]))
                self._make(some, made)
                self._kept[places] = made
        return self._kept, [self._place[row] for row in rows]

    def _make(self, rows: Sequence[int], out: Floats) -> None:
        n, points = self._Z.shape[1], np.ascontiguousarray(np.take(self._Z, rows, axis=1).T)  # of Z.T all would be copied
        in_parts(self._team, -(-n // BLOCK), lambda first, last: add_distances(
            self._Z, points, first * BLOCK, min(last * BLOCK, n), out
        ))  # fmt: skip
