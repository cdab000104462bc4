"""Shapley values of models of our trees, by the library shap: exact ones (TreeSHAP), ready for its plots.

``contributions`` gives the feature of a split the change of the mean score there, on the row's own way through a tree; Shapley values are
the mean over all orders in which features may become known. Both add up to the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyboost.blend import ManyBoostClassifier
from manyboost.columns import dense_rows, feature_names
from manyboost.estimator import BoostingClassifier
from manyboost.trees.forest import Forest

Floats = NDArray[np.float64]


def shapley_values(model: Any, X: Any, background: Any = None) -> Any:
    """What each feature adds to each score of each row, as a ``shap.Explanation`` for ``shap.plots``.

    The scores are those that ``model.contributions`` adds up to: of a blend, the mean of its trees' scores, each at its temperature.

    Parameters
    ----------
    model : a fitted classifier of our own trees, or a ``ManyBoostClassifier``
        Without columns of categories, for which shap has no place.
    X : array, sparse matrix or data frame of shape (n, p)
        Missing values are allowed.
    background : like X, optional
        Rows that stand for features that are not known (interventional values). None uses the training rows in each node.

    Returns
    -------
    shap.Explanation
        With values (n, p, K), base_values (n, K), and the names of features and classes: ``explanation[:, :, "a class"]``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyboost import SAMMEClassifier
    >>> from manyboost.shapley import shapley_values
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SAMMEClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> found = shapley_values(model, X)
    >>> found.shape, found.output_names
    ((150, 4, 3), ['0', '1', '2'])
    >>> bool(abs(found.base_values + found.values.sum(axis=1) - model.decision_function(X)).max() < 1e-6)
    True
    """
    try:
        import shap
    except ImportError:
        raise ImportError("shapley_values needs the library shap; install it with: pip install 'manyboost[shap]'.") from None
    check_is_fitted(model)
    parts = _parts(model)
    reader = parts[0][0]
    if any(known is not None for known in reader._columns.categories):
        raise ValueError(
            "shapley_values: the model has columns of categories, and shap's trees split numbers only; use model.contributions(X), or give "
            "the categories as numbers (one-hot) and fit again."
        )
    trees = [tree for one, factor in parts for tree in _trees(one.forest_, one._decoder_matrix * factor)]
    if not trees:
        raise ValueError("shapley_values: the model has no trees, so that no feature adds anything.")
    rows = dense_rows(reader._read(X))
    data = None if background is None else dense_rows(reader._read(background))
    explainer = shap.TreeExplainer({"trees": trees}, data, feature_perturbation="tree_path_dependent" if data is None else "interventional")
    found = explainer(rows)
    found.feature_names = feature_names(model)
    found.output_names = [str(label) for label in model.classes_]
    return found


def _parts(model: Any) -> list[tuple[BoostingClassifier, float]]:
    """The models of trees, and what their scores are multiplied by."""
    if isinstance(model, ManyBoostClassifier):
        return [(one, share * one.temperature_) for one, share in model._trees()]
    if isinstance(model, BoostingClassifier) and isinstance(model.forest_, Forest):
        return [(model, 1.0)]
    raise TypeError(f"shapley_values is for models of our own trees, not for {model!r}; any model can be asked by shap.Explainer.")


def _trees(forest: Any, decoder: Floats) -> Iterator[dict[str, NDArray[Any]]]:
    """The trees as shap takes them, with a value for each score in the leaves."""
    sizes = np.diff(forest.members["root"], append=len(forest.nodes))
    for member, size in zip(forest.members, sizes, strict=True):
        nodes = forest.nodes[member["root"] : member["root"] + size]
        leaf = nodes["feature"] < 0
        left = np.where(leaf, -1, nodes["left"])
        right = np.where(leaf, -1, nodes["left"] + 1)
        places = nodes["left"][leaf][:, None] + np.arange(member["width"])
        values = np.zeros((len(nodes), decoder.shape[1]))
        values[leaf] = forest.values[places] @ decoder[member["column"] : member["column"] + member["width"]]
        yield {
            "children_left": left,
            "children_right": right,
            "children_default": np.where(nodes["missing_left"], left, right),
            "features": nodes["feature"],
            "thresholds": np.where(leaf, 0.0, nodes["threshold"]),
            "values": values,
            "node_sample_weight": nodes["cover"].astype(np.float64),
        }
