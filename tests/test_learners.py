"""The weak learners: naive Bayes against scikit-learn, the C4.5 tree against its slow twin, and what both promise."""

from __future__ import annotations

import ast
import math
import pickle
import re
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from c45_twin import Twin, entropy
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyboost.learners import C45Tree, NaiveBayes
from manyboost.learners.binned_rows import add_bins, count_bins
from manyboost.learners.error_based_pruning import added_errors
from manyboost.learners.gain_ratio import CELLS_PER_ROW
from manyboost.learners.naive_bayes import equal_frequency_cuts, equal_width_cuts

LEARNERS = [NaiveBayes(), NaiveBayes(binning="frequency", n_bins=5), C45Tree(), C45Tree(prune=False, collapse=False, laplace=True)]
each = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def mixed(seed: int, n: int, K: int, missing: float) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Numbers and categories, some tell the class, with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    X = np.column_stack([
        np.round(rng.normal(size=n) + 0.8 * y, 1), rng.integers(0, 4, n), (y + rng.integers(0, 3, n)) % 5,
        np.round(rng.normal(size=n) - (y == 0), 2),
        rng.integers(0, 2, n) * (y > 0), np.round(rng.exponential(size=n), 1),
    ]).astype(float)  # fmt: skip
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, {at: int(np.nanmax(X[:, at])) + 1 for at in (1, 2, 4)}


def fitted_state(model: object) -> dict[str, object]:
    return {name: value for name, value in vars(model).items() if name.endswith("_") or name == "_columns"}


def assert_same_model(one: object, other: object, rtol: float = 0.0) -> None:
    first, second = fitted_state(one), fitted_state(other)
    assert first.keys() == second.keys()
    for name in first.keys() - {"weight_factor_"}:
        pair = first[name], second[name]
        if not isinstance(pair[0], np.ndarray):
            assert pair[0] == pair[1], name
            continue
        for part in pair[0].dtype.names or [...]:
            assert_allclose(pair[0][part], pair[1][part], rtol=rtol, atol=rtol, err_msg=f"{name} {part}")


# ---- both ----------------------------------------------------------------------------------------------------------------------------


@parametrize_with_checks(LEARNERS)
def test_scikit_learn(estimator, check):
    check(estimator)


@each
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_order_of_rows_does_not_matter(learner, missing):
    X, y, nominal = mixed(0, 300, 3, missing)
    weight = np.random.default_rng(1).exponential(size=len(y))
    learner = clone(learner).set_params(categorical_features=list(nominal))
    order = np.random.default_rng(2).permutation(len(y))
    for w in (np.ones(len(y)), weight):
        assert_same_model(clone(learner).fit(X, y, w), clone(learner).fit(X[order], y[order], w[order]))


@each
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_whole_weight_is_that_many_rows(learner, missing):
    X, y, nominal = mixed(3, 200, 3, missing)
    weight = np.random.default_rng(4).integers(0, 4, len(y))
    learner = clone(learner).set_params(categorical_features=list(nominal))
    one, other = clone(learner).fit(X, y, weight), clone(learner).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_model(one, other, rtol=1e-9 if missing else 0.0)
    assert one.weight_factor_ == 1.0


@each
def test_shares_are_scaled_to_the_number_of_rows(learner):
    X, y, nominal = mixed(5, 200, 4, 0.1)
    weight = np.random.default_rng(6).exponential(size=len(y))
    weight[::7] = 0.0
    learner = clone(learner).set_params(categorical_features=list(nominal))
    counts = weight * (weight > 0).sum() / weight.sum()
    expected = clone(learner).set_params(weights="counts").fit(X, y, counts)
    for factor in (1.0, 3e-9, 1e290):
        model = clone(learner).fit(X, y, weight * factor)
        assert_same_model(model, expected, rtol=1e-9)
        assert_allclose(model.weight_factor_, (weight > 0).sum() / weight.sum() / factor, rtol=1e-12)
    whole = np.full(len(y), 5.0)
    assert clone(learner).set_params(weights="shares").fit(X, y, whole).weight_factor_ == 0.2
    assert_same_model(clone(learner).set_params(weights="shares").fit(X, y, whole), clone(learner).fit(X, y))
    with pytest.raises(ValueError, match="use weights='shares'"):
        clone(learner).set_params(weights="counts").fit(X, y, np.full(len(y), 1e300))


