"""The contract: scikit-learn's checks, with no expected failure, and ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimators import each, each_with_settings
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import manyboost
from manyboost import SAMMEClassifier, checks
from manyboost.algorithms import ALGORITHMS
from manyboost.checks import CHECKS, check_algorithm, run_check
from manyboost.learners import LocalizedSimilarity
from manyboost.protocol import Answer

X, Y = checks.some_rows()
MORE_OF_SCIKIT_LEARN = {  # outside of check_estimator: how each is called with a name and an estimator
    "check_dataframe_column_names_consistency": lambda check, *who: check(*who),
    "check_classifiers_predictions": lambda check, *who: check(X, Y, *who),
    "check_estimators_data_not_an_array": lambda check, *who: check(*who, X, Y, "NotAnArray"),
    "check_estimator_cloneable": lambda check, *who: check(*who),
}


# settings other than the defaults pass our own checks below; here a few that take other ways
OTHER_WAYS = [
    SAMMEClassifier(n_estimators=5, subsample=0.5, calibrate=False),
    manyboost.AdaBoostMHClassifier(n_estimators=5, sampling="smote", splitter="best", grow_by="classes"),
    manyboost.PIBoostClassifier(n_estimators=3, separators="all", probability="separators", calibrate=False),
    manyboost.RebelClassifier(n_estimators=5, estimator=LocalizedSimilarity()),
]


@parametrize_with_checks(each() + OTHER_WAYS)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", each(), ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("name", MORE_OF_SCIKIT_LEARN)
def test_more_of_scikit_learn(estimator, name):
    if not hasattr(estimator_checks, name):
        pytest.skip("this scikit-learn does not have the check")
    MORE_OF_SCIKIT_LEARN[name](getattr(estimator_checks, name), type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", each(), ids=lambda estimator: type(estimator).__name__)
def test_memory_mapped_input_that_may_be_written(estimator, tmp_path):
    X, y = checks.odd_rows()
    mapped = np.memmap(tmp_path / "rows", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    estimator = clone(estimator).set_params(random_state=0)
    assert checks.digest(clone(estimator).fit(mapped, y)) == checks.digest(clone(estimator).fit(X, y))
    assert_array_equal(mapped, X)


DEFAULTS = each(n_estimators=6)
OTHER_SETTINGS = each_with_settings(n_estimators=6)[len(DEFAULTS) :]
OF_THE_ALGORITHM = [  # the other checks are of what algorithms share
    checks.check_decisions_agree,
    checks.check_warm_start,
    checks.check_threads,
    checks.check_order_of_rows,
    checks.check_names_of_classes,
    checks.check_weights,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", DEFAULTS, ids=repr)
def test_ours(estimator, check):
    run_check(check, estimator)


@pytest.mark.parametrize("check", OF_THE_ALGORITHM, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", OTHER_SETTINGS, ids=repr)
def test_ours_in_other_settings(estimator, check):
    run_check(check, estimator)


def test_every_algorithm_is_public():
    for algorithm in ALGORITHMS.values():
        assert getattr(manyboost, algorithm.__name__) is algorithm
        assert algorithm.__name__ in manyboost.__all__
        assert "Shared parameters" in algorithm.__doc__


# ---- the checks themselves must be able to fail ----------------------------------------------------------------------------------------


class Wrong(SAMMEClassifier):
    """SAMME with a mistake."""


class ForgetsTheTemperature(Wrong):
    """SAMME with a mistake."""

    def link(self, columns):
        return super().link(-columns)


class DoesNotSumToOne(Wrong):
    """SAMME with a mistake."""

    def link(self, columns):
        return super().link(columns) / 2


class DependsOnTheClock(Wrong):
    """SAMME with a mistake."""

    drawn = np.random.default_rng(0)

    def step(self, task, problem, leaves):
        answer = super().step(task, problem, leaves)
        return Answer(answer.vectors * self.drawn.uniform(0.5, 1), answer.size) if isinstance(answer, Answer) else answer


class CountsRows(Wrong):
    """SAMME with a mistake."""

    def step(self, task, problem, leaves):
        answer = super().step(task, problem, leaves)
        return Answer(answer.vectors / len(task.y), answer.size) if isinstance(answer, Answer) else answer


class FavoursTheFirstClass(Wrong):
    """SAMME with a mistake."""

    def step(self, task, problem, leaves):
        answer = super().step(task, problem, leaves)
        return Answer(answer.vectors + 5.0 * (np.arange(task.K) == 0), answer.size) if isinstance(answer, Answer) else answer


class ChangesItsState(Wrong):
    """SAMME with a mistake."""

    def update(self, task, w, gains):
        self.n_updates = getattr(self, "n_updates", 0) + 1
        after = super().update(task, w, gains)
        return replace(after, values=after.values * (1 + self.n_updates * task.y))


@pytest.mark.parametrize(
    ("wrong", "promise"),
    [
        (ForgetsTheTemperature, "highest probability"),
        (DoesNotSumToOne, "sum to one"),
        (DependsOnTheClock, "bit for bit|same random_state"),
        (CountsRows, "weight two is two rows"),
        (FavoursTheFirstClass, "order they stand in|better than the classes"),
        (ChangesItsState, "bit for bit"),
    ],
)
def test_a_wrong_algorithm_is_found_out(wrong, promise):
    with pytest.raises(AssertionError, match=promise) as error:
        check_algorithm(wrong(n_estimators=6, max_depth=2))
    assert wrong.__name__ in str(error.value)


class Mine(SAMMEClassifier):
    """An algorithm that is in no registry."""


def test_a_right_algorithm_of_a_user_passes():
    assert Mine not in ALGORITHMS.values()
    check_algorithm(Mine(n_estimators=3, max_depth=2))


def test_threads_are_forced_only_for_a_while():
    usual = checks.crew.THREAD_WORK
    with pytest.raises(RuntimeError), checks.threads_for_small_tables():
        assert checks.crew.THREAD_WORK == 1
        raise RuntimeError
    assert checks.crew.THREAD_WORK == usual
