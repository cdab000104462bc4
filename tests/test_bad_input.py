"""Bad input is refused in one clear sentence; odd but valid input gives a model with finite predictions."""

from __future__ import annotations

import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from estimators import CALIBRATED, each, each_with_settings
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError

from manyboost import (
    AdaBoostMHClassifier,
    LinearMulticlassSVC,
    LogitBoostClassifier,
    MulticlassSVC,
    PIBoostClassifier,
    SAMMEClassifier,
)
from manyboost.algorithms import ALGORITHMS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.arange(60) % 3
X[:, 0] += Y  # something to learn
EVERY = pytest.mark.parametrize("estimator", each(n_estimators=3, random_state=0), ids=lambda estimator: type(estimator).__name__)
SETTINGS = pytest.mark.parametrize("estimator", each_with_settings(n_estimators=3, random_state=0), ids=repr)


def small(**parameters):
    return SAMMEClassifier(**{"n_estimators": 3, "max_depth": 2, "random_state": 0, "calibrate": False, **parameters})


def with_value(value, at=(3, 1), table=X):
    changed = np.array(table)
    changed[at] = value
    return changed


def check_usable(estimator, X, y, sample_weight=None):
    """Fit and see that all predictions are there and agree; the fitted model."""
    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        model.fit(X, y, sample_weight)
    scores, probability, said = model.decision_function(X), model.predict_proba(X), model.predict(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    assert (said == model.classes_[best]).all()
    assert (probability[np.arange(len(best)), best] >= probability.max(axis=1) - 1e-12).all()
    assert np.isfinite(model.feature_importances_).all()
    assert model.stop_reason_
    return model


HUGE = 10**400  # which no float can hold

# ---- bad rows --------------------------------------------------------------------------------------------------------------------------

BAD_ROWS = {
    "infinite": (with_value(np.inf), Y, None, "X contains infinity"),
    "minus infinite": (with_value(-np.inf), Y, None, "X contains infinity"),
    "infinite, single precision": (with_value(np.inf).astype(np.float32), Y, None, "X contains infinity"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "no columns": (X[:, :0], Y, None, "0 feature"),
    "one dimension": (X[:, 0], Y, None, "Expected 2D array"),
    "three dimensions": (X[:, :, None], Y, None, "dim 3"),
    "complex": (X + 1j, Y, None, "Complex data not supported: X holds complex numbers; give real and imaginary parts"),
    "too long": (with_value(HUGE, table=X.astype(object)), Y, None, "X has a whole number that is too large for a float"),
    "too long, in lists": (with_value(HUGE, table=X.astype(object)).tolist(), Y, None, "X has a whole number that is too large"),
    "too long, masked": (np.ma.masked_array(with_value(HUGE, table=X.astype(object)), np.eye(60, 4)), Y, None, "X has a whole number"),
    "infinite, in a frame": (pd.DataFrame(with_value(np.inf), columns=list("abcd")), Y, None, "column 'b' contains infinity"),
    "strings": (
        np.full((60, 2), "a"),
        Y,
        None,
        "X cannot be read as numbers: it is an array of strings; give numbers, or name.*categorical",
    ),
    "objects": (
        np.full((60, 2), "a", object),
        Y,
        None,
        "X cannot be read as numbers: could not convert string to float: 'a'; give numbers, or name",
    ),
    "objects of another kind": (with_value({}, table=X.astype(object)), Y, None, "X cannot be read as numbers: float.* argument must be"),
    "dates": (np.full((60, 2), "2020-01-01", "M8[D]"), Y, None, "X holds dates or times"),
    "one class": (X, np.zeros(60), None, "only one class"),
    "one row": (X[:1], Y[:1], None, "only one class"),
    "no labels": (X, None, None, "requires y"),
    "too few labels": (X, Y[:-1], None, "inconsistent numbers of samples"),
    "too many labels": (X, np.r_[Y, 0], None, "inconsistent numbers of samples"),
    "labels in two columns": (X, np.c_[Y, Y], None, "1d array"),
    "labels between the numbers": (X, X[:, 0], None, "continuous"),
    "a missing label": (X, with_value(np.nan, 3, Y.astype(float)), None, "y contains NaN"),
    "a missing string": (X, pd.Series(with_value(None, 3, Y.astype(str).astype(object)), dtype="string"), None, "row 3 has no label"),
    "an infinite label": (X, with_value(np.inf, 3, Y.astype(float)), None, "y contains infinity"),
    "None as a label": (X, np.array(["a", "b", None] * 20, object), None, "y contains NaN or None: row 2 has no label"),
    "labels of two types": (X, np.array(["a", "b", 3] * 20, object), None, "int, str"),
    "labels as bytes": (X, np.array([b"a", b"b", b"c"] * 20), None, "bytes"),
    "65,536 labels": (np.zeros((2**17, 1)), np.arange(2**17) // 2, None, "65536 classes; at most 65535"),
    "no weight": (X, Y, np.zeros(60), "(?i)sample.weight.*zero"),
    "a negative weight": (X, Y, with_value(-1, 3, np.ones(60)), "sample_weight: Negative"),
    "a missing weight": (X, Y, with_value(np.nan, 3, np.ones(60)), "sample_weight.*NaN"),
    "an infinite weight": (X, Y, with_value(np.inf, 3, np.ones(60)), "sample_weight.*infinity"),
    "too long a weight": (X, Y, [HUGE] * 60, "sample_weight has a whole number that is too large for a float; give smaller"),
    "complex weights": (X, Y, np.ones(60) + 1j, "sample_weight: Complex"),
    "a masked weight": (X, Y, np.ma.masked_array(np.ones(60), np.arange(60) == 7), "sample_weight is masked at row 7; fill the mask"),
    "weights as words": (X, Y, ["a"] * 60, "sample_weight: could not convert"),
    "too few weights": (X, Y, np.ones(59), r"sample_weight.*\(59,\)"),
    "weights in two columns": (X, Y, np.ones((60, 2)), "(?i)sample.weight.*1D"),
    "weight for one class only": (X, Y, (Y == 1).astype(float), "only one class"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case):
    rows, labels, weight, message = BAD_ROWS[case]
    estimator = small()
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(rows, labels, weight)
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@EVERY
@pytest.mark.parametrize("case", ["infinite", "one class", "no weight", "labels between the numbers"])
def test_bad_rows_with_every_algorithm(estimator, case):
    rows, labels, weight, message = BAD_ROWS[case]
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(rows, labels, weight)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, :3], "X has 3 features, but SAMMEClassifier is expecting 4"),
        (with_value(np.inf), "infinity"),
        (X[:0], "0 sample"),
        (X + 1j, "Complex"),
        (with_value(HUGE, table=X.astype(object)), "X has a whole number that is too large for a float"),
        (X[0], "Expected 2D"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "staged_predict"])
def test_bad_rows_in_predict(rows, message, method):
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        list(getattr(model, method)(rows))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "staged_predict", "staged_predict_proba"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        list(getattr(small(), method)(X))
    with pytest.raises(NotFittedError):
        _ = small().feature_importances_


def test_a_failed_fit_leaves_no_model():
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :2], np.zeros(60))
    with pytest.raises(NotFittedError):  # rather than the old trees with the new columns
        model.predict(X)


