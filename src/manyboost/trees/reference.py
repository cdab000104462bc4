"""The slow, obvious twin of each kernel, for the tests to compare with: plain Python, whole numbers of any size, no shortcuts.

A twin and its kernel agree exactly: equal integers, equal cuts, equal trees. Where a kernel had a choice that nothing else prescribes, the
twin's comment says which. Floating-point numbers are added one after the other in the kernel's order, never by ``sum``, which compensates
from Python 3.12 on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.trees.binning import FEATURE_MAJOR, HEAVY, Table
from manyboost.trees.criteria import ENTROPY, EXPONENTIAL, GINI, LEAST_SQUARES, NEWTON, PAIR_OF_CLASSES, SHARED_SIGN, Criterion, Rule
from manyboost.trees.forest import Forest
from manyboost.trees.growing import GrowthLimits, Tree
from manyboost.trees.nodes import NODE, Limits
from manyboost.trees.statistics import Floats, Statistics

WORD = (1 << 64) - 1
Sums = list[int]

# ---- random numbers ----------------------------------------------------------------------------------------------------------------------


def mix(state: int) -> int:
    """SplitMix64."""
    z = (state + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def uniform(seed: int, first: int, second: int) -> float:
    """A number in [0, 1) for the pair (first, second)."""
    return (mix(mix(seed ^ mix(first)) ^ second) >> 11) / 2.0**53


# ---- exact sums --------------------------------------------------------------------------------------------------------------------------


def fine_exponent(values: Iterable[float]) -> int:
    """The e for which the powers of two next above the absolute values, added up and times 2**e, have at most 62 bits.

    Zeros and denormal numbers do not count; without any others it is 0. It is kept within 1000, so that 2**e is a number.
    """
    bounds = [math.frexp(x)[1] for x in values if abs(x) >= 2.0**-1022]
    if not bounds:
        return 0
    total = sum(1 << (bound - min(bounds)) for bound in bounds)
    return max(-1000, min(1000, 62 - (total.bit_length() + min(bounds))))


def coarse_exponent(values: Iterable[float]) -> int:
    """The e for which the largest absolute value, times 2**e, has at most 24 bits; 0 when all are 0."""
    largest = max((abs(x) for x in values), default=0.0)
    return max(-1000, min(1000, 24 - math.frexp(largest)[1])) if largest else 0


def on_grid(value: float, exponent: int) -> int:
    """The value as a whole multiple of 2**-exponent, halves to even."""
    return round(float(value) * 2.0**exponent)


def grid_exponent(statistics: Statistics, random: bool, rows: Sequence[int] | None, pairs: bool = False) -> int:
    """The grid for growing; on the fine one a row drawn several times must leave room for all its copies, on the coarse one the gradient
    of a pair of classes for twice the weight of a row."""
    values = [*map(float, statistics.dense.ravel()), *map(float, statistics.weight)]
    if random:
        return coarse_exponent(values) - pairs
    times = 1 if rows is None else max(list(rows).count(row) for row in set(rows))
    return fine_exponent(values) - (times - 1).bit_length()


def amounts(statistics: Statistics, exponent: int) -> list[Sums]:
    """For each row what it adds to the sums of a node: its dense numbers, and its weight at its label."""
    out = []
    for i in range(statistics.n_rows):
        row = [on_grid(x, exponent) for x in statistics.dense[i]] + [0] * statistics.n_labels
        if statistics.n_labels:
            row[statistics.n_dense + int(statistics.label[i])] = on_grid(statistics.weight[i], exponent)
        out.append(row)
    return out


def total(parts: Iterable[Sums], size: int) -> Sums:
    """The sum of sums."""
    out = [0] * size
    for part in parts:
        out = [a + b for a, b in zip(out, part, strict=True)]
    return out


def sum_leaves(statistics: Statistics, leaf: Sequence[int], n_leaves: int) -> Floats:
    """The statistics summed over the rows of each leaf."""
    exponent = grid_exponent(statistics, False, None)
    rows = amounts(statistics, exponent)
    sums = [total((rows[i] for i in range(len(rows)) if leaf[i] == at), statistics.size) for at in range(n_leaves)]
    return np.array([[math.ldexp(float(x), -exponent) for x in row] for row in sums]).reshape(n_leaves, statistics.size)


# ---- bins --------------------------------------------------------------------------------------------------------------------------------


def column_cuts(values: Sequence[float], weights: Sequence[int], max_bins: int) -> list[float]:
    """Where a numeric column is cut: after the value at which the cumulative weight reaches each of the quantiles.

    Also before a value at which it reaches many of them.
    """
    mass: dict[float, int] = {}
    for value, weight in zip(values, weights, strict=True):
        if not math.isnan(value):
            mass[value] = mass.get(value, 0) + weight
    distinct = sorted(mass)
    if len(distinct) <= max_bins:
        after = set(range(len(distinct) - 1))
    else:
        cumulative = [sum(mass[value] for value in distinct[: at + 1]) for at in range(len(distinct))]
        reached = [next(at for at, c in enumerate(cumulative) if c * max_bins >= k * cumulative[-1]) for k in range(1, max_bins)]
        after = {*reached, *(at - 1 for at in reached if at > 0 and reached.count(at) >= HEAVY)}
    return [_midpoint(distinct[at], distinct[at + 1]) for at in sorted(after) if at + 1 < len(distinct)]


def _midpoint(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def bin_of_value(value: float, cuts: Sequence[float]) -> int:
    """The number of cuts below the value; a missing one has the bin after the last."""
    return len(cuts) + 1 if math.isnan(value) else sum(cut < value for cut in cuts)


def bins_of(table: Table) -> list[list[int]]:
    """The bins of each row, however the table is laid out."""
    n, p = table.n_rows, table.n_features
    stored = table.stored
    if stored is None:
        columns = table.bins if table.layout == FEATURE_MAJOR else table.bins.T
        return [[_bin_in_column(int(columns[table.features[f]["column"], i]), table.features[f]) for f in range(p)] for i in range(n)]
    out = [[int(table.features[f]["zero_bin"]) for f in range(p)] for _ in range(n)]
    for i in range(n):
        for e in range(stored.indptr[i], stored.indptr[i + 1]):
            out[i][stored.indices[e]] = int(stored.entries[e])
    return out


def _bin_in_column(code: int, feature: Any) -> int:
    """The bin of a feature whose column holds this code; in a shared column it owns the codes of its bins but zero_bin, from start on."""
    if feature["start"] < 0:
        return code
    others = [b for b in range(feature["n_bins"]) if b != feature["zero_bin"]]
    at = code - int(feature["start"])
    return others[at] if 0 <= at < len(others) else int(feature["zero_bin"])


def row_keys(table: Table, label: Sequence[int]) -> list[int]:
    """A word for each (feature, bin), and one for the label as if it were the bin of one more feature, added up."""
    p = table.n_features
    return [
        (sum(mix(f * 256 + b) for f, b in enumerate(row)) + mix(p * 256 + int(k))) & WORD
        for row, k in zip(bins_of(table), label, strict=True)
    ]


# ---- criteria ----------------------------------------------------------------------------------------------------------------------------


def label_sums(sums: Sequence[int], n_dense: int, n_labels: int) -> Sequence[int]:
    """The weights of labels: those behind the dense numbers, or the dense numbers where there are no labels."""
    return sums[n_dense : n_dense + n_labels] if n_labels else sums[:n_dense]


def node_loss(rule: Rule, sums: Sequence[int], n_dense: int, n_labels: int) -> float:
    """The loss of a node with these sums."""
    labels = [float(w) for w in label_sums(sums, n_dense, n_labels)]
    K = rule.n_outputs
    loss = 0.0
    if rule.code == GINI:
        if len(labels) == 2:  # in a form of its own: no difference of large numbers
            a, b = labels
            return 2.0 * a * b / (a + b) if a + b > 0 else 0.0
        lanes = [0.0] * 4
        for k, w in enumerate(labels):
            lanes[k % 4] += w * w
        weight = node_weight(rule, sums, n_dense, n_labels)
        return weight - ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) / weight if weight > 0 else 0.0
    if rule.code == ENTROPY:
        weight = node_weight(rule, sums, n_dense, n_labels)
        for w in labels:
            if w > 0:
                loss += w * math.log(weight / w)
        return loss
    if rule.code == EXPONENTIAL:
        for k in range(K):
            inside, outside = sums[K + k], sums[k] - sums[K + k]
            loss += math.sqrt(max(float(inside) * float(outside), 0.0))
        return 2.0 * loss
    for k in range(K):  # newton, least_squares
        curvature = float(sums[K if rule.code == LEAST_SQUARES else K + k]) + float(rule.constants[0])
        if curvature > 0:
            loss -= float(sums[k]) * float(sums[k]) / curvature
    return loss


def node_weight(rule: Rule, sums: Sequence[int], n_dense: int, n_labels: int) -> float:
    """The weight of a node, the scale its gains are compared on."""
    K = rule.n_outputs
    if rule.code in (GINI, ENTROPY):
        return float(sum(int(w) for w in label_sums(sums, n_dense, n_labels)))
    if rule.code == EXPONENTIAL:
        parts = sums[:K]
    elif rule.code == NEWTON:
        parts = sums[K : 2 * K]
    else:
        parts = sums[K : K + 1]
    weight = 0.0
    for w in parts:
        weight += float(w)
    return weight


def signed_loss(rule: Rule, signed: Sequence[int]) -> float:
    """REBEL's loss of a whole tree with these signed sums."""
    loss = 0.0
    for k in range(rule.n_outputs):
        T, D = float(rule.constants[k]), float(signed[k])
        loss += math.sqrt(max(T * T - D * D, 0.0))
    return loss


