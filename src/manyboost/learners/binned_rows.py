"""Passes over the rows of a column in bins, compiled: what falls into each bin, and what each row's bin adds."""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part


@compiled_part
def bin_of(value, cuts):
    """The number of cuts that are not above the value."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def count_bins(values, cuts, is_category, y, units, counts):
    """Add the weight of every row that has a value to ``counts``, (bins, K)."""
    for i in range(len(values)):
        if not np.isnan(values[i]):
            counts[np.int64(values[i]) if is_category else bin_of(values[i], cuts), y[i]] += units[i]


@compiled
def add_bins(values, cuts, is_category, of_bin, out):
    """Add to every row of ``out`` that has a value what its bin adds to each class, ``of_bin``, (bins, K)."""
    for i in range(len(values)):
        if not np.isnan(values[i]):
            here = np.int64(values[i]) if is_category else bin_of(values[i], cuts)
            for k in range(out.shape[1]):
                out[i, k] += of_bin[here, k]
