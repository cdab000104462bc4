"""The tree while it grows: its nodes, the rows that each has, and which of them to split next.

Rows are dealt out to threads that grow a tree together, for good: what a thread moves and counts is its own, and stays near it. So a node
has a stretch of rows in the part of each; one thread has all in one part. ``start`` and ``end`` of a node are where its rows would be then.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import FEATURE_MAJOR
from manyboost.trees.criteria import ENTROPY, GINI, SHARED_SIGN, Rule, label_range, node_weight, signed_loss
from manyboost.trees.node_sums import Grid, has_pairs, look_through_best_pair, sum_parts, sum_runs
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
        ("start", np.int64),  # as if all rows were in one part: the stretches of its rows are elsewhere
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
IN_ORDER = 13  # are the root's rows all of the table, and those of each part in their order, and not to be looked up?
AT_HAND = 14  # the node that is being split; -1 when the tree is done
SPLITS = 15  # is it? At first there is the root, which is no node's child
N_NOW = 16


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
    stretch: NDArray[np.int64]  # (parts, nodes, 2) where the rows of a node begin and end in each part
    of_part: NDArray[np.int64] | None  # (parts, S) sums of the rows of each part; None where the kernel always keeps the root's histogram
    open: NDArray[np.int32]  # nodes with a split at hand
    free: NDArray[np.int32]  # histogram slots
    signed: NDArray[np.int64]  # sum over leaves of sign times sums, for shared_sign
    now: NDArray[np.int64]
    runs: NDArray[np.int64]  # (2 parts + 1, most runs + 2) runs of one label among the rows of the job's nodes, and last among all rows
    root: NDArray[np.int64]  # the histogram of all rows where it is kept from tree to tree; else of size 0
    pieces: NDArray[np.int64]  # (parts, segments, 2) where the rows begin and end that are dealt out to each
    rows: NDArray[np.int32]
    buffer: NDArray[np.int32]


@compiled
def _weight_of_rows(grid, rule, rows, tie, total):
    stretches = np.zeros((1, 2), np.int64)
    stretches[0, 1] = rows.size
    if has_pairs(grid.shares):
        look_through_best_pair(grid.shares, grid.dense, rows, stretches, tie)
    sum_parts(grid, rows, stretches, total)
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
def runs_of_all(growth):
    """Runs of one label among all rows."""
    return growth.runs[growth.runs.shape[0] - 1]


@compiled_part
def place_of_part(pieces, part):
    """Where the rows of a part are to stand: from where to where."""
    start, end = np.int64(0), np.int64(0)
    for before in range(part + 1):
        start = end
        for piece in range(pieces.shape[1]):
            end += pieces[before, piece, 1] - pieces[before, piece, 0]
    return start, end


@compiled_part
def place_part(growth, part):
    """Give a part its place."""
    start, end = place_of_part(growth.pieces, part)
    growth.stretch[part, 0, 0], growth.stretch[part, 0, 1] = start, end


@compiled_part
def deal_rows(growth, whole, part):
    """Give a part its rows: of all of the table, or of those that stand in the buffer."""
    at, rows, buffer = growth.stretch[part, 0, 0], growth.rows, growth.buffer
    for piece in range(growth.pieces.shape[1]):
        for i in range(growth.pieces[part, piece, 0], growth.pieces[part, piece, 1]):
            rows[at] = i if whole else buffer[i]
            at += 1


@compiled_part
def sum_part(grid, growth, of_part, part, in_order):
    """The sums of a part's rows, if they are not found otherwise."""
    if of_part is None:
        return
    if growth.root.size == 0 and not has_pairs(grid.shares):
        stretches = growth.stretch[part : part + 1, 0]
        if in_order and runs_of_all(growth)[0] > 0:
            sum_runs(grid, runs_of_all(growth), growth.pieces[part], of_part[part])
        else:
            sum_parts(grid, growth.rows, stretches, of_part[part])


@compiled_part
def _sum_root(of_part, sums):
    """The root's sums by those of the parts."""
    if of_part is None:
        return
    for s in range(sums.size):
        sums[s] = 0
        for part in range(of_part.shape[0]):
            sums[s] += of_part[part, s]


