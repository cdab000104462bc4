"""Growing: the same tree for any threads, storage, order of rows and memory; limits; ties; where missing values go."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tree_cases import CRITERIA, FIELDS, Case, assert_same_tree, make, sparse_copy

from manyboost.threads import Threads
from manyboost.trees import crew, growing, reference
from manyboost.trees.binning import SPARSE, apply_bins, find_cuts, take_rows
from manyboost.trees.criteria import GINI_CRITERION, least_squares, newton
from manyboost.trees.growing import COARSE_TIE, FINE_TIE, Grower, GrowthLimits, Tree
from manyboost.trees.routing import MOST_LEVELS, ROWS_OF_NODE
from manyboost.trees.sampling import draw_by_weight
from manyboost.trees.statistics import Statistics

SPLITTERS = ("best", "random")


@pytest.fixture(scope="module")
def teams():
    with Threads.of(2) as two, Threads.of(3) as three:
        yield two, three


def labelled(X, label, weight=None, n_categories=None, **limits):
    """A case of label weights by Gini on a table that is written down."""
    X = np.asarray(X, np.float64)
    n_categories = np.zeros(X.shape[1], np.int32) if n_categories is None else np.array(n_categories, np.int32)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, np.float64)
    binning, chosen = find_cuts(X, np.ones(len(X)), n_categories, 255), GrowthLimits(**limits)
    statistics = Statistics.of_labels(np.asarray(label), weight, int(np.max(label)) + 1)
    return Case(X, binning, apply_bins(X, binning, chosen.layout), chosen, statistics, GINI_CRITERION, 0, None)


# ---- the same tree however it is made ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_many_rows_find_the_leaves_that_few_find(splitter):
    """Of many rows it is told first which way each code goes, and not asked for each."""
    n_quick = 0
    for seed in range(40):
        case = make(seed, CRITERIA[seed % len(CRITERIA)], splitter)
        if seed % 3 == 0:
            case = case.with_exclusive_columns()
        tree, leaf = case.grown()
        copies = -(-ROWS_OF_NODE * len(tree.nodes) // case.table.n_rows)
        many = take_rows(case.table, np.tile(np.arange(case.table.n_rows), copies))
        of_forest = tree.nodes.copy()
        of_forest["depth"] = 0  # which a tree that comes from a forest does not know
        for nodes in (tree.nodes, of_forest):
            np.testing.assert_array_equal(Tree(nodes, tree.sums).leaves_of(many), np.tile(leaf, copies))
        n_quick += case.table.layout != SPARSE and 2 < len(tree.nodes) and tree.nodes["depth"].max() <= MOST_LEVELS
    assert n_quick > 15


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("work", "rows_of_bin"), [(1, 0), (1, 2), (150, 2)])  # every node is shared, also by rows, or the larger ones
def test_threads(criterion, splitter, work, rows_of_bin, teams, monkeypatch):
    monkeypatch.setattr(crew, "THREAD_WORK", work)
    monkeypatch.setattr(growing, "ROWS_OF_BIN", rows_of_bin)
    n_shared = 0
    for seed in range(25):
        case = make(seed, criterion, splitter)
        if seed % 3 == 0:
            case = case.with_exclusive_columns()
        alone = case.grown()
        for team in teams:
            assert_same_tree(case.grown(team), alone, (criterion, splitter, seed, team.n))
        n_shared += case.table.n_rows * case.table.n_features >= work
    assert n_shared > 5


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_sparse_input(splitter, kind, teams, monkeypatch):
    monkeypatch.setattr(crew, "THREAD_WORK", 1)
    for seed in range(60):
        case = make(seed, CRITERIA[seed % 6], splitter)
        dense, sparse = case.grown(), case.on_matrix(sparse_copy(case.X, kind))
        assert_same_tree(sparse.grown(), dense, seed)
        assert_same_tree(sparse.grown(teams[0]), dense, seed)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_order_of_rows(splitter):
    for seed in range(60):
        case = make(seed, CRITERIA[seed % 6], splitter, all_rows=True)
        order = np.random.default_rng(seed).permutation(case.table.n_rows)
        s = case.statistics
        label, weight = (s.label[order], s.weight[order]) if s.n_labels else (s.label, s.weight)
        shuffled = replace(case, table=take_rows(case.table, order), statistics=Statistics(s.dense[order], label, weight, s.n_labels))
        tree, leaf = case.grown()
        assert_same_tree(shuffled.grown(), (tree, leaf[order]), seed)


def test_little_memory_for_histograms(monkeypatch):
    """A node whose histogram was not kept is filled anew."""
    cases = [make(seed, CRITERIA[seed % 6]) for seed in range(60)]
    roomy = [case.grown() for case in cases]
    monkeypatch.setattr(growing, "HISTOGRAM_BUDGET", 1)
    for seed, (case, expected) in enumerate(zip(cases, roomy, strict=True)):
        assert_same_tree(case.grown(), expected, seed)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_one_grower_for_many_trees(splitter):
    """Nothing of an earlier tree is left in the memory that is used again."""
    table_case = make(11, "gini", splitter, all_rows=True)
    n = table_case.table.n_rows
    grower = Grower(table_case.table, table_case.limits)
    others = [made for made in (make(seed, CRITERIA[seed % 6], splitter) for seed in range(300)) if made.table.n_rows == n]
    assert len(others) > 20
    for case in others:
        fresh = replace(case, table=table_case.table, limits=table_case.limits)
        assert_same_tree(grower.grow(case.statistics, case.criterion, case.seed, case.rows), fresh.grown())


def test_what_a_grower_holds_is_given_back_at_once():
    """One that held itself alive would keep its table and its working memory until the collector comes round."""
    case = labelled([[0.0], [1.0], [2.0]], [0, 1, 0])
    grower = Grower(case.table, case.limits)
    grower.grow(case.statistics, case.criterion, 0)
    held = weakref.ref(grower)
    gc.disable()
    try:
        del grower
        assert held() is None
    finally:
        gc.enable()


def test_statistics_are_not_changed():
    for seed in range(12):
        case = make(seed, CRITERIA[seed % 6])
        before = [part.copy() for part in (case.statistics.dense, case.statistics.label, case.statistics.weight, case.table.bins)]
        rows = None if case.rows is None else case.rows.copy()
        case.grown()
        for was, now in zip(before, (case.statistics.dense, case.statistics.label, case.statistics.weight, case.table.bins), strict=True):
            np.testing.assert_array_equal(was, now)
        if rows is not None:
            np.testing.assert_array_equal(rows, case.rows)


# ---- weights and repeated rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("max_leaf_nodes", [None, 6])
def test_a_weight_of_two_is_two_rows(splitter, max_leaf_nodes):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case = make(seed, "gini", splitter, all_rows=True)
        limits = GrowthLimits(max_leaf_nodes=max_leaf_nodes, splitter=splitter)
        times = rng.integers(1, 4, case.table.n_rows)
        label = case.statistics.label if case.statistics.n_labels else rng.integers(0, 6, case.table.n_rows)
        weighted = replace(case, limits=limits, statistics=Statistics.of_labels(label, times.astype(float), 6))
        ones = Statistics.of_labels(label, np.ones(len(label)), 6)
        repeated = replace(weighted, statistics=ones, rows=np.repeat(np.arange(len(label)), times).astype(np.int32))
        (one, one_leaf), (other, other_leaf) = weighted.grown(), repeated.grown()
        for name in set(FIELDS) - {"start", "end"}:
            np.testing.assert_array_equal(one.nodes[name], other.nodes[name], err_msg=f"{name}, {seed}")
        np.testing.assert_array_equal(one.sums, other.sums)
        np.testing.assert_array_equal(one_leaf, other_leaf)


def test_a_row_repeated_without_end_does_not_overflow():
    """The grid has room for 62 bits of the total of all rows once; copies must be given room of their own."""
    case = labelled([[0.0], [1.0], [2.0]], [0, 1, 0], weight=[1.0, 0.7, 0.9])
    rows = np.append(np.zeros(5000), np.repeat([1, 2], 3)).astype(np.int32)
    tree, leaf = replace(case, rows=rows).grown()
    assert tree.sums[0].tolist() == pytest.approx([5000 + 3 * 0.9, 3 * 0.7], rel=1e-15)
    assert leaf.tolist() == reference.grow(case.table, case.limits, case.statistics, case.criterion, 0, rows)[1].tolist()
    assert tree.n_leaves == 3


def test_rows_drawn_by_weight_without_labels():
    rng = np.random.default_rng(0)
    statistics = Statistics.of_rows(np.column_stack([rng.standard_normal(50), np.where(np.arange(50) < 5, 1e6, 1e-6)]))
    rows = draw_by_weight(statistics, 50, 3)
    assert len(rows) == 50
    assert set(rows) == set(range(5))  # the others weigh a millionth of a millionth


# ---- limits ------------------------------------------------------------------------------------------------------------------------------


def test_counts_and_fractions():
    on = GrowthLimits(min_samples_leaf=0.25, min_samples_split=0.301, min_weight_fraction_leaf=0.5).on(10, 8.0, 5)
    assert (on.max_depth, on.max_leaves, on.min_leaf, on.min_split, on.min_weight, on.best_first) == (10, 10, 3, 4, 4.0, False)
    assert (on.tie, int(on.seed)) == (FINE_TIE, 5)
    on = GrowthLimits(max_depth=3, max_leaf_nodes=20, min_samples_leaf=1, splitter="random").on(1000, 0.0, 2**64 - 1)
    assert (on.max_depth, on.max_leaves, on.min_leaf, on.min_split, on.best_first) == (3, 8, 1, 2, True)
    assert (on.tie, int(on.seed)) == (COARSE_TIE, 2**64 - 1)
    assert GrowthLimits(max_leaf_nodes=5).on(1000, 0.0, 0).max_leaves == 5
    assert GrowthLimits(min_samples_leaf=1.0).on(7, 0.0, 0).min_leaf == 7  # a float is a fraction: all rows
    for quarter in (np.float32(0.25), Fraction(1, 4)):
        on = GrowthLimits(min_samples_leaf=quarter, min_samples_split=2 * quarter).on(10, 0.0, 0)
        assert (on.min_leaf, on.min_split) == (3, 5)
    assert GrowthLimits(min_samples_leaf=np.int32(4)).on(10, 0.0, 0).min_leaf == 4
    assert GrowthLimits(max_depth=10**6).on(100, 0.0, 0).max_leaves == 100


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_limits_hold(criterion, splitter):
    for seed in range(60):
        case = make(seed, criterion, splitter)
        tree, leaf = case.grown()
        n = case.table.n_rows if case.rows is None else len(case.rows)
        on, nodes = case.limits.on(n, 0.0, 0), tree.nodes
        cover = nodes["end"] - nodes["start"]
        split = ~tree.is_leaf
        assert nodes["depth"].max() <= on.max_depth
        assert tree.n_leaves <= on.max_leaves
        assert (cover[split] >= on.min_split).all()
        assert len(nodes) == 1 or (cover >= on.min_leaf).all()
        assert cover[0] == n
        assert (cover[split] == cover[nodes["left"][split]] + cover[nodes["right"][split]]).all()
        assert (nodes["right"][split] == nodes["left"][split] + 1).all()  # the forest keeps only the left child
        assert (nodes["left"][split] > np.flatnonzero(split)).all()
        assert (nodes["left"][~split] == -1).all()
        assert not nodes["mask"][nodes["bin"] >= 0].any()
        drawn = leaf if case.rows is None else leaf[case.rows]
        np.testing.assert_array_equal(np.bincount(drawn, minlength=tree.n_leaves), cover[~split])
        np.testing.assert_array_equal(tree.leaves_of(case.table), leaf)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_least_weight_of_a_leaf(splitter):
    rng = np.random.default_rng(0)
    X, label, weight = rng.random((200, 3)), rng.integers(0, 2, 200), 2.0 ** rng.integers(0, 8, 200)
    free = labelled(X, label, weight, splitter=splitter).grown()[0]
    tree = labelled(X, label, weight, min_weight_fraction_leaf=0.1, splitter=splitter).grown()[0]
    share = tree.sums.sum(axis=1) / weight.sum()
    assert share.min() >= 0.1
    assert free.sums.sum(axis=1).min() / weight.sum() < 0.01
    assert 1 < tree.n_leaves < free.n_leaves


def test_best_first_makes_the_best_splits_first():
    rng = np.random.default_rng(0)
    X, label = rng.random((150, 4)), rng.integers(0, 3, 150)
    nodes = labelled(X, label, max_leaf_nodes=30).grown()[0].nodes
    made = sorted(np.flatnonzero(nodes["feature"] >= 0), key=lambda n: nodes["left"][n])  # in the order of time
    assert len(made) == 29
    n_waited = 0
    for at, n in enumerate(made):
        waiting = [later for later in made[at + 1 :] if later < nodes["left"][n]]  # leaves at that time
        assert all(nodes["gain"][later] <= nodes["gain"][n] for later in waiting)
        n_waited += len(waiting)
    assert n_waited > 50
    for n_leaves in range(2, 30):  # a smaller tree is the larger one at an earlier time
        smaller = labelled(X, label, max_leaf_nodes=n_leaves).grown()[0].nodes
        np.testing.assert_array_equal(np.sort(smaller["gain"])[::-1][: n_leaves - 1], np.sort(nodes["gain"][made[: n_leaves - 1]])[::-1])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "exponential", "newton", "least_squares"])
def test_gains_are_what_the_loss_falls_by(criterion):
    for seed in range(40):
        case = make(seed, criterion)
        rows = range(case.table.n_rows) if case.rows is None else case.rows.tolist()
        problem = reference.pose(case.table, case.limits, case.statistics, case.criterion, 0, rows)
        unit = 2.0 ** reference.grid_exponent(case.statistics, False, rows)
        tree, _ = case.grown()
        loss = np.array([problem.loss((sums * unit).tolist() + [0] * problem.counted) for sums in tree.sums]) / unit
        weight = np.array([problem.weight((sums * unit).tolist() + [0] * problem.counted) for sums in tree.sums]) / unit
        for n in np.flatnonzero(~tree.is_leaf):
            fall = loss[n] - loss[tree.nodes["left"][n]] - loss[tree.nodes["right"][n]]
            assert tree.nodes["gain"][n] > 0
            assert abs(tree.nodes["gain"][n] - fall) <= 2 * FINE_TIE * weight[n] + 1e-12 * (abs(loss[n]) + fall)


# ---- trees by hand -----------------------------------------------------------------------------------------------------------------------


def test_ties_go_to_the_lowest_feature_and_bin():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    tree, _ = labelled(np.column_stack([x * 0, x, x, -x]), [0, 0, 1, 1], max_depth=1).grown()
    assert (tree.nodes["feature"][0], tree.nodes["bin"][0]) == (1, 1)
    tree, leaf = labelled(x[:, None], [0, 1, 0, 1], max_depth=1).grown()  # after the first and before the last are equally good
    assert tree.nodes["bin"][0] == 0
    assert leaf.tolist() == [0, 1, 1, 1]


def test_gains_that_differ_by_less_than_the_tie_are_equal():
    """The second column parts the labels a hair better; a weight of 2^-40 of the total must not decide."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    for small, feature in ((2.0**-42, 0), (2.0**-20, 1)):
        tree, _ = labelled(X, [0, 0, 1, 1, 0], [1, 1, 1, 1, small], max_depth=1).grown()
        assert tree.nodes["feature"][0] == feature


