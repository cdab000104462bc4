"""Which metric similarities use: the one asked for, or the mean of those that held-out neighbours do not speak against.

The training loss would choose wrongly, and a fit for each metric would cost much. So rows are classified by their nearest neighbours among
the rows of other folds, in the coordinates that those rows give. A metric is left out only if the rows that it alone gets right are fewer
than those that only the best metric gets right, by more than chance would have it (a sign test): few rows leave out none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.localized_similarity import LocalizedSimilarity
from manyboost.learners.similarities import squared_distances
from manyboost.learners.similarity_space import METRICS, Space, learn_space
from manyboost.protocol import Floats, Task
from manyboost.row_keys import keys_of_numbers
from manyboost.validation import N_FOLDS, fifths_of_rows

N_JUDGED = 2000  # rows that speak
N_NEIGHBOURS = 3
DEVIATIONS = 2.0  # by which the count must differ from that of chance
BLOCK = 256  # rows whose distances are made together


def space_for(
    learner: LocalizedSimilarity, numeric: Any, labels: NDArray[np.intp], weight: Floats, n_categories: NDArray[np.int32]
) -> Space:
    """The coordinates that a learner measures distances in."""
    keys = keys_of_numbers(numeric, labels)
    order = np.lexsort((weight, keys))
    task = Task.of(labels[order], int(labels.max()) + 1, weight[order])

    def space(metrics: tuple[str, ...], rows: NDArray[np.intp]) -> Space:
        part = task.part(rows)
        return learn_space(numeric[order[rows]], part.y, part.weight, n_categories, metrics, learner.feature_weights, part.N)

    metrics: tuple[str, ...] = METRICS if learner.metric == "mean" else (learner.metric,)
    if learner.metric == "auto":
        judged = np.arange(min(N_JUDGED, len(order)))  # the order of keys is as good as a random one
        X, part, some_keys = numeric[order[judged]], task.part(judged), keys[order[judged]]
        right = {name: _right_by_neighbours(X, part, some_keys, partial(space, (name,))) for name in METRICS}
        metrics = _not_clearly_worse(right, task.weight[judged])
    return space(metrics, np.arange(len(order)))


def _not_clearly_worse(right: dict[str, NDArray[np.bool_]], weight: Floats) -> tuple[str, ...]:
    """The metrics but those that are clearly worse than that of the most right rows."""
    best = max(right.values(), key=lambda found: float(weight[found].sum()))
    unit = weight.mean()

    def is_worse(found: NDArray[np.bool_]) -> bool:
        only, lost = weight[best & ~found].sum() / unit, weight[found & ~best].sum() / unit
        return bool(only - lost > DEVIATIONS * np.sqrt(only + lost))

    return tuple(name for name, found in right.items() if not is_worse(found))


def _right_by_neighbours(X: Any, task: Task, keys: NDArray[np.uint64], space: Callable[[NDArray[np.intp]], Space]) -> NDArray[np.bool_]:
    """Which rows are classified rightly by their nearest neighbours among the rows of other folds; rows of no fold are not asked."""
    fold = fifths_of_rows(task, keys)
    right = np.zeros(len(task.y), bool)
    for held in range(N_FOLDS):
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        if not len(outside):
            continue
        found = space(inside)
        known, asked = found.coordinates(X[inside]), found.coordinates(X[outside])
        for begin in range(0, len(outside), BLOCK):
            distance = squared_distances(known, np.ascontiguousarray(asked[:, begin : begin + BLOCK]))
            nearest = inside[_nearest(distance)]
            votes = (task.y[nearest][:, :, None] == np.arange(task.K)).sum(axis=1, dtype=np.float64)
            votes[np.arange(len(nearest)), task.y[nearest[:, 0]]] += 0.5  # the nearest settles ties
            right[outside[begin : begin + BLOCK]] = votes.argmax(axis=1) == task.y[outside[begin : begin + BLOCK]]
    return right


def _nearest(distance: Floats) -> NDArray[np.intp]:
    """The places of the least few of each row of distances (m, n), which are lost, the first of equals first."""
    rows, places = np.arange(len(distance)), []
    for _ in range(min(N_NEIGHBOURS, distance.shape[1])):
        places.append(distance.argmin(axis=1))
        distance[rows, places[-1]] = np.inf
    return np.column_stack(places)
