"""One temperature for all scores, from rows the trees have not seen.

Boosting pushes scores outwards for as long as it runs, so probabilities from its own link are too sure. A factor on the scores,
fitted to held-out rows, mends that and leaves every decision as it is. The held-out scores come from pilot fits on four fifths of the
rows, of half the length: the factor falls geometrically with the rounds, so that of the full length is the square of that at half,
divided by that at a quarter. Where a run ended by itself, the factor falls with the number of rounds that were made, but not where it ended
because the loss was small enough: then scores are of one size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from manyboost.loop import Algorithm, Rows, Work, boost
from manyboost.maths.links import best_temperature
from manyboost.protocol import Floats, Task
from manyboost.validation import folds_of_rows

N_FOLDS = 5
HELD_OUT_ROWS = 2000  # how many held-out rows are wanted in all
SHORTEST = 16  # rounds: below this the pilot has the full length


def _linked(link: Callable[[Floats], Floats], columns: Floats) -> Callable[[float], Floats]:
    return lambda factor: link(columns * factor)


def fit_temperature(
    algorithm: Algorithm,
    link: Callable[[Floats], Floats],
    task: Task,
    rows: Rows,
    work: Work,
    n_rounds: int,
) -> float | None:
    """The factor of the columns that makes the link's probabilities honest; None when no row can be held out, or no pilot learns.

    ``n_rounds`` is how many rounds the model has.
    """
    keys, settings = rows.keys, work.settings
    fold = folds_of_rows(task, keys, *(np.arange(1, N_FOLDS) / N_FOLDS))
    if not (fold == 0).any():
        return None
    n_pilots = int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / _effective_rows(task, keys)), 1, N_FOLDS))
    half = settings.n_estimators // 2
    # members that are revised say nothing of shorter fits
    lengths = [half // 2, half] if half >= SHORTEST and not algorithm.revises else [settings.n_estimators]

    def pilot(held: int) -> tuple[list[tuple[Floats, NDArray[np.intp], Floats]], int, bool]:
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        if len(outside) > HELD_OUT_ROWS:
            inside = np.sort(np.concatenate([inside, outside[HELD_OUT_ROWS:]]))
            outside = outside[:HELD_OUT_ROWS]
        shorter = replace(work, settings=replace(settings, n_estimators=lengths[-1]))
        boosted = boost(algorithm, task.part(inside), rows.part(inside), shorter)
        columns = np.zeros((len(outside), work.n_columns))
        stages = [columns] * len(lengths)  # a run that ended early has its last scores at every later stage
        for round_, column, response in rows.part(outside).replay(boosted.ensemble):
            if round_ == lengths[0] and stages[0] is columns and len(lengths) > 1:
                stages[0] = columns.copy()
            columns[:, column : column + response.vectors.shape[1]] += response.at_rows()
        small = bool(boosted.history["loss"]) and algorithm.enough(task.part(inside), boosted.history["loss"][-1]) is not None
        return [(stage, task.y[outside], task.weight[outside]) for stage in stages], boosted.ensemble.n_rounds, small

    pilots, pilot_rounds, all_small = zip(*(pilot(held) for held in range(n_pilots)), strict=True)
    found = []
    for stage in range(len(lengths)):
        columns, y, weight = (np.concatenate([run[stage][at] for run in pilots]) for at in range(3))
        if not columns.any():
            return None
        found.append(best_temperature(_linked(link, columns), y, weight))
    *earlier, last = found
    if all(all_small):
        return last  # the loss itself ended the pilots, as it ends the fit: the scores are as large as they become
    if n_rounds < settings.n_estimators or min(pilot_rounds) < lengths[-1]:
        return last * float(np.mean(pilot_rounds)) / n_rounds  # a run ended by itself: scores grow with the rounds
    return min(last**2 / earlier[0], last) if earlier else last  # chance may let it rise, which is not to be taken further


def _effective_rows(task: Task, keys: NDArray[np.uint64]) -> float:
    """How many rows of one weight say as much as these do; equal rows are one."""
    _, group = np.unique(keys, return_inverse=True)
    return 1 / float((np.bincount(group, task.weight) ** 2).sum())
