"""Data sets by name or from a file.

A name is looked up in this order:

1. a folder of data sets (``folder``, or the variable MANYBOOST_DATA): ``NAME.csv.gz`` (header row, last column ``class``, empty cells are
   missing) or ``NAME.npz`` (arrays ``X`` and ``y``), ``NAME.split`` (how many leading rows are the official training part) and
   ``index.json`` (``{name: {"categorical_columns": [...]}}``, the columns that hold categories although they look like numbers);
2. the sets that come with scikit-learn, and ``amazon-stand-in``, which is made up;
3. OpenML, by the numbers in ``tables/openml.csv``. What was fetched is kept in the format of 1 (``~/.cache/manyboost``, or the variable
   MANYBOOST_CACHE) beside its SHA-256, which is checked whenever it is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as bundled

from manyboost.evaluation.stand_in import texts_of_authors

BUNDLED: dict[str, Callable[..., Any]] = {
    "breast-cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
}
GENERATED: dict[str, Callable[[], tuple[pd.DataFrame, NDArray[Any]]]] = {"amazon-stand-in": texts_of_authors}
TARGET = "class"
MOST_CLASSES_OF_NUMBERS = 100  # a column of fractions with more values is taken for a number, not for labels


class MissingDataSet(LookupError):
    """There is no such data set, and the message says how to get it."""

    def __str__(self) -> str:  # KeyError and LookupError would quote it
        return str(self.args[0])


class UnreadableData(ValueError):
    """A file that cannot be used, and why."""


@dataclass(frozen=True)
class DataSet:
    """A table and its labels.

    Attributes
    ----------
    name : str
    X : data frame of the features
    y : (n,) labels
    n_train : leading rows that are the official training part, or None
    source : where it came from
    """

    name: str
    X: pd.DataFrame
    y: NDArray[Any]
    n_train: int | None = None
    source: str = field(default="", compare=False)

    @cached_property
    def classes(self) -> NDArray[Any]:
        return np.unique(self.y)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def notes(self) -> list[str]:
        """What one should know before using it."""
        found = []
        constant = [str(name) for name in self.X.columns if self.X[name].nunique(dropna=False) < 2]
        if constant:
            found.append(f"{len(constant)} column(s) have one value only and tell nothing: {_some(constant)}.")
        return found

    def __str__(self) -> str:
        return f"{self.name}: {len(self.y)} rows, {self.X.shape[1]} columns, {self.n_classes} classes"


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder of data sets: the given one, or that of MANYBOOST_DATA, or None."""
    chosen = folder or os.environ.get("MANYBOOST_DATA")
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        raise MissingDataSet(f"There is no folder {chosen}; name a folder with data sets by --data or the variable MANYBOOST_DATA.")
    return Path(chosen)


