"""Steps, weights and scores of fixed responses, against numbers that were computed without this library.

``golden_steps.json`` holds eight rows of three classes, three rounds of responses, and what each algorithm must make of them. To add an
algorithm: its numbers to the file, and a line to ``CASES``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hook_driver import Floats, Round, drive, shares

from manyboost import (
    AdaBoostECCClassifier,
    AdaBoostHMClassifier,
    AdaBoostM1Classifier,
    AdaBoostM2Classifier,
    AdaBoostMHClassifier,
    AdaBoostMMClassifier,
    AdaBoostOCClassifier,
    AOSOLogitBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    PIBoostClassifier,
    RebelClassifier,
    SAMMEClassifier,
)
from manyboost.algorithms import adaboost_ecc, adaboost_oc, rebel
from manyboost.estimator import BoostingClassifier
from manyboost.maths.shared_signs import shared_coefficients

GOLDEN = json.loads((Path(__file__).parent / "golden_steps.json").read_text())
Y, K = np.array(GOLDEN["inputs"]["y"]), 3
LABELS = np.array(GOLDEN["inputs"]["label_responses"])
SIGNS = np.array(GOLDEN["inputs"]["sign_responses"])
# what the weak hypotheses are: the leaf of every row in every round, and the number of leaves
# where a hypothesis gives every row probabilities of its own, each row is a leaf
PROBABILITIES = np.array(GOLDEN["inputs"]["prob_responses"])
RESPONSES = {"labels": (LABELS, K), "signs": ((SIGNS > 0).astype(int), 2), "rows": (np.tile(np.arange(len(Y)), (3, 1)), len(Y))}
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
            patch.setattr(rebel, "coefficients_and_signs", lambda plus, minus: (shared_coefficients(F, plus, minus), F))
            return super().step(*asked)


def given_probabilities(algorithm: BoostingClassifier, scale: float = 1.0, shift: float = 0.0) -> BoostingClassifier:
    """The algorithm with leaves that say the probabilities of the file, ``scale * h + shift`` in its own terms."""
    rounds = iter(scale * PROBABILITIES + shift)
    algorithm.responses = lambda *asked: next(rounds)
    return algorithm


@pytest.fixture(scope="module", autouse=True)
def given_colourings() -> Iterator[None]:
    """AdaBoost.OC and ECC take the colourings of the file."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (adaboost_oc, adaboost_ecc):
            rounds = iter(np.array(GOLDEN["inputs"]["colourings"], float))
            patch.setattr(module, "colouring", lambda *asked, rounds=rounds: next(rounds))
        yield


def simplex_scores(rounds: list[Round]) -> Floats:
    """sum a h, where the columns are sum a (2h - 1)."""
    return (rounds[-1].F + sum(made.answers[0].size for made in rounds)) / 2


def unscaled(state: Any) -> Floats:
    """Weights that the file does not divide by N."""
    return len(Y) * state.values


@dataclass(frozen=True)
class Case:
    """How an entry of the file is reproduced."""

    algorithm: BoostingClassifier
    responses: str
    steps: Callable[[Round], Any] | None = None
    weights: Callable[[Any], Floats] = shares
    scores: Callable[[list[Round]], Floats] = lambda rounds: rounds[-1].F


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
    # the loss of these weights is their mean over rows
    "REBEL": Case(RebelOfGivenSigns(leaves="shared"), "signs", coefficients_of_sign, unscaled),
    "M1": Case(AdaBoostM1Classifier(), "labels", sizes),
    "M2_hard": Case(AdaBoostM2Classifier(), "labels", sizes),
    "M2_prob": Case(given_probabilities(AdaBoostM2Classifier(response="probability")), "rows", sizes),
    "MH_simplex": Case(
        given_probabilities(AdaBoostMHClassifier(leaves="probability", weights="balanced"), 2.0, -1.0), "rows", sizes, scores=simplex_scores
    ),
    "MH_simplex_literal_fig2": Case(
        given_probabilities(AdaBoostMHClassifier(leaves="probability", weights="balanced", weight_update="literal"), 2.0, -1.0),
        "rows",
        sizes,
        scores=simplex_scores,
    ),
    "HM": Case(given_probabilities(AdaBoostHMClassifier(line_search="bound")), "rows", sizes),
    "MM_edge": Case(AdaBoostMMClassifier(line_search="edge"), "labels", sizes, unscaled),
    "MM_exact": Case(AdaBoostMMClassifier(), "labels", sizes, unscaled),
    "OC": Case(AdaBoostOCClassifier(), "signs", sizes),
    "ECC": Case(AdaBoostECCClassifier(), "signs", sizes),
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
    np.testing.assert_allclose(case.scores(rounds), expected["F"], **CLOSE)
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
