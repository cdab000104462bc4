"""Asks an algorithm its four questions with given weak hypotheses in place of grown trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.estimator import BoostingClassifier
from manyboost.loop import _in_groups, _with_length
from manyboost.protocol import Answer, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.exact_sums import sum_leaves

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]
Labels = Callable[[Problem, Floats], Integers]


def leaf_is_label(problem: Problem, sums: Floats) -> Integers:
    """Leaf k says label k; a problem about a set of classes (a mask as its tag) asks whether that label is inside."""
    said = np.arange(len(sums))
    about_a_set = isinstance(problem.tag, np.ndarray) and problem.tag.dtype == bool
    return problem.tag[said].astype(np.intp) if about_a_set else said


def most_weight(problem: Problem, sums: Floats) -> Integers:
    """Each leaf says the label of most weight, as a tree does."""
    return sums[:, problem.summed.n_dense :].argmax(axis=1)


@dataclass(frozen=True)
class Round:
    """What one round made; ``columns``, the scores ``F`` that they mean, and ``state`` are those after it."""

    answers: list[Answer]
    columns: Floats
    F: Floats
    state: Any


def drive(
    algorithm: BoostingClassifier, y: Integers, K: int, responses: Sequence[Integers], *, labels: Labels = leaf_is_label,
    n_leaves: int | None = None, weight: Floats | None = None, cost: Floats | None = None,
) -> Iterator[Round]:  # fmt: skip
    """One round for each response, an (n,) array of leaf numbers; each problem of a round gets the same leaves.

    As in the loop, steps see sums over leaves and nothing else, and the run ends when every problem of a round is refused.
    """
    task = Task.of(np.asarray(y), K, np.ones(len(y)) if weight is None else np.asarray(weight, np.float64), cost)
    n_leaves = K if n_leaves is None else n_leaves
    decoder = algorithm.decoder(K)
    columns = np.zeros((len(y), K if decoder is None else len(decoder)))
    state, rng = algorithm.start(task), np.random.default_rng(0)
    for response in responses:
        leaf = np.asarray(response).astype(np.int32)
        made = []
        for group in _in_groups(algorithm.pose(task, state, rng)):
            answers, gains = [], []
            for problem in group:
                sums = sum_leaves(problem.summed, leaf, n_leaves)
                if problem.then is not None:
                    sums = np.hstack([sums, problem.then(sums, leaf)])
                answer = algorithm.step(task, problem, Leaves(sums, labels(problem, sums)))
                if isinstance(answer, Answer) and answer.longest:
                    answer = _with_length(algorithm.slope(task, state, Gain(problem, answer.vectors, leaf)), answer)
                if isinstance(answer, Refusal):
                    continue
                answers.append(answer)
                gains.append(Gain(problem, answer.vectors, leaf))
            if gains:
                after = algorithm.update(task, state, gains)
                made.append((algorithm.loss(task, after), answers, gains, after))
        if not made:
            return
        _, answers, gains, state = min(made, key=lambda group: group[0])
        for gain in gains:
            column = gain.problem.column
            columns[:, column : column + gain.vectors.shape[1]] += gain.vectors[leaf]
        kept = deepcopy(state)  # the next update may write over it
        yield Round(answers, columns.copy(), columns.copy() if decoder is None else columns @ decoder, kept)


def shares(state: Any) -> Floats:
    """The weights of the state, scaled to sum to one: over all, or over each row where every row is a distribution of its own."""
    values = np.asarray(state.values)
    return values / (values.sum() if np.size(state.exponent) == 1 else values.sum(axis=1, keepdims=True))
