"""The support vector machines beside LIBLINEAR's and LIBSVM's (through scikit-learn): optimum, time to it, and error.

    python benchmarks/svm.py --data DIR [--parts equal,linear,kernel,chosen,splits,sgd] [--again]

CPU seconds of one thread, the least of ``--repeats`` runs in turns. Results are written to ``results/svm.json`` after each data set; what
is there is not measured again, but with ``--again``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from clock import least_times
from datasets import add_data_argument, data_folder, load
from scipy import sparse
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from manyboost import LinearMulticlassSVC, MulticlassSVC

RESULTS = Path(__file__).parent / "results" / "svm.json"
EQUAL = {"iris": 1.0, "wine": 1.0, "vowel": 0.1, "satimage": 0.01, "segment": 0.1}
LINEAR = {"vowel": 1.0, "satimage": 0.1, "pendigits": 0.1, "letter": 0.1, "usps": 0.1, "cnae9": 1.0}
KERNEL = {"pendigits": (10.0,), "usps": (10.0,), "letter": (10.0,), "satimage": (10.0, 100.0, 1000.0)}
CHOSEN = {  # values of C, and in how many of four outer folds they are chosen
    "pendigits": ((1.0, 3.0, 10.0, 30.0), 4),
    "usps": ((1.0, 3.0, 10.0, 30.0), 4),
    "letter": ((3.0, 10.0), 4),
}
GAMMAS = (1.0, 2.0, 4.0)  # as multiples of 1 / p
SPLITS = {"letter": ((4.0, 2.0), (10.0, 2.0), (3.0, 3.0), (10.0, 3.0), (3.0, 4.0))}  # C and such multiples
N_SPLITS = 4


def scaled(name: str, folder: Path | None, stored: str = "dense") -> tuple[Any, np.ndarray]:
    data = load(name, folder)
    if stored == "sparse":
        return MaxAbsScaler().fit_transform(sparse.csr_matrix(data.X)), data.y
    return StandardScaler().fit_transform(data.X), data.y


def primal(coef: np.ndarray, intercept: np.ndarray, C: float, X: Any, y: np.ndarray) -> float:
    scores = np.asarray(X @ coef.T) + intercept
    rows = np.arange(len(y))
    beyond = scores - scores[rows, y][:, None] + 1
    beyond[rows, y] = 0
    return float(((coef**2).sum() + (intercept**2).sum()) / 2 + C * beyond.max(axis=1).sum())


def equal(name: str, folder: Path | None) -> dict[str, float]:
    """How far apart the two are at a tolerance of 1e-9, and the machine with a linear kernel from ours."""
    X, y = scaled(name, folder)
    C = EQUAL[name]
    ours = LinearMulticlassSVC(C=C, tol=1e-9, max_iter=10**6, calibrate=False, random_state=0).fit(X, y)
    theirs = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-9, max_iter=10**6, random_state=0).fit(X, y)
    kernel = MulticlassSVC(kernel="linear", C=C, tol=1e-10, max_iter=1000, calibrate=False).fit(X, y)
    return {
        "objective": ours.objective_,
        "objective_difference": abs(ours.objective_ - primal(theirs.coef_, theirs.intercept_, C, X, y)) / ours.objective_,
        "largest_weight_difference": float(max(abs(ours.coef_ - theirs.coef_).max(), abs(ours.intercept_ - theirs.intercept_).max())),
        "weights_from_dual_difference": float(abs(ours.dual_coef_.T @ X - ours.coef_).max()),
        "duality_gap": ours.duality_gap_,
        "linear_kernel_objective_difference": abs(kernel.objective_ - ours.objective_) / ours.objective_,
        "linear_kernel_score_difference": float(abs(kernel.decision_function(X) - ours.decision_function(X)).max()),
        "linear_kernel_relative_gap": kernel.duality_gap_ / kernel.objective_,
    }


def linear(name: str, stored: str, folder: Path | None, repeats: int) -> dict[str, float]:
    """Time of both at a tolerance of 1e-4, and the objectives they reach."""
    X, y = scaled(name, folder, stored)
    C = LINEAR[name]
    ours = LinearMulticlassSVC(C=C, tol=1e-4, calibrate=False, random_state=0)
    theirs = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-4, max_iter=10**5, random_state=0)
    ours.fit(X[:200], np.arange(200) % 3)
    times = least_times({"ours": lambda: ours.fit(X, y), "theirs": lambda: theirs.fit(X, y)}, repeats)
    return {
        "ours_seconds": times["ours"],
        "liblinear_seconds": times["theirs"],
        "ratio": times["ours"] / times["theirs"],
        "ours_objective": ours.objective_,
        "liblinear_objective": primal(theirs.coef_, theirs.intercept_, C, X, y),
    }


def kernel(name: str, C: float, folder: Path | None, repeats: int) -> dict[str, float]:
    """Time and error of the radial kernel beside one-vs-one machines, each at its default tolerance."""
    X, y = scaled(name, folder)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    ours, theirs = MulticlassSVC(C=C, calibrate=False), SVC(C=C)
    compile_kernels(train)
    times = least_times({"ours": lambda: ours.fit(train, y_train), "theirs": lambda: theirs.fit(train, y_train)}, repeats)
    return {
        "rows": len(y_train),
        "ours_seconds": times["ours"],
        "libsvm_seconds": times["theirs"],
        "ratio": times["ours"] / times["theirs"],
        "ours_error": 1 - ours.score(test, y_test),
        "libsvm_error": 1 - theirs.score(test, y_test),
        "relative_duality_gap": ours.duality_gap_ / ours.objective_,
        "ours_support": len(ours.support_),
        "libsvm_support": len(theirs.support_),
    }


def compile_kernels(X: np.ndarray) -> None:
    """Fit a few rows with a kernel in double and, for want of memory, in single precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for memory in (200.0, 0.1):
            MulticlassSVC(calibrate=False, cache_size=memory, max_iter=3).fit(X[:200], np.arange(200) % 3)


