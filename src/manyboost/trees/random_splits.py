"""Splits at one random threshold per feature and node, as in extremely randomised trees; no histogram is needed."""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.binning import SPARSE
from manyboost.trees.criteria import NEWTON, node_weight
from manyboost.trees.nodes import SMALL, SMALL_OPEN, close_tree, settle, split_next, start_tree
from manyboost.trees.random_numbers import uniform
from manyboost.trees.random_thresholds import BELOW, HIGH, LOW, MISSING, THRESHOLD, draw_thresholds, find_ranges, sum_below, sum_codes
from manyboost.trees.splitting import (
    loss_before,
    offer,
    order_categories,
    record_categories,
    rest_of_tree,
    sort_by_position,
    used_bins,
)


@compiled_part
def _sum_stored_categories(stored, zero_bin, grid, rows, start, end, f, hist):
    """Sums of the statistics for each category of a feature of a sparse table."""
    if stored is None:
        return
    size = grid.size
    for r in range(start, end):
        i = rows[r]
        b = np.int64(zero_bin)
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            if stored.indices[e] == f:
                b = np.int64(stored.entries[e])
        for s in range(grid.n_dense):
            hist[b * size + s] += grid.dense[i, s]
        if grid.label.size:
            hist[b * size + grid.n_dense + grid.label[i]] += grid.weight[i]
        if grid.counted:
            hist[b * size + size - 1] += 1


@compiled_part
def _fill_categories(table, grid, rows, start, end, first, ranges, hist, places):
    """Sums by category of the categorical features from ``first`` on, as many as ``hist`` has room for; the feature after the last.

    ``places[f]`` is where those of feature f begin. Features of one value in the node are left out, unless values may be missing.
    """
    size = grid.size
    n_features = table.features.size - 1
    at_once = table.layout != SPARSE
    columns = np.empty(n_features - first, np.uint64)
    starts = np.empty(columns.size, np.uint64)
    n, f, used, filled = 0, first, 0, first
    while f < n_features and (n == 0 or at_once):
        feature = table.features[f]
        if feature.categorical and (feature.missing or ranges[LOW, f] < ranges[HIGH, f]):
            if used + (feature.n_bins + 1) * size > hist.size:
                break
            columns[n] = feature.column
            starts[n] = used
            filled = f
            places[f] = used
            used += (feature.n_bins + 1) * size
            n += 1
        f += 1
    for s in range(used):
        hist[s] = 0
    if at_once:
        sum_codes(table, grid, rows, start, end, columns[:n], starts[:n], hist[:used])
    elif n:
        _sum_stored_categories(table.stored, table.features[filled].zero_bin, grid, rows, start, end, filled, hist)
    return f


@compiled_part
def _cut_categories(table, grid, rule, limits, node, f, hist, order, position, sums):
    """Put the categories in order, cut the order at random, and give the sums before the cut; (how many, how many before)."""
    size = grid.size
    n_bins = table.features[f].n_bins
    n_used = used_bins(hist, n_bins, size, order)
    n_left = n_used
    if n_used > 1:
        order_categories(grid, rule, hist, order, n_used, position)
        n_left = 1 + np.int64(uniform(limits.seed, node, f) * (n_used - 1))
    for s in range(size):
        sums[BELOW, s, f] = 0
        sums[MISSING, s, f] = hist[n_bins * size + s]
        for u in range(n_left):
            sums[BELOW, s, f] += hist[order[u] * size + s]
    return n_used, n_left