def test_threshold_lies_midway_between_bins_that_hold_rows():
    X = np.arange(10.0)[:, None]
    case = labelled(X, [0] * 5 + [1] * 5, max_depth=1)
    tree, _ = replace(case, rows=np.array([0, 1, 8, 9], np.int32)).grown()
    assert tree.nodes["bin"][0] == 4  # bins 2 to 7 hold no row: 1 and 8 are the neighbours
    assert case.binning.thresholds(tree.nodes["feature"][:1], tree.nodes["bin"][:1]) == [4.5]


def test_missing_values_go_where_they_belong():
    nan = np.nan
    tree, leaf = labelled([[0.0], [1.0], [2.0], [nan], [nan]], [0, 0, 1, 0, 0]).grown()
    assert tree.nodes["missing_left"][0]
    assert leaf.tolist() == [0, 0, 1, 0, 0]
    tree, leaf = labelled([[0.0], [1.0], [2.0], [nan], [nan]], [0, 0, 1, 1, 1]).grown()
    assert not tree.nodes["missing_left"][0]
    assert leaf.tolist() == [0, 0, 1, 1, 1]


def test_being_missing_may_be_the_split():
    case = labelled([[0.0], [1.0], [2.0], [np.nan], [np.nan]], [0, 0, 0, 1, 1])
    tree, leaf = case.grown()
    assert tree.n_leaves == 2
    assert leaf.tolist() == [0, 0, 0, 1, 1]
    assert case.binning.thresholds(tree.nodes["feature"][:1], tree.nodes["bin"][:1]) == [np.inf]


