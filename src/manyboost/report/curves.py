"""A picture of learning curves, one panel for each data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from manyboost.plots.drawing import looks
from manyboost.plots.staged_error import StagedErrorDisplay

MOST_ACROSS = 4
NAMES_ACROSS = 2  # in the legend, for each panel


def draw_curves(results: pd.DataFrame, path: str | os.PathLike[str], *, unit: str = "weak learners") -> Path | None:
    """Draw test errors against rounds or weak learners, data set by data set: figure 3 of the PIBoost paper.

    Parameters
    ----------
    results : as :func:`manyboost.evaluation.run` returns them
    path : the picture
    unit : "rounds" or "weak learners"

    Returns
    -------
    the path, or None where no classifier told its errors round by round
    """
    from matplotlib.pyplot import close, subplots

    told = results[results["curve"].notna()]
    names = list(dict.fromkeys(told["data_set"]))
    if not names:
        return None
    across = min(MOST_ACROSS, len(names))
    down = -(-len(names) // across)
    algorithms = list(dict.fromkeys(told["algorithm"]))
    legend_rows = -(-len(algorithms) // (NAMES_ACROSS * across))
    size = (4.2 * across, 3.4 * down + 0.25 * legend_rows)
    figure, axes = subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    styles = dict(zip(algorithms, looks(len(algorithms)), strict=True))  # in all panels the same, whoever is missing in one
    handles: dict[str, Any] = {}
    for ax, name in zip(axes.flat, names, strict=False):
        StagedErrorDisplay.from_results(told, name, unit=unit, ax=ax, styles=styles)
        lines, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, lines, strict=True))
        ax.set_title(name, fontsize=11)
        ax.get_legend().remove()
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    lines = [handles[name] for name in algorithms]
    figure.legend(lines, algorithms, loc="outside lower center", ncols=min(len(algorithms), NAMES_ACROSS * across), frameon=False)
    figure.savefig(path, dpi=80)
    close(figure)
    return Path(path)
