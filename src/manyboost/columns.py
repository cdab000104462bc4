"""The user's table as numbers: arrays, sparse matrices and data frames in, one numeric matrix out.

Categories become the numbers 0, 1, 2, ...; missing ones become NaN. Numeric input is passed on as it is, in its own type and without a
copy.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_array, validate_data

from manyboost.trees.exact_sums import fine_exponent, on_fine_grid

MAX_CATEGORIES = 255
# What a column holds, by the first letters of the name of its type: pandas, polars and arrow have many types and few words for them.
_CATEGORIES = ("category", "categorical", "enum", "object", "str", "string", "large_string", "bool", "boolean", "dictionary")
_NUMBERS = "iuf"  # kinds of arrays
_TIMES = ("datetime", "date", "timestamp", "time", "timedelta", "duration", "period")


@dataclass(frozen=True)
class Columns:
    """What was learnt about the columns: for each its categories, or None where it is numeric."""

    categories: tuple[tuple[Any, ...] | None, ...]

    @property
    def n_categories(self) -> NDArray[np.int32]:
        return np.array([0 if known is None else max(len(known), 1) for known in self.categories], np.int32)

    def decoded(self, numbers: NDArray[np.float64]) -> list[tuple[Any, ...]]:
        """Rows as they were given: categories by name, and None where one is missing."""

        def value(number: float, known: tuple[Any, ...] | None) -> Any:
            if known is None:
                return number
            return None if np.isnan(number) else known[int(number)]

        return [tuple(value(float(number), known) for number, known in zip(row, self.categories, strict=True)) for row in numbers]


@dataclass(frozen=True)
class GivenTable:
    """A table as the user gave it, of the right shape. It is read when it is known which rows count, and that needs its shape.

    Attributes
    ----------
    shape : (n, p)
    read : the table as a numeric array or CSR matrix, and what is known of its columns, from the weights of the rows. A category that
        only rows of weight zero have is none: it is not learnt, and nothing is said about it
    """

    shape: tuple[int, int]
    read: Callable[[NDArray[np.float64]], tuple[Any, Columns]]


class TakesTables:
    """Tells scikit-learn of an estimator that reads its rows by :func:`read_columns` what may be in them."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def feature_names(estimator: Any) -> list[str]:
    """The names of the columns that an estimator was fitted to, or x0, x1, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def dense_rows(numeric: Any) -> NDArray[np.float64]:
    """A few rows of what :func:`read_columns` made."""
    return np.asarray(numeric.toarray() if sparse.issparse(numeric) else numeric, np.float64)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, np.ndarray)


def _frame_columns(X: Any) -> list[Any]:
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column named {twice!r}; rename them so that each name is used once.")
    return [X[name] for name in names]


def _type_name(column: Any) -> str:
    found = re.match("[a-z_]+", str(column.dtype).lower())
    return found.group() if found else ""


def _missing(column: Any, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a column has no value: None, NaN, NaT or pandas.NA."""
    for name in ("isna", "is_null"):
        if hasattr(column, name):
            missing = np.array(getattr(column, name)(), dtype=bool)
            return missing | np.isnan(values) if values.dtype.kind == "f" else missing
    if values.dtype.kind in _NUMBERS:
        return np.asarray(np.isnan(values))
    return np.fromiter((is_missing(value) for value in column), bool, len(column))


def is_missing(value: Any) -> bool:
    """Is this None, NaN, NaT or pandas.NA?"""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA answers neither yes nor no
        return True


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _which_are_categorical(X: Any, asked: Any, n_features: int) -> NDArray[np.bool_]:
    """The categorical columns as a mask, from ``categorical_features``."""
    mask = np.zeros(n_features, bool)
    if asked is None:
        return mask
    if isinstance(asked, str):  # "from_dtype"
        return np.array([_type_name(column) in _CATEGORIES for column in _frame_columns(X)], bool) if _is_frame(X) else mask
    chosen = np.atleast_1d(np.asarray(asked))
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {n_features} columns, not {chosen.shape}."
            )
        return chosen
    if chosen.dtype.kind in "iu":
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= n_features):
            raise ValueError(f"categorical_features={chosen.tolist()} must be column numbers from 0 to {n_features - 1}.")
        mask[chosen] = True
        return mask
    names = list(X.columns) if _is_frame(X) else []
    for name in chosen.tolist():
        if name not in names:
            raise ValueError(f"categorical_features names {name!r}, which is no column of X; the columns are {names}.")
        mask[names.index(name)] = True
    return mask