@each
def test_sparse_rows_are_dense_rows(learner):
    X, y = load_digits(n_class=4, return_X_y=True)
    dense, thin = clone(learner).fit(X, y), clone(learner).fit(sparse.csr_matrix(X), y)
    assert_same_model(dense, thin)
    assert_array_equal(dense.predict_proba(X), thin.predict_proba(sparse.csr_matrix(X)))


@each
def test_data_frames(learner):
    X, y, nominal = mixed(7, 200, 3, 0.1)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for at in nominal:
        frame["abcdef"[at]] = ["" if math.isnan(v) else f"v{int(v)}" for v in X[:, at]]
        frame.loc[np.isnan(X[:, at]), "abcdef"[at]] = None
        frame["abcdef"[at]] = frame["abcdef"[at]].astype("category")
    by_name, by_number = clone(learner).fit(frame, y), clone(learner).set_params(categorical_features=list(nominal)).fit(X, y)
    assert_array_equal(by_name.predict_proba(frame), by_number.predict_proba(X))
    new = frame.head(4).copy()
    new["c"] = pd.Categorical(["never"] * 4)
    with pytest.raises(ValueError, match="did not occur in training"):
        by_name.predict(new)
    blank = X[:4].copy()
    blank[:, 2] = np.nan
    assert_array_equal(by_name.set_params(handle_unknown="missing").predict_proba(new), by_number.predict_proba(blank))


@each
def test_many_rows_are_predicted_in_blocks(learner, monkeypatch):
    X, y = load_wine(return_X_y=True)
    model = clone(learner).fit(X, y)
    expected = model.predict_proba(X)
    monkeypatch.setattr("manyboost.learners.learner.BLOCK", 50)
    assert_array_equal(model.predict_proba(X), expected)