def test_a_failed_warm_start_leaves_the_old_model():
    model = small(warm_start=True).fit(X, Y)
    before = model.predict_proba(X)
    for rows, labels in ((X[:, :2], Y), (X, np.zeros(60)), (X, Y + 1), (with_value(np.inf), Y)):
        with pytest.raises(ValueError, match="features|only one class|other classes|infinity"):
            model.set_params(n_estimators=5).fit(rows, labels)
        assert (model.predict_proba(X) == before).all()
    with pytest.raises(ValueError, match="n_estimators=1 must be at least the 3 rounds"):
        model.set_params(n_estimators=1).fit(X, Y)


# ---- the validation set ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X_val": X}, "X_val and y_val must be given together"),
        ({"y_val": Y}, "X_val and y_val must be given together"),
        ({"sample_weight_val": np.ones(60)}, "sample_weight_val only with them"),
        ({"X_val": X[:, :2], "y_val": Y}, "X_val: X has 2 features"),
        ({"X_val": with_value(np.inf), "y_val": Y}, "X_val: .*infinity"),
        ({"X_val": X[:0], "y_val": Y[:0]}, "X_val: .*0 sample"),
        ({"X_val": X, "y_val": Y + 1}, "y_val has the label 3, which does not occur in y; the classes are 0, 1, 2"),
        ({"X_val": X, "y_val": Y.astype(str)}, "y_val has the label '0'"),
        ({"X_val": X, "y_val": np.full(60, np.nan)}, "y_val has the label nan"),
        ({"X_val": X, "y_val": Y[:-1]}, "59 labels in y_val"),
        ({"X_val": X, "y_val": np.c_[Y, Y]}, "1d array"),
        ({"X_val": X, "y_val": Y, "sample_weight_val": np.zeros(60)}, "sample_weight_val.*zero"),
        ({"X_val": X, "y_val": Y, "sample_weight_val": -np.ones(60)}, "sample_weight_val.*Negative"),
        ({"X_val": X, "y_val": Y, "sample_weight_val": np.ones(5)}, "sample_weight_val"),
    ],
)
def test_bad_validation_set(given, message):
    with pytest.raises(ValueError, match=message):
        small(early_stopping=True).fit(X, Y, **given)


