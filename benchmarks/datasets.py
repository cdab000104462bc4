"""Data for the benchmarks: from a folder, or made up where there is none.

The folder (``--data DIR`` or the variable MANYBOOST_DATA) holds ``NAME.csv.gz`` (header row, last column ``class``) or ``NAME.npz`` (arrays
X and y). Without it, scikit-learn's bundled sets and synthetic rows of the same shape stand in, and every table says so.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

SHAPES = {  # rows, columns, classes of the stand-ins
    "letter": (20000, 16, 26),
    "isolet": (7797, 617, 26),
    "covertype": (500000, 54, 7),
}
BUNDLED = {"digits": load_digits, "wine": load_wine, "iris": load_iris, "breast-cancer": load_breast_cancer}


@dataclass(frozen=True)
class DataSet:
    name: str
    X: Any
    y: np.ndarray
    stand_in: bool = False

    @property
    def title(self) -> str:
        return f"{self.name} (stand-in)" if self.stand_in else self.name


def data_folder(argument: str | None) -> Path | None:
    chosen = argument or os.environ.get("MANYBOOST_DATA")
    return Path(chosen) if chosen else None


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="folder with the data sets (default: the variable MANYBOOST_DATA; else stand-ins)")


def load(name: str, folder: Path | None) -> DataSet:
    """A data set by name."""
    if name in BUNDLED:
        return DataSet(name, *BUNDLED[name](return_X_y=True))
    if folder is not None and (folder / f"{name}.npz").exists():
        arrays = np.load(folder / f"{name}.npz", allow_pickle=False)
        return DataSet(name, arrays["X"].astype(np.float64), np.unique(arrays["y"], return_inverse=True)[1])
    if folder is not None and (folder / f"{name}.csv.gz").exists():
        import pandas as pd

        frame = pd.read_csv(folder / f"{name}.csv.gz", dtype={"class": str})
        y = np.unique(frame.pop("class"), return_inverse=True)[1]
        return DataSet(name, frame.to_numpy(np.float64), y)
    if name not in SHAPES:
        raise FileNotFoundError(f"There is no data set {name!r} in {folder}; name the folder with --data DIR or MANYBOOST_DATA.")
    n, p, K = SHAPES[name]
    X, y = make_classification(n, p, n_informative=min(p, 12), n_redundant=0, n_classes=K, n_clusters_per_class=1, random_state=0)
    return DataSet(name, X, y, stand_in=True)
