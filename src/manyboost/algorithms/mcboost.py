"""MCBoost: Saberian and Vasconcelos (2011); boosting of a predictor with K-1 coordinates, class codes on a simplex.

    paper                                     here
    y^k, codes of the classes                 s, (K, K-1): unit vectors that sum to zero
    f(x) in R^{K-1}                           the columns; scores F_k = <f, s_k>
    R = sum_i sum_{k != y} exp(-<f, s_y - s_k>/2)   the total of state E, (n, K), nothing at the true class
    w_i = sum_{k != y} E_ik (s_y - s_k) / 2   u @ s, minus the gradient; u, (n, K), is that with respect to the scores

    coordinate descent (CD-MCBoost)
    b = sign of w_ij, weight its size         of_labels with two labels, one problem for each j
    alpha_j = argmin R(f + a h 1_j)           found by the loop from ``slope``
    the j of least R is moved                 each j is a group: the loop keeps that of least loss

    gradient descent (GD-MCBoost)
    g = argmax sum_i <g(x_i), w_i>            one tree, grown by least squares on u, whose length is that of w but for one
                                              factor; a leaf says its mean, or the code s_k nearest to it (``leaves``)
    alpha = argmin R(f + a g)                 found by the loop from ``slope``

With two classes and coordinate descent it is AdaBoost. Which directions are coordinates hangs on the order of the classes. The share of
mistaken rows is at most R. The population minimiser makes softmax of F the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot, simplex
from manyboost.maths.links import softmax
from manyboost.maths.losses import first_of_largest
from manyboost.maths.weights import Weights
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Slope, Task
from manyboost.trees.criteria import GINI_CRITERION, least_squares
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class MCBoostClassifier(BoostingClassifier):
    """Boosting along the gradient, or the best coordinate, of a loss of margins between class codes.

    Parameters
    ----------
    descent : {"gradient", "coordinate"}
        One tree a round for all coordinates, or the best of K-1 binary trees, one for each coordinate.
    leaves : {"mean", "code"}
        With descent along the gradient: a leaf says the mean of the gradient in it, or the code of one class.
    max_step : float
        Largest step, made where the loss falls for ever.

    References
    ----------
    Saberian, Vasconcelos: Multiclass boosting: theory and algorithms. NIPS (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import MCBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> MCBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    descent: str = choice("gradient", "gradient", "coordinate")
    leaves: str = choice("mean", "mean", "code")
    max_step: float = number(20.0, low=0, open_low=True)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def decoder(self, K: int) -> Floats:
        return simplex(K).T

    def start(self, task: Task) -> Weights:
        return Weights.of(task.weight[:, None] * (1 - one_hot(task.y, task.K)))

    def pose(self, task: Task, E: Weights, rng: np.random.Generator) -> Problems:
        u = (E.values.sum(axis=1, keepdims=True) * one_hot(task.y, task.K) - E.values) / 2
        if self.descent == "gradient":
            steepest = float((np.abs(u).max(axis=1) / task.weight).max())
            u /= steepest if steepest > 0 else 1.0  # gains count as shares of the weight, so that small slopes would be no gains
            return [Problem(Statistics.of_rows(np.column_stack([u, task.weight])), least_squares(task.K))]
        sides = [Statistics.of_labels(of_j > 0, np.abs(of_j), 2) for of_j in (u @ simplex(task.K)).T]
        return [[Problem(side, GINI_CRITERION, column=j)] for j, side in enumerate(sides)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        if self.descent == "coordinate":
            return Answer(np.where(leaves.label == 1, 1.0, -1.0)[:, None], 1.0, longest=self.max_step)
        s, u, weight = simplex(task.K), leaves.sums[:, :-1], leaves.sums[:, -1:]
        mean = np.divide(u, weight, out=np.zeros_like(u), where=weight > 0)
        g = mean @ s if self.leaves == "mean" else s[first_of_largest(u, np.abs(u).sum(axis=1))]  # <u @ s, s_k> is K/(K-1) u_k
        length = float(np.abs(g).max())
        if length < 1e-300:
            return Refusal("the gradient has vanished in every leaf")
        return Answer(g / length, 1.0, longest=self.max_step)

    def _raised(self, task: Task, gain: Gain) -> Floats:
        """Half of what each leaf adds to the K scores, (L, K)."""
        at = gain.problem.column
        return gain.vectors @ self.decoder(task.K)[at : at + gain.vectors.shape[1]] / 2

    def slope(self, task: Task, E: Weights, gain: Gain) -> Slope:
        raised = self._raised(task, gain)
        E_alike, leaf, y = gain.sums_of_alike(E.values, task.y, task.K)  # (G, K)
        v = raised[leaf] - raised[leaf, y][:, None]  # the exponents of E grow by a v

        def along(a: float) -> tuple[Floats, Floats]:
            with np.errstate(over="ignore", invalid="ignore"):
                first = E_alike * np.exp(a * v) * v
                return first.sum(axis=1), (first * v).sum(axis=1)

        return along

    def update(self, task: Task, E: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        raised = self._raised(task, gain)
        others = gain.scale(E.values.copy(), np.exp(raised), np.zeros_like(raised), task.codes)
        return E.updated(others * gain.at_classes(np.exp(-raised), task.y)[:, None])

    def link(self, columns: Floats) -> Floats:
        return softmax(columns @ self.decoder(columns.shape[1] + 1))
