"""Threads that grow one tree together.

All of them run the same kernel. One, the first, does what cannot be shared, and small nodes, for which the others would take longer to be
told than to be without. Of large nodes each works on the rows that are its own, and on some of the columns. In between they meet: whoever
comes first looks again and again whether the others are there, which takes less than a microsecond, where Python takes many to wake a
thread. To write where another thread has read or written takes far longer than to write where nobody else did, so rows stay with theirs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import Kernel, compiled_part
from manyboost.threads import ALONE, ASKED, Threads
from manyboost.trees.binning import Table
from manyboost.trees.nodes import AT_HAND, SPLITS, finish_nodes, make_job, part_rows, tell_leaves
from manyboost.waiting import LOOKS, add, let_others_work, look

THREAD_WORK = 1 << 16  # rows times columns of a node from which on it is worth meeting
NODES_OF_A_TREE = 16  # as many times that must be in the root: to wake a thread, once for a tree, may take a quarter of a millisecond
ARRIVED, GIVEN_UP, TURN, N_WORDS = 0, 1, 8, 16  # words that threads meet by, in cache lines of their own
LINES_APART = 128  # bytes between what two threads write: they would wait for each other at one line of cache


class Crew(NamedTuple):
    """Who grows a tree: the number of this thread, how many there are, what they meet by, and what the others look at before they begin.

    Rows times columns of a node from which on it is shared, and from which on each thread counts its own rows in a histogram of its own.
    """

    part: int
    n: int
    words: NDArray[np.int64]
    waiting: NDArray[np.int64]
    least: int
    tall: int


NOBODY_ELSE = Crew(0, 1, np.zeros(N_WORDS, np.int64), ALONE.words, 0, 0)


def by_crew(team: Threads, kernel: Kernel, given: tuple[Any, ...], tall: int, *then: Any) -> Any:
    """Have a kernel called by all of a team, each with its place in a crew behind what is given; what the first returns."""
    if team.n == 1:
        return kernel(*given, NOBODY_ELSE, *then)
    words, returned = np.zeros(N_WORDS, np.int64), []

    def work(part: int) -> None:
        found = kernel(*given, Crew(part, team.n, words, team.words, THREAD_WORK, tall), *then)
        if part == 0:
            returned.append(found)

    def give_up() -> None:
        words[GIVEN_UP] = 1

    team.together(work, give_up)
    return returned[0]


def is_worth_a_crew(n_rows: int, table: Table) -> bool:
    """Are these rows so many that several threads grow a tree sooner than one?"""
    return n_rows * (len(table.columns) - 1) >= THREAD_WORK * (NODES_OF_A_TREE if THREAD_WORK > 1 else 1)


@compiled_part
def call_others(crew):
    """Have the others come, if this is the first.

    They need Python for it, which one thread at a time may use: here this one does not, and nobody has to wait for it.
    """
    if crew.part == 0:
        for other in range(crew.waiting.shape[0]):
            add(crew.waiting[other], ASKED, 1)


@compiled_part
def meet(crew):
    """Wait until all are here; what any of them has written, all can read. False if one has given up, before the first has begun."""
    if crew.n == 1:
        return True
    words = crew.words
    turn = look(words, TURN)
    if add(words, ARRIVED, 1) == crew.n - 1:
        add(words, ARRIVED, -crew.n)
        add(words, TURN, 1)
        return True
    n_looks = 0
    while look(words, TURN) == turn and look(words, GIVEN_UP) == 0:
        n_looks += 1
        if n_looks > LOOKS:
            let_others_work()
    return look(words, GIVEN_UP) == 0


@compiled_part
def _alone(crew):
    return Crew(0, 1, crew.words, crew.waiting, crew.least, crew.tall)


@compiled_part
def crew_for_node(table, growth, crew):
    """The crew; but the first works alone where there is too little to do for the node at hand. The others then wait to meet it."""
    if crew.part > 0 or crew.n == 1 or growth.now[AT_HAND] < 0:
        return crew
    node = growth.nodes[growth.now[AT_HAND]]
    return crew if (node.end - node.start) * (table.columns.size - 1) >= crew.least else _alone(crew)


@compiled_part
def share(crew, start, end):
    """The part of a stretch that is this thread's."""
    n = end - start
    return start + n * crew.part // crew.n, start + n * (crew.part + 1) // crew.n


@compiled_part
def split_node(table, grid, rule, limits, growth, crew):
    """Split the node at hand, unless it is the root that is to be looked at first; each thread parts its own rows."""
    if growth.now[SPLITS]:
        for part in range(*share(crew, np.int64(0), np.int64(growth.stretch.shape[0]))):
            part_rows(table, growth, part)
        meet(crew)
        if crew.part == 0:
            make_job(grid, rule, limits, growth)
        meet(crew)


@compiled_part
def close_tree(table, growth, crew, leaf):
    """Tell each of the rows its leaf."""
    for part in range(*share(crew, np.int64(0), np.int64(growth.stretch.shape[0]))):
        tell_leaves(table, growth, part, leaf)
    meet(crew)
    if crew.part == 0:
        finish_nodes(growth)
