"""Localized similarities in a model file, with the training examples they compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.similarities import Similarities
from manyboost.learners.similarity_space import METRICS, Space
from manyboost.model_file.boosted import HISTORY, Members, ReadMembers, check_rounds
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Manifest, Shapes
from manyboost.model_file.names import build
from manyboost.model_file.values import MAX_SCORE, stored

MAX_EXPONENT = 1100  # of two; no number has a larger one
ARRAYS: Shapes = {
    "exponent": ("<i4", ("features",)),  # a number becomes (x / 2^exponent - centre) * scale
    "centre": ("<f8", ("features",)),
    "scale": ("<f8", ("features",)),  # 0: the column has no part in distances
    "shares": ("<f8", ("shares",)),  # of the categories, column after column
    "matrix": ("<f8", ("mixed", "mixed")),  # what mixes the coordinates; of size 0: nothing does
    "class_prior": ("<f8", ("classes",)),
    "decoder": ("<f8", ("decoder_rows", "classes")),
    "points": ("<f8", ("points", "features")),  # training examples, in the order of their first use
    "label": ("<i4", ("points",)),  # their classes
    "first": ("<i4", ("members",)),  # the example that a member compares with; -1: it says +1 of everything
    "second": ("<i4", ("members",)),  # the other one; -1: there is none, and tau is what the distance is compared with
    "tau": ("<f8", ("members",)),  # 0 where there are two
    "hard": ("|u1", ("members",)),  # 1: only the sign counts
    "column": ("<i4", ("members",)),  # of scores, which the first number of the vector is added to
    "round": ("<i4", ("members",)),
    "vectors": ("<f8", ("members", "width")),
    "history": ("<f8", ("rounds", len(HISTORY))),
}


def _write(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members, space = model.forest_, model.forest_.space
    chosen = model.estimator.get_params(deep=False)
    del chosen["cache_size"]  # it says how to run, not what was learnt
    own = ("points", "label", "first", "second", "tau", "hard", "column", "round", "vectors")
    facts = {
        "learner": {name: stored(value, f"the learner's parameter {name}") for name, value in chosen.items()},
        "metric": space.metric,
    }
    return facts, {
        **{name: getattr(space, name) for name in ("exponent", "centre", "scale", "shares", "matrix")},
        **{name: getattr(members, name) for name in own},
    }


def _decoder(manifest: Manifest, K: int) -> NDArray[np.float64] | None:
    learner: LocalizedSimilarity = build(LocalizedSimilarity, manifest["learner"])
    return learner.decoder(K)


def _read(manifest: Manifest, arrays: Arrays, columns: Columns, n_columns: int, models: Sequence[Any]) -> ReadMembers:
    members = read_similarities(manifest, arrays, columns, n_columns)
    learner = build(LocalizedSimilarity, manifest["learner"])
    largest = float(np.abs(members.vectors).max(initial=0.0))
    return ReadMembers(members, len(members), largest, {"estimator": learner, "_space": members.space})


def read_similarities(manifest: Manifest, arrays: Arrays, columns: Columns, n_columns: int) -> Similarities:
    """The members and their examples, which are all there."""
    space = _read_space(manifest["metric"], arrays, columns)
    points, label = arrays["points"], arrays["label"].astype(np.int64)
    for at, n in enumerate(space.n_categories):
        known = points[:, at][~np.isnan(points[:, at])]
        require(np.isfinite(known).all(), "an example has an infinite value")
        require(n == 0 or ((known >= 0) & (known < n) & (known == np.floor(known))).all(), "an example has a category that does not exist")
    require(((label >= 0) & (label < len(arrays["class_prior"]))).all(), "an example has a class that does not exist")
    first, second, column, round_ = (arrays[name].astype(np.int64) for name in ("first", "second", "column", "round"))
    tau, hard, vectors = arrays["tau"], arrays["hard"], arrays["vectors"]
    used = np.column_stack([first, second]).ravel()
    require(((used >= -1) & (used < len(points))).all(), "a member compares with an example that does not exist")
    require(((second < 0) | ((first >= 0) & (first != second))).all(), "a member does not compare with two different examples")
    used = used[used >= 0]
    in_order = used[np.sort(np.unique(used, return_index=True)[1])]
    require(np.array_equal(in_order, np.arange(len(points))), "the examples do not stand in the order of their first use")
    require(np.where((first >= 0) & (second < 0), (tau > 0) & (tau < MAX_SCORE), tau == 0).all(), "a member's tau is not what it must be")
    require((hard <= 1).all(), "a member is neither hard nor not")
    require(((column >= 0) & (column + vectors.shape[1] <= n_columns)).all(), "a member adds to columns that do not exist")
    require(vectors.shape[1] > 0 and np.isfinite(vectors).all(), "a member's vector is not finite")
    check_rounds(round_)
    return Similarities(
        space=space,
        points=points,
        label=label.astype(np.int32),
        row=np.full(len(points), -1, np.int64),
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        tau=tau,
        hard=hard.astype(bool),
        column=column.astype(np.int32),
        round=round_.astype(np.int32),
        vectors=vectors,
        n_columns=n_columns,
    )


def _read_space(metric: Any, arrays: Arrays, columns: Columns) -> Space:
    """How rows become coordinates."""
    exponent, centre, scale, shares, matrix = (arrays[name] for name in ("exponent", "centre", "scale", "shares", "matrix"))
    names = metric.split("+") if isinstance(metric, str) else []
    require(bool(names) and names == [name for name in METRICS if name in names], "the metric is unknown")
    require(len(scale) > 0, "there is no column")
    require((np.abs(exponent.astype(np.int64)) <= MAX_EXPONENT).all(), "the exponent of a column is none of a number")
    require((np.abs(centre) <= 1).all(), "the centre of a column is not within it")
    require(((scale >= 0) & (scale < MAX_SCORE)).all(), "the scale of a column is not a number of at least 0")
    require(len(shares) == columns.n_categories.sum() and ((shares >= 0) & (shares <= 1)).all(), "the categories' shares are no shares")
    space = Space(metric, exponent.astype(np.int32), centre, scale, columns.n_categories, shares, matrix)
    require(len(matrix) in (0, len(space.column)) and (np.abs(matrix) < MAX_SCORE).all(), "the matrix is none of these coordinates")
    return space


OF_SIMILARITIES = Members(
    Similarities, ARRAYS, _write, _read, _decoder, facts=frozenset({"learner", "metric"}), apart=frozenset({"estimator"})
)
