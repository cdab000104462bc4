"""Splits at one random threshold per feature and node, as in extremely randomised trees; no histogram is needed."""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.criteria import NEWTON, node_weight
from manyboost.trees.nodes import SMALL, SMALL_OPEN, close_tree, settle, split_next, start_tree
from manyboost.trees.random_categories import any_numbers, cut_categories, cut_categories_of_pairs, sum_categories, sums_of_node
from manyboost.trees.random_thresholds import BELOW, HIGH, LOW, MISSING, THRESHOLD, draw_thresholds, find_ranges, sum_below
from manyboost.trees.splitting import loss_before, offer, record_categories, rest_of_tree


@compiled_part
def _newton_gain(g, h, other_g, other_h, l2, before, unit, limits):
    """:func:`offer`'s gain by Newton's decrease of one output; -1 where a side has too little weight."""
    after = -(g * g / (h + l2)) - other_g * other_g / (other_h + l2)
    allowed = (h > 0) & (other_h > 0) & (h >= limits.min_weight) & (other_h >= limits.min_weight)
    return np.floor((before - after) / unit + 0.5) * limits.tie if allowed else -1.0


@compiled_part
def _newton_gains(left_g, left_h, g, h, l2, before, unit, limits, gains):
    """That of each feature's threshold."""
    for f in range(gains.size):
        gains[f] = _newton_gain(
            np.float64(left_g[f]), np.float64(left_h[f]), np.float64(g - left_g[f]), np.float64(h - left_h[f]), l2, before, unit, limits
        )


@compiled_part
def _offer_pair(node_sums, left_g, left_h, gain, best, best_left):
    """:func:`offer` of a split by one output whose gain is known."""
    if gain <= best.gain:
        return False
    best.gain = gain
    best.missing_left = 2 * left_h >= node_sums[1]
    best_left[0], best_left[1] = left_g, left_h
    return True


@compiled_part
def choose(table, grid, rule, limits, growth, which, ranges, sums, best, best_left, sides, order, categories):
    """The best of the drawn splits of a node of the job, one per feature, missing values on either side."""
    node = growth.now[SMALL + which]
    node_sums = growth.sums[node]
    rest = np.empty(growth.signed.size, np.int64)
    rest_of_tree(rule, node_sums, growth.signed, growth.nodes[node].sign, rest)
    before = loss_before(rule, node_sums, grid.n_dense, grid.n_labels, growth.signed)
    weight = node_weight(rule, node_sums, grid.n_dense, grid.n_labels)
    unit, l2 = weight * limits.tie, rule.constants[0]
    n_features = table.features.size - 1
    drawn = any_numbers(categories, n_features)  # else no threshold was, and ranges are not known
    pairs = rule.code == NEWTON and rule.n_outputs == 1 and grid.size == 2
    gains = np.empty(n_features if pairs else 0)
    if pairs:
        _newton_gains(sums[BELOW, 0], sums[BELOW, 1], node_sums[0], node_sums[1], l2, before, unit, limits, gains)
    # taken apart here: to hand all arrays of a tuple on to a part, for each feature, takes longer than what that does
    if categories is not None:
        of_node, place, positions = sums_of_node(categories, growth, which), categories.place, categories.positions
    else:
        of_node, place, positions = order[:0], order[:0], gains[:0]
    for f in range(n_features):
        feature = table.features[f]
        if pairs and not (feature.missing or feature.categorical):
            if _offer_pair(node_sums, sums[BELOW, 0, f], sums[BELOW, 1, f], gains[f], best, best_left):
                best.feature = f
                best.bin = ranges[THRESHOLD, f]
            continue
        if drawn and ranges[LOW, f] >= ranges[HIGH, f] and not feature.missing:
            continue
        n_used, n_left = 0, 0
        if categories is not None and feature.categorical:
            of_feature = of_node[place[f] :]
            if pairs:
                n_used, n_left = cut_categories_of_pairs(feature.n_bins, l2, limits, node, f, of_feature, order, positions, sums)
            else:
                n_used, n_left = cut_categories(table, grid, rule, limits, node, f, of_feature, order, positions, sums)
        any_missing = False
        for s in range(grid.size):
            any_missing |= sums[MISSING, s, f] != 0
        for missing_left in range(2 if any_missing else 1):
            if pairs:
                g = sums[BELOW, 0, f] + missing_left * sums[MISSING, 0, f]
                h = sums[BELOW, 1, f] + missing_left * sums[MISSING, 1, f]
                other_g, other_h = node_sums[0] - g, node_sums[1] - h
                gain = _newton_gain(np.float64(g), np.float64(h), np.float64(other_g), np.float64(other_h), l2, before, unit, limits)
                better = _offer_pair(node_sums, g, h, gain, best, best_left)
            else:
                for s in range(grid.size):
                    sides[0, s] = sums[BELOW, s, f] + missing_left * sums[MISSING, s, f]
                better = offer(grid, rule, limits, node_sums, rest, before, weight, sides, best, best_left)
            if better:
                side = missing_left == 1 if any_missing else best.missing_left
                if categories is not None and feature.categorical:
                    record_categories(f, feature.n_bins, order, n_used, n_left, side, best)
                else:
                    best.feature = f
                    best.bin = ranges[THRESHOLD, f]
                    best.missing_left = side


@compiled_part
def evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, codes, best, lefts, sides, order, categories):
    """Draw and compare one split per feature for the job's nodes."""
    sum_categories(categories, table, grid, growth)
    for which in range(2):
        best[which].gain = 0.0
        best[which].feature = -1
        if growth.now[SMALL_OPEN + which]:
            node = growth.now[SMALL + which]
            start, end = growth.nodes[node].start, growth.nodes[node].end
            if any_numbers(categories, table.features.size - 1):
                find_ranges(table, growth.rows, start, end, ranges, codes)
                draw_thresholds(table, limits, node, ranges)
                sum_below(table, grid, growth.rows, start, end, ranges, block, sums, codes)
            choose(table, grid, rule, limits, growth, which, ranges, sums, best[which], lefts[which], sides, order, categories)


@compiled
def grow_at_random(table, grid, rule, limits, growth, whole, ranges, block, sums, codes, best, lefts, sides, order, categories, leaf):
    """The whole tree in one call."""
    more = start_tree(grid, rule, limits, growth, whole)
    while more:
        evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, codes, best, lefts, sides, order, categories)
        settle(grid, rule, growth, best, lefts)
        more = split_next(table, grid, rule, limits, growth)
    close_tree(table, growth, leaf)
