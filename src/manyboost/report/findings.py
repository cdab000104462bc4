"""What a comparison found: the ranking, who is significantly worse than the best, and what it says in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from manyboost.evaluation.runs import mean_errors
from manyboost.evaluation.statistics import Comparison, compare_errors, corrected_t_test, holm, p_in_words

DECIMALS = 10  # means over folds that differ in their last bits are ties


@dataclass(frozen=True)
class Findings:
    """The results of :func:`manyboost.evaluation.run`, judged.

    Several data sets are compared by ranks (Friedman, Nemenyi, Wilcoxon). On one alone the folds are compared, by the t-test that is
    corrected for training rows they share.

    Attributes
    ----------
    results : data frame as ``run`` returns it
    alpha : level of significance
    """

    results: pd.DataFrame
    alpha: float = 0.05

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Mean errors, data sets by algorithms that finished everywhere."""
        return mean_errors(self.results)

    @cached_property
    def comparison(self) -> Comparison | None:
        """Statistics over the data sets, where there are at least two and as many algorithms."""
        enough = self.errors.shape[0] > 1 and self.errors.shape[1] > 1
        return compare_errors(self.errors, alpha=self.alpha, decimals=DECIMALS) if enough else None

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """A row for each algorithm, best first: mean rank, error, log_loss, fit and predict seconds, p against the best."""
        finished = self.results[self.results["algorithm"].isin(self.errors.columns)]
        means = finished.groupby("algorithm")[["log_loss", "fit_seconds", "predict_seconds"]].mean()
        table = pd.DataFrame({"mean_rank": self.errors.round(DECIMALS).rank(axis=1).mean(), "error": self.errors.mean()}).join(means)
        table = table.sort_values(["mean_rank", "log_loss"], kind="stable")
        table["p_value"] = self._against_the_best(table.index)
        return table

    @property
    def best(self) -> str:
        return str(self.ranking.index[0])

    @cached_property
    def failures(self) -> pd.DataFrame:
        """Splits without a result, and why."""
        failed = self.results[self.results["error"].isna()]
        return failed[["data_set", "algorithm", "message"]].drop_duplicates()

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """What classifiers warned of while they worked."""
        warned = self.results[self.results["error"].notna() & self.results["message"].notna()]
        return warned[["data_set", "algorithm", "message"]].drop_duplicates()

    @property
    def test(self) -> str:
        """The test behind the p-values."""
        if self.comparison is not None:
            return "Nemenyi's test on mean ranks"
        return "t-test over folds, corrected for shared training rows, with Holm's adjustment"

    def sentence(self) -> str:
        """Best, runner-up and whether the difference is more than chance."""
        table = self.ranking
        if len(table) < 2:
            return f"{self.best} has an error of {100 * table['error'].iloc[0]:.2f} %; there is nothing to compare it with."
        second, p = str(table.index[1]), float(table["p_value"].iloc[1])
        worse = [str(name) for name in table.index[1:] if table.loc[name, "p_value"] <= self.alpha]
        errors = f"{100 * table['error'].iloc[0]:.2f} % against {100 * table['error'].iloc[1]:.2f} %"
        if self.comparison is not None:
            errors = f"mean rank {table['mean_rank'].iloc[0]:.2f} against {table['mean_rank'].iloc[1]:.2f}"
        if table["p_value"].isna().all():
            return f"{self.best} is best, {second} second ({errors}); with a single split nothing can be said of significance."
        verdict = "which is significant" if p <= self.alpha else "which may be chance"
        shown = (
            f"{len(worse)} of the {len(table) - 1} others are significantly worse" if worse else "none of the others is significantly worse"
        )
        return f"{self.best} is best, {second} second ({errors}, {p_in_words(p)}, {verdict}); {shown} at the level {self.alpha:g}."

    def _against_the_best(self, order: pd.Index) -> pd.Series:
        best = order[0]
        if self.comparison is not None:
            return self.comparison.nemenyi[best].reindex(order).mask(order == best)
        finished = self.results[self.results["algorithm"].isin(order)]
        folds = finished.pivot_table(index="split", columns="algorithm", values="error", sort=False)
        if len(folds) < 2 or len(order) < 2:
            return pd.Series(float("nan"), order)
        share = float((finished["test_rows"] / finished["train_rows"]).mean())
        p = [corrected_t_test(folds[name] - folds[best], share).p_value for name in order[1:]]
        return pd.Series([float("nan"), *holm(p)], order)
