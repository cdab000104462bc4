"""GAMBLE's booster: Huang, Ertekin, Song, Zha and Giles (2007); gentle steps on SAMME's loss by one tree a round.

    paper                                     here
    c_y, code of a class                      1 at the class, -1/(K-1) elsewhere
    w_i = exp(-<c_y, f(x_i)> / K)             state w, (n,); <c_y, f> / K = f_y / (K-1) where f sums to zero
    regression of c_y on x, weights w         one tree: the squares of the codes fall as Gini's index does, so Gini grows it
    f(x), quasi-Newton step of a leaf         (K-1) (K q - 1), q the leaf's shares of the classes by weight

The Hessian is taken at equal shares, where it is a multiple of the identity; the exact one would make the steps of pure leaves infinite.
The text of the paper was not at hand: the step is derived from the loss. Its active learning is :mod:`manyboost.active_learning`, for any
of our classifiers. A pure leaf multiplies weights by exp(1-K), so with many classes a smaller ``learning_rate`` is in place. The
population minimiser makes softmax of f / (K-1) the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.links import softmax
from manyboost.maths.weights import Weights
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class GambleClassifier(BoostingClassifier):
    """Gentle adaptive multi-class boosting: one regression tree of class codes a round.

    References
    ----------
    Huang, Ertekin, Song, Zha, Giles: Efficient multiclass boosting classification with active learning. SDM (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import GambleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> GambleClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.5, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        return Weights.of(task.weight)

    def pose(self, task: Task, w: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        return [Problem(Statistics.of_labels(task.codes, w.values, task.K), GINI_CRITERION)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        K, total = task.K, leaves.sums.sum(axis=1, keepdims=True)
        q = np.divide(leaves.sums, total, out=np.full_like(leaves.sums, 1 / K), where=total > 0)
        f = (K - 1) * (K * q - 1)
        size = float(np.abs(f).max())
        return Answer(f, size) if size > 1e-12 else Refusal("no leaf prefers any class")

    def update(self, task: Task, w: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return w.updated(gain.scale_at_classes(w.values, np.exp(-gain.vectors / (task.K - 1)), task))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns / (columns.shape[1] - 1))
