"""Weights of which a round scales those of some rows, and all by one factor: AdaBoost's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.maths.weights import RANGE
from manyboost.threads import over_pieces
from manyboost.trees.statistics import ROWS_OF_BLOCK, Lasting

Floats = NDArray[np.float64]


@compiled_part
def _scale_blocks_of(values, factors, idle, y, leaf, changed, totals, turn, start, end):
    for begin in range(start, end, ROWS_OF_BLOCK):
        stop = min(begin + ROWS_OF_BLOCK, end)
        label, scaled, of = y[begin:stop], values[begin:stop], leaf[begin:stop]
        if idle[label[0]]:
            n_others = 0
            for r in range(label.size):
                n_others += label[r] != label[0]
            if n_others == 0:
                continue
        total = 0.0
        for r in range(label.size):
            scaled[r] *= factors[np.uint64(of[r]), np.uint64(label[r])]
            total += scaled[r]
        totals[begin // ROWS_OF_BLOCK] = total
        changed[begin // ROWS_OF_BLOCK] = turn


@compiled
def _scale_blocks(values, factors, y, leaf, changed, totals, turn, pieces):
    """``values * factors[leaf, y]`` in place; blocks of rows of one class that is not scaled in any leaf are left alone."""
    idle = np.ones(factors.shape[1], np.bool_)
    for row in range(factors.shape[0]):
        for k in range(idle.size):
            idle[k] &= factors[row, k] == 1.0
    for piece in range(pieces.shape[0]):
        _scale_blocks_of(values, factors, idle, y, leaf, changed, totals, turn, pieces[piece, 0], pieces[piece, 1])


@dataclass(frozen=True)
class LastingWeights:
    """Non-negative weights, kept up to a factor: ``values * factor * 2**exponent`` are the weights proper, whose total is the loss.

    Attributes
    ----------
    values : (n,)
    lasting : which of them have changed, and when: trees need not count the others again
    totals : of the values of each block of rows
    sum : of all values
    factor : at least 1 and below 2
    """

    values: Floats
    lasting: Lasting
    totals: Floats
    sum: float
    exponent: int = 0
    factor: float = 1.0

    @classmethod
    def of(cls, values: Floats) -> LastingWeights:
        begins = np.arange(0, len(values), ROWS_OF_BLOCK)
        totals = np.add.reduceat(values, begins)
        return cls(np.array(values), Lasting(np.zeros(len(begins), np.int64), 0), totals, float(totals.sum()))

    def scaled(self, factors: Floats, y: NDArray[np.uint16], leaf: NDArray[np.integer], common: float) -> LastingWeights:
        """The weights times ``common * factors[leaf, y]``, written over these."""
        changed, turn = self.lasting.changed, self.lasting.turn + 1
        over_pieces(len(y), 1, partial(_scale_blocks, self.values, factors, y, leaf, changed, self.totals, turn))
        total, (fraction, power) = float(self.totals.sum()), math.frexp(self.factor * common)
        lasting, exponent, factor = Lasting(changed, turn), self.exponent + power - 1, 2 * fraction
        shift = math.frexp(total)[1]
        if abs(shift) <= RANGE:
            return LastingWeights(self.values, lasting, self.totals, total, exponent, factor)
        # a power of two changes no bit of a weight's fraction, so this cannot change a model
        lasting = Lasting(np.full_like(changed, turn), turn)  # another array: they are other numbers
        values, totals = np.ldexp(self.values, -shift), np.ldexp(self.totals, -shift)
        return LastingWeights(values, lasting, totals, math.ldexp(total, -shift), exponent + shift, factor)

    def total(self) -> float:
        """The total of the weights proper."""
        return math.ldexp(self.sum * self.factor, self.exponent)
