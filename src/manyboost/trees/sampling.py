"""Which rows a tree is grown on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.trees.exact_sums import fine_exponent, on_fine_grid
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Statistics

MAX_DRAWS = 10


def draw_uniformly(keys: NDArray[np.uint64], fraction: float, seed: int) -> NDArray[np.int32]:
    """About a fraction of the rows, each drawn by a number that is a function of its key: equal rows together, one row at least.

    What becomes of a row does not depend on the others, and a weight of two is two rows.
    """
    numbers = uniform_of_keys(seed, keys)
    return np.flatnonzero(numbers <= max(fraction, numbers.min())).astype(np.int32)


def draw_evenly(keys: NDArray[np.uint64], label: NDArray[np.integer], fraction: float, seed: int) -> NDArray[np.int32]:
    """About as many rows of every label, those of the rarest times ``fraction``, each drawn as by :func:`draw_uniformly`.

    Equal rows count as one: weights, also of classes, are not undone.
    """
    total = np.bincount(label[np.unique(keys, return_index=True)[1]], minlength=int(label.max()) + 1)
    share = fraction * total[total > 0].min() / np.where(total > 0, total, 1.0)
    numbers = uniform_of_keys(seed, keys)
    least = np.full(len(total), np.inf)
    np.minimum.at(least, label, numbers)  # one row of each label at least
    return np.flatnonzero(numbers <= np.maximum(share, least)[label]).astype(np.int32)


def draw_by_weight(statistics: Statistics, n_drawn: int, seed: int) -> NDArray[np.int32]:
    """So many rows with replacement, in proportion to their weight, drawn again (ten times at most) until every label occurs."""
    weight = statistics.row_weight()
    cumulative = np.cumsum(on_fine_grid(weight, fine_exponent(weight)))
    present = np.bincount(statistics.label[weight > 0], minlength=statistics.n_labels) > 0 if statistics.n_labels else np.empty(0, bool)
    rows = np.empty(0, np.int32)
    for draw in range(MAX_DRAWS):
        numbers = uniform_of_keys(seed_of(seed, draw), np.arange(n_drawn, dtype=np.uint64))
        numbers.sort()  # those that are looked up in turn are then near each other
        rows = np.searchsorted(cumulative, (numbers * cumulative[-1]).astype(np.int64), side="right").astype(np.int32)
        rows = np.minimum(rows, len(weight) - 1)
        if not statistics.n_labels or (np.bincount(statistics.label[rows], minlength=len(present))[present] > 0).all():
            break
    return rows
