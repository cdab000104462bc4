"""Forests: scores of raw rows are those of binned rows; stages, truncation, extension, trees back again, importances."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tree_cases import CRITERIA, Case, make, sparse_copy

from manyboost import SAMMEClassifier
from manyboost.trees.binning import FEATURE_MAJOR, ROW_MAJOR, apply_bins, find_cuts
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.forest import ROWS_PER_BLOCK, Forest
from manyboost.trees.growing import Grower, GrowthLimits
from manyboost.trees.statistics import Statistics

N_COLUMNS = 5


def grown_on(case, n_rounds, rng):
    """Some trees for each of a few rounds, with leaf vectors of different widths at different columns."""
    grower, out = Grower(case.table, case.limits), []
    for round_ in range(n_rounds):
        for _ in range(int(rng.integers(1, 4))):
            rows = rng.integers(0, case.table.n_rows, case.table.n_rows).astype(np.int32)
            tree, leaf = grower.grow(case.statistics, case.criterion, int(rng.integers(2**60)), rows)
            width = int(rng.integers(1, N_COLUMNS + 1))
            vectors = rng.standard_normal((tree.n_leaves, width))
            out.append(((tree, vectors, int(rng.integers(0, N_COLUMNS + 1 - width)), round_), leaf))
    return out


def binned_scores(grown, table, n_rounds=10**6):
    """The sum made of the binned rows, tree after tree."""
    columns = np.zeros((table.n_rows, N_COLUMNS))
    for (tree, vectors, column, round_), _ in grown:
        if round_ < n_rounds:
            columns[:, column : column + vectors.shape[1]] += vectors[tree.leaves_of(table)]
    return columns


@pytest.fixture(scope="module", params=["best", "random"])
def forests(request):
    out = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case = make(seed, CRITERIA[seed % 6], request.param, all_rows=True)
        grown = grown_on(case, 4, rng)
        out.append((case, grown, Forest.empty(N_COLUMNS).extended([item for item, _ in grown], case.binning)))
    return out


def rows_nobody_saw(case, rng):
    """Rows of the case put together anew, with values between and on the cuts, beyond both ends, and missing."""
    X = np.column_stack([rng.choice(column, 100) for column in case.X.T])
    for f in np.flatnonzero(case.binning.n_categories == 0):
        cuts = case.binning.column_cuts(f)
        some = rng.random(100) < 0.5
        around = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), [0.0, -1e300, 1e300, np.inf, -np.inf]])
        X[some, f] = rng.choice(around, some.sum())
    for f in np.flatnonzero(case.binning.n_categories > 0):
        some = rng.random(100) < 0.5
        X[some, f] = rng.integers(0, case.binning.n_categories[f], some.sum())
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


def test_raw_rows_fall_into_the_leaves_of_their_bins(forests):
    rng = np.random.default_rng(0)
    n_inf = 0
    for case, grown, forest in forests:
        for X in (case.X, rows_nobody_saw(case, rng)):
            for layout in (FEATURE_MAJOR, ROW_MAJOR):
                np.testing.assert_array_equal(forest.columns(X), binned_scores(grown, apply_bins(X, case.binning, layout)))
        n_inf += int(np.isinf(forest.nodes["threshold"]).sum())
        for (tree, _, _, _), leaf in grown:
            np.testing.assert_array_equal(tree.leaves_of(case.table), leaf)
    assert n_inf > 0  # splits of known from missing values were among them


def test_sparse_rows_and_threads_score_the_same(forests):
    with ThreadPoolExecutor(2) as pool:
        for case, grown, forest in forests:
            many = np.resize(case.X, (2 * ROWS_PER_BLOCK + 3, case.X.shape[1]))
            expected = forest.columns(many)
            np.testing.assert_array_equal(forest.columns(many, pool.map), expected)
            held = sparse_copy(many, "csr")
            np.testing.assert_array_equal(forest.columns(held), expected)
            for one, other in zip(forest.contributions(held[:40]), forest.contributions(many[:40]), strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(forest.columns(np.asfortranarray(many)), expected)
            assert forest.columns(many[:0]).shape == (0, N_COLUMNS)
            binned = apply_bins(sparse_copy(case.X, "csc"), case.binning, FEATURE_MAJOR)
            np.testing.assert_array_equal(binned_scores(grown, binned), forest.columns(case.X))


def test_few_rows_at_a_time_score_the_same(forests, monkeypatch):
    """As where trees ask for very many features of sparse rows."""
    monkeypatch.setattr("manyboost.trees.forest.CELLS_PER_BLOCK", 1)
    for case, _, forest in forests:
        np.testing.assert_array_equal(forest.columns(sparse_copy(case.X, "csr")), forest.columns(case.X))


def test_a_wide_sparse_table_is_learned_and_scored_in_memory_for_what_is_stored():
    """65,536 columns, of which 40 have most of the values: dense blocks of 512 rows, or words of all bins, would take 256 MB."""
    rng = np.random.default_rng(0)
    n, p = 1200, 1 << 16
    column = np.where(rng.random(9000) < 0.7, rng.integers(0, 40, 9000) * 1600, rng.integers(0, p, 9000))
    X = sparse.csr_array((rng.standard_normal(9000), (rng.integers(0, n, 9000), column)), shape=(n, p))
    X.sum_duplicates()
    y = (X[:, [0, 1600, 3200]].toarray().sum(axis=1) > 0) + 2 * (rng.random(n) < 0.2)
    model = SAMMEClassifier(n_estimators=3, max_depth=3, random_state=0, calibrate=False)
    model.fit(X[:, :50], y).decision_function(X[:, :50])  # compiles
    tracemalloc.start()
    try:
        scores = model.fit(X, y).decision_function(X)
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()
    few = np.unique(model.forest_.nodes["feature"][model.forest_.nodes["feature"] >= 0])
    assert len(few) > 3
    dense = X[:600].toarray()  # more than a block
    np.testing.assert_array_equal(model.decision_function(dense), scores[:600])
    added, start = model.contributions(X[:4])
    np.testing.assert_array_equal(added, model.contributions(dense[:4])[0])
    assert set(np.flatnonzero(added.any(axis=(0, 2))).tolist()) <= set(few.tolist())


def test_stages_are_the_sums_of_the_first_rounds(forests):
    for case, grown, forest in forests:
        assert forest.n_rounds == 4
        stages = [columns.copy() for columns in forest.staged_columns(case.X)]
        assert len(stages) == 4
        for t, columns in enumerate(stages):
            np.testing.assert_array_equal(columns, binned_scores(grown, case.table, t + 1))
            np.testing.assert_array_equal(columns, forest.first_rounds(t + 1).columns(case.X))
        np.testing.assert_array_equal(stages[-1], forest.columns(case.X))


def test_first_rounds_keep_no_more_than_they_need(forests):
    for case, grown, forest in forests:
        assert forest.first_rounds(4) is forest
        assert forest.first_rounds(99) is forest
        for t in range(4):
            shorter = forest.first_rounds(t)
            afresh = Forest.empty(N_COLUMNS).extended([item for item, _ in grown if item[3] < t], case.binning)
            assert shorter.n_rounds == t
            for name in ("nodes", "masks", "values", "members"):
                np.testing.assert_array_equal(getattr(shorter, name), getattr(afresh, name), err_msg=name)
            again = shorter.extended([item for item, _ in grown if item[3] >= t], case.binning)
            np.testing.assert_array_equal(again.columns(case.X), forest.columns(case.X))


def test_extending_bit_by_bit_is_extending_at_once(forests):
    for case, grown, forest in forests:
        piecewise = Forest.empty(N_COLUMNS)
        for item, _ in grown:
            before = piecewise
            piecewise = piecewise.extended([item], case.binning)
            assert len(piecewise.members) == len(before.members) + 1
        for name in ("nodes", "masks", "values", "members"):
            np.testing.assert_array_equal(getattr(piecewise, name), getattr(forest, name), err_msg=name)
        np.testing.assert_array_equal(forest.extended([], case.binning).values, forest.values)


def test_trees_come_back_as_they_went_in(forests):
    for case, grown, forest in forests:
        assert len(forest.members) == len(grown)
        for member, ((tree, vectors, _, _), leaf) in enumerate(grown):
            back, back_vectors = forest.tree(member)
            for name in ("feature", "bin", "missing_left", "mask", "left", "right"):
                np.testing.assert_array_equal(back.nodes[name], tree.nodes[name], err_msg=name)
            np.testing.assert_array_equal(back_vectors, vectors)
            np.testing.assert_array_equal(back.leaves_of(case.table), leaf)
        rebuilt = [(*forest.tree(m), int(forest.members["column"][m]), int(forest.members["round"][m])) for m in range(len(grown))]
        again = Forest.empty(N_COLUMNS).extended(rebuilt, case.binning)
        for name in set(forest.nodes.dtype.names) - {"cover"}:
            np.testing.assert_array_equal(again.nodes[name], forest.nodes[name], err_msg=name)
        np.testing.assert_array_equal(again.masks, forest.masks)


def test_replay(forests):
    for case, grown, forest in forests:
        replayed = list(forest.replay(case.table))
        assert len(replayed) == len(grown)
        for (round_, column, vectors, leaf), ((_, true_vectors, true_column, true_round), true_leaf) in zip(replayed, grown, strict=True):
            assert (round_, column) == (true_round, true_column)
            np.testing.assert_array_equal(vectors, true_vectors)
            np.testing.assert_array_equal(leaf, true_leaf)


def test_members_of_a_round(forests):
    for _, grown, forest in forests:
        rounds = [item[3] for item, _ in grown]
        for t in range(5):
            assert list(forest.members_of_round(t)) == [at for at, round_ in enumerate(rounds) if round_ == t]


def test_an_empty_forest():
    empty = Forest.empty(3)
    assert empty.n_rounds == 0
    assert not empty.columns(np.ones((4, 2))).any()
    assert list(empty.staged_columns(np.ones((4, 2)))) == []
    assert empty.first_rounds(0) is empty
    assert empty.importances(2, np.eye(3)).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_round_may_be_without_members(forests):
    """A round all of whose trees were refused."""
    case, grown, _ = forests[0]
    (tree, vectors, column, _), _ = grown[0]
    forest = Forest.empty(N_COLUMNS).extended([(tree, vectors, column, 0), (tree, vectors, column, 2)], case.binning)
    assert (forest.n_rounds, list(forest.members_of_round(1))) == (3, [])
    stages = [columns.copy() for columns in forest.staged_columns(case.X)]
    np.testing.assert_array_equal(stages[0], stages[1])
    np.testing.assert_array_equal(stages[2], 2 * stages[0])
    np.testing.assert_array_equal(forest.first_rounds(2).columns(case.X), stages[0])


# ---- importances -------------------------------------------------------------------------------------------------------------------------


def stump_case():
    X = np.column_stack([np.zeros(10), np.arange(10.0), np.arange(10.0) % 2])
    binning = find_cuts(X, np.ones(10), np.zeros(3, np.int32), 255)
    limits = GrowthLimits(max_depth=1)
    statistics = Statistics.of_labels((X[:, 1] > 6).astype(int), np.ones(10), 2)
    return Case(X, binning, apply_bins(X, binning, limits.layout), limits, statistics, GINI_CRITERION, 0, None)


def test_importance_of_a_stump():
    case = stump_case()
    tree, leaf = case.grown()
    vectors = np.array([[1.0, 0.0], [-1.0, 4.0]])
    forest = Forest.empty(2).extended([(tree, vectors, 0, 0)], case.binning)
    # 7 rows left, 3 right: 7 * 3 / 10 times the squared distance, which is n times the variance of the scores over the rows
    expected = 7 * 3 / 10 * np.array([2.0**2, 4.0**2])
    np.testing.assert_allclose(forest.importances(3, np.eye(2)), [[0, 0], expected, [0, 0]], rtol=1e-14)
    np.testing.assert_allclose(10 * vectors[leaf].var(axis=0), expected, rtol=1e-14)
    decoder = np.array([[1.0, -1.0, 0.0], [0.5, 0.0, 2.0]])  # two columns, three classes
    np.testing.assert_allclose(forest.importances(3, decoder)[1], 10 * (vectors @ decoder)[leaf].var(axis=0), rtol=1e-14)


def test_importances_of_a_tree_add_up_to_the_variance_of_its_scores(forests):
    """Whatever the splits, all of it is divided up among them; a feature no split uses has none."""
    for case, _, _ in forests:
        tree, leaf = case.grown()
        vectors = np.random.default_rng(0).standard_normal((tree.n_leaves, 2))
        forest = Forest.empty(3).extended([(tree, vectors, 1, 0)], case.binning)
        p = case.table.n_features
        found = forest.importances(p, np.eye(3))
        np.testing.assert_allclose(found.sum(axis=0)[1:], len(leaf) * vectors[leaf].var(axis=0), rtol=1e-9, atol=1e-12)
        unused = np.setdiff1d(np.arange(p), tree.nodes["feature"])
        assert not found[unused].any()
        assert not found[:, 0].any()


def test_importances_of_members_add_up():
    case = stump_case()
    first, second = case.grown()[0], replace(case, limits=GrowthLimits(max_depth=2)).grown()[0]
    parts = [(tree, np.arange(2.0 * tree.n_leaves).reshape(-1, 2) ** 2, 0, at) for at, tree in enumerate((first, second))]
    together = Forest.empty(2).extended(parts, case.binning).importances(3, np.eye(2))
    alone = [Forest.empty(2).extended([part], case.binning).importances(3, np.eye(2)) for part in parts]
    np.testing.assert_allclose(together, sum(alone), rtol=1e-14)


def test_leaves_of_one_number_score_like_any_other():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        case = make(seed, CRITERIA[seed % 6], "best", all_rows=True)
        grown = [item for item, _ in grown_on(case, 4, rng)]
        for at, (tree, vectors, column, round_) in enumerate(grown):
            if at % 3:  # the others keep several numbers, or one column
                single = np.zeros_like(vectors)
                single[np.arange(len(vectors)), rng.integers(0, vectors.shape[1], len(vectors))] = rng.standard_normal(len(vectors))
                single[rng.random(len(vectors)) < 0.2] = 0.0
                grown[at] = (tree, single, column, round_)
        forest = Forest.empty(N_COLUMNS).extended(grown, case.binning)
        np.testing.assert_array_equal(forest.columns(case.X), binned_scores([(item, None) for item in grown], case.table))
        again = pickle.loads(pickle.dumps(forest))
        assert set(vars(again)) == {"nodes", "masks", "values", "members", "n_columns"}
        np.testing.assert_array_equal(again.columns(case.X), forest.columns(case.X))
