"""The tree while it grows: its nodes, the stretch of rows that each has, and which of them to split next."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import FEATURE_MAJOR
from manyboost.trees.criteria import ENTROPY, GINI, SHARED_SIGN, Rule, label_range, node_weight, signed_loss
from manyboost.trees.node_sums import Grid, has_pairs, look_through_best_pair, sum_rows, sum_runs
from manyboost.trees.routing import partition, tell_sides

MASK_WORDS = 4  # 256 categories
NOT_COUNTED = -1  # where a leaf's rows end, and its sibling's begin, before the tree is closed
SPLIT = [
    ("gain", np.float64),
    ("feature", np.int32),  # -1: none
    ("bin", np.int32),  # at or below: left; -1 at a categorical split
    ("missing_left", np.bool_),
    ("mask", np.uint64, (MASK_WORDS,)),  # categories that go left
]
BEST = np.dtype(SPLIT, align=True)
NODE = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("depth", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("slot", np.int32),  # of its histogram, or -1
        ("sign", np.int32),  # for the shared_sign criterion
        *SPLIT,
    ],
    align=True,
)
# What is going on, one int64 each: counts, then the job: two siblings to evaluate and where their histograms are.
N_LEAVES, N_NODES, N_OPEN, N_FREE, SMALL, LARGE, SMALL_OPEN, LARGE_OPEN, SMALL_SLOT, LARGE_SLOT, PARENT_SLOT, WHOLE = range(12)
MORE = 12  # is there a job?
IN_ORDER = 13  # are the root's rows all of the table, in their order, and not to be looked up?
N_NOW = 14


class Limits(NamedTuple):
    """When to stop splitting, and how to draw and compare splits."""

    max_depth: int
    max_leaves: int
    min_leaf: int
    min_split: int
    min_weight: float
    best_first: bool
    tie: float
    seed: np.uint64


class Growth(NamedTuple):
    """A tree that grows."""

    nodes: NDArray[np.void]
    sums: NDArray[np.int64]  # (nodes, S)
    left: NDArray[np.int64]  # (nodes, S) sums of the left side of the split at hand
    open: NDArray[np.int32]  # nodes with a split at hand
    free: NDArray[np.int32]  # histogram slots
    signed: NDArray[np.int64]  # sum over leaves of sign times sums, for shared_sign
    now: NDArray[np.int64]
    runs: NDArray[np.int64]  # (3, most runs + 2) runs of one label among the rows of the job's nodes, and among all rows
    root: NDArray[np.int64]  # the histogram of all rows where it is kept from tree to tree; else of size 0
    rows: NDArray[np.int32]  # each node owns a stretch
    buffer: NDArray[np.int32]


@compiled
def _weight_of_rows(grid, rule, rows, tie, total):
    first = np.int64(0)
    if has_pairs(grid.shares):
        look_through_best_pair(grid.shares, grid.dense, rows, first, rows.size, tie)
    sum_rows(grid, rows, first, rows.size, total)
    return node_weight(rule, total, grid.n_dense, grid.n_labels)


def weight_of_rows(grid: Grid, rule: Rule, rows: NDArray[np.int32], tie: float) -> float:
    """The weight of a node of these rows, in units of the grid."""
    return float(_weight_of_rows(grid, rule, rows, tie, np.zeros(grid.size, np.int64)))


@compiled_part
def _add_node(nodes, now, start, end, depth):
    number = now[N_NODES]
    now[N_NODES] += 1
    node = nodes[number]
    node.start = start
    node.end = end
    node.depth = depth
    node.left = -1
    node.right = -1
    node.slot = -1
    node.sign = 1
    node.gain = 0.0
    node.feature = -1
    node.bin = -1
    node.missing_left = False
    return number


@compiled_part
def _may_split(code, n_dense, n_labels, limits, node, sums):
    n = node.end - node.start
    if node.depth >= limits.max_depth or n < limits.min_split or n < 2 * limits.min_leaf:
        return 0
    if code == GINI or code == ENTROPY:
        n_present = 0
        first, last = label_range(n_dense, n_labels)
        for k in range(first, last):
            n_present += sums[k] > 0
        return np.int64(n_present > 1)
    return 1


@compiled_part
def _new_slot(max_depth, free, now, depth):
    """A place for the histogram of a node whose children may be evaluated, if there is one."""
    if depth + 1 >= max_depth or now[N_FREE] == 0:
        return np.int64(-1)
    now[N_FREE] -= 1
    return np.int64(free[now[N_FREE]])


@compiled_part
def _release(free, now, slot):
    if slot >= 0:
        free[now[N_FREE]] = slot
        now[N_FREE] += 1


@compiled_part
def start_tree(grid, rule, limits, growth, whole):
    """Make the root, which is the first job; False when it may not be split. Where it has all rows of the table, they stand in order."""
    now = growth.now
    for slot in range(now.size):
        now[slot] = 0
    now[N_LEAVES] = 1
    now[N_FREE] = growth.free.size
    for slot in range(growth.free.size):
        growth.free[slot] = slot
    first = np.int64(0)  # of the type of any node's first row: literals would have the parts compiled once more
    root = _add_node(growth.nodes, now, first, growth.rows.size, np.int32(0))
    if has_pairs(grid.shares):
        look_through_best_pair(grid.shares, grid.dense, growth.rows, first, growth.rows.size, limits.tie)
    if growth.root.size == 0:  # else they have been added up with it
        if growth.runs[2, 0] > 0:
            sum_runs(grid, growth.runs[2], growth.sums[root])
        else:
            sum_rows(grid, growth.rows, first, growth.rows.size, growth.sums[root])
    if rule.code == SHARED_SIGN:
        for k in range(rule.n_outputs):
            growth.signed[k] = growth.sums[root, k]
    now[SMALL] = root
    now[SMALL_OPEN] = limits.max_leaves > 1 and _may_split(
        rule.code, grid.n_dense, grid.n_labels, limits, growth.nodes[root], growth.sums[root]
    )
    now[SMALL_SLOT] = _new_slot(limits.max_depth, growth.free, now, np.int32(0)) if now[SMALL_OPEN] else -1
    now[LARGE] = -1
    now[LARGE_SLOT] = -1
    now[PARENT_SLOT] = -1
    now[WHOLE] = whole
    return now[SMALL_OPEN] == 1


@compiled_part
def _take_open(best_first, nodes, open_nodes, now):
    """The open node to split next: the last one, or the one of greatest gain, the oldest among equals."""
    at = now[N_OPEN] - 1
    if best_first:
        for u in range(now[N_OPEN] - 1):
            candidate, best = open_nodes[u], open_nodes[at]
            if nodes[candidate].gain > nodes[best].gain or (nodes[candidate].gain == nodes[best].gain and candidate < best):
                at = u
    node = open_nodes[at]
    now[N_OPEN] -= 1
    open_nodes[at] = open_nodes[now[N_OPEN]]
    return node


@compiled_part
def _give_signs(rule, nodes, sums, signed, node, left, right):
    """Give the children the opposite signs that lower REBEL's loss most, the other leaves being as they are now."""
    for k in range(rule.n_outputs):
        signed[k] -= nodes[node].sign * sums[node, k]
    plus = signed_loss(rule, signed, sums[left], sums[right], np.int64(1))
    minus = signed_loss(rule, signed, sums[left], sums[right], np.int64(-1))
    sign = 1 if plus <= minus else -1
    nodes[left].sign = sign
    nodes[right].sign = -sign
    for k in range(rule.n_outputs):
        signed[k] += sign * (sums[left, k] - sums[right, k])


