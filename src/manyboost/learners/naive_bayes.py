"""Naive Bayes on binned attributes with Laplace's correction, the weak learner of Bylander's experiments.

    formula                                        here
    W_k, W           weight of class k, and of all   prior, in units of one row
    P(k)     = (W_k + 1) / (W + K)                   class_log_prior_
    P(b | k) = (W_kb + 1) / (W_k + B)                bin_log_prob_, W_k of the rows whose value is known
    B                bins of the attribute           first_bin_[j + 1] - first_bin_[j]

The added 1 is absolute, so weights must be in units of one row: they are scaled to sum to the number of rows unless they are whole
numbers, which are taken for counts. The paper leaves the kind of bins open; equal width is the default.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyboost.learners.binned_rows import add_bins, count_bins
from manyboost.learners.learner import Floats, Learner, Rows
from manyboost.parameters import choice, integer, number
from manyboost.trees.exact_sums import fine_exponent, on_fine_grid


def equal_width_cuts(values: Floats, n_bins: int) -> Floats:
    """Inner limits of bins of one width between the smallest and the largest value; none if all values are equal."""
    if not len(values) or values.min() == values.max():
        return np.empty(0)
    low, high = values.min(), values.max()
    share = np.arange(1, n_bins) / n_bins
    return np.unique(low * (1 - share) + high * share)  # never overflows, and rises; almost equal values may leave fewer


def equal_frequency_cuts(values: Floats, units: NDArray[np.int64], n_bins: int) -> Floats:
    """Inner limits, midway between neighbours, of bins that hold as equal a weight as whole groups of equal values allow."""
    distinct, group = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, group, units)
    below = np.cumsum(total)[:-1].astype(np.float64)  # weight up to each value but the last
    goal = np.arange(1, n_bins) / n_bins * float(total.sum())
    after = np.minimum(np.searchsorted(below, goal * (1 - 1e-12)), len(below) - 1)
    return np.unique(0.5 * distinct[after] + 0.5 * distinct[after + 1])


@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayes(Learner):
    """Naive Bayes classifier that puts numeric columns into bins.

    Parameters
    ----------
    n_bins : int
        Bins of a numeric column. A column of categories has a bin for each of them.
    binning : {"width", "frequency"}
        Bins of equal width between the smallest and the largest value, or of nearly equal weight. Values outside go to the end bins.
    alpha : float
        What is added to each count; 1 is Laplace's correction.
    weights : {"auto", "counts", "shares"}
        What sample weights mean. "counts": a row of weight two is two rows. "shares": only their proportions matter, they are scaled to sum
        to the number of rows. "auto": counts if all are whole numbers, else shares.
    categorical_features : "from_dtype", None, or array-like
        Columns that hold categories: those of such a type in a data frame (category, string, boolean), none, or a mask, numbers or names.
    handle_unknown : {"error", "missing"}
        What to do in predict with a category that did not occur in training. A missing value is skipped, in training and in predict.
        With "missing", of more than 255 categories of a column the rarest count as missing, with a warning.

    Attributes
    ----------
    classes_ : array of the K class labels
    n_features_in_, feature_names_in_ : width of X, and names of its columns if it had any
    class_log_prior_ : (K,) array
    bin_log_prob_ : (bins of all columns, K) array
        Logarithm of the probability of a bin in each class.
    first_bin_, first_cut_ : (p + 1,) arrays
        Where the bins and the cuts of each column begin.
    cuts_ : array
        Limits between the bins of numeric columns, all columns one after the other. A value equal to a limit is in the upper bin.
    weight_factor_ : float
        What the weights were multiplied by.

    References
    ----------
    T. Bylander, Transforming examples for multiclass boosting.

    Examples
    --------
    >>> from manyboost.learners import NaiveBayes
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NaiveBayes().fit(X, y)
    >>> round(float(model.score(X, y)), 2)
    0.96
    """

    n_bins: int = integer(10, low=2, high=65535)
    binning: str = choice("width", "width", "frequency")
    alpha: float = number(1.0, low=0, open_low=True)

    def _learn(self, rows: Rows) -> None:
        K, alpha = len(self.classes_), self.alpha
        exponent = fine_exponent(rows.count)
        units = on_fine_grid(rows.count, exponent)  # whole numbers, so that the order of the rows does not matter
        in_class = np.zeros(K, np.int64)
        np.add.at(in_class, rows.y, units)
        prior = np.ldexp(in_class.astype(np.float64), -exponent)
        self.class_log_prior_ = np.log((prior + alpha) / (prior.sum() + alpha * K))
        cuts, tables = [], []
        for column, n_categories in zip(rows.columns(), self._columns.n_categories, strict=True):
            values, n_bins, cut = np.ascontiguousarray(column), int(n_categories), np.empty(0)
            if not n_categories:
                known = ~np.isnan(values)
                cut = (
                    equal_width_cuts(values[known], self.n_bins)
                    if self.binning == "width"
                    else equal_frequency_cuts(values[known], units[known], self.n_bins)
                )
                n_bins = len(cut) + 1
            table = np.zeros((n_bins, K), np.int64)
            count_bins(values, cut, bool(n_categories), rows.y, units, table)
            count = np.ldexp(table.astype(np.float64), -exponent)
            tables.append(np.log((count + alpha) / (count.sum(axis=0) + alpha * n_bins)))
            cuts.append(cut)
        self.cuts_ = np.concatenate(cuts)
        self.bin_log_prob_ = np.concatenate(tables)
        self.first_cut_ = np.cumsum([0, *map(len, cuts)])
        self.first_bin_ = np.cumsum([0, *map(len, tables)])

    def _joint(self, table: Floats) -> Floats:
        """Logarithm of the probability of a class and all known values together, (n, K)."""
        out = np.tile(self.class_log_prior_, (len(table), 1))
        for at, is_category in enumerate((self._columns.n_categories > 0).tolist()):
            cut = self.cuts_[self.first_cut_[at] : self.first_cut_[at + 1]]
            of_bin = self.bin_log_prob_[self.first_bin_[at] : self.first_bin_[at + 1]]
            add_bins(np.ascontiguousarray(table[:, at]), cut, is_category, of_bin, out)
        return out

    def _probability(self, table: Floats) -> Floats:
        joint = self._joint(table)
        likely = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))
