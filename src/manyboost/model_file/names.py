"""The classes that a model file may name, and their parameters. A name is looked up here; nothing is ever imported by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Any

from numpy.typing import NDArray

from manyboost.algorithms import ALGORITHMS
from manyboost.blend import ManyBoostClassifier
from manyboost.labels import read_costs
from manyboost.learners import C45Tree, LocalizedSimilarity, NaiveBayes
from manyboost.model_file.container import BadModelFile, require
from manyboost.model_file.values import read_parameters, stored
from manyboost.parameters import check_parameters
from manyboost.reductions import OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier
from manyboost.svm import LinearMulticlassSVC, MulticlassSVC

REDUCTIONS = {"one_vs_all": OneVsAllClassifier, "one_vs_one": OneVsOneClassifier, "output_code": OutputCodeClassifier}
MODELS: Mapping[str, type] = {
    **ALGORITHMS,
    **REDUCTIONS,
    "manyboost": ManyBoostClassifier,
    "c45_tree": C45Tree,
    "naive_bayes": NaiveBayes,
    "linear_svc": LinearMulticlassSVC,
    "svc": MulticlassSVC,
}
ESTIMATORS: Mapping[str, type] = {**MODELS, "localized_similarity": LocalizedSimilarity}  # of these the last is no model by itself
HOW_TO_RUN = {"callbacks", "n_jobs", "verbose", "warm_start"}


def name_of(model: Any, known: Mapping[str, type] = MODELS) -> str:
    """The name of a model's class."""
    for name, kind in known.items():
        if kind is type(model):
            return name
    shown = ", ".join(sorted(kind.__name__ for kind in known.values()))
    raise TypeError(
        f"a {type(model).__name__} cannot be saved as a model file, which holds models of this library as plain numbers; use skops.io or "
        f"joblib, and load such files only from where you trust. These can be saved: {shown}."
    )


def stored_parameters(model: Any, but: Collection[str] = ()) -> dict[str, Any]:
    """What was set, as plain data; an estimator is its name and what was set of it."""
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in HOW_TO_RUN and name not in but}
    if hasattr(model, "cost_matrix_"):
        given["cost_matrix"] = model.cost_matrix_  # a data frame is no plain data
    if "random_state" in given and not isinstance(given["random_state"], Integral):
        given["random_state"] = None  # what was drawn from it is stored by itself
    return {
        name: _described(value) if name == "estimator" and value is not None else stored(value, f"the parameter {name}")
        for name, value in given.items()
    }


def _described(estimator: Any) -> dict[str, Any]:
    return {"name": name_of(estimator, ESTIMATORS), "parameters": stored_parameters(estimator)}


def build(kind: type, parameters: Any, but: Collection[str] = ()) -> Any:
    """An estimator with the parameters of a file, all of which are allowed."""
    known = set(kind._get_param_names()) - HOW_TO_RUN - set(but)  # type: ignore[attr-defined]
    require(isinstance(parameters, dict), "the parameters are no object")
    given = dict(parameters)
    estimator = _read_estimator(given.pop("estimator", None)) if "estimator" in known else None
    values = read_parameters(given, known)
    model = kind(**values) if estimator is None else kind(estimator=estimator, **values)
    return checked_parameters(model)


def _read_estimator(described: Any) -> Any:
    if described is None:
        return None
    require(isinstance(described, dict) and described.keys() == {"name", "parameters"}, "an estimator is not described as it must be")
    name = described["name"]
    require(isinstance(name, str) and name in ESTIMATORS, "it has an estimator that this ManyBoost does not have")
    return build(ESTIMATORS[name], described["parameters"])


def checked_parameters(model: Any) -> Any:
    """The estimator, if all of its parameters are allowed."""
    try:
        check_parameters(model)
    except (TypeError, ValueError) as error:
        raise BadModelFile(f"a parameter is not allowed: {str(error)[:500]}") from None
    return model


def costs_of(model: Any, classes: NDArray[Any]) -> Any:
    """The cost matrix that is among the parameters."""
    try:
        return read_costs(model.cost_matrix, classes)
    except (TypeError, ValueError) as error:
        raise BadModelFile(f"a parameter is not allowed: {str(error)[:500]}") from None


def with_attributes(model: Any, attributes: Mapping[str, Any]) -> Any:
    for name, value in attributes.items():
        setattr(model, name, value)
    return model
