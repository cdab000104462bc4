"""The command ``manyboost``: train, predict, compare, reproduce, explain, datasets.

Exit codes: 0 done, 1 something could not be written, 2 the request or the data cannot be used, 130 interrupted. Every error is one sentence
on stderr.
"""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.table import Column, Table
except ImportError as missing:
    raise SystemExit(f'The command line needs {missing.name}; install it with: pip install "manyboost[cli]"') from missing

import manyboost
from manyboost.evaluation import datasets
from manyboost.evaluation.contestants import CLASSIFIERS, Contestant, chosen, nearest_name, ours, peers
from manyboost.evaluation.protocols import KFold, OfficialSplit, SplitRule
from manyboost.evaluation.runs import TimeLimit, run
from manyboost.report import Findings, draw_curves, write_report

UNUSABLE, NOT_WRITTEN, INTERRUPTED = 2, 1, 130
SHORTEST_FIT = 0.01  # seconds: a limit of none at all ends a fit after its first round
app = typer.Typer(
    name="manyboost",
    help="Multi-class boosting: train, compare and explain classifiers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
DataArgument = Annotated[str, typer.Argument(metavar="DATA", help="A CSV, TSV, Parquet or ARFF file, or the name of a data set.")]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", help="Column with the labels; only for files.")]
FolderOption = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of data sets; else that of MANYBOOST_DATA.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Of everything that is drawn.")]


@app.command()
def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    target: TargetOption = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help="One of those that 'manyboost datasets --algorithms' lists.")
    ] = "manyboost",
    parameters: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter, as often as needed.")] = None,
    folder: FolderOption = None,
    seed: SeedOption = 0,
) -> None:
    """Fit a classifier to a table and save it."""
    with plain_errors():
        kind = CLASSIFIERS[nearest_name(algorithm, list(CLASSIFIERS))]
        model = kind(random_state=seed, n_jobs=-1, verbose=int(sys.stderr.isatty())).set_params(**_read_parameters(kind, parameters or []))
        rows = _data_set(data, target, folder)
        _tell(str(rows), *rows.notes)
        model.fit(rows.X, rows.y)
        digest = manyboost.save(model, output)
        error = float((model.predict(rows.X) != rows.y).mean())
        _tell(f"{kind.__name__}: {model.description_}; error on the training rows {100 * error:.2f} %.")
        _tell(f"Saved as {output}, digest {digest}.")


@app.command()
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'manyboost train' wrote.")],
    data: DataArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write; else the terminal.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities/--labels", help="Add a column for each class.")] = False,
    folder: FolderOption = None,
) -> None:
    """Decide for every row of a table."""
    import pandas as pd

    with plain_errors():
        model = manyboost.load(model_file)
        table = _features(model, data, folder)
        found = pd.DataFrame({"prediction": model.predict(table)})
        if probabilities:
            shown = [f"probability of {label}" for label in model.classes_]
            found = found.join(pd.DataFrame(model.predict_proba(table), columns=shown))
        if output is None:
            sys.stdout.write(found.to_csv(index=False))
        else:
            found.to_csv(output, index=False)
            _tell(f"{len(found)} rows written to {output}.")


