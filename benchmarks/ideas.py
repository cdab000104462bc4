"""Ideas for ManyBoostClassifier, tried on AdaBoost.MH with its 200 rounds before anything is built: log-loss and error with and without.

    python benchmarks/ideas.py --data DIR [--sets vehicle,vowel,...] [--folds 3] [--only sums,rare]

link     softmax(2 F) instead of the normalised sigmoid, and whichever of the two the held-out rows prefer
sums     as further columns, twice as many sums and differences of two random columns, standardised: sparse oblique splits
rare     leaves are smoothed towards the odds that a class has in all rows, not towards even ones, which favour rare classes
node     a direction of classes for each node instead of each tree; by a plain twin in numpy, and beside that twin, on small sets
rounds   ManyBoostClassifier(quality="fast") with 100 rounds instead of 200, on 600 of the training rows or fewer

A quarter of the training rows is held out for the temperature and for the choice of the link. Results are added to
benchmarks/results/ideas.csv, a line for each idea and fold; what is there is not run again.
"""

from __future__ import annotations

import argparse
import heapq
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

from manyboost import AdaBoostMHClassifier, ManyBoostClassifier
from manyboost.evaluation import load
from manyboost.evaluation.runs import prepared
from manyboost.maths.links import best_temperature, log_loss, normalised_sigmoid, softmax
from manyboost.protocol import Answer, Leaves, Problem, Refusal, Task

RESULTS = Path(__file__).parent / "results" / "ideas.csv"
SETS = (
    "vehicle,balance-scale,vowel,glass,diabetes,yeast,sonar,ionosphere,breast-w,iris,wine,segment,waveform-21,satimage,"
    "dermatology,page-blocks,thyroid,optdigits,soybean"
)
MOST_ROWS_OF_TWIN = 1000
FEW_ROWS = 600
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """A table, its classes 0 to K-1, and which rows are for training, for the temperature and for the test."""

    X: pd.DataFrame
    y: Rows
    train: Rows
    held: Rows
    test: Rows
    seed: int

    @property
    def n_leaves(self) -> int:
        return int(np.clip((len(self.train) + len(self.held)) / 16, 16, 64))

    @property
    def numeric(self) -> bool:
        return self.X.select_dtypes("number").shape[1] == self.X.shape[1]

    def standardised(self) -> Floats:
        scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(self.X.iloc[np.r_[self.train, self.held]])
        return np.asarray(scaler.transform(self.X))


@dataclass(frozen=True)
class Outcome:
    error: float
    log_loss: float
    held_log_loss: float


def boosted(fold: Fold, X: Any = None, kind: type[AdaBoostMHClassifier] = AdaBoostMHClassifier) -> Floats:
    """The scores of all rows by AdaBoost.MH, or by a kind of it, of the columns or of others."""
    X = fold.X if X is None else pd.DataFrame(X)
    model = kind(max_leaf_nodes=fold.n_leaves, calibrate=False, handle_unknown="missing", random_state=fold.seed)
    decision = model.fit(X.iloc[fold.train], fold.y[fold.train]).decision_function(X)
    return np.column_stack([-decision, decision]) / 2 if decision.ndim == 1 else decision


def judged(fold: Fold, scores: Floats, link: Callable[[Floats], Floats] = normalised_sigmoid) -> Outcome:
    """How the scores do on the test rows at the temperature that is best for the held-out ones."""
    held, test = 2 * scores[fold.held], 2 * scores[fold.test]
    even = np.full(len(held), 1 / len(held))
    factor = best_temperature(lambda t: link(held * t), fold.y[fold.held], even, len(held))
    return Outcome(
        error=float((test.argmax(axis=1) != fold.y[fold.test]).mean()),
        log_loss=log_loss(link(test * factor), fold.y[fold.test], np.ones(len(test))),
        held_log_loss=log_loss(link(held * factor), fold.y[fold.held], even),
    )


