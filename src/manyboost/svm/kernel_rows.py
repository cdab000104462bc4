"""Rows of a kernel matrix, computed in blocks and kept within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

Floats = NDArray[np.float64]
Between = Callable[[Any, Any], Any]
MEGABYTE = 2**20


def kernel_between(kernel: Any, gamma: float, degree: int, coef0: float) -> Between:
    """The kernel as a function of two tables of rows."""
    if callable(kernel):
        return lambda X, Y: np.asarray(kernel(X, Y), np.float64)
    return {
        "linear": lambda X, Y: linear_kernel(X, Y, dense_output=True),
        "rbf": lambda X, Y: rbf_kernel(X, Y, gamma=gamma),
        "poly": lambda X, Y: polynomial_kernel(X, Y, degree=degree, gamma=gamma, coef0=coef0),
        "sigmoid": lambda X, Y: sigmoid_kernel(X, Y, gamma=gamma, coef0=coef0),
    }[kernel]


def checked_block(values: Any, shape: tuple[int, int]) -> Floats:
    """A block of the kernel, if it is one."""
    if np.shape(values) != shape:
        raise ValueError(f"the kernel of {shape[0]} and {shape[1]} rows must be an array of that shape; it has the shape {np.shape(values)}.")
    if not np.isfinite(values).all():
        raise ValueError("the kernel has a value that is infinite or NaN; scale the columns of X, or choose another kernel or gamma.")
    return np.asarray(values, np.float64)


class KernelRows:
    """The kernel between the training rows: some rows of it, restricted to the active columns, each kept until memory runs out.

    ``block(rows, columns)`` computes a block of it. Rows that were used last stay longest.
    """

    def __init__(self, block: Callable[[NDArray[np.intp], NDArray[np.intp]], Floats], n: int, megabytes: float, least: int):
        self._block, self._n = block, n
        self._room, self._least = int(megabytes * MEGABYTE) // 8, least
        self.activate(np.arange(n))

    def activate(self, columns: NDArray[np.intp]) -> None:
        """Go on with these columns; of rows in memory, what is still wanted is kept."""
        capacity = min(self._n, max(self._least, self._room // len(columns)))
        kept: NDArray[np.intp] = np.empty(0, np.intp)
        rows: NDArray[np.intp] = np.empty(0, np.intp)
        old = getattr(self, "columns", columns)
        places = np.searchsorted(old, columns)
        if hasattr(self, "columns") and (places < len(old)).all() and np.array_equal(old[places], columns):
            kept = np.argsort(-self._used, kind="stable")[:capacity]
            kept = kept[self._owner[kept] >= 0]
            rows = self._owner[kept]
        values = np.empty((capacity, len(columns)))
        for at, slot in enumerate(kept):
            values[at] = self._values[slot, places]
        used = np.full(capacity, -1, np.int64)
        used[: len(kept)] = self._used[kept] if len(kept) else 0
        self.columns, self._values, self._used = columns, values, used
        self._owner = np.full(capacity, -1, np.intp)
        self._owner[: len(rows)] = rows
        self._slot = np.full(self._n, -1, np.intp)
        self._slot[rows] = np.arange(len(rows))
        self._clock = int(used.max(initial=0)) + 1

    @property
    def capacity(self) -> int:
        return len(self._owner)

    def slots(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where these rows, at most as many as there is room for, stand in :attr:`values`."""
        self._clock += 1
        there = self._slot[rows]
        self._used[there[there >= 0]] = self._clock
        missing = rows[there < 0]
        if len(missing):
            free = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
            gone = self._owner[free]
            self._slot[gone[gone >= 0]] = -1
            self._values[free] = self._block(missing, self.columns)
            self._owner[free], self._slot[missing], self._used[free] = missing, free, self._clock
        return np.asarray(self._slot[rows])

    @property
    def values(self) -> Floats:
        return self._values
