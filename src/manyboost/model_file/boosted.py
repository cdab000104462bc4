"""Boosted classifiers in a model file, whatever their members are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.algorithms import ALGORITHMS
from manyboost.columns import Columns
from manyboost.estimator import BoostingClassifier
from manyboost.model_file.container import BadModelFile, require
from manyboost.model_file.layout import Arrays, Format, Layout, Manifest, Shapes
from manyboost.model_file.names import build, costs_of, name_of, stored_parameters, with_attributes
from manyboost.model_file.values import (
    MAX_SCORE,
    category_facts,
    positive,
    read_classes,
    read_columns,
    read_names,
    table_facts,
    text_of,
    whole,
)
from manyboost.weak_learning import Ensemble

Floats = NDArray[np.float64]
NOT_STORED = ("n_made", "unsolved", "seconds")  # of the history
HISTORY = ("loss", "training_error", "validation_error", "step", "n_trees", "n_clipped")
FACTS = frozenset({"algorithm", "categories", "class_type", "classes", "feature_names", "parameters", "seed", "stop_reason", "temperature"})


@dataclass(frozen=True)
class ReadMembers:
    """Members that were read: the ensemble, how many there are, the largest number that one adds, and attributes of the model."""

    ensemble: Ensemble
    n_members: int
    largest: float
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Members:
    """One kind of members.

    Attributes
    ----------
    ensemble : its class
    arrays : all arrays of the file, ``class_prior``, ``decoder`` and ``history`` among them
    write : facts and arrays of the members of a fitted model
    read : from the manifest, the arrays, the columns of the table, the number of columns of scores, and the models in the file
    decoder : from the manifest and the number of classes, what the decoder must be where the members say that; None where they do not
    facts, apart : further keys of the manifest; parameters that are not among the others
    made_by : can the parameter ``estimator`` be this?
    parts, worked_out : as in :class:`~manyboost.model_file.layout.Format`; None where members are no models by themselves
    """

    ensemble: type
    arrays: Shapes
    write: Callable[[Any], tuple[dict[str, Any], dict[str, NDArray[Any]]]]
    read: Callable[[Manifest, Arrays, Columns, int, Sequence[Any]], ReadMembers]
    decoder: Callable[[Manifest, int], Floats | None] = lambda manifest, K: None
    facts: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    made_by: Callable[[Any], bool] = lambda estimator: estimator is None
    parts: Callable[[Any], Sequence[Any]] | None = None
    worked_out: Callable[[Any], list[NDArray[Any]]] = lambda model: []

    @property
    def format(self) -> Format:
        return Format(
            layout=Layout(FACTS | self.facts, self.arrays, nests=self.parts is not None),
            takes=lambda model: isinstance(model, BoostingClassifier) and type(model.forest_) is self.ensemble,
            write=self._write,
            read=self._read,
            parts=self.parts or (lambda model: ()),
            worked_out=self.worked_out,
        )

    def _write(self, model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        facts, arrays = self.write(model)
        shared = {
            "class_prior": model.class_prior_,
            "decoder": np.empty((0, len(model.classes_))) if model._decoder is None else model._decoder,
            "history": np.column_stack([model.history_[name] for name in HISTORY]),
        }
        manifest = {
            "algorithm": name_of(model, ALGORITHMS),
            "parameters": stored_parameters(model, self.apart),
            **table_facts(model),
            "categories": category_facts(model._columns),
            "temperature": float(model.temperature_),
            "seed": int(model._seed),
            "stop_reason": str(model.stop_reason_),
            **facts,
        }
        return manifest, {**arrays, **shared}

    def _read(self, manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> BoostingClassifier:
        name = manifest["algorithm"]
        require(isinstance(name, str) and name in ALGORITHMS, "it is of an algorithm that this ManyBoost does not have")
        algorithm: Any = ALGORITHMS[name]
        model = build(algorithm, manifest["parameters"], self.apart)
        require(self.made_by(model.estimator), "its members are none of its estimator")
        classes = read_classes(manifest)
        given = self.decoder(manifest, len(classes))
        if given is None:
            decoder = read_decoder(arrays, algorithm.decoder is not BoostingClassifier.decoder)
        else:
            require(np.array_equal(given, arrays["decoder"]), "the decoder is none of this learner")
            decoder = given
        n_columns = len(classes) if decoder is None else len(decoder)
        n_features = manifest["sizes"]["features"]
        columns = read_columns(manifest, n_features)
        read = self.read(manifest, arrays, columns, n_columns, models)
        temperature = positive(manifest["temperature"], "the temperature")
        check_scores(read.largest, read.n_members, decoder, temperature)
        n_rounds = read.ensemble.n_rounds
        history = read_history(arrays, n_rounds)
        attributes = {
            "classes_": classes,
            "class_prior_": read_prior(arrays),
            "cost_matrix_": costs_of(model, classes),
            "n_features_in_": n_features,
            **read_names(manifest, n_features),
            "history_": history,
            "stop_reason_": text_of(manifest["stop_reason"], "stop_reason"),
            "n_clipped_steps_": int(history["n_clipped"][:n_rounds].sum()),
            "_columns": columns,
            "_binning": None,
            "_space": None,
            "_seed": whole(manifest["seed"], 0, 2**31 - 1, "the seed"),
            "_learnt_with": model._used_once(),
            **model._fitted_attributes(read.ensemble, decoder, temperature),
            **read.attributes,
        }
        with_attributes(model, attributes)
        _check_usable(model, read.ensemble.n_columns)
        return model  # type: ignore[no-any-return]


def read_prior(arrays: Arrays) -> Floats:
    """The classes' shares."""
    prior = arrays["class_prior"]
    require(((prior >= 0) & (prior <= 1)).all() and abs(prior.sum() - 1) < 1e-6, "the shares of the classes are no shares")
    return prior


