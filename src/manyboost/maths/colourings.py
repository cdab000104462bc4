"""Colourings: which classes are +1 and which -1 in the binary problem of a round.

Gains that differ by less than a billionth count as equal, and the first of equals is taken, so that rounding decides nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.codes import MAX_CLASSES_FOR_ALL, exhaustive

Floats = NDArray[np.float64]
COLOURINGS = ("random_half", "random", "max_cut", "max_cut_greedy")
PAIRS = ("max_pair", "random_pair")  # two classes coloured, the others 0
DIGITS = 9


def pair_weights(D: Floats, y: NDArray[np.integer], K: int) -> Floats:
    """The weight of rows of class a against label b: (K, K)."""
    return np.array([D[y == k].sum(axis=0) for k in range(K)])


def colouring(kind: str, D: Floats, y: NDArray[np.integer], K: int, rng: np.random.Generator) -> Floats:
    """A colour for each class: (K,), both +1 and -1 among them."""
    if kind == "random_half":
        return np.where(rng.permutation(K) < K // 2, 1.0, -1.0)
    if kind == "random":
        mu = np.ones(K)
        while abs(mu.sum()) == K:
            mu = rng.choice([-1.0, 1.0], K)
        return mu
    if kind == "random_pair":
        return _pair(K, *rng.choice(K, 2, replace=False))
    weights = pair_weights(D, y, K)
    graph = weights + weights.T
    graph = np.round(graph / graph.max(), DIGITS)
    if kind == "max_pair":
        return _pair(K, *np.unravel_index(np.triu(graph, 1).argmax(), graph.shape))
    return max_cut(graph) if kind == "max_cut" else greedy_cut(graph)


def _pair(K: int, a: np.integer, b: np.integer) -> Floats:
    mu = np.zeros(K)
    mu[a], mu[b] = 1.0, -1.0
    return mu


def max_cut(graph: Floats) -> Floats:
    """The colouring with the most weight between classes of different colours, by trying all."""
    K = len(graph)
    if K > MAX_CLASSES_FOR_ALL:
        raise ValueError(
            f"colouring='max_cut' tries 2**(K-1) colourings, too many for K = {K} classes (at most {MAX_CLASSES_FOR_ALL}); "
            "use colouring='max_cut_greedy'."
        )
    colours = exhaustive(K).T
    cuts = -np.einsum("ca,ab,cb->c", colours, graph, colours, optimize=True)
    return np.asarray(colours[np.round(cuts, DIGITS - 1).argmax()])


def greedy_cut(graph: Floats) -> Floats:
    """A colouring with much weight between colours: pairs by falling weight, each end that is free opposite to the other."""
    K = len(graph)
    mu = np.zeros(K)
    a, b = np.triu_indices(K, 1)
    for pair in np.argsort(-graph[a, b], kind="stable"):
        i, j = a[pair], b[pair]
        if mu[i] == 0 and mu[j] == 0:
            mu[i], mu[j] = 1.0, -1.0
        elif mu[i] == 0:
            mu[i] = -mu[j]
        elif mu[j] == 0:
            mu[j] = -mu[i]
    return mu


def repartition(preference: Floats) -> Floats:
    """Li's colouring for given answers h (AdaBoost.ERP): the one that maximises sum D(i, l) (mu_y - mu_l) h(x_i).

    ``preference`` (K,) is, for each class, the sum of h over the weight of its own rows minus that over the weight against it.
    """
    return np.where(np.round(preference / max(np.abs(preference).max(), 1e-300), DIGITS) >= 0, 1.0, -1.0)
