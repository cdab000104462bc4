"""The support vector machines: the optimum, by its conditions and by LIBLINEAR; the contract; and what they refuse."""

from __future__ import annotations

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import manyboost
from manyboost import LinearMulticlassSVC, MulticlassSVC
from manyboost.svm import kernel_dual, open_pairs
from manyboost.svm.kernel_rows import KernelRows, RadialInSingle
from manyboost.svm.row_problem import solve_row


def not_to_hold(estimator):
    """Checks that no machine of this kind can pass, whatever it does."""
    found = {}
    if getattr(estimator, "fit_intercept", True) is False:
        found["check_class_weight_classifiers"] = (
            "it wants one class in nine tenths of a cloud around the origin; without intercepts the difference of two scores is an odd "
            "function, so that each of two classes has one side of a line through the origin, whatever the weights"
        )
    if getattr(estimator, "kernel", None) == "precomputed":
        found["check_decision_proba_consistency"] = (
            "it gives a table of 80 rows and 2 columns where a kernel between 80 rows must be given, which is refused"
        )
    return found


@parametrize_with_checks([
    LinearMulticlassSVC(), LinearMulticlassSVC(solver="sgd", calibrate=False),
    LinearMulticlassSVC(solver="sgd", fit_intercept=False, calibrate=False), MulticlassSVC(), MulticlassSVC(kernel="linear", max_iter=20),
    MulticlassSVC(kernel="poly", max_iter=10, calibrate=False), MulticlassSVC(kernel="sigmoid", max_iter=10, calibrate=False),
    MulticlassSVC(kernel="precomputed", fit_intercept=True, max_iter=20), MulticlassSVC(cache_size=0.1, warm_start=True),
], expected_failed_checks=not_to_hold)  # fmt: skip
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def data(name):
    X, y = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name](return_X_y=True)
    return StandardScaler().fit_transform(X), y


X, Y = data("wine")
BLOBS = make_blobs(40, 3, centers=4, cluster_std=3, random_state=0)


def primal(W, b, C, X, y):
    S = X @ W.T + b
    own = S[np.arange(len(y)), y][:, None]
    beyond = S - own + 1
    beyond[np.arange(len(y)), y] = 0
    return ((W**2).sum() + (b**2).sum()) / 2 + C * beyond.max(axis=1).sum()


@cache
def slow_dual(n_sweeps=20000):
    """The sequential dual as the paper has it: sorting, no shrinking. On rows of its own, so that it is done once."""
    X, y, C, K = np.column_stack([BLOBS[0], np.ones(40)]), BLOBS[1], 0.3, 4
    alpha, W = np.zeros((len(y), K)), np.zeros((K, X.shape[1]))
    for _ in range(n_sweeps):
        worst = 0.0
        for i, x in enumerate(X):
            bound = C * (np.arange(K) == y[i])
            G = W @ x + 1 - (np.arange(K) == y[i])
            violation = G.max() - G[alpha[i] < bound].min()
            worst = max(worst, violation)
            if violation < 1e-12:
                continue
            new = sorted_row_problem(x @ x, G - x @ x * alpha[i], bound)
            W += np.outer(new - alpha[i], x)
            alpha[i] = new
        if worst < 1e-9:
            break
    return W, alpha


def sorted_row_problem(A, B, bound):
    D = np.sort(B + A * bound)[::-1]
    beta, r = D[0] - A * bound.sum(), 1
    while r < len(D) and beta < r * D[r]:
        beta += D[r]
        r += 1
    return np.minimum(bound, (beta / r - B) / A)


def test_the_problem_of_a_row_is_that_by_sorting():
    rng = np.random.default_rng(0)
    for _ in range(200):
        K = rng.integers(2, 9)
        A, B, own, C = rng.uniform(0.1, 5), rng.normal(size=K) * 3, int(rng.integers(K)), rng.uniform(0.01, 5)
        out = np.empty(K)
        kernel_of_row(A, B, own, C, K, out)
        assert_allclose(out, sorted_row_problem(A, B, C * (np.arange(K) == own)), atol=1e-12)
        assert abs(out.sum()) < 1e-12


@pytest.mark.parametrize(
    ("B", "own", "A", "C"),
    [([-0.2, 0.3, 0.1, 0.2], 0, 1.0, 1.0), ([1.0, 0.3, 0.3, 0.2], -1, 1.0, 1.0), ([0.2, 0.7, 0.2, 0.3], -1, 2.0, 0.3)],
)
def test_a_class_on_its_corner_to_the_last_bit(B, own, A, C):
    out = np.full(4, np.nan)
    kernel_of_row(A, np.array(B), own, C, 4, out)  # went to and fro for ever
    assert_allclose(out.sum(), -C if own < 0 else 0, atol=1e-12)
    assert (out <= C * (np.arange(4) == own)).all()


