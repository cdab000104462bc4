"""The threads of a fit: trees, columns or blocks of rows dealt out among them.

Who asks works, too, so that a team of n has n - 1 threads in waiting. Passes over rows ask the team that shares them at the moment,
:meth:`Threads.sharing`: an algorithm, which calls them, need not know of it. No result depends on who did which part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from threading import Barrier, BrokenBarrierError
from typing import Any

WORTH_SHARING = 1 << 18  # numbers that a pass over rows works on; to wake a thread may take a quarter of a millisecond
LONGEST_WAIT = 10.0  # seconds for threads to come together
LINE = 64  # parts of rows begin at a multiple of it, so that no two threads write to one line of cache


@dataclass(frozen=True)
class Threads:
    """A team of ``n``; ``pool`` are the others, None where there are none."""

    n: int
    pool: ThreadPoolExecutor | None

    @classmethod
    @contextmanager
    def of(cls, n: int) -> Iterator[Threads]:
        if n == 1:
            yield ALONE
            return
        with ThreadPoolExecutor(n - 1) as pool:
            yield cls(n, pool)

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Passes over rows are shared by this team meanwhile, in the thread that says so."""
        token = _SHARED_BY.set(self)
        try:
            yield
        finally:
            _SHARED_BY.reset(token)

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """The function's value for each item, in their order; one by one where nobody else is there."""
        if self.pool is None:
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

        others = [self.pool.submit(work) for _ in range(min(self.n, len(waiting)) - 1)]
        try:
            work()
        finally:
            wait(others)
        for other in others:
            other.result()
        return values

    def together(self, work: Callable[[int], Any], give_up: Callable[[], None]) -> bool:
        """Have all do the work at once, each with a number of its own, so that they can wait for each other.

        False where they did not come together: then nobody has begun. Should one be interrupted, ``give_up`` tells the others not to wait.
        """
        if self.pool is None:
            return False
        here = Barrier(self.n)

        def when_all_are_here(part: int) -> bool:
            try:
                here.wait(LONGEST_WAIT)
                work(part)
            except BrokenBarrierError:
                return False
            except BaseException:
                give_up()
                raise
            return True

        try:
            others = [self.pool.submit(when_all_are_here, part) for part in range(1, self.n)]
        except RuntimeError:  # no thread could be started
            here.abort()
            return False
        try:
            began = when_all_are_here(0)
        finally:
            wait(others)
        return all([began, *(other.result() for other in others)])


ALONE = Threads(1, None)
_SHARED_BY: ContextVar[Threads] = ContextVar("threads that share passes over rows", default=ALONE)


def over_rows(n_rows: int, width: int, work: Callable[[int, int], Any]) -> None:
    """Have rows ``start`` to ``end`` worked on, by all threads where there is work enough; each row has ``width`` numbers."""
    team = _SHARED_BY.get()
    if team.n == 1 or n_rows * width < WORTH_SHARING:
        work(0, n_rows)
        return
    ends = [n_rows * part // team.n // LINE * LINE for part in range(team.n)] + [n_rows]
    list(team.map(lambda part: work(*part), pairwise(ends)))
