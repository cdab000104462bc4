"""Reductions to binary problems: codes, decoding, coupling, equality with scikit-learn where its rules are the same, and the contract."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsOneClassifier as TheirOneVsOne
from sklearn.multiclass import OneVsRestClassifier as TheirOneVsRest
from sklearn.multiclass import OutputCodeClassifier as TheirOutputCode
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import manyboost
from manyboost import OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier, SAMMEClassifier
from manyboost.maths import code_matrices
from manyboost.maths.coupling import couple
from manyboost.maths.decoding import minus_loss, minus_weighted_loss
from manyboost.reductions import output_code

REDUCTIONS = [OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier]
TREES = SAMMEClassifier(n_estimators=3, max_depth=2, calibrate=False)


@parametrize_with_checks(
    [kind(estimator=TREES) for kind in REDUCTIONS]
    + [
        OneVsOneClassifier(estimator=GaussianNB(), decode="vote+score"),
        OutputCodeClassifier(estimator=LogisticRegression(C=10), code="sparse"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def data(name):
    X, y = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name](return_X_y=True)
    return StandardScaler().fit_transform(X), y


X, Y = data("digits")
X, Y = X[:500], Y[:500]
X_TEST, Y_TEST = data("digits")[0][500:1000], data("digits")[1][500:1000]
LOGISTIC = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000)


@pytest.mark.parametrize("kind", [OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier, SAMMEClassifier])
def test_the_classifier_may_be_given_without_its_name(kind):
    assert kind(LOGISTIC).estimator is LOGISTIC
    with pytest.raises(TypeError, match="positional"):
        kind(LOGISTIC, "auto")


# ---- codes -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", range(3, 8))
def test_exhaustive_codes_have_the_distance_of_the_paper(K):
    code = code_matrices.exhaustive(K)
    assert code.shape == (K, 2 ** (K - 1) - 1)
    assert {int((a != b).sum()) for a, b in combinations(code, 2)} == {2 ** (K - 2)}
    assert code_matrices.fault_of(code) is None
    assert code_matrices.correctable(code) == (2 ** (K - 2) - 1) // 2


@pytest.mark.parametrize("K", [3, 4, 6, 9, 26])
@pytest.mark.parametrize("kind", ["dense", "sparse", "max_distance"])
def test_random_codes_are_codes(K, kind):
    rng = np.random.default_rng(0)
    make = {
        "dense": lambda: code_matrices.random_code(K, None, False, rng),
        "sparse": lambda: code_matrices.random_code(K, None, True, rng),
        "max_distance": lambda: code_matrices.max_distance(K, None, rng),
    }[kind]
    code = make()
    assert code_matrices.fault_of(code) is None
    assert code.shape[0] == K
    assert code.shape[1] <= np.ceil((15 if kind == "sparse" else 10) * np.log2(K))
    assert (code == 0).any() == (kind == "sparse")
    # the two distances, entry by entry
    rows = min(sum((1 - a * b) / 2 for a, b in zip(*pair, strict=True)) for pair in combinations(code.astype(int).tolist(), 2))
    assert code_matrices.row_distance(code) == rows
    columns = code.T.astype(int)
    assert code_matrices.column_distance(code) == min((K - abs(a @ b)) / 2 for a, b in combinations(columns, 2))


def test_driving_rows_apart_helps():
    for K in (10, 17, 26):
        plain = code_matrices.random_code(K, None, False, np.random.default_rng(0))
        driven = code_matrices.max_distance(K, None, np.random.default_rng(0))
        assert code_matrices.row_distance(driven) > code_matrices.row_distance(plain)


def test_no_flip_drives_a_code_further_apart():
    def closeness(code):
        """The sums of the docstring, pair by pair."""
        K, length = code.shape
        a, b = code_matrices.OF_ROWS / np.sqrt(length), code_matrices.OF_COLUMNS / np.sqrt(K)
        rows = sum(np.exp(a * (r @ s)) for r, s in combinations(code.astype(float), 2))
        columns = sum(np.cosh(b * (r @ s)) for r, s in combinations(code.T.astype(float), 2))
        return rows / K + code_matrices.SHARE_OF_COLUMNS * columns / length

    rng = np.random.default_rng(0)
    for _ in range(3):
        start = rng.choice(np.array([-1, 1], np.int8), (8, 12))
        driven = code_matrices._driven_apart(start)
        least = closeness(driven)
        assert least < closeness(start)
        for entry in np.ndindex(*driven.shape):
            flipped = driven.copy()
            flipped[entry] *= -1
            assert closeness(flipped) > least - 1e-9


def test_codes_of_nearly_all_columns_and_of_hardly_enough():
    for K, length in ((7, 62), (26, 5)):
        code = code_matrices.max_distance(K, length, np.random.default_rng(0))
        assert code.shape == (K, length)
        assert code_matrices.fault_of(code) is None
    with pytest.raises(ValueError, match="no code of 4 columns was found that tells 26 classes apart; raise length"):
        code_matrices.max_distance(26, 4, np.random.default_rng(0))


def test_a_code_corrects_as_many_columns_as_it_says():
    code = code_matrices.exhaustive(6)
    n_wrong = code_matrices.correctable(code)
    assert n_wrong == 7
    rng = np.random.default_rng(0)
    for label in range(6):
        for _ in range(50):
            f = code[label].astype(float)
            f[rng.choice(f.size, n_wrong, replace=False)] *= -1
            assert minus_loss(f[None], code, "hamming").argmax() == label


def test_losses_by_hand():
    f, code = np.array([[0.5, -2.0]]), np.array([[1, -1], [-1, 0], [0, 1]], np.int8)
    z = code * f
    for name, loss in {
        "exponential": lambda z: np.exp(-z / 2),
        "hinge": lambda z: np.maximum(0, 1 - z),
        "logistic": lambda z: np.log(1 + np.exp(-z)),
        "hamming": lambda z: (1 - np.sign(z)) / 2,
    }.items():
        assert_allclose(minus_loss(f, code, name), -loss(z).sum(axis=1)[None])


def test_weighted_loss_by_hand():
    f, code = np.array([[0.5, -2.0]]), np.array([[1, -1], [-1, 0], [0, 0]], np.int8)
    reliability = np.array([[0.9, 0.3], [0.6, 0.0], [0.0, 0.0]])
    right, wrong = np.log(1 + np.exp(-0.5)), np.log(1 + np.exp(0.5))
    expected = [0.75 * right + 0.25 * np.log(1 + np.exp(-2.0)), wrong, np.log(2)]
    assert_allclose(minus_weighted_loss(f, code, reliability), -np.array([expected]))
    even = (code_matrices.exhaustive(4) != 0) * 0.7
    f = np.random.default_rng(0).normal(size=(9, 7))
    assert_allclose(minus_weighted_loss(f, code_matrices.exhaustive(4), even), minus_loss(f, code_matrices.exhaustive(4), "logistic") / 7)


@pytest.mark.parametrize("code", [code_matrices.one_vs_one(5), code_matrices.exhaustive(5), code_matrices.one_vs_all(5)])
def test_coupling_finds_the_probabilities_behind_the_columns(code):
    p = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    plus, minus = p @ (code == 1), p @ (code == -1)
    found = couple(logit(plus / (plus + minus)), code, np.ones(code.shape[1]))
    assert_allclose(found, p, atol=2e-3)


def test_pairwise_coupling_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    K, n = 4, rng.uniform(0.5, 1, 6)
    f = rng.normal(size=(1, 6)) * 2
    p = np.full(K, 1 / K)
    for _ in range(2000):
        p = p.copy()
        up, down = np.zeros(K), np.zeros(K)
        for (i, j), r, weight in zip(combinations(range(K), 2), 1 / (1 + np.exp(-f[0])), n, strict=True):
            up[i] += weight * r
            up[j] += weight * (1 - r)
            down[i] += weight * p[i] / (p[i] + p[j])
            down[j] += weight * p[j] / (p[i] + p[j])
        p = p * up / down
        p /= p.sum()
    assert_allclose(couple(f, code_matrices.one_vs_one(K), n)[0], p, atol=1e-6)


# ---- equal to scikit-learn where its rule is the same -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [LOGISTIC, LinearSVC(C=0.1, tol=1e-8, dual=False)], ids=lambda base: type(base).__name__)
def test_one_vs_rest_of_scikit_learn(base):
    ours, theirs = OneVsAllClassifier(estimator=base).fit(X, Y), TheirOneVsRest(base).fit(X, Y)
    assert_array_equal(ours.predict(X_TEST), theirs.predict(X_TEST))
    assert_allclose(ours.decision_function(X_TEST), theirs.decision_function(X_TEST), atol=1e-6)


@pytest.mark.parametrize("base", [LOGISTIC, LinearSVC(C=0.1, tol=1e-8, dual=False)], ids=lambda base: type(base).__name__)
def test_one_vs_one_of_scikit_learn(base):
    ours = OneVsOneClassifier(estimator=base, decode="vote+score").fit(X, Y)
    theirs = TheirOneVsOne(base).fit(X, Y)
    assert_array_equal(ours.predict(X_TEST), theirs.predict(X_TEST))
    assert_allclose(ours.decision_function(X_TEST), theirs.decision_function(X_TEST), atol=1e-6)


def test_output_code_with_the_matrices_of_the_others():
    for kind, code, decode in ((OneVsAllClassifier, "one_vs_all", "hinge"), (OneVsOneClassifier, "one_vs_one", "hamming")):
        coded = OutputCodeClassifier(estimator=LOGISTIC, code=code, decode=decode).fit(X, Y)
        assert_array_equal(coded.code_, kind(estimator=LOGISTIC).fit(X, Y).code_)
    pairs = OneVsOneClassifier(estimator=LOGISTIC, decode="vote").fit(X, Y)
    assert_array_equal(coded.predict(X_TEST), pairs.predict(X_TEST))
    assert_allclose(coded.predict_proba(X_TEST), pairs.predict_proba(X_TEST))


def test_scikit_learns_output_code():
    """Its squared distance to rows of one length is minus twice the product with them, and so is the hinge loss of margins up to one."""
    base = LinearSVC(C=1e-5, tol=1e-8, dual=False)
    theirs = TheirOutputCode(base, code_size=1.2, random_state=1).fit(X, Y)
    ours = OutputCodeClassifier(estimator=base, code=theirs.code_book_, decode="hinge", calibrate=False).fit(X, Y)
    assert max(np.abs(one.decision_function(X_TEST)).max() for one in ours.estimators_) < 1
    assert_array_equal(ours.predict(X_TEST), theirs.predict(X_TEST))
    assert (ours.predict(X_TEST) != ours.set_params(decode="hamming").predict(X_TEST)).any()


# ---- what each promises ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize(
    "base", [LinearSVC(C=0.05), DecisionTreeClassifier(max_depth=4), RandomForestClassifier(20), Perceptron(), None],
    ids=lambda base: type(base).__name__,
)  # fmt: skip
def test_any_classifier_gets_probabilities(kind, base):
    if base is None:
        base = SAMMEClassifier(n_estimators=5, max_depth=3, calibrate=False)
    model = kind(estimator=base, random_state=0).fit(X, Y)
    P = model.predict_proba(X_TEST)
    assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0
    assert model.score(X_TEST, Y_TEST) > 0.6
    if not isinstance(base, DecisionTreeClassifier):  # whose leaves say 0 and 1
        assert log_loss(Y_TEST, P) < np.log(10)
    if kind is OneVsAllClassifier or (kind is OneVsOneClassifier and model.decode == "coupling"):
        assert np.mean(P.argmax(axis=1) == model.predict(X_TEST)) > 0.98  # but for ties


def test_columns_count_as_often_as_they_are_right():
    """Three classes in a row: no line finds the middle one, so that the column which asks for it says little about it."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 20, 40])
    X = (y[:, None] - 1.0) + rng.normal(0, 0.1, (100, 1))
    weight = rng.integers(1, 4, 100)
    model = OutputCodeClassifier(estimator=LogisticRegression(), code="exhaustive", random_state=0).fit(X, y, weight)
    middle = int(np.flatnonzero(model.code_[0] == model.code_[2])[0])
    assert model.reliability_[1, middle] < 0.1
    assert model.reliability_[:, np.arange(3) != middle].min() > 0.9
    said = np.array(
        [np.average((model.estimators_[0].predict(X) == (model.code_[y, 0] > 0))[y == k], weights=weight[y == k]) for k in range(3)]
    )
    assert_allclose(model.reliability_[:, 0], said, atol=0.05)
    twice = OutputCodeClassifier(estimator=LogisticRegression(), code="exhaustive", random_state=0)
    twice.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(twice.reliability_, model.reliability_)
    assert model.score(X, y) == 1


