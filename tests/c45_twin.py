"""The slow twin of the C4.5 tree: lists of rows, recursion, entropies straight from their definition, one step after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

EPS = 1e-6
Part = list[tuple[int, float]]  # rows with their weights


@dataclass
class Node:
    count: list[float]
    part: Part
    feature: int = -1
    threshold: float = math.nan
    children: list[Node] = field(default_factory=list)

    @property
    def weight(self) -> float:
        return sum(self.count)

    @property
    def errors(self) -> float:
        return self.weight - max(self.count)

    def become_leaf(self) -> None:
        self.feature, self.threshold, self.children = -1, math.nan, []


def entropy(weights: list[float]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w > 0) if total > 0 else 0.0


def added_errors(n: float, e: float, confidence: float) -> float:
    if e < 1:
        none = n * (1 - confidence ** (1 / n))
        return none if e == 0 else (1 - e) * none + e * added_errors(n, 1.0, confidence)
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    z, f = NormalDist().inv_cdf(1 - confidence), (e + 0.5) / n
    return n * (f + z**2 / (2 * n) + z * math.sqrt(f / n - f**2 / n + z**2 / (4 * n**2))) / (1 + z**2 / n) - e


class Twin:
    """Grown on (n, p) numbers, NaN for missing; ``nominal`` gives the number of categories of each nominal column."""

    def __init__(self, X: Any, y: Any, weight: Any, nominal: dict[int, int], *, confidence: float = 0.25, min_objects: float = 2.0,
                 collapse: bool = True, prune: bool = True, subtree_raising: bool = True) -> None:  # fmt: skip
        self.X, self.y, self.nominal, self.m, self.confidence = np.asarray(X, float), np.asarray(y), nominal, min_objects, confidence
        self.raising, self.K, self.n_features = subtree_raising, int(max(y)) + 1, self.X.shape[1]
        everything = [(i, float(w)) for i, w in enumerate(weight) if w > 0]
        size = sum(w for _, w in everything)
        self.many = {f for f in nominal if len({self.X[i, f] for i, _ in everything if not math.isnan(self.X[i, f])}) >= 0.3 * size}
        if len(self.many) == self.n_features:
            self.many = set()
        self.all_values = [sorted({self.X[i, f] for i, _ in everything if not math.isnan(self.X[i, f])}) for f in range(self.n_features)]
        self.root = self.grow(everything)
        if collapse:
            self.collapse(self.root)
        if prune:
            self.prune(self.root)

    def count(self, part: Part) -> list[float]:
        out = [0.0] * self.K
        for i, w in part:
            out[self.y[i]] += w
        return out

    def branches(self, part: Part, f: int, threshold: float) -> list[Part]:
        """The known rows of each branch."""
        out: list[Part] = [[] for _ in range(self.nominal.get(f, 2))]
        for i, w in part:
            value = self.X[i, f]
            if not math.isnan(value):
                out[int(value) if f in self.nominal else int(value > threshold)].append((i, w))
        return out

    def gain_and_ratio(self, part: Part, f: int, threshold: float) -> tuple[float, float, float]:
        """Gain, before the number of thresholds is charged, the gain ratio, and the split information."""
        counts = [self.count(branch) for branch in self.branches(part, f, threshold)]
        sizes = [sum(count) for count in counts]
        total, known = sum(w for _, w in part), sum(sizes)
        inside = sum(size / known * entropy(count) for size, count in zip(sizes, counts, strict=True))
        gain = known / total * (entropy([sum(column) for column in zip(*counts, strict=True)]) - inside)
        information = entropy([*sizes, max(total - known, 0.0)])
        return gain, gain / information if information * total > EPS else 0.0, information

    def candidate(self, part: Part, f: int) -> tuple[float, float, float] | None:
        """Gain, ratio and threshold."""
        total = sum(w for _, w in part)
        if f in self.nominal:
            sizes = [sum(w for _, w in branch) for branch in self.branches(part, f, math.nan)]
            if sum(size >= self.m - EPS for size in sizes) < 2:
                return None
            return (*self.gain_and_ratio(part, f, math.nan)[:2], math.nan)
        values = sorted({self.X[i, f] for i, _ in part if not math.isnan(self.X[i, f])})
        known = sum(w for i, w in part if not math.isnan(self.X[i, f]))
        fewest = max(self.m, min(25.0, 0.1 * known / self.K))
        best, at, tries = 0.0, -1, 0
        for v in range(len(values) - 1):
            sizes = [sum(w for _, w in branch) for branch in self.branches(part, f, values[v])]
            if min(sizes) < fewest - EPS:
                continue
            tries += 1
            gain = self.gain_and_ratio(part, f, values[v])[0]
            if gain > best + EPS:
                best, at = gain, v
        if at < 0 or best - math.log2(tries) / total <= EPS:
            return None
        gain = best - math.log2(tries) / total
        middle = (values[at] + values[at + 1]) / 2
        threshold = max(value for value in self.all_values[f] if value <= middle)
        return gain, gain / self.gain_and_ratio(part, f, values[at])[2], threshold

    def grow(self, part: Part) -> Node:
        node = Node(self.count(part), part)
        if node.weight < 2 * self.m - EPS or node.errors <= EPS:
            return node
        found = {f: made for f in range(self.n_features) if (made := self.candidate(part, f)) is not None}
        counted = [gain for f, (gain, _, _) in found.items() if f not in self.many]
        if not counted:
            return node
        best = 0.0
        for f, (gain, ratio, threshold) in found.items():
            if gain >= sum(counted) / len(counted) - 1e-3 and ratio > best + EPS:
                best, node.feature, node.threshold = ratio, f, threshold
        if node.feature >= 0:
            node.children = [self.grow(branch) for branch in self.share(part, node)]
        return node

    def share(self, part: Part, node: Node) -> list[Part]:
        """The rows of each branch, those without a value in parts."""
        known = self.branches(part, node.feature, node.threshold)
        sizes = [sum(w for _, w in branch) for branch in known]
        out: list[Part] = [[] for _ in known]
        for i, w in part:
            value = self.X[i, node.feature]
            for c, size in enumerate(sizes):
                if math.isnan(value):
                    if size > 0:
                        out[c].append((i, w * size / sum(sizes)))
                elif c == (int(value) if node.feature in self.nominal else int(value > node.threshold)):
                    out[c].append((i, w))
        return out

    def training_errors(self, node: Node) -> float:
        return sum(self.training_errors(child) for child in node.children) if node.children else node.errors

    def collapse(self, node: Node) -> None:
        if node.children and self.training_errors(node) >= node.errors - 1e-3:
            node.become_leaf()
        for child in node.children:
            self.collapse(child)

    def expected(self, count: list[float]) -> float:
        n = sum(count)
        return n - max(count) + added_errors(n, n - max(count), self.confidence) if n > 0 else 0.0

    def expected_of_tree(self, node: Node) -> float:
        return sum(self.expected_of_tree(child) for child in node.children) if node.children else self.expected(node.count)

    def expected_of_rows(self, node: Node, part: Part) -> float:
        if not node.children or not part:
            return self.expected(self.count(part))
        return sum(self.expected_of_rows(child, inside) for child, inside in zip(node.children, self.share(part, node), strict=True))

    def route(self, node: Node, part: Part) -> None:
        node.part, node.count = part, self.count(part)
        for child, inside in zip(node.children, self.share(part, node) if node.children else [], strict=True):
            self.route(child, inside)

    def prune(self, node: Node) -> None:
        if not node.children:
            return
        for child in node.children:
            self.prune(child)
        largest = max(reversed(node.children), key=lambda child: child.weight)
        leaf, tree = self.expected(node.count), self.expected_of_tree(node)
        raised = self.expected_of_rows(largest, node.part) if self.raising else math.inf
        if leaf <= tree + 0.1 + EPS and leaf <= raised + 0.1 + EPS:
            node.become_leaf()
        elif raised <= tree + 0.1 + EPS:
            node.feature, node.threshold, node.children = largest.feature, largest.threshold, largest.children
            self.route(node, node.part)
            self.prune(node)

    def probability(self, row: Any) -> Any:
        return self._answer(self.root, row)

    def _answer(self, node: Node, row: Any) -> Any:
        if not node.children:
            return np.array(node.count) / node.weight
        value = row[node.feature]
        if math.isnan(value):
            return sum(child.weight / node.weight * self._answer(child, row) for child in node.children if child.weight > 0)
        child = node.children[int(value) if node.feature in self.nominal else int(value > node.threshold)]
        return self._answer(child, row) if child.weight > 0 else np.array(node.count) / node.weight

    def levels(self) -> list[Node]:
        """All nodes, level by level."""
        out, at = [self.root], 0
        while at < len(out):
            out += out[at].children
            at += 1
        return out