def links(fold: Fold) -> Iterator[tuple[str, Outcome]]:
    scores = boosted(fold)
    sigmoid, soft = judged(fold, scores), judged(fold, scores, softmax)
    yield "as it is", sigmoid
    yield "softmax", soft
    yield "chosen link", min(sigmoid, soft, key=lambda outcome: outcome.held_log_loss)


def sums(fold: Fold) -> Iterator[tuple[str, Outcome]]:
    if fold.numeric:
        Z = fold.standardised()
        rng, p = np.random.default_rng(fold.seed), Z.shape[1]
        first, second = rng.integers(0, p, (2, 2 * p))
        yield "sums", judged(fold, boosted(fold, np.column_stack([Z, Z[:, first] + rng.choice([-1, 1], 2 * p) * Z[:, second]])))


class TowardsTheWhole(AdaBoostMHClassifier):
    """Leaves smoothed towards the odds of a class in all rows."""

    def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
        total, W_plus = leaves.sums[:, : task.K], leaves.sums[:, task.K :]
        share = W_plus.sum(axis=0) / total.sum(axis=0)
        more = 2 * self.smoothing * total.sum() / (task.N * task.K)
        c = 0.5 * np.log((W_plus + more * share) / (total - W_plus + more * (1 - share)))
        c = np.clip(np.nan_to_num(c), -self.max_confidence, self.max_confidence)
        return Answer(c, float(np.abs(c).max()))


def rare(fold: Fold) -> Iterator[tuple[str, Outcome]]:
    yield "rare", judged(fold, boosted(fold, kind=TowardsTheWhole))


def node(fold: Fold) -> Iterator[tuple[str, Outcome]]:
    if fold.numeric and len(fold.y) <= MOST_ROWS_OF_TWIN:
        for name, per_node in (("twin, direction of a tree", False), ("twin, direction of a node", True)):
            yield name, judged(fold, scores_of_twin(fold, per_node))


def rounds(fold: Fold) -> Iterator[tuple[str, Outcome]]:
    rows = np.random.default_rng(fold.seed).permutation(np.r_[fold.train, fold.held])[:FEW_ROWS]
    rows = rows[np.isin(fold.y[rows], np.flatnonzero(np.bincount(fold.y[rows]) > 1))]  # of a class of one row none can be held out
    test = fold.test[np.isin(fold.y[fold.test], fold.y[rows])]
    for n_rounds in (100, 200):
        model = ManyBoostClassifier(quality="fast", n_estimators=n_rounds, random_state=fold.seed).fit(fold.X.iloc[rows], fold.y[rows])
        said, y = model.predict_proba(fold.X.iloc[test]), np.searchsorted(model.classes_, fold.y[test])
        yield f"fast, {n_rounds} rounds", Outcome(float((said.argmax(axis=1) != y).mean()), log_loss(said, y, np.ones(len(y))), np.nan)


def scores_of_twin(fold: Fold, per_node: bool, n_rounds: int = 200, rate: float = 0.2, smoothing: float = 0.1, most: float = 4.0) -> Floats:
    """AdaBoost.MH with random thresholds in numpy: the scores of all rows."""
    X, rng, K = fold.standardised(), np.random.default_rng(fold.seed), int(fold.y.max()) + 1
    Y = 2 * np.eye(K)[fold.y] - 1
    D = np.zeros_like(Y)
    D[fold.train] = 1 / (K * len(fold.train))
    F = np.zeros_like(Y)
    for _ in range(n_rounds):
        for rows in _leaves_of_tree(X, Y, D, fold.train, fold.n_leaves, per_node, rng):
            for_, against = ((D[rows] * (sign * Y[rows] > 0)).sum(axis=0) for sign in (1, -1))
            more = smoothing * D.sum() / (len(fold.train) * K)
            c = rate * np.clip(0.5 * np.log((for_ + more) / (against + more)), -most, most)
            F[rows] += c
            D[rows] *= np.exp(-c * Y[rows])
    return F


