"""Timing on shared, noisy machines: contenders take turns, the least of several CPU times counts, and only ratios are reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


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
