"""One model, bit for bit: for any number of threads, any order of the rows, and any way the same table is stored."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from estimators import CALIBRATED, each, each_with_settings
from scipy import sparse
from sklearn.base import clone

from manyboost import AdaBoostMHClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.algorithms import ALGORITHMS
from manyboost.checks import digest, odd_rows, some_rows, threads_for_small_tables

CATEGORIES = {"categorical_features": [5]}
SPREAD = np.ldexp(1.0, -np.random.default_rng(11).integers(0, 40, 140))  # weights over 40 powers of two
UNEVEN = np.random.default_rng(12).exponential(size=140)
CASES = {
    "plain": (None, {}),
    "weights over 40 powers of two": (SPREAD, {}),
    "uneven weights, classes balanced": (UNEVEN, {"class_weight": "balanced"}),
    "half of the rows": (UNEVEN, {"subsample": 0.5}),
    "half of the rows, by weight": (SPREAD, {"subsample": 0.5, "sampling": "weight"}),
    "early stopping": (UNEVEN, {"early_stopping": True, "validation_fraction": 0.3, "subsample": 0.7}),
    "limits": (None, {"min_samples_leaf": 3, "min_weight_fraction_leaf": 0.01, "max_leaf_nodes": 6, "max_depth": 3}),
    "best splits": (UNEVEN, {"splitter": "best"}),
    "random splits": (UNEVEN, {"splitter": "random", "max_bins": 16}),
}


def shuffled(seed, *arrays):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return [None if array is None else array[order] for array in arrays]


# what is drawn and how trees are limited is the learner's affair, whatever the algorithm: the others need not try it all
OF_THE_ALGORITHM = ("plain", "weights over 40 powers of two", "early stopping")
PAIRS = [
    pytest.param(model, case, id=f"{name}-{case}")
    for name, model in zip(ALGORITHMS, each(random_state=0), strict=True)
    for case in CASES
    if name in CALIBRATED or case in OF_THE_ALGORITHM
]


@pytest.mark.parametrize(("estimator", "case"), PAIRS)
def test_threads_and_order(estimator, case):
    X, y = odd_rows()
    weight, parameters = CASES[case]
    estimator = clone(estimator).set_params(**CATEGORIES, **parameters)
    wanted = digest(clone(estimator).fit(X, y, weight))
    for n_jobs, forced in ((2, False), (1, True), (3, True)):
        rows = shuffled(n_jobs + 10 * forced, X, y, weight)
        with threads_for_small_tables() if forced else nullcontext():
            found = digest(clone(estimator).set_params(n_jobs=n_jobs).fit(*rows))
        assert found == wanted, f"{n_jobs} threads, {'all' if forced else 'large'} nodes shared"


@pytest.mark.parametrize("estimator", each_with_settings(random_state=0), ids=repr)
def test_threads_with_every_setting(estimator):
    X, y = odd_rows()
    wanted = digest(clone(estimator).set_params(**CATEGORIES).fit(X, y))
    with threads_for_small_tables():
        assert digest(clone(estimator).set_params(n_jobs=3, **CATEGORIES).fit(*shuffled(1, X, y))) == wanted


@pytest.mark.parametrize("prune", ["merge", "cost_complexity"])
@pytest.mark.parametrize("algorithm", [SAMMEClassifier, PIBoostClassifier])
def test_pruned_trees(algorithm, prune):
    X, y = odd_rows()
    estimator = algorithm(n_estimators=3, prune=prune, random_state=0, calibrate=False)
    wanted = digest(clone(estimator).fit(X, y))
    with threads_for_small_tables():
        assert digest(clone(estimator).set_params(n_jobs=2).fit(*shuffled(2, X, y))) == wanted


@pytest.mark.parametrize("estimator", each(random_state=0, subsample=0.6), ids=lambda estimator: type(estimator).__name__)
def test_sparse_tables(estimator):
    X, y = odd_rows()
    X = np.where(np.abs(X) < 1, 0.0, X)  # and missing values
    wanted = digest(clone(estimator).fit(X, y, UNEVEN))
    rows = shuffled(3, X, y, UNEVEN)
    with threads_for_small_tables():
        for n_jobs, kind in ((1, sparse.csr_array), (2, sparse.csc_array), (3, sparse.coo_matrix)):
            found = clone(estimator).set_params(n_jobs=n_jobs).fit(kind(rows[0]), *rows[1:])
            assert digest(found) == wanted, kind.__name__


def test_stored_zeros_and_duplicates_of_a_sparse_table():
    X, y = some_rows()
    X = np.where(np.abs(X) < 1, 0.0, X)
    wanted = digest(RebelClassifier(n_estimators=4, random_state=0).fit(X, y))
    full = sparse.coo_array((X.ravel(), np.indices(X.shape).reshape(2, -1)), shape=X.shape)  # every zero is stored
    assert full.nnz == X.size
    halves = sparse.coo_array((np.r_[full.data, full.data] / 2, (np.r_[full.row, full.row], np.r_[full.col, full.col])), shape=X.shape)
    for table in (full, full.tocsr(), halves, sparse.csr_array(halves)):
        assert digest(RebelClassifier(n_estimators=4, random_state=0).fit(table, y)) == wanted


@pytest.mark.parametrize(
    "stored",
    [
        np.asfortranarray,
        lambda X: X.astype(">f8"),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1],
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X),
        lambda X: X.astype(object),
        lambda X: X.astype(np.longdouble),
    ],
    ids=["columns first", "big-endian", "strided", "reversed", "lists", "frame", "objects", "long doubles"],
)
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_how_the_table_is_stored(stored, splitter):
    X, y = odd_rows()
    estimator = AdaBoostMHClassifier(n_estimators=4, splitter=splitter, random_state=0, calibrate=False)
    wanted = digest(clone(estimator).fit(X, y))
    assert digest(clone(estimator).fit(stored(X), y)) == wanted


def test_order_of_a_validation_set():
    X, y = some_rows()
    estimator = SAMMEClassifier(n_estimators=8, max_depth=2, early_stopping=True, random_state=0)
    model = clone(estimator).fit(X[40:], y[40:], X_val=X[:40], y_val=y[:40], sample_weight_val=UNEVEN[:40])
    X_val, y_val, weight_val = shuffled(4, X[:40], y[:40], UNEVEN[:40])
    assert digest(clone(estimator).fit(X[40:], y[40:], X_val=X_val, y_val=y_val, sample_weight_val=weight_val)) == digest(model)


def test_predictions_do_not_depend_on_threads_or_neighbours():
    X, y = odd_rows()
    model = PIBoostClassifier(n_estimators=4, random_state=0).fit(X, y)
    many = np.tile(X, (12, 1))  # several blocks
    scores = model.decision_function(many)
    for n_jobs in (2, 3):
        assert (model.set_params(n_jobs=n_jobs).decision_function(many) == scores).all()
    np.testing.assert_allclose(model.decision_function(X), scores[: len(X)], rtol=1e-12)


@pytest.mark.parametrize("parameters", [{"subsample": 0.5}, {"splitter": "random"}, {"subsample": 0.5, "sampling": "weight"}])
def test_the_seed_matters_where_chance_has_a_part(parameters):
    X, y = some_rows()
    models = [SAMMEClassifier(n_estimators=4, max_depth=2, random_state=seed, **parameters).fit(X, y) for seed in (0, 0, 1)]
    assert digest(models[0]) == digest(models[1]) != digest(models[2])


def test_the_hash_sees_every_part_of_a_model():
    X, y = odd_rows()

    def fitted():
        return SAMMEClassifier(n_estimators=4, random_state=0, **CATEGORIES).fit(X, y)

    wanted = digest(fitted())
    for change in (
        lambda model: setattr(model, "temperature_", np.nextafter(model.temperature_, 2)),
        lambda model: model.forest_.values.__setitem__(3, np.nextafter(model.forest_.values[3], np.inf)),
        lambda model: model.forest_.nodes["missing_left"].__setitem__(0, ~model.forest_.nodes["missing_left"][0]),
        lambda model: model.forest_.nodes["threshold"].__setitem__(0, 17.0),
        lambda model: model.forest_.members["round"].__setitem__(0, 5),
        lambda model: model._binning.cuts.__setitem__(0, -99.0),
        lambda model: model.history_["loss"].__setitem__(0, -1.0),
    ):
        model = fitted()
        change(model)
        assert digest(model) != wanted
