"""Save and load fitted models as data: no pickle, and no code that a file could name.

The format, version 1 for trees and version 2 for similarities. All numbers are little-endian.

    bytes   what
    8       magic: 89 4D 42 4F 4F 53 54 0A
    4       version of the format, unsigned
    4       length of the manifest, unsigned
    ...     manifest: JSON in UTF-8, keys sorted, no spaces, finite numbers; exactly the keys below
    ...     arrays, without gaps, in the order, types and shapes of :data:`manyboost.model_schema.ARRAYS` or, in version 2,
            of :data:`manyboost.model_schema.SIMILARITY_ARRAYS`
    32      SHA-256 of everything before it

    key               what
    algorithm         its name in :data:`manyboost.algorithms.ALGORITHMS`
    parameters        all but ``callbacks``, ``n_jobs``, ``verbose`` and ``warm_start``, which say how to run, not what was learnt. Arrays,
                      tuples and sets are lists, dicts are ``{"pairs": [[key, value], ...]}``; a random_state that is an object is null
    classes           the labels, rising
    class_type        numpy's name of their type; "object" are strings
    categories        ``[column, [category, ...]]`` of each column that holds categories
    feature_names     of the columns, or null
    temperature, seed, stop_reason
    sizes             how long the arrays are
    learner, metric   version 2 only: the parameters of :class:`~manyboost.learners.LocalizedSimilarity`, and the metric it used. The
                      examples are stored as they are, but not where they stood in the table, which is no part of what was learnt

Only what cannot be worked out is stored: thresholds follow from cuts and bins, the places of leaves from the order of the nodes. Times are
not stored. So two models that were learnt alike are the same bytes, and the digest names the model, not the machine or the day.

A file is checked as a whole before anything is built from it (:mod:`manyboost.model_schema`). A digest tells damage, not intent: whoever
can write the file can write a matching one, so keep the digest that :func:`save` returns elsewhere and give it to :func:`load`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import struct
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyboost.algorithms import ALGORITHMS
from manyboost.estimator import BoostingClassifier
from manyboost.labels import read_costs
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.similarities import Similarities
from manyboost.model_schema import (
    CLASS_TYPES,
    HISTORY,
    MAX_MANIFEST,
    OF_SIMILARITIES,
    OF_TREES,
    BadModelFile,
    Layout,
    check_scores,
    plain,
    read_arrays,
    read_binning,
    read_classes,
    read_columns,
    read_decoder,
    read_forest,
    read_history,
    read_manifest,
    read_parameters,
    read_prior,
    read_scalars,
    read_similarities,
    require,
    write_manifest,
)
from manyboost.parameters import check_parameters
from manyboost.trees.forest import Forest

__all__ = ["BadModelFile", "fingerprint", "load", "save"]
MAGIC = b"\x89MBOOST\n"
VERSION = 1
LAYOUTS = {1: OF_TREES, 2: OF_SIMILARITIES}
HEAD = struct.Struct("<8sII")
DIGEST = hashlib.sha256().digest_size
HOW_TO_RUN = {"callbacks", "n_jobs", "verbose", "warm_start"}


def save(model: BoostingClassifier, path: str | os.PathLike[str]) -> str:
    """Write a fitted model to a file, all of it or nothing.

    Parameters
    ----------
    model : a fitted classifier of this library
    path : where to; an existing file is replaced once the new one is safely on the disk

    Returns
    -------
    str
        The digest of the model (SHA-256, hexadecimal). Keep it apart from the file and give it to :func:`load`.

    Examples
    --------
    >>> import manyboost, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = manyboost.SAMMEClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest = manyboost.save(model, f"{folder}/iris.manyboost")
    ...     again = manyboost.load(f"{folder}/iris.manyboost", digest=digest)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    data = _to_bytes(model)
    _check_reads_back(model, data)
    _write(data, os.path.realpath(os.fspath(path)))
    return data[-DIGEST:].hex()


def load(path: str | os.PathLike[str], *, digest: str | None = None) -> BoostingClassifier:
    """Read a model that :func:`save` wrote; nothing but arrays is read, and no code is run.

    Parameters
    ----------
    path : the file
    digest : what :func:`save` returned; another model is then refused

    Returns
    -------
    BoostingClassifier
        The model: the same scores to the last bit. ``n_jobs``, ``verbose``, ``callbacks`` and ``warm_start`` have their defaults, and the
        seconds of its history are NaN.

    Raises
    ------
    BadModelFile
        The file is damaged, is no model of this library, is of a later version, or does not have the digest asked for.
    """
    name = os.fsdecode(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise BadModelFile(f"{name}: this is no regular file.")  # a pipe or device may have no end
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD.size)
            _check_head(head)  # before the rest is read, which may be long
            data = head + file.read()
        return _from_bytes(data, digest)
    except BadModelFile as error:
        raise BadModelFile(f"{name}: {error}.") from None
    except MemoryError:
        raise BadModelFile(f"{name}: it does not fit into memory.") from None


