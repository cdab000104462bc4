"""A picture of learning curves, one panel for each data set."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from manyboost.plots.staged_error import StagedErrorDisplay

MOST_ACROSS = 4


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
    figure, axes = subplots(down, across, figsize=(4.2 * across, 3.4 * down), layout="constrained", squeeze=False)
    for ax, name in zip(axes.flat, names, strict=False):
        StagedErrorDisplay.from_results(told, name, unit=unit, ax=ax)
        ax.set_title(name, fontsize=11)
        ax.get_legend().remove()
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=80)
    close(figure)
    return Path(path)
