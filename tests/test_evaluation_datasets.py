"""Data sets by name and from files, and what is said about those that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from manyboost.evaluation import datasets
from manyboost.evaluation.datasets import MissingDataSet, UnreadableData, available, load, read_table


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MANYBOOST_DATA", raising=False)
    monkeypatch.setenv("MANYBOOST_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data sets: one as CSV with digits for categories, one packed."""
    place = tmp_path / "data"
    place.mkdir()
    frame = pd.DataFrame({"size": [1.5, None, 3.0, 4.0], "kind": ["1", "2", "1", "NA"], "class": ["a", "b", "a", "b"]})
    frame.to_csv(place / "small.csv.gz", index=False)
    (place / "index.json").write_text(json.dumps({"small": {"categorical_columns": ["kind"]}}))
    np.savez(place / "packed.npz", X=np.arange(12.0).reshape(6, 2), y=np.array([0, 1, 2, 0, 1, 2]))
    (place / "packed.split").write_text("4\n")
    return place


def test_a_folder_is_read_as_its_index_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load("small", folder)
    assert data.X["kind"].tolist() == ["1", "2", "1", "NA"]
    assert np.isnan(data.X["size"][1])
    assert data.y.tolist() == ["a", "b", "a", "b"]
    monkeypatch.setenv("MANYBOOST_DATA", str(folder))
    packed = load("packed")
    assert (packed.n_train, packed.n_classes, packed.X.shape) == (4, 3, (6, 2))
    assert available().loc[["small", "digits", "letter"], "from"].tolist() == ["the folder", "scikit-learn", "OpenML"]


def test_an_unknown_name_has_a_hint() -> None:
    with pytest.raises(MissingDataSet, match="Did you mean 'digits'"):
        load("digit")
    with pytest.raises(MissingDataSet, match="There is no folder"):
        load("digits", "nowhere")


def test_offline_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr(datasets.bundled, "fetch_openml", unreachable)
    with pytest.raises(MissingDataSet, match="OpenML cannot be reached.*glass.csv.gz into a folder.*MANYBOOST_DATA"):
        load("glass")


def test_openml_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(data_id: int, **_: Any) -> SimpleNamespace:
        asked.append(data_id)
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"number": rng.random(101), "kind": pd.Categorical(rng.integers(0, 3, 101).astype(str))})
        return SimpleNamespace(data=X, target=pd.Series(np.arange(101) % 7).astype(str))

    monkeypatch.setattr(datasets.bundled, "fetch_openml", fetch)
    first, second = load("zoo"), load("zoo")
    assert asked == [62]
    pd.testing.assert_frame_equal(first.X, second.X)
    assert second.X["kind"].iloc[0] in {"0", "1", "2"}
    kept = tmp_path / "cache" / "zoo.csv.gz"
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(UnreadableData, match="damaged"):
        load("zoo")
    with pytest.raises(MissingDataSet, match="has 101 rows and 7 classes, but iris has 150 and 3"):
        monkeypatch.setattr(datasets, "BUNDLED", {})
        load("iris")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arff"])
def test_files_of_every_kind(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "kind": ["u", "v", "u", "v"], "y": ["a", "b", "a", "b"]})
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "arff":
        rows = "\n".join(f"{x},{kind},{y}" for x, kind, y in frame.itertuples(index=False))
        path.write_text(f"@relation r\n@attribute x numeric\n@attribute kind {{u,v}}\n@attribute y {{a,b}}\n@data\n{rows}\n")
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    data = read_table(path, "y")
    assert data.name == "table"
    assert data.X["kind"].tolist() == ["u", "v", "u", "v"]
    assert data.y.tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,Label\n1,2\n3,4\n", "no column 'label'. Did you mean 'Label'?"),
        ("a,b\n1,2\n3,4\n", "Its columns are a, b"),
        ("a,label\n1,x\n2,x\n", "all 2 rows have the same label"),
        ("a,label\n1,x\n2,\n", "1 of 2 rows have no label"),
        ("label\nx\ny\n", "no column beside"),
        ("a,label\n", "has no rows"),
        ("", "cannot be read as CSV: No columns"),
        ('a,label\n"1,x\n', "cannot be read as CSV"),
        ("a,label\n" + "\n".join(f"1,{at / 7}" for at in range(200)), "it is a number, not a class"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(UnreadableData, match=message.replace(".", r"\.").replace("?", r"\?")):
        read_table(path, "label")


def test_bytes_that_are_no_table(tmp_path: Path) -> None:
    for name in ("noise.parquet", "noise.csv.gz", "noise.csv"):
        path = tmp_path / name
        path.write_bytes(b"\xff\xfe\x00\x01" * 50)
        with pytest.raises(UnreadableData, match="cannot be read as"):
            read_table(path, "y")
    with pytest.raises(UnreadableData, match="ends in .xls"):
        (tmp_path / "t.xls").write_text("")
        read_table(tmp_path / "t.xls", "y")
    with pytest.raises(UnreadableData, match="no file"):
        read_table(tmp_path / "none.csv", "y")


def test_constant_columns_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("same,x,y\n7,1,0\n7,2,1\n")
    (note,) = read_table(path, "y").notes
    assert "one value only" in note
    assert "same" in note
    assert load("iris").notes == []
