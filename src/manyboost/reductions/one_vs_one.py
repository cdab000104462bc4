"""One binary problem for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyboost.maths.code_matrices import Code, one_vs_one
from manyboost.maths.coupling import couple
from manyboost.maths.decoding import sums, votes
from manyboost.parameters import choice
from manyboost.reductions.coded import CodedClassifier, Floats


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsOneClassifier(CodedClassifier):
    """One classifier for each pair of classes, fitted on their rows alone.

    An answer is the log-odds of a classifier that has probabilities, else its margin. Probabilities come from pairwise coupling (Hastie and
    Tibshirani 1998): those p whose ratios p_i / (p_i + p_j) are closest to what the pairs say.

    Parameters
    ----------
    decode : {"coupling", "vote", "vote+score", "score"}
        Decide by the coupled probabilities; by the pairs won, the first of equals; by these and, among equals, the sum of the answers (as
        scikit-learn); or by that sum alone. With all but the first, ``predict`` may differ from the highest of ``predict_proba``.
    SHARED
    Attributes
    ----------
    ATTRIBUTES
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from manyboost import OneVsOneClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OneVsOneClassifier(estimator=LinearSVC()).fit(X, y).predict_proba(X[:1]).shape
    (1, 3)
    """

    decode: str = choice("coupling", "coupling", "vote", "vote+score", "score")

    def _make_code(self, rng: np.random.Generator) -> Code:
        return one_vs_one(len(self.classes_))

    def _decode(self, f: Floats) -> Floats:
        if self.decode == "coupling":
            return np.asarray(np.log(self._link(f * self.temperature_)))
        if self.decode == "vote":
            return votes(f, self.code_)
        sure = sums(f, self.code_)
        # less than a third of a vote, so that votes decide first
        return sure if self.decode == "score" else votes(f, self.code_) + sure / (3 * (np.abs(sure) + 1))

    def _link(self, log_odds: Floats) -> Floats:
        return couple(log_odds, self.code_, self._weight_of_columns)