def test_a_validation_set_that_would_not_be_used():
    with pytest.raises(ValueError, match="only used with early_stopping=True"):
        small().fit(X, Y, X_val=X, y_val=Y)


def test_too_few_rows_to_hold_any_out():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 leaves no row.*X_val"):
        small(early_stopping=True).fit(X[:6], Y[:6])


# ---- bad parameters --------------------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "estimator": (1, "tree", SAMMEClassifier),
    "n_estimators": (0, -3, 1.5, "5", None, True, [3]),
    "learning_rate": (HUGE, 0, -1, 2, np.nan, "fast", None, True),
    "max_depth": (2**63, 0, 1.5, "a", True),
    "max_leaf_nodes": (2**63, 1, 2.5, "a"),
    "min_samples_leaf": (2**63, 0, -1, 1.0, "a", None),
    "min_samples_split": (2**63, 1, 0.0, 1.5, None),
    "min_weight_fraction_leaf": (-0.1, 0.6, "a", None),
    "splitter": ("worst", 1, None),
    "max_bins": (1, 256, 3.0, "a", None),
    "subsample": (0, 1.1, -1, "a", None),
    "sampling": ("all", None),
    "on_perfect": ("grow", True, None),
    "prune": ("all", False, 0),
    "categorical_features": ("all", 3, 1.5, {}, {1, 2}),
    "handle_unknown": ("ignore", None),
    "class_weight": ("balance", 3, [1, 2, 3]),
    "calibrate": (True, "isotonic", None),
    "early_stopping": (1, "auto", None),
    "validation_fraction": (0, 1, 2, "a", None),
    "n_iter_no_change": (0, 1.5, None),
    "tol": (HUGE, -1, np.inf, "a", None),
    "warm_start": (1, "yes"),
    "callbacks": (3, [3], print, "a"),
    "verbose": (-1, True, 1.5, "a"),
    "n_jobs": (0, 1.5, "a", True),
    "random_state": (-1, 1.5, 2**33, "a", True, np.random.default_rng(0)),
}
BAD_PARAMETERS_OF = {
    SAMMEClassifier: {"criterion": ("mse", None)},
    AdaBoostMHClassifier: {
        "leaves": ("soft",), "weights": ("none",), "grow_by": ("chance",), "smoothing": (-1, None), "max_confidence": (0,), "l2": (-1,),
    },
    PIBoostClassifier: {"separators": ("triples", 3, None, [3]), "learner_weights": ("none",), "probability": ("none",)},
}  # fmt: skip


def test_every_shared_parameter_is_tried():
    assert set(BAD_PARAMETERS) == {parameter.name for parameter in fields(SAMMEClassifier)} - {
        "criterion",
        "cost_matrix",
    }


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values])
def test_bad_parameters(name, value):
    with pytest.raises((ValueError, TypeError)) as error:
        SAMMEClassifier(**{name: value}).fit(X, Y)
    text = str(error.value)
    assert text.startswith(f"SAMMEClassifier: {name}={value!r} is not allowed; give ")
    assert "(the default is " in text


