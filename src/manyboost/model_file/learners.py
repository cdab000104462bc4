"""C4.5 trees and naive Bayes in a model file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns
from manyboost.learners import C45Tree, NaiveBayes
from manyboost.learners.c45_tree import NODE
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Format, Layout, Manifest, Shapes
from manyboost.model_file.names import build, stored_parameters, with_attributes
from manyboost.model_file.trees import read_cuts
from manyboost.model_file.values import MAX_SCORE, category_facts, positive, read_classes, read_columns, read_names, table_facts

FACTS = frozenset({"categories", "class_type", "classes", "feature_names", "parameters", "weight_factor"})
C45_ARRAYS: Shapes = {
    "categorical": ("|u1", ("features",)),  # 1: the column holds categories, and a split on it has a child for each
    "feature": ("<i4", ("nodes",)),  # -1 at a leaf; nodes stand level by level, the children of one side by side
    "threshold": ("<f8", ("thresholds",)),  # of each split of numbers in turn
    "weight": ("<f8", ("nodes",)),  # of the rows that came here
    "counts": ("<f8", ("nodes", "classes")),  # weight of each class; where no row came, of the parent's
}
BAYES_ARRAYS: Shapes = {
    "n_cuts": ("<i4", ("features",)),  # of each column; 0 where it holds categories
    "cuts": ("<f8", ("cuts",)),  # column after column
    "class_log_prior": ("<f8", ("classes",)),
    "bin_log_prob": ("<f8", ("bins", "classes")),  # bin after bin, column after column
}
Read = Callable[[Arrays, Columns], dict[str, Any]]


def _learner(kind: type, arrays: Shapes, write: Callable[[Any], dict[str, NDArray[Any]]], read: Read, worked_out: Any) -> Format:
    """What the learners have in common."""

    def written(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        facts = {**table_facts(model), "categories": category_facts(model._columns), "weight_factor": float(model.weight_factor_)}
        return {"parameters": stored_parameters(model), **facts}, write(model)

    def was_read(manifest: Manifest, arrays: Arrays, models: Sequence[Any]) -> Any:
        model, n_features = build(kind, manifest["parameters"]), manifest["sizes"]["features"]
        require(n_features > 0, "there is no column")
        columns = read_columns(manifest, n_features)
        attributes = {
            "classes_": read_classes(manifest),
            "n_features_in_": n_features,
            **read_names(manifest, n_features),
            "_columns": columns,
            **read(arrays, columns),
            "weight_factor_": positive(manifest["weight_factor"], "the factor of the weights"),
        }
        return with_attributes(model, attributes)

    return Format(Layout(FACTS, arrays), lambda model: type(model) is kind, written, was_read, worked_out=worked_out)


# ---- C4.5 ------------------------------------------------------------------------------------------------------------------------------


def _write_tree(model: Any) -> dict[str, NDArray[Any]]:
    nodes = model.nodes_
    return {
        "categorical": model._columns.n_categories > 0,
        "feature": nodes["feature"],
        "threshold": nodes["threshold"][~np.isnan(nodes["threshold"])],
        "weight": nodes["weight"],
        "counts": model.node_counts_,
    }


def _read_tree(arrays: Arrays, columns: Columns) -> dict[str, Any]:
    """The nodes, proved to be a tree: what has how many children follows from the columns, and where they stand from the order."""
    feature, threshold, weight, counts = (arrays[name] for name in ("feature", "threshold", "weight", "counts"))
    n_categories = columns.n_categories
    require(np.array_equal(arrays["categorical"], n_categories > 0), "it does not say of each column whether it holds categories")
    require(((feature >= -1) & (feature < len(n_categories))).all(), "a node asks for a column that does not exist")
    split = feature >= 0
    by_number = split & (n_categories[feature] == 0)
    n_children = np.where(split, np.where(by_number, 2, n_categories[feature]), 0).astype(np.int64)
    before = 1 + np.cumsum(n_children) - n_children  # the root, and the children of the nodes before
    require(len(feature) > 0 and 1 + n_children.sum() == len(feature), "the nodes are not those of one tree")
    require((before > np.arange(len(feature)))[split].all(), "a child does not stand behind its parent")
    require(len(threshold) == by_number.sum() and np.isfinite(threshold).all(), "there is not one threshold for each split of numbers")
    require(((weight >= 0) & (weight < MAX_SCORE)).all(), "the weight of a node is not a number of at least 0")
    parent = np.repeat(np.arange(len(feature)), n_children)
    require((weight[1:] <= weight[parent] * (1 + 1e-9)).all(), "a node has more weight than its parent")
    inherited = np.bincount(parent, weight[1:] > 0, len(feature)) > 0
    require(((weight > 0) & inherited)[split].all(), "a node that no row reached is split")
    require(((counts >= 0) & (counts < MAX_SCORE)).all() and (counts.sum(axis=1) > 0).all(), "the classes of a node have no weight")
    nodes = np.zeros(len(feature), NODE)
    nodes["feature"], nodes["n_children"], nodes["weight"] = feature, n_children, weight
    nodes["first_child"] = np.where(split, before, 0)
    nodes["threshold"] = np.nan
    nodes["threshold"][by_number] = threshold
    return {"nodes_": nodes, "node_counts_": counts, "n_leaves_": int((~split).sum())}


OF_C45_TREES = _learner(
    C45Tree, C45_ARRAYS, _write_tree, _read_tree,
    lambda model: [*(model.nodes_[name] for name in NODE.names or ()), np.array(model.n_leaves_)],
)  # fmt: skip

# ---- naive Bayes -----------------------------------------------------------------------------------------------------------------------


def _write_bayes(model: Any) -> dict[str, NDArray[Any]]:
    return {
        "n_cuts": np.diff(model.first_cut_),
        "cuts": model.cuts_,
        "class_log_prior": model.class_log_prior_,
        "bin_log_prob": model.bin_log_prob_,
    }


def _read_bayes(arrays: Arrays, columns: Columns) -> dict[str, Any]:
    first_cut, n_categories = read_cuts(arrays, columns), columns.n_categories
    first_bin = np.concatenate([[0], np.cumsum(np.where(n_categories > 0, n_categories, np.diff(first_cut) + 1))])
    logs, prior = arrays["bin_log_prob"], arrays["class_log_prior"]
    require(len(logs) == first_bin[-1], "the bins are not as many as the columns have")
    require(((prior <= 0) & (prior > -MAX_SCORE)).all() and ((logs <= 0) & (logs > -MAX_SCORE)).all(), "a probability is none")
    return {"cuts_": arrays["cuts"], "bin_log_prob_": logs, "class_log_prior_": prior, "first_cut_": first_cut, "first_bin_": first_bin}


OF_NAIVE_BAYES = _learner(NaiveBayes, BAYES_ARRAYS, _write_bayes, _read_bayes, lambda model: [model.first_cut_, model.first_bin_])
