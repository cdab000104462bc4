"""The command ``manyboost``: what it does, what it says, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from typer.testing import CliRunner

import manyboost
from manyboost.algorithms import ALGORITHMS
from manyboost.command_line import _limited, app
from manyboost.evaluation import load, runs
from manyboost.evaluation.contestants import Contestant
from manyboost.evaluation.journal import Journal, JournalNotWritten
from manyboost.evaluation.runs import TimeLimit
from manyboost.learners import C45Tree

FAST = ["--set", "n_estimators=5", "--set", "calibrate=False"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MANYBOOST_DATA", raising=False)
    monkeypatch.setenv("MANYBOOST_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def table() -> Path:
    """Iris as a file, with a column of text and one that is constant."""
    bunch = load_iris(as_frame=True)
    frame = bunch.data.assign(colour=np.where(np.arange(150) % 2, "red", "blue"), same=1, species=bunch.target_names[bunch.target])
    path = Path("flowers.csv")
    frame.to_csv(path, index=False)
    return path


def call(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def test_from_a_file_to_a_chosen_saved_and_explained_model(table: Path) -> None:
    trained = call("train", table, "--target", "species", "--algorithm", "AdaBoost.MH", "-o", "m.mb", *FAST)
    assert trained.exit_code == 0, trained.stderr
    assert "150 rows, 6 columns, 3 classes" in trained.stderr
    assert "same" in trained.stderr  # the constant column is noted
    model = manyboost.load("m.mb")
    assert (model.n_estimators, type(model).__name__) == (5, "AdaBoostMHClassifier")

    predicted = call("predict", "m.mb", table, "--probabilities", "-o", "said.csv")
    assert predicted.exit_code == 0
    said = pd.read_csv("said.csv")
    frame = pd.read_csv(table)
    assert (said["prediction"] == model.predict(frame.drop(columns="species"))).all()
    assert list(said.columns[1:]) == [f"probability of {label}" for label in model.classes_]
    assert call("predict", "m.mb", table).stdout.splitlines()[:2] == ["prediction", "setosa"]

    explained = call("explain", "m.mb", table, "--row", "17")
    assert "Row 17 of flowers.csv: setosa" in explained.stdout
    assert re.search(r"setosa\W+0\.\d+\W+\+", explained.stdout)
    assert explained.exit_code == 0


def test_a_model_that_cannot_explain_itself(table: Path) -> None:
    frame = pd.read_csv(table)
    manyboost.save(C45Tree().fit(frame.drop(columns="species"), frame["species"]), "m.mb")
    assert call("predict", "m.mb", table).stdout.splitlines()[:2] == ["prediction", "setosa"]
    explained = call("explain", "m.mb", table)
    assert explained.exit_code == 2
    assert explained.stderr.startswith("Error: a C45Tree cannot say what each feature adds")


def test_explain_prints_what_the_model_says(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("train", table, "-t", "species", "-a", "gamble", "-o", "m.mb", *FAST)
    kind = ALGORITHMS["gamble"]
    monkeypatch.setattr(kind, "explain", lambda self, row: f"because of {len(row)} row", raising=False)
    explained = call("explain", "m.mb", table, "--row", "3")
    assert explained.exit_code == 0
    assert "because of 1 row" in explained.stdout
    assert "from 0 to 149, not 150" in call("explain", "m.mb", table, "--row", "150").stderr


def test_compare_ranks_judges_and_reports(table: Path) -> None:
    arguments = ("compare", table, "iris", "-t", "species", "-a", "gamble,RandomForest", "--folds", "2", "-j", "1", "-o", "out")
    done = call(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Report: {Path('out/report.html')}"
    assert done.stdout.splitlines()[-2] == f"Learning curves: {Path('out/learning_curves.png')}"
    assert Path("out/learning_curves.png").read_bytes().startswith(b"\x89PNG")
    assert "predict s" in done.stdout
    assert re.search(r"(Gamble|RandomForest) is best, (Gamble|RandomForest) second", done.stderr)
    rows = pd.read_csv("out/results.csv")
    assert len(rows) == 8
    assert rows["error"].lt(0.2).all()
    assert "RandomForest" in Path("out/report.html").read_text(encoding="utf-8")


def test_a_time_limit_is_for_ours_alone() -> None:
    class Peer(DummyClassifier):  # type: ignore[misc]
        def __init__(self, callbacks: Any = None) -> None:
            super().__init__()
            self.callbacks = callbacks

    for estimator, limited in ((Peer(), None), (manyboost.GambleClassifier(), [TimeLimit(3.0)])):
        assert _limited(Contestant.of("one", estimator), 3.0).make(load("iris"), 0).callbacks == limited


def test_compare_on_one_set_with_a_limit_and_an_official_split(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    pd.DataFrame({"x": y + rng.normal(0, 0.3, 90), "z": rng.random(90), "class": y}).to_csv(tmp_path / "own.csv.gz", index=False)
    (tmp_path / "own.split").write_text("60")
    done = call("compare", "own", "--data", tmp_path, "-a", "gamble,adaboost_mh", "--official", "--time-limit", "0", "-j", "1", "-o", "out")
    assert done.exit_code == 0, done.stderr
    rows = pd.read_csv("out/results.csv")
    assert rows["test_rows"].tolist() == [30, 30]
    assert rows["message"].str.startswith("ended by the time limit after 1 of").all()
    assert "ended by the time limit" in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("train", "flowers.csv", "-o", "m.mb"), "say which column has the labels: --target"),
        (("train", "flowers.csv", "-t", "spezies", "-o", "m.mb"), "has no column 'spezies'. Did you mean 'species'?"),
        (("train", "flowers.csv", "-t", "same", "-o", "m.mb"), "all 150 rows have the same label"),
        (("train", "flowers.csv", "-t", "species", "-a", "pibost", "-o", "m.mb"), "no algorithm 'pibost'; did you mean 'piboost'?"),
        (("train", "flowers.csv", "-t", "species", "-o", "m.mb", "--set", "n_estimator=3"), "did you mean 'n_estimators'?"),
        (("train", "flowers.csv", "-t", "species", "-o", "m.mb", "--set", "n_estimators"), "must look like NAME=VALUE"),
        (("train", "flowers.csv", "-t", "species", "-o", "m.mb", "--set", "n_estimators=0"), "n_estimators=0 is not allowed"),
        (("train", "nothere.csv", "-t", "y", "-o", "m.mb"), "There is no file nothere.csv"),
        (("compare", "nosuchset"), "There is no data set 'nosuchset'"),
        (("compare", "flowers.csv", "-t", "species", "-a", "rebbel"), "did you mean 'Rebel'?"),
        (("compare", "iris", "--folds", "60"), "60 folds need a class of so many rows"),
        (("compare", "flowers.csv", "./flowers.csv", "-t", "species"), "the same name"),
        (("predict", "flowers.csv", "flowers.csv"), "flowers.csv"),
        (("reproduce", "pibost"), "no paper 'pibost'; did you mean 'piboost'?"),
        (("reproduce", "hm", "--sets", "Irus"), "did you mean 'Iris'?"),
        (("datasets", "--data", "nowhere"), "There is no folder nowhere"),
    ],
)
def test_bad_requests_end_with_a_sentence_and_code_2(table: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    *before, last = done.stderr.strip().splitlines()
    assert last.startswith("Error: ")
    assert sentence in last
    assert not any("Error" in line or "Traceback" in line for line in before)


def test_unreadable_files(table: Path) -> None:
    Path("noise.csv").write_bytes(b"\xff\xfe\x00" * 99)
    assert "cannot be read as CSV" in call("train", "noise.csv", "-t", "y", "-o", "m.mb").stderr
    call("train", table, "-t", "species", "-a", "samme", "-o", "m.mb", *FAST)
    Path("less.csv").write_text("colour\nred\n")
    lacking = call("predict", "m.mb", "less.csv")
    assert lacking.exit_code == 2
    assert "lacks 5 of the 6 columns" in lacking.stderr


def test_a_folder_that_cannot_be_written(table: Path) -> None:
    Path("out").write_text("a file is in the way")
    done = call("compare", "iris", "-a", "RandomForest", "-o", "out")
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
    saved = call("train", table, "-t", "species", "-a", "samme", "-o", "no/such/folder/m.mb", *FAST)
    assert saved.exit_code == 1
    assert saved.stderr.splitlines()[-1].startswith("Error: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk(table: Path) -> None:
    Path("out").mkdir()
    Path("out/results.csv").symlink_to("/dev/full")
    done = call("compare", "iris", "-a", "RandomForest", "--folds", "2", "-j", "1", "-o", "out")
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr
    call("train", table, "-t", "species", "-o", "m.mb", *FAST)
    assert call("predict", "m.mb", table, "-o", "/dev/full").exit_code == 1


def _stops_after(n: int, error: BaseException) -> Callable[..., None]:
    plain, written = Journal.add, []

    def add(self: Journal, record: Any) -> None:
        if len(written) == n:
            raise error
        written.append(record)
        plain(self, record)

    return add


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (JournalNotWritten("results.csv cannot be written (No space left on device)."), 1, "No space left"),
        (KeyboardInterrupt(), 130, "Finished folds are kept in out; run the same command again to go on."),
    ],
)
def test_what_stops_a_comparison_costs_no_finished_fold(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, sentence: str
) -> None:
    arguments = ("compare", "iris", "-a", "RandomForest", "--folds", "4", "-j", "1", "-o", "out")
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", _stops_after(2, error))
        stopped = call(*arguments)
    assert stopped.exit_code == code
    assert sentence in stopped.stderr
    kept = Path("out/results.csv").read_text()
    assert len(kept.splitlines()) == 3
    done: list[Any] = []
    plain = runs.tested
    monkeypatch.setattr(runs, "tested", lambda job: done.append(job) or plain(job))
    assert call(*arguments).exit_code == 0
    assert len(done) == 2
    assert Path("out/results.csv").read_text().startswith(kept)


def test_help_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    text = call("--help").stdout
    for command in ("train", "predict", "compare", "reproduce", "explain", "datasets"):
        assert command in text
        assert call(command, "--help").exit_code == 0
    assert "digits" in call("datasets").stdout
    monkeypatch.setenv("COLUMNS", "200")
    listed = call("datasets", "--algorithms").stdout
    assert all(name in listed for name in ALGORITHMS)
    assert call("nonsense").exit_code == 2


def test_no_algorithm_that_finishes(table: Path) -> None:
    frame = pd.read_csv(table)
    frame.loc[0, "sepal length (cm)"] = np.inf
    frame.to_csv("infinite.csv", index=False)
    done = call("compare", "infinite.csv", "-t", "species", "-a", "gamble", "--folds", "2", "-j", "1")
    assert done.exit_code == 2
    assert "No algorithm finished; the first said: ValueError" in done.stderr
