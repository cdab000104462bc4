"""Speed as a ratio against a peer in the same run.

    python benchmarks/speed.py --data DIR [--only samme,piboost,rounds,c45,histogram,threads,predict,growth] [--repeats 3]

The time of a round is its CPU time within a fit. Where a peer does not tell of its rounds, it is "marginal", the difference between a
long and a short fit: either way, reading and binning the table do not count.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from clock import least_times, marginal_times, round_times
from datasets import add_data_argument, data_folder, load
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from manyboost import AdaBoostMHClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.algorithms import ALGORITHMS
from manyboost.learners import C45Tree
from manyboost.trees.binning import FEATURE_MAJOR, apply_bins, find_cuts, share_columns
from manyboost.trees.growing import to_grid
from manyboost.trees.histogram import add_labels, find_runs
from manyboost.trees.statistics import Statistics

RESULTS = Path(__file__).parent / "results" / "speed.json"
Figures = dict[str, Any]
# a tree for each class on all rows, as LightGBM grows them
ALL_ROWS: dict[str, Any] = {
    "separators": "singles", "subsample": 1.0, "sampling": "uniform", "prune": None, "min_samples_split": 2, "learner_weights": "cost"
}  # fmt: skip

ROUNDS_AT_DEFAULTS: dict[str, tuple[Any, dict[str, Any]]] = {
    algorithm.__name__.removesuffix("Classifier"): (algorithm, {}) for algorithm in ALGORITHMS.values()
}
SLOWEST = ("SMOTEBoost", "StructBoost")  # on large tables; they come last
OTHER_ROUNDS: dict[str, tuple[Any, dict[str, Any]]] = {
    ", ".join([name, *(f"{way}={value!r}" for way, value in settings.items())]): (ROUNDS_AT_DEFAULTS[name][0], settings)
    for name, settings in (
        ("AdaBoostM2", {"grow_by": "direction"}),
        ("AdaBoostMM", {"grow_by": "direction"}),
        ("ABCLogitBoost", {"search": None, "gap": 20}),  # all rounds but the first keep the base class that was found
    )
}


def _known() -> dict[str, Figures]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def _save(figures: dict[str, Figures]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")


def _ours(estimator: Any, data: Any, **settings: Any) -> Callable[[int], Any]:
    return lambda rounds: estimator(n_estimators=rounds, calibrate=False, random_state=0, **settings).fit(data.X, data.y)


def _bare_histogram_of_root(data: Any, repeats: int) -> float:
    """Seconds of the bare loop that counts the rows of the whole table, one-hot columns sharing one as in a fit: no tree can take less."""
    n, p = data.X.shape
    K, label = len(np.unique(data.y)), np.unique(data.y, return_inverse=True)[1].astype(np.uint16)
    table = share_columns(apply_bins(data.X, find_cuts(data.X, np.ones(n), np.zeros(p, np.int32), 255), FEATURE_MAJOR))
    job = table.bins, label, np.ones(n, np.int64), K, np.zeros((len(table.bins), 256, K), np.int64)
    _bare_loop(*job)  # compile
    return least_times({"bare": lambda: _bare_loop(*job)}, max(repeats, 5))["bare"]


def samme(folder: Path | None, repeats: int) -> Figures:
    """SAMME against scikit-learn's AdaBoost of the same depth; beside it, a bare loop that only counts the rows of the root."""
    out: Figures = {}
    for name, depths, few, many in (("letter", (1, 3), 2, 12), ("covertype", (1, 3), 1, 3)):
        data = load(name, folder)
        bare = _bare_histogram_of_root(data, repeats)
        for depth in depths:
            peer = lambda rounds, depth=depth: AdaBoostClassifier(  # noqa: E731
                DecisionTreeClassifier(max_depth=depth), n_estimators=rounds, random_state=0
            ).fit(data.X, data.y)
            times = marginal_times(
                {"ours": (_ours(SAMMEClassifier, data, max_depth=depth), 5, 105 if name == "letter" else 35), "peer": (peer, few, many)},
                repeats,
            )
            row = {"ours_ms": 1e3 * times["ours"], "peer_ms": 1e3 * times["peer"], "times_faster": times["peer"] / times["ours"]}
            row |= {"bare_histogram_ms": 1e3 * bare, "bare_histogram_times_faster": times["peer"] / bare}
            if name == "letter":
                X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.25, random_state=0, stratify=data.y)
                mine = SAMMEClassifier(n_estimators=100, max_depth=depth, calibrate=False, random_state=0).fit(X, y).score(X_test, y_test)
                theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=100, random_state=0).fit(X, y)
                score = theirs.score(X_test, y_test)
                row |= {"accuracy": mine, "peer_accuracy": score, "standard_error": float(np.sqrt(score * (1 - score) / len(y_test)))}
            out[f"{data.title}, depth {depth}"] = row
    return out


