"""What ``verbose`` shows while a fit or a comparison runs."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LOGGER = logging.getLogger("manyboost")
LINES = 10
Show = Callable[[int, Callable[[], dict[str, float]]], None]


@contextmanager
def progress_of(estimator: Any, n_rounds: int, first: int) -> Iterator[Show]:
    """A function to call after each round: nothing, a bar (with rich if it is installed), or lines in the log."""
    if estimator.verbose == 0:
        yield lambda round_, row: None
    elif estimator.verbose == 1 and (columns := _bar_columns()) is not None:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(*columns, console=Console(stderr=True)) as bar:
            name = bar.add_task(type(estimator).__name__, total=n_rounds, completed=first, error=float("nan"))
            yield lambda round_, row: bar.update(name, completed=round_ + 1, error=row()["training_error"])
    else:
        _let_lines_be_seen()
        every = max(1, n_rounds // LINES) if estimator.verbose == 1 else estimator.verbose - 1

        def show(round_: int, row_of_round: Callable[[], dict[str, float]]) -> None:
            if (round_ + 1) % every == 0 or round_ + 1 == n_rounds:
                row = row_of_round()
                shown = ", ".join(
                    f"{name} {row[name]:.4g}" for name in ("loss", "training_error", "validation_error") if row[name] == row[name]
                )
                LOGGER.info("%s: round %d of %d, %s", type(estimator).__name__, round_ + 1, n_rounds, shown)

        yield show


def _let_lines_be_seen() -> None:
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(_ToStderr())
    if LOGGER.level == logging.NOTSET:  # lines were asked for
        LOGGER.setLevel(logging.INFO)


class _ToStderr(logging.StreamHandler[Any]):
    """Writes to what ``sys.stderr`` is at the time, as notebooks and tests exchange it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(sys.stderr)
        super().emit(record)


def _bar_columns(with_error: bool = True) -> tuple[Any, ...] | None:
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    error = TextColumn("training error {task.fields[error]:.4f}")
    return (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *([error] if with_error else []), TimeRemainingColumn(),
    )  # fmt: skip


@contextmanager
def progress_of_jobs(title: str, total: int, done: int, verbose: int) -> Iterator[Callable[[str], None]]:
    """A function to call with a few words after each of many jobs: a bar with the remaining time in a terminal, lines in the log elsewhere.

    ``done`` of the ``total`` jobs were finished before; the remaining time is that of the others.
    """
    if verbose == 0 or total == done:
        yield lambda words: None
    elif sys.stderr.isatty() and (columns := _bar_columns(with_error=False)) is not None:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(*columns, console=Console(stderr=True)) as bar:
            name = bar.add_task(title, total=total, completed=done)
            yield lambda words: bar.update(name, advance=1, description=f"{title}: {words}")
    else:
        _let_lines_be_seen()
        began, finished, every = time.monotonic(), 0, max(1, (total - done) // LINES)

        def show(words: str) -> None:
            nonlocal finished
            finished += 1
            if finished % every == 0 or done + finished == total:
                left = (time.monotonic() - began) / finished * (total - done - finished)
                LOGGER.info("%s: %d of %d (%s), about %s left", title, done + finished, total, words, _duration(left))

        yield show


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
