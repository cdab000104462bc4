"""How the time of ``ManyBoostClassifier(quality="fast")`` grows with rows, columns and classes, beside LightGBM at its defaults.

    python benchmarks/growth.py [--most-rows 500000]

CPU seconds of a whole fit, pilots included, on one thread, least of two; LightGBM has 100 rounds of a tree for each class. With the
classes, also the part that is spent growing trees, which does not depend on their number: a tree is grown along one direction. The
figures are in benchmarks/results/growth.csv, the curves in benchmarks/results/growth.png; what is there is not measured again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manyboost import ManyBoostClassifier
from manyboost.trees.growing import Grower

RESULTS = Path(__file__).parent / "results" / "growth.csv"
PICTURE = RESULTS.with_suffix(".png")
ROWS, COLUMNS, CLASSES = 20_000, 20, 5  # what is not varied
SIZES = {
    "rows": (1_000, 5_000, 20_000, 100_000, 500_000),
    "columns": (2, 10, 50, 250, 1_000),
    "classes": (3, 10, 30, 100, 300),
}
MOST_TREES = 3_000  # of LightGBM: with more classes, fewer rounds are made and the time is that of 100 by their share


def table(n_rows: int, n_columns: int, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Classes are clouds around points of their own in the first ten columns; the others are noise."""
    rng = np.random.default_rng(0)
    n_useful = min(n_columns, 10)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.standard_normal((n_rows, n_columns))
    X[:, :n_useful] += 1.5 * rng.standard_normal((n_classes, n_useful))[y]
    return X, y


@contextmanager
def growing_timed() -> Iterator[list[float]]:
    """While it lasts, the seconds that are spent in growing trees are added to the list."""
    spent: list[float] = []
    grow = Grower.grow

    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        try:
            return grow(*args, **kwargs)
        finally:
            spent.append(time.process_time() - began)

    Grower.grow = timed  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Grower.grow = grow  # type: ignore[method-assign]


def least(fit: Callable[[], Any]) -> tuple[float, float, int]:
    """CPU seconds of a fit and of growing its trees, and how many these were: the shorter of two runs."""
    runs = []
    for _ in range(2):
        with growing_timed() as spent:
            began = time.process_time()
            fit()
            runs.append((time.process_time() - began, sum(spent), len(spent)))
    return min(runs)


def measure(n_rows: int, n_columns: int, n_classes: int) -> dict[str, float]:
    X, y = table(n_rows, n_columns, n_classes)
    seconds, growing, n_trees = least(lambda: ManyBoostClassifier(quality="fast", random_state=0).fit(X, y))
    found = {"ManyBoost": seconds, "growing": growing, "trees": n_trees}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    n_rounds = min(100, max(1, MOST_TREES // n_classes))
    seconds = least(lambda: LGBMClassifier(n_estimators=n_rounds, n_jobs=1, verbose=-1).fit(X, y))[0]
    return {**found, "LightGBM": seconds * 100 / n_rounds}


def draw(results: pd.DataFrame) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", sharey=True)
    for ax, what in zip(axes, SIZES, strict=True):
        part = results[results["varied"] == what].sort_values(what)
        ax.loglog(part[what], part["ManyBoost"], marker="o", label="ManyBoost fast")
        if "LightGBM" in part:
            ax.loglog(part[what], part["LightGBM"], marker="s", label="LightGBM")
        if what == "classes":
            ax.loglog(part[what], part["growing"] / part["trees"] * 100, marker="^", ls="--", label="ManyBoost, growing 100 trees")
        ax.set(xlabel=what, title=f"{what} grow")
        ax.grid(alpha=0.3, which="both")
    axes[0].set_ylabel("CPU seconds of a fit")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(PICTURE, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-rows", type=int, default=max(SIZES["rows"]))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=["varied", *SIZES])
    with threadpool_limits(1):
        ManyBoostClassifier(quality="fast", random_state=0).fit(*table(300, 3, 3))  # kernels are compiled
        for what, sizes in SIZES.items():
            for size in sizes:
                shape = {"rows": ROWS, "columns": COLUMNS, "classes": CLASSES, what: size}
                done = ((results["varied"] == what) & (results[what] == size)).any()
                if done or shape["rows"] > arguments.most_rows:
                    continue
                found = {"varied": what, **shape, **measure(*shape.values())}
                print(*(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()), flush=True)
                results = pd.concat([results, pd.DataFrame([found])], ignore_index=True)
                results.to_csv(RESULTS, index=False)
    draw(results)


if __name__ == "__main__":
    main()