def read_history(arrays: Arrays, n_rounds: int) -> dict[str, Floats]:
    """What was noted of each round; how it was come by is not stored."""
    rows = arrays["history"]
    require(len(rows) >= n_rounds, "the history is shorter than the rounds")
    history = dict(zip(HISTORY, rows.T.copy(), strict=True))
    for name in ("n_trees", "n_clipped"):
        counts = history[name]
        require(((counts >= 0) & (counts < 2**31) & (counts == np.floor(counts))).all(), f"{name} of a round is not a count")
    return {**history, **{name: np.full(len(rows), np.nan) for name in NOT_STORED}}


def read_decoder(arrays: Arrays, has_one: bool) -> Floats | None:
    """What the columns of scores mean for the classes."""
    decoder = arrays["decoder"]
    require((len(decoder) > 0) == has_one, "the decoder is missing" if has_one else "the algorithm has no decoder")
    if not has_one:
        return None
    tells = np.isfinite(decoder).all(axis=1) & (decoder.max(axis=1) > decoder.min(axis=1))
    require(tells.all(), "a row of the decoder does not part classes from others")
    return decoder


def check_rounds(round_: NDArray[np.int64]) -> None:
    steps = np.diff(round_, prepend=-1)
    require((steps[:1] == 1).all() and ((steps == 0) | (steps == 1)).all(), "the rounds are not numbered 0, 1, 2, ...")


def check_scores(largest: float, n_members: int, decoder: Floats | None, temperature: float) -> None:
    """No sum of what members add, however it is multiplied later, is too large for a number."""
    largest = largest * max(n_members, 1) * max(temperature, 1.0)
    if decoder is not None:
        largest *= max(float(np.abs(decoder).max()) * len(decoder), 1.0)
    require(largest < MAX_SCORE, "its scores may become infinite")


def _check_usable(model: Any, n_columns: int) -> None:
    """Scores and probabilities can be worked out: the decoder is one that the algorithm can read."""
    nothing = np.zeros((1, n_columns))
    try:
        shapes = model.scores(nothing).shape, model._linked(nothing).shape
    except (IndexError, ValueError):
        raise BadModelFile("the decoder is none of this algorithm") from None
    require(shapes == ((1, len(model.classes_)),) * 2, "the decoder is none of this algorithm")
