"""ABC-LogitBoost: Li (2010); adaptive base class, K-1 trees a round against one class that balances them.

    paper                                     here
    p = softmax(F), sum_k F_k = 0             state.scores, (n, K)
    b, the base class                         tag of a problem; the groups that are posed are the candidates
    r_k = (y*_k - p_k) - (y*_b - p_b)         first column of ``along_pair``, of the tree for k != b
    h = p_k(1-p_k) + p_b(1-p_b) + 2 p_k p_b   its second: p_k + p_b - (p_k - p_b)^2
    leaf sum r / sum h, splits (sum r)^2/sum h   the criterion ``newton``
    F_k += nu leaf, F_b = -sum_{k != b} F_k   a leaf adds to F_k and takes from F_b
    keep the b of least training loss         the loop keeps the group of least loss

``search`` is the number of candidates: the classes of greatest loss first; 1 is the paper's "worst class" rule, None tries all K (the
exhaustive search of the paper). With a ``gap`` of g the base class is chosen in every (g+1)-th round and kept in between. In the first
``warm_up`` rounds there are K trees of plain LogitBoost.

Each of the K-1 trees makes Newton's step for its own pair, and all of them take from F_b: together they go too far. At equal scores it is
by the factor K/2 along the direction of F_b, so that boosting swings ever wider once nu K/2 exceeds 2. ``damp`` keeps it at 1.5 at most by
a smaller step, which changes nothing for nu = 0.1 up to 30 classes; ``damp=False`` is the published form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import centring
from manyboost.maths.links import softmax
from manyboost.maths.losses import TIE, Scores, newton_values
from manyboost.parameters import choice, flag, integer, number
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Task
from manyboost.trees.criteria import newton
from manyboost.trees.statistics import Statistics


@dataclass(frozen=True)
class Based:
    """Scores, the loss of the rows of each class, the round that is next, and the base class of the last."""

    scores: Scores
    losses: Floats
    round: int
    base: int


@dataclass(kw_only=True, eq=False, repr=False)
class ABCLogitBoostClassifier(BoostingClassifier):
    """LogitBoost by one tree for each class but one, the base class, which is chosen anew as boosting goes on.

    Parameters
    ----------
    search : int or None
        How many base classes are tried, those of greatest loss first; each costs K-1 trees. None tries all.
    gap : int
        Rounds for which a base class is kept after it was chosen.
    warm_up : int
        Rounds of plain LogitBoost before.
    damp : bool
        Make steps smaller where ``learning_rate`` times the number of classes exceeds 3; False is the published form, which then diverges.
    max_step : float
        Largest value of a leaf.
    l2 : float
        Added to the curvature of a leaf, in units of a row.

    References
    ----------
    Li: Robust LogitBoost and adaptive base class (ABC) LogitBoost. UAI (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import ABCLogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> ABCLogitBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    search: int | None = integer(1, low=1, none="all classes")
    gap: int = integer(0, low=0)
    warm_up: int = integer(0, low=0)
    damp: bool = flag(True)
    max_step: float = number(50.0, low=0, open_low=True)
    l2: float = number(0.0, low=0)
    n_estimators: int = integer(200, low=1)
    learning_rate: float = number(0.1, low=0, high=1, open_low=True)
    max_leaf_nodes: int | None = integer(32, low=2, none="no limit")
    splitter: str = choice("random", "best", "random")

    def decoder(self, K: int) -> Floats:
        return centring(K)  # changes nothing but the rounds of warm-up

    def start(self, task: Task) -> Based:
        scores = Scores.zero(len(task.y), task.K)
        return Based(scores, scores.losses_of_classes(task.y, task.weight), 0, 0)

    def candidates(self, task: Task, state: Based) -> list[int]:
        """The base classes to try."""
        if (state.round - self.warm_up) % (self.gap + 1):
            return [state.base]
        worst_first = np.argsort(-np.rint(state.losses / (state.losses.sum() * TIE)), kind="stable")  # of equals the first
        return [int(b) for b in worst_first[: 1 if task.K == 2 else self.search]]  # of two classes either is the other's base

    def pose(self, task: Task, state: Based, rng: np.random.Generator) -> Problems:
        w, scores, criterion = task.weight, state.scores, newton(1, self.l2 / task.N)
        if state.round < self.warm_up:
            r, h = w[:, None] * scores.residual(task.y), w[:, None] * scores.curvature()
            plain = [Statistics.of_rows(np.column_stack([r[:, k], h[:, k]])) for k in range(task.K)]
            return [Problem(statistics, criterion, column=k, width=1) for k, statistics in enumerate(plain)]

        def against(b: int, k: int) -> Problem:
            column, width = min(k, b), abs(k - b) + 1
            return Problem(lambda: Statistics.of_rows(scores.along_pair(task.y, w, k, b)), criterion, column=column, width=width, tag=b)

        return [[against(b, k) for k in range(task.K) if k != b] for b in self.candidates(task, state)]

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        r, h = np.hsplit(leaves.sums, 2)
        value, clipped = newton_values(r, h + self.l2 / task.N, self.max_step)
        size = float(np.abs(value).max())
        if problem.tag is None:
            return Answer((task.K - 1) / task.K * value, size, clipped)
        if self.damp:
            value = min(1.0, 3 / (self.learning_rate * task.K)) * value
        vectors = np.zeros((len(value), problem.width))  # from class min(k, b) to class max(k, b)
        at_k, at_b = (-1, 0) if problem.column == problem.tag else (0, -1)
        vectors[:, [at_k, at_b]] = np.hstack([value, -value])
        return Answer(vectors, size, clipped)

    def update(self, task: Task, state: Based, gains: Sequence[Gain]) -> Based:
        F = state.scores.F.copy(order="K")
        for gain in gains:
            gain.add_to(F)
        scores, base = Scores.of(F), gains[0].problem.tag
        losses = scores.losses_of_classes(task.y, task.weight)
        return Based(scores, losses, state.round + 1, state.base if base is None else base)

    def columns(self, state: Based) -> Floats:
        return state.scores.F

    def loss(self, task: Task, state: Based) -> float:
        return float(state.losses.sum())

    def enough(self, task: Task, loss: float) -> str | None:
        return "the loss has vanished" if loss < 1e-15 else None

    def link(self, columns: Floats) -> Floats:
        return softmax(columns)
