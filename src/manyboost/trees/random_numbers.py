"""Random numbers that are a function of what they are for, so nothing is carried along and nothing can get lost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part

_WORD = 0xFFFFFFFFFFFFFFFF


@compiled
def mix(state):
    """SplitMix64: a well-mixed 64-bit word of a 64-bit word."""
    z = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled_part
def uniform(seed, first, second):
    """A number in [0, 1) for the pair (first, second)."""
    word = mix(mix(np.uint64(seed) ^ mix(np.uint64(first))) ^ np.uint64(second))
    return np.float64(word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _uniform_of_keys(seed, keys, out):
    for i in range(keys.size):
        out[i] = np.float64(mix(np.uint64(seed) ^ mix(keys[i])) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def uniform_of_keys(seed: int, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """A number in [0, 1) for each key."""
    out = np.empty(len(keys))
    _uniform_of_keys(np.uint64(seed), keys, out)
    return out


@compiled
def _mix_all(words, out):
    for i in range(words.size):
        out[i] = mix(words[i])


def words_of(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A well-mixed word of each word."""
    out = np.empty_like(words)
    _mix_all(words, out)
    return out


def seed_of(*words: int) -> int:
    """One 64-bit seed for a tuple such as (seed, round, problem)."""
    state = 0
    for word in words:
        state = _mixed(state ^ (word & _WORD))
    return state


def _mixed(state: int) -> int:
    """:func:`mix` of a Python number, for which a compiled call takes longer."""
    z = (state + 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)
