"""Weights that are multiplied round after round and never run out of range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.totals import total

Floats = NDArray[np.float64]
RANGE = 200  # binary orders of magnitude


def wrong_labels(weight: Floats, y: NDArray[np.integer], K: int, cost: Floats | None = None) -> Floats:
    """The weight of each row at every label but its own, where it is zero, times what saying that label costs: (n, K).

    A loss that is at least this weight at every label that is not below the true one bounds the mean cost, as it bounds the error without.
    """
    return np.asarray(weight[:, None] * np.take(1 - np.eye(K) if cost is None else cost, y, axis=0))


def every_label(weight: Floats, y: NDArray[np.integer], K: int, cost: Floats | None = None) -> Floats:
    """The same with the dearest label's weight at the row's own: for losses that miss a row by its own label or by another's, (n, K)."""
    starred = np.ones((K, K)) if cost is None else np.where(np.eye(K) > 0, cost.max(axis=1, keepdims=True), cost)
    out = np.take(starred, y, axis=0)
    out *= weight[:, None]  # in place: the largest array of a fit, and so not twice
    return out


def shares(weight: Floats) -> Floats:
    """Each row divided by its total; even shares where that is zero."""
    total = weight.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, weight / np.where(total > 0, total, 1.0), 1.0 / weight.shape[1]))


@dataclass(frozen=True)
class Weights:
    """Non-negative weights, kept up to a power of two.

    A power of two changes no bit of a weight's fraction, so rescaling cannot change a model. ``values * 2**exponent`` are the weights
    proper, whose total is the algorithm's loss. ``exponent`` has one entry, or one for each row of ``values``.
    """

    values: Floats
    exponent: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, each_row: bool = False) -> Weights:
        return cls(values, np.zeros(len(values) if each_row else 1, np.int64))

    @cached_property
    def _sums(self) -> Floats:
        """Of all values, or of each row of them."""
        return np.array([total(self.values)]) if len(self.exponent) == 1 else np.array([total(row) for row in self.values])

    @property
    def sum(self) -> float:
        """Of all values."""
        return float(self._sums.sum())

    def updated(self, values: Floats) -> Weights:
        """New values on the same scale, brought back into range if they are about to leave it."""
        new = Weights(values, self.exponent)
        shift = np.frexp(new._sums)[1].astype(np.int64)
        if np.abs(shift).max() <= RANGE:
            return new
        shift = np.where(np.abs(shift) > RANGE, shift, 0)
        return Weights(np.ldexp(values, -shift if len(shift) == 1 else -shift[:, None]), self.exponent + shift)

    def total(self) -> float:
        """The total of the weights proper."""
        return float(np.ldexp(self._sums, self.exponent).sum())
