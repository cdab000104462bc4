"""Who takes part in a comparison: every algorithm of the registry, one-vs-all, and the boosters of other libraries that are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from manyboost.algorithms import ALGORITHMS
from manyboost.blend import ManyBoostClassifier
from manyboost.evaluation.datasets import DataSet
from manyboost.reductions import OneVsAllClassifier

Make = Callable[[DataSet, int], Any]
CLASSIFIERS: dict[str, type[Any]] = {"manyboost": ManyBoostClassifier, **ALGORITHMS}


class UnknownName(LookupError):
    """Nothing has that name."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Contestant:
    """A name and how to make the classifier for a data set and a seed.

    ``make`` may give a list of classifiers: of these the one with the least error on the validation rows is tested.
    """

    name: str
    make: Make

    @classmethod
    def of(cls, name: str, estimator: Any) -> Contestant:
        """The same classifier for every data set, with the seed as its ``random_state`` and those of its parts."""

        def make(data: DataSet, seed: int) -> Any:
            copy = clone(estimator)
            return copy.set_params(**{name: seed for name in copy.get_params() if name.split("__")[-1] == "random_state"})

        return cls(name, make)


def ours() -> list[Contestant]:
    """ManyBoostClassifier, every algorithm of the registry and OVA-AdaBoost, at their defaults."""
    found = {kind.__name__.removesuffix("Classifier"): kind(handle_unknown="missing", n_jobs=1) for kind in CLASSIFIERS.values()}
    found["OVA-AdaBoost"] = OneVsAllClassifier(found["SAMME"])  # which for two classes is AdaBoost
    return [Contestant.of(name, estimator) for name, estimator in found.items()]


def peers() -> list[Contestant]:
    """scikit-learn's ensembles, and LightGBM, XGBoost and CatBoost where they are installed, at their defaults on one thread."""
    as_numbers = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
            make_column_selector(dtype_include="category"),
        ),
        remainder=SimpleImputer(keep_empty_features=True),
    )
    found = {
        "HistGradientBoosting": HistGradientBoostingClassifier(),
        "RandomForest": make_pipeline(as_numbers, RandomForestClassifier(n_jobs=1)),
        "scikit-learn AdaBoost": make_pipeline(as_numbers, AdaBoostClassifier(DecisionTreeClassifier(max_depth=3))),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1)
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        found["XGBoost"] = XGBClassifier(n_jobs=1, enable_categorical=True)
        found["XGBoost (vector leaves)"] = make_pipeline(as_numbers, XGBClassifier(n_jobs=1, multi_strategy="multi_output_tree"))
    out = [Contestant.of(name, estimator) for name, estimator in found.items()]
    return [*out, Contestant.of("CatBoost", _catboost())] if find_spec("catboost") else out


def _catboost() -> Any:
    """CatBoost wants the categories named, and none of them missing; a list of them as a parameter it cannot be cloned with."""
    from catboost import CatBoostClassifier

    class CatBoostOfFrames(CatBoostClassifier):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y, cat_features=[name for name in X.columns if X[name].dtype.kind not in "iuf"])

    return make_pipeline(
        FunctionTransformer(_without_missing_categories), CatBoostOfFrames(thread_count=1, verbose=0, allow_writing_files=False)
    )


def _without_missing_categories(X: Any) -> Any:
    text = X.select_dtypes("category").columns
    return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in text})


def everyone() -> list[Contestant]:
    """Ours and the installed peers."""
    return [*ours(), *peers()]


def chosen(names: Sequence[str] | None) -> list[Contestant]:
    """Contestants by name, in any spelling (``AdaBoost.MH``, ``adaboost_mh``); all of them for None.

    >>> [one.name for one in chosen(["piboost", "AdaBoost.MH"])]
    ['PIBoost', 'AdaBoostMH']
    """
    known = {one.name: one for one in everyone()}
    return list(known.values()) if names is None else [known[nearest_name(name, list(known))] for name in names]


def nearest_name(name: str, known: Sequence[str], kind: str = "algorithm") -> str:
    """The known name that is meant, however it is spelt; UnknownName with the nearest one if none is."""
    plain = {_letters(one): one for one in known}
    words = _letters(name)
    for form in (words, words.removesuffix("classifier")):
        if form in plain:
            return plain[form]
    close = get_close_matches(words, plain, 1, cutoff=0.3)
    hint = f"did you mean {plain[close[0]]!r}?" if close else f"the names are {', '.join(known)}."
    raise UnknownName(f"There is no {kind} {name!r}; {hint}")


def _letters(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def trees_each_round(estimator: Any, n_classes: int) -> int:
    """How many weak learners a round of the algorithm makes for so many classes, counted in a fit of one round.

    >>> from manyboost import PIBoostClassifier, SAMMEClassifier
    >>> trees_each_round(PIBoostClassifier(separators="pairs"), 5), trees_each_round(SAMMEClassifier(), 5)
    (15, 1)
    """
    y = np.repeat(np.arange(n_classes), 8)
    X = np.random.default_rng(0).normal(y[:, None], 0.7, (len(y), 2))
    pilot = clone(estimator).set_params(n_estimators=1, calibrate=False, min_samples_split=2, subsample=1.0, sampling="uniform")
    return int(pilot.fit(X, y).history_["n_trees"][0])


def with_weak_learners(estimator: Any, n_weak_learners: int, n_classes: int) -> Any:
    """The classifier with as many rounds as make ``n_weak_learners`` in all, and at least one: the rule of PIBoost's Table 2."""
    n_rounds = max(1, round(n_weak_learners / trees_each_round(estimator, n_classes)))
    return clone(estimator).set_params(n_estimators=n_rounds)
