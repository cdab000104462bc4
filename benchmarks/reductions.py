"""Error and log-loss of the reductions over boosted trees and over linear machines, beside scikit-learn's output codes.

    python benchmarks/reductions.py --data DIR [--sets vowel,glass] [--folds 2]
    python benchmarks/reductions.py --data DIR --pair [--calibrated] --folds 8

Two folds, then two of other halves, and so on. Each fold's result is appended to ``results/reductions.csv`` as soon as it is there; a run
that was broken off goes on where it ended. With ``--pair`` only "code auto" and scikit-learn's codes are measured, and with
``--calibrated`` "code auto, calibrated", too; ``--table`` prints the tables and measures nothing. Weighted decoding was chosen on the first
two folds, so that they are left out where the codes are compared.

"OVA" over boosted trees is OVA-AdaBoost. Over linear machines the probabilities are calibrated on held-out rows (``calibrate=True``); those
of boosted trees are used as they are, but for "code auto, calibrated". scikit-learn's output code has as many columns as ours by "auto"
(exhaustive for at most 6 classes, else 10 log2 K), and by its default 1.5 K; it has no probabilities, and is given those proportional to
exp(-distance).
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import add_data_argument, data_folder, load
from scipy.special import softmax
from sklearn.metrics import euclidean_distances, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OutputCodeClassifier as TheirOutputCode
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from manyboost import LinearMulticlassSVC, OneVsAllClassifier, OneVsOneClassifier, OutputCodeClassifier, SAMMEClassifier

SETS = "glass ecoli vehicle vowel yeast segment waveform-21 satimage".split()
RESULTS = Path(__file__).parent / "results" / "reductions.csv"
FIELDS = "set fold base model error log_loss fit_cpu".split()
BASES: dict[str, Callable[[], Any]] = {
    "boosted trees": lambda: SAMMEClassifier(n_estimators=30, max_depth=3, random_state=0),
    "linear machine": lambda: LinearMulticlassSVC(C=0.1, tol=1e-3, random_state=0),
}
CALIBRATE = {"boosted trees": "auto", "linear machine": True}
OURS: dict[str, Callable[[Any], Any]] = {
    "OVA": lambda base: OneVsAllClassifier(estimator=base, random_state=0),
    "OVO": lambda base: OneVsOneClassifier(estimator=base, random_state=0),
    "code auto": lambda base: OutputCodeClassifier(estimator=base, random_state=0),
    "code dense": lambda base: OutputCodeClassifier(estimator=base, code="dense", random_state=0),
    "code sparse": lambda base: OutputCodeClassifier(estimator=base, code="sparse", random_state=0),
}
DECODED = {  # the fitted columns of "code auto", decided otherwise
    "code auto, not weighted": "logistic",
    "code auto, coupled": "coupling",
    "code auto, Hamming": "hamming",
}
CALIBRATED = "code auto, calibrated"
THEIRS = "scikit-learn's code"
THEIR_DEFAULT = "scikit-learn's code, default size"
PAIR = ("code auto", THEIRS, THEIR_DEFAULT)
FRESH = 2  # the first fold on which nothing was chosen


def _measured(model: Any, K: int, data: Any, name: str) -> dict[str, dict[str, float]]:
    """The model's figures, and those of the same columns decided otherwise."""
    train, y_train, test, y_test = data
    began = time.process_time()
    model.fit(train, y_train)
    seconds = time.process_time() - began
    if name in (THEIRS, THEIR_DEFAULT):
        answers = np.array([one.decision_function(test) for one in model.estimators_]).T
        P = softmax(-euclidean_distances(answers, model.code_book_), axis=1)
    else:
        P = model.predict_proba(test)
    loss = float(log_loss(y_test, P, labels=np.arange(K)))
    found = {name: {"error": float(np.mean(model.predict(test) != y_test)), "log_loss": loss, "fit_cpu": seconds}}
    if name == "code auto":
        for title, decode in DECODED.items():
            error = float(np.mean(model.set_params(decode=decode).predict(test) != y_test))
            found[title] = {"error": error, "log_loss": loss, "fit_cpu": seconds}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--calibrated", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if not arguments.table:
        measure(arguments)
    print_tables()


