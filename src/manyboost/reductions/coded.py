"""What all reductions share: one binary problem for each column of a code matrix, any classifier for each, and one decision from all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter, validate_data

from manyboost.algorithms import ALGORITHMS
from manyboost.labels import read_costs, read_labels
from manyboost.maths.code_matrices import Code, column_distance, correctable, row_distance
from manyboost.maths.links import best_temperature, softmax
from manyboost.parameters import anything, check_parameters, checked, choice, is_learner, is_number_of_jobs, is_random_state
from manyboost.threads import sensible_number
from manyboost.validation import HELD_OUT_ROWS, N_FOLDS, number_of_pilots

Floats = NDArray[np.float64]
DOUBT = 1e-3  # share of the probability that all classes have evenly: a finite table excludes none, however sure the columns are
SUREST = 1e-12  # a probability is taken to be at least this far from 0 and 1

SHARED = """\
estimator : None or a scikit-learn classifier
    What learns the binary problems; None is boosted trees (SAMME, which for two classes is AdaBoost).
cost_matrix : None, array, dict or data frame
    Cost of each decision (column) for each true class (row). The class of least expected cost is decided for.
calibrate : {"auto", True, False}
    Fit, on held-out rows, a factor that makes margins log-odds and one of the evidence for the classes that makes probabilities honest:
    where the classifier has margins only, always, or never. It costs one to five more fits. But for never, a thousandth of the
    probability belongs to all classes evenly, so that none is excluded.
n_jobs : int or None
    Threads over the binary problems; the model does not depend on it. None is one, unless in a joblib context; -1 is all.
random_state : int, RandomState or None
    Seed of the code and of every classifier that takes one.
"""
ATTRIBUTES = """\
classes_ : array of the K class labels
code_ : (K, c) array of -1, 0 and 1
    What each column asks: its classes with 1 against those with -1.
estimators_ : list of the c fitted classifiers
row_distance_, column_distance_ : float
    Least distance of two rows and of two columns of the code; an entry 0 is at distance one half from everything.
n_correctable_ : int
    Wrong columns that a decision by Hamming distance always survives.
temperature_, sharpness_ : float
    Factor of the answers that makes them log-odds, 1 where the classifier has probabilities of its own; factor of the evidence for the
    classes, 1 where it was not fitted.
