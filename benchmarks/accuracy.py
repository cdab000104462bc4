"""Error, log-loss and time of every algorithm at default settings, five folds, beside HistGradientBoosting, LightGBM and XGBoost at theirs.

    python benchmarks/accuracy.py --data DIR [--sets letter,vowel] [--models ...] [--folds 2]

Each fold's result is appended to ``results/accuracy.csv`` as soon as it is there; a run that was broken off goes on where it ended. Delete
a line to measure it again. One thread each; CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import add_data_argument, data_folder, load
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from manyboost.algorithms import ALGORITHMS

SETS = "letter vowel satimage pendigits optdigits segment vehicle waveform-21".split()
BUNDLED_SETS = "digits wine iris breast-cancer".split()
RESULTS = Path(__file__).parent / "results" / "accuracy.csv"
FIRST_FOUR = ("SAMME", "AdaBoostMH", "PIBoost", "Rebel")
FIELDS = "set fold model error log_loss fit_cpu predict_cpu".split()


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


def _xgboost(**settings: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=0, **settings)


OURS: dict[str, Callable[[], Any]] = {
    algorithm.__name__.removesuffix("Classifier"): partial(algorithm, random_state=0) for algorithm in ALGORITHMS.values()
}
PEERS: dict[str, Callable[[], Any]] = {
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "XGBoost (vector leaves)": partial(_xgboost, multi_strategy="multi_output_tree"),
    "HistGradientBoosting": partial(HistGradientBoostingClassifier, random_state=0),
}
MODELS = OURS | PEERS


def measure(model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    began = time.process_time()
    model.fit(X[train], y[train])
    fitted = time.process_time()
    probability = model.predict_proba(X[test])
    done = time.process_time()
    error = float(np.mean(probability.argmax(axis=1) != y[test]))
    loss = float(log_loss(y[test], probability, labels=np.arange(probability.shape[1])))
    return {"error": error, "log_loss": loss, "fit_cpu": fitted - began, "predict_cpu": done - fitted}


def run(sets: list[str], models: list[str], folder: Path | None, results: Path, n_folds: int) -> None:
    results.parent.mkdir(exist_ok=True)
    known = set()
    if results.exists():
        known = {(row["set"], int(row["fold"]), row["model"]) for row in csv.DictReader(results.open())}
    else:
        results.write_text(",".join(FIELDS) + "\n")
    warm = load("wine", folder)
    for name in models:  # compile kernels outside the clock
        MODELS[name]().set_params(**({"n_estimators": 2} if name in OURS else {})).fit(warm.X, warm.y).predict_proba(warm.X)
    for name in sets:
        data = load(name, folder)
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y)
        for fold, (train, test) in islice(enumerate(folds), n_folds):
            for model in models:
                if (name, fold, model) in known:
                    continue
                print(f"{name}, fold {fold + 1} of 5, {model}", file=sys.stderr)
                with threadpool_limits(1):
                    row = measure(MODELS[model](), data.X, data.y, train, test)
                with results.open("a") as file:
                    csv.DictWriter(file, FIELDS).writerow(
                        {"set": name, "fold": fold, "model": model, **{field: f"{value:.6g}" for field, value in row.items()}}
                    )


def table(results: Path, sets: list[str], models: list[str]) -> str:
    frame = pd.read_csv(results)
    every = frame[frame["set"].isin(sets) & frame["model"].isin(models)]
    frame = _of_common_folds(every)
    n_folds, n_sets = frame.groupby("set")["fold"].nunique(), frame.groupby("model")["set"].nunique()
    missing = n_sets.index[n_sets < n_sets.max()].tolist()
    out = [
        "Means over the folds that all have: "
        + ", ".join(f"{name} {n_folds[name]}" for name in sets if name in n_folds)
        + (f". Not run on all sets: {', '.join(missing)}." if missing else ".")
    ]
    for measure_name, factor, digits in (("error", 100, 2), ("log_loss", 1, 4), ("fit_cpu", 1, 2)):
        wide = frame.pivot_table(index="model", columns="set", values=measure_name, aggfunc="mean")
        wide = wide.reindex(index=[m for m in models if m in wide.index], columns=[name for name in sets if name in wide.columns])
        title = {"error": "Test error %", "log_loss": "Log-loss", "fit_cpu": "CPU seconds of fit"}[measure_name]
        shown = (wide * factor).map(lambda value, digits=digits: "" if np.isnan(value) else f"{value:.{digits}f}").astype(object)
        if measure_name != "fit_cpu":
            ranks = frame.pivot_table(index="model", columns="set", values=measure_name, aggfunc="mean").rank().mean(axis=1)
            shown["mean rank"] = ranks.reindex(shown.index).map(lambda rank: f"{rank:.2f}")
        header = "| model | " + " | ".join(shown.columns) + " |\n|" + "---|" * (len(shown.columns) + 1)
        rows = [f"| {index} | " + " | ".join(row) + " |" for index, row in zip(shown.index, shown.to_numpy(), strict=True)]
        out.append(f"{title}\n\n{header}\n" + "\n".join(rows))
    out.append(_of_more_folds(every, sets))
    if set(OURS) & set(models):
        out.append(_best_of_ours(frame, sets, models))
    return "\n\n".join(out)


def _of_common_folds(frame: pd.DataFrame) -> pd.DataFrame:
    """The folds of each set that all models have which were run on it: only means over the same rows compare."""
    n_models = frame.groupby("set")["model"].nunique()
    having = frame.groupby(["set", "fold"])["model"].transform("nunique")
    return frame[having == frame["set"].map(n_models)]


def _of_more_folds(frame: pd.DataFrame, sets: list[str]) -> str:
    """Errors of the models that were run on all five folds of a set."""
    lines = []
    for name in sets:
        errors = frame[frame["set"] == name].groupby("model")["error"].agg(["mean", "count"])
        of_five = errors[errors["count"] == 5]["mean"].sort_values()
        if len(of_five):
            lines.append(f"- {name}: " + ", ".join(f"{model} {100 * error:.2f}" for model, error in of_five.items()))
    return "Test error % of those that have been run on five folds\n\n" + "\n".join(lines)


def _best_of_ours(frame: pd.DataFrame, sets: list[str], models: list[str]) -> str:
    """Mean ranks of the best of ours alone among the peers: of all, and of the first four that there were."""
    lines = []
    peers = [model for model in models if model in PEERS and model in set(frame["model"])]
    for title, group in (("all", set(OURS)), (", ".join(FIRST_FOUR), set(FIRST_FOUR))):
        for measure_name in ("error", "log_loss"):
            wide = frame.pivot_table(index="set", columns="model", values=measure_name, aggfunc="mean")
            complete = [m for m in models if m in group and m in wide.columns and wide[m].notna().all()]
            if complete:
                ours = min(complete, key=lambda m: wide[[m, *peers]].rank(axis=1)[m].mean())
                ranks = wide[[ours, *peers]].rank(axis=1).mean().round(2)
                lines.append(f"- of {title}, {measure_name}: " + ", ".join(f"{name} {rank}" for name, rank in ranks.items()))
    return "Mean rank of the best of ours among the peers\n\n" + "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--sets", help="comma-separated names (default: eight sets of the folder, or the bundled ones without it)")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated names")
    parser.add_argument("--folds", type=int, default=5, help="how many of the five folds to run")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    sets = arguments.sets.split(",") if arguments.sets else SETS if folder else BUNDLED_SETS
    models = arguments.models.split(",")
    run(sets, models, folder, arguments.results, arguments.folds)
    print(table(arguments.results, sets, models))


if __name__ == "__main__":
    main()
