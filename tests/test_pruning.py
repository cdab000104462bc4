"""Pruning: what is merged changes no answer, the cost-complexity sequence is scikit-learn's, and the choice among it is the best."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import ccp_pruning_path
from tree_cases import Case, columns, positive

from manyboost import SAMMEClassifier
from manyboost.trees.binning import apply_bins, find_cuts
from manyboost.trees.criteria import ENTROPY_CRITERION, GINI_CRITERION
from manyboost.trees.forest import Forest
from manyboost.trees.growing import Grower, GrowthLimits, Tree
from manyboost.trees.nodes import NODE
from manyboost.trees.pruning import N_FOLDS, _collapsed, merge_equal_leaves, prune_by_cost_complexity, weakest_links
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Statistics


def make(seed, n=None, ones=False):
    """Labels that have something to do with the columns, and noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 160)) if n is None else n
    X, n_categories = columns(rng, n, int(rng.integers(1, 5)))
    K = int(rng.integers(2, 5))
    label = (np.nan_to_num(X).sum(axis=1) > 0).astype(int) + (rng.random(n) < 0.3) * rng.integers(0, K - 1, n)
    binning = find_cuts(X, np.ones(n), n_categories, 64)
    limits = GrowthLimits(max_leaf_nodes=(None, 12)[rng.integers(2)], splitter=("best", "best", "random")[rng.integers(3)])
    weight = np.ones(n) if ones else positive(rng, n) + 2.0**-21
    statistics = Statistics.of_labels(label, weight, K)
    criterion = (GINI_CRITERION, ENTROPY_CRITERION)[rng.integers(2)]
    rows = rng.integers(0, n, n).astype(np.int32) if rng.random() < 0.3 else None
    return Case(X, binning, apply_bins(X, binning, limits.layout), limits, statistics, criterion, seed, rows)


def said(tree):
    """The label each leaf says."""
    return tree.sums[tree.is_leaf].argmax(axis=1)


def training_error(tree):
    return float((tree.sums.sum(axis=1) - tree.sums.max(axis=1))[tree.is_leaf].sum())


def assert_well_formed(tree, whole, case):
    """A tree the forest can hold: children side by side, after their parent; every row in the leaf that has its rows."""
    nodes, split = tree.nodes, ~tree.is_leaf
    assert (nodes["right"][split] == nodes["left"][split] + 1).all()
    assert (nodes["left"][split] > np.flatnonzero(split)).all()
    assert (nodes["left"][~split] == -1).all()
    assert (nodes["right"][~split] == -1).all()
    assert not nodes["gain"][~split].any()
    assert not nodes["mask"][~split].any()
    assert sorted([0, *nodes["left"][split], *nodes["right"][split]]) == list(range(len(nodes)))
    leaf = tree.leaves_of(case.table)
    drawn = leaf if case.rows is None else leaf[case.rows]
    np.testing.assert_array_equal(np.bincount(drawn, minlength=tree.n_leaves), (nodes["end"] - nodes["start"])[~split])
    # a leaf of the pruned tree is a union of leaves of the whole one
    pairs = np.unique(np.column_stack([whole.leaves_of(case.table), leaf]), axis=0)
    assert len(pairs) == len(np.unique(pairs[:, 0]))
    vectors = np.random.default_rng(0).standard_normal((tree.n_leaves, 2))
    forest = Forest.empty(2).extended([(tree, vectors, 0, 0)], case.binning)
    np.testing.assert_array_equal(forest.columns(case.X), vectors[leaf])


# ---- merging -----------------------------------------------------------------------------------------------------------------------------


def test_merging_changes_no_answer_and_leaves_nothing_to_merge():
    n_merged = 0
    for seed in range(120):
        case = make(seed)
        tree, leaf = case.grown()
        merged = merge_equal_leaves(tree)
        assert_well_formed(merged, tree, case)
        np.testing.assert_array_equal(said(merged)[merged.leaves_of(case.table)], said(tree)[leaf])
        assert training_error(merged) == pytest.approx(training_error(tree), rel=1e-12)
        label, split = merged.sums.argmax(axis=1), np.flatnonzero(~merged.is_leaf)
        left, right = merged.nodes["left"][split], merged.nodes["right"][split]
        assert not (merged.is_leaf[left] & merged.is_leaf[right] & (label[left] == label[right])).any()
        assert len(merge_equal_leaves(merged).nodes) == len(merged.nodes)
        n_merged += len(merged.nodes) < len(tree.nodes)
    assert n_merged > 25