def chosen(name: str, folder: Path | None, repeats: int) -> dict[str, float | str]:
    """Time and error of both, each with the C and gamma that three folds of its own training rows favour; no row is tested twice."""
    X, y = scaled(name, folder)
    values, n_outer = CHOSEN[name]
    grid = {"C": values, "gamma": [factor / X.shape[1] for factor in GAMMAS]}
    inner, outer = (StratifiedKFold(n_folds, shuffle=True, random_state=0) for n_folds in (3, 4))
    makers = {"ours": MulticlassSVC(calibrate=False), "libsvm": SVC()}
    compile_kernels(X)
    seconds, wrong, choices = dict.fromkeys(makers, 0.0), {of: [] for of in makers}, {of: [] for of in makers}
    for train, test in islice(outer.split(X, y), n_outer):
        models = {of: GridSearchCV(model, grid, cv=inner).fit(X[train], y[train]).best_estimator_ for of, model in makers.items()}
        times = least_times({of: lambda model=model: model.fit(X[train], y[train]) for of, model in models.items()}, repeats)
        for of, model in models.items():
            seconds[of] += times[of]
            wrong[of].extend(model.predict(X[test]) != y[test])
            choices[of].append(f"{model.C:g}, {model.gamma * X.shape[1]:g}/p")
    return side_by_side(seconds, wrong) | {
        "ours_C_and_gamma": "; ".join(dict.fromkeys(choices["ours"])),
        "libsvm_C_and_gamma": "; ".join(dict.fromkeys(choices["libsvm"])),
    }


def splits(name: str, C: float, factor: float, folder: Path | None) -> dict[str, float]:
    """Time and error of both at the same C and gamma, on several splits of the rows."""
    X, y = scaled(name, folder)
    compile_kernels(X)
    makers = {"ours": MulticlassSVC(C=C, gamma=factor / X.shape[1], calibrate=False), "libsvm": SVC(C=C, gamma=factor / X.shape[1])}
    seconds, wrong = dict.fromkeys(makers, 0.0), {of: [] for of in makers}
    for seed in range(N_SPLITS):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
        for of, model in makers.items():
            seconds[of] += least_times({of: lambda model=model: model.fit(train, y_train)}, 1)[of]
            wrong[of].extend(model.predict(test) != y_test)
    return side_by_side(seconds, wrong)