@compiled_part
def _sum_by_best_pair(shares, grid, growth, tie, node):
    """Look at a node's rows through its best pair of classes, and add up what is seen; nothing where no node has a pair of its own."""
    if shares is None:
        return
    stretches = growth.stretch[:, node]
    look_through_best_pair(shares, grid.dense, growth.rows, stretches, tie)
    sum_parts(grid, growth.rows, stretches, growth.sums[node])


@compiled_part
def start_tree(grid, rule, limits, growth):
    """Make the root, which is the first job; it is at hand unless it may not be split."""
    now = growth.now
    for slot in range(now.size):
        now[slot] = 0
    now[N_LEAVES] = 1
    now[N_FREE] = growth.free.size
    for slot in range(growth.free.size):
        growth.free[slot] = slot
    # of the type of any node's first row: literals would have the parts compiled once more
    root = _add_node(growth.nodes, now, np.int64(0), growth.rows.size, np.int32(0))
    if has_pairs(grid.shares):
        _sum_by_best_pair(grid.shares, grid, growth, limits.tie, root)
    elif growth.root.size == 0:  # else they have been added up with it
        _sum_root(growth.of_part, growth.sums[root])
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
    now[MORE] = now[SMALL_OPEN]
    now[AT_HAND] = root if now[MORE] else -1


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
def _has_last_children(max_depth, max_leaves, node, now):
    """Are both children leaves for sure?"""
    return node.depth + 1 >= max_depth or now[N_LEAVES] + 1 >= max_leaves


@compiled_part
def next_to_split(table, grid, rule, limits, growth):
    """Split open nodes until one must have its rows parted: it is at hand.

    Rows need not be moved where both sides are leaves for sure: they are counted when they are told their leaves.
    """
    nodes, now = growth.nodes, growth.now
    now[SPLITS] = 1
    while now[N_OPEN] > 0 and now[N_LEAVES] < limits.max_leaves:
        number = np.int64(_take_open(limits.best_first, nodes, growth.open, now))
        if table.layout != FEATURE_MAJOR or not _has_last_children(limits.max_depth, limits.max_leaves, nodes[number], now):
            now[AT_HAND] = number
            return
        _add_children(grid, rule, limits, growth, number, np.int64(NOT_COUNTED))
        _release(growth.free, now, np.int64(nodes[number].slot))
        nodes[number].slot = -1
    _undo_open_splits(growth)
    now[AT_HAND] = -1


@compiled_part
def _is_in_order(growth, number):
    """Are the rows of a node all of the table, not to be looked up?"""
    return number == 0 and growth.now[IN_ORDER] == 1


@compiled_part
def _pieces_of_node(growth, part, number):
    """Where a part's rows of a node begin and end: in their order, pieces of the table, and else the stretch where they stand."""
    return growth.pieces[part] if _is_in_order(growth, number) else growth.stretch[part, number : number + 1]


@compiled_part
def part_rows(table, growth, part):
    """Part the rows of the node at hand, those of one part: its children are the next two nodes."""
    now, stretch = growth.now, growth.stretch[part]
    number = now[AT_HAND]
    start, end = stretch[number, 0], stretch[number, 1]
    buffer, pieces = growth.buffer[stretch[0, 0] :], _pieces_of_node(growth, part, number)
    middle = np.int64(partition(table, growth.nodes[number], growth.rows, start, pieces, buffer, _is_in_order(growth, number)))
    left = stretch[now[N_NODES]]
    right = stretch[now[N_NODES] + 1]
    left[0], left[1], right[0], right[1] = start, middle, middle, end


@compiled_part
def _add_children(grid, rule, limits, growth, number, middle):
    """Add the children of a node, of which the second starts at ``middle``."""
    nodes, sums, now = growth.nodes, growth.sums, growth.now
    node = nodes[number]
    for side in range(2):
        start, end = (node.start, middle) if side == 0 else (middle, node.end)
        child = _add_node(nodes, now, start, end, np.int32(node.depth + 1))
        if side == 0:
            node.left = child
        else:
            node.right = child
    left, right = node.left, node.right
    now[N_LEAVES] += 1
    # each child has a pair of its own, so its sums are no part of its parent's; a leaf keeps the parent's, which nobody reads
    if has_pairs(grid.shares) and node.depth + 1 < limits.max_depth and now[N_LEAVES] < limits.max_leaves:
        for child in (left, right):
            _sum_by_best_pair(grid.shares, grid, growth, limits.tie, np.int64(child))
    else:
        for s in range(grid.size):
            sums[left, s] = growth.left[number, s]
            sums[right, s] = sums[number, s] - growth.left[number, s]
    if rule.code == SHARED_SIGN:
        _give_signs(rule, nodes, sums, growth.signed, number, left, right)


