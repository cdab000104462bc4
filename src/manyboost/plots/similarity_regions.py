"""Decision regions of two columns, with the training examples that similarities compare with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyboost.learners.similarities import Similarities

Floats = NDArray[np.float64]
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")  # told apart by the colour-blind, too


@dataclass
class SimilarityRegionsDisplay:
    """Which class a model of two columns decides for, where, and by comparing with which pairs of examples.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    xx, yy : (g, g) the grid
    decision : (g, g) numbers of the classes decided for
    classes : their names
    pairs : (m, 2, 2) ends of the pairs that are drawn: which pair, which end, which column
    strength : (m,) how much each pair moves the scores, the largest being one
    isolated : (i, 2) examples that members isolate
    names : of the two columns
    rows, labels : rows to draw and numbers of their classes, or None

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    """

    xx: Floats
    yy: Floats
    decision: NDArray[np.intp]
    classes: tuple[Any, ...]
    pairs: Floats
    strength: Floats
    isolated: Floats
    names: tuple[str, str]
    rows: Floats | None = None
    labels: NDArray[np.intp] | None = None
    wrong: NDArray[np.bool_] | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, grid: int = 200, most_pairs: int = 40, margin: float = 0.08, ax: Any = None
    ) -> SimilarityRegionsDisplay:
        """Work out and draw the regions of a fitted model of two numeric columns.

        Parameters
        ----------
        estimator : a fitted ``RebelClassifier(estimator=LocalizedSimilarity())``, or another classifier of two columns, without pairs
        X, y : rows to draw, and their classes; those that the model mistakes are circles
        grid : points of the grid along each axis
        most_pairs : how many pairs to draw, those that move the scores most; 0 is none
        margin : share of the range that is shown beyond the rows
        ax : matplotlib axes to draw on; None makes a figure

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import RebelClassifier
        >>> from manyboost.learners import LocalizedSimilarity
        >>> from manyboost.plots import SimilarityRegionsDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X[:, 2:], y)
        >>> display = SimilarityRegionsDisplay.from_estimator(model, X[:, 2:], y, grid=20)
        >>> display.decision.shape
        (20, 20)
        """
        check_is_fitted(estimator)
        if estimator.n_features_in_ != 2:
            raise ValueError(f"regions can be drawn of two columns, and the model has {estimator.n_features_in_}; fit one with two.")
        members: Any = getattr(estimator, "forest_", None)
        similar = isinstance(members, Similarities)
        rows = None if X is None else np.asarray(X, np.float64)
        if rows is None and not (similar and len(members.points)):
            raise ValueError("X says where to draw; this model stores no examples, so give the rows to show.")
        corners = rows if rows is not None else members.points
        low, high = np.nanmin(corners, axis=0), np.nanmax(corners, axis=0)
        low, high = low - margin * (high - low), high + margin * (high - low)
        xx, yy = np.meshgrid(np.linspace(low[0], high[0], grid), np.linspace(low[1], high[1], grid))
        named = getattr(estimator, "feature_names_in_", None)
        asked = np.column_stack([xx.ravel(), yy.ravel()])
        decision = np.searchsorted(estimator.classes_, _predict(estimator, asked, named)).reshape(xx.shape)
        pairs, strength, isolated = _pairs_of(members, most_pairs) if similar else (np.empty((0, 2, 2)), np.empty(0), np.empty((0, 2)))
        labels = None if y is None or rows is None else np.searchsorted(estimator.classes_, np.asarray(y))
        wrong = None if labels is None or rows is None else _predict(estimator, rows, named) != np.asarray(y)
        names = ("column 0", "column 1") if named is None else (str(named[0]), str(named[1]))
        display = cls(xx, yy, decision, tuple(estimator.classes_.tolist()), pairs, strength, isolated, names, rows, labels, wrong)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> SimilarityRegionsDisplay:
        """Draw on ``ax``, or on a new figure."""
        try:
            import matplotlib.pyplot as plt
            from matplotlib.colors import ListedColormap
        except ImportError:
            raise ImportError("drawing needs matplotlib; install it with pip install 'manyboost[plot]'.") from None
        if ax is None:
            _, ax = plt.subplots(figsize=(5, 5), layout="constrained")
        K = len(self.classes)
        colours = [COLOURS[k % len(COLOURS)] for k in range(K)]
        ax.pcolormesh(self.xx, self.yy, self.decision, cmap=ListedColormap(colours), vmin=-0.5, vmax=K - 0.5, alpha=0.3, rasterized=True)
        for pair, strength in zip(self.pairs, self.strength, strict=True):
            ax.plot(pair[:, 0], pair[:, 1], color="#333333", linewidth=0.4 + 1.6 * strength, alpha=0.25 + 0.5 * strength, zorder=2)
        if len(self.isolated):
            ax.scatter(*self.isolated.T, s=70, facecolors="none", edgecolors="#333333", linewidths=0.8, zorder=3)
        if self.rows is not None:
            self._draw_rows(ax, colours)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_rows(self, ax: Any, colours: list[str]) -> None:
        rows, labels = self.rows, self.labels
        if rows is None or labels is None:
            ax.scatter(*np.asarray(rows).T, s=10, color="#333333", zorder=4)
            return
        wrong = np.zeros(len(rows), bool) if self.wrong is None else self.wrong
        for k, name in enumerate(self.classes):
            right = (labels == k) & ~wrong
            ax.scatter(*rows[right].T, s=28, marker="*", color=colours[k], linewidths=0, label=str(name), zorder=4)
            mistaken = (labels == k) & wrong
            ax.scatter(*rows[mistaken].T, s=22, marker="o", facecolors="white", edgecolors=colours[k], linewidths=1.3, zorder=5)


def _predict(estimator: Any, rows: Floats, named: Any) -> NDArray[Any]:
    with warnings.catch_warnings():
        if named is not None:  # the columns are those of the frame, without its names
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(estimator.predict(rows))


def _pairs_of(members: Similarities, most: int) -> tuple[Floats, Floats, Floats]:
    """The pairs that move the scores most, how much, and the examples that are isolated."""
    size = np.abs(members.vectors).max(axis=1)
    total: dict[tuple[int, int], float] = {}
    for first, second, amount in zip(members.first.tolist(), members.second.tolist(), size.tolist(), strict=True):
        if second >= 0:
            key = (min(first, second), max(first, second))
            total[key] = total.get(key, 0.0) + amount
    chosen = sorted(total, key=lambda key: -total[key])[:most]
    strength = np.array([total[key] for key in chosen])
    alone = np.unique(members.first[(members.first >= 0) & (members.second < 0)])
    pairs = members.points[np.array(chosen, np.intp).reshape(-1, 2)]
    return pairs, strength / strength.max(initial=1e-300), members.points[alone] if most else np.empty((0, 2))
