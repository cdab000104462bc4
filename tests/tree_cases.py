"""Small random cases for the tests of the tree core: a table with all that makes columns awkward, statistics, limits, drawn rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.threads import ALONE, Threads
from manyboost.trees.binning import Binning, Table, apply_bins, find_cuts, share_columns
from manyboost.trees.criteria import (
    ENTROPY_CRITERION,
    GINI_CRITERION,
    Criterion,
    exponential,
    least_squares,
    newton,
    pair_of_classes,
    shared_sign,
)
from manyboost.trees.growing import Grower, GrowthLimits, Tree
from manyboost.trees.statistics import Statistics

CRITERIA = ("gini", "entropy", "exponential", "newton", "least_squares", "shared_sign", "pair_of_classes")
# all a tree is, but for the place its histogram had
FIELDS = ("start", "end", "depth", "left", "right", "sign", "gain", "feature", "bin", "missing_left", "mask")


@dataclass(frozen=True)
class Case:
    """What one call of ``Grower.grow`` needs."""

    X: Any
    binning: Binning
    table: Table
    limits: GrowthLimits
    statistics: Statistics
    criterion: Criterion
    seed: int
    rows: NDArray[np.int32] | None

    def grown(self, team: Threads = ALONE) -> tuple[Tree, NDArray[np.int32]]:
        return Grower(self.table, self.limits, team).grow(self.statistics, self.criterion, self.seed, self.rows)

    def with_exclusive_columns(self) -> Case:
        """The same case with columns behind its own of which each row has one at most off its usual value, in a table that shares them."""
        rng = np.random.default_rng(self.seed)
        on = np.eye(5)[rng.integers(0, 5, len(self.X))]
        many = np.eye(12)[rng.integers(0, 12, len(self.X))]  # so many that they share where rows are read whole, too
        X = np.column_stack([self.X, on[:, :4], on[:, :3] * 2 - 1, many, on[:, 3:] * rng.integers(-3, 4, len(self.X))[:, None]])
        n_categories = np.append(self.binning.n_categories, np.zeros(21)).astype(np.int32)
        binning = find_cuts(X, np.ones(len(X)), n_categories, 255)
        return replace(self, X=X, binning=binning, table=share_columns(apply_bins(X, binning, self.limits.layout), worth=0))

    def on_matrix(self, X: Any) -> Case:
        """The same case with its table made from another matrix, such as a sparse copy."""
        return replace(self, X=X, table=apply_bins(X, self.binning, self.limits.layout))


def columns(rng: np.random.Generator, n: int, p: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Numbers with few and many values, mostly zeros, constants, categories, and values missing here and there or everywhere."""
    X, n_categories = np.empty((n, p)), np.zeros(p, np.int32)
    for f in range(p):
        kind = rng.choice(["few", "many", "zeros", "constant", "categories"], p=[0.25, 0.3, 0.15, 0.05, 0.25])
        if kind == "few":
            X[:, f] = rng.integers(-2, 3, n)
        elif kind == "many":
            X[:, f] = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
        elif kind == "zeros":
            X[:, f] = rng.integers(1, 9, n) * (rng.random(n) < 0.3)
        elif kind == "constant":
            X[:, f] = rng.integers(0, 2)
        else:
            n_categories[f] = rng.choice([1, 2, 3, 6, 63, 64, 65, 130, 255])
            X[:, f] = rng.integers(0, n_categories[f], n)
        if rng.random() < 0.4:
            X[rng.random(n) < rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.35, 0.05]), f] = np.nan
    return X, n_categories