def profile(rule: Rule, sums: Sequence[int], n_dense: int, n_labels: int) -> list[float]:
    """What a node with these sums would answer: shares of the labels, or a value for each output."""
    weight = node_weight(rule, sums, n_dense, n_labels)
    K = rule.n_outputs
    if rule.code in (GINI, ENTROPY):
        return [float(w) / weight if weight > 0 else 0.0 for w in label_sums(sums, n_dense, n_labels)]
    if weight <= 0:
        return [0.0] * K
    out = []
    for k in range(K):
        if rule.code == EXPONENTIAL:
            T = float(sums[k])
            out.append((2.0 * float(sums[K + k]) - T) / T if T > 0 else 0.0)
        else:
            curvature = float(sums[K + k]) if rule.code == NEWTON else weight
            if rule.code != SHARED_SIGN:
                curvature += float(rule.constants[0])
            out.append(float(sums[k]) / curvature if curvature > 0 else 0.0)
    return out


# ---- splits ------------------------------------------------------------------------------------------------------------------------------


@dataclass
class Split:
    """Bins at or below ``bin`` go left, or at a categorical column (``bin`` -1) those in ``categories``."""

    gain: float  # per unit of the node's weight
    feature: int
    bin: int
    missing_left: bool
    categories: frozenset[int] = frozenset()

    def goes_left(self, b: int, n_bins: int) -> bool:
        if b == n_bins:
            return self.missing_left
        return b <= self.bin if self.bin >= 0 else b in self.categories


