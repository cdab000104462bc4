"""Which classes are taken for which others, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix

from manyboost.plots.drawing import axes


@dataclass
class ConfusionDisplay:
    """Rows by true (down) and decided class (across); coloured by what they cost in all.

    Parameters
    ----------
    counts : (K, K) rows of the data
    costs : (K, K) cost of each decision
    classes : their names

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> ConfusionDisplay.from_predictions(["a", "b", "b"], ["a", "a", "b"], cost_matrix=[[0, 1], [5, 0]]).mean_cost
    1.6666666666666667
    """

    counts: NDArray[np.int64]
    costs: NDArray[np.float64]
    classes: NDArray[Any]
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None) -> ConfusionDisplay:
        """From a fitted classifier, with its own ``cost_matrix_`` if it has one."""
        costs = getattr(estimator, "cost_matrix_", None)
        return cls.from_predictions(y, estimator.predict(X), classes=estimator.classes_, cost_matrix=costs, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_said: ArrayLike, *, classes: ArrayLike | None = None, cost_matrix: ArrayLike | None = None, ax: Any = None
    ) -> ConfusionDisplay:  # fmt: skip
        """From labels and decisions; every mistake costs 1 unless ``cost_matrix`` says otherwise."""
        names = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_said)])) if classes is None else np.asarray(classes)
        K = len(names)
        costs = 1.0 - np.eye(K) if cost_matrix is None else np.asarray(cost_matrix, np.float64)
        if costs.shape != (K, K):
            raise ValueError(f"cost_matrix has shape {costs.shape}; for the {K} classes {names.tolist()} it must be ({K}, {K}).")
        return cls(confusion_matrix(y_true, y_said, labels=names), costs, names).plot(ax=ax)

    @property
    def mean_cost(self) -> float:
        """Of a row."""
        return float((self.counts * self.costs).sum() / self.counts.sum())

    def plot(self, *, ax: Any = None) -> ConfusionDisplay:
        """Draw, with the numbers of rows in the cells."""
        K = len(self.classes)
        ax = axes(ax, (2.2 + 0.42 * K, 1.8 + 0.42 * K))
        cost = self.counts * self.costs
        ax.imshow(cost, cmap="Oranges", vmin=0, vmax=max(float(cost.max()), 1e-12))
        dark = 0.6 * cost.max()
        for true, decided in np.argwhere(self.counts):
            colour = "white" if cost[true, decided] > dark > 0 else "black"
            ax.text(decided, true, str(self.counts[true, decided]), ha="center", va="center", color=colour, fontsize=9)
        ax.set(xticks=range(K), yticks=range(K), xlabel="decided class", ylabel="true class")
        ax.set_xticklabels(self.classes, rotation=90 if K > 6 else 0)
        ax.set_yticklabels(self.classes)
        ax.set_title(f"mean cost {self.mean_cost:.4f} (colour: cost in all)", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self
