"""AdaBoost.OC: Schapire (1997); each round colours the classes and grows one binary tree that tells the colours apart.

    paper                                     here
    mu_t(l), a colour for each label          mu, (K,), +1 or -1
    D~(i, l), l a wrong label of row i        state D, (n, K), zero at the true label
    U_t = sum D~(i, l) [mu(l) != mu(y_i)]     U, as a share of the total T
    D_t(i) = sum_l D~ [mu(l) != mu(y_i)] / U  w, without the division
    h_t(x), a colour                          h, (L,), by leaves.label
    eps_t = sum D_t [h != mu(y)]              error
    eps~ = 1/2 - (1/2 - eps) U                pseudo_loss, that of the answer "any label of colour h"
    alpha = 1/2 ln((1 - eps~)/eps~)           alpha
    D~ <- D~ exp(alpha/2 h (mu_l - mu_y))     update: exp(alpha ([l in h~] - [y in h~])) of the paper
    sum_t alpha_t [h_t(x) = mu_t(l)]          the K scores, as sum alpha h mu: twice the votes up to a constant of the row

(K-1) times the loss bounds the error, and with ``costs="train"``, for which D~(i, l) starts in proportion to the cost of l, the mean cost.
AdaBoost.ECC takes a longer, exact step along the same direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.colourings import COLOURINGS, colouring
from manyboost.maths.links import softmax
from manyboost.maths.steps import NO_EDGE, clipped_error
from manyboost.maths.weights import Weights, wrong_labels
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostOCClassifier(BoostingClassifier):
    """AdaBoost with output codes: a new way to part the classes in two each round, and one binary tree for it.

    Parameters
    ----------
    colouring : {"max_cut", "max_cut_greedy", "random_half", "random"}
        How the classes are parted: with the most weight between the two sides, by trying all (up to 16 classes) or nearly so; half of
        them drawn, as published; or each drawn by itself.

    References
    ----------
    Schapire: Using output codes to boost multiclass learning problems. ICML (1997).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostOCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostOCClassifier(n_estimators=30, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    colouring: str = choice("random_half", *COLOURINGS)
    n_estimators: int = integer(300, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")

    def start(self, task: Task) -> Weights:
        return Weights.of(wrong_labels(task.weight / (task.K - 1), task.y, task.K, task.cost))

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        mu = colouring(self.colouring, D.values, task.y, task.K, rng)
        own = np.take(mu, task.y)
        w = (D.values * (mu != own[:, None])).sum(axis=1)
        return [Problem(Statistics.of_labels((own > 0).astype(np.uint16), w, 2), GINI_CRITERION, tag=(mu, D.sum))]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        mu, T = problem.tag
        h = np.where(leaves.label == 1, 1.0, -1.0)
        edge = float((h * (leaves.sums[:, 1] - leaves.sums[:, 0])).sum()) / T  # (1 - 2 eps) U
        if abs(edge) <= NO_EDGE * leaves.sums.sum() / T:
            return Refusal("the tree tells the two colours apart no better than chance")
        pseudo_loss, perfect = clipped_error((1 - edge) / 2)
        alpha = float(np.log((1 - pseudo_loss) / pseudo_loss)) / 2
        stop = "a tree made no error" if perfect and task.K == 2 else None  # else other colourings are left
        return Answer(alpha * h[:, None] * mu, alpha, clipped=perfect, stop=stop)

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return D.updated(gain.scale_pairs(D.values, gain.vectors / 2, task.y))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
