"""Save and load fitted models as data: no pickle, and no code that a file could name.

The format, version 1 for trees, version 2 for similarities and version 3 for blends. All numbers are little-endian.

    bytes   what
    8       magic: 89 4D 42 4F 4F 53 54 0A
    4       version of the format, unsigned
    4       length of the manifest, unsigned
    ...     manifest: JSON in UTF-8, keys sorted, no spaces, finite numbers; exactly the keys below
    ...     arrays, without gaps, in the order, types and shapes of :data:`manyboost.model_schema.ARRAYS` or, in version 2,
            of :data:`manyboost.model_schema.SIMILARITY_ARRAYS`; in version 3, the files of the models, one after the other
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

The manifest of a blend (:class:`~manyboost.ManyBoostClassifier`) has the keys ``parameters``, ``lengths`` and ``weights`` of its models,
``sharpness``, ``description`` and ``held_out``: error and log-loss of held-out rows, null where there were none.

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
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyboost.algorithms import ALGORITHMS
from manyboost.blend import ManyBoostClassifier
from manyboost.estimator import BoostingClassifier
from manyboost.labels import read_costs
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.similarities import Similarities
from manyboost.model_schema import (
    CLASS_TYPES,
    HISTORY,
    MAX_MANIFEST,
    OF_BLENDS,
    OF_SIMILARITIES,
    OF_TREES,
    BadModelFile,
    Layout,
    check_scores,
    plain,
    read_arrays,
    read_binning,
    read_blend,
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
LAYOUTS = {1: OF_TREES, 2: OF_SIMILARITIES, 3: OF_BLENDS}
HEAD = struct.Struct("<8sII")
Model = BoostingClassifier | ManyBoostClassifier
DIGEST = hashlib.sha256().digest_size
HOW_TO_RUN = {"callbacks", "n_jobs", "verbose", "warm_start"}


def save(model: Model, path: str | os.PathLike[str]) -> str:
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


def load(path: str | os.PathLike[str], *, digest: str | None = None) -> Model:
    """Read a model that :func:`save` wrote; nothing but arrays is read, and no code is run.

    Parameters
    ----------
    path : the file
    digest : what :func:`save` returned; another model is then refused

    Returns
    -------
    BoostingClassifier or ManyBoostClassifier
        The model: the same scores to the last bit. ``n_jobs``, ``verbose``, ``callbacks`` and ``warm_start`` have their defaults, and the
        columns ``n_made``, ``unsolved`` and ``seconds`` of its history are NaN.

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


def fingerprint(model: Model) -> str:
    """The digest that :func:`save` would return: equal for models that were learnt alike, however many threads did it."""
    return _to_bytes(model)[-DIGEST:].hex()


# ---- from a model to bytes -----------------------------------------------------------------------------------------------------------


def _to_bytes(model: Model) -> bytes:
    if isinstance(model, ManyBoostClassifier):
        return _blend_to_bytes(model)
    name = next((name for name, algorithm in ALGORITHMS.items() if algorithm is type(model)), None)
    if name is None:
        known = ", ".join(sorted(kind.__name__ for kind in (*ALGORITHMS.values(), ManyBoostClassifier)))
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


def _blend_to_bytes(model: ManyBoostClassifier) -> bytes:
    check_is_fitted(model)
    models = [_to_bytes(part) for part in model.models_]
    held_out = [None if np.isnan(figure) else float(figure) for figure in (model.held_out_error_, model.held_out_log_loss_)]
    manifest = write_manifest(
        {
            "parameters": _parameters(model),
            "lengths": [len(part) for part in models],
            "weights": model.weights_.tolist(),
            "sharpness": float(model.sharpness_),
            "description": model.description_,
            "held_out": held_out,
        }
    )
    data = b"".join([HEAD.pack(MAGIC, 3, len(manifest)), manifest, *models])
    return data + hashlib.sha256(data).digest()


