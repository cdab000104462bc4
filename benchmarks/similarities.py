"""REBEL with localized similarities beside trees, networks and support vector machines: the experiments of Appel and Perona (2017).

    python benchmarks/similarities.py errors --data DIR [--sets vowel,glass] [--models "REBEL, trees;SVC"] [--splits 5] [--most 4000]
    python benchmarks/similarities.py responses | cache | time | growth | predict | report --data DIR

``errors``: their figures 8 and 9, five random splits into 50 % to train, 25 % to choose parameters and 25 % to test on. Of mnist and isolet
4,000 rows are taken, the same for all, of the others all rows; with ``--most``, so many of every set. Networks have the paper's four
shapes, of which the one of the least *test* error counts, as in the paper; the support vector machine has a grid of 5 x 6 values, chosen
on the validation part. ``responses``: signs and real answers, the paper's procedure and ours, exact and bound steps, and the metrics.
``cache``: what memory for rows of distances saves. ``time``: 1,000 rounds on pendigits beside LightGBM's 100. ``growth``: time and memory
by the number of rows. ``predict``: beside SVC. ``report`` prints all tables.

Each result is appended to a file in ``results/`` as soon as it is there; a run that was broken off goes on where it ended.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clock import least_times
from datasets import add_data_argument, data_folder, load
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from manyboost import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AOSOLogitBoostClassifier,
    CWBoostClassifier,
    OneVsAllClassifier,
    RebelClassifier,
    SAMMEClassifier,
    similarity_learner,
)
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.distance_rows import DistanceRows

HERE = Path(__file__).parent / "results"
SETS = "vowel glass segment pendigits satimage optdigits usps letter mnist isolet".split()
FIELDS = "set rows split model error rounds seconds".split()
SOME = {"mnist": 4000, "isolet": 4000}  # rows of sets that take hours in full
GROWTH = (1000, 2000, 4000, 8000, 16000, 32000, 60000)


def similarities(rounds: dict[str, Any] | None = None, **parameters: Any) -> Any:
    return RebelClassifier(estimator=LocalizedSimilarity(**parameters), calibrate=False, random_state=0, **(rounds or {}))


def trees(kind: Callable[..., Any], **parameters: Any) -> Any:
    return kind(calibrate=False, random_state=0, **parameters)


def stumps(kind: Callable[..., Any], **parameters: Any) -> Any:
    return trees(kind, n_estimators=200, max_depth=1, max_leaf_nodes=None, splitter="best", **parameters)


BOOSTED: dict[str, Callable[[], Any]] = {
    "REBEL, similarities": similarities,
    "REBEL, one point only": lambda: similarities({"n_estimators": 2000}, mode="one-point"),
    "REBEL, trees": lambda: trees(RebelClassifier),
    "OVA AdaBoost": lambda: OneVsAllClassifier(random_state=0),
    "AdaBoost.MH": lambda: trees(AdaBoostMHClassifier, n_estimators=200),
    "AdaBoost.ECC": lambda: trees(AdaBoostECCClassifier, n_estimators=200),
    "CW-Boost": lambda: trees(CWBoostClassifier),
    "AOSO-LogitBoost": lambda: trees(AOSOLogitBoostClassifier),
}
STUMPS: dict[str, Callable[[], Any]] = {  # 200 of them, as the paper's rivals have
    "OVA AdaBoost, stumps": lambda: OneVsAllClassifier(estimator=SAMMEClassifier(max_depth=1, n_estimators=200), random_state=0),
    "AdaBoost.MH, stumps": lambda: stumps(AdaBoostMHClassifier, leaves="vote", learning_rate=1.0),
    "AdaBoost.ECC, stumps": lambda: stumps(AdaBoostECCClassifier, learning_rate=1.0),
    "CW-Boost, stumps": lambda: stumps(CWBoostClassifier),
    "AOSO-LogitBoost, stumps": lambda: stumps(AOSOLogitBoostClassifier),
    "REBEL, stumps": lambda: stumps(RebelClassifier, leaves="shared", learning_rate=1.0),
}
BOOSTED |= STUMPS
RESPONSES: dict[str, Callable[[], Any]] = {
    "default": similarities,
    "standard metric": lambda: similarities(metric="standard"),
    "within metric": lambda: similarities(metric="within"),
    "no metric": lambda: similarities(metric="none"),
    "mean of the three": lambda: similarities(metric="mean"),
    "sign": lambda: similarities(metric="standard", response="sign"),
    "paper, sign": lambda: similarities({"n_estimators": 3000}, metric="standard", response="sign", procedure="paper"),
    "paper, real": lambda: similarities({"n_estimators": 3000}, metric="standard", procedure="paper"),
    "learning rate 0.3": lambda: similarities({"learning_rate": 0.3}),
    "bound step": lambda: similarities({"n_estimators": 3000, "line_search": "bound"}, metric="standard"),
}


def networks(d: int, K: int) -> list[Any]:
    """The paper's shapes [d-4d-K], [d-4K-K], [d-2d-d-K] and [d-4K-2K-K]."""
    shapes = [(4 * d,), (4 * K,), (2 * d, d), (4 * K, 2 * K)]
    return [make_pipeline(StandardScaler(), MLPClassifier(shape, max_iter=300, random_state=0)) for shape in shapes]


