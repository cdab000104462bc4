"""Which rows a tree is grown on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.trees.exact_sums import fine_exponent, on_fine_grid
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Statistics

MAX_DRAWS = 10


def draw_uniformly(keys: NDArray[np.uint64], fraction: float, seed: int) -> NDArray[np.int32]:
    """A fraction of the rows without replacement, each by a number that is a function of its key."""
    n_drawn = max(1, int(fraction * len(keys)))
    chosen = np.argsort(uniform_of_keys(seed, keys), kind="stable")[:n_drawn]
    return np.sort(chosen).astype(np.int32)


def draw_by_weight(statistics: Statistics, fraction: float, seed: int) -> NDArray[np.int32]:
    """As many rows with replacement, in proportion to their weight, drawn again (ten times at most) until every label occurs."""
    weight = statistics.row_weight()
    n_drawn = max(1, int(fraction * len(weight)))
    cumulative = np.cumsum(on_fine_grid(weight, fine_exponent(weight)))
    present = set(np.unique(statistics.label[weight > 0])) if statistics.n_labels else set()
    rows = np.empty(0, np.int32)
    for draw in range(MAX_DRAWS):
        numbers = uniform_of_keys(seed_of(seed, draw), np.arange(n_drawn, dtype=np.uint64))
        rows = np.sort(np.searchsorted(cumulative, numbers * cumulative[-1], side="right")).astype(np.int32)
        rows = np.minimum(rows, len(weight) - 1)
        if present <= set(np.unique(statistics.label[rows])):
            break
    return rows