def test_merging_goes_up_as_far_as_it_can():
    nodes = np.zeros(7, NODE)
    nodes["left"], nodes["right"] = [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]
    nodes["feature"], nodes["bin"] = [0, 0, 0, -1, -1, -1, -1], [4, 2, 6, -1, -1, -1, -1]
    leaves = np.array([[3.0, 1.0], [2.0, 0.0], [5.0, 4.0], [7.0, 1.0]])
    sums = np.vstack([leaves.sum(axis=0), leaves[:2].sum(axis=0), leaves[2:].sum(axis=0), leaves])
    assert merge_equal_leaves(Tree(nodes, sums)).nodes["feature"].tolist() == [-1]
    sums[6] = [1.0, 7.0]  # the last leaf says otherwise: its branch stays, the other is merged
    merged = merge_equal_leaves(Tree(nodes, sums))
    assert merged.nodes["left"].tolist() == [1, -1, 3, -1, -1]
    assert merged.nodes["bin"].tolist() == [4, -1, 6, -1, -1]
    np.testing.assert_array_equal(merged.sums, sums[[0, 1, 2, 5, 6]])


# ---- the cost-complexity sequence --------------------------------------------------------------------------------------------------------


def by_definition(tree, price):
    """The smallest of the subtrees of least error plus price times leaves, from the bottom up (Breiman et al. 1984, 3.3)."""
    error = tree.sums.sum(axis=1) - tree.sums.max(axis=1)
    cost, collapse = error + price, np.zeros(len(error), bool)
    for n in np.flatnonzero(~tree.is_leaf)[::-1]:
        branch = cost[tree.nodes["left"][n]] + cost[tree.nodes["right"][n]]
        collapse[n] = cost[n] <= branch * (1 + 1e-11)
        cost[n] = min(cost[n], branch)
    return _collapsed(tree, collapse)


def test_sequence_is_that_of_the_definition():
    """At prices between the steps the pruned tree is the one of least cost; at each step it grows smaller."""
    for seed in range(80):
        case = make(seed)
        tree, _ = case.grown()
        steps, collapsed_at = weakest_links(tree)
        assert steps[0] == 0.0
        assert (np.diff(steps) > 0).all()
        sizes = []
        for price in np.append((steps[:-1] + steps[1:]) / 2, steps[-1] * 1.001 + 1e-9):
            pruned = _collapsed(tree, collapsed_at <= price)
            assert_well_formed(pruned, tree, case)
            np.testing.assert_array_equal(pruned.nodes, by_definition(tree, price).nodes)
            sizes.append(pruned.n_leaves)
        assert sizes[-1] == 1
        assert all(a > b for a, b in itertools.pairwise(sizes))


def from_sklearn(fitted):
    """scikit-learn's tree as one of ours; the weights are whole numbers."""
    source = fitted.tree_
    nodes = np.zeros(source.node_count, NODE)
    nodes["left"], nodes["right"] = source.children_left, source.children_right
    nodes["feature"] = np.where(source.children_left < 0, -1, source.feature)
    return Tree(nodes, np.round(source.value[:, 0, :] * source.weighted_n_node_samples[:, None]))


