"""Does an algorithm keep what this library promises? :func:`check_algorithm`, for ours and for your own.

scikit-learn's ``check_estimator`` asks whether an estimator is a good citizen of scikit-learn; run it as well. These checks ask for the
rest: that decisions, probabilities and stages agree, that the model is the same bit for bit whatever the number of threads and the order of
the rows, that a fit can be taken up where it ended, and that weights, missing values, categories and sparse tables mean what they should.
"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss

from manyboost.algorithms import ALGORITHMS
from manyboost.estimator import BoostingClassifier
from manyboost.loop import HISTORY
from manyboost.trees import crew

N_ROUNDS = 8  # at most; enough to see what goes wrong
Arrays = tuple[NDArray[Any], NDArray[Any]]


def check_algorithm(estimator: BoostingClassifier) -> None:
    """Run every check of :data:`CHECKS` on copies of an estimator.

    Parameters
    ----------
    estimator : BoostingClassifier
        An instance; its parameters are used as they are, but for at most eight rounds and a fixed ``random_state``.

    Raises
    ------
    AssertionError
        The first promise that is not kept, and what was found instead.

    Examples
    --------
    >>> from manyboost import SAMMEClassifier
    >>> from manyboost.checks import check_algorithm
    >>> check_algorithm(SAMMEClassifier(max_depth=2))
    """
    for check in CHECKS:
        run_check(check, estimator)


def run_check(check: Callable[[Any], None], estimator: BoostingClassifier) -> None:
    """Run one check on a copy of an estimator."""
    copy = clone(estimator).set_params(n_estimators=min(N_ROUNDS, estimator.rounds_wanted), random_state=0)
    try:
        check(copy)
    except AssertionError as error:
        promise = (check.__doc__ or check.__name__).splitlines()[0]
        raise AssertionError(f"{type(estimator).__name__} does not keep a promise: {promise} {error}") from error


@contextmanager
def threads_for_small_tables() -> Iterator[None]:
    """While this lasts, threads share the nodes of the smallest tables, too, so that tests can see whether they give the same model."""
    usual = crew.THREAD_WORK
    crew.THREAD_WORK = 1
    try:
        yield
    finally:
        crew.THREAD_WORK = usual


def digest(model: Any) -> str:
    """A hash of all that was learnt and of the history but its times; unlike a model file's it is of any algorithm and of no parameter."""
    parts: list[Any] = [model.classes_.tolist(), model.stop_reason_, model.temperature_, model.class_prior_, model._decoder]
    parts += [model.history_[name] for name in HISTORY if name != "seconds"]
    parts += parts_of(model._binning) + parts_of(model.forest_)
    out = hashlib.sha256()
    for part in parts:
        out.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return out.hexdigest()


def parts_of(whole: Any) -> list[Any]:
    """The fields of a dataclass, those of its own fields and of structured arrays one by one; but not which row of a table was which."""
    if not is_dataclass(whole):
        names = getattr(getattr(whole, "dtype", None), "names", None)
        return [whole[name] for name in names] if names else [whole]
    return [part for field in fields(whole) if field.name != "row" for part in parts_of(getattr(whole, field.name))]


def _expect(holds: Any, otherwise: str) -> None:
    if not bool(holds):
        raise AssertionError(otherwise)


def _expect_same(model: Any, other: Any, otherwise: str) -> None:
    _expect(digest(model) == digest(other), otherwise)


def _expect_near(found: NDArray[Any], wanted: NDArray[Any], otherwise: str) -> None:
    away = float(np.abs(found - wanted).max(initial=0.0))
    _expect(away <= 1e-6, f"{otherwise} They differ by up to {away:.3g}.")


def _fitted(estimator: Any, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Any:
    return clone(estimator).set_params(**parameters).fit(X, y, sample_weight)


def some_rows(n_classes: int = 3) -> Arrays:
    """Rows that overlap, some of which contradict each other, so that no tree is ever without error and ends a fit."""
    X, y = make_classification(
        140, 6, n_informative=4, n_redundant=1, n_classes=n_classes, n_clusters_per_class=1, class_sep=0.8, flip_y=0.05, random_state=7
    )
    X[-14:], y[-14:] = X[:14], (y[:14] + 1) % n_classes
    return np.round(X, 2), y


def odd_rows() -> Arrays:
    """Rows with missing values, and with categories in the last column."""
    X, y = some_rows()
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, -1] = np.where(rng.random(len(X)) < 0.1, np.nan, rng.integers(0, 5, len(X)))
    return X, y


