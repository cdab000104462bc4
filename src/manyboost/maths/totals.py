"""Totals of all numbers of all rows, the same on any number of threads."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.threads import LINE, over_rows

Floats = NDArray[np.float64]
LANES = 8  # sums that are kept at once, in vector registers


@compiled
def _add_up_blocks(values: Floats, width: int, totals: Floats, start: int, end: int) -> None:
    """The totals of blocks of rows, ``width`` numbers each; eight sums at a time, in vector registers."""
    sums = np.empty(LANES)
    for begin in range(start, end, LINE):
        block = values[begin * width : min(begin + LINE, end) * width]
        for lane in range(LANES):
            sums[lane] = 0.0
        whole = block.size - block.size % LANES
        for at in range(0, whole, LANES):
            for lane in range(LANES):
                sums[lane] += block[at + lane]
        for at in range(whole, block.size):
            sums[at - whole] += block[at]
        totals[begin // LINE] = sums.sum()


def total(values: Floats) -> float:
    """The total of all numbers of all rows. The order in which they are added hangs on how many there are, and on nothing else."""
    totals = np.empty(-(-len(values) // LINE))
    width = values.size // max(len(values), 1)
    over_rows(len(values), width, partial(_add_up_blocks, np.ascontiguousarray(values).reshape(-1), width, totals))
    return float(totals.sum())
