"""Redraw three pictures of the lecture on multi-class classification: what is lost when it is split into independent binary problems.

1. Three clusters in a row. No line separates the middle one from the rest, so the machine that is to find it alone fails. All classes
   at once are separated without an error.
2. One-vs-one by votes. In the triangle between three lines every class wins one pair, and only the order of the classes decides.
3. A code of 31 columns for 6 classes. Up to 7 columns may be wrong, and the nearest row is still the right one.

    python examples/redraw_the_lecture.py [--output demo/lecture.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from manyboost import LinearMulticlassSVC, OneVsAllClassifier, OneVsOneClassifier
from manyboost.maths.code_matrices import correctable, exhaustive
from manyboost.maths.decoding import minus_loss

COLOURS = ["#0072B2", "#E69F00", "#009E73"]  # Okabe and Ito's, which also those tell apart who see fewer
MARKERS = ["o", "s", "^"]


def clusters_in_a_row() -> tuple[NDArray[Any], NDArray[Any]]:
    """The lecture's centres (-1, 1), (0, 1) and (1, 1): two fifths of the rows left and right, one fifth in the middle."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 20, 40])
    return np.array([[-1, 1], [0, 1], [1, 1]])[y] + rng.normal(0, 0.1, (100, 2)), y


def clusters_in_a_triangle() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(1)
    angle = np.pi * (0.5 + 2 * np.arange(3) / 3)
    y = np.repeat(np.arange(3), 40)
    turned = angle + 0.9  # long clusters like the sails of a windmill: the lines between them do not meet in one point
    along, across = (np.column_stack([np.cos(turned + by), np.sin(turned + by)])[y] for by in (0, np.pi / 2))
    centre = 1.2 * np.column_stack([np.cos(angle), np.sin(angle)])[y]
    return centre + rng.normal(0, 0.7, (120, 1)) * along + rng.normal(0, 0.12, (120, 1)) * across, y


def errors_in_a_row() -> tuple[float, float, float]:
    """Error of the middle detector alone, of one-vs-all by signs, and of all classes at once."""
    X, y = clusters_in_a_row()
    alone = OneVsAllClassifier(estimator=LinearSVC(C=10.0, random_state=0), calibrate=False).fit(X, y)
    fires = alone.decision_function(X) > 0
    first = np.where(fires.any(axis=1), fires.argmax(axis=1), -1)  # the smallest class that fires, as the lecture decides
    joint = LinearMulticlassSVC(C=10.0, random_state=0).fit(X, y)
    return float(np.mean(fires[:, 1] != (y == 1))), float(np.mean(first != y)), float(np.mean(joint.predict(X) != y))


def undecided(X: NDArray[Any], y: NDArray[Any], grid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Votes of the pairs at each point of the grid, and whether every class has one."""
    votes = OneVsOneClassifier(estimator=LinearSVC(random_state=0), decode="vote", calibrate=False).fit(X, y).decision_function(grid)
    return votes, (votes == 1).all(axis=1)


def right_by_wrong_columns() -> tuple[NDArray[Any], int]:
    """Share of right decisions for 0, 1, 2, ... wrong columns, and how many the code always survives."""
    code, rng = exhaustive(6), np.random.default_rng(0)
    share = []
    for n_wrong in range(16):
        f = np.repeat(code.astype(float), 200, axis=0)
        for row in f:
            row[rng.choice(31, n_wrong, replace=False)] *= -1
        share.append(np.mean(minus_loss(f, code, "hamming").argmax(axis=1) == np.repeat(np.arange(6), 200)))
    return np.array(share), correctable(code)


def draw(output: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    figure, axes = plt.subplots(1, 4, figsize=(17, 4.4), layout="constrained")
    light = ListedColormap(COLOURS)
    X, y = clusters_in_a_row()
    grid_x, grid_y = np.meshgrid(np.linspace(-1.6, 1.6, 300), np.linspace(0.3, 1.7, 200))
    grid = np.column_stack([grid_x.ravel(), grid_y.ravel()])
    middle, by_signs, by_joint = errors_in_a_row()
    alone = OneVsAllClassifier(estimator=LinearSVC(C=10.0, random_state=0), calibrate=False).fit(X, y)
    fires = alone.decision_function(grid) > 0
    found = np.where(fires.any(axis=1), fires.argmax(axis=1), np.nan)
    joint = LinearMulticlassSVC(C=10.0, random_state=0).fit(X, y)
    panels = (
        (f"each class alone, by signs: {100 * by_signs:.0f} % wrong", found),
        (f"all classes at once: {100 * by_joint:.0f} % wrong", joint.predict(grid).astype(float)),
    )
    for axis, (title, region) in zip(axes, panels, strict=False):
        axis.pcolormesh(grid_x, grid_y, region.reshape(grid_x.shape), cmap=light, vmin=0, vmax=2, alpha=0.25, rasterized=True)
        _scatter(axis, X, y)
        axis.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
    axes[0].text(0, 0.36, "white: none fires", ha="center", fontsize=9)

    X, y = clusters_in_a_triangle()
    grid_x, grid_y = np.meshgrid(np.linspace(-2.2, 2.2, 400), np.linspace(-2, 2.4, 400))
    votes, open_ = undecided(X, y, np.column_stack([grid_x.ravel(), grid_y.ravel()]))
    region = votes.argmax(axis=1).reshape(grid_x.shape)
    axes[2].pcolormesh(grid_x, grid_y, region, cmap=light, vmin=0, vmax=2, alpha=0.25, rasterized=True)
    axes[2].contourf(grid_x, grid_y, open_.reshape(grid_x.shape).astype(float), levels=[0.5, 1.5], colors=["#222222"])
    _scatter(axes[2], X, y)
    axes[2].set(title="one-vs-one votes: undecided in the triangle", xlabel="$x_1$", ylabel="$x_2$")

    share, n_safe = right_by_wrong_columns()
    axes[3].axvspan(-0.5, n_safe + 0.5, color="#009E73", alpha=0.12)
    axes[3].plot(100 * share, color="#0072B2", marker="o")
    axes[3].text(n_safe / 2, 45, f"always right:\nup to {n_safe} of\n31 columns", ha="center", fontsize=9)
    axes[3].set(title="exhaustive code, 6 classes", xlabel="wrong columns", ylabel="right decisions, %", ylim=(0, 104), xlim=(-0.5, 15.5))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)
    print(f"The middle detector alone is wrong for {100 * middle:.0f} % of the rows, one-vs-all by signs for {100 * by_signs:.0f} %,")
    print(f"all classes at once for {100 * by_joint:.0f} %. The code survives {n_safe} wrong columns of 31. Drawn: {output}")


def _scatter(axis: Any, X: NDArray[Any], y: NDArray[Any]) -> None:
    for k in range(3):
        axis.scatter(*X[y == k].T, s=16, color=COLOURS[k], marker=MARKERS[k], edgecolor="black", linewidth=0.4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("demo") / "lecture.png")
    draw(parser.parse_args().output)