def _distinct(column: Any, values: NDArray[Any], missing: NDArray[np.bool_], name: str) -> tuple[list[Any], NDArray[np.intp]]:
    """The values that occur in a column, and which of them each row has; whatever for rows without one."""
    try:
        if hasattr(column, "factorize"):  # pandas knows them without looking at every row
            number, found = column.factorize()
            return [_plain(value) for value in found], np.asarray(number, np.intp)
        if values.dtype.kind in _NUMBERS:
            found, number = np.unique(values, return_inverse=True)
            return found.tolist(), number
        plain = values.astype(object)
        plain[missing] = None
        at: dict[Any, int] = {}
        number = np.fromiter((at.setdefault(value, len(at)) for value in plain.tolist()), np.intp, len(values))
        return list(at), number
    except TypeError as error:
        raise TypeError(f"Column {name} holds values that cannot be categories: {error}.") from None


def _learn_categories(
    distinct: list[Any], number: NDArray[np.intp], weight: NDArray[np.float64], name: str, too_many_is_error: bool
) -> tuple[Any, ...]:
    """The values of rows of some weight, in order; of too many, those of most weight, and of equally heavy ones the first.

    ``number`` is of these rows alone, and so is ``weight``.
    """
    try:
        counts: dict[Any, int] = {}
        for at, count in zip(*np.unique(number, return_counts=True), strict=True):
            counts[distinct[at]] = counts.get(distinct[at], 0) + int(count)
        known = sorted(counts, key=lambda value: (str(type(value)), value))
    except TypeError as error:
        raise TypeError(f"Column {name} holds values that cannot be categories: {error}.") from None
    if len(known) <= MAX_CATEGORIES:
        return tuple(known)
    if too_many_is_error:
        raise ValueError(
            f"Column {name} has {len(known)} categories, and at most {MAX_CATEGORIES} can be told apart. Use handle_unknown='missing' to "
            f"keep the {MAX_CATEGORIES} most frequent, encode the column (for example with sklearn.preprocessing.TargetEncoder), or leave "
            "it out of categorical_features if it is a number."
        )
    total = np.zeros(len(distinct), np.int64)  # whole numbers, so that the order of the rows does not matter
    np.add.at(total, number, on_fine_grid(weight, fine_exponent(weight)))
    weight_of: dict[Any, int] = dict.fromkeys(known, 0)
    for at in np.flatnonzero(total):
        weight_of[distinct[at]] += int(total[at])
    frequent = set(sorted(known, key=lambda value: -weight_of[value])[:MAX_CATEGORIES])
    n_rare = sum(count for value, count in counts.items() if value not in frequent)
    warnings.warn(
        f"Column {name} has {len(known)} categories, and at most {MAX_CATEGORIES} can be told apart: the others, of {n_rare} rows, count "
        "as missing values.",
        UserWarning,
        stacklevel=2,
    )
    return tuple(value for value in known if value in frequent)


def _encode(
    distinct: list[Any], number: NDArray[np.intp], missing: NDArray[np.bool_], known: tuple[Any, ...], name: str,
    must_be_known: NDArray[np.bool_],
) -> NDArray[np.float64]:  # fmt: skip
    place = {value: float(at) for at, value in enumerate(known)}
    codes = np.array([*(place.get(value, -1.0) for value in distinct), np.nan])[np.where(missing, len(distinct), number)]
    unknown = codes < 0
    if unknown.any():
        refused = np.flatnonzero(unknown & must_be_known)
        if len(refused):
            value = distinct[number[refused[0]]]
            raise ValueError(
                f"Column {name} has the category {value!r}, which did not occur in training. "
                "Use handle_unknown='missing' to treat such categories as missing values."
            )
        codes[unknown] = np.nan
    return codes


def _encode_numbers(column: Any, values: NDArray[Any], name: str) -> NDArray[np.float64]:
    if _type_name(column) in _TIMES:
        raise TypeError(
            f"Column {name} holds dates or times ({column.dtype}). Give numbers made from them, such as the year, the weekday or seconds "
            "since some day, or name the column in categorical_features."
        )
    if values.dtype == object:
        values = np.where(_missing(column, values), np.nan, values)
    try:
        if values.dtype.kind not in _NUMBERS:
            values = check_array(values[:, None], dtype=np.float64, ensure_all_finite=False)[:, 0]
        with _huge_values():
            out = np.asarray(values, np.float64)
    except OverflowError:
        raise ValueError(f"Column {name} has a whole number that is too large for a float; divide the column by any number.") from None
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name} cannot be read as numbers: {error}. If it holds categories, name it in categorical_features."
        ) from None
    if np.isinf(out).any():
        with _huge_values():
            assert_all_finite(out, allow_nan=True, input_name=f"column {name}")  # says which
    return out


