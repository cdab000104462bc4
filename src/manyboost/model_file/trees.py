"""Trees in a model file, and the proof that they are trees.

What is read can be used by kernels that check no bounds. What follows from other parts is never stored (thresholds from cuts, places of
leaves from the order of nodes), so it cannot contradict them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns
from manyboost.model_file.boosted import HISTORY, Members, ReadMembers, check_rounds
from manyboost.model_file.container import require
from manyboost.model_file.layout import Arrays, Manifest, Shapes
from manyboost.trees.binning import MAX_BINS, Binning
from manyboost.trees.forest import MEMBER, MEMBER_NODE, Forest
from manyboost.trees.nodes import MASK_WORDS

MAX_ROWS = 2**40
ARRAYS: Shapes = {
    "n_cuts": ("<i4", ("features",)),  # of each column; 0 where it holds categories
    "cuts": ("<f8", ("cuts",)),  # column after column
    "class_prior": ("<f8", ("classes",)),
    "decoder": ("<f8", ("decoder_rows", "classes")),  # no rows: the columns of scores are those of the classes
    "tree_size": ("<i4", ("trees",)),  # nodes of each tree
    "width": ("<i4", ("trees",)),  # numbers in each of its leaves
    "column": ("<i4", ("trees",)),  # of scores, which the first of them is added to
    "round": ("<i4", ("trees",)),
    "feature": ("<i4", ("nodes",)),  # -1 at a leaf
    "bin": ("<i2", ("nodes",)),  # the last that goes left; -1 at a leaf and where a mask decides
    "missing_left": ("|u1", ("nodes",)),  # 1: missing values go left
    "left": ("<i4", ("nodes",)),  # left child, counted from the tree's root; the right child follows it; 0 at a leaf
    "cover": ("<i8", ("nodes",)),  # rows the tree was grown on
    "masks": ("<u8", ("masks", MASK_WORDS)),  # of each split by categories in turn: bit c is set where category c goes left
    "values": ("<f8", ("values",)),  # of each leaf in turn
    "history": ("<f8", ("rounds", len(HISTORY))),
}


def _write(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    forest, binning, nodes, members = model.forest_, model._binning, model.forest_.nodes, model.forest_.members
    return {}, {
        "n_cuts": np.diff(binning.offset),
        "cuts": binning.cuts,
        "tree_size": np.diff(members["root"], append=len(nodes)),
        **{name: members[name] for name in ("width", "column", "round")},
        **{name: nodes[name] for name in ("feature", "bin", "missing_left", "cover")},
        "left": np.where(nodes["feature"] < 0, 0, nodes["left"]),
        "masks": forest.masks,
        "values": forest.values,
    }


def _worked_out(model: Any) -> list[NDArray[Any]]:
    return [table[field] for table in (model.forest_.nodes, model.forest_.members) for field in table.dtype.names]


def _read(manifest: Manifest, arrays: Arrays, columns: Columns, n_columns: int, models: Sequence[Any]) -> ReadMembers:
    binning = read_binning(arrays, columns)
    forest = read_forest(arrays, binning, n_columns)
    return ReadMembers(forest, len(forest.members), float(np.abs(forest.values).max(initial=0.0)), {"_binning": binning})


def read_binning(arrays: Arrays, columns: Columns) -> Binning:
    """The cuts of each column."""
    require((arrays["n_cuts"] < MAX_BINS).all(), "a column has a bad number of cuts")
    return Binning(arrays["cuts"], read_cuts(arrays, columns), columns.n_categories)


def read_cuts(arrays: Arrays, columns: Columns) -> NDArray[np.int64]:
    """Where the cuts of each column begin, and the end of the last."""
    n_cuts, cuts, n_categories = arrays["n_cuts"].astype(np.int64), arrays["cuts"], columns.n_categories
    require(len(n_cuts) > 0, "there is no column")
    require(((n_cuts >= 0) & ((n_categories == 0) | (n_cuts == 0))).all(), "a column has a bad number of cuts")
    offset = np.concatenate([[0], np.cumsum(n_cuts)])
    require(offset[-1] == len(cuts), "the cuts are not as many as the columns have")
    rises = np.ones(len(cuts), bool)
    rises[1:] = cuts[1:] > cuts[:-1]
    rises[offset[:-1][n_cuts > 0]] = True
    require(np.isfinite(cuts).all() and rises.all(), "the cuts of a column do not rise")
    return offset


def read_forest(arrays: Arrays, binning: Binning, n_columns: int) -> Forest:
    """The trees, proved to be trees."""
    size, width, column, round_ = (arrays[name].astype(np.int64) for name in ("tree_size", "width", "column", "round"))
    feature, bin_, left, cover = (arrays[name].astype(np.int64) for name in ("feature", "bin", "left", "cover"))
    missing_left, values = arrays["missing_left"], arrays["values"]
    n_nodes = len(feature)
    require((size > 0).all() and size.sum() == n_nodes, "the trees do not have the nodes that there are")
    require(((width > 0) & (column >= 0) & (column + width <= n_columns)).all(), "a tree adds to columns that do not exist")
    check_rounds(round_)

    root = np.cumsum(size) - size
    tree = np.repeat(np.arange(len(size)), size)
    base = root[tree]
    number = np.arange(n_nodes) - base  # in its own tree
    require(((feature >= -1) & (feature < binning.n_features)).all(), "a node asks for a column that does not exist")
    split, leaf = feature >= 0, feature < 0
    require(((left > number) & (left + 1 < size[tree]))[split].all(), "a child does not stand behind its parent in the same tree")
    children = (base + left)[split]
    n_parents = np.bincount(np.concatenate([children, children + 1]), minlength=n_nodes)
    require((n_parents == (number > 0)).all(), "a node does not have exactly one parent")
    require(((left == 0) & (bin_ == -1) & (missing_left == 0))[leaf].all(), "a leaf has a way on")
    require((missing_left <= 1).all(), "missing values go neither left nor right")
    require(((cover > 0) & (cover <= MAX_ROWS)).all(), "a node has a bad number of rows")
    require((cover[split] == cover[children] + cover[children + 1]).all(), "the rows of a node are not those of its children")

    by_category = split & (binning.n_categories[feature] > 0)
    n_bins = binning.n_bins()[feature]
    require(np.where(by_category, bin_ == -1, (bin_ >= 0) & (bin_ < n_bins))[split].all(), "a node is split at a bin that does not exist")
    require(by_category.sum() == len(arrays["masks"]), "there is not one mask for each split by categories")
    room = np.where(leaf, width[tree], 0)
    require(room.sum() == len(values) and len(values) < 2**31, "the leaves do not have the values that there are")
    require(np.isfinite(values).all(), "a value of a leaf is not finite")

    nodes = np.zeros(n_nodes, MEMBER_NODE)
    nodes["feature"], nodes["bin"], nodes["missing_left"], nodes["cover"] = feature, bin_, missing_left, cover
    nodes["threshold"] = binning.thresholds(nodes["feature"], nodes["bin"])
    nodes["left"] = np.where(leaf, np.cumsum(room) - room, left)
    nodes["categories"] = np.where(by_category, np.cumsum(by_category) - 1, -1)
    members = np.zeros(len(size), MEMBER)
    members["root"], members["width"], members["column"], members["round"] = root, width, column, round_
    return Forest(nodes, arrays["masks"], values, members, n_columns)


OF_TREES = Members(Forest, ARRAYS, _write, _read, worked_out=_worked_out)
