"""The kernel machine of Crammer and Singer by decomposition: blocks of rows are solved inside, then the outputs of all rows follow.

| paper (Crammer and Singer 2001) | here |
|---|---|
| outputs O_ik = sum_j alpha_jk K(x_i, x_j) | ``outputs`` (n, K) |
| G_ik = O_ik + 1 - [k = y_i] | computed where it is needed; for the open pairs of a block, ``G`` |
| violation of a row, as in :mod:`manyboost.svm.linear_dual` | ``violation`` |
| the row of the largest violation is solved next | the support and the rows next to it are a block, for :mod:`manyboost.svm.open_pairs` |

A class of a row is open if its variable may have to move: it is below its bound, or G is not far below the smallest G that must equal the
largest at the optimum. Of K classes few are, so a block is a list of open pairs of row and class, class by class, and for each class it
needs the kernel between the rows open in it, and no more. Outputs of all rows then change by one product of matrices, (n, block) times
(block, K), and show what was rightly left closed.

The duality gap is a sum over the rows,

    gap_i = (C - alpha_iy) (max_k G_ik - G_iy) + sum over k != y of |alpha_ik| (max_k G_ik - G_ik),

each term of which is zero or more. It tells which rows matter, and the fit ends when it is a small enough share of the objective.

Shrinking: rows far from moving are left out, with their columns of the kernel, until the others are solved; then their outputs are
computed and all rows checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.svm.kernel_rows import CHUNK, MEGABYTE, Block, KernelRows
from manyboost.svm.open_pairs import OpenPairs

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
FIRST = 500  # rows of the first block
GROWTH = 0.75  # how many rows may join a block, as a share of the support
INSIDE = 0.1  # a block is solved until its gap is this share of the one it came with
NEAR = 0.1  # a class whose G is farther from moving is closed, and one farther than the largest violation
NEARER = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03)  # shares of that distance, for want of memory
FAR = 3.0  # times the largest violation: a row farther from moving is left out
NEAR_IN_SINGLE = 1e-3  # rows farther from moving are so whatever single precision did to their outputs
ENOUGH = 0.8  # shrinking is worth its trouble where at most this share of the rows stays
OF_ROWS = 0.5  # share of the memory for rows of the kernel; the rest is for blocks


@compiled_part
def _extremes(outputs, alpha, i, own, bound):
    """The highest G of a row, the lowest of the classes below their bounds, the highest of those at them, and how many are below."""
    highest, lowest, highest_at_bound, n_free = -np.inf, np.inf, -np.inf, 0
    for k in range(outputs.shape[1]):
        g = outputs[i, k] + (0.0 if k == own else 1.0)
        highest = max(highest, g)
        if alpha[i, k] < (bound if k == own else 0.0):
            lowest = min(lowest, g)
            n_free += 1
        else:
            highest_at_bound = max(highest_at_bound, g)
    return highest, lowest, highest_at_bound, n_free


@compiled
def look(outputs, alpha, y, bounds, diagonal, rows, violation, gap, distance):
    """For some rows: the violation, the part of the duality gap, and how far below moving G of a second class is (0: two are free)."""
    for r in range(rows.size):
        i = rows[r]
        violation[r], gap[r], distance[r] = 0.0, 0.0, np.inf
        if bounds[i] > 0.0 and diagonal[i] > 0.0:
            highest, lowest, highest_at_bound, n_free = _extremes(outputs, alpha, i, y[i], bounds[i])
            violation[r] = highest - lowest
            distance[r] = 0.0 if n_free > 1 else lowest - highest_at_bound
            gap[r] = bounds[i] * (highest - outputs[i, y[i]])
            for k in range(outputs.shape[1]):
                gap[r] += alpha[i, k] * (outputs[i, k] + (0.0 if k == y[i] else 1.0))


@compiled
def find_open(outputs, alpha, y, bounds, rows, slack, is_open):
    """Which classes of some rows are open. A row that violates will meet half way between its extremes, or higher."""
    for r in range(rows.size):
        i = rows[r]
        highest, lowest, _, _ = _extremes(outputs, alpha, i, y[i], bounds[i])
        for k in range(outputs.shape[1]):
            g = outputs[i, k] + (0.0 if k == y[i] else 1.0)
            is_open[r, k] = alpha[i, k] < (bounds[i] if k == y[i] else 0.0) or g >= (lowest + highest) / 2 - slack


@compiled
def deal(values, number, row_of, class_starts, kernel_starts, kernels):
    """Copy rows of a block's kernel into the squares of the classes open in them; ``number`` is that of their pairs, -1 where closed."""
    for i in range(number.shape[0]):
        for k in range(number.shape[1]):
            if number[i, k] >= 0:
                n_k = class_starts[k + 1] - class_starts[k]
                begin = kernel_starts[k] + (number[i, k] - class_starts[k]) * n_k
                into, others, row = kernels[begin : begin + n_k], row_of[class_starts[k] : class_starts[k + 1]], values[i]
                for j in range(n_k):
                    into[j] = row[others[j]]


