"""What a fit did round by round: loss, training error, validation error, and the error on other rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import COLOURS, axes, tidy


@dataclass
class LearningCurveDisplay:
    """Loss and errors of a fit after each round.

    Parameters
    ----------
    history : mapping of names to a number for each round, as ``history_`` of a fitted classifier
    n_kept : rounds that were kept, where early stopping went on behind them
    test_error : error on other rows after each round, or None

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
    test_error: NDArray[np.float64] | None = None
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *, log_scale: bool = False, ax: Any = None
    ) -> LearningCurveDisplay:
        """From a fitted classifier and, if they are given, other rows with their labels."""
        wrong = None if X is None else np.array([np.mean(said != np.asarray(y)) for said in estimator.staged_predict(X)])
        return cls(estimator.history_, estimator.n_estimators_, wrong).plot(log_scale=log_scale, ax=ax)

    def plot(self, *, log_scale: bool = False, ax: Any = None) -> LearningCurveDisplay:
        """Draw; the loss is relative to that of the first round, or, with ``log_scale``, on a logarithmic axis of its own on the right."""
        ax = axes(ax)
        loss = np.asarray(self.history["loss"], float)
        on_loss = ax.twinx() if log_scale else ax
        series = {
            "training error": (ax, self.history["training_error"]),
            "validation error": (ax, self.history["validation_error"]),
            "loss" if log_scale else "loss, relative": (on_loss, loss / loss[0] if len(loss) and loss[0] > 0 and not log_scale else loss),
            "test error": (ax, () if self.test_error is None else self.test_error),
        }
        lines = []
        for (label, (where, numbers)), colour in zip(series.items(), COLOURS, strict=False):
            values = np.asarray(numbers, float)
            if len(values) and np.isfinite(values).any():
                style = ":" if label.startswith("loss") else "-"
                lines += where.plot(np.arange(1, len(values) + 1), values, label=label, color=colour, linestyle=style)
        if self.n_kept < len(loss):
            lines.append(ax.axvline(self.n_kept, color="#666666", linewidth=1, label="rounds kept"))
        ax.set(xlabel="round", ylabel="error" if log_scale else "error, relative loss", ylim=(0, None))
        tidy(ax)
        if log_scale:
            on_loss.set(yscale="log", ylabel="loss")
            on_loss.spines["top"].set_visible(False)
        ax.legend(handles=lines, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
