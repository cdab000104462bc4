"""What the linear and the kernel machine share: the scikit-learn face, weights, and one temperature for probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from manyboost.labels import read_labels
from manyboost.maths.links import best_temperature, softmax
from manyboost.parameters import check_parameters, checked, choice, integer, is_class_weight, is_random_state, number
from manyboost.protocol import Task
from manyboost.svm.distinct_rows import DistinctRows
from manyboost.validation import HELD_OUT_ROWS, fifths_of_rows, number_of_pilots

Floats = NDArray[np.float64]
GRID = 2.0**33  # scores, whose margins are 1, are multiples of its inverse


def hinge_losses(scores: Floats, y: NDArray[np.intp]) -> Floats:
    """max(0, 1 - s_y + max of the other scores), for each row."""
    rows = np.arange(len(y))
    beyond = scores - scores[rows, y][:, None] + 1.0
    beyond[rows, y] = 0.0
    return np.asarray(beyond.max(axis=1))


@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassMachine(ClassifierMixin, BaseEstimator):
    """Base of the multi-class support vector machines."""

    C: float = number(1.0, low=0, open_low=True)
    tol: float = number(1e-4, low=0, open_low=True)
    max_iter: int = integer(100_000, low=1)
    class_weight: Any = checked(None, "None, 'balanced' or a dict of factors by class", is_class_weight)
    calibrate: str | bool = choice("auto", "auto", False)
    random_state: Any = checked(None, "a whole number from 0 to 2**32 - 1, a numpy RandomState, or None", is_random_state)

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> DistinctRows:
        """The distinct rows, with C times their weights as weights."""
        labels = read_labels(X, y, sample_weight, None)
        weight = np.array(_check_sample_weight(sample_weight, X, dtype=np.float64))
        self.classes_ = labels.classes
        used = labels.y >= 0
        if self.class_weight is not None:
            known = self.classes_[labels.y[used]]
            try:
                factors = compute_class_weight(self.class_weight, classes=self.classes_, y=known, sample_weight=weight[used])
            except OverflowError:  # of a whole number, which may have any length
                factors = np.array([np.inf])
            if not (np.isfinite(factors).all() and (factors > 0).all()):
                raise ValueError(
                    f"class_weight={self.class_weight!r} has a factor that is not a positive number; leave rows of that class out."
                )
            weight[used] *= factors[labels.y[used]]
        self._seed = int(check_random_state(self.random_state).randint(1, np.iinfo(np.int32).max))
        return DistinctRows.of(X, labels.y, weight * self.C)

    def _report(self, n_iter: int, reason: str, converged: bool) -> None:
        self.n_iter_, self.stop_reason_ = n_iter, reason
        if not converged:
            warnings.warn(
                f"{type(self).__name__}: {reason}; raise max_iter or tol, or scale the columns.", ConvergenceWarning, stacklevel=4
            )

    def _calibrate(self, rows: DistinctRows, scores_without: Callable[[NDArray[np.intp]], Floats]) -> None:
        """Set the temperature from rows that a fit has not seen.

        That fit starts at the solution for all rows and forgets the variables of the rows held out, so that it is short.
        """
        self.temperature_ = 1.0
        if self.calibrate is False:
            return
        task = Task.of(rows.y, len(self.classes_), rows.weight)
        fold = fifths_of_rows(task, rows.keys)
        effective = task.weight.sum() ** 2 / (task.weight**2).sum()
        found = []
        for at in range(number_of_pilots(effective)):
            held = np.flatnonzero(fold == at)[:HELD_OUT_ROWS]
            if len(held):
                found.append((scores_without(held), rows.y[held], rows.weight[held]))
        if found:
            scores, y, weight = (np.concatenate(part) for part in zip(*found, strict=True))
            if np.ptp(scores, axis=1).any():
                self.temperature_ = best_temperature(lambda factor: softmax(scores * factor), y, weight)

    def _scores(self, X: Any) -> Floats:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Scores, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``."""
        scores = self._checked_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K): the softmax of the scores times ``temperature_``."""
        return softmax(self._checked_scores(X) * self.temperature_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,)."""
        best = self._checked_scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _checked_scores(self, X: Any) -> Floats:
        """Scores on a grid: rivals that tie at the optimum tie, whatever rounding does in a table of this many rows."""
        check_is_fitted(self)
        check_parameters(self)
        return np.asarray(np.round(self._scores(X) * GRID) / GRID)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
