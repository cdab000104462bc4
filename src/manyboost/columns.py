"""The user's table as numbers: arrays, sparse matrices and data frames in, one numeric matrix out.

Categories become the numbers 0, 1, 2, ...; missing ones become NaN. Numeric input is passed on as it is, in its own type and without a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

MAX_CATEGORIES = 255
_CATEGORICAL_DTYPES = ("category", "categorical", "enum", "object", "str", "string", "bool", "boolean")


@dataclass(frozen=True)
class Columns:
    """What was learnt about the columns: for each its categories, or None where it is numeric."""

    categories: tuple[tuple[Any, ...] | None, ...]

    @property
    def n_categories(self) -> NDArray[np.int32]:
        return np.array([0 if known is None else max(len(known), 1) for known in self.categories], np.int32)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, np.ndarray)


def _frame_columns(X: Any) -> list[Any]:
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column named {twice!r}; rename them so that each name is used once.")
    return [X[name] for name in names]


def _dtype_is_categorical(series: Any) -> bool:
    return str(series.dtype).lower().split("(")[0] in _CATEGORICAL_DTYPES


def _missing(column: Any) -> NDArray[np.bool_]:
    for name in ("isna", "is_null"):
        if hasattr(column, name):
            return np.asarray(getattr(column, name)(), dtype=bool)
    return np.fromiter((value is None or value != value for value in column), bool, len(column))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _which_are_categorical(X: Any, asked: Any, n_features: int) -> NDArray[np.bool_]:
    """The categorical columns as a mask, from ``categorical_features``."""
    mask = np.zeros(n_features, bool)
    if asked is None:
        return mask
    if isinstance(asked, str):
        if asked != "from_dtype":
            raise ValueError(
                f"categorical_features={asked!r} is not allowed; give 'from_dtype', None, a mask, or a list of column numbers or names."
            )
        return np.array([_dtype_is_categorical(series) for series in _frame_columns(X)], bool) if _is_frame(X) else mask
    chosen = np.atleast_1d(np.asarray(asked))
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise ValueError(f"categorical_features as a mask must have one entry for each of the {n_features} columns, not {chosen.shape}.")
        return chosen
    if chosen.dtype.kind in "iu":
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= n_features):
            raise ValueError(f"categorical_features={list(chosen)} must be column numbers from 0 to {n_features - 1}.")
        mask[chosen] = True
        return mask
    names = list(X.columns) if _is_frame(X) else []
    for name in chosen.tolist():
        if name not in names:
            raise ValueError(f"categorical_features names {name!r}, which is no column of X; the columns are {names}.")
        mask[names.index(name)] = True
    return mask


def _learn_categories(column: Any, values: NDArray[Any], missing: NDArray[np.bool_], name: str) -> tuple[Any, ...]:
    known = {_plain(value) for value in values[~missing].tolist()}
    if len(known) > MAX_CATEGORIES:
        raise ValueError(
            f"Column {name} has {len(known)} categories, and at most {MAX_CATEGORIES} can be told apart. Merge the rare ones, encode the "
            "column (for example with sklearn.preprocessing.TargetEncoder), or leave it out of categorical_features if it is a number."
        )
    return tuple(sorted(known, key=lambda value: (str(type(value)), value)))


def _encode(values: NDArray[Any], missing: NDArray[np.bool_], known: tuple[Any, ...], name: str, unknown_is_error: bool) -> NDArray[np.float64]:
    number = {value: float(at) for at, value in enumerate(known)}
    codes = np.fromiter((number.get(value, -1.0) for value in values.tolist()), float, len(values))
    codes[missing] = np.nan
    unknown = codes < 0
    if unknown.any():
        if unknown_is_error:
            value = values[np.flatnonzero(unknown)[0]]
            raise ValueError(
                f"Column {name} has the category {value!r}, which did not occur in training. "
                "Use handle_unknown='missing' to treat such categories as missing values."
            )
        codes[unknown] = np.nan
    return codes


def read_columns(
    estimator: Any, X: Any, known: Columns | None, *, categorical_features: Any, handle_unknown: str
) -> tuple[Any, Columns]:
    """``X`` as a numeric array or CSR matrix; with ``known`` None the columns are learnt, else they must be as they were."""
    learning = known is None
    if sparse.issparse(X) or not (_is_frame(X) or (not learning and any(c is not None for c in known.categories)) or _asks_by_number(categorical_features)):
        numeric = validate_data(
            estimator, X, reset=learning, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan", ensure_min_samples=1
        )
        if learning and _asks_by_number(categorical_features) and sparse.issparse(X):
            raise ValueError("categorical_features needs a dense X; give X.toarray(), or one-hot encode the categories.")
        return _sorted_csr(numeric), known or Columns((None,) * numeric.shape[1])
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)
    validate_data(estimator, X, reset=learning, skip_check_array=True)
    if len(X.shape) != 2 or 0 in X.shape:
        check_array(np.asarray(X), dtype=None)  # raises scikit-learn's own messages for no rows, no columns, wrong dimensions
    n_features = X.shape[1]
    if known is None:
        mask = _which_are_categorical(X, categorical_features, n_features)
    else:
        mask = np.array([c is not None for c in known.categories], bool)
    if _is_frame(X) and not mask.any():
        numeric = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", estimator=estimator)
        return numeric, known or Columns((None,) * n_features)
    columns = _frame_columns(X) if _is_frame(X) else list(np.asarray(X).T)
    names = [repr(name) for name in X.columns] if _is_frame(X) else [str(at) for at in range(n_features)]
    out = np.empty((X.shape[0], n_features), order="F")
    learnt: list[tuple[Any, ...] | None] = []
    for at, (column, name) in enumerate(zip(columns, names, strict=True)):
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if not mask[at]:
            learnt.append(None)
            out[:, at] = check_array(values[:, None], dtype=np.float64, ensure_all_finite="allow-nan", input_name=f"column {name}")[:, 0]
            continue
        missing = _missing(column)
        categories = _learn_categories(column, values, missing, name) if known is None else known.categories[at] or ()
        learnt.append(categories)
        out[:, at] = _encode(values, missing, categories, name, handle_unknown == "error")
    return out, known or Columns(tuple(learnt))


def _asks_by_number(categorical_features: Any) -> bool:
    return categorical_features is not None and not isinstance(categorical_features, str)


def _sorted_csr(X: Any) -> Any:
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X
