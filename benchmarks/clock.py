"""Timing on shared, noisy machines: contenders take turns, the least of several CPU times counts, and only ratios are reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def least_times(
    contenders: Mapping[str, Callable[[], Any]], repeats: int = 3, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The least time of each contender over alternating runs, in seconds of ``clock``."""
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, run in contenders.items():
            began = clock()
            run()
            least[name] = min(least[name], clock() - began)
    return least


def marginal_times(
    contenders: Mapping[str, tuple[Callable[[int], Any], int, int]], repeats: int = 3, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The time of one more round of each contender: (fit of so many rounds, few rounds, many rounds)."""
    runs = {}
    for name, (fit, few, many) in contenders.items():
        fit(few)  # kernels are loaded, caches are warm
        runs[f"{name} few"] = lambda fit=fit, few=few: fit(few)
        runs[f"{name} many"] = lambda fit=fit, many=many: fit(many)
    least = least_times(runs, repeats, clock)
    return {name: (least[f"{name} many"] - least[f"{name} few"]) / (many - few) for name, (_, few, many) in contenders.items()}


def round_times(
    contenders: Mapping[str, Callable[[Callable[[], None]], Any]], repeats: int = 3, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The time of a round of each contender: the median over the rounds of a fit but the first, and the least of several fits.

    A contender is a fit that calls what it is given after each round. One of fewer than three rounds takes for ever.
    """
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, fit in contenders.items():
            ends: list[float] = []
            fit(lambda ends=ends: ends.append(clock()))
            if len(ends) > 2:
                least[name] = min(least[name], float(np.median(np.diff(ends))))
    return least
