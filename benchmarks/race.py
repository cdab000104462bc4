"""ManyBoostClassifier in its three qualities beside the peers, on every data set of a folder: error, log-loss, CPU seconds, ranks.

    python benchmarks/race.py --data DIR                     every set, five folds; goes on where an earlier run ended
    python benchmarks/race.py --data DIR --folds 1 --most-cells 1000000
    python benchmarks/race.py --data DIR --aims letter,mnist,covertype    "best" on the literature's splits
    python benchmarks/race.py --data DIR --official --sets letter,isolet  everybody on the official splits
    python benchmarks/race.py --data DIR --memory            how much memory a fit takes, on the first fold (Linux)
    python benchmarks/race.py --data DIR --times             how long the quick ones take: in turns, the least of three, on the first fold
    python benchmarks/race.py --report                       the tables alone, from what has been run

Small sets come first. Every fit has one thread. Results are in benchmarks/results/race.csv, the tables in benchmarks/RACE.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from clock import least_times
from datasets import add_data_argument, data_folder
from scipy.stats import wilcoxon
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from manyboost import ManyBoostClassifier
from manyboost.evaluation import KFold, OfficialSplit, compare_errors, load, run
from manyboost.evaluation.contestants import Contestant, peers
from manyboost.evaluation.datasets import DataSet, available
from manyboost.evaluation.runs import prepared
from manyboost.plots import CriticalDifferenceDisplay

HERE = Path(__file__).parent
JOURNAL, PAGE, PICTURE = HERE / "results" / "race.csv", HERE / "RACE.md", HERE / "results" / "race.png"
AIMS, OFFICIAL, MEMORY, TIMES = (HERE / "results" / f"race_{name}.csv" for name in ("aims", "official", "memory", "times"))
LONG = 10.0  # seconds: a longer fit is timed once
QUICK = ["ManyBoost fast", "LightGBM", "XGBoost", "HistGradientBoosting"]
OURS = [f"ManyBoost {quality}" for quality in ("fast", "balanced", "best")]
# Of the larger sets, what takes too long: cells of the training table that are still allowed.
MOST_CELLS = {"EBM": 1.2e4, "CatBoost": 3e5, "SVM (tuned)": 4e5, "MLP": 1e6}
# Contestants that take minutes for a fit run on the first fold alone, and are compared there.
FIRST_FOLD = ["CatBoost", "EBM"]
# Sets that were looked at while the settings of ManyBoostClassifier were chosen; the others confirm them.
LOOKED_AT = set(
    "anneal autos audiology balance-scale breast-w car dermatology diabetes ecoli glass ionosphere iris lymph primary-tumor sonar soybean "
    "vehicle vowel vowel-weka wine yeast zoo letter".split()
)


def contestants() -> list[Contestant]:
    numbers = SimpleImputer(keep_empty_features=True)
    as_numbers = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include="category")),
        (make_pipeline(numbers, StandardScaler()), make_column_selector(dtype_exclude="category")),
    )
    svm = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1]}, cv=3)
    others = {
        "ExtraTrees": make_pipeline(as_numbers, ExtraTreesClassifier(500, n_jobs=1)),
        "SVM (tuned)": make_pipeline(as_numbers, svm),
        "MLP": make_pipeline(as_numbers, MLPClassifier((100,), max_iter=300, early_stopping=False)),
    }
    if find_spec("interpret"):  # pip install interpret-core
        from interpret.glassbox import ExplainableBoostingClassifier

        others["EBM"] = ExplainableBoostingClassifier(n_jobs=1)
    ours = [Contestant.of(f"ManyBoost {quality}", ManyBoostClassifier(quality=quality)) for quality in ("fast", "balanced", "best")]
    return [*ours, *peers(), *(Contestant.of(name, model) for name, model in others.items())]


def heats(folder: Path, most_cells: float, names: list[str] | None, without: list[str]) -> Iterator[tuple[DataSet, list[Contestant]]]:
    """Set by set, the smallest first, so that whatever is finished can be compared, and who runs on it."""
    in_folder = [name for name, source in available(folder)["from"].items() if source == "the folder"]
    for name in names or sorted(in_folder, key=lambda name: min(path.stat().st_size for path in folder.glob(f"{name}.*z"))):
        data = load(name, folder)
        if data.X.size <= most_cells:
            those = [one for one in contestants() if data.X.size <= MOST_CELLS.get(one.name, np.inf) and one.name not in without]
            yield data, those


def race(n_folds: int, folder: Path, most_cells: float, names: list[str] | None, without: list[str]) -> None:
    for data, those in heats(folder, most_cells, names, without):
        for is_slow, n_splits in ((False, n_folds), (True, 1)):
            some = [one for one in those if (one.name in FIRST_FOLD) == is_slow]
            run([data], some, KFold(5), JOURNAL, n_splits=n_splits, curves=False, verbose=1)


def official(folder: Path, most_cells: float, names: list[str] | None, without: list[str]) -> None:
    """Everybody on the official split of the sets that have one."""
    for data, those in heats(folder, most_cells, names, without):
        if data.n_train is not None:
            run([data], those, OfficialSplit(), OFFICIAL, curves=False, verbose=1)


def memory(folder: Path, most_cells: float, names: list[str] | None, without: list[str]) -> None:
    """What a fit adds to the memory of a process at its peak; a process for each, kernels compiled before."""
    for quality in ("fast", "balanced", "best"):
        ManyBoostClassifier(quality=quality, n_estimators=2).fit(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3)
    known = set(pd.read_csv(MEMORY)[["data_set", "algorithm"]].itertuples(index=False, name=None)) if MEMORY.exists() else set()
    for given, those in heats(folder, most_cells, names, without):
        data = prepared(given)
        split = KFold(5).splits(data, 0)[0]
        X, y = data.X.iloc[split.train], np.unique(data.y[split.train], return_inverse=True)[1]
        for one in those:
            if (data.name, one.name) in known:
                continue
            here, there = multiprocessing.Pipe(duplex=False)
            child = multiprocessing.get_context("fork").Process(target=_peak_of_fit, args=(one.make(given, 0), X, y, there))
            child.start()
            child.join()
            peak = here.recv() if here.poll() else np.nan
            row = pd.DataFrame([{"data_set": data.name, "algorithm": one.name, "train_cells": X.size, "peak_mib": round(peak, 1)}])
            row.to_csv(MEMORY, mode="a", header=not MEMORY.exists(), index=False)


def times(folder: Path, most_cells: float, names: list[str] | None, without: list[str]) -> None:
    """CPU seconds of the quick contestants: after a fit that does not count they take turns; the least of three, of long fits one."""
    known = set(pd.read_csv(TIMES)["data_set"]) if TIMES.exists() else set()
    for given, those in heats(folder, most_cells, names, without):
        if given.name in known:
            continue
        data = prepared(given)
        split = KFold(5).splits(data, 0)[0]
        X, y = data.X.iloc[split.train], np.unique(data.y[split.train], return_inverse=True)[1]
        models = {one.name: one.make(given, 0) for one in those if one.name in QUICK}
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = {name: _first_fit(model, X, y) for name, model in models.items()}  # kernels are compiled, too
            models = {name: model for name, model in models.items() if np.isfinite(first[name])}
            fits = {name: partial(model.fit, X, y) for name, model in models.items()}
            long = {name for name in models if first[name] > LONG}
            fit = least_times({name: fits[name] for name in long}, 1) | least_times({name: fits[name] for name in fits if name not in long})
            predict = least_times({name: partial(model.predict_proba, data.X.iloc[split.test]) for name, model in models.items()})
        row = pd.DataFrame(
            [{"data_set": data.name, "algorithm": name, "fit_seconds": fit[name], "predict_seconds": predict[name]} for name in models]
        )
        row.to_csv(TIMES, mode="a", header=not TIMES.exists(), index=False, float_format="%.5f")


def _first_fit(model: Any, X: pd.DataFrame, y: np.ndarray) -> float:
    """CPU seconds; infinite where it is refused: not all take a class of one row."""
    began = time.process_time()
    try:
        model.fit(X, y)
    except ValueError:
        return np.inf
    return time.process_time() - began


def _peak_of_fit(model: Any, X: pd.DataFrame, y: np.ndarray, said: Any) -> None:
    """MiB above what the process had before, by Linux's own count, which is started anew."""
    warnings.simplefilter("ignore")
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    model.fit(X, y)
    said.send((_resident("VmHWM") - before) / 1024)


