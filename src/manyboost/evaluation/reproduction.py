"""Run an experiment of a paper and set each cell beside the published number.

A cell is *within* if it differs from the paper's by at most two standard errors of the difference, else *better* or *worse*. The standard
error comes from the spread over the folds, ours and the paper's, where the paper prints it, and from the number of test rows
(sqrt(e(1-e)/n) for both errors e) where it does not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from manyboost.evaluation.contestants import nearest_name
from manyboost.evaluation.datasets import DataSet, load
from manyboost.evaluation.experiments import EXPERIMENTS, Experiment
from manyboost.evaluation.runs import run
from manyboost.evaluation.statistics import compare_errors, p_in_words

MARKS = {"within": "=", "better": "+", "worse": "−"}
DECIMALS = 10


@dataclass(frozen=True)
class Page:
    """What was written, and what it says in short."""

    path: Path
    summary: str


def reproduce_experiment(
    experiment: Experiment,
    folder: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] = "results",
    *,
    sets: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    n_splits: int | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Page:
    """Run an experiment set by set; the page is written anew after each.

    Parameters
    ----------
    experiment : one of :data:`~manyboost.evaluation.experiments.EXPERIMENTS`
    folder : of the data sets
    output : folder of ``NAME.csv``, the journal, and ``NAME.md``, the page
    sets, algorithms : those of the paper to run, by its names; all for None
    n_splits : how many of the protocol's splits to run; all for None
    n_jobs, verbose : as in :func:`~manyboost.evaluation.run`
    """
    chosen_sets = [nearest_name(name, list(experiment.sets), "data set of the paper") for name in sets or experiment.sets]
    names = [nearest_name(name, list(experiment.makers), "algorithm of the paper") for name in algorithms or experiment.makers]
    journal = Path(output) / f"{experiment.name}.csv"
    for set_name in chosen_sets:
        found = load(experiment.sets[set_name], folder)
        data = DataSet(set_name, found.X, found.y, found.n_train)
        contestants = [one for one in experiment.contestants(set_name) if one.name in names]
        run([data], contestants, experiment.protocol(set_name), journal, n_splits=n_splits, n_jobs=n_jobs, verbose=verbose)
        page = write_page(experiment, journal)
    return page


def finished(journal: str | os.PathLike[str]) -> pd.DataFrame:
    """The lines of a journal that have a result."""
    results = pd.read_csv(journal, dtype={"split": str})
    return results[results["error"].notna()].drop_duplicates(["data_set", "algorithm", "split"], keep="last")


def cells(experiment: Experiment, journal: str | os.PathLike[str]) -> pd.DataFrame:
    """A row for each data set and algorithm: our error and its spread, the paper's, the standard error of the difference, the mark."""
    grouped = finished(journal).groupby(["data_set", "algorithm"], sort=False)
    table = grouped.agg(
        ours=("error", "mean"), spread=("error", "std"), splits=("error", "count"), rows=("test_rows", "sum"), cpu=("fit_seconds", "sum")
    )
    table = table.reindex(
        [(name, algorithm) for name in experiment.sets for algorithm in experiment.makers if (name, algorithm) in table.index]
    )
    paper, paper_spread = experiment.published, experiment.spreads
    table["paper"] = [np.nan if paper is None else paper.loc[key] for key in table.index]
    if paper_spread is None:
        # the same rows tested again in another repetition tell nothing new: no more rows than the set has
        rows = table["rows"] / np.maximum(1, table["splits"] / experiment.n_folds)
        table["standard_error"] = np.sqrt((_binomial(table["ours"]) + _binomial(table["paper"])) / rows)
    else:
        theirs = np.array([paper_spread.loc[key] for key in table.index])
        spread = table["spread"].fillna(pd.Series(theirs, table.index))  # of a single split there is none of ours
        table["standard_error"] = np.sqrt(spread**2 / table["splits"] + theirs**2 / experiment.n_folds)
    difference = table["ours"] - table["paper"]
    table["mark"] = np.where(difference.abs() <= 2 * table["standard_error"], "within", np.where(difference < 0, "better", "worse"))
    table.loc[table["paper"].isna(), "mark"] = ""
    return table