def fingerprint(model: BoostingClassifier) -> str:
    """The digest that :func:`save` would return: equal for models that were learnt alike, however many threads did it."""
    return _to_bytes(model)[-DIGEST:].hex()


# ---- from a model to bytes -----------------------------------------------------------------------------------------------------------


def _to_bytes(model: BoostingClassifier) -> bytes:
    name = next((name for name, algorithm in ALGORITHMS.items() if algorithm is type(model)), None)
    if name is None:
        known = ", ".join(sorted(algorithm.__name__ for algorithm in ALGORITHMS.values()))
        raise TypeError(f"a {type(model).__name__} cannot be saved as a model file; these can: {known}.")
    check_is_fitted(model)
    of_kind = {Forest: (1, _tree_arrays), Similarities: (2, _similarity_arrays)}
    if type(model.forest_) not in of_kind:
        raise TypeError(
            f"a model made of {type(model.estimator).__name__} cannot be saved as a model file, which holds our own trees as plain "
            "numbers; use skops.io or joblib, and load such files only from where you trust."
        )
    version, arrays_of = of_kind[type(model.forest_)]
    layout, arrays = LAYOUTS[version], arrays_of(model)
    arrays["class_prior"] = model.class_prior_
    arrays["decoder"] = np.empty((0, len(model.classes_))) if model._decoder is None else model._decoder
    arrays["history"] = np.column_stack([model.history_[name] for name in HISTORY])
    body = [np.ascontiguousarray(arrays[array], dtype=code).tobytes() for array, (code, _) in layout.arrays.items()]
    manifest = write_manifest({"algorithm": name, **_manifest(model), "sizes": _sizes(arrays, layout)})
    data = b"".join([HEAD.pack(MAGIC, version, len(manifest)), manifest, *body])
    return data + hashlib.sha256(data).digest()


def _plain(value: Any, name: str) -> Any:
    try:
        return plain(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be stored in a model file: {error}.") from None


def _manifest(model: Any) -> dict[str, Any]:
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in HOW_TO_RUN}
    parameters["cost_matrix"] = model.cost_matrix_  # a data frame is no plain data
    if not isinstance(parameters["random_state"], Integral):
        parameters["random_state"] = None  # the seed drawn from it is stored by itself
    learner = {}
    if isinstance(model.forest_, Similarities):
        chosen = parameters.pop("estimator").get_params(deep=False)
        learner = {
            "learner": {name: _plain(value, f"the learner's parameter {name}") for name, value in chosen.items()},
            "metric": model.forest_.space.metric,
        }
    kind = model.classes_.dtype
    class_type = "str" if kind.kind == "U" else kind.name
    if class_type not in CLASS_TYPES:
        raise TypeError(f"classes_ cannot be stored in a model file: its type is {kind}.")
    names = getattr(model, "feature_names_in_", None)
    categories = enumerate(model._columns.categories)
    return {
        "parameters": {name: _plain(value, f"the parameter {name}") for name, value in parameters.items()},
        "classes": _plain(model.classes_, "classes_"),
        "class_type": class_type,
        "categories": [[at, _plain(known, f"the categories of column {at}")] for at, known in categories if known is not None],
        "feature_names": None if names is None else _plain(names, "feature_names_in_"),
        "temperature": float(model.temperature_),
        "seed": int(model._seed),
        "stop_reason": str(model.stop_reason_),
        **learner,
    }


def _similarity_arrays(model: Any) -> dict[str, NDArray[Any]]:
    members, space = model.forest_, model.forest_.space
    own = ("points", "label", "first", "second", "tau", "hard", "column", "round", "vectors")
    return {
        **{name: getattr(space, name) for name in ("exponent", "centre", "scale", "shares", "matrix")},
        **{name: getattr(members, name) for name in own},
    }


def _tree_arrays(model: Any) -> dict[str, NDArray[Any]]:
    forest, binning, nodes, members = model.forest_, model._binning, model.forest_.nodes, model.forest_.members
    return {
        "n_cuts": np.diff(binning.offset),
        "cuts": binning.cuts,
        "tree_size": np.diff(members["root"], append=len(nodes)),
        **{name: members[name] for name in ("width", "column", "round")},
        **{name: nodes[name] for name in ("feature", "bin", "missing_left", "cover")},
        "left": np.where(nodes["feature"] < 0, 0, nodes["left"]),
        "masks": forest.masks,
        "values": forest.values,
    }


def _sizes(arrays: dict[str, NDArray[Any]], layout: Layout) -> dict[str, int]:
    lengths = {size: n for name, (_, shape) in layout.arrays.items() for size, n in zip(shape, arrays[name].shape, strict=True)}
    return {name: lengths[name] for name in layout.sizes}


def _check_reads_back(model: Any, data: bytes) -> None:
    """A file that would not give this model is never written."""
    try:
        again: Any = _from_bytes(data)
    except BadModelFile as error:
        raise ValueError(f"this model cannot be saved, because it could not be loaded: {error}.") from None
    if not (_same_nodes(model.forest_, again.forest_) if isinstance(model.forest_, Forest) else _to_bytes(again) == data):
        raise ValueError("this model cannot be saved: its members have something that a model file has no place for.")