def cache_folder() -> Path:
    """Where sets from OpenML are kept."""
    chosen = os.environ.get("MANYBOOST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "manyboost"


def openml_table() -> pd.DataFrame:
    """OpenML's number, the rows and the classes of each data set that can be fetched."""
    with (files("manyboost.evaluation") / "tables" / "openml.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col="name")


def available(folder: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """The names that :func:`load` knows and where each would come from.

    >>> available().loc["digits", "from"]
    'scikit-learn'
    """
    where: dict[str, str] = dict.fromkeys(openml_table().index, "OpenML")
    where.update(dict.fromkeys(_names_in(cache_folder()), "OpenML, kept here"))
    where.update(dict.fromkeys(BUNDLED, "scikit-learn"))
    where.update(dict.fromkeys(GENERATED, "made up"))
    chosen = data_folder(folder)
    if chosen is not None:
        where.update(dict.fromkeys(_names_in(chosen), "the folder"))
    return pd.DataFrame({"from": where}).sort_index().rename_axis("name")


def load(name: str, folder: str | os.PathLike[str] | None = None) -> DataSet:
    """A data set by its name, from a folder, from scikit-learn or from OpenML.

    Parameters
    ----------
    name : str
        See :func:`available`.
    folder : path, optional
        A folder of data sets; that of MANYBOOST_DATA otherwise.

    Examples
    --------
    >>> print(load("digits"))
    digits: 1797 rows, 64 columns, 10 classes
    """
    chosen = data_folder(folder)
    if chosen is not None and name in _names_in(chosen):
        return _from_folder(name, chosen)
    if name in BUNDLED:
        bunch = BUNDLED[name](as_frame=True)
        return DataSet(name, bunch.data, bunch.target.to_numpy(), source="scikit-learn")
    if name in GENERATED:
        return DataSet(name, *GENERATED[name](), source="made up")
    kept = cache_folder()
    if name in _names_in(kept):
        _check_digest(kept / f"{name}.csv.gz")
        return _from_folder(name, kept)
    table = openml_table()
    if name in table.index:
        return _from_openml(name, table.loc[name])
    close = get_close_matches(name, available(folder).index, 1, cutoff=0.4)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise MissingDataSet(
        f"There is no data set {name!r}. {hint}'manyboost datasets' lists the names; a folder with more is named by --data DIR or "
        "MANYBOOST_DATA, and a file by its path."
    )


def read_table(path: str | os.PathLike[str], target: str) -> DataSet:
    """A CSV, TSV, Parquet or ARFF file with a named column of labels.

    Parameters
    ----------
    path : file; its ending says what it is, and CSV may be compressed
    target : name of the column with the labels
    """
    path = Path(path)
    frame = _read(path)
    if target not in frame.columns:
        names = [str(name) for name in frame.columns]
        close = get_close_matches(target, names, 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Its columns are {_some(names)}."
        raise UnreadableData(f"{path} has no column {target!r}. {hint}")
    y = frame.pop(target)
    missing = int(y.isna().sum())
    if missing:
        raise UnreadableData(f"{path}: {missing} of {len(y)} rows have no label in column {target!r}; fill them in or leave the rows out.")
    if frame.shape[1] == 0:
        raise UnreadableData(f"{path} has no column beside {target!r} to learn from.")
    if y.dtype.kind == "f" and not (y == y.round()).all() and y.nunique() > MOST_CLASSES_OF_NUMBERS:
        raise UnreadableData(f"{path}: column {target!r} holds {y.nunique()} different fractions; it is a number, not a class.")
    if y.nunique() < 2:
        raise UnreadableData(f"{path}: all {len(y)} rows have the same label in column {target!r}; there is nothing to tell apart.")
    return DataSet(path.name.split(".")[0], frame, _labels(y), source=str(path))


def read_features(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The table in a file, without looking for labels."""
    return _read(Path(path))


def _read(path: Path) -> pd.DataFrame:
    kind = path.name.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz").removesuffix(".zip").rpartition(".")[2]
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        "csv": pd.read_csv, "tsv": lambda file: pd.read_csv(file, sep="\t"), "parquet": pd.read_parquet, "arff": _read_arff,
    }  # fmt: skip
    if not path.exists():
        raise UnreadableData(f"There is no file {path}.")
    if kind not in readers:
        raise UnreadableData(f"{path} ends in .{kind}; files that can be read end in {', '.join('.' + one for one in readers)}.")
    try:
        frame = readers[kind](path)
    except (OSError, ValueError, NotImplementedError, EOFError, ImportError) as error:  # parsers' errors are ValueErrors
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnreadableData(f"{path} cannot be read as {kind.upper()}: {reason}") from error
    if not len(frame):
        raise UnreadableData(f"{path} has no rows.")
    if not frame.columns.is_unique:
        raise UnreadableData(f"{path} has several columns named {frame.columns[frame.columns.duplicated()][0]!r}; rename them.")
    return frame


def _read_arff(path: Path) -> pd.DataFrame:
    from scipy.io import arff

    rows, meta = arff.loadarff(path)
    frame = pd.DataFrame(rows)
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            text = frame[name].str.decode("utf-8")
            frame[name] = text.where(text != "?")
    return frame


def _labels(y: pd.Series) -> NDArray[Any]:
    """Labels as plain numbers or text."""
    if y.dtype.kind in "iub":
        return np.asarray(y)
    if y.dtype.kind == "f" and (y == y.round()).all():
        return np.asarray(y, np.int64)
    return np.asarray(y.astype(str), object)


def _names_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return sorted({path.name.removesuffix(ending) for ending in (".csv.gz", ".npz") for path in folder.glob(f"*{ending}")})


def _from_folder(name: str, folder: Path) -> DataSet:
    split = folder / f"{name}.split"
    n_train = int(split.read_text()) if split.exists() else None
    packed = folder / f"{name}.npz"
    if packed.exists():
        arrays = np.load(packed, allow_pickle=False)
        X = pd.DataFrame(arrays["X"])
        X.columns = [str(column) for column in arrays["columns"]] if "columns" in arrays else [f"x{at}" for at in X.columns]
        return DataSet(name, X, arrays["y"], n_train, str(packed))
    path = folder / f"{name}.csv.gz"
    index = folder / "index.json"
    about = json.loads(index.read_text(encoding="utf-8")).get(name, {}) if index.exists() else {}
    text = dict.fromkeys([*about.get("categorical_columns", []), TARGET], str)
    frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""])
    y = frame.pop(TARGET).to_numpy(object)
    return DataSet(name, frame, y, n_train, str(path))


def _from_openml(name: str, expected: pd.Series) -> DataSet:
    """Fetch a set, check that it is the one that is meant, and keep it."""
    try:
        bunch = bundled.fetch_openml(data_id=int(expected["data_id"]), as_frame=True, parser="auto")  # checks OpenML's own MD5
    except (OSError, ValueError) as error:
        raise MissingDataSet(
            f"{name} is not on this machine and OpenML cannot be reached ({type(error).__name__}). Try again with a network, or put "
            f"{name}.csv.gz into a folder and name that by --data DIR or MANYBOOST_DATA."
        ) from error
    X, y = bunch.data, bunch.target
    if (len(X), y.nunique()) != (expected["rows"], expected["classes"]):
        raise MissingDataSet(
            f"OpenML's set {expected['data_id']} has {len(X)} rows and {y.nunique()} classes, but {name} has {expected['rows']} and "
            f"{expected['classes']}; get it elsewhere and name its folder by --data DIR or MANYBOOST_DATA."
        )
    kept = cache_folder()
    kept.mkdir(parents=True, exist_ok=True)
    index = kept / "index.json"
    about = json.loads(index.read_text(encoding="utf-8")) if index.exists() else {}
    about[name] = {"categorical_columns": [str(column) for column in X.columns if X[column].dtype.kind not in "iuf"]}
    index.write_text(json.dumps(about, indent=1), encoding="utf-8")
    path = kept / f"{name}.csv.gz"
    X.assign(**{TARGET: y}).to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
    Path(f"{path}.sha256").write_text(_digest(path), encoding="ascii")
    return _from_folder(name, kept)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_digest(path: Path) -> None:
    beside = Path(f"{path}.sha256")
    if not beside.exists() or beside.read_text(encoding="ascii").strip() != _digest(path):
        raise UnreadableData(f"{path} is damaged: its SHA-256 is not the one that was kept; delete it and it will be fetched again.")


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
