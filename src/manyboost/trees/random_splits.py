"""Splits at one random threshold per feature and node, as in extremely randomised trees; no histogram is needed."""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.borrowing import borrowed
from manyboost.trees.code_sums import sums_of_features
from manyboost.trees.crew import crew_for_job, meet, share
from manyboost.trees.criteria import NEWTON, node_weight
from manyboost.trees.nodes import MORE, SMALL, SMALL_OPEN, close_tree, settle, split_next, start_tree
from manyboost.trees.random_categories import (
    any_numbers,
    categories_before_cut,
    cut_categories,
    cut_categories_of_pairs,
    positions_of_categories,
    sum_categories,
    sums_of_node,
)
from manyboost.trees.random_thresholds import BELOW, HIGH, LOW, MISSING, MISSING_BELOW, THRESHOLD, draw_thresholds, find_ranges, sum_below
from manyboost.trees.splitting import loss_before, offer, record_categories, rest_of_tree, sort_by_position


@compiled_part
def _newton_gains(left_g, left_h, g, h, l2, before, unit, limits, gains):
    """:func:`offer`'s gain of each feature's split by Newton's decrease of one output; -1 where a side has too little weight."""
    for f in range(gains.size):
        this_g, this_h = np.float64(left_g[f]), np.float64(left_h[f])
        other_g, other_h = np.float64(g - left_g[f]), np.float64(h - left_h[f])
        after = -(this_g * this_g / (this_h + l2)) - other_g * other_g / (other_h + l2)
        allowed = (this_h > 0) & (other_h > 0) & (this_h >= limits.min_weight) & (other_h >= limits.min_weight)
        gains[f] = np.floor((before - after) / unit + 0.5) * limits.tie if allowed else -1.0


@compiled_part
def _choose_by_pairs(table, rule, limits, node, node_sums, before, unit, ranges, sums, best, best_left, order, of_node, categories):
    """The best of the drawn splits by Newton's decrease of one output: the gains of all features are found together."""
    n_features = table.features.size - 1
    g, h, l2 = node_sums[0], node_sums[1], rule.constants[0]
    gains = np.empty((2, n_features))
    if categories is not None:
        cut_categories_of_pairs(table.features, l2, limits, node, categories, of_node, order, sums)
    _newton_gains(sums[BELOW, 0], sums[BELOW, 1], g, h, l2, before, unit, limits, gains[0])
    if categories is not None:  # not a plain table: values may be missing, which are tried on the other side, too
        for f in range(n_features):
            sums[MISSING_BELOW, 0, f] = sums[BELOW, 0, f] + sums[MISSING, 0, f]
            sums[MISSING_BELOW, 1, f] = sums[BELOW, 1, f] + sums[MISSING, 1, f]
        _newton_gains(sums[MISSING_BELOW, 0], sums[MISSING_BELOW, 1], g, h, l2, before, unit, limits, gains[1])
    for f in range(n_features):
        for missing_left in range(1 if categories is None else 2):
            any_missing = sums[MISSING, 0, f] != 0 or sums[MISSING, 1, f] != 0
            if gains[missing_left, f] > best.gain and (any_missing or missing_left == 0):
                best.gain = gains[missing_left, f]
                best.feature = f
                below = MISSING_BELOW if missing_left else BELOW
                best_left[0], best_left[1] = sums[below, 0, f], sums[below, 1, f]
                best.missing_left = missing_left == 1 if any_missing else 2 * best_left[1] >= h
    if best.feature >= 0:
        feature = table.features[best.feature]
        if categories is not None and feature.categorical:
            of_feature = of_node[categories.place[best.feature] :]
            n_used = positions_of_categories(feature.n_bins, l2, of_feature, order, categories.positions)
            sort_by_position(order, categories.positions[:n_used])
            n_left = categories_before_cut(limits, node, best.feature, n_used)
            record_categories(best.feature, feature.n_bins, order, n_used, n_left, best.missing_left, best)
        else:
            best.bin = ranges[THRESHOLD, best.feature]


@compiled_part
def _choose_by_sums(
    table, grid, rule, limits, node, node_sums, rest, before, weight, ranges, sums, best, best_left, sides, order, of_node, categories
):
    """The same by any criterion."""
    drawn = any_numbers(categories, table.features.size - 1)  # else no threshold was, and ranges are not known
    # taken apart here: to hand all arrays of a tuple on to a part, for each feature, takes longer than what that does
    if categories is not None:
        place, positions = categories.place, categories.positions
    else:
        place, positions = order[:0], np.empty(0)
    for f in range(table.features.size - 1):
        feature = table.features[f]
        if drawn and ranges[LOW, f] >= ranges[HIGH, f] and not feature.missing:
            continue
        n_used, n_left = 0, 0
        if categories is not None and feature.categorical:
            n_used, n_left = cut_categories(table, grid, rule, limits, node, f, of_node[place[f] :], order, positions, sums)
        any_missing = False
        for s in range(grid.size):
            any_missing |= sums[MISSING, s, f] != 0
        for missing_left in range(2 if any_missing else 1):
            for s in range(grid.size):
                sides[0, s] = sums[BELOW, s, f] + missing_left * sums[MISSING, s, f]
            if offer(grid, rule, limits, node_sums, rest, before, weight, sides, best, best_left):
                side = missing_left == 1 if any_missing else best.missing_left
                if categories is not None and feature.categorical:
                    record_categories(f, feature.n_bins, order, n_used, n_left, side, best)
                else:
                    best.feature = f
                    best.bin = ranges[THRESHOLD, f]
                    best.missing_left = side


