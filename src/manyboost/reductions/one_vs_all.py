"""One binary problem for each class: it against all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyboost.maths.code_matrices import Code, one_vs_all
from manyboost.maths.links import normalised_sigmoid
from manyboost.reductions.coded import CodedClassifier, Floats


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsAllClassifier(CodedClassifier):
    """One classifier for each class, and the class of the surest.

    An answer is the log-odds of a classifier that has probabilities, else its margin. Probabilities are proportional to those of the
    columns. With the default estimator this is OVA-AdaBoost.

    Parameters
    ----------
    SHARED
    Attributes
    ----------
    ATTRIBUTES
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from manyboost import OneVsAllClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OneVsAllClassifier(estimator=LinearSVC()).fit(X, y).predict_proba(X[:1]).shape
    (1, 3)
    """

    def _make_code(self, rng: np.random.Generator) -> Code:
        return one_vs_all(len(self.classes_))

    def _decode(self, f: Floats) -> Floats:
        return f if len(self.classes_) > 2 else np.column_stack([-f, f]) / 2

    def _link(self, log_odds: Floats) -> Floats:
        return normalised_sigmoid(log_odds if len(self.classes_) > 2 else np.column_stack([-log_odds, log_odds]))
