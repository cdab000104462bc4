"""Every kernel of the tree core against its slow twin in manyboost.trees.reference: equal integers, equal trees, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from tree_cases import CRITERIA, assert_same_tree, make, sparse_copy

from manyboost.trees import reference
from manyboost.trees.binning import MAX_SHARED_BINS, ROW_MAJOR, apply_bins, find_cuts
from manyboost.trees.code_sums import CODES_TO_PACK, sum_codes
from manyboost.trees.criteria import (
    ENTROPY,
    EXPONENTIAL,
    GINI,
    LEAST_SQUARES,
    NEWTON,
    SHARED_SIGN,
    Rule,
    newton,
    node_loss,
    node_weight,
    profile,
    profile_size,
    signed_loss,
)
from manyboost.trees.exact_sums import sum_leaves
from manyboost.trees.forest import Forest
from manyboost.trees.growing import GrowthLimits, to_grid
from manyboost.trees.histogram import add_labels, add_statistics, complete, find_runs, gather, of_feature, of_labels
from manyboost.trees.node_sums import sum_rows
from manyboost.trees.random_categories import find_categories
from manyboost.trees.random_numbers import mix, uniform, uniform_of_keys
from manyboost.trees.splitting import order_categories
from manyboost.trees.statistics import Statistics

N_TREES = 80  # for each criterion and splitter

# Parts of kernels can be called from compiled code only. Not cached: a cache would not notice that the part has changed.


@numba.njit
def call_node_loss(rule, sums, n_dense, n_labels):
    return node_loss(rule, sums, n_dense, n_labels)


@numba.njit
def call_node_weight(rule, sums, n_dense, n_labels):
    return node_weight(rule, sums, n_dense, n_labels)


@numba.njit
def call_signed_loss(rule, rest, left, right, sign):
    return signed_loss(rule, rest, left, right, sign)


@numba.njit
def call_profile(rule, sums, n_dense, n_labels):
    out = np.full(profile_size(rule.code, rule.n_outputs, n_dense, n_labels), np.nan)
    profile(rule, sums, n_dense, n_labels, out)
    return out


@numba.njit
def call_sum_rows(grid, rows, start, end):
    sums = np.full(grid.size, -1)
    sum_rows(grid, rows, start, end, sums)
    return sums


@numba.njit
def call_fill(table, grid, rows, start, end, whole, labels, weights, first, last, node_sums, hist):
    if grid.label.size and not whole:
        gather(grid, rows, start, end, labels, weights)
    runs = np.zeros(grid.size + 2, np.int64)
    hist[:] = 0
    n_parts, n_runs = 1 if whole else 2, 0  # rows in their order are one part
    for part in range(n_parts):
        begin, stop = start + (end - start) * part // n_parts, start + (end - start) * (part + 1) // n_parts
        if of_labels(table, grid):
            find_runs(labels, begin, stop, runs)
            add_labels(table, first, last, rows, begin, stop, whole, runs, labels, weights, np.uint64(grid.size), hist)
        else:
            add_statistics(table, grid, rows, begin, stop, first, last, hist)
        n_runs += runs[0]
    complete(table, grid, first, last, node_sums, hist)
    return n_runs


@numba.njit
def call_of_feature(table, f, size, node_sums, column_hist, own):
    of_feature(table, f, size, node_sums, column_hist, own)


@numba.njit
def call_order_categories(grid, rule, hist, order, n_used, position):
    order_categories(grid, rule, hist, order, n_used, position)


@numba.njit
def call_sum_codes(table, grid, rows, start, end, columns, places, hist):
    sum_codes(table, grid, rows, start, end, columns, places, hist)


@numba.njit
def call_uniform(seed, first, second):
    return uniform(seed, first, second)


def test_random_numbers():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (200, 3), dtype=np.uint64)
    for seed, first, second in words.tolist():
        assert int(mix(np.uint64(seed))) == reference.mix(seed)
        assert call_uniform(np.uint64(seed), first >> 33, second >> 40) == reference.uniform(seed, first >> 33, second >> 40)
    found = uniform_of_keys(7, words[:, 0])
    assert found.tolist() == [(reference.mix(7 ^ reference.mix(key)) >> 11) / 2**53 for key in words[:, 0].tolist()]
    assert 0 <= found.min() < found.max() < 1


def random_sums(rng, code):
    """Sums such as nodes have, of any size up to 61 bits, some of them zero."""
    K, n_dense = int(rng.integers(1, 6)), 0

    def amount(*shape):
        values = (2.0 ** rng.uniform(0, 58, shape)).astype(np.int64)
        return values * rng.integers(0, 2, shape) if rng.random() < 0.3 else values

    if code in (GINI, ENTROPY):
        n_dense = int(rng.integers(0, 3))
        sums, n_labels = np.append(amount(n_dense), amount(K)), K
        if rng.random() < 0.3:  # rows without labels: the dense numbers are the labels' weights
            n_dense, n_labels = n_dense + K, 0
    elif code == EXPONENTIAL:
        inside, outside = amount(K), amount(K)
        sums, n_dense, n_labels = np.append(inside + outside, inside), K, K
        if rng.random() < 0.3:
            n_dense, n_labels = 2 * K, 0
    else:
        gradient = amount(K) * rng.choice([-1, 1], K)
        sums = np.append(gradient, amount(K if code == NEWTON else 1))
        n_dense, n_labels = len(sums), 0
    constants = 2.0 ** rng.uniform(50, 60, K) if code == SHARED_SIGN else rng.choice([0.0, 1.0, 2.0**40], 1)
    return Rule(code, K, constants), sums.astype(np.int64), n_dense, n_labels


@pytest.mark.parametrize("code", [GINI, ENTROPY, EXPONENTIAL, NEWTON, LEAST_SQUARES, SHARED_SIGN])
def test_losses_weights_and_profiles(code):
    rng = np.random.default_rng(code)
    for _ in range(300):
        rule, sums, n_dense, n_labels = random_sums(rng, code)
        whole = sums.tolist()
        assert call_node_weight(rule, sums, n_dense, n_labels) == reference.node_weight(rule, whole, n_dense, n_labels)
        assert call_profile(rule, sums, n_dense, n_labels).tolist() == reference.profile(rule, whole, n_dense, n_labels)
        if code == SHARED_SIGN:  # a loss of trees, not of nodes
            K = rule.n_outputs
            rest, left, right = (rng.integers(-(2**58), 2**58, K) for _ in range(3))
            for sign in (1, -1):
                signed = [int(rest[k]) + sign * (int(left[k]) - int(right[k])) for k in range(K)]
                assert call_signed_loss(rule, rest, left, right, sign) == reference.signed_loss(rule, signed)
        else:
            assert call_node_loss(rule, sums, n_dense, n_labels) == reference.node_loss(rule, whole, n_dense, n_labels)


def test_losses_are_those_of_the_table_of_criteria():
    """By hand, so that a slip in both twins would show."""
    one = np.array([0.0])
    assert reference.node_loss(Rule(GINI, 0, one), [1, 3], 0, 2) == 2 * 1 * 3 / 4
    assert reference.node_loss(Rule(GINI, 0, one), [1, 3, 4], 0, 3) == pytest.approx(2 * (1 * 3 + 1 * 4 + 3 * 4) / 8, rel=1e-15)
    assert reference.node_loss(Rule(GINI, 0, one), [1, 3], 2, 0) == 2 * 1 * 3 / 4
    assert reference.node_loss(Rule(EXPONENTIAL, 2, one), [5, 10, 1, 2], 4, 0) == 2 * (2 + 4)
    expected = np.log(8) + 3 * np.log(8 / 3) + 4 * np.log(2)
    assert reference.node_loss(Rule(ENTROPY, 0, one), [1, 3, 4, 0], 0, 4) == pytest.approx(expected, rel=1e-15)
    assert reference.node_loss(Rule(EXPONENTIAL, 2, one), [5, 10, 1, 2], 2, 2) == 2 * (2 + 4)
    assert reference.node_loss(Rule(NEWTON, 2, np.array([1.0])), [-4, 3, 3, 2], 4, 0) == -(16 / 4 + 9 / 3)
    assert reference.node_loss(Rule(LEAST_SQUARES, 2, np.array([1.0])), [-4, 2, 3], 3, 0) == -(16 + 4) / 4
    assert reference.signed_loss(Rule(SHARED_SIGN, 2, np.array([5.0, 13.0])), [-4, 12]) == 3 + 5


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_histograms(kind):
    n_runs = 0
    for seed in range(90):
        case = make(seed, CRITERIA[seed % 6])
        if kind != "dense":
            case = case.on_matrix(sparse_copy(case.X, kind))
        n, p = case.table.n_rows, case.table.n_features
        rng = np.random.default_rng(seed)
        whole = case.rows is None and seed % 2 == 0
        rows = np.arange(n, dtype=np.int32) if whole else rng.integers(0, n, 2 * n).astype(np.int32)
        if len(case.statistics.label) and not whole and rng.random() < 0.7:  # so that there are runs of one label
            rows = rows[np.argsort(case.statistics.label[rows], kind="stable")]
        start, end = (0, n) if whole else sorted(rng.integers(0, 2 * n + 1, 2).tolist())
        problem = reference.pose(case.table, case.limits, case.statistics, case.criterion, 0, rows)
        grid, _ = to_grid(case.statistics, False, rows)
        grid = grid._replace(size=problem.size, counted=problem.counted)
        node_sums = call_sum_rows(grid, rows, start, end)
        assert node_sums.tolist() == reference.total((problem.amounts[i] for i in rows[start:end]), problem.size)
        labels = grid.label.copy() if whole else np.empty(len(rows), np.uint16)
        weights = grid.weight.copy() if whole else np.empty(len(rows), np.int64)
        offset = case.table.features["offset"]
        for first in range(0, p, 4):
            last = min(first + 4, p)
            hist = np.full((offset[last] - offset[first]) * grid.size, 99, np.int64)
            n_runs += call_fill(case.table, grid, rows, start, end, whole, labels, weights, first, last, node_sums, hist)
            expected = [reference.histogram(problem, rows[start:end].tolist(), f) for f in range(first, last)]
            assert hist.reshape(-1, grid.size).tolist() == [sums for feature in expected for sums in feature], (seed, first)
    assert n_runs > 30 or kind != "dense"


def test_histograms_of_shared_columns():
    n_shared = 0
    for seed in range(60):
        case = make(seed, CRITERIA[seed % 6]).with_exclusive_columns()
        rows = np.random.default_rng(seed).integers(0, case.table.n_rows, 30).astype(np.int32)
        problem = reference.pose(case.table, case.limits, case.statistics, case.criterion, 0, rows)
        grid = to_grid(case.statistics, False, rows)[0]._replace(size=problem.size, counted=problem.counted)
        node_sums = call_sum_rows(grid, rows, 0, 30)
        labels, weights = np.empty(30, np.uint16), np.empty(30, np.int64)
        columns = case.table.columns
        for c in range(len(columns) - 1):
            hist = np.full((columns["offset"][c + 1] - columns["offset"][c]) * grid.size, 99, np.int64)
            call_fill(case.table, grid, rows, 0, 30, False, labels, weights, c, c + 1, node_sums, hist)
            for f in range(columns["first"][c], columns["first"][c + 1]):
                if case.table.features["start"][f] >= 0:
                    own = np.full((MAX_SHARED_BINS + 1) * grid.size, 99, np.int64)
                    call_of_feature(case.table, f, grid.size, node_sums, hist, own)
                    expected = reference.histogram(problem, rows.tolist(), f)
                    assert own[: len(expected) * grid.size].reshape(-1, grid.size).tolist() == expected
                    n_shared += 1
    assert n_shared > 300


@pytest.mark.parametrize("n_codes", [3, CODES_TO_PACK, CODES_TO_PACK + 1, 255])
def test_sums_of_codes(n_codes):
    """Two statistics are added up in one word where there are few codes: also where all rows have the largest values of one sign."""
    rng = np.random.default_rng(0)
    largest = 2.0**24 - 1
    for values in (rng.uniform(-largest, largest, (1000, 2)), np.full((1000, 2), largest), np.full((1000, 2), -largest)):
        codes = rng.integers(0, n_codes, (1000, 3)).astype(float)
        codes[500:, 1] = 0
        table = apply_bins(codes, find_cuts(codes, np.ones(1000), np.zeros(3, np.int32), 255), ROW_MAJOR)
        grid, _ = to_grid(Statistics.of_rows(np.rint(values)), random=True)
        rows, columns = rng.permutation(1000).astype(np.int32), np.array([0, 2, 1], np.uint64)
        hist = np.zeros(2 * 3 * n_codes, np.int64)
        call_sum_codes(table, grid, rows, 10, 990, columns, np.arange(3, dtype=np.uint64) * np.uint64(2 * n_codes), hist)
        expected = np.zeros((3, n_codes, 2), np.int64)
        for i in rows[10:990]:
            for at, c in enumerate(columns):
                expected[at, table.bins[i, c]] += grid.dense[i]
        assert (hist.reshape(3, n_codes, 2) == expected).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_order_of_categories(criterion):
    rng = np.random.default_rng(CRITERIA.index(criterion))
    n_moved = 0
    for seed in range(40):
        case = make(seed, criterion, all_rows=True)
        problem = reference.pose(case.table, case.limits, case.statistics, case.criterion, 0, range(case.table.n_rows))
        categories = rng.integers(0, min(case.table.n_rows, 30), case.table.n_rows).tolist()
        hist = [reference.total((problem.amounts[i] for i, c in enumerate(categories) if c == b), problem.size) for b in range(30)]
        used = [b for b in range(30) if any(hist[b])]
        pairs = criterion == "pair_of_classes"
        grid = to_grid(case.statistics, False, pairs=pairs)[0]._replace(size=problem.size, counted=problem.counted)
        order = np.array(used + [0] * (30 - len(used)))
        if len(used) > 1:
            call_order_categories(grid, problem.rule, np.array(hist, np.int64).ravel(), order, len(used), np.empty(len(used)))
        expected = reference.order_categories(problem, hist, used)
        assert order[: len(used)].tolist() == expected, seed
        n_moved += expected != used
    assert n_moved > 20


def test_two_labels_put_categories_in_the_order_of_their_shares():
    case = make(0, "gini")
    statistics = Statistics.of_labels(np.arange(case.table.n_rows) % 2, np.ones(case.table.n_rows), 2)
    problem = reference.pose(case.table, GrowthLimits(), statistics, case.criterion, 0, range(case.table.n_rows))
    hist = [[5, 5], [0, 8], [9, 1], [1, 1], [7, 0]]
    order = reference.order_categories(problem, hist, range(5))
    assert order in ([1, 0, 3, 2, 4], [4, 2, 0, 3, 1])


def compare_trees(criterion, splitter, seeds):
    for seed in seeds:
        case = make(seed, criterion, splitter)
        expected = reference.grow(case.table, case.limits, case.statistics, case.criterion, case.seed, case.rows)
        assert_same_tree(case.grown(), expected, (criterion, splitter, seed))
        yield expected[0]


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees(criterion, splitter):
    trees = list(compare_trees(criterion, splitter, range(N_TREES)))
    splits = np.concatenate([tree.nodes[~tree.is_leaf] for tree in trees])
    # the comparison would be worth little if nothing happened in it
    assert len(splits) > N_TREES / 2
    assert (splits["bin"] < 0).sum() >= 5
    assert 0.1 < splits["missing_left"].mean() < 0.9


def test_trees_of_many_columns_of_few_categories():
    """Where neighbouring columns have few codes, those of large nodes are summed side by side."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        case = make(seed, "newton", "random", all_rows=True)
        n, most = int(rng.integers(50, 300)), int(rng.integers(2, 9))
        n_categories = rng.integers(1, most + 1, int(rng.integers(18, 50))).astype(np.int32)
        X = np.column_stack([rng.integers(0, k, n).astype(float) for k in n_categories])
        X[:, -1] = rng.standard_normal(n)  # a number, and categories too many to be compared one by one
        n_categories[-1], n_categories[3] = 0, 40
        X[:, 3] = rng.integers(0, 40, n)
        X[rng.random(X.shape) < rng.choice([0.0, 0.1])] = np.nan
        binning = find_cuts(X, np.ones(n), n_categories, 255)
        table = apply_bins(X, binning, ROW_MAJOR)
        statistics = Statistics.of_rows(np.column_stack([rng.standard_normal(n), rng.random(n) * (rng.random(n) < 0.9)]))
        limits = GrowthLimits(max_leaf_nodes=12, splitter="random", min_samples_leaf=int(rng.choice([1, 1, 3])))
        case = replace(case, X=X, binning=binning, table=table, limits=limits, statistics=statistics, criterion=newton(1, 0.5))
        assert find_categories(table, 2, np.empty(0, np.int64), np.empty(0)).n_codes.any()
        expected = reference.grow(case.table, case.limits, case.statistics, case.criterion, case.seed, case.rows)
        assert_same_tree(case.grown(), expected, seed)
        assert (expected[0].nodes["bin"][~expected[0].is_leaf] < 0).any()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees_of_shared_columns(criterion):
    n_used = 0
    for seed in range(25):
        case = make(seed, criterion).with_exclusive_columns()
        expected = reference.grow(case.table, case.limits, case.statistics, case.criterion, case.seed, case.rows)
        assert_same_tree(case.grown(), expected, seed)
        assert_same_tree(case.on_matrix(case.X).grown(), expected, seed)  # each in a column of its own
        n_used += int((case.table.features["start"][expected[0].nodes["feature"]] >= 0).sum())
    assert n_used > 3


@pytest.mark.trust
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_trees(criterion, splitter):
    assert len(list(compare_trees(criterion, splitter, range(10_000, 10_420)))) == 420


def test_leaf_sums():
    for seed in range(60):
        case = make(seed, CRITERIA[seed % 6])
        tree, leaf = case.grown()
        expected = reference.sum_leaves(case.statistics, leaf, tree.n_leaves)
        np.testing.assert_array_equal(sum_leaves(case.statistics, leaf, tree.n_leaves), expected)


def test_scores():
    rng = np.random.default_rng(0)
    for seed in range(40):
        case = make(seed, "gini", ("best", "random")[seed % 2])
        n, forest = len(case.X), Forest.empty(4)
        for round_ in range(3):
            tree, _ = replace(case, rows=rng.integers(0, n, n).astype(np.int32)).grown()
            width = int(rng.integers(1, 4))
            vectors = rng.standard_normal((tree.n_leaves, width))
            forest = forest.extended([(tree, vectors, int(rng.integers(0, 5 - width)), round_)], case.binning)
        X = case.X[rng.integers(0, n, 30)]
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        np.testing.assert_array_equal(forest.columns(X), reference.score(forest, X))
