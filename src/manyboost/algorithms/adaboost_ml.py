"""AdaBoost.ML: Zou, Zhu and Hastie (2008), Algorithm 2; boosting of the logistic loss of the margin.

    paper                                     here
    f, sum_k f_k = 0                          the K scores; state f is the row's own, f_y, (n,)
    w_i = 1 / (1 + exp(f_y))                  of_labels, times the row's weight
    T(x), a classifier for these weights      leaves.label
    g_k = sqrt((K-1)/K) at T, else            g, (L, K): unit vectors
          -1/sqrt(K (K-1))
    gamma = argmin sum ln(1+exp(-f_y-gamma g_y))   found by the loop along g, from ``slope``
    f += gamma g                              update

The loss has no closed step. If all rows are right the loss falls for ever along g: gamma is cut off at ``max_step``. The population
minimiser makes 1 + exp(f_k) proportional to the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import symmetric
from manyboost.maths.links import softmax
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Slope, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostMLClassifier(BoostingClassifier):
    """Boosting of trees that name a class, by the logistic loss of the true class's score.

    Parameters
    ----------
    max_step : float
        Largest step, made where the loss falls for ever.

    References
    ----------
    Zou, Zhu, Hastie: New multicategory boosting algorithms based on multicategory Fisher-consistent losses. Annals of Applied Statistics 2
    (2008).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostMLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostMLClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    max_step: float = number(20.0, low=0, open_low=True)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Floats:
        return np.zeros(len(task.y))

    def pose(self, task: Task, f: Floats, rng: np.random.Generator) -> Sequence[Problem]:
        return [Problem(Statistics.of_labels(task.codes, task.weight * expit(-f), task.K), GINI_CRITERION)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        g = np.sqrt((task.K - 1) / task.K) * symmetric(task.K)[leaves.label]
        return Answer(g, 1.0, longest=self.max_step)

    def slope(self, task: Task, f: Floats, gain: Gain) -> Slope:
        g = gain.at_classes(gain.vectors, task.y)

        def along(gamma: float) -> tuple[Floats, Floats]:
            away = expit(-f - gamma * g)
            return -task.weight * g * away, task.weight * g**2 * away * (1 - away)

        return along

    def update(self, task: Task, f: Floats, gains: Sequence[Gain]) -> Floats:
        (gain,) = gains
        return np.asarray(f + gain.at_classes(gain.vectors, task.y))

    def loss(self, task: Task, f: Floats) -> float:
        return float((task.weight * np.logaddexp(0.0, -f)).sum())

    def enough(self, task: Task, loss: float) -> str | None:
        return "the loss has vanished" if loss < 1e-15 else None

    def link(self, columns: Floats) -> Floats:
        return softmax(np.logaddexp(0.0, columns))