def kernel_of_row(*arguments):
    """The part of a kernel, called from Python."""
    solve_row.py_func(*arguments)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix, sparse.csr_array], ids=["dense", "matrix", "array"])
def test_the_optimum_of_a_slow_twin(stored):
    X, y = BLOBS
    W, alpha = slow_dual()
    model = LinearMulticlassSVC(C=0.3, tol=1e-9, random_state=0).fit(stored(X), y)
    assert_allclose(np.column_stack([model.coef_, model.intercept_]), W, atol=1e-6)
    assert_allclose(model.dual_coef_, alpha, atol=1e-5)
    assert model.duality_gap_ < 1e-6


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_liblinear(name):
    X, y = data(name)
    C = 0.1
    ours = LinearMulticlassSVC(C=C, tol=1e-8, calibrate=False, random_state=0).fit(X, y)
    theirs = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert_allclose(ours.objective_, primal(theirs.coef_, theirs.intercept_, C, X, y), rtol=1e-6)
    assert 0 <= ours.duality_gap_ + 1e-10 < 1e-6
    # the variables: feasible, and the weights are their sums
    assert_allclose(ours.dual_coef_.sum(axis=1), 0, atol=1e-12)
    assert_allclose(ours.dual_coef_.T @ X, ours.coef_, atol=1e-9)
    own = np.arange(len(y)), y
    others = ours.dual_coef_.copy()
    others[own] = 0
    assert others.max() <= 0
    assert ours.dual_coef_[own].max() <= C


def test_objective_is_what_it_says():
    model = LinearMulticlassSVC(C=0.5, random_state=0).fit(X, Y)
    assert_allclose(model.objective_, primal(model.coef_, model.intercept_, 0.5, X, Y))


def test_sgd_comes_close_and_the_slides_constant_does_not():
    X, y = data("digits")
    best = LinearMulticlassSVC(tol=1e-6, C=0.1, calibrate=False).fit(X, y).objective_
    near = LinearMulticlassSVC(solver="sgd", C=0.1, tol=1e-5, random_state=0).fit(X, y)
    assert best < near.objective_ < 1.02 * best
    assert_allclose(near.objective_, primal(near.coef_, near.intercept_, 0.1, X, y))
    slide = LinearMulticlassSVC(solver="sgd", C=0.1 / len(y), random_state=0).fit(X, y)  # lambda = 1/C instead of 1/(C n)
    assert primal(slide.coef_, slide.intercept_, 0.1, X, y) > 2 * best


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_rows_may_come_in_any_order_twice_or_with_a_weight_of_two(solver):
    rng = np.random.default_rng(0)
    order, weight = rng.permutation(len(Y)), rng.integers(1, 4, len(Y))
    model = LinearMulticlassSVC(solver=solver, random_state=0)
    twice = np.repeat(np.arange(len(Y)), weight)[::-1]
    weighted = clone(model).fit(X, Y, weight)
    for other in (clone(model).fit(X[order], Y[order], weight[order]), clone(model).fit(X[twice], Y[twice])):
        assert_array_equal(weighted.coef_, other.coef_)
        assert weighted.temperature_ == other.temperature_


def test_dense_rows_of_few_entries_are_sparse_ones():
    X, y = load_digits(return_X_y=True)
    X = X * (X > 12)
    model = LinearMulticlassSVC(C=0.01, random_state=0)
    assert_array_equal(clone(model).fit(X, y).coef_, clone(model).fit(sparse.csr_matrix(X), y).coef_)


def test_two_classes_are_one_difference():
    X, y = X2 = data("iris")[0][50:], data("iris")[1][50:]
    for model in (LinearMulticlassSVC(random_state=0).fit(X, y), MulticlassSVC().fit(X, y)):
        assert model.decision_function(X).shape == (100,)
        assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, 2, 1))
    assert LinearMulticlassSVC().fit(*X2).coef_.shape == (1, 4)


def test_class_weight_is_a_factor_of_C():
    factor = np.array([1.0, 3.0, 0.5])
    one = LinearMulticlassSVC(class_weight=dict(enumerate(factor)), random_state=0, tol=1e-8).fit(X, Y)
    assert_allclose(one.coef_, LinearMulticlassSVC(random_state=0, tol=1e-8).fit(X, Y, factor[Y]).coef_, atol=1e-9)


