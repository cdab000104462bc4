"""How C4.5, release 8, chooses the split of a node: the best gain ratio among splits of at least average gain.

With |D| the weight of the node, in units of one row, and the entropies in bits:

    gain        = known share * (entropy of the known rows - entropy of their branches)
    numeric     : the threshold of most gain; gain -= log2(thresholds tried) / |D|, and a split whose gain is then not positive is none
    split info  = entropy of the branches, the rows without a value being one more
    ratio       = gain / split info
    chosen      : the largest ratio among attributes whose gain is at least the average gain of all possible splits, less 0.001

A nominal split needs two branches of ``min_objects``. One of as many values as three in ten rows is left out of the average. A threshold
needs on both sides a tenth of the known rows per class, but at most 25 of them and at least ``min_objects``.

Counts are whole multiples of ``scale``, so they do not depend on the order of the rows, and entropies are summed in the order of values and
classes. Differences below 1e-6 count as none: the first attribute and the lowest threshold win.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manyboost.compiled import compiled_part

EPS = 1e-6
LARGEST_MIN_SPLIT = 25.0
GAIN_SLACK = 1e-3
CELLS_PER_ROW = 16  # a node with fewer cells (value, class) than this many times its rows counts them; else it sorts its rows


class Data(NamedTuple):
    """What stays the same while a tree grows.

    Attributes
    ----------
    codes : (p, n) int32, the rank of the value among those of the column, or the category; -1 is missing
    n_values : (p,) int64, distinct values, or categories
    nominal : (p,) bool
    many : (p,) bool, nominal columns of so many values that they are left out of the average gain
    y : (n,) int32, classes
    n_classes : int
    scale : float, weight of one unit
    logs : x log2 x of 0, 1, 2, ... if a unit is one row, else empty
    min_objects : float
    """

    codes: Any
    n_values: Any
    nominal: Any
    many: Any
    y: Any
    n_classes: Any
    scale: Any
    logs: Any
    min_objects: Any


class Scratch(NamedTuple):
    """Room that is used again for every node: cells, keys to sort, runs of equal value and class, classes on both sides, candidates."""

    cells: Any
    keys: Any
    label: Any
    run_code: Any
    run_label: Any
    run_units: Any
    left: Any
    right: Any
    left_log: Any
    right_log: Any
    gain: Any
    ratio: Any
    low: Any
    high: Any


@compiled_part
def times_log(units, data):
    """x log2 x of a count."""
    if data.logs.size:
        return data.logs[units]
    x = units * data.scale
    return x * np.log2(x) if x >= EPS else 0.0


@compiled_part
def count_cells(column, n_values, n_classes, rows, units, begin, end, scratch):
    """The weight of each value and class among the known rows."""
    cells, label = scratch.cells, scratch.label
    for c in range(n_values * n_classes):
        cells[c] = 0
    for i in range(begin, end):
        code = column[rows[i]]
        if code >= 0:
            cells[code * n_classes + label[i - begin]] += units[i]


@compiled_part
def find_runs(column, n_values, n_classes, rows, units, begin, end, scratch):
    """The known rows as runs of one value and class, rising in both; returns how many there are."""
    run_code, run_label, run_units = scratch.run_code, scratch.run_label, scratch.run_units
    n_runs = 0
    if n_values * n_classes <= CELLS_PER_ROW * (end - begin):
        count_cells(column, n_values, n_classes, rows, units, begin, end, scratch)
        for code in range(n_values):
            for k in range(n_classes):
                here = scratch.cells[code * n_classes + k]
                if here:
                    run_code[n_runs], run_label[n_runs], run_units[n_runs] = code, k, here
                    n_runs += 1
        return n_runs
    keys, n_keys, size = scratch.keys, 0, np.int64(end - begin)
    for i in range(begin, end):
        code = column[rows[i]]
        if code >= 0:
            keys[n_keys] = (np.int64(code) * n_classes + scratch.label[i - begin]) * size + (i - begin)
            n_keys += 1
    keys[:n_keys].sort()
    last = np.int64(-1)
    for i in range(n_keys):
        cell = keys[i] // size
        here = units[begin + keys[i] - cell * size]
        if cell == last:
            run_units[n_runs - 1] += here
        else:
            code = cell // n_classes
            run_code[n_runs], run_label[n_runs], run_units[n_runs] = code, cell - code * n_classes, here
            n_runs += 1
            last = cell
    return n_runs


@compiled_part
def try_thresholds(data, n_runs, total, scratch):
    """Gain, ratio and the two neighbouring values of the best threshold; a gain of -1 if there is none."""
    run_code, run_label, run_units = scratch.run_code, scratch.run_label, scratch.run_units
    left, right, left_log, right_log = scratch.left, scratch.right, scratch.left_log, scratch.right_log
    known = np.int64(0)
    for k in range(data.n_classes):
        left[k] = 0
        right[k] = 0
        left_log[k] = 0.0
    for r in range(n_runs):
        right[run_label[r]] += run_units[r]
        known += run_units[r]
    sum_left, sum_right = 0.0, 0.0
    for k in range(data.n_classes):
        right_log[k] = times_log(right[k], data)
        sum_right += right_log[k]
    before = times_log(known, data) - sum_right
    weight, in_all = known * data.scale, total * data.scale
    fewest = max(data.min_objects, min(LARGEST_MIN_SPLIT, 0.1 * weight / data.n_classes)) - EPS
    best, tries, low, high, best_below = 0.0, 0, -1, -1, np.int64(0)
    below = np.int64(0)
    for r in range(n_runs):
        if r > 0 and run_code[r] != run_code[r - 1] and below * data.scale >= fewest:
            if (known - below) * data.scale < fewest:
                break
            tries += 1
            after = times_log(below, data) + times_log(known - below, data) - sum_left - sum_right
            gain = (before - after) / in_all
            if gain > best + EPS:
                best, low, high, best_below = gain, run_code[r - 1], run_code[r], below
        k = run_label[r]
        left[k] += run_units[r]
        right[k] -= run_units[r]
        below += run_units[r]
        sum_left -= left_log[k]
        left_log[k] = times_log(left[k], data)
        sum_left += left_log[k]
        sum_right -= right_log[k]
        right_log[k] = times_log(right[k], data)
        sum_right += right_log[k]
    if low < 0:
        return -1.0, 0.0, -1, -1
    gain = best - np.log2(tries) / in_all
    if gain <= EPS:
        return -1.0, 0.0, -1, -1
    split = times_log(total, data) - times_log(best_below, data) - times_log(known - best_below, data) - times_log(total - known, data)
    return gain, (gain * in_all / split if split > EPS else 0.0), low, high


@compiled_part
def try_categories(data, n_values, total, scratch):
    """Gain and ratio of one branch for each category, from the cells; a gain of -1 if it is no split."""
    cells, in_class = scratch.cells, scratch.right
    for k in range(data.n_classes):
        in_class[k] = 0
    known, large, after, split = np.int64(0), 0, 0.0, times_log(total, data)
    for v in range(n_values):
        bag = np.int64(0)
        for k in range(data.n_classes):
            here = cells[v * data.n_classes + k]
            bag += here
            in_class[k] += here
            after -= times_log(here, data)
        after += times_log(bag, data)
        split -= times_log(bag, data)
        known += bag
        if bag * data.scale >= data.min_objects - EPS:
            large += 1
    if large < 2:
        return -1.0, 0.0
    before = times_log(known, data)
    for k in range(data.n_classes):
        before -= times_log(in_class[k], data)
    split -= times_log(total - known, data)
    gain = max((before - after) / (total * data.scale), 0.0)
    return gain, (gain * total * data.scale / split if split > EPS else 0.0)


@compiled_part
def best_split(data, rows, units, begin, end, total, scratch):
    """The attribute to split on and, if it is numeric, the two values the threshold is between; -1 if there is none."""
    for i in range(begin, end):
        scratch.label[i - begin] = data.y[rows[i]]
    gain, ratio = scratch.gain, scratch.ratio
    sum_of_gains, n_counted = 0.0, 0
    for f in range(len(data.n_values)):
        column, n_values = data.codes[f], data.n_values[f]
        if data.nominal[f]:
            count_cells(column, n_values, data.n_classes, rows, units, begin, end, scratch)
            gain[f], ratio[f] = try_categories(data, n_values, total, scratch)
        else:
            n_runs = find_runs(column, n_values, data.n_classes, rows, units, begin, end, scratch)
            gain[f], ratio[f], scratch.low[f], scratch.high[f] = try_thresholds(data, n_runs, total, scratch)
        if gain[f] >= 0 and not data.many[f]:
            sum_of_gains += gain[f]
            n_counted += 1
    best = -1
    if n_counted == 0:
        return best
    average, best_ratio = sum_of_gains / n_counted, 0.0
    for f in range(len(data.n_values)):
        if gain[f] >= 0 and gain[f] >= average - GAIN_SLACK and ratio[f] > best_ratio + EPS:
            best, best_ratio = f, ratio[f]
    return best