def side_by_side(seconds: dict[str, float], wrong: dict[str, list[bool]]) -> dict[str, Any]:
    """Sums of times, errors, and the mean of the paired differences."""
    difference = np.subtract(wrong["ours"], wrong["libsvm"], dtype=float)
    return {
        "tested_rows": len(difference),
        "ours_seconds": seconds["ours"],
        "libsvm_seconds": seconds["libsvm"],
        "ratio": seconds["ours"] / seconds["libsvm"],
        "ours_error": float(np.mean(wrong["ours"])),
        "libsvm_error": float(np.mean(wrong["libsvm"])),
        "difference": difference.mean(),
        "its_standard_error": difference.std() / np.sqrt(len(difference)),
    }


def sgd(n_rows: int, folder: Path | None) -> dict[str, float]:
    """Descent beside the dual, C = 0.01, on so many rows of covertype."""
    X, y = scaled("covertype", folder)
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows], y[rows]
    dual = LinearMulticlassSVC(C=0.01, tol=1e-2, calibrate=False, random_state=0)
    descent = LinearMulticlassSVC(C=0.01, tol=1e-3, solver="sgd", calibrate=False, random_state=0)
    for model in (dual, descent):
        model.fit(X[:500], y[:500])
    times = least_times({"dual": lambda: dual.fit(X, y), "sgd": lambda: descent.fit(X, y)}, 1)
    return {
        "rows": len(y),
        "dual_seconds": times["dual"],
        "sgd_seconds": times["sgd"],
        "ratio": times["sgd"] / times["dual"],
        "dual_objective": dual.objective_,
        "dual_relative_gap": dual.duality_gap_ / dual.objective_,
        "sgd_objective": descent.objective_,
        "above_the_dual": descent.objective_ / dual.objective_ - 1,
        "above_the_lower_bound": descent.objective_ / dual.dual_objective_ - 1,
        "epochs": descent.n_iter_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_argument(parser)
    parser.add_argument("--parts", default="equal,linear,kernel,chosen,splits,sgd")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="measure what was measured before, too")
    parser.add_argument("--rows", type=int, default=10**7, help="rows of covertype at most")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    jobs: dict[str, Any] = {}
    parts = arguments.parts.split(",")
    if "equal" in parts:
        jobs |= {f"equal {name}": lambda name=name: equal(name, folder) for name in EQUAL}
    if "linear" in parts:
        for name in LINEAR:
            for stored in ("dense", "sparse") if name in ("usps", "cnae9") else ("dense",):
                jobs[f"linear {name} {stored}"] = lambda name=name, stored=stored: linear(name, stored, folder, arguments.repeats)
    if "kernel" in parts:
        for name, values in KERNEL.items():
            for C in values:
                jobs[f"kernel {name} C={C:g}"] = lambda name=name, C=C: kernel(name, C, folder, arguments.repeats)
    if "chosen" in parts:
        jobs |= {f"chosen {name}": lambda name=name: chosen(name, folder, arguments.repeats) for name in CHOSEN}
    if "splits" in parts:
        for name, pairs in SPLITS.items():
            for C, factor in pairs:
                jobs[f"splits {name} C={C:g}, gamma={factor:g}/p"] = lambda name=name, C=C, factor=factor: splits(name, C, factor, folder)
    if "sgd" in parts:
        jobs["sgd covertype"] = lambda: sgd(arguments.rows, folder)
    for title, job in jobs.items():
        if arguments.again or title not in found:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[title] = job()
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(
            title,
            " ".join(f"{name}={value if isinstance(value, str) else f'{value:.4g}'}" for name, value in found[title].items()),
            flush=True,
        )


if __name__ == "__main__":
    main()
