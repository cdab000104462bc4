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

    def losses_of_classes(self, y: NDArray[np.integer], weight: Floats) -> Floats:
        """-w ln p_y, summed over the rows of each class, (K,)."""
        own = np.maximum(self.p[np.arange(len(y)), y], np.finfo(float).tiny)
        return np.bincount(y, -weight * np.log(own), self.p.shape[1]).astype(np.float64)

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

    def along_pair(self, y: NDArray[np.integer], weight: Floats, up: int, down: int) -> Floats:
        """Along e_k - e_b, of classes ``up`` and ``down``: minus its derivative, and p_k + p_b - (p_k - p_b)^2, weighted, (n, 2)."""
        out = np.empty((len(y), 2))
        _along_pair(self.p[:, up], self.p[:, down], y, weight, up, down, out)
        return out

    def shares(self, weight: Floats, order: NDArray[np.integer]) -> Floats:
        """w p of the classes in this order, the classes of a row side by side in memory, (n, K)."""
        out = np.empty(self.p.shape)
        _shares(self.p, weight, order, out)
        return out


# Each of these is one pass over the rows: on large tables, a new array takes longer than what is computed.


@compiled
def _along_pair(p: Floats, q: Floats, y: NDArray[np.integer], weight: Floats, up: int, down: int, out: Floats) -> None:
    for i in range(y.size):
        d = p[i] - q[i]
        out[i, 0] = weight[i] * ((y[i] == up) - (y[i] == down) - d)
        out[i, 1] = weight[i] * max(p[i] + q[i] - d * d, LEAST_CURVATURE)


@compiled
def _shares(p: Floats, weight: Floats, order: NDArray[np.integer], out: Floats) -> None:
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            out[i, k] = weight[i] * p[i, order[k]]


@compiled
def _sum_curvatures(
    shares: Floats, weight: Floats, leaf: NDArray[np.int32], first: NDArray[np.integer], scale: float, sums: NDArray[np.int64]
) -> None:
    for i in range(shares.shape[0]):
        at = np.uint64(leaf[i])
        q, w = shares[i, first[at]], weight[i]
        inverse, least = 1.0 / w if w > 0 else 0.0, w * LEAST_CURVATURE
        for k in range(shares.shape[1]):
            d = q - shares[i, k]
            sums[at, k] += np.int64(np.rint(scale * max(q + shares[i, k] - d * d * inverse, least)))


def sums_of_curvatures(shares: Floats, weight: Floats, leaf: NDArray[np.int32], first: NDArray[np.integer]) -> Floats:
    """w (p_r + p_k - (p_r - p_k)^2) summed over the rows of each leaf, whose class r is ``first``, for every k, from w p: (L, K).

    In whole multiples of 2^-60, so that the order of the rows does not matter: none exceeds 2 w, and all w are one together.
    """
    sums = np.zeros((len(first), shares.shape[1]), np.int64)
    _sum_curvatures(shares, weight, leaf, first, 2.0**60, sums)
    return np.ldexp(sums.astype(np.float64), -60)


def newton_values(gradient: Floats, curvature: Floats, most: float) -> tuple[Floats, bool]:
    """gradient / curvature, kept within ``most``, and whether that changed any; 0 where there is no gradient."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(gradient == 0, 0.0, gradient / curvature)
    return np.clip(value, -most, most), bool((np.abs(value) > most).any())


def first_of_largest(values: Floats, unit: Floats | float) -> NDArray[np.intp]:
    """The first entry of each row that is as large as any, but for 2^-36 units: what rounding has parted is equal, (L,)."""
    return np.asarray((values >= values.max(axis=1, keepdims=True) - TIE * np.reshape(unit, (-1, 1))).argmax(axis=1))
