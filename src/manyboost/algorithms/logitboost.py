"""LogitBoost for K classes: Friedman, Hastie and Tibshirani (2000), Algorithm 6.

    paper                                     here
    y*_k, p_k = softmax(F)_k                  state.residual is y* - p, state.p, (n, K)
    w_k = p_k (1 - p_k)                       h, (n, K), times the row's weight
    z_k = (y*_k - p_k) / w_k                  w z = r = y* - p, so neither z nor a division by w is needed   (2a)
    f_k, weighted least squares of z on x     f = sum r / sum h in a leaf, splits by (sum r)^2 / sum h       (2a)
    F_k += (K-1)/K (f_k - mean f)             the decoder: columns are the sums of f_k                       (2b)

The leaf of a least-squares tree is the sum of w z over the sum of w, which is Newton's step: written so (Li 2010) no row of tiny weight
has a say beyond its residual. The paper instead cuts z off at 2 to 4 (``z_max``), w being (y* - p) / z; there both sums stay as they are
and h grows where z was cut. A leaf without curvature is cut off at ``max_step``.

With ``trees="shared"`` one tree a round has leaves for all classes. It is grown along a direction v of classes drawn from N(0, I_K), with
g = sum_k v_k r_k and h = sum_k v_k^2 p_k - (sum_k v_k p_k)^2, the curvature of the loss along v. That is not in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import centring
from manyboost.maths.links import softmax
from manyboost.maths.losses import LEAST_CURVATURE, Scores, newton_values
from manyboost.parameters import checked, choice, integer, is_number, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import newton
from manyboost.trees.statistics import Statistics


def _is_bound(value: Any) -> bool:
    return value is None or (is_number(value) and value >= 1)


@dataclass(kw_only=True, eq=False, repr=False)
class LogitBoostClassifier(BoostingClassifier):
    """Additive logistic regression: every round makes a Newton step by one regression tree for each class.

    Parameters
    ----------
    trees : {"per_class", "shared"}
        A tree for each class, as published, or one tree whose leaves hold a value for every class, grown along a random direction.
    z_max : float or None
        Largest working response, at least 1 (the paper: between 2 and 4); None uses the sums in which it does not occur.
    max_step : float
        Largest value of a leaf.
    l2 : float
        Added to the curvature of a leaf, in units of a row.

    References
    ----------
    Friedman, Hastie, Tibshirani: Additive logistic regression: a statistical view of boosting. Annals of Statistics 28 (2000).
    Li: Robust LogitBoost and adaptive base class (ABC) LogitBoost. UAI (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import LogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> LogitBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    trees: str = choice("per_class", "per_class", "shared")
    z_max: float | None = checked(None, "a number of at least 1, or None (no working response)", _is_bound)
    max_step: float = number(5.0, low=0, open_low=True)
    l2: float = number(0.0, low=0)
    n_estimators: int = integer(100, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(16, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def decoder(self, K: int) -> Floats:
        return (K - 1) / K * centring(K)

    def start(self, task: Task) -> Scores:
        return Scores.zero(len(task.y), task.K)

    def pose(self, task: Task, state: Scores, rng: np.random.Generator) -> Sequence[Problem]:
        w, p = task.weight[:, None], state.p
        r = state.residual(task.y)
        h = state.curvature()
        if self.z_max is not None:  # |z| is 1 / p_y at the true class and 1 / (1 - p_k) elsewhere
            h = np.maximum(h, np.abs(r) / self.z_max)
        l2 = self.l2 / task.N
        if self.trees == "per_class":

            def of_class(k: int) -> Statistics:
                return Statistics.of_rows(w * np.column_stack([r[:, k], h[:, k]]))

            return [Problem(partial(of_class, k), newton(1, l2), column=k) for k in range(task.K)]
        v = rng.standard_normal(task.K)
        along = np.column_stack([r @ v, np.maximum(p @ v**2 - (p @ v) ** 2, LEAST_CURVATURE)])
        return [Problem(Statistics.of_rows(w * along), newton(1, l2), Statistics.of_rows(w * np.hstack([r, h])))]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        r, h = np.hsplit(leaves.sums, 2)
        f, clipped = newton_values(r, h + self.l2 / task.N, self.max_step)
        size = float(np.abs(f).max())
        return Answer(f, size, clipped) if size > 1e-12 else Refusal("the gradient has vanished in every leaf")

    def update(self, task: Task, state: Scores, gains: Sequence[Gain]) -> Scores:
        F = state.F.copy(order="K")  # up to a constant of each row, which softmax does not see
        for gain in gains:
            gain.add_to(F, (task.K - 1) / task.K)
        return Scores.of(F)

    def loss(self, task: Task, state: Scores) -> float:
        return state.cross_entropy(task.y, task.weight)

    def link(self, columns: Floats) -> Floats:
        K = columns.shape[1]
        return softmax((K - 1) / K * columns)
