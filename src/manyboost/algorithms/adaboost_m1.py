"""AdaBoost.M1: Freund and Schapire (1996, 1997); AdaBoost with trees that name one of K classes and must be right half of the time.

    paper                                     here
    D_t(i)                                    state w, (n,)
    h_t(x)                                    leaves.label, the label of most weight in each leaf
    eps_t = sum_i D_t(i) [h_t(x_i) != y_i]    error
    beta_t = eps_t / (1 - eps_t)              exp(-alpha)
    D <- D beta_t where h_t is right          update, and one factor for all rows, which makes the total the bound of the error
    h_fin(x) = argmax_k sum log(1/beta) [h=k] the largest of the K scores

With that factor, exp(alpha/2), a right row is multiplied by exp(-alpha/2) and a wrong one by exp(alpha/2), and the total is
prod 2 sqrt(eps (1-eps)), which bounds the share of mistaken rows. There is no consistent link to probabilities for K > 2; softmax of the
scores stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.lasting_weights import LastingWeights
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.steps import clipped_error
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import ENTROPY_CRITERION, GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostM1Classifier(BoostingClassifier):
    """AdaBoost as first written down for K classes: every tree must be right on more than half of the weight.

    Parameters
    ----------
    criterion : {"gini", "entropy"}
        What makes a split good.

    References
    ----------
    Freund, Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. JCSS 55 (1997).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostM1Classifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostM1Classifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    criterion: str = choice("gini", "gini", "entropy")
    n_estimators: int = integer(200, low=1)
    max_depth: int | None = integer(10, low=1, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> LastingWeights:
        return LastingWeights.of(task.weight)

    def pose(self, task: Task, w: LastingWeights, rng: np.random.Generator) -> Sequence[Problem]:
        criterion = GINI_CRITERION if self.criterion == "gini" else ENTROPY_CRITERION
        return [Problem(Statistics.of_labels(task.codes, w.values, task.K, w.lasting), criterion)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        sums, said = leaves.sums, one_hot(leaves.label, task.K)
        error = float((sums * (1 - said)).sum() / sums.sum())
        if error >= 0.5:
            return Refusal(f"the weighted error {error:.4f} of the tree is not below 1/2; deeper trees, or SAMME, can go on")
        error, perfect = clipped_error(error)
        alpha = float(np.log((1 - error) / error))
        return Answer(alpha * said, alpha, clipped=perfect, stop="a tree made no error" if perfect else None)

    def update(self, task: Task, w: LastingWeights, gains: Sequence[Gain]) -> LastingWeights:
        (gain,) = gains
        common = float(np.exp(gain.vectors[0].sum() / 2))
        return gain.scale_lasting(w, np.exp(-gain.vectors), task, common)

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
