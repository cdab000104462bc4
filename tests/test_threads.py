"""Threads of a fit: every item once and in order, errors are told, rows in parts that do not overlap, and nobody waits for themselves."""

from __future__ import annotations

import contextlib
import threading
import time

import joblib
import numpy as np
import pytest

from manyboost import AdaBoostMHClassifier, OneVsOneClassifier, SAMMEClassifier, threads
from manyboost.model_file import fingerprint
from manyboost.threads import ASKED, LINE, WORTH_SHARING, Threads, over_rows
from manyboost.trees import growing


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_item_once_and_in_order(n):
    with Threads.of(n) as threads:
        assert list(threads.map(lambda item: item * item, range(100))) == [item * item for item in range(100)]
        assert list(threads.map(str, [])) == []
        assert list(threads.map(str, [7])) == ["7"]


def test_all_of_them_work_at_the_same_time():
    met = threading.Barrier(3, timeout=30)
    with Threads.of(3) as threads:
        list(threads.map(lambda _: met.wait(), range(3)))  # ends only if three are there


@pytest.mark.parametrize("wrong", [0, 1, 60, 99])
@pytest.mark.parametrize("kind", [ValueError, IndexError])
def test_an_error_is_told_and_ends_the_rest(wrong, kind):
    def work(item):
        if item == wrong:
            raise kind("no")

    with Threads.of(3) as threads:
        with pytest.raises(kind, match="no"):
            list(threads.map(work, range(100)))
        assert list(threads.map(str, range(3))) == ["0", "1", "2"]  # and they can be asked again


def parts_of(n_rows, width):
    parts = []
    over_rows(n_rows, width, lambda start, end: parts.append((start, end)))
    return sorted(parts)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_rows_in_parts(n):
    many = WORTH_SHARING + 77
    assert parts_of(many, 1) == [(0, many)]
    with Threads.of(n) as threads:
        assert parts_of(many, 1) == [(0, many)]  # nobody said that they share
        with threads.sharing():
            parts = parts_of(many, 1)
            assert len(parts) == n
            assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
            assert parts[-1][1] == many
            assert all(start % LINE == 0 for start, _ in parts)
            assert len(parts_of(many // 10, 12)) == n
            assert parts_of(1000, 2) == [(0, 1000)]  # not worth it
            # whoever works on a part is alone with it
            assert list(threads.map(lambda _: parts_of(many, 1), range(4))) == [[(0, many)]] * 4
        assert parts_of(many, 1) == [(0, many)]


def test_shared_rows_give_the_same_model():
    rng = np.random.default_rng(0)
    X, y = rng.random((WORTH_SHARING // 3 + 1, 4)), rng.integers(0, 3, WORTH_SHARING // 3 + 1)
    digests = {fingerprint(AdaBoostMHClassifier(n_estimators=2, random_state=0, calibrate=False, n_jobs=n).fit(X, y)) for n in (1, 2, 3)}
    assert len(digests) == 1


def test_threads_that_work_together_do_not_wait_for_one_that_is_interrupted(monkeypatch):
    rng = np.random.default_rng(0)
    case = SAMMEClassifier(n_estimators=3, random_state=0, calibrate=False, n_jobs=2)
    X, y = rng.random((200_000, 8)), rng.integers(0, 3, 200_000)
    kernel, n_calls = growing.grow_by_histogram, []

    def interrupted(*given):
        n_calls.append(given[-2].part)
        if given[-2].part == 0:
            raise KeyboardInterrupt
        return kernel(*given)

    monkeypatch.setattr(growing, "grow_by_histogram", interrupted)
    with pytest.raises(KeyboardInterrupt):
        case.fit(X, y)
    assert sorted(n_calls) == [0, 1]


@pytest.mark.parametrize("part", [0, 1, 2])
def test_an_error_of_one_that_works_with_others_is_told(part):
    begun, told = [], []

    def work(number):
        begun.append(number)
        if number == part:
            raise ValueError("no")

    with Threads.of(3) as team:
        with pytest.raises(ValueError, match="no"):
            team.together(work, lambda: told.append(True))
        team.together(begun.append, lambda: None)
    assert sorted(begun) == [0, 0, 1, 1, 2, 2]
    assert told == [True]


@pytest.mark.parametrize("told", [True, False])
def test_helpers_come_when_the_first_tells_them_and_at_the_latest_when_it_has_ended(told):
    met = threading.Barrier(2, timeout=30)
    begun = []

    def first():
        if told:
            team.words[0, ASKED] += 1
            met.wait()  # ends only if the other comes meanwhile

    def second():
        begun.append(True)
        if told:
            met.wait()

    with Threads.of(2) as team:
        for _ in range(3):
            team.all_at_once([first, second], first_tells=True)
    assert begun == [True] * 3


def test_threads_that_cannot_be_started_are_done_without(monkeypatch):
    start, n_started = threading.Thread.start, []

    def start_one(thread):
        if n_started:
            raise RuntimeError("can't start new thread")
        n_started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with contextlib.ExitStack() as until:
        with pytest.warns(RuntimeWarning, match="2 threads instead of 4"):
            team = until.enter_context(Threads.of(4))
        assert team.n == 2
        assert list(team.map(str, range(5))) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("n_jobs", [100_000, 10**30])
def test_no_more_threads_than_a_machine_can_take(n_jobs, monkeypatch):
    monkeypatch.setattr(threads, "ALWAYS_ALLOWED", 3)
    monkeypatch.setattr(threads, "ALLOWED_PER_CORE", 0)
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), start(thread)))
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 3
    expected = fingerprint(SAMMEClassifier(n_estimators=3, random_state=0).fit(X, y))
    with pytest.warns(RuntimeWarning, match=f"n_jobs: 3 threads instead of {n_jobs}"):
        model = SAMMEClassifier(n_estimators=3, random_state=0, n_jobs=n_jobs).fit(X, y)
    assert fingerprint(model) == expected
    assert len(started) == 2
    with pytest.warns(RuntimeWarning, match="n_jobs: 3 threads instead of"):
        OneVsOneClassifier(SAMMEClassifier(n_estimators=2), n_jobs=n_jobs, random_state=0).fit(X, y)


def test_sixty_four_threads_are_always_allowed():
    assert threads.sensible_number(64) == 64
    with pytest.warns(RuntimeWarning, match="threads instead of"):
        assert threads.sensible_number(10**6) == max(64, 4 * joblib.cpu_count())


def test_a_helper_that_sleeps_is_woken(monkeypatch):
    monkeypatch.setattr(threads, "LOOKS_FOR_WORK", 1)
    with Threads.of(2) as team:
        for _ in range(20):
            time.sleep(0.001)
            assert list(team.map(lambda item: time.sleep(0.002) or item, range(2))) == [0, 1]
