"""Are probabilities honest? Reliability of the decided class, and of each class alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.calibration import calibration_curve

from manyboost.plots.drawing import axes, looks, tidy

DECIDED = "the decided class"


@dataclass
class CalibrationDisplay:
    """What was said against what was true.

    scikit-learn's display of that name is for two classes; this one shows how often the class that was decided for is right, and, on
    demand, each class against the rest.

    Parameters
    ----------
    curves : dict of name to (mean probability, share that was true) in each bin
    expected_calibration_error : mean distance of the two for the decided class, weighted by rows

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> display = CalibrationDisplay.from_predictions([0, 1, 1, 0], [[0.75, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.25]])
    >>> display.expected_calibration_error
    0.0
    """

    curves: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    expected_calibration_error: float
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, n_bins: int = 10, per_class: bool = False, ax: Any = None
    ) -> CalibrationDisplay:  # fmt: skip
        """From a fitted classifier and rows with their labels."""
        return cls.from_predictions(
            y, estimator.predict_proba(X), classes=estimator.classes_, n_bins=n_bins, per_class=per_class, ax=ax
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, probability: ArrayLike, *, classes: ArrayLike | None = None, n_bins: int = 10, per_class: bool = False,
        ax: Any = None,
    ) -> CalibrationDisplay:  # fmt: skip
        """From labels and the probabilities (n, K) of the classes; these are the labels in order unless ``classes`` says otherwise."""
        labels = np.asarray(y_true)
        names = np.unique(labels) if classes is None else np.asarray(classes)
        p = np.asarray(probability, np.float64)
        sure, right = p.max(axis=1), names[p.argmax(axis=1)] == labels
        curves = {DECIDED: _curve(right, sure, n_bins)}
        if per_class:
            curves |= {f"class {name}": _curve(labels == name, p[:, at], n_bins) for at, name in enumerate(names) if (labels == name).any()}
        edges = np.minimum((sure * n_bins).astype(int), n_bins - 1)
        gaps = [abs(right[edges == one].mean() - sure[edges == one].mean()) * np.mean(edges == one) for one in np.unique(edges)]
        return cls(curves, float(np.sum(gaps))).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CalibrationDisplay:
        """Draw; honest probabilities are on the diagonal."""
        ax = axes(ax)
        ax.plot([0, 1], [0, 1], color="#888888", linewidth=1, label="honest")
        for (name, (said, true)), style in zip(self.curves.items(), looks(len(self.curves)), strict=True):
            ax.plot(said, true, label=name, linewidth=2.2 if name == DECIDED else 1.1, markersize=5, **style)
        ax.set(xlabel="probability that was said", ylabel="share that was true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_title(f"expected calibration error {self.expected_calibration_error:.3f}", fontsize=10)
        tidy(ax)
        ax.legend(frameon=False, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _curve(true: NDArray[np.bool_], said: NDArray[np.float64], n_bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    share, mean = calibration_curve(true, np.clip(said, 0, 1), n_bins=n_bins, pos_label=True)
    return mean, share
