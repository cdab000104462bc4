"""Localized similarities: is this row more like that training example, or like the other? (Appel and Perona, 2017, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from manyboost.parameters import checked, choice, integer, number


def _is_weights(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == "relevance"):
        return True
    return isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) == 1


@dataclass(kw_only=True, eq=False, repr=False)
class LocalizedSimilarity(BaseEstimator):
    """A weak learner that compares a row with one or two training examples; for ``RebelClassifier(estimator=...)``.

    A member stores the examples it compares with, so that every decision can be explained by training rows: see
    :meth:`manyboost.RebelClassifier.explain`.

    Parameters
    ----------
    mode : {"two-point", "one-point"}
        Compare with two examples (and, where that is better, with one), or ask only how near one example is.
    response : {"real", "sign"}
        The similarity itself, scaled to [-1, 1], which gives smooth boundaries, or its sign, as in the paper's proofs.
    procedure : {"anchors", "paper"}
        How a round finds its members. "anchors": random pairs of heavy rows of the two groups, compared by the Newton gain on a sample of
        the rows, and the best few by their loss on all. "paper": procedure 5.2, the heaviest isolated row and, one after the
        other, its nearest opposite rows; slower.
    metric : {"auto", "standard", "within", "none", "mean"}
        How distances are measured: columns divided by their standard deviations; also decorrelated by the covariance within the classes;
        columns as they are; or by the mean of these three squared distances, each in units of its own mean. "auto" is the mean of those
        that neighbours in held-out rows do not speak clearly against.
    coincident : {"majority", "mixed", "keep"}
        Equal rows of different classes, which nothing can part: train all of them as the class of most weight among them; as one more
        class, for which no row is ever decided; or as they are.
    feature_weights : None, "relevance" or array of shape (n_features,)
        Factors of the columns' squared distances, on top of the metric ("within" undoes most of them). "relevance" learns them: the share
        of a column's variance that lies between the classes.
    n_anchors, n_partners : int
        Heavy rows of a round, and rows of each group that they are paired with.
    n_finalists : int
        Pairs of a round whose loss is computed on all rows.
    n_screened : int
        Rows, drawn by their weight, on which pairs are compared; with as many rows or fewer, all of them.
    max_candidates : int or None
        Pairs that a round of procedure "paper" tries at most.
    cache_size : float
        Megabytes of memory for rows of distances, which later rounds ask for again. It changes the time alone, never the model.

    Notes
    -----
    Categories are one-hot coordinates, scaled so that two random rows are as far apart in expectation as in a standardised number. A
    missing number stands at the column's mean, a missing category at the mean of the coordinates.

    References
    ----------
    Appel, Perona: A simple multi-class boosting framework with theoretical guarantees and empirical proficiency. ICML (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import RebelClassifier
    >>> from manyboost.learners import LocalizedSimilarity
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    """

    limits: ClassVar[frozenset[str]] = frozenset({"min_weight_fraction_leaf"})  # of trees that mean something to it
    says_numbers: ClassVar[bool] = True  # and not labels: an algorithm must know what to do with one number for each row

    mode: str = choice("two-point", "two-point", "one-point")
    response: str = choice("real", "real", "sign")
    procedure: str = choice("anchors", "anchors", "paper")
    metric: str = choice("auto", "auto", "standard", "within", "none", "mean")
    coincident: str = choice("majority", "majority", "mixed", "keep")
    feature_weights: Any = checked(None, 'None, "relevance" or a list of non-negative factors, one for each column', _is_weights)
    n_anchors: int = integer(10, low=1)
    n_partners: int = integer(20, low=1)
    n_finalists: int = integer(2, low=1)
    n_screened: int = integer(512, low=8)
    max_candidates: int | None = integer(None, low=1, none="no limit")
    cache_size: float = number(100.0, low=0.0)

    def decoder(self, K: int) -> NDArray[np.float64] | None:
        """(K + 1, K) what columns mean for the scores where there is one more class, which is left out: the second best is decided for."""
        return np.eye(K + 1, K) if self.coincident == "mixed" else None
