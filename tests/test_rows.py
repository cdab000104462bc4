"""Passes over rows beside plain numpy, step for step: columns, decisions and errors to the last bit, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from manyboost.maths.codes import separator_codes, separators
from manyboost.maths.steps import separator_root
from manyboost.rows import BITS_OF_WEIGHT, Decisions, Response, scaled_at_classes, sides_and_costs
from manyboost.threads import WORTH_SHARING, Threads

KINDS = ("votes", "some votes", "negative votes", "vectors", "one column", "numbers")


def leaf_vectors(kind, rng, K):
    """What five leaves add, and the first column they add it to."""
    if kind in ("vectors", "numbers"):
        return rng.integers(-2, 3, (5, K)).astype(float), 0
    if kind == "one column":
        return rng.standard_normal((5, 1)), int(rng.integers(K))
    vectors = np.zeros((5, K))
    vectors[np.arange(5), rng.integers(0, K, 5)] = rng.integers(1, 3, 5)  # whole numbers: there will be ties
    if kind == "some votes":
        vectors[rng.integers(5)] = 0.0
    return (-vectors if kind == "negative votes" else vectors), 0


def slow_error(columns, decoder, y, weight):
    scores = columns
    if decoder is not None:
        scores = np.zeros((len(y), decoder.shape[1]))
        leads = decoder - np.array([max(sorted(row), key=list(row).count) for row in decoder])[:, None]
        for k in range(decoder.shape[1]):
            used = np.flatnonzero(leads[:, k])
            for at in range(0, len(used), 2):
                products = columns[:, used[at : at + 2]] * leads[used[at : at + 2], k]
                scores[:, k] += products[:, 0] + (products[:, 1] if products.shape[1] == 2 else 0.0)
    exponent = BITS_OF_WEIGHT - int(np.frexp(weight.sum())[1])
    return int(np.rint(weight[scores.argmax(axis=1) != y] * 2.0**exponent).astype(np.int64).sum()) / 2**exponent


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n", [1, 700, WORTH_SHARING + 5])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_decisions(n, coded, equal, n_threads):
    rng = np.random.default_rng(n)
    K = 5
    decoder = separator_codes(separators("pairs", K)) if coded else None
    n_columns = K if decoder is None else len(decoder)
    y, weight = rng.integers(0, K, n), np.full(n, 0.3) if equal else rng.random(n)
    columns = np.zeros((n, n_columns))
    with Threads.of(n_threads) as threads, threads.sharing():
        decisions = Decisions(y, weight, n_columns, decoder)
        for kind in ("votes", *rng.permutation(np.repeat(KINDS, 3)), "votes", "votes"):
            vectors, column = leaf_vectors(kind, rng, n_columns)
            leaf = rng.integers(0, 5, n).astype(np.int32)
            response = Response(vectors, leaf)
            if kind == "numbers":
                response = Response(vectors[:1], np.zeros(n, np.int32), rng.uniform(-1, 1, n))
            decisions.add(response, column)
            columns[:, column : column + vectors.shape[1]] += response.at_rows()
            if rng.random() < 0.7:
                assert decisions.error() == slow_error(columns, decoder, y, weight), kind


def test_leaves_that_do_not_fit_are_refused():
    decisions = Decisions(np.zeros(3, np.intp), np.ones(3), 4, None)
    with pytest.raises(ValueError, match="leaves of 3 numbers do not fit columns 2 to 3"):
        decisions.add(Response(np.ones((1, 3)), np.zeros(3, np.int32)), 2)


def test_factors_sides_and_costs():
    rng = np.random.default_rng(0)
    n, K = 1000, 6
    values, factors, y, leaf = (
        rng.random(n),
        rng.random((4, K)),
        rng.integers(0, K, n).astype(np.uint16),
        rng.integers(0, 4, n).astype(np.int32),
    )
    np.testing.assert_array_equal(scaled_at_classes(values, factors, y, leaf), values * factors[leaf, y])
    side, cost = rng.integers(0, 2, K).astype(np.uint16), rng.random(K)
    label, weighted = sides_and_costs(values, side, cost, y)
    np.testing.assert_array_equal(label, side[y])
    np.testing.assert_array_equal(weighted, values * cost[y])


def test_the_root_of_a_separator_is_that_of_a_bracketing_method():
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(2000):
        K = int(rng.integers(2, 60)) if rng.random() < 0.9 else int(rng.integers(60, 2000))
        s = int(rng.integers(1, K)) if rng.random() < 0.5 else 1
        r = K - s
        A1, A2 = (rng.random(2) * 10.0 ** rng.integers(-20, 3, 2)).tolist()
        e1, e2 = A1 * float(rng.random() ** rng.integers(1, 12)), A2 * float(rng.random() ** rng.integers(1, 12))
        e1, e2 = 0.0 if rng.random() < 0.1 else e1, A2 if rng.random() < 0.1 else e2
        u, clipped = separator_root(s, K, A1, e1, A2, e2)

        def slope(v, r=r, s=s, e1=e1, e2=e2, A1=A1, A2=A2):
            terms = ((r, e1, A1 - e1), (s, e2, A2 - e2))
            return sum(rate * (bad * np.exp(min(rate * v, 700)) - good * np.exp(min(-rate * v, 700))) for rate, bad, good in terms)

        if not clipped:
            n_found += 1
            assert abs(u - brentq(slope, u - 1 / r, u + 1 / r, xtol=1e-15, rtol=1e-15)) <= 1e-14 * max(abs(u), 1.0)
    assert n_found > 1000


@pytest.mark.parametrize("n_threads", [1, 3])
def test_decisions_by_columns_that_somebody_else_keeps(n_threads):
    rng = np.random.default_rng(0)
    n, K = WORTH_SHARING + 7, 4
    y, weight, decoder = rng.integers(0, K, n), rng.random(n), rng.standard_normal((K, K))
    with Threads.of(n_threads) as team, team.sharing():
        for given in (None, decoder):
            own, shown = (Decisions(y, weight, K, given) for _ in range(2))
            columns = np.zeros((K, n)).T
            for _ in range(3):
                vectors, leaf = rng.integers(-2, 3, (5, K)).astype(float), rng.integers(0, 5, n).astype(np.int32)
                own.add(Response(vectors, leaf), 0)
                columns = np.asfortranarray(columns + vectors[leaf])
                shown.read(columns)
                assert shown.error() == own.error() == slow_error(columns, given, y, weight)