def _same_nodes(forest: Forest, other: Forest) -> bool:
    """Of trees a file holds only what the rest follows from."""
    pairs = ((forest.nodes, other.nodes), (forest.members, other.members))
    return all(np.array_equal(mine[field], its[field]) for mine, its in pairs for field in mine.dtype.names or ())


def _write(data: bytes, target: str) -> None:
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.manyboost.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # not every system can do this with a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- from bytes to a model -----------------------------------------------------------------------------------------------------------


def _check_head(head: bytes) -> tuple[int, Layout]:
    """The length of the manifest, and what is to be in the file."""
    require(len(head) == HEAD.size, "it is too short for a model file")
    magic, version, length = HEAD.unpack(head)
    require(magic == MAGIC, "this is no model file of ManyBoost; pickled models are programs and are not loaded here")
    latest = max(LAYOUTS)
    require(version <= latest, f"it has version {version} of the format, and this ManyBoost reads up to {latest}; update ManyBoost")
    require(version > 0, "its version is 0, which does not exist")
    require(length <= MAX_MANIFEST, "its manifest is too long")
    return int(length), LAYOUTS[version]


def _from_bytes(data: bytes, digest: str | None = None) -> BoostingClassifier:
    length, layout = _check_head(data[: HEAD.size])
    start = HEAD.size + length
    require(len(data) >= start + DIGEST, "it ends too early")
    require(hashlib.sha256(memoryview(data)[:-DIGEST]).digest() == data[-DIGEST:], "it is damaged: its digest does not fit its content")
    found = data[-DIGEST:].hex()
    require(digest is None or digest.lower() == found, f"this is another model: its digest is {found}, and {digest} was asked for")
    manifest = read_manifest(data[HEAD.size : start], layout)
    name = manifest["algorithm"]
    require(isinstance(name, str) and name in ALGORITHMS, "it is of an algorithm that this ManyBoost does not have")
    algorithm = ALGORITHMS[name]
    known = set(algorithm._get_param_names()) - HOW_TO_RUN
    parameters = read_parameters(manifest["parameters"], known if layout is OF_TREES else known - {"estimator"})

    classes = read_classes(manifest)
    arrays = read_arrays(manifest, memoryview(data)[start:-DIGEST], layout)
    decoder = read_decoder(arrays, algorithm.decoder is not BoostingClassifier.decoder)
    n_columns = len(classes) if decoder is None else len(decoder)
    columns, names = read_columns(manifest, manifest["sizes"]["features"])
    forest: Forest | Similarities
    binning, space = None, None
    if layout is OF_TREES:
        binning = read_binning(arrays, columns)
        forest = read_forest(arrays, binning, n_columns)
        values = forest.values
    else:
        forest = read_similarities(manifest, arrays, columns, n_columns)
        space, values = forest.space, forest.vectors
        parameters["estimator"] = LocalizedSimilarity(**read_parameters(manifest["learner"], set(LocalizedSimilarity._get_param_names())))
    temperature, seed, stop_reason = read_scalars(manifest)
    n_members = len(forest.members) if isinstance(forest, Forest) else len(forest)
    check_scores(float(np.abs(values).max(initial=0.0)), n_members, decoder, temperature)
    prior, history = read_prior(arrays), read_history(arrays, forest.n_rounds)

    model: Any = algorithm(**parameters)
    try:
        check_parameters(model)
        if space is not None:
            check_parameters(model.estimator)
        costs = read_costs(model.cost_matrix, classes)
    except (TypeError, ValueError) as error:
        raise BadModelFile(f"a parameter is not allowed: {str(error)[:500]}") from None
    attributes = {
        "classes_": classes,
        "class_prior_": prior,
        "cost_matrix_": costs,
        "n_features_in_": manifest["sizes"]["features"],
        **({} if names is None else {"feature_names_in_": names}),
        "history_": history,
        "stop_reason_": stop_reason,
        "n_clipped_steps_": int(history["n_clipped"][: forest.n_rounds].sum()),
        "_columns": columns,
        "_binning": binning,
        "_space": space,
        "_seed": seed,
        **model._fitted_attributes(forest, decoder, temperature),
    }
    for attribute, value in attributes.items():
        setattr(model, attribute, value)
    _check_usable(model, forest.n_columns)
    return model  # type: ignore[no-any-return]


def _check_usable(model: Any, n_columns: int) -> None:
    """Scores and probabilities can be worked out: the decoder is one that the algorithm can read."""
    nothing = np.zeros((1, n_columns))
    try:
        shapes = model.scores(nothing).shape, model.link(nothing).shape
    except (IndexError, ValueError):
        raise BadModelFile("the decoder is none of this algorithm") from None
    require(shapes == ((1, len(model.classes_)),) * 2, "the decoder is none of this algorithm")
