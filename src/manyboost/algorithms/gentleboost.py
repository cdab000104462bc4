"""GentleBoost for K classes: Zou, Zhu and Hastie (2008), Algorithm 1; one against the rest: Friedman, Hastie and Tibshirani (2000).

    paper                                     here
    w_i = exp(-f_y(x_i))                      state, (n,)
    z_i = [y_i = k] - 1/K                     z
    g_k, least squares of 1/z, weights w z^2  g = sum w z / sum w z^2 in a leaf, splits by (sum w z)^2 / sum w z^2
    G_k += g_k, f = G - mean G                the decoder: columns are G

    one against the rest (``variant="ova"``)
    w_ik = exp(-Y_ik F_k), Y = +1 or -1       state, (n, K)
    F_k += weighted mean of Y in a leaf       the same with z = Y; at most 1 in size

Every g_k is Newton's step for its own class. Making all K of them at once goes too far by the factor K/(K-1) near the optimum, where the
error is then multiplied by -1/(K-1) in every round: with two classes it never ends. Hence ``damp``, the factor (K-1)/K that LogitBoost has,
too. ``damp=False`` is the published form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import centring, one_hot
from manyboost.maths.links import normalised_sigmoid, softmax
from manyboost.maths.losses import newton_values
from manyboost.maths.weights import Weights
from manyboost.parameters import choice, flag, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class GentleBoostClassifier(BoostingClassifier):
    """Bounded Newton steps on an exponential loss: every round fits one regression tree for each class.

    Parameters
    ----------
    variant : {"zou", "ova"}
        One loss of the scores' margin, whose weights all classes share, or one against the rest, each class with its own.
    damp : bool
        Multiply the steps of "zou" by (K-1)/K, without which they go too far; False is the published form.

    References
    ----------
    Zou, Zhu, Hastie: New multicategory boosting algorithms based on multicategory Fisher-consistent losses. Annals of Applied Statistics 2
    (2008).
    Friedman, Hastie, Tibshirani: Additive logistic regression: a statistical view of boosting. Annals of Statistics 28 (2000).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import GentleBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> GentleBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    variant: str = choice("zou", "zou", "ova")
    damp: bool = flag(True)
    n_estimators: int = integer(100, low=1)
    learning_rate: float = number(1.0, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(32, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def decoder(self, K: int) -> Floats:
        return centring(K)

    def start(self, task: Task) -> Weights:
        return Weights.of(task.weight if self.variant == "zou" else np.repeat(task.weight[:, None] / task.K, task.K, axis=1))

    def pose(self, task: Task, w: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        def of_class(k: int) -> Statistics:
            z = (task.y == k) - 1 / task.K if self.variant == "zou" else np.where(task.y == k, 1.0, -1.0)
            of_k = w.values if self.variant == "zou" else w.values[:, k]
            return Statistics.of_rows(np.column_stack([of_k * z, of_k * z**2]))

        return [Problem(partial(of_class, k), newton(1, 0.0), column=k) for k in range(task.K)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        damp = (task.K - 1) / task.K if self.variant == "zou" and self.damp else 1.0
        wz, wzz = np.hsplit(leaves.sums, 2)
        g, _ = newton_values(wz, wzz, most=task.K)  # no more than the bound of g itself
        size = damp * float(np.abs(g).max())
        return Answer(damp * g, size) if size > 1e-12 else Refusal("the gradient has vanished in every leaf")

    def update(self, task: Task, w: Weights, gains: Sequence[Gain]) -> Weights:
        values = w.values.copy()
        for gain in gains:
            k, g = gain.problem.column, gain.vectors  # (L, 1)
            if self.variant == "zou":
                with np.errstate(over="ignore"):  # only of classes without rows in the leaf
                    factor = np.exp(-g * (one_hot(np.array([k]), task.K) - 1 / task.K))
                values *= gain.at_classes(factor, task.y)
            else:
                values[:, k] *= gain.at_classes(np.exp(g * np.array([1.0, -1.0])), (task.y == k).astype(np.intp))
        return w.updated(values)

    def link(self, columns: Floats) -> Floats:
        return softmax(columns) if self.variant == "zou" else normalised_sigmoid(2 * columns)
