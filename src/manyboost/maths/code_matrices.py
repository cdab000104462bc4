"""Code matrices of output codes: a row for each class, a column for each binary problem, entries -1, 0 (the class is left out) and 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Code = NDArray[np.int8]
MAX_CLASSES_EXHAUSTIVE = 7
POOL = 4096  # where there are no more columns than this, all are listed and some are drawn from the list
N_DRAWS = 10_000
N_BITS = 40_000  # entries of all codes that are driven apart, ...
MOST_STARTS = 30  # ... at most so many
OF_ROWS, OF_COLUMNS = 3.0, 2.0  # how much closest pairs outweigh others: agreements are counted in multiples of their spread by chance
SHARE_OF_COLUMNS = 0.1  # beside rows


def one_vs_all(K: int) -> Code:
    """Each class against all others; for two classes the one problem there is."""
    return np.array([[-1], [1]], np.int8) if K == 2 else (2 * np.eye(K, dtype=np.int8) - 1).astype(np.int8)


def one_vs_one(K: int) -> Code:
    """Each pair of classes, 1 for the smaller."""
    pairs = list(combinations(range(K), 2))
    code = np.zeros((K, len(pairs)), np.int8)
    for column, (first, second) in enumerate(pairs):
        code[first, column], code[second, column] = 1, -1
    return code


def exhaustive(K: int) -> Code:
    """All 2^(K-1) - 1 ways to split the classes; any two rows differ in 2^(K-2) columns."""
    if K > MAX_CLASSES_EXHAUSTIVE:
        raise ValueError(
            f"code='exhaustive' has 2**(K-1) - 1 columns, too many for K = {K} classes (at most {MAX_CLASSES_EXHAUSTIVE}); "
            "use code='max_distance' or 'dense'."
        )
    return _all_dense(K)


def _all_dense(K: int) -> Code:
    numbers = np.arange(1, 2 ** (K - 1))
    bits = (numbers >> np.arange(K - 1)[:, None]) & 1
    return np.concatenate([np.full((1, len(numbers)), 1), 1 - 2 * bits]).astype(np.int8)


def _all_sparse(K: int) -> Code:
    digits = (np.arange(3**K) // 3 ** np.arange(K)[:, None]) % 3 - 1
    first = digits[(digits != 0).argmax(axis=0), np.arange(3**K)]
    both = (digits == 1).any(axis=0) & (digits == -1).any(axis=0)
    return np.asarray(digits[:, both & (first == 1)], np.int8)  # of opposite columns one


def row_distance(code: NDArray[Any]) -> float:
    """The least distance of two rows; an entry 0 is at distance one half from everything."""
    K, length = code.shape
    agreement = code.astype(np.int64) @ code.T.astype(np.int64)
    return float((length - agreement[~np.eye(K, dtype=bool)]).min() / 2)


def column_distance(code: Code) -> float:
    """The least distance of two columns, or of one and the opposite of the other."""
    K, length = code.shape
    if length < 2:
        return float(K)
    agreement = np.abs(code.T.astype(np.int64) @ code.astype(np.int64))
    return float((K - agreement[~np.eye(length, dtype=bool)]).min() / 2)


def correctable(code: Code) -> int:
    """How many wrong columns a decision by Hamming distance always survives."""
    return max(0, int((row_distance(code) - 1) // 2))


def fault_of(code: Code) -> str | None:
    """Why the matrix cannot be a code, or None."""
    if code.ndim != 2 or not code.size:
        return f"must have a row for each class and at least one column; its shape is {code.shape}"
    for column in range(code.shape[1]):
        if not ((code[:, column] == 1).any() and (code[:, column] == -1).any()):
            return f"has only one side in column {column}; a column needs a class with 1 and a class with -1"
    seen: dict[bytes, int] = {}
    for column in range(code.shape[1]):
        entries = code[:, column]
        key = (entries * entries[np.flatnonzero(entries)[0]]).tobytes()
        if key in seen:
            return f"has the columns {seen[key]} and {column}, which are equal or opposite; leave one out"
        seen[key] = column
    for first, second in combinations(range(code.shape[0]), 2):
        if (code[first] == code[second]).all():
            return f"has equal rows {first} and {second}; no code can tell these classes apart"
    return None


def random_code(K: int, length: int | None, zeros: bool, rng: np.random.Generator) -> Code:
    """The code of the largest least row distance, then column distance, of many that are drawn.

    Dense ones have 10 log2 K columns by default, those with zeros 15 log2 K with half of the entries 0 (Allwein, Schapire and Singer).
    Where there are no more different columns than that, all are taken.
    """
    length = int(np.ceil((15 if zeros else 10) * np.log2(K))) if length is None else length
    n_columns = (3**K - 2 ** (K + 1) + 1) // 2 if zeros else 2 ** (K - 1) - 1
    if n_columns <= length:
        return _all_sparse(K) if zeros else _all_dense(K)
    return _best(_draws(K, length, zeros, N_DRAWS if n_columns > POOL else N_DRAWS // 10, rng))


def max_distance(K: int, length: int | None, rng: np.random.Generator) -> Code:
    """As a dense :func:`random_code`, of fewer codes, the rows and columns of each of which were driven apart."""
    length = int(np.ceil(10 * np.log2(K))) if length is None else length
    if length >= 2 ** (K - 1) - 1:
        return _all_dense(K)
    starts = _draws(K, length, False, int(np.clip(N_BITS // (K * length), 1, MOST_STARTS)), rng)
    return _best(code for start in starts for code in (_driven_apart(start), start))


def _draws(K: int, length: int, zeros: bool, n_draws: int, rng: np.random.Generator) -> Iterator[Code]:
    """Random codes; no column is in one of them twice, where all can be listed."""
    n_columns = (3**K - 2 ** (K + 1) + 1) // 2 if zeros else 2 ** (K - 1) - 1
    pool = (_all_sparse(K) if zeros else _all_dense(K)) if n_columns <= POOL else None
    for _ in range(n_draws):
        if pool is not None:
            yield pool[:, rng.choice(pool.shape[1], length, replace=False)]
        else:
            yield rng.choice(np.array([-1, 0, 0, 1] if zeros else [-1, 1], np.int8), (K, length))


def _best(codes: Iterable[Code]) -> Code:
    """The one of the largest least row distance, then column distance, and the first of equals."""
    best, reached = None, (-1.0, -1.0)
    for code in codes:
        distance = row_distance(code)
        better = distance > reached[0] or (distance == reached[0] and column_distance(code) > reached[1])
        if better and fault_of(code) is None:
            best, reached = code, (distance, column_distance(code))
    if best is None:
        raise ValueError(f"no code of {code.shape[1]} columns was found that tells {len(code)} classes apart; raise length.")
    return best


def _driven_apart(code: Code) -> Code:
    """Flip the entry that most lowers the sum of e^(aA) over pairs of rows and of cosh(bC) over pairs of columns, until none does.

    A and C are the agreements of two rows and of two columns; close pairs are most of such a sum, and opposite columns are as bad as equal
    ones. Flipping M_ij changes A_il by -2 M_ij M_lj, and so e^(aA_il) by the factor cosh 2a - M_ij M_lj sinh 2a: products of matrices tell
    what each flip does.
    """
    M = code.astype(np.float64)
    K, length = M.shape
    a, b = OF_ROWS / np.sqrt(length), OF_COLUMNS / np.sqrt(K)
    for _ in range(M.size):
        rows, C = np.exp(a * (M @ M.T)), M.T @ M
        np.fill_diagonal(rows, 0.0)
        np.fill_diagonal(C, 0.0)
        even, odd = np.cosh(b * C), np.sinh(b * C)
        of_rows = (np.cosh(2 * a) - 1) * rows.sum(axis=1)[:, None] - np.sinh(2 * a) * M * (rows @ M)
        of_columns = (np.cosh(2 * b) - 1) * even.sum(axis=1) - np.sinh(2 * b) * M * (M @ odd)
        change = of_rows / K + SHARE_OF_COLUMNS * of_columns / length
        entry = np.unravel_index(change.argmin(), change.shape)
        if change[entry] >= 0:
            break
        M[entry] *= -1
    return M.astype(np.int8)