def _huge_values() -> np.errstate:
    """While scikit-learn looks for infinite values by a sum, which huge ones may overflow."""
    return np.errstate(over="ignore", invalid="ignore")


def read_columns(estimator: Any, X: Any, known: Columns | None, *, categorical_features: Any, handle_unknown: str) -> tuple[Any, Columns]:
    """``X`` as a numeric array or CSR matrix, of which all rows count; see :func:`given_table`."""
    table = given_table(estimator, X, known, categorical_features=categorical_features, handle_unknown=handle_unknown)
    return table.read(np.ones(table.shape[0]))


def given_table(estimator: Any, X: Any, known: Columns | None, *, categorical_features: Any, handle_unknown: str) -> GivenTable:
    """``X``, ready to be read; with ``known`` None the columns are then learnt, else they must be as they were."""
    try:
        return _given_table(estimator, X, known, categorical_features, handle_unknown)
    except OverflowError:
        raise ValueError("X has a whole number that is too large for a float; divide its column by any number.") from None


def _given_table(estimator: Any, X: Any, known: Columns | None, categorical_features: Any, handle_unknown: str) -> GivenTable:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if hasattr(X, "collect"):
        raise TypeError("X is a lazy frame; give X.collect().")
    if known is None:
        asks = categorical_features is not None and not isinstance(categorical_features, str)
    else:
        asks = any(categories is not None for categories in known.categories)
    if asks and sparse.issparse(X):
        raise ValueError("columns of categories need a dense X; give X.toarray(), or one-hot encode the categories.")
    if not (asks or _is_frame(X)):
        numeric = _read_numbers(estimator, X, known)
        return GivenTable(numeric.shape, lambda weight: (numeric, known or Columns((None,) * numeric.shape[1])))
    return _with_columns(estimator, X, known, categorical_features, handle_unknown == "error")


def _read_numbers(estimator: Any, X: Any, known: Columns | None) -> Any:
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(f"X holds dates or times ({X.dtype}). Give numbers made from them, such as the year or seconds since some day.")
    try:
        with _huge_values():
            numeric = validate_data(estimator, X, reset=known is None, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan")
        numeric = _no_wider_than_a_float(numeric)
    except (TypeError, ValueError) as error:
        _name_what_is_no_number(error)
        raise
    if sparse.issparse(numeric) and not numeric.has_canonical_format:
        numeric = numeric.copy()
        numeric.sum_duplicates()
    return numeric


def _no_wider_than_a_float(numeric: Any) -> Any:
    """Numbers that only numpy's long doubles or Python can hold as those that all of this library works with, which must be finite, too."""
    if numeric.dtype == object or numeric.dtype.itemsize > np.dtype(np.float64).itemsize:
        with _huge_values():
            numeric = numeric.astype(np.float64)
            assert_all_finite(numeric, allow_nan=True, input_name="X")
    return numeric


def _name_what_is_no_number(error: Exception) -> None:
    """scikit-learn's complaints about values, which leave out whose they are and what to do."""
    said = str(error)
    if "Complex data" in said:
        raise ValueError(
            "Complex data not supported: X holds complex numbers; give real and imaginary parts as columns of their own."
        ) from None
    if "arrays of bytes/strings" in said:
        said = "it is an array of strings"
    elif not ("could not convert string" in said or "argument must be" in said):
        return
    raise type(error)(
        f"X cannot be read as numbers: {said}; give numbers, or name the columns that hold categories in categorical_features."
    ) from None


def _with_columns(estimator: Any, X: Any, known: Columns | None, categorical_features: Any, unknown_is_error: bool) -> GivenTable:
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)
    columns = _frame_columns(X) if _is_frame(X) else []
    validate_data(estimator, X, reset=known is None, skip_check_array=True)
    if len(X.shape) != 2 or 0 in X.shape:
        check_array(np.asarray(X), dtype=None)  # raises scikit-learn's own messages for no rows, no columns, wrong dimensions
    n_features = X.shape[1]
    if known is None:
        mask = _which_are_categorical(X, categorical_features, n_features)
    else:
        mask = np.array([categories is not None for categories in known.categories], bool)
    return GivenTable(
        (X.shape[0], n_features), lambda weight: _read_each_column(estimator, X, columns, known, mask, unknown_is_error, weight)
    )