@pytest.mark.parametrize("seed", range(30))
def test_sequence_is_that_of_scikit_learn(seed):
    """Theirs prunes by impurity, ours by error: given the errors as impurities, the prices must be the same."""
    rng = np.random.default_rng(seed)
    X, label = rng.random((120, 3)), rng.integers(0, 3, 120)
    weight = rng.integers(1, 4, 120).astype(float)
    fitted = DecisionTreeClassifier(random_state=0, max_leaf_nodes=(None, 20)[seed % 2]).fit(X, label, weight)
    tree = from_sklearn(fitted)
    total = weight.sum()
    fitted.tree_.impurity[:] = 1 - tree.sums.max(axis=1) / tree.sums.sum(axis=1)  # a view of the tree's own memory
    path = ccp_pruning_path(fitted.tree_)
    steps, collapsed_at = weakest_links(tree)
    theirs = np.asarray(path["ccp_alphas"]) * total
    theirs = theirs[np.append(True, np.diff(theirs) > 1e-9)]  # they list equal prices one by one
    ours = steps if abs(theirs[0]) < 1e-9 else steps[1:]
    np.testing.assert_allclose(theirs, ours, atol=1e-9)
    errors = [training_error(_collapsed(tree, collapsed_at <= price)) / total for price in steps]
    last = np.append(np.diff(np.asarray(path["ccp_alphas"])) > 1e-9 / total, True)
    np.testing.assert_allclose(np.asarray(path["impurities"])[last][-len(errors) :], errors[-last.sum() :], atol=1e-12)


def test_our_tree_and_scikit_learn_agree_from_growing_to_pruning():
    """On whole numbers that are their own bins both grow the same splits; then the whole path is the same."""
    n_same = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, label = rng.integers(0, 12, (90, 2)).astype(float), rng.integers(0, 3, 90)
        binning = find_cuts(X, np.ones(90), np.zeros(2, np.int32), 255)
        limits = GrowthLimits(max_depth=3)
        statistics = Statistics.of_labels(label, np.ones(90), 3)
        tree, _ = Grower(apply_bins(X, binning, limits.layout), limits).grow(statistics, GINI_CRITERION, 0)
        fitted = DecisionTreeClassifier(random_state=0, max_depth=3).fit(X, label)
        if sorted(tree.sums.tolist()) != sorted(from_sklearn(fitted).sums.tolist()):
            continue  # a tie between splits, which they settle by chance
        n_same += 1
        np.testing.assert_allclose(weakest_links(tree)[0], weakest_links(from_sklearn(fitted))[0], rtol=1e-9)
    assert n_same >= 10


# ---- pruning by cross-validation ---------------------------------------------------------------------------------------------------------


def keys_of(case):
    """Every second row is a copy of the one before."""
    return np.arange(case.table.n_rows, dtype=np.uint64) // np.uint64(2)


def cross_validated(case, rows, price):
    """The weight of the rows that trees grown without them and pruned at a price get wrong."""
    grower, s = Grower(case.table, case.limits), case.statistics
    fold = np.floor(uniform_of_keys(seed_of(case.seed, N_FOLDS), keys_of(case)[rows]) * N_FOLDS)
    total = s.weight[rows].sum()
    wrong = 0.0
    for k in range(N_FOLDS):
        train, test = rows[fold != k], rows[fold == k]
        if len(train) and len(test):
            tree, _ = grower.grow(s, case.criterion, case.seed, train)
            tree = _collapsed(tree, weakest_links(tree)[1] <= price * s.weight[train].sum() / total)
            answer = said(tree)[tree.leaves_of(case.table)]
            wrong += s.weight[test][answer[test] != s.label[test]].sum()
    return wrong


def pruned_by_cost_complexity(case):
    rows = np.arange(case.table.n_rows, dtype=np.int32) if case.rows is None else case.rows
    grower = Grower(case.table, case.limits)
    tree, _ = grower.grow(case.statistics, case.criterion, case.seed, rows)

    def grow(part):
        return grower.grow(case.statistics, case.criterion, case.seed, part)[0]

    return tree, prune_by_cost_complexity(tree, case.table, case.statistics, rows, keys_of(case), case.seed, grow), rows


def test_pruned_at_the_highest_price_of_least_cross_validated_error():
    """The first price is 0, at which only splits go that mend nothing."""
    n_pruned = 0
    for seed in range(60):
        case = make(seed, ones=seed % 2 == 0)
        tree, pruned, rows = pruned_by_cost_complexity(case)
        assert_well_formed(pruned, tree, case)
        steps, collapsed_at = weakest_links(tree)
        prices = [*np.sqrt(steps[:-1] * steps[1:]), steps[-1]]
        errors = [cross_validated(case, rows, price) for price in prices]
        best = max(at for at, error in enumerate(errors) if error <= min(errors) * (1 + 1e-9))
        np.testing.assert_array_equal(pruned.nodes, _collapsed(tree, collapsed_at <= prices[best]).nodes)
        assert errors[best] <= errors[0] * (1 + 1e-9)
        n_pruned += pruned.n_leaves < tree.n_leaves
    assert n_pruned > 20


