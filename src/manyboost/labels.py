"""The user's labels and weights as numbers: classes 0..K-1 and one finite weight per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from manyboost.columns import is_missing
from manyboost.trees.exact_sums import fine_exponent, on_fine_grid

Floats = NDArray[np.float64]
MAX_CLASSES = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Labels:
    """What ``fit`` was told about the rows.

    Attributes
    ----------
    y : (n,) classes 0..K-1, and -1 for rows without weight, which are to be left out
    weight : (n,) weights, at most one
    classes : (K,) the labels that some row of positive weight has, rising
    """

    y: NDArray[np.intp]
    weight: Floats
    classes: NDArray[Any]


def read_labels(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> Labels:
    """Labels and weights of the rows of ``X``, with the factors of ``class_weight`` in them."""
    y = _one_per_row(y, X.shape[0], "y")
    assert_all_finite(y, input_name="y")
    weight = read_weights(X, sample_weight)
    used = np.flatnonzero(weight)
    try:
        classes, labels = np.unique(y[used], return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise TypeError(f"y mixes labels that cannot be compared ({kinds}); give labels of one type.") from None
    check_classification_targets(y)
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y has {len(classes)} classes; at most {MAX_CLASSES} can be told apart. Is y a number to be predicted?")
    n_with_weight = len(classes)
    if class_weight is not None:
        weight[used] = _in_range(weight[used] * _class_factors(class_weight, classes, labels, weight[used])[labels])
        labels, used = labels[weight[used] > 0], np.flatnonzero(weight)
        present, labels = np.unique(labels, return_inverse=True)
        classes = classes[present]
    if len(classes) < 2 <= n_with_weight:
        left = f"only one class, {_shown(classes)}," if len(classes) else "no class"
        raise ValueError(
            f"class_weight={class_weight!r} leaves {left} of positive weight; give at least two classes of y a factor above 0."
        )
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes among the rows of positive weight; it has only one class, {_shown(classes)}.")
    encoded = np.full(len(y), -1, np.intp)
    encoded[used] = labels
    return Labels(encoded, weight, classes)


def read_weights(X: Any, sample_weight: Any, name: str = "sample_weight") -> Floats:
    """Non-negative weights, not all of them zero, of which the largest is between one half and one."""
    if np.ma.is_masked(sample_weight):
        at = int(np.flatnonzero(np.ma.getmaskarray(sample_weight))[0])
        raise ValueError(f"{name} is masked at row {at}; fill the mask, for example with 0 to leave its rows out.")
    try:
        weight = np.array(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}") from None
    except OverflowError:
        raise ValueError(f"{name} has a whole number that is too large for a float; give smaller ones, divided by any number.") from None
    if not weight.any():
        raise ValueError(f"{name} is zero for every row; give at least one row of each of two classes a positive weight.")
    return _in_range(weight)


def encode_labels(y: Any, classes: NDArray[Any], n_rows: int, name: str) -> NDArray[np.intp]:
    """Labels of further rows as 0..K-1; all must be known."""
    number = {label: k for k, label in enumerate(classes.tolist())}
    labels = _one_per_row(y, n_rows, name).tolist()
    for label in labels:
        if label not in number:
            raise ValueError(f"{name} has the label {label!r}, which does not occur in y; the classes are {_shown(classes)}.")
    return np.fromiter((number[label] for label in labels), np.intp, n_rows)


def _one_per_row(y: Any, n_rows: int, name: str) -> NDArray[Any]:
    if y is None:
        raise ValueError(f"A classifier requires y to be passed, but the target {name} is None.")
    if hasattr(y, "to_numpy") and not isinstance(getattr(y, "dtype", None), np.dtype):
        y = y.to_numpy()  # whole numbers of pandas that may be missing would become floats
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {n_rows} rows and {len(y)} labels in {name}.")
    labels: NDArray[Any] = np.asarray(y)
    if labels.dtype != object:
        return labels
    missing = next((at for at, label in enumerate(labels.tolist()) if is_missing(label)), None)
    if missing is not None:
        raise ValueError(f"Input {name} contains NaN or None: row {missing} has no label. Leave such rows out.")
    kinds = {type(label) for label in labels.tolist()}
    return np.array(labels.tolist()) if len(kinds) == 1 and kinds <= {bool, int, float} else labels


def _in_range(weight: Floats) -> Floats:
    """The weights times a power of two, which changes no model: totals of huge ones stay finite."""
    return np.asarray(np.ldexp(weight, -np.frexp(weight.max(initial=0.0))[1]))


def _class_factors(class_weight: Any, classes: NDArray[Any], labels: NDArray[np.intp], weight: Floats) -> Floats:
    """The factor of each class; "balanced" gives all classes the same weight in total."""
    if class_weight == "balanced":
        total = np.zeros(len(classes), np.int64)  # whole numbers, so that the order of the rows does not matter
        np.add.at(total, labels, on_fine_grid(weight, fine_exponent(weight)))
        return np.asarray(float(total.sum()) / (len(classes) * total.astype(np.float64)))
    factors = np.ones(len(classes))
    number = {label: k for k, label in enumerate(classes.tolist())}
    for label, factor in class_weight.items():
        if label not in number:
            raise ValueError(f"class_weight names {label!r}, which is no class of y; the classes are {_shown(classes)}.")
        if not isinstance(factor, Real) or not 0 <= _as_float(factor) < np.inf:
            raise ValueError(f"class_weight gives {label!r} the factor {factor!r}; give a finite number of at least 0.")
        factors[number[label]] = factor
    return _in_range(factors)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # of a whole number, which may have any length
        return np.inf


def _shown(classes: NDArray[Any], most: int = 20) -> str:
    return ", ".join(repr(label) for label in classes.tolist()[:most]) + (", ..." if len(classes) > most else "")


def read_costs(given: Any, classes: NDArray[Any]) -> Floats | None:
    """The cost of each decision (column) for each true class (row), (K, K), from an array, a dict or a data frame; None for None."""
    if given is None:
        return None
    K = len(classes)
    if isinstance(given, Mapping):
        costs = _costs_of_pairs(given, classes)
    else:
        if hasattr(given, "columns") and hasattr(given, "index"):
            given = _costs_of_frame(given, classes)
        try:
            costs = _real(given)
        except (TypeError, ValueError):
            raise TypeError(f"cost_matrix must be real numbers, a dict or a data frame of them, not {_kind(given)}.") from None
        except OverflowError:
            raise ValueError("cost_matrix has a whole number that is too large for a float; divide all costs by any number.") from None
    if costs.shape != (K, K):
        raise ValueError(f"cost_matrix has the shape {costs.shape}; with {K} classes it must be ({K}, {K}), true classes as rows.")
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError("cost_matrix has an entry that is negative, infinite or NaN; costs are finite numbers of at least 0.")
    if costs.diagonal().any():
        raise ValueError("cost_matrix has a cost on its diagonal; deciding for the true class must cost 0.")
    if not (costs.max(axis=1) > 0).all():
        label = classes.tolist()[int(np.argmin(costs.max(axis=1)))]
        raise ValueError(f"cost_matrix has no cost for the true class {label!r}; every class must cost something when it is missed.")
    return np.ascontiguousarray(costs)


def _real(given: Any) -> Floats:
    given = np.asarray(given)
    if given.dtype.kind == "c":  # numpy would leave out what is imaginary
        raise TypeError
    return np.array(given, np.float64)


def _kind(given: Any) -> str:
    dtype = getattr(given, "dtype", None)
    return type(given).__name__ if dtype is None else f"{type(given).__name__} of {dtype}"


def _costs_of_pairs(given: Mapping[Any, Any], classes: NDArray[Any]) -> Floats:
    number = {label: k for k, label in enumerate(classes.tolist())}
    costs = 1.0 - np.eye(len(classes))
    nested = {(true, decided): cost for true, row in given.items() if isinstance(row, Mapping) for decided, cost in row.items()}
    for pair, cost in (nested or given).items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] in number and pair[1] in number):
            raise ValueError(f"cost_matrix names {pair!r}; its keys are pairs (true class, decision) of the classes {_shown(classes)}.")
        if not isinstance(cost, Real):
            raise TypeError(f"cost_matrix gives {pair!r} the cost {cost!r}; give a number.")
        costs[number[pair[0]], number[pair[1]]] = _as_float(cost)
    return costs


def _costs_of_frame(given: Any, classes: NDArray[Any]) -> NDArray[Any]:
    labels = classes.tolist()
    for name, axis in (("index", given.index), ("columns", given.columns)):
        if sorted(map(repr, axis.tolist())) != sorted(map(repr, labels)):
            raise ValueError(
                f"cost_matrix has other labels in its {name} than y; each of the classes {_shown(classes)} must stand there once."
            )
    return np.asarray(given.loc[labels, labels])
