"""Waiting for another thread by looking at a word that it writes: a microsecond, where to be woken takes a hundred."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from manyboost.compiled import compiled, compiled_part

LOOKS = 2000  # in vain, after which a thread lets others use its core before it looks again


@intrinsic
def look(typing: Any, words: Any, at: Any) -> Any:
    """``words[at]`` as it is now, whoever has written it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(words)(context, builder, arguments[0])
        return builder.load_atomic(cgutils.get_item_pointer(context, builder, words, held, [arguments[1]]), "seq_cst", 8)

    return types.int64(words, types.int64), generate


@intrinsic
def add(typing: Any, words: Any, at: Any, amount: Any) -> Any:
    """Add to ``words[at]``, one thread after the other; what it was before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(words)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, words, held, [arguments[1]])
        return builder.atomic_rmw("add", place, builder.sext(arguments[2], ir.IntType(64)), "seq_cst")

    return types.int64(words, types.int64, types.int32), generate


if os.name == "posix":
    let_others_work = types.ExternalFunction("sched_yield", types.int32())
else:

    @compiled_part
    def let_others_work():
        return np.int32(0)


@compiled_part
def _look_until(words, at, least, most):
    n_looks = 0
    while look(words, at) < least and n_looks < most:
        n_looks += 1
        if n_looks > LOOKS:
            let_others_work()


@compiled
def look_until(words, at, least, most):
    """Look until ``words[at]`` is at least ``least``, but so many times at most."""
    _look_until(words, at, least, most)


@compiled
def tell_and_look_until(words, told, at, least, most):
    """The same, after one is added to ``words[told]``.

    Whoever looks at that goes on in Python, which one thread at a time may use: to be told from here, where this one does not, is to
    be told when it is free, and not to wait for it.
    """
    add(words, told, 1)
    _look_until(words, at, least, most)
