"""The open pairs of row and class of a block, and how they are solved: row by row, and where that is slow by conjugate gradients.

With kernels between the rows open in a class, the block is a quadratic problem whose matrix has a square for each class,

    minimise 1/2 sum_k alpha_k' K_k alpha_k + linear part,   gradient G,   each row summing to zero,   alpha <= bound.

Sweeps solve one row after the other exactly (:mod:`manyboost.svm.row_problem`). They soon find which variables are at their bounds. For
the others they need the more steps the worse the kernel is conditioned, most of all where C is large. Conjugate gradients find these in
the space of the free variables, as in the method of Moré and Toraldo (1991) for bounded quadratic problems:

| Moré and Toraldo | here |
|---|---|
| gradient projection finds the face | sweeps over the rows |
| conjugate gradients on the face | ``OpenPairs._towards_optimum``, with the diagonal of the kernel as preconditioner |
| projected search along what they found | ``OpenPairs._search`` |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.svm.linear_dual import NO_STEP
from manyboost.svm.row_problem import solve_row

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
GATE = 0.5  # rows with less than this share of the largest violation of a sweep wait
EFFORT = 20  # values of the kernel that sweeps may use between two searches, as a multiple of how many there are
MOST_EFFORT = 1000  # it is doubled by every search that gains little
LITTLE = 1e-3  # of the gap wanted
PRODUCTS = 200  # steps of conjugate gradients, at most
LOOK = 20  # steps after which they end if a bound is in the way
FLAT = 1e-10  # curvature that is rounding, as a share of the diagonal's
RESIDUAL = 0.01  # they end when the length of the gradient within the face has fallen to this share
TRIALS = 8  # a change that gains too little is halved so often
SUFFICIENT = 0.1  # share of what the slope promises that a change must gain


@compiled
def sweep(kernels, kernel_starts, class_of, class_starts, pairs, row_starts, own, bounds, diagonal, G, alpha, target, effort):
    """Sweep over the rows until their gap is at most ``target``, which is returned, or so many values were used; changes G and alpha."""
    n_most, done = 0, 0
    for i in range(bounds.size):
        n_most = max(n_most, row_starts[i + 1] - row_starts[i])
    B, new = np.empty(n_most), np.empty(n_most)
    gate = np.inf  # at first, and when all seems to be solved, nothing moves, so that the gap is that of one state
    while done <= effort:
        worst, gap = 0.0, 0.0
        done += pairs.size
        for i in range(bounds.size):
            first, count = row_starts[i], row_starts[i + 1] - row_starts[i]
            highest, lowest, place = -np.inf, np.inf, -1
            for m in range(count):
                q = pairs[first + m]
                g, a = G[q], alpha[q]
                highest = max(highest, g)
                gap += a * g
                if q == own[i]:
                    place = m
                    gap -= bounds[i] * g
                    if a < bounds[i]:
                        lowest = min(lowest, g)
                elif a < 0.0:
                    lowest = min(lowest, g)
            gap += bounds[i] * highest
            worst = max(worst, highest - lowest)
            if highest - lowest <= gate:
                continue
            A = diagonal[i]
            for m in range(count):
                B[m] = G[pairs[first + m]] - A * alpha[pairs[first + m]]
            solve_row(A, B, place, bounds[i], count, new)
            for m in range(count):
                q = pairs[first + m]
                step = new[m] - alpha[q]
                if step != 0.0:
                    alpha[q] = new[m]
                    k = class_of[q]
                    start, n_k = class_starts[k], class_starts[k + 1] - class_starts[k]
                    begin = kernel_starts[k] + (q - start) * n_k
                    values, into = kernels[begin : begin + n_k], G[start : start + n_k]
                    for j in range(n_k):
                        into[j] += step * values[j]
                    done += n_k
        solved = gap <= target or worst <= NO_STEP
        if solved and gate == np.inf:
            return True
        gate = np.inf if solved else GATE * worst
    return False


@compiled
def project(pairs, row_starts, own, bounds, aim):
    """Move rows of ``aim`` that are beyond a bound to the nearest that are not, with the same sum."""
    n_most = 0
    for i in range(bounds.size):
        n_most = max(n_most, row_starts[i + 1] - row_starts[i])
    B, new = np.empty(n_most), np.empty(n_most)
    for i in range(bounds.size):
        first, count = row_starts[i], row_starts[i + 1] - row_starts[i]
        beyond, place = False, -1
        for m in range(count):
            q = pairs[first + m]
            B[m] = -aim[q]
            if q == own[i]:
                place = m
            beyond |= aim[q] > (bounds[i] if q == own[i] else 0.0)
        if beyond:
            solve_row(1.0, B, place, bounds[i], count, new)
            for m in range(count):
                aim[pairs[first + m]] = new[m]


@dataclass(frozen=True)
class OpenPairs:
    """Pairs, numbered class by class.

    Attributes
    ----------
    kernels, kernel_starts : the kernel between the rows open in each class, one square after the other, and where they begin
    class_of, class_starts : the class of each pair, and the first pair of each
    pairs, row_starts : the pairs of row i are ``pairs[row_starts[i]:row_starts[i + 1]]``
    own : the pair of a row and its own class, -1 if that is closed at its bound
    bounds, diagonal : of each row, C and the kernel with itself
    G, alpha : gradient and variable of each pair, which :meth:`solve` changes
    """

    kernels: NDArray[np.floating]
    kernel_starts: Numbers
    class_of: Numbers
    class_starts: Numbers
    pairs: Numbers
    row_starts: Numbers
    own: Numbers
    bounds: Floats
    diagonal: Floats
    G: Floats
    alpha: Floats

    def solve(self, target: float) -> None:
        """Until the gap of the rows is at most ``target``, or nothing helps."""
        effort = EFFORT
        while effort <= MOST_EFFORT:
            if sweep(
                self.kernels, self.kernel_starts, self.class_of, self.class_starts, self.pairs, self.row_starts, self.own, self.bounds,
                self.diagonal, self.G, self.alpha, target, effort * len(self.kernels),
            ):  # fmt: skip
                return
            if self._search() < LITTLE * target:
                effort *= 2

    @cached_property
    def _row_of(self) -> Numbers:
        row_of = np.empty(len(self.pairs), np.intp)
        row_of[self.pairs] = np.repeat(np.arange(len(self.bounds)), np.diff(self.row_starts))
        return row_of

    @cached_property
    def _limit(self) -> Floats:
        """The largest value of each variable."""
        limit = np.zeros(len(self.pairs))
        there = self.own >= 0
        limit[self.own[there]] = self.bounds[there]
        return limit

    def _times_kernel(self, change: Floats) -> Floats:
        """What a change of the variables does to G."""
        out, narrow = np.empty_like(change), change.astype(self.kernels.dtype)
        for some, square in zip(pairwise(self.class_starts), pairwise(self.kernel_starts), strict=True):
            part = slice(*some)
            n_k = some[1] - some[0]
            out[part] = self.kernels[slice(*square)].reshape(n_k, n_k) @ narrow[part]
        return out

    def _search(self) -> float:
        """Go towards the optimum of the free variables, along the bounds that are in the way, as far as it pays; how much it did."""
        change = self._towards_optimum()
        for _ in range(TRIALS):
            aim = self.alpha + change
            project(self.pairs, self.row_starts, self.own, self.bounds, aim)
            step = aim - self.alpha
            gain = self._times_kernel(step)
            slope = float(self.G @ step)
            rise = slope + float(step @ gain) / 2
            if rise <= SUFFICIENT * slope < 0:
                self.alpha[:] = aim
                self.G[:] += gain
                return -rise
            change /= 2
        return 0.0

    def _towards_optimum(self) -> Floats:
        """The change of the free variables that, but for their bounds, nearly solves the problem."""
        free = self.alpha < self._limit
        row_of = self._row_of
        n_free = np.maximum(np.bincount(row_of, free), 1.0)
        diagonal = self.diagonal[row_of]

        def within_face(v: Floats) -> Floats:
            v = np.where(free, v, 0.0)
            return np.where(free, v - (np.bincount(row_of, v) / n_free)[row_of], 0.0)

        change, residual = np.zeros_like(self.G), within_face(-self.G)
        conditioned = residual / diagonal
        direction, squared = conditioned, float(residual @ conditioned)
        enough = RESIDUAL**2 * squared
        for step in range(PRODUCTS):
            if squared <= enough or (step % LOOK == 0 and (self.alpha + change > self._limit).any()):
                break
            product = self._times_kernel(direction)
            curvature = float(direction @ product)
            if curvature <= FLAT * float(direction @ (diagonal * direction)):  # downhill for ever, but for the bounds
                change += self.bounds.max() / np.abs(direction).max() * direction
                break
            change += squared / curvature * direction
            residual = residual - squared / curvature * within_face(product)
            conditioned = residual / diagonal
            before, squared = squared, float(residual @ conditioned)
            direction = conditioned + squared / before * direction
        return change