@app.command()
def compare(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="Files, or names of data sets ('manyboost datasets').")],
    target: TargetOption = None,
    algorithms: Annotated[
        str | None, typer.Option("--algorithms", "-a", help="Names with commas between; else all, and the peers.")
    ] = None,
    with_peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Add the installed boosters of other libraries.")] = True,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Of the stratified cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Times the cross-validation is repeated.")] = 1,
    official: Annotated[bool, typer.Option("--official", help="Use the official split of the data sets instead.")] = False,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", min=0, help="Seconds after which a fit of ours makes no further round; noted in the report."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results and the report.")] = Path("comparison"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Fits at the same time; -1 is one for each core.")] = -1,
    alpha: Annotated[float, typer.Option("--alpha", min=0.0001, max=0.5, help="Level of significance.")] = 0.05,
    folder: FolderOption = None,
    seed: SeedOption = 0,
) -> None:
    """Compare algorithms on the same folds: best, runner-up, significance, and a report in HTML.

    Every finished fold is kept. An interrupted comparison goes on where it ended when the same command is run again.
    """
    with plain_errors(f"Finished folds are kept in {output}; run the same command again to go on."):
        names = [name for name in algorithms.split(",") if name.strip()] if algorithms else None
        contestants = chosen(names) if names else [*ours(), *(peers() if with_peers else [])]
        if time_limit is not None:
            contestants = [_limited(one, time_limit) for one in contestants]
        rows = [_data_set(name, target, folder) for name in data]
        if len({one.name for one in rows}) < len(rows):
            raise datasets.UnreadableData("Two of the data sets have the same name; rename one of the files.")
        protocol: SplitRule = OfficialSplit() if official else KFold(folds, repeats)
        notes = [note for one in rows for note in [*(f"{one.name}: {note}" for note in one.notes), *protocol.notes(one)]]
        _tell(*(str(one) for one in rows), *notes)
        _tell(f"{len(contestants)} algorithms, {protocol}, seed {seed}. New kernels are compiled first, which takes a minute once.")
        results = run(rows, contestants, protocol, output / "results.csv", seed=seed, n_jobs=jobs, verbose=1)
        findings = Findings(results, alpha)
        if findings.errors.empty:
            raise datasets.UnreadableData(f"No algorithm finished; the first said: {results['message'].dropna().iloc[0]}")
        _show_ranking(findings)
        path = write_report(
            findings,
            output / "report.html",
            data_sets=rows,
            protocol=protocol,
            title=f"Comparison on {', '.join(one.name for one in rows)}",
            notes=notes,
            command=shlex.join(["manyboost", *sys.argv[1:]]),
        )
        picture = draw_curves(results, output / "learning_curves.png", unit="rounds")
        for row in findings.failures.itertuples():
            _tell(f"{row.algorithm} did not run on {row.data_set}: {row.message}")
        _tell("", findings.sentence())
        if picture:
            sys.stdout.write(f"Learning curves: {picture}\n")
        sys.stdout.write(f"Report: {path}\n")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="piboost, amazon (of piboost), hm, m2t, resampling (of m2t) or rebel.")],
    sets: Annotated[str | None, typer.Option("--sets", help="Names of the paper's data sets with commas between; else all.")] = None,
    algorithms: Annotated[str | None, typer.Option("--algorithms", "-a", help="Of the paper's, with commas between; else all.")] = None,
    splits: Annotated[int | None, typer.Option("--splits", min=1, help="How many of the paper's splits to run; else all.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results.")] = Path("results"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Fits at the same time; -1 is one for each core.")] = -1,
    folder: FolderOption = None,
) -> None:
    """Run the experiments of a paper, the cheapest first, and set each cell beside the published number.

    Every finished split is kept. An interrupted run goes on where it ended when the same command is run again.
    """
    from manyboost.evaluation.reproduction import EXPERIMENTS, finished, reproduce_experiment, write_page

    with plain_errors(f"Finished splits are kept in {output}; run the same command again to go on."):
        experiment = EXPERIMENTS[nearest_name(paper, list(EXPERIMENTS), "paper")]
        some = {"sets": sets.split(",") if sets else None, "algorithms": algorithms.split(",") if algorithms else None}
        page = reproduce_experiment(experiment, folder, output, n_splits=splits, n_jobs=jobs, verbose=1, **some)
        journal = output / f"{experiment.name}.csv"
        if draw_curves(finished(journal), journal.with_suffix(".png")):
            page = write_page(experiment, journal)
        _tell(page.summary)
        sys.stdout.write(f"Page: {page.path}\n")


@app.command()
def explain(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'manyboost train' wrote.")],
    data: DataArgument,
    row: Annotated[int, typer.Option("--row", min=0, help="The row to explain, counted from 0.")] = 0,
    folder: FolderOption = None,
) -> None:
    """Say why a model decides as it does about one row."""
    with plain_errors():
        model = manyboost.load(model_file)
        if not hasattr(model, "explain"):
            raise TypeError(f"a {type(model).__name__} cannot say what each feature adds; 'manyboost predict' tells what it decides.")
        table = _features(model, data, folder)
        if row >= len(table):
            raise datasets.UnreadableData(f"{data} has {len(table)} rows, so --row must be from 0 to {len(table) - 1}, not {row}.")
        one = table.iloc[[row]]
        scores = model.decision_function(one).ravel().tolist()
        scores = scores if len(scores) == len(model.classes_) else [-scores[0], scores[0]]
        shown = Table("class", "probability", "score", title=f"Row {row} of {data}: {model.predict(one)[0]}")
        order = sorted(zip(model.predict_proba(one)[0], scores, model.classes_, strict=True), key=lambda item: -item[0])
        for probability, score, label in order:
            shown.add_row(str(label), f"{probability:.4f}", f"{score:+.4f}")
        Console().print(shown)
        sys.stdout.write(f"{model.explain(one)}\n")


