"""The linear machine behind scikit-learn's API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from manyboost.parameters import check_parameters, choice, flag, number
from manyboost.svm.distinct_rows import DistinctRows, parts_of
from manyboost.svm.linear_dual import ascend, squared_norms
from manyboost.svm.machine import Floats, MulticlassMachine, hinge_losses
from manyboost.svm.sgd import epoch, hinge_loss

LEAST_DELAY = 10.0  # the lecture's t_0
STEP_OF_ROW = 6.0  # a first step is at most the row's reach divided by this
LITTLE = 1e-3  # an epoch that gains less than this share of the objective halves the steps
STEPS_OF_EPOCH = 20_000  # at least: an epoch of few rows passes over them more than once


@dataclass(kw_only=True, eq=False, repr=False)
class LinearMulticlassSVC(MulticlassMachine):
    """Linear support vector machine for all classes at once, by the multi-class hinge loss of Crammer and Singer.

    It minimises 1/2 sum_k |w_k|^2 + C sum_i c_i max(0, 1 - s_y(x_i) + max over l != y of s_l(x_i)), with s_k(x) = w_k x + b_k and
    c_i the weights of the rows. As in scikit-learn's ``LinearSVC``, the intercepts b_k are weights of a constant column, and so are part of
    the penalty; parameters have its names.

    Parameters
    ----------
    solver : {"dual", "sgd"}
        Sequential dual ascent with shrinking, to an optimum as exact as ``tol`` says; or stochastic gradient descent on the objective, with
        averaging, which is within about a percent of it after a few passes over the rows.
    C : float
        Weight of the losses.
    tol : float
        The dual ends when no optimality condition is violated by more; descent, when two epochs in a row lower the objective by a smaller
        share.
    max_iter : int
        Most sweeps over the rows ("dual"; most of them visit few rows), or epochs ("sgd").
    fit_intercept : bool
        Whether there are intercepts.
    intercept_scaling : float
        The value of the constant column. A larger one weakens the penalty of the intercepts.
    class_weight : None, "balanced" or dict
        Factors of C by class.
    calibrate : {"auto", False}
        Fit the temperature of ``predict_proba`` on held-out rows, or leave it at 1. No decision depends on it.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.

    Attributes
    ----------
    classes_ : array of the K class labels
    coef_, intercept_ : (K, p) and (K,) arrays; (1, p) and (1,) for two classes, of the difference of the scores
    dual_coef_ : (n, K) array, with solver="dual"
        The variables alpha: rows sum to 0, positive entries only at the row's class and at most C. ``coef_`` is ``dual_coef_.T @ X``.
    objective_, dual_objective_, duality_gap_ : float
        What is minimised, its bound from below, and their difference; the latter two with solver="dual".
    n_iter_ : int
        Sweeps or epochs made.
    stop_reason_ : str
        Why the fit ended.
    temperature_ : float
        Factor of the scores inside ``predict_proba``.
    n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any

    References
    ----------
    K. Crammer, Y. Singer: On the algorithmic implementation of multiclass kernel-based vector machines. JMLR 2 (2001).
    S. S. Keerthi et al.: A sequential dual method for large scale multi-class linear SVMs. KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyboost import LinearMulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearMulticlassSVC(random_state=0).fit(X, y)
    >>> model.coef_.shape, bool(model.duality_gap_ < 1e-2)
    ((3, 4), True)
    """

    solver: str = choice("dual", "dual", "sgd")
    fit_intercept: bool = flag(True)
    intercept_scaling: float = number(1.0, low=0, open_low=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearMulticlassSVC:
        """Fit the machine.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Factors of C by row; rows of weight zero are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        rows = self._read_training(X, y, sample_weight)
        with_constant = self._with_constant(rows.X)
        if self.solver == "dual":
            self._fit_dual(with_constant, rows)
        else:
            self._fit_sgd(with_constant, rows)
        return self

    def _with_constant(self, X: Any) -> Any:
        if not self.fit_intercept:
            return X
        constant = np.full((X.shape[0], 1), float(self.intercept_scaling))
        if sparse.issparse(X):
            return sparse.csr_array(sparse.hstack([X, sparse.csr_array(constant)], format="csr"))
        return np.concatenate([X, constant], axis=1)

    def _fit_dual(self, X: Any, rows: DistinctRows) -> None:
        n, K = len(rows.y), len(self.classes_)
        parts = parts_of(X)
        norms = squared_norms(*parts, n)
        alpha, W = np.zeros((n, K)), np.zeros((X.shape[1], K))
        n_iter, worst = ascend(*parts, rows.y, rows.weight, norms, alpha, W, float(self.tol), self.max_iter, self._seed)
        self._take_over(W)
        self.dual_coef_ = rows.spread(alpha)
        penalty = float((W**2).sum()) / 2
        self.objective_ = penalty + float(rows.weight @ hinge_losses(X @ W, rows.y))
        self.dual_objective_ = float(alpha[np.arange(n), rows.y].sum()) - penalty
        self.duality_gap_ = self.objective_ - self.dual_objective_
        if worst < self.tol:
            self._report(n_iter, f"no condition is violated by more than tol={self.tol:g}", True)
        else:
            self._report(n_iter, f"max_iter={self.max_iter} sweeps left a violation of {worst:.3g}, above tol={self.tol:g}", False)

        def scores_without(held: NDArray[np.intp]) -> Floats:
            bounds, start = rows.weight.copy(), alpha.copy()
            bounds[held], start[held] = 0.0, 0.0
            fewer = W - X[held].T @ alpha[held]
            ascend(*parts, rows.y, bounds, norms, start, fewer, 10 * float(self.tol), self.max_iter, self._seed)
            return np.asarray(X[held] @ fewer)

        self._calibrate(rows, scores_without)

    def _fit_sgd(self, X: Any, rows: DistinctRows) -> None:
        W, self.objective_, n_iter, reason = self._descend(X, rows.y, rows.weight)
        self._take_over(W)
        self._report(n_iter, reason, not reason.startswith("max_iter"))

        def scores_without(held: NDArray[np.intp]) -> Floats:
            inside = np.setdiff1d(np.arange(len(rows.y)), held)
            return np.asarray(X[held] @ self._descend(X[inside], rows.y[inside], rows.weight[inside])[0])

        self._calibrate(rows, scores_without)

    def _descend(self, X: Any, y: NDArray[np.intp], bounds: Floats) -> tuple[Floats, float, int, str]:
        """The best average of the weights, its objective, the epochs made and why they ended."""
        parts, n, total = parts_of(X), len(y), float(bounds.sum())
        share, decay = bounds / total, 1.0 / total
        V = np.zeros((X.shape[1], len(self.classes_)))  # one epoch leaves the weights here, and the sum of all since the average began in U
        U, n_steps, calm = np.zeros_like(V), 0, 0
        t = max(LEAST_DELAY, STEP_OF_ROW * float(share @ squared_norms(*parts, n)) / decay)
        passes = -(-STEPS_OF_EPOCH // n)
        best, least = V.copy(), total  # without weights every loss is one
        for number_ in range(1, self.max_iter + 1):
            if number_ & (number_ - 1) == 0:
                U[:], n_steps = 0.0, 0
            for pass_ in range(passes):
                scale, scales, t = epoch(*parts, y, share, V, U, 1.0, 0.0, decay, t, self._seed + number_ * passes + pass_)
                U += scales * V
                V *= scale
            n_steps += n * passes
            average = U / n_steps
            objective = float((average**2).sum()) / 2 + total * hinge_loss(*parts, y, share, average)
            gain = (least - objective) / least
            if gain > 0:
                best, least = average, objective
            if gain < LITTLE:
                t *= 2.0
            calm = calm + 1 if gain < self.tol else 0
            if calm == 2:
                return best, least, number_, f"two epochs in a row gained less than tol={self.tol:g} of the objective"
        return best, least, self.max_iter, f"max_iter={self.max_iter} epochs were made"

    def _take_over(self, W: Floats) -> None:
        for name in ("dual_coef_", "dual_objective_", "duality_gap_"):
            self.__dict__.pop(name, None)
        p, weights = self.n_features_in_, W.T
        intercept = weights[:, p] * self.intercept_scaling if self.fit_intercept else np.zeros(len(weights))
        # row by row, as a model file brings them back: a product of matrices may round by how they lie in memory
        self._weights, self._intercepts = np.ascontiguousarray(weights[:, :p]), intercept

    @property
    def coef_(self) -> Floats:
        return self._weights if len(self._weights) > 2 else self._weights[1:] - self._weights[:1]

    @property
    def intercept_(self) -> Floats:
        return self._intercepts if len(self._weights) > 2 else self._intercepts[1:] - self._intercepts[:1]

    def _scores(self, X: Any) -> Floats:
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self._weights.T + self._intercepts)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "temperature_")
