"""Tables as users have them: data frames, categories, missing values, sparse matrices, and scikit-learn's tools around them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from estimators import each
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from manyboost import (
    AdaBoostMHClassifier,
    ManyBoostClassifier,
    OneVsAllClassifier,
    OutputCodeClassifier,
    PIBoostClassifier,
    RebelClassifier,
    SAMMEClassifier,
)
from manyboost.checks import digest, some_rows
from manyboost.columns import read_columns
from manyboost.learners import C45Tree, LocalizedSimilarity, NaiveBayes

N = 90
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3
NUMBER = RNG.normal(size=N) + Y
ANIMAL = np.array(["ant", "bee", "cat"])[(Y + (RNG.random(N) < 0.2)) % 3]
GAPS = RNG.random(N) < 0.15
EVERY = pytest.mark.parametrize("estimator", each(n_estimators=3, random_state=0), ids=lambda estimator: type(estimator).__name__)


def small(**parameters):
    return SAMMEClassifier(**{"n_estimators": 4, "max_depth": 3, "random_state": 0, "calibrate": False, **parameters})


def frame(**columns):
    return pd.DataFrame({"number": NUMBER, **columns})


def same_trees(model, other):
    return all((model.forest_.nodes[name] == other.forest_.nodes[name]).all() for name in model.forest_.nodes.dtype.names)


CODES = np.c_[NUMBER, np.searchsorted(["ant", "bee", "cat"], ANIMAL)]
WANTED = small(categorical_features=[1]).fit(CODES, Y)  # the plainest way to say it


# ---- categories ------------------------------------------------------------------------------------------------------------------------

ANIMALS = {
    "str": pd.Series(ANIMAL),
    "object": pd.Series(ANIMAL.astype(object)),
    "category": pd.Series(pd.Categorical(ANIMAL)),
    "category, one that does not occur": pd.Series(pd.Categorical(ANIMAL, categories=["yak", "cat", "ant", "bee"])),
    "string": pd.Series(ANIMAL, dtype="string"),
    "arrow": pd.Series(ANIMAL, dtype=pd.ArrowDtype(pa.string())),
    "arrow, dictionary": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(ANIMAL.tolist()).dictionary_encode())),
}


@pytest.mark.parametrize("kind", ANIMALS)
def test_categories_of_pandas(kind):
    X = frame(animal=ANIMALS[kind])
    model = small().fit(X, Y)
    assert model._columns.categories == (None, ("ant", "bee", "cat"))
    assert same_trees(model, WANTED)
    assert (model.predict_proba(X) == WANTED.predict_proba(CODES)).all()
    assert model.feature_names_in_.tolist() == ["number", "animal"]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["cat", "bee", "ant"])], ids=str)
def test_categories_of_polars(kind):
    X = pl.DataFrame({"number": NUMBER, "animal": ANIMAL}).with_columns(pl.col("animal").cast(kind))
    model = small().fit(X, Y)
    assert same_trees(model, WANTED)
    assert (model.predict_proba(X) == WANTED.predict_proba(CODES)).all()
    assert (model.predict_proba(frame(animal=ANIMAL)) == WANTED.predict_proba(CODES)).all()  # another library in predict


@pytest.mark.parametrize(
    ("X", "categorical_features"),
    [
        (CODES, [1]),
        (CODES, np.array([1])),
        (CODES, [False, True]),
        (CODES.tolist(), [1]),
        (np.c_[NUMBER.astype(object), ANIMAL], [1]),
        (frame(code=CODES[:, 1]), ["code"]),
        (frame(code=CODES[:, 1]), [1]),
        (frame(code=CODES[:, 1]), (False, True)),
        (frame(animal=ANIMAL), ["animal"]),
        (pl.DataFrame({"number": NUMBER, "code": CODES[:, 1]}), ["code"]),
    ],
    ids=["numbers", "array", "mask", "lists", "objects", "name", "number of a frame", "mask of a frame", "strings", "polars"],
)
def test_categories_by_number_mask_or_name(X, categorical_features):
    model = small(categorical_features=categorical_features).fit(X, Y)
    assert same_trees(model, WANTED)
    assert (model.predict_proba(X) == WANTED.predict_proba(CODES)).all()


def test_numbers_are_no_categories_unless_asked():
    assert small().fit(frame(code=CODES[:, 1]), Y)._columns.categories == (None, None)
    assert small(categorical_features=[]).fit(CODES, Y)._columns.categories == (None, None)
    assert small(categorical_features=None).fit(CODES, Y)._columns.categories == (None, None)
    with pytest.raises(ValueError, match="Column 'animal' cannot be read as numbers.*categorical_features"):
        small(categorical_features=None).fit(frame(animal=ANIMAL), Y)


def test_a_category_is_a_set_and_not_an_order():
    """Two categories at the ends of the alphabet against one in the middle: one split, which no threshold makes."""
    X = pd.DataFrame({"letter": np.array(["a", "m", "z"])[np.arange(60) % 3]})
    y = np.arange(60) % 3 == 1
    numbers, stump = np.arange(60)[:, None] % 3, {"max_depth": 1, "n_estimators": 1, "on_perfect": "stop"}
    assert small(**stump).fit(X, y).score(X, y) == 1
    assert small(**stump, categorical_features=[0]).fit(numbers, y).score(numbers, y) == 1
    assert small(**stump).fit(numbers, y).score(numbers, y) < 1


def test_booleans():
    yes = ANIMAL == "bee"
    wanted = small(categorical_features=[1]).fit(np.c_[NUMBER, yes], Y)
    for column in (yes, pd.array(yes, dtype="boolean"), yes.astype(object)):
        model = small().fit(frame(yes=column), Y)
        assert model._columns.categories == (None, (False, True))
        assert same_trees(model, wanted)
    assert same_trees(small().fit(pl.DataFrame({"number": NUMBER, "yes": yes}), Y), wanted)
    assert small().fit(np.c_[yes, ~yes], Y)._columns.categories == (None, None)  # an array of booleans is one of numbers


def test_categories_of_several_types_in_one_column():
    X = frame(mixed=pd.Series([1, "one", 2.5] * 30, dtype=object))
    assert small().fit(X, Y).score(X, Y) == 1
    with pytest.raises(TypeError, match="Column 'lists' holds values that cannot be categories"):
        small().fit(frame(lists=pd.Series([[1], [2], [3]] * 30)), Y)


# ---- missing values --------------------------------------------------------------------------------------------------------------------

WITH_GAPS = np.where(GAPS[:, None], np.nan, CODES)
WANTED_WITH_GAPS = small(categorical_features=[1]).fit(WITH_GAPS, Y)


@pytest.mark.parametrize(
    "X",
    [
        frame(animal=pd.Series(np.where(GAPS, None, ANIMAL), dtype=object)).assign(number=np.where(GAPS, np.nan, NUMBER)),
        frame(animal=pd.Categorical(np.where(GAPS, None, ANIMAL))).assign(number=pd.Series(np.where(GAPS, pd.NA, NUMBER), dtype="Float64")),
        frame(animal=pd.Series(np.where(GAPS, None, ANIMAL), dtype="string")).assign(number=np.where(GAPS, np.nan, NUMBER)),
        pl.DataFrame({"number": NUMBER, "animal": ANIMAL, "gap": GAPS})
        .with_columns(pl.when(pl.col("gap")).then(None).otherwise(pl.col("number")).alias("number"))
        .with_columns(pl.when(pl.col("gap")).then(None).otherwise(pl.col("animal")).alias("animal"))
        .drop("gap"),
        np.where(GAPS[:, None], None, np.c_[NUMBER.astype(object), ANIMAL]),
        np.where(GAPS[:, None], pd.NA, np.c_[NUMBER.astype(object), ANIMAL]),
    ],
    ids=["None and NaN", "category and Float64", "string", "polars", "objects", "objects with pandas.NA"],
)
def test_missing_values(X):
    model = small(categorical_features=[1]).fit(X, Y)
    assert same_trees(model, WANTED_WITH_GAPS)
    assert (model.predict_proba(X) == WANTED_WITH_GAPS.predict_proba(WITH_GAPS)).all()


@pytest.mark.parametrize("beside", [{}, {"animal": ANIMAL}], ids=["numbers only", "beside categories"])
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]"])
def test_whole_numbers_with_gaps(dtype, beside):
    model = small().fit(frame(code=pd.Series(np.where(GAPS, None, Y), dtype=object).astype(dtype), **beside), Y)
    other = small().fit(frame(code=np.where(GAPS, np.nan, Y), **beside), Y)
    assert same_trees(model, other)


WHOLE = RNG.integers(0, 5, (N, 4)).astype(float)


@pytest.mark.parametrize(
    "X",
    [
        WHOLE,
        WHOLE.astype(np.int8),
        np.where(RNG.random((N, 4)) < 0.3, np.nan, WHOLE * [1, 2, 60, 1]),
        np.where(GAPS[:, None], np.nan, WHOLE) * [1, np.nan, 1, 1],
        WHOLE + [0, 250, 0, 0],
        WHOLE * [1, 0.5, 1, -1],
    ],
    ids=["numbers", "integers", "missing", "a column without any", "large", "fractions"],
)
@pytest.mark.parametrize("handle_unknown", ["error", "missing"])
def test_whole_numbers_as_categories_are_read_as_any_others(X, handle_unknown):
    """At once where they are small; an array of objects is read column by column."""
    objects = np.where(np.isnan(X), None, X.astype(object))
    strange = np.where(X == X[~np.isnan(X)].min(), 3, X)
    asked = {"categorical_features": np.array([False, True, True, True]), "handle_unknown": handle_unknown}
    read = [read_columns(NaiveBayes(), table, None, **asked) for table in (X, objects)]
    assert read[0][1] == read[1][1]
    assert [type(value) for known in read[0][1].categories for value in known or ()] == [
        type(value) for known in read[1][1].categories for value in known or ()
    ]
    np.testing.assert_array_equal(read[0][0], read[1][0])
    learner = NaiveBayes(**asked).fit(X, Y)
    said = []
    for table in (strange, strange.astype(object)):
        try:
            said.append(learner.predict_proba(table).tolist())
        except ValueError as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_a_column_without_any_category():
    X = frame(animal=pd.Series([None] * N, dtype=object))
    model = small().fit(X, Y)
    assert same_trees(model, small().fit(frame(animal=np.full(N, np.nan)), Y))
    with pytest.raises(ValueError, match="did not occur in training"):
        model.predict(frame(animal=ANIMAL))


# ---- refused ---------------------------------------------------------------------------------------------------------------------------

DAYS = pd.date_range("2020-01-01", periods=N)


@pytest.mark.parametrize("beside", [{}, {"animal": ANIMAL}], ids=["numbers only", "beside categories"])
@pytest.mark.parametrize(
    "times",
    [DAYS, DAYS.tz_localize("UTC"), DAYS - DAYS[0], DAYS.to_period("D"), pd.Series(DAYS).astype("date32[pyarrow]")],
    ids=["dates", "with a zone", "durations", "periods", "arrow"],
)
def test_dates_are_refused(times, beside):
    with pytest.raises(TypeError, match="Column 'when' holds dates or times.*Give numbers made from them"):
        small().fit(frame(when=times, **beside), Y)


def test_dates_of_polars_are_refused():
    with pytest.raises(TypeError, match="Column 'when' holds dates or times"):
        small().fit(pl.DataFrame({"number": NUMBER, "when": DAYS.to_numpy()}), Y)


def test_dates_may_be_categories():
    X = frame(when=np.array(DAYS[:3])[Y])
    assert small(categorical_features=["when"]).fit(X, Y).score(X, Y) == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (frame(animal=ANIMAL).assign(number=np.where(GAPS, np.inf, NUMBER)), "column 'number' contains infinity"),
        (frame(number=np.where(GAPS, np.inf, NUMBER)), "column 'number' contains infinity"),
        (frame(x=NUMBER + 1j), "Column 'x' cannot be read as numbers.*Complex"),
        (pl.DataFrame({"number": NUMBER}).lazy(), "collect"),
        (pd.DataFrame(np.c_[NUMBER, NUMBER], columns=["a", "a"]), "more than one column named 'a'"),
        (pd.DataFrame({"a": NUMBER, 1: NUMBER}), "string names"),
        (pd.Series(NUMBER), "2-dimensional|2D"),
        (frame(animal=ANIMAL).iloc[:0], "0 sample"),
        ([["a", 1.0], ["b"]] * 45, "inhomogeneous|sequence"),
    ],
    ids=["infinite", "infinite, numbers only", "complex", "lazy", "names twice", "mixed names", "series", "no rows", "ragged"],
)
def test_bad_frames(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small().fit(X, Y)


# ---- predict -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_must_be_those_of_fit(library):
    data = {"number": NUMBER, "animal": ANIMAL}
    model = small().fit(library(data), Y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(library({"animal": ANIMAL, "number": NUMBER}))
    with pytest.raises(ValueError, match="now missing"):
        model.predict(library({"number": NUMBER}))
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(library({**data, "more": NUMBER}))
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(library({"number": NUMBER, "beast": ANIMAL}))


def test_an_array_in_place_of_a_frame_gives_scikit_learns_warning():
    model = small().fit(frame(animal=ANIMAL), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        said = model.predict(frame(animal=ANIMAL).to_numpy())
    assert (said == model.predict(frame(animal=ANIMAL))).all()


def test_unknown_categories():
    strange = frame(animal=np.where(GAPS, "yak", ANIMAL))
    model = small().fit(frame(animal=ANIMAL), Y)
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="Column 'animal' has the category 'yak'.*handle_unknown='missing'"):
            method(strange)
    model.set_params(handle_unknown="missing")
    missing = frame(animal=pd.Series(np.where(GAPS, None, ANIMAL), dtype=object))
    assert (model.predict_proba(strange) == model.predict_proba(missing)).all()


def test_of_too_many_categories_the_most_frequent_are_kept_and_the_others_are_missing():
    rng = np.random.default_rng(0)
    number = np.concatenate([np.arange(300), rng.integers(0, 250, 900)])  # 250 that are frequent, 50 that occur once
    y = number % 2
    names = np.array([f"c{k:03}" for k in range(300)])
    with pytest.raises(ValueError, match="300 categories.*handle_unknown='missing'"):
        small().fit(pd.DataFrame({"c": names[number]}), y)
    with pytest.warns(UserWarning, match="Column 'c' has 300 categories, and at most 255.* of 45 rows, count as missing"):
        model = small(handle_unknown="missing").fit(pd.DataFrame({"c": names[number]}), y)
    kept = np.bincount(number, minlength=300) > 1
    kept[np.flatnonzero(~kept)[: 255 - kept.sum()]] = True  # of equally frequent ones the first
    fewer = pd.DataFrame({"c": pd.Series(np.where(kept[number], names[number], None), dtype=object)})
    said = model.predict_proba(pd.DataFrame({"c": names[number]}))
    assert (said == small().fit(fewer, y).predict_proba(fewer)).all()
    rare = pd.DataFrame({"c": names[~kept][:2]})
    assert (model.predict_proba(rare) == model.predict_proba(pd.DataFrame({"c": [None, "never seen"]}))).all()


UNUSED = np.arange(N) % 6 == 1  # rows of no weight, and the only ones with a yak
WITH_YAKS = np.where(UNUSED, "yak", ANIMAL)
USED_WEIGHT = np.where(UNUSED, 0.0, 1.0 + np.arange(N) % 2)
TABLES_WITH_YAKS = {
    "numbers": np.c_[NUMBER, np.where(UNUSED, 0, 1 + CODES[:, 1])],
    "large numbers": np.c_[NUMBER, np.where(UNUSED, 1000, CODES[:, 1])],
    "fractions": np.c_[NUMBER, np.where(UNUSED, 0, 0.5 + CODES[:, 1])],
    "objects": np.c_[NUMBER.astype(object), WITH_YAKS],
    "pandas, category": frame(animal=pd.Categorical(WITH_YAKS)),
    "pandas, string": frame(animal=pd.Series(WITH_YAKS, dtype="string")),
    "polars": pl.DataFrame({"number": NUMBER, "animal": WITH_YAKS}),
    "polars, categorical": pl.DataFrame({"number": NUMBER, "animal": WITH_YAKS}).with_columns(pl.col("animal").cast(pl.Categorical)),
}


@pytest.mark.parametrize("handle_unknown", ["error", "missing"])
@pytest.mark.parametrize("kind", TABLES_WITH_YAKS)
def test_rows_of_weight_zero_teach_no_category(kind, handle_unknown):
    X = TABLES_WITH_YAKS[kind]
    used = X.filter(pl.Series(~UNUSED)) if isinstance(X, pl.DataFrame) else X[~UNUSED]
    model = small(subsample=0.5, categorical_features=[1], handle_unknown=handle_unknown)
    wanted = clone(model).fit(used, Y[~UNUSED], USED_WEIGHT[~UNUSED])
    found = clone(model).set_params(warm_start=True, n_estimators=2).fit(X, Y, USED_WEIGHT)
    found.set_params(n_estimators=4).fit(X, Y, USED_WEIGHT)  # it knows the columns by now, and no yak
    assert found._columns == wanted._columns
    assert len(found._columns.categories[1]) == 3
    assert (found.predict_proba(used) == wanted.predict_proba(used)).all()
    if handle_unknown == "error":
        with pytest.raises(ValueError, match="did not occur in training"):
            found.predict(X)
        with pytest.raises(ValueError, match="did not occur in training"):
            found.set_params(n_estimators=5).fit(X, Y)


def test_rows_of_a_class_of_weight_zero_teach_no_category():
    X, y = TABLES_WITH_YAKS["objects"], np.where(UNUSED, 3, Y)
    wanted = small(subsample=0.5, categorical_features=[1]).fit(X[~UNUSED], Y[~UNUSED])
    found = small(subsample=0.5, categorical_features=[1], class_weight={3: 0.0}).fit(X, y)
    assert found._columns == wanted._columns
    assert (found.predict_proba(X[~UNUSED]) == wanted.predict_proba(X[~UNUSED])).all()


@pytest.mark.parametrize("handle_unknown", ["error", "missing"])
@pytest.mark.parametrize(
    "estimator",
    [
        NaiveBayes(),
        C45Tree(),
        SAMMEClassifier(n_estimators=4, estimator=C45Tree(), random_state=0),
        SAMMEClassifier(n_estimators=4, estimator=NaiveBayes(), subsample=0.5, random_state=0),
        RebelClassifier(n_estimators=3, estimator=LocalizedSimilarity(), random_state=0),
        ManyBoostClassifier(n_estimators=4, quality="fast", random_state=0),
        ManyBoostClassifier(n_estimators=4, similarities=True, random_state=0),
        OneVsAllClassifier(small(subsample=0.5), random_state=0),
        OneVsAllClassifier(small(subsample=0.5, class_weight="balanced"), random_state=0),
        OutputCodeClassifier(NaiveBayes(), random_state=0),
    ],
    ids=str,
)
def test_rows_of_weight_zero_teach_no_category_to_others(estimator, handle_unknown):
    X = np.c_[np.where(UNUSED, 0, 1 + CODES[:, 1]), NUMBER]
    model = clone(estimator)
    reads = model.estimator if isinstance(model, OneVsAllClassifier | OutputCodeClassifier) else model
    reads.set_params(categorical_features=[0], handle_unknown=handle_unknown)
    found, wanted = clone(model).fit(X, Y, USED_WEIGHT), clone(model).fit(X[~UNUSED], Y[~UNUSED], USED_WEIGHT[~UNUSED])
    assert (found.predict_proba(X[~UNUSED]) == wanted.predict_proba(X[~UNUSED])).all()
    if handle_unknown == "error":
        with pytest.raises(ValueError, match="did not occur in training"):
            found.predict(X)


def test_categories_of_rows_of_weight_zero_are_not_too_many():
    number = np.arange(300)
    weight, y = (number < 200).astype(float), number % 2
    names = np.array([f"c{k:03}" for k in number])
    for column in (number, names):
        X = pd.DataFrame({"c": column})
        for model in (small(categorical_features=[0]), NaiveBayes(categorical_features=[0])):
            assert clone(model).fit(X, y, weight)._columns == clone(model).fit(X[:200], y[:200])._columns
    with pytest.warns(UserWarning, match="has 300 categories.* of 45 rows"):
        small(categorical_features=[0], handle_unknown="missing").fit(X, y)


@pytest.mark.parametrize(
    "model",
    [small(handle_unknown="missing"), NaiveBayes(handle_unknown="missing"), ManyBoostClassifier(n_estimators=3, quality="fast")],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:Column 'c' has")
def test_of_too_many_categories_those_of_most_weight_are_kept(model):
    """As if a row of weight three stood there three times, whatever the order of the rows."""
    rng = np.random.default_rng(1)
    number = rng.permutation(np.concatenate([np.arange(300), rng.integers(0, 300, 500)]))
    weight, order = rng.integers(0, 4, 800), rng.permutation(800)
    X, y = pd.DataFrame({"c": np.array([f"c{k:03}" for k in range(300)])[number]}), number % 2
    copies = np.repeat(np.arange(800), weight)
    fitted = [
        clone(model).fit(X, y, weight),
        clone(model).fit(X, y, weight / 7),
        clone(model).fit(X.iloc[order], y[order], weight[order]),
        clone(model).fit(X.iloc[copies], y[copies]),
    ]
    known = [one.models_[0]._columns if isinstance(one, ManyBoostClassifier) else one._columns for one in fitted]
    total = np.bincount(number, weight)
    kept = np.sort(np.argsort(-total, kind="stable")[:255])
    assert known[0].categories == (tuple(f"c{k:03}" for k in kept),)
    assert known[1:] == known[:1] * 3


def test_a_number_where_a_category_was_and_the_other_way_round():
    model = small().fit(frame(animal=ANIMAL), Y)
    with pytest.raises(ValueError, match=r"Column 'animal' has the category 1\.0"):
        model.predict(frame(animal=np.ones(N)))
    with pytest.raises(ValueError, match="Column 'number' cannot be read as numbers"):
        model.predict(frame(animal=ANIMAL).assign(number="many"))
    with pytest.raises(ValueError, match="Column 'b' cannot be read as numbers"):
        small().fit(frame(b=NUMBER), Y).predict(frame(b=ANIMAL))


def test_validation_rows_have_categories_too():
    X = frame(animal=ANIMAL)
    model = small(early_stopping=True).fit(X[:60], Y[:60], X_val=X[60:], y_val=Y[60:])
    assert model.history_["validation_error"][model.n_estimators_ - 1] == pytest.approx(1 - model.score(X[60:], Y[60:]))
    with pytest.raises(ValueError, match="X_val: Column 'animal' has the category 'yak'"):
        small(early_stopping=True).fit(X[:60], Y[:60], X_val=X[60:].assign(animal="yak"), y_val=Y[60:])


def test_validation_rows_of_weight_zero_may_have_any_category():
    X, with_yaks, weight = frame(animal=ANIMAL), frame(animal=WITH_YAKS), USED_WEIGHT
    model = small(early_stopping=True)
    wanted, *found = [
        clone(model).fit(train[:60], Y[:60], weight[:60], X_val=watched[60:], y_val=Y[60:], sample_weight_val=weight[60:])
        for train, watched in ((X, X), (X, with_yaks), (with_yaks, with_yaks))
    ]
    for one in found:
        assert (one.predict_proba(X) == wanted.predict_proba(X)).all()
        assert (one.history_["validation_error"] == wanted.history_["validation_error"]).all()


# ---- sparse ----------------------------------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize(
    "kind",
    [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_array],
)
def test_sparse_is_dense(estimator, kind):
    X, y = some_rows()
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense = clone(estimator).fit(X, y)
    model = clone(estimator).fit(kind(X), y)
    assert digest(model) == digest(dense)
    assert (model.predict_proba(kind(X)) == dense.predict_proba(X)).all()
    for stage, other in zip(model.staged_predict(kind(X)), dense.staged_predict(X), strict=True):
        assert (stage == other).all()


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool])
def test_sparse_numbers_of_other_types(dtype):
    X = (RNG.random((N, 5)) < 0.3) * (Y[:, None] + 1)
    model, dense = small().fit(sparse.csr_array(X.astype(dtype)), Y), small().fit(X.astype(dtype), Y)
    assert same_trees(model, dense)


def test_sparse_with_missing_and_infinite_values():
    X = np.where(RNG.random((N, 3)) < 0.5, 0.0, Y[:, None])
    X[GAPS, 1] = np.nan
    assert same_trees(small().fit(sparse.csr_array(X), Y), small().fit(X, Y))
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        small().fit(sparse.csr_array(X), Y)


def test_sparse_tables_have_no_categories():
    with pytest.raises(ValueError, match="need a dense X"):
        small(categorical_features=[1]).fit(sparse.csr_array(CODES), Y)
    with pytest.raises(ValueError, match="need a dense X"):
        WANTED.predict(sparse.csr_array(CODES))


# ---- scikit-learn's tools --------------------------------------------------------------------------------------------------------------


@EVERY
def test_cross_validation_and_grid_search(estimator):
    X, y = some_rows()
    assert cross_val_score(estimator, X, y, cv=3).mean() > 0.4
    other = "subsample" if estimator.revises else "learning_rate"
    search = GridSearchCV(estimator, {"max_depth": [1, 3], other: [0.5, 1.0]}, cv=3, error_score="raise").fit(X, y)
    assert set(search.best_params_) == {"max_depth", other}
    assert search.predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_inside_joblib(n_jobs):
    X, y = some_rows()
    model = AdaBoostMHClassifier(n_estimators=4, random_state=0, n_jobs=n_jobs)
    bag = BaggingClassifier(model, n_estimators=2, n_jobs=2, random_state=0).fit(X, y)
    alone = BaggingClassifier(model, n_estimators=2, random_state=0).fit(X, y)
    assert (bag.predict_proba(X) == alone.predict_proba(X)).all()


def test_around_us():
    X, y = some_rows()
    names = np.array(["x", "y", "z"])[y]
    us = [SAMMEClassifier(n_estimators=3, max_depth=3), RebelClassifier(n_estimators=3), PIBoostClassifier(n_estimators=3)]
    for around in (
        CalibratedClassifierCV(us[0], cv=2, method="sigmoid"),
        VotingClassifier([("a", us[0]), ("b", us[1])], voting="soft"),
        StackingClassifier([("a", us[1]), ("b", us[2])], LogisticRegression(), cv=2),
        OneVsRestClassifier(us[1]),
        make_pipeline(StandardScaler(), us[2]),
    ):
        assert around.fit(X, names).score(X, names) > 0.5
    said = cross_val_predict(us[0], X, names, cv=2, method="predict_proba")
    assert said.shape == (len(X), 3)
    model = us[1].fit(X, names)
    assert permutation_importance(model, X, names, n_repeats=2, random_state=0).importances.shape == (6, 2)


def test_behind_a_column_transformer():
    X = frame(animal=ANIMAL)
    encode = make_column_transformer((OneHotEncoder(), ["animal"]), remainder="passthrough")
    model = make_pipeline(encode, small()).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_routed_weights():
    X, y = some_rows()
    weight = RNG.exponential(size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        ours = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, ours).fit(X, y, sample_weight=weight)
        search = GridSearchCV(pipeline, {"sammeclassifier__max_depth": [1, 2]}, cv=2).fit(X, y, sample_weight=weight)
        without = make_pipeline(scaler, small().set_fit_request(sample_weight=False)).fit(X, y)
        watching = small(early_stopping=True).set_fit_request(X_val=True, y_val=True)
        watched = make_pipeline(watching).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    direct = small().fit(StandardScaler().fit_transform(X), y, weight)
    assert digest(pipeline[-1]) == digest(direct) != digest(without[-1])
    assert search.best_estimator_[-1].n_estimators_ > 0
    assert np.isfinite(watched[-1].history_["validation_error"]).all()


@EVERY
def test_names_of_labels_are_kept(estimator):
    X, y = some_rows()
    for labels in (np.array(["ant", "bee", "cat"])[y], np.array(["ant", "bee", "cat"], object)[y], y == 1):
        model = clone(estimator).fit(X, labels)
        assert model.predict(X).dtype == labels.dtype
        assert model.classes_.tolist() == sorted(set(labels.tolist()))
        assert model.score(X, labels) > 0.5
