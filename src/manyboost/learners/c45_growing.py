"""Grow and prune a C4.5 tree in one walk, compiled.

A node is entered, its rows are shared out among its children, and when all of them are done it is left. On leaving,

1. it becomes a leaf if its subtree, as grown, makes no fewer training errors (less 0.001);
2. else, with the errors expected by :mod:`manyboost.learners.error_based_pruning`, it becomes a leaf if that is expected to make hardly
   more errors (0.1) than its subtree and than its largest branch in its place;
3. else, if its largest branch in its place is expected to make hardly more errors than the subtree, that branch is raised: it takes the
   place of the node, all rows of the node go through it, and what is in it is pruned again.

The rows of the nodes on the path are segments of one pool. Where all values are known, children are parts of their parent's segment; rows
without a value go to all children with a share of their weight, and the children then stand behind in the pool. So the rows of a node are
still there when it is left. There is no recursion, so that a degenerate tree cannot exhaust the stack.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.learners.error_based_pruning import added_errors
from manyboost.learners.gain_ratio import CELLS_PER_ROW, EPS, Data, Scratch, best_split
from manyboost.trees.statistics import Floats

LEAF, UNSEEN = -1, -2
ENTER, LEAVE_GROWN, LEAVE_ROUTED = 0, 1, 2
FULL, NO_VALUE = -1, -2  # the pool is full; no row has a value for the split
TRAINING_SLACK = 1e-3
EXPECTED_SLACK = 0.1


class Pruning(NamedTuple):
    """Which steps are taken, and the confidence with its normal quantile."""

    collapse: Any
    prune: Any
    raising: Any
    confidence: Any
    z: Any


class Nodes(NamedTuple):
    """The nodes, those that were pruned away included. Children stand side by side."""

    feature: Any
    cut: Any  # the code up to which rows go left
    first: Any
    n_children: Any
    begin: Any
    end: Any
    top: Any  # end of the pool when the node was entered
    grown_errors: Any  # training errors of the subtree as grown
    expected: Any  # errors expected after pruning
    count: Any  # (nodes, K) units
    stack: Any  # nodes that wait; each is there at most once
    stage: Any
    way: Any  # room for a second walk: node, begin, end, top


class Pool(NamedTuple):
    """Rows with their weights, room to share them out, and the children's segments of the last split."""

    rows: Any
    units: Any
    rows_aside: Any
    units_aside: Any
    branch: Any
    bag: Any
    begin: Any
    end: Any


@compiled_part
def larger(array, size):
    out = np.empty(size, array.dtype)
    for i in range(len(array)):  # a copy of slices takes the compiler much longer
        out[i] = array[i]
    return out


@compiled_part
def larger_table(array, size):
    out = np.empty((size, array.shape[1]), array.dtype)
    for i in range(array.shape[0]):
        for k in range(array.shape[1]):
            out[i, k] = array[i, k]
    return out


@compiled_part
def more_nodes(nodes, size):
    return Nodes(
        larger(nodes.feature, size), larger(nodes.cut, size), larger(nodes.first, size), larger(nodes.n_children, size),
        larger(nodes.begin, size), larger(nodes.end, size), larger(nodes.top, size), larger(nodes.grown_errors, size),
        larger(nodes.expected, size), larger_table(nodes.count, size), larger(nodes.stack, size), larger(nodes.stage, size),
        larger_table(nodes.way, size),
    )  # fmt: skip


@compiled_part
def larger_pool(pool):
    size = 2 * len(pool.rows)
    return Pool(
        larger(pool.rows, size), larger(pool.units, size), pool.rows_aside, pool.units_aside, pool.branch, pool.bag, pool.begin, pool.end
    )


