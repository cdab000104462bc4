"""Rows made up between neighbours of one class: SMOTE, Chawla, Bowyer, Hall and Kegelmeyer (2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from manyboost.protocol import Floats, Task
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Statistics

N_NEIGHBOURS = 5
MOST_COMPARED = 20_000  # rows of a class among which neighbours are looked for
POOL = 3  # rows made for each that a round shows


def wanted_rows(y: NDArray[np.intp], keys: NDArray[np.uint64], K: int) -> NDArray[np.intp]:
    """How many rows each class lacks to be as large as the largest, (K,); equal rows are one, whatever they weigh."""
    size = np.bincount(y[np.unique(keys, return_index=True)[1]], minlength=K)
    return np.asarray(size.max() - size, np.intp)


@dataclass(frozen=True)
class Pool:
    """Rows that were made up, of which every round is shown some.

    Attributes
    ----------
    X : (m, p)
    parent : (m,) the row that each was made from, whose class and statistics it has
    share : of the pool that a round is shown
    copies : (m,) how many rows are equal to the parent: a made-up row weighs as much as all of them
    group : (m,) number of the draw that each belongs to, where a round is shown one draw as a whole and nothing beside it; or None
    """

    X: Any
    parent: NDArray[np.intp]
    share: float
    copies: Floats
    group: NDArray[np.intp] | None = None

    @property
    def alone(self) -> bool:
        """Do these rows stand in place of the others?"""
        return self.group is not None

    def drawn(self, seed: int) -> NDArray[np.intp]:
        """The numbers of the rows of a round."""
        if self.group is not None:
            return np.flatnonzero(self.group == seed % POOL)
        keys = np.arange(len(self.parent), dtype=np.uint64)
        return np.flatnonzero(uniform_of_keys(seed, keys) < self.share)

    def with_rows(self, X: Any) -> Any:
        """The rows and, behind them, the pool."""
        return sparse.vstack([X, self.X], format="csr") if sparse.issparse(X) else np.concatenate([X, self.X])

    def statistics(self, of_rows: Statistics) -> Statistics:
        """Those of the rows and, behind them, of the pool."""
        dense = np.concatenate([of_rows.dense, of_rows.dense[self.parent] * self.copies[:, None]])
        if not of_rows.n_labels:
            return Statistics.of_rows(dense)
        label = np.concatenate([of_rows.label, of_rows.label[self.parent]])
        weight = np.concatenate([of_rows.weight, of_rows.weight[self.parent] * self.copies])
        return Statistics.of_both(dense, label, weight, of_rows.n_labels)


def made_up_rows(X: Any, keys: NDArray[np.uint64], task: Task, categorical: NDArray[np.bool_], seed: int) -> Pool:
    """A pool of new rows: ``POOL`` times as many as the smaller classes lack.

    Each lies at a random place between a row and one of its five nearest neighbours of its class. A category, and a value that is missing
    on either side, is taken from one of the two. Equal rows count as one with their weights together, so that what is made depends on
    neither copies nor order. In a class of more than 20,000 rows the neighbours are the nearest of so many that are drawn: all of them
    would take time in the square of their number, and such a class is short of nothing.
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    rows, parents, copies = [np.empty((0, dense.shape[1]))], [np.empty(0, np.intp)], [np.empty(0)]
    for k, n_wanted in enumerate(POOL * wanted_rows(task.y, keys, task.K)):
        members = np.flatnonzero(task.y == k)
        _, first, n_equal = np.unique(keys[members], return_index=True, return_counts=True)
        if n_wanted == 0 or len(first) < 2:
            continue
        own = dense[members[first]]
        rng = np.random.default_rng(seed_of(seed, k))
        n_neighbours = min(N_NEIGHBOURS, len(own) - 1)
        start = rng.integers(0, len(own), n_wanted)
        nth = rng.integers(0, n_neighbours, n_wanted)
        share = rng.random(n_wanted)[:, None]
        asked, place = np.unique(start, return_inverse=True)
        end = _nearest(own, asked, n_neighbours, rng)[place, nth]
        between = own[start] + share * (own[end] - own[start])
        taken = np.where(share < 0.5, own[start], own[end])
        rows.append(np.where(categorical | np.isnan(between), taken, between))
        parents.append(members[first][start])
        copies.append(n_equal[start].astype(np.float64))
    made = np.concatenate(rows)
    return Pool(sparse.csr_array(made) if sparse.issparse(X) else made, np.concatenate(parents), 1 / POOL, np.concatenate(copies))


def _nearest(own: Floats, asked: NDArray[np.intp], n_neighbours: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The nearest other rows of each that is asked for, (len(asked), n_neighbours), the nearest first."""
    comparable, compared = _comparable(own), np.arange(len(own))
    if len(own) > MOST_COMPARED:
        compared = np.sort(rng.choice(compared, MOST_COMPARED, replace=False))
    search = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(comparable[compared])
    found = compared[search.kneighbors(comparable[asked], return_distance=False)]
    left_out = found == asked[:, None]
    left_out[~left_out.any(axis=1), -1] = True  # the row itself was not drawn, or others stand at its place
    return np.asarray(found[~left_out].reshape(len(asked), n_neighbours))


def resampled_rows(sampler: Any, X: Any, task: Task, seed: int) -> Pool:
    """What a sampler of imbalanced-learn makes of the rows, in ``POOL`` draws.

    A row that it made has the statistics of the nearest of its class.
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    rows, parents, groups = [], [], []
    for draw in range(POOL):
        chances = {name: seed_of(seed, draw) % 2**31 for name in sampler.get_params() if name == "random_state"}
        try:
            made, labels = clone(sampler).set_params(**chances).fit_resample(dense, task.y)
        except ValueError as error:
            raise ValueError(f"sampling={sampler!r} could not resample the rows: {error}") from error
        parent = np.empty(len(labels), np.intp)
        for k in np.unique(labels):
            members, of_class = np.flatnonzero(task.y == k), np.flatnonzero(labels == k)
            comparable = _comparable(np.concatenate([dense[members], made[of_class]]))
            nearest = NearestNeighbors(n_neighbors=1).fit(comparable[: len(members)])
            parent[of_class] = members[nearest.kneighbors(comparable[len(members) :], return_distance=False)[:, 0]]
        rows.append(made)
        parents.append(parent)
        groups.append(np.full(len(labels), draw, np.intp))
    everything = np.concatenate(rows)
    stored = sparse.csr_array(everything) if sparse.issparse(X) else everything
    return Pool(stored, np.concatenate(parents), 1.0, np.ones(len(everything)), np.concatenate(groups))


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
