"""What RUSBoost and SMOTEBoost share: the questions are those of AdaBoost.M2 or SAMME."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyboost.algorithms.adaboost_m2 import AdaBoostM2Classifier
from manyboost.algorithms.samme import SAMMEClassifier
from manyboost.estimator import BoostingClassifier
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Task


@dataclass(kw_only=True, eq=False, repr=False)
class SampledBooster(BoostingClassifier):
    """A booster that passes the questions on."""

    booster: str = choice("m2", "m2", "samme")
    n_estimators: int = integer(200, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")

    @property
    def _booster(self) -> BoostingClassifier:
        return AdaBoostM2Classifier() if self.booster == "m2" else SAMMEClassifier()

    def start(self, task: Task) -> Any:
        return self._booster.start(task)

    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Problems:
        return self._booster.pose(task, state, rng)

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        return self._booster.step(task, problem, leaves)

    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any:
        return self._booster.update(task, state, gains)

    def link(self, columns: Floats) -> Floats:
        return self._booster.link(columns)
