"""AdaBoost.ECC: Guruswami and Sahai (1999), Sun et al. (2005); and AdaBoost.ERP, Li (2006), which colours the classes after learning.

    paper                                     here
    mu_t(l), a colour for each label          mu, (K,), +1 or -1; Li's partial colourings have 0 for classes that are left out
    D(i, l), l a wrong label of row i         state D, (n, K), zero at the true label
    U = sum D(i, l) [mu(l) != mu(y_i)]        U
    w_i = sum_l D(i, l) [mu(l) != mu(y_i)]/U  w, without the division
    h(x), eps = sum w [h != mu(y)]            h, (L,), by leaves.label; error
    alpha = 1/2 ln((1-eps)/eps)               votes="symmetric": exact along h mu
    g = alpha+ if h > 0, else -alpha-         votes="asymmetric": half the log-odds of being right on either side, smoothed by 1/(2N)
    D <- D exp(-1/2 g (mu_y - mu_l))          update
    F_l = sum_t g_t mu_t(l)                   the K scores
    mu_c = sign(sum_{y=c} D(i) h - sum D(i,c) h)  repartition=True: the best mu for h; U and eps are then taken anew

The loss falls by Z = 1 - U + 2 U sqrt(eps (1-eps)), and (K-1) times it bounds the error. After a new colouring the sides are known together
only, so that asymmetric votes need repartition=False, and partial colourings need repartition=True, as Li has it. A tree without error is
kept with the step of an error of 1e-6, and ends the fit for two classes only: more have other colourings. One that is no better than chance
is refused, and another colouring drawn. With ``costs="train"`` D(i, l) starts in proportion to the cost of l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.colourings import COLOURINGS, PAIRS, colouring, pair_weights, repartition
from manyboost.maths.links import softmax
from manyboost.maths.steps import KAPPA, NO_EDGE, clipped_error, half_log_odds
from manyboost.maths.weights import Weights, wrong_labels
from manyboost.parameters import choice, flag, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostECCClassifier(BoostingClassifier):
    """AdaBoost with error-correcting codes: a binary tree for a new colouring of the classes each round, and an exact step.

    Parameters
    ----------
    colouring : {"random_half", "random", "max_cut", "max_cut_greedy", "max_pair", "random_pair"}
        How the classes are parted in two: half of them drawn, or each drawn by itself; or with the most weight between the sides, by trying
        all (up to 16 classes) or nearly so. The last two tell one pair of classes apart, the one of most weight or any, and need
        repartition=True.
    votes : {"symmetric", "asymmetric"}
        One coefficient for both answers of a tree, or one for each.
    repartition : bool
        Colour the classes anew for the tree that was grown (AdaBoost.ERP).

    References
    ----------
    Guruswami, Sahai: Multiclass learning, boosting, and error-correcting codes. COLT (1999).
    Sun, Todorovic, Li, Wu: Unifying the error-correcting and output-code AdaBoost within the margin framework. ICML (2005).
    Li: Multiclass boosting with repartitioning. ICML (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostECCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostECCClassifier(n_estimators=30, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    colouring: str = choice("random_half", *COLOURINGS, *PAIRS)
    votes: str = choice("symmetric", "symmetric", "asymmetric")
    repartition: bool = flag(False)
    n_estimators: int = integer(300, low=1)
    max_depth: int | None = integer(8, low=1, none="no limit")

    def start(self, task: Task) -> Weights:
        if self.repartition and self.votes == "asymmetric":
            raise ValueError("votes='asymmetric' needs repartition=False: the sides of a new colouring are not known apart.")
        if not self.repartition and self.colouring in PAIRS:
            raise ValueError(f"colouring={self.colouring!r} colours two classes only; use repartition=True, or colouring='random_half'.")
        return Weights.of(wrong_labels(task.weight / (task.K - 1), task.y, task.K, task.cost))

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        mu = colouring(self.colouring, D.values, task.y, task.K, rng)
        own = np.take(mu, task.y)
        w = (D.values * (mu * own[:, None] < 0)).sum(axis=1)
        grown = Statistics.of_labels((own > 0).astype(np.uint16), w, 2)
        if not self.repartition:
            return [Problem(grown, GINI_CRITERION, tag=mu)]
        by_class = Statistics.of_both(D.values, task.codes, D.values.sum(axis=1), task.K)
        return [Problem(grown, GINI_CRITERION, by_class, tag=pair_weights(D.values, task.y, task.K))]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        h = np.where(leaves.label == 1, 1.0, -1.0)
        if self.repartition:
            against, own = np.hsplit(leaves.sums, 2)  # (L, K)
            preference = h @ (own - against)
            mu, pairs = repartition(preference), problem.tag
            U = float(pairs[mu[:, None] != mu].sum())
            edge = float(preference @ mu) / 2  # right minus wrong
        else:
            mu = problem.tag
            U, edge = float(leaves.sums.sum()), float((h * (leaves.sums[:, 1] - leaves.sums[:, 0])).sum())
        if U <= 0 or abs(edge) <= NO_EDGE * U:
            return Refusal("the tree tells the two colours apart no better than chance")
        stop = "a tree made no error" if edge > (1 - 2 * KAPPA) * U and task.K == 2 else None  # else other colourings are left
        if self.votes == "asymmetric":
            sides = np.array([leaves.sums[h > 0].sum(axis=0), leaves.sums[h < 0].sum(axis=0)])  # (answer + or -, colour - or +)
            plus, minus = half_log_odds(sides[:, 1], sides[:, 0], U / (2 * task.N))
            return Answer(np.where(h > 0, plus, minus)[:, None] * mu, float(max(abs(plus), abs(minus))), stop=stop)
        error, perfect = clipped_error((1 - edge / U) / 2)
        alpha = float(np.log((1 - error) / error)) / 2
        return Answer(alpha * h[:, None] * mu, alpha, clipped=perfect, stop=stop)

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return D.updated(gain.scale_pairs(D.values, gain.vectors / 2, task.y))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
