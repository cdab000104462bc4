"""The kernel machine behind scikit-learn's API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from manyboost.parameters import check_parameters, checked, choice, flag, integer, is_number, number
from manyboost.svm.distinct_rows import DistinctRows
from manyboost.svm.kernel_dual import Problem, solve
from manyboost.svm.kernel_rows import CHUNK, RadialInSingle, checked_block, kernel_between
from manyboost.svm.machine import Floats, MulticlassMachine, hinge_losses

THROUGH_THE_ORIGIN = ("linear", "poly", "sigmoid")  # kernels whose scores are, or may be, zero at the origin
KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


def is_kernel(value: Any) -> bool:
    return callable(value) or (isinstance(value, str) and value in KERNELS)


def is_gamma(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("scale", "auto")
    return is_number(value) and value > 0


@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassSVC(MulticlassMachine):
    """Support vector machine with a kernel for all classes at once, by the multi-class hinge loss of Crammer and Singer.

    Parameters have the names of scikit-learn's ``SVC``, which instead fits one machine for each pair of classes.

    Parameters
    ----------
    C : float
        Weight of the losses.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        With "precomputed", X is the kernel between all rows in ``fit``, and between new and training rows in ``predict``. A callable is
        given two tables of rows and returns the kernel between them.
    degree : int
        Of "poly".
    gamma : {"scale", "auto"} or float
        Of "rbf", "poly" and "sigmoid"; "scale" is 1 / (p Var(X)), "auto" is 1 / p.
    coef0 : float
        Of "poly" and "sigmoid".
    fit_intercept : {"auto", True, False}
        Whether there are intercepts. They are part of the penalty, as in the linear machine: 1 is added to the kernel. "auto" is True
        for "linear", "poly" and "sigmoid", which tie scores to the origin.
    tol : float
        The fit ends when the duality gap is at most this share of the objective.
    max_iter : int
        Most blocks of rows that are solved; ten are usual.
    cache_size : float
        Megabytes for values of the kernel. They are kept in double precision where the whole kernel fits into half of it, and
        where single precision is not enough for ``tol``.
    class_weight : None, "balanced" or dict
        Factors of C by class.
    calibrate : {"auto", False}
        Fit the temperature of ``predict_proba`` on held-out rows, or leave it at 1. No decision depends on it.
    warm_start : bool
        Begin the next ``fit`` with the variables of the last one, for all rows that were in it; rows, C and the kernel may change.
    random_state : int, RandomState or None
        Accepted for likeness with the linear machine; nothing is drawn.

    Attributes
    ----------
    classes_ : array of the K class labels
    support_ : (n_support,) numbers of the training rows in the solution; of equal rows, of the first
    support_vectors_ : (n_support, p) these rows; empty for a kernel given as such
    dual_coef_ : (n_support, K) array
        Their variables alpha: scores are ``kernel(X, support_vectors_) @ dual_coef_ + intercept_``.
    intercept_ : (K,) array
    n_support_ : (K,) number of support vectors of each class
    objective_, dual_objective_, duality_gap_ : float
        What is minimised, its bound from below, and their difference.
    n_iter_ : int
        Blocks solved.
    stop_reason_ : str
        Why the fit ended.
    temperature_ : float
        Factor of the scores inside ``predict_proba``.
    n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any

    References
    ----------
    K. Crammer, Y. Singer: On the algorithmic implementation of multiclass kernel-based vector machines. JMLR 2 (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyboost import MulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC().fit(X, y)
    >>> model.dual_coef_.shape[1], bool(model.score(X, y) > 0.95)
    (3, True)
    """

    max_iter: int = integer(200, low=1)
    kernel: Any = checked("rbf", "one of " + ", ".join(map(repr, KERNELS)) + ", or a callable", is_kernel)
    degree: int = integer(3, low=1)
    gamma: Any = checked("scale", "'scale', 'auto' or a number above 0", is_gamma)
    coef0: float = number(0.0, low=-np.inf)
    fit_intercept: str | bool = choice("auto", "auto", True, False)
    cache_size: float = number(200.0, low=0, open_low=True)
    warm_start: bool = flag(False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MulticlassSVC:
        """Fit the machine.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p), or the kernel, (n, n)
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Factors of C by row; rows of weight zero are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        going_on = self.warm_start and hasattr(self, "temperature_")
        earlier = (self.classes_, self._keys, self.dual_coef_) if going_on else None
        X = validate_data(self, X, accept_sparse=self._takes_sparse(), dtype=np.float64)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed': X must be the square kernel between all training rows; it has the shape {X.shape}.")
        rows = self._read_training(X, y, sample_weight)
        self._gamma = self._gamma_of(rows.X, rows.weight)
        self._constant = self._constant_wanted()
        problem = self._problem(rows)
        alpha = self._start(rows, earlier)
        outputs = problem.outputs(np.arange(len(alpha)), alpha)
        n_iter, share = solve(problem, alpha, outputs, float(self.tol), self.max_iter)
        self._take_over(rows, alpha, outputs)
        if share <= self.tol:
            self._report(max(n_iter, 1), f"the duality gap is at most tol={self.tol:g} of the objective", True)
        else:
            reason = f"max_iter={self.max_iter} blocks left a duality gap of {share:.3g} of the objective, above tol={self.tol:g}"
            self._report(n_iter, reason, False)

        def scores_without(held: NDArray[np.intp]) -> Floats:
            bounds, forgotten = rows.weight.copy(), np.zeros_like(alpha)
            bounds[held], forgotten[held] = 0.0, alpha[held]
            fewer = Problem(problem.block, problem.diagonal, problem.y, bounds, problem.K, problem.megabytes)
            start, without = alpha - forgotten, outputs - problem.outputs(np.arange(len(alpha)), forgotten)
            solve(fewer, start, without, 10 * float(self.tol), self.max_iter)
            return np.asarray(without[held])

        self._calibrate(rows, scores_without)
        return self

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _constant_wanted(self) -> float:
        """What is added to the kernel."""
        wanted = self.kernel in THROUGH_THE_ORIGIN if self.fit_intercept == "auto" else self.fit_intercept
        return float(wanted)

    @property
    def intercept_(self) -> Floats:
        return np.asarray(self._constant * self.dual_coef_.sum(axis=0))

    def _takes_sparse(self) -> Any:
        return False if self._precomputed else "csr"

    def _gamma_of(self, X: Any, weight: Floats) -> float:
        """The parameter as a number; "scale" is of the rows as they are weighted, so that a weight of two is two rows."""
        if self.gamma == "auto" or self._precomputed:
            return 1.0 / float(X.shape[1])
        if self.gamma != "scale":
            return float(self.gamma)
        share = weight / weight.sum()
        mean = float((share @ X).mean())
        variance = float((share @ (X.multiply(X) if sparse.issparse(X) else X * X)).mean()) - mean**2
        return 1.0 / (X.shape[1] * variance) if variance > 1e-12 * mean**2 else 1.0

    def _problem(self, rows: DistinctRows) -> Problem:
        n = len(rows.y)
        if self._precomputed:
            whole = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
            matrix = whole[:, rows.rows] + self._constant

            def block(some: NDArray[np.intp], columns: NDArray[np.intp], dtype: Any) -> Any:
                return matrix[np.ix_(some, columns)].astype(dtype)

            diagonal = matrix.diagonal().copy()
        else:
            between = kernel_between(self.kernel, self._gamma, int(self.degree), float(self.coef0))
            in_single = RadialInSingle(rows.X, self._gamma) if self.kernel == "rbf" and not sparse.issparse(rows.X) else None

            def block(some: NDArray[np.intp], columns: NDArray[np.intp], dtype: Any) -> Any:
                if in_single is not None and in_single.is_fine and dtype == np.float32:
                    values = in_single(some, columns)
                else:
                    columns_of = rows.X if len(columns) == n else rows.X[columns]
                    values = checked_block(between(rows.X[some], columns_of, dtype), (len(some), len(columns)))
                return values + self._constant if self._constant else values

            parts = [np.arange(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
            diagonal = np.concatenate([np.diagonal(block(part, part, np.float64)) for part in parts])
        return Problem(block, diagonal, rows.y, rows.weight, len(self.classes_), float(self.cache_size))

    def _start(self, rows: DistinctRows, earlier: tuple[Any, Any, Any] | None) -> Floats:
        """Zeros, or the variables of the earlier fit, scaled down where the bound has fallen."""
        alpha = np.zeros((len(rows.y), len(self.classes_)))
        if earlier is None:
            return alpha
        classes, keys, variables = earlier
        if not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start: y has other classes than in the earlier fit; use warm_start=False to start anew.")
        _, here, there = np.intersect1d(rows.keys, keys, assume_unique=True, return_indices=True)
        largest = variables[there, rows.y[here]]
        alpha[here] = variables[there] * np.minimum(1.0, rows.weight[here] / np.maximum(largest, np.finfo(float).tiny))[:, None]
        alpha[here, rows.y[here]] = np.minimum(alpha[here, rows.y[here]], rows.weight[here])
        return alpha

    def _take_over(self, rows: DistinctRows, alpha: Floats, outputs: Floats) -> None:
        support = np.flatnonzero(alpha.any(axis=1))
        support = support[np.argsort(rows.rows[support])]
        self.support_ = rows.rows[support]
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else rows.X[support]
        self.dual_coef_ = alpha[support]
        self.n_support_ = np.bincount(rows.y[support], minlength=len(self.classes_))
        self._keys = rows.keys[support]
        penalty = float((alpha * outputs).sum()) / 2
        self.objective_ = penalty + float(rows.weight @ hinge_losses(outputs, rows.y))
        self.dual_objective_ = float(alpha[np.arange(len(alpha)), rows.y].sum()) - penalty
        self.duality_gap_ = self.objective_ - self.dual_objective_

    def _scores(self, X: Any) -> Floats:
        X = validate_data(self, X, accept_sparse=self._takes_sparse(), dtype=np.float64, reset=False)
        if self._precomputed:
            return np.asarray(X[:, self.support_] @ self.dual_coef_ + self.intercept_)
        between = kernel_between(self.kernel, self._gamma, int(self.degree), float(self.coef0))
        out = np.empty((X.shape[0], len(self.classes_)))
        for start in range(0, X.shape[0], CHUNK):
            some = X[start : start + CHUNK]
            values = checked_block(between(some, self.support_vectors_, np.float64), (some.shape[0], len(self.support_)))
            out[start : start + CHUNK] = values @ self.dual_coef_ + self.intercept_
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "temperature_")
