"""The random numbers of rounds: a function of the seed and the round, so that a fit can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

Posed = TypeVar("Posed")


def round_generator(seed: int, round_: int, draw: int = 0) -> np.random.Generator:
    """The random numbers of a round, and others for each further draw of what it poses."""
    return np.random.default_rng([seed, round_, draw] if draw else [seed, round_])


class Chance:
    """The random numbers that problems are posed by.

    Most algorithms draw none, and to make a generator takes as long as to ask them. So the same one is handed out until somebody draws from
    it; questions are pure, and this one is then put again, with the numbers of its round.
    """

    def __init__(self, seed: int):
        self._seed = seed
        self._unused: np.random.Generator | None = np.random.default_rng(0)
        self._untouched = self._unused.bit_generator.state

    def ask(self, pose: Callable[[np.random.Generator], Posed], round_: int, draw: int) -> tuple[Posed, Callable[[], bool]]:
        """What is posed in a round, and a way to know whether chance had a part in it."""
        if self._unused is not None:
            posed = pose(self._unused)
            if self._unused.bit_generator.state == self._untouched:
                return posed, lambda: False
            self._unused = None
        rng = round_generator(self._seed, round_, draw)
        posed = pose(rng)
        return posed, lambda: rng.bit_generator.state != round_generator(self._seed, round_, draw).bit_generator.state
