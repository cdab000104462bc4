"""Shapley values by the library shap: they add up, they are what the definition says, and shap's plots take them."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from manyboost import AdaBoostMHClassifier, AdaBoostMOClassifier, ManyBoostClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.learners import LocalizedSimilarity, NaiveBayes
from manyboost.shapley import shapley_values

shap = pytest.importorskip("shap")


def some_rows(n: int = 150) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    X[::7, 1] = np.nan
    return X, y


def by_definition(model: Any, row: Any, background: Any) -> Any:
    """(p, K): the mean over all orders of what a feature adds when it becomes known, unknown ones being those of the background."""
    p = len(row)

    def worth(known: tuple[int, ...]) -> Any:
        X = background.copy()
        X[:, known] = row[list(known)]
        added, start = model.contributions(X)
        return (start + added.sum(axis=1)).mean(axis=0)

    out = []
    for j in range(p):
        others = [k for k in range(p) if k != j]
        total = 0.0
        for size in range(p):
            for known in combinations(others, size):
                share = factorial(size) * factorial(p - size - 1) / factorial(p)
                total = total + share * (worth((*known, j)) - worth(known))
        out.append(total)
    return np.array(out)


MODELS = [
    SAMMEClassifier(n_estimators=8, random_state=0),
    PIBoostClassifier(n_estimators=4, random_state=0),
    AdaBoostMOClassifier(n_estimators=4, random_state=0),
    AdaBoostMHClassifier(n_estimators=8, random_state=0),
    ManyBoostClassifier(n_estimators=8, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_values(model: Any) -> None:
    X, y = some_rows()
    model.fit(X, y)
    added, start = model.contributions(X)
    scores = start + added.sum(axis=1)
    found = shapley_values(model, X)
    assert found.shape == (150, 3, 3)
    np.testing.assert_allclose(found.base_values[0], start, atol=1e-12)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), scores, atol=1e-9)
    background = X[:10]  # with missing values
    found = shapley_values(model, X[5:9], background)
    np.testing.assert_allclose(found.base_values[0], scores[:10].mean(axis=0), atol=1e-6)
    for at in range(4):
        np.testing.assert_allclose(found.values[at], by_definition(model, X[5 + at], background), atol=1e-5)


def test_names_tables_and_plots() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = some_rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SAMMEClassifier(n_estimators=5, random_state=0).fit(frame, np.array(["low", "middle", "high"])[y])
    found = shapley_values(model, frame)
    assert (found.feature_names, found.output_names) == (["a", "b", "c"], ["high", "low", "middle"])
    np.testing.assert_array_equal(found[:, :, "low"].values, found.values[:, :, 1])
    for plot, part in ((shap.plots.bar, found[:, :, "high"]), (shap.plots.waterfall, found[0, :, "high"])):
        plot(part, show=False)
        plt.close("all")
    full = np.nan_to_num(X)
    model = SAMMEClassifier(n_estimators=5, random_state=0).fit(full, y)
    np.testing.assert_array_equal(shapley_values(model, sparse.csr_array(full)).values, shapley_values(model, full).values)


def test_what_has_no_shapley_values_says_so() -> None:
    X, y = some_rows()
    with pytest.raises(TypeError, match="models of our own trees"):
        shapley_values(RebelClassifier(estimator=LocalizedSimilarity(), n_estimators=3).fit(X, y), X)
    with pytest.raises(TypeError, match="models of our own trees"):
        shapley_values(NaiveBayes().fit(X, y), X)
    frame = pd.DataFrame({"word": pd.Categorical(np.array(["x", "y", "z"])[y]), "a": X[:, 0]})
    with pytest.raises(ValueError, match="columns of categories"):
        shapley_values(SAMMEClassifier(n_estimators=3).fit(frame, y), frame)
    with pytest.raises(ValueError, match="no trees"):
        shapley_values(SAMMEClassifier(n_estimators=3).fit(np.zeros((30, 2)), np.arange(30) % 3), np.zeros((2, 2)))
