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
from manyboost.threads import ALONE, Threads
from manyboost.trees.crew import LINES_APART, by_crew, call_others
from manyboost.trees.exact_sums import TOTAL_BITS, fine_exponent
from manyboost.trees.histogram import add_labels, find_runs, runs_of_node
from manyboost.trees.node_sums import Grid
from manyboost.trees.nodes import place_of_part, runs_of_all
from manyboost.trees.statistics import ROWS_OF_BLOCK, Lasting, Statistics

GRID_STEP = 8  # exponents are multiples of it, so that few rounds change the grid
NO_GRID = 1 << 20  # an exponent that no grid has
UNIT_BITS = 20  # of the unit in which the total is added up: too large a one does not run over
LEAST_TOTAL, MOST_TOTAL = 1 << (TOTAL_BITS - GRID_STEP - UNIT_BITS), 1 << (TOTAL_BITS - 1 - UNIT_BITS)  # of a grid, in units


class Changes(NamedTuple):
    """The rows that are not what they were when the tree before was grown: those of each part in their order, at its place."""

    rows: NDArray[np.int32]
    amount: NDArray[np.int64]  # from half of a part's place on
    n: int  # of them; -1 where all rows must be counted
    found: NDArray[np.int64]  # (parts, at least 2) how many there are in each part, and the total of its weights


@compiled
def _round_to(exponent, values, held, totals, changed, seen, rows, amount, pieces, found, crew):
    """Round a thread's values to the grid of this exponent, in ``held``; found: how many change, and their total in units, rounded down.

    A unit is 2**UNIT_BITS. Blocks that were not changed after the turn ``seen`` are not looked at; it is -1 where they were on another
    grid. Else rows that change are noted if they are no more than half of all. Where they are not, their number is -1.
    """
    scale, most, unit = math.ldexp(1.0, exponent), 2.0**TOTAL_BITS, np.uint64(UNIT_BITS)
    part = crew.part
    call_others(crew)
    start, end = place_of_part(pieces, part)
    rows, amount, most_changed = rows[start:], amount[start // 2 :], (end - start) // 2
    n_changed, total = np.int64(-1 if seen < 0 else 0), np.uint64(0)
    new, differs = np.empty(ROWS_OF_BLOCK, np.int64), np.zeros(ROWS_OF_BLOCK, np.uint8)
    eight_differ = differs.view(np.uint64)
    for piece in range(pieces.shape[1]):
        for block in range(pieces[part, piece, 0] // ROWS_OF_BLOCK, -(-pieces[part, piece, 1] // ROWS_OF_BLOCK)):
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
            if n_changed >= 0 and n_changed + n_differ > most_changed:
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
    found[part, 0] = n_changed
    found[part, 1] = total


@compiled_part
def prepare_changes(grid, changes, growth, labels, weights, part):
    """Find runs of one label among the changes of a part, and their labels; anew, among its rows, and bring their weights side by side."""
    of_all, runs, n_parts = runs_of_all(growth), growth.runs[2 * part], growth.stretch.shape[0]
    start, end = growth.stretch[part, 0, 0], growth.stretch[part, 0, 1]
    if changes.n < 0 and n_parts == 1:
        for run in range(of_all.size):
            runs[run] = of_all[run]
        return
    if changes.n < 0:
        all_rows, weight = growth.rows, grid.weight
        for r in range(start, end):
            weights[r] = weight[np.uint64(all_rows[r])]
    rows, own, first = (growth.rows if changes.n < 0 else changes.rows)[start:], labels[start:], np.int64(0)
    n = end - start if changes.n < 0 else changes.found[part, 0]
    if of_all[0] > 0:
        runs_of_node(of_all, grid.label, rows, first, n, runs, own)
    else:
        label = grid.label
        for r in range(n):
            own[r] = label[rows[r]]
        find_runs(own, first, n, runs)


@compiled_part
def add_changes(table, grid, changes, growth, labels, weights, part, first, last, hist):
    """Add the changes of a part to the histogram of columns ``first`` to ``last``; anew, all of its rows."""
    start, end = growth.stretch[part, 0, 0], growth.stretch[part, 0, 1]
    anew, whole = changes.n < 0, changes.n < 0 and growth.stretch.shape[0] == 1
    if whole:
        rows, labels, amount, n = growth.rows, grid.label, grid.weight, end
    elif anew:
        rows, labels, amount, n = growth.rows[start:], labels[start:], weights[start:], end - start
    else:
        rows, labels, amount, n = changes.rows[start:], labels[start:], changes.amount[start // 2 :], changes.found[part, 0]
    add_labels(table, first, last, rows, np.int64(0), n, whole, growth.runs[2 * part], labels, amount, np.uint64(grid.size), hist)


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
        self,
        statistics: Statistics,
        lasting: Lasting,
        rows: NDArray[np.int32],
        amount: NDArray[np.int64],
        pieces: NDArray[np.int64],
        team: Threads = ALONE,
    ) -> tuple[Grid, int, Changes]:
        """The statistics on the grid, its exponent, and what has changed since: in the room for half of the rows and one more.

        Labels and weights are those of before if they, and what tells of their changes, are the same arrays. Each of the team has a part
        of the rows, in pieces of whole blocks.
        """
        labels, n_labels = statistics.label, statistics.n_labels
        if len(self._values) != len(labels):
            self._values, self._totals = np.empty(len(labels), np.int64), np.empty(len(lasting.changed), np.uint64)
            self.forget()
        same = labels is self._labels and lasting.changed is self._lasting.changed and n_labels == self._grid.n_labels
        last = self._exponent if same else NO_GRID
        seen, self._lasting = self._lasting.turn, lasting
        found = np.empty((team.n, LINES_APART // 8), np.int64)
        values, given = statistics.weight, (self._values, self._totals, lasting.changed)

        def round_to(exponent: int, seen: int) -> tuple[int, int]:
            by_crew(team, _round_to, (exponent, values, *given, seen, rows, amount, pieces, found), 0)
            n_changed, totals = found[:, 0].tolist(), found[:, 1].tolist()
            return sum(n_changed) if min(n_changed) >= 0 else -1, sum(totals)

        exponent, n_changed, total = last, -1, 0
        if last != NO_GRID:
            n_changed, total = round_to(last, seen)
        # what the exponents of all rows add up to is their total or up to twice that: in between there is no doubt of the grid
        if not LEAST_TOTAL <= total < MOST_TOTAL - len(labels):
            exponent = fine_exponent(values) // GRID_STEP * GRID_STEP
            if exponent != last:
                n_changed, _ = round_to(exponent, -1)
        if last == NO_GRID:
            self._grid = Grid(np.empty((len(labels), 0), np.int64), labels, self._values, 0, n_labels, n_labels, False, None)
        self._labels, self._exponent = labels, exponent
        return self._grid, exponent, Changes(rows, amount, n_changed, found)

    def forget(self) -> None:
        """The histogram is no longer that of the weights at hand."""
        self._labels = None
