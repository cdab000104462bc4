"""The best split of a node by its histograms.

Gains are compared in units of ``tie`` times the node's weight; what is smaller is a tie, and ties go to the lowest feature, then to the
lowest bin. A threshold lies midway between two bins that hold rows of the node. Categories are put in order along the principal
direction of their profiles and then cut like numbers.
"""

import numpy as np

from manyboost.compiled import compiled_part
from manyboost.trees.criteria import (
    EXPONENTIAL,
    GINI,
    SHARED_SIGN,
    node_loss,
    node_weight,
    profile,
    profile_size,
    signed_loss,
)
from manyboost.trees.lanes import FOUR, as_floats, load, spread, store
from manyboost.trees.nodes import MASK_WORDS

CERTAIN = 2.0**-44  # of a node's weight, by which losses may be wrong after a dozen roundings


@compiled_part
def loss_before(rule, sums, n_dense, n_labels, signed):
    """The loss before a split: the node's own, or REBEL's of the whole tree."""
    if rule.code == SHARED_SIGN:
        loss = 0.0
        for k in range(rule.n_outputs):
            total = rule.constants[k]
            d = np.float64(signed[k])
            loss += np.sqrt(max(total * total - d * d, 0.0))
        return loss
    return node_loss(rule, sums, n_dense, n_labels)


@compiled_part
def rest_of_tree(rule, sums, signed, sign, rest):
    """The signed sums of the other leaves."""
    if rule.code == SHARED_SIGN:
        for k in range(rule.n_outputs):
            rest[k] = signed[k] - sign * sums[k]


@compiled_part
def offer(grid, rule, limits, sums, rest, before, weight, sides, best, best_left):
    """Record the gain of parting ``sides[0]`` from the rest of the node if it is better than the best so far."""
    size = grid.size
    left, right = sides[0], sides[1]
    for s in range(size):
        right[s] = sums[s] - left[s]
    if grid.counted and (left[size - 1] < limits.min_leaf or right[size - 1] < limits.min_leaf):
        return False
    after = 0.0
    left_weight = 0.0
    right_weight = 0.0
    for side in range(2):
        side_weight = node_weight(rule, sides[side], grid.n_dense, grid.n_labels)
        if side_weight <= 0 or side_weight < limits.min_weight:
            return False
        if rule.code != SHARED_SIGN:
            after += node_loss(rule, sides[side], grid.n_dense, grid.n_labels)
        left_weight, right_weight = right_weight, side_weight
    if rule.code == SHARED_SIGN:
        after = min(signed_loss(rule, rest, left, right, np.int64(1)), signed_loss(rule, rest, left, right, np.int64(-1)))
    gain = np.floor((before - after) / (weight * limits.tie) + 0.5) * limits.tie
    if gain <= best.gain:
        return False
    best.gain = gain
    best.missing_left = left_weight >= right_weight  # where no missing value was seen: with the heavier side
    for s in range(size):
        best_left[s] = left[s]
    return True


@compiled_part
def _most_loss(before, weight, limits, best):
    """No split of more loss than this is better than the best so far, whatever rounding does to either."""
    return before - (best.gain + 0.5 * limits.tie) * weight + CERTAIN * weight


@compiled_part
def _scan_two_labels(n_bins, limits, hist, sums, before, weight, f, best, best_left):
    """:func:`scan` for two label weights by Gini without missing values, in registers."""
    left0 = np.int64(0)
    left1 = np.int64(0)
    previous = -1
    unit = weight * limits.tie
    most = _most_loss(before, weight, limits, best)
    total0, total1 = sums[0], sums[1]
    for b in range(n_bins):
        at = np.uint64(2 * b)
        h0, h1 = hist[at], hist[at + np.uint64(1)]
        a, c = np.float64(left0), np.float64(left1)
        d, e = np.float64(total0 - left0), np.float64(total1 - left1)
        # few cuts may be better than the best so far: for the others multiplications will do
        if 2.0 * (a * c * (d + e) + d * e * (a + c)) <= most * ((a + c) * (d + e)) and previous >= 0 and (h0 | h1) != 0:
            left_weight, right_weight = np.float64(left0 + left1), np.float64(total0 - left0 + total1 - left1)
            if left_weight >= limits.min_weight and right_weight >= limits.min_weight:
                after = 2.0 * a * c / (a + c) + 2.0 * d * e / (d + e)
                gain = np.floor((before - after) / unit + 0.5) * limits.tie
                if gain > best.gain:
                    best.gain = gain
                    best.missing_left = left_weight >= right_weight
                    best.feature = f
                    best.bin = (previous + b - 1) >> 1
                    best_left[0] = left0
                    best_left[1] = left1
                    most = _most_loss(before, weight, limits, best)
        previous = b if (h0 | h1) != 0 else previous
        left0 += h0
        left1 += h1