@dataclass(frozen=True)
class Problem:
    """The kernel by blocks, its diagonal, labels, bounds (0: the row takes no part), the number of classes and megabytes of memory."""

    block: Block
    diagonal: Floats
    y: Numbers
    bounds: Floats
    K: int
    megabytes: float

    def outputs(self, rows: Numbers, alpha: Floats, dtype: Any = np.float64) -> Floats:
        """Outputs of some rows, from a kernel in this precision."""
        outputs = np.zeros((self.K, len(rows)))
        support = np.flatnonzero(alpha.any(axis=1))
        for start in range(0, len(support), CHUNK):
            some = support[start : start + CHUNK]
            outputs += alpha[some].astype(dtype).T @ self.block(some, rows, dtype)
        return np.ascontiguousarray(outputs.T)

    def dual_objective(self, alpha: Floats, outputs: Floats) -> float:
        """What is maximised; with the duality gap it is the objective."""
        return float(alpha[np.arange(len(alpha)), self.y].sum()) - float((alpha * outputs).sum()) / 2


def solve(problem: Problem, alpha: Floats, outputs: Floats, tol: float, max_iter: int) -> tuple[int, float]:
    """Change ``alpha`` and its ``outputs`` until the gap is at most ``tol`` of the objective; returns the blocks solved and its share."""
    everything = np.arange(len(alpha))
    room = problem.megabytes * MEGABYTE * OF_ROWS
    cache = KernelRows(problem.block, len(alpha), room, np.float64 if 8 * len(alpha) ** 2 <= room else np.float32)
    sight = _Sight.of(problem, alpha, outputs, everything)
    n_iter = 0
    while True:
        gap = float(sight.gap.sum())
        objective = problem.dual_objective(alpha, outputs) + gap
        if gap <= tol * objective or n_iter == max_iter:
            if len(sight.rows) < len(alpha):
                left_out = np.setdiff1d(everything, sight.rows)
                outputs[left_out] = problem.outputs(left_out, alpha, cache.dtype)
                cache.activate(everything)
            elif cache.dtype == np.float64 or n_iter == max_iter:
                return n_iter, gap / objective
            else:  # what seems to be solved in single precision is seen in double
                cache = KernelRows(problem.block, len(alpha), room, np.float64)
                near = np.flatnonzero(sight.distance <= NEAR_IN_SINGLE)
                outputs[near] = problem.outputs(near, alpha)
                if _Sight.of(problem, alpha, outputs, everything).gap.sum() > tol * objective:
                    outputs[:] = problem.outputs(everything, alpha)
            sight = _Sight.of(problem, alpha, outputs, everything)
            continue
        staying = sight.distance <= FAR * sight.violation.max()
        if staying.sum() <= ENOUGH * len(staying):
            sight = sight.restricted(staying)
            cache.activate(sight.rows)
        block = _Block.of(problem, alpha, outputs, sight, (problem.megabytes * MEGABYTE - room) / cache.dtype.itemsize)
        before, rows = alpha[block.rows], block.rows
        alpha[rows], expected = block.solved(problem, cache, before, outputs[rows], max(INSIDE, tol * objective / (2 * gap)))
        change = alpha[rows] - before
        moved = np.flatnonzero(change.any(axis=1))
        gained = np.zeros((problem.K, len(sight.rows)))
        for some, values in cache.stream(rows[moved], rows):
            gained += change[moved[some]].astype(cache.dtype).T @ values
        outputs[sight.rows] += gained.T
        error = np.where(block.is_open, np.abs(outputs[rows] - expected), 0.0).max(axis=1)
        if cache.dtype == np.float32 and problem.bounds[rows] @ error > tol * objective / 2:  # rounding hides what is left of the gap
            cache = KernelRows(problem.block, len(alpha), room, np.float64)
            cache.activate(sight.rows)
            outputs[sight.rows] = problem.outputs(sight.rows, alpha)
        sight = _Sight.of(problem, alpha, outputs, sight.rows)
        n_iter += 1