@compiled_part
def choose(table, grid, rule, limits, growth, which, ranges, sums, best, best_left, sides, order, categories):
    """The best of the drawn splits of a node of the job, one per feature, missing values on either side."""
    node = growth.now[SMALL + which]
    node_sums = growth.sums[node]
    before = loss_before(rule, node_sums, grid.n_dense, grid.n_labels, growth.signed)
    weight = node_weight(rule, node_sums, grid.n_dense, grid.n_labels)
    of_node = order[:0]
    if categories is not None:
        of_node = sums_of_node(categories, growth, which)
        if table.columns.size < table.features.size:
            sums_of_features(table.features, grid.size, node_sums, of_node, categories.place, ranges[THRESHOLD], sums[BELOW])
    if rule.code == NEWTON and rule.n_outputs == 1 and grid.size == 2:
        unit = weight * limits.tie
        _choose_by_pairs(table, rule, limits, node, node_sums, before, unit, ranges, sums, best, best_left, order, of_node, categories)
        return
    rest = np.empty(growth.signed.size, np.int64)
    rest_of_tree(rule, node_sums, growth.signed, growth.nodes[node].sign, rest)
    _choose_by_sums(
        table, grid, rule, limits, node, node_sums, rest, before, weight, ranges, sums, best, best_left, sides, order, of_node, categories
    )


@compiled_part
def evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories, crew):
    """Draw and compare one split per feature for the job's nodes, their rows dealt out to the crew.

    Each thread has a place in ranges, block and sums; the first chooses.
    """
    part = crew.part
    if part == 0:
        sum_categories(categories, table, grid, growth)
        for which in range(2):
            best[which].gain = 0.0
            best[which].feature = -1
    for which in range(2):
        if not growth.now[SMALL_OPEN + which]:
            continue
        node = growth.now[SMALL + which]
        if any_numbers(categories, table.features.size - 1):
            start, end = share(crew, growth.nodes[node].start, growth.nodes[node].end)
            find_ranges(table, growth.rows, start, end, ranges[part])
            meet(crew)
            if part == 0:
                for other in range(1, crew.n):
                    for f in range(ranges.shape[2]):
                        ranges[0, LOW, f] = min(ranges[0, LOW, f], ranges[other, LOW, f])
                        ranges[0, HIGH, f] = max(ranges[0, HIGH, f], ranges[other, HIGH, f])
                draw_thresholds(table, limits, node, ranges[0])
            meet(crew)
            if part > 0:
                for row in range(ranges.shape[1]):
                    for f in range(ranges.shape[2]):
                        ranges[part, row, f] = ranges[0, row, f]
            sum_below(table, grid, growth.rows, start, end, ranges[part], block[part], sums[part])
            meet(crew)
            if part == 0:
                for other in range(1, crew.n):
                    for s in range(grid.size):
                        for f in range(sums.shape[3]):
                            sums[0, BELOW, s, f] += sums[other, BELOW, s, f]
                            sums[0, MISSING, s, f] += sums[other, MISSING, s, f]
        if part == 0:
            choose(table, grid, rule, limits, growth, which, ranges[0], sums[0], best[which], lefts[which], sides, order, categories)
    meet(crew)  # before the first goes on and changes the job, all have read it


@compiled
def grow_at_random(table, grid, rule, limits, growth, whole, ranges, block, sums, best, lefts, sides, order, categories, crew, leaf):
    """The whole tree in one call, of each thread of the crew; what they work in has a place for each."""
    table, grid, rule, limits, growth, crew = borrowed((table, grid, rule, limits, growth, crew))
    ranges, block, sums = borrowed((ranges, block, sums))
    best, lefts, sides, order, categories, leaf = borrowed((best[0], lefts[0], sides[0], order[0], categories, leaf))
    part, now, more = crew.part, growth.now, False
    if part == 0:
        if whole:
            for i in range(growth.rows.size):
                growth.rows[i] = i
        more = start_tree(grid, rule, limits, growth, whole)
    while True:
        if part == 0:
            now[MORE] = more
        at_work = crew_for_job(table, growth, crew, more)
        if at_work.n == crew.n:
            meet(crew)
            if not now[MORE]:
                break
        evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories, at_work)
        if part == 0:
            settle(grid, rule, growth, best, lefts)
            more = split_next(table, grid, rule, limits, growth)
    if part == 0:
        close_tree(table, growth, leaf)
