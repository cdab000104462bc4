"""Columns, decisions and errors beside plain numpy, to the last bit, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from manyboost.decisions import BITS_OF_WEIGHT, BYTES_OF_SCORE, MOST_BYTES_OF_ROW, Decisions
from manyboost.maths.codes import separator_codes, separators
from manyboost.rows import Response
from manyboost.threads import WORTH_SHARING, Threads

OF_LEAVES = ("votes of 2 leaves", "votes of 40 leaves", "votes of 300 leaves")
KINDS = ("votes", *OF_LEAVES, "some votes", "negative votes", "vectors", "one column", "numbers")


def leaf_vectors(kind, rng, K):
    """What five leaves, or many, add, and the first column they add it to."""
    if kind in ("vectors", "numbers"):
        return rng.integers(-2, 3, (5, K)).astype(float), 0
    if kind == "one column":
        return rng.standard_normal((5, 1)), int(rng.integers(K))
    n = int(kind.split()[2]) if "leaves" in kind else 5
    vectors = np.zeros((n, K))
    vectors[np.arange(n), rng.integers(0, K, n)] = rng.integers(1, 3, n)  # whole numbers: there will be ties
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
        decisions, expected = Decisions(y, weight, n_columns, decoder), []
        for kind in (
            "votes",
            *rng.permutation(np.repeat(KINDS, 3)),
            *["votes"] * (4 * (MOST_BYTES_OF_ROW if n < 1000 else BYTES_OF_SCORE * K) + 3),
            *["votes of 2 leaves"] * 20,  # in some of which both are for one label
            "votes of 40 leaves",
            "votes of 300 leaves",
        ):
            vectors, column = leaf_vectors(kind, rng, n_columns)
            leaf = rng.integers(0, len(vectors), n).astype(np.int32)
            response = Response(vectors, leaf)
            if kind == "numbers":
                response = Response(vectors[:1], np.zeros(n, np.int32), rng.uniform(-1, 1, n))
            decisions.add(response, column)
            columns[:, column : column + vectors.shape[1]] += response.at_rows()
            if rng.random() < 0.7:
                decisions.end_round()
                expected.append(slow_error(columns, decoder, y, weight))
            if rng.random() < 0.1:
                assert decisions.errors() == expected, kind
                expected = []
        assert decisions.errors() == expected


def test_leaves_that_do_not_fit_are_refused():
    decisions = Decisions(np.zeros(3, np.intp), np.ones(3), 4, None)
    with pytest.raises(ValueError, match="leaves of 3 numbers do not fit columns 2 to 3"):
        decisions.add(Response(np.ones((1, 3)), np.zeros(3, np.int32)), 2)


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
                own.end_round()
                shown.end_round()
                assert shown.errors() == own.errors() == [slow_error(columns, given, y, weight)]
