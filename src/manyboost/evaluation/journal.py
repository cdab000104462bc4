"""A CSV file to which finished work is added line by line, so that nothing that was finished is ever lost.

A line is written at once and forced to the disk. If the disk is full, the piece of it that was written is taken back and
:class:`JournalNotWritten` says so. A piece that a crash left at the end of the file is removed when the file is next opened.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd


class JournalNotWritten(OSError):
    """The journal could not be written; what was in it is still there."""

    def __str__(self) -> str:
        return str(self.args[0])


class Journal:
    """Lines of named fields in a file.

    Parameters
    ----------
    path : file, made with its folder if it is not there
    fields : names of the columns; a file with others is refused
    text : those of them that are text even where they look like numbers
    """

    def __init__(self, path: str | os.PathLike[str], fields: Sequence[str], text: Sequence[str] = ()):
        self.path, self.fields, self.text = Path(path), list(fields), tuple(text)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size:
                self._repair()
            else:
                self._append(self.fields)
        except OSError as error:
            if isinstance(error, JournalNotWritten):
                raise
            raise JournalNotWritten(f"{self.path} cannot be written ({error.strerror}); choose another place for the results.") from error

    def add(self, record: Mapping[str, Any]) -> None:
        """Write one line."""
        self._append([record.get(name, "") for name in self.fields])

    def read(self) -> pd.DataFrame:
        """All lines so far."""
        return pd.read_csv(self.path, dtype=dict.fromkeys(self.text, str), keep_default_na=False, na_values=[""])

    def _append(self, values: Sequence[Any]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(values)
        line = text.getvalue().encode()
        try:
            with self.path.open("ab", buffering=0) as file:
                before = file.tell()
                try:
                    written = file.write(line) or 0
                    if written < len(line):
                        file.write(line[written:])  # raises where the disk is full
                    os.fsync(file.fileno())
                except OSError:
                    with suppress(OSError):  # a device has no length
                        file.truncate(before)
                    raise
        except OSError as error:
            raise JournalNotWritten(
                f"{self.path} cannot be written ({error.strerror}). What is in it is kept; make room and run the same command again."
            ) from error

    def _repair(self) -> None:
        data = self.path.read_bytes()
        header = data.split(b"\n", 1)[0].decode(errors="replace").strip()
        if header.split(",") != self.fields:
            raise JournalNotWritten(f"{self.path} holds something else than these results; choose another place for them.")
        if not data.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(data.rfind(b"\n") + 1)
