"""How sure a classifier is of the true class: the distribution of margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import axes, looks, tidy


@dataclass
class MarginDisplay:
    """Share of the rows with at most a margin.

    The margin of a row is the probability of its class minus the largest of the others: below 0 the decision is wrong.

    Parameters
    ----------
    margins : dict of name to the margins of the rows

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> display = MarginDisplay.from_predictions([0, 1], [[0.9, 0.1], [0.6, 0.4]])
    >>> display.margins["margin"].round(2).tolist()
    [-0.2, 0.8]
    """

    margins: dict[str, NDArray[np.float64]]
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimators: Any, X: Any, y: ArrayLike, *, ax: Any = None) -> MarginDisplay:
        """From a fitted classifier, or a dict of them by name, and rows with their labels."""
        named = estimators if isinstance(estimators, dict) else {type(estimators).__name__: estimators}
        return cls({name: _margins(y, one.predict_proba(X), one.classes_) for name, one in named.items()}).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, probability: ArrayLike, *, classes: ArrayLike | None = None, name: str = "margin", ax: Any = None
    ) -> MarginDisplay:  # fmt: skip
        """From labels and the probabilities (n, K) of the classes; these are the labels in order unless ``classes`` says otherwise."""
        return cls({name: _margins(y_true, probability, np.unique(y_true) if classes is None else classes)}).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> MarginDisplay:
        """Draw the cumulative distributions."""
        ax = axes(ax)
        for (name, margins), style in zip(self.margins.items(), looks(len(self.margins)), strict=True):
            share = np.arange(1, len(margins) + 1) / len(margins)
            ax.step(margins, share, where="post", label=name, color=style["color"], linestyle=style["linestyle"])
        ax.axvline(0, color="#666666", linewidth=1)
        ax.set(xlabel="margin", ylabel="share of the rows with at most this margin", xlim=(-1.02, 1.02), ylim=(0, 1.02))
        tidy(ax)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _margins(y: ArrayLike, probability: ArrayLike, classes: ArrayLike) -> NDArray[np.float64]:
    labels, names = np.asarray(y), np.asarray(classes)
    p = np.array(probability, np.float64)
    unknown = ~np.isin(labels, names)
    if unknown.any():
        raise ValueError(f"y holds {labels[unknown][0]!r}, which is none of the classes {names.tolist()}.")
    at = np.searchsorted(names, labels)
    rows = np.arange(len(labels))
    true = p[rows, at].copy()
    p[rows, at] = -np.inf
    return np.sort(true - p.max(axis=1))
