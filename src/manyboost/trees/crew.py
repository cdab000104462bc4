"""Threads that grow one tree together.

All of them run the same kernel. One, the first, does what cannot be shared, and small nodes, for which the others would take longer to be
told than to be without. Of large nodes each works on the rows that are its own, and on some of the columns. In between they meet: whoever
comes first looks again and again whether the others are there, which takes less than a microsecond, where Python takes many to wake a
thread. To write where another thread has read or written takes far longer than to write where nobody else did, so rows stay with theirs.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from manyboost.compiled import compiled_part
from manyboost.trees.binning import ROW_MAJOR, Table
from manyboost.trees.nodes import AT_HAND, SPLITS, finish_nodes, make_job, part_rows, tell_leaves

THREAD_WORK = 1 << 16  # rows times columns of a node from which on it is worth meeting
NODES_OF_A_TREE = 16  # as many times that must be in the root: to wake a thread, once for a tree, may take a quarter of a millisecond
CELLS_AT_RANDOM = 4  # are compared with thresholds while one is counted in a histogram
LOOKS = 2000  # in vain, after which a thread lets others use its core before it looks again
ARRIVED, GIVEN_UP, TURN, N_WORDS = 0, 1, 8, 16  # words that threads meet by, in cache lines of their own


class Crew(NamedTuple):
    """Who grows a tree: the number of this thread, how many there are, what they meet by, and how much work in a node is shared."""

    part: int
    n: int
    words: NDArray[np.int64]
    least: int


def work_worth_sharing(table: Table) -> int:
    """Rows times columns of a node from which on threads share it."""
    return THREAD_WORK * (CELLS_AT_RANDOM if table.layout == ROW_MAJOR else 1)


def is_worth_a_crew(n_rows: int, table: Table) -> bool:
    """Are these rows so many that several threads grow a tree sooner than one?"""
    return n_rows * (len(table.columns) - 1) >= work_worth_sharing(table) * (NODES_OF_A_TREE if THREAD_WORK > 1 else 1)


@intrinsic
def _look(typing: Any, words: Any, at: Any) -> Any:
    """``words[at]`` as it is now, whoever has written it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(words)(context, builder, arguments[0])
        return builder.load_atomic(cgutils.get_item_pointer(context, builder, words, held, [arguments[1]]), "seq_cst", 8)

    return types.int64(words, types.int64), generate


@intrinsic
def _add(typing: Any, words: Any, at: Any, amount: Any) -> Any:
    """Add to ``words[at]``, one thread after the other; what it was before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(words)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, words, held, [arguments[1]])
        return builder.atomic_rmw("add", place, builder.sext(arguments[2], ir.IntType(64)), "seq_cst")

    return types.int64(words, types.int64, types.int32), generate


if os.name == "posix":
    _let_others_work = types.ExternalFunction("sched_yield", types.int32())
else:

    @compiled_part
    def _let_others_work():
        return np.int32(0)


@compiled_part
def meet(crew):
    """Wait until all are here; what any of them has written, all can read. False if one has given up, before the first has begun."""
    if crew.n == 1:
        return True
    words = crew.words
    turn = _look(words, TURN)
    if _add(words, ARRIVED, 1) == crew.n - 1:
        _add(words, ARRIVED, -crew.n)
        _add(words, TURN, 1)
        return True
    n_looks = 0
    while _look(words, TURN) == turn and _look(words, GIVEN_UP) == 0:
        n_looks += 1
        if n_looks > LOOKS:
            _let_others_work()
    return _look(words, GIVEN_UP) == 0


@compiled_part
def crew_for_node(table, growth, crew):
    """The crew; but the first works alone where there is too little to do for the node at hand. The others then wait to meet it."""
    if crew.part > 0 or crew.n == 1 or growth.now[AT_HAND] < 0:
        return crew
    node = growth.nodes[growth.now[AT_HAND]]
    return crew if (node.end - node.start) * (table.columns.size - 1) >= crew.least else Crew(0, 1, crew.words, crew.least)


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
