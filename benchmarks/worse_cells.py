"""Why some cells of ``results`` are worse than their paper's: the same fits with one setting changed at a time.

    python benchmarks/worse_cells.py --data DIR

Each fold is appended to ``results/worse_cells.csv`` as soon as it is there; a run that was broken off goes on where it ended.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from datasets import add_data_argument, data_folder
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from manyboost import SAMMEClassifier
from manyboost.evaluation import DataSet, load, run
from manyboost.evaluation.contestants import Contestant
from manyboost.evaluation.experiments import EXPERIMENTS, STUMPS
from manyboost.evaluation.reproduction import finished

JOURNAL = Path(__file__).parent / "results" / "worse_cells.csv"
AS_RUN = Path(__file__).parents[1] / "results"


class LeastErrorStump(ClassifierMixin, BaseEstimator):
    """The threshold on one column that leaves the least weighted error, the first of equals; missing values go right."""

    def fit(self, X: NDArray[np.float64], y: ArrayLike, sample_weight: NDArray[np.float64]) -> LeastErrorStump:
        self.classes_, label = np.unique(y, return_inverse=True)
        most = -1.0
        for column, values in enumerate(X.T):
            order = np.argsort(values, kind="stable")
            cuts = np.flatnonzero(values[order[1:]] > values[order[:-1]])
            left = np.cumsum(np.eye(len(self.classes_))[label[order]] * sample_weight[order, None], axis=0)
            left, right = left[cuts], left[-1] - left[cuts]
            correct = left.max(axis=1, initial=0.0) + right.max(axis=1, initial=0.0)
            if len(cuts) and correct.max() > most * (1 + 1e-12):
                most, at = correct.max(), int(correct.argmax())
                self.column_, self.threshold_ = column, values[order[cuts[at]]]
                self.labels_ = self.classes_[[right[at].argmax(), left[at].argmax()]]
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(self.labels_[(X[:, self.column_] <= self.threshold_).astype(np.intp)])


SMALL_NODES, BY_WEIGHT = {"min_samples_split": 2}, {"sampling": "weight"}
OF_GENTLEBOOST = {
    "one against the rest": {"variant": "ova"}, "rows by weight": BY_WEIGHT, "damped": {"damp": True}, "small nodes": SMALL_NODES,
}  # fmt: skip
OF_PIBOOST = {
    "not pruned": {"prune": None}, "rows evenly": {"sampling": "uniform"}, "small nodes": SMALL_NODES, "costs": {"learner_weights": "cost"},
}  # fmt: skip
NOT_OUR_TREES = {name: getattr(SAMMEClassifier(), name) for name in STUMPS}
OF_STUMPS = {
    "by entropy": {**NOT_OUR_TREES, "estimator": DecisionTreeClassifier(max_depth=1, criterion="entropy")},
    "by least error": {**NOT_OUR_TREES, "estimator": LeastErrorStump()},
    "rows by weight": BY_WEIGHT,
    "two levels": {"max_depth": 2},
}
OF_NETWORKS = {"first rate 0.1": {"mlpclassifier__learning_rate_init": 0.1}}
OF_NAIVE_BAYES = {"bins of equal weight": {"estimator__binning": "frequency"}}
CELLS: list[tuple[str, str, str, int, dict[str, dict[str, Any]]]] = [  # experiment, data set, algorithm, splits, what is changed
    ("piboost", "CNAE9", "GentleBoost", 3, OF_GENTLEBOOST),
    ("piboost", "Chess", "GentleBoost", 1, OF_GENTLEBOOST),
    ("piboost", "Chess", "PIBoost(1)", 1, OF_PIBOOST),
    *(("hm", name, "M1W+DT", 10, OF_STUMPS) for name in ("Dermatology", "Thyroid", "Usps", "Satimage", "Vehicle")),
    *(("hm", name, "MLP", 1, OF_NETWORKS) for name in ("Usps", "Isolet")),
    *(("m2t", *cell, 2, OF_NAIVE_BAYES) for cell in (("hypothyroid", "NB ECC"), ("hypothyroid", "NB M2T"), ("hypothyroid", "NB MHT"))),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    folder = data_folder(parser.parse_args().data)
    for name, set_name, algorithm, n_splits, variants in CELLS:
        experiment = EXPERIMENTS[name]
        found = load(experiment.sets[set_name], folder)
        data, make = DataSet(set_name, found.X, found.y, found.n_train), experiment.makers[algorithm](set_name)
        contestants = [
            Contestant(f"{algorithm}, {said}", lambda data, seed, changed=changed: make(data, seed).set_params(**changed))
            for said, changed in variants.items()
        ]
        errors = run([data], contestants, experiment.protocol(set_name), JOURNAL, n_splits=n_splits, curves=False)
        journal = finished(AS_RUN / f"{name}.csv").set_index(["data_set", "algorithm", "split"])["error"]
        as_run = journal[set_name][algorithm].reindex(errors["split"].unique())
        shown = "; ".join(
            f"{said.split(', ')[1]} {100 * error:.2f}" for said, error in errors.groupby("algorithm", sort=False)["error"].mean().items()
        )
        paper = 100 * experiment.published.loc[set_name, algorithm] if experiment.published is not None else np.nan
        sys.stdout.write(f"{set_name}, {algorithm}: paper {paper:.2f}; as run {100 * as_run.mean():.2f}; {shown}\n")


if __name__ == "__main__":
    main()
