"""Cost-sensitive AdaBoost: Masnadi-Shirazi and Vasconcelos (2011); two costs inside the exponential loss.

    paper                                     here
    C1, C2, cost of missing +1, and -1        costs[j]: row j of a class against the others
    w_i                                       state W[j], (n,), total sum_+ e^{-C1 H} + sum_- e^{C2 H}
    T+, T-   weight of either side            inside, outside
    b, d     mistaken weight of either side   b, d
    2 C1 b cosh(C1 a) + 2 C2 d cosh(C2 a)     a, the root, by maths.steps.exponential_step: q = T+ - b, b, T- - d, d and
        = C1 T+ e^{-C1 a} + C2 T- e^{-C2 a}   v = C1, -C1, C2, -C2
    w <- w e^{-C1 a h}, w e^{C2 a h}          update
    H* = ln(p C1 / ((1-p) C2)) / (C1 + C2)    link: p of each class, normalised

The paper's problem has two classes, and one column of scores answers it: the sign of H is the decision of least cost. With more classes
each has its column, against all others: C1 is the mean cost of missing it and C2 the mean cost of saying it wrongly, and the highest
(C1 + C2) H, the log-odds of the costs that saying a class saves and makes, decides. A tree is grown by weights times costs, the first-order
form of the paper's search. With C1 = 1/(s (K-1)) and C2 = 1/((K-s) (K-1)) it is PIBoost's separator, and with C1 = C2 = 1 AdaBoost. A
negative step turns the tree round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.links import normalised_sigmoid
from manyboost.maths.steps import KAPPA, NO_EDGE, exponential_step
from manyboost.maths.weights import Weights
from manyboost.parameters import integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class CostSensitiveAdaBoostClassifier(BoostingClassifier):
    """AdaBoost whose loss counts a miss of the one class more than a miss of the other; one class against the rest where there are more.

    References
    ----------
    Masnadi-Shirazi, Vasconcelos: Cost-sensitive boosting. IEEE PAMI 33 (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from manyboost import CostSensitiveAdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CostSensitiveAdaBoostClassifier(n_estimators=20, cost_matrix={(0, 1): 10.0}, random_state=0).fit(X, y)
    >>> bool((model.predict(X)[y == 0] == 0).all())
    True
    """

    trains_with_costs = True

    n_estimators: int = integer(100, low=1)
    max_depth: int | None = integer(4, low=1, none="no limit")
    subsample: float = number(0.7, low=0, high=1, open_low=True)

    def decoder(self, K: int) -> Floats:
        rates = self.costs(K, self.cost_matrix_).sum(axis=1)
        return rates * np.array([[-1.0, 1.0]]) if K == 2 else np.diag(rates)

    def start(self, task: Task) -> Weights:
        return Weights.of(np.tile(task.weight, (len(self.costs(task.K, task.cost)), 1)), each_row=True)

    @staticmethod
    def costs(K: int, cost: Floats | None) -> Floats:
        """C1 and C2 of each column, (number of columns, 2), the larger of all being one."""
        if cost is None:
            return np.ones((1 if K == 2 else K, 2))
        means = np.column_stack([cost.sum(axis=1), cost.sum(axis=0)]) / (K - 1)
        means = np.maximum(means / means.max(), KAPPA)  # a class that nothing is paid for is still to be learnt
        return np.asarray(means[1:] if K == 2 else means)

    def pose(self, task: Task, W: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        problems = []
        for j, pair in enumerate(self.costs(task.K, task.cost)):
            inside = (task.y == (1 if task.K == 2 else j)).astype(np.uint16)
            plain = Statistics.of_labels(inside, W.values[j], 2)
            by_cost = Statistics.of_labels(inside, W.values[j] * np.where(inside, *pair), 2)
            problems.append(Problem(by_cost, GINI_CRITERION, plain, column=j, tag=(inside, pair)))
        return problems

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        C1, C2 = problem.tag[1]
        h = np.where(leaves.label == 1, 1.0, -1.0)
        outside, inside = leaves.sums.sum(axis=0)
        if inside <= 0 or outside <= 0:
            return Refusal("a class has all the weight")
        b, d = float(leaves.sums[h < 0, 1].sum()), float(leaves.sums[h > 0, 0].sum())
        largest = 0.5 * float(np.log((1 - KAPPA) / KAPPA)) / min(C1, C2)
        a, clipped = exponential_step(np.array([inside - b, b, outside - d, d]), np.array([C1, -C1, C2, -C2]), largest)
        if abs(a) < NO_EDGE:
            return Refusal("no tree is better than chance")
        return Answer((a * h)[:, None], a, clipped)

    def update(self, task: Task, W: Weights, gains: Sequence[Gain]) -> Weights:
        values = W.values.copy()
        for gain in gains:
            inside, (C1, C2) = gain.problem.tag
            values[gain.problem.column] *= gain.at_classes(np.exp(gain.vectors * [C2, -C1]), inside.astype(np.intp))
        return W.updated(values)

    def link(self, columns: Floats) -> Floats:
        pairs = self.costs(len(self.classes_), self.cost_matrix_)
        logit = columns * pairs.sum(axis=1) - np.log(pairs[:, 0] / pairs[:, 1])
        return normalised_sigmoid(np.hstack([-logit, logit]) if len(pairs) == 1 else logit)
