"""The threads of a fit: trees, columns or blocks of rows dealt out among them.

Who asks works, too, so that a team of n has n - 1 helpers. Passes over rows ask the team that shares them at the moment,
:meth:`Threads.sharing`: an algorithm, which calls them, need not know of it. The same rows go to the same thread in every pass, because
what another core has written must be fetched from it. No result depends on who did which part.
"""

from __future__ import annotations

import warnings
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from manyboost.waiting import look_until, tell_and_look_until

WORTH_SHARING = 1 << 18  # numbers that a pass over rows works on
LINE = 64  # parts of rows begin at a multiple of it, so that no two threads write to one line of cache
MOST_SEGMENTS = 16  # of rows, of which each thread has its share
NO_SEGMENTS = np.zeros(1, np.int64)
ASKED, DONE, N_WORDS = 0, 8, 16  # how many jobs a helper was asked to do, and has done, in cache lines of their own
ALWAYS_ALLOWED, ALLOWED_PER_CORE = 64, 4  # threads: of tens of thousands no machine can take, the compiler of the kernels dies first
LOOKS_FOR_WORK = 8000  # of a helper, some milliseconds: rounds of boosting ask again and again


class _Job:
    """What a helper is asked to do, and the error if there was one."""

    __slots__ = ("error", "number", "undone", "work")

    def __init__(self, work: Callable[[], Any], number: int):
        self.work, self.number, self.undone = work, number, allocate_lock()
        self.error: BaseException | None = None
        self.undone.acquire()


class _Helper:
    """A thread in waiting, which does one job after the other.

    It looks for the next one for a while before it sleeps, and so does who waits for it: to be woken may take a quarter of a millisecond.
    """

    def __init__(self, words: NDArray[np.int64], n_looks: int):
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._words, self._n_asked, self._n_looks = words, 0, n_looks
        self._words[DONE] = -1  # none, from when it begins
        self._thread = Thread(target=self._serve, daemon=True, name="manyboost")
        self._thread.start()

    def _serve(self) -> None:
        n_done = 0
        while True:
            tell_and_look_until(self._words, DONE, ASKED, n_done + 1, self._n_looks)
            job = self._jobs.get()
            if job is None:
                return
            try:
                job.work()
            except BaseException as error:  # told to who waits for it
                job.error = error
            job.undone.release()
            del job
            n_done += 1

    def ask(self, work: Callable[[], Any]) -> _Job:
        self._n_asked += 1
        job = _Job(work, self._n_asked)
        self._jobs.put(job)
        return job

    def tell(self, job: _Job) -> None:
        """That it is there, unless a kernel has told so."""
        self._words[ASKED] = job.number

    def wait_for(self, job: _Job) -> None:
        """Until it is done."""
        look_until(self._words, DONE, job.number, self._n_looks)
        with job.undone:
            pass

    def dismiss(self) -> None:
        self._jobs.put(None)
        self._words[ASKED] += 1
        self._thread.join()


def sensible_number(n: int) -> int:
    """So many threads, or as many as can be of any use."""
    most = max(ALWAYS_ALLOWED, ALLOWED_PER_CORE * joblib.cpu_count())
    if n <= most:
        return n
    message = f"n_jobs: {most} threads instead of {n}, because more are of no use to {joblib.cpu_count()} cores; give -1 for one each."
    warnings.warn(message, RuntimeWarning, stacklevel=3)
    return int(most)


