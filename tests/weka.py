"""Weka's classifiers as referees: any of them, on arrays, in a process of its own.

The environment variable ``WEKA_JAR`` names the jar (it is in the source distribution of python-weka-wrapper3); without it, or without Java,
the tests that need it are skipped. Weka writes its predictions with as many digits as are asked for, and reads weights of rows in braces.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]
JAR = os.environ.get("WEKA_JAR", "")
needs_weka = pytest.mark.skipif(
    not (JAR and Path(JAR).is_file() and shutil.which("java")), reason="needs Java, and Weka's jar at the path in WEKA_JAR"
)
J48 = "weka.classifiers.trees.J48"
STUMP = "weka.classifiers.trees.DecisionStump"
NAIVE_BAYES = "weka.classifiers.bayes.NaiveBayes"
DIGITS = 15


@dataclass(frozen=True)
class Run:
    """What a classifier said: probabilities of the test rows, and the model in Weka's words if they were asked for."""

    probability: Floats
    text: str

    @property
    def label(self) -> NDArray[np.intp]:
        return self.probability.argmax(axis=1)

    @property
    def tree_size(self) -> int:
        """Nodes of a tree of J48."""
        found = re.search(r"Size of the tree :\s*(\d+)", self.text)
        assert found, self.text
        return int(found.group(1))


def run(
    classifier: str, X: Any, y: Any, X_test: Any, *options: str,
    weight: Any = None, categorical: Sequence[int] = (), n_classes: int = 0, in_words: bool = False,
) -> Run:  # fmt: skip
    """Train a classifier of Weka on classes 0..K-1 and let it predict the rows of ``X_test``.

    Parameters
    ----------
    classifier : its Java name, such as ``weka.classifiers.trees.J48``
    X, X_test : numbers; NaN is missing, and in categorical columns the numbers 0, 1, 2, ... name the categories
    y : classes 0..K-1
    options : of the classifier, as on its command line
    weight : weights of the training rows
    categorical : numbers of the categorical columns
    n_classes : K, if y does not have all classes
    in_words : also print the model, by a second run
    """
    X, X_test, y = np.asarray(X, float), np.asarray(X_test, float), np.asarray(y)
    K = max(n_classes, int(y.max()) + 1)
    values = {at: int(np.nanmax(np.concatenate([X[:, at], X_test[:, at]]), initial=0)) + 1 for at in categorical}
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.arff"), Path(folder, "test.arff")
        train.write_text(_arff(X, y, values, K, weight))
        test.write_text(_arff(X_test, np.zeros(len(X_test), int), values, K, None))
        printer = f"weka.classifiers.evaluation.output.prediction.CSV -distribution -decimals {DIGITS}"
        base = ["java", "-Xmx2g", "-cp", JAR, classifier, "-t", str(train)]
        ways = [["-T", str(test), "-classifications", printer], ["-no-cv"]][: 2 if in_words else 1]
        done = [subprocess.run([*base, *way, *options], capture_output=True, text=True, check=False) for way in ways]
    for process in done:
        assert process.returncode == 0, process.stderr
        assert "Exception" not in process.stderr, process.stderr
    return Run(_read_probability(done[0].stdout, K, len(X_test)), done[1].stdout if in_words else "")


def boosted(booster: str, learner: str, X: Any, y: Any, X_test: Any, n_rounds: int, *learner_options: str, **more: Any) -> Run:
    """``AdaBoostM1`` or ``LogitBoost``, by weights and not by samples, on all of the weight."""
    options = ["-P", "100", "-S", "1", "-I", str(n_rounds), "-W", learner]
    return run(f"weka.classifiers.meta.{booster}", X, y, X_test, *options, *(["--", *learner_options] if learner_options else []), **more)


def _arff(X: Floats, y: Any, values: dict[int, int], K: int, weight: Any) -> str:
    def cell(at: int, value: float) -> str:
        if np.isnan(value):
            return "?"
        return f"v{int(value)}" if at in values else repr(float(value))

    kinds = ["{" + ",".join(f"v{v}" for v in range(values[at])) + "}" if at in values else "numeric" for at in range(X.shape[1])]
    lines = ["@relation rows", *(f"@attribute a{at} {kind}" for at, kind in enumerate(kinds))]
    lines += ["@attribute class {" + ",".join(f"c{k}" for k in range(K)) + "}", "@data"]
    for i, row in enumerate(X):
        line = ",".join([*(cell(at, value) for at, value in enumerate(row)), f"c{int(y[i])}"])
        lines.append(line if weight is None else f"{line},{{{float(weight[i])!r}}}")
    return "\n".join(lines) + "\n"


def _read_probability(text: str, K: int, n_rows: int) -> Floats:
    """The numbers behind the columns inst#, actual, predicted, error; the probability of the predicted class is starred."""
    start = text.index("inst#")
    rows = [row for row in csv.reader(io.StringIO(text[start:])) if row][1 : n_rows + 1]
    found = np.array([[float(value.lstrip("*")) for value in row[-K:]] for row in rows])
    assert found.shape == (n_rows, K), text[:2000]
    return found
