"""AdaBoost.MR: Schapire and Singer (1999); every pair of the true and a wrong label of a row is to be ranked right.

    paper                                     here
    D(i, l0, l1), l0 wrong, l1 the true label state D, (n, K), zero at the true label; one label a row, so l1 needs no index
    D <- D exp(1/2 alpha (h(x,l0) - h(x,l1))) update
    r = 1/2 sum D (h(x,l1) - h(x,l0))         edge
    alpha = 1/2 ln((1+r)/(1-r))               leaves="vote": h = +-1 for each label of each leaf
    weight on + for l1, on - for l0           W_plus, W_minus, (L, K): sum of D(i, .) over rows of the class; of D(i, l) over the others
    c_l = 1/2 ln(W+/W-)                       leaves="confidence": h = c, alpha = 1
    f(x, l) = sum alpha h(x, l)               the K scores

Since exp((a - b)/2) <= (exp(a) + exp(-b))/2, the new loss is at most the sum over leaves and labels of sqrt(W+ W-), half the criterion
``exponential`` by which trees can be grown; that c minimises the bound. The paper keeps D as a product of v(i, l0) and v(i, l1); with one
true label the pairs of a row are as few as its labels, and D itself is kept. Told to say +1 at one label only, it is AdaBoost.M2. With
``costs="train"`` D(i, l0) starts in proportion to the cost of l0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.rewards import rewards_of
from manyboost.maths.steps import NO_EDGE, clipped_error, confidences, votes
from manyboost.maths.weights import Weights, wrong_labels
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import along_direction
from manyboost.trees.criteria import exponential, newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostMRClassifier(BoostingClassifier):
    """AdaBoost by ranking: the true label of a row against each other label, by trees whose leaves hold a score for every label.

    Parameters
    ----------
    leaves : {"confidence", "vote"}
        Each leaf and label has its own confidence, or votes +1 or -1 with one coefficient for the tree.
    grow_by : {"direction", "labels"}
        Choose splits along one random direction of labels a round, as AdaBoost.MH does, or by the bound over all labels.
    smoothing : float
        Added to both weights of a leaf and label, in units of the mean weight of a pair.
    max_confidence : float
        Largest confidence of a leaf.
    l2 : float
        Added to the curvature, in units of the total weight of a row, when growing by a direction.

    References
    ----------
    Schapire, Singer: Improved boosting algorithms using confidence-rated predictions. Machine Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostMRClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostMRClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    leaves: str = choice("confidence", "confidence", "vote")
    grow_by: str = choice("direction", "direction", "labels")
    smoothing: float = number(0.1, low=0)
    max_confidence: float = number(4.0, low=0, open_low=True)
    l2: float = number(1.0, low=0)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        return Weights.of(wrong_labels(task.weight / (task.K - 1), task.y, task.K, task.cost))

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        of_row = D.values.sum(axis=1)
        both = D.values + of_row[:, None] * one_hot(task.y, task.K)
        for_and_against = Statistics.of_both(both, task.codes, of_row, task.K)

        def rewards() -> Floats:
            return rewards_of(D.values - of_row[:, None] * one_hot(task.y, task.K))

        if self.grow_by == "labels":
            return [Problem(for_and_against, exponential(task.K), rewards=rewards)]
        along = Statistics.of_rows(along_direction(both, rng.standard_normal(task.K), task.codes))
        return [Problem(along, newton(1, self.l2 * float(both.sum()) / task.N), for_and_against, rewards=rewards)]

    def votes(self, W_plus: Floats, W_minus: Floats) -> Floats:
        """h of leaves that vote: (L, K)."""
        return votes(W_plus, W_minus)

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        both, W_plus = leaves.sums[:, : task.K], leaves.sums[:, task.K :]  # (L, K)
        W_minus, total = both - W_plus, float(W_plus.sum())
        if self.leaves == "vote":
            h = self.votes(W_plus, W_minus)
            edge = float((h * (W_plus - W_minus)).sum()) / (2 * total)
            if edge <= NO_EDGE:
                return Refusal(f"the edge {edge:.4f} of the tree is not above 0: it ranks no better than chance")
            error, perfect = clipped_error((1 - edge) / 2)
            alpha = float(np.log((1 - error) / error)) / 2
            return Answer(alpha * h, alpha, clipped=perfect, stop="a tree made no error" if perfect else None)
        c, size, clipped = confidences(W_plus, W_minus, self.smoothing * total / (task.N * (task.K - 1)), self.max_confidence)
        return Answer(c, size, clipped) if size > NO_EDGE else Refusal("no leaf prefers any label")

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return D.updated(gain.scale_pairs(D.values, gain.vectors / 2, task.y))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
