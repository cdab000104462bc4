"""Test error against rounds or the number of weak learners: figure 3 of Fernandez-Baldera and Baumela (2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import axes, looks, tidy


@dataclass
class StagedErrorDisplay:
    """Errors of one or more classifiers while they grow.

    Parameters
    ----------
    curves : dict of name to (numbers, errors)
    unit : what the numbers count, "rounds" or "weak learners"

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import PIBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PIBoostClassifier(n_estimators=4, separators="singles", random_state=0).fit(X[::2], y[::2])
    >>> StagedErrorDisplay.from_estimator(model, X[1::2], y[1::2]).curves["PIBoostClassifier"][0].tolist()
    [3, 6, 9, 12]
    """

    curves: dict[str, tuple[NDArray[Any], NDArray[Any]]]
    unit: str = "weak learners"
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls, estimators: Any, X: Any, y: ArrayLike, *, unit: str = "weak learners", ax: Any = None
    ) -> StagedErrorDisplay:  # fmt: skip
        """From a fitted classifier, or a dict of them by name, and test rows."""
        named = estimators if isinstance(estimators, dict) else {type(estimators).__name__: estimators}
        labels = np.asarray(y)
        curves = {}
        for name, model in named.items():
            errors = np.array([np.mean(said != labels) for said in model.staged_predict(X)])
            grown = getattr(model, "history_", {}).get("n_trees") if unit == "weak learners" else None
            numbers = np.arange(1, len(errors) + 1) if grown is None else np.cumsum(grown[: len(errors)]).astype(int)
            curves[name] = (numbers, errors)
        return cls(curves, unit).plot(ax=ax)

    @classmethod
    def from_results(
        cls,
        results: pd.DataFrame,
        data_set: str,
        *,
        algorithms: list[str] | None = None,
        unit: str = "rounds",
        ax: Any = None,
        styles: Mapping[str, dict[str, Any]] | None = None,
    ) -> StagedErrorDisplay:
        """From the journal of :func:`manyboost.evaluation.run`: means over the splits of a data set; ``styles`` as in :meth:`plot`."""
        chosen = results[(results["data_set"] == data_set) & results["curve"].notna()]
        curves = {}
        for name, rows in chosen.groupby("algorithm", sort=False):
            if algorithms is None or name in algorithms:
                curves[str(name)] = mean_curve(rows, unit)
        if algorithms is not None:
            curves = {name: curves[name] for name in algorithms if name in curves}
        return cls(curves, unit).plot(ax=ax, styles=styles)

    def plot(self, *, ax: Any = None, log: bool = True, styles: Mapping[str, dict[str, Any]] | None = None) -> StagedErrorDisplay:
        """Draw, with logarithmic axes unless ``log=False``; ``styles`` gives each name its line, so that several pictures agree."""
        ax = axes(ax)
        styles = styles or dict(zip(self.curves, looks(len(self.curves)), strict=True))
        for name, (numbers, errors) in self.curves.items():
            ax.plot(numbers, 100 * errors, label=name, linewidth=1.8, markevery=[len(numbers) - 1], **styles[name])
        ax.set(xlabel=f"number of {self.unit}", ylabel="test error, %")
        if log and self.curves:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            if min(errors.min() for _, errors in self.curves.values()) > 0:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
                ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        tidy(ax)
        if self.curves:
            ax.legend(frameon=False, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def mean_curve(rows: pd.DataFrame, unit: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The mean over splits of ``round:error`` curves; one that ended stays at its last error."""
    numbers, errors = [], []
    for curve, n_rounds, grown in zip(rows["curve"], rows["rounds"], rows["weak_learners"], strict=True):
        points = np.array([point.split(":") for point in curve.split()], float)
        factor = grown / n_rounds if unit == "weak learners" and grown == grown else 1.0
        numbers.append(points[:, 0] * factor)
        errors.append(points[:, 1])
    every = np.unique(np.concatenate(numbers))
    every = every[every >= max(own[0] for own in numbers)]
    return every, np.mean(
        [own_errors[np.searchsorted(own, every, side="right") - 1] for own, own_errors in zip(numbers, errors, strict=True)], 0
    )
