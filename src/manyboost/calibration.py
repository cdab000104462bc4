"""One temperature for all scores, from rows the trees have not seen.

Boosting pushes scores outwards for as long as it runs, so probabilities from its own link are too sure. A factor on the scores,
fitted to held-out rows, mends that and leaves every decision as it is. The held-out scores come from pilot fits on four fifths of the
rows, of half the length: the factor falls geometrically with the rounds, so that of the full length is the square of that at half,
divided by that at a quarter. Where a run ended by itself, the factor falls with the number of rounds that were made.

Pilots can also look for the best length of a run. They then end soon after it: where two doublings of the length made the first of them
no better on its held-out rows, none is made longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.loop import ASKED_TO_STOP, Algorithm, Boosted, Work, boost
from manyboost.maths.links import best_temperature, careful_log_loss
from manyboost.protocol import Floats, Task
from manyboost.rows import Response
from manyboost.validation import HELD_OUT_ROWS, N_FOLDS, fifths_of_rows, number_of_pilots
from manyboost.weak_learning import Rows

SHORTEST = 16  # rounds: below this the pilot has the full length
PATIENCE = 2  # doublings of the length after the best one


@dataclass(frozen=True)
class PilotPlan:
    """How pilots are made.

    Attributes
    ----------
    n_stages : lengths after which their scores are looked at, each half of the next
    n_most : pilots, on few rows; on many there are fewer
    first : are they made before the run, to tell how long it should be? They are then no longer than it takes to see that they become no
        better.
    """

    n_stages: int = 2
    n_most: int = N_FOLDS
    first: bool = False


@dataclass(frozen=True)
class Stage:
    """What held-out rows are told after some length of a run.

    Attributes
    ----------
    temperature : the best factor of the scores
    said : (m, K) the probabilities at that temperature
    loss : their careful log-loss
    """

    temperature: float
    said: Floats
    loss: float

    @classmethod
    def of(cls, link: Callable[[Floats], Floats], columns: Floats, y: NDArray[np.intp], weight: Floats, n_rows: float) -> Stage:
        temperature = best_temperature(lambda factor: link(columns * factor), y, weight, n_rows)
        said = link(columns * temperature)
        return cls(temperature, said, careful_log_loss(said, y, weight, n_rows))


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
    gave_up : were they ended because longer ones did no better?
    y, weight : (m,) of the held-out rows, which stand in the order of their keys
    N : how many rows they count for
    """

    link: Callable[[Floats], Floats]
    lengths: list[int]
    columns: list[Floats]
    n_made: float
    ended: bool
    full_size: bool
    gave_up: bool
    y: NDArray[np.intp]
    weight: Floats
    N: float

    @cached_property
    def stages(self) -> list[Stage]:
        """The scores at each length, as sure of themselves as is best."""
        return [Stage.of(self.link, columns, self.y, self.weight, self.N) for columns in self.columns]

    @property
    def best(self) -> int:
        """The number of the best stage."""
        return int(np.argmin([stage.loss for stage in self.stages]))

    @property
    def best_length(self) -> int | None:
        """The length after which more rounds did no good; None where pilots are best at their end."""
        length = self.lengths[self.best]
        found = self.gave_up or (self.best + 1 < len(self.lengths) and length < self.n_made)
        return length if found else None

    def temperature_after(self, n_rounds: int, n_wanted: int) -> float:
        """That of the scores after ``n_rounds`` of the ``n_wanted`` for which the pilots were made."""
        last = self.stages[-1].temperature
        if self.full_size:
            return last
        if n_rounds < n_wanted or self.ended:
            return last * self.n_made / n_rounds  # scores grow with the rounds
        # chance may let it rise, which is not to be taken further
        return min(last**2 / self.stages[-2].temperature, last) if len(self.lengths) > 1 else last


