"""What is kept of the rows when the loss is a smooth function of their scores, and its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.maths.links import log_loss, softmax

Floats = NDArray[np.float64]
TIE = 2.0**-36
LEAST_CURVATURE = 1e-16  # of a row: where a probability is 0 or 1 to the last bit


@dataclass(frozen=True)
class Scores:
    """Scores of the rows, and the probabilities that their softmax gives.

    From :meth:`zero` on, the rows of a class stand side by side in memory, as trees of one class read them.
    """

    F: Floats  # (n, K)
    p: Floats

    @classmethod
    def of(cls, F: Floats) -> Scores:
        return cls(F, softmax(F))

    @classmethod
    def zero(cls, n: int, K: int) -> Scores:
        return cls.of(np.zeros((K, n)).T)

    def cross_entropy(self, y: NDArray[np.integer], weight: Floats) -> float:
        """The weighted mean of -ln p_y."""
        return log_loss(self.p, y, weight)

    def residual(self, y: NDArray[np.integer]) -> Floats:
        """y*_k - p_k: minus the gradient of -ln p_y, (n, K)."""
        residual = -self.p
        residual[np.arange(len(y)), y] += 1
        return residual

    def curvature(self) -> Floats:
        """p_k (1 - p_k): the diagonal of its Hessian, (n, K)."""
        curvature = 1 - self.p
        curvature *= self.p
        return np.maximum(curvature, LEAST_CURVATURE, out=curvature)

    def curvature_of_pair(self, first: int, second: int) -> Floats:
        """Its second derivative along e_r - e_k for two classes: p_r + p_k - (p_r - p_k)^2, (n,)."""
        p, q = self.p[:, first], self.p[:, second]
        return np.maximum(p + q - (p - q) ** 2, LEAST_CURVATURE)

    def curvature_of_pairs(self, first: NDArray[np.integer], weight: Floats) -> Floats:
        """The same, weighted, for a class of each row and every other, (n, K)."""
        out = np.empty_like(self.p)
        _curvature_of_pairs(self.p, first, weight, out)
        return out


@compiled
def _curvature_of_pairs(p: Floats, first: NDArray[np.integer], weight: Floats, out: Floats) -> None:
    """One pass over the rows: on large tables, a new array takes longer than what is computed."""
    for i in range(p.shape[0]):
        of_first = p[i, first[i]]
        for k in range(p.shape[1]):
            difference = of_first - p[i, k]
            out[i, k] = weight[i] * max(of_first + p[i, k] - difference * difference, LEAST_CURVATURE)


def newton_values(gradient: Floats, curvature: Floats, most: float) -> tuple[Floats, bool]:
    """gradient / curvature, kept within ``most``, and whether that changed any; 0 where there is no gradient."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(gradient == 0, 0.0, gradient / curvature)
    return np.clip(value, -most, most), bool((np.abs(value) > most).any())


def first_of_largest(values: Floats, unit: Floats | float) -> NDArray[np.intp]:
    """The first entry of each row that is as large as any, but for 2^-36 units: what rounding has parted is equal, (L,)."""
    return np.asarray((values >= values.max(axis=1, keepdims=True) - TIE * np.reshape(unit, (-1, 1))).argmax(axis=1))
