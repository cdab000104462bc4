"""Passes over rows beside plain numpy, step for step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from manyboost.maths.steps import separator_root
from manyboost.maths.totals import total
from manyboost.rows import along_direction, scaled_at_classes, sides_and_costs
from manyboost.threads import WORTH_SHARING, Threads


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


def test_weights_along_a_direction():
    rng = np.random.default_rng(0)
    for K in (2, 3, 7):
        y, D, v = rng.integers(0, K, 500).astype(np.uint16), rng.exponential(size=(500, K)), rng.standard_normal(K)
        Y = 2 * np.eye(K)[y] - 1
        np.testing.assert_allclose(along_direction(D, v, y), np.column_stack([(Y * D) @ v, D @ v**2]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000, WORTH_SHARING + 5])
def test_a_total_is_the_same_on_any_number_of_threads(n):
    for values in (np.random.default_rng(n).lognormal(0, 5, n), np.random.default_rng(n).lognormal(0, 5, (n, 3))):
        alone = total(values)
        np.testing.assert_allclose(alone, values.sum(), rtol=1e-14)
        for n_threads in (2, 3):
            with Threads.of(n_threads) as team, team.sharing(np.array([0, n // 7, n // 2, n])):
                assert total(values) == alone


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
