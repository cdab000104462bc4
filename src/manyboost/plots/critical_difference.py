"""Demšar's critical difference diagram: mean ranks on a line, and bars over those that Nemenyi's test does not tell apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from manyboost.evaluation.statistics import Comparison, compare_errors
from manyboost.plots.drawing import axes


@dataclass
class CriticalDifferenceDisplay:
    """Critical difference diagram.

    Parameters
    ----------
    mean_ranks : series of mean ranks by classifier, 1 is best
    critical_difference : ranks further apart differ
    groups : lists of classifiers that are not told apart
    alpha : level of significance

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import pandas as pd
    >>> errors = pd.DataFrame({"A": [0.1, 0.2, 0.3], "B": [0.2, 0.3, 0.4], "C": [0.3, 0.25, 0.5]})
    >>> CriticalDifferenceDisplay.from_errors(errors).groups
    [['A', 'B', 'C']]
    """

    mean_ranks: pd.Series
    critical_difference: float
    groups: list[list[str]]
    alpha: float
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None) -> CriticalDifferenceDisplay:
        """From what :func:`~manyboost.evaluation.compare_errors` found."""
        found = comparison.groups(), comparison.alpha
        return cls(comparison.mean_ranks.sort_values(kind="stable"), comparison.critical_difference(), *found).plot(ax=ax)

    @classmethod
    def from_errors(cls, errors: pd.DataFrame, *, alpha: float = 0.05, ax: Any = None) -> CriticalDifferenceDisplay:
        """From a table of errors, data sets by classifiers."""
        return cls.from_comparison(compare_errors(errors, alpha=alpha), ax=ax)

    def plot(self, *, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw; names of the better half stand on the left."""
        ranks = self.mean_ranks
        k = len(ranks)
        left = (k + 1) // 2
        step, bar = 0.32, 0.16
        depth = 0.35 + bar * len(self.groups)
        height = depth + step * left
        ax = axes(ax, (8.0, 0.9 + 0.62 * (height + 0.9)))
        ax.set(xlim=(0.2 - 0.32 * k, k + 0.8 + 0.32 * k), ylim=(-height - 0.1, 1.1))
        ax.axis("off")
        ax.plot([1, k], [0, 0], color="#222222", linewidth=1.2)
        for tick in range(1, k + 1):
            ax.plot([tick, tick], [0, 0.1], color="#222222", linewidth=1.2)
            if k <= 20 or tick in (1, k) or tick % 5 == 0:
                ax.text(tick, 0.16, str(tick), ha="center", va="bottom", fontsize=9)
        shown = min(self.critical_difference, k - 1)  # with few data sets it is longer than the axis
        ax.plot([1, 1, 1, 1 + shown, 1 + shown, 1 + shown], [0.62, 0.78, 0.7, 0.7, 0.78, 0.62], color="#222222", linewidth=1.2)
        ax.text(1 + shown / 2, 0.84, f"critical difference {self.critical_difference:.2f} (level {self.alpha:g})", ha="center", va="bottom",
                fontsize=9)  # fmt: skip
        for at, group in enumerate(self.groups):
            ends = ranks[group].min() - 0.06, ranks[group].max() + 0.06
            ax.plot(ends, [-0.22 - bar * at] * 2, color="#D55E00", linewidth=3.2, solid_capstyle="round")
        for at, (name, rank) in enumerate(ranks.items()):
            on_left = at < left
            y = -depth - step * (at if on_left else k - 1 - at)
            end = 0.6 if on_left else k + 0.4
            ax.plot([rank, rank, end], [0, y, y], color="#666666", linewidth=0.9)
            text = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
            ax.text(end + (-0.1 if on_left else 0.1), y, text, ha="right" if on_left else "left", va="center", fontsize=9.5)
        self.ax_, self.figure_ = ax, ax.figure
        return self
