"""The histogram of all rows, kept from tree to tree.

A round of boosting may leave the weights of most rows as they were, up to one factor for all: AdaBoost's are those of the rows that its
tree mistakes. The histogram of the next root is then the one at hand and the changes of the other rows. Sums are of whole numbers, so it
is exactly that of all rows; and the grid follows from the weights alone, so that no tree depends on what was kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.exact_sums import TOTAL_BITS, exponent_for
from manyboost.trees.histogram import add_labels, find_runs, runs_of_node
from manyboost.trees.node_sums import Grid
from manyboost.trees.nodes import runs_of_all
from manyboost.trees.statistics import ROWS_OF_BLOCK, Lasting, Statistics

GRID_STEP = 8  # exponents are multiples of it, so that few rounds change the grid
NO_GRID = 1 << 20  # an exponent that no grid has
UNIT_BITS = 20  # of the unit in which the total is added up: too large a one does not run over


class Changes(NamedTuple):
    """The rows that are not what they were when the tree before was grown, in their order."""

    rows: NDArray[np.int32]
    amount: NDArray[np.int64]
    n: int  # of them; -1 where all rows must be counted


@compiled_part
def _round_to(exponent, values, held, totals, changed, seen, rows, amount):
    """Round the values to the grid of this exponent, in ``held``; how many change, and their total in units of 2**UNIT_BITS, rounded down.

    Blocks that were not changed after the turn ``seen`` are not looked at; it is -1 where they were on another grid. Else rows that change
    are noted if they are no more than half of all. Where they are not, their number is -1.
    """
    scale, most, unit = math.ldexp(1.0, exponent), 2.0**TOTAL_BITS, np.uint64(UNIT_BITS)
    n_changed, total = np.int64(-1 if seen < 0 else 0), np.uint64(0)
    new, differs = np.empty(ROWS_OF_BLOCK, np.int64), np.zeros(ROWS_OF_BLOCK, np.uint8)
    eight_differ = differs.view(np.uint64)
    for block in range(changed.size):
        if changed[block] <= seen:
            total += totals[block]
            continue
        begin = block * ROWS_OF_BLOCK
        n = min(ROWS_OF_BLOCK, values.size - begin)
        given, before = values[begin : begin + n], held[begin : begin + n]
        n_differ, of_block = np.int64(0), np.uint64(0)
        for r in range(n):
            new[r] = np.int64(np.rint(min(given[r] * scale, most)))
            of_block += np.uint64(new[r]) >> unit
            differs[r] = new[r] != before[r]
            n_differ += differs[r]
        totals[block] = of_block
        total += of_block
        if n_differ == 0:
            continue
        for r in range(n, ROWS_OF_BLOCK):
            differs[r] = 0
        if n_changed >= 0 and n_changed + n_differ > values.size // 2:
            n_changed = np.int64(-1)
        elif n_changed >= 0:
            at = np.uint64(n_changed)
            for word in range(ROWS_OF_BLOCK // 8):
                if eight_differ[word]:
                    for r in range(8 * word, 8 * word + 8):
                        rows[at] = begin + r  # written anyway, kept if it changed: no branch to mispredict
                        at += np.uint64(differs[r])
            for c in range(n_changed, n_changed + n_differ):
                r = np.uint64(rows[c] - begin)
                amount[c] = new[r] - before[r]
            n_changed += n_differ
        for r in range(n):
            before[r] = new[r]
    return n_changed, np.int64(total)


@compiled
def _put_on_grid(values, held, totals, last, changed, seen, rows, amount):
    """Round the values to the grid that their total allows, in ``held``, where they were on that of exponent ``last`` for the tree before.

    The exponent, and how many rows have changed: -1 where the grid has, or where it takes less time to count all rows.
    """
    # what the exponents of all rows add up to is their total or up to twice that: in between there is no doubt of the grid
    low, high = np.int64(1) << (TOTAL_BITS - GRID_STEP - UNIT_BITS), (np.int64(1) << (TOTAL_BITS - 1 - UNIT_BITS)) - values.size
    exponent, n_changed, total = np.int64(last), np.int64(-1), np.int64(0)
    for turn in range(2):  # first on the same grid
        if turn == 1 and (total < low or total >= high):
            exponent = np.int64(exponent_for(values, values[:0]) // GRID_STEP * GRID_STEP)
        if (exponent == last) == (turn == 0) and exponent != NO_GRID:
            n_changed, total = _round_to(exponent, values, held, totals, changed, seen if turn == 0 else np.int64(-1), rows, amount)
    return exponent, n_changed


@compiled_part
def prepare_changes(grid, changes, growth, labels, weights, part):
    """Find runs of one label among the changes that are a part's to count, and their labels; anew, these are its rows."""
    of_all, runs, n_parts = runs_of_all(growth), growth.runs[2 * part], growth.stretch.shape[0]
    if changes.n < 0 and n_parts == 1:
        for run in range(of_all.size):
            runs[run] = of_all[run]
        return
    rows, start, end = changes.rows, changes.n * part // n_parts, changes.n * (part + 1) // n_parts
    if changes.n < 0:
        rows, start, end = growth.rows, growth.stretch[part, 0, 0], growth.stretch[part, 0, 1]
        for r in range(start, end):
            weights[r] = grid.weight[np.uint64(rows[r])]
    if of_all[0] > 0:
        runs_of_node(of_all, grid.label, rows, start, end, runs, labels)
    else:
        for r in range(start, end):
            labels[r] = grid.label[rows[r]]
        find_runs(labels, start, end, runs)