@compiled_part
def split_next(table, grid, rule, limits, growth):
    """Split open nodes until one has a child that may be split again: its children are the job. False when the tree is done."""
    nodes, sums, now = growth.nodes, growth.sums, growth.now
    while now[N_OPEN] > 0 and now[N_LEAVES] < limits.max_leaves:
        node = _take_open(limits.best_first, nodes, growth.open, now)
        # rows need not be moved where both sides are leaves for sure: close_tree counts them
        is_last = nodes[node].depth + 1 >= limits.max_depth or now[N_LEAVES] + 1 >= limits.max_leaves
        if is_last and table.layout == FEATURE_MAJOR:
            middle = np.int64(NOT_COUNTED)
        else:
            middle = np.int64(partition(table, nodes[node], growth.rows, growth.buffer, node == 0 and now[IN_ORDER] == 1))
        for side in range(2):
            start, end = (nodes[node].start, middle) if side == 0 else (middle, nodes[node].end)
            child = _add_node(nodes, now, start, end, np.int32(nodes[node].depth + 1))
            if side == 0:
                nodes[node].left = child
            else:
                nodes[node].right = child
        left, right = nodes[node].left, nodes[node].right
        now[N_LEAVES] += 1
        small, large = (left, right) if middle - nodes[node].start <= nodes[node].end - middle else (right, left)
        # each child has a pair of its own, so its sums are no part of its parent's; a leaf keeps the parent's, which nobody reads
        if has_pairs(grid.shares) and not is_last:
            for child in (left, right):
                look_through_best_pair(grid.shares, grid.dense, growth.rows, nodes[child].start, nodes[child].end, limits.tie)
                sum_rows(grid, growth.rows, nodes[child].start, nodes[child].end, sums[child])
        else:
            for s in range(grid.size):
                sums[left, s] = growth.left[node, s]
                sums[right, s] = sums[node, s] - growth.left[node, s]
        if rule.code == SHARED_SIGN:
            _give_signs(rule, nodes, sums, growth.signed, node, left, right)
        slot = np.int64(nodes[node].slot)
        nodes[node].slot = -1
        now[SMALL] = small
        now[LARGE] = large
        for which in range(2):
            child = now[SMALL + which]
            now[SMALL_OPEN + which] = _may_split(rule.code, grid.n_dense, grid.n_labels, limits, nodes[child], sums[child])
        if (now[SMALL_OPEN] or now[LARGE_OPEN]) and now[N_LEAVES] < limits.max_leaves:
            now[PARENT_SLOT] = slot
            for which in range(2):
                keep_parent = which == 1 and slot >= 0
                new = now[SMALL_OPEN + which] == 1 and not keep_parent
                now[SMALL_SLOT + which] = (
                    _new_slot(limits.max_depth, growth.free, now, nodes[small].depth) if new else slot if keep_parent else -1
                )
            now[WHOLE] = 0
            return True
        _release(growth.free, now, slot)
    return False


