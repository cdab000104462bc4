"""Are the differences between classifiers more than chance? The tests of Demšar (2006) on a table of errors.

    test                                      here
    ranks per data set, ties averaged         Comparison.ranks, mean_ranks
    chi2 = 12n/(k(k+1)) (sum R^2 - k(k+1)^2/4)    Comparison.friedman.statistic, k-1 degrees of freedom
    F = (n-1) chi2 / (n(k-1) - chi2)          Comparison.friedman.F, of Iman and Davenport, k-1 and (k-1)(n-1)
    CD = q sqrt(k(k+1)/(6n))                  Comparison.critical_difference, q from the studentized range (Nemenyi)
    signed ranks of n differences             Comparison.wilcoxon, exact and by the normal approximation, with Holm's adjustment
    t over folds that share training rows     corrected_t_test (Nadeau and Bengio 2003), where there is one data set only

n data sets, k classifiers. Friedman's formula is the one without a correction for ties, as published tables use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats


class Friedman(NamedTuple):
    """Do the mean ranks differ at all?"""

    statistic: float
    p_value: float
    F: float
    F_p_value: float


class CorrectedT(NamedTuple):
    """Is the mean difference over folds other than zero?"""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare_errors` found out.

    Attributes
    ----------
    errors : frame, a row for each data set and a column for each classifier; lower is better
    alpha : level of significance of :meth:`summary` and of the defaults
    ranks, mean_ranks : 1 is best, ties are averaged
    friedman : statistic, p_value, F and F_p_value (Iman and Davenport)
    nemenyi : frame of p-values of all pairs, adjusted for their number
    wilcoxon : frame with a row for each pair: wins, losses, ties, statistic, p_exact, p_normal, holm_exact, holm_normal
    """

    errors: pd.DataFrame
    alpha: float = 0.05

    @property
    def n_data_sets(self) -> int:
        return len(self.errors)

    @property
    def n_classifiers(self) -> int:
        return int(self.errors.shape[1])

    @cached_property
    def ranks(self) -> pd.DataFrame:
        return self.errors.rank(axis=1)

    @cached_property
    def mean_ranks(self) -> pd.Series:
        return self.ranks.mean().rename("mean rank")

    @cached_property
    def friedman(self) -> Friedman:
        n, k = self.errors.shape
        chi2 = 12 * n / (k * (k + 1)) * (float((self.mean_ranks**2).sum()) - k * (k + 1) ** 2 / 4)
        left = n * (k - 1) - chi2
        F = (n - 1) * chi2 / left if left > 1e-12 else np.inf  # all data sets rank alike
        return Friedman(chi2, float(stats.chi2.sf(chi2, k - 1)), float(F), float(stats.f.sf(F, k - 1, (k - 1) * (n - 1))))

    def critical_difference(self, alpha: float | None = None) -> float:
        """Mean ranks that differ by less are not told apart by Nemenyi's test."""
        n, k = self.errors.shape
        q = stats.studentized_range.ppf(1 - (self.alpha if alpha is None else alpha), k, np.inf) / np.sqrt(2)
        return float(q * np.sqrt(k * (k + 1) / (6 * n)))

    @cached_property
    def nemenyi(self) -> pd.DataFrame:
        n, k = self.errors.shape
        rank = self.mean_ranks.to_numpy()
        z = np.abs(rank[:, None] - rank) / np.sqrt(k * (k + 1) / (6 * n))
        names = self.errors.columns
        return pd.DataFrame(stats.studentized_range.sf(z * np.sqrt(2), k, np.inf), names, names)

    @cached_property
    def wilcoxon(self) -> pd.DataFrame:
        pairs = list(combinations(self.errors.columns, 2))
        rows = [_signed_ranks(self.errors[first] - self.errors[second]) for first, second in pairs]
        table = pd.DataFrame(rows, pd.MultiIndex.from_tuples(pairs, names=["first", "second"]))
        for kind in ("exact", "normal"):
            table[f"holm_{kind}"] = holm(table[f"p_{kind}"])
        return table

    def wilcoxon_matrix(self, column: str = "holm_exact") -> pd.DataFrame:
        """One column of :attr:`wilcoxon` for all pairs, as a symmetric frame."""
        names = self.errors.columns
        out = pd.DataFrame(np.eye(len(names)), names, names)
        for (first, second), value in self.wilcoxon[column].items():
            out.loc[first, second] = out.loc[second, first] = value
        return out

    def groups(self, alpha: float | None = None) -> list[list[str]]:
        """Classifiers, best first, in the largest groups that Nemenyi's test does not tell apart."""
        order = self.mean_ranks.sort_values(kind="stable")
        critical = self.critical_difference(alpha)
        found: list[list[str]] = []
        for at in range(len(order)):
            group = list(order.index[at:][order.iloc[at:] - order.iloc[at] <= critical])
            if len(group) > 1 and not (found and set(group) <= set(found[-1])):
                found.append(group)
        return found

    def summary(self) -> str:
        """The findings in a few lines."""
        order = self.mean_ranks.sort_values(kind="stable")
        best, second = order.index[:2]
        pair = self.wilcoxon_matrix("p_exact").loc[best, second]
        adjusted = self.wilcoxon_matrix("holm_exact").loc[best, second]
        critical = self.critical_difference()
        worse = [name for name in order.index[1:] if order[name] - order[best] > critical]
        friedman = self.friedman
        told = f"{', '.join(worse)}" if worse else "none"
        return "\n".join([
            f"{self.n_classifiers} classifiers on {self.n_data_sets} data sets; mean ranks (1 is best):",
            *(f"  {rank:5.3f}  {name}" for name, rank in order.items()),
            f"Friedman: chi2 = {friedman.statistic:.3f}, {p_in_words(friedman.p_value)}; "
            f"Iman and Davenport: F = {friedman.F:.3f}, {p_in_words(friedman.F_p_value)}.",
            f"Nemenyi: mean ranks further apart than {critical:.3f} differ at the level {self.alpha:g}; worse than {best}: {told}.",
            f"Wilcoxon, {best} against {second}: {p_in_words(pair)} (exact), {p_in_words(adjusted)} after Holm's adjustment for all pairs.",
        ])  # fmt: skip


