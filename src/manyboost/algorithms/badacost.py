"""BAdaCost: Fernandez-Baldera, Buenaposada and Baumela (2018); SAMME for any matrix of costs.

    paper                                     here
    C(i, j), cost of deciding j for i         task.cost, (K, K), as shares of the largest, whichever that is
    C* = C - diag(row sums)                   cost_margins, whose rows sum to zero
    y_j, the code word of label j             maths.codes.symmetric; C* y_j = K/(K-1) C*_j: ``table``, (K true, K said)
    w_i                                       state w, (n,); its total is the loss sum_i exp(C*_{y_i} f(x_i))
    G, of least sum_i w_i e^{C* G}            a tree grown by rewards w_i (worst - each label's e^{C* y_j}), (n, K)
    beta, least sum_i w_i e^{beta C* G(x_i)}  alpha, by maths.steps.exponential_step
    w <- w exp(beta C* G)                     update
    argmin_k C*_k f(x)                        the decoder: columns are the votes alpha, scores are -C* f

With costs 1/(K (K-1)), the default, C* y is minus the product of the code words over K, and this is SAMME. For two classes it is
cost-sensitive AdaBoost. The authors' first code decided by C*' f; the theory wants C* f, as they corrected it. The softmax of the scores is
SAMME's link; for other costs it is no more than a ranking of the decisions, which the temperature makes as honest as it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot, symmetric
from manyboost.maths.links import softmax
from manyboost.maths.rewards import rewards_of
from manyboost.maths.steps import KAPPA, NO_EDGE, exponential_step
from manyboost.maths.weights import Weights
from manyboost.parameters import integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class BAdaCostClassifier(BoostingClassifier):
    """AdaBoost for K classes whose mistakes cost differently: weights, trees, steps and the decision all know the costs.

    Without a ``cost_matrix`` it is SAMME.

    References
    ----------
    Fernandez-Baldera, Buenaposada, Baumela: BAdaCost: Multi-class boosting with costs. Pattern Recognition 79 (2018).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import BAdaCostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BAdaCostClassifier(n_estimators=20, max_depth=2, cost_matrix={(0, 1): 5.0}, random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    trains_with_costs = True

    n_estimators: int = integer(200, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")

    def table(self, K: int, cost: Floats | None) -> Floats:
        """C* y_j: what saying j does to a row of each true class, (K, K)."""
        return cost_margins(cost, K) @ symmetric(K)

    def decoder(self, K: int) -> Floats:
        return -self.table(K, self.cost_matrix_).T

    def start(self, task: Task) -> Weights:
        return Weights.of(task.weight)

    def pose(self, task: Task, w: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        earned = rewards_of(np.exp(self.table(task.K, task.cost)))  # (K true, K said)

        def rewards() -> Floats:
            return w.values[:, None] * earned[task.y]

        classes = Statistics.of_labels(task.codes, w.values, task.K)
        return [Problem(Statistics.of_rows(rewards()), GINI_CRITERION, classes, rewards=rewards)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        table = self.table(task.K, task.cost)
        v = -table[:, leaves.label].T  # (L, K true)
        largest = (np.log((1 - KAPPA) / KAPPA) + np.log(task.K - 1)) / np.ptp(table)  # at uniform costs SAMME's, of an error of kappa
        alpha, clipped = exponential_step(leaves.sums.ravel(), v.ravel(), float(largest))
        if alpha <= NO_EDGE:
            return Refusal("no tree lowers the cost")
        perfect = bool((leaves.sums[v <= 0] == 0).all())
        return Answer(alpha * one_hot(leaves.label, task.K), alpha, clipped, "a tree made no error" if perfect else None)

    def update(self, task: Task, w: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        exponent = gain.vectors @ self.table(task.K, task.cost).T  # (L, K true)
        return w.updated(gain.scale_at_classes(w.values, np.exp(exponent), task))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns @ self._decoder)


def cost_margins(cost: Floats | None, K: int) -> Floats:
    """C*: the costs with minus their row's sum on the diagonal."""
    C = (1 - np.eye(K)) / (K * (K - 1)) if cost is None else cost / cost.max()
    return np.asarray(C - np.diag(C.sum(axis=1)))
