"""Splits, the journal, and runs that were broken off."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from manyboost import GambleClassifier, GentleBoostClassifier, PIBoostClassifier, SAMMEClassifier
from manyboost.evaluation import DataSet, FiftyTwentyFive, KFold, OfficialSplit, load, run, runs, trials
from manyboost.evaluation.contestants import Contestant, UnknownName, chosen, nearest_name, peers, trees_each_round, with_weak_learners
from manyboost.evaluation.experiments import EXPERIMENTS
from manyboost.evaluation.journal import Journal, JournalNotWritten
from manyboost.evaluation.published import piboost_rounds, published
from manyboost.evaluation.reproduction import cells, reproduce_experiment
from manyboost.evaluation.runs import TimeLimit, mean_errors

TREE = Contestant.of("tree", DecisionTreeClassifier(max_depth=3))
CHANCE = Contestant.of("chance", DummyClassifier())


def small(n: int = 40, name: str = "small") -> DataSet:
    y = np.array(["a", "b"])[np.arange(n) % 2]
    X = pd.DataFrame({"x": np.arange(n) % 2 + np.random.default_rng(0).normal(0, 0.1, n), "same": 1.0})
    return DataSet(name, X, y, n_train=n // 2)


def test_folds_part_the_rows_and_repeat() -> None:
    data = load("wine")
    splits = KFold(5, repeats=2).splits(data, 0)
    assert len(splits) == 10
    assert len({split.name for split in splits}) == 10
    for repeat in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([split.test for split in repeat])) == list(range(178))
        assert all(not np.intersect1d(split.train, split.test).size for split in repeat)
    again = KFold(5, repeats=2).splits(data, 0)
    assert all((one.test == other.test).all() for one, other in zip(splits, again, strict=True))
    assert not np.array_equal(splits[0].test, KFold(5).splits(data, 1)[0].test)


def test_official_and_random_splits() -> None:
    (split,) = OfficialSplit().splits(small(), 0)
    assert (split.train.tolist(), split.test.tolist()) == (list(range(20)), list(range(20, 40)))
    with pytest.raises(ValueError, match="wine has no official split"):
        OfficialSplit().splits(load("wine"), 0)
    for split in FiftyTwentyFive(3).splits(load("wine"), 0):
        assert split.validation is not None
        assert [len(split.train), len(split.validation), len(split.test)] == [89, 44, 45]
        assert sorted(np.concatenate([split.train, split.validation, split.test])) == list(range(178))


def test_a_class_of_one_row_is_noted_and_run(tmp_path: Path) -> None:
    data = small()
    data.y[0] = "c"
    (note,) = KFold(2).notes(data)
    assert "'c' (1)" in note
    data.X["kind"] = np.where(np.arange(40) % 3, "u", "v")  # categories, of which one is in a single row
    data.X.loc[1, "kind"] = "w"
    found = run([data], [*chosen(["gamble", "OVA-AdaBoost"]), *peers()], KFold(2), tmp_path / "journal.csv")
    assert found["error"].notna().all()
    assert np.isfinite(found["log_loss"]).all()
    with pytest.raises(ValueError, match="the largest has 20"):
        KFold(21).splits(data, 0)


def test_results_are_the_same_alone_and_together_and_in_any_process(tmp_path: Path) -> None:
    data = [load("wine"), small()]
    one = run(data, [TREE, CHANCE], KFold(3), tmp_path / "one.csv", seed=3)
    two = run(data, [CHANCE, TREE], KFold(3), tmp_path / "two.csv", seed=3, n_jobs=2)
    assert one["algorithm"].tolist() == ["tree"] * 3 + ["chance"] * 3 + ["tree"] * 3 + ["chance"] * 3
    key = ["data_set", "algorithm", "split", "error", "log_loss", "settings"]
    pd.testing.assert_frame_equal(
        one[key].sort_values(key, ignore_index=True), two[key].sort_values(key, ignore_index=True), check_exact=True
    )
    assert mean_errors(one).loc["wine", "tree"] < 0.2


def test_finished_work_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    plain = runs.tested

    def counted(job: Any) -> dict[str, Any]:
        done.append(job.split.name)
        return plain(job)

    monkeypatch.setattr(runs, "tested", counted)
    journal = tmp_path / "journal.csv"
    run([small()], [TREE], KFold(4), journal, n_splits=2)
    assert len(done) == 2
    first = journal.read_text()
    run([small()], [TREE], KFold(4), journal)
    assert len(done) == 4
    assert journal.read_text().startswith(first)
    run([small()], [TREE], KFold(4), journal, seed=1)  # other rows, so other work, in the same file
    assert len(done) == 8
    changed = small()
    changed.X.loc[0, "x"] = 7.0
    assert len(run([changed], [TREE], KFold(4), journal)) == 4
    assert len(done) == 12


def test_a_torn_line_is_mended(tmp_path: Path) -> None:
    journal = tmp_path / "journal.csv"
    run([small()], [TREE], KFold(3), journal)
    whole = journal.read_text()
    journal.write_text(whole[: len(whole) - 40])
    found = run([small()], [TREE], KFold(3), journal)
    assert found["error"].notna().all()
    assert len(found) == 3
    assert len(journal.read_text().splitlines()) == 4
    with pytest.raises(JournalNotWritten, match="holds something else"):
        other = tmp_path / "other.csv"
        other.write_text("a,b\n")
        Journal(other, ["c"])


def test_killed_and_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "out" / "results.csv"
    command = [sys.executable, "-m", "manyboost.command_line", "compare", "wine", "-a", "RandomForest", "--folds", "12", "-j", "1", "-o"]
    process = subprocess.Popen([*command, str(journal.parent)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") > 2) and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_text().rpartition("\n")[0].splitlines()
    assert 2 < len(kept) < 13
    done = run([load("wine")], chosen(["RandomForest"]), KFold(12), journal)
    assert len(done) == 12
    again = journal.read_text().splitlines()
    assert len(again) == 13
    assert again[: len(kept)] == kept


def test_a_full_disk_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal.csv"
    writer = Journal(journal, ["a"])
    writer.add({"a": 1})

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(JournalNotWritten, match="No space left on device.*is kept"):
            writer.add({"a": 2})
    assert journal.read_text() == "a\n1\n"
    writer.add({"a": 3})
    assert writer.read()["a"].tolist() == [1, 3]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device() -> None:
    with pytest.raises(JournalNotWritten, match="No space left"):
        Journal("/dev/full", ["a"])


def test_a_fit_that_fails_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    bad = Contestant.of("bad", SAMMEClassifier(max_depth=0))
    found = run([small()], [bad, TREE], KFold(2), tmp_path / "journal.csv")
    assert found["error"].isna().tolist() == [True, True, False, False]
    assert found["message"].iloc[0].startswith("ValueError: SAMMEClassifier: max_depth=0")
    assert mean_errors(found).columns.tolist() == ["tree"]


def test_candidates_are_chosen_by_validation_rows(tmp_path: Path) -> None:
    both = Contestant("both", lambda data, seed: [DummyClassifier(), DecisionTreeClassifier(random_state=seed)])
    found = run([load("wine")], [both], FiftyTwentyFive(2), tmp_path / "journal.csv")
    assert found["parameters"].str.startswith("DecisionTree").all()
    with pytest.raises(ValueError, match="no rows to choose by"):
        run([load("wine")], [both], KFold(2), tmp_path / "other.csv")


def test_curves_and_counts_are_kept(tmp_path: Path) -> None:
    algorithm = Contestant.of("PIBoost", PIBoostClassifier(n_estimators=6, separators="singles", calibrate=False))
    (row,) = run([load("wine")], [algorithm], KFold(2), tmp_path / "journal.csv", n_splits=1).to_dict("records")
    assert (row["rounds"], row["weak_learners"]) == (6, 18)
    points = [point.split(":") for point in row["curve"].split()]
    assert [int(number) for number, _ in points] == [1, 2, 3, 4, 5, 6]
    assert float(points[-1][1]) == pytest.approx(row["error"], abs=1e-4)


def test_curves_of_a_peer_behind_its_preparation(tmp_path: Path) -> None:
    (row,) = run([load("iris")], chosen(["scikit-learn AdaBoost"]), KFold(2), tmp_path / "journal.csv", n_splits=1).to_dict("records")
    number, error = row["curve"].split()[-1].split(":")
    assert int(number) == row["rounds"] > 0
    assert float(error) == pytest.approx(row["error"], abs=1e-4)


def test_kernels_are_started_by_two_rounds_on_the_rows_of_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def fit(self: SAMMEClassifier, X: Any, y: Any) -> SAMMEClassifier:
        fits.append((self.max_depth, self.n_estimators, len(X)))
        return whole_fit(self, X, y)

    whole_fit = SAMMEClassifier.fit
    monkeypatch.setattr(SAMMEClassifier, "fit", fit)
    kinds = {"ours": SAMMEClassifier(max_depth=1, n_estimators=5), "refused": SAMMEClassifier(max_depth=-1), "other": GaussianNB()}
    contestants = [Contestant.of(name, kind) for name, kind in kinds.items()]
    found = run([small(44)], contestants, KFold(2), tmp_path / "journal.csv")
    assert [fit for fit in fits if fit[0] == 1] == [(1, 2, 22), (1, 5, 22), (1, 5, 22)]
    assert found["error"].notna().groupby(found["algorithm"]).all().to_dict() == {"ours": True, "refused": False, "other": True}
    monkeypatch.setattr(trials, "_STARTED", set())
    fits.clear()
    again = runs._trials([small(44)], contestants, KFold(2), 0, None, True)
    trials.compile_kernels(list(again), n_jobs=1)  # what is refused stops nobody
    assert [fit[:2] for fit in fits] == [(1, 2), (-1, 2)]


def test_a_time_limit_ends_a_fit(tmp_path: Path) -> None:
    limited = Contestant.of("Gamble", GambleClassifier(n_estimators=50, callbacks=[TimeLimit(0.0)], calibrate=False))
    (row,) = run([load("wine")], [limited], KFold(2), tmp_path / "journal.csv", n_splits=1).to_dict("records")
    assert row["rounds"] == 1
    assert row["message"] == "ended by the time limit after 1 of 50 rounds"


def test_equal_numbers_of_weak_learners_are_those_of_table_2() -> None:
    table = published("piboost_table2")
    rounds = piboost_rounds()
    algorithms = {
        "GentleBoost": GentleBoostClassifier(),
        "SAMME": SAMMEClassifier(max_depth=2),
        "PIBoost(1)": PIBoostClassifier(separators="singles"),
        "PIBoost(2)": PIBoostClassifier(separators="pairs"),
    }
    for name in ("Waveform", "CarEvaluation", "Nursery"):
        K, total = int(table.loc[name, "classes"]), int(table.loc[name, "weak_learners"])
        for algorithm, model in algorithms.items():
            assert with_weak_learners(model, total, K).n_estimators == rounds.loc[name, algorithm], (name, algorithm)
    assert trees_each_round(PIBoostClassifier(separators="pairs"), 4) == table.loc["Vehicle", "piboost2_separators"]


def test_names_are_found_in_any_spelling() -> None:
    assert nearest_name("AdaBoost.MH", ["adaboost_mh", "samme"]) == "adaboost_mh"
    assert nearest_name("SAMMEClassifier", ["adaboost_mh", "samme"]) == "samme"
    with pytest.raises(UnknownName, match="no algorithm 'pibost'; did you mean 'piboost'"):
        nearest_name("pibost", ["adaboost_mh", "piboost"])


def test_reproduction_sets_cells_beside_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = EXPERIMENTS["hm"]
    monkeypatch.delenv("MANYBOOST_DATA", raising=False)
    page = reproduce_experiment(experiment, None, tmp_path, sets=["iris", "Wine"], algorithms=["M1W+DT", "MH+DT"], n_splits=3)
    table = cells(experiment, tmp_path / "hm.csv")
    assert table.index.tolist() == [(name, algorithm) for name in ("Iris", "Wine") for algorithm in ("M1W+DT", "MH+DT")]
    assert table["paper"].round(4).tolist() == [0.0627, 0.0580, 0.0377, 0.0230]
    row = table.iloc[0]
    far = abs(row["ours"] - row["paper"]) > 2 * row["standard_error"]
    assert row["mark"] == ("within" if not far else "better" if row["ours"] < row["paper"] else "worse")
    text = page.path.read_text(encoding="utf-8")
    assert "4 of the paper's 138 cells" in page.summary
    assert "| Iris | 3 |" in text
    assert "Not run: Lymphography" in text


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_every_contestant_of_every_paper_can_be_made(experiment: Any) -> None:
    data = small()
    assert not any("," in name for name in [*experiment.sets, *experiment.makers])  # the command line parts them by commas
    for set_name in experiment.sets:
        assert experiment.protocol(set_name) is not None
        for contestant in experiment.contestants(set_name):
            assert hasattr(contestant.make(data, 0), "fit")
    if experiment.published is not None:
        assert set(experiment.published.index) == set(experiment.sets)
        assert set(experiment.published.columns) == set(experiment.makers)
