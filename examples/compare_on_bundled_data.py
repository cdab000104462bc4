"""Compare ManyBoost's four classifiers with scikit-learn's on the data that comes with scikit-learn.

Prints one table (error and log-loss by stratified cross-validation, time to fit and to predict) and draws the learning curves. Nothing is
downloaded. Every model runs on one thread and times are CPU seconds, so that they can be compared also on a busy machine; folds are shared
among the cores.

    python examples/compare_on_bundled_data.py [--folds 5] [--jobs 2] [--output demo/learning_curves.png]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from manyboost import AdaBoostMHClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier

DATA: dict[str, Callable[..., Any]] = {"digits": load_digits, "wine": load_wine}
FOLDS = {"digits": (1, 2), "wine": (5, 5)}  # to run, and in all: one half of the larger tells enough to be done within a minute
OURS = {
    "AdaBoostMHClassifier": AdaBoostMHClassifier(random_state=0),
    "SAMMEClassifier": SAMMEClassifier(random_state=0),
    "PIBoostClassifier": PIBoostClassifier(random_state=0),
    "RebelClassifier": RebelClassifier(random_state=0),
}
PEERS = {
    "scikit-learn AdaBoost": AdaBoostClassifier(random_state=0),
    "scikit-learn AdaBoost, depth 3": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), random_state=0),
    "scikit-learn HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
}
MODELS = OURS | PEERS
MEASURES = {"error %": "{:.2f}", "log-loss": "{:.3f}", "fit s": "{:.2f}", "predict ms": "{:.1f}"}
# Okabe and Ito's colours, which also those tell apart who see fewer; the line styles say the same once more.
LOOKS: dict[str, dict[str, Any]] = {
    "AdaBoostMHClassifier": {"color": "#0072B2", "marker": "o"},
    "SAMMEClassifier": {"color": "#D55E00", "marker": "s"},
    "PIBoostClassifier": {"color": "#009E73", "marker": "^"},
    "RebelClassifier": {"color": "#CC79A7", "marker": "D"},
    "scikit-learn AdaBoost": {"color": "#999999", "linestyle": (0, (1, 1.5))},
    "scikit-learn AdaBoost, depth 3": {"color": "#666666", "linestyle": (0, (5, 2))},
    "scikit-learn HistGradientBoosting": {"color": "#111111", "linestyle": (0, (7, 2, 1.5, 2))},
}


@dataclass(frozen=True)
class Result:
    """One model on one fold."""

    data: str
    model: str
    fold: int
    n_folds: int
    measures: tuple[float, ...]  # as in MEASURES
    curves: NDArray[np.float64]  # (2, rounds): error in percent and log-loss on the test rows after each round; no rounds for peers


def start_kernels(models: Iterable[str] = tuple(OURS)) -> None:
    """Compile the kernels that these models use, or read them from the cache of an earlier run."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for model in models:
        fitted = clone(OURS[model]).set_params(n_estimators=2).fit(X, y)
        list(fitted.staged_predict_proba(X))
        fitted.predict_proba(X)


def compile_kernels(n_jobs: int) -> float:
    """Random thresholds and histograms have kernels of their own: compile them at the same time; how long it took."""
    began = time.perf_counter()
    random = [model for model in OURS if OURS[model].splitter == "random"]
    best = [model for model in OURS if OURS[model].splitter == "best"]
    Parallel(n_jobs=n_jobs)(delayed(start_kernels)(models) for models in (random, best))
    return time.perf_counter() - began


def run(data: str, model: str, fold: int, n_folds: int) -> Result:
    """Fit and test one model on one fold."""
    X, y = DATA[data](return_X_y=True)
    train, test = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))[fold]
    estimator = MODELS[model]
    with threadpool_limits(1):
        start_kernels([model] if model in OURS else [])  # in this process, so that the fit is not charged for it
        began = time.process_time()
        estimator.fit(X[train], y[train])
        fitted = time.process_time()
        probability = estimator.predict_proba(X[test])
        done = time.process_time()
        staged = list(estimator.staged_predict_proba(X[test])) if model in OURS else []

    def error(probability: NDArray[np.float64]) -> float:
        return 100 * float(np.mean(estimator.classes_[probability.argmax(axis=1)] != y[test]))

    measures = (error(probability), log_loss(y[test], probability), fitted - began, 1000 * (done - fitted))
    return Result(data, model, fold, n_folds, measures, np.array([[error(p), log_loss(y[test], p)] for p in staged]).reshape(-1, 2).T)


def run_all(folds: dict[str, tuple[int, int]], n_jobs: int) -> list[Result]:
    """Every model on every fold, telling on stderr how far it is."""
    jobs = [(data, model, fold, n_folds) for data, (n_run, n_folds) in folds.items() for model in MODELS for fold in range(n_run)]
    running = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(run)(*job) for job in jobs)
    return sorted(progress(running, len(jobs)), key=lambda result: result.fold)