def test_a_large_class_is_asked_by_some_of_its_rows(monkeypatch):
    monkeypatch.setattr(output_code, "ROWS_OF_CLASS", 20)
    asked = []

    class Asked(GaussianNB):
        def predict_proba(self, X):
            asked.append(X)
            return super().predict_proba(X)

    y = np.repeat([0, 1, 2], [100, 12, 20])
    X = y[:, None] + np.linspace(0, 0.9, 132)[:, None]
    model = OutputCodeClassifier(estimator=Asked(), code="one_vs_all").fit(X, y)
    (some,) = {tuple(rows[:, 0]) for rows in asked}
    assert len(some) == 20 + 12 + 20
    assert {X[0, 0], X[99, 0]} <= set(some)
    assert model.reliability_.min() > 0


def test_calibrated_codes_decide_by_their_probabilities():
    model = OutputCodeClassifier(estimator=LinearSVC(C=0.05), random_state=0).fit(X, Y)
    assert_array_equal(model.predict(X_TEST), model.predict_proba(X_TEST).argmax(axis=1))
    by_margins = model.score(X_TEST, Y_TEST)
    assert by_margins >= model.set_params(decode="hamming").score(X_TEST, Y_TEST)


def test_margins_are_calibrated():
    base = LinearSVC(C=10.0, dual=False, max_iter=5000)
    for kind in REDUCTIONS:
        honest, raw = (kind(estimator=base, calibrate=calibrate, random_state=0).fit(X, Y) for calibrate in ("auto", False))
        assert raw.temperature_ == 1 != honest.temperature_
        assert_array_equal(raw.code_, honest.code_)
        assert log_loss(Y_TEST, honest.predict_proba(X_TEST)) < log_loss(Y_TEST, raw.predict_proba(X_TEST))


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_probabilities_of_their_own_are_calibrated_on_demand(kind):
    base = DecisionTreeClassifier(max_depth=6, random_state=0)  # whose leaves say 0 and 1
    raw, honest = (kind(estimator=base, calibrate=calibrate, random_state=0).fit(X, Y) for calibrate in ("auto", True))
    assert raw.temperature_ == raw.sharpness_ == honest.temperature_ == 1 != honest.sharpness_
    assert_array_equal(raw.predict(X_TEST), honest.predict(X_TEST))
    before, after = (log_loss(Y_TEST, model.predict_proba(X_TEST)) for model in (raw, honest))
    assert after < (0.9 if kind is OneVsAllClassifier else 1.02) * before  # coupled ones are not far off by themselves


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_one_result_for_any_number_of_jobs(kind):
    one, two = (kind(estimator=TREES, n_jobs=n_jobs, random_state=0).fit(X, Y) for n_jobs in (1, 2))
    assert_array_equal(one.predict_proba(X_TEST), two.predict_proba(X_TEST))


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_costs_decide(kind):
    costs = 1 - np.eye(10)
    costs[:, 3] = 50 * (np.arange(10) != 3)
    model = kind(estimator=LOGISTIC, cost_matrix=costs).fit(X, Y)
    plain = kind(estimator=LOGISTIC).fit(X, Y)
    assert (model.predict(X_TEST) == 3).mean() < (plain.predict(X_TEST) == 3).mean()
    model.set_params(random_state=0).fit(X, Y)
    assert_array_equal(model.predict(X_TEST), (model.predict_proba(X_TEST) @ costs).argmin(axis=1))
    assert_array_equal(model.predict(X_TEST), model.decision_function(X_TEST).argmax(axis=1))


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_sparse_rows_frames_and_strings(kind):
    dense = kind(estimator=LOGISTIC, random_state=0).fit(X, Y)
    stored = kind(estimator=LOGISTIC, random_state=0).fit(sparse.csr_matrix(X), Y)
    assert_allclose(stored.predict_proba(sparse.csr_matrix(X_TEST)), dense.predict_proba(X_TEST), atol=1e-5)
    frame = pd.DataFrame({"colour": ["red", "green", "blue"] * 20, "size": np.arange(60.0)})
    label = np.array(["a", "b", "c"] * 20)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    )
    model = kind(estimator=pipeline).fit(frame, label)
    assert_array_equal(model.predict(frame), label)
    assert list(model.feature_names_in_) == ["colour", "size"]


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what its fit was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.classes_ = np.unique(y)
        self.seen_ = sample_weight, note, len(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_metadata_is_routed(kind):
    weight, note = np.arange(1.0, 501), np.arange(500)
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        kind(estimator=Recorder()).fit(X, Y, note=note)
    plain = kind(estimator=Recorder(), calibrate=False).fit(X, Y, weight)
    assert all(len(one.seen_[0]) == one.seen_[2] for one in plain.estimators_)
    with sklearn.config_context(enable_metadata_routing=True):
        base = Recorder().set_fit_request(sample_weight=True, note=True)
        model = kind(estimator=base, calibrate=False).set_fit_request(sample_weight=True).fit(X, Y, sample_weight=weight, note=note)
    for one in model.estimators_:
        assert_array_equal(one.seen_[0], one.seen_[1] + 1)
        assert len(one.seen_[0]) == one.seen_[2]


def test_weights_that_nobody_takes_are_refused():
    class NoWeights(Recorder):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(ValueError, match="takes none"):
        OneVsAllClassifier(estimator=NoWeights()).fit(X, Y, np.ones(500))


def test_codes_of_the_user():
    X, y = data("wine")
    label = np.array(["x", "y", "z"])[y]
    array = [[1, 1], [-1, 1], [0, -1]]
    named = {"z": [0, -1], "y": [-1, 1], "x": [1, 1]}
    frame = pd.DataFrame({"p": [True, False, None], "q": [True, True, False]}, index=["x", "y", "z"])
    models = [OutputCodeClassifier(estimator=LOGISTIC, code=code).fit(X, label) for code in (array, named, frame, np.array(array))]
    for model in models:
        assert_array_equal(model.code_, array)
        assert_array_equal(model.predict(X), models[0].predict(X))
    # a class that is not in this fold, and the column that then asks nothing
    few = label != "z"
    model = OutputCodeClassifier(estimator=LOGISTIC, code=named).fit(X[few], label[few])
    assert_array_equal(model.code_, [[1], [-1]])
    assert model.predict_proba(X).shape == (len(X), 2)


def test_attributes_of_the_code():
    model = OutputCodeClassifier(estimator=GaussianNB(), code="exhaustive").fit(*data("iris"))
    assert (model.row_distance_, model.column_distance_, model.n_correctable_) == (2, 1, 0)
    assert len(model.estimators_) == model.code_.shape[1] == 3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"code": [[1, 1], [1, 1], [-1, -1]]}, "equal or opposite"),
        ({"code": [[1, -1, 1], [1, -1, 1], [-1, -1, -1]]}, "only one side in column 1"),
        ({"code": [[1, 0], [1, 0], [-1, 1]]}, "only one side in column 1"),
        ({"code": [[1], [1], [-1]]}, "equal rows 0 and 1"),
        ({"code": [[1, 2], [1, -1], [-1, -1]]}, "not -1, 0 or 1"),
        ({"code": [[1, -1], [-1, 1]]}, "must have 3 rows"),
        ({"code": {0: [1], 1: [-1]}}, "one row for the class 2"),
        ({"code": [[1, 0], [1], [-1, 1]]}, "rows of one length"),
        ({"code": "perfect"}, "code='perfect'"),
        ({"decode": "guess"}, "decode='guess'"),
        ({"cost_matrix": np.ones((2, 2))}, "cost_matrix has the shape"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_refusals(parameters, words):
    with pytest.raises(ValueError, match=words):
        OutputCodeClassifier(estimator=GaussianNB()).set_params(**parameters).fit(*data("iris"))


def test_too_many_classes_for_all_splits():
    with pytest.raises(ValueError, match="too many for K = 10"):
        OutputCodeClassifier(estimator=GaussianNB(), code="exhaustive").fit(X, Y)


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_pickle_clone_and_save(kind, tmp_path):
    model = kind(estimator=TREES, random_state=0).fit(X, Y)
    assert clone(model).get_params()["estimator__max_depth"] == 2
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    manyboost.save(model, tmp_path / "model")
    assert_array_equal(manyboost.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


# ---- bins for all columns --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"splitter": "random"}, {"subsample": 0.5}, {"sampling": "smote"}, {"early_stopping": True}])
def test_boosted_trees_share_their_bins(parameters, monkeypatch):
    """One-vs-all has all rows in each column, so that nothing but the time changes."""
    base = clone(TREES).set_params(**parameters)
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    shared = OneVsAllClassifier(estimator=base, random_state=0).fit(X, Y, weight)
    assert len({id(one._binning) for one in shared.estimators_}) == 1
    monkeypatch.setattr(SAMMEClassifier, "share_bins", lambda self, X, sample_weight: None)
    apart = OneVsAllClassifier(estimator=base, random_state=0).fit(X, Y, weight)
    assert len({id(one._binning) for one in apart.estimators_}) == 10
    assert_array_equal(shared.predict_proba(X_TEST), apart.predict_proba(X_TEST))


@pytest.mark.parametrize("kind", [OneVsOneClassifier, OutputCodeClassifier])
def test_bins_are_those_of_all_rows(kind):
    """A pair of classes has the model of its rows, binned by the quantiles of all rows."""
    weight = np.random.default_rng(0).uniform(size=len(Y))
    model = kind(estimator=TREES, random_state=0).fit(X, Y, weight)
    table = TREES.share_bins(X, weight)
    for column, one in list(zip(model.code_.T, model.estimators_, strict=True))[::7]:
        rows = np.flatnonzero(column[Y])
        alone = clone(one).fit(table[rows], (column[Y][rows] > 0).astype(int), weight[rows])
        assert_array_equal(alone.predict_proba(X_TEST), one.predict_proba(X_TEST))
        assert_array_equal(one._binning.cuts, table.binning.cuts)


def test_bins_that_cannot_be_shared():
    for parameters in ({"class_weight": "balanced"}, {"warm_start": True}, {"estimator": GaussianNB()}):
        base = SAMMEClassifier(n_estimators=3, calibrate=False, **parameters)
        assert base.share_bins(X) is None
        assert OneVsAllClassifier(estimator=base, random_state=0).fit(X, Y).score(X, Y) > 0.5


def test_shared_bins_of_frames_with_categories():
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "green", "blue", None] * 30), "size": np.arange(120.0) % 7})
    label = np.array(["a", "b", "c"])[np.arange(120) % 4 % 3]
    model = OneVsOneClassifier(estimator=TREES, random_state=0).fit(frame, label)
    assert all(list(one.feature_names_in_) == ["colour", "size"] for one in model.estimators_)
    assert model.score(frame, label) > 0.7


def test_the_default_is_one_vs_all_adaboost():
    model = OneVsAllClassifier(random_state=0).fit(*data("iris"))
    assert [type(one) for one in model.estimators_] == [SAMMEClassifier] * 3
