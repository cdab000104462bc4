"""What a fit did round by round: loss, training error, validation error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manyboost.plots.drawing import COLOURS, axes, tidy


@dataclass
class LearningCurveDisplay:
    """Loss and errors of a fit after each round.

    Parameters
    ----------
    history : mapping of names to a number for each round, as ``history_`` of a fitted classifier
    n_kept : rounds that were kept, where early stopping went on behind them

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import SAMMEClassifier
    >>> model = SAMMEClassifier(n_estimators=5, max_depth=2, random_state=0).fit(*load_wine(return_X_y=True))
    >>> LearningCurveDisplay.from_estimator(model).n_kept
    5
    """

    history: Mapping[str, ArrayLike]
    n_kept: int
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> LearningCurveDisplay:
        """From a fitted classifier."""
        return cls(estimator.history_, estimator.n_estimators_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> LearningCurveDisplay:
        """Draw; the loss is relative to that of the first round."""
        ax = axes(ax)
        for (name, label), colour in zip(
            {"training_error": "training error", "validation_error": "validation error", "loss": "loss, relative"}.items(),
            COLOURS,
            strict=False,
        ):
            values = np.asarray(self.history[name], float)
            if len(values) and np.isfinite(values).any():
                shown = values / values[0] if name == "loss" and values[0] > 0 else values
                ax.plot(np.arange(1, len(shown) + 1), shown, label=label, color=colour, linestyle=":" if name == "loss" else "-")
        if self.n_kept < len(np.asarray(self.history["loss"])):
            ax.axvline(self.n_kept, color="#666666", linewidth=1, label="rounds kept")
        ax.set(xlabel="round", ylabel="error, relative loss", ylim=(0, None))
        tidy(ax)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