def _read_each_column(
    estimator: Any, X: Any, columns: list[Any], known: Columns | None, mask: NDArray[np.bool_], unknown_is_error: bool,
    weight: NDArray[np.float64],
) -> tuple[Any, Columns]:  # fmt: skip
    n_features, counts = X.shape[1], weight > 0
    must_be_known = counts & unknown_is_error
    if isinstance(X, np.ndarray) and X.dtype.kind in _NUMBERS:
        read = _read_small_whole_numbers(X, known, mask, counts, must_be_known)
        if read is not None:
            return read
    columns = columns or list(np.asarray(X).T)
    if _is_frame(X) and all(re.match("u?int|float", _type_name(column)) for column in columns) and not mask.any():
        try:
            with _huge_values():  # at once, in their own type
                numeric = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", estimator=estimator, input_name="X")
            numeric = _no_wider_than_a_float(numeric)
        except ValueError:
            for column, label in zip(columns, X.columns, strict=True):
                _encode_numbers(column, np.asarray(column), repr(label))  # says which column it is
            raise
        return numeric, known or Columns((None,) * n_features)
    names = [repr(name) for name in X.columns] if _is_frame(X) else [str(at) for at in range(n_features)]
    out = np.empty((X.shape[0], n_features), order="F")
    learnt: list[tuple[Any, ...] | None] = []
    for at, (column, name) in enumerate(zip(columns, names, strict=True)):
        if mask[at] and hasattr(column, "cat") and hasattr(column, "factorize"):  # pandas knows categories without their values
            values = np.empty(0, object)
        else:
            values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if not mask[at]:
            learnt.append(None)
            out[:, at] = _encode_numbers(column, values, name)
            continue
        missing = _missing(column, values)
        distinct, number = _distinct(column, values, missing, name)
        if known:
            categories = known.categories[at] or ()
        else:
            taught = counts & ~missing
            categories = _learn_categories(distinct, number[taught], weight[taught], name, unknown_is_error)
        learnt.append(categories)
        out[:, at] = _encode(distinct, number, missing, categories, name, must_be_known)
    return out, known or Columns(tuple(learnt))


def _read_small_whole_numbers(
    X: NDArray[Any], known: Columns | None, mask: NDArray[np.bool_], counts: NDArray[np.bool_], must_be_known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], Columns] | None:
    """An array whose categories are 0, 1, 2, ..., such as a booster hands on to its weak learners: all columns at once.

    None where categories are anything else or something is to be complained of, which is then done column by column.
    """
    out = np.array(X, np.float64, order="F")
    given = out[:, mask]
    missing = np.isnan(given)
    given[missing] = 0.0
    if np.isinf(out[:, ~mask]).any() or given.min(initial=0.0) < 0 or given.max(initial=0.0) >= MAX_CATEGORIES:
        return None
    number = given.astype(np.intp)
    if (number != given).any():
        return None
    number += MAX_CATEGORIES * np.arange(number.shape[1])
    which = np.flatnonzero(mask).tolist()
    if known is None:
        occurs = np.zeros((len(which), MAX_CATEGORIES), bool)
        occurs.ravel()[number[~missing & counts[:, None]]] = True
        values = np.arange(MAX_CATEGORIES, dtype=np.float64 if X.dtype.kind == "f" else np.int64)
        categories: list[tuple[Any, ...] | None] = [None] * len(mask)
        for at, row in zip(which, occurs, strict=True):
            categories[at] = tuple(values[row].tolist())
        known = Columns(tuple(categories))
    code = np.full((len(which), MAX_CATEGORIES), np.nan)
    for row, at in zip(code, which, strict=True):
        for place, value in enumerate(known.categories[at] or ()):
            if isinstance(value, int | float) and 0 <= value < MAX_CATEGORIES and value == int(value):
                row[int(value)] = place
    codes = code.ravel()[number]
    if (np.isnan(codes) & ~missing & must_be_known[:, None]).any():
        return None
    codes[missing] = np.nan
    out[:, mask] = codes
    return out, known
