"""StructBoost: Shen, Lin and van den Hengel (2014), the multi-class case; a hinge loss of any costs, solved for all members in each round.

    paper                                     here
    w >= 0, F_k = sum_j w_jk h_jk(x)          scores; h = +-1 is the sign of a leaf
    Delta(y, l)                               task.cost, or 0/1; divided by the mean over rows of its highest, so that the loss starts at 1
    min 1'w + C/N sum_i xi_i                  the loss, divided by C
    F_y - F_l >= Delta(y, l) - xi_i           hinge of the worst pair of each row
    mu_il, dual variables                     state.found.U, (K, n)
    weak problem of class c                   pose: +1 for its rows, by sum_l mu_il, against the others, by mu_ic
    stop when no score exceeds 1              step refuses at (1 + slack) / C, because of the division
    cutting planes in one slack, epsilon_cp   maths.cutting_planes, ``tolerance``

With costs of 0 and 1 it is the MultiBoost of Shen and Hao (2011) with hinge loss and nu = N/C. The linear programme is the paper's. Cutting
planes solve a programme a hundred times and more in a round once there are some dozens of columns; the default minimises soft maxima of the
hinge instead, whose slopes are feasible dual variables, and stops at the same certified gap (``minimise_hinge``). The paper adds a column
at a time, here each class adds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.corrective import Solution, minimise_hinge
from manyboost.maths.cutting_planes import Cuts, minimise_hinge_by_cuts
from manyboost.maths.links import softmax
from manyboost.maths.pairs import pulls, shared_out, worst_pairs
from manyboost.maths.responses import Responses, signs_of_leaves
from manyboost.parameters import choice, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics


@dataclass(frozen=True)
class State:
    """The costs of each row's classes (K, n), all members, the solution for their coefficients, and its cuts."""

    cost: Floats
    said: Responses
    found: Solution
    cuts: Cuts


@dataclass(kw_only=True, eq=False, repr=False)
class StructBoostClassifier(BoostingClassifier):
    """Boosting of the hinge loss between classes, by column generation: every round is optimal for the learners it has.

    Staged predictions are by the coefficients of the whole model. Probabilities are a softmax of scores that were not made for it, so that
    they need ``calibrate``; with costs they lean as the decisions do.

    Parameters
    ----------
    C : float
        Weight of the loss against the sum of the coefficients.
    tolerance : float
        How far from the optimum the coefficients may be, as a share of the loss without learners.
    solver : {"smoothed", "cutting_planes"}
        Soft maxima of the hinge, or the paper's linear programmes, which take much longer.
    solver_steps : int
        Steps for each of a round's soft maxima, or linear programmes of a round, at most. Where ``tolerance`` is not reached there is a
        warning.

    References
    ----------
    Shen, Lin, van den Hengel: StructBoost: boosting methods for predicting structured output variables. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 36 (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import StructBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> StructBoostClassifier(n_estimators=10, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    trains_with_costs = True

    C: float = number(100.0, low=0, open_low=True)
    tolerance: float = number(0.01, low=1e-6, high=0.5)
    solver: str = choice("smoothed", "smoothed", "cutting_planes")
    solver_steps: int = integer(1000, low=1)
    n_estimators: int = integer(60, low=1)
    max_depth: int | None = integer(5, low=1, none="no limit")
    subsample: float = number(0.5, low=0, high=1, open_low=True)

    @property
    def revises(self) -> bool:
        return True

    def start(self, task: Task) -> State:
        costs = 1 - np.eye(task.K) if task.cost is None else task.cost
        # written out: of one number seen n times the product would be added up in another order
        dearest = float(np.ascontiguousarray(task.weight) @ costs.max(axis=1)[task.y])
        cost = np.ascontiguousarray((costs / dearest)[task.y].T)
        U = shared_out(worst_pairs(np.zeros(cost.shape), task.y, cost)[1], task.weight)
        return State(cost, Responses.none(len(task.y), task.K), Solution(np.empty(0), U, 1.0, 0.0), Cuts.none())

    def pose(self, task: Task, state: State, rng: np.random.Generator) -> Sequence[Problem]:
        weight = np.abs(pulls(state.found.U, task.y))
        return [
            Problem(Statistics.of_labels(task.y == c, weight[c], 2), GINI_CRITERION, column=c)
            for c in range(task.K) if weight[c].any()
        ]  # fmt: skip

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        against, in_favour = leaves.sums.T
        score = self.C * float(np.abs(in_favour - against).sum())
        if score <= 1.01:  # the coefficients are solved for to 1/100
            return Refusal(f"no learner of a class lowers the loss: its score {score:.3g} is not above 1")
        return Answer(signs_of_leaves(in_favour, against)[:, None], score)

    def update(self, task: Task, state: State, gains: Sequence[Gain]) -> State:
        said = state.said.added((gain.vectors[:, 0], gain.leaf, [gain.problem.column]) for gain in gains)
        w = np.append(state.found.w, np.zeros(len(gains)))
        asked = said, task.y, task.weight, state.cost, 1 / self.C, w, self.tolerance, self.solver_steps
        if self.solver == "smoothed":
            return State(state.cost, said, minimise_hinge(*asked), state.cuts)
        return State(state.cost, said, *minimise_hinge_by_cuts(*asked, state.cuts))

    def revised(self, task: Task, state: State) -> Sequence[Floats]:
        return state.said.vectors(state.found.w)

    def loss(self, task: Task, state: State) -> float:
        return state.found.value

    def shortfall(self, task: Task, state: State) -> str | None:
        found = f"the loss may be {state.found.gap:.2g} above its least, more than tolerance={self.tolerance}, after"
        remedy = f"solver_steps={self.solver_steps} steps of solver={self.solver!r}; raise solver_steps or tolerance, or lower C."
        return f"{found} {remedy}" if state.found.gap > self.tolerance else None

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
