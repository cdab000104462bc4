"""Code matrices of output codes: a row for each class, a column for each binary problem, entries -1, 0 (the class is left out) and 1."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Code = NDArray[np.int8]
MAX_CLASSES_EXHAUSTIVE = 7
POOL = 4096  # where there are no more columns than this, all are listed and some are drawn from the list
N_DRAWS = 10_000
N_FLIPS = 4_000


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


def row_distance(code: Code) -> float:
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
    if not np.isin(code, (-1, 0, 1)).all():
        return "has an entry that is not -1, 0 or 1"
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
    pool = (_all_sparse(K) if zeros else _all_dense(K)) if n_columns <= POOL else None
    best, reached = None, (-1.0, -1.0)
    for _ in range(N_DRAWS if pool is None else N_DRAWS // 10):
        if pool is not None:
            code = pool[:, rng.choice(pool.shape[1], length, replace=False)]
        elif zeros:
            code = rng.choice(np.array([-1, 0, 0, 1], np.int8), (K, length))
        else:
            code = rng.choice(np.array([-1, 1], np.int8), (K, length))
        distance = row_distance(code)
        better = distance > reached[0] or (distance == reached[0] and column_distance(code) > reached[1])
        if better and fault_of(code) is None:
            best, reached = code, (distance, column_distance(code))
    if best is None:
        raise ValueError(f"no code of {length} columns tells {K} classes apart; raise length.")
    return best


def max_distance(K: int, length: int | None, rng: np.random.Generator) -> Code:
    """A dense code improved by flipping bits of the closest rows, as long as the least row and column distances do not fall."""
    code = random_code(K, length, False, rng)
    if code.shape[1] == 2 ** (K - 1) - 1:
        return code
    reached = (row_distance(code), column_distance(code))
    for _ in range(N_FLIPS):
        agreement = code.astype(np.int64) @ code.T.astype(np.int64) - 2 * code.shape[1] * np.eye(K, dtype=np.int64)
        pair = np.unravel_index(agreement.argmax(), agreement.shape)
        row = pair[rng.integers(2)]
        equal = np.flatnonzero(code[pair[0]] == code[pair[1]])
        other = code.copy()
        other[row, rng.choice(equal)] *= -1
        now = (row_distance(other), column_distance(other))
        if now >= reached and now[1] > 0 and fault_of(other) is None:
            code, reached = other, now
    return code
