"""Trees as rows are scored with: small nodes, and no branch that a processor could mispredict.

A row has no way of its own through a tree: all rows of a block go down one level together, and a row that has come to its leaf stays
there until the deepest row has come to its own. That is more steps, but steps of different rows do not wait for each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.statistics import Floats

ROWS_PER_BLOCK = 512  # stay in the second-level cache together with a tree
STEP = np.dtype(
    [
        ("threshold", np.float64),  # at or below: to the child at ``left``; infinite at a leaf
        ("left", np.int32),  # the right child follows it; a leaf has itself
        ("feature", np.int32),  # twice the feature, and one more where missing values go right
    ],
    align=True,
)
END = np.dtype([("amount", np.float64), ("place", np.int64)], align=True)  # of a leaf
TREE = np.dtype(
    [
        ("root", np.int64),
        ("depth", np.int32),
        ("width", np.int32),  # 0: a leaf adds its amount to the column that is its place; else its vector, at its place among the values
        ("column", np.int32),
        ("by_categories", np.bool_),  # somewhere in it
    ],
    align=True,
)


class Scorer(NamedTuple):
    """A forest's nodes, as steps and as ends, and its trees."""

    steps: NDArray[np.void]
    ends: NDArray[np.void]
    trees: NDArray[np.void]


def _depths(nodes: NDArray[np.void], roots: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many splits are on the longest way through each tree."""
    depths = np.zeros(len(roots), np.int32)
    tree, node = np.arange(len(roots)), roots
    while True:
        inner = nodes["feature"][node] >= 0
        tree, node = tree[inner], node[inner]
        if not len(tree):
            return depths
        depths[np.unique(tree)] += 1
        left = roots[tree] + nodes["left"][node]
        tree, node = np.concatenate([tree, tree]), np.concatenate([left, left + 1])


def make_scorer(nodes: NDArray[np.void], values: Floats, members: NDArray[np.void]) -> Scorer:
    """What :func:`add_scores` works on.

    A tree that has at most one number other than zero in each leaf gets the width 0: the leaf holds the number and the number's column.
    """
    trees = np.zeros(len(members), TREE)
    for name in ("root", "width", "column"):
        trees[name] = members[name]
    trees["depth"] = _depths(nodes, members["root"])
    own = np.searchsorted(members["root"], np.arange(len(nodes)), side="right") - 1
    trees["by_categories"] = np.bincount(own[nodes["categories"] >= 0], minlength=len(members)) > 0
    is_leaf = nodes["feature"] < 0
    steps = np.empty(len(nodes), STEP)
    steps["threshold"] = np.where(is_leaf, np.inf, nodes["threshold"])
    steps["left"] = np.where(is_leaf, np.arange(len(nodes)) - members["root"][own], nodes["left"])
    steps["feature"] = np.where(is_leaf, 0, 2 * nodes["feature"] + ~nodes["missing_left"])
    return Scorer(steps, _ends(nodes, values, members, trees, own), trees)


def _ends(
    nodes: NDArray[np.void], values: Floats, members: NDArray[np.void], trees: NDArray[np.void], own: NDArray[np.int64]
) -> NDArray[np.void]:
    """What the leaves add; trees of one number a leaf are given the width 0."""
    ends = np.zeros(len(nodes), END)
    ends["place"] = nodes["left"]
    at = np.flatnonzero(nodes["feature"] < 0)  # in the order of their vectors
    member = own[at]
    width = members["width"][member].astype(np.int64)
    leaf_of_value = np.repeat(np.arange(len(at)), width)
    offset = np.arange(len(leaf_of_value)) - np.repeat(np.cumsum(width) - width, width)
    used = np.flatnonzero(values[np.repeat(ends["place"][at], width) + offset])
    leaf = leaf_of_value[used]
    wide = np.bincount(member[leaf[:-1][np.diff(leaf) == 0]], minlength=len(members)) > 0
    trees["width"][~wide] = 0
    narrow = ~wide[member]
    ends["place"][at[narrow]] = members["column"][member[narrow]]
    used, leaf = used[narrow[leaf]], leaf[narrow[leaf]]
    ends["amount"][at[leaf]] = values[nodes["left"][at[leaf]] + offset[used]]
    ends["place"][at[leaf]] += offset[used]
    return ends


@compiled_part
def goes_right(x, nodes, n, masks):
    """Does a row with the value x go to the right child of a forest's node n?"""
    if np.isnan(x):
        return not nodes[n].missing_left
    if nodes[n].categories < 0:
        return x > nodes[n].threshold
    c = np.int64(x)
    return (masks[nodes[n].categories, c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == 0


@compiled_part
def _walk_by_thresholds(X, steps, root, depth, place):
    """The place in its tree to which each row comes."""
    root = np.uint64(root)
    for i in range(X.shape[0]):
        place[i] = 0
    for _ in range(depth):
        for row in range(X.shape[0]):
            i = np.uint64(row)
            step = steps[root + np.uint64(place[i])]
            x = X[i, np.uint64(step.feature >> 1)]
            place[i] = step.left + ((x > step.threshold) | ((x != x) & ((step.feature & 1) != 0)))


@compiled_part
def _walk_by_categories(X, nodes, masks, root, place):
    """The same where a set of categories may decide; each row goes its way to the end."""
    for i in range(X.shape[0]):
        n = root
        f = nodes[n].feature
        while f >= 0:
            n = root + nodes[n].left + goes_right(X[i, f], nodes, n, masks)
            f = nodes[n].feature
        place[i] = n - root


@compiled
def add_scores(X, nodes, masks, values, scorer, begin, end, place, columns):
    """Add the leaf vectors of trees ``begin`` to ``end`` to the columns of each row; ``place`` is room for a number a row."""
    for t in range(begin, end):
        tree = scorer.trees[t]
        root = np.uint64(tree.root)
        if tree.by_categories:
            _walk_by_categories(X, nodes, masks, tree.root, place)
        else:
            _walk_by_thresholds(X, scorer.steps, tree.root, tree.depth, place)
        if tree.width == 0:
            for row in range(X.shape[0]):
                i = np.uint64(row)
                leaf = scorer.ends[root + np.uint64(place[i])]
                columns[i, np.uint64(leaf.place)] += leaf.amount
        else:
            for row in range(X.shape[0]):
                i = np.uint64(row)
                at = scorer.ends[root + np.uint64(place[i])].place
                for k in range(tree.width):
                    columns[i, np.uint64(tree.column + k)] += values[np.uint64(at + k)]
