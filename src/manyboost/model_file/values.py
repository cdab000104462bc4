"""The manifest of a model file: parameters, labels and other values as JSON, and the proof that they are what they should be.

Nothing here trusts its input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import MAX_CATEGORIES, Columns
from manyboost.model_file.container import BadModelFile, require

CLASS_TYPES: dict[str, type] = {
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": float for bits in (16, 32, 64)},
    "str": str,
    "object": str,
}
MAX_CLASSES = 65535
MAX_DEPTH = 12
MAX_ITEMS = 2**18
MAX_LABEL_BYTES = 2**26  # numpy gives every label the room of the longest
MAX_SCORE = 1e100  # its square is finite, too
MAX_TEXT = 10_000
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it: numpy's scalars as Python's, all sequences and sets as lists, a dict as its sorted pairs."""
    if depth > MAX_DEPTH - 3:
        raise TypeError("it is nested too deeply")
    if isinstance(value, np.generic):
        value = value.item()
    elif hasattr(value, "tolist"):  # arrays, series and indexes
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise TypeError(f"it holds a text of {len(value)} characters, and at most {MAX_TEXT} are allowed")
        return str.__str__(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise TypeError("it holds a whole number of more than 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"it holds {value}, which is not finite")
        return float(value)
    if isinstance(value, dict):
        return {"pairs": _sorted([plain(key, depth + 3), plain(entry, depth + 3)] for key, entry in value.items())}
    if isinstance(value, (set, frozenset)):  # in an order that does not depend on the hashes of strings
        return _sorted(plain(entry, depth + 1) for entry in value)
    if isinstance(value, (list, tuple)):
        return [plain(entry, depth + 1) for entry in value]
    raise TypeError(f"it holds a {type(value).__name__}, which is no number, text, list or dict of these")


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=lambda value: json.dumps(value))


def from_plain(value: Any) -> Any:
    """The value that :func:`plain` was given, its sequences as lists."""
    if isinstance(value, dict):
        require(value.keys() == {"pairs"} and isinstance(value["pairs"], list), "a parameter holds an object that is no dict of ours")
        pairs = value["pairs"]
        good = (isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], (list, dict)) for pair in pairs)
        require(all(good), "a dict has a bad key")
        return {key: from_plain(entry) for key, entry in pairs}
    return [from_plain(entry) for entry in value] if isinstance(value, list) else value