@compiled_part
def make_job(grid, rule, limits, growth):
    """Split the node at hand, whose rows are parted: its children are the job if one of them may be split again."""
    nodes, sums, now = growth.nodes, growth.sums, growth.now
    number, n_left = now[AT_HAND], np.int64(0)
    node = nodes[number]
    for part in range(growth.stretch.shape[0]):
        n_left += growth.stretch[part, now[N_NODES], 1] - growth.stretch[part, now[N_NODES], 0]
    _add_children(grid, rule, limits, growth, number, node.start + n_left)
    left, right = node.left, node.right
    small, large = (left, right) if 2 * n_left <= node.end - node.start else (right, left)
    slot = np.int64(node.slot)
    node.slot = -1
    now[SMALL] = small
    now[LARGE] = large
    for which in range(2):
        child = now[SMALL + which]
        now[SMALL_OPEN + which] = _may_split(rule.code, grid.n_dense, grid.n_labels, limits, nodes[child], sums[child])
    now[MORE] = (now[SMALL_OPEN] or now[LARGE_OPEN]) and now[N_LEAVES] < limits.max_leaves
    if not now[MORE]:
        _release(growth.free, now, slot)
        return
    now[PARENT_SLOT] = slot
    for which in range(2):
        keep_parent = which == 1 and slot >= 0
        new = now[SMALL_OPEN + which] == 1 and not keep_parent
        now[SMALL_SLOT + which] = _new_slot(limits.max_depth, growth.free, now, nodes[small].depth) if new else slot if keep_parent else -1
    now[WHOLE] = 0


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
def _undo_open_splits(growth):
    """When no more nodes are split."""
    nodes = growth.nodes
    for u in range(growth.now[N_OPEN]):
        node = nodes[growth.open[u]]
        node.gain = 0.0
        node.feature = -1
        node.bin = -1
        node.missing_left = False


@compiled_part
def tell_leaves(table, growth, part, leaf):
    """Number the leaves and tell each row of a part its leaf; where rows were not moved, find how many there are."""
    nodes, rows, stretch, n_nodes = growth.nodes, growth.rows, growth.stretch[part], growth.now[N_NODES]
    number = np.empty(n_nodes, np.int32)
    n_leaves = 0
    for n in range(n_nodes):
        node = nodes[n]
        number[n] = n_leaves
        if node.feature < 0:
            n_leaves += 1
            if node.start != NOT_COUNTED and node.end != NOT_COUNTED:
                in_order, pieces = _is_in_order(growth, n), _pieces_of_node(growth, part, n)
                for piece in range(pieces.shape[0]):
                    for r in range(pieces[piece, 0], pieces[piece, 1]):
                        leaf[r if in_order else rows[r]] = number[n]
    for n in range(n_nodes):
        node = nodes[n]
        if node.feature >= 0 and nodes[node.left].end == NOT_COUNTED:
            pieces = _pieces_of_node(growth, part, n)
            n_right = tell_sides(table, node, rows, pieces, _is_in_order(growth, n), number[node.left], leaf)
            stretch[node.left, 0], stretch[node.left, 1] = stretch[n, 0], stretch[n, 1] - n_right


@compiled_part
def finish_nodes(growth):
    """When all parts have told their rows: where leaves would be whose rows were not moved, and no categories where there are none."""
    nodes, stretch = growth.nodes, growth.stretch
    for n in range(growth.now[N_NODES]):
        node = nodes[n]
        if node.feature >= 0 and nodes[node.left].end == NOT_COUNTED:
            middle = node.start
            for part in range(stretch.shape[0]):
                middle += stretch[part, node.left, 1] - stretch[part, node.left, 0]
            nodes[node.left].end = middle
            nodes[node.right].start = middle
        if node.feature < 0 or node.bin >= 0:
            for word in range(MASK_WORDS):
                node.mask[word] = 0
