"""Sums on the grids: the same in any order and division, never too large for 64 bits, and close to the true ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyboost.threads import WORTH_SHARING, Threads
from manyboost.trees import reference
from manyboost.trees.exact_sums import (
    COARSE_BITS,
    COARSE_BLOCK,
    TOTAL_BITS,
    exact_total,
    exponent_by_counts,
    fine_exponent,
    on_fine_grid,
    sum_leaves,
    to_coarse_grid,
    to_fine_grid,
)
from manyboost.trees.statistics import Statistics

many = settings(max_examples=300, deadline=None, derandomize=True)
ordinary = st.floats(-1e30, 1e30, allow_nan=False, allow_infinity=False)
extreme = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1022, 1e308, -1e308, 2.0**-1000])
lists = st.lists(ordinary, max_size=40) | st.lists(extreme, max_size=40)


@many
@given(lists)
def test_exponents_are_those_of_the_reference(values):
    assert fine_exponent(np.array(values)) == reference.fine_exponent(values)
    assert fine_exponent(np.array(values[:3]), np.array(values[3:]).reshape(-1, 1)) == reference.fine_exponent(values)
    assert exponent_by_counts(np.array(values)) == reference.fine_exponent(values)
    for less in (0, 1):
        first, second, exponent = to_coarse_grid(np.array(values[:3]), np.array(values[3:]), less)
        assert exponent == reference.coarse_exponent(values) - less
        assert [*first.tolist(), *second.tolist()] == [reference.on_grid(x, exponent) for x in values]


@pytest.mark.parametrize("small", [2.0**-30, 2.0**-60, 2.0**-70, 2.0**-200, 1e-320])
@pytest.mark.parametrize("unit", [1.0, 2.0**-1000, 2.0**900])
def test_exponents_at_a_power_of_two(small, unit):
    """There, what a row too small to be added may decide."""
    for n_small in (0, 1, 15, 16, 17):
        values = (np.array([1.0, 0.5, 0.25] + [0.25 - 16 * small] + [small] * n_small) * unit).tolist()
        assert fine_exponent(np.array(values)) == reference.fine_exponent(values)
        values = (np.array([1.0, 0.5, 0.25, 0.25] + [small] * n_small) * unit).tolist()
        assert fine_exponent(np.array(values)) == reference.fine_exponent(values)
    falling = [unit * 2.0**-e for e in range(70)]
    for n in range(70):
        for last in (1, 2, 3):
            values = falling[:n] + falling[n : n + 1] * last
            assert fine_exponent(np.array(values)) == reference.fine_exponent(values)
            first, second, exponent = to_fine_grid(np.array(values[:n]), np.array(values[n:]), 1, (np.empty, np.empty))
            assert exponent == reference.fine_exponent(values) - 1
            assert [*first.tolist(), *second.tolist()] == [reference.on_grid(x, exponent) for x in values]


@pytest.mark.parametrize("n", [200_000, WORTH_SHARING])
def test_exponents_of_many_values(n):
    values = np.random.default_rng(n).lognormal(0, 20, n)
    for numbers in (values, np.ones(n), np.full(n, 1e308), np.append(np.full(n, 2.0**-20 / n), 1.0)):  # and such as a little decides
        exponent = exponent_by_counts(numbers)
        assert exponent_by_counts(numbers[:7], numbers[7:]) == fine_exponent(numbers[:7], numbers[7:]) == fine_exponent(numbers) == exponent
    assert fine_exponent(values[:7], values[7:9], values[9:]) == fine_exponent(values)


@many
@given(lists)
def test_whole_numbers_are_those_of_the_reference_and_never_too_many_bits(values):
    exponent = fine_exponent(np.array(values))
    whole = on_fine_grid(np.array(values), exponent).tolist()
    assert whole == [reference.on_grid(x, exponent) for x in values]
    assert sum(abs(x) for x in whole) <= 2**TOTAL_BITS
    whole = to_coarse_grid(np.array(values), np.empty(0), 0)[0].tolist()
    assert max(map(abs, whole), default=0) <= 2**COARSE_BITS


@many
@given(st.lists(ordinary.filter(lambda x: abs(x) > 1e-200), min_size=1, max_size=40))
def test_the_bits_are_made_use_of(values):
    """A grid that is safe but coarse would pass every other test."""
    whole = on_fine_grid(np.array(values), fine_exponent(np.array(values))).tolist()
    assert sum(abs(x) for x in whole) >= 2 ** (TOTAL_BITS - 2) - len(values)
    largest = np.abs(to_coarse_grid(np.array(values), np.empty(0), 0)[0]).max()
    assert largest >= 2 ** (COARSE_BITS - 1)


@many
@given(lists, st.randoms(use_true_random=False), st.integers(1, 7))
def test_any_order_and_any_division_give_the_same_sum(values, random, n_parts):
    array = np.array(values)
    shuffled = values.copy()
    random.shuffle(shuffled)
    exponent = fine_exponent(array)
    assert fine_exponent(np.array(shuffled)) == exponent
    assert fine_exponent(*np.array_split(np.array(shuffled), n_parts)) == exponent
    parts = [int(on_fine_grid(part, exponent).sum()) for part in np.array_split(np.array(shuffled), n_parts)]
    assert sum(parts) == int(on_fine_grid(array, exponent).sum())
    with np.errstate(over="ignore"):  # of a total that is no longer a number
        assert exact_total(np.array(shuffled)) == exact_total(array)


@many
@given(st.lists(ordinary.filter(lambda x: x == 0 or abs(x) > 1e-200), max_size=40))
def test_the_sum_is_close_to_the_true_one(values):
    """Each value is off by half a unit at most, and a unit is less than 2^-60 of the absolute total."""
    bound = math.fsum(map(abs, values)) * (len(values) * 2.0**-61 + 2.0**-52)
    assert abs(exact_total(np.array(values)) - math.fsum(values)) <= bound


def test_values_just_below_a_power_of_two_in_great_number():
    """The bound is the next power of two: here it is all but reached."""
    for n in (1, 2, 3, 127, 128, 1000, 4096, 100_000):
        values = np.full(n, np.nextafter(2.0, 0))
        whole = on_fine_grid(values, fine_exponent(values))
        assert (whole > 0).all()
        assert sum(whole.tolist()) == int(whole.sum()) <= 2**TOTAL_BITS


def test_coarse_blocks_fit_into_32_bits():
    values = np.full(COARSE_BLOCK, np.nextafter(1.0, 0))
    whole, _, _ = to_coarse_grid(values, np.empty(0), 0)
    assert whole.dtype == np.int32
    assert sum(whole.tolist()) == COARSE_BLOCK * 2**COARSE_BITS < 2**31


def test_weights_over_forty_powers_of_two_are_not_lost():
    rng = np.random.default_rng(0)
    weight = 2.0 ** rng.uniform(-20, 20, 5000)
    whole = on_fine_grid(weight, fine_exponent(weight))
    assert whole.min() >= 2**8
    assert np.abs(np.ldexp(whole.astype(float), -fine_exponent(weight)) / weight - 1).max() < 2.0**-9
    assert exact_total(weight) == pytest.approx(math.fsum(weight), rel=1e-15)
    assert len({np.cumsum(rng.permutation(weight))[-1] for _ in range(20)}) > 1  # floating-point sums do differ
    assert len({exact_total(rng.permutation(weight)) for _ in range(20)}) == 1


def test_zeros_denormal_numbers_and_nothing():
    for values in ([], [0.0], [0.0, -0.0], [5e-324, -1e-310]):
        assert fine_exponent(np.array(values)) == 0
        assert exact_total(np.array(values)) == 0.0
    assert fine_exponent() == 0
    assert exact_total(np.array([1.0, 5e-324])) == 1.0
    assert exact_total(np.array([2.0**-1022] * 4)) == 0.0  # below 2^-1000, the finest grid there is
    assert exact_total(np.array([1e308] * 3 + [-1e308] * 3)) == 0.0


def random_statistics(rng, n):
    dense, label, weight = rng.standard_normal((n, 3)) * 2.0 ** rng.uniform(-20, 20, (n, 1)), rng.integers(0, 4, n), rng.random(n)
    return [Statistics.of_labels(label, weight, 4), Statistics.of_rows(dense), Statistics.of_both(dense, label, weight, 4)]


def test_leaf_sums_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    for n in (1, 2, 50, 500):
        leaf, order = rng.integers(0, 5, n).astype(np.int32), rng.permutation(n)
        for s in random_statistics(rng, n):
            sums = sum_leaves(s, leaf, 6)
            label, weight = (s.label[order], s.weight[order]) if s.n_labels else (s.label, s.weight)
            shuffled = Statistics(s.dense[order], label, weight, s.n_labels)
            np.testing.assert_array_equal(sum_leaves(shuffled, leaf[order], 6), sums)
            assert not sums[5].any()  # a leaf without rows
            full = np.column_stack([s.dense, np.eye(4)[s.label] * s.weight[:, None]]) if s.n_labels else s.dense
            for at in range(5):
                np.testing.assert_allclose(sums[at], full[leaf == at].sum(axis=0), rtol=1e-9, atol=1e-12 * np.abs(full).sum())


def test_leaf_sums_are_those_of_the_reference():
    rng = np.random.default_rng(1)
    for n in (1, 7, 60):
        leaf = rng.integers(0, 3, n).astype(np.int32)
        for s in random_statistics(rng, n):
            np.testing.assert_array_equal(sum_leaves(s, leaf, 3), reference.sum_leaves(s, leaf, 3))


def test_many_values_are_put_on_a_grid_by_several_threads_as_by_one():
    rng = np.random.default_rng(0)
    n = WORTH_SHARING // 2
    ends = np.array([0, 1000, n // 3, n])
    for dense, weight in (
        (rng.normal(0, 1e5, (n, 3)), np.empty(0)),
        (np.empty((n, 0)), rng.lognormal(0, 20, 2 * n)),
        (rng.normal(0, 1, (n, 2)), rng.lognormal(0, 3, n)),
        (np.full((n, 2), 2.0**-20 / (2 * n)), np.append(np.zeros(n - 1), 1.0)),  # of which a little decides
    ):
        exponent = exponent_by_counts(dense, weight)
        found = [to_fine_grid(dense, weight, 1, (np.empty, np.empty)), to_coarse_grid(dense, weight, 1)]
        with Threads.of(2) as team, team.sharing(ends):
            assert fine_exponent(dense, weight) == exponent
            shared = [to_fine_grid(dense, weight, 1, (np.empty, np.empty)), to_coarse_grid(dense, weight, 1)]
        largest = max(np.abs(dense).max(initial=0), np.abs(weight).max(initial=0))
        for exponent_asked, alone, together in zip((exponent - 1, reference.coarse_exponent([largest]) - 1), found, shared, strict=True):
            assert alone[2] == together[2] == exponent_asked
            for values, whole, other in zip((dense, weight), alone, together, strict=False):
                np.testing.assert_array_equal(whole, np.rint(np.ldexp(values, exponent_asked)).astype(np.int64))
                np.testing.assert_array_equal(other, whole)
