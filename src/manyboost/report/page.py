"""Fill the template with findings, and write the file."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from manyboost.evaluation.datasets import DataSet
from manyboost.evaluation.statistics import p_in_words
from manyboost.plots.critical_difference import CriticalDifferenceDisplay
from manyboost.plots.drawing import axes, looks
from manyboost.plots.staged_error import StagedErrorDisplay
from manyboost.report.findings import DECIMALS, Findings

MOST_CURVES = 6  # of the best algorithms, in one picture
MOST_PICTURES = 24  # of data sets


def write_report(
    findings: Findings,
    path: str | os.PathLike[str],
    *,
    data_sets: Sequence[DataSet] = (),
    protocol: Any = "",
    title: str = "Comparison of classifiers",
    notes: Sequence[str] = (),
    command: str = "",
) -> Path:
    """Write the page of a comparison.

    Parameters
    ----------
    findings : what was found
    path : the HTML file
    data_sets : for their sizes and sources
    protocol : how the classifiers were tested
    title : of the page
    notes : sentences to show on top
    command : the command that made it, for the reader who wants to repeat it

    Returns
    -------
    the path
    """
    template = _environment().from_string((files("manyboost.report") / "page.html.jinja").read_text(encoding="utf-8"))
    results = findings.results
    text = template.render(
        title=title,
        findings=findings,
        notes=notes,
        command=command,
        protocol=str(protocol),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        data_sets=data_sets,
        ranking=_ranking(findings),
        cells=_cells(results),
        pairs=_pairs(findings),
        critical_difference=_critical_difference(findings),
        curves=list(_curves(findings)),
        settings=_settings(results),
        versions=sorted(set(results["versions"].dropna())),
        seeds=sorted(set(results["seed"])),
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _environment() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError('The report needs jinja2; install it with: pip install "manyboost[report]"') from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = lambda value: f"{100 * value:.2f}" if value == value else "–"
    environment.filters["number"] = lambda value, digits=3: f"{value:.{digits}f}" if value == value else "–"
    environment.filters["p"] = lambda value: "–" if value != value else p_in_words(value).removeprefix("p ").removeprefix("= ")
    environment.filters["p_in_words"] = p_in_words
    return environment


def _ranking(findings: Findings) -> list[dict[str, Any]]:
    table = findings.ranking
    slowest = float(table["fit_seconds"].max()) or 1.0
    rows = table.reset_index(names="algorithm").to_dict("records")
    return [
        {**row, "place": place, "share": 100 * row["fit_seconds"] / slowest, "worse": row["p_value"] <= findings.alpha}
        for place, row in enumerate(rows, start=1)
    ]


def _cells(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Means over the splits of each algorithm on each data set."""
    grouped = results.groupby(["data_set", "algorithm"], sort=False)
    table = grouped[["error", "log_loss", "fit_seconds", "predict_seconds", "rounds", "weak_learners"]].mean()
    table["spread"] = grouped["error"].std()
    table["splits"] = grouped["error"].count()
    table["rank"] = table["error"].round(DECIMALS).groupby(level="data_set").rank()
    table["best"] = table["rank"] == table.groupby("data_set")["rank"].transform("min")
    return [{str(name): value for name, value in row.items()} for row in table.reset_index().to_dict("records")]


def _pairs(findings: Findings) -> list[dict[str, Any]]:
    """The best against each other one, by all tests."""
    comparison = findings.comparison
    if comparison is None:
        return []
    best = findings.best
    exact, adjusted = comparison.wilcoxon_matrix("p_exact"), comparison.wilcoxon_matrix("holm_exact")
    rows = []
    for name in findings.ranking.index[1:]:
        better = comparison.errors[best] < comparison.errors[name]
        ties = comparison.errors[best] == comparison.errors[name]
        rows.append({
            "algorithm": name, "wins": int(better.sum()), "ties": int(ties.sum()), "losses": int((~better & ~ties).sum()),
            "nemenyi": comparison.nemenyi.loc[best, name], "wilcoxon": exact.loc[best, name], "holm": adjusted.loc[best, name],
        })  # fmt: skip
    return rows


def _critical_difference(findings: Findings) -> Any:
    if findings.comparison is None:
        return ""
    comparison = findings.comparison
    said = ", ".join(f"{name} {rank:.2f}" for name, rank in comparison.mean_ranks.sort_values().items())
    return _svg(CriticalDifferenceDisplay.from_comparison(comparison).figure_, f"Critical difference diagram; mean ranks: {said}")


def _curves(findings: Findings) -> Any:
    """A picture of the test errors round by round for each data set: of the best algorithms that can tell them."""
    results = findings.results
    told = results[results["curve"].notna()]
    algorithms = list(dict.fromkeys(told["algorithm"]))
    styles = dict(zip(algorithms, looks(len(algorithms)), strict=True))  # in all pictures the same, and those of draw_curves
    for name in list(dict.fromkeys(told["data_set"]))[:MOST_PICTURES]:
        errors = told[told["data_set"] == name].groupby("algorithm")["error"].mean().sort_values(kind="stable")
        best = [str(algorithm) for algorithm in errors.index[:MOST_CURVES]]
        display = StagedErrorDisplay.from_results(results, name, algorithms=best, ax=axes(size=(5.4, 4.2)), styles=styles)
        said = ", ".join(f"{algorithm} {100 * errors[algorithm]:.2f} %" for algorithm in best)
        yield {"data_set": name, "svg": _svg(display.figure_, f"Test error against rounds on {name}; at the end: {said}")}


def _svg(figure: Any, words: str) -> Any:
    """The picture as SVG with its text as text, named for those who cannot see it."""
    from markupsafe import Markup, escape
    from matplotlib import rc_context
    from matplotlib.pyplot import close

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": words, "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    close(figure)
    inside = text.getvalue()
    inside = inside[inside.index("<svg") :].replace("DejaVu Sans", "system-ui")
    inside = re.sub(r'<g id="[^"]*">', "<g>", inside)  # the same in every picture, and nothing refers to them
    return Markup(inside.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1))


def _settings(results: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """The parameters of each algorithm; several where they differ from set to set or were chosen."""
    used = results[results["parameters"].notna()]
    return [(str(name), list(dict.fromkeys(rows["parameters"]))) for name, rows in used.groupby("algorithm", sort=False)]
