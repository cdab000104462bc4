"""Blends in a model file: the files of their models, and the share of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.blend import ManyBoostClassifier
from manyboost.estimator import BoostingClassifier
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Format, Layout, Manifest
from manyboost.model_file.names import build, costs_of, stored_parameters, with_attributes
from manyboost.model_file.values import positive, text_of

MAX_MODELS = 1000


def _write(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    figures = (model.held_out_error_, model.held_out_log_loss_)
    return {
        "parameters": stored_parameters(model),
        "weights": model.weights_.tolist(),
        "sharpness": float(model.sharpness_),
        "description": model.description_,
        "held_out": [None if np.isnan(figure) else float(figure) for figure in figures],
    }, {}


def _read(manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> ManyBoostClassifier:
    require(1 <= len(models) <= MAX_MODELS, f"a blend does not have 1 to {MAX_MODELS} models")
    require(all(isinstance(model, BoostingClassifier) for model in models), "a blend is made of blends or of no models")
    weights, held_out = manifest["weights"], manifest["held_out"]
    require(isinstance(weights, list) and len(weights) == len(models), "there is not one weight for each model")
    require(all(type(weight) is float and 0 <= weight <= 1 for weight in weights), "a weight is not between 0 and 1")
    require(abs(math.fsum(weights) - 1) < 1e-9, "the weights do not add up to one")
    require(isinstance(held_out, list) and len(held_out) == 2, "there are not two figures of held-out rows")
    require(all(figure is None or (type(figure) is float and figure >= 0) for figure in held_out), "a figure of held-out rows is none")
    error, loss = (math.nan if figure is None else figure for figure in held_out)
    first = models[0]
    require(all(_same_task(first, other) for other in models[1:]), "its models are of different tables")
    model = build(ManyBoostClassifier, manifest["parameters"])
    names = getattr(first, "feature_names_in_", None)
    attributes = {
        "classes_": first.classes_,
        "cost_matrix_": costs_of(model, first.classes_),
        "n_features_in_": first.n_features_in_,
        **({} if names is None else {"feature_names_in_": names}),
        "models_": list(models),
        "weights_": np.array(weights),
        "sharpness_": positive(manifest["sharpness"], "the sharpness"),
        "description_": text_of(manifest["description"], "the description"),
        "held_out_error_": error,
        "held_out_log_loss_": loss,
    }
    return with_attributes(model, attributes)  # type: ignore[no-any-return]


def _same_task(model: Any, other: Any) -> bool:
    """Do two models know the same classes and columns?"""
    named = [list(getattr(one, "feature_names_in_", [])) for one in (model, other)]
    same_classes = model.classes_.dtype == other.classes_.dtype and np.array_equal(model.classes_, other.classes_)
    return same_classes and model._columns == other._columns and named[0] == named[1]


OF_BLENDS = Format(
    layout=Layout(frozenset({"description", "held_out", "parameters", "sharpness", "weights"}), {}, nests=True),
    takes=lambda model: isinstance(model, ManyBoostClassifier),
    write=_write,
    read=_read,
    parts=lambda model: model.models_,
)