def measure(arguments: argparse.Namespace) -> None:
    folder = data_folder(arguments.data)
    pair = (*PAIR, CALIBRATED) if arguments.calibrated else PAIR
    done = set()
    if RESULTS.exists():
        with RESULTS.open() as file:
            done = {(row["set"], row["fold"], row["base"], row["model"]) for row in csv.DictReader(file)}
    else:
        RESULTS.write_text(",".join(FIELDS) + "\n")
    for fold, name in [(fold, name) for fold in range(arguments.folds) for name in arguments.sets.split(",")]:
        found = load(name, folder)
        K = int(found.y.max()) + 1
        train, test = list(StratifiedKFold(2, shuffle=True, random_state=fold // 2).split(found.X, found.y))[fold % 2]
        scaler = StandardScaler().fit(found.X[train])
        data = scaler.transform(found.X[train]), found.y[train], scaler.transform(found.X[test]), found.y[test]
        columns = 2 ** (K - 1) - 1 if K <= 6 else int(np.ceil(10 * np.log2(K)))
        for base, make in BASES.items():
            models = {title: of(make()).set_params(calibrate=CALIBRATE[base]) for title, of in OURS.items()}
            if CALIBRATE[base] == "auto":
                models[CALIBRATED] = OURS["code auto"](make()).set_params(calibrate=True)
            models[THEIRS] = TheirOutputCode(make(), code_size=columns / K, random_state=0)
            models[THEIR_DEFAULT] = TheirOutputCode(make(), random_state=0)
            for title, model in models.items():
                if (name, str(fold), base, title) in done or (arguments.pair and title not in pair):
                    continue
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows = _measured(model, K, data, title)
                with RESULTS.open("a") as file:
                    for of, row in rows.items():
                        csv.DictWriter(file, FIELDS).writerow({"set": name, "fold": fold, "base": base, "model": of, **row})


def means(what: str) -> tuple[pd.DataFrame, int]:
    """The mean of a figure for each base and model (rows) and set (columns), and of how many folds; decoding changes decisions alone.

    Folds count in which all sets have all models.
    """
    table = pd.read_csv(RESULTS)
    table = table[table["model"].isin([*OURS, *(DECODED if what == "error" else {}), CALIBRATED, THEIRS, THEIR_DEFAULT])]
    n_cells = table.groupby("fold").size()
    table = table[table["fold"].isin(n_cells.index[n_cells == n_cells.max()])]
    found = table.pivot_table(index=["base", "model"], columns="set", values=what, sort=False)
    return found[[name for name in SETS if name in found]], table["fold"].nunique()


def ahead(what: str) -> pd.DataFrame:
    """By how much "code auto" is ahead of scikit-learn's codes, in the mean of the fresh folds, its standard error, and the folds.

    Calibration changes no decision, so that there are two of ours for the log-loss alone.
    """
    table = pd.read_csv(RESULTS)
    wide = table[table["fold"] >= FRESH].pivot_table(index=["base", "fold"], columns=["model", "set"], values=what, sort=False)
    parts = {}
    for ours in ("code auto",) if what == "error" else ("code auto", CALIBRATED):
        for theirs in (THEIRS, THEIR_DEFAULT) if {ours, THEIRS, THEIR_DEFAULT} <= set(wide.columns.levels[0]) else ():
            gain = (wide[theirs] - wide[ours]).dropna(how="all").reindex(columns=SETS)
            title, of_base = f"{ours}, ahead of {theirs}", gain.groupby("base")
            parts |= {title: of_base.mean(), f"{title}: standard error": of_base.sem(), f"{title}: halves": of_base.count()}
    return pd.concat(parts).swaplevel().sort_index(level=0, sort_remaining=False) if parts else pd.DataFrame()


def print_tables() -> None:
    for what in ("error", "log_loss"):
        found, n_folds = means(what)
        print(f"\n{what}, mean of {n_folds} folds\n{found.round(4).to_string()}")
        print(f'\n{what}, "code auto" beside scikit-learn\'s codes\n{ahead(what).round(4).to_string()}')


if __name__ == "__main__":
    main()
