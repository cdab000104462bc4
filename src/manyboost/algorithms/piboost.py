"""PIBoost: Fernandez-Baldera and Baumela (2014), Algorithm 2; binary trees that part sets of classes.

    paper                                     here
    S, a set of s of the K labels             row of masks; S and its complement are one separator
    f^S(x), "in S" or "not in S"              leaves.label, 1 inside and 0 outside
    w^S, weights of their own for each S      state W[j], (n,)
    A1, A2   weight in S, not in S            A1, A2
    e1, e2   weight mistaken in S, not in S   e1, e2
    beta = s (K-s) (K-1) log R                beta; log R = u, the root of maths.steps.separator_root          (Lemma 1)
    y^S = 1/s in S, -1/(K-s) elsewhere        the decoder: columns are beta f^S, summed over rounds for each S
    w <- w R^{+-(K-s)} in S, R^{+-s} else     update: a mistaken row grows, the other shrinks                  (2e)

A small set costs more when missed. The paper grows trees by the plain error; its stage loss prefers ``(K-s) e1 + s e2``
(``learner_weights="cost"``), because Lemma 1 drops two factors that differ unless s = K/2. When both errors vanish no finite root exists
and the step is cut off at an error of 1e-6; the separator goes on voting, or its scores would no longer compare with those of the others.
No step is longer: where e1 alone vanishes, the root of Lemma 1 may be twenty times as large with 26 classes, and S then has no weight left.
A negative edge gives a negative beta, which turns the tree round.

Probabilities: h^S is least at a multiple of the logit of P(S). For single classes these are normalised. For other sets the scores F decide,
``probability="scores"`` (softmax of F, calibrated), or the class probabilities most likely to give those of the sets (``"separators"``, by
expectation maximisation), which then decide as well, so that ``predict`` always agrees with ``predict_proba``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import Masks, are_single, is_choice_of_separators, separator_codes, separators_of
from manyboost.maths.links import separator_probabilities
from manyboost.maths.steps import NO_EDGE, separator_root
from manyboost.maths.weights import Weights
from manyboost.parameters import checked, choice, count_or_fraction, integer, number, way_of_sampling
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import sides, sides_and_costs
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(kw_only=True, eq=False, repr=False)
class PIBoostClassifier(BoostingClassifier):
    """Boosting with partially informative weak learners: every round grows one binary tree for each separator.

    The defaults are in the paper's way: each tree is grown on a sample drawn by weight, splits only nodes with a fair share of it, and
    merges leaves that say the same; the paper's own shares are ``subsample=0.1`` and ``min_samples_split=1 / K``. Trees that see all rows
    soon make no error on easy separators, whose votes then no longer compare with those of hard ones.

    Parameters
    ----------
    separators : "auto", "singles", "pairs", "all", or list of sets of classes
        Single classes; single classes and pairs; every set; or the given ones. A set and its complement are the same separator. "auto" is
        "pairs" for up to 12 classes, which is the more accurate, and "singles" beyond, where pairs would be hundreds of trees a round.
    learner_weights : {"published", "cost"}
        Grow by the paper's plain error, or by the error weighted as the stage loss weighs it.
    probability : {"scores", "separators"}
        What probabilities and decisions come from when separators are more than single classes. With "separators" the scores are the
        logarithms of the probabilities, so that ``calibrate`` may change a decision.

    References
    ----------
    Fernandez-Baldera, Baumela: Multi-class boosting with asymmetric binary weak-learners. Pattern Recognition 47 (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import PIBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> PIBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    separators: Any = checked("auto", "'auto', 'singles', 'pairs', 'all' or a list of sets of classes", is_choice_of_separators)
    learner_weights: str = choice("published", "published", "cost")
    probability: str = choice("scores", "scores", "separators")
    n_estimators: int = integer(60, low=1)
    min_samples_split: int | float = count_or_fraction(0.02, low=2)
    subsample: float = number(0.3, low=0, high=1, open_low=True)
    sampling: Any = way_of_sampling("weight")
    prune: str | None = choice("merge", None, "merge", "cost_complexity")

    def masks(self, K: int) -> Masks:
        """The separators, (number of them, K)."""
        return separators_of(self.separators, range(K) if isinstance(self.separators, str) else self.classes_.tolist())

    def decoder(self, K: int) -> Floats:
        return separator_codes(self.masks(K))

    def start(self, task: Task) -> Weights:
        return Weights.of(np.tile(task.weight, (len(self.masks(task.K)), 1)), each_row=True)

    def pose(self, task: Task, W: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        def parted(j: int, S: Masks) -> Statistics:
            s, side, weight = int(np.count_nonzero(S)), S.astype(np.uint16), W.values[j]
            if self.learner_weights == "cost":
                inside, weight = sides_and_costs(weight, side, np.where(S, task.K - s, float(s)), task.codes)
            else:
                inside = sides(side, task.codes)
            return Statistics.of_labels(inside, weight, 2)

        return [Problem(partial(parted, j, S), GINI_CRITERION, column=j, tag=S) for j, S in enumerate(self.masks(task.K))]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        K, s, sums = task.K, int(np.count_nonzero(problem.tag)), leaves.sums
        if self.learner_weights == "cost":
            sums = sums / (s, K - s)  # the plain weights again
        right2, e2 = np.bincount(leaves.label, sums[:, 0], minlength=2).tolist()  # not in S, by what the leaves say
        e1, right1 = np.bincount(leaves.label, sums[:, 1], minlength=2).tolist()
        A1, A2 = right1 + e1, right2 + e2
        if A1 <= 0 or A2 <= 0:
            return Refusal("a separator has all the weight on one side", of_any=True)
        u, clipped = separator_root(s, K, A1, e1, A2, e2)
        if abs(u) < NO_EDGE:  # as when plain errors choose a tree again whose step has been made
            return Refusal("no tree is better than chance")
        beta = s * (K - s) * (K - 1) * u
        return Answer(np.where(leaves.label == 1, beta, -beta)[:, None], beta, clipped)

    def update(self, task: Task, W: Weights, gains: Sequence[Gain]) -> Weights:
        margins = separator_codes(self.masks(task.K)) / (task.K - 1)  # <c_l, y^S> / K, eq. (5)
        with np.errstate(over="ignore"):  # only at leaves that mistake no row of a class, for which the step knows no bound
            for gain in gains:
                j = gain.problem.column
                gain.scale_at_classes(W.values[j], np.exp(-gain.vectors * margins[j]), task, out=W.values[j])
        return W.updated(W.values)

    def link(self, columns: Floats) -> Floats:
        return separator_probabilities(columns, self._fitted_masks(), self.probability)

    def _fitted_masks(self) -> Masks:
        """The separators of the fitted model: y^S is positive inside S. They stand even if the parameter is changed after the fit."""
        return np.asarray(self._decoder > 0)

    def scores(self, columns: Floats) -> Floats:
        if self.probability == "scores" or are_single(self._fitted_masks()):
            return super().scores(columns)
        return np.log(np.maximum(self.link(columns * self.temperature_), np.finfo(float).tiny))
