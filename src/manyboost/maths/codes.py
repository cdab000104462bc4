"""Code words of classes and of sets of classes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
MAX_CLASSES_FOR_ALL = 16


def one_hot(labels: NDArray[np.integer], K: int) -> Floats:
    """1 at the label, 0 elsewhere: (n, K)."""
    return np.asarray(np.eye(K)[labels])


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


def separators(kind: str, K: int) -> Masks:
    """PIBoost's sets of classes, (number of sets, K): "singles", "pairs" (singles and pairs) or "all"."""
    if kind == "all" and K > MAX_CLASSES_FOR_ALL:
        raise ValueError(
            f"separators='all' makes 2**(K-1) - 1 trees a round, too many for K = {K} classes (at most {MAX_CLASSES_FOR_ALL}); "
            "use separators='pairs' or 'singles', or give a list of sets of classes."
        )
    sizes = range(1, {"singles": 1, "pairs": 2, "all": K // 2}[kind] + 1)
    return without_complements((members for size in sizes for members in combinations(range(K), size) if size < K), K)


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
