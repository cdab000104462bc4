"""The exponential loss at the margins that separators can have: figure 1 of Fernandez-Baldera and Baumela (2014)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manyboost.plots.drawing import COLOURS, axes, tidy


@dataclass
class ExponentialLossDisplay:
    """exp(-z/K) with the margins z of right and wrong answers about sets of s classes, eq. (5) of the paper.

    Parameters
    ----------
    n_classes : K
    sizes : the sizes s of the sets

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> ExponentialLossDisplay(5).margins(1)
    {'inside': 1.25, 'outside': 0.3125}
    """

    n_classes: int = 5
    sizes: tuple[int, ...] = (1, 2)
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for s in self.sizes:
            if not 0 < s < self.n_classes:
                raise ValueError(f"sizes holds {s}; a separator has from 1 to {self.n_classes - 1} of the {self.n_classes} classes.")

    def margins(self, s: int) -> dict[str, float]:
        """|z| of a row whose class is inside the set, and outside."""
        K = self.n_classes
        return {"inside": K / (s * (K - 1)), "outside": K / ((K - s) * (K - 1))}

    def plot(self, *, ax: Any = None) -> ExponentialLossDisplay:
        """Draw the loss and the points on it."""
        ax = axes(ax)
        K = self.n_classes
        longest = 1.15 * K / (K - 1)
        z = np.linspace(-longest, longest, 200)
        ax.plot(z, np.exp(-z / K), color="#222222", linewidth=1.4)
        for s, colour in zip(self.sizes, COLOURS, strict=False):
            for (side, size), marker in zip(self.margins(s).items(), "os", strict=True):
                at = np.array([-size, size])
                label = f"s = {s}, class {side} the set"
                ax.plot(at, np.exp(-at / K), marker, color=colour, label=label, markerfacecolor="white" if side == "outside" else colour)
        ax.set(xlabel="margin z", ylabel=f"exp(-z/{K})", title=f"{K} classes")
        tidy(ax)
        ax.legend(frameon=False, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self