@each
def test_fitted_state_is_plain(learner):
    """A file of such a model needs to hold these arrays, the classes and the categories."""
    X, y = load_iris(return_X_y=True)
    model = clone(learner).fit(X, y)
    arrays = {name for name, value in fitted_state(model).items() if isinstance(value, np.ndarray)}
    own = {"class_log_prior_", "bin_log_prob_", "first_bin_", "first_cut_", "cuts_"}
    assert arrays == {"classes_"} | (own if isinstance(model, NaiveBayes) else {"nodes_", "node_counts_"})
    assert not any(fitted_state(model)[name].dtype.hasobject for name in arrays)  # type: ignore[attr-defined]
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (NaiveBayes(n_bins=1), "n_bins=1 is not allowed"),
        (NaiveBayes(alpha=0), "alpha=0 is not allowed"),
        (NaiveBayes(binning="both"), "binning='both' is not allowed"),
        (C45Tree(confidence=0.6), "confidence=0.6 is not allowed"),
        (C45Tree(min_objects=0), "min_objects=0 is not allowed"),
        (C45Tree(weights="sum"), "weights='sum' is not allowed"),
    ],
)
def test_bad_parameters(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit([[0.0], [1.0]], [0, 1])


@each
def test_a_fit_that_fails_leaves_no_model(learner):
    X, y = load_iris(return_X_y=True)
    model = clone(learner).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


@each
def test_a_booster_can_use_it(learner):
    X, y = load_wine(return_X_y=True)
    boosted = AdaBoostClassifier(clone(learner), n_estimators=3, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.97


@pytest.mark.parametrize("learner", [NaiveBayes, C45Tree])
def test_documented_parameters_are_those_of_the_code(learner):
    page = (Path(__file__).parent.parent / "docs" / "learners.md").read_text(encoding="utf-8")
    section = page.split(f"`manyboost.learners.{learner.__name__}`")[1].split("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.MULTILINE))
    own = {name: getattr(learner(), name) for name in vars(learner)["__annotations__"]}
    assert {name: ast.literal_eval(value) for name, value in documented.items()} == own


# ---- naive Bayes ---------------------------------------------------------------------------------------------------------------------


def of_scikit_learn(model: NaiveBayes, X: np.ndarray, y: np.ndarray, weight: np.ndarray, n_categories: dict[int, int]) -> np.ndarray:
    """Log-probabilities of class and row together by CategoricalNB, column by column, each on the rows that have a value."""
    K = y.max() + 1
    total = np.bincount(y, weight, K)
    out = np.tile(np.log((total + 1) / (total.sum() + K)), (len(X), 1))
    for at, values in enumerate(X.T):
        known = ~np.isnan(values)
        if at in n_categories:
            bins, n_bins = values[known].astype(int), n_categories[at]
        else:
            low, high = values[known].min(), values[known].max()
            bins, n_bins = np.clip(np.floor((values[known] - low) / (high - low) * 10 + 1e-9), 0, 9).astype(int), 10
        peer = CategoricalNB(min_categories=n_bins, class_prior=np.full(K, 1 / K)).fit(bins[:, None], y[known], weight[known])
        out[known] += peer.feature_log_prob_[0].T[bins]
    return out


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_is_that_of_scikit_learn(missing, weighted):
    X, y, nominal = mixed(8, 400, 4, missing)
    weight = np.random.default_rng(9).exponential(size=len(y)) if weighted else np.ones(len(y))
    weight *= len(y) / weight.sum()
    model = NaiveBayes(categorical_features=list(nominal)).fit(X, y, weight if weighted else None)
    joint = of_scikit_learn(model, X, y, weight, nominal)
    assert_allclose(model._joint(X), joint, rtol=1e-12, atol=1e-12)
    assert_allclose(np.log(model.predict_proba(X)), joint - np.logaddexp.reduce(joint, axis=1)[:, None], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("is_category", [False, True])
def test_bins_are_counted_and_added_as_by_numpy(is_category):
    rng = np.random.default_rng(3)
    cuts = np.empty(0) if is_category else np.array([1.0, 2.5, 4.0])
    values = np.where(rng.random(200) < 0.2, np.nan, rng.integers(0, 5, 200))
    y, units = rng.integers(0, 3, 200), rng.integers(0, 2**40, 200)
    known = ~np.isnan(values)
    bins = values[known].astype(int) if is_category else np.searchsorted(cuts, values[known], side="right")
    counts, expected = np.zeros((5, 3), np.int64), np.zeros((5, 3), np.int64)
    count_bins(values, cuts, is_category, y, units, counts)
    np.add.at(expected, (bins, y[known]), units[known])
    assert (counts == expected).all()
    added, of_bin = rng.normal(size=(200, 3)), rng.normal(size=(5, 3))
    wanted = added.copy()
    wanted[known] += of_bin[bins]
    add_bins(values, cuts, is_category, of_bin, added)
    assert (added == wanted).all()


def test_on_binned_data_it_is_categorical_naive_bayes():
    X, y = load_wine(return_X_y=True)
    model = NaiveBayes().fit(X, y)
    cuts = np.split(model.cuts_, model.first_cut_[1:-1])
    bins = np.column_stack([np.searchsorted(cut, x, side="right") for cut, x in zip(cuts, X.T, strict=True)])
    prior = (np.bincount(y) + 1) / (len(y) + 3)
    peer = CategoricalNB(min_categories=10, class_prior=prior).fit(bins, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(bins), rtol=1e-12, atol=1e-12)


def test_bins_of_equal_width():
    assert_allclose(equal_width_cuts(np.array([0.0, 3.0, 10.0]), 10), np.arange(1, 10))
    assert len(equal_width_cuts(np.array([2.0, 2.0]), 10)) == 0
    assert len(equal_width_cuts(np.empty(0), 10)) == 0
    huge = equal_width_cuts(np.array([-1.7e308, 1.7e308]), 4)
    assert_allclose(huge, [-0.85e308, 0.0, 0.85e308], atol=1e292)
    next_to = equal_width_cuts(np.array([1.0, np.nextafter(1.0, 2.0)]), 10)
    assert len(next_to) >= 1
    assert (np.diff(next_to) > 0).all()


def test_bins_of_equal_frequency():
    one = np.ones(100, np.int64)
    assert_allclose(equal_frequency_cuts(np.arange(100.0), one, 10), np.arange(10, 100, 10) - 0.5)
    assert_allclose(equal_frequency_cuts(np.repeat([0.0, 1.0, 5.0], [90, 5, 5]), one, 10), [0.5])
    assert len(equal_frequency_cuts(np.zeros(100), one, 10)) == 0
    assert_allclose(equal_frequency_cuts(np.array([0.0, 1.0, 2.0]), np.array([2, 1, 1]), 2), [0.5])


@pytest.mark.parametrize("binning", ["width", "frequency"])
def test_a_constant_column_changes_nothing_and_outside_is_the_end_bin(binning):
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes(binning=binning).fit(X, y)
    wider = NaiveBayes(binning=binning).fit(np.column_stack([X, np.full(len(y), 7.0)]), y)
    assert_allclose(wider.predict_proba(np.column_stack([X, X[:, 0]])), model.predict_proba(X), rtol=1e-12)
    assert_array_equal(model.predict_proba([X.min(axis=0) - 5, X.max(axis=0) + 5]), model.predict_proba([X.min(axis=0), X.max(axis=0)]))


# ---- C4.5: the pieces ------------------------------------------------------------------------------------------------------------------


def test_expected_errors():
    """Quinlan's examples (his book, section 4.2), and the ends of the pieces."""
    z = NormalDist().inv_cdf(0.75)

    def rate(errors: float, n: float) -> float:
        return (errors + added_errors(n, errors, 0.25, z)) / n

    assert [round(rate(0, n), 4) for n in (6, 9, 1)] == [0.2063, 0.1428, 0.75]
    assert round(added_errors(16.0, 1.0, 0.25, z) / 16 + 1 / 16, 4) == 0.1547
    assert_allclose(added_errors(10.0, 0.5, 0.25, z), (added_errors(10.0, 0.0, 0.25, z) + added_errors(10.0, 1.0, 0.25, z)) / 2)
    assert added_errors(4.0, 3.5, 0.25, z) == 0.5
    assert added_errors(4.0, 4.0, 0.25, z) == 0.0
    assert all(rate(e, 50) < rate(e + 0.1, 50) for e in np.arange(0, 45, 0.1))


GOLF = pd.DataFrame(
    [row.split() for row in """\
sunny 85 85 false no|sunny 80 90 true no|overcast 83 86 false yes|rainy 70 96 false yes|rainy 68 80 false yes|rainy 65 70 true no
overcast 64 65 true yes|sunny 72 95 false no|sunny 69 70 false yes|rainy 75 80 false yes|sunny 75 70 true yes|overcast 72 90 true yes
overcast 81 75 false yes|rainy 71 91 true no""".replace("\n", "|").split("|")],
    columns=["outlook", "temperature", "humidity", "windy", "play"],
).astype({"temperature": float, "humidity": float, "outlook": "category", "windy": "category"})  # fmt: skip


def test_the_golf_players():
    """The best-known tree of all: outlook; humidity at 75 if sunny; windy if rainy."""
    X, y = GOLF.drop(columns="play"), GOLF["play"]
    model = C45Tree().fit(X, y)
    assert model.nodes_["feature"].tolist() == [0, -1, 3, 2, -1, -1, -1, -1]  # overcast, rainy, sunny
    assert model.nodes_["threshold"][3] == 75.0
    assert model.score(X, y) == 1.0
    codes = np.column_stack([X["outlook"].cat.codes, X["temperature"], X["humidity"], X["windy"].cat.codes]).astype(float)
    play = (y == "yes").to_numpy().astype(int)
    twin = Twin(codes, play, np.ones(14), {0: 3, 3: 2})
    rows = [(i, 1.0) for i in range(14)]
    assert round(entropy([9, 5]), 3) == 0.940
    assert [round(v, 3) for v in twin.gain_and_ratio(rows, 0, math.nan)] == [0.247, 0.156, 1.577]
    codes[11, 0] = np.nan  # the book's section 3.2: the outlook of an overcast day is lost
    gain, ratio, information = Twin(codes, play, np.ones(14), {0: 3, 3: 2}).gain_and_ratio(rows, 0, math.nan)
    assert (round(gain, 3), round(information, 3)) == (0.199, 1.809)
    assert_allclose(ratio, gain / information)


# ---- C4.5: the tree against its twin ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "parameters",
    [{}, {"subtree_raising": False}, {"prune": False}, {"prune": False, "collapse": False, "min_objects": 1.0},
     {"confidence": 0.05, "min_objects": 5.0}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_the_tree_is_its_twin(seed, parameters, missing):
    X, y, nominal = mixed(seed, 60 + 20 * seed, 2 + seed % 3, missing)
    rng = np.random.default_rng(seed)
    weight = np.ones(len(y)) if seed % 2 else rng.exponential(size=len(y))
    weight *= len(y) / weight.sum()
    model = C45Tree(categorical_features=list(nominal), **parameters).fit(X, y, weight)
    twin = Twin(X, y, weight, nominal, **parameters)
    nodes = twin.levels()
    assert model.nodes_["feature"].tolist() == [node.feature for node in nodes]
    assert_allclose(model.nodes_["threshold"], [node.threshold for node in nodes])
    assert_allclose(model.nodes_["weight"], [node.weight for node in nodes], rtol=1e-9, atol=1e-9)
    reached = model.nodes_["weight"] > 0
    assert_allclose(model.node_counts_[reached], np.array([node.count for node in nodes])[reached], rtol=1e-9, atol=1e-9)
    rows, _, _ = mixed(seed + 100, 50, 2, 0.3)
    assert_allclose(model.predict_proba(rows), [twin.probability(row) for row in rows], rtol=1e-9, atol=1e-9)


def test_branches_are_raised_somewhere():
    """The twin's cases would prove nothing about raising if none were raised."""
    trees = []
    for seed in range(12):
        X, y, nominal = mixed(seed, 60 + 20 * seed, 2 + seed % 3, 0.15)
        pair = [C45Tree(categorical_features=list(nominal), subtree_raising=r).fit(X, y).nodes_["feature"].tolist() for r in (True, False)]
        trees.append(pair[0] != pair[1])
    assert sum(trees) >= 3


def test_many_classes_and_values():
    """Here even the rows of the root are sorted, because there are more pairs of value and class than counting would pay for."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 30
    X = np.column_stack([y + rng.normal(0, 2, len(y)), rng.normal(size=len(y)), -y + rng.normal(0, 4, len(y))])
    X[::11, 0] = np.nan
    assert 100 * 30 > CELLS_PER_ROW * len(y)
    model, twin = C45Tree(min_objects=1.0).fit(X, y), Twin(X, y, np.ones(len(y)), {}, min_objects=1.0)
    assert model.nodes_["feature"].tolist() == [node.feature for node in twin.levels()]
    assert_allclose(model.nodes_["threshold"], [node.threshold for node in twin.levels()])
    assert len(model.nodes_) > 20


def test_of_two_equal_columns_the_first_is_taken():
    X, y = load_wine(return_X_y=True)
    twice = C45Tree().fit(np.hstack([X, X * 4.0 - 1]), y)
    assert_array_equal(twice.nodes_["feature"], C45Tree().fit(X, y).nodes_["feature"])


def test_a_chain_of_thousands_of_nodes():
    """No recursion: depth is bounded by memory, not by the stack."""
    y = np.repeat(np.arange(3000) % 2, 2)
    model = C45Tree(min_objects=1.0, prune=False).fit(np.arange(len(y), dtype=float)[:, None], y)
    assert len(model.nodes_) % 2 == 1
    path = [C45Tree(min_objects=2.0, collapse=False, prune=p).fit(np.arange(len(y), dtype=float)[:, None], y) for p in (True, False)]
    assert len(path[0].nodes_) <= len(path[1].nodes_)


def test_a_column_of_gaps_is_not_used():
    X, y = load_iris(return_X_y=True)
    plain, gaps = C45Tree().fit(X, y), C45Tree().fit(np.column_stack([X, np.full(len(y), np.nan)]), y)
    assert_array_equal(plain.nodes_["threshold"], gaps.nodes_["threshold"])
    assert_array_equal(plain.node_counts_, gaps.node_counts_)


def test_a_row_without_any_value_gets_the_averages_of_the_leaves():
    X, y = load_iris(return_X_y=True)
    model = C45Tree().fit(X, y)
    assert_allclose(model.predict_proba(np.full((1, 4), np.nan))[0], np.bincount(y) / len(y), rtol=1e-12)


def test_an_unreached_category_says_what_its_parent_says():
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1], [1, 0], [1, 0], [0, 2], [0, 2]] * 3, float)
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2, 0, 0] * 3)
    model = C45Tree(categorical_features=[0, 1], prune=False, collapse=False).fit(X, y)
    assert model.nodes_["feature"].tolist()[:1] == [0]
    empty = np.flatnonzero(model.nodes_["weight"] == 0)
    assert len(empty) == 1
    assert_allclose(model.predict_proba([[1.0, 2.0]]), [[0.0, 0.6, 0.4]])


def test_laplace():
    X, y = load_iris(return_X_y=True)
    raw, smooth = C45Tree().fit(X, y).predict_proba(X), C45Tree(laplace=True).fit(X, y).predict_proba(X)
    assert_allclose(smooth[0], [51 / 53, 1 / 53, 1 / 53])
    assert raw[0, 0] == 1.0


def test_threshold_is_a_value_of_the_training_rows():
    X, y = load_wine(return_X_y=True)
    for node in C45Tree().fit(X, y).nodes_:
        assert node["feature"] < 0 or node["threshold"] in X[:, node["feature"]]