@app.command("datasets")
def list_datasets(
    folder: FolderOption = None,
    algorithms: Annotated[bool, typer.Option("--algorithms", help="List the algorithms instead.")] = False,
) -> None:
    """List the data sets that can be named, and where each comes from."""
    with plain_errors():
        if algorithms:
            shown = Table("name", "class", "what it is")
            for name, kind in CLASSIFIERS.items():
                shown.add_row(name, kind.__name__, (kind.__doc__ or "").strip().splitlines()[0])
        else:
            shown = Table("name", "from")
            for name, where in datasets.available(folder)["from"].items():
                shown.add_row(str(name), where)
        Console().print(shown)


@contextmanager
def plain_errors(when_interrupted: str = "") -> Iterator[None]:
    """Turn what can go wrong into a sentence and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        _tell(f"Interrupted. {when_interrupted}".strip())
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NOT_WRITTEN) from None
    except OSError as error:
        reason = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        _tell(f"Error: {where}{reason}")
        raise typer.Exit(NOT_WRITTEN) from error
    except (ValueError, TypeError, LookupError, ImportError, manyboost.BadModelFile) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        _tell(f"Error: {' '.join(text.split())}")
        raise typer.Exit(UNUSABLE) from error


def _tell(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _data_set(name: str, target: str | None, folder: Path | None) -> datasets.DataSet:
    if not _is_file(name):
        return datasets.load(name, folder)
    if target is None:
        raise datasets.UnreadableData(f"{name} is a file; say which column has the labels: --target NAME.")
    return datasets.read_table(name, target)


def _is_file(name: str) -> bool:
    return Path(name).exists() or os.sep in name or bool(Path(name).suffix)


def _features(model: Any, data: str, folder: Path | None) -> Any:
    """The columns that the model was trained on, by name."""
    table = datasets.read_features(data) if _is_file(data) else datasets.load(data, folder).X
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table
    lacking = [str(name) for name in names if name not in table.columns]
    if lacking:
        raise datasets.UnreadableData(f"{data} lacks {len(lacking)} of the {len(names)} columns of the model: {', '.join(lacking[:8])}.")
    return table[list(names)]


def _read_parameters(kind: type, given: list[str]) -> dict[str, Any]:
    known = [field.name for field in fields(kind)]
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise ValueError(f"--set {one} must look like NAME=VALUE, for example --set max_depth=4.")
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise ValueError(f"{kind.__name__} has no parameter {name!r}" + (f"; did you mean {close[0]!r}?" if close else "."))
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value  # text need not be quoted
    return found


def _limited(contestant: Contestant, seconds: float) -> Contestant:
    """The contestant whose fits end after so many seconds, if it is one of ours."""

    def make(data: datasets.DataSet, seed: int) -> Any:
        model = contestant.make(data, seed)
        if type(model) not in CLASSIFIERS.values():  # callbacks of another library are of another kind
            return model
        ways = {"time_limit": max(seconds, SHORTEST_FIT), "callbacks": [TimeLimit(seconds)]}
        return model.set_params(**{name: way for name, way in ways.items() if name in model.get_params()})

    return Contestant(contestant.name, make)


def _show_ranking(findings: Findings) -> None:
    shown = Table("#", Column("algorithm", no_wrap=True), title="Ranking", padding=0)
    for heading in ("mean rank", "error %", "log-loss", "fit s", "predict s", "p"):
        shown.add_column(heading, justify="right")
    for place, (name, row) in enumerate(findings.ranking.iterrows(), start=1):
        p = "" if row["p_value"] != row["p_value"] else f"{row['p_value']:.4f}"
        shown.add_row(
            str(place),
            str(name),
            f"{row['mean_rank']:.2f}",
            f"{100 * row['error']:.2f}",
            f"{row['log_loss']:.3f}",
            f"{row['fit_seconds']:.2f}",
            f"{row['predict_seconds']:.3f}",
            p,
        )
    Console().print(shown)


def main() -> None:
    """What the console script runs."""
    app()


if __name__ == "__main__":
    main()