def write_manifest(manifest: Mapping[str, Any]) -> bytes:
    """The one way to write these values."""
    return json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_manifest(text: bytes, keys: Collection[str]) -> dict[str, Any]:
    """The manifest, if it is written in the one way: so no key is there twice and no number is infinite."""
    # Depth and length are known before a parser sees it. What stands between quotes is left out: brackets in names do not count.
    outside = b"".join(text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    require(outside.count(b",") < MAX_ITEMS, f"the manifest has more than {MAX_ITEMS} items")
    brackets = np.frombuffer(outside.translate(None, delete=NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), np.int32(1), np.int32(-1))
    require(steps.cumsum().max(initial=0) <= MAX_DEPTH, "the manifest is nested too deeply")
    try:
        manifest = json.loads(text.decode())
        canonical = write_manifest(manifest) == text
    except (ValueError, RecursionError):
        raise BadModelFile("the manifest is not JSON in UTF-8 of finite numbers") from None
    require(canonical, "the manifest is not in its canonical form (keys sorted, each once, no spaces)")
    require(isinstance(manifest, dict) and manifest.keys() == set(keys), "the manifest does not have the keys it must have")
    return dict(manifest)


def whole(value: Any, low: int, high: int, name: str) -> int:
    require(type(value) is int and low <= value <= high, f"{name} is not a whole number from {low} to {high}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """A number above zero that can be multiplied with others."""
    require(type(value) is float and 0 < value < MAX_SCORE, f"{name} is not a positive number")
    return float(value)


def text_of(value: Any, name: str) -> str:
    require(type(value) is str and len(value) <= MAX_TEXT, f"{name} is not a text of at most {MAX_TEXT} characters")
    return str(value)


def read_parameters(stored: Any, known: set[str]) -> dict[str, Any]:
    """The parameters; one that is not there has its default, so that older files stay readable."""
    require(isinstance(stored, dict) and stored.keys() <= known, "there is a parameter that the algorithm does not have")
    values = {name: from_plain(value) for name, value in stored.items()}
    try:
        same = write_manifest({name: plain(value) for name, value in values.items()}) == write_manifest(stored)
    except TypeError as error:
        raise BadModelFile(f"a parameter cannot be: {error}") from None
    require(same, "a parameter is not in its canonical form")
    return values


def stored(value: Any, name: str) -> Any:
    """The value as :func:`plain` gives it; where it cannot be, the error says of what."""
    try:
        return plain(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be stored in a model file: {error}.") from None


def table_facts(model: Any) -> dict[str, Any]:
    """The labels and the names of the columns of a fitted model."""
    kind = model.classes_.dtype
    class_type = "str" if kind.kind == "U" else kind.name
    if class_type not in CLASS_TYPES:
        raise TypeError(f"classes_ cannot be stored in a model file: its type is {kind}.")
    names = getattr(model, "feature_names_in_", None)
    return {
        "classes": stored(model.classes_, "classes_"),
        "class_type": class_type,
        "feature_names": None if names is None else stored(names, "feature_names_in_"),
    }


def category_facts(columns: Columns) -> list[Any]:
    known = ((at, categories) for at, categories in enumerate(columns.categories) if categories is not None)
    return [[at, stored(categories, f"the categories of column {at}")] for at, categories in known]


def read_classes(manifest: Mapping[str, Any]) -> NDArray[Any]:
    """The class labels, in the type they had."""
    labels, name = manifest["classes"], manifest["class_type"]
    require(isinstance(name, str) and name in CLASS_TYPES, "the labels have an unknown type")
    kind = CLASS_TYPES[name]
    require(isinstance(labels, list) and 2 <= len(labels) <= MAX_CLASSES, f"there are not 2 to {MAX_CLASSES} classes")
    require(all(type(label) is kind for label in labels), f"a label is no {kind.__name__}")
    require(all(low < high for low, high in pairwise(labels)), "the labels do not rise")
    if kind is str:
        longest = max(len(text_of(label, "a label")) for label in labels)
        require(4 * longest * len(labels) <= MAX_LABEL_BYTES, "the labels are too long")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype=name)
    except OverflowError:
        raise BadModelFile(f"a label is no {name}") from None
    require(classes.tolist() == labels, f"a label is no {name}")  # too precise for the type, or a text that ends in NUL
    return classes


def read_columns(manifest: Mapping[str, Any], n_features: int) -> Columns:
    """The categories of each column."""
    stored = manifest["categories"]
    require(isinstance(stored, list), "the categories are no list")
    categories: list[tuple[Any, ...] | None] = [None] * n_features
    last = -1
    for entry in stored:
        require(isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list), "the categories of a column are no list")
        last = whole(entry[0], last + 1, n_features - 1, "the number of a column of categories")
        require(len(entry[1]) <= MAX_CATEGORIES, f"a column has more than {MAX_CATEGORIES} categories")
        for value in entry[1]:
            if type(value) is int:
                whole(value, -(2**63), 2**64 - 1, "a category")
            elif type(value) not in (bool, float):
                text_of(value, "a category")
        known = tuple(entry[1])
        require(len(set(known)) == len(known), "a column has a category twice")
        categories[last] = known
    return Columns(tuple(categories))


def read_names(manifest: Mapping[str, Any], n_features: int) -> dict[str, NDArray[Any]]:
    """The columns' names as an attribute, if they had any."""
    names = manifest["feature_names"]
    if names is None:
        return {}
    require(isinstance(names, list) and len(names) == n_features, "there is not one name for each column")
    return {"feature_names_in_": np.array([text_of(name, "the name of a column") for name in names], dtype=object)}