@pytest.mark.parametrize("model", [LinearMulticlassSVC(random_state=0), LinearMulticlassSVC(solver="sgd", random_state=0), MulticlassSVC()])
def test_probabilities_are_honest_and_decide_nothing(model):
    X, y = data("digits")
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    model = clone(model).fit(X[train], y[train])
    raw = clone(model).set_params(calibrate=False).fit(X[train], y[train])
    assert raw.temperature_ == 1
    assert_array_equal(raw.predict(X), model.predict(X))
    assert log_loss(y[test], model.predict_proba(X[test])) < min(0.25, log_loss(y[test], raw.predict_proba(X[test])))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_the_linear_machine(intercept):
    for C in (0.01, 1.0):
        linear = LinearMulticlassSVC(C=C, fit_intercept=intercept, tol=1e-8, calibrate=False, random_state=0).fit(X, Y)
        kernel = MulticlassSVC(C=C, kernel="linear", tol=2e-12, max_iter=1000, calibrate=False)
        kernel.set_params(fit_intercept="auto" if intercept else False).fit(X, Y)
        assert_allclose(kernel.intercept_, linear.intercept_, atol=1e-6)
        assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-6)
        # Both stand above one optimum, each by no more than its own gap.
        gap = max(kernel.duality_gap_, linear.duality_gap_)
        assert gap < 1e-5
        assert abs(kernel.objective_ - linear.objective_) <= gap + 1e-12


@pytest.mark.parametrize(("cache_size", "C"), [(0.2, 0.7), (200, 0.7), (2, 1e4)])  # the last begins in single precision, and ends in double
def test_kernel_machine_solves_its_problem(cache_size, C, monkeypatch):
    monkeypatch.setattr(kernel_dual, "FIRST", 50)
    X, y = data("digits")
    X, y = X[:600], y[:600]
    model = MulticlassSVC(C=C, gamma=0.01, tol=1e-4, cache_size=cache_size, max_iter=3000, calibrate=False).fit(X, y)
    d = ((X[:, None] - X[model.support_]) ** 2).sum(axis=2)
    S = np.exp(-0.01 * d) @ model.dual_coef_
    assert_allclose(model.decision_function(X), S, atol=1e-9)
    penalty = (model.dual_coef_ * S[model.support_]).sum() / 2
    beyond = S - S[np.arange(600), y][:, None] + 1
    beyond[np.arange(600), y] = 0
    upper = penalty + C * beyond.max(axis=1).sum()
    lower = model.dual_coef_[np.arange(len(model.support_)), y[model.support_]].sum() - penalty
    assert_allclose([model.objective_, model.dual_objective_], [upper, lower], rtol=1e-5)
    assert -1e-6 < (upper - lower) / upper < 1e-4
    assert model.n_support_.sum() == len(model.support_) < 600