# ---- the checks ------------------------------------------------------------------------------------------------------------------------


def check_decisions_agree(estimator: Any) -> None:
    """The predicted class has the highest score and the highest probability."""
    for n_classes in (2, 3):
        X, y = some_rows(n_classes)
        model = _fitted(estimator, X, y)
        said = np.searchsorted(model.classes_, model.predict(X))
        scores = model.decision_function(X)
        if n_classes == 2:
            _expect(scores.shape == (len(X),), f"For two classes decision_function has the shape {scores.shape}, not (n,).")
            scores = np.column_stack([-scores, scores])
        _expect((said == scores.argmax(axis=1)).all(), f"With {n_classes} classes predict is not where decision_function is highest.")
        probability = model.predict_proba(X)
        lost = probability.max(axis=1) - probability[np.arange(len(X)), said]  # several may be one to the last bit
        _expect((lost <= 1e-12).all(), f"With {n_classes} classes predict is not where predict_proba is highest.")


def check_probabilities(estimator: Any) -> None:
    """Probabilities are finite, between 0 and 1, and sum to one."""
    for n_classes in (2, 4):
        X, y = some_rows(n_classes)
        for calibrate in ("auto", False):
            probability = _fitted(estimator, X, y, calibrate=calibrate).predict_proba(np.vstack([X, 1e6 * X]))
            _expect(probability.shape == (2 * len(X), n_classes), f"predict_proba has the shape {probability.shape}.")
            _expect(np.isfinite(probability).all(), "Some are not finite.")
            _expect(((probability >= 0) & (probability <= 1)).all(), "Some are outside [0, 1].")
            _expect_near(probability.sum(axis=1), np.ones(len(probability)), "Their sums are not one.")


def check_stages(estimator: Any) -> None:
    """There is a stage for each round, and the last stage is the model."""
    X, y = some_rows()
    model = _fitted(estimator, X, y)
    for name in ("decision_function", "predict_proba", "predict"):
        stages = list(getattr(model, f"staged_{name}")(X))
        _expect(len(stages) == model.n_estimators_, f"staged_{name} has {len(stages)} stages after {model.n_estimators_} rounds.")
        _expect((stages[-1] == getattr(model, name)(X)).all(), f"The last of staged_{name} is not {name}.")


