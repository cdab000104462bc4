"""AdaBoost.MH: Schapire and Singer (1999), and Bylander's AdaBoost.MHT; one tree for all K classes, each weighted for and against.

    paper                                     here
    Y_ik = +1 at the true class, else -1      task.y
    D_t(i, k)                                 state D, (n, K)
    W+, W-   weight for and against class k   W_plus, W_minus, (L, K), of each leaf
    c_jk = 1/2 ln((W+ + eps)/(W- + eps))      c, (L, K): confidence-rated leaves               (their section 4.2)
    h_k = +-1, alpha = 1/2 ln((1-e)/e)        alpha * h: leaves that vote, one alpha for all   (their section 3)
    h on the simplex, E = 1 - h or h          alpha * (2h - 1), e = sum D E: leaves that say a label or probabilities   (Bylander, 4)
    D <- D exp(-Y c)                          update
    Z = 2 sum_jk sqrt(W+ W-)                  the criterion ``exponential``

Growing by a direction replaces the 2K sums of Z by two: with v drawn once a round from N(0, I_K), g = sum_k v_k Y_k D_k and
h = sum_k v_k^2 D_k, and the gain is that of a Newton step for the sum of the classes along v. A tree then costs the same for any K; the
leaves are still summed over all classes. The weights start uniform, 1/(NK), or balanced, 1/(2N) at the true class and 1/(2N(K-1))
elsewhere; with ``costs="train"``, times the cost of the class, at the true one that of the dearest mistake. Leaves on the simplex are grown
by rewards, F(i) + D(i, y) for the true label and F(i) - D(i, l) for another, F(i) the largest D(i, l): Bylander's (15), its misprint
mended. His figure 2 has D <- D beta^-E, half of the step that his bound (14) needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.links import normalised_sigmoid
from manyboost.maths.rewards import hamming_rewards
from manyboost.maths.steps import NO_EDGE, clipped_error, confidences, half_log_odds, votes
from manyboost.maths.weights import Weights, every_label, shares
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import along_direction, own_entries
from manyboost.trees.criteria import GINI_CRITERION, exponential, newton
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoostMHClassifier(BoostingClassifier):
    """AdaBoost on all pairs of row and class at once, by trees whose leaves hold a score for every class.

    The defaults (random thresholds, a random direction of classes, 64 leaves, shrinkage 0.2) are those that did best in our comparisons.

    Parameters
    ----------
    leaves : {"confidence", "vote", "label", "probability"}
        Each leaf and class has its own confidence, or votes +1 or -1 with one coefficient for the tree. "label" and "probability" are on
        the simplex: the leaf says one class, or the share of each. With weights="balanced" that is AdaBoost.MHT.
    weights : {"uniform", "balanced"}
        Where the weights of row and class start.
    grow_by : {"direction", "classes"}
        Choose splits along one random direction of classes a round, or by Z over all classes. Leaves on the simplex have rewards instead.
    weight_update : {"corrected", "literal"}
        The update that the theory needs, or Bylander's printed one, whose weights take half the step.
    smoothing : float
        eps of the leaves, in units of the mean weight of a row and class. 0.5 is Schapire and Singer's 1/(2NK).
    max_confidence : float
        Largest confidence of a leaf.
    l2 : float
        Added to h, in units of the total weight of a row, when growing by a direction.

    References
    ----------
    Schapire, Singer: Improved boosting algorithms using confidence-rated predictions. Machine Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import AdaBoostMHClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.score(X, y), model.predict_proba(X).shape
    (1.0, (178, 3))
    """

    costs: str = choice("decide", "decide", "train")
    leaves: str = choice("confidence", "confidence", "vote", "label", "probability")
    weights: str = choice("uniform", "uniform", "balanced")
    grow_by: str = choice("direction", "direction", "classes")
    weight_update: str = choice("corrected", "corrected", "literal")
    smoothing: float = number(0.1, low=0)
    max_confidence: float = number(4.0, low=0, open_low=True)
    l2: float = number(1.0, low=0)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.2, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(64, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def start(self, task: Task) -> Weights:
        K, D = task.K, every_label(task.weight, task.codes, task.K, task.cost)
        D *= 1 / K if self.weights == "uniform" else np.where(one_hot(task.codes, K) > 0, 1 / 2, 1 / (2 * (K - 1)))
        return Weights.of(D)

    def pose(self, task: Task, D: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        def for_and_against() -> Statistics:
            return Statistics.of_both(D.values, task.codes, own_entries(D.values, task.codes), task.K, own=True)

        def rewards() -> Floats:
            return hamming_rewards(D.values, task.y)

        if self.leaves in ("label", "probability"):
            soft = self.leaves == "probability"
            return [Problem(lambda: Statistics.of_rows(rewards()), GINI_CRITERION, for_and_against, shares=soft)]
        if self.grow_by == "classes":
            return [Problem(for_and_against, exponential(task.K), rewards=rewards)]
        v = rng.standard_normal(task.K)
        unit = D.sum / task.N

        def along() -> Statistics:
            return Statistics.of_rows(along_direction(D.values, v, task.codes))

        return [Problem(along, newton(1, self.l2 * unit), for_and_against, rewards=rewards)]

    def responses(self, leaves: Leaves, W_plus: Floats, W_minus: Floats) -> Floats:
        """What leaves that do not rate their confidence say: (L, K), +1 and -1, or 2h - 1 for an h on the simplex."""
        if self.leaves == "vote":
            return votes(W_plus, W_minus)
        if self.leaves == "label":
            return 2 * one_hot(leaves.label, W_plus.shape[1]) - 1
        return 2 * (shares(W_plus) if leaves.shares is None else leaves.shares) - 1

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        total, W_plus = leaves.sums[:, : task.K], leaves.sums[:, task.K :]  # (L, K)
        W_minus = total - W_plus
        if self.leaves != "confidence":
            h = self.responses(leaves, W_plus, W_minus)
            error, perfect = clipped_error(float((1 - (h * (W_plus - W_minus)).sum() / total.sum()) / 2))
            alpha = float(half_log_odds(np.array(1 - error), np.array(error)))
            if alpha <= NO_EDGE:
                return Refusal(f"the Hamming error {error:.4f} of the tree is not below 1/2")
            stop, of_label = "a tree made no error" if perfect else None, alpha * (2 * np.eye(task.K) - 1)
            return Answer(alpha * h, alpha, perfect, stop, of_label)
        c, size, clipped = confidences(W_plus, W_minus, self.smoothing * total.sum() / (task.N * task.K), self.max_confidence)
        return Answer(c, size, clipped) if size > NO_EDGE else Refusal("no leaf prefers any class")

    def update(self, task: Task, D: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        c = gain.vectors if self.weight_update == "corrected" else gain.vectors / 2
        return D.updated(gain.scale(D.values, np.exp(c), np.exp(-c), task.codes))

    def link(self, columns: Floats) -> Floats:
        prior = 0.0 if self.weights == "uniform" else np.log(columns.shape[1] - 1)
        return normalised_sigmoid(2 * columns - prior)
