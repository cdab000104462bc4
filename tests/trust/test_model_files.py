"""Twenty thousand bad model files, in a process of its own whose death would be seen.

The process has 1 GiB to spare, kernels that check every index, and a hook that sees whatever Python imports, compiles, opens or starts
while a file is loaded.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_model_file_kinds import KINDS, some_rows

from manyboost import BadModelFile, PIBoostClassifier, load, save
from manyboost.algorithms import ALGORITHMS
from trust import note

N_DAMAGED, N_SIGNED_AGAIN, N_OTHER_KINDS = 10_000, 10_000, 5_000
SECONDS = 1.0  # of processor time, for one file
FORBIDDEN = ("import", "exec", "compile", "open", "subprocess", "os.", "socket", "ctypes", "pickle", "marshal", "code", "shutil")


def rows(n: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n), [-0.6, 0.6])
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[::5, "b"] = np.nan
    frame["word"] = pd.Categorical(np.array(["x", "y", "z"])[(y + rng.integers(2, size=n)) % 3])
    return frame, y


@pytest.mark.trust
@pytest.mark.timeout(3600)
def test_bad_model_files(tmp_path: Path) -> None:
    X, y = rows()
    options: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "min_samples_split": 2, "sampling": "uniform", "subsample": 1.0}
    options |= {"prune": None, "random_state": 0}
    for name, algorithm in ALGORITHMS.items():
        save(algorithm(**options).fit(X, y), tmp_path / name)
        save(algorithm(**options).fit(X[["a", "b"]].to_numpy(), (y > 0).astype(str)), tmp_path / f"{name} two classes")
    for probability in ("scores", "separators"):
        model = PIBoostClassifier(**options, separators=[{0}, {1}], probability=probability).fit(X, y)
        save(model, tmp_path / f"piboost {probability}")
    (tmp_path / "kinds").mkdir()
    for name, (estimator, kind) in KINDS.items():
        save(estimator.fit(*some_rows(kind)), tmp_path / "kinds" / name)
    here = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent / "src")]),
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),  # kernels that check bounds are no use to others
    }
    began = time.perf_counter()
    child = subprocess.run([sys.executable, __file__, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=3600)
    assert child.returncode == 0, f"ended with {child.returncode}:\n{child.stdout[-5000:]}\n{child.stderr[-5000:]}"
    found = json.loads(child.stdout.splitlines()[-1])
    failures = found.pop("failures")
    note("bad model files", tried=found.pop("tried"), failed=len(failures), seconds=time.perf_counter() - began, **found)
    assert not failures, failures[:20]


# ---- in the process of its own -------------------------------------------------------------------------------------------------------


class Loader:
    """Loads files and watches what happens meanwhile."""

    def __init__(self, path: Path):
        self.path, self.watching = path, False
        self.events: Counter[str] = Counter()
        self.slowest = 0.0
        self.failures: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.watching and event.startswith(FORBIDDEN) and not (event == "open" and arguments[0] == str(self.path)):
            self.events[event] += 1

    def load(self, data: bytes, what: str) -> Any:
        """The model, or None if the file is refused."""
        self.path.write_bytes(data)
        began = time.process_time()
        self.watching = True
        try:
            return load(str(self.path))
        except BadModelFile:
            return None
        except BaseException as error:
            self.failures.append(f"{what}: {error!r}")
            return None
        finally:
            self.watching = False
            took = time.process_time() - began
            self.slowest = max(self.slowest, took)
            if took > SECONDS:
                self.failures.append(f"{what}: took {took:.1f} s")

    def use(self, data: bytes, what: str, say: Callable[[Any], str]) -> str:
        """What is to be said of the model in the file, or that it is refused."""
        model = self.load(data, what)
        if model is None:
            return "refused"
        try:
            return say(model)
        except BaseException as error:
            self.failures.append(f"{what}: {error!r}")
            return "failed"


def usable(model: Any, numbers: Any) -> Any:
    """Its probabilities for some rows, if it is a model like any other."""
    n = len(numbers)
    X = np.empty((n, model.n_features_in_), dtype=object)
    for column, known in enumerate(model._columns.categories):
        X[:, column] = numbers if known is None else np.array([*known, None], dtype=object)[np.arange(n) % (len(known) + 1)]
    P = model.predict_proba(X)
    assert P.shape == (n, len(model.classes_))
    assert np.isfinite(P).all()
    assert np.allclose(P.sum(axis=1), 1)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isin(model.predict(X), model.classes_).all()
    assert np.isfinite(model.feature_importances_).all()
    assert len(list(model.staged_predict_proba(X))) == model.n_estimators_
    return P


def main(folder: Path) -> None:
    import resource
    import warnings

    from bad_model_files import by_hand, damaged, put_together, signed_again, signed_again_whole, take_apart

    warnings.filterwarnings("ignore", "X does not have valid feature names")
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    loader, X, rng = Loader(folder / "bad"), np.append(np.nan, np.linspace(-2, 2, 11)), np.random.default_rng(2)
    true = {}
    for name, data in files.items():  # compiles what is needed, and imports what is imported late
        assert put_together(*take_apart(data)) == data
        true[name] = usable(loader.load(data, name), X)
    others = {path.name: path.read_bytes() for path in sorted((folder / "kinds").iterdir())}
    rows_of = {name: some_rows(KINDS[name][1])[0][:12] for name in others}
    for name, data in others.items():
        loader.load(data, name).predict_proba(rows_of[name])
    loader.events.clear()  # those of late imports, of which the first writes bytecode
    loader.watching = True
    with open(os.devnull):
        pickle.loads(pickle.dumps(Path))
    loader.watching = False
    assert loader.events["open"] == loader.events["pickle.find_class"] == 1, "the hook sees nothing"
    loader.events.clear()
    loader.slowest = 0.0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count: Counter[str] = Counter()

    for _ in range(N_DAMAGED):
        name = str(rng.choice(list(files)))
        count["damaged"] += 1
        if loader.load(damaged(files[name], rng), f"damaged {name}") is not None:
            loader.failures.append(f"a damaged {name} was loaded")

    def beside_the_true_one(model: Any, name: str) -> str:
        P = usable(model, X)
        return "the same scores" if P.shape == true[name].shape and (P == true[name]).all() else "other valid models"

    def by_itself(model: Any, name: str) -> str:
        try:
            P = model.predict_proba(rows_of[name])
        except ValueError:  # other columns or categories than it knows, by now
            return "of other tables"
        assert P.shape == (12, len(model.classes_))
        assert np.isfinite(P).all()
        return "valid"

    for number in range(N_SIGNED_AGAIN):
        name = str(rng.choice(list(files)))
        count["signed again"] += 1
        said = loader.use(signed_again(files[name], rng), f"signed again {number}, of {name}", partial(beside_the_true_one, name=name))
        count[f"of these {said}"] += 1
    for number in range(N_OTHER_KINDS):
        name = str(rng.choice(list(others)))
        count["of other kinds, signed again"] += 1
        said = loader.use(signed_again_whole(others[name], rng), f"other kind {number}, of {name}", partial(by_itself, name=name))
        count[f"of these, too, {said}"] += 1
    for name, data in files.items():
        arrays = take_apart(data)[1]
        if (arrays["feature"][: arrays["tree_size"][0]] >= 0).sum() < 2:  # by_hand wants two splits in the first tree
            continue
        for what, bad in by_hand(data):
            count["made by hand"] += 1
            if loader.load(bad, f"{name}: {what}") is not None:
                loader.failures.append(f"{name}: {what} was loaded")
    loader.path.write_bytes(files["samme"][:16])
    os.truncate(loader.path, 2**36)  # 64 GiB, of which the disk holds a few bytes
    count["made by hand"] += 1
    try:
        load(loader.path)
        loader.failures.append("64 GiB of nothing were loaded")
    except BadModelFile:
        pass
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    loader.failures.extend(f"{event} while loading, {n} times" for event, n in loader.events.items())
    figures = {
        "tried": sum(count[of] for of in ("damaged", "signed again", "of other kinds, signed again", "made by hand")),
        **count,
        "events": sum(loader.events.values()),
        "slowest_ms": round(1000 * loader.slowest, 1),
        "memory_grew_mib": round(grown / 1024, 1),
        "failures": loader.failures,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