def _leaves_of_tree(
    X: Floats, Y: Floats, D: Floats, train: Rows, n_leaves: int, per_node: bool, rng: np.random.Generator
) -> Iterator[Rows]:
    """All rows by the leaves of a tree that is grown best-first on the training rows."""
    trained = np.zeros(len(X), bool)
    trained[train] = True
    of_tree, unit = rng.standard_normal(Y.shape[1]), D.sum() / len(train)

    def best_split(rows: Rows) -> tuple[float, int, float]:
        """The gain of the best of a random threshold for each column, its column and the threshold."""
        inside = rows[trained[rows]]
        v = rng.standard_normal(Y.shape[1]) if per_node else of_tree
        v = v / np.linalg.norm(v)
        g, h, Z = (D[inside] * Y[inside]) @ v, D[inside] @ (v * v), X[inside]
        thresholds = rng.uniform(Z.min(axis=0), Z.max(axis=0))
        below = np.less_equal(Z, thresholds).astype(float)
        G, H = g @ below, h @ below
        gain = G**2 / (H + unit) + (g.sum() - G) ** 2 / (h.sum() - H + unit) - g.sum() ** 2 / (h.sum() + unit)
        gain[(below.sum(axis=0) == 0) | (below.sum(axis=0) == len(inside))] = -1.0
        at = int(gain.argmax())
        return float(gain[at]), at, float(thresholds[at])

    def offer(rows: Rows) -> None:
        gain, feature, threshold = best_split(rows)
        heapq.heappush(found, (-gain, len(made), feature, threshold))
        made.append(rows)

    found: list[tuple[float, int, int, float]] = []
    made: list[Rows] = []
    offer(np.arange(len(X)))
    while len(found) < n_leaves and found[0][0] < 0:
        _, number, feature, threshold = heapq.heappop(found)
        left = X[made[number], feature] <= threshold
        offer(made[number][left])
        offer(made[number][~left])
    return (made[number] for _, number, _, _ in found)


IDEAS: dict[str, Callable[[Fold], Iterator[tuple[str, Outcome]]]] = {
    "link": links, "sums": sums, "rare": rare, "node": node, "rounds": rounds,
}  # fmt: skip
NAMES = {  # of outcomes, and what they are compared with
    "softmax": "as it is", "chosen link": "as it is", "sums": "as it is", "rare": "as it is",
    "twin, direction of a node": "twin, direction of a tree", "fast, 100 rounds": "fast, 200 rounds",
}  # fmt: skip


def try_on(name: str, folder: Path | None, n_folds: int, ideas: list[str], done: set[tuple[str, int, str]]) -> None:
    data = load(name, folder)
    X, y = pd.DataFrame(prepared(data).X), pd.factorize(data.y, sort=True)[0]
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    for at, (train, test) in zip(range(n_folds), folds, strict=False):
        inside, held = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=at).split(train, y[train]))
        for idea in ideas:
            if (name, at, idea) not in done:
                outcomes = IDEAS[idea](Fold(X, y, train[inside], train[held], test, at))
                where = {"set": name, "fold": at, "idea": idea}
                rows = [{**where, "name": said, "error": one.error, "log_loss": one.log_loss} for said, one in outcomes]
                if rows:
                    pd.DataFrame(rows).to_csv(RESULTS, mode="a", header=not RESULTS.exists(), index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--only", default=",".join(IDEAS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    known = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=["set", "fold", "idea"])
    done = set(known[["set", "fold", "idea"]].itertuples(index=False, name=None))
    for name in arguments.sets.split(","):
        try_on(name, data_folder(arguments.data), arguments.folds, arguments.only.split(","), done)
    found = pd.read_csv(RESULTS).groupby(["set", "name"], sort=False)[["error", "log_loss"]].mean().unstack()
    print(found.round(4).to_string())
    for name, other in NAMES.items():
        for measure in ("error", "log_loss"):
            both = found[measure][[name, other]].dropna()
            ratio = (both[name] + 1e-3) / (both[other] + 1e-3)  # a set without errors is no infinite gain
            print(f"{name} / {other}, {measure}: {np.exp(np.log(ratio).mean()):.3f} over {len(both)} sets, "
                  f"better on {int((ratio < 1).sum())}, worse on {int((ratio > 1).sum())}")  # fmt: skip


if __name__ == "__main__":
    main()