@compiled_part
def _move_bin(of_bin, b, sums, sides, size, squares):
    """Add a bin to the left side; the sums of squares of either side as :func:`gini` adds them up, four classes at once."""
    on_left, on_right = spread(0.0, FOUR), spread(0.0, FOUR)
    whole = size & ~3
    for k in range(0, whole, FOUR):
        left = load(sides, 0, k, FOUR) + load(of_bin, b, k, FOUR)
        store(sides, 0, k, left)
        a, c = as_floats(left), as_floats(load(sums, 0, k, FOUR) - left)
        on_left, on_right = on_left + a * a, on_right + c * c
    store(squares, 0, 0, on_left)
    store(squares, 1, 0, on_right)
    for k in range(whole, size):
        sides[0, k] += of_bin[b, k]
        a, c = np.float64(sides[0, k]), np.float64(sums[0, k] - sides[0, k])
        squares[0, k - whole] += a * a
        squares[1, k - whole] += c * c


@compiled_part
def _scan_labels(n_bins, size, limits, hist, sums, before, weight, f, best, best_left, sides):
    """:func:`scan` for more label weights by Gini without missing values."""
    of_bin, all_sums = hist[: n_bins * size].reshape(n_bins, size), sums[:size].reshape(1, size)
    squares = np.zeros((2, FOUR))
    total, total_left = np.int64(0), np.int64(0)
    for k in range(size):
        sides[0, k] = 0
        total += sums[k]
    previous = -1
    unit = weight * limits.tie
    most = _most_loss(before, weight, limits, best)
    for b in range(n_bins):
        in_bin = np.int64(0)
        for k in range(size):
            in_bin += of_bin[b, k]
        if in_bin == 0:  # weights are not negative
            continue
        if previous >= 0:
            left_weight, right_weight = np.float64(total_left), np.float64(total - total_left)
            after = left_weight - ((squares[0, 0] + squares[0, 1]) + (squares[0, 2] + squares[0, 3])) / left_weight
            after += right_weight - ((squares[1, 0] + squares[1, 1]) + (squares[1, 2] + squares[1, 3])) / right_weight
            if after <= most and left_weight >= limits.min_weight and right_weight >= limits.min_weight:
                gain = np.floor((before - after) / unit + 0.5) * limits.tie
                if gain > best.gain:
                    best.gain = gain
                    best.missing_left = left_weight >= right_weight
                    best.feature = f
                    best.bin = (previous + b - 1) >> 1
                    for k in range(size):
                        best_left[k] = sides[0, k]
                    most = _most_loss(before, weight, limits, best)
        _move_bin(of_bin, b, all_sums, sides, size, squares)
        total_left += in_bin
        previous = b


@compiled_part
def _scan_for_and_against(dense, K, limits, hist, sums, before, weight, f, best, best_left, sides, order, n_used):
    """:func:`scan` by Schapire and Singer's Z without missing values: totals of K classes and, behind them, what speaks for each.

    Roots do not wait for each other, and whatever else a cut must fulfil is looked at where it may be better than the best so far.
    """
    if dense is None:
        return
    size = 2 * K
    left, right = sides[0], sides[1]
    roots = np.empty((2, K))
    of_left, of_right = roots[0], roots[1]
    for s in range(size):
        left[s] = 0
        right[s] = sums[s]
    most = _most_loss(before, weight, limits, best)
    for u in range(n_used - 1):
        of_bin = hist[order[u] * size : (order[u] + 1) * size]
        for s in range(size):
            left[s] += of_bin[s]
            right[s] -= of_bin[s]
        for k in range(K):
            of_left[k] = np.sqrt(max(np.float64(left[K + k]) * np.float64(left[k] - left[K + k]), 0.0))
            of_right[k] = np.sqrt(max(np.float64(right[K + k]) * np.float64(right[k] - right[K + k]), 0.0))
        loss_left, loss_right = 0.0, 0.0
        for k in range(K):
            loss_left += of_left[k]
            loss_right += of_right[k]
        after = 2.0 * loss_left + 2.0 * loss_right
        if after > most:
            continue
        left_weight, right_weight = 0.0, 0.0
        for k in range(K):
            left_weight += np.float64(left[k])
            right_weight += np.float64(right[k])
        if min(left_weight, right_weight) <= 0 or min(left_weight, right_weight) < limits.min_weight:
            continue
        gain = np.floor((before - after) / (weight * limits.tie) + 0.5) * limits.tie
        if gain > best.gain:
            best.gain = gain
            best.missing_left = left_weight >= right_weight
            best.feature = f
            best.bin = (order[u] + order[u + 1] - 1) >> 1
            for s in range(size):
                best_left[s] = left[s]
            most = _most_loss(before, weight, limits, best)


@compiled_part
def sort_by_position(order, position):
    """Sort both by position. Insertion: stable, so equal categories keep their order."""
    for u in range(1, position.size):
        c, at = order[u], position[u]
        v = u
        while v > 0 and position[v - 1] > at:
            order[v] = order[v - 1]
            position[v] = position[v - 1]
            v -= 1
        order[v] = c
        position[v] = at


