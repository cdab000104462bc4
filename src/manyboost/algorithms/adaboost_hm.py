"""AdaBoost.HM: Jin, Hou and Liu (2010), Algorithm 1; each tree's own margin weighs the rows.

    paper                                     here
    f_t(x) in [0, 1]^L                        f, (leaves, K): a label, or the shares of the classes in the leaf
    u_i = f_y(x_i) - max_{l != y} f_l(x_i)    margins(f), (leaves, K), read at the row's class: the hypothesis margin
    D_t(i)                                    state w, (n,)
    r_t = sum_i D(i) u_i                      edge                                        (16)
    alpha = 1/2 ln((1+r)/(1-r))               line_search="bound": minimises a chord above the loss, too short where |u| < 1   (15)
    argmin_a sum_i D(i) exp(-a u_i)           line_search="exact"
    D <- D exp(-alpha u)                      update; the total is the product of the Z_t, which bounds the error              (11)
    F = sum_t alpha_t f_t                     the K scores

Weights are a product of margins of trees, not a function of F: sum_t alpha_t max f >= max sum_t alpha_t f. The paper gives [-1, 1] for f in
(1); only [0, 1] makes |u| <= 1. The maximum has no smooth link; softmax of 2F is that of two classes and stands in for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.steps import KAPPA, MAX_STEP, NO_EDGE, clipped_error, exponential_step
from manyboost.maths.weights import Weights, shares
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


def margins(f: Floats) -> Floats:
    """``f_k - max_{l != k} f_l`` at each class k."""
    second, best = np.sort(f, axis=1)[:, -2:].T[:, :, None]
    return np.asarray(f - np.where(f == best, second, best))  # where two are best, second is best


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostHMClassifier(BoostingClassifier):
    """AdaBoost by hypothesis margins: rows that a tree just gets right count less than rows it is sure of.

    Parameters
    ----------
    response : {"probability", "label"}
        A leaf says the share of each class in its weight, or its class of most weight.
    line_search : {"exact", "bound"}
        The step that minimises the loss, or the one that minimises its bound, as published.

    References
    ----------
    Jin, Hou, Liu: Multi-class AdaBoost with hypothesis margin. ICPR (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostHMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostHMClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    response: str = choice("probability", "probability", "label")
    line_search: str = choice("exact", "exact", "bound")
    n_estimators: int = integer(200, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        return Weights.of(task.weight)

    def pose(self, task: Task, w: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        return [Problem(Statistics.of_labels(task.codes, w.values, task.K), GINI_CRITERION, shares=self.response == "probability")]

    def responses(self, leaves: Leaves, K: int) -> Floats:
        """f, what each leaf says: (L, K), in [0, 1]."""
        if self.response == "label":
            return one_hot(leaves.label, K)
        return shares(leaves.sums) if leaves.shares is None else leaves.shares

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        f = self.responses(leaves, task.K)
        u, q = margins(f), leaves.sums / leaves.sums.sum()
        edge = float((q * u).sum())
        if edge <= NO_EDGE:
            return Refusal(f"the mean margin {edge:.4f} of the tree is not above 0")
        if self.line_search == "bound":
            error, clipped = clipped_error((1 - edge) / 2)
            alpha = float(np.log((1 - error) / error)) / 2
        else:
            alpha, clipped = exponential_step(q, u, MAX_STEP)
        return Answer(alpha * f, alpha, clipped, stop="a tree made no error" if edge > 1 - 2 * KAPPA else None)

    def update(self, task: Task, w: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return w.updated(gain.scale_at_classes(w.values, np.exp(-margins(gain.vectors)), task))

    def link(self, columns: Floats) -> Floats:
        return softmax(2 * columns)
