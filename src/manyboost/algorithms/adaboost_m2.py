"""AdaBoost.M2: Freund and Schapire (1996, 1997), and AdaBoost.M2T: Bylander's transformed examples; weights for every wrong label.

    paper                                     here
    D(i, l), l a wrong label of row i         state D, (n, K), zero at the true label
    D(i) = sum_l D(i, l), q = D(i, l) / D(i)  of_row
    r(i, y_i) = 2/K, r(i, l) = (1 - q)/K      rewards = D(i) r(i, l): what saying label l earns                (Bylander, 7)
    r' = r - min_l r                          grow_by="r_prime", the least rewards with the same differences
    h(x, .), on the simplex                   h, (L, K): one label, or shares of the leaf's rewards
    eps = 1/2 sum D (1 - h(x,y_i) + h(x,l))   error, by theorem 3 from the sums of rewards in each leaf
    beta = eps / (1 - eps)                    exp(-alpha)
    D <- D beta^((1 + h(x,y_i) - h(x,l))/2)   update, without the factor beta^(1/2), which is the same for all
    argmax_l sum_t log(1/beta_t) h_t(x, l)    the largest of the K scores

Bylander learns from K copies of each row, one for each label with its reward as weight; our trees take the K rewards of a row at once.
Where the paper draws copies of rows, ``sampling="weight"`` draws rows by the total of their rewards, each with its rewards as shares: a
draw of copies whose labels are averaged over. He retries ten times and halts when no tree is better than chance, or one errs less than
1e-6. Eq. (1) and the figure lack a bracket and a subscript; Lemma 2 fixes both. (K-1) times the loss bounds the error, and with
``costs="train"``, for which D(i, l) starts in proportion to the cost of l, the mean cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.links import softmax
from manyboost.maths.steps import NO_EDGE, clipped_error
from manyboost.maths.weights import Weights, shares, wrong_labels
from manyboost.parameters import choice, integer
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import pair_rewards, pairs_along
from manyboost.trees.criteria import GINI_CRITERION, newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostM2Classifier(BoostingClassifier):
    """AdaBoost by the pseudo-loss: weight on each wrong label of each row, so that a tree learns which labels to tell apart.

    Parameters
    ----------
    response : {"label", "probability"}
        A leaf says one label, or how much of its weight goes to each.
    grow_by : {"r_prime", "r", "classes", "direction"}
        Rewards for every label of every row, Bylander's r' or r (AdaBoost.M2T); the rows' classes alone by their total weights D(i), as an
        ordinary classifier would be; or one random direction of labels a round, as AdaBoost.MR is: such a tree costs the same for any
        number of labels, and three times as many are better than trees by rewards where there are many labels.

    References
    ----------
    Freund, Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. JCSS 55 (1997).
    Bylander: Transforming examples for multiclass boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostM2Classifier
    >>> X, y = load_wine(return_X_y=True)
    >>> AdaBoostM2Classifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    response: str = choice("label", "label", "probability")
    grow_by: str = choice("r_prime", "r_prime", "r", "classes", "direction")
    n_estimators: int = integer(200, low=1)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        return Weights.of(wrong_labels(task.weight / (task.K - 1), task.y, task.K, task.cost))

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        soft = self.response == "probability"
        if self.grow_by == "direction":
            along, of_row = pairs_along(D.values, rng.standard_normal(task.K), task.y)
            total, by_class = float(of_row.sum()), Statistics.of_both(D.values, task.codes, of_row, task.K)
            criterion = newton(1, 2 * total / task.N)
            return [Problem(Statistics.of_rows(along), criterion, by_class, 0, total, lambda: pair_rewards(D.values, task.y)[0], soft)]
        rewards, of_row = pair_rewards(D.values, task.y)
        rewards /= task.K  # (n, K), r'
        if self.grow_by == "r":
            rewards += (of_row - D.values.max(axis=1))[:, None] / task.K  # eq. (7)
        total = float(of_row.sum())
        if self.grow_by == "classes":
            classes = Statistics.of_labels(task.codes, of_row, task.K)
            return [Problem(classes, GINI_CRITERION, Statistics.of_both(rewards, task.codes, of_row, task.K), tag=total, shares=soft)]
        return [Problem(Statistics.of_rows(rewards), GINI_CRITERION, tag=total, shares=soft)]

    def responses(self, leaves: Leaves, rewards: Floats) -> Floats:
        """h, what each leaf says: (L, K), on the simplex."""
        if self.response == "label":
            return one_hot(rewards.argmax(axis=1) if self.grow_by == "direction" else leaves.label, rewards.shape[1])
        weight = leaves.sums[:, -rewards.shape[1] :] if self.grow_by == "classes" else rewards
        return shares(weight) if leaves.shares is None else leaves.shares

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        K, rewards = task.K, leaves.sums[:, : task.K]
        if self.grow_by == "direction":
            D, of_class = np.hsplit(leaves.sums, 2)
            rewards = (of_class.sum(axis=1, keepdims=True) + of_class - D) / K
        h = self.responses(leaves, rewards)
        edge = float(K * (h * (rewards - rewards.mean(axis=1, keepdims=True))).sum() / problem.tag)  # 1 - 2 eps, theorem 3
        if edge <= NO_EDGE:
            return Refusal(f"the pseudo-loss {(1 - edge) / 2:.4f} of the tree is not below 1/2")
        error, perfect = clipped_error((1 - edge) / 2)
        alpha = float(np.log((1 - error) / error))
        return Answer(alpha * h, alpha, clipped=perfect, stop="a tree made no error" if perfect else None)

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return D.updated(gain.scale_pairs(D.values, gain.vectors / 2, task.y))

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