@compiled_part
def share_out(data, feature, cut, n_children, pool, begin, end, top):
    """Give each child its rows; returns the new end of the pool. A row without a value goes to all, by their share of the known weight."""
    column, nominal = data.codes[feature], data.nominal[feature]
    for c in range(n_children):
        pool.begin[c] = 0
        pool.end[c] = 0
        pool.bag[c] = 0
    n_missing = 0
    for i in range(begin, end):
        code = column[pool.rows[i]]
        child = -1
        if code >= 0:
            child = code if nominal else (0 if code <= cut else 1)
            pool.end[child] += 1
            pool.bag[child] += pool.units[i]
        else:
            n_missing += 1
        pool.branch[i - begin] = child
    if n_missing == 0:
        at = begin
        for c in range(n_children):
            pool.begin[c] = at
            at += pool.end[c]
            pool.end[c] = pool.begin[c]
        for i in range(begin, end):
            to = pool.end[pool.branch[i - begin]]
            pool.rows_aside[to - begin], pool.units_aside[to - begin] = pool.rows[i], pool.units[i]
            pool.end[pool.branch[i - begin]] += 1
        for i in range(begin, end):
            pool.rows[i], pool.units[i] = pool.rows_aside[i - begin], pool.units_aside[i - begin]
        return top
    known, at, last = np.int64(0), top, -1
    for c in range(n_children):
        if pool.bag[c] > 0:
            known += pool.bag[c]
            last = c
            pool.begin[c] = at
            at += pool.end[c] + n_missing
        else:
            pool.begin[c] = at
        pool.end[c] = pool.begin[c]
    if known == 0:
        return NO_VALUE
    if at > len(pool.rows):
        return FULL
    for i in range(begin, end):
        child = pool.branch[i - begin]
        if child >= 0:
            to = pool.end[child]
            pool.rows[to], pool.units[to] = pool.rows[i], pool.units[i]
            pool.end[child] += 1
            continue
        weight, given, up_to = pool.units[i], np.int64(0), np.int64(0)
        for c in range(last + 1):  # differences of rounded running totals: the parts add up to the weight
            if pool.bag[c] == 0:
                continue
            up_to += pool.bag[c]
            goal = weight if c == last else min(weight, np.int64(weight * (up_to / known)))
            if goal > given:
                to = pool.end[c]
                pool.rows[to], pool.units[to] = pool.rows[i], goal - given
                pool.end[c] += 1
                given = goal
    return at


@compiled_part
def total_and_largest(count):
    total, largest = np.int64(0), np.int64(0)
    for k in range(len(count)):
        total += count[k]
        largest = max(largest, count[k])
    return total, largest


@compiled_part
def count_classes(data, pool, begin, end, count):
    """The weight of each class; returns the total and the largest."""
    for k in range(data.n_classes):
        count[k] = 0
    for i in range(begin, end):
        count[data.y[pool.rows[i]]] += pool.units[i]
    return total_and_largest(count)


@compiled_part
def expected_errors(total, largest, scale, pruning):
    if total == 0:
        return 0.0
    errors = (total - largest) * scale
    return errors + added_errors(total * scale, errors, pruning.confidence, pruning.z)


@compiled_part
def expected_of_branch(data, nodes, pool, pruning, branch, begin, end, top, enough, count):
    """Errors expected of a branch if the rows of another node went through it, as far as they are not more than ``enough``."""
    way, depth, errors = nodes.way, 1, 0.0
    way[0, 0], way[0, 1], way[0, 2], way[0, 3] = branch, begin, end, top
    while depth > 0 and errors <= enough:
        depth -= 1
        node, begin, end, top = way[depth, 0], way[depth, 1], way[depth, 2], way[depth, 3]
        if end == begin:
            continue
        above = NO_VALUE
        if nodes.feature[node] >= 0:
            above = share_out(data, nodes.feature[node], nodes.cut[node], nodes.n_children[node], pool, begin, end, top)
            if above == FULL:
                return -1.0
        if above == NO_VALUE:
            total, largest = count_classes(data, pool, begin, end, count)
            errors += expected_errors(total, largest, data.scale, pruning)
            continue
        for c in range(nodes.n_children[node]):
            way[depth, 0], way[depth, 1], way[depth, 2], way[depth, 3] = nodes.first[node] + c, pool.begin[c], pool.end[c], above
            depth += 1
    return errors


