"""Which metric similarities use: the one asked for, or the one that held-out neighbours speak for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.localized_similarity import LocalizedSimilarity
from manyboost.learners.similarity_space import Space, learn_space
from manyboost.protocol import Floats, Task
from manyboost.row_keys import keys_of_numbers


def space_for(
    learner: LocalizedSimilarity, numeric: Any, labels: NDArray[np.intp], weight: Floats, n_categories: NDArray[np.int32]
) -> Space:
    """The coordinates that a learner measures distances in."""
    order = np.lexsort((weight, keys_of_numbers(numeric, labels)))
    X, y, w = numeric[order], labels[order], weight[order]
    task = Task.of(y, int(y.max()) + 1, w)
    metric = "standard" if learner.metric == "auto" else learner.metric
    return learn_space(X, y, task.weight, n_categories, metric, learner.feature_weights, task.N)