@compiled_part
def add_changes(table, grid, changes, growth, labels, weights, part, first, last, hist):
    """Add a part's share of the changes to the histogram of columns ``first`` to ``last``; anew, all of its rows."""
    n_parts, runs, size = growth.stretch.shape[0], growth.runs[2 * part], np.uint64(grid.size)
    start, end = changes.n * part // n_parts, changes.n * (part + 1) // n_parts
    if changes.n >= 0:
        add_labels(table, first, last, changes.rows, start, end, False, runs, labels, changes.amount, size, hist)
        return
    start, end, in_order = growth.stretch[part, 0, 0], growth.stretch[part, 0, 1], n_parts == 1
    of_rows = (grid.label, grid.weight) if in_order else (labels, weights)
    add_labels(table, first, last, growth.rows, start, end, in_order, runs, *of_rows, size, hist)


@compiled_part
def sum_root(n_bins, size, root, sums):
    """The root's sums, by the bins of the first column."""
    for k in range(size):
        sums[k] = 0
    for b in range(n_bins):
        for k in range(size):
            sums[k] += root[b * size + k]


class KeptWeights:
    """The weights of a table's labels on a grid, from tree to tree."""

    def __init__(self) -> None:
        self._values, self._totals = np.empty(0, np.int64), np.empty(0, np.uint64)
        self._lasting = Lasting(np.empty(0, np.int64), 0)
        self._labels: NDArray[np.uint16] | None = None
        self._grid: Grid
        self._exponent = NO_GRID

    def put(
        self, statistics: Statistics, lasting: Lasting, rows: NDArray[np.int32], amount: NDArray[np.int64]
    ) -> tuple[Grid, int, Changes]:
        """The statistics on the grid, its exponent, and what has changed since: in the room for half of the rows and one more.

        Labels and weights are those of before if they, and what tells of their changes, are the same arrays.
        """
        labels, n_labels = statistics.label, statistics.n_labels
        if len(self._values) != len(labels):
            self._values, self._totals = np.empty(len(labels), np.int64), np.empty(len(lasting.changed), np.uint64)
            self.forget()
        same = labels is self._labels and lasting.changed is self._lasting.changed and n_labels == self._grid.n_labels
        last = self._exponent if same else NO_GRID
        seen, self._lasting = self._lasting.turn, lasting
        exponent, n_changed = _put_on_grid(statistics.weight, self._values, self._totals, last, lasting.changed, seen, rows, amount)
        if last == NO_GRID:
            self._grid = Grid(np.empty((len(labels), 0), np.int64), labels, self._values, 0, n_labels, n_labels, False, None)
        self._labels, self._exponent = labels, exponent
        return self._grid, exponent, Changes(rows, amount, n_changed)

    def forget(self) -> None:
        """The histogram is no longer that of the weights at hand."""
        self._labels = None