@compiled_part
def settle(grid, rule, growth, best, lefts):
    """Open the job's nodes that have a split, close the others; the left one last, so that depth-first it is split first.

    Which of them is smaller is a matter of speed: what is drawn for a node hangs on its number, and must not hang on that.
    """
    now = growth.now
    for turn in range(2):
        which = turn if now[SMALL] > now[LARGE] else 1 - turn
        if now[SMALL + which] < 0:
            continue
        node, split = growth.nodes[now[SMALL + which]], best[which]
        if now[SMALL_OPEN + which] == 0 or split.feature < 0:
            _release(growth.free, now, now[SMALL_SLOT + which])
            continue
        node.gain = split.gain * node_weight(rule, growth.sums[now[SMALL + which]], grid.n_dense, grid.n_labels)
        node.feature = split.feature
        node.bin = split.bin
        node.missing_left = split.missing_left
        node.slot = now[SMALL_SLOT + which]
        for word in range(MASK_WORDS):
            node.mask[word] = split.mask[word]
        for s in range(grid.size):
            growth.left[now[SMALL + which], s] = lefts[which, s]
        growth.open[now[N_OPEN]] = now[SMALL + which]
        now[N_OPEN] += 1


@compiled_part
def close_tree(table, growth, leaf):
    """Undo the splits that were not made, number the leaves and tell each of the rows its leaf."""
    nodes = growth.nodes
    for u in range(growth.now[N_OPEN]):
        node = nodes[growth.open[u]]
        node.gain = 0.0
        node.feature = -1
        node.bin = -1
        node.missing_left = False
    n_nodes = growth.now[N_NODES]
    number = np.empty(n_nodes, np.int32)
    n_leaves = 0
    for n in range(n_nodes):
        node = nodes[n]
        if node.feature < 0 or node.bin >= 0:
            for word in range(MASK_WORDS):
                node.mask[word] = 0
        number[n] = n_leaves
        if node.feature < 0:
            n_leaves += 1
            if node.start != NOT_COUNTED and node.end != NOT_COUNTED:
                in_order = n == 0 and growth.now[IN_ORDER] == 1
                for r in range(node.start, node.end):
                    leaf[r if in_order else growth.rows[r]] = number[n]
    for n in range(n_nodes):
        node = nodes[n]
        if node.feature >= 0 and nodes[node.left].end == NOT_COUNTED:
            in_order = n == 0 and growth.now[IN_ORDER] == 1
            middle = node.end - tell_sides(table, node, growth.rows, in_order, number[node.left], leaf)
            nodes[node.left].end = middle
            nodes[node.right].start = middle
