"""SAMME: the multi-class AdaBoost of Zhu, Zou, Rosset and Hastie (2009), Algorithm 2; AdaBoost.M1W of Eibl and Pfeiffer (2002).

    paper                                     here
    c_i, K                                    task.y, task.K
    w_i                                       state w, (n,)
    T(x), the m-th classifier                 leaves.label, the label of most weight in each leaf
    err   = sum_i w_i [c_i != T(x_i)]         err                              (2b)
    alpha = log((1-err)/err) + log(K-1)       alpha                            (2c)
    w_i  <- w_i exp(alpha [c_i != T(x_i)])    update: rows that T is right about times exp(-alpha), and all times exp(alpha / K), which
                                              makes the total the loss (2d)
    C(x)  = argmax_k sum_m alpha [T(x) = k]   the largest of the K scores      (3)

The population minimiser makes ``softmax`` of the votes the probabilities. A perfect tree has no finite alpha, and no weight would change
after it. Another is grown in its place; if there is none, it ends the fit with the alpha of an error of 1e-6. With ``on_perfect="stop"`` it
does so at once, and is kept only if it is the first, as in Weka's AdaBoost: it would drown the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.lasting_weights import LastingWeights
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.steps import NO_EDGE, clipped_error
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import ENTROPY_CRITERION, GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class SAMMEClassifier(BoostingClassifier):
    """AdaBoost for K classes: a tree need only beat a guess among K, not a coin.

    Parameters
    ----------
    criterion : {"gini", "entropy"}
        What makes a split good.

    References
    ----------
    Zhu, Zou, Rosset, Hastie: Multi-class AdaBoost. Statistics and Its Interface 2 (2009).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import SAMMEClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> SAMMEClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    criterion: str = choice("gini", "gini", "entropy")
    n_estimators: int = integer(200, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")

    def start(self, task: Task) -> LastingWeights:
        return LastingWeights.of(task.weight)

    def pose(self, task: Task, w: LastingWeights, rng: np.random.Generator) -> Sequence[Problem]:
        criterion = GINI_CRITERION if self.criterion == "gini" else ENTROPY_CRITERION
        return [Problem(Statistics.of_labels(task.codes, w.values, task.K, w.lasting), criterion, tag=w.lasting.turn == 0)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        K, sums, said = task.K, leaves.sums, one_hot(leaves.label, task.K)
        err = float(sums[said == 0].sum() / sums.sum())
        if err >= 1 - 1 / K - NO_EDGE:
            return Refusal(f"the weighted error {err:.4f} of the tree is not below 1 - 1/K = {1 - 1 / K:.4f}")
        err, perfect = clipped_error(err)
        if perfect and self.on_perfect == "stop" and not problem.tag:
            return Refusal("a tree made no error")
        alpha = math.log((1 - err) / err) + math.log(K - 1)
        return Answer(alpha * said, alpha, clipped=perfect, stop="a tree made no error" if perfect else None)

    def update(self, task: Task, w: LastingWeights, gains: Sequence[Gain]) -> LastingWeights:
        (gain,) = gains
        common = math.exp(gain.vectors[0].sum() / task.K)  # exp(alpha / K); with it, <c_l, f> / K of the paper's codes is the exponent
        return gain.scale_lasting(w, np.exp(-gain.vectors), task, common)

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