@pytest.mark.parametrize(
    ("algorithm", "name", "value"),
    [(algorithm, name, value) for algorithm, names in BAD_PARAMETERS_OF.items() for name, values in names.items() for value in values],
)
def test_bad_parameters_of_an_algorithm(algorithm, name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        algorithm(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("algorithm", ALGORITHMS.values())
def test_parameters_are_checked_by_fit_and_not_before(algorithm):
    estimator = algorithm(n_estimators=-1, splitter="worst")
    assert estimator.n_estimators == -1
    with pytest.raises(ValueError, match="n_estimators=-1"):
        estimator.fit(X, Y)
    with pytest.raises(TypeError, match="no_such_parameter"):
        algorithm(no_such_parameter=1)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({5: 1.0}, "class_weight names 5, which is no class of y; the classes are 0, 1, 2"),
        ({"a": 1.0}, "class_weight names 'a'"),
        ({0: -1.0}, "class_weight gives 0 the factor -1.0"),
        ({0: np.nan}, "class_weight gives 0 the factor nan"),
        ({0: np.inf}, "class_weight gives 0 the factor inf"),
        ({0: "heavy"}, "class_weight gives 0 the factor 'heavy'"),
        ({0: HUGE}, "class_weight gives 0 the factor 10*; give a finite number"),
        (
            {0: 0, 1: 0},
            r"class_weight=\{0: 0, 1: 0\} leaves only one class, 2, of positive weight; give at least two classes of y a factor",
        ),
        ({0: 0, 1: 0, 2: 0}, "class_weight=.* leaves no class of positive weight; give at least two classes"),
    ],
)
def test_bad_class_weight(class_weight, message):
    with pytest.raises(ValueError, match=message):
        small(class_weight=class_weight).fit(X, Y)


@pytest.mark.parametrize(
    ("categorical_features", "message"),
    [
        ([4], r"categorical_features=\[4\] must be column numbers from 0 to 3"),
        ([-1], r"categorical_features=\[-1\]"),
        (["a"], "categorical_features names 'a', which is no column of X"),
        ([True, False], "categorical_features as a mask must have one entry for each of the 4 columns"),
        ([1.5], "categorical_features"),
    ],
)
def test_bad_categorical_features(categorical_features, message):
    with pytest.raises(ValueError, match=message):
        small(categorical_features=categorical_features).fit(X, Y)


def test_too_many_categories():
    with pytest.raises(ValueError, match="Column 1 has 300 categories, and at most 255.*handle_unknown='missing'.*TargetEncoder"):
        small(categorical_features=[1]).fit(np.c_[np.zeros(300), np.arange(300)], np.arange(300) % 2)
    check_usable(small(categorical_features=[0]), np.arange(255)[:, None], np.arange(255) % 2)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_the_largest_limits(splitter):
    most = 2**63 - 1
    shape = {"splitter": splitter, "n_estimators": 3, "random_state": 0, "calibrate": False}
    deepest = SAMMEClassifier(**shape, max_depth=most).fit(X, Y)
    assert (deepest.predict_proba(X) == SAMMEClassifier(**shape, max_depth=None).fit(X, Y).predict_proba(X)).all()
    assert (SAMMEClassifier(**shape, max_leaf_nodes=most).fit(X, Y).predict(X) == Y).mean() > 0.5
    for limit in ("min_samples_leaf", "min_samples_split"):
        with pytest.raises(ValueError, match=f"{limit}={2**63} is not allowed; give a whole number between . and 2.*63 - 1"):
            SAMMEClassifier(**shape, **{limit: 2**63}).fit(X, Y)
        assert SAMMEClassifier(**shape, **{limit: most}).fit(X, Y).n_estimators_ == 0


def test_long_doubles_are_floats_and_finite():
    wide = X.astype(np.longdouble)
    assert (small().fit(wide, Y).predict_proba(wide) == small().fit(X, Y).predict_proba(X)).all()
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match="X contains infinity"):
            small().fit(with_value(np.longdouble("1e4000"), table=wide), Y)
        with pytest.raises(ValueError, match="column 'b' contains infinity"):
            small().fit(pd.DataFrame(with_value(np.longdouble("1e4000"), table=wide), columns=list("abcd")), Y)


def test_a_column_that_no_float_can_hold():
    with pytest.raises(ValueError, match="Column 'b' has a whole number that is too large for a float; divide the column"):
        small(categorical_features=None).fit(pd.DataFrame({"a": X[:, 0], "b": [HUGE] * 60}), Y)


