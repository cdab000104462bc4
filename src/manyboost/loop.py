"""The one boosting loop.

Each round: the algorithm poses problems, a tree is grown for each, the algorithm says what the leaves add, the rows' state is updated. The
random numbers of round t are a function of (seed, t), so a fit can be taken up where an earlier one ended, bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Refusal, Task
from manyboost.rows import Decisions
from manyboost.trees.binning import Binning, Table
from manyboost.trees.exact_sums import sum_leaves
from manyboost.trees.forest import Forest
from manyboost.trees.growing import Grower, GrowthLimits, Tree
from manyboost.trees.pruning import merge_equal_leaves, prune_by_cost_complexity
from manyboost.trees.random_numbers import seed_of
from manyboost.trees.sampling import draw_by_weight, draw_uniformly


class Algorithm(Protocol):
    """The four questions (see :mod:`manyboost.protocol`), the loss for the history, and a rule to end."""

    def start(self, task: Task) -> Any: ...
    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Sequence[Problem]: ...
    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal: ...
    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any: ...
    def loss(self, task: Task, state: Any) -> float: ...
    def enough(self, task: Task, loss: float) -> str | None: ...


@dataclass(frozen=True)
class Settings:
    """What the loop is told by the user."""

    n_estimators: int
    learning_rate: float
    limits: GrowthLimits
    subsample: float
    sampling: str
    prune: str | None
    seed: int
    n_iter_no_change: int
    tol: float

    @property
    def n_draws(self) -> int:
        """How often a tree of no use is grown anew: where chance has no part in it, it would be the same tree."""
        return MAX_DRAWS if self.subsample < 1.0 or self.sampling == "weight" or self.limits.random else 1


@dataclass(frozen=True)
class Validation:
    """Rows kept aside."""

    table: Table
    y: NDArray[np.intp]
    weight: Floats


@dataclass
class Threads:
    """Threads for one fit; ``pool`` is None for one thread."""

    n: int
    pool: ThreadPoolExecutor | None

    @classmethod
    @contextmanager
    def of(cls, n: int) -> Iterator[Threads]:
        if n == 1:
            yield cls(1, None)
            return
        with ThreadPoolExecutor(n) as pool:
            yield cls(n, pool)

    def map(self, function: Callable[..., Any], items: Any) -> Any:
        return map(function, items) if self.pool is None else self.pool.map(function, items)


@dataclass
class Boosted:
    """What the loop made."""

    forest: Forest
    history: dict[str, list[float]] = field(default_factory=dict)
    stop_reason: str = ""


HISTORY = ("loss", "training_error", "validation_error", "step", "n_trees", "n_clipped", "seconds")
MAX_DRAWS = 10
MAX_COPIES = 10  # of a row, on average
NO_SPLIT = (
    "no split is of use: the columns are constant or tell nothing of y, or limits such as min_samples_leaf forbid it; "
    "the model is the classes' shares"
)


class _Trees:
    """Grows the trees of a round, several at a time where there are several."""

    def __init__(self, task: Task, table: Table, keys: NDArray[np.uint64], settings: Settings, threads: Threads):
        self.table, self.keys, self.settings, self.threads = table, keys, settings, threads
        self.n_drawn = max(1, int(settings.subsample * _counted_rows(task)))
        self.alone = Grower(table, settings.limits, threads.pool, threads.n)
        self.growers: SimpleQueue[Grower] = SimpleQueue()
        for _ in range(threads.n):
            self.growers.put(Grower(table, settings.limits))

    def grow_again(self, problem: Problem, *of: int) -> tuple[Tree, NDArray[np.int32], Leaves]:
        """A tree for one problem, by the random numbers of (round, problem, draw)."""
        return self._grow(self.alone, problem, seed_of(self.settings.seed, *of))

    def grow_all(self, problems: Sequence[Problem], round_: int) -> list[tuple[Tree, NDArray[np.int32], Leaves]]:
        if len(problems) == 1 or self.threads.n == 1:
            return [self._grow(self.alone, problem, seed_of(self.settings.seed, round_, at)) for at, problem in enumerate(problems)]

        def grow(item: tuple[int, Problem]) -> tuple[Tree, NDArray[np.int32], Leaves]:
            grower = self.growers.get()
            try:
                return self._grow(grower, item[1], seed_of(self.settings.seed, round_, item[0]))
            finally:
                self.growers.put(grower)

        return list(self.threads.map(grow, list(enumerate(problems))))

    def _grow(self, grower: Grower, problem: Problem, seed: int) -> tuple[Tree, NDArray[np.int32], Leaves]:
        statistics, settings = problem.statistics, self.settings
        rows = None
        if settings.subsample < 1.0 and settings.sampling == "uniform":
            rows = draw_uniformly(self.keys, settings.subsample, seed)
        elif settings.sampling == "weight":
            rows = draw_by_weight(statistics, self.n_drawn, seed)
            statistics = statistics.per_unit_weight()
        tree, leaf = grower.grow(statistics, problem.criterion, seed, rows, leaves=settings.prune is None)
        if settings.prune is not None:
            if statistics.n_dense or not statistics.n_labels:
                raise ValueError(
                    f"prune={settings.prune!r} needs trees whose leaves vote for a label; this algorithm's leaves hold vectors. "
                    "Use prune=None."
                )
            if settings.prune == "merge":
                tree = merge_equal_leaves(tree)
            else:
                drawn = np.arange(self.table.n_rows, dtype=np.int32) if rows is None else rows

                def grow(part: NDArray[np.int32]) -> Tree:
                    return grower.grow(statistics, problem.criterion, seed, part, leaves=False)[0]

                tree = prune_by_cost_complexity(tree, self.table, statistics, drawn, seed, grow)
            leaf = tree.leaves_of(self.table)
        summed = problem.summed
        if problem.leaf_statistics is None and rows is None and not settings.limits.random and settings.prune is None:
            sums = tree.sums[tree.is_leaf]  # grown on all rows on the fine grid: these are the exact sums
        else:
            sums = sum_leaves(summed, leaf, tree.n_leaves)
        # a leaf says the label of most weight, among the rows the tree was grown on where they are labelled
        said = tree.sums[tree.is_leaf] if statistics.n_labels else sums
        votes = said[:, statistics.n_dense :] if statistics.n_labels else said[:, summed.n_dense :]
        label = votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(sums), np.intp)
        return tree, leaf, Leaves(sums, label)


def _counted_rows(task: Task) -> int:
    """The number of rows, a weight of two being two rows. Weights that are no whole numbers, or large ones, are no numbers of rows."""
    n_rows = len(task.y)
    if task.N / n_rows >= MAX_COPIES:
        return n_rows
    copies = task.weight * task.N
    return round(task.N) if (np.abs(copies - np.rint(copies)) < 1e-6).all() else n_rows


def boost(
    algorithm: Algorithm,
    task: Task,
    table: Table,
    keys: NDArray[np.uint64],
    binning: Binning,
    decoder: Floats | None,
    n_columns: int,
    settings: Settings,
    threads: Threads,
    *,
    validation: Validation | None = None,
    earlier: Boosted | None = None,
    after_round: Callable[[int, dict[str, float], Callable[[], Forest]], bool] | None = None,
) -> Boosted:
    """Boost until a rule says stop.

    Parameters
    ----------
    decoder : (C, K) what a column means for the K scores; None when the columns are the scores
    validation : rows on which the error is watched; the rounds after the best one are dropped when it ends the fit
    earlier : what an earlier fit on the same rows made, to go on from
    after_round : told the number of the round, its history and a way to the forest so far; True stops
    """
    trees = _Trees(task, table, keys, settings, threads)
    state = algorithm.start(task)
    scores = Decisions(task.y, task.weight, n_columns, decoder, threads)
    watched = None if validation is None else Decisions(validation.y, validation.weight, n_columns, decoder, threads)
    out = Boosted(Forest.empty(n_columns), {name: [] for name in HISTORY})
    first = 0
    if earlier is not None:
        out.forest = earlier.forest
        first = out.forest.n_rounds
        out.history = {name: list(earlier.history[name][:first]) for name in HISTORY}  # rounds dropped by early stopping are made again
        state = _replay(algorithm, task, table, validation, out.forest, scores, watched, settings.seed, state)
    grown: list[tuple[Tree, Floats, int, int]] = []
    any_split = bool((out.forest.nodes["feature"] >= 0).any())

    for round_ in range(first, settings.n_estimators):
        began = time.perf_counter()
        problems = list(algorithm.pose(task, state, round_generator(settings.seed, round_)))
        gains, answers, refusals = [], [], []
        solved = list(_solve(algorithm, task, trees, problems, round_))
        any_split = any_split or any(tree.n_leaves > 1 for _, tree, _, _ in solved)
        for problem, tree, leaf, answer in solved:
            if isinstance(answer, Refusal):
                refusals.append(answer.reason)
                continue
            vectors = settings.learning_rate * answer.vectors
            grown.append((tree, vectors, problem.column, round_))
            gains.append(Gain(problem, vectors, leaf))
            answers.append(answer)
            scores.add(vectors, leaf, problem.column)
            if validation is not None and watched is not None:
                watched.add(vectors, tree.leaves_of(validation.table), problem.column)
        if not gains:
            out.stop_reason = refusals[0] if refusals else "no problem was left to solve"
            break
        state = algorithm.update(task, state, gains)
        row = {
            "loss": algorithm.loss(task, state),
            "training_error": scores.error(),
            "validation_error": np.nan,
            "step": float(np.mean([answer.size for answer in answers])),
            "n_trees": float(len(gains)),
            "n_clipped": float(sum(answer.clipped for answer in answers)),
            "seconds": time.perf_counter() - began,
        }
        if validation is not None and watched is not None:
            row["validation_error"] = watched.error() / float(validation.weight.sum())
        for name in HISTORY:
            out.history[name].append(row[name])
        asked = after_round is not None and after_round(round_, row, lambda: out.forest.extended(grown, binning))
        out.stop_reason = _stop_reason(algorithm, task, row["loss"], answers, asked, out.history["validation_error"], settings, validation)
        if out.stop_reason:
            break
    else:
        out.stop_reason = f"all {settings.n_estimators} rounds were made"
    if not any_split:
        return Boosted(Forest.empty(n_columns), {name: [] for name in HISTORY}, NO_SPLIT)
    out.forest = out.forest.extended(grown, binning)
    return out


def _solve(
    algorithm: Algorithm, task: Task, trees: _Trees, problems: Sequence[Problem], round_: int
) -> Iterator[tuple[Problem, Tree, NDArray[np.int32], Answer | Refusal]]:
    """Grow a tree for each problem and ask what its leaves add. One that is refused, or has but one leaf, is drawn again."""
    for at, (problem, (tree, leaf, leaves)) in enumerate(zip(problems, trees.grow_all(problems, round_), strict=True)):
        answer = algorithm.step(task, problem, leaves)
        for draw in range(1, trees.settings.n_draws):
            if tree.n_leaves > 1 and isinstance(answer, Answer):
                break
            tree, leaf, leaves = trees.grow_again(problem, round_, at, draw)
            answer = algorithm.step(task, problem, leaves)
        yield problem, tree, leaf, answer


def round_generator(seed: int, round_: int) -> np.random.Generator:
    """The random numbers of a round."""
    return np.random.default_rng([seed, round_])


def _stop_reason(
    algorithm: Algorithm, task: Task, loss: float, answers: Sequence[Answer], asked: bool, errors: list[float], settings: Settings,
    validation: Validation | None,
) -> str:  # fmt: skip
    for answer in answers:
        if answer.stop:
            return answer.stop
    if asked:
        return "a callback asked to stop"
    if not np.isfinite(loss):
        return "the loss is no longer finite"
    if reason := algorithm.enough(task, loss):
        return reason
    if validation is not None:
        best = best_round(errors, settings.tol)
        if len(errors) - 1 - best >= settings.n_iter_no_change:
            return f"the validation error has not fallen for {settings.n_iter_no_change} rounds"
    return ""


def best_round(errors: Sequence[float], tol: float) -> int:
    """The round after which the error no longer fell by more than ``tol``; rounds whose error is not known (NaN) do not count."""
    errors, best = np.nan_to_num(errors, nan=np.inf).tolist(), 0
    for at, error in enumerate(errors):
        if error < errors[best] - tol:
            best = at
    return best


def _replay(
    algorithm: Algorithm, task: Task, table: Table, validation: Validation | None, forest: Forest, scores: Decisions,
    watched: Decisions | None, seed: int, state: Any,
) -> Any:  # fmt: skip
    """Bring state and columns to where the forest ends, by the same operations that the earlier fit made."""
    of_watched = [] if validation is None else list(forest.replay(validation.table))
    gains: list[Gain] = []
    problems: dict[int, Problem] = {}
    current = -1
    for at, (round_, column, vectors, leaf) in enumerate(forest.replay(table)):
        if round_ != current:
            state = algorithm.update(task, state, gains) if gains else state
            gains, current = [], round_
            problems = {problem.column: problem for problem in algorithm.pose(task, state, round_generator(seed, round_))}
        gains.append(Gain(problems[column], vectors, leaf))
        scores.add(vectors, leaf, column)
        if watched is not None:
            watched.add(vectors, of_watched[at][3], column)
    return algorithm.update(task, state, gains) if gains else state
