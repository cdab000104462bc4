"""The code of a classifier: what every column says about every class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyboost.plots.drawing import axes


@dataclass
class CodeMatrixDisplay:
    """Classes down, columns of the code across: one colour for, one against, white for neither.

    Parameters
    ----------
    code : (K, c) numbers
    classes : names of the classes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import PIBoostClassifier
    >>> model = PIBoostClassifier(n_estimators=1, separators="singles", random_state=0).fit(*load_wine(return_X_y=True))
    >>> CodeMatrixDisplay.from_estimator(model).code.shape
    (3, 3)
    """

    code: NDArray[np.float64]
    classes: NDArray[Any]
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> CodeMatrixDisplay:
        """From a fitted reduction (its ``code_``) or an algorithm whose columns are not the scores (its ``decoder``)."""
        code = getattr(estimator, "code_", None)
        if code is None and hasattr(estimator, "decoder"):
            decoder = estimator.decoder(len(estimator.classes_))
            code = None if decoder is None else decoder.T
        if code is None:
            raise TypeError(f"{type(estimator).__name__} has no code: its columns are the scores of the classes themselves.")
        return cls.from_code(code, estimator.classes_, ax=ax)

    @classmethod
    def from_code(cls, code: ArrayLike, classes: ArrayLike | None = None, *, ax: Any = None) -> CodeMatrixDisplay:
        """From a matrix, (K, c)."""
        numbers = np.asarray(code, np.float64)
        if numbers.ndim != 2:
            raise ValueError(f"code has shape {numbers.shape}; it must be classes by columns.")
        return cls(numbers, np.arange(len(numbers)) if classes is None else np.asarray(classes)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CodeMatrixDisplay:
        """Draw."""
        K, c = self.code.shape
        ax = axes(ax, (1.5 + min(0.3 * c, 14), 1.2 + 0.3 * K))
        most = float(np.abs(self.code).max()) or 1.0
        ax.imshow(self.code, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
        ax.set(xticks=range(0, c, max(1, c // 15)), yticks=range(K), xlabel="column", ylabel="class")
        ax.set_yticklabels(self.classes)
        ax.set_xticks(np.arange(-0.5, c), minor=True)
        ax.set_yticks(np.arange(-0.5, K), minor=True)
        ax.grid(which="minor", color="#FFFFFF", linewidth=0.8)
        ax.tick_params(which="minor", length=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self