def positive(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Weights: all one, small whole numbers, or spread over forty powers of two; sometimes with zeros."""
    kind = rng.integers(4)
    if kind == 0:
        return np.ones(shape)
    if kind == 1:
        return rng.integers(0, 4, shape).astype(np.float64)
    weight = 2.0 ** rng.uniform(-20, 20, shape)
    return weight * (rng.random(shape) < 0.9) if kind == 2 else weight


def answers(rng: np.random.Generator, X: NDArray[np.float64], K: int) -> NDArray[np.intp]:
    """Labels that have to do with the columns, or not."""
    if rng.random() < 0.3:
        return rng.integers(0, K, len(X))
    known = np.where(np.isnan(X), rng.integers(-2, 3), X)
    return np.argmax(np.sin(known @ rng.standard_normal((X.shape[1], K)) + rng.uniform(0, 6, K)) + rng.random((len(X), K)) / 2, axis=1)


def problem(rng: np.random.Generator, X: NDArray[np.float64], name: str) -> tuple[Statistics, Criterion]:
    """Statistics for a criterion; gradients have both signs."""
    n, K = len(X), int(rng.integers(1, 6))
    if name in ("gini", "entropy"):
        K = max(K, 2)
        label, weight = answers(rng, X, K), positive(rng, n)
        criterion = GINI_CRITERION if name == "gini" else ENTROPY_CRITERION
        if rng.random() < 0.2:  # dense numbers beside the labels, which the criterion does not look at
            return Statistics.of_both(positive(rng, n, int(rng.integers(1, 4))), label, weight, K), criterion
        if rng.random() < 0.25:  # a number for every label and row, mostly for its own
            return Statistics.of_rows(positive(rng, n, K) * rng.random((n, K)) + weight[:, None] * np.eye(K)[label]), criterion
        return Statistics.of_labels(label, weight, K), criterion
    if name == "exponential":
        label, weight = answers(rng, X, K), positive(rng, n, K)
        if rng.random() < 0.25:  # the columns of a code, any number of which are for
            return Statistics.of_rows(np.hstack([weight, weight * rng.integers(0, 2, (n, K))])), exponential(K)
        return Statistics.of_both(weight, label, weight[np.arange(n), label], K), exponential(K)
    if name == "pair_of_classes":
        K = max(K, 2)
        label, weight = answers(rng, X, K), positive(rng, n)
        p = rng.dirichlet(np.full(K, rng.choice([0.2, 1.0, 10.0])), n)
        p[rng.random(n) < 0.1] = np.eye(K)[0]  # sure of a class
        return Statistics.of_both(weight[:, None] * p, label, weight, K), pair_of_classes(float(rng.choice([0.0, 0.5])))
    sign = 2.0 * answers(rng, X, 2)[:, None] - 1.0
    if name == "newton":
        m = int(rng.integers(1, 4))
        curvature = positive(rng, n, m)
        gradient = curvature * rng.uniform(-1, 2, (n, m)) if rng.random() < 0.7 else rng.integers(-1, 3, (n, m)).astype(float)
        return Statistics.of_rows(np.hstack([sign * gradient, curvature])), newton(m, float(rng.choice([0.0, 0.5, 10.0])))
    if name == "least_squares":
        weight = positive(rng, n, 1)
        gradient = sign * weight * rng.uniform(-1, 2, (n, K))
        return Statistics.of_rows(np.hstack([gradient, weight])), least_squares(K, float(rng.choice([0.0, 1.0])))
    weight = positive(rng, n, K)
    if rng.random() < 0.5:
        signed = np.where(np.arange(K) == answers(rng, X, K)[:, None], weight, -weight)
    else:
        signed = weight * sign * rng.choice([-1, 1, 1, 1], (n, K))
    return Statistics.of_rows(np.column_stack([signed, weight.sum(axis=1)])), shared_sign(weight.sum(axis=0))


def limits(rng: np.random.Generator, splitter: str) -> GrowthLimits:
    """Limits of each kind, most of them off at a time."""

    def sometimes(usual: Any, *others: Any) -> Any:
        return usual if rng.random() < 0.8 else others[rng.integers(len(others))]

    return GrowthLimits(
        max_depth=sometimes(None, 1, 2, 3, 6),
        max_leaf_nodes=sometimes(None, 2, 3, 8, 31),
        min_samples_leaf=sometimes(1, 2, 5, 0.05),
        min_samples_split=sometimes(2, 7, 0.1),
        min_weight_fraction_leaf=sometimes(0.0, 0.02, 0.2),
        splitter=splitter,
    )


def draw(rng: np.random.Generator, n: int) -> NDArray[np.int32] | None:
    """All rows, some of them, or a list in which rows repeat, perhaps one and the same row many times."""
    kind = rng.integers(4)
    if kind == 1:
        return np.sort(rng.permutation(n)[: max(1, n // 2)]).astype(np.int32)
    if kind == 2:
        return rng.integers(0, n, n).astype(np.int32)
    if kind == 3:
        return np.append(rng.integers(0, n, n), np.full(int(rng.integers(1, 300)), rng.integers(n))).astype(np.int32)
    return None


def make(seed: int, criterion: str, splitter: str = "best", *, all_rows: bool = False) -> Case:
    """The case of this number."""
    rng = np.random.default_rng([seed, CRITERIA.index(criterion), len(splitter)])
    n = int(rng.choice([2, 3, 8, 20, 50, 120, 200], p=[0.05, 0.05, 0.2, 0.25, 0.25, 0.15, 0.05]))
    X, n_categories = columns(rng, n, int(rng.integers(1, 7)))
    weight = positive(rng, n) + 2.0**-21
    binning = find_cuts(X, weight, n_categories, int(rng.choice([2, 3, 6, 16, 255])))
    chosen = limits(rng, splitter)
    statistics, measure = problem(rng, X, criterion)
    rows = draw(rng, n)
    return Case(
        X,
        binning,
        apply_bins(X, binning, chosen.layout),
        chosen,
        statistics,
        measure,
        int(rng.integers(0, 2**63)),
        None if all_rows else rows,
    )


def sparse_copy(X: NDArray[np.float64], kind: str) -> Any:
    """The matrix with its zeros left out; every seventh zero stays, stored."""
    stored = X != 0
    stored |= (np.arange(X.size).reshape(X.shape) % 7) == 0
    rows, at = np.nonzero(stored)
    return sparse.coo_array((X[rows, at], (rows, at)), shape=X.shape).asformat(kind)


def assert_same_tree(got: tuple[Tree, NDArray[np.int32]], want: tuple[Tree, NDArray[np.int32]], what: object = "") -> None:
    """Equal nodes, sums and leaves of rows, to the bit."""
    for name in FIELDS:
        np.testing.assert_array_equal(got[0].nodes[name], want[0].nodes[name], err_msg=f"{name} of the nodes, {what}")
    np.testing.assert_array_equal(got[0].sums, want[0].sums, err_msg=f"sums of the nodes, {what}")
    np.testing.assert_array_equal(got[1], want[1], err_msg=f"leaf of the rows, {what}")