@dataclass(frozen=True)
class _Sight:
    """What :func:`look` sees of the active rows."""

    rows: Numbers
    violation: Floats
    gap: Floats
    distance: Floats

    @classmethod
    def of(cls, problem: Problem, alpha: Floats, outputs: Floats, rows: Numbers) -> _Sight:
        sight = cls(rows, *np.empty((3, len(rows))))
        look(outputs, alpha, problem.y, problem.bounds, problem.diagonal, rows, sight.violation, sight.gap, sight.distance)
        return sight

    def restricted(self, staying: NDArray[np.bool_]) -> _Sight:
        return _Sight(self.rows[staying], self.violation[staying], self.gap[staying], self.distance[staying])


@dataclass(frozen=True)
class _Block:
    """Rows, their places among the active ones, their parts of the gap, and which of their classes are open."""

    rows: Numbers
    places: Numbers
    gap: Floats
    is_open: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, alpha: Floats, outputs: Floats, sight: _Sight, n_values: float) -> _Block:
        """The support that may move and the rows next to it, with as many values of the kernel as there is room for.

        Where they are more, fewer classes of a row are open. Where even then they are more, rows of large gaps are taken first.
        """
        support = alpha[sight.rows].any(axis=1)
        n_new = max(FIRST, int(GROWTH * support.sum()))
        slack = min(NEAR, float(sight.violation.max()))
        for share in NEARER:
            near = sight.distance <= share * slack
            new = np.flatnonzero(near & ~support)
            places = np.concatenate([np.flatnonzero(near & support), new[np.argsort(sight.distance[new], kind="stable")[:n_new]]])
            places = places[np.argsort(-sight.gap[places], kind="stable")]
            is_open = np.empty((len(places), problem.K), bool)
            find_open(outputs, alpha, problem.y, problem.bounds, sight.rows[places], share * slack, is_open)
            if (is_open.sum(axis=0) ** 2).sum() <= n_values:
                break
        n_rows = max(2, int(np.searchsorted((np.cumsum(is_open, axis=0) ** 2).sum(axis=1), n_values, side="right")))
        places = places[:n_rows]
        return cls(sight.rows[places], places, sight.gap[places], is_open[:n_rows])

    def solved(self, problem: Problem, cache: KernelRows, alpha: Floats, outputs: Floats, share: float) -> tuple[Floats, Floats]:
        """The variables and outputs of the rows after their open pairs were solved until this share of their gap was left."""
        rows, is_open, by_class = self.rows, self.is_open, self.is_open.T
        y = problem.y[rows]
        number = np.full(is_open.shape, -1)
        number.T[by_class] = np.arange(is_open.sum())
        n_of_class, n_of_row = is_open.sum(axis=0), is_open.sum(axis=1)
        class_starts, kernel_starts, row_starts = (np.concatenate([[0], np.cumsum(n)]) for n in (n_of_class, n_of_class**2, n_of_row))
        kernels = cache.scratch(kernel_starts[-1])
        row_of = np.nonzero(by_class)[1]
        for first, values in cache.among(rows, self.places):
            deal(values, number[first : first + len(values)], row_of, class_starts, kernel_starts, kernels)
        class_of = np.repeat(np.arange(problem.K), n_of_class)
        own = number[np.arange(len(rows)), y]
        others = (np.arange(problem.K) != y[:, None]).T[by_class]
        G, variables = outputs.T[by_class] + others, alpha.T[by_class]
        open_pairs = OpenPairs(
            kernels, kernel_starts, class_of, class_starts, number[is_open], row_starts, own, problem.bounds[rows], problem.diagonal[rows],
            G, variables,
        )  # fmt: skip
        open_pairs.solve(share * float(self.gap.sum()))
        alpha, outputs = alpha.copy(), outputs.copy()
        alpha.T[by_class], outputs.T[by_class] = variables, G - others
        return alpha, outputs
