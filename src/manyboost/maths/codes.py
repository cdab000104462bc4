"""Code words of classes and of sets of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.code_matrices import row_distance

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
MAX_CLASSES_FOR_ALL = 16
MAX_CLASSES_FOR_PAIRS = 12
N_RANDOM_CODES = 200
MAX_DRAWS_OF_COLUMNS = 100


_identity = lru_cache(maxsize=8)(np.eye)  # asked for round after round


def one_hot(labels: NDArray[np.integer], K: int) -> Floats:
    """1 at the label, 0 elsewhere: (n, K)."""
    return _identity(K).take(labels, axis=0)


def symmetric(K: int) -> Floats:
    """Zhu et al.'s code words, a row for each class: 1 at the class, -1/(K-1) elsewhere."""
    return (K * np.eye(K) - 1) / (K - 1)


def without_complements(sets: Iterable[Iterable[int]], K: int) -> Masks:
    """Each set once, it or its complement: the smaller, or the one with class 0 where they are of one size."""
    masks: dict[tuple[int, ...], None] = {}
    for members in sets:
        inside = tuple(sorted(set(members)))
        outside = tuple(k for k in range(K) if k not in inside)
        kept = inside if (len(inside), 0 not in inside) <= (len(outside), 0 not in outside) else outside
        masks[kept] = None
    out = np.zeros((len(masks), K), bool)
    for row, members in zip(out, masks, strict=True):
        row[list(members)] = True
    return out


def is_choice_of_separators(value: Any) -> bool:
    """May this be separators: a name of some, or sets of classes?"""
    if isinstance(value, str):
        return value in ("auto", "singles", "pairs", "all")
    return isinstance(value, (list, tuple)) and all(isinstance(members, (list, tuple, set, frozenset, np.ndarray)) for members in value)


def separators_of(given: Any, labels: Sequence[Any]) -> Masks:
    """The named separators of these classes, or those given as sets of them. "auto" is "pairs", or "singles" where these are too many."""
    K = len(labels)
    if isinstance(given, str):
        few = "pairs" if K <= MAX_CLASSES_FOR_PAIRS else "singles"
        return separators(few if given == "auto" else given, K)
    for members in given:
        if any(label not in labels for label in members) or not 0 < len(set(members)) < K:
            raise ValueError(f"separators holds {members!r}; each must be some but not all of the classes {labels}.")
    if not given:
        raise ValueError("separators is empty; give at least one set of classes, or 'singles'.")
    return without_complements(([labels.index(label) for label in members] for members in given), K)