def test_conjugate_gradients_find_what_sweeps_find(monkeypatch):
    X, y = data("digits")
    X, y = X[:300], y[:300]
    model = MulticlassSVC(C=100.0, gamma=0.0005, tol=1e-7, calibrate=False)
    searches, search = [], open_pairs.OpenPairs._search

    def counted(pairs):
        searches.append(search(pairs))
        return searches[-1]

    monkeypatch.setattr(open_pairs.OpenPairs, "_search", counted)
    for name in ("EFFORT", "MOST_EFFORT"):
        monkeypatch.setattr(open_pairs, name, 10**5)
    sweeps = clone(model).fit(X, y)
    assert not searches
    monkeypatch.setattr(open_pairs, "EFFORT", 2)
    both = clone(model).fit(X, y)
    assert sum(gain > 0 for gain in searches) > 5
    assert_allclose(both.objective_, sweeps.objective_, rtol=2e-7)
    assert_allclose(both.decision_function(X), sweeps.decision_function(X), atol=1e-2)
    assert_allclose(both.dual_coef_.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_kernels_given_in_other_ways(kernel):
    from sklearn.metrics.pairwise import pairwise_kernels

    gamma = 0.02

    def own(A, B):
        return pairwise_kernels(A, B, metric=kernel, gamma=gamma)

    model = MulticlassSVC(kernel=kernel, gamma=gamma, coef0=1.0, fit_intercept=True, tol=1e-8, max_iter=2000, random_state=0)
    expected = model.fit(X, Y).decision_function(X)
    assert model.intercept_.any()
    called = MulticlassSVC(kernel=own, fit_intercept=True, tol=1e-8, max_iter=2000).fit(X, Y)
    assert_allclose(called.decision_function(X), expected, atol=1e-6)
    given = MulticlassSVC(kernel="precomputed", fit_intercept=True, tol=1e-8, max_iter=2000).fit(own(X, X), Y)
    assert_allclose(given.decision_function(own(X, X)), expected, atol=1e-6)
    if kernel != "sigmoid":
        stored = clone(model).fit(sparse.csr_matrix(X), Y)
        assert_allclose(stored.decision_function(sparse.csr_matrix(X)), expected, atol=1e-6)


def test_warm_start_goes_on():
    model = MulticlassSVC(warm_start=True, tol=1e-6).fit(X, Y)
    first = model.decision_function(X)
    assert model.fit(X, Y).n_iter_ == 1
    assert_allclose(model.decision_function(X), first, atol=1e-5)
    model.set_params(C=0.2).fit(X[10:], Y[10:])
    assert_allclose(model.decision_function(X), MulticlassSVC(C=0.2, tol=1e-6).fit(X[10:], Y[10:]).decision_function(X), atol=1e-4)
    with pytest.raises(ValueError, match="other classes"):
        model.fit(X, Y + 1)


def test_kernel_rows_stay_within_their_memory():
    K = np.random.default_rng(0).normal(size=(100, 100))
    K += K.T
    asked = []

    def block(rows, columns, dtype):
        asked.append(len(rows))
        return K[np.ix_(rows, columns)].astype(dtype)

    cache = KernelRows(block, 100, 100 * 4 * 10, np.float32)  # ten rows
    for _ in range(2):
        for some, values in cache.stream(np.arange(30), np.arange(30)):
            assert_allclose(values, K[some], rtol=1e-6)
    assert cache._values.nbytes <= 4000
    assert asked == [30, 20]
    cache.activate(np.arange(5, 100))
    assert (cache._slot >= 0).sum() == 10
    some = np.array([60, 7, 50, 9, 6])  # three of them are in memory
    ((first, square),) = cache.among(some, some - 5)
    assert first == 0
    assert_allclose(square, K[np.ix_(some, some)], rtol=1e-6)
    assert asked[-1] == 2


@pytest.mark.parametrize(("shift", "gamma", "is_fine"), [(0.0, 0.1, True), (1e4, 0.1, True), (0.0, 100.0, False)])
def test_radial_kernel_in_single_precision(shift, gamma, is_fine):
    rows = X + shift
    kernel = RadialInSingle(rows, gamma)
    assert kernel.is_fine == is_fine
    if is_fine:
        some = np.array([5, 3, 9])
        everything = np.arange(len(rows))
        for columns in (some, everything):
            expected = np.exp(-gamma * ((rows[some][:, None] - rows[columns]) ** 2).sum(axis=2))
            assert_allclose(kernel(some, columns), expected, atol=1e-5)


def test_for_want_of_memory_fewer_classes_are_open():
    X, y = data("digits")
    X, y = X[:600], y[:600]
    model = MulticlassSVC(C=1.0, gamma=0.05, tol=1e-4, calibrate=False)
    ample, scarce = clone(model).fit(X, y), clone(model).set_params(cache_size=2).fit(X, y)
    assert scarce.n_iter_ < 5 * ample.n_iter_  # else more than 6 times
    assert_allclose(scarce.objective_, ample.objective_, rtol=1e-4)


def test_pickle_clone_and_save(tmp_path):
    for model in (LinearMulticlassSVC(C=2.0).fit(X, Y), MulticlassSVC(C=2.0).fit(X, Y)):
        assert clone(model).get_params() == model.get_params()
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
        manyboost.save(model, tmp_path / "model")
        assert_array_equal(manyboost.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_an_end_without_an_optimum_is_told():
    for model in (LinearMulticlassSVC(max_iter=1, C=100), MulticlassSVC(max_iter=1, C=100, tol=1e-9)):
        with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
            model.set_params(calibrate=False).fit(X, Y)
        assert model.stop_reason_.startswith("max_iter=1 ")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearMulticlassSVC(C=0), "C=0 is not allowed"),
        (MulticlassSVC(C=-1.0), "C=-1.0 is not allowed"),
        (LinearMulticlassSVC(solver="newton"), "solver='newton'"),
        (MulticlassSVC(kernel="cubic"), "kernel='cubic'"),
        (MulticlassSVC(gamma=0), "gamma=0"),
        (MulticlassSVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)), "infinite or NaN"),
        (MulticlassSVC(kernel=lambda A, B: np.ones((2, 7))), "shape"),
        (MulticlassSVC(kernel="precomputed"), "square kernel"),
        (LinearMulticlassSVC(class_weight={0: 0.0}), "class_weight"),
    ],
)
def test_refusals(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
