"""A decision tree like C4.5, release 8, for weighted rows.

    C4.5                                          here
    gain ratio, its thresholds and averages       :mod:`manyboost.learners.gain_ratio`
    -c, confidence of pruning                     confidence
    -m, objects that two branches need            min_objects
    unknown values                                fractions of rows, in training and in predict
    pruning with subtree raising                  :mod:`manyboost.learners.c45_growing`

Details that the book leaves open are as in Weka's J48, a rewrite of the program. Three things differ from J48: values count as different
however close they are (there: 1e-5); before thresholds are tried, the weight of the rows counts (there: their number); and ``min_objects``
holds for thresholds even when it is above 25.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.c45_growing import Pruning, grow
from manyboost.learners.c45_routing import leaf_averages
from manyboost.learners.gain_ratio import Data
from manyboost.learners.learner import Floats, Learner, Rows
from manyboost.parameters import flag, number
from manyboost.trees.exact_sums import fine_exponent, on_fine_grid

NODE = np.dtype([("feature", "<i4"), ("first_child", "<i4"), ("n_children", "<i4"), ("threshold", "<f8"), ("weight", "<f8")])
MANY_VALUES = 0.3  # of the rows: a nominal column of so many values is left out of the average gain
MAX_TABLE = 1 << 22


def rank(values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Each value's place among the distinct ones, -1 for missing, and those in order."""
    ordered = np.sort(values)  # missing values last
    ordered = ordered[: len(ordered) - int(np.isnan(values).sum())]
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] > ordered[:-1]
    distinct = ordered[first]
    codes = np.searchsorted(distinct, values).astype(np.int32)
    codes[np.isnan(values)] = -1
    return codes, distinct


