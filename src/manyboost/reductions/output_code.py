"""Error-correcting output codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.maths.code_matrices import Code, exhaustive, fault_of, max_distance, one_vs_all, one_vs_one, random_code
from manyboost.maths.coupling import couple
from manyboost.maths.decoding import minus_loss, minus_weighted_loss
from manyboost.parameters import checked, choice, integer
from manyboost.reductions.coded import CodedClassifier, Floats

ROWS_OF_CLASS = 1000  # are asked how reliable the columns are
NOT_KNOWN = 0.005  # share of all the weight with which each column is taken to have been right, and wrong, for each class beforehand
CODES = ("auto", "exhaustive", "max_distance", "dense", "sparse", "one_vs_all", "one_vs_one")


def is_code(value: Any) -> bool:
    return value in CODES if isinstance(value, str) else isinstance(value, (list, tuple, np.ndarray, Mapping)) or hasattr(value, "index")


@dataclass(kw_only=True, eq=False, repr=False)
class OutputCodeClassifier(CodedClassifier):
    """One classifier for each column of a code matrix, which splits the classes in two; the class whose row is nearest to the answers.

    An answer is the log-odds of a classifier that has probabilities, else its margin. Probabilities come from coupling (the generalised
    Bradley-Terry model of Huang, Weng and Lin 2006); where they are calibrated, from the weighted loss.

    Parameters
    ----------
    code : str, array, dict or data frame
        "exhaustive": all splits, for at most 7 classes. "dense" and "sparse" (half of the entries 0): the best of many random codes.
        "max_distance": a dense code whose rows and columns were driven apart. "one_vs_all", "one_vs_one". "auto": exhaustive for at most 6
        classes, else max_distance. Or a matrix of -1, 0 and 1 in the order of ``classes_``; ``{label: row}``; or a data frame
        with the labels as index, whose columns describe the classes (True and False are 1 and -1, a missing value is 0). Of a dict
        or frame, labels without rows in y are left out, and columns that then have one side only.
    length : int or None
        Columns of "dense", "sparse" and "max_distance"; None is 10 log2 K, for "sparse" 15 log2 K.
    decode : {"weighted", "logistic", "exponential", "hinge", "hamming", "coupling"}
        Decide by the least sum of this loss of the answers times the entries of a row, by the least number of wrong signs, or by the
        coupled probabilities. "weighted" is the logistic loss, in which a column counts for a class as often as it was right for training
        rows of that class (Escalera et al. 2010): no column separates all classes well. ``predict`` is the highest of ``predict_proba``
        with "coupling", or with "weighted" where probabilities are calibrated, and may differ else.
    SHARED
    Attributes
    ----------
    ATTRIBUTES
    reliability_ : (K, c) array
        The share of each class's training rows for which each column is right; 0 where it leaves the class out.

    References
    ----------
    T. G. Dietterich, G. Bakiri: Solving multiclass learning problems via error-correcting output codes. JAIR 2 (1995).
    E. L. Allwein, R. E. Schapire, Y. Singer: Reducing multiclass to binary. JMLR 1 (2000).
    S. Escalera, O. Pujol, P. Radeva: On the decoding process in ternary error-correcting output codes. PAMI 32 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from manyboost import OutputCodeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OutputCodeClassifier(estimator=GaussianNB(), random_state=0).fit(X, y)
    >>> model.code_.shape, model.n_correctable_
    ((10, 34), 8)
    """

    code: Any = checked("auto", "one of " + ", ".join(map(repr, CODES)) + ", an array, a dict or a data frame", is_code)
    length: int | None = integer(None, low=1, none="10 log2 K, 15 log2 K with zeros")
    decode: str = choice("weighted", "weighted", "logistic", "exponential", "hinge", "hamming", "coupling")

    def _make_code(self, rng: np.random.Generator) -> Code:
        K = len(self.classes_)
        if not isinstance(self.code, str):
            return self._given_code()
        if K == 2:
            return one_vs_all(2)
        if self.code == "exhaustive" or (self.code == "auto" and K <= 6 and self.length is None):
            return exhaustive(K)
        if self.code in ("dense", "sparse"):
            return random_code(K, self.length, self.code == "sparse", rng)
        if self.code in ("max_distance", "auto"):
            return max_distance(K, self.length, rng)
        return one_vs_all(K) if self.code == "one_vs_all" else one_vs_one(K)

    def _given_code(self) -> Code:
        labels = self.classes_.tolist()
        named = isinstance(self.code, Mapping) or hasattr(self.code, "loc")
        if named:
            known = list(self.code) if isinstance(self.code, Mapping) else self.code.index.tolist()
            for label in labels:
                if known.count(label) != 1:
                    raise ValueError(f"code must have one row for the class {label!r}; it has {known.count(label)}.")
            rows = [self.code[label] for label in labels] if isinstance(self.code, Mapping) else self.code.loc[labels].to_numpy().tolist()
        else:
            rows = self.code
        matrix = _signs(rows)
        if matrix.shape[:1] != (len(labels),):
            raise ValueError(f"code has the shape {matrix.shape}; with {len(labels)} classes it must have {len(labels)} rows.")
        if named and matrix.ndim == 2:
            matrix = matrix[:, (matrix == 1).any(axis=0) & (matrix == -1).any(axis=0)]
        fault = fault_of(matrix)
        if fault is not None:
            raise ValueError(f"code {fault}.")
        return matrix

    def _decode(self, f: Floats) -> Floats:
        if self.decode == "coupling":
            return np.asarray(np.log(self._link(f * self.temperature_)))
        if self.decode == "weighted":
            return self._evidence(f * self.temperature_)
        return minus_loss(f, self.code_, self.decode)

    def _evidence(self, log_odds: Floats) -> Floats:
        return minus_weighted_loss(log_odds, self.code_, self.reliability_)

    def _look_back(self, answers: Callable[[NDArray[np.intp]], Floats], y: NDArray[np.intp], weight: Floats) -> None:
        rows = np.concatenate([_evenly(np.flatnonzero(y == k)) for k in range(len(self.classes_))])
        right = answers(rows) * self.code_[y[rows]] > 0
        beforehand = NOT_KNOWN * weight[rows].sum()
        self.reliability_ = np.zeros(self.code_.shape)
        for k, entries in enumerate(self.code_):
            of_class = y[rows] == k
            share = weight[rows[of_class]]
            known = (share @ right[of_class] + beforehand) / (share.sum() + 2 * beforehand)
            self.reliability_[k] = np.where(entries != 0, known, 0.0)

    def _link(self, log_odds: Floats) -> Floats:
        return couple(log_odds, self.code_, self._weight_of_columns)


def _evenly(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """At most so many of the rows as are asked, at even distances."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS_OF_CLASS)).astype(np.intp)]


def _signs(rows: Any) -> NDArray[np.int8]:
    """True and False as 1 and -1, missing values as 0."""
    try:
        table = np.array(rows, object)
        signs = np.array([_sign(value) for value in table.ravel()], float).reshape(table.shape)
    except (TypeError, ValueError):
        raise ValueError("code must be a matrix of -1, 0 and 1, with rows of one length.") from None
    strange = signs[~np.isin(signs, (-1, 0, 1))]
    if strange.size:
        raise ValueError(f"code has the entry {strange[0]:g}, which is not -1, 0 or 1 (nor True, False or missing).")
    return signs.astype(np.int8)


def _sign(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)):
        return 1.0 if value else -1.0
    return 0.0 if value is None or value != value else float(value)
