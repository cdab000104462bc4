"""Rows of a kernel matrix, computed in blocks and kept within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, sigmoid_kernel
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from manyboost.compiled import compiled

Floats = NDArray[np.float64]
Between = Callable[[Any, Any, Any], Any]
Block = Callable[[NDArray[np.intp], NDArray[np.intp], Any], NDArray[np.floating]]
MEGABYTE = 2**20
CHUNK = 256  # rows computed at once
STEP = 64  # rows of them whose exponents are kept at once, so that they stay near the processor
SMALL = 64.0  # gamma |x|^2 of a usual row, up to which rounding it to single precision changes the kernel by a hundred thousandth at most


def kernel_between(kernel: Any, gamma: float, degree: int, coef0: float) -> Between:
    """The kernel as a function of two tables of rows and a precision, which the radial one makes use of."""
    if callable(kernel):
        return lambda X, Y, dtype: np.asarray(kernel(X, Y), np.float64)
    return {
        "linear": lambda X, Y, dtype: linear_kernel(X, Y, dense_output=True),
        "rbf": lambda X, Y, dtype: radial(X, Y, gamma, dtype),
        "poly": lambda X, Y, dtype: polynomial_kernel(X, Y, degree=degree, gamma=gamma, coef0=coef0),
        "sigmoid": lambda X, Y, dtype: sigmoid_kernel(X, Y, gamma=gamma, coef0=coef0),
    }[kernel]


def radial(X: Any, Y: Any, gamma: float, dtype: Any) -> NDArray[np.floating]:
    """exp(-gamma |x - y|^2): distances in double precision, exponentials in the one asked for."""
    of_X, of_Y = -gamma * row_norms(X, squared=True), -gamma * row_norms(Y, squared=True)
    dense = not (sparse.issparse(X) or sparse.issparse(Y))
    if dense:  # one product of matrices for the whole exponent
        X = np.column_stack([2.0 * gamma * X, of_X, np.ones(len(of_X))])
        Y = np.column_stack([Y, np.ones(len(of_Y)), of_Y])
    out = np.empty((len(of_X), len(of_Y)), dtype)
    for start in range(0, len(of_X), STEP):
        some, into = slice(start, start + STEP), out[start : start + STEP]
        exponents = safe_sparse_dot(X[some], Y.T, dense_output=True)
        if not dense:
            exponents = 2.0 * gamma * exponents + of_X[some, None] + of_Y
        np.minimum(exponents, 0.0, out=into, casting="same_kind")
        np.exp(into, out=into)
    return out


class RadialInSingle:
    """exp(-gamma |x - y|^2) between rows of a dense table, in single precision throughout: a third of the time of :func:`radial`.

    Rows are moved so that their mean is zero. That leaves the distances, and makes the numbers whose difference they are small.
    """

    def __init__(self, X: Floats, gamma: float):
        X = X - X.mean(axis=0)
        squares = gamma * row_norms(X, squared=True)
        self.is_fine = bool(squares.mean() <= SMALL)
        self._gamma = gamma
        self._table = np.column_stack([X, np.ones(len(X)), -squares]).astype(np.float32) if self.is_fine else np.empty((0, 0), np.float32)

    def __call__(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        some = self._table[rows]
        some = np.column_stack([np.float32(2.0 * self._gamma) * some[:, :-2], some[:, -1], some[:, -2]])
        values = some @ (self._table if len(columns) == len(self._table) else self._table[columns]).T
        np.minimum(values, 0.0, out=values)
        return np.asarray(np.exp(values, out=values))


def checked_block(values: Any, shape: tuple[int, int]) -> NDArray[np.floating]:
    """A block of the kernel, if it is one."""
    if np.shape(values) != shape:
        raise ValueError(
            f"the kernel of {shape[0]} and {shape[1]} rows must be an array of that shape; it has the shape {np.shape(values)}."
        )
    if not np.isfinite(np.sum(values)):  # one value that is not finite makes the sum so
        raise ValueError("the kernel has a value that is infinite or NaN; scale the columns of X, or choose another kernel or gamma.")
    return np.asarray(values)


@compiled
def gather(values, slots, places, out):
    """Copy the places of each slot; rows without a slot (-1) are left as they are."""
    for i in range(slots.size):
        if slots[i] >= 0:
            row, into = values[slots[i]], out[i]
            for j in range(places.size):
                into[j] = row[places[j]]


class KernelRows:
    """The kernel between the training rows: as many rows of it, restricted to the active columns, as fit into the memory allowed.

    ``block(rows, columns, dtype)`` computes a block of it.
    """

    def __init__(self, block: Block, n: int, n_bytes: float, dtype: Any):
        self._block, self._n, self._bytes, self.dtype = block, n, n_bytes, np.dtype(dtype)
        self.columns = np.arange(n)
        self._scratch = np.empty(0, self.dtype)
        self._empty(self._capacity(n), n)

    def _empty(self, capacity: int, width: int) -> None:
        self._owner = np.full(capacity, -1, np.intp)  # the row in each slot
        self._slot = np.full(self._n, -1, np.intp)  # the slot of each row
        self._values = np.empty((capacity, width), self.dtype)

    def _capacity(self, width: int) -> int:
        return int(min(self._n, self._bytes // (self.dtype.itemsize * max(width, 1))))

    def activate(self, columns: NDArray[np.intp]) -> None:
        """Go on with these columns; rows are kept when they are some of the columns so far."""
        capacity = self._capacity(len(columns))
        places = np.searchsorted(self.columns, columns)
        fewer = len(columns) <= len(self.columns) and np.array_equal(self.columns[np.minimum(places, len(self.columns) - 1)], columns)
        kept = np.flatnonzero(self._owner >= 0)[:capacity] if fewer else np.empty(0, np.intp)
        rows, values = self._owner[kept], self._values
        self._empty(capacity, len(columns))
        gather(values, kept, places, self._values)
        self.columns = columns
        self._owner[: len(rows)] = rows
        self._slot[rows] = np.arange(len(rows))

    def scratch(self, size: int) -> NDArray[np.floating]:
        """Room for so many values, the same each time, as fresh memory costs more than to write into it."""
        if len(self._scratch) < size:
            self._scratch = np.empty(size, self.dtype)
        return self._scratch[:size]

    def among(self, rows: NDArray[np.intp], places: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.floating]]]:
        """The kernel between these rows in chunks, as (number of the first row, values); ``places`` are theirs among the columns."""
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            slots = self._slot[some]
            values = np.empty((len(some), len(rows)), self.dtype)
            gather(self._values, slots, places, values)
            missing = np.flatnonzero(slots < 0)
            if len(missing):
                values[missing] = self._block(some[missing], rows, self.dtype)
            yield start, values

    def stream(self, rows: NDArray[np.intp], wanted: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.floating]]]:
        """These rows of the kernel in chunks, as (numbers within ``rows``, values); ``wanted`` rows are not put out of memory."""
        there = self._slot[rows] >= 0
        for some in _chunks(np.flatnonzero(there)):
            yield some, self._values[self._slot[rows[some]]]
        free = np.flatnonzero(~np.isin(self._owner, wanted))
        for some in _chunks(np.flatnonzero(~there)):
            values = np.asarray(self._block(rows[some], self.columns, self.dtype), self.dtype)
            slots, free = free[: len(some)], free[len(some) :]
            gone = self._owner[slots]
            self._slot[gone[gone >= 0]] = -1
            self._values[slots] = values[: len(slots)]
            self._owner[slots] = rows[some[: len(slots)]]
            self._slot[rows[some[: len(slots)]]] = slots
            yield some, values


def _chunks(numbers: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]
