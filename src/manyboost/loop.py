"""The one boosting loop.

Each round: the algorithm poses problems, the weak learner makes a member for each (a tree, say), the algorithm says what the leaves add,
the rows' state is updated. The random numbers of round t are a function of (seed, t), so a fit can be taken up where an earlier one ended,
bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, Protocol

import numpy as np

from manyboost.chance import Chance, round_generator
from manyboost.decisions import Decisions
from manyboost.maths.steps import length_of_least_loss
from manyboost.protocol import Answer, Floats, Gain, Leaves, Problem, Problems, Refusal, Slope, Task
from manyboost.rows import Response, mixed
from manyboost.threads import Threads
from manyboost.trees.exact_sums import exact_total
from manyboost.weak_learning import MAX_DRAWS, Grown, GrownMember, Learner, Rows, Settings, Validation


class Algorithm(Protocol):
    """The questions (see :mod:`manyboost.protocol`), the loss for the history, a rule to end, and what a solver fell short of."""

    @property
    def revises(self) -> bool: ...
    def start(self, task: Task) -> Any: ...
    def pose(self, task: Task, state: Any, rng: np.random.Generator) -> Problems: ...
    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal: ...
    def slope(self, task: Task, state: Any, gain: Gain) -> Slope: ...
    def settle(self, task: Task, state: Any, gains: Sequence[Gain]) -> Sequence[Floats]: ...
    def update(self, task: Task, state: Any, gains: Sequence[Gain]) -> Any: ...
    def columns(self, state: Any) -> Floats | None: ...
    def revised(self, task: Task, state: Any) -> Sequence[Floats]: ...
    def loss(self, task: Task, state: Any) -> float: ...
    def enough(self, task: Task, loss: float) -> str | None: ...
    def shortfall(self, task: Task, state: Any) -> str | None: ...


Solved = tuple[Problem, Grown, Answer | Refusal]
Responses = tuple[Response, Response | None]  # to the training rows, and to those that are watched


@dataclass(frozen=True)
class Work:
    """What is the same in every fit on some of the rows: how the columns are read, the settings, the threads.

    Attributes
    ----------
    decoder : (C, K) what a column means for the K scores; None when the columns are the scores
    n_columns : C
    """

    decoder: Floats | None
    n_columns: int
    settings: Settings
    threads: Threads


@dataclass
class Boosted:
    """What the loop made: members behind those of an earlier fit. They become an ensemble when it is asked for, which pilots do not."""

    earlier: Any
    history: dict[str, list[float]] = field(default_factory=dict)
    stop_reason: str = ""
    shortfall: str = ""  # of the last round that is unsolved
    grown: list[GrownMember] = field(default_factory=list)
    rows: Rows | None = None  # what the members were grown on

    @property
    def ensemble(self) -> Any:
        return self.earlier if self.rows is None else self.rows.extended(self.earlier, self.grown)

    @property
    def n_rounds(self) -> int:
        return self.grown[-1][3] + 1 if self.grown else int(self.earlier.n_rounds)


HISTORY = ("loss", "training_error", "validation_error", "step", "n_trees", "n_clipped", "n_made", "unsolved", "seconds")
UNIT = 2.0**-40  # of what a leaf adds
ASKED_TO_STOP = "a callback asked to stop"
NO_SPLIT = (
    "no split is of use: the columns are constant or tell nothing of y, or limits such as min_samples_leaf, "
    "or a small subsample, forbid it; the model is the classes' shares"
)


def all_rounds_made(n_rounds: int) -> str:
    """Why a fit ended that made as many rounds as it was asked for."""
    return f"all {n_rounds} rounds were made"


def boost(
    algorithm: Algorithm,
    task: Task,
    rows: Rows,
    work: Work,
    *,
    validation: Validation | None = None,
    earlier: Boosted | None = None,
    after_round: Callable[[int, Callable[[], dict[str, float]], Boosted], bool] | None = None,
) -> Boosted:
    """Boost until a rule says stop.

    Parameters
    ----------
    validation : rows on which the error is watched; the rounds after the best one are dropped when it ends the fit
    earlier : what an earlier fit on the same rows made, to go on from
    after_round : told the number of the round, a way to its history (to look at each round's takes time) and what has been made so far;
        True stops
    """
    settings, n_columns, given = work.settings, work.n_columns, task
    task = rows.agreed(task)
    learner, chance = rows.learner(task, settings, work.threads), Chance(settings.seed)
    state = algorithm.start(task)
    scores = Decisions(given.codes, given.weight, n_columns, work.decoder)
    watched = None if validation is None else Decisions(validation.y, validation.weight, n_columns, work.decoder)
    out = Boosted(rows.no_members(n_columns), {name: [] for name in HISTORY}, rows=rows)
    first = 0
    if earlier is not None:
        out.earlier = earlier.ensemble
        first = out.n_rounds
        out.history = {name: list(earlier.history[name][:first]) for name in HISTORY}  # rounds dropped by early stopping are made again
        state = _replay(algorithm, task, rows, validation, out.earlier, scores, watched, settings.seed, state)
    grown = out.grown
    responses: list[Responses] = []  # of all members, where they are revised; and what these were at the round of least validation error
    grown_at_best: list[GrownMember] = []
    any_split = not out.earlier.is_constant

    def row_of_round() -> dict[str, float]:
        out.history["training_error"] += scores.errors()
        return {name: values[-1] for name, values in out.history.items()}

    for round_ in range(first, settings.n_estimators):
        began = time.perf_counter()
        tries = list(_tries(algorithm, task, state, learner, round_, chance, settings))
        made = tries[-1]
        any_split = any_split or any(found.member.n_leaves > 1 for groups in tries for group in groups for found in group.grown)
        best = min(made, key=lambda group: group.loss, default=None)
        if best is None or not best.gains:
            refusals = [reason for group in made for reason in group.refusals]
            out.stop_reason = refusals[0] if refusals else "no problem was left to solve"
            out.stop_reason += f", in each of {len(tries)} draws" if len(tries) > 1 else ""
            break
        answers, state = best.answers, best.state
        shortfall = algorithm.shortfall(task, state)
        out.shortfall = f"round {round_ + 1}: {shortfall}" if shortfall else out.shortfall
        columns = algorithm.columns(state)
        if columns is not None:
            scores.read(columns)
        for gain, (member, vectors) in zip(best.gains, best.kept, strict=True):
            column = gain.problem.column
            grown.append((member, vectors, column, round_))
            if columns is None:
                scores.add(Response(gain.vectors, gain.leaf, gain.numbers), column)
            if validation is not None and watched is not None:
                watched.add(validation.rows.respond(member, vectors), column)
        if algorithm.revises:
            responses += [
                (Response(vectors, gain.leaf, gain.numbers), None if validation is None else validation.rows.respond(member, vectors))
                for gain, (member, vectors) in zip(best.gains, best.kept, strict=True)
            ]
            grown[:] = _revised(algorithm.revised(task, state), grown, responses, scores, watched)
        scores.end_round()
        row = {
            "loss": best.loss,
            "validation_error": np.nan,
            "step": sum(answer.size for answer in answers) / len(answers),
            "n_trees": float(len(best.gains)),
            "n_clipped": float(sum(answer.clipped for answer in answers)),
            "n_made": float(sum(group.n_made for groups in tries for group in groups)),
            "unsolved": float(shortfall is not None),
            "seconds": time.perf_counter() - began,
        }
        if validation is not None and watched is not None:
            watched.end_round()
            row["validation_error"] = watched.errors()[-1] / float(validation.weight.sum())
        for name, value in row.items():
            out.history[name].append(value)
        if algorithm.revises and validation is not None and best_round(out.history["validation_error"], settings.tol) == round_:
            grown_at_best = list(grown)
        asked = after_round is not None and after_round(round_, row_of_round, out)
        out.stop_reason = _stop_reason(algorithm, task, row["loss"], answers, asked, out.history["validation_error"], settings, validation)
        if out.stop_reason:
            break
        del tries, made, best, gain  # and with them this round's statistics, before the next round makes its own
    else:
        out.stop_reason = all_rounds_made(settings.n_estimators)
    if not any_split:
        return Boosted(rows.no_members(n_columns), {name: [] for name in HISTORY}, NO_SPLIT)
    out.grown = grown_at_best or grown
    out.history["training_error"] += scores.errors()
    return out


@dataclass
class _Group:
    """What the problems of a group came to; without gains its loss is infinite."""

    state: Any
    loss: float = np.inf
    n_made: int = 0  # members, those that were made again among them
    grown: list[Grown] = field(default_factory=list)
    kept: list[tuple[Any, Floats]] = field(default_factory=list)  # members and what is stored of their answers
    gains: list[Gain] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def _in_groups(posed: Problems) -> list[list[Problem]]:
    """Problems that are in no group are one."""
    alone = [item for item in posed if isinstance(item, Problem)]
    return [alone] if alone else [list(group) for group in posed if not isinstance(group, Problem)]


def _tries(
    algorithm: Algorithm, task: Task, state: Any, learner: Learner, round_: int, chance: Chance, settings: Settings
) -> Iterator[list[_Group]]:
    """What the groups of a round came to; where nothing did, and chance had a part in what was posed, what others came to."""
    for draw in range(MAX_DRAWS):
        posed, any_drawn = chance.ask(lambda rng: algorithm.pose(task, state, rng), round_, draw)
        made = [_solve(algorithm, task, state, learner, group, round_, settings) for group in _in_groups(posed)]
        yield made
        if any(group.gains for group in made) or not any_drawn():
            return


def _solve(
    algorithm: Algorithm, task: Task, state: Any, learner: Learner, problems: Sequence[Problem], round_: int, settings: Settings
) -> _Group:
    """Make a member for each problem, ask what its leaves add, and what state that makes."""
    out = _Group(state)
    solved, out.n_made = _answers(algorithm, task, state, learner, problems, round_, settings.regrows)
    out.grown = [found for _, found, _ in solved]
    for problem, found, answer in _settled(algorithm, task, state, _of_most_merit(solved)):
        if isinstance(answer, Refusal):
            out.refusals.append(answer.reason)
            continue
        vectors = _kept(answer, found.leaves, settings.learning_rate)
        out.kept.append((found.member, vectors))
        added = vectors if found.leaves.shares is None else mixed(found.leaves.shares, vectors)
        out.gains.append(Gain(problem, added, found.leaf, found.leaves.numbers))
        out.answers.append(answer)
    if out.gains:
        out.state = algorithm.update(task, state, out.gains)
        out.loss = algorithm.loss(task, out.state)
    return out


def _answers(
    algorithm: Algorithm, task: Task, state: Any, learner: Learner, problems: Sequence[Problem], round_: int, regrows: bool
) -> tuple[list[Solved], int]:
    """For each problem a member and the answer to it, and how many were made.

    One that is refused, has but one leaf or, where the user wants that, makes no error is made again. If none is of use, it is the first
    that makes no error, or else the last.
    """

    def ask(problem: Problem, found: Grown) -> Answer | Refusal:
        answer = algorithm.step(task, problem, found.leaves)
        if isinstance(answer, Refusal) or not answer.longest:
            return answer
        return _with_length(algorithm.slope(task, state, Gain(problem, answer.vectors, found.leaf)), answer)

    solved: list[Solved] = []
    n_made = len(problems)
    for at, (problem, found) in enumerate(zip(problems, learner.grow_all(problems, round_), strict=True)):
        perfect: Solved | None = None
        for draw in count(1):
            answer = ask(problem, found)
            of_no_use = _of_no_use(found, answer)
            if regrows and _makes_no_error(answer):
                perfect, of_no_use = perfect or (problem, found, answer), True
            if not of_no_use or draw >= (MAX_DRAWS if perfect else learner.n_draws(found)):
                break
            found = learner.grow_again(problem, round_, at, draw, fewer=perfect is not None)
            n_made += 1
        solved.append(perfect if perfect and of_no_use else (problem, found, answer))
    return solved, n_made


def _makes_no_error(answer: Answer | Refusal) -> bool:
    return isinstance(answer, Answer) and (answer.perfect or answer.stop is not None)


def _of_no_use(found: Grown, answer: Answer | Refusal) -> bool:
    """Is a member of no use where another might be?"""
    return not answer.of_any if isinstance(answer, Refusal) else found.member.n_leaves == 1


def _kept(answer: Answer, leaves: Leaves, learning_rate: float) -> Floats:
    """What is stored of a member: the vector of each leaf; of one that says shares of labels, the vector of each label.

    Multiples of 2^-40, so that classes that are level are so to the last bit, and sums of rounds have no rounding of their own.
    """
    if leaves.shares is None:
        vectors = answer.vectors
    else:
        vectors = answer.size * np.eye(leaves.shares.shape[1]) if answer.of_label is None else answer.of_label
    out = vectors * (learning_rate / UNIT)
    np.rint(out, out)
    out *= UNIT
    return out


def _with_length(slope: Slope, answer: Answer) -> Answer | Refusal:
    """The answer with its vectors as long as makes the loss least."""

    def total(a: float) -> tuple[float, float]:
        first, second = slope(a)
        return (exact_total(first), exact_total(second)) if np.isfinite(first).all() and np.isfinite(second).all() else (np.inf, np.inf)

    if total(0.0)[0] >= 0:
        return Refusal("the loss does not fall along any tree")
    a, clipped = length_of_least_loss(total, answer.longest)
    return answer._replace(vectors=a * answer.vectors, size=a, clipped=clipped, longest=0.0)


def _of_most_merit(solved: Sequence[Solved]) -> Sequence[Solved]:
    """All, or where answers have a merit, the one of the greatest and the refusals."""
    merits = [answer.merit if isinstance(answer, Answer) and answer.merit is not None else -math.inf for _, _, answer in solved]
    if all(merit == -math.inf for merit in merits):
        return solved
    best = merits.index(max(merits))
    return [one for at, one in enumerate(solved) if at == best or isinstance(one[2], Refusal)]


def _settled(algorithm: Algorithm, task: Task, state: Any, solved: Sequence[Solved]) -> list[Solved]:
    """The same with the vectors that the algorithm sets for one another once all members are known."""
    gains = [Gain(problem, answer.vectors, found.leaf) for problem, found, answer in solved if isinstance(answer, Answer)]
    settled = iter(algorithm.settle(task, state, gains) if gains else ())
    out: list[Solved] = []
    for problem, found, answer in solved:
        if isinstance(answer, Answer):
            vectors = next(settled)
            answer = answer if vectors is answer.vectors else answer._replace(vectors=vectors)
        out.append((problem, found, answer))
    return out


def _revised(
    revised: Sequence[Floats], grown: Sequence[GrownMember], responses: Sequence[Responses], scores: Decisions, watched: Decisions | None
) -> list[GrownMember]:
    """The members with their new vectors; the scores, and those of the rows that are watched, become what these add up to."""
    scores.clear()
    if watched is not None:
        watched.clear()
    out = []
    for (member, _, column, round_), vectors, (response, watched_response) in zip(grown, revised, responses, strict=True):
        out.append((member, vectors, column, round_))
        scores.add(response._replace(vectors=vectors), column)
        if watched is not None and watched_response is not None:
            watched.add(watched_response._replace(vectors=vectors), column)
    return out


def _stop_reason(
    algorithm: Algorithm, task: Task, loss: float, answers: Sequence[Answer], asked: bool, errors: list[float], settings: Settings,
    validation: Validation | None,
) -> str:  # fmt: skip
    for answer in answers:
        if answer.stop:
            return answer.stop
    if asked:
        return ASKED_TO_STOP
    if not math.isfinite(loss):
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
    algorithm: Algorithm, task: Task, rows: Rows, validation: Validation | None, ensemble: Any, scores: Decisions,
    watched: Decisions | None, seed: int, state: Any,
) -> Any:  # fmt: skip
    """Bring state and columns to where the members end, by the same operations that the earlier fit made."""
    if validation is not None and watched is not None:
        for _, column, response in validation.rows.replay(ensemble):
            watched.add(response, column)
    for round_, members in groupby(rows.replay(ensemble), key=lambda member: member[0]):
        made = list(members)
        groups = _in_groups(algorithm.pose(task, state, round_generator(seed, round_)))
        problems = _problems_of(groups, [(column, response.vectors.shape[1]) for _, column, response in made])
        gains = [Gain(problem, *response) for problem, (_, _, response) in zip(problems, made, strict=True)]
        state = algorithm.update(task, state, gains)
        for _, column, response in made if algorithm.columns(state) is None else ():
            scores.add(response, column)
    return state


def _problems_of(groups: Sequence[Sequence[Problem]], places: Sequence[tuple[int, int]]) -> list[Problem]:
    """The problems, of the first group that has them all, whose members add to these columns: first column and width."""
    for group in groups:
        found = [next((one for one in group if one.column == at and one.width in (0, width)), None) for at, width in places]
        if None not in found:
            return [problem for problem in found if problem is not None]
    raise ValueError("warm_start: the trees at hand are not those of these parameters; use warm_start=False to start anew.")
