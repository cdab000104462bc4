"""Every contestant on every split of every data set, and a journal of what was found from which a run goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed

from manyboost.evaluation.contestants import Contestant
from manyboost.evaluation.datasets import DataSet
from manyboost.evaluation.journal import Journal
from manyboost.evaluation.protocols import SplitRule
from manyboost.evaluation.trials import Trial, compile_kernels, tested, written_out
from manyboost.progress import progress_of_jobs

FIELDS = (
    "data_set", "algorithm", "split", "error", "log_loss", "fit_seconds", "predict_seconds", "rounds", "weak_learners", "train_rows",
    "test_rows", "seed", "settings", "parameters", "versions", "message", "curve",
)  # fmt: skip
KEYS = ("data_set", "algorithm", "split", "settings")


@dataclass
class TimeLimit:
    """A callback that ends a fit when its rounds have taken so many seconds."""

    seconds: float
    spent: float = field(default=0.0, repr=False)

    def __call__(self, row: dict[str, float]) -> bool:
        self.spent = row["seconds"] + (self.spent if row["round"] > 1 else 0.0)
        return self.spent >= self.seconds


def run(
    data_sets: Sequence[DataSet],
    contestants: Sequence[Contestant],
    protocol: SplitRule,
    journal: str | Path,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    n_splits: int | None = None,
    curves: bool = True,
    verbose: int = 0,
) -> pd.DataFrame:
    """Test every contestant on every split of every data set.

    Each finished split is added to ``journal`` at once. A run with the same arguments goes on where an earlier one ended; splits with
    other settings, seeds or rows in the same file are left alone. A fit that fails is noted in ``message``, and tried again next time.

    Parameters
    ----------
    data_sets, contestants, protocol
        What to test, whom, and how.
    journal : path of the CSV file
    seed : int
        Of the splits, and of the classifiers.
    n_jobs : int
        Splits at the same time; every fit has one thread. -1 is all cores.
    n_splits : int or None
        Run the first so many splits of the protocol only. A later run may go on with the others.
    curves : bool
        Keep the test error after each round, of classifiers that can tell (``staged_predict``).
    verbose : int
        0 is silent; 1 shows how far it is and the remaining time.

    Returns
    -------
    data frame with a row for each data set, contestant and split, in that order: the fields of the journal

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from manyboost.evaluation import KFold, load, run
    >>> from manyboost.evaluation.contestants import chosen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run([load("wine")], chosen(["HistGradientBoosting"]), KFold(2), Path(folder) / "journal.csv")
    >>> found[["data_set", "algorithm", "split"]].to_numpy().tolist()
    [['wine', 'HistGradientBoosting', '1-1'], ['wine', 'HistGradientBoosting', '1-2']]
    """
    writer = Journal(journal, FIELDS, text=KEYS)
    trials = list(_trials(data_sets, contestants, protocol, seed, n_splits, curves))
    finished = _finished(writer)
    todo = [trial for trial in trials if trial.key not in finished]
    if n_jobs != 1:
        compile_kernels(todo, n_jobs)
    with progress_of_jobs("comparing", len(trials), len(trials) - len(todo), verbose) as show:
        running = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(delayed(tested)(trial) for trial in todo)
        for record in running:
            writer.add(record)
            show(f"{record['data_set']}, {record['algorithm']}, split {record['split']}")
    return _in_order(writer.read(), trials)


def mean_errors(results: pd.DataFrame, measure: str = "error") -> pd.DataFrame:
    """Means over the splits, data sets by algorithms; algorithms that failed anywhere are left out."""
    whole = results.groupby("algorithm")[measure].transform(lambda values: values.notna().all()).astype(bool)
    table = results[whole].pivot_table(index="data_set", columns="algorithm", values=measure, aggfunc="mean", sort=False)
    return table.rename_axis(index=None, columns=None)


def _trials(
    data_sets: Sequence[DataSet],
    contestants: Sequence[Contestant],
    protocol: SplitRule,
    seed: int,
    n_splits: int | None,
    curves: bool,
) -> Iterator[Trial]:
    for given in data_sets:
        data = prepared(given)
        rows = hashlib.sha256(pd.util.hash_pandas_object(data.X, index=False).to_numpy().tobytes())
        rows.update("\n".join(map(str, data.y)).encode())
        splits = protocol.splits(data, seed)
        for contestant in contestants:
            made = contestant.make(given, seed)
            candidates = tuple(made) if isinstance(made, (list, tuple)) else (made,)
            if len(candidates) > 1 and splits[0].validation is None:
                raise ValueError(
                    f"{contestant.name} has {len(candidates)} settings to choose from, but {protocol} has no rows to choose by."
                )
            said = f"{protocol!r} {seed} {rows.hexdigest()} {[written_out(one) for one in candidates]}"
            settings = hashlib.sha256(said.encode()).hexdigest()[:12]
            for split in splits[:n_splits]:
                yield Trial(data, contestant.name, candidates, split, seed, settings, curves)


def prepared(data: DataSet) -> DataSet:
    """Categories as such, with all their values known, and columns named by their number, as some libraries refuse some names."""
    X = data.X.copy()
    X.columns = [f"x{at}" for at in range(X.shape[1])]
    text = [name for name in X.columns if X[name].dtype.kind not in "iuf"]
    X[text] = X[text].astype("category")
    return DataSet(data.name, X, data.y, data.n_train, data.source)


def _finished(journal: Journal) -> set[tuple[str, str, str, str]]:
    found = journal.read()
    found = found[found["error"].notna()]
    return set(found[list(KEYS)].itertuples(index=False, name=None))


def _in_order(found: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
    place = pd.Series({trial.key: at for at, trial in enumerate(trials)})
    found = found.drop_duplicates(KEYS, keep="last").set_index(list(KEYS))
    found = found[found.index.isin(place.index)]
    return found.loc[sorted(found.index, key=lambda key: place[key])].reset_index()[list(FIELDS)]