@dataclass
class Node:
    """A node of a tree that grows."""

    number: int
    start: int  # its rows' place among all rows of the tree
    rows: list[int]
    depth: int
    sums: Sums
    sign: int = 1
    gain: float = 0.0
    split: Split | None = None  # at hand, or made where there are children
    children: list[int] = field(default_factory=list)


@dataclass
class Problem:
    """All that growing needs to know."""

    table: Table
    bins: list[list[int]]
    amounts: list[Sums]
    rule: Rule
    limits: Limits
    n_dense: int
    n_labels: int
    counted: bool
    signed: Sums  # sign times sums, over all leaves so far
    classes: list[tuple[Sums, int, int]] = field(default_factory=list)  # for pairs: w p of all classes, class and w of each row

    @property
    def size(self) -> int:
        return self.n_dense + self.n_labels + self.counted

    def loss(self, sums: Sums) -> float:
        return node_loss(self.rule, sums, self.n_dense, self.n_labels)

    def weight(self, sums: Sums) -> float:
        return node_weight(self.rule, sums, self.n_dense, self.n_labels)


def curvature_of_pair(q: int, other: int, w: int) -> int:
    """Of a row: w (p (1-p) + p' (1-p') + 2 p p') = q + q' - (q - q')^2 / w for q = w p."""
    if w <= 0:
        return 0
    d = float(q - other)
    return round(float(q) + float(other) - d * d * (1.0 / float(w)))


