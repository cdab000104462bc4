"""What an algorithm is asked, and the answers of one that has nothing to say to a question.

Every algorithm answers the four of :mod:`manyboost.protocol` and ``link``; the others are for those that four are too few for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Slope, Task


class Questions:
    """Base of what boosts; a subclass answers."""

    _decoder: Any  # what ``decoder`` answered in the fit, or what the weak learner does instead

    @property
    def trains_with_costs(self) -> bool:
        """Does the algorithm itself use ``Task.cost``? One that may or may not has the parameter ``costs``."""
        return getattr(self, "costs", "decide") == "train"

    def start(self, task: Task) -> Any:
        """The state kept per row."""
        raise NotImplementedError

    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Problems:
        """The problems of a round, or groups of them of which the best is kept."""
        raise NotImplementedError

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        """What each leaf adds to the columns of scores."""
        raise NotImplementedError

    def settle(self, task: Task, state: Any, gains: Sequence[Gain]) -> Sequence[Floats]:
        """The vectors of a round's members, where they are set for one another; as ``step`` gave them otherwise."""
        return [gain.vectors for gain in gains]

    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any:
        """The state after a round."""
        raise NotImplementedError

    def columns(self, state: Any) -> Floats | None:
        """What all members so far add up to, (n, C), where the state holds it, a column's rows side by side; else the loop adds it up."""
        return None

    def slope(self, task: Task, state: Any, gain: Gain) -> Slope:
        """How steep the loss of each row is along the direction of a gain; asked where ``step`` answers with ``longest``."""
        raise NotImplementedError

    @property
    def revises(self) -> bool:
        """Does every round set the vectors of all members anew? A fit is then never taken up: it starts anew and comes to the same."""
        return False

    def revised(self, task: Task, state: Any) -> Sequence[Floats]:
        """The vectors of all members so far, in the order they were added, where the algorithm revises them."""
        raise NotImplementedError

    def link(self, columns: Floats) -> Floats:
        """Probabilities (n, K) from the columns of scores."""
        raise NotImplementedError

    def loss(self, task: Task, state: Any) -> float:
        """What the algorithm minimises: for exponential losses, the total of the weights."""
        return float(state.total())

    def enough(self, task: Task, loss: float) -> str | None:
        """A reason to stop at this loss, or None."""
        return None

    def shortfall(self, task: Task, state: Any) -> str | None:
        """What the state is not though the algorithm promises it, as when a solver reached its limit, and the remedy; None if nothing."""
        return None

    def decoder(self, K: int) -> Floats | None:
        """(C, K): what the columns mean for the K scores. None: the columns are the scores."""
        return None

    def scores(self, columns: Floats) -> Floats:
        """The scores F (n, K) that decide, from the columns; they must be highest where ``link`` is."""
        return columns if self._decoder is None else columns @ self._decoder
