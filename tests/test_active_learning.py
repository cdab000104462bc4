"""Query by committee: what is asked, when the fit goes on and when it starts anew, what disagreement is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.datasets import load_iris

from manyboost import GambleClassifier, LogitBoostClassifier, SAMMEClassifier
from manyboost.active_learning import QueryByCommitteeClassifier, disagreement
from manyboost.checks import some_rows

X, Y = some_rows()
SMALL: dict[str, Any] = {"n_estimators": 12, "max_leaf_nodes": 6, "random_state": 0, "calibrate": False}


def learner(**parameters: Any) -> QueryByCommitteeClassifier:
    return QueryByCommitteeClassifier(
        GambleClassifier(**SMALL), **{"n_start": 20, "n_asked": 60, "batch": 8, "rounds": 3, "random_state": 0, **parameters}
    )


def test_as_many_rows_are_asked_for_as_allowed() -> None:
    made = learner().fit(X, Y)
    assert len(made.asked_) == len(set(made.asked_.tolist())) == 60
    assert len(learner(n_asked=10_000, batch=50).fit(X, Y).asked_) == len(Y)
    assert_array_equal(made.asked_, learner().fit(X, Y).asked_)
    assert made.asked_[:20].tolist() == learner(n_asked=20).fit(X, Y).asked_.tolist()


def test_labels_that_were_not_asked_for_have_no_say() -> None:
    made = learner().fit(X, Y)
    others = np.setdiff1d(np.arange(len(Y)), made.asked_)
    lies = Y.copy()
    lies[others] = (Y[others] + 1) % 3
    again = learner().fit(X, lies)
    assert_array_equal(again.asked_, made.asked_)
    assert_array_equal(again.predict_proba(X), made.predict_proba(X))


def test_the_most_disputed_rows_are_asked_for_next() -> None:
    start = learner(n_asked=20).fit(X, Y)
    first = clone(start.classifier).set_params(n_estimators=3).fit(X[start.asked_], Y[start.asked_])
    pool = np.setdiff1d(np.arange(len(Y)), start.asked_)
    torn = disagreement(first, X[pool])
    asked = learner(n_asked=28).fit(X, Y).asked_[20:]
    assert set(asked) == set(pool[np.argsort(-torn, kind="stable")[:8]])
    assert torn.max() > torn.min()


def test_rounds_go_on_or_start_anew() -> None:
    going, anew = (learner(go_on=go_on, n_asked=28).fit(X, Y) for go_on in (True, False))
    assert going.classifier_.n_estimators_ == anew.classifier_.n_estimators_ == 12
    first = learner(n_asked=20).fit(X, Y).classifier_.set_params(n_estimators=3)
    begun = clone(first).fit(X[going.asked_[:20]], Y[going.asked_[:20]])
    kept = going.classifier_.forest_.first_rounds(3)
    assert_array_equal(kept.values, begun.forest_.values)
    whole = clone(going.classifier).set_params(n_estimators=15).fit(X[anew.asked_], Y[anew.asked_])
    assert_array_equal(anew.classifier_.forest_.values, whole.forest_.first_rounds(12).values)


def test_a_new_class_and_a_classifier_that_ended_start_anew() -> None:
    iris, species = load_iris(return_X_y=True)
    rare = np.where(np.arange(150) == 149, 3, species)  # seen late, if at all
    made = QueryByCommitteeClassifier(GambleClassifier(**SMALL), n_start=10, n_asked=150, batch=70, random_state=0).fit(iris, rare)
    assert made.classes_.tolist() == [0, 1, 2, 3]
    ended = QueryByCommitteeClassifier(SAMMEClassifier(max_depth=None, n_estimators=5), n_start=20, n_asked=60, random_state=0)
    assert ended.fit(iris, species).score(iris, species) > 0.9


def test_disagreement() -> None:
    model = LogitBoostClassifier(**SMALL).fit(X, Y)
    stages = np.stack([np.zeros((len(X), 3)), *model.staged_decision_function(X)])
    votes = np.diff(stages, axis=0).argmax(axis=2)
    expected = [entropy(np.bincount(of_row, minlength=3)) for of_row in votes.T]
    assert_allclose(disagreement(model, X), expected, atol=1e-12)
    two = np.sort(model.decision_function(X), axis=1)[:, -2:]
    assert_allclose(disagreement(model, X, by="margin"), two[:, 0] - two[:, 1])
    nothing = GambleClassifier(**SMALL).fit(np.zeros((6, 1)), np.arange(6) % 3)
    assert_array_equal(disagreement(nothing, np.zeros((4, 1))), np.zeros(4))


@pytest.mark.parametrize("convert", [sparse.csr_array, pd.DataFrame], ids=["sparse", "frame"])
def test_tables(convert: Any) -> None:
    assert_array_equal(learner().fit(convert(X), Y).predict(convert(X)), learner().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"by": "chance"}, ValueError), ({"batch": 0}, ValueError), ({"n_start": 2.5}, ValueError), ({"classifier": "any"}, TypeError)],
)
def test_wrong_parameters(wrong: dict[str, Any], error: type[Exception]) -> None:
    name = next(iter(wrong))
    with pytest.raises(error, match=f"^{name}={wrong[name]!r} is not allowed; give "):
        learner().set_params(**wrong).fit(X, Y)