def look_through_best_pair(problem: Problem, rows: Sequence[int]) -> None:
    """Let the rows of a node count by the gradient and the curvature of its best pair; of classes equal within ``tie`` the first."""
    if not problem.classes:
        return
    here = [problem.classes[i] for i in rows]
    K = len(here[0][0])
    g = [sum(w * (k == label) - shares[k] for shares, label, w in here) for k in range(K)]
    unit = problem.limits.tie * float(sum(w for _, _, w in here))
    up = next(k for k in range(K) if float(g[k]) >= float(max(g)) - unit)
    gains = []
    for k in range(K):
        h = sum(curvature_of_pair(shares[up], shares[k], w) for shares, _, w in here)
        d = float(g[up] - g[k])
        gains.append(-math.inf if k == up else d * d / (float(h) if h > 0 else 1.0))
    down = next(k for k in range(K) if gains[k] >= max(gains) - unit)
    for i in rows:
        shares, label, w = problem.classes[i]
        gradient = w * ((label == up) - (label == down)) - shares[up] + shares[down]
        problem.amounts[i][:2] = [gradient, curvature_of_pair(shares[up], shares[down], w)]


def histogram(problem: Problem, rows: Sequence[int], feature: int) -> list[Sums]:
    """For each bin of a feature, the missing one last, the sums of the rows."""
    hist = [[0] * problem.size for _ in range(problem.table.features[feature]["n_bins"] + 1)]
    for i in rows:
        b = problem.bins[i][feature]
        hist[b] = total([hist[b], problem.amounts[i]], problem.size)
    return hist


def gain_of(problem: Problem, node: Node, left: Sums) -> tuple[float, bool] | None:
    """The gain of parting ``left`` from the rest of the node, and whether it is the heavier side; None if a limit forbids it."""
    limits = problem.limits
    right = [a - b for a, b in zip(node.sums, left, strict=True)]
    if problem.counted and min(left[-1], right[-1]) < limits.min_leaf:
        return None
    lighter = min(problem.weight(left), problem.weight(right))
    if lighter <= 0 or lighter < limits.min_weight:
        return None
    if problem.rule.code == SHARED_SIGN:  # the best of both signs, the other leaves being as they are
        before = signed_loss(problem.rule, problem.signed)
        after = min(signed_loss(problem.rule, _signed_after(problem, node, left, right, sign)) for sign in (1, -1))
    else:
        before, after = problem.loss(node.sums), problem.loss(left) + problem.loss(right)
    gain = math.floor((before - after) / (problem.weight(node.sums) * limits.tie) + 0.5) * limits.tie
    return gain, problem.weight(left) >= problem.weight(right)


def _signed_after(problem: Problem, node: Node, left: Sums, right: Sums, sign: int) -> Sums:
    return [problem.signed[k] - node.sign * node.sums[k] + sign * (left[k] - right[k]) for k in range(problem.rule.n_outputs)]


