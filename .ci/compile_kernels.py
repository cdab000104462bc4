"""Compile the kernels once and leave them in numba's cache, so that processes started later read them from there.

python .ci/compile_kernels.py                   those of the tests
python .ci/compile_kernels.py SAMME PIBoost     those of these algorithms, for plain tables
"""

from __future__ import annotations

import sys
import time

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

import manyboost
from manyboost import AdaBoostMHClassifier, LinearMulticlassSVC, MulticlassSVC, RebelClassifier, SAMMEClassifier
from manyboost.checks import threads_for_small_tables
from manyboost.learners import C45Tree, LocalizedSimilarity, NaiveBayes


def fit_a_little(kind: type[AdaBoostMHClassifier] | type[SAMMEClassifier], missing: bool) -> None:
    """By random thresholds or by histograms, as the class does by default; a table with missing values has kernels of its own."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    X[0, 0] = np.nan if missing else 0.0
    for parameters in ({}, {"early_stopping": True}, {"n_jobs": 2}):
        model = kind(n_estimators=2, random_state=0, **parameters).fit(X, y)
        model.predict_proba(X)
        list(model.staged_predict(X))
        model.contributions(X)
    with threads_for_small_tables():
        kind(n_estimators=2, random_state=0, n_jobs=2, calibrate=False).fit(X, y)


def fit_by_name(name: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    model = getattr(manyboost, f"{name}Classifier")(n_estimators=2, random_state=0).fit(X, y)
    model.predict_proba(X)
    list(model.staged_predict(X))


def fit_learners() -> None:
    """The kernels of the C4.5 tree and of naive Bayes."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for learner in (C45Tree(), NaiveBayes()):
        learner.fit(X, y).predict(X)


def fit_machines() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for solver in ("dual", "sgd"):
        for table in (X, sparse.csr_array(X)):
            LinearMulticlassSVC(solver=solver, random_state=0).fit(table, y)
    for cache_size in (1.0, 0.02):  # in double and in single precision, with conjugate gradients
        MulticlassSVC(C=100.0, cache_size=cache_size).fit(X, y)


def fit_similarities() -> None:
    """The kernels of localized similarities, by the default search and by the paper's."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for parameters in ({}, {"procedure": "paper", "metric": "within"}):
        model = RebelClassifier(estimator=LocalizedSimilarity(**parameters), n_estimators=3, random_state=0, calibrate=False).fit(X, y)
        model.predict_proba(X)
        list(model.staged_predict(X))


if __name__ == "__main__":
    print("Compiling the kernels ...", file=sys.stderr, flush=True)
    began = time.perf_counter()
    jobs = [delayed(fit_by_name)(name) for name in sys.argv[1:]]
    if not jobs:
        jobs = [delayed(fit_a_little)(kind, missing) for missing in (False, True) for kind in (AdaBoostMHClassifier, SAMMEClassifier)]
        jobs += [delayed(fit_learners)(), delayed(fit_machines)(), delayed(fit_similarities)()]
    Parallel(n_jobs=2)(jobs)
    print(f"Kernels compiled in {time.perf_counter() - began:.1f} s.", file=sys.stderr)
