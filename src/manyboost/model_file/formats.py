"""All kinds of model files, by their version: from any model of this library to bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyboost.model_file.blends import OF_BLENDS
from manyboost.model_file.committees import OF_COMMITTEES
from manyboost.model_file.container import digest_of, packed, require, unpacked
from manyboost.model_file.layout import Format, read_parts
from manyboost.model_file.learners import OF_C45_TREES, OF_NAIVE_BAYES
from manyboost.model_file.machines import OF_KERNEL_MACHINES, OF_LINEAR_MACHINES
from manyboost.model_file.names import name_of
from manyboost.model_file.reductions import OF_OUTPUT_CODES, OF_REDUCTIONS
from manyboost.model_file.similarities import OF_SIMILARITIES
from manyboost.model_file.trees import OF_TREES
from manyboost.model_file.values import read_classes, read_manifest, write_manifest

FORMATS: dict[int, Format] = {
    1: OF_TREES.format,
    2: OF_SIMILARITIES.format,
    3: OF_BLENDS,
    4: OF_COMMITTEES.format,
    5: OF_C45_TREES,
    6: OF_NAIVE_BAYES,
    7: OF_LINEAR_MACHINES,
    8: OF_KERNEL_MACHINES,
    9: OF_REDUCTIONS,
    10: OF_OUTPUT_CODES,
}
LATEST = max(FORMATS)
MAX_NESTING = 4  # of models in models


def to_bytes(model: Any) -> bytes:
    """The file of a fitted model."""
    version, format_ = _format_of(model)
    manifest, arrays = format_.write(model)
    parts = [b"" if part is None else to_bytes(part) for part in format_.parts(model)]
    if format_.layout.arrays:
        manifest["sizes"] = format_.layout.sizes_of(arrays)
    if format_.layout.nests:
        manifest["lengths"] = [len(part) for part in parts]
    return packed(version, write_manifest(manifest), [*format_.layout.bytes_of(arrays), *parts])


def from_bytes(data: bytes, digest: str | None = None, depth: int = 0) -> Any:
    """The model of a file, all of which is checked before anything is built from it."""
    require(depth <= MAX_NESTING, f"models stand in models more than {MAX_NESTING} deep")
    version, text, body = unpacked(data, LATEST)
    found = digest_of(data)
    require(digest is None or digest.lower() == found, f"this is another model: its digest is {found}, and {digest} was asked for")
    format_ = FORMATS[version]
    manifest = read_manifest(text, format_.layout.keys)
    parts: list[bytes] = []
    if "classes" in manifest:
        read_classes(manifest)  # there are as many as the arrays are told
    if format_.layout.nests:
        body, parts = read_parts(manifest, body)
    arrays = format_.layout.read_arrays(manifest, body)
    models = [from_bytes(part, depth=depth + 1) if part else None for part in parts]
    return format_.read(manifest, arrays, models)


def worked_out(model: Any) -> list[NDArray[Any]]:
    """What is not stored of a model because it follows from the rest."""
    _, format_ = _format_of(model)
    of_parts = (worked_out(part) for part in format_.parts(model) if part is not None)
    return [*format_.worked_out(model), *(array for arrays in of_parts for array in arrays)]


def comes_back(model: Any, data: bytes, again: Any) -> bool:
    """Is the model that was read from its file the same?"""
    pairs = zip(worked_out(model), worked_out(again), strict=True)
    return to_bytes(again) == data and all(np.array_equal(mine, its, equal_nan=mine.dtype.kind == "f") for mine, its in pairs)


def _format_of(model: Any) -> tuple[int, Format]:
    name_of(model)  # or it cannot be saved
    check_is_fitted(model)
    return next((version, format_) for version, format_ in FORMATS.items() if format_.takes(model))
