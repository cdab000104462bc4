"""Ensembles of classifiers of ours (learners, machines, boosted ones) in a model file: a file for each, and what its answers add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns
from manyboost.committee import Committee, CommitteeMember, Fitted
from manyboost.learners import LocalizedSimilarity
from manyboost.model_file.boosted import HISTORY, Members, ReadMembers, check_rounds
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Manifest, Shapes

ARRAYS: Shapes = {
    "categorical": ("|u1", ("features",)),  # 1: the column holds categories, of which the members see the numbers
    "class_prior": ("<f8", ("classes",)),
    "decoder": ("<f8", ("decoder_rows", "classes")),
    "n_labels": ("<i4", ("members",)),  # that a member may say
    "only": ("<i4", ("members",)),  # the label that one without a classifier says
    "says_shares": ("|u1", ("members",)),  # 1: its shares of the labels count, not the label alone
    "n_leaves": ("<i4", ("members",)),  # different answers to the training rows
    "width": ("<i4", ("members",)),  # numbers that each label adds
    "column": ("<i4", ("members",)),  # of scores, which the first of them is added to
    "round": ("<i4", ("members",)),
    "values": ("<f8", ("values",)),  # of each label in turn
    "history": ("<f8", ("rounds", len(HISTORY))),
}


def _write(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = model.forest_.members
    fitted = {name: [getattr(one.member, name) for one in members] for name in ("n_labels", "only", "says_shares", "n_leaves")}
    arrays = {
        **fitted,
        "width": [one.vectors.shape[1] for one in members],
        "column": [one.column for one in members],
        "round": [one.round for one in members],
        "categorical": model._columns.n_categories > 0,
    }
    values = np.concatenate([np.empty(0), *(one.vectors.ravel() for one in members)])
    return {}, {**{name: np.array(entries, np.int64) for name, entries in arrays.items()}, "values": values}


def _read(manifest: Manifest, arrays: Arrays, columns: Columns, n_columns: int, models: Sequence[Any]) -> ReadMembers:
    n_features = len(columns.categories)
    require(np.array_equal(arrays["categorical"], columns.n_categories > 0), "it does not say of each column whether it holds categories")
    names = ("n_labels", "only", "says_shares", "n_leaves", "width", "column", "round")
    n_labels, only, says_shares, n_leaves, width, column, round_ = (arrays[name].astype(np.int64) for name in names)
    values = arrays["values"]
    require(len(models) == len(n_labels), "there is not one model for each member")
    require(((n_labels > 0) & (only >= 0) & (only < n_labels)).all(), "a member says a label that does not exist")
    require(((says_shares >= 0) & (says_shares <= 1) & (n_leaves >= 0)).all(), "a member's answers are not what they must be")
    require(((width > 0) & (column >= 0) & (column + width <= n_columns)).all(), "a member adds to columns that do not exist")
    check_rounds(round_)
    ends = np.cumsum(n_labels * width)
    require((ends[-1] if len(ends) else 0) == len(values), "the labels do not have the values that there are")
    require(np.isfinite(values).all(), "a value of a label is not finite")
    members = []
    for at, model in enumerate(models):
        if model is not None:
            check_labels(model, int(n_labels[at]), n_features)
        vectors = values[ends[at] - n_labels[at] * width[at] : ends[at]].reshape(n_labels[at], width[at])
        fitted = Fitted(model, int(n_labels[at]), int(only[at]), bool(says_shares[at]), int(n_leaves[at]))
        members.append(CommitteeMember(fitted, vectors, int(column[at]), int(round_[at])))
    return ReadMembers(Committee(tuple(members), n_columns), len(members), float(np.abs(values).max(initial=0.0)), {})


def check_labels(model: Any, n_labels: int, n_features: int) -> None:
    """The classes of a model are numbers below ``n_labels``, and it takes the rows as numbers."""
    classes = model.classes_
    fine = classes.dtype.kind in "iu" and bool((classes >= 0).all()) and bool((classes < n_labels).all())
    require(fine, "a member says a label that does not exist")
    require(model.n_features_in_ == n_features, "a member is of another table")


OF_COMMITTEES = Members(
    Committee,
    ARRAYS,
    _write,
    _read,
    made_by=lambda estimator: estimator is not None and not isinstance(estimator, LocalizedSimilarity),
    parts=lambda model: [one.fitted for one in model.forest_.members],
)