def check_warm_start(estimator: Any) -> None:
    """A fit that is taken up again gives the model of one longer fit, bit for bit."""
    X, y = odd_rows()
    for parameters in ({}, {"subsample": 0.6}, {"early_stopping": True}, {"early_stopping": True, "subsample": 0.6, "tol": 0.01}):
        n = estimator.n_estimators
        model = clone(estimator).set_params(warm_start=True, categorical_features=[X.shape[1] - 1], **parameters)
        for rounds in sorted({max(1, n // 3), max(1, n // 2), n}):
            model.set_params(n_estimators=rounds).fit(X, y)
        _expect_same(model, clone(model).fit(X, y), f"It does not with {parameters or 'its own parameters'}.")


def check_threads(estimator: Any) -> None:
    """The model is the same for any number of threads."""
    X, y = odd_rows()
    with threads_for_small_tables():
        one, *others = (_fitted(estimator, X, y, n_jobs=n, categorical_features=[X.shape[1] - 1]) for n in (1, 2, 3))
    for n, other in zip((2, 3), others, strict=True):
        _expect_same(one, other, f"It is not for {n} threads.")


def check_order_of_rows(estimator: Any) -> None:
    """The model is the same for any order of the rows."""
    X, y = odd_rows()
    weight = np.random.default_rng(5).exponential(size=len(y))
    order = np.random.default_rng(6).permutation(len(y))
    for parameters in ({}, {"subsample": 0.5}, {"subsample": 0.5, "sampling": "weight"}, {"early_stopping": True}):
        model = _fitted(estimator, X, y, weight, **parameters)
        other = _fitted(estimator, X[order], y[order], weight[order], **parameters)
        _expect_same(model, other, f"It is not with {parameters or 'weights'}.")


def check_chance(estimator: Any) -> None:
    """Everything that is drawn comes from random_state."""
    X, y = some_rows()
    _expect_same(_fitted(estimator, X, y), _fitted(estimator, X, y), "Two fits with the same random_state differ.")


def check_files(estimator: Any) -> None:
    """A model that is pickled, or saved and loaded, is the same."""
    X, y = odd_rows()
    model = _fitted(estimator, X, y, categorical_features=[X.shape[1] - 1])
    _expect_same(model, pickle.loads(pickle.dumps(model)), "It is not when pickled.")
    if type(model) in ALGORITHMS.values():  # only those have a name that a file may give
        from manyboost.model_file import fingerprint, load, save

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            save(model, path)
            again = load(path)
        _expect(fingerprint(again) == fingerprint(model), "Its fingerprint is another when saved and loaded.")
        _expect((again.predict_proba(X) == model.predict_proba(X)).all(), "Its probabilities are others when saved and loaded.")


def check_clones(estimator: Any) -> None:
    """A clone of a fitted model is not fitted and has the same parameters."""
    X, y = some_rows()
    model = _fitted(estimator, X, y)
    copy = clone(model)
    _expect(not hasattr(copy, "forest_"), "The clone has a forest.")
    _expect(repr(copy.get_params()) == repr(model.get_params()), "The parameters differ.")


def check_names_of_classes(estimator: Any) -> None:
    """What the classes are called, and the order they stand in, does not matter."""
    X, y = some_rows()
    weight = np.random.default_rng(8).uniform(0.5, 1.5, len(y))  # no ties
    names = np.array(["ant", "bee", "cat"])
    model = _fitted(estimator, X, y, weight, calibrate=False)
    named = _fitted(estimator, X, names[y], weight, calibrate=False)
    _expect((names[model.predict(X)] == named.predict(X)).all(), "Strings in place of numbers change the predictions.")
    _expect((model.predict_proba(X) == named.predict_proba(X)).all(), "Strings in place of numbers change the probabilities.")
    permutation = np.array([2, 0, 1])
    permuted = _fitted(estimator, X, permutation[y], weight, calibrate=False)
    if digest(model) == digest(_fitted(estimator, X, y, weight, calibrate=False, random_state=1)):  # nothing was drawn
        _expect_near(permuted.predict_proba(X)[:, permutation], model.predict_proba(X), "Another order changes the probabilities.")
    lost = model.score(X, y, weight) - permuted.score(X, permutation[y], weight)
    _expect(abs(lost) < 0.15, f"Another order changes the accuracy by {lost:.3f}.")


def check_weights(estimator: Any) -> None:
    """A row of weight two is two rows, and one of weight zero is none."""
    X, y = some_rows()
    weight = np.random.default_rng(9).integers(0, 4, len(y))
    weight[:14], weight[-14:] = 3, 1  # rows that contradict each other: equal weights would leave the vote to the last bit
    counting = {"min_samples_leaf": 1, "min_samples_split": 2, "sampling": "uniform"}  # what counts rows must not part the two
    weighted = _fitted(estimator, X, y, weight, **counting)
    repeated = _fitted(estimator, X.repeat(weight, axis=0), y.repeat(weight), **counting)
    _expect_near(weighted.predict_proba(X), repeated.predict_proba(X), "Weights and repeated rows give different probabilities.")
    without = _fitted(estimator, X[weight > 0], y[weight > 0], weight[weight > 0])
    _expect_same(_fitted(estimator, X, y, weight), without, "Rows of weight zero change the model.")
    _expect_same(without, _fitted(estimator, X, y, 1024.0 * weight), "The unit of the weights changes the model.")


def check_sparse(estimator: Any) -> None:
    """A sparse table gives the same model as a dense one."""
    X, y = some_rows()
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense = _fitted(estimator, X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        other = _fitted(estimator, kind(X), y)
        _expect_same(dense, other, f"A {kind.__name__} does not.")
        _expect((other.predict_proba(kind(X)) == dense.predict_proba(X)).all(), f"A {kind.__name__} has other probabilities.")


def check_odd_values(estimator: Any) -> None:
    """Missing values and categories are allowed, also where there were none in training."""
    X, y = odd_rows()
    model = _fitted(estimator, X, y, categorical_features=[X.shape[1] - 1])
    everything_missing = np.full((1, X.shape[1]), np.nan)
    _expect(np.isfinite(model.decision_function(np.vstack([X, everything_missing]))).all(), "Some scores are not finite.")
    known = ~np.isnan(X).any(axis=1)
    complete = _fitted(estimator, X[known], y[known])
    _expect(np.isfinite(complete.predict_proba(X)).all(), "Some probabilities are not finite where values are missing for the first time.")


def check_history(estimator: Any) -> None:
    """The history has an entry for each round, and the end has a reason."""
    X, y = some_rows()
    for early_stopping in (False, True):
        model = _fitted(estimator, X, y, early_stopping=early_stopping)
        _expect(tuple(model.history_) == HISTORY, f"Its columns are {tuple(model.history_)}.")
        lengths = {len(values) for values in model.history_.values()}
        _expect(len(lengths) == 1, "Its columns differ in length.")
        n = lengths.pop()
        _expect(n >= model.n_estimators_ if early_stopping else n == model.n_estimators_, f"{n} entries for {model.n_estimators_} rounds.")
        _expect(np.isfinite(model.history_["loss"]).all(), "A loss is not finite.")
        watched = ~np.isnan(model.history_["validation_error"])
        _expect((watched == early_stopping).all(), "A validation error is missing, or is there without early stopping.")
        _expect(isinstance(model.stop_reason_, str) and model.stop_reason_, "stop_reason_ is empty.")


def check_data_are_left_alone(estimator: Any) -> None:
    """Nothing that is handed over is changed."""
    X, y = odd_rows()
    weight = np.ones(len(y))
    before = [given.copy() for given in (X, y, weight)]
    _fitted(estimator, X, y, weight, class_weight="balanced").predict(X)
    _expect(all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, (X, y, weight), strict=True)), "X, y or the weights are.")


def check_learns(estimator: Any) -> None:
    """On unseen rows of iris it does better than the classes' shares."""
    X, y = load_iris(return_X_y=True)
    model = _fitted(estimator, X[::2], y[::2], calibrate="auto")
    accuracy, loss = model.score(X[1::2], y[1::2]), log_loss(y[1::2], model.predict_proba(X[1::2]))
    _expect(accuracy > 0.6, f"Its accuracy is {accuracy:.3f}.")
    _expect(loss < np.log(3), f"Its log-loss is {loss:.3f}, that of the shares {np.log(3):.3f}.")


def check_nothing_to_learn(estimator: Any) -> None:
    """Where no column says anything, the model is the classes' shares and says why."""
    y = np.repeat([0, 1, 2], [2, 5, 3])
    X = np.ones((10, 2))
    model = _fitted(estimator, X, y)
    _expect(model.n_estimators_ == 0, f"It has {model.n_estimators_} rounds.")
    _expect_near(model.predict_proba(X), np.tile([0.2, 0.5, 0.3], (10, 1)), "The probabilities are not the shares.")
    _expect((model.predict(X) == 1).all() and (model.decision_function(X).argmax(axis=1) == 1).all(), "The largest class is not predicted.")
    _expect(model.stop_reason_, "There is no reason.")


CHECKS: list[Callable[[Any], None]] = [
    check_decisions_agree,
    check_probabilities,
    check_stages,
    check_warm_start,
    check_threads,
    check_order_of_rows,
    check_chance,
    check_files,
    check_clones,
    check_names_of_classes,
    check_weights,
    check_sparse,
    check_odd_values,
    check_history,
    check_data_are_left_alone,
    check_learns,
    check_nothing_to_learn,
]