cost_matrix_ : (K, K) array or None
n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any
"""


@dataclass(kw_only=True, eq=False, repr=False)
class CodedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of the reductions to binary problems."""

    estimator: Any = checked(None, "None (boosted trees) or a scikit-learn classifier that is not fitted", is_learner, positional=True)
    cost_matrix: Any = anything(None)
    calibrate: str | bool = choice("auto", "auto", True, False)
    n_jobs: int | None = checked(None, "a whole number other than 0, -1 for all cores, or None", is_number_of_jobs)
    random_state: Any = checked(None, "a whole number from 0 to 2**32 - 1, a numpy RandomState, or None", is_random_state)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = (cls.__doc__ or "").replace("    SHARED\n", _indented(SHARED)).replace("    ATTRIBUTES\n", _indented(ATTRIBUTES))

    # ---- what a reduction is -------------------------------------------------------------------------------------------------

    def _make_code(self, rng: np.random.Generator) -> Code:
        raise NotImplementedError

    def _decode(self, f: Floats) -> Floats:
        """Scores (n, K) from the answers (n, c): log-odds, or margins of classifiers that have nothing else."""
        raise NotImplementedError

    def _link(self, log_odds: Floats) -> Floats:
        """Probabilities (n, K) from log-odds (n, c)."""
        raise NotImplementedError

    def _look_back(self, answers: Callable[[NDArray[np.intp]], Floats], y: NDArray[np.intp], weight: Floats) -> None:
        """Learn from the answers for training rows what decoding needs; rows of no use have the label -1."""

    def _evidence(self, log_odds: Floats) -> Floats:
        """Scores (n, K), of which a multiple is the logarithm of the probabilities but for what the classes share."""
        return np.asarray(np.log(np.maximum(self._link(log_odds), np.finfo(float).tiny)))

    # ---- fit -----------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> CodedClassifier:
        """Fit a classifier for each column of the code.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Given to the classifiers as it is.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Given to the classifiers; rows of weight zero are left out.
        **fit_params
            Further metadata for the classifiers' ``fit``, if scikit-learn's metadata routing is enabled and they have asked for it.

        Returns
        -------
        self
        """
        check_parameters(self)
        self.__dict__.pop("estimators_", None)
        X = self._read(X, reset=True)
        labels = read_labels(X, y, sample_weight, None)
        self.classes_ = labels.classes
        self.cost_matrix_: Floats | None = read_costs(self.cost_matrix, labels.classes)
        passed = self._routed(X, sample_weight, fit_params)
        random = check_random_state(self.random_state)
        # row by row, as a model file brings it back: a product of matrices may round by how they lie in memory
        code = np.ascontiguousarray(self._make_code(np.random.default_rng(random.randint(np.iinfo(np.int32).max))))
        seeds = random.randint(np.iinfo(np.int32).max, size=code.shape[1])
        used = np.flatnonzero(labels.y >= 0)
        behind = np.bincount(labels.y[used], labels.weight[used]) @ (code != 0)  # the weight of the rows of each column
        self.code_, self._weight_of_columns = code, behind / behind.max()
        self.row_distance_, self.column_distance_, self.n_correctable_ = row_distance(code), column_distance(code), correctable(code)
        some_of = self._some_of(X, used, passed)
        fitted = self._fit_columns(some_of, labels.y, used, seeds, passed)
        self._look_back(lambda rows: _answers(fitted, _safe_indexing(X, rows), self.n_jobs), labels.y, labels.weight)
        self.temperature_, self.sharpness_ = 1.0, 1.0
        margins_only = not hasattr(fitted[0], "predict_proba")
        if self.calibrate is True or (self.calibrate == "auto" and margins_only):
            self._calibrate(
                X, labels.y, labels.weight, used, margins_only, lambda rows: self._fit_columns(some_of, labels.y, rows, seeds, passed)
            )
        self.estimators_ = fitted
        return self

    def _base(self) -> Any:
        return ALGORITHMS["samme"]() if self.estimator is None else self.estimator

    def _read(self, X: Any, reset: bool) -> Any:
        """X as it came if it is a frame, else as an array or CSR matrix; what is in it is the classifiers' business."""
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)

    def _routed(self, X: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What is passed on to the classifiers' fit."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", sample_weight=sample_weight, **fit_params).estimator.fit)
        if fit_params:
            raise TypeError(
                f"fit got {', '.join(sorted(fit_params))}; to pass it on to the classifiers, call "
                "sklearn.set_config(enable_metadata_routing=True) and let them ask for it with set_fit_request."
            )
        if sample_weight is None:
            return {}
        if not has_fit_parameter(self._base(), "sample_weight"):
            raise ValueError(f"sample_weight is given, but estimator={self._base()!r} takes none; leave it out, or use another classifier.")
        return {"sample_weight": sample_weight}

    def _some_of(self, X: Any, used: NDArray[np.intp], passed: dict[str, Any]) -> Callable[[NDArray[np.intp]], Any]:
        """What a classifier is given for some of the rows; one that can share its bins, as our boosted trees, binned ones."""
        share = getattr(self._base(), "share_bins", None)
        weight = _check_method_params(X, passed, used).get("sample_weight")
        table = None if share is None else share(_safe_indexing(X, used), weight)
        if table is None:
            return lambda rows: _safe_indexing(X, rows)
        return lambda rows: table[np.searchsorted(used, rows)]

    def _fit_columns(
        self, some_of: Callable[[NDArray[np.intp]], Any], y: NDArray[np.intp], used: NDArray[np.intp], seeds: Any, passed: dict[str, Any]
    ) -> list[Any]:
        """A fitted classifier for each column, from the rows ``used``."""

        def fit_one(column: NDArray[np.int8], seed: int) -> Any:
            target = column[y[used]]
            rows, target = used[target != 0], target[target != 0]
            base = clone(self._base())
            names = [name for name in base.get_params() if name == "random_state" or name.endswith("__random_state")]
            if self.random_state is not None:
                base.set_params(**{name: int(seed) for name in names})
            return base.fit(some_of(rows), (target > 0).astype(np.intp), **_check_method_params(y, passed, rows))

        return list(_parallel(self.n_jobs)(delayed(fit_one)(column, seed) for column, seed in zip(self.code_.T, seeds, strict=True)))

    def _calibrate(
        self,
        X: Any,
        y: NDArray[np.intp],
        weight: Floats,
        used: NDArray[np.intp],
        margins_only: bool,
        fit_on: Callable[[NDArray[np.intp]], list[Any]],
    ) -> None:
        """Set the temperature, by all columns together, then the sharpness, by the classes, from rows that a fit has not seen."""
        folds = list(_folds(y, used))
        if not folds:
            return
        f = np.concatenate([_answers(fit_on(inside), _safe_indexing(X, outside), self.n_jobs) for inside, outside in folds])
        held = np.concatenate([outside for _, outside in folds])
        side = self.code_[y[held]]
        margins, of_margins = (f * side)[side != 0], np.broadcast_to(weight[held][:, None], side.shape)[side != 0]
        if margins_only and margins.any():
            right = np.ones(len(margins), np.intp)
            self.temperature_ = best_temperature(
                lambda factor: np.column_stack([expit(-factor * margins), expit(factor * margins)]), right, of_margins
            )
        evidence = self._evidence(f * self.temperature_)
        if np.ptp(evidence, axis=1).any():
            self.sharpness_ = best_temperature(lambda factor: softmax(factor * evidence), y[held], weight[held])

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def _answers(self, X: Any) -> Floats:
        check_is_fitted(self)
        check_parameters(self)
        return _answers(self.estimators_, self._read(X, reset=False), self.n_jobs)

    def _scores(self, X: Any) -> Floats:
        f = self._answers(X)
        if self.cost_matrix_ is not None:
            return np.asarray(-self._probability(f) @ self.cost_matrix_)
        return self._decode(f)

    def decision_function(self, X: Any) -> Floats:
        """Scores, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``.

        With a ``cost_matrix``, minus the expected cost of deciding for each class.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        return self._probability(self._answers(X))

    def _probability(self, f: Floats) -> Floats:
        log_odds = f * self.temperature_
        p = self._link(log_odds) if self.sharpness_ == 1.0 else softmax(self.sharpness_ * self._evidence(log_odds))
        return p if self.calibrate is False else (1 - DOUBT) * p + DOUBT / p.shape[1]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,)."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def get_metadata_routing(self) -> Any:
        """Who asks for which metadata."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._base(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base())
        tags.input_tags.sparse = of_base.input_tags.sparse
        tags.input_tags.allow_nan = of_base.input_tags.allow_nan
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _answer(fitted: Any, X: Any) -> Floats:
    """Log-odds of 1, if the classifier has probabilities; else its margin; else the sign of its decision."""
    if hasattr(fitted, "predict_proba"):
        return np.asarray(logit(np.clip(fitted.predict_proba(X)[:, 1], SUREST, 1 - SUREST)))
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(X), np.float64)
    return 2.0 * np.asarray(fitted.predict(X)) - 1.0


def _parallel(n_jobs: int | None) -> Parallel:
    return Parallel(n_jobs=None if n_jobs is None else sensible_number(n_jobs), prefer="threads")


def _answers(fitted: list[Any], X: Any, n_jobs: int | None) -> Floats:
    each: Callable[..., Any] = delayed(_answer)
    return np.column_stack(_parallel(n_jobs)(each(one, X) for one in fitted))


def _folds(y: NDArray[np.intp], used: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to fit on and rows held out; a class of one row is never held out."""
    fold = np.full(len(used), -1)
    for k in np.unique(y[used]):
        members = np.flatnonzero(y[used] == k)
        if len(members) > 1:
            fold[members] = np.arange(len(members)) % N_FOLDS
    for held in range(number_of_pilots(len(used))):
        outside = np.flatnonzero(fold == held)[:HELD_OUT_ROWS]
        if len(outside):
            yield np.delete(used, outside), used[outside]