def _parameters(model: Any, *, but: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What was set, as plain data."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in HOW_TO_RUN | but}
    parameters["cost_matrix"] = model.cost_matrix_  # a data frame is no plain data
    if not isinstance(parameters["random_state"], Integral):
        parameters["random_state"] = None  # the seed drawn from it is stored by itself
    return {name: _plain(value, f"the parameter {name}") for name, value in parameters.items()}


def _plain(value: Any, name: str) -> Any:
    try:
        return plain(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be stored in a model file: {error}.") from None


def _manifest(model: Any) -> dict[str, Any]:
    learner, but = {}, frozenset[str]()
    if isinstance(model.forest_, Similarities):
        chosen, but = model.estimator.get_params(deep=False), frozenset({"estimator"})
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
        "parameters": _parameters(model, but=but),
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
    pairs = zip(model.models_, again.models_, strict=True) if isinstance(model, ManyBoostClassifier) else [(model, again)]
    if not all(_reads_back(mine, its) for mine, its in pairs):
        raise ValueError("this model cannot be saved: its members have something that a model file has no place for.")


def _reads_back(model: Any, again: Any) -> bool:
    if isinstance(model.forest_, Forest):
        return _same_nodes(model.forest_, again.forest_)
    return _to_bytes(model) == _to_bytes(again)


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


def _from_bytes(data: bytes, digest: str | None = None) -> Model:
    length, layout = _check_head(data[: HEAD.size])
    start = HEAD.size + length
    require(len(data) >= start + DIGEST, "it ends too early")
    require(hashlib.sha256(memoryview(data)[:-DIGEST]).digest() == data[-DIGEST:], "it is damaged: its digest does not fit its content")
    found = data[-DIGEST:].hex()
    require(digest is None or digest.lower() == found, f"this is another model: its digest is {found}, and {digest} was asked for")
    manifest, body = read_manifest(data[HEAD.size : start], layout), memoryview(data)[start:-DIGEST]
    return _read_blend(manifest, body) if layout is OF_BLENDS else _read_model(manifest, body, layout)


def _read_blend(manifest: dict[str, Any], body: memoryview) -> ManyBoostClassifier:
    parameters = read_parameters(manifest["parameters"], set(ManyBoostClassifier._get_param_names()) - HOW_TO_RUN)
    lengths, weights, sharpness, description, held_out = read_blend(manifest, len(body))
    models = []
    for start, end in pairwise(accumulate(lengths, initial=0)):
        part = bytes(body[start:end])
        require(_check_head(part[: HEAD.size])[1] is not OF_BLENDS, "a blend is made of blends")
        models.append(_from_bytes(part))
    first = models[0]
    require(all(_same_task(first, other) for other in models[1:]), "its models are of different tables")
    model: Any = ManyBoostClassifier(**parameters)
    costs = _check_parameters(model, first.classes_)
    names = getattr(first, "feature_names_in_", None)
    attributes = {
        "classes_": first.classes_,
        "cost_matrix_": costs,
        "n_features_in_": first.n_features_in_,
        **({} if names is None else {"feature_names_in_": names}),
        "models_": models,
        "weights_": weights,
        "sharpness_": sharpness,
        "description_": description,
        "held_out_error_": held_out[0],
        "held_out_log_loss_": held_out[1],
    }
    for attribute, value in attributes.items():
        setattr(model, attribute, value)
    return model  # type: ignore[no-any-return]


def _same_task(model: Any, other: Any) -> bool:
    """Do two models know the same classes and columns?"""
    named = [list(getattr(one, "feature_names_in_", [])) for one in (model, other)]
    same_classes = model.classes_.dtype == other.classes_.dtype and np.array_equal(model.classes_, other.classes_)
    return same_classes and model._columns == other._columns and named[0] == named[1]


def _check_parameters(model: Any, classes: NDArray[Any]) -> Any:
    """The cost matrix, when all parameters are allowed."""
    try:
        check_parameters(model)
        if getattr(model, "estimator", None) is not None:
            check_parameters(model.estimator)
        return read_costs(model.cost_matrix, classes)
    except (TypeError, ValueError) as error:
        raise BadModelFile(f"a parameter is not allowed: {str(error)[:500]}") from None


def _read_model(manifest: dict[str, Any], body: memoryview, layout: Layout) -> BoostingClassifier:
    name = manifest["algorithm"]
    require(isinstance(name, str) and name in ALGORITHMS, "it is of an algorithm that this ManyBoost does not have")
    algorithm = ALGORITHMS[name]
    known = set(algorithm._get_param_names()) - HOW_TO_RUN
    parameters = read_parameters(manifest["parameters"], known if layout is OF_TREES else known - {"estimator"})

    classes = read_classes(manifest)
    arrays = read_arrays(manifest, body, layout)
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
    costs = _check_parameters(model, classes)
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
