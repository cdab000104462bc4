"""Weights that a round scales at some rows, beside plain numpy, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from manyboost.lasting_weights import LastingWeights
from manyboost.maths.weights import RANGE
from manyboost.threads import WORTH_SHARING, Threads
from manyboost.trees.statistics import ROWS_OF_BLOCK


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n", [1, 1000, WORTH_SHARING + 5])
def test_rounds_beside_numpy(n, n_threads):
    rng = np.random.default_rng(n)
    K = 6
    y = np.sort(rng.integers(0, K, n)).astype(np.uint16)
    given = rng.random(n)
    plain, weights = given.copy(), LastingWeights.of(given)
    common = 1.0
    with Threads.of(n_threads) as threads, threads.sharing():
        for turn in range(1, 9):
            leaf, factors, factor = rng.integers(0, 3, n).astype(np.int32), np.ones((3, K)), rng.uniform(0.01, 20)
            factors[[0, 1, 2], rng.integers(0, K, 3)] = rng.random(3)
            before = plain.copy()
            plain *= factors[leaf, y]
            common *= factor
            weights = weights.scaled(factors, y, leaf, factor)
            np.testing.assert_array_equal(weights.values, plain)
            assert weights.total() == pytest.approx(plain.sum() * common, rel=1e-12)
            assert 1.0 <= weights.factor < 2.0
            assert weights.lasting.turn == turn
            touched = weights.lasting.changed == turn
            assert touched[np.flatnonzero(before != plain) // ROWS_OF_BLOCK].all()
    np.testing.assert_array_equal(given, LastingWeights.of(given).values)


def test_most_rows_are_left_alone():
    y = np.repeat(np.arange(10, dtype=np.uint16), 640)
    factors = np.ones((1, 10))
    factors[0, 3] = 0.5
    weights = LastingWeights.of(np.ones(6400)).scaled(factors, y, np.zeros(6400, np.int32), 1.0)
    np.testing.assert_array_equal(weights.lasting.changed, np.repeat(np.arange(10) == 3, 10))


@pytest.mark.parametrize("factor", [2.0**-90, 2.0**90])
def test_weights_stay_in_range_and_tell_that_all_have_changed(factor):
    weights = LastingWeights.of(np.array([1.0, 3.0, 5.0]))
    arrays = [weights.lasting.changed]
    for _ in range(30):
        weights = weights.scaled(np.full((1, 1), factor), np.zeros(3, np.uint16), np.zeros(3, np.int32), 1 / factor)
        assert abs(np.log2(weights.totals.sum())) <= RANGE + 90
        assert weights.total() == pytest.approx(9.0)
        arrays.append(weights.lasting.changed)
    np.testing.assert_allclose(weights.values / weights.values[0], [1, 3, 5])
    assert len({id(one) for one in arrays}) > 5
