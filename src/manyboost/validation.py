"""Rows that are kept aside: a fold of the training rows, chosen by what is in them, or a set of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.protocol import Task
from manyboost.weak_learning import Rows, Validation

N_FOLDS = 5
HELD_OUT_ROWS = 2000  # how many held-out rows are wanted in all


def folds_of_rows(task: Task, keys: NDArray[np.uint64], *cuts: float) -> NDArray[np.intp]:
    """A part of the rows for each row: how many of the rising ``cuts`` (shares of the weight) its place in its class has passed.

    Within a class, rows stand in the order of their keys. Equal rows share a key and a part, so the parts depend on the rows, not on their
    order, and a weight of two is two rows. A class that is all in one part is in no part (-1): its rows cannot be spared.
    """
    part = np.full(len(keys), -1, np.intp)
    for k in range(task.K):
        members = np.flatnonzero(task.y == k)
        members = members[np.argsort(keys[members], kind="stable")]
        first = np.searchsorted(keys[members], keys[members], side="left")
        weight = task.weight[members]
        before = (np.cumsum(weight) - weight)[first] / weight.sum()
        found = np.searchsorted(cuts, before * (1 + 1e-12), side="right")
        if len(np.unique(found)) > 1:
            part[members] = found
    return part


def fifths_of_rows(task: Task, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """One of :data:`N_FOLDS` parts of equal weight for each row, as :func:`folds_of_rows` finds them."""
    return folds_of_rows(task, keys, *(np.arange(1, N_FOLDS) / N_FOLDS))


def number_of_pilots(n_rows: float, n_most: int = N_FOLDS) -> int:
    """How many of the fifths must be held out in turn so that of so many rows enough have been, but at most ``n_most``."""
    return int(np.clip(np.ceil(HELD_OUT_ROWS * N_FOLDS / n_rows), 1, n_most))


def hold_out(task: Task, rows: Rows, fraction: float) -> tuple[Validation, Task, Rows]:
    """A share of the rows of each class to watch, and what is left to train on."""
    fold = folds_of_rows(task, rows.keys, 1.0 - fraction)
    inside, outside = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
    if not len(outside):
        raise ValueError(
            f"early_stopping: validation_fraction={fraction} leaves no row to watch; "
            "give a larger fraction, X_val and y_val, or set early_stopping=False."
        )
    return Validation(rows.part(outside), task.y[outside], task.weight[outside]), task.part(inside), rows.part(inside)