def _resident(what: str) -> int:
    """KiB."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))


def aims(folder: Path, names: list[str]) -> None:
    """The best quality on the official split, or on a random half of covertype, whose official training part is small."""
    for name in names:
        data = load(name, folder)
        rows = np.arange(len(data.y))
        train = rows < (data.n_train or 0)
        if name == "covertype":
            train = np.isin(rows, train_test_split(rows, test_size=0.5, random_state=0, stratify=data.y)[0])
        began = time.process_time()
        model = ManyBoostClassifier(quality="best", random_state=0).fit(data.X[train], data.y[train])
        seconds = time.process_time() - began
        probability = model.predict_proba(data.X[~train])
        found = {
            "data_set": name,
            "train_rows": int(train.sum()),
            "error": float(np.mean(model.classes_[probability.argmax(axis=1)] != data.y[~train])),
            "log_loss": float(log_loss(data.y[~train], probability, labels=model.classes_)),
            "fit_seconds": round(seconds, 1),
            "description": model.description_,
        }
        pd.DataFrame([found]).to_csv(AIMS, mode="a", header=not AIMS.exists(), index=False)


def tables(results: pd.DataFrame, of_first_fold: pd.DataFrame) -> str:
    """A page of what has been run, and of the first folds on which the slow ones ran as well."""
    lines = ["# The race", "", __doc__.strip().splitlines()[0], ""]
    lines += [f"Sets marked * were looked at when settings were chosen. Folds per set: {_folds(results)}. CPU seconds, one thread.", ""]
    lines += ["![Critical differences](results/race.png)", ""]
    if AIMS.exists():
        rows = pd.read_csv(AIMS).drop_duplicates("data_set", keep="last").itertuples()
        said = [f"{row.data_set} {100 * row.error:.2f} % (log-loss {row.log_loss:.4f}, {row.fit_seconds:.0f} s)" for row in rows]
        lines += [f"Error of ManyBoost best on the splits of the literature: {', '.join(said)}.", ""]
    if OFFICIAL.exists():
        of_splits = pd.read_csv(OFFICIAL)
        lines += ["## On official splits", ""]
        for measure, title, digits in (("error", "Test error %", 2), ("log_loss", "Log-loss", 4), ("fit_seconds", "Fit, CPU seconds", 1)):
            lines += [f"### {title}", "", _markdown(_by_set(of_splits, measure), digits), ""]
    for measure, title, digits in (
        ("error", "Test error %", 2), ("log_loss", "Log-loss", 4), ("fit_seconds", "Fit, CPU seconds", 2),
        ("predict_seconds", "Predict, CPU seconds", 3),
    ):  # fmt: skip
        table = _by_set(results, measure)
        lines += [f"## {title}", "", _markdown(table, digits), ""]
        if measure in ("error", "log_loss"):
            lines += _ranks(table)
        else:
            lines += _ratios(table)
    if len(of_first_fold):
        lines += [f"## With {', '.join(FIRST_FOLD)}, on the first fold", ""]
        for measure, title, digits in (("error", "Test error %", 2), ("log_loss", "Log-loss", 4), ("fit_seconds", "Fit, CPU seconds", 2)):
            table = _by_set(of_first_fold, measure)
            shown = table[[name for name in [*FIRST_FOLD, *OURS] if name in table.columns]]
            lines += [f"### {title}", "", _markdown(shown, digits), "", *(_ratios(table) if measure == "fit_seconds" else _ranks(table))]
    if TIMES.exists():
        lines += [
            "## CPU seconds of the quick ones, in turns",
            "",
            f"The first fold; the least of three, of fits longer than {LONG:.0f} s one.",
            "",
        ]
        for measure, title, digits in (("fit_seconds", "Fit", 3), ("predict_seconds", "Predict", 4)):
            table = pd.read_csv(TIMES).pivot_table(index="data_set", columns="algorithm", values=measure, sort=False)
            lines += [f"### {title}", "", _markdown(table, digits), "", *_ratios(table)]
    if MEMORY.exists():
        table = pd.read_csv(MEMORY).pivot_table(index="data_set", columns="algorithm", values="peak_mib", sort=False)
        lines += ["## Peak memory of a fit, MiB", "", "What the first fold's fit adds to a process.", "", _markdown(table, 1), ""]
        lines += _ratios(table)
    return "\n".join(lines)


def _by_set(results: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Means over the folds, a row for each set; errors in percent."""
    table = results.pivot_table(index="data_set", columns="algorithm", values=measure, aggfunc="mean", sort=False)
    return table * 100 if measure == "error" else table


