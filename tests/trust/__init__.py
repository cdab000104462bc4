"""Slow tests of what the library promises. Each notes its figures in ``trust_record.jsonl`` beside this file, one line a run."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

import numba
import numpy
import sklearn

import manyboost

RECORD = Path(__file__).with_name("trust_record.jsonl")


def note(name: str, *, tried: int, failed: int, seconds: float, **figures: Any) -> None:
    """Print the figures of a promise, and append them to the record."""
    versions = {module.__name__: module.__version__ for module in (manyboost, numpy, numba, sklearn)}
    line = {
        "name": name,
        "tried": tried,
        "failed": failed,
        "seconds": round(seconds, 1),
        **figures,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": {"python": platform.python_version(), **versions},
    }
    print("\n" + ", ".join(f"{key} {value}" for key, value in line.items() if key not in ("date", "versions")))
    with RECORD.open("a") as file:
        file.write(json.dumps(line) + "\n")
