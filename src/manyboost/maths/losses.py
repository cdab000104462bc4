"""What is kept of the rows when the loss is a smooth function of their scores, and its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.codes import one_hot
from manyboost.maths.links import log_loss, softmax

Floats = NDArray[np.float64]
TIE = 2.0**-36
LEAST_CURVATURE = 1e-16  # of a row: where a probability is 0 or 1 to the last bit


@dataclass(frozen=True)
class Scores:
    """Scores of the rows, and the probabilities that their softmax gives."""

    F: Floats  # (n, K)
    p: Floats

    @classmethod
    def of(cls, F: Floats) -> Scores:
        return cls(F, softmax(F))

    @classmethod
    def zero(cls, n: int, K: int) -> Scores:
        return cls.of(np.zeros((n, K)))

    def cross_entropy(self, y: NDArray[np.integer], weight: Floats) -> float:
        """The weighted mean of -ln p_y."""
        return log_loss(self.p, y, weight)

    def residual(self, y: NDArray[np.integer]) -> Floats:
        """y*_k - p_k: minus the gradient of -ln p_y, (n, K)."""
        return one_hot(y, self.p.shape[1]) - self.p

    def curvature(self) -> Floats:
        """p_k (1 - p_k): the diagonal of its Hessian, (n, K)."""
        return np.maximum(self.p * (1 - self.p), LEAST_CURVATURE)

    def curvature_of_pairs(self, first: NDArray[np.integer] | int) -> Floats:
        """Its second derivative along e_r - e_k for the class r of each row (or of all) and every k: p_r + p_k - (p_r - p_k)^2, (n, K)."""
        p_first: Floats = self.p[np.arange(len(self.p)), first][:, None]
        squared = p_first - self.p
        squared *= squared  # in place: on large tables, new arrays take longer than what is computed
        curvature = p_first + self.p
        curvature -= squared
        return np.maximum(curvature, LEAST_CURVATURE, out=curvature)


def newton_values(gradient: Floats, curvature: Floats, most: float) -> tuple[Floats, bool]:
    """gradient / curvature, kept within ``most``, and whether that changed any; 0 where there is no gradient."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(gradient == 0, 0.0, gradient / curvature)
    return np.clip(value, -most, most), bool((np.abs(value) > most).any())


def first_of_largest(values: Floats, unit: Floats | float) -> NDArray[np.intp]:
    """The first entry of each row that is as large as any, but for 2^-36 units: what rounding has parted is equal, (L,)."""
    return np.asarray((values >= values.max(axis=1, keepdims=True) - TIE * np.reshape(unit, (-1, 1))).argmax(axis=1))
