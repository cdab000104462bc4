"""What a classifier decides over two features; paler where it is less sure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import COLOURS, MARKERS, axes


@dataclass
class DecisionRegionsDisplay:
    """Decisions over a grid of two features, the others at the median of the rows.

    Parameters
    ----------
    grid : (2, m, m) values of the two features
    probability : (m, m, K)
    points : (n, 2) rows, with ``labels``
    labels, classes : (n,), (K,)
    names : of the two features

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from manyboost import AdaBoostMHClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> DecisionRegionsDisplay.from_estimator(model, X, y, features=(2, 3), n_points=20).probability.shape
    (20, 20, 3)
    """

    grid: NDArray[np.float64]
    probability: NDArray[np.float64]
    points: NDArray[np.float64]
    labels: NDArray[Any]
    classes: NDArray[Any]
    names: tuple[str, str]
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, features: tuple[int, int] = (0, 1), n_points: int = 150, ax: Any = None
    ) -> DecisionRegionsDisplay:  # fmt: skip
        """From a fitted classifier and numeric rows.

        Parameters
        ----------
        features : numbers of the columns to show
        n_points : of the grid, along each of them
        """
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"column {at}" for at in range(np.shape(X)[1])]
        rows = np.asarray(X, np.float64)
        if not all(0 <= at < rows.shape[1] for at in features) or len(features) != 2:
            raise ValueError(f"features={features} must be two column numbers from 0 to {rows.shape[1] - 1}.")
        chosen = rows[:, list(features)]
        low, high = np.nanmin(chosen, axis=0), np.nanmax(chosen, axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        grid = np.array(np.meshgrid(*(np.linspace(low[i] - margin[i], high[i] + margin[i], n_points) for i in range(2))))
        table = np.tile(np.nanmedian(rows, axis=0), (n_points**2, 1))
        table[:, list(features)] = grid.reshape(2, -1).T
        asked = type(X)(table, columns=X.columns) if hasattr(X, "columns") else table
        probability = estimator.predict_proba(asked).reshape(n_points, n_points, -1)
        shown = (names[features[0]], names[features[1]])
        return cls(grid, probability, chosen, np.asarray(y), np.asarray(estimator.classes_), shown).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> DecisionRegionsDisplay:
        """Draw regions and rows."""
        from matplotlib.colors import to_rgb

        ax = axes(ax)
        K = len(self.classes)
        colour = np.array([to_rgb(COLOURS[k % len(COLOURS)]) for k in range(K)])
        sure = self.probability.max(axis=2)
        strength = (0.15 + 0.45 * (sure - 1 / K) / (1 - 1 / K))[:, :, None]
        image = 1 - strength + strength * colour[self.probability.argmax(axis=2)]
        extent = (self.grid[0].min(), self.grid[0].max(), self.grid[1].min(), self.grid[1].max())
        ax.imshow(np.clip(image, 0, 1), extent=extent, origin="lower", aspect="auto", interpolation="nearest")
        for k, name in enumerate(self.classes):
            own = self.points[self.labels == name]
            marker = MARKERS[(k // len(COLOURS) + k) % len(MARKERS)]
            ax.scatter(own[:, 0], own[:, 1], s=16, color=colour[k], marker=marker, edgecolor="black", linewidth=0.4, label=str(name))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(title="class", fontsize=8, loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self
