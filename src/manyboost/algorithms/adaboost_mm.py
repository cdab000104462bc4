"""AdaBoost.MM: Mukherjee and Schapire (2010, 2013); costs for every label, and the weakest demand on trees that boosting needs.

    paper                                     here
    W(i, l) = exp(F_l - F_y), l wrong         state W, (n, K), zero at the true label, times the row's weight
    C(i, l) = W(i, l), C(i, y) = -sum_l W     in rows.pair_rewards; rows sum to zero
    h, with small sum_i C(i, h(x_i))          leaves.label, by rewards max_m C(i, m) - C(i, l)
    A+, A-   weight where h is right, wrong   right, wrong: sum of W over all wrong labels, or of W(i, h(x_i))
    delta = (A+ - A-) / sum W, the edge       edge
    alpha = 1/2 ln((1+delta)/(1-delta))       line_search="edge": minimises the bound sqrt(1 - delta^2) of the loss
    alpha = 1/2 ln(A+/A-)                     line_search="exact": minimises the loss
    F(x, h(x)) += alpha                       the K scores

With line_search="edge" it is AdaBoost.M2 with label responses and votes half as large. The loss, the mean over rows of the total W,
bounds the error. Weights W/n_y at the start, as for imbalanced classes, are ``class_weight="balanced"``; those times the cost of saying
l, ``costs="train"``, with which the loss bounds the mean cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.steps import KAPPA, NO_EDGE, clipped_error
from manyboost.maths.weights import Weights, wrong_labels
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import pair_rewards, pairs_along
from manyboost.trees.criteria import GINI_CRITERION, newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostMMClassifier(BoostingClassifier):
    """AdaBoost by costs of labels: a tree need only have an edge over one that spreads its answers evenly over the labels.

    Parameters
    ----------
    grow_by : {"rewards", "direction"}
        Choose splits by the rewards of all labels, or along one random direction of labels a round, as AdaBoost.MR does: such a tree costs
        the same for any number of labels, and three times as many are better where there are many labels.
    line_search : {"exact", "edge"}
        The step that minimises the loss, or the shorter one that minimises its bound, as published.

    References
    ----------
    Mukherjee, Schapire: A theory of multiclass boosting. JMLR 14 (2013).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostMMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostMMClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    grow_by: str = choice("rewards", "rewards", "direction")
    line_search: str = choice("exact", "exact", "edge")
    n_estimators: int = integer(200, low=1)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        return Weights.of(wrong_labels(task.weight, task.y, task.K, task.cost))

    def pose(self, task: Task, W: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        if self.grow_by == "direction":
            along, of_row = pairs_along(W.values, rng.standard_normal(task.K), task.y)
            grown, criterion = along, newton(1, 2 * float(of_row.sum()) / task.N)
        else:
            (grown, of_row), criterion = pair_rewards(W.values, task.y), GINI_CRITERION
        by_class = Statistics.of_both(W.values, task.codes, of_row, task.K)
        return [Problem(Statistics.of_rows(grown), criterion, by_class, rewards=lambda: pair_rewards(W.values, task.y)[0])]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        against, for_label = np.hsplit(leaves.sums, 2)  # (L, K): W on each wrong label; all W of the rows of each class
        said = one_hot(leaves.label if self.grow_by == "rewards" else (for_label - against).argmax(axis=1), task.K)
        right, wrong = float((for_label * said).sum()), float((against * said).sum())
        edge = (right - wrong) / float(for_label.sum())
        if edge <= NO_EDGE:
            return Refusal(f"the edge {edge:.4f} of the tree is not above 0")
        error, clipped = clipped_error((1 - edge) / 2 if self.line_search == "edge" else wrong / (right + wrong))
        alpha = float(np.log((1 - error) / error)) / 2
        return Answer(alpha * said, alpha, clipped, stop="a tree made no error" if edge > 1 - 2 * KAPPA else None)

    def update(self, task: Task, W: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return W.updated(gain.scale_pairs(W.values, gain.vectors, task.y))

    def link(self, columns: Floats) -> Floats:
        return softmax(2 * columns)
