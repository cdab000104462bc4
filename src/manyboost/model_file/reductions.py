"""Reductions to binary problems in a model file: the code, of output codes how reliable the columns are, and a file for each classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.code_matrices import one_vs_all, one_vs_one
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Format, Layout, Manifest, Shapes
from manyboost.model_file.names import REDUCTIONS, build, costs_of, name_of, stored_parameters, with_attributes
from manyboost.model_file.values import positive, read_classes, table_facts
from manyboost.reductions import OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier
from manyboost.reductions.coded import CodedClassifier

ARRAYS: Shapes = {
    "code": ("|i1", ("classes", "columns")),  # -1, 0 and 1
    "weight": ("<f8", ("columns",)),  # of the rows behind each column; the largest is 1
}
ARRAYS_OF_CODES: Shapes = {**ARRAYS, "reliability": ("<f8", ("classes", "columns"))}
FACTS = frozenset({"algorithm", "class_type", "classes", "column_distance", "parameters", "row_distance", "sharpness", "temperature"})


def _write(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parameters = stored_parameters(model, but={"code"})
    if hasattr(model, "code"):
        parameters["code"] = model.code if isinstance(model.code, str) else model.code_.tolist()
    facts = table_facts(model)
    del facts["feature_names"]  # are those of its classifiers
    manifest = {
        "algorithm": name_of(model, REDUCTIONS),
        "parameters": parameters,
        **facts,
        "row_distance": float(model.row_distance_),
        "column_distance": float(model.column_distance_),
        "temperature": float(model.temperature_),
        "sharpness": float(model.sharpness_),
    }
    reliability = {"reliability": model.reliability_} if isinstance(model, OutputCodeClassifier) else {}
    return manifest, {"code": model.code_, "weight": model._weight_of_columns, **reliability}


def _read(manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> CodedClassifier:
    name = manifest["algorithm"]
    require(isinstance(name, str) and name in REDUCTIONS, "it is of a reduction that this ManyBoost does not have")
    model, classes = build(REDUCTIONS[name], manifest["parameters"]), read_classes(manifest)
    code, weight = arrays["code"], arrays["weight"]
    K, c = code.shape
    require(len(models) == c > 0, "there is not one classifier for each column of the code")
    require((np.abs(code.astype(np.int16)) <= 1).all(), "the code has an entry that is not -1, 0 or 1")
    require(((code == 1).any(axis=0) & (code == -1).any(axis=0)).all(), "a column of the code has only one side")
    if isinstance(model, OneVsAllClassifier):
        require(c == (K if K > 2 else 1) and np.array_equal(code, one_vs_all(K)), "the code is not each class against the others")
    if isinstance(model, OneVsOneClassifier):
        require(c == K * (K - 1) // 2 and np.array_equal(code, one_vs_one(K)), "the code is not each pair of classes")
    require(((weight > 0) & (weight <= 1)).all(), "the weight of a column is not above 0 and at most 1")
    reliability = {}
    require(isinstance(model, OutputCodeClassifier) or "reliability" not in arrays, "only output codes have columns that are more reliable")
    if isinstance(model, OutputCodeClassifier):
        share = arrays.get("reliability", (code != 0).astype(np.float64))  # version 9 has none: columns are as good as each other
        require(((share > 0) == (code != 0)).all() and (share <= 1).all(), "the reliability of a column is not a share of a class it has")
        reliability = {"reliability_": share}
    distances = (manifest["row_distance"], manifest["column_distance"])
    fine = all(type(distance) is float and 0 <= distance <= most for distance, most in zip(distances, (c, K), strict=True))
    require(fine, "a distance of the code is none")
    first = models[0]
    require(all(one is not None and one.classes_.tolist() == [0, 1] for one in models), "a classifier is not of 0 and 1")
    require(len({_table_of(one) for one in models}) == 1, "its classifiers are of different tables")
    names = getattr(first, "feature_names_in_", None)
    attributes = {
        "n_features_in_": first.n_features_in_,
        **({} if names is None else {"feature_names_in_": names}),
        "classes_": classes,
        "cost_matrix_": costs_of(model, classes),
        "code_": code,
        "_weight_of_columns": weight,
        **reliability,
        "row_distance_": distances[0],
        "column_distance_": distances[1],
        "n_correctable_": max(0, int((distances[0] - 1) // 2)),
        "temperature_": positive(manifest["temperature"], "the temperature"),
        "sharpness_": positive(manifest["sharpness"], "the sharpness"),
        "estimators_": list(models),
    }
    return with_attributes(model, attributes)  # type: ignore[no-any-return]


def _table_of(model: Any) -> tuple[Any, ...]:
    return (model.n_features_in_, *getattr(model, "feature_names_in_", ()))


def _format(arrays: Shapes, takes: Callable[[Any], bool]) -> Format:
    return Format(
        layout=Layout(FACTS, arrays, nests=True),
        takes=takes,
        write=_write,
        read=_read,
        parts=lambda model: model.estimators_,
        worked_out=lambda model: [np.array(model.n_correctable_)],
    )


OF_REDUCTIONS = _format(ARRAYS, lambda model: isinstance(model, (OneVsAllClassifier, OneVsOneClassifier)))
OF_OUTPUT_CODES = _format(ARRAYS_OF_CODES, lambda model: isinstance(model, OutputCodeClassifier))