def order_categories(problem: Problem, hist: Sequence[Sums], used: Sequence[int]) -> list[int]:
    """Categories along the principal direction of their profiles, equal ones by number.

    The direction is what thirty steps of the power method make of the covariances of the profile that varies most.
    """
    weights = [problem.weight(hist[c]) for c in used]
    profiles = [profile(problem.rule, hist[c], problem.n_dense, problem.n_labels) for c in used]
    m = len(profiles[0]) if used else 0
    if m == 1:
        return [used[u] for u in sorted(range(len(used)), key=lambda u: profiles[u][0])]
    weight = 0.0
    for w in weights:
        weight += w
    if weight == 0:
        return list(used)
    mean = [0.0] * m
    for w, row in zip(weights, profiles, strict=True):
        mean = [mean[k] + w * row[k] for k in range(m)]
    profiles = [[row[k] - mean[k] / weight for k in range(m)] for row in profiles]
    spread = [[0.0] * m for _ in range(m)]
    for w, row in zip(weights, profiles, strict=True):
        for j in range(m):
            for k in range(m):
                spread[j][k] += w / weight * row[j] * row[k]
    widest = max(range(m), key=lambda k: spread[k][k])
    direction = spread[widest]
    for _ in range(30):
        turned = [_product(spread[j], direction) for j in range(m)]
        length = max(abs(x) for x in turned)
        if length == 0:
            break
        direction = [x / length for x in turned]
    position = [_product(row, direction) for row in profiles]
    return [used[u] for u in sorted(range(len(used)), key=lambda u: position[u])]


def _product(a: Sequence[float], b: Sequence[float]) -> float:
    out = 0.0
    for x, y in zip(a, b, strict=True):
        out += x * y
    return out


def best_split(problem: Problem, node: Node) -> Split | None:
    """The first split of greatest gain: lowest feature, then missing values on the right, then lowest bin or fewest categories.

    Only bins of which a sum is not zero are told apart: rows that weigh nothing are not seen unless rows are counted.
    """
    best = None
    for f in range(problem.table.n_features):
        feature = problem.table.features[f]
        hist = histogram(problem, node.rows, f)
        missing = hist.pop()
        used = [b for b in range(feature["n_bins"]) if any(hist[b])]
        if feature["categorical"]:
            used = order_categories(problem, hist, used)
        for missing_left in (False, True) if any(missing) else (None,):
            # all known values may stand against the missing ones on the right: the other way round is the same split
            for n_left in range(1, len(used) + (missing_left is False)):
                left = total([hist[b] for b in used[:n_left]] + [missing] * bool(missing_left), problem.size)
                found = gain_of(problem, node, left)
                if found is None or found[0] <= (best.gain if best else 0.0):
                    continue
                # where no missing value was seen they go with the heavier side
                side = found[1] if missing_left is None else missing_left
                if feature["categorical"]:
                    best = _by_categories(found[0], f, int(feature["n_bins"]), used, n_left, side)
                else:
                    # midway between two bins that are used, or after the last of all
                    threshold = (used[n_left - 1] + used[n_left] - 1) // 2 if n_left < len(used) else int(feature["n_bins"]) - 1
                    best = Split(found[0], f, threshold, side)
    return best


def random_split(problem: Problem, node: Node) -> Split | None:
    """As :func:`best_split`, with one threshold or number of categories per feature, drawn for (seed, node, feature)."""
    best = None
    for f in range(problem.table.n_features):
        feature = problem.table.features[f]
        n_bins = int(feature["n_bins"])
        draw = uniform(int(problem.limits.seed), node.number, f)
        hist = histogram(problem, node.rows, f)
        missing = hist.pop()
        known = [problem.bins[i][f] for i in node.rows if problem.bins[i][f] < n_bins]  # whatever they weigh
        if feature["categorical"]:
            used = order_categories(problem, hist, [b for b in range(n_bins) if any(hist[b])])
            n_left = 1 + int(draw * (len(used) - 1)) if len(used) > 1 else len(used)
            below = used[:n_left]
        else:
            used, n_left = [], 0
            several = len(set(known)) > 1
            threshold = min(known) + int(draw * (max(known) - min(known))) if several else n_bins - 1
            below = list(range(threshold + 1))
        for missing_left in (False, True) if any(missing) else (None,):
            left = total([hist[b] for b in below] + [missing] * bool(missing_left), problem.size)
            found = gain_of(problem, node, left)
            if found is None or found[0] <= (best.gain if best else 0.0):
                continue
            side = found[1] if missing_left is None else missing_left
            if feature["categorical"]:
                best = _by_categories(found[0], f, n_bins, used, n_left, side)
            else:
                best = Split(found[0], f, threshold, side)
    return best