def draw(results: pd.DataFrame) -> None:
    """The critical difference diagrams of error and log-loss."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), layout="constrained")
    for ax, (measure, title) in zip(axes, (("error", "Test error"), ("log_loss", "Log-loss")), strict=True):
        table = results.pivot_table(index="data_set", columns="algorithm", values=measure, aggfunc="mean")
        whole = table.loc[:, table.notna().mean() >= 0.9].dropna()
        CriticalDifferenceDisplay.from_errors(whole, ax=ax)
        ax.set_title(f"{title}, {len(whole)} data sets")
    figure.savefig(PICTURE, dpi=90)


def comparable(results: pd.DataFrame) -> pd.DataFrame:
    """Of each set, the folds that everybody who runs on it has finished."""
    finished = results.groupby(["data_set", "split"])["algorithm"].transform("nunique")
    return results[finished == results.groupby("data_set")["algorithm"].transform("nunique")]


def _folds(results: pd.DataFrame) -> str:
    counts = results.groupby("data_set")["split"].nunique()
    return f"{counts.min()} to {counts.max()}" if counts.min() < counts.max() else str(counts.max())


def _markdown(table: pd.DataFrame, digits: int) -> str:
    rows = [f"| set | {' | '.join(table.columns)} |", "|---" * (len(table.columns) + 1) + "|"]
    for name, values in table.iterrows():
        cells = ("" if np.isnan(value) else f"{value:.{digits}f}" for value in values)
        rows.append(f"| {name}{'*' if name in LOOKED_AT else ''} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _ranks(table: pd.DataFrame) -> list[str]:
    """Mean ranks and p-values among those who ran on nine sets of ten, over the sets that they all ran on; and without those looked at."""
    lines = []
    for title, part in (("sets", table), ("sets not looked at before", table[~table.index.isin(LOOKED_AT)])):
        whole = part.loc[:, part.notna().mean() >= 0.9].dropna()
        if len(whole) < 3 or len(whole.columns) < 3:
            continue
        compared = compare_errors(whole)
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in compared.mean_ranks.sort_values().items())
        lines += [f"Mean ranks over {len(whole)} {title}: {ranks}.", ""]
        for name in (one for one in OURS if one in whole.columns):
            p_values = compared.wilcoxon_matrix("holm_exact").loc[name]
            beaten = [
                f"{other} {int((whole[name] < whole[other]).sum())}-{int((whole[name] > whole[other]).sum())} (p = {p_values[other]:.2g})"
                for other in whole.columns if other not in OURS
            ]  # fmt: skip
            lines += [f"{name} against: {', '.join(beaten)}; Wilcoxon with Holm's correction.", ""]
        if few := [other for other in part.columns if other not in whole.columns and part[other].notna().sum() > 2]:
            met = {other: part[[OURS[-1], other]].dropna() for other in few}
            beaten = [
                f"{other} {int((both.iloc[:, 0] < both.iloc[:, 1]).sum())}-{int((both.iloc[:, 0] > both.iloc[:, 1]).sum())} "
                f"on {len(both)} sets (p = {wilcoxon(both.iloc[:, 0], both.iloc[:, 1]).pvalue:.2g})"
                for other, both in met.items()
            ]
            lines += [f"{OURS[-1]} against those who ran on fewer of the {title}: {', '.join(beaten)}; Wilcoxon, each by itself.", ""]
    return lines


def _ratios(table: pd.DataFrame) -> list[str]:
    """Geometric means over the sets that both ran on."""
    said = []
    for name in (one for one in OURS if one in table.columns):
        for other in ("LightGBM", "XGBoost", "HistGradientBoosting", "CatBoost"):
            if other in table.columns:
                ratio = (table[name] / table[other]).dropna()
                said.append(f"{name} / {other} {np.exp(np.log(ratio).mean()):.2f}")
    return [f"Geometric means of ratios: {', '.join(said)}.", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--folds", type=int, default=5, help="of five")
    parser.add_argument("--most-cells", type=float, default=np.inf, help="leave out sets with more rows times columns than this")
    parser.add_argument("--sets", help="names, with commas between them; otherwise all of the folder")
    parser.add_argument("--without", default="", help="names of contestants to leave out, with commas between them")
    parser.add_argument("--aims", help="names, with commas between them: fit the best quality on the splits of the literature instead")
    parser.add_argument("--official", action="store_true", help="run on official splits instead")
    parser.add_argument("--memory", action="store_true", help="measure memory instead")
    parser.add_argument("--times", action="store_true", help="measure the time of the quick ones in turns instead")
    parser.add_argument("--report", action="store_true", help="write the tables only")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if not arguments.report:
        if folder is None:
            parser.error("name the folder of the data sets: --data DIR, or the variable MANYBOOST_DATA")
        if arguments.aims:
            aims(folder, arguments.aims.split(","))
        else:
            names = arguments.sets.split(",") if arguments.sets else None
            choice = folder, arguments.most_cells, names, arguments.without.split(",")
            if arguments.memory or arguments.times or arguments.official:
                (memory if arguments.memory else times if arguments.times else official)(*choice)
            else:
                race(arguments.folds, *choice)
    results = pd.read_csv(JOURNAL)
    results = results[results["error"].notna()].drop_duplicates(["data_set", "algorithm", "split"], keep="last")
    slow = results["algorithm"].isin(FIRST_FOLD)
    first = results["split"].isin(results["split"][slow]) & results["data_set"].isin(results["data_set"][slow])
    whole = comparable(results[~slow])
    PAGE.write_text(tables(whole, comparable(results[first])) + "\n")
    draw(whole)


if __name__ == "__main__":
    main()
