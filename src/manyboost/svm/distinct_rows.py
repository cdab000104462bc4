"""Training rows as the solvers want them: each once, with its weight in all, in an order that depends on what is in the rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.compiled import compiled, compiled_part

Floats = NDArray[np.float64]
FEW_ENTRIES = 0.25  # share of entries that are not zero, below which dense rows are stored as sparse ones


@compiled_part
def _mixed(word):
    """SplitMix64."""
    z = word + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _add_keys(dense, data, indices, starts, keys):
    """Add a word of every entry that is not zero; sums wrap around, so their order does not matter."""
    if dense is not None:
        for i in range(keys.size):
            for j in range(dense.shape[1]):
                if dense[i, j] << np.uint64(1) != np.uint64(0):  # neither 0 nor -0
                    keys[i] += _mixed(dense[i, j] ^ _mixed(np.uint64(j)))
    if data is not None:
        for i in range(keys.size):
            for at in range(starts[i], starts[i + 1]):
                if data[at] << np.uint64(1) != np.uint64(0):
                    keys[i] += _mixed(data[at] ^ _mixed(np.uint64(indices[at])))


def keys_of(X: Any, y: NDArray[np.intp]) -> NDArray[np.uint64]:
    """A 64-bit key of each row's entries and label."""
    keys = (y.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    dense, data, indices, starts = parts_of(X)
    _add_keys(*(None if a is None else a.view(np.uint64) for a in (dense, data)), indices, starts, keys)
    return keys


def parts_of(X: Any) -> tuple[Any, Any, Any, Any]:
    """What kernels are given for the rows: a dense array, or the three of a CSR matrix, always of the same types."""
    if not sparse.issparse(X):
        return X, None, None, None
    return None, X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)


@dataclass(frozen=True)
class DistinctRows:
    """Rows of which no two are equal in entries and label.

    Attributes
    ----------
    X : (m, p) dense, or CSR where most entries are zero
    y, weight, keys : (m,)
    rows : (m,) the number of each among the user's rows, the first of equals
    place : (n,) the place of each of the user's rows among them; -1 for a row without weight
    share : (n,) the part of that row's weight which it has
    """

    X: Any
    y: NDArray[np.intp]
    weight: Floats
    keys: NDArray[np.uint64]
    rows: NDArray[np.intp]
    place: NDArray[np.intp]
    share: Floats

    @classmethod
    def of(cls, X: Any, y: NDArray[np.intp], weight: Floats) -> DistinctRows:
        """Of the rows with labels of at least 0 and positive weights."""
        X = _compact(X)
        used = np.flatnonzero((y >= 0) & (weight > 0))
        keys = keys_of(X, y)[used]
        distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
        rows = used[first]
        everything = np.full(len(y), -1, np.intp)
        everything[used] = place
        total: Floats = np.bincount(place, weight[used], len(distinct)).astype(np.float64)
        share = np.zeros(len(y))
        share[used] = weight[used] / total[place]
        return cls(X[rows], y[rows], total, distinct, rows, everything, share)

    def spread(self, alpha: Floats) -> Floats:
        """The variables of the user's rows, from those of the distinct ones."""
        return np.asarray(np.where(self.place[:, None] >= 0, alpha[self.place], 0.0) * self.share[:, None])


def _compact(X: Any) -> Any:
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X, np.float64)
        if np.count_nonzero(X) > FEW_ENTRIES * X.size:
            return X
        return sparse.csr_array(X)
    X = sparse.csr_array(X).astype(np.float64)
    X.sum_duplicates()
    return X