def _by_categories(gain: float, feature: int, n_categories: int, used: Sequence[int], n_left: int, missing_left: bool) -> Split:
    """Categories without rows here go where missing values go."""
    unused = set(range(n_categories)) - set(used)
    return Split(gain, feature, -1, missing_left, frozenset(used[:n_left]) | (unused if missing_left else set()))


# ---- trees -------------------------------------------------------------------------------------------------------------------------------


def grow(
    table: Table, limits: GrowthLimits, statistics: Statistics, criterion: Criterion, seed: int, rows: Sequence[int] | None = None
) -> tuple[Tree, NDArray[np.int32]]:
    """The twin of ``Grower(table, limits).grow(statistics, criterion, seed, rows)``."""
    drawn = list(range(table.n_rows)) if rows is None else [int(i) for i in rows]
    exponent = grid_exponent(statistics, limits.random, drawn, criterion.code == PAIR_OF_CLASSES)
    problem = pose(table, limits, statistics, criterion, seed, drawn)
    nodes = grow_nodes(problem, drawn, random_split if limits.random else best_split)
    leaf = [leaf_of(nodes, problem, row) for row in problem.bins]
    return _as_tree(nodes, exponent, problem.n_dense + problem.n_labels), np.array(leaf, np.int32)


def pose(table: Table, limits: GrowthLimits, statistics: Statistics, criterion: Criterion, seed: int, rows: Sequence[int]) -> Problem:
    """Rows, statistics and limits in whole numbers."""
    pairs = criterion.code == PAIR_OF_CLASSES
    exponent = grid_exponent(statistics, limits.random, rows, pairs)
    rule = Rule.on_grid(criterion, exponent)
    whole, n_dense, n_labels = amounts(statistics, exponent), statistics.n_dense, statistics.n_labels
    problem = Problem(table, bins_of(table), whole, rule, limits.on(len(rows), 0.0, seed), n_dense, n_labels, False, [])
    if pairs:
        labels = [int(label) for label in statistics.label]
        problem.classes = [(row[:n_dense], label, row[n_dense + label]) for row, label in zip(whole, labels, strict=True)]
        problem.amounts, problem.n_dense, problem.n_labels = [[0, 0] for _ in whole], 2, 0
        look_through_best_pair(problem, rows)
    weight = problem.weight(total((problem.amounts[i] for i in rows), problem.size))
    problem.limits = limits.on(len(rows), weight, seed)
    problem.counted = problem.limits.min_leaf > 1  # only then is the number of rows on either side looked at
    if problem.counted:
        problem.amounts = [[*row, 1] for row in problem.amounts]
    return problem


def grow_nodes(problem: Problem, rows: list[int], find: Any) -> list[Node]:
    """Split one node after the other until no split is left or there are leaves enough."""
    limits = problem.limits
    root = Node(0, 0, rows, 0, total((problem.amounts[i] for i in rows), problem.size))
    problem.signed = root.sums[: problem.rule.n_outputs]
    nodes, opened, n_leaves = [root], [], 1

    def look_at(node: Node) -> None:
        if n_leaves < limits.max_leaves and may_split(problem, node):
            node.split = find(problem, node)
            if node.split is not None:
                node.gain = node.split.gain * problem.weight(node.sums)
                opened.append(node)

    look_at(root)
    while opened and n_leaves < limits.max_leaves:
        node = opened[-1]  # depth-first: what was opened last
        if limits.best_first:
            node = min(opened, key=lambda other: (-other.gain, other.number))
        opened.remove(node)
        n_leaves += 1
        left, right = add_children(problem, nodes, node, are_leaves=node.depth + 1 >= limits.max_depth or n_leaves >= limits.max_leaves)
        if problem.rule.code == SHARED_SIGN:
            give_signs(problem, node, left, right)
        look_at(right)
        look_at(left)
    for node in opened:  # splits that were not made
        node.split, node.gain = None, 0.0
    return nodes


