"""Save and load fitted models as data: no pickle, and no code that a file could name.

The format. All numbers are little-endian.

    bytes   what
    8       magic: 89 4D 42 4F 4F 53 54 0A
    4       version of the format, unsigned: one for each kind of model
    4       length of the manifest, unsigned
    ...     manifest: JSON in UTF-8, keys sorted, no spaces, finite numbers; exactly the keys of its kind
    ...     arrays, without gaps, in the order, types and shapes of its kind
    ...     the files of the models it is made of, one after the other, where it is made of models
    32      SHA-256 of everything before it

    version   kind of model                                            described in
    1         boosted trees                                            :mod:`manyboost.model_file.trees`
    2         boosted similarities, with the examples they compare     :mod:`manyboost.model_file.similarities`
    3         blends (:class:`~manyboost.ManyBoostClassifier`)         :mod:`manyboost.model_file.blends`
    4         boosted classifiers of the kinds listed here             :mod:`manyboost.model_file.committees`
    5, 6      C4.5 trees; naive Bayes                                  :mod:`manyboost.model_file.learners`
    7, 8      support vector machines: linear; with a kernel           :mod:`manyboost.model_file.machines`
    9, 10     reductions to binary problems; output codes              :mod:`manyboost.model_file.reductions`

    key               what
    algorithm         its name in :data:`manyboost.model_file.names.MODELS`
    parameters        all but ``callbacks``, ``n_jobs``, ``verbose`` and ``warm_start``, which say how to run, not what was learnt. Arrays,
                      tuples and sets are lists, dicts are ``{"pairs": [[key, value], ...]}``; a random_state that is an object is null;
                      an estimator is ``{"name": ..., "parameters": ...}``
    classes           the labels, rising
    class_type        numpy's name of their type; "object" are strings
    categories        ``[column, [category, ...]]`` of each column that holds categories
    feature_names     of the columns, or null
    temperature, seed, stop_reason
    sizes             how long the arrays are
    lengths           of the files of the models it is made of, in bytes; 0 where there is none
    learner, metric   version 2 only: the parameters of :class:`~manyboost.learners.LocalizedSimilarity` but ``cache_size``, and the metric
                      it used. The examples are stored as they are, but not where they stood in the table, which is no part of what
                      was learnt
    weights, sharpness, description, held_out
                      version 3: shares of the models, the power of their mean, and error and log-loss of held-out rows or null
    weight_factor     versions 5 and 6: what weights were multiplied by
    objective, dual_objective, n_iter, gamma
                      versions 7 and 8
    row_distance, column_distance
                      versions 9 and 10: of the code

Only what cannot be worked out is stored: thresholds follow from cuts and bins, the places of leaves from the order of the nodes. Times are
not stored. So two models that were learnt alike are the same bytes, and the digest names the model, not the machine or the day.

A file is checked as a whole before anything is built from it. A digest tells damage, not intent: whoever can write the file can write a
matching one, so keep the digest that :func:`save` returns elsewhere and give it to :func:`load`.
"""

from __future__ import annotations

import os
from typing import Any

from manyboost.model_file.container import BadModelFile, Path, digest_of, read_file, write_file
from manyboost.model_file.formats import LATEST, comes_back, from_bytes, to_bytes

__all__ = ["BadModelFile", "fingerprint", "load", "save"]


def save(model: Any, path: Path) -> str:
    """Write a fitted model to a file, all of it or nothing.

    Parameters
    ----------
    model : a fitted classifier or learner of this library; one that is made of others can be saved if these can
    path : where to; an existing file is replaced once the new one is safely on the disk, and keeps its mode. Pipes and devices are refused

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
    data = to_bytes(model)
    try:
        again = from_bytes(data)
    except BadModelFile as error:
        raise ValueError(f"this model cannot be saved, because it could not be loaded: {error}.") from None
    if not comes_back(model, data, again):
        raise ValueError("this model cannot be saved: its members have something that a model file has no place for.")
    write_file(data, path)
    return digest_of(data)


def load(path: Path, *, digest: str | None = None) -> Any:
    """Read a model that :func:`save` wrote; nothing but arrays is read, and no code is run.

    Parameters
    ----------
    path : the file
    digest : what :func:`save` returned; another model is then refused

    Returns
    -------
    the fitted model
        The same scores to the last bit. ``n_jobs``, ``verbose``, ``callbacks`` and ``warm_start`` have their defaults, the
        columns ``n_made``, ``unsolved`` and ``seconds`` of its history are NaN, and a linear machine has no ``dual_coef_``.

    Raises
    ------
    BadModelFile
        The file is damaged, is no model of this library, is of a later version, or does not have the digest asked for.
    """
    name = os.fsdecode(path)
    if not (digest is None or isinstance(digest, str)):
        raise TypeError(f"digest={digest!r} is no string; give the hexadecimal one that save returned, or None to take any model.")
    try:
        return from_bytes(read_file(path, LATEST), digest)
    except BadModelFile as error:
        raise BadModelFile(f"{name}: {error}.") from None
    except MemoryError:
        raise BadModelFile(f"{name}: it does not fit into memory.") from None


def fingerprint(model: Any) -> str:
    """The digest that :func:`save` would return: equal for models that were learnt alike, however many threads did it."""
    return digest_of(to_bytes(model))
