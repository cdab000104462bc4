"""The steps of growing a tree, to be called one by one from Python.

A tree grown on one thread is one compiled call that contains them all. When threads share the work, Python stands between the steps
and calls them by these names; kept apart, they are compiled only where they are needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled
from manyboost.trees import histogram_splits, node_sums, nodes, random_categories, random_splits, random_thresholds, root_histogram
from manyboost.trees.borrowing import borrowed
from manyboost.trees.criteria import Rule, node_weight
from manyboost.trees.node_sums import Grid

_has_pairs, _look_through_best_pair, _sum_rows = node_sums.has_pairs, node_sums.look_through_best_pair, node_sums.sum_rows
_start_tree, _split_next, _settle, _close_tree = nodes.start_tree, nodes.split_next, nodes.settle, nodes.close_tree
_sum_categories = random_categories.sum_categories
_count_root, _look_at_all_rows = root_histogram.count_root, histogram_splits.look_at_all_rows
_prepare_job, _evaluate_features = histogram_splits.prepare_job, histogram_splits.evaluate_features
_find_ranges, _draw_thresholds, _sum_below, _choose, _evaluate_at_random = (
    random_thresholds.find_ranges,
    random_thresholds.draw_thresholds,
    random_thresholds.sum_below,
    random_splits.choose,
    random_splits.evaluate_at_random,
)


@compiled
def start_tree(grid, rule, limits, growth, whole):
    grid, rule, limits, growth = borrowed((grid, rule, limits, growth))
    return _start_tree(grid, rule, limits, growth, whole)


@compiled
def split_next(table, grid, rule, limits, growth):
    table, grid, rule, limits, growth = borrowed((table, grid, rule, limits, growth))
    return _split_next(table, grid, rule, limits, growth)


@compiled
def settle(grid, rule, growth, best, lefts):
    grid, rule, growth, best, lefts = borrowed((grid, rule, growth, best, lefts))
    _settle(grid, rule, growth, best, lefts)


@compiled
def close_tree(table, growth, leaf):
    table, growth, leaf = borrowed((table, growth, leaf))
    _close_tree(table, growth, leaf)


@compiled
def look_at_all_rows(table, grid, growth):
    table, grid, growth = borrowed((table, grid, growth))
    _look_at_all_rows(table, grid, growth)


@compiled
def count_root(table, grid, changes, growth, first, last):
    table, grid, changes, growth = borrowed((table, grid, changes, growth))
    _count_root(table, grid, changes, growth, first, last)


@compiled
def prepare_job(table, grid, growth, labels, weights):
    table, grid, growth, labels, weights = borrowed((table, grid, growth, labels, weights))
    _prepare_job(table, grid, growth, labels, weights)


@compiled
def evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, first, last, best, lefts, sides, order, positions, hist):
    table, grid, rule, limits, growth, labels, weights = borrowed((table, grid, rule, limits, growth, labels, weights))
    pool, best, lefts, sides, order, positions, hist = borrowed((pool, best, lefts, sides, order, positions, hist))
    _evaluate_features(table, grid, rule, limits, growth, labels, weights, pool, first, last, best, lefts, sides, order, positions, hist)


@compiled
def find_ranges(table, rows, start, end, ranges):
    table, rows, ranges = borrowed((table, rows, ranges))
    _find_ranges(table, rows, start, end, ranges)


@compiled
def draw_thresholds(table, limits, node, ranges):
    table, limits, ranges = borrowed((table, limits, ranges))
    _draw_thresholds(table, limits, node, ranges)


@compiled
def sum_below(table, grid, rows, start, end, ranges, block, sums):
    table, grid, rows, ranges, block, sums = borrowed((table, grid, rows, ranges, block, sums))
    _sum_below(table, grid, rows, start, end, ranges, block, sums)


@compiled
def sum_categories(categories, table, grid, growth):
    categories, table, grid, growth = borrowed((categories, table, grid, growth))
    _sum_categories(categories, table, grid, growth)


@compiled
def choose(table, grid, rule, limits, growth, which, ranges, sums, best, best_left, sides, order, categories):
    table, grid, rule, limits, growth, ranges = borrowed((table, grid, rule, limits, growth, ranges))
    sums, best, best_left, sides, order, categories = borrowed((sums, best, best_left, sides, order, categories))
    _choose(table, grid, rule, limits, growth, which, ranges, sums, best, best_left, sides, order, categories)


@compiled
def evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories):
    table, grid, rule, limits, growth, ranges = borrowed((table, grid, rule, limits, growth, ranges))
    block, sums, best, lefts, sides, order, categories = borrowed((block, sums, best, lefts, sides, order, categories))
    _evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories)


@compiled
def _weight_of_rows(grid, rule, rows, tie, total):
    first = np.int64(0)
    if _has_pairs(grid.shares):
        _look_through_best_pair(grid.shares, grid.dense, rows, first, rows.size, tie)
    _sum_rows(grid, rows, first, rows.size, total)
    return node_weight(rule, total, grid.n_dense, grid.n_labels)


def weight_of_rows(grid: Grid, rule: Rule, rows: NDArray[np.int32], tie: float) -> float:
    """The weight of a node of these rows, in units of the grid."""
    return float(_weight_of_rows(grid, rule, rows, tie, np.zeros(grid.size, np.int64)))