def run_pilots(
    algorithm: Algorithm, link: Callable[[Floats], Floats], task: Task, rows: Rows, work: Work, keys: NDArray[np.uint64] | None,
    plan: PilotPlan,
) -> Pilots | None:  # fmt: skip
    """Fits of half the length to four fifths of the rows; None when no row can be held out, or nothing is learnt.

    ``keys`` tell the rows apart; None are the rows' own.
    """
    settings, keys = work.settings, rows.keys if keys is None else keys
    fold = fifths_of_rows(task, keys)
    if not (fold == 0).any():
        return None
    n_pilots = number_of_pilots(_effective_rows(task, keys), plan.n_most)
    half = settings.n_estimators // 2
    lengths = sorted({max(1, half >> shift) for shift in range(plan.n_stages)})
    if half < SHORTEST or algorithm.revises:  # members that are revised say nothing of shorter fits
        lengths = [settings.n_estimators]

    def pilot(held: int, lengths: list[int], give_up: bool) -> tuple[NDArray[np.intp], list[Floats], Boosted, bool]:
        outside = np.flatnonzero(fold == held)
        outside = outside[np.lexsort((task.weight[outside], keys[outside]))][:HELD_OUT_ROWS]
        inside = np.setdiff1d(np.arange(len(fold)), outside)
        out_rows, y, weight = rows.part(outside), task.y[outside], task.weight[outside]
        columns = _GrowingColumns(out_rows, len(outside), work.n_columns)
        losses: list[float] = []
        stages: list[Floats] = []

        def is_past_the_best(round_: int, _: Callable[[], dict[str, float]], so_far: Boosted) -> bool:
            if not give_up or round_ + 1 != lengths[len(losses)] or round_ + 1 == lengths[-1]:
                return False
            stages.append(columns.after(round_ + 1, so_far))
            losses.append(Stage.of(link, stages[-1], y, weight, task.N * float(weight.sum())).loss)
            return int(np.argmin(losses)) + PATIENCE < len(losses)

        shorter = replace(work, settings=replace(settings, n_estimators=lengths[-1]))
        boosted = boost(algorithm, task.part(inside), rows.part(inside), shorter, after_round=is_past_the_best)
        small = bool(boosted.history["loss"]) and algorithm.enough(task.part(inside), boosted.history["loss"][-1]) is not None
        if not boosted.n_rounds:  # no tree could part the rows
            stages[:] = [np.zeros_like(columns.values)] * len(lengths)
        stages += [columns.after(length, boosted) for length in lengths[len(stages) :]]
        return outside, stages, boosted, small

    first = pilot(0, lengths, plan.first)
    gave_up = first[2].stop_reason == ASKED_TO_STOP
    if gave_up:
        lengths = lengths[: lengths.index(first[2].n_rounds) + 1]
    held, stages, boosted, small = zip(first, *(pilot(at, lengths, False) for at in range(1, n_pilots)), strict=True)
    n_rounds = [one.n_rounds for one in boosted]
    columns = [np.concatenate(of_stage) for of_stage in zip(*(of_pilot[: len(lengths)] for of_pilot in stages), strict=True)]
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
        gave_up=gave_up,
        y=task.y[all_held[order]],
        weight=weight,
        N=task.N * float(weight.sum()),
    )


class _GrowingColumns:
    """The columns of scores of rows, to which members are added as they are made."""

    def __init__(self, rows: Rows, n_rows: int, n_columns: int) -> None:
        self.rows, self.values, self.n_added = rows, np.zeros((n_rows, n_columns)), 0

    def after(self, n_rounds: int, boosted: Boosted) -> Floats:
        """What they are after so many rounds, which may only become more; after a run that ended earlier, what they were at its end."""
        new = [one for one in boosted.grown[self.n_added :] if one[3] < n_rounds]
        for member, vectors, column, _ in new:
            _add(self.values, column, self.rows.respond(member, vectors))
        self.n_added += len(new)
        return self.values.copy()


def columns_of(ensemble: Any, rows: Rows, n_rows: int) -> Floats:
    """The columns of scores of rows."""
    columns = np.zeros((n_rows, ensemble.n_columns))
    for _, column, response in rows.replay(ensemble):
        _add(columns, column, response)
    return columns


def _add(columns: Floats, column: int, response: Response) -> None:
    columns[:, column : column + response.vectors.shape[1]] += response.at_rows()


def _effective_rows(task: Task, keys: NDArray[np.uint64]) -> float:
    """How many rows of one weight say as much as these do; equal rows are one."""
    _, group = np.unique(keys, return_inverse=True)
    return 1 / float((np.bincount(group, task.weight) ** 2).sum())
