"""What the Displays share: axes to draw on, and colours that also those tell apart who see fewer of them."""

from __future__ import annotations

from itertools import cycle
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")  # Okabe and Ito's, and a grey
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The given axes, or new ones in a figure of their own."""
    if ax is not None:
        return ax
    try:
        from matplotlib.pyplot import subplots
    except ImportError as error:
        raise ImportError('Plots need matplotlib; install it with: pip install "manyboost[plot]"') from error
    return subplots(figsize=size, layout="constrained")[1]


def looks(n: int) -> list[dict[str, Any]]:
    """A colour, a line and a marker for each of n series."""
    lines = [line for line in LINES for _ in COLOURS]
    return [
        {"color": colour, "linestyle": line, "marker": marker}
        for colour, line, marker, _ in zip(cycle(COLOURS), cycle(lines), cycle(MARKERS), range(n), strict=False)
    ]


def tidy(ax: Any) -> None:
    """A light grid behind, and no frame at the top and on the right."""
    ax.grid(color="#DDDDDD", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
