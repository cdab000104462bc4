"""Cut a grown tree back: leaves that say the same, or splits that are not worth their leaves.

Both need statistics that are label weights, so that a node says one label, the heaviest, and errs on the weight of the others. Other
statistics may stand before them; ``n_beside`` is how many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from manyboost.trees.binning import Table
from manyboost.trees.growing import Tree
from manyboost.trees.random_numbers import seed_of, uniform_of_keys
from manyboost.trees.statistics import Floats, Statistics

N_FOLDS = 5


def _collapsed(tree: Tree, collapse: NDArray[np.bool_]) -> Tree:
    """The tree in which every split marked in ``collapse`` is a leaf."""
    if not collapse.any():
        return tree
    nodes = tree.nodes.copy()
    for name, value in (("feature", -1), ("bin", -1), ("left", -1), ("right", -1), ("gain", 0.0), ("missing_left", False), ("mask", 0)):
        nodes[name][collapse] = value
    split = nodes["feature"] >= 0
    kept = np.zeros(len(nodes), bool)
    kept[0] = True
    for n, left, right in zip(np.flatnonzero(split).tolist(), nodes["left"][split].tolist(), nodes["right"][split].tolist(), strict=True):
        kept[left] = kept[right] = kept[n]
    number = np.cumsum(kept) - 1
    for side in ("left", "right"):
        nodes[side] = np.where(split, number[np.maximum(nodes[side], 0)], -1)
    return Tree(nodes[kept], tree.sums[kept])


def merge_equal_leaves(tree: Tree, n_beside: int = 0) -> Tree:
    """Collapse, from the bottom up, every split whose two sides are leaves of the same label."""
    said: list[int] = np.where(
        tree.is_leaf, tree.sums[:, n_beside:].argmax(axis=1), -1
    ).tolist()  # -1 for nodes with leaves of several labels
    collapse = np.zeros(len(said), bool)
    splits = np.flatnonzero(~tree.is_leaf)[::-1]
    for n, left, right in zip(splits.tolist(), tree.nodes["left"][splits].tolist(), tree.nodes["right"][splits].tolist(), strict=True):
        if said[left] == said[right] >= 0:
            collapse[n], said[n] = True, said[left]
    return _collapsed(tree, collapse)


def weakest_links(tree: Tree, n_beside: int = 0) -> tuple[Floats, Floats]:
    """Breiman's pruning sequence: the complexities at which the tree shrinks, and for each node the one at which it is collapsed.

    A node is collapsed at the least price per leaf at which it, or an ancestor, is no worse than its branch.
    """
    n_nodes = len(tree.nodes)
    votes = tree.sums[:, n_beside:]
    weight = votes.sum(axis=1)
    error = weight - votes.max(axis=1)
    rounding = 2.0**-48 * weight  # what is left of equal errors
    left, right = tree.nodes["left"], tree.nodes["right"]
    collapsed_at = np.full(n_nodes, np.inf)
    leaf = tree.is_leaf.copy()
    steps, price = [0.0], 0.0
    while not leaf[0]:
        branch_error, n_leaves = error.copy(), np.ones(n_nodes)
        live = np.zeros(n_nodes, bool)
        live[0] = True
        for n in range(n_nodes):
            if live[n] and not leaf[n]:
                live[[left[n], right[n]]] = True
        splits = np.flatnonzero(live & ~leaf)
        for n in splits[::-1]:
            branch_error[n] = branch_error[left[n]] + branch_error[right[n]]
            n_leaves[n] = n_leaves[left[n]] + n_leaves[right[n]]
        fall = error[splits] - branch_error[splits]
        fall[fall <= rounding[splits]] = 0.0
        link = fall / (n_leaves[splits] - 1)
        price = max(price, float(link.min()))
        weakest = splits[link <= price * (1 + 1e-12)]
        leaf[weakest] = True
        collapsed_at[weakest] = price
        steps.append(price)
    return np.unique(steps), collapsed_at


def prune_by_cost_complexity(
    tree: Tree, table: Table, statistics: Statistics, rows: NDArray[np.int32], keys: NDArray[np.uint64], seed: int,
    grow: Callable[[NDArray[np.int32]], Tree],
) -> Tree:  # fmt: skip
    """Prune at the price per leaf of least cross-validated error on ``rows`` (five folds; the highest such price).

    A row's fold follows from its key: copies of a row stay together, or one of them would tell what the other is.
    """
    n_beside = statistics.n_dense if statistics.n_labels else 0
    steps, collapsed_at = weakest_links(tree, n_beside)
    candidates = np.append(np.sqrt(steps[:-1] * steps[1:]), steps[-1])
    fold = (uniform_of_keys(seed_of(seed, N_FOLDS), keys[rows]) * N_FOLDS).astype(int)
    errors = np.zeros(len(candidates))
    for k in range(N_FOLDS):
        train, test = rows[fold != k], rows[fold == k]
        if not len(train) or not len(test):
            continue
        other = grow(train)
        _, other_at = weakest_links(other, n_beside)
        share = other.sums[0, n_beside:].sum() / tree.sums[0, n_beside:].sum()  # of the weight, by which prices grow
        for c, price in enumerate(candidates):
            smaller = _collapsed(other, other_at <= price * share)
            said = smaller.sums[smaller.is_leaf, n_beside:].argmax(axis=1)[smaller.leaves_of(table)]
            errors[c] += statistics.missed(test, said[test])
    best = candidates[np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1]]
    return _collapsed(tree, collapsed_at <= best)
