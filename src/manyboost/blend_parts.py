"""The parts of a blend, each fitted as long as its pilots find best and as the time allows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from manyboost.calibration import PilotPlan, Pilots
from manyboost.columns import Columns
from manyboost.estimator import BoostingClassifier

Floats = NDArray[np.float64]
PILOTS_SHARE = 0.4  # of the time of a run with pilots, what is the run's own


@dataclass(frozen=True)
class Part:
    """A model of the blend that is fitted ``n_runs`` times, each time with chances of its own, the first after pilots."""

    name: str
    model: BoostingClassifier
    n_runs: int
    pilots: PilotPlan


@dataclass(frozen=True)
class FittedPart:
    """The runs of a part, the pilots they were preceded by, and the probabilities (m, K) these gave to held-out rows; None without any."""

    part: Part
    models: list[BoostingClassifier]
    pilots: Pilots | None
    said: Floats | None

    def __str__(self) -> str:
        first, n = self.models[0], len(self.models)
        lengths = {model.n_estimators_ for model in self.models}
        rounds = " to ".join(map(str, sorted({min(lengths), max(lengths)})))
        trees = f", trees of up to {first.max_leaf_nodes} leaves" if first.estimator is None else ""
        return f"{'one run' if n == 1 else f'{n} runs'} of {self.part.name} ({rounds} rounds{trees})"


class TimeLeft:
    """A share of the time up to a deadline for each of a number of fits; what one does not need is left to the others."""

    def __init__(self, deadline: float | None, n_fits: int) -> None:
        self.deadline, self.n_fits, self.was_short = deadline, n_fits, False

    @property
    def limited(self) -> bool:
        return self.deadline is not None

    @property
    def is_up(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        self.was_short |= late
        return late

    def callbacks(self, share: float) -> list[Any] | None:
        """For the next fit: what ends it when it has used up so much of its share."""
        if self.deadline is None:
            return None
        now = time.monotonic()
        until = now + share * max(0.0, self.deadline - now) / max(1, self.n_fits)
        self.n_fits -= 1

        def is_late(_: dict[str, float]) -> bool:
            late = time.monotonic() >= until
            self.was_short |= late
            return late

        return [is_late]


@dataclass(frozen=True)
class TrainingRows:
    """The training rows as they were given, their labels, their weights, and keys by which pilots hold out the same of them.

    ``numeric``, ``columns`` and ``names`` are what was made of X: its numbers, what was learnt of its columns, and what they are called.
    """

    X: Any
    y: Any
    weight: Floats
    keys: NDArray[np.uint64]
    numeric: Any
    columns: Columns
    names: NDArray[Any] | None

    def fitted(self, part: Part, random: np.random.RandomState, time_left: TimeLeft) -> FittedPart:
        """The runs of a part, as long as the pilots of the first find best and no surer of themselves than these say."""
        table = self._table(part.model)
        first, pilots = self._run(part, table, random, time_left, PILOTS_SHARE)
        length, said = first.n_estimators_, None
        if pilots is not None:
            said = pilots.stages[pilots.best].said
            if pilots.best_length is not None and pilots.best_length <= length:
                length = pilots.best_length
                _shorten(first, length)
                first.temperature_ = pilots.stages[pilots.best].temperature
        models = [first]
        for _ in range(part.n_runs - 1):
            if time_left.is_up or not length:  # another would learn nothing, either
                break
            run, _ = self._run(part, table, random, time_left, 1.0, calibrate=False, n_estimators=length)
            run.temperature_ = first.temperature_ * (first.n_estimators_ / max(1, run.n_estimators_) if time_left.was_short else 1.0)
            models.append(run)
        return FittedPart(part, models, pilots, said)

    def _table(self, model: BoostingClassifier) -> Any:
        """For trees, the rows binned once for all runs; where some have no weight, these are for each run to leave out."""
        if model.estimator is not None or not self.weight.all():
            return self.X
        return model._binned(self.numeric, self.columns, self.names, self.weight)

    def _run(
        self, part: Part, table: Any, random: np.random.RandomState, time_left: TimeLeft, share: float, **parameters: Any
    ) -> tuple[BoostingClassifier, Pilots | None]:
        seed = random.randint(np.iinfo(np.int32).max)
        model: BoostingClassifier = clone(part.model).set_params(random_state=seed, callbacks=time_left.callbacks(share), **parameters)
        plan = replace(part.pilots, first=model.calibrate == "auto" and not time_left.limited)  # with a limit, the run itself comes first
        pilots = model._fit(table, self.y, self.weight, keys=self.keys, plan=plan)
        model.callbacks = None
        return model, pilots


def _shorten(model: BoostingClassifier, n_rounds: int) -> None:
    """Keep only the first rounds."""
    model.forest_ = model.forest_.first_rounds(n_rounds)
    model.n_estimators_ = n_rounds
    model.stop_reason_ = f"pilots did no better after more than {n_rounds} rounds"
    model.history_ = {name: values[:n_rounds] for name, values in model.history_.items()}
    model.n_clipped_steps_ = int(model.history_["n_clipped"].sum())
