"""Rows made up between neighbours of one class: SMOTE, Chawla, Bowyer, Hall and Kegelmeyer (2002)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from manyboost.protocol import Task
from manyboost.trees.random_numbers import seed_of

N_NEIGHBOURS = 5
POOL = 3  # rows made for each that a round shows


def wanted_rows(task: Task) -> NDArray[np.intp]:
    """How many rows each class lacks to be as heavy as the heaviest, (K,); a weight of two is two rows."""
    size = np.rint(np.bincount(task.y, task.weight, task.K) * task.N)
    return np.asarray(size.max() - size, np.intp)


def made_up_rows(X: Any, keys: NDArray[np.uint64], task: Task, categorical: NDArray[np.bool_], seed: int) -> tuple[Any, NDArray[np.intp]]:
    """A pool of new rows and their classes: ``POOL`` times as many as the smaller classes lack.

    Each lies at a random place between a row, drawn by weight, and one of its five nearest neighbours of its class. A category, and a value
    that is missing on either side, is taken from one of the two. Equal rows count as one with their weights together, so that what
    is made depends on neither copies nor order.
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    rows, labels = [np.empty((0, dense.shape[1]))], [np.empty(0, np.intp)]
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
        labels.append(np.full(n_wanted, k))
    made = np.concatenate(rows)
    return sparse.csr_array(made) if sparse.issparse(X) else made, np.concatenate(labels)


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
