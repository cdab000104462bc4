"""Parameters as dataclass fields that know what values they allow and say so in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier

Check = Callable[[Any], str | None]
LARGEST = 2**63 - 1  # whole number that a kernel can be told


def _parameter(default: Any, check: Check, positional: bool = False) -> Any:
    return field(default=default, metadata={"check": check}, kw_only=not positional)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: Any) -> bool:
    """Is this a number, and finite as a float?"""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # of a whole number, which may have any length
        return False


def integer(default: int | None, *, low: int, high: int | None = None, none: str | None = None) -> Any:
    """A whole number in [low, high]; ``none`` says what None means, where it is allowed."""
    or_none = f", or None ({none})" if none else ""
    wanted = f"a whole number {f'of at least {low}' if high is None else f'between {low} and {high}'}{or_none}"

    def check(value: Any) -> str | None:
        if high is None and _is_integer(value) and value > LARGEST:
            return f"a whole number between {low} and 2**63 - 1{or_none}"
        fine = (none and value is None) or (_is_integer(value) and low <= value and (high is None or value <= high))
        return None if fine else wanted

    return _parameter(default, check)


def number(
    default: float | None, *, low: float, high: float = np.inf, open_low: bool = False, open_high: bool = False, none: str | None = None
) -> Any:
    """A finite number between two bounds; ``none`` says what None means, where it is allowed."""
    wanted = f"a {'' if np.isfinite(high) else 'finite '}number {'above' if open_low else 'of at least'} {low:g}"
    if np.isfinite(high):
        wanted += f" and {'below' if open_high else 'at most'} {high:g}"
    wanted += f", or None ({none})" if none else ""

    def check(value: Any) -> str | None:
        fine = is_number(value) and (low < value or (not open_low and value == low)) and (value < high or (not open_high and value == high))
        return None if fine or (none and value is None) else wanted

    return _parameter(default, check)


def count_or_fraction(default: int | float, *, low: int) -> Any:
    """A count of rows, or a fraction of them in (0, 1)."""
    rest = "(rows) or a fraction between 0 and 1 (of the rows a tree is grown on)"
    wanted = f"a whole number of at least {low} {rest}"

    def check(value: Any) -> str | None:
        if _is_integer(value) and value > LARGEST:
            return f"a whole number between {low} and 2**63 - 1 {rest}"
        fine = (_is_integer(value) and value >= low) or (is_number(value) and not _is_integer(value) and 0 < value < 1)
        return None if fine else wanted

    return _parameter(default, check)


def choice(default: Any, *options: Any) -> Any:
    """One of a few values."""
    wanted = "one of " + ", ".join(repr(option) for option in options)

    def check(value: Any) -> str | None:
        return None if any(value is option or (type(value) is type(option) and value == option) for option in options) else wanted

    return _parameter(default, check)


def flag(default: bool) -> Any:
    """True or False."""
    return _parameter(default, lambda value: None if isinstance(value, (bool, np.bool_)) else "True or False")


def anything(default: Any) -> Any:
    """A value that is checked where it is used."""
    return _parameter(default, lambda value: None)


def checked(default: Any, wanted: str, fine: Callable[[Any], bool], *, positional: bool = False) -> Any:
    """A value of a kind of its own: ``fine`` tells whether it is, ``wanted`` says what is. A ``positional`` one may be nameless."""
    return _parameter(default, lambda value: None if fine(value) else wanted, positional)


def way_of_sampling(default: str) -> Any:
    """How the rows of a member are drawn: by name, or by a sampler of imbalanced-learn."""
    names = ("uniform", "weight", "under", "smote")

    def fine(value: Any) -> bool:
        return value in names if isinstance(value, str) else is_sampler(value)

    return checked(default, f"one of {', '.join(map(repr, names))}, or a sampler with fit_resample", fine)


def is_sampler(value: Any) -> bool:
    return hasattr(value, "fit_resample") and hasattr(value, "get_params") and not isinstance(value, type)


def is_choice_of_columns(value: Any) -> bool:
    return value is None or isinstance(value, (list, tuple, np.ndarray)) or (isinstance(value, str) and value == "from_dtype")


def is_class_weight(value: Any) -> bool:
    return value is None or isinstance(value, Mapping) or (isinstance(value, str) and value == "balanced")


def is_learner(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return False
    return bool(getattr(value, "says_numbers", False) or is_classifier(value))


def is_list_of_callables(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and all(callable(item) for item in value))


def is_number_of_jobs(value: Any) -> bool:
    return value is None or (_is_integer(value) and value != 0)


def is_random_state(value: Any) -> bool:
    if _is_integer(value):
        return bool(0 <= value < 2**32)
    return value is None or isinstance(value, np.random.RandomState) or value is np.random


def check_parameters(estimator: Any) -> None:
    """Raise an error that names the first parameter with a value it does not allow, the value, and what is allowed."""
    for parameter in fields(estimator):
        check = parameter.metadata.get("check")
        value = getattr(estimator, parameter.name)
        wanted = check(value) if check is not None else None
        if wanted is not None:
            default = "" if parameter.default is MISSING else f" (the default is {parameter.default!r})"
            kind = ValueError if isinstance(value, (Real, str)) or value is None else TypeError
            raise kind(f"{type(estimator).__name__}: {parameter.name}={value!r} is not allowed; give {wanted}{default}.")