def test_missing_values_never_seen_go_with_the_heavier_side():
    for weight, left in (([1, 1, 1.5], True), ([1, 1, 2], True), ([1, 1, 3], False)):
        tree, _ = labelled([[0.0], [1.0], [2.0]], [0, 0, 1], weight).grown()
        assert tree.nodes["missing_left"][0] == left


def test_categories_and_where_unseen_ones_go():
    X = np.array([0, 2, 4, 6, 69])[:, None].astype(float)
    tree, leaf = labelled(X, [0, 1, 0, 1, 0], n_categories=[70]).grown()
    assert (tree.nodes["bin"][0], tree.n_leaves) == (-1, 2)
    assert leaf[0] == leaf[2] == leaf[4] != leaf[1] == leaf[3]
    mask = sum(int(word) << 64 * at for at, word in enumerate(tree.nodes["mask"][0]))
    left = {c for c in range(70) if mask >> c & 1}
    used = {0, 4, 69} if leaf[0] == 0 else {2, 6}
    assert left & {0, 2, 4, 6, 69} == used
    unseen = set(range(70)) - {0, 2, 4, 6, 69}
    assert left & unseen == (unseen if tree.nodes["missing_left"][0] else set())
    assert tree.nodes["missing_left"][0] == (leaf[0] == 0)  # three rows weigh more than two
    assert mask >> 70 == 0


