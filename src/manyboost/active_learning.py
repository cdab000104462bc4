"""Active learning by a committee: ask for the labels on which the members of a boosted classifier disagree most.

After Huang, Ertekin, Song, Zha and Giles (2007), who do so with their booster GAMBLE; here any of our classifiers is the committee, its
members being the rounds. It starts from a few rows, then boosts some rounds, asks for the labels of some rows of the pool, and goes on
boosting on what it now knows: weights come from the scores that the earlier rounds give to the new rows. The paper's numbers were not at
hand, so how many rows and rounds there are is left to parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, indexable

from manyboost.estimator import BoostingClassifier
from manyboost.protocol import Floats

DISAGREEMENTS = ("votes", "margin")


def disagreement(model: BoostingClassifier, X: Any, by: str = "votes") -> Floats:
    """How much the rounds of a fitted model disagree about each row of X, (n,).

    Parameters
    ----------
    model : BoostingClassifier
        Fitted.
    X : array, sparse matrix or data frame of shape (n, p)
    by : {"votes", "margin"}
        The entropy of the rounds' votes, each round voting for the class whose score it raises most; or minus the distance between the
        two highest scores.
    """
    if by not in DISAGREEMENTS:
        raise ValueError(f"by={by!r} is not allowed; give one of {', '.join(map(repr, DISAGREEMENTS))}.")
    check_is_fitted(model)
    scores = [model._scores(columns).copy() for columns in model._staged(X)]
    if not scores:  # no round was made: nobody has a say
        return np.zeros(X.shape[0] if hasattr(X, "shape") else len(X))
    if by == "margin":
        second, first = np.sort(scores[-1], axis=1)[:, -2:].T
        return np.asarray(second - first)
    K = scores[0].shape[1]
    raised = np.diff(np.stack([np.zeros_like(scores[0]), *scores]), axis=0).argmax(axis=2)  # (rounds, n)
    share = np.stack([(raised == k).mean(axis=0) for k in range(K)])
    return np.asarray(-(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=0))


class QueryByCommitteeClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Fits a boosted classifier to few rows, those whose labels are worth asking for.

    ``fit`` is given all labels and looks only at those it has asked for; ``asked_`` says which.

    Parameters
    ----------
    classifier : BoostingClassifier
        The committee.
    n_start : int
        Rows drawn at random to start from.
    n_asked : int
        Rows whose labels are asked for in all, the first ones included; all rows where there are fewer.
    batch : int
        Rows asked for at a time.
    rounds : int
        Rounds of boosting between two questions; after the last, it boosts on to the classifier's ``n_estimators``, if that is more.
    by : {"votes", "margin"}
        What disagreement is, see :func:`disagreement`.
    go_on : bool
        Keep the trees when rows are added, and the bins of the first rows with them; else every fit is anew. A class that is seen for the
        first time, and an end that the classifier came to by itself, always make the fit anew.
    random_state : int, RandomState or None
        Seed of the first rows; the classifier has its own.

    Attributes
    ----------
    classifier_ : the fitted classifier
    classes_ : array of the class labels that were seen
    asked_ : numbers of the rows whose labels were asked for, in their order

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from manyboost import GambleClassifier
    >>> from manyboost.active_learning import QueryByCommitteeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> learner = QueryByCommitteeClassifier(GambleClassifier(random_state=0), n_asked=60, random_state=0).fit(X, y)
    >>> len(learner.asked_), learner.score(X, y) > 0.9
    (60, True)
    """

    def __init__(
        self, classifier: Any, *, n_start: int = 30, n_asked: int = 200, batch: int = 10, rounds: int = 5, by: str = "votes",
        go_on: bool = True, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.classifier = classifier
        self.n_start = n_start
        self.n_asked = n_asked
        self.batch = batch
        self.rounds = rounds
        self.by = by
        self.go_on = go_on
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> QueryByCommitteeClassifier:
        """Ask for labels and boost."""
        self._check()
        X, y = indexable(X, y)
        labels = np.asarray(y)
        n = len(labels)
        most = min(self.n_asked, n)
        order = check_random_state(self.random_state).permutation(n)
        asked = order[: min(self.n_start, most)]
        model = self._boosted(None, X, labels, asked, last=len(asked) == most)
        while len(asked) < most:
            pool = np.setdiff1d(np.arange(n), asked)
            torn = disagreement(model, _rows(X, pool), self.by)
            asked = np.append(asked, pool[np.argsort(-torn, kind="stable")[: min(self.batch, most - len(asked))]])
            model = self._boosted(model, X, labels, asked, last=len(asked) == most)
        self.classifier_, self.asked_, self.classes_ = model, asked, model.classes_
        return self

    def _check(self) -> None:
        if not isinstance(self.classifier, BoostingClassifier):
            raise TypeError(f"classifier={self.classifier!r} is not allowed; give one of ManyBoost's classifiers.")
        for name in ("n_start", "n_asked", "batch", "rounds"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} is not allowed; give a whole number of at least 1.")
        if self.by not in DISAGREEMENTS:
            raise ValueError(f"by={self.by!r} is not allowed; give one of {', '.join(map(repr, DISAGREEMENTS))}.")

    def _boosted(self, model: Any, X: Any, labels: NDArray[Any], asked: NDArray[np.intp], last: bool) -> Any:
        """The model with some more rounds, on the rows that were asked for."""
        rows, known = _rows(X, asked), labels[asked]
        made = model.n_estimators_ if model is not None else 0
        n_rounds = made + self.rounds
        if last:
            n_rounds = max(n_rounds, self.classifier.rounds_wanted)
        new_class = model is not None and not np.isin(known, model.classes_).all()
        if model is None or new_class or not self.go_on or model._ended_by_itself():
            model = clone(self.classifier).set_params(warm_start=True)
        calibrate = self.classifier.calibrate if last else False  # it takes as long as the fit and changes no vote
        return model.set_params(n_estimators=n_rounds, calibrate=calibrate).fit(rows, known)

    @property
    def n_features_in_(self) -> int:
        return int(self.classifier_.n_features_in_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score."""
        check_is_fitted(self, "classifier_")
        return np.asarray(self.classifier_.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes that were seen."""
        check_is_fitted(self, "classifier_")
        return np.asarray(self.classifier_.predict_proba(X))

    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes that were seen."""
        check_is_fitted(self, "classifier_")
        return np.asarray(self.classifier_.decision_function(X))


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows] if hasattr(X, "shape") else [X[int(i)] for i in rows]
