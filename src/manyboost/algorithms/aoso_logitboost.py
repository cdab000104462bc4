"""AOSO-LogitBoost: Sun, Reid and Zhou (2012); adaptive one-versus-one, each leaf moves a pair of classes.

    paper                                     here
    p = softmax(F)                            state.p, (n, K)
    g_k = sum (y*_k - p_k)                    g, (L, K), of each leaf
    h_r + h_s + 2 h_rs                        h, (L, K): for the leaf's r and every s, sum p_r + p_s - (p_r - p_s)^2
    r = argmax_k g_k                          r, (L,)
    s = argmax_k (g_r - g_k)^2 / h_rk         s, (L,): the best partner of r
    v = (g_r - g_s) / h_rs, at most 5         v; F_r += v, F_s -= v
    split: gain of the parent's pair          the criterion ``pair_of_classes``; each child then chooses a pair of its own

The trees are grown exactly so: a node needs two sums whatever the number of classes, and O(rows times K) to choose its pair. The leaves
choose their pair again, from sums over all rows: first g, then, r being known, h. Classes that are equal, as are those that a pure leaf of
the first round may lower, count in the order of their weight in the training rows, so that the order of the labels has no say. The
authors' code bounds F by 100; softmax needs no bound here. Scores sum to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.estimator import BoostingClassifier
from manyboost.maths.links import softmax
from manyboost.maths.losses import TIE, Scores, first_of_largest, newton_values, sums_of_curvatures
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import pair_of_classes
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AOSOLogitBoostClassifier(BoostingClassifier):
    """LogitBoost by one tree a round, each leaf of which raises the score of one class and lowers that of another.

    Parameters
    ----------
    max_step : float
        Largest value of a leaf.
    l2 : float
        Added to the curvature of a leaf, in units of a row.

    References
    ----------
    Sun, Reid, Zhou: AOSO-LogitBoost: adaptive one-vs-one LogitBoost for multi-class problem. ICML (2012).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AOSOLogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AOSOLogitBoostClassifier(n_estimators=40, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    max_step: float = number(5.0, low=0, open_low=True)
    l2: float = number(0.0, low=0)
    n_estimators: int = integer(500, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Scores:
        return Scores.zero(len(task.y), task.K)

    def pose(self, task: Task, state: Scores, rng: np.random.Generator) -> Sequence[Problem]:
        w = task.weight
        order = np.argsort(-np.rint(np.bincount(task.y, w, task.K) / TIE), kind="stable")
        shares = state.shares(w, order)

        def curvatures(sums: Floats, leaf: NDArray[np.int32]) -> Floats:
            return sums_of_curvatures(shares, w, leaf, first_of_largest(*_gradients(sums)))

        statistics = Statistics.of_both(shares, np.argsort(order)[task.y], w, task.K)
        return [Problem(statistics, pair_of_classes(self.l2 / task.N), statistics, tag=order, then=curvatures)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        (g, weight), h = _gradients(leaves.sums[:, : 2 * task.K]), leaves.sums[:, 2 * task.K :] + self.l2 / task.N
        each, r = np.arange(len(g)), first_of_largest(g, weight)
        ahead = g[each, r][:, None] - g  # g_r - g_k
        decrease = np.where(np.arange(task.K) == r[:, None], -np.inf, ahead**2 / np.where(h > 0, h, 1.0))
        s = first_of_largest(decrease, weight)
        v, clipped = newton_values(ahead[each, s], h[each, s], self.max_step)
        if v.max() <= 1e-12:
            return Refusal("the gradient has vanished in every leaf")
        vectors = np.zeros_like(g)
        vectors[each, problem.tag[r]], vectors[each, problem.tag[s]] = v, -v
        return Answer(vectors, float(v.max()), clipped)

    def update(self, task: Task, state: Scores, gains: Sequence[Gain]) -> Scores:
        F = state.F.copy(order="K")
        for gain in gains:
            gain.add_to(F)
        return Scores.of(F)

    def columns(self, state: Scores) -> Floats:
        return state.F

    def loss(self, task: Task, state: Scores) -> float:
        return state.cross_entropy(task.y, task.weight)

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)


def _gradients(sums: Floats) -> tuple[Floats, Floats]:
    """g and the weight of each leaf from the sums of w p and of the classes' weights."""
    shares, own = np.hsplit(sums, 2)
    return own - shares, own.sum(axis=1)