@lru_cache(maxsize=8)
def separators(kind: str, K: int) -> Masks:
    """PIBoost's sets of classes, (number of sets, K): "singles", "pairs" (singles and pairs) or "all"; not to be written to."""
    if kind == "all" and K > MAX_CLASSES_FOR_ALL:
        raise ValueError(
            f"separators='all' makes 2**(K-1) - 1 trees a round, too many for K = {K} classes (at most {MAX_CLASSES_FOR_ALL}); "
            "use separators='pairs' or 'singles', or give a list of sets of classes."
        )
    sizes = range(1, {"singles": 1, "pairs": 2, "all": K // 2}[kind] + 1)
    masks = without_complements((members for size in sizes for members in combinations(range(K), size) if size < K), K)
    masks.flags.writeable = False
    return masks


def are_single(masks: Masks) -> bool:
    """Is every class a separator of its own, and is there no other?"""
    return masks.shape[0] == masks.shape[1] and bool((masks.sum(axis=1) == 1).all())


def separator_codes(masks: Masks) -> Floats:
    """The vector y^S of each separator: 1/s inside S, -1/(K-s) outside."""
    s = masks.sum(axis=1, keepdims=True)
    return np.asarray(np.where(masks, 1.0 / s, -1.0 / (masks.shape[1] - s)))


def centring(K: int) -> Floats:
    """What takes the mean of K scores off each of them."""
    return np.eye(K) - 1 / K


def simplex(K: int) -> Floats:
    """K unit vectors of R^{K-1}, a row each, with the same angle between any two: they sum to zero."""
    s = np.zeros((K, K - 1))
    for j in range(K - 1):  # the j-th coordinate parts class j from those behind it
        rest = K - 1 - j
        s[j, j] = np.sqrt(K * rest / ((K - 1) * (rest + 1)))
        s[j + 1 :, j] = -s[j, j] / rest
    return s


def one_vs_all(K: int) -> Floats:
    """2I - J: a column for each class against the others; one column for two classes."""
    return (2 * np.eye(K) - 1)[:, : K if K > 2 else 1]


def exhaustive(K: int) -> Floats:
    """Every way to part the classes, once: (K, 2**(K-1) - 1)."""
    if K > MAX_CLASSES_FOR_ALL:
        raise ValueError(
            f"code='exhaustive' has 2**(K-1) - 1 columns, too many for K = {K} classes (at most {MAX_CLASSES_FOR_ALL}); use code='dense'."
        )
    bits = np.arange(1, 2 ** (K - 1))[None, :] >> np.arange(K)[:, None] & 1
    return np.where(bits > 0, -1.0, 1.0)[::-1]


CODES = ("dense", "sparse", "exhaustive", "one_vs_all")


def is_code(value: Any) -> bool:
    """May this be a code: a name of one, or a matrix?"""
    return value in CODES if isinstance(value, str) else isinstance(value, (list, tuple, np.ndarray))


def code_words(code: Any, K: int, seed: int) -> Floats:
    """The named code, or the given one if it can be one: a row for each class."""
    if isinstance(code, str):
        if code in ("dense", "sparse"):
            return random_code(code, K, seed)
        return exhaustive(K) if code == "exhaustive" else one_vs_all(K)
    M = np.asarray(code, np.float64)
    if len(M) != K:
        raise ValueError(f"code has {len(M)} rows; give one for each of the {K} classes, in the order of classes_.")
    check_code(M)
    return M


@lru_cache(maxsize=8)  # every round asks for it
def random_code(kind: str, K: int, seed: int) -> Floats:
    """The best of many random codes by the least distance of rows: "dense", +1 and -1, or "sparse", half of it 0 (Allwein et al. 2000).

    Codes of few classes, for which there are no more ways to part them than random columns, are exhaustive.
    """
    if K <= 6:  # 2**(K-1) - 1 <= 31
        return exhaustive(K)
    c, rng = int(np.ceil((10 if kind == "dense" else 15) * np.log2(K))), np.random.default_rng(seed)
    entries = np.array([-1.0, 1.0] if kind == "dense" else [-1.0, 0.0, 0.0, 1.0])
    best, farthest = np.empty((0, 0)), -1.0
    for _ in range(N_RANDOM_CODES):
        code = rng.choice(entries, (K, c))
        for _ in range(MAX_DRAWS_OF_COLUMNS):
            bad = _useless_columns(code)
            if not bad.any():
                break
            code[:, bad] = rng.choice(entries, (K, int(bad.sum())))
        distance = row_distance(code)
        if distance > farthest and not bad.any():
            best, farthest = code, distance
    check_code(best)
    best.flags.writeable = False
    return best


def _constant_columns(code: Floats) -> Masks:
    return np.asarray(~((code > 0).any(axis=0) & (code < 0).any(axis=0)))


def _useless_columns(code: Floats) -> Masks:
    """Columns that part nothing, or the same as an earlier one."""
    agreement = np.triu(np.abs(code.T @ code) >= np.maximum((code**2).sum(axis=0)[:, None], (code**2).sum(axis=0)), 1)
    return np.asarray(_constant_columns(code) | agreement.any(axis=0))


def check_code(code: Floats) -> None:
    """Refuse a code of which no class could be decoded, or a column that parts nothing."""
    if code.ndim != 2 or not np.isin(code, (-1.0, 0.0, 1.0)).all():
        raise ValueError("code must be a matrix of -1, 0 and +1, with a row for each class and a column for each binary problem.")
    for a, b in combinations(range(len(code)), 2):
        if (code[a] == code[b]).all():
            raise ValueError(f"code has equal rows {a} and {b}, so that their classes cannot be told apart; give each class its own row.")
    useless = np.flatnonzero(_constant_columns(code))
    if len(useless):
        raise ValueError(f"code has column {useless[0]} without both +1 and -1, which parts no classes; leave it out.")