@compiled_part
def _cut_categories_of_pairs(n_bins, l2, limits, node, f, hist, order, position, sums):
    """:func:`_cut_categories` by one output, in registers."""
    n_used = 0
    for b in range(n_bins):
        g, h = hist[2 * b], hist[2 * b + 1]
        if g == 0 and h == 0:
            continue
        order[n_used] = b
        position[n_used] = np.float64(g) / (np.float64(h) + l2) if h > 0 else 0.0
        n_used += 1
    sort_by_position(order, position[:n_used])
    n_left = 1 + np.int64(uniform(limits.seed, node, f) * (n_used - 1)) if n_used > 1 else n_used
    left_g, left_h = np.int64(0), np.int64(0)
    for u in range(n_left):
        left_g += hist[2 * order[u]]
        left_h += hist[2 * order[u] + 1]
    sums[BELOW, 0, f] = left_g
    sums[BELOW, 1, f] = left_h
    sums[MISSING, 0, f] = hist[2 * n_bins]
    sums[MISSING, 1, f] = hist[2 * n_bins + 1]
    return n_used, n_left


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
def choose(table, grid, rule, limits, growth, node, ranges, sums, best, best_left, sides, order, positions, hist):
    """The best of the drawn splits of a node, one per feature, missing values on either side."""
    node_sums = growth.sums[node]
    start, end = growth.nodes[node].start, growth.nodes[node].end
    rest = np.empty(growth.signed.size, np.int64)
    rest_of_tree(rule, node_sums, growth.signed, growth.nodes[node].sign, rest)
    before = loss_before(rule, node_sums, grid.n_dense, grid.n_labels, growth.signed)
    weight = node_weight(rule, node_sums, grid.n_dense, grid.n_labels)
    unit, l2 = weight * limits.tie, rule.constants[0]
    n_features = table.features.size - 1
    pairs = rule.code == NEWTON and rule.n_outputs == 1 and grid.size == 2
    gains = np.empty(n_features if pairs else 0)
    if pairs:
        _newton_gains(sums[BELOW, 0], sums[BELOW, 1], node_sums[0], node_sums[1], l2, before, unit, limits, gains)
    places = np.empty(n_features, np.int64)  # of the sums of categories, known of features before ``filled``
    filled = 0
    for f in range(n_features):
        feature = table.features[f]
        if pairs and not (feature.missing or feature.categorical):
            if _offer_pair(node_sums, sums[BELOW, 0, f], sums[BELOW, 1, f], gains[f], best, best_left):
                best.feature = f
                best.bin = ranges[THRESHOLD, f]
            continue
        if ranges[LOW, f] >= ranges[HIGH, f] and not feature.missing:
            continue
        n_used, n_left = 0, 0
        if positions is not None and feature.categorical:
            if f >= filled:
                filled = _fill_categories(table, grid, growth.rows, start, end, f, ranges, hist, places)
            of_feature = hist[places[f] :]
            if pairs:
                n_used, n_left = _cut_categories_of_pairs(feature.n_bins, l2, limits, node, f, of_feature, order, positions, sums)
            else:
                n_used, n_left = _cut_categories(table, grid, rule, limits, node, f, of_feature, order, positions, sums)
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
                if positions is not None and feature.categorical:
                    record_categories(f, feature.n_bins, order, n_used, n_left, side, best)
                else:
                    best.feature = f
                    best.bin = ranges[THRESHOLD, f]
                    best.missing_left = side


@compiled_part
def evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, codes, best, lefts, sides, order, positions, hist):
    """Draw and compare one split per feature for the job's nodes."""
    for which in range(2):
        best[which].gain = 0.0
        best[which].feature = -1
        if growth.now[SMALL_OPEN + which]:
            node = growth.now[SMALL + which]
            start, end = growth.nodes[node].start, growth.nodes[node].end
            find_ranges(table, growth.rows, start, end, ranges, codes)
            draw_thresholds(table, limits, node, ranges)
            sum_below(table, grid, growth.rows, start, end, ranges, block, sums, codes)
            choose(table, grid, rule, limits, growth, node, ranges, sums, best[which], lefts[which], sides, order, positions, hist)


@compiled
def grow_at_random(table, grid, rule, limits, growth, whole, ranges, block, sums, codes, best, lefts, sides, order, positions, hist, leaf):
    """The whole tree in one call."""
    more = start_tree(grid, rule, limits, growth, whole)
    while more:
        evaluate_at_random(table, grid, rule, limits, growth, ranges, block, sums, codes, best, lefts, sides, order, positions, hist)
        settle(grid, rule, growth, best, lefts)
        more = split_next(table, grid, rule, limits, growth)
    close_tree(growth, leaf)