def compare_errors(errors: pd.DataFrame, *, alpha: float = 0.05, decimals: int | None = None) -> Comparison:
    """Compare classifiers by their errors on several data sets.

    Parameters
    ----------
    errors : data frame
        A row for each data set, a column for each classifier, lower is better (for accuracies give ``1 - accuracy``).
    alpha : float
        Level of significance.
    decimals : int or None
        Round the errors first, so that errors that differ in their last bits are ties.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import pandas as pd
    >>> errors = pd.DataFrame({"A": [0.1, 0.2, 0.3, 0.2], "B": [0.2, 0.3, 0.4, 0.3], "C": [0.3, 0.25, 0.5, 0.4]})
    >>> comparison = compare_errors(errors)
    >>> comparison.mean_ranks.to_dict()
    {'A': 1.0, 'B': 2.25, 'C': 2.75}
    >>> print(comparison.summary().splitlines()[0])
    3 classifiers on 4 data sets; mean ranks (1 is best):
    """
    if not isinstance(errors, pd.DataFrame):
        raise TypeError(f"errors must be a pandas DataFrame, data sets by classifiers, not {type(errors).__name__}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} must be between 0 and 1, for example 0.05.")
    if errors.shape[0] < 2 or errors.shape[1] < 2:
        raise ValueError(f"errors has {errors.shape[0]} data sets and {errors.shape[1]} classifiers; at least two of both are needed.")
    if not errors.columns.is_unique:
        raise ValueError("errors has two columns of the same name; give every classifier a name of its own.")
    numbers = errors.astype(float)
    if not np.isfinite(numbers.to_numpy()).all():
        row, column = np.argwhere(~np.isfinite(numbers.to_numpy()))[0]
        raise ValueError(
            f"errors has no number for {errors.columns[column]!r} on {errors.index[row]!r}; drop that data set or that classifier first."
        )
    return Comparison(numbers if decimals is None else numbers.round(decimals), alpha)


def p_in_words(p: float) -> str:
    """A p-value with four digits, as one writes it.

    >>> p_in_words(0.01234), p_in_words(1e-7)
    ('p = 0.0123', 'p < 0.0001')
    """
    return "p is not defined" if p != p else "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted for their number, step-down (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def corrected_t_test(differences: ArrayLike, test_share: float) -> CorrectedT:
    """Test the mean of differences over folds whose training rows overlap (Nadeau and Bengio 2003).

    Parameters
    ----------
    differences : of the errors of two classifiers, one for each fold
    test_share : rows of a fold's test part over those of its training part, 1/(k-1) for k folds

    Examples
    --------
    >>> corrected_t_test([0.02, 0.01, 0.03, 0.02, 0.02], 1 / 4).p_value < 0.05
    True
    """
    d = np.asarray(differences, np.float64)
    if len(d) < 2:
        raise ValueError(f"{len(d)} difference is too few for a test; run at least two folds.")
    spread = np.sqrt((1 / len(d) + test_share) * d.var(ddof=1))
    if spread == 0:
        return CorrectedT(0.0 if d.mean() == 0 else np.inf * np.sign(d.mean()), float(d.mean() == 0))
    t = float(d.mean() / spread)
    return CorrectedT(t, float(2 * stats.t.sf(abs(t), len(d) - 1)))


def _signed_ranks(difference: pd.Series) -> dict[str, float]:
    """Wins of the first, and both p-values of the signed ranks of the differences that are not zero."""
    d = difference.to_numpy()
    d = d[d != 0]
    out = {"wins": int((d < 0).sum()), "losses": int((d > 0).sum()), "ties": len(difference) - len(d)}
    if not len(d):
        return out | {"statistic": 0.0, "p_exact": 1.0, "p_normal": 1.0}
    exact = stats.wilcoxon(d, method="exact")
    normal = stats.wilcoxon(d, method="approx")
    return out | {"statistic": float(exact.statistic), "p_exact": float(exact.pvalue), "p_normal": float(normal.pvalue)}
