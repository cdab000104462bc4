"""Peak memory of a fit against what it should need.

    python benchmarks/memory.py [--rows 10000,100000,1000000] [--classes 3,26] [--only SAMME,Rebel]

Each fit runs in a child process that is told its arrays are there before the clock of memory starts. The budget is
1.2 (n p + 8 n (S + K) + 16 p B S d + model): bins, statistics and scores, histograms alive at depth d, and the trees.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "memory.json"
P, DEPTH = 20, 6


def _rss() -> int:
    """The peak so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _child(name: str, n: int, K: int, pipe: Connection) -> None:
    import manyboost
    from manyboost.trees import growing

    rng = np.random.default_rng(0)
    small = rng.random((200, P))
    settings = {"n_estimators": 12, "calibrate": False, "random_state": 0}
    estimator = getattr(manyboost, name)
    if name != "AdaBoostMHClassifier":
        settings |= {"max_depth": DEPTH, "max_leaf_nodes": None}
    if name == "PIBoostClassifier":
        settings |= {"separators": "singles", "subsample": 1.0, "sampling": "uniform", "prune": None, "min_samples_split": 2}
    worth, growing.WORTH_KEEPING = growing.WORTH_KEEPING, 0
    estimator(**settings).fit(small, np.arange(200) % K)  # kernels are loaded, those of larger tables
    growing.WORTH_KEEPING = worth
    X, y = rng.random((n, P)), rng.integers(0, K, n)
    weight = np.ones(n)  # made here so that it counts as the user's, as X and y do
    before = _rss()
    model = estimator(**settings).fit(X, y, weight)
    forest = model.forest_
    size = forest.nodes.nbytes + forest.values.nbytes
    pipe.send((before, _rss(), size))


def budget(name: str, n: int, K: int, model: int) -> float:
    S = {"SAMMEClassifier": K, "AdaBoostMHClassifier": 2 * K, "RebelClassifier": 2 * K, "PIBoostClassifier": K + 2}[name]
    histograms = 0 if name == "AdaBoostMHClassifier" else 16 * P * 256 * (2 if name == "PIBoostClassifier" else S) * (DEPTH + 1)
    return 1.2 * (n * P + 8 * n * (S + K) + histograms + model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--classes", default="3,26")
    parser.add_argument("--only", default="SAMME,AdaBoostMH,PIBoost,Rebel", help="algorithms; figures of others stay as they are")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    out = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in (f"{short}Classifier" for short in arguments.only.split(",")):
        for n in map(int, arguments.rows.split(",")):
            for K in map(int, arguments.classes.split(",")):
                mine, theirs = context.Pipe()
                child = context.Process(target=_child, args=(name, n, K, theirs))
                child.start()
                theirs.close()  # so that a child that dies is not waited for
                before, after, model = mine.recv()
                child.join()
                allowed = budget(name, n, K, model)
                used = after - before
                row = {"used_MiB": used / 2**20, "budget_MiB": allowed / 2**20, "ratio": used / allowed}
                out[f"{name}, {n} rows, {K} classes"] = row
                print(f"{name}, {n} rows, {K} classes: " + ", ".join(f"{key} {value:.3g}" for key, value in row.items()), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
