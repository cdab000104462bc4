"""Ideas for ManyBoostClassifier, tried on AdaBoost.MH with its 200 rounds before anything is built: log-loss and error with and without.

    python benchmarks/ideas.py --data DIR [--sets vehicle,vowel,...] [--folds 3]

link     softmax(2 F) instead of the normalised sigmoid, and whichever of the two the held-out rows prefer
sums     as further columns, twice as many sums and differences of two random columns, standardised: sparse oblique splits

A quarter of the training rows is held out for the temperature and for the choice of the link. Results are added to
benchmarks/results/ideas.csv, one line for each fold; folds that are there are not run again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import add_data_argument, data_folder
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyboost import AdaBoostMHClassifier
from manyboost.evaluation import load
from manyboost.maths.links import best_temperature, log_loss, normalised_sigmoid, softmax

RESULTS = Path(__file__).parent / "results" / "ideas.csv"
SETS = (
    "vehicle,balance-scale,vowel,glass,diabetes,yeast,sonar,ionosphere,breast-w,iris,wine,segment,waveform-21,satimage,"
    "dermatology,page-blocks,thyroid,optdigits"
)
Floats = NDArray[np.float64]
COLUMNS = ["set", "fold", "error", "sigmoid", "softmax", "chosen link", "error with sums", "sigmoid with sums"]
LINKS = {"sigmoid": normalised_sigmoid, "softmax": softmax}


def with_sums(X: Any, train: NDArray[np.intp], seed: int) -> Floats:
    """The columns, standardised, and sums and differences of pairs of them."""
    scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X.iloc[train])
    Z = scaler.transform(X)
    rng, p = np.random.default_rng(seed), Z.shape[1]
    first, second = rng.integers(0, p, (2, 2 * p))
    return np.column_stack([Z, Z[:, first] + rng.choice([-1, 1], 2 * p) * Z[:, second]])


def outcome(X: Any, y: NDArray[np.intp], train: NDArray[np.intp], held: NDArray[np.intp], test: NDArray[np.intp], seed: int) -> Floats:
    """Error, log-loss by either link at its best temperature, and the held-out log-losses that a choice would go by."""
    leaves = int(np.clip((len(train) + len(held)) / 16, 16, 64))
    model = AdaBoostMHClassifier(max_leaf_nodes=leaves, calibrate=False, handle_unknown="missing", random_state=seed)
    rows = X.iloc if hasattr(X, "iloc") else X
    model.fit(rows[train], y[train])
    scores = {part: 2 * _two_sided(model.decision_function(rows[at])) for part, at in (("held", held), ("test", test))}
    out = [float((scores["test"].argmax(axis=1) != y[test]).mean())]
    guide = []
    for link in LINKS.values():
        even = np.full(len(held), 1 / len(held))
        factor = best_temperature(lambda t, link=link: link(scores["held"] * t), y[held], even, len(held))
        out.append(log_loss(link(scores["test"] * factor), y[test], np.ones(len(test))))
        guide.append(log_loss(link(scores["held"] * factor), y[held], even))
    return np.array([*out, *guide])


def _two_sided(decision: Floats) -> Floats:
    """Scores of both of two classes, of which the decision is the difference."""
    return np.column_stack([-decision, decision]) / 2 if decision.ndim == 1 else decision


def try_on(name: str, folder: Path | None, n_folds: int, done: set[tuple[str, int]]) -> None:
    data = load(name, folder)
    X, y = pd.DataFrame(data.X), pd.factorize(data.y, sort=True)[0]
    numeric = X.select_dtypes("number").shape[1] == X.shape[1]
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    for fold, (train, test) in zip(range(n_folds), folds, strict=False):
        if (name, fold) in done:
            continue
        inside, held = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=fold).split(train, y[train]))
        parts = train[inside], train[held], test, fold
        error, sigmoid, soft, held_sigmoid, held_soft = outcome(X, y, *parts)
        row = {"set": name, "fold": fold, "error": error, "sigmoid": sigmoid, "softmax": soft}
        row["chosen link"] = sigmoid if held_sigmoid <= held_soft else soft
        if numeric:
            row["error with sums"], row["sigmoid with sums"] = outcome(with_sums(X, train, fold), y, *parts)[:2]
        pd.DataFrame([row]).reindex(columns=COLUMNS).to_csv(RESULTS, mode="a", header=not RESULTS.exists(), index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(zip(known["set"], known["fold"], strict=True))
    for name in arguments.sets.split(","):
        try_on(name, data_folder(arguments.data), arguments.folds, done)
    means = pd.read_csv(RESULTS).groupby("set", sort=False)[COLUMNS[2:]].mean()
    print(means.round(4).to_string())
    for idea, plain in (("softmax", "sigmoid"), ("chosen link", "sigmoid"), ("sigmoid with sums", "sigmoid"), ("error with sums", "error")):
        both = means[[idea, plain]].dropna()
        print(f"{idea} / {plain}: {np.exp(np.log(both[idea] / both[plain]).mean()):.3f} in the geometric mean over {len(both)} sets")


if __name__ == "__main__":
    main()