@compiled_part
def find_cut(values, low, high):
    """The largest value of the training rows that is not above the midpoint of two of them, by its code."""
    middle = 0.5 * values[low] + 0.5 * values[high]
    high -= 1
    while low < high:
        between = (low + high + 1) // 2
        if values[between] <= middle:
            low = between
        else:
            high = between - 1
    return low


@compiled
def walk(data, pool, nodes, scratch, values, first_value, pruning):
    """Grow and prune from the root; returns the nodes."""
    scale, aside = data.scale, np.empty(data.n_classes, np.int64)
    n_nodes, depth, top = 1, 1, np.int64(len(pool.rows))  # the root waits to be entered
    while depth > 0:
        depth -= 1
        node, stage = nodes.stack[depth], nodes.stage[depth]
        begin, end = nodes.begin[node], nodes.end[node]
        if stage == ENTER:
            total, largest = count_classes(data, pool, begin, end, nodes.count[node])
            grown = nodes.feature[node] == UNSEEN
            if grown:
                nodes.feature[node] = LEAF
                if total * scale >= 2 * data.min_objects - EPS and (total - largest) * scale > EPS:
                    f = best_split(data, pool.rows, pool.units, begin, end, total, scratch)
                    nodes.feature[node] = f
                    if f >= 0 and data.nominal[f]:
                        nodes.n_children[node], nodes.cut[node] = data.n_values[f], -1
                    elif f >= 0:
                        nodes.n_children[node] = 2
                        nodes.cut[node] = find_cut(values[first_value[f] : first_value[f + 1]], scratch.low[f], scratch.high[f])
            above = np.int64(NO_VALUE)
            if nodes.feature[node] >= 0:
                nodes.top[node] = top
                above = np.int64(FULL)
                while above == FULL:
                    above = np.int64(share_out(data, nodes.feature[node], nodes.cut[node], nodes.n_children[node], pool, begin, end, top))
                    if above == FULL:
                        pool = larger_pool(pool)
            if above == NO_VALUE:
                nodes.feature[node] = LEAF
                if grown:
                    nodes.grown_errors[node] = (total - largest) * scale
                nodes.expected[node] = expected_errors(total, largest, scale, pruning)
                continue
            top, n_children = above, nodes.n_children[node]
            if grown:
                if n_nodes + n_children > len(nodes.feature):
                    nodes = more_nodes(nodes, 2 * (n_nodes + n_children))
                nodes.first[node] = n_nodes
                for c in range(n_children):
                    nodes.feature[n_nodes + c] = UNSEEN
                n_nodes += n_children
            nodes.stack[depth], nodes.stage[depth] = node, LEAVE_GROWN if grown else LEAVE_ROUTED
            depth += 1
            for c in range(n_children - 1, -1, -1):
                child = nodes.first[node] + c
                nodes.begin[child], nodes.end[child] = pool.begin[c], pool.end[c]
                nodes.stack[depth], nodes.stage[depth] = child, ENTER
                depth += 1
            continue

        top = nodes.top[node]
        subtree, largest_branch, heaviest = 0.0, -1, np.int64(-1)
        grown_errors = 0.0
        for c in range(nodes.n_children[node]):
            child = nodes.first[node] + c
            subtree += nodes.expected[child]
            grown_errors += nodes.grown_errors[child]
            weight, _ = total_and_largest(nodes.count[child])
            if weight >= heaviest:
                largest_branch, heaviest = child, weight
        nodes.expected[node] = subtree
        total, largest = total_and_largest(nodes.count[node])
        as_leaf = expected_errors(total, largest, scale, pruning)
        if stage == LEAVE_GROWN:
            nodes.grown_errors[node] = grown_errors
            if pruning.collapse and grown_errors >= (total - largest) * scale - TRAINING_SLACK:
                nodes.feature[node], nodes.expected[node] = LEAF, as_leaf
                continue
        if not pruning.prune:
            continue
        raised = np.inf
        if pruning.raising:
            enough = max(subtree, as_leaf) + EXPECTED_SLACK + 2 * EPS  # more than this is too much whatever it is
            raised = -1.0
            while raised < 0:
                raised = expected_of_branch(data, nodes, pool, pruning, largest_branch, begin, end, top, enough, aside)
                if raised < 0:
                    pool = larger_pool(pool)
        slack = EXPECTED_SLACK + EPS
        if as_leaf <= subtree + slack and as_leaf <= raised + slack:
            nodes.feature[node], nodes.expected[node] = LEAF, as_leaf
        elif raised <= subtree + slack:
            nodes.feature[node], nodes.cut[node] = nodes.feature[largest_branch], nodes.cut[largest_branch]
            nodes.first[node], nodes.n_children[node] = nodes.first[largest_branch], nodes.n_children[largest_branch]
            nodes.stack[depth], nodes.stage[depth] = node, ENTER
            depth += 1
    return nodes