def test_nothing_to_split():
    for X, label in (([[1.0]] * 5, [0, 1, 0, 1, 1]), ([[1.0], [2.0]], [1, 1]), ([[np.nan]] * 3, [0, 1, 2])):
        tree, leaf = labelled(X, label).grown()
        assert (tree.n_leaves, len(tree.nodes)) == (1, 1)
        assert not leaf.any()
    tree, _ = labelled([[1.0], [2.0]], [0, 1], weight=[0.0, 0.0]).grown()
    assert tree.n_leaves == 1
    tree, _ = labelled([[1.0], [2.0], [3.0]], [0, 1, 0], min_samples_leaf=2).grown()
    assert tree.n_leaves == 1


def test_least_squares_finds_the_step():
    X = np.linspace(0, 1, 64)[:, None]
    target = np.where(X[:, 0] <= 0.4, 1.0, -2.0)
    case = labelled(X, np.zeros(64, int), max_depth=1)
    statistics = Statistics.of_rows(np.column_stack([target, np.ones(64)]))
    for criterion in (least_squares(1), newton(1, 0.0)):
        tree, leaf = replace(case, statistics=statistics, criterion=criterion).grown()
        assert leaf.tolist() == (target < 0).astype(int).tolist()
        value = tree.sums[:, 0] / tree.sums[:, 1]
        assert value[tree.is_leaf].tolist() == [1.0, -2.0]
        assert tree.nodes["gain"][0] == pytest.approx(((target - value[0]) ** 2).sum(), rel=1e-9)
