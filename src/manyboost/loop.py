"""The one boosting loop.

Each round: the algorithm poses problems, a tree is grown for each, the algorithm says what the leaves add, the rows' state is updated. The
random numbers of round t are a function of (seed, t), so a fit can be taken up where an earlier one ended, bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.steps import length_of_least_loss
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Slope, Task
from manyboost.rows import add_leaf_vectors, error_weight
from manyboost.trees.binning import Binning, Table
from manyboost.trees.exact_sums import exact_total, sum_leaves
from manyboost.trees.forest import Forest
from manyboost.trees.growing import Grower, GrowthLimits, Tree
from manyboost.trees.pruning import merge_equal_leaves, prune_by_cost_complexity
from manyboost.trees.random_numbers import seed_of
from manyboost.trees.sampling import draw_by_weight, draw_uniformly


class Algorithm(Protocol):
    """The questions (see :mod:`manyboost.protocol`), the loss for the history, and a rule to end."""

    def start(self, task: Task) -> Any: ...
    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Problems: ...
    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal: ...
    def slope(self, task: Task, state: Any, gain: Gain) -> Slope: ...
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
    columns: Floats  # of the training rows
    history: dict[str, list[float]] = field(default_factory=dict)
    stop_reason: str = ""
    validation_columns: Floats | None = None


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
        if problem.then is not None:
            sums = np.hstack([sums, sum_leaves(problem.then(sums, leaf), leaf, tree.n_leaves)])
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
    columns = np.zeros((len(task.y), n_columns))
    watched = None if validation is None else np.zeros((len(validation.y), n_columns))
    out = Boosted(Forest.empty(n_columns), columns, {name: [] for name in HISTORY}, validation_columns=watched)
    first = 0
    if earlier is not None:
        out.forest = earlier.forest
        first = out.forest.n_rounds
        out.history = {name: list(earlier.history[name][:first]) for name in HISTORY}  # rounds dropped by early stopping are made again
        state = _replay(algorithm, task, table, validation, out, settings.seed, state)
    grown: list[tuple[Tree, Floats, int, int]] = []
    any_split = bool((out.forest.nodes["feature"] >= 0).any())

    def scores(of: Floats) -> Floats:
        return of if decoder is None else of @ decoder

    for round_ in range(first, settings.n_estimators):
        began = time.perf_counter()
        groups = _in_groups(algorithm.pose(task, state, round_generator(settings.seed, round_)))
        made = [_solve(algorithm, task, state, trees, group, round_) for group in groups]
        any_split = any_split or any(tree.n_leaves > 1 for group in made for tree in group.grown)
        best = min(made, key=lambda group: group.loss, default=None)
        if best is None or not best.gains:
            refusals = [reason for group in made for reason in group.refusals]
            out.stop_reason = refusals[0] if refusals else "no problem was left to solve"
            break
        gains, answers, state = best.gains, best.answers, best.state
        for gain, tree in zip(gains, best.kept, strict=True):
            column = gain.problem.column
            grown.append((tree, gain.vectors, column, round_))
            add_leaf_vectors(columns, gain.vectors, gain.leaf, column)
            if validation is not None and watched is not None:
                add_leaf_vectors(watched, gain.vectors, tree.leaves_of(validation.table), column)
        row = {
            "loss": best.loss,
            "training_error": error_weight(scores(columns), task.y, task.weight),
            "validation_error": np.nan,
            "step": float(np.mean([answer.size for answer in answers])),
            "n_trees": float(len(gains)),
            "n_clipped": float(sum(answer.clipped for answer in answers)),
            "seconds": time.perf_counter() - began,
        }
        if validation is not None and watched is not None:
            row["validation_error"] = error_weight(scores(watched), validation.y, validation.weight) / float(validation.weight.sum())
        for name in HISTORY:
            out.history[name].append(row[name])
        asked = after_round is not None and after_round(round_, row, lambda: out.forest.extended(grown, binning))
        out.stop_reason = _stop_reason(algorithm, task, row["loss"], answers, asked, out.history["validation_error"], settings, validation)
        if out.stop_reason:
            break
    else:
        out.stop_reason = f"all {settings.n_estimators} rounds were made"
    if not any_split:
        return Boosted(Forest.empty(n_columns), np.zeros_like(columns), {name: [] for name in HISTORY}, NO_SPLIT, watched)
    out.forest = out.forest.extended(grown, binning)
    return out


@dataclass
class _Group:
    """What the problems of a group came to; without gains its loss is infinite."""

    state: Any
    loss: float = np.inf
    grown: list[Tree] = field(default_factory=list)
    kept: list[Tree] = field(default_factory=list)
    gains: list[Gain] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def _in_groups(posed: Problems) -> list[list[Problem]]:
    """Problems that are in no group are one."""
    alone = [item for item in posed if isinstance(item, Problem)]
    return [alone] if alone else [list(group) for group in posed if not isinstance(group, Problem)]


def _solve(algorithm: Algorithm, task: Task, state: Any, trees: _Trees, problems: Sequence[Problem], round_: int) -> _Group:
    """Grow a tree for each problem, ask what its leaves add, and what state that makes."""
    out = _Group(state)
    for problem, tree, leaf, answer in _answers(algorithm, task, state, trees, problems, round_):
        out.grown.append(tree)
        if isinstance(answer, Refusal):
            out.refusals.append(answer.reason)
            continue
        out.kept.append(tree)
        out.gains.append(Gain(problem, trees.settings.learning_rate * answer.vectors, leaf))
        out.answers.append(answer)
    if out.gains:
        out.state = algorithm.update(task, state, out.gains)
        out.loss = algorithm.loss(task, out.state)
    return out


def _answers(
    algorithm: Algorithm, task: Task, state: Any, trees: _Trees, problems: Sequence[Problem], round_: int
) -> Iterator[tuple[Problem, Tree, NDArray[np.int32], Answer | Refusal]]:
    """For each problem a tree and the answer to it. A tree that is refused, or has but one leaf, is drawn again."""

    def ask(problem: Problem, leaf: NDArray[np.int32], leaves: Leaves) -> Answer | Refusal:
        answer = algorithm.step(task, problem, leaves)
        if isinstance(answer, Refusal) or not answer.longest:
            return answer
        return _with_length(algorithm.slope(task, state, Gain(problem, answer.vectors, leaf)), answer)

    for at, (problem, (tree, leaf, leaves)) in enumerate(zip(problems, trees.grow_all(problems, round_), strict=True)):
        answer = ask(problem, leaf, leaves)
        for draw in range(1, trees.settings.n_draws):
            if tree.n_leaves > 1 and isinstance(answer, Answer):
                break
            tree, leaf, leaves = trees.grow_again(problem, round_, at, draw)
            answer = ask(problem, leaf, leaves)
        yield problem, tree, leaf, answer


def _with_length(slope: Slope, answer: Answer) -> Answer | Refusal:
    """The answer with its vectors as long as makes the loss least."""

    def total(a: float) -> tuple[float, float]:
        first, second = slope(a)
        return (exact_total(first), exact_total(second)) if np.isfinite(first).all() and np.isfinite(second).all() else (np.inf, np.inf)

    if total(0.0)[0] >= 0:
        return Refusal("the loss does not fall along any tree")
    a, clipped = length_of_least_loss(total, answer.longest)
    return replace(answer, vectors=a * answer.vectors, size=a, clipped=clipped, longest=0.0)


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


def _replay(algorithm: Algorithm, task: Task, table: Table, validation: Validation | None, out: Boosted, seed: int, state: Any) -> Any:
    """Bring state and columns to where the forest ends, by the same operations that the earlier fit made."""
    if validation is not None and out.validation_columns is not None:
        for _, column, vectors, leaf in out.forest.replay(validation.table):
            add_leaf_vectors(out.validation_columns, vectors, leaf, column)
    for round_, members in groupby(out.forest.replay(table), key=lambda member: member[0]):
        made = list(members)
        groups = _in_groups(algorithm.pose(task, state, round_generator(seed, round_)))
        problems = _problems_of(groups, [(column, vectors.shape[1]) for _, column, vectors, _ in made])
        gains = [Gain(problem, vectors, leaf) for problem, (_, _, vectors, leaf) in zip(problems, made, strict=True)]
        for gain in gains:
            add_leaf_vectors(out.columns, gain.vectors, gain.leaf, gain.problem.column)
        state = algorithm.update(task, state, gains)
    return state


def _problems_of(groups: Sequence[Sequence[Problem]], places: Sequence[tuple[int, int]]) -> list[Problem]:
    """The problems, of the first group that has them all, whose trees add to these columns: first column and width."""
    for group in groups:
        found = [next((one for one in group if one.column == at and one.width in (0, width)), None) for at, width in places]
        if None not in found:
            return [problem for problem in found if problem is not None]
    raise ValueError("warm_start: the trees at hand are not those of these parameters; use warm_start=False to start anew.")
