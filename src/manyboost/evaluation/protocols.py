"""How classifiers are tested: which rows train and which test, the same for all of them.

    protocol                                        used by
    KFold(5)                                        PIBoost (Fernandez-Baldera and Baumela 2014)
    KFold(10), KFold(10, repeats=10)                M2T and MHT (Bylander 2010), AdaBoost.HM (Jin, Hou and Liu 2010)
    OfficialSplit()                                 AdaBoost.HM, sets that come in two parts
    FiftyTwentyFive(5)                              REBEL (Appel and Perona 2017): half trains, a quarter chooses, a quarter tests

The splits of a data set depend on its name and the seed alone, so all classifiers see the same ones, on every machine and in every run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from manyboost.evaluation.datasets import DataSet

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Rows that train, rows that choose among settings (may be none), rows that test."""

    name: str
    train: Indices
    test: Indices
    validation: Indices | None = None


class SplitRule(Protocol):
    """What a protocol must answer."""

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        """The splits of a data set."""

    def notes(self, data: DataSet) -> list[str]:
        """What one should know about this protocol on these rows."""


def seed_of(data: DataSet, seed: int) -> int:
    """A seed of its own for every data set, so that sets of equal size do not share their folds."""
    return (crc32(data.name.encode()) + seed) % 2**32


@dataclass(frozen=True)
class KFold:
    """Stratified k-fold cross-validation, once or several times over."""

    n_folds: int = 5
    repeats: int = 1

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        largest = int(_class_sizes(data).max())
        if not 2 <= self.n_folds <= largest:
            raise ValueError(
                f"{data.name}: {self.n_folds} folds need a class of so many rows, and the largest has {largest}; use 2 or more."
            )
        found = []
        for repeat in range(self.repeats):
            folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=(seed_of(data, seed) + repeat) % 2**32)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # said by notes
                for fold, (train, test) in enumerate(folds.split(np.zeros(len(data.y)), data.y)):
                    found.append(Split(f"{repeat + 1}-{fold + 1}", train, test))  # no number: 1.10 would be 1.1
        return found

    def notes(self, data: DataSet) -> list[str]:
        sizes = _class_sizes(data)
        small = sizes[sizes < self.n_folds]
        if not len(small):
            return []
        shown = ", ".join(f"{label!r} ({size})" for label, size in small.items())
        return [f"{data.name}: some folds lack rows of classes with fewer rows than the {self.n_folds} folds: {shown}."]

    def __str__(self) -> str:
        return f"{self.n_folds}-fold cross-validation" + (f", {self.repeats} times" if self.repeats > 1 else "")


@dataclass(frozen=True)
class OfficialSplit:
    """Train on the official training part, test on the rest."""

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        if data.n_train is None:
            raise ValueError(f"{data.name} has no official split; use KFold, or say with {data.name}.split how many leading rows train.")
        rows = np.arange(len(data.y))
        return [Split("official", rows[: data.n_train], rows[data.n_train :])]

    def notes(self, data: DataSet) -> list[str]:
        return []

    def __str__(self) -> str:
        return "official split"


@dataclass(frozen=True)
class FiftyTwentyFive:
    """Random splits into a half that trains, a quarter that chooses and a quarter that tests."""

    n_splits: int = 5

    def splits(self, data: DataSet, seed: int) -> list[Split]:
        found = []
        for number in range(self.n_splits):
            drawn = np.random.RandomState((seed_of(data, seed) + number) % 2**32)
            train, rest = _halves(np.arange(len(data.y)), data.y, drawn)
            validation, test = _halves(rest, data.y[rest], drawn)
            found.append(Split(f"{number + 1}", train, test, validation))
        return found

    def notes(self, data: DataSet) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"{self.n_splits} random splits of 50/25/25 %"


def _class_sizes(data: DataSet) -> pd.Series:
    return pd.Series(data.y).value_counts().sort_index()


def _halves(rows: Indices, y: NDArray[Any], drawn: np.random.RandomState) -> tuple[Indices, Indices]:
    """Two random halves, stratified over the classes that have two rows at least."""
    labels, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    groups = np.where(counts[code] > 1, code, len(labels))  # single rows together are one group
    stratify = groups if np.bincount(groups)[np.unique(groups)].min() > 1 else None
    first, second = train_test_split(rows, test_size=0.5, random_state=drawn, stratify=stratify)
    return first, second
