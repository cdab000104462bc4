"""The numbers of the papers' tables, as printed."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

TABLES = {
    "piboost_table2": "rounds of each algorithm on each data set (Fernandez-Baldera and Baumela 2014)",
    "piboost_table3": "errors and standard deviations (x 10^-4) over five folds (the same)",
    "piboost_table4": "p-values of Wilcoxon's test (the same)",
    "piboost_amazon": "errors on the Amazon set (the same)",
    "hm_table2": "accuracies in percent, with mean ranks and p-values (Jin, Hou and Liu 2010)",
    "m2t_table2": "error rates in percent (Bylander 2010)",
}
PIBOOST = {
    "gentleboost": "GentleBoost", "adaboost_mh": "AdaBoost.MH", "samme": "SAMME", "piboost1": "PIBoost(1)", "piboost2": "PIBoost(2)",
}  # fmt: skip
HM = {"m1w_dt": "M1W+DT", "mh_dt": "MH+DT", "mlp": "MLP", "m1_mlp": "M1+MLP", "mh_mlp": "MH+MLP", "hm_mlp": "HM+MLP"}
M2T = {
    "nb_ecc": "NB ECC", "nb_m2t": "NB M2T", "nb_mht": "NB MHT", "c45_ecc": "C4.5 ECC", "c45_m2t": "C4.5 M2T", "c45_mht": "C4.5 MHT",
}  # fmt: skip
SUMMARY_ROWS_OF_HM = ["Mean Accuracy", "Mean Rank", "Sign-Rank"]


def published(name: str) -> pd.DataFrame:
    """A table by its name in :data:`TABLES`, the first column as index.

    >>> published("piboost_table3").loc["Vowel", "piboost2_error"].item()
    0.0606
    """
    if name not in TABLES:
        raise ValueError(f"There is no table {name!r}; the tables are {', '.join(TABLES)}.")
    with (files("manyboost.evaluation") / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col=0)


def piboost_errors() -> pd.DataFrame:
    """Table 3 of the PIBoost paper, data sets by algorithms."""
    return published("piboost_table3")[[f"{key}_error" for key in PIBOOST]].set_axis(list(PIBOOST.values()), axis=1)


def piboost_spreads() -> pd.DataFrame:
    """The standard deviations over five folds of Table 3."""
    return published("piboost_table3")[[f"{key}_std_e4" for key in PIBOOST]].set_axis(list(PIBOOST.values()), axis=1) / 1e4


def piboost_rounds() -> pd.DataFrame:
    """Table 2 of the PIBoost paper: rounds that give every algorithm as many weak learners."""
    return published("piboost_table2")[list(PIBOOST)].set_axis(list(PIBOOST.values()), axis=1)


def hm_errors() -> pd.DataFrame:
    """Table 2 of the AdaBoost.HM paper as errors, data sets by algorithms."""
    table = published("hm_table2").drop(index=SUMMARY_ROWS_OF_HM)
    return (1 - table[list(HM)].astype(float) / 100).round(4).set_axis(list(HM.values()), axis=1)


def m2t_errors() -> pd.DataFrame:
    """Table 2 of Bylander's paper as errors, data sets by algorithms."""
    return (published("m2t_table2")[list(M2T)] / 100).set_axis(list(M2T.values()), axis=1)