def test_noise_is_pruned_and_structure_is_kept():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    binning = find_cuts(X, np.ones(400), np.zeros(3, np.int32), 255)
    limits = GrowthLimits()
    table = apply_bins(X, binning, limits.layout)
    for label, at_most in ((rng.integers(0, 2, 400), 15), ((X[:, 0] > 0.5) ^ (rng.random(400) < 0.1), 2)):
        statistics = Statistics.of_labels(label.astype(int), np.ones(400), 2)
        case = Case(X, binning, table, limits, statistics, GINI_CRITERION, 0, None)
        tree, pruned, _ = pruned_by_cost_complexity(case)
        assert tree.n_leaves > 50
        assert pruned.n_leaves <= at_most
    assert pruned.n_leaves == 2
    assert pruned.nodes["feature"][0] == 0
    assert binning.thresholds(pruned.nodes["feature"][:1], pruned.nodes["bin"][:1])[0] == pytest.approx(0.5, abs=0.02)


def test_equal_errors_are_equal_after_rounding():
    """A split that mends nothing costs nothing, whatever is left of the difference of its sums."""
    third = np.array([[0.1, 0.7], [0.2, 0.3], [0.1 + 0.2, 0.7 + 0.3]])
    nodes = np.zeros(3, NODE)
    nodes["left"], nodes["right"], nodes["feature"] = [1, -1, -1], [2, -1, -1], [0, -1, -1]
    tree = Tree(nodes, third[[2, 0, 1]])
    error = tree.sums.sum(axis=1) - tree.sums.max(axis=1)
    assert error[0] != error[1] + error[2]
    steps, collapsed_at = weakest_links(tree)
    assert steps.tolist() == [0.0]
    assert collapsed_at.tolist() == [0.0, np.inf, np.inf]


def test_few_rows_and_a_tree_of_one_leaf():
    for n in (1, 2, 3):
        case = make(5, n=n, ones=True)
        _, pruned, _ = pruned_by_cost_complexity(case)
        assert pruned.n_leaves <= n
    node = np.zeros(1, NODE)
    node["feature"] = node["left"] = node["right"] = -1
    leaf = Tree(node, np.array([[1.0, 2.0]]))
    steps, collapsed_at = weakest_links(leaf)
    assert steps.tolist() == [0.0]
    assert collapsed_at.tolist() == [np.inf]
    assert merge_equal_leaves(leaf).n_leaves == 1


@pytest.mark.parametrize("times", [2, 5])
def test_copies_of_a_row_prune_like_its_weight(times):
    """Of copies in several folds, one would tell what the other is, and nothing would be pruned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0) ^ (rng.random(300) < 0.25)
    model = SAMMEClassifier(n_estimators=1, max_depth=None, prune="cost_complexity", random_state=0, calibrate=False)
    copied = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = clone(model).fit(X, y, np.full(300, times))
    for field in ("feature", "left", "threshold"):
        np.testing.assert_array_equal(copied.forest_.nodes[field], weighted.forest_.nodes[field])
    np.testing.assert_array_equal(copied.predict(X), weighted.predict(X))
    assert (copied.forest_.nodes["feature"] < 0).sum() < 10


def test_statistics_beside_the_labels_do_not_vote():
    X = np.arange(4.0)[:, None]
    binning = find_cuts(X, np.ones(4), np.zeros(1, np.int32), 255)
    limits = GrowthLimits()
    statistics = Statistics.of_both(np.full((4, 1), 9.0), np.array([0, 1, 0, 1]), np.ones(4), 2)
    tree, _ = Grower(apply_bins(X, binning, limits.layout), limits).grow(statistics, GINI_CRITERION, 0)
    assert tree.n_leaves == merge_equal_leaves(tree, n_beside=1).n_leaves == 4
