"""The kernel machine of Crammer and Singer by decomposition: blocks of rows are solved inside, then the outputs of all rows follow.

| paper (Crammer and Singer 2001) | here |
|---|---|
| outputs sum_j alpha_jk K(x_i, x_j) | ``O`` (n, K) |
| G_ik = O_ik + 1 - [k = y_i] | computed where it is needed |
| violation of a row, as in :mod:`manyboost.svm.linear_dual` | ``violations`` |
| the row of the largest violation is solved next | the rows of the largest violations are a block; sweeps over it need its own kernel rows only |

Outputs of all rows then change by one product of matrices, (n, block) times (block, K). Shrinking: rows that were without violation for a
while are left out, with their columns of the kernel, until the others are solved; then their outputs are computed and all rows checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.svm.kernel_rows import KernelRows
from manyboost.svm.linear_dual import NO_STEP
from manyboost.svm.row_problem import solve_row

Floats = NDArray[np.float64]
Block = Callable[[NDArray[np.intp], NDArray[np.intp]], Floats]
BLOCK = 256
SWEEPS = 50  # over a block, at most
INSIDE = 0.1  # a block is solved to this share of the violation it came with
QUIET = 20  # blocks in which a row was without violation before it is left out
ENOUGH = 0.8  # shrinking is worth its trouble where at most this share of the rows stays
CHUNK = 1024  # rows of the kernel computed at once for outputs


@compiled
def violations(O, alpha, y, bounds, diagonal, out):
    """By how much each row violates its conditions."""
    n, K = O.shape
    for i in range(n):
        out[i] = 0.0
        if bounds[i] > 0.0 and diagonal[i] > 0.0:
            highest, lowest = -np.inf, np.inf
            for k in range(K):
                g = O[i, k] + (0.0 if k == y[i] else 1.0)
                highest = max(highest, g)
                if alpha[i, k] < (bounds[i] if k == y[i] else 0.0):
                    lowest = min(lowest, g)
            out[i] = highest - lowest


@compiled
def ascend_block(kernel, O, y, bounds, alpha, tol, sweeps):
    """Sweep over the rows of a block until no violation is above ``tol``; O (K, block) are its outputs, alpha (block, K) is changed."""
    size, K = alpha.shape
    B, new = np.empty(K), np.empty(K)
    for _ in range(sweeps):
        worst = 0.0
        for i in range(size):
            A, bound, own = kernel[i, i], bounds[i], y[i]
            highest, lowest = -np.inf, np.inf
            for k in range(K):
                g = O[k, i] + (0.0 if k == own else 1.0)
                highest = max(highest, g)
                if alpha[i, k] < (bound if k == own else 0.0):
                    lowest = min(lowest, g)
                B[k] = g - A * alpha[i, k]
            if highest - lowest <= max(NO_STEP, 0.1 * tol):
                continue
            worst = max(worst, highest - lowest)
            solve_row(A, B, own, bound, K, new)
            for k in range(K):
                step = new[k] - alpha[i, k]
                if abs(step) >= NO_STEP * bound:
                    alpha[i, k] = new[k]
                    for j in range(size):
                        O[k, j] += step * kernel[i, j]
        if worst < tol:
            break


@dataclass(frozen=True)
class Problem:
    """The kernel by blocks, its diagonal, labels, bounds (0: the row takes no part), the number of classes and megabytes of memory."""

    block: Block
    diagonal: Floats
    y: NDArray[np.intp]
    bounds: Floats
    K: int
    megabytes: float

    def outputs(self, rows: NDArray[np.intp], alpha: Floats) -> Floats:
        """Outputs of some rows."""
        O = np.zeros((len(rows), self.K))
        support = np.flatnonzero(alpha.any(axis=1))
        for start in range(0, len(support), CHUNK):
            some = support[start : start + CHUNK]
            O += self.block(some, rows).T @ alpha[some]
        return O


def solve(problem: Problem, alpha: Floats, O: Floats, tol: float, max_iter: int) -> tuple[int, float]:
    """Change ``alpha`` and its outputs ``O`` until no violation is above ``tol``; returns the blocks solved and the largest one left."""
    n = len(alpha)
    size = min(BLOCK, n)
    cache = KernelRows(problem.block, n, problem.megabytes, size)
    active = np.arange(n)
    a, o, y, bounds, diagonal = alpha.copy(), O.copy(), problem.y, problem.bounds, problem.diagonal
    found, quiet = np.empty(n), np.zeros(n, np.int64)
    worst = np.inf
    for n_iter in range(max_iter + 1):
        found = np.empty(len(active))
        violations(o, a, y, bounds, diagonal, found)
        worst = float(found.max())
        if worst < tol or n_iter == max_iter:
            alpha[active], O[active] = a, o
            if len(active) == n:
                break
            left_out = np.setdiff1d(np.arange(n), active)
            O[left_out] = problem.outputs(left_out, alpha)
            active = np.arange(n)
            cache.activate(active)
            a, o, y, bounds, diagonal = alpha.copy(), O.copy(), problem.y, problem.bounds, problem.diagonal
            quiet = np.zeros(n, np.int64)
            found = np.empty(n)
            violations(o, a, y, bounds, diagonal, found)
            worst = float(found.max())
            if worst < tol or n_iter == max_iter:
                break
        quiet = np.where(found > NO_STEP, 0, quiet + 1)
        if n_iter % QUIET == QUIET - 1 and (quiet < QUIET).sum() <= ENOUGH * len(active):
            alpha[active], O[active] = a, o
            stay = np.flatnonzero(quiet < QUIET)
            active, quiet, found = active[stay], quiet[stay], found[stay]
            cache.activate(active)
            a, o, y, bounds, diagonal = a[stay], o[stay], y[stay], bounds[stay], diagonal[stay]
        count = min(size, int((found > NO_STEP).sum()))
        chosen = np.argpartition(-found, count - 1)[:count]
        chosen = chosen[np.argsort(-found[chosen], kind="stable")]
        rows = cache.values[cache.slots(active[chosen])]
        before = a[chosen]
        after = before.copy()
        inside = np.ascontiguousarray(o[chosen].T)
        ascend_block(np.ascontiguousarray(rows[:, chosen]), inside, y[chosen], bounds[chosen], after, max(tol / 2, INSIDE * worst), SWEEPS)
        a[chosen] = after
        o += rows.T @ (after - before)
    return n_iter, worst