def progress(results: Iterable[Result], total: int) -> Iterable[Result]:
    """Pass the results on; a line that is written over in a terminal, a line for every tenth elsewhere."""
    tenth = max(1, total // 10)
    for done, result in enumerate(results, start=1):
        text = f"{done:3d} of {total} fits  ({result.data}, {result.model}, fold {result.fold + 1})"
        if sys.stderr.isatty():
            print(f"\r{text:<90}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif done % tenth == 0 or done == total:
            print(text, file=sys.stderr, flush=True)
        yield result


def describe(data: str, results: list[Result]) -> str:
    y = DATA[data](return_X_y=True)[1]
    n_run, n_folds = next((1 + result.fold, result.n_folds) for result in reversed(results) if result.data == data)
    folds = f"{n_folds} folds" if n_run == n_folds else f"{n_run} of {n_folds} folds"
    return f"{data}: {len(y)} rows, {len(np.unique(y))} classes, {folds}"


def table(results: list[Result]) -> str:
    """Means over the folds, the best of each column marked."""
    columns = []
    for data in DATA:
        mean = np.array([np.mean([r.measures for r in results if (r.data, r.model) == (data, model)], axis=0) for model in MODELS])
        for at, form in enumerate(MEASURES.values()):
            shown = [form.format(value) for value in mean[:, at]]
            best = min(shown, key=float)
            columns.append([f"{text}{'*' if text == best else ' '}" for text in shown])
    names = max(len(model) for model in MODELS)
    width = 12
    group = width * len(MEASURES)
    lines = [
        " " * names + "".join(f"{describe(data, results) + ' ':>{group}}" for data in DATA),
        " " * names + "".join(f"{measure + ' ':>{width}}" for _ in DATA for measure in MEASURES),
        "-" * (names + group * len(DATA)),
    ]
    for at, model in enumerate(MODELS):
        if at == len(OURS):
            lines.append("")
        lines.append(f"{model:<{names}}" + "".join(f"{column[at]:>{width}}" for column in columns))
    return "\n".join(line.rstrip() for line in lines)


def draw(results: list[Result], path: Path) -> None:
    """Test error and log-loss against rounds, the peers as level lines."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    figure = Figure(figsize=(11, 8.2), layout="constrained", dpi=130)
    axes = figure.subplots(len(DATA), 2, sharex=True)
    handles: dict[str, Any] = {}
    for row, data in zip(axes, DATA, strict=True):
        floor = 100 * 0.5 / len(DATA[data](return_X_y=True)[1])  # half a row: no error at all has no place on a logarithmic axis
        for at, (axis, title) in enumerate(zip(row, ("error, %", "log-loss"), strict=True)):
            levels = []
            for model, looks in LOOKS.items():
                chosen = [result for result in results if (result.data, result.model) == (data, model)]
                if model in PEERS:
                    level = max(float(np.mean([result.measures[at] for result in chosen])), floor if at == 0 else 0)
                    handles[model] = axis.axhline(level, linewidth=1.6, zorder=1, **looks)
                    levels.append([level])
                    continue
                n_rounds = max(result.curves.shape[1] for result in chosen)
                curves = [np.pad(r.curves[at], (0, n_rounds - r.curves.shape[1]), mode="edge") for r in chosen]  # ended: stays
                mean = np.maximum(np.mean(curves, axis=0), floor if at == 0 else 0)
                rounds = np.arange(1, n_rounds + 1)
                (handles[model],) = axis.plot(rounds, mean, linewidth=2, markevery=[n_rounds - 1], markersize=7, zorder=2, **looks)
                levels.append(mean)
            lowest, highest = min(map(min, levels)), max(map(max, levels))
            ratio = (highest / lowest) ** 0.06
            axis.set(xscale="log", yscale="log", ylim=(lowest / ratio, highest * ratio))
            ticks = [t * 10.0**e for e in range(-3, 3) for t in (1, 2, 5) if lowest / ratio <= t * 10.0**e <= highest * ratio]
            axis.yaxis.set_major_locator(FixedLocator(ticks))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            axis.set_title(f"Test {title}\n", fontsize=12, loc="left", fontweight="bold")
            axis.text(0, 1.02, describe(data, results), transform=axis.transAxes, fontsize=9.5, color="#444444")
            axis.grid(color="#DDDDDD", linewidth=0.7)
            axis.set_axisbelow(True)
            axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("rounds of boosting")
        axis.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], labels=["1", "2", "5", "10", "20", "50", "100", "200"])
        axis.set_xlim(0.9, 240)
        axis.minorticks_off()
    order = [*OURS, *PEERS]
    figure.legend([handles[name] for name in order], order, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=Path("demo/learning_curves.png"), help="where to save the picture")
    parser.add_argument("--folds", type=int, help="folds of both data sets, all of them run; by default 5 of wine and one half of digits")
    parser.add_argument("--jobs", type=int, default=min(4, cpu_count()), help="fits to run at the same time")
    arguments = parser.parse_args()
    folds = FOLDS if arguments.folds is None else dict.fromkeys(DATA, (arguments.folds, arguments.folds))
    print("Starting the kernels; the first time on a machine they are compiled, which takes about half a minute.", file=sys.stderr)
    print(f"kernels compiled (or read from the cache) in {compile_kernels(arguments.jobs):.1f} s")
    began = time.perf_counter()
    results = run_all(folds, arguments.jobs)
    print(f"{len(results)} fits in {time.perf_counter() - began:.1f} s, {arguments.jobs} at a time, one thread each\n")
    print(table(results))
    print("\n* best of its column. Means over the folds; every model at its defaults, but for the depth where one is named, on one thread.")
    print("  Times are CPU time; ours include the calibration of probabilities.\n")
    draw(results, arguments.output)
    print(f"Learning curves: {os.path.relpath(arguments.output)}")
    print(
        "How to read them: lower is better, the dot is where a fit ended, level lines are scikit-learn's finished models, and log-loss "
        "is taken at the temperature of the whole fit."
    )


if __name__ == "__main__":
    main()