@dataclass(kw_only=True, eq=False, repr=False)
class C45Tree(Learner):
    """Decision tree that splits by gain ratio and is pruned by the errors it is expected to make, like C4.5.

    Parameters
    ----------
    confidence : float
        Confidence of pruning, above 0 and at most 0.5; smaller prunes more.
    min_objects : float
        Weight, in rows, that at least two branches of a split must have.
    prune : bool
        Replace subtrees that are not expected to pay by a leaf or by their largest branch.
    subtree_raising : bool
        Let a branch take the place of its parent in pruning.
    collapse : bool
        Replace subtrees that do not lessen the training errors by a leaf, before all pruning.
    laplace : bool
        Add one to the counts of all classes in a leaf before they become probabilities.
    weights : {"auto", "counts", "shares"}
        What sample weights mean. "counts": a row of weight two is two rows. "shares": only their proportions matter, they are scaled to sum
        to the number of rows. "auto": counts if all are whole numbers, else shares.
    categorical_features : "from_dtype", None, or array-like
        Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
        A split on such a column has one branch for each category.
    handle_unknown : {"error", "missing"}
        What to do in predict with a category that did not occur in training. A row without a value goes down all branches, and their
        answers are averaged.

    Attributes
    ----------
    classes_ : array of the K class labels
    n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any
    nodes_ : structured array
        Of each node, the root first: ``feature`` (-1 in a leaf), ``first_child`` and ``n_children`` (they stand side by side),
        ``threshold`` (a value up to it goes to the first child; NaN for categories, whose number is the child's) and the ``weight`` of its
        rows.
    node_counts_ : (nodes, K) array
        Weight of each class. A node that no training row reached has the counts of its parent.
    n_leaves_ : int
        Leaves, those that no training row reached included.
    weight_factor_ : float
        What the weights were multiplied by.

    References
    ----------
    J. R. Quinlan, C4.5: Programs for Machine Learning, Morgan Kaufmann (1993); Improved use of continuous attributes in C4.5, Journal of
    Artificial Intelligence Research 4 (1996).

    Examples
    --------
    >>> from manyboost.learners import C45Tree
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Tree().fit(X, y)
    >>> model.n_leaves_, round(float(model.score(X, y)), 2)
    (5, 0.98)
    """

    confidence: float = number(0.25, low=0, high=0.5, open_low=True)
    min_objects: float = number(2.0, low=0, open_low=True)
    prune: bool = flag(True)
    subtree_raising: bool = flag(True)
    collapse: bool = flag(True)
    laplace: bool = flag(False)

    def _learn(self, rows: Rows) -> None:
        data, units, values, first_value = self._data(rows)
        z = NormalDist().inv_cdf(1 - self.confidence)
        pruning = Pruning(bool(self.collapse), bool(self.prune), bool(self.subtree_raising), float(self.confidence), z)
        shape, counts = grow(data, units, values, first_value, pruning)
        feature, cut, first, n_children = shape.T
        nodes = np.zeros(len(shape), NODE)
        nodes["feature"], nodes["first_child"], nodes["n_children"] = feature, first, n_children
        nodes["weight"] = counts.sum(axis=1) * data.scale
        nodes["threshold"] = np.nan
        numeric = (feature >= 0) & (cut >= 0)
        nodes["threshold"][numeric] = values[first_value[feature[numeric]] + cut[numeric]]
        self.nodes_ = nodes
        self.node_counts_ = counts * data.scale
        self.n_leaves_ = int((feature < 0).sum())
        parent = np.repeat(np.arange(len(nodes)), n_children)  # of nodes 1, 2, ...: they stand in the order of their parents
        empty = np.flatnonzero(nodes["weight"][1:] == 0)
        self.node_counts_[1 + empty] = self.node_counts_[parent[empty]]  # a parent has rows

    def _data(self, rows: Rows) -> tuple[Data, NDArray[np.int64], Floats, NDArray[np.int64]]:
        """The rows as the compiled part wants them."""
        n_rows, n_features, K = len(rows.y), self.n_features_in_, len(self.classes_)
        if float(n_rows) ** 2 * K >= 2.0**63:
            raise ValueError(f"C45Tree can learn from {n_rows} rows of {K} classes no more; give fewer rows.")
        n_categories = self._columns.n_categories.astype(np.int64)
        nominal = n_categories > 0
        codes, values, n_values = np.empty((n_features, n_rows), np.int32), [], n_categories.copy()
        many = np.zeros(n_features, bool)
        total = float(rows.count.sum())
        for at, column in enumerate(rows.columns()):
            if nominal[at]:
                codes[at] = np.where(np.isnan(column), -1.0, column)
                many[at] = len(np.unique(codes[at][codes[at] >= 0])) >= MANY_VALUES * total
                values.append(np.empty(0))
            else:
                codes[at], distinct = rank(column)
                n_values[at] = len(distinct)
                values.append(distinct)
        if many.all():
            many[:] = False
        one_by_one = total < MAX_TABLE and bool((rows.count == np.floor(rows.count)).all()) and not any((row < 0).any() for row in codes)
        exponent = 0 if one_by_one else fine_exponent(rows.count)
        units = on_fine_grid(rows.count, exponent)
        n = np.arange(int(total) + 1 if one_by_one else 0, dtype=np.float64)
        logs = n * np.log2(np.maximum(n, 1))
        y = rows.y.astype(np.int32)
        data = Data(codes, n_values, nominal, many, y, K, 2.0**-exponent, logs, float(self.min_objects))
        first_value = np.cumsum([0, *map(len, values)], dtype=np.int64)
        return data, units, np.concatenate(values), first_value

    def _probability(self, table: Floats) -> Floats:
        count = self.node_counts_ + float(self.laplace)
        answer = count / count.sum(axis=1, keepdims=True)
        nodes = self.nodes_
        out = np.zeros((len(table), len(self.classes_)))
        leaf_averages(
            table, nodes["feature"].copy(), nodes["first_child"].copy(), nodes["n_children"].copy(), nodes["threshold"].copy(),
            nodes["weight"].copy(), answer, out,
        )  # fmt: skip
        return out