def may_split(problem: Problem, node: Node) -> bool:
    """Is the node neither too deep, nor too small, nor pure?"""
    limits, n = problem.limits, len(node.rows)
    if node.depth >= limits.max_depth or n < limits.min_split or n < 2 * limits.min_leaf:
        return False
    if problem.rule.code in (GINI, ENTROPY):
        return sum(w > 0 for w in label_sums(node.sums, problem.n_dense, problem.n_labels)) > 1
    return True


def add_children(problem: Problem, nodes: list[Node], node: Node, *, are_leaves: bool) -> tuple[Node, Node]:
    """Part the rows of a node, in their order; children that are leaves for sure are looked at through its pair of classes."""
    assert node.split is not None
    f = node.split.feature
    n_bins = int(problem.table.features[f]["n_bins"])
    start = node.start
    for side in (True, False):
        rows = [i for i in node.rows if node.split.goes_left(problem.bins[i][f], n_bins) == side]
        if not are_leaves:
            look_through_best_pair(problem, rows)
        child = Node(len(nodes), start, rows, node.depth + 1, total((problem.amounts[i] for i in rows), problem.size))
        start += len(rows)
        nodes.append(child)
        node.children.append(child.number)
    return nodes[-2], nodes[-1]


def give_signs(problem: Problem, node: Node, left: Node, right: Node) -> None:
    """The opposite signs that lower REBEL's loss most; among equals the left child has the plus."""
    plus, minus = (_signed_after(problem, node, left.sums, right.sums, sign) for sign in (1, -1))
    left.sign = 1 if signed_loss(problem.rule, plus) <= signed_loss(problem.rule, minus) else -1
    right.sign = -left.sign
    problem.signed = plus if left.sign == 1 else minus


def leaf_of(nodes: Sequence[Node], problem: Problem, bins: Sequence[int]) -> int:
    """The number, among the leaves in node order, of the leaf a row with these bins falls into."""
    node = nodes[0]
    while node.split is not None:
        f = node.split.feature
        left, right = node.children
        node = nodes[left if node.split.goes_left(bins[f], int(problem.table.features[f]["n_bins"])) else right]
    return sum(other.split is None for other in nodes[: node.number])


def _as_tree(nodes: Sequence[Node], exponent: int, size: int) -> Tree:
    out = np.zeros(len(nodes), NODE)
    for node, row in zip(nodes, out, strict=True):
        row["start"], row["end"], row["depth"], row["sign"] = node.start, node.start + len(node.rows), node.depth, node.sign
        row["left"], row["right"] = node.children or (-1, -1)
        row["slot"] = row["feature"] = row["bin"] = -1
        if node.split is not None:
            row["gain"], row["feature"], row["bin"] = math.ldexp(node.gain, -exponent), node.split.feature, node.split.bin
            row["missing_left"] = node.split.missing_left
            for c in node.split.categories:
                row["mask"][c // 64] |= np.uint64(1 << c % 64)
    return Tree(out, np.array([[math.ldexp(float(x), -exponent) for x in node.sums[:size]] for node in nodes]))


# ---- forests -----------------------------------------------------------------------------------------------------------------------------


def score(forest: Forest, X: NDArray[np.floating[Any]]) -> Floats:
    """The sum of the leaf vectors of all members, row by row and member by member, (n, C)."""
    columns = np.zeros((len(X), forest.n_columns))
    for i, x in enumerate(X):
        for member in forest.members:
            node = forest.nodes[member["root"]]
            while node["feature"] >= 0:
                value = float(x[node["feature"]])
                if math.isnan(value):
                    left = bool(node["missing_left"])
                elif node["categories"] >= 0:
                    mask = forest.masks[node["categories"]]
                    left = bool(int(mask[int(value) // 64]) >> int(value) % 64 & 1)
                else:
                    left = value <= node["threshold"]
                node = forest.nodes[member["root"] + node["left"] + (0 if left else 1)]
            for k in range(member["width"]):
                columns[i, member["column"] + k] += forest.values[node["left"] + k]
    return columns