def _our_rounds(estimator: Any, data: Any, n_rounds: int, **settings: Any) -> Callable[[Callable[[], None]], Any]:
    def fit(tell: Callable[[], None]) -> Any:
        model = estimator(n_estimators=n_rounds, calibrate=False, random_state=0, callbacks=[lambda row: tell()], **settings)
        return model.fit(data.X, data.y)

    return fit


def _rounds_of_lightgbm(data: Any, n_rounds: int, depth: int) -> Callable[[Callable[[], None]], Any]:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=n_rounds, max_depth=depth, num_leaves=2**depth, max_bin=255, min_child_samples=1, n_jobs=1, verbose=-1
    )
    return lambda tell: model.fit(data.X, data.y, callbacks=[lambda environment: tell()])


def rounds(folder: Path | None, repeats: int) -> Figures:
    """A round of every algorithm against one of LightGBM (a tree for each class): depth 4, one thread, in turns.

    Goes on where it was broken off. One that ends before its third round, as AdaBoost.M1 with trees of much error, has no time.
    """
    out: Figures = _known().get("rounds", {})
    for name, n_rounds in (("letter", 15), ("covertype", 7)):
        data = load(name, folder)
        for title, (algorithm, settings) in sorted((ROUNDS_AT_DEFAULTS | OTHER_ROUNDS).items(), key=lambda item: item[0] in SLOWEST):
            row = out.setdefault(title, {})
            if f"{data.title} ms" in row:
                continue
            contenders = {
                "ours": _our_rounds(algorithm, data, 3 if title in SLOWEST else n_rounds, max_depth=4, max_leaf_nodes=None, **settings),
                "LightGBM": _rounds_of_lightgbm(data, n_rounds, 4),
            }
            times = round_times(contenders, 1 if title in SLOWEST else repeats)
            ended = times["ours"] == float("inf")
            row[f"{data.title} ms"] = None if ended else 1e3 * times["ours"]
            row[f"{data.title} of LightGBM's"] = None if ended else times["ours"] / times["LightGBM"]
            _save({**_known(), "rounds": out})
    return out


def piboost(folder: Path | None, repeats: int) -> Figures:
    """A binary tree of PIBoost against one of LightGBM: same depth, 255 bins, one thread."""
    out: Figures = {}
    for name, n_rounds in (("letter", 12), ("isolet", 5), ("covertype", 5)):
        data = load(name, folder)
        K = len(np.unique(data.y))
        for depth in (1, 3):
            contenders = {
                "ours": _our_rounds(PIBoostClassifier, data, n_rounds, max_depth=depth, **ALL_ROWS),
                "LightGBM": _rounds_of_lightgbm(data, n_rounds, depth),
            }
            times = round_times(contenders, repeats)
            mine, theirs = times["ours"] / K, times["LightGBM"] / K
            out[f"{data.title}, depth {depth}"] = {"ours_ms": 1e3 * mine, "lightgbm_ms": 1e3 * theirs, "ratio": mine / theirs}
    return out


def c45(folder: Path | None, repeats: int) -> Figures:
    """A pruned C4.5 tree against scikit-learn's tree by entropy, leaves of two rows at least, one thread."""
    out: Figures = {}
    for name in ("segment", "satimage", "pendigits", "letter", "covertype"):
        data = load(name, folder)
        C45Tree().fit(data.X[:500], data.y[:500])  # kernels are compiled
        times = least_times(
            {
                "ours": lambda data=data: C45Tree().fit(data.X, data.y),
                "peer": lambda data=data: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2).fit(data.X, data.y),
            },
            repeats,
        )
        out[data.title] = {"ours_s": times["ours"], "peer_s": times["peer"], "ratio": times["ours"] / times["peer"]}
    return out


