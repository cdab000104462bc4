"""Keys of rows by what is in them: what orders rows, folds them and draws from them, whatever order they came in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.trees.random_numbers import words_of

BLOCK = 1 << 22  # entries at a time


def keys_of_numbers(X: Any, labels: NDArray[np.integer]) -> NDArray[np.uint64]:
    """A 64-bit key of each row's entries and label, whatever the order of the rows and however zeros are stored."""
    keys = _words_of_labels(labels)
    n_rows = max(1, BLOCK // max(X.shape[1], 1))
    for begin in range(0, len(keys), n_rows):
        part = X[begin : begin + n_rows]
        entries = sparse.coo_array(part) if sparse.issparse(part) else None
        row, column = (entries.row, entries.col) if entries is not None else np.nonzero((part != 0) | np.isnan(part))
        values = entries.data if entries is not None else part[row, column]
        used = (values != 0) | np.isnan(values)
        bits = np.where(np.isnan(values), np.nan, values).astype(np.float64)[used].view(np.uint64)
        words = words_of(bits ^ words_of(column[used].astype(np.uint64)))
        np.add.at(keys[begin : begin + n_rows], row[used], words)  # wraps around, so the order does not matter
    return keys


def keys_of_content(keys: NDArray[np.uint64], labels: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The same keys without the labels: equal for equal rows of different classes."""
    return keys - _words_of_labels(labels)


def _words_of_labels(labels: NDArray[np.integer]) -> NDArray[np.uint64]:
    return words_of(labels.astype(np.uint64) + np.uint64(2**63))