def new_scratch(data: Data, n_rows: int) -> Scratch:
    p, K = len(data.n_values), data.n_classes
    n_cells = data.n_values * K
    n_cells = int(n_cells[data.nominal | (n_cells <= CELLS_PER_ROW * n_rows)].max(initial=1))
    return Scratch(
        cells=np.empty(n_cells, np.int64), keys=np.empty(n_rows, np.int64), label=np.empty(n_rows, np.int32),
        run_code=np.empty(n_rows, np.int32), run_label=np.empty(n_rows, np.int32), run_units=np.empty(n_rows, np.int64),
        left=np.empty(K, np.int64), right=np.empty(K, np.int64), left_log=np.empty(K), right_log=np.empty(K),
        gain=np.empty(p), ratio=np.empty(p), low=np.empty(p, np.int64), high=np.empty(p, np.int64),
    )  # fmt: skip


def new_pool(data: Data, units: NDArray[np.int64]) -> Pool:
    n_rows, widest = len(units), int(data.n_values[data.nominal].max(initial=2))
    return Pool(
        rows=np.arange(n_rows, dtype=np.int32), units=units.copy(), rows_aside=np.empty(n_rows, np.int32),
        units_aside=np.empty(n_rows, np.int64), branch=np.empty(n_rows, np.int32), bag=np.empty(widest, np.int64),
        begin=np.empty(widest, np.int64), end=np.empty(widest, np.int64),
    )  # fmt: skip


def new_nodes(K: int, n_rows: int, size: int = 64) -> Nodes:
    """Room for nodes, and the root, which waits to be entered with all rows."""
    feature, cut, first, n_children, begin, end, top, stack, stage = np.zeros((9, size), np.int64)
    feature[0], end[0] = UNSEEN, n_rows
    grown_errors, expected = np.zeros((2, size))
    count, way = np.zeros((size, K), np.int64), np.zeros((size, 4), np.int64)
    return Nodes(feature, cut, first, n_children, begin, end, top, grown_errors, expected, count, stack, stage, way)


def grow(
    data: Data, units: NDArray[np.int64], values: Floats, first_value: NDArray[np.int64], pruning: Pruning
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Grow a tree on rows of weights ``units``; ``values`` are the distinct values of all columns, one column after the other.

    Returns feature, cut, first child and number of children of each node, level by level, and their units of each class.
    """
    pool, scratch = new_pool(data, units), new_scratch(data, len(units))
    nodes = walk(data, pool, new_nodes(data.n_classes, len(units)), scratch, values, first_value, pruning)
    return compact(nodes)


def compact(nodes: Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes that were not pruned away, level by level."""
    level, order, shapes, n_before = np.zeros(1, np.int64), [], [], 1
    while len(level):
        inside = nodes.feature[level] >= 0
        n_children = np.where(inside, nodes.n_children[level], 0)
        before = np.cumsum(n_children) - n_children
        place = np.where(inside, n_before + before, 0)
        shapes.append(np.stack([nodes.feature[level], np.where(inside, nodes.cut[level], -1), place, n_children], axis=1))
        order.append(level)
        level = np.repeat(nodes.first[level] - before, n_children) + np.arange(n_children.sum())
        n_before += len(level)
    return np.concatenate(shapes), nodes.count[np.concatenate(order)]
