"""One temperature for all scores, from rows the trees have not seen.

Boosting pushes scores outwards for as long as it runs, so probabilities from its own link are too sure. A factor on the scores,
fitted to held-out rows, mends that and leaves every decision as it is. The held-out scores come from pilot fits on four fifths of the
rows, of half the length: the factor falls geometrically with the rounds, so that of the full length is the square of that at half,
divided by that at a quarter. Where a run ended by itself, the factor falls with the number of rounds that were made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manyboost.loop import Algorithm, Work, boost
from manyboost.maths.links import best_temperature
from manyboost.protocol import Floats, Task
from manyboost.validation import folds_of_rows
from manyboost.weak_learning import Rows

N_FOLDS = 5
HELD_OUT_ROWS = 2000  # how many held-out rows are wanted in all
SHORTEST = 16  # rounds: below this the pilot has the full length


@dataclass(frozen=True)
class Pilots:
    """What runs on some of the rows say of the others.

    Attributes
    ----------
    link : from columns of scores to probabilities
    lengths : rounds after which the scores are known, rising
    columns : the scores of the held-out rows after so many rounds, (m, C) each; of runs that ended earlier, the last
    n_made : rounds that the runs made, in the mean
    ended : did one end by itself?
    full_size : did the loss itself end all of them, as it ends the fit? The scores are then as large as they become.
    y, weight : (m,) of the held-out rows, which stand in the order of their keys
    N : how many rows they count for
    """

    link: Callable[[Floats], Floats]
    lengths: list[int]
    columns: list[Floats]
    n_made: float
    ended: bool
    full_size: bool
    y: NDArray[np.intp]
    weight: Floats
    N: float

    def temperature(self, stage: int) -> float:
        """The best factor of the scores of a stage."""
        return best_temperature(lambda factor: self.link(self.columns[stage] * factor), self.y, self.weight, self.N)

    def temperature_after(self, n_rounds: int, n_wanted: int) -> float:
        """That of the scores after ``n_rounds`` of the ``n_wanted`` for which the pilots were made."""
        last = self.temperature(-1)
        if self.full_size:
            return last
        if n_rounds < n_wanted or self.ended:
            return last * self.n_made / n_rounds  # scores grow with the rounds
        # chance may let it rise, which is not to be taken further
        return min(last**2 / self.temperature(-2), last) if len(self.lengths) > 1 else last


def run_pilots(
    algorithm: Algorithm, link: Callable[[Floats], Floats], task: Task, rows: Rows, work: Work, keys: NDArray[np.uint64], n_stages: int = 2
) -> Pilots | None:
    """Fits of half the length to four fifths of the rows; None when no row can be held out, or nothing is learnt.

    ``keys`` tell the rows apart. Each of the ``n_stages`` lengths is half of the next.
    """
    settings = work.settings
    fold = folds_of_rows(task, keys, *(np.arange(1, N_FOLDS) / N_FOLDS))
    if not (fold == 0).any():
        return None
    n_pilots = int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / _effective_rows(task, keys)), 1, N_FOLDS))
    half = settings.n_estimators // 2
    lengths = sorted({max(1, half >> shift) for shift in range(n_stages)})
    if half < SHORTEST or algorithm.revises:  # members that are revised say nothing of shorter fits
        lengths = [settings.n_estimators]

    def pilot(held: int) -> tuple[NDArray[np.intp], list[Floats], int, bool]:
        outside = np.flatnonzero(fold == held)
        outside = outside[np.lexsort((task.weight[outside], keys[outside]))][:HELD_OUT_ROWS]
        inside = np.setdiff1d(np.arange(len(fold)), outside)
        shorter = replace(work, settings=replace(settings, n_estimators=lengths[-1]))
        boosted = boost(algorithm, task.part(inside), rows.part(inside), shorter)
        columns = np.zeros((len(outside), work.n_columns))
        stages: list[Floats] = []
        for round_, column, response in rows.part(outside).replay(boosted.ensemble):
            while round_ >= lengths[len(stages)]:
                stages.append(columns.copy())
            columns[:, column : column + response.vectors.shape[1]] += response.at_rows()
        stages += [columns] * (len(lengths) - len(stages))  # a run that ended early has its last scores at every later stage
        small = bool(boosted.history["loss"]) and algorithm.enough(task.part(inside), boosted.history["loss"][-1]) is not None
        return outside, stages, boosted.ensemble.n_rounds, small

    held, stages, n_rounds, small = zip(*(pilot(at) for at in range(n_pilots)), strict=True)
    columns = [np.concatenate(of_stage) for of_stage in zip(*stages, strict=True)]
    if not columns[0].any():
        return None
    all_held = np.concatenate(held)
    order = np.lexsort((task.weight[all_held], keys[all_held]))
    weight = task.weight[all_held[order]]
    return Pilots(
        link=link,
        lengths=lengths,
        columns=[of_stage[order] for of_stage in columns],
        n_made=float(np.mean(n_rounds)),
        ended=min(n_rounds) < lengths[-1],
        full_size=all(small),
        y=task.y[all_held[order]],
        weight=weight,
        N=task.N * float(weight.sum()),
    )


def _effective_rows(task: Task, keys: NDArray[np.uint64]) -> float:
    """How many rows of one weight say as much as these do; equal rows are one."""
    _, group = np.unique(keys, return_inverse=True)
    return 1 / float((np.bincount(group, task.weight) ** 2).sum())