@numba.njit(nogil=True)
def _bare_loop(bins, label, weight, n_labels, hist):  # type: ignore[no-untyped-def]
    for f in range(bins.shape[0]):
        for i in range(bins.shape[1]):
            hist[f, bins[f, i], label[i]] += weight[i]


def histogram(folder: Path | None, repeats: int) -> Figures:
    """The histogram kernel against a bare loop that makes the same updates, 500,000 x 54, 256 used bins."""
    rng = np.random.default_rng(0)
    n, p = 500_000, 54
    X = rng.integers(0, 255, (n, p)).astype(np.float64)
    binning = find_cuts(X[:20000], np.ones(20000), np.zeros(p, np.int32), 255)
    table = apply_bins(X, binning, FEATURE_MAJOR)
    rows = np.arange(n, dtype=np.int32)
    out: Figures = {}
    for K in (2, 7):
        label = np.sort(rng.integers(0, K, n))  # as rows stand in a fit
        grid, _ = to_grid(Statistics.of_labels(label, rng.random(n), K), random=False)
        bare = np.zeros((p, 256, K), np.int64)
        block = np.zeros(4 * 256 * K, np.int64)

        def ours(grid: Any = grid, block: Any = block) -> None:
            for first in range(0, p, 4):
                _fill(table, grid, rows, 0, n, True, grid.label, grid.weight, first, min(first + 4, p), block)

        def loop(grid: Any = grid, bare: Any = bare, K: int = K) -> None:
            _bare_loop(table.bins, grid.label, grid.weight, K, bare)

        ours(), loop()  # compile
        times = least_times({"ours": ours, "bare": loop}, max(repeats, 5))
        per_cell = {name: 1e9 * seconds / (n * p) for name, seconds in times.items()}
        out[f"K = {K}"] = {"ours_ns": per_cell["ours"], "bare_ns": per_cell["bare"], "ratio": times["ours"] / times["bare"]}
    return out


@numba.njit(nogil=True)
def _fill(table, grid, rows, start, end, whole, label, weight, first, last, hist):  # type: ignore[no-untyped-def]
    runs = np.zeros(grid.size + 2, np.int64)
    find_runs(label, start, end, runs)
    hist[:] = 0
    add_labels(table, first, last, rows, start, end, whole, runs, label, weight, np.uint64(grid.size), hist)


def threads(folder: Path | None, repeats: int) -> Figures:
    """Two threads against one: wall time of one more round on covertype."""
    data = load("covertype", folder)
    out: Figures = {"sorting, by numpy": _two_threads_of_numpy(repeats), "histograms, by bare loops": _two_threads_of_histograms(repeats)}
    for name, estimator, few, many, settings in (
        ("SAMME, depth 3", SAMMEClassifier, 5, 125, {"max_depth": 3}),
        ("PIBoost, depth 3", PIBoostClassifier, 2, 22, {"max_depth": 3, **ALL_ROWS}),
        ("AdaBoost.MH, default", AdaBoostMHClassifier, 3, 33, {}),
    ):
        times = marginal_times(
            {str(n): (_ours(estimator, data, n_jobs=n, **settings), few, many) for n in (1, 2)}, max(repeats, 5), time.perf_counter
        )
        out[f"{data.title}, {name}"] = {"one_ms": 1e3 * times["1"], "two_ms": 1e3 * times["2"], "times_faster": times["1"] / times["2"]}
    return out


def _two_threads_of_numpy(repeats: int) -> Figures:
    """What the machine itself gives: the same sorts on one thread and on two."""
    from concurrent.futures import ThreadPoolExecutor

    arrays = [np.random.default_rng(k).random(4_000_000) for k in range(2)]
    with ThreadPoolExecutor(2) as pool:
        runs = {"one": lambda: [np.sort(array) for array in arrays], "two": lambda: list(pool.map(np.sort, arrays))}
        times = least_times(runs, max(repeats, 5), time.perf_counter)
    return {"one_ms": 1e3 * times["one"], "two_ms": 1e3 * times["two"], "times_faster": times["one"] / times["two"]}


