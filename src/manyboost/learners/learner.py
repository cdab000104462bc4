"""What the learners share: how they read rows, labels and weights, and how they say a class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from manyboost.columns import Columns, TakesTables, given_table, read_columns
from manyboost.labels import read_labels
from manyboost.parameters import check_parameters, checked, choice, is_choice_of_columns
from manyboost.trees.exact_sums import exact_total

Floats = NDArray[np.float64]
BLOCK = 1 << 16  # rows that are predicted at a time
MAX_COUNT = 2.0**53  # up to here a float counts one by one


@dataclass(frozen=True)
class Rows:
    """The rows of positive weight, ready to be learnt from.

    Attributes
    ----------
    table : (n, p) numbers, dense or sparse by columns
    y : (n,) classes 0..K-1
    count : (n,) weights, in units of one row
    """

    table: Any
    y: NDArray[np.intp]
    count: Floats

    def columns(self) -> Iterator[Floats]:
        """The columns one by one."""
        for at in range(self.table.shape[1]):
            column = self.table[:, [at]].toarray()[:, 0] if sparse.issparse(self.table) else self.table[:, at]
            yield np.asarray(column, np.float64)


def counts_of(weight: Floats, mode: str) -> tuple[Floats, float]:
    """Weights in units of one row, and the factor that made them: both learners add constants to counts, so the unit matters."""
    can_count = float(weight.max()) < MAX_COUNT / len(weight)
    if mode == "counts" and not can_count:
        raise ValueError("sample_weight: weights='counts' takes weights for counts of rows, and these are too large; use weights='shares'.")
    if mode == "counts" or (mode == "auto" and can_count and bool((weight == np.floor(weight)).all())):
        return weight, 1.0
    small = np.ldexp(weight, -np.frexp(weight.max())[1])  # so that the total is finite
    count = small * (len(small) / exact_total(small))
    at = int(weight.argmax())
    return count, float(count[at] / weight[at])


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(TakesTables, ClassifierMixin, BaseEstimator):
    """Base of the learners; a subclass has ``_learn`` and ``_probability``."""

    weights: str = choice("auto", "auto", "counts", "shares")
    categorical_features: Any = checked(
        "from_dtype", '"from_dtype", None, or a list of column numbers, names or a mask', is_choice_of_columns
    )
    handle_unknown: str = choice("error", "error", "missing")

    def _learn(self, rows: Rows) -> None:
        raise NotImplementedError

    def _probability(self, table: Floats) -> Floats:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Missing values (NaN, None) are allowed; infinite ones are not.
        y : array of shape (n,)
            Class labels: numbers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        self.__dict__.pop("weight_factor_", None)  # a fit that fails leaves no model, rather than half of an old one
        table = given_table(self, X, None, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)
        labels = read_labels(table, y, sample_weight, None)
        numeric, columns = table.read(labels.weight)
        del table  # it may hold the numbers
        given = np.broadcast_to(np.asarray(1.0 if sample_weight is None else sample_weight, np.float64), labels.y.shape)
        used = np.flatnonzero(labels.y >= 0)
        count, factor = counts_of(given[used], self.weights)
        if len(used) < len(given):
            numeric = numeric[used]
        self.classes_ = labels.classes
        self._columns: Columns = columns
        self._learn(Rows(numeric.tocsc() if sparse.issparse(numeric) else numeric, labels.y[used], count))
        self.weight_factor_ = factor
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        check_is_fitted(self)
        numeric, _ = read_columns(
            self, X, self._columns, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown
        )
        out = np.empty((numeric.shape[0], len(self.classes_)))
        for begin in range(0, len(out), BLOCK):
            block = numeric[begin : begin + BLOCK]
            out[begin : begin + BLOCK] = self._probability(
                np.ascontiguousarray(block.toarray() if sparse.issparse(block) else block, np.float64)
            )
        return out

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class, the first of equals: (n,)."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weight_factor_")
