"""REBEL: Appel and Perona (2017), section 3; one binary answer, a coefficient for every class.

    paper                                     here
    y_n = 1 - 2 delta, in {-1, +1}^K          -1 at the true class, task.y; the opposite of AdaBoost.MH's Y
    H(x) = sum_t a_t f_t(x), f_t = -1 or +1   the K scores
    w_n = exp[y_n * H(x_n)] / 2               state W, (n, K), its total is the loss L              (2)
    s_T, s_F                                  right, wrong, (K,)                                    (3)
    a = 1/2 (ln s_T - ln s_F)                 a, (K,): exact for a given f                          (4)
    L = 2 <sqrt(s_T * s_F), 1>                the criterion ``shared_sign``; s_T - s_F = -sum f w y, the paper lacks the minus

The paper's learners are stumps and localized similarities. A tree here has leaves that all say +1 or -1 and share one a; it is grown by
the loss itself, the leaf that is split giving its children the signs that lower the loss most. Then f is set for a and a for f in turn,
while the loss falls.
With ``leaves="vector"`` each leaf has its own a: confidence-rated AdaBoost.MH, whose loss is 2/K of this one. After a tree without error
the weights would ask for the same again, so that another is grown in its place.

With ``costs="train"`` the weights start at half of c*, the costs of the row's class with their largest at the class itself: the loss then
bounds the mean cost (Appel, Burgos-Artizzu and Perona, 2016, as reconstructed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.links import normalised_sigmoid
from manyboost.maths.number_steps import bound_steps, exact_steps
from manyboost.maths.rewards import hamming_rewards
from manyboost.maths.shared_signs import coefficients, coefficients_and_signs
from manyboost.maths.steps import KAPPA, NO_EDGE, half_log_odds
from manyboost.maths.weights import Weights, every_label
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import own_entries
from manyboost.trees.criteria import exponential, shared_sign
from manyboost.trees.statistics import Statistics

ROUNDS_OF_TREES = 200
ROUNDS_OF_NUMBERS = 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class RebelClassifier(BoostingClassifier):
    """Boosting of binary trees that all classes share, each class with its own coefficient.

    Parameters
    ----------
    leaves : {"vector", "shared"}
        A vector of coefficients for each leaf, or leaves that say +1 or -1 with one vector for the tree.
    line_search : {"exact", "bound"}
        For learners that answer with a number between -1 and 1, as similarities do: the coefficients of the least loss, or those of the
        paper's bound of it, which are far too short where the answer is mostly near 0. Trees have exact ones either way.
    n_estimators : int or None
        Rounds of boosting; None is 200 with trees, and with similarities as many as it takes to part the classes, up to 10,000.
    learning_rate : float or None
        Factor of every step; None is 0.2 with trees and 1 with similarities.
    stop_when_separated : bool or None
        End when the loss is below 1/N, at which no training row is mistaken (the paper's rule), or go on: with trees margins, and mostly
        test errors, improve beyond that. None is True with similarities and False with trees.

    References
    ----------
    Appel, Perona: A simple multi-class boosting framework with theoretical guarantees and empirical proficiency. ICML (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import RebelClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> RebelClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    costs: str = choice("decide", "decide", "train")
    leaves: str = choice("vector", "vector", "shared")
    line_search: str = choice("exact", "exact", "bound")
    n_estimators: int | None = integer(None, low=1, none=f"{ROUNDS_OF_TREES}, or with similarities up to {ROUNDS_OF_NUMBERS}")  # type: ignore[assignment]
    learning_rate: float | None = number(None, low=0, high=1, open_low=True, none="0.2, or with similarities 1")  # type: ignore[assignment]
    max_depth: int | None = integer(5, low=1, none="no limit")
    stop_when_separated: bool | None = choice(None, None, True, False)

    @property
    def _of_numbers(self) -> bool:
        """Does the learner answer with a number for each row? Then the paper's setting is the default."""
        return bool(getattr(self.estimator, "says_numbers", False))

    @property
    def rounds_wanted(self) -> int:
        return self.n_estimators or (ROUNDS_OF_NUMBERS if self._of_numbers else ROUNDS_OF_TREES)

    @property
    def shrinkage(self) -> float:
        return self.learning_rate or (1.0 if self._of_numbers else 0.2)

    def start(self, task: Task) -> Weights:
        return Weights.of(every_label(task.weight / 2, task.codes, task.K, task.cost))

    def pose(self, task: Task, W: Weights, rng: np.random.Generator) -> Sequence[Problem]:
        def for_and_against() -> Statistics:
            return Statistics.of_both(W.values, task.codes, own_entries(W.values, task.codes), task.K, own=True)

        def rewards() -> Floats:
            return hamming_rewards(W.values, task.y)

        if self.leaves == "vector":
            return [Problem(for_and_against, exponential(task.K), rewards=rewards, numbers=True)]

        def signed() -> Statistics:
            out = np.column_stack([-W.values, W.values.sum(axis=1)])  # -w y at the other classes ...
            out[np.arange(len(out)), task.codes] *= -1  # ... and at the true one
            return Statistics.of_rows(out)

        return [Problem(signed, shared_sign(W.values.sum(axis=0)), for_and_against, rewards=rewards)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        if leaves.numbers is not None:
            return self._step_of_numbers(task, leaves.sums, leaves.numbers, leaves.near)
        total, plus = np.hsplit(leaves.sums, 2)  # (L, K) weight, and weight for the class
        minus = total - plus
        if self.leaves == "vector":
            vectors = coefficients(plus, minus)
        else:
            a, f = coefficients_and_signs(plus, minus)
            vectors = f[:, None] * a
        size = float(np.abs(vectors).max())
        if size < NO_EDGE:
            return Refusal("no split lowers the loss")
        capped = float(half_log_odds(np.array(1 - KAPPA), np.array(KAPPA)))
        perfect = self.leaves == "vector" and not np.minimum(plus, minus).any()  # the same tree would be grown for ever
        return Answer(vectors, size, clipped=size >= capped * (1 - 1e-9), perfect=perfect)

    def _step_of_numbers(self, task: Task, W: Floats, f: Floats, near: Floats | None) -> Answer | Refusal:
        """For a learner that answers with f in [-1, 1] the loss separates over the classes, each of which has its own least value."""
        a, clipped = exact_steps(f, W, task.y, near=near) if self.line_search == "exact" else bound_steps(f, W, task.y)
        size = float(np.abs(a).max())
        return Answer(a[None], size, clipped) if size >= NO_EDGE else Refusal("no similarity lowers the loss")

    def update(self, task: Task, W: Weights, gains: Sequence[Gain]) -> Weights:
        (gain,) = gains
        return W.updated(gain.scale_exponentially(W.values, task.codes))

    def enough(self, task: Task, loss: float) -> str | None:
        stops = self._of_numbers if self.stop_when_separated is None else self.stop_when_separated
        least = 1.0 if task.cost is None else float(task.cost[task.cost > 0].min())
        return f"the loss {loss:.3g} is below {least:.3g}/N, so no row is mistaken" if stops and loss < least / task.N else None

    def link(self, columns: Floats) -> Floats:
        return normalised_sigmoid(2 * columns)
