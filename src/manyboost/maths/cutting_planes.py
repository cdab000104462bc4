"""The hinge loss of pairs as a linear programme in one slack, by cutting planes.

    min  price 1'w + xi,   w >= 0, xi >= 0
    a cut for each choice of pairs c:   sum c_il weight_i rho_il >= sum c_il weight_i cost_il - xi

Only the cuts that are violated are ever made. The point that is cut off lies most of the way from the programme's solution to the best
coefficients so far (Ben-Ameur and Neto, 2007): cuts at the solution itself, as published, take several times as many programmes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from manyboost.maths.corrective import Classes, Floats, Solution
from manyboost.maths.pairs import pulls, shared_out, worst_pairs
from manyboost.maths.responses import Responses

INSIDE = 0.9


@dataclass(frozen=True)
class Cuts:
    """Cuts that were made: their pairs (K, n), left sides (m, J) and right sides (m,)."""

    pairs: tuple[NDArray[np.bool_], ...]
    left: Floats
    right: Floats

    @classmethod
    def none(cls) -> Cuts:
        return cls((), np.empty((0, 0)), np.empty(0))

    def with_columns_of(self, said: Responses, y: Classes, weight: Floats) -> Cuts:
        """The same cuts with left sides for the coefficients that have come since."""
        first = self.left.shape[1]
        new = [said.along(pulls(shared_out(pairs, weight), y), first) for pairs in self.pairs]
        return Cuts(self.pairs, np.hstack([self.left, np.reshape(new, (len(self.pairs), said.n_coefficients - first))]), self.right)

    def added(self, pairs: NDArray[np.bool_], left: Floats, right: float) -> Cuts:
        return Cuts((*self.pairs, pairs), np.vstack([self.left, left]), np.append(self.right, right))

    def only(self, kept: NDArray[np.bool_]) -> Cuts:
        return Cuts(tuple(pairs for pairs, keep in zip(self.pairs, kept, strict=True) if keep), self.left[kept], self.right[kept])


def minimise_hinge_by_cuts(
    said: Responses, y: Classes, weight: Floats, cost: Floats, price: float, w: Floats, tolerance: float, max_iter: int, cuts: Cuts
) -> tuple[Solution, Cuts]:
    """As :func:`manyboost.maths.corrective.minimise_hinge`; and the cuts that hold the solution, for when more columns have come."""
    cuts, J = cuts.with_columns_of(said, y, weight), said.n_coefficients
    best, value, bound, at, price_of_cut = w, np.inf, -np.inf, w, np.zeros(len(cuts.right))
    for left in range(max_iter, -1, -1):
        hinge, pairs = worst_pairs(said.scores(at), y, cost)
        found = float((weight * hinge).sum()) + price * float(at.sum())
        if found < value:
            best, value = at, found
        if value - bound <= tolerance or not left:
            break
        U = shared_out(pairs, weight)
        more = cuts.added(pairs, said.along(pulls(U, y)), float((U * cost).sum()))
        solved = linprog(
            np.append(np.full(J, price), 1.0), -np.column_stack([more.left, np.ones(len(more.right))]), -more.right, method="highs"
        )  # scipy's variables are not negative unless bounds say so
        if not solved.success:  # no bound is better than the last
            break
        cuts, bound, price_of_cut = more, float(solved.fun), -np.asarray(solved.ineqlin.marginals)
        if value - bound <= tolerance:
            break
        at = INSIDE * best + (1 - INSIDE) * np.asarray(solved.x[:J])
    U = np.zeros(cost.shape)
    for pairs, share in zip(cuts.pairs, price_of_cut, strict=True):
        if share > 0:
            U += share * shared_out(pairs, weight)
    return Solution(best, U, value, value - bound), cuts.only(price_of_cut > 0)
