"""Rows of a kernel matrix, computed in blocks and kept within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, sigmoid_kernel
from sklearn.utils.extmath import row_norms

Floats = NDArray[np.float64]
Between = Callable[[Any, Any, Any], Any]
Block = Callable[[NDArray[np.intp], NDArray[np.intp], Any], NDArray[np.floating]]
MEGABYTE = 2**20
CHUNK = 256  # rows computed at once


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
    out = np.asarray(linear_kernel(X, Y, dense_output=True))
    out *= 2.0 * gamma
    out -= gamma * row_norms(X, squared=True)[:, None]
    out -= gamma * row_norms(Y, squared=True)
    np.minimum(out, 0.0, out=out)
    out = out.astype(dtype, copy=False)
    return np.asarray(np.exp(out, out=out))


def checked_block(values: Any, shape: tuple[int, int]) -> NDArray[np.floating]:
    """A block of the kernel, if it is one."""
    if np.shape(values) != shape:
        raise ValueError(
            f"the kernel of {shape[0]} and {shape[1]} rows must be an array of that shape; it has the shape {np.shape(values)}."
        )
    if not np.isfinite(np.sum(values)):  # one value that is not finite makes the sum so
        raise ValueError("the kernel has a value that is infinite or NaN; scale the columns of X, or choose another kernel or gamma.")
    return np.asarray(values)


class KernelRows:
    """The kernel between the training rows: as many rows of it, restricted to the active columns, as fit into the memory allowed.

    ``block(rows, columns, dtype)`` computes a block of it. Where the whole kernel fits it is kept in double precision, else in single.
    """

    def __init__(self, block: Block, n: int, megabytes: float):
        self._block, self._n, self._bytes = block, n, megabytes * MEGABYTE
        self.dtype: Any = np.float64 if n * n * 8 <= self._bytes else np.float32
        self.columns = np.arange(n)
        self._owner = np.full(self._capacity(n), -1, np.intp)  # the row in each slot
        self._slot = np.full(n, -1, np.intp)  # the slot of each row
        self._values = np.empty((len(self._owner), n), self.dtype)

    def _capacity(self, width: int) -> int:
        return int(min(self._n, self._bytes // (np.dtype(self.dtype).itemsize * max(width, 1))))

    def activate(self, columns: NDArray[np.intp]) -> None:
        """Go on with these columns; rows are kept when they are some of the columns so far."""
        capacity = self._capacity(len(columns))
        places = np.searchsorted(self.columns, columns)
        fewer = len(columns) <= len(self.columns) and np.array_equal(self.columns[np.minimum(places, len(self.columns) - 1)], columns)
        kept = np.flatnonzero(self._owner >= 0)[:capacity] if fewer else np.empty(0, np.intp)
        values = np.empty((capacity, len(columns)), self.dtype)
        for at, slot in enumerate(kept):
            values[at] = self._values[slot, places]
        rows = self._owner[kept]
        self.columns, self._values = columns, values
        self._owner = np.full(capacity, -1, np.intp)
        self._owner[: len(rows)] = rows
        self._slot = np.full(self._n, -1, np.intp)
        self._slot[rows] = np.arange(len(rows))

    def within(self, rows: NDArray[np.intp], places: NDArray[np.intp]) -> NDArray[np.floating]:
        """The kernel between these rows; ``places`` are theirs among the columns."""
        out = np.empty((len(rows), len(rows)), self.dtype)
        there = self._slot[rows] >= 0
        for at in np.flatnonzero(there):
            out[at] = self._values[self._slot[rows[at]], places]
        for some in _chunks(np.flatnonzero(~there)):
            out[some] = self._block(rows[some], rows, self.dtype)
        return out

    def stream(self, rows: NDArray[np.intp], wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.floating]]]:
        """These rows of the kernel in chunks, as (numbers within ``rows``, values); ``wanted`` rows are not put out of memory."""
        there = self._slot[rows] >= 0
        for some in _chunks(np.flatnonzero(there)):
            yield some, self._values[self._slot[rows[some]]]
        free = np.flatnonzero((self._owner < 0) | ~wanted[self._owner])
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
