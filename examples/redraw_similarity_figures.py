"""Redraw figures 1 to 7 and 10 of Appel and Perona (2017): REBEL with localized similarities on spirals and on tables.

    python examples/redraw_similarity_figures.py [--output demo/similarities] [--figures 1,2,3] [--data DIR]

1   stumps and similarities on the same rows
2   three spirals, 333 rows to learn from and 167 to test on
3   loss, training error and test error over 1,000 rounds
4   fewer and fewer training rows
5   more and more wrong labels
6   errors over the rounds on tables (vowel, segment, optdigits and isolet where --data or MANYBOOST_DATA has them, else bundled ones)
7   their losses on a logarithmic scale, and the bound that is proved
10  training on for long: stumps overfit, similarities smooth the boundary

Prints a line of figures for each picture.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from manyboost import RebelClassifier
from manyboost.learners import LocalizedSimilarity
from manyboost.plots import LearningCurveDisplay, SimilarityRegionsDisplay

Rows = tuple[NDArray[Any], NDArray[Any]]
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast-cancer": load_breast_cancer}
FROM_FOLDER = ("vowel", "segment", "optdigits", "isolet")


def spirals(n: int = 500, noise: float = 0.12, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    t = np.sqrt(rng.uniform(0.03, 1, n)) * 2.6 * np.pi  # even along the arms
    angle = t + 2 * np.pi * y / 3
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + rng.normal(0, noise * 2.6, (n, 2)), y


def similarities(n_rounds: int = 1000) -> RebelClassifier:
    learner = LocalizedSimilarity(metric="standard")
    return RebelClassifier(estimator=learner, n_estimators=n_rounds, stop_when_separated=False, calibrate=False, random_state=0)


def stumps(n_rounds: int = 1000) -> RebelClassifier:
    return RebelClassifier(leaves="shared", max_depth=1, learning_rate=1.0, n_estimators=n_rounds, calibrate=False, random_state=0)


def test_errors(model: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    return np.array([np.mean(said != y) for said in model.staged_predict(X)])


def told(title: str, model: Any, errors: NDArray[Any]) -> str:
    """What a curve shows, in words."""
    training = model.history_["training_error"]
    done = int(np.flatnonzero(training == 0)[0]) if (training == 0).any() else len(training) - 1
    return (
        f"{title}: training error 0 after {done + 1} rounds; test error then {errors[done]:.3f}, at most {errors[done:].max():.3f} later, "
        f"{errors[-1]:.3f} after {len(errors)} rounds; loss {model.history_['loss'][-1]:.2g}"
    )


def draw_curves(ax: Any, model: Any, errors: NDArray[Any], title: str = "") -> None:
    LearningCurveDisplay(model.history_, model.n_estimators_, errors).plot(log_scale=True, ax=ax)
    ax.set_title(title)


def draw_regions(ax: Any, model: Any, X: Any, y: Any, title: str, pairs: int = 0) -> None:
    SimilarityRegionsDisplay.from_estimator(model, X, y, ax=ax, most_pairs=pairs)
    ax.set(title=title, xlabel="", ylabel="", xticks=[], yticks=[])


def figure_1(plt: Any) -> tuple[Any, list[str]]:
    X, y = spirals(250, seed=1)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    models = stumps(400).fit(X, y), similarities(400).fit(X, y)
    for ax, model, title in zip(axes, models, ("stumps", "localized similarities, and the pairs used most"), strict=True):
        draw_regions(ax, model, X, y, title, 30)
    fresh = spirals(2000, seed=2)
    errors = [f"training error {1 - model.score(X, y):.3f}, test error {1 - model.score(*fresh):.3f}" for model in models]
    return figure, [f"{name}: {line}" for name, line in zip(("stumps", "similarities"), errors, strict=True)]


def split_spirals() -> tuple[Rows, Rows]:
    X, y = spirals()
    return (X[:333], y[:333]), (X[333:], y[333:])


def figure_2(plt: Any) -> tuple[Any, list[str]]:
    train, test = split_spirals()
    model = similarities().fit(*train)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    draw_regions(axes[0], model, *train, "training rows")
    draw_regions(axes[1], model, *test, "test rows")
    return figure, [f"training error {1 - model.score(*train):.3f}, test error {1 - model.score(*test):.3f}"]


def figure_3(plt: Any) -> tuple[Any, list[str]]:
    train, test = split_spirals()
    model = similarities().fit(*train)
    errors = test_errors(model, *test)
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    draw_curves(ax, model, errors)
    return figure, [told("spirals", model, errors)]


def rows_of_panels(plt: Any, cases: Sequence[tuple[str, Rows]], test: Rows) -> tuple[Any, list[str]]:
    figure, axes = plt.subplots(len(cases), 3, figsize=(12, 3.2 * len(cases)), layout="constrained")
    lines = []
    for (ours, theirs, curve), (title, train) in zip(axes, cases, strict=True):
        model = similarities().fit(*train)
        errors = test_errors(model, *test)
        draw_regions(ours, model, *train, f"{title}: training rows")
        draw_regions(theirs, model, *test, "test rows")
        draw_curves(curve, model, errors)
        lines.append(told(title, model, errors))
    return figure, lines


def figure_4(plt: Any) -> tuple[Any, list[str]]:
    (X, y), test = split_spirals()
    cases = [(f"{part}/5 of the rows", (X[: len(X) * part // 5], y[: len(X) * part // 5])) for part in (4, 3, 2, 1)]
    return rows_of_panels(plt, cases, test)


def figure_5(plt: Any) -> tuple[Any, list[str]]:
    (X, y), test = split_spirals()
    rng = np.random.default_rng(0)
    order, cases = rng.permutation(len(y)), []
    for share in (0.01, 0.05, 0.1, 0.3):
        shown = y.copy()
        wrong = order[: round(share * len(y))]
        shown[wrong] = (y[wrong] + rng.integers(1, 3, len(wrong))) % 3
        cases.append((f"{share:.0%} wrong labels", (X, shown)))
    return rows_of_panels(plt, cases, test)


def tables(folder: Path | None) -> dict[str, Rows]:
    found = {}
    for name in FROM_FOLDER if folder is not None else ():
        if (folder / f"{name}.npz").exists():
            arrays = np.load(folder / f"{name}.npz", allow_pickle=False)
            found[name] = arrays["X"].astype(np.float64), np.unique(arrays["y"], return_inverse=True)[1]
        elif (folder / f"{name}.csv.gz").exists():
            import pandas as pd

            frame = pd.read_csv(folder / f"{name}.csv.gz", dtype={"class": str})
            found[name] = np.unique(frame.pop("class"), return_inverse=True)[1], frame.to_numpy(np.float64)
            found[name] = found[name][::-1]
    return found or {name: load(return_X_y=True) for name, load in BUNDLED.items()}


def learnt_tables(folder: Path | None) -> dict[str, tuple[Any, NDArray[Any], int, int]]:
    out = {}
    for name, (X, y) in tables(folder).items():
        order = np.random.default_rng(0).permutation(len(y))[:2400]
        train, test = order[: len(order) // 2], order[len(order) // 2 :]
        model = similarities(800).fit(X[train], y[train])
        out[f"{name} ({X.shape[1]} columns)"] = model, test_errors(model, X[test], y[test]), len(train), len(model.classes_)
    return out


def figure_6(plt: Any, learnt: dict[str, Any]) -> tuple[Any, list[str]]:
    figure, axes = plt.subplots(1, len(learnt), figsize=(4.4 * len(learnt), 3.4), layout="constrained")
    for ax, (name, (model, errors, _, _)) in zip(np.atleast_1d(axes), learnt.items(), strict=True):
        draw_curves(ax, model, errors, name)
    return figure, [told(name, model, errors) for name, (model, errors, _, _) in learnt.items()]


def figure_7(plt: Any, learnt: dict[str, Any]) -> tuple[Any, list[str]]:
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    lines = []
    for at, (name, (model, _, N, K)) in enumerate(learnt.items()):
        loss = model.history_["loss"]
        rounds = np.arange(1, len(loss) + 1)
        ax.semilogy(rounds, loss, color=f"C{at}", label=name)
        ax.semilogy(rounds, K / 2 * (1 - 2 / (K * N**2)) ** rounds, color=f"C{at}", linestyle=":", linewidth=0.8)
        late = slice(len(loss) // 2, None)
        rate = np.polyfit(rounds[late], np.log(loss[late]), 1)[0]
        lines.append(f"{name}: the loss falls by {-100 * rate:.2f} % a round in the second half; proved: {200 / (K * N**2):.2g} %")
    ax.set(xlabel="rounds", ylabel="training loss (dotted: what is proved)")
    ax.legend()
    return figure, lines


def figure_10(plt: Any) -> tuple[Any, list[str]]:
    (X, y), test = split_spirals()
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 7), layout="constrained")
    lines = []
    for row, (name, make) in zip(axes, (("stumps", stumps), ("similarities", similarities)), strict=True):
        for ax, n_rounds in zip(row, (100, 300, 1000), strict=True):
            model = make(n_rounds).fit(X, y)
            draw_regions(ax, model, X, y, f"{name}, {n_rounds} rounds")
            lines.append(f"{name}, {n_rounds} rounds: training error {1 - model.score(X, y):.3f}, test error {1 - model.score(*test):.3f}")
    return figure, lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="demo/similarities", help="folder for the pictures")
    parser.add_argument("--figures", default="1,2,3,4,5,6,7,10")
    parser.add_argument("--data", default=os.environ.get("MANYBOOST_DATA"), help="folder with data sets")
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [int(number) for number in options.figures.split(",")]
    learnt = learnt_tables(Path(options.data) if options.data else None) if {6, 7} & set(wanted) else {}
    drawings: dict[int, Callable[[], tuple[Any, list[str]]]] = {
        1: lambda: figure_1(plt), 2: lambda: figure_2(plt), 3: lambda: figure_3(plt), 4: lambda: figure_4(plt), 5: lambda: figure_5(plt),
        6: lambda: figure_6(plt, learnt), 7: lambda: figure_7(plt, learnt), 10: lambda: figure_10(plt),
    }  # fmt: skip
    for number in wanted:
        figure, lines = drawings[number]()
        path = folder / f"figure_{number}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        print(f"{path}", *lines, sep="\n    ")


if __name__ == "__main__":
    main()
