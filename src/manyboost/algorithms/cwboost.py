"""CW-Boost: Lin, Shen, Suter and van den Hengel (2012), and the MultiBoost of Shen and Hao (2011) that it grew from, exponential loss.

    paper                                     here
    F_k = sum_j w_jk h_jk(x), w >= 0          scores; h = +-1 is the sign of a leaf
    rho_il = F_y - F_l                        margin of a pair: a row i and a class l other than its own, y
    min sum_il e^-rho_il + nu sum w           the loss, a mean over rows (their nu is N times ours)
    u_il = e^-rho_il                          state U, (K, n), zero at each row's own class
    weak problem of class c                   pose: +1 for its rows, by sum_l u_il, against the others, by u_ic
    score_c(h) = sum of weight right - wrong  score; what the loss loses for a small coefficient
    stop when no score exceeds nu             step refuses
    stage-wise w = 1/2 ln(V+ / V-)            settle, by maths.corrective.in_turn
    totally corrective                        update, by maths.corrective.minimise_exponential

A learner that makes no mistake has no finite step. The authors' program gives it none, which throws away the best learners; here 1/(2N) of
the weight is added to both sides. Their stage-wise steps go through the classes by number, ours from the highest score down, so that it
does not matter how classes are numbered. Their corrective steps are two sweeps over the coefficients; here it is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.corrective import in_turn, minimise_exponential
from manyboost.maths.links import softmax
from manyboost.maths.pairs import exponential_pairs, lead_over_own, pulls
from manyboost.maths.responses import Responses, signs_of_leaves
from manyboost.maths.steps import half_log_odds
from manyboost.maths.weights import Weights
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(frozen=True)
class State:
    """Weights of pairs (K, n) and the loss; and, where coefficients are revised, all members, their coefficients, and what these lack."""

    U: Weights
    said: Responses
    w: Floats
    loss: float
    gap: float = 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class CWBoostClassifier(BoostingClassifier):
    """Boosting of the margins between classes, with weak learners of their own for every class.

    Parameters
    ----------
    coefficients : {"stagewise", "corrective"}
        Set each coefficient once, when its learner comes, or solve for those of all learners in every round. The latter needs fewer
        rounds and no ``learning_rate``; its staged predictions are by the coefficients of the whole model.
    learners : {"class", "shared"}
        A learner for each class in every round (CW-Boost); or one, the best of these, with a coefficient for every class (MultiBoost).
    nu : float
        Price of the sum of the corrective coefficients, where the weights of the rows sum to one.
    solver_steps : int
        Steps, at most, by which a round solves for the corrective coefficients. Their loss is then within a hundredth of the least, or
        there is a warning.

    References
    ----------
    Lin, Shen, Suter, van den Hengel: Fast training of effective multi-class boosting using coordinate descent optimization. ACCV (2012).
    Shen, Hao: A direct formulation for totally-corrective multi-class boosting. CVPR (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import CWBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> CWBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    coefficients: str = choice("stagewise", "stagewise", "corrective")
    learners: str = choice("class", "class", "shared")
    nu: float = number(1e-4, low=0, open_low=True)
    solver_steps: int = integer(1000, low=1)
    n_estimators: int = integer(100, low=1)
    max_depth: int | None = integer(5, low=1, none="no limit")
    splitter: str = choice("random", "best", "random")

    @property
    def revises(self) -> bool:
        return self.coefficients == "corrective"

    def start(self, task: Task) -> State:
        U = exponential_pairs(np.zeros((task.K, len(task.y))), task.y, task.weight)
        return State(Weights.of(U), Responses.none(len(task.y), task.K), np.empty(0), float(U.sum()))

    def pose(self, task: Task, state: State, rng: np.random.Generator) -> Sequence[Problem]:
        weight, shared = np.abs(pulls(state.U.values, task.y)), self.learners == "shared"
        sides = [Statistics.of_labels(task.y == c, weight[c], 2) for c in range(task.K)]
        return [Problem(side, GINI_CRITERION, column=0 if shared else c) for c, side in enumerate(sides)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        against, in_favour = leaves.sums.T
        h = signs_of_leaves(in_favour, against)
        right, wrong = float(np.maximum(in_favour, against).sum()), float(np.minimum(in_favour, against).sum())
        score, least = right - wrong, self.nu if self.revises else 1e-12 * right
        if score <= 1.01 * least:  # the coefficients are solved for to 1/1000 of nu
            return Refusal(f"no learner of a class lowers the loss: its score {score:.3g} is not above {least:.3g}")
        w = float(half_log_odds(np.array(right), np.array(wrong), (right + wrong) / (2 * task.N)))
        shared = self.learners == "shared"
        vectors = np.repeat(h[:, None] * (1.0 if self.revises else w), task.K if shared else 1, axis=1)
        return Answer(vectors, w, clipped=wrong <= 0 and not self.revises, merit=score if shared else None)

    def settle(self, task: Task, state: State, gains: Sequence[Gain]) -> Sequence[Floats]:
        if self.revises:
            return super().settle(task, state, gains)
        said = _added(Responses.none(len(task.y), task.K), gains)
        return said.vectors(in_turn(said, task.y, state.U.values, 1 / (2 * task.N)))

    def update(self, task: Task, state: State, gains: Sequence[Gain]) -> State:
        if self.revises:
            said = _added(state.said, gains)
            begin = np.append(state.w, np.zeros(said.n_coefficients - len(state.w)))
            found = minimise_exponential(said, task.y, task.weight, self.nu, begin, self.solver_steps)
            return State(Weights.of(found.U), said, found.w, found.value, found.gap)
        added = np.zeros(state.U.values.shape)
        for gain in gains:
            gain.add_to(added.T)
        U = state.U.updated(state.U.values * np.exp(lead_over_own(added, task.y)))
        return State(U, state.said, state.w, U.total())

    def revised(self, task: Task, state: State) -> Sequence[Floats]:
        return state.said.vectors(state.w)

    def loss(self, task: Task, state: State) -> float:
        return state.loss

    def shortfall(self, task: Task, state: State) -> str | None:
        found = f"the loss {state.loss:.3g} may be {state.gap:.2g} above its least after solver_steps={self.solver_steps} steps"
        return f"{found}; raise solver_steps or nu, or use coefficients='stagewise'." if state.gap > 0.01 * state.loss else None

    def link(self, columns: Floats) -> Floats:
        return softmax(2 * columns)


def _added(said: Responses, gains: Sequence[Gain]) -> Responses:
    """The members with those of a round: the sign of each leaf, its leaf of each row, and the classes it has a coefficient for."""
    first = [(gain, gain.problem.column) for gain in gains]
    return said.added((np.sign(gain.vectors[:, 0]), gain.leaf, range(c, c + gain.vectors.shape[1])) for gain, c in first)