@compiled_part
def order_categories(grid, rule, hist, order, n_used, position):
    """Sort ``order[:n_used]``, categories that hold rows, along the principal direction of their profiles."""
    size = grid.size
    position = position[:n_used]
    m = profile_size(rule.code, rule.n_outputs, grid.n_dense, grid.n_labels)
    if m == 1:  # one direction only
        for u in range(n_used):
            profile(rule, hist[order[u] * size : (order[u] + 1) * size], grid.n_dense, grid.n_labels, position[u : u + 1])
        sort_by_position(order, position)
        return
    profiles = np.empty((n_used, m))
    weights = np.empty(n_used)
    mean = np.zeros(m)
    total = 0.0
    for u in range(n_used):
        category = hist[order[u] * size : (order[u] + 1) * size]
        profile(rule, category, grid.n_dense, grid.n_labels, profiles[u])
        weights[u] = node_weight(rule, category, grid.n_dense, grid.n_labels)
        total += weights[u]
        for k in range(m):
            mean[k] += weights[u] * profiles[u, k]
    spread = np.zeros((m, m))
    for u in range(n_used):
        for k in range(m):
            profiles[u, k] -= mean[k] / total
        for j in range(m):
            for k in range(m):
                spread[j, k] += weights[u] / total * profiles[u, j] * profiles[u, k]
    widest = 0
    for k in range(m):
        if spread[k, k] > spread[widest, widest]:
            widest = k
    direction = spread[widest].copy()
    turned = np.empty(m)
    for _ in range(30):  # power iteration: the order needs no more than a rough direction, but always the same one
        length = 0.0
        for j in range(m):
            turned[j] = 0.0
            for k in range(m):
                turned[j] += spread[j, k] * direction[k]
            length = max(length, abs(turned[j]))
        if length == 0.0:
            break
        for j in range(m):
            direction[j] = turned[j] / length
    for u in range(n_used):
        along = 0.0
        for k in range(m):
            along += profiles[u, k] * direction[k]
        position[u] = along
    sort_by_position(order, position)


@compiled_part
def record_categories(f, n_categories, order, n_used, n_left, missing_left, best):
    """The first ``n_left`` categories in order go left; those without rows here go where missing values go."""
    best.feature = f
    best.bin = -1
    best.missing_left = missing_left
    for word in range(MASK_WORDS):
        best.mask[word] = 0
    if missing_left:
        for c in range(n_categories):
            best.mask[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    begin, end = (n_left, n_used) if missing_left else (0, n_left)
    for u in range(begin, end):
        best.mask[order[u] >> 6] ^= np.uint64(1) << np.uint64(order[u] & 63)


@compiled_part
def used_bins(hist, n_bins, size, order):
    """Number the bins that hold rows into ``order``; how many there are."""
    n_used = 0
    for b in range(n_bins):
        for s in range(size):
            if hist[b * size + s] != 0:
                order[n_used] = b
                n_used += 1
                break
    return n_used


@compiled_part
def scan(feature, f, grid, rule, limits, labels, hist, sums, rest, before, weight, best, best_left, sides, order, positions):
    """Try every cut between bins that hold rows, with the missing values on either side.

    Labels are None where the kernel is none for weights of labels alone.
    """
    size = grid.size
    n_bins = feature.n_bins
    left = sides[0]
    any_missing = False
    if feature.missing:
        for s in range(size):
            any_missing |= hist[n_bins * size + s] != 0
    if labels is not None and rule.code == GINI and size == grid.n_labels and not any_missing and not feature.categorical:
        if size == 2:
            _scan_two_labels(n_bins, limits, hist, sums, before, weight, f, best, best_left)
        else:
            _scan_labels(n_bins, size, limits, hist, sums, before, weight, f, best, best_left, sides)
        return
    n_used = used_bins(hist, n_bins, size, order)
    if rule.code == EXPONENTIAL and not any_missing and not feature.categorical and not grid.counted:
        _scan_for_and_against(grid.dense, rule.n_outputs, limits, hist, sums, before, weight, f, best, best_left, sides, order, n_used)
        return
    if positions is not None and feature.categorical and n_used > 1:  # None where the table is plain
        order_categories(grid, rule, hist, order, n_used, positions)
    for missing_left in range(2 if any_missing else 1):
        for s in range(size):
            left[s] = hist[n_bins * size + s] if missing_left else 0
        n_left_best = np.int64(0)
        # with missing values on the right, all known values may stand against them
        for u in range(n_used if any_missing and not missing_left else n_used - 1):
            for s in range(size):
                left[s] += hist[order[u] * size + s]
            if offer(grid, rule, limits, sums, rest, before, weight, sides, best, best_left):
                n_left_best = u + 1
        if n_left_best:
            side = missing_left == 1 if any_missing else best.missing_left
            if positions is not None and feature.categorical:
                record_categories(f, n_bins, order, n_used, n_left_best, side, best)
            else:
                following = order[n_left_best] if n_left_best < n_used else 2 * n_bins - 1 - order[n_used - 1]
                best.feature = f
                best.bin = (order[n_left_best - 1] + following - 1) >> 1
                best.missing_left = side