def write_page(experiment: Experiment, journal: str | os.PathLike[str]) -> Page:
    """The page of an experiment from its journal."""
    table = cells(experiment, journal)
    path, picture = Path(journal).with_suffix(".md"), Path(journal).with_suffix(".png")
    summary = _summary(experiment, table)
    parts = [
        f"# {experiment.title}",
        f"`manyboost reproduce {experiment.name}` wrote this page from [{Path(journal).name}]({Path(journal).name}).",
        summary,
        _big_table(experiment, table),
        _ranks(experiment, table),
        f"![Test error against the number of weak learners, one panel for each data set]({picture.name})" if picture.exists() else "",
        "What was chosen where the text is silent, or differs from it:\n\n" + "\n".join(f"- {note}" for note in experiment.notes),
        _missing(experiment, table),
        f"CPU time of all fits: {table['cpu'].sum() / 60:.1f} minutes.",
    ]
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return Page(path, summary)


def _binomial(error: pd.Series) -> pd.Series:
    return error * (1 - error)


def _summary(experiment: Experiment, table: pd.DataFrame) -> str:
    if experiment.published is None:
        return f"{len(table)} cells, without published numbers to set beside them."
    counts = table["mark"].value_counts()
    level = int(counts.get("within", 0) + counts.get("better", 0))
    total = len(experiment.sets) * len(experiment.makers)
    return (
        f"{len(table)} of the paper's {total} cells were run: {counts.get('within', 0)} within two standard errors of the paper, "
        f"{counts.get('better', 0)} better, {counts.get('worse', 0)} worse (within or better: {100 * level / len(table):.0f} %)."
    )


def _big_table(experiment: Experiment, table: pd.DataFrame) -> str:
    used = [algorithm for algorithm in experiment.makers if algorithm in table.index.get_level_values(1)]
    lines = ["| data set | splits | " + " | ".join(used) + " |", "|---|" + "---|" * (len(used) + 1)]
    for set_name in dict.fromkeys(table.index.get_level_values(0)):
        row = table.loc[set_name]
        splits = sorted({int(count) for count in row["splits"]})
        shown = [_cell(row.loc[algorithm]) if algorithm in row.index else "" for algorithm in used]
        lines.append(f"| {set_name} | {'–'.join(map(str, splits))} | " + " | ".join(shown) + " |")
    marks = "Error in percent, ours"
    if experiment.published is not None:
        marks += ", in brackets the paper's; = within two standard errors, + better, − worse"
    return f"{marks}.\n\n" + "\n".join(lines)


def _cell(row: pd.Series) -> str:
    ours = f"{100 * row['ours']:.2f}"
    return ours if np.isnan(row["paper"]) else f"{ours} ({100 * row['paper']:.2f}) {MARKS[row['mark']]}"


def _ranks(experiment: Experiment, table: pd.DataFrame) -> str:
    """Mean ranks of ours and of the paper on the data sets that all algorithms finished."""
    wide = table["ours"].unstack().reindex(columns=list(experiment.makers)).dropna()
    wide = wide.reindex([name for name in experiment.sets if name in wide.index])
    if len(wide) < 2:
        return ""
    ours = compare_errors(wide, decimals=DECIMALS)
    lines = [f"The paper's claim: {experiment.claim} Mean ranks on the {len(wide)} sets that all algorithms finished:"]
    header, ranks = [f"| | {' | '.join(wide.columns)} | Friedman |", "|---|" + "---|" * (wide.shape[1] + 1)], []
    for label, comparison in {
        "ours": ours,
        **({} if experiment.published is None else {"paper": compare_errors(experiment.published.loc[wide.index], decimals=DECIMALS)}),
    }.items():
        shown = " | ".join(f"{comparison.mean_ranks[name]:.2f}" for name in wide.columns)
        ranks.append(f"| {label} | {shown} | {p_in_words(comparison.friedman.p_value)} |")
    return lines[0] + "\n\n" + "\n".join([*header, *ranks]) + f"\n\n```\n{ours.summary()}\n```"


def _missing(experiment: Experiment, table: pd.DataFrame) -> str:
    lacking = [
        f"{name}, {algorithm}" for name in experiment.sets for algorithm in experiment.makers if (name, algorithm) not in table.index
    ]
    whole = [name for name in experiment.sets if name not in table.index.get_level_values(0)]
    rest = [one for one in lacking if one.split(", ")[0] not in whole]
    said = []
    if whole:
        said.append(f"Not run: {', '.join(whole)}.")
    if rest:
        said.append(f"Not run: {'; '.join(rest)}.")
    return " ".join(said)


__all__ = ["EXPERIMENTS", "Page", "cells", "finished", "reproduce_experiment", "write_page"]
