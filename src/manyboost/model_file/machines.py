"""Support vector machines in a model file.

Of a linear machine the variables of the training rows (``dual_coef_``) are not stored: there is one for each row and class, and the weights
say all that is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Format, Layout, Manifest, Shapes
from manyboost.model_file.names import build, stored_parameters, with_attributes
from manyboost.model_file.values import MAX_SCORE, positive, read_classes, read_names, table_facts, text_of, whole
from manyboost.svm import LinearMulticlassSVC, MulticlassSVC

FACTS = frozenset(
    {"class_type", "classes", "dual_objective", "feature_names", "n_iter", "objective", "parameters", "seed", "stop_reason", "temperature"}
)
LINEAR_ARRAYS: Shapes = {
    "weights": ("<f8", ("classes", "features")),
    "intercepts": ("<f8", ("classes",)),
}
KERNEL_ARRAYS: Shapes = {
    "support": ("<i8", ("support",)),  # numbers of training rows
    "keys": ("<u8", ("support",)),  # of what is in them
    "dual_coef": ("<f8", ("support", "classes")),
    "dense": ("<f8", ("dense", "features")),  # the rows themselves; none where the kernel was given as such, or
    "row_sizes": ("<i4", ("sparse",)),  # where they are sparse: then so many entries in each,
    "entry_columns": ("<i4", ("entries",)),  # the column of each, rising within a row,
    "entries": ("<f8", ("entries",)),  # and its value
}


def _write(model: Any) -> dict[str, Any]:
    """The facts of either machine."""
    bound = getattr(model, "dual_objective_", None)
    return {
        "parameters": stored_parameters(model),
        **table_facts(model),
        "temperature": float(model.temperature_),
        "seed": int(model._seed),
        "n_iter": int(model.n_iter_),
        "stop_reason": str(model.stop_reason_),
        "objective": float(model.objective_),
        "dual_objective": None if bound is None else float(bound),
    }


def _read(kind: type, manifest: Manifest, of_kind: Callable[[Any, NDArray[Any]], Mapping[str, Any]], has_bound: bool) -> Any:
    """The machine, with the attributes that ``of_kind`` makes for it and its classes."""
    model, classes, n_features = build(kind, manifest["parameters"]), read_classes(manifest), manifest["sizes"]["features"]
    require(n_features > 0, "there is no column")
    objective, bound = manifest["objective"], manifest["dual_objective"]
    require(type(objective) is float and (bound is None or type(bound) is float), "the objective is not a number")
    require((bound is None) != has_bound, "the bound of the objective is missing, or there is one")
    attributes = {
        "classes_": classes,
        "n_features_in_": n_features,
        **read_names(manifest, n_features),
        "temperature_": positive(manifest["temperature"], "the temperature"),
        "_seed": whole(manifest["seed"], 0, 2**31 - 1, "the seed"),
        "n_iter_": whole(manifest["n_iter"], 0, 2**63 - 1, "n_iter"),
        "stop_reason_": text_of(manifest["stop_reason"], "stop_reason"),
        "objective_": objective,
        **({} if bound is None else {"dual_objective_": bound, "duality_gap_": objective - bound}),
        **of_kind(model, classes),
    }
    return with_attributes(model, attributes)


def _small(*arrays: NDArray[Any]) -> bool:
    return all(bool((np.abs(array) < MAX_SCORE).all()) for array in arrays)  # NaN is not


# ---- linear ----------------------------------------------------------------------------------------------------------------------------


def _read_linear(manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> LinearMulticlassSVC:
    weights, intercepts = arrays["weights"], arrays["intercepts"]
    require(_small(weights, intercepts), "a weight is not a number")
    parameters = manifest["parameters"]
    by_descent = isinstance(parameters, dict) and parameters.get("solver") == "sgd"
    found = _read(
        LinearMulticlassSVC, manifest, lambda model, classes: {"_weights": weights, "_intercepts": intercepts}, has_bound=not by_descent
    )
    return found  # type: ignore[no-any-return]


OF_LINEAR_MACHINES = Format(
    Layout(FACTS, LINEAR_ARRAYS),
    takes=lambda model: type(model) is LinearMulticlassSVC,
    write=lambda model: (_write(model), {"weights": model._weights, "intercepts": model._intercepts}),
    read=_read_linear,
)

# ---- kernels ---------------------------------------------------------------------------------------------------------------------------


def _write_kernel(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    vectors, p = model.support_vectors_, model.n_features_in_
    scattered = vectors if sparse.issparse(vectors) else sparse.csr_array((0, p))
    arrays = {
        "support": model.support_,
        "keys": model._keys,
        "dual_coef": model.dual_coef_,
        "dense": np.empty((0, p)) if sparse.issparse(vectors) or model._precomputed else vectors,
        "row_sizes": np.diff(scattered.indptr),
        "entry_columns": scattered.indices,
        "entries": scattered.data,
    }
    return {**_write(model), "gamma": float(model._gamma)}, arrays


def _read_kernel(manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> MulticlassSVC:
    support, keys, dual_coef, dense = (arrays[name] for name in ("support", "keys", "dual_coef", "dense"))
    n, n_features = len(support), manifest["sizes"]["features"]
    require(((np.diff(support, prepend=-1) > 0) & (support < 2**40)).all(), "the support vectors are not numbered by rising numbers")
    require(len(np.unique(keys)) == n, "two support vectors are the same")
    require(_small(dual_coef, dense) and dual_coef.any(axis=1).all(), "a support vector has a bad coefficient or value")

    def of_kind(model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        scattered = _read_sparse(arrays, n_features)
        if model._precomputed:
            require((support < n_features).all() and not len(dense) and not scattered.shape[0], "a kernel as such has support vectors")
            vectors = np.empty((0, 0))
        else:
            require(sorted((len(dense), scattered.shape[0])) == [0, n], "the support vectors are not as many as their coefficients")
            vectors = dense if scattered.shape[0] < n or not n else scattered
        return {
            "support_": support.astype(np.intp),
            "support_vectors_": vectors,
            "dual_coef_": dual_coef,
            "n_support_": np.bincount(dual_coef.argmax(axis=1), minlength=len(classes)),
            "_keys": keys,
            "_gamma": positive(manifest["gamma"], "gamma"),
            "_constant": model._constant_wanted(),
        }

    given = manifest["parameters"]
    if isinstance(given, dict) and "fit_intercept" not in given:  # the parameter is younger than the first of these files
        manifest = {**manifest, "parameters": {**given, "fit_intercept": False}}
    return _read(MulticlassSVC, manifest, of_kind, has_bound=True)  # type: ignore[no-any-return]


def _read_sparse(arrays: Arrays, n_features: int) -> Any:
    sizes, columns, entries = arrays["row_sizes"].astype(np.int64), arrays["entry_columns"], arrays["entries"]
    require((sizes >= 0).all() and sizes.sum() == len(entries), "the rows do not have the entries that there are")
    start = np.concatenate([[0], np.cumsum(sizes)])
    rises = np.diff(columns, prepend=-1) > 0
    rises[start[:-1][sizes > 0]] = True
    require(((columns >= 0) & (columns < n_features) & rises).all(), "the entries of a row are not in rising columns")
    require(_small(entries), "an entry is not a number")
    return sparse.csr_array((entries, columns, start.astype(np.int32)), shape=(len(sizes), n_features))


OF_KERNEL_MACHINES = Format(
    Layout(FACTS | {"gamma"}, KERNEL_ARRAYS),
    takes=lambda model: type(model) is MulticlassSVC,
    write=_write_kernel,
    read=_read_kernel,
    worked_out=lambda model: [model.n_support_],
)
