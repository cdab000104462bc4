"""Splits at one random threshold per feature and node, as in extremely randomised trees; no histogram is needed."""

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.trees.borrowing import borrowed, lent, set_apart
from manyboost.trees.code_sums import sums_of_features
from manyboost.trees.crew import call_others, close_tree, crew_for_node, meet, share, split_node
from manyboost.trees.criteria import NEWTON, node_weight
from manyboost.trees.nodes import (
    AT_HAND,
    MORE,
    SMALL,
    SMALL_OPEN,
    deal_rows,
    next_to_split,
    place_part,
    settle,
    start_tree,
    sum_part,
)
from manyboost.trees.random_categories import (
    add_up_categories,
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
def _draw(table, limits, node, ranges):
    """Thresholds between the least and the greatest of all parts."""
    for part in range(1, ranges.shape[0]):
        for f in range(ranges.shape[2]):
            ranges[0, LOW, f] = min(ranges[0, LOW, f], ranges[part, LOW, f])
            ranges[0, HIGH, f] = max(ranges[0, HIGH, f], ranges[part, HIGH, f])
    draw_thresholds(table, limits, node, ranges[0])


@compiled_part
def _add_up(size, sums):
    """The sums of all parts."""
    for part in range(1, sums.shape[0]):
        for s in range(size):
            for f in range(sums.shape[3]):
                sums[0, BELOW, s, f] += sums[part, BELOW, s, f]
                sums[0, MISSING, s, f] += sums[part, MISSING, s, f]


@compiled_part
def _evaluate(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories, crew):
    """Draw and compare one split per feature for the job's nodes, the rows of each part by themselves.

    Each part has a place in ranges, block and sums; the first thread chooses.
    """
    first_part, end_part = share(crew, np.int64(0), np.int64(growth.stretch.shape[0]))
    for which in range(2):
        number = growth.now[SMALL + which]
        drawn = growth.now[SMALL_OPEN + which] == 1 and any_numbers(categories, table.features.size - 1)
        for part in range(first_part, end_part):
            sum_categories(categories, table, grid, growth, which, part)
            if drawn:
                start, end = growth.stretch[part, number, 0], growth.stretch[part, number, 1]
                find_ranges(table, growth.rows, start, end, ranges[part])
        meet(crew)
        if crew.part == 0:
            best[which].gain = 0.0
            best[which].feature = -1
            add_up_categories(categories, growth, which)
            if drawn:
                _draw(table, limits, number, ranges)
        meet(crew)
        if drawn:
            for part in range(first_part, end_part):
                if part > 0:
                    for row in range(ranges.shape[1]):
                        for f in range(ranges.shape[2]):
                            ranges[part, row, f] = ranges[0, row, f]
                start, end = growth.stretch[part, number, 0], growth.stretch[part, number, 1]
                sum_below(table, grid, growth.rows, start, end, ranges[part], block[part], sums[part])
            meet(crew)
        if crew.part == 0 and growth.now[SMALL_OPEN + which]:
            if drawn:
                _add_up(grid.size, sums)
            choose(table, grid, rule, limits, growth, which, ranges[0], sums[0], best[which], lefts[which], sides, order, categories)
    meet(crew)  # before the first goes on and changes the job, all have read it


@compiled_part
def _grow(table, grid, rule, limits, growth, whole, ranges, block, sums, best, lefts, sides, order, categories, crew, leaf):
    """:func:`grow_at_random` by what is lent and borrowed."""
    set_apart()
    call_others(crew)
    now = growth.now
    if not meet(crew):
        return
    for part in range(*share(crew, np.int64(0), np.int64(growth.stretch.shape[0]))):
        place_part(growth, part)
        deal_rows(growth, whole, part)
        sum_part(grid, growth, growth.of_part, part, False)
    meet(crew)
    if crew.part == 0:
        start_tree(grid, rule, limits, growth)
    while True:
        at_work = crew_for_node(table, growth, crew)
        if at_work.n == crew.n:
            if not meet(crew):
                return
            if now[AT_HAND] < 0:
                break
        split_node(table, grid, rule, limits, growth, at_work)
        if now[MORE]:
            _evaluate(table, grid, rule, limits, growth, ranges, block, sums, best, lefts, sides, order, categories, at_work)
        if crew.part == 0:
            if now[MORE]:
                settle(grid, rule, growth, best, lefts)
            next_to_split(table, grid, rule, limits, growth)
    close_tree(table, growth, crew, leaf)


@compiled
def grow_at_random(table, grid, rule, limits, growth, whole, ranges, block, sums, best, lefts, sides, order, categories, crew, leaf):
    """The whole tree in one call, of each thread of the crew; what they work in has a place for each."""
    table, grid, rule, limits, growth = lent((table, grid, rule, limits, growth))
    ranges, block, sums, crew, leaf = borrowed((ranges, block, sums, crew, leaf))
    best, lefts, sides, order, categories = borrowed((best[0], lefts[0], sides[0], order[0], categories))
    _grow(table, grid, rule, limits, growth, whole, ranges, block, sums, best, lefts, sides, order, categories, crew, leaf)