def machines() -> list[Any]:
    grid = ParameterGrid({"C": 10.0 ** np.arange(-1, 4), "gamma": ["scale", 1e-3, 1e-2, 0.05, 0.2, 1.0]})
    return [make_pipeline(StandardScaler(), SVC(**values)) for values in grid]


def parts(n: int, split: int) -> tuple[Any, Any, Any]:
    order = np.random.default_rng(split).permutation(n)
    return order[: n // 2], order[n // 2 : n * 3 // 4], order[n * 3 // 4 :]


def rows_of(name: str, folder: Path | None, most: int | None) -> tuple[Any, Any]:
    data = load(name, folder)
    X = np.where(np.isnan(data.X), np.nanmean(data.X, axis=0), data.X)  # networks and machines cannot do without
    chosen = np.random.default_rng(0).permutation(len(data.y))[:most]
    return X[chosen], np.unique(data.y[chosen], return_inverse=True)[1]


def error_of(model: Any, X: Any, y: Any, train: Any, test: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that would like to go on
        return float(100 * np.mean(model.fit(X[train], y[train]).predict(X[test]) != y[test]))


def measure(name: str, X: Any, y: Any, split: int, model: str, boosted: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    train, validation, test = parts(len(y), split)
    began = time.process_time()
    rounds: Any = ""
    if model == "MLP":
        error = min(error_of(one, X, y, train, test) for one in networks(X.shape[1], int(y.max()) + 1))
    elif model == "SVC":
        best = min(machines(), key=lambda one: error_of(one, X, y, train, validation))
        error = error_of(best, X, y, train, test)
    else:
        made = boosted[model]()
        error = error_of(made, X, y, train, test)
        rounds = getattr(made, "n_estimators_", "")
    seconds = round(time.process_time() - began, 2)
    return dict(zip(FIELDS, (name, len(y), split, model, round(error, 3), rounds, seconds), strict=True))


def append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


def run_errors(path: Path, options: argparse.Namespace, models: list[str], boosted: dict[str, Callable[[], Any]]) -> None:
    done = set()
    if path.exists():
        with path.open() as file:
            done = {(row["set"], int(row["rows"]), int(row["split"]), row["model"]) for row in csv.DictReader(file)}
    for name in options.sets.split(",") if options.sets else SETS:
        X, y = rows_of(name, data_folder(options.data), options.most or SOME.get(name))
        for split in range(options.splits):
            for model in models:
                if (name, len(y), split, model) not in done:
                    append(path, measure(name, X, y, split, model, boosted))


def run_time(options: argparse.Namespace) -> None:
    from lightgbm import LGBMClassifier

    data = load("pendigits", data_folder(options.data))
    forever = {"n_estimators": 1000, "stop_when_separated": False}
    similarities({"n_estimators": 3}).fit(data.X[:2000], data.y[:2000])  # kernels are compiled
    least = least_times({
        "similarities, 1,000 rounds": lambda: similarities(forever, metric="standard").fit(data.X, data.y),
        "LightGBM, 100 rounds": lambda: LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1).fit(data.X, data.y),
    }, repeats=options.repeats)  # fmt: skip
    ours, theirs = least.values()
    append(HERE / "similarities_time.csv", {"ours": round(ours, 2), "LightGBM": round(theirs, 2), "ratio": round(ours / theirs, 2)})


def run_cache(options: argparse.Namespace) -> None:
    """Seconds of a fit, and the share of the rows of distances asked for that were kept, by the megabytes to keep them in."""
    counted = {"asked": 0, "made": 0}

    class Counted(DistanceRows):
        def of(self, rows: Any) -> Any:
            counted["asked"] += len(rows)
            return super().of(rows)

        def _make(self, rows: Any, out: Any) -> None:
            counted["made"] += len(rows)
            super()._make(rows, out)

    similarity_learner.DistanceRows = Counted  # type: ignore[misc]
    for name in options.sets.split(",") if options.sets else SETS:
        X, y = rows_of(name, data_folder(options.data), options.most or SOME.get(name))
        train = parts(len(y), 0)[0]
        for procedure in options.models.split(";") if options.models else ["anchors"]:
            make = partial(similarities, {"n_estimators": 1000}, metric="standard", procedure=procedure)
            fits = {size: partial(lambda size: make(cache_size=size).fit(X[train], y[train]), size) for size in (0, 20, 100, 500)}
            shares = {}
            for size, fit in fits.items():
                counted.update(asked=0, made=0)
                fit()
                shares[size] = 1 - counted["made"] / counted["asked"]
            seconds = least_times(fits, options.repeats)
            for size in fits:
                append(HERE / "similarities_cache.csv", {
                    "set": name, "rows": len(train), "columns": X.shape[1], "procedure": procedure, "megabytes": size,
                    "kept_share": round(shares[size], 3), "seconds": round(seconds[size], 2),
                })  # fmt: skip


def run_growth(options: argparse.Namespace) -> None:
    """Each size in a process of its own, for its memory."""
    for name, n_rounds in (("letter", 100), ("mnist", 50)):
        for n in GROWTH:
            command = [sys.executable, __file__, "grow", "--sets", name, "--most", str(n), "--splits", str(n_rounds)]
            if options.data:
                command += ["--data", options.data]
            subprocess.run(command, check=True)


def grow_once(options: argparse.Namespace) -> None:
    import resource

    data = load(options.sets, data_folder(options.data))
    if len(data.y) < options.most:
        return
    chosen = np.random.default_rng(0).permutation(len(data.y))[: options.most]
    X, y = np.ascontiguousarray(data.X[chosen]), data.y[chosen]
    del data
    model = similarities({"n_estimators": options.splits, "stop_when_separated": False}, metric="standard")
    clone(model).set_params(n_estimators=2).fit(X[:500], y[:500])  # kernels are loaded
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    append(HERE / "similarities_growth.csv", {
        "set": options.sets, "rows": options.most, "columns": X.shape[1], "rounds": options.splits, "seconds": round(seconds, 2),
        "ms_per_round": round(1e3 * seconds / options.splits, 2),
        "peak_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "table_MiB": X.nbytes // 2**20,
    })  # fmt: skip


def run_predict(options: argparse.Namespace) -> None:
    for name in ("vowel", "pendigits", "letter"):
        X, y = rows_of(name, data_folder(options.data), 8000)
        half = len(y) // 2
        model = similarities().fit(X[:half], y[:half])
        machine = make_pipeline(StandardScaler(), SVC(C=10)).fit(X[:half], y[:half])
        least = least_times({"ours": lambda: model.predict(X[half:]), "SVC": lambda: machine.predict(X[half:])}, options.repeats)
        per_row = {key: round(1e6 * value / (len(y) - half), 2) for key, value in least.items()}
        append(HERE / "similarities_predict.csv", {
            "set": name, "examples": len(model.forest_.points), "members": len(model.forest_), "support_vectors": len(machine[-1].support_),
            "us_per_row": per_row["ours"], "us_per_row_SVC": per_row["SVC"],
        })  # fmt: skip


def table(frame: pd.DataFrame, floats: str = "%.2f") -> str:
    """A frame as Markdown."""
    head = "| " + " | ".join([frame.index.name or "", *map(str, frame.columns)]) + " |\n|" + "---|" * (frame.shape[1] + 1)
    body = [
        "| " + " | ".join([str(name), *("" if pd.isna(v) else floats % v if isinstance(v, float) else str(v) for v in row)]) + " |"
        for name, row in zip(frame.index, frame.to_numpy(object), strict=True)
    ]
    return "\n".join([head, *body])


def in_common(found: pd.DataFrame) -> pd.DataFrame:
    """Of each set only the splits that all models which were tried on it have seen."""
    n_models = found.groupby("set")["model"].transform("nunique")
    return found[found.groupby(["set", "split"])["model"].transform("nunique") == n_models]


def report() -> None:
    beside = ["REBEL, similarities", "SVC", "MLP"]
    for name, title, models in (
        ("errors", "Figure 8: test error, %", list(BOOSTED)),
        ("errors", "Figure 9: test error, %", beside),
        ("responses", "Test error of similarities, %", list(RESPONSES)),
    ):
        path = HERE / f"similarities_{name}.csv"
        if path.exists():
            found = pd.read_csv(path)
            found = in_common(found[found["model"].isin(models)])
            for value, heading, floats in (("error", title, "%.2f"), ("seconds", "CPU seconds", "%.1f")):
                wide = found.pivot_table(index="model", columns="set", values=value, sort=False)
                if value == "error":
                    wide["mean rank"] = wide.dropna(axis=1).rank().mean(axis=1)
                splits = found.groupby("set")["split"].nunique().to_dict()
                print(f"\n{heading}; splits: {splits}\n\n{table(wide, floats)}")
    for name in ("cache", "time", "growth", "predict"):
        path = HERE / f"similarities_{name}.csv"
        if path.exists():
            found = pd.read_csv(path)
            print(f"\n{name}\n\n{table(found.set_index(found.columns[0]))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["errors", "responses", "cache", "time", "growth", "grow", "predict", "report"])
    add_data_argument(parser)
    parser.add_argument("--sets", default="")
    parser.add_argument("--models", default="")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--most", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.what == "errors":
            models = options.models.split(";") if options.models else [*BOOSTED, "SVC", "MLP"]
            run_errors(HERE / "similarities_errors.csv", options, models, BOOSTED)
        elif options.what == "responses":
            models = options.models.split(";") if options.models else list(RESPONSES)
            run_errors(HERE / "similarities_responses.csv", options, models, RESPONSES)
        elif options.what == "report":
            report()
        else:
            {"cache": run_cache, "time": run_time, "growth": run_growth, "grow": grow_once, "predict": run_predict}[options.what](options)


if __name__ == "__main__":
    main()
