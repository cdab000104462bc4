"""Rows made up between neighbours of one class: SMOTE, Chawla, Bowyer, Hall and Kegelmeyer (2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from manyboost.protocol import Floats, Task
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Statistics

N_NEIGHBOURS = 5
POOL = 3  # rows made for each that a round shows


def wanted_rows(task: Task) -> NDArray[np.intp]:
    """How many rows each class lacks to be as heavy as the heaviest, (K,); a weight of two is two rows."""
    size = np.rint(np.bincount(task.y, task.weight, task.K) * task.N)
    return np.asarray(size.max() - size, np.intp)


@dataclass(frozen=True)
class Pool:
    """Rows that were made up, of which every round is shown some.

    Attributes
    ----------
    X : (m, p)
    parent : (m,) the row that each was made from, whose class and statistics it has
    share : of the pool that a round is shown
    count : (n,) how many rows each row counts for: a made-up row is one
    """

    X: Any
    parent: NDArray[np.intp]
    share: float
    count: Floats

    def drawn(self, seed: int) -> NDArray[np.intp]:
        """The numbers of the rows of a round."""
        keys = np.arange(len(self.parent), dtype=np.uint64)
        return np.flatnonzero(uniform_of_keys(seed, keys) < self.share)

    def with_rows(self, X: Any) -> Any:
        """The rows and, behind them, the pool."""
        return sparse.vstack([X, self.X], format="csr") if sparse.issparse(X) else np.concatenate([X, self.X])

    def statistics(self, of_rows: Statistics) -> Statistics:
        """Those of the rows and, behind them, of the pool."""
        once = 1 / self.count[self.parent]
        dense = np.concatenate([of_rows.dense, of_rows.dense[self.parent] * once[:, None]])
        if not of_rows.n_labels:
            return Statistics.of_rows(dense)
        label = np.concatenate([of_rows.label, of_rows.label[self.parent]])
        weight = np.concatenate([of_rows.weight, of_rows.weight[self.parent] * once])
        return Statistics.of_both(dense, label, weight, of_rows.n_labels)


def made_up_rows(X: Any, keys: NDArray[np.uint64], task: Task, categorical: NDArray[np.bool_], seed: int) -> Pool:
    """A pool of new rows: ``POOL`` times as many as the smaller classes lack.

    Each lies at a random place between a row, drawn by weight, and one of its five nearest neighbours of its class. A category, and a value
    that is missing on either side, is taken from one of the two. Equal rows count as one with their weights together, so that what
    is made depends on neither copies nor order.
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    rows, parents = [np.empty((0, dense.shape[1]))], [np.empty(0, np.intp)]
    for k, n_wanted in enumerate(POOL * wanted_rows(task)):
        members = np.flatnonzero(task.y == k)
        _, first, group = np.unique(keys[members], return_index=True, return_inverse=True)
        if n_wanted == 0 or len(first) < 2:
            continue
        own, weight = dense[members[first]], np.bincount(group, task.weight[members])
        rng = np.random.default_rng(seed_of(seed, k))
        found = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, len(own) - 1)).fit(_comparable(own)).kneighbors(return_distance=False)
        start = rng.choice(len(own), n_wanted, p=weight / weight.sum())
        end = found[start, rng.integers(0, found.shape[1], n_wanted)]
        share = rng.random(n_wanted)[:, None]
        between = own[start] + share * (own[end] - own[start])
        taken = np.where(share < 0.5, own[start], own[end])
        rows.append(np.where(categorical | np.isnan(between), taken, between))
        parents.append(members[first][start])
    made = np.concatenate(rows)
    return Pool(sparse.csr_array(made) if sparse.issparse(X) else made, np.concatenate(parents), 1 / POOL, task.weight * task.N)


def _comparable(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns of one scale, with the mean where a value is missing, so that rows have distances."""
    seen = ~np.isnan(rows)
    n_seen = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, rows, 0.0).sum(axis=0) / n_seen
    centred = np.where(seen, rows - mean, 0.0)
    largest = np.abs(centred).max(axis=0)
    centred /= np.where(largest > 0, largest, 1.0)  # squares of huge values would overflow
    spread = np.sqrt((centred**2).sum(axis=0) / n_seen)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))
