"""Steps, weights and scores of fixed responses, against numbers that were computed without this library.

``golden_steps.json`` holds eight rows of three classes, three rounds of responses, and what each algorithm must make of them. To add an
algorithm: its numbers to the file, and a line to ``CASES``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hook_driver import Floats, Round, drive, shares

from manyboost import (
    AdaBoostMHClassifier,
    AOSOLogitBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    PIBoostClassifier,
    RebelClassifier,
    SAMMEClassifier,
)
from manyboost.algorithms import rebel
from manyboost.estimator import BoostingClassifier

GOLDEN = json.loads((Path(__file__).parent / "golden_steps.json").read_text())
Y, K = np.array(GOLDEN["inputs"]["y"]), 3
LABELS = np.array(GOLDEN["inputs"]["label_responses"])
SIGNS = np.array(GOLDEN["inputs"]["sign_responses"])
# what the weak hypotheses are: the leaf of every row in every round, and the number of leaves
RESPONSES = {"labels": (LABELS, K), "signs": ((SIGNS > 0).astype(int), 2)}
F = np.array([-1.0, 1.0])  # what the two leaves of a sign say
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def sizes(made: Round) -> Any:
    """One step a problem, a plain number where there is one problem."""
    return [answer.size for answer in made.answers] if len(made.answers) > 1 else made.answers[0].size


def leaf_vectors(made: Round) -> Floats:
    return made.answers[0].vectors


def coefficients_of_sign(made: Round) -> Floats:
    """``a``, when the leaf of the response -1 adds ``-a`` and that of +1 adds ``a``."""
    down, up = made.answers[0].vectors
    np.testing.assert_array_equal(down, -up)
    return up


class RebelOfGivenSigns(RebelClassifier):
    """REBEL that takes the response for f, where it would otherwise choose the best signs for the leaves (here: +1 for both)."""

    def step(self, *asked: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rebel, "_coefficients_and_signs", lambda plus, minus: (rebel._shared_coefficients(F, plus, minus), F))
            return super().step(*asked)


@dataclass(frozen=True)
class Case:
    """How an entry of the file is reproduced."""

    algorithm: BoostingClassifier
    responses: str
    steps: Callable[[Round], Any] | None = None
    weights: Callable[[Any], Floats] = shares


def pairs_and_values(made: Round) -> list[list[float]]:
    """Of each leaf the class that is raised, the class that is lowered, and by how much."""
    return [[int(v.argmax()), int(v.argmin()), v.max()] for v in made.answers[0].vectors]


CASES = {
    # p (1 - p) of the rows; and the weights of the rows before they are divided by N
    "LogitBoost": Case(LogitBoostClassifier(), "signs", weights=lambda state: state.p * (1 - state.p)),
    "GentleBoost_zou": Case(GentleBoostClassifier(damp=False), "signs", weights=lambda state: len(Y) * state.values),
    "AOSO_two_leaves": Case(AOSOLogitBoostClassifier(), "signs", pairs_and_values),
    "SAMME": Case(SAMMEClassifier(), "labels", sizes),
    # h = 2 onehot - 1 is also what each leaf votes for here
    "MH_vector": Case(AdaBoostMHClassifier(leaves="vote", grow_by="classes"), "labels", sizes),
    "MH_real_partition": Case(AdaBoostMHClassifier(smoothing=0.5, max_confidence=100.0, grow_by="classes"), "signs", leaf_vectors),
    "PIBoost_singles": Case(PIBoostClassifier(separators="singles"), "labels", sizes),
    # the loss of these weights is their mean over rows, the file's weights are not divided by N
    "REBEL": Case(RebelOfGivenSigns(leaves="shared"), "signs", coefficients_of_sign, lambda state: len(Y) * state.values),
}


def responses_of(case: Case) -> tuple[Any, int]:
    return RESPONSES[case.responses]


def test_every_golden_entry_is_tested() -> None:
    assert set(CASES) == set(GOLDEN["results"])


@pytest.fixture(scope="module", params=sorted(CASES))
def run(request: pytest.FixtureRequest) -> tuple[Case, dict[str, Any], list[Round]]:
    case = CASES[request.param]
    responses, n_leaves = responses_of(case)
    return case, GOLDEN["results"][request.param], list(drive(case.algorithm, Y, K, responses, n_leaves=n_leaves))


def test_steps(run: tuple[Case, dict[str, Any], list[Round]]) -> None:
    case, expected, rounds = run
    assert len(rounds) == len(responses_of(case)[0])
    assert (case.steps is None) == ("steps" not in expected)
    if case.steps is not None:
        for made, step in zip(rounds, expected["steps"], strict=True):
            np.testing.assert_allclose(case.steps(made), step, **CLOSE)


def test_final_weights(run: tuple[Case, dict[str, Any], list[Round]]) -> None:
    case, expected, rounds = run
    if "weights" in expected:
        np.testing.assert_allclose(case.weights(rounds[-1].state), expected["weights"], **CLOSE)


def test_final_scores(run: tuple[Case, dict[str, Any], list[Round]]) -> None:
    case, expected, rounds = run
    np.testing.assert_allclose(rounds[-1].F, expected["F"], **CLOSE)
    if "proba" in expected:
        np.testing.assert_allclose(case.algorithm.link(rounds[-1].columns), expected["proba"], **CLOSE)


def test_losses_are_products_of_normalisers(run: tuple[Case, dict[str, Any], list[Round]]) -> None:
    _, expected, rounds = run
    if not {"Z", "loss_before_and_bound"} & set(expected):
        return
    losses = [made.state.total() for made in rounds]
    if "Z" in expected:
        np.testing.assert_allclose(losses, np.cumprod(expected["Z"]), **CLOSE)
    if "loss_before_and_bound" in expected:
        before, after = np.transpose(expected["loss_before_and_bound"])
        np.testing.assert_allclose([K / 2, *losses[:-1]], before, **CLOSE)
        np.testing.assert_allclose(losses, after, **CLOSE)


def test_signs_that_rebel_chooses_lower_the_loss_more_than_the_given_ones() -> None:
    responses, n_leaves = RESPONSES["signs"]
    (first,) = drive(RebelClassifier(leaves="shared"), Y, K, responses[:1], n_leaves=n_leaves)
    assert first.state.total() < GOLDEN["results"]["REBEL"]["loss_before_and_bound"][0][1] - 0.01
