"""How far the error of AdaBoost.MH at its defaults moves with the seed, beside that of the experiments which its defaults come from.

    python benchmarks/seeds.py --data DIR [--seeds 10] [--sets letter,vowel]

Those experiments had one seed, and of some sets the first folds only; here it is those folds, and every seed is a run of its own. Each
seed's error is appended to ``results/seeds.csv`` as soon as it is there; a run that was broken off goes on where it ended.
"""

from __future__ import annotations

import argparse
import csv
import sys
from itertools import islice
from pathlib import Path

import numpy as np
from accuracy import measure
from datasets import add_data_argument, data_folder, load
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from manyboost import AdaBoostMHClassifier

RESULTS = Path(__file__).parent / "results" / "seeds.csv"
FIELDS = "set seed error log_loss".split()
# folds, error and log-loss of 200 rounds in experiments with throw-away code, before there was a library
LOOKED_AT = {  # when settings were chosen: what was best by chance is among them
    "vowel": (5, 0.0172, 0.056),
    "glass": (5, 0.1868, 0.549),
    "segment": (3, 0.0123, 0.049),
    "satimage": (2, 0.0789, 0.230),
    "pendigits": (2, 0.0045, 0.019),
}
CONFIRMED = {  # with these settings
    "vehicle": (5, 0.2270, 0.501),
    "yeast": (5, 0.4050, 1.113),
    "waveform-21": (3, 0.1473, 0.332),
    "optdigits": (2, 0.0107, 0.036),
    "mfeat": (1, 0.0150, 0.046),
    "letter": (1, 0.0320, 0.117),
}
BEFORE = LOOKED_AT | CONFIRMED


def run(sets: list[str], n_seeds: int, folder: Path | None) -> None:
    known = set()
    if RESULTS.exists():
        known = {(row["set"], int(row["seed"])) for row in csv.DictReader(RESULTS.open())}
    else:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(",".join(FIELDS) + "\n")
    for name in sets:
        data = load(name, folder)
        folds = list(islice(StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y), BEFORE[name][0]))
        for seed in range(n_seeds):
            if (name, seed) in known:
                continue
            print(f"{name}, seed {seed + 1} of {n_seeds}", file=sys.stderr)
            with threadpool_limits(1):
                rows = [measure(AdaBoostMHClassifier(random_state=seed), data.X, data.y, train, test) for train, test in folds]
            means = [f"{np.mean([row[field] for row in rows]):.6g}" for field in FIELDS[2:]]
            with RESULTS.open("a") as file:
                csv.writer(file).writerow([name, seed, *means])


def table(sets: list[str]) -> str:
    """Means and standard deviations over seeds. The difference is in standard deviations of one seed, as the earlier figure is of one."""
    rows = list(csv.DictReader(RESULTS.open()))
    out = [
        "| set | folds | seeds | error % | of a seed ± | least | before | difference, ± | log-loss | before |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    differences = {}
    for name in sets:
        errors = np.array([float(row["error"]) for row in rows if row["set"] == name])
        losses = np.array([float(row["log_loss"]) for row in rows if row["set"] == name])
        if len(errors) < 2:
            continue
        n_folds, error, loss = BEFORE[name]
        deviation = errors.std(ddof=1)
        differences[name] = (errors.mean() - error) / (deviation * np.sqrt(1 + 1 / len(errors)))
        shown = " | ".join(f"{100 * value:.2f}" for value in (errors.mean(), deviation, errors.min(), error))
        out.append(f"| {name} | {n_folds} | {len(errors)} | {shown} | {differences[name]:+.1f} | {losses.mean():.4f} | {loss:.3f} |")
    out.append("")
    for title, group in (("looked at when settings were chosen", LOOKED_AT), ("not looked at before", CONFIRMED)):
        found = [differences[name] for name in group if name in differences]
        if found:
            out.append(f"Mean difference on {len(found)} sets {title}: {np.mean(found):+.2f}; by chance 0 ± {len(found) ** -0.5:.2f}.")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--sets", default=",".join(BEFORE), help="comma-separated names")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    sets = arguments.sets.split(",")
    run(sets, arguments.seeds, data_folder(arguments.data))
    print(table(sets))


if __name__ == "__main__":
    main()
