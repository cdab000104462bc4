"""Which features move the score of which class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import axes


@dataclass
class ClassImportancesDisplay:
    """The most important features (down) for each class (across).

    Parameters
    ----------
    importances : (p, K), shares of the whole
    features, classes : their names
    n_features : how many to show

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from manyboost import AdaBoostMHClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = AdaBoostMHClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> ClassImportancesDisplay.from_estimator(model, n_features=2).shown.shape
    (2, 3)
    """

    importances: NDArray[np.float64]
    features: NDArray[Any]
    classes: NDArray[Any]
    n_features: int = 15
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: ArrayLike | None = None, n_features: int = 15, ax: Any = None
    ) -> ClassImportancesDisplay:  # fmt: skip
        """From a fitted classifier with ``class_importances_``."""
        values = np.asarray(estimator.class_importances_, np.float64)
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        features = np.array([f"column {at}" for at in range(len(values))]) if names is None else np.asarray(names)
        if len(features) != len(values):
            raise ValueError(f"feature_names has {len(features)} names for {len(values)} features.")
        total = values.sum()
        return cls(values / total if total > 0 else values, features, estimator.classes_, n_features).plot(ax=ax)

    @property
    def order(self) -> NDArray[np.intp]:
        """The features that are shown, the most important first."""
        return np.argsort(-self.importances.sum(axis=1), kind="stable")[: self.n_features]

    @property
    def shown(self) -> NDArray[np.float64]:
        """Their importances."""
        return np.asarray(self.importances[self.order])

    def plot(self, *, ax: Any = None) -> ClassImportancesDisplay:
        """Draw."""
        shown, K = self.shown, len(self.classes)
        ax = axes(ax, (3.0 + 0.4 * K, 1.2 + 0.3 * len(shown)))
        image = ax.imshow(100 * shown, cmap="Blues", vmin=0, aspect="auto")
        ax.set(xticks=range(K), yticks=range(len(shown)), xlabel="class")
        ax.set_xticklabels(self.classes, rotation=90 if K > 6 else 0)
        ax.set_yticklabels(self.features[self.order])
        ax.figure.colorbar(image, ax=ax, label="% of the movement of all scores")
        self.ax_, self.figure_ = ax, ax.figure
        return self
