"""One temperature for all scores, from rows the trees have not seen.

Boosting pushes scores outwards for as long as it runs, so probabilities from its own link are too sure. A factor on the scores,
fitted to held-out rows, mends that and leaves every decision as it is. The held-out scores come from pilot fits on four fifths of the
rows, of half the length: the factor falls geometrically with the rounds, so that of the full length is the square of that at half,
divided by that at a quarter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyboost.loop import Algorithm, Settings, Threads, boost
from manyboost.maths.links import best_temperature
from manyboost.protocol import Floats, Task
from manyboost.trees.binning import Binning, Table, take_rows

N_FOLDS = 5
HELD_OUT_ROWS = 2000  # how many held-out rows are wanted in all
SHORTEST = 16  # rounds: below this the pilot has the full length


def folds_of_rows(task: Task, keys: NDArray[np.uint64], *cuts: float) -> NDArray[np.intp]:
    """A part of the rows for each row: how many of the rising ``cuts`` (shares of the weight) its place in its class has passed.

    Within a class, rows stand in the order of their keys. Equal rows share a key and a part, so the parts depend on the rows, not on their
    order, and a weight of two is two rows. A class that is all in one part is in no part (-1): its rows cannot be spared.
    """
    part = np.full(len(keys), -1, np.intp)
    for k in range(task.K):
        members = np.flatnonzero(task.y == k)
        members = members[np.argsort(keys[members], kind="stable")]
        first = np.searchsorted(keys[members], keys[members], side="left")
        weight = task.weight[members]
        before = (np.cumsum(weight) - weight)[first] / weight.sum()
        found = np.searchsorted(cuts, before * (1 + 1e-12), side="right")
        if len(np.unique(found)) > 1:
            part[members] = found
    return part


def _linked(link: Callable[[Floats], Floats], columns: Floats) -> Callable[[float], Floats]:
    return lambda factor: link(columns * factor)


def fit_temperature(
    algorithm: Algorithm,
    link: Callable[[Floats], Floats],
    task: Task,
    table: Table,
    keys: NDArray[np.uint64],
    binning: Binning,
    decoder: Floats | None,
    n_columns: int,
    settings: Settings,
    threads: Threads,
) -> float | None:
    """The factor of the columns that makes the link's probabilities honest; None when no row can be held out, or no pilot learns."""
    fold = folds_of_rows(task, keys, *(np.arange(1, N_FOLDS) / N_FOLDS))
    if not (fold == 0).any():
        return None
    n_pilots = int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / _effective_rows(task, keys)), 1, N_FOLDS))
    half = settings.n_estimators // 2
    lengths = [half // 2, half] if half >= SHORTEST else [settings.n_estimators]

    def pilot(held: int) -> list[tuple[Floats, NDArray[np.intp], Floats]]:
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        if len(outside) > HELD_OUT_ROWS:
            inside = np.sort(np.concatenate([inside, outside[HELD_OUT_ROWS:]]))
            outside = outside[:HELD_OUT_ROWS]
        boosted = boost(
            algorithm, task.part(inside), take_rows(table, inside), keys[inside], binning, decoder, n_columns,
            replace(settings, n_estimators=lengths[-1]), threads,
        )  # fmt: skip
        columns = np.zeros((len(outside), n_columns))
        stages = [columns] * len(lengths)  # a run that ended early has its last scores at every later stage
        for round_, column, vectors, leaf in boosted.forest.replay(take_rows(table, outside)):
            if round_ == lengths[0] and stages[0] is columns and len(lengths) > 1:
                stages[0] = columns.copy()
            columns[:, column : column + vectors.shape[1]] += vectors[leaf]
        return [(stage, task.y[outside], task.weight[outside]) for stage in stages]

    pilots = [pilot(held) for held in range(n_pilots)]
    found = []
    for stage in range(len(lengths)):
        columns, y, weight = (np.concatenate([run[stage][at] for run in pilots]) for at in range(3))
        if not columns.any():
            return None
        found.append(best_temperature(_linked(link, columns), y, weight))
    *earlier, last = found
    return min(last**2 / earlier[0], last) if earlier else last  # chance may let it rise, which is not to be taken further


def _effective_rows(task: Task, keys: NDArray[np.uint64]) -> float:
    """How many rows of one weight say as much as these do; equal rows are one."""
    _, group = np.unique(keys, return_inverse=True)
    return 1 / float((np.bincount(group, task.weight) ** 2).sum())