@dataclass(frozen=True)
class Threads:
    """A team of ``n``: who asks, and helpers."""

    n: int = 1
    helpers: tuple[_Helper, ...] = ()
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, N_WORDS), np.int64))  # that each helper looks at

    @classmethod
    @contextmanager
    def of(cls, n: int) -> Iterator[Threads]:
        if n == 1:
            yield ALONE
            return
        n = sensible_number(n)
        n_looks = LOOKS_FOR_WORK if n <= joblib.cpu_count() else 0  # else they would keep others from working
        helpers: list[_Helper] = []
        words = np.zeros((n - 1, N_WORDS), np.int64)
        try:
            try:
                while len(helpers) < n - 1:
                    helpers.append(_Helper(words[len(helpers)], n_looks))
            except RuntimeError as error:
                message = f"n_jobs: {len(helpers) + 1} threads instead of {n}, because no more could be started ({error})."
                warnings.warn(message, RuntimeWarning, stacklevel=3)
            yield cls(len(helpers) + 1, tuple(helpers), words[: len(helpers)])
        finally:
            for helper in helpers:
                helper.dismiss()

    @contextmanager
    def sharing(self, ends: NDArray[np.int64] = NO_SEGMENTS) -> Iterator[None]:
        """Passes over rows are shared by this team meanwhile, in the thread that says so: each has its share of every segment of rows."""
        token = _SHARED_BY.set((self, ends, {}))
        try:
            yield
        finally:
            _SHARED_BY.reset(token)

    def all_at_once(self, works: Sequence[Callable[[], Any]], *, first_tells: bool = False) -> None:
        """Do the first, have helpers do the others, and wait for all; an error is told when none is at work any more.

        Helpers are told at once, or by a kernel that the first calls, by ``words``: they then need not wait for Python to be free.
        """
        asked = [(helper, helper.ask(work)) for helper, work in zip(self.helpers, works[1:], strict=False)]
        try:
            if not first_tells:
                for helper, job in asked:
                    helper.tell(job)
            works[0]()
        finally:
            for helper, job in asked:
                helper.tell(job)
                helper.wait_for(job)
        for _, job in asked:
            if job.error is not None:
                raise job.error

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """The function's value for each item, in their order; one by one where nobody else is there."""
        if self.n == 1:
            return map(function, items)
        waiting = deque(enumerate(items))
        values: list[Any] = [None] * len(waiting)

        def work() -> None:
            with ALONE.sharing():  # the others are at work themselves
                while waiting:
                    try:
                        at, item = waiting.popleft()
                    except IndexError:  # somebody else took the last
                        return
                    try:
                        values[at] = function(item)
                    except BaseException:
                        waiting.clear()
                        raise

        self.all_at_once([work] * min(self.n, max(len(waiting), 1)))
        return values

    def together(self, work: Callable[[int], Any], give_up: Callable[[], None]) -> None:
        """Have all do the work at once, each with a number of its own, so that they can wait for each other.

        The first, number 0, tells the others by ``words`` when to begin. Should one be interrupted, ``give_up`` tells the others not to
        wait.
        """

        def work_or_give_up(part: int) -> None:
            try:
                work(part)
            except BaseException:
                give_up()
                raise

        self.all_at_once([partial(work_or_give_up, part) for part in range(self.n)], first_tells=True)


ALONE = Threads()
# who shares passes over rows, where segments of rows end, and the pieces of each for so many rows as were asked for
_SHARED_BY: ContextVar[tuple[Threads, NDArray[np.int64], dict[int, list[NDArray[np.int64]]]]] = ContextVar(
    "who shares passes over rows", default=(ALONE, NO_SEGMENTS, {})
)


def segments_of(label: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where segments of rows end, before them 0, of which each thread should have its share: rows of one label that stand together.

    Where there are too many of them, and rows are not in any order either, they are some of one length.
    """
    n_rows, begins = len(label), np.flatnonzero(label[1:] != label[:-1]) + 1
    if len(begins) >= MOST_SEGMENTS:
        begins = n_rows * np.arange(1, MOST_SEGMENTS) // MOST_SEGMENTS if len(begins) < n_rows // LINE else begins[:0]
    return np.array([0, *begins, n_rows])


def segments_at_hand(n_rows: int) -> NDArray[np.int64]:
    """The segments of so many rows that are shared at the moment."""
    ends = _SHARED_BY.get()[1]
    return ends if ends[-1] == n_rows else np.array([0, n_rows])


def pieces_of(ends: NDArray[np.int64], n_parts: int, step: int) -> NDArray[np.int64]:
    """Where the piece of each segment begins and ends that each part has, (parts, segments, 2): at multiples of the step."""
    starts = ends // step * step
    starts[-1] = ends[-1]
    shares = np.arange(n_parts + 1)[:, None] * np.diff(starts) // n_parts
    cuts = starts[:-1] + np.where(np.arange(n_parts + 1)[:, None] < n_parts, shares // step * step, shares)
    return np.stack([cuts[:-1], cuts[1:]], axis=-1)


def over_pieces(n_rows: int, width: int, work: Callable[[NDArray[np.int64]], Any]) -> None:
    """Have rows worked on, by all threads where there is work enough: pieces of them, (pieces, 2), where each begins and where it ends.

    Each row has ``width`` numbers. The same rows go to the same thread: they are near it.
    """
    team, _, held = _SHARED_BY.get()
    if team.n == 1 or n_rows * width < WORTH_SHARING:
        work(np.array([[0, n_rows]]))
        return

    if n_rows not in held:
        found = pieces_of(segments_at_hand(n_rows), team.n, LINE)
        held[n_rows] = [pieces[pieces[:, 0] < pieces[:, 1]] for pieces in found]

    def work_alone(pieces: NDArray[np.int64]) -> None:
        with ALONE.sharing():
            work(pieces)

    team.all_at_once([partial(work_alone, pieces) for pieces in held[n_rows]])


def over_rows(n_rows: int, width: int, work: Callable[[int, int], Any]) -> None:
    """:func:`over_pieces`, one by one: rows ``start`` to ``end``."""

    def work_one_by_one(pieces: NDArray[np.int64]) -> None:
        for start, end in pieces.tolist():
            work(start, end)

    over_pieces(n_rows, width, work_one_by_one)
