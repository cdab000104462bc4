"""What a newcomer waits for: import, the first fit ever, the first fit of a process.

    python benchmarks/startup.py

Runs in fresh processes; the first fit ever has an empty kernel cache; the read-only one has no folder it can write a cache to. Python keeps
its bytecode, as it does for whatever is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "startup.json"
FIT = """
import time
began = time.perf_counter()
from sklearn.datasets import load_wine
import manyboost
X, y = load_wine(return_X_y=True)
loaded = time.perf_counter()
manyboost.{estimator}().fit(X, y).predict_proba(X)
print(time.perf_counter() - loaded)
"""
IMPORT = "import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"


def _seconds(code: str, **environment: str) -> float:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**kept, **environment})
    return float(done.stdout.split()[-1])


def main() -> None:
    out = {}
    with tempfile.TemporaryDirectory() as bytecode:
        modules = [IMPORT.format(module=module) for module in ("sklearn.ensemble", "manyboost")]
        runs = [[_seconds(code, PYTHONPYCACHEPREFIX=bytecode) for code in modules] for _ in range(6)]  # the first writes the bytecode
    out["import of scikit-learn's ensembles, s"] = min(run[0] for run in runs)
    out["import of manyboost (scikit-learn included), s"] = min(run[1] for run in runs)
    out["longer by, s"] = out["import of manyboost (scikit-learn included), s"] - out["import of scikit-learn's ensembles, s"]
    for estimator in ("SAMMEClassifier", "AdaBoostMHClassifier", "PIBoostClassifier", "RebelClassifier"):
        with tempfile.TemporaryDirectory() as cache:
            code = FIT.format(estimator=estimator)
            out[f"{estimator}: first fit and predict ever, s"] = _seconds(code, NUMBA_CACHE_DIR=cache)
            out[f"{estimator}: first fit and predict with kernels cached, s"] = min(_seconds(code, NUMBA_CACHE_DIR=cache) for _ in range(3))
    out["AdaBoostMHClassifier: no place for a cache, s"] = _without_a_cache()
    for name, seconds in out.items():
        print(f"{name}: {seconds:.2f}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(out, indent=1) + "\n")


def _without_a_cache() -> float:
    """A process in which Numba finds no place for its cache, as on a read-only installation without a home."""
    block = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "getattr(caching, '_CacheImpl', caching.CacheImpl)._locator_classes = []\n"
    )
    return _seconds(block + FIT.format(estimator="AdaBoostMHClassifier"))


if __name__ == "__main__":
    main()
