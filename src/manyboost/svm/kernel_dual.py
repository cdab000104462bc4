"""The kernel machine of Crammer and Singer by decomposition: blocks of rows are solved inside, then the outputs of all rows follow.

| paper (Crammer and Singer 2001) | here |
|---|---|
| outputs O_ik = sum_j alpha_jk K(x_i, x_j) | ``outputs`` (n, K) |
| G_ik = O_ik + 1 - [k = y_i] | computed where it is needed |
| violation of a row, as in :mod:`manyboost.svm.linear_dual` | ``violations`` |
| the row of the largest violation is solved next | the support and the rows of the largest violations are a block, solved by sweeps |

A sweep needs the kernel of the block alone. Outputs of all rows then change by one product of matrices, (n, block) times (block, K).
Shrinking: rows that were without violation for a while are left out, with their columns of the kernel, until the others are solved; then
their outputs are computed and all rows checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.svm.kernel_rows import MEGABYTE, Block, KernelRows
from manyboost.svm.linear_dual import NO_STEP
from manyboost.svm.row_problem import solve_row

Floats = NDArray[np.float64]
FIRST = 500  # rows of the first block
GROWTH = 0.75  # how many rows may join a block, as a share of the support
SWEEPS = 2000  # over a block, at most
GATE = 0.3  # rows with less than this share of the largest violation of a sweep wait
INSIDE = 0.1  # a block is solved to this share of the violation it came with
QUIET = 5  # blocks in which a row was without violation before it is left out
ENOUGH = 0.8  # shrinking is worth its trouble where at most this share of the rows stays
CHUNK = 256  # rows of the kernel computed at once for outputs


@compiled
def violations(outputs, alpha, y, bounds, diagonal, out):
    """By how much each row violates its conditions."""
    n, K = outputs.shape
    for i in range(n):
        out[i] = 0.0
        if bounds[i] > 0.0 and diagonal[i] > 0.0:
            highest, lowest = -np.inf, np.inf
            for k in range(K):
                g = outputs[i, k] + (0.0 if k == y[i] else 1.0)
                highest = max(highest, g)
                if alpha[i, k] < (bounds[i] if k == y[i] else 0.0):
                    lowest = min(lowest, g)
            out[i] = highest - lowest


@compiled_part
def _look(outputs, alpha, i, own, bound):
    """The violation of a row of a block."""
    highest, lowest = -np.inf, np.inf
    for k in range(alpha.shape[1]):
        g = outputs[k, i] + (0.0 if k == own else 1.0)
        highest = max(highest, g)
        if alpha[i, k] < (bound if k == own else 0.0):
            lowest = min(lowest, g)
    return highest - lowest


@compiled
def ascend_block(kernel, outputs, y, bounds, alpha, tol, sweeps):
    """Sweep over the rows of a block until no violation is above ``tol``; outputs (K, block) and alpha (block, K) are changed."""
    size, K = alpha.shape
    B, new = np.empty(K), np.empty(K)
    for _ in range(sweeps):
        worst = 0.0
        for i in range(size):
            worst = max(worst, _look(outputs, alpha, i, y[i], bounds[i]))
        if worst < tol:
            return
        for i in range(size):
            A, bound, own = kernel[i, i], bounds[i], y[i]
            if _look(outputs, alpha, i, own, bound) <= GATE * worst:
                continue
            for k in range(K):
                B[k] = outputs[k, i] + (0.0 if k == own else 1.0) - A * alpha[i, k]
            solve_row(A, B, own, bound, K, new)
            for k in range(K):
                step = new[k] - alpha[i, k]
                if step != 0.0:
                    alpha[i, k] = new[k]
                    for j in range(size):
                        outputs[k, j] += step * kernel[i, j]


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
        outputs = np.zeros((len(rows), self.K))
        support = np.flatnonzero(alpha.any(axis=1))
        for start in range(0, len(support), CHUNK):
            some = support[start : start + CHUNK]
            outputs += self.block(some, rows, np.float64).T @ alpha[some]
        return outputs


def solve(problem: Problem, alpha: Floats, outputs: Floats, tol: float, max_iter: int) -> tuple[int, float]:
    """Change ``alpha`` and its ``outputs`` until no violation is above ``tol``; returns the blocks solved and the largest one left."""
    n = len(alpha)
    cache = KernelRows(problem.block, n, problem.megabytes / 2)
    largest = max(FIRST, int(np.sqrt(problem.megabytes / 2 * MEGABYTE / np.dtype(cache.dtype).itemsize)))
    state = _State.of(problem, alpha, outputs, np.arange(n))
    found, quiet = state.violations(), np.zeros(n, np.int64)
    for n_iter in range(max_iter + 1):
        if found.max() < tol or n_iter == max_iter:
            state.store(alpha, outputs)
            if len(state.active) < n:
                left_out = np.setdiff1d(np.arange(n), state.active)
                outputs[left_out] = problem.outputs(left_out, alpha)
                state = _State.of(problem, alpha, outputs, np.arange(n))
                found, quiet = state.violations(), np.zeros(n, np.int64)
                cache.activate(state.active)
            if found.max() < tol or n_iter == max_iter:
                break
        quiet = np.where(found > NO_STEP, 0, quiet + 1)
        stay = np.flatnonzero(quiet < QUIET)
        if 0 < len(stay) <= ENOUGH * len(state.active):
            state.store(alpha, outputs)
            state, found, quiet = _State.of(problem, alpha, outputs, state.active[stay]), found[stay], quiet[stay]
            cache.activate(state.active)
        state.solve_block(_chosen(found, state.alpha, largest), cache, max(tol / 2, INSIDE * float(found.max())), n)
        found = state.violations()
    return n_iter, float(found.max())


def _chosen(found: Floats, alpha: Floats, largest: int) -> NDArray[np.intp]:
    """The support so far, and the rows of the largest violations, not many more at a time than it has."""
    support = alpha.any(axis=1)
    violating = found > NO_STEP
    new = np.flatnonzero(violating & ~support)
    many = max(FIRST, int(GROWTH * support.sum()))
    if len(new) > many:
        new = new[np.argsort(-found[new], kind="stable")[:many]]
    chosen = np.concatenate([np.flatnonzero(support), new])
    if len(chosen) > largest:
        chosen = chosen[np.argsort(-found[chosen], kind="stable")[:largest]]
    return np.sort(chosen)


@dataclass
class _State:
    """The active rows and all that is known about them, side by side."""

    active: NDArray[np.intp]
    alpha: Floats
    outputs: Floats
    y: NDArray[np.intp]
    bounds: Floats
    diagonal: Floats

    @classmethod
    def of(cls, problem: Problem, alpha: Floats, outputs: Floats, active: NDArray[np.intp]) -> _State:
        y, bounds, diagonal = problem.y[active], problem.bounds[active], problem.diagonal[active]
        return cls(active, alpha[active], outputs[active], y, bounds, diagonal)

    def store(self, alpha: Floats, outputs: Floats) -> None:
        alpha[self.active], outputs[self.active] = self.alpha, self.outputs

    def violations(self) -> Floats:
        out = np.empty(len(self.active))
        violations(self.outputs, self.alpha, self.y, self.bounds, self.diagonal, out)
        return out

    def solve_block(self, chosen: NDArray[np.intp], cache: KernelRows, tol: float, n: int) -> None:
        rows = self.active[chosen]
        kernel = cache.within(rows, chosen)
        before = self.alpha[chosen]
        after = before.copy()
        inside = np.ascontiguousarray(self.outputs[chosen].T)
        ascend_block(kernel, inside, self.y[chosen], self.bounds[chosen], after, tol, SWEEPS)
        self.alpha[chosen] = after
        change = after - before
        moved = np.flatnonzero(change.any(axis=1))
        wanted = np.zeros(n, bool)
        wanted[rows] = True
        for some, values in cache.stream(rows[moved], wanted):
            self.outputs += values.T @ change[moved[some]].astype(values.dtype)