def test_other_parameters_that_no_float_can_hold():
    for estimator in (LogitBoostClassifier(z_max=HUGE), MulticlassSVC(gamma=HUGE), LinearMulticlassSVC(C=HUGE)):
        with pytest.raises(ValueError, match="=10*.* is not allowed; give"):
            estimator.fit(X, Y)
    with pytest.raises(ValueError, match="class_weight="):
        LinearMulticlassSVC(class_weight={0: HUGE}).fit(X, Y)


def test_n_jobs_of_predict():
    model = small().fit(X, Y).set_params(n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs=0 is not allowed"):
        model.predict(X)


# ---- odd but valid ---------------------------------------------------------------------------------------------------------------------

ODD_ROWS = {
    "a missing value": with_value(np.nan),
    "a column of missing values": with_value(np.nan, (slice(None), 2)),
    "None": with_value(None, (3, 1), X.astype(object)),
    "numbers as objects": X.astype(object),
    "1e300": X * 1e300,
    "1e308": np.clip(X, -1.7, 1.7) * 1e308,
    "denormal": X * 1e-310,
    "single precision": X.astype(np.float32),
    "half precision": X.astype(np.float16),
    "long double": X.astype(np.longdouble),
    "bytes": (10 * X).astype(np.int8),
    "unsigned": np.abs(10 * X).astype(np.uint64),
    "booleans": X > 0.5,
    "big-endian": X.astype(">f8"),
    "columns first": np.asfortranarray(X),
    "strided": np.repeat(X, 3, axis=1)[:, ::3],
    "backwards": X[::-1, ::-1],
    "lists": X.tolist(),
    "one column": X[:, :1],
    "one column that matters": np.c_[np.zeros((60, 3)), Y],
    "integers above 2**53": (2**60 + Y)[:, None],
    "rows twice": np.repeat(X[:30], 2, axis=0),
}


@pytest.mark.parametrize("case", ODD_ROWS)
@EVERY
def test_odd_rows(estimator, case):
    check_usable(clone(estimator).set_params(calibrate=False), ODD_ROWS[case], Y)


@pytest.mark.parametrize("case", ["a missing value", "1e308", "rows twice"])
@SETTINGS
def test_odd_rows_with_every_setting(estimator, case):
    check_usable(estimator, ODD_ROWS[case], Y)


def test_memory_that_cannot_be_written():
    rows, labels, weight = X.copy(), Y.copy(), np.ones(60)
    for array in (rows, labels, weight):
        array.setflags(write=False)
    check_usable(small(class_weight="balanced"), rows, labels, weight)


def test_masked_values_are_missing():
    mask = RNG.random(X.shape) < 0.3
    model = small().fit(np.ma.masked_array(np.where(mask, 1e9, X), mask), Y)
    other = small().fit(np.where(mask, np.nan, X), Y)
    assert (model.predict_proba(X) == other.predict_proba(X)).all()
    assert (model.forest_.nodes["threshold"] == other.forest_.nodes["threshold"]).all()


@SETTINGS
@pytest.mark.parametrize(
    "weight",
    [np.full(60, 1e308), np.full(60, 1e-320), np.ldexp(1.0, -17 * np.arange(60)), np.r_[5e-324, np.full(59, 1e308)], np.arange(60.0)],
    ids=["1e308", "1e-320", "over a thousand powers of two", "from the smallest to the largest", "rising from zero"],
)
def test_odd_weights(estimator, weight):
    check_usable(estimator, X, Y, weight)


ODD_LABELS = {
    "strings": np.array(["cat", "ant", "bee"])[Y],
    "objects": np.array(["cat", "ant", "bee"], object)[Y],
    "booleans": Y == 1,
    "numbers as objects": Y.astype(object),
    "floats": Y * 1.0,
    "negative": Y - 5,
    "far apart": Y * 10**15,
    "lists": Y.tolist(),
    "series": pd.Series(Y, index=np.arange(60)[::-1]),
    "categories": pd.Series(pd.Categorical(np.array(["cat", "ant", "bee"])[Y])),
    "one row of a class": np.where(np.arange(60) == 7, 9, Y),
    "two classes": Y // 2,
}


@pytest.mark.parametrize("case", ODD_LABELS)
@EVERY
def test_odd_labels(estimator, case):
    labels = ODD_LABELS[case]
    model = check_usable(estimator, X, labels)
    assert set(model.predict(X).tolist()) <= set(np.asarray(labels).tolist())


def test_labels_in_a_column_are_taken_with_a_warning():
    with pytest.warns(DataConversionWarning):
        model = small().fit(X, Y[:, None])
    assert model.predict(X).shape == (60,)


@SETTINGS
def test_every_row_its_own_class(estimator):
    labels = np.arange(12)
    if getattr(estimator, "separators", "") == "all":
        estimator = clone(estimator).set_params(separators="pairs")  # 2047 trees a round
    check_usable(estimator, X[:12], labels)


@SETTINGS
def test_two_rows(estimator):
    check_usable(estimator, np.array([[0.0], [1.0]]), np.array([0, 1]))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_many_classes(name):
    K = 1100 if name in CALIBRATED else 300  # more than bins and more than a byte counts; some take time that grows with its square
    labels = np.repeat(np.arange(K), 2)
    model = check_usable(
        ALGORITHMS[name](n_estimators=1, random_state=0, calibrate=False, max_depth=3), np.c_[labels, labels[::-1]], labels
    )
    assert model.predict_proba(np.zeros((1, 2))).shape == (1, K)


# ---- nothing to learn ------------------------------------------------------------------------------------------------------------------


@SETTINGS
@pytest.mark.parametrize(
    "rows",
    [np.ones((60, 3)), np.full((60, 2), np.nan), np.tile(np.repeat([0.0, 1.0], 30)[:, None], (1, 2))],
    ids=["constant", "missing", "independent of y"],
)
def test_nothing_to_learn(estimator, rows):
    labels = np.tile(np.repeat(["a", "b", "c"], [3, 8, 4]), 4)
    for weight, shares in ((None, [0.2, 8 / 15, 4 / 15]), (np.where(labels == "a", 4.0, 1.0), [0.5, 1 / 3, 1 / 6])):
        model = check_usable(estimator, rows, labels, weight)
        if model.n_estimators_ == 0:
            np.testing.assert_allclose(model.predict_proba(rows), np.tile(shares, (60, 1)))
            np.testing.assert_allclose(model.class_prior_, shares)
            assert (model.predict(rows) == ["a", "b", "c"][int(np.argmax(shares))]).all()
            assert model.temperature_ == 1
            assert len(model.history_["loss"]) == 0
            assert list(model.staged_predict(rows)) == []
            assert not model.feature_importances_.any()
        if (rows[0] == rows).all() or np.isnan(rows).all():
            assert model.n_estimators_ == 0
            assert "no split" in model.stop_reason_


def test_nothing_to_learn_of_two_classes():
    model = check_usable(small(), np.ones((4, 1)), [0, 1, 1, 1])
    np.testing.assert_allclose(model.decision_function(np.ones((2, 1))), np.log(3))


def test_limits_that_forbid_every_split():
    model = check_usable(small(min_samples_leaf=31), X, Y)
    assert model.n_estimators_ == 0
    assert "min_samples_leaf" in model.stop_reason_


@EVERY
def test_rows_that_contradict_each_other(estimator):
    rows, labels = np.repeat(X[:12], 5, axis=0), np.tile([0, 0, 0, 1, 2], 12)
    model = check_usable(estimator, rows, labels)
    assert (model.predict(rows) == 0).mean() > (0.3 if estimator.sampling == "under" else 0.5)  # for which no class is larger


def test_a_learner_that_is_never_better_than_chance():
    rows, labels = np.array([[0.0], [0.0], [1.0], [1.0]] * 5), np.array([0, 1] * 10)
    model = check_usable(SAMMEClassifier(n_estimators=3, random_state=0), rows, labels)
    assert model.n_estimators_ == 0
    np.testing.assert_allclose(model.predict_proba(rows), 0.5)


@EVERY
def test_a_class_without_weight_is_never_predicted(estimator):
    for model in (
        check_usable(clone(estimator).set_params(class_weight={2: 0.0}), X, Y),
        check_usable(estimator, X, Y, (Y < 2).astype(float)),
    ):
        assert model.classes_.tolist() == [0, 1]
        assert set(model.predict(X)) <= {0, 1}