def _two_threads_of_histograms(repeats: int) -> Figures:
    """What the machine gives for such work: loops over 12 columns of as many rows as covertype, that neither wait nor write to the same.

    Two threads that each have a core of their own would take half the time; they have to share its memory.
    """
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    n, p, K = 580_000, 12, 7
    bins, label, weight = rng.integers(0, 255, (p, n)).astype(np.uint8), rng.integers(0, K, n).astype(np.uint16), rng.integers(0, 9, n)
    jobs = [(bins[half * p // 2 : (half + 1) * p // 2], label, weight, K, np.zeros((p // 2, 256, K), np.int64)) for half in range(2)]
    _bare_loop(*jobs[0])  # compile

    def several(job: Any) -> None:
        for _ in range(5):
            _bare_loop(*job)

    with ThreadPoolExecutor(2) as pool:
        runs = {"one": lambda: [several(job) for job in jobs], "two": lambda: list(pool.map(several, jobs))}
        times = least_times(runs, max(repeats, 5), time.perf_counter)
    return {"one_ms": 1e3 * times["one"], "two_ms": 1e3 * times["two"], "times_faster": times["one"] / times["two"]}


def predict(folder: Path | None, repeats: int) -> Figures:
    """Scores of as many trees of the same depth, one thread: ours against LightGBM."""
    from lightgbm import LGBMClassifier

    out: Figures = {}
    for name in ("letter", "covertype"):
        data = load(name, folder)
        X, y = data.X[:20000], data.y[:20000]
        K, rounds = len(np.unique(y)), 10
        for depth in (3, 6):
            peer = LGBMClassifier(n_estimators=rounds, max_depth=depth, num_leaves=2**depth, min_child_samples=1, n_jobs=1, verbose=-1).fit(
                X, y
            )
            n_trees = rounds * K
            models = {
                "PIBoost": PIBoostClassifier(n_estimators=rounds, max_depth=depth, calibrate=False, random_state=0, **ALL_ROWS),
                "SAMME": SAMMEClassifier(n_estimators=n_trees, max_depth=depth, calibrate=False, random_state=0),
            }
            for label, model in models.items():
                model.fit(X, y).decision_function(X[:10])
                times = least_times(
                    {"ours": lambda model=model: model.decision_function(data.X),
                     "LightGBM": lambda: peer.predict(data.X, raw_score=True)}, repeats,
                )  # fmt: skip
                count = len(model.forest_.members)
                scale = n_trees / count  # PIBoost drops trees that are of no use
                out[f"{data.title}, depth {depth}, {label}"] = {
                    "ours_ns_per_row_and_tree": 1e9 * times["ours"] / len(data.X) / count,
                    "lightgbm_ns_per_row_and_tree": 1e9 * times["LightGBM"] / len(data.X) / n_trees,
                    "ratio": times["ours"] * scale / times["LightGBM"],
                }
    return out


def growth(folder: Path | None, repeats: int) -> Figures:
    """Twice the rows, twice the columns: how much longer a fit takes."""
    out: Figures = {}
    for name, estimator, settings in (
        ("SAMME", SAMMEClassifier, {"max_depth": 6}),
        ("AdaBoost.MH", AdaBoostMHClassifier, {}),
        ("REBEL", RebelClassifier, {}),
        ("PIBoost", PIBoostClassifier, {}),
    ):
        fits = {}
        for label, n, p in (("base", 40000, 20), ("rows", 80000, 20), ("columns", 40000, 40)):
            X, y = make_classification(n, p, n_informative=10, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=0)
            fits[label] = lambda X=X, y=y, e=estimator, s=settings: e(n_estimators=10, calibrate=False, random_state=0, **s).fit(X, y)
        times = least_times(fits, repeats)
        out[name] = {"twice_the_rows": times["rows"] / times["base"], "twice_the_columns": times["columns"] / times["base"]}
    return out


PARTS = {
    "samme": samme, "piboost": piboost, "rounds": rounds, "c45": c45, "histogram": histogram, "threads": threads, "predict": predict,
    "growth": growth,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in arguments.only.split(","):
        with threadpool_limits(1):
            found = PARTS[part](data_folder(arguments.data), arguments.repeats)
        _save({**_known(), part: found})
        print(f"\n{PARTS[part].__doc__}")
        for name, figures in found.items():
            print(f"  {name}: " + ", ".join(f"{key} {value:.3g}" for key, value in figures.items() if value is not None), flush=True)


if __name__ == "__main__":
    main()
