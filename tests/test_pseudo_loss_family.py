"""AdaBoost.M1, M2 and M2T, MM, MR, HM and MHT: what their papers prove, and where they are the same algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hook_driver import Floats, Integers, drive
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from test_theory import CLASSES, EXACT, adaboost, error_with_ties, noisy, staged_scores

from manyboost import (
    AdaBoostHMClassifier,
    AdaBoostM1Classifier,
    AdaBoostM2Classifier,
    AdaBoostMHClassifier,
    AdaBoostMMClassifier,
    AdaBoostMRClassifier,
    SAMMEClassifier,
)
from manyboost.algorithms.adaboost_hm import margins
from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import one_hot
from manyboost.maths.steps import MAX_STEP, exponential_step, votes
from manyboost.maths.weights import Weights, shares, wrong_labels
from manyboost.protocol import Leaves, Problem, Refusal, Task
from manyboost.rows import along_direction, pair_rewards, pairs_along, scaled_pairs
from manyboost.trees.statistics import Statistics


def random_task(K: int, n: int = 40, seed: int = 0) -> tuple[Task, Floats, Floats]:
    """Rows, a distribution D over their wrong labels, and hypotheses on the simplex."""
    rng = np.random.default_rng(seed)
    task = Task.of(np.arange(n) % K, K, np.ones(n))
    D = wrong_labels(np.ones(n), task.y, K) * rng.exponential(size=(n, K))
    return task, D / D.sum(), rng.dirichlet(np.ones(K), n)


def random_labels(K: int, n: int, n_rounds: int, seed: int = 0) -> tuple[Integers, list[Integers]]:
    """Classes, and label responses that are right more often than not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return y, [np.where(rng.random(n) < 0.35, rng.integers(0, K, n), y) for _ in range(n_rounds)]


# ---- two classes ---------------------------------------------------------------------------------------------------------------------

AS_ADABOOST: dict[str, tuple[BoostingClassifier, float]] = {  # and by what the difference of the scores is to be divided
    "m1": (AdaBoostM1Classifier(), 2.0),
    "m2": (AdaBoostM2Classifier(), 2.0),
    "m2 by r": (AdaBoostM2Classifier(grow_by="r"), 2.0),
    "m2 by classes": (AdaBoostM2Classifier(grow_by="classes"), 2.0),
    "mm edge": (AdaBoostMMClassifier(line_search="edge"), 1.0),
    "mm exact": (AdaBoostMMClassifier(), 1.0),
    "mm direction": (AdaBoostMMClassifier(grow_by="direction"), 1.0),
    "m2 direction": (AdaBoostM2Classifier(grow_by="direction"), 2.0),
    "mr": (AdaBoostMRClassifier(leaves="vote"), 2.0),
    "hm": (AdaBoostHMClassifier(response="label"), 1.0),
    "hm bound": (AdaBoostHMClassifier(response="label", line_search="bound"), 1.0),
    "mh simplex": (AdaBoostMHClassifier(leaves="label", weights="balanced"), 2.0),
}


@pytest.mark.parametrize("name", AS_ADABOOST)
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_adaboost(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)
    expected = list(adaboost(y, weight, 8, rng))
    algorithm, scale = AS_ADABOOST[name]
    made = list(drive(algorithm, y, 2, [leaf for leaf, _, _ in expected], weight=weight))
    assert len(made) == 8
    for round_, (_, w, H) in zip(made, expected, strict=True):
        values = round_.state.values
        rows = values if values.ndim == 1 else values.sum(axis=1)
        np.testing.assert_allclose(rows / rows.sum(), w, rtol=1e-11)
        np.testing.assert_allclose((round_.F[:, 0] - round_.F[:, 1]) / scale, H, rtol=1e-11, atol=1e-11)


# ---- one algorithm under two names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 5])
def test_mm_by_its_edge_is_m2_with_labels(K: int) -> None:
    y, responses = random_labels(K, 30, 6)
    edge = AdaBoostMMClassifier(line_search="edge")
    for mm, m2 in zip(drive(edge, y, K, responses), drive(AdaBoostM2Classifier(), y, K, responses), strict=True):
        np.testing.assert_allclose(2 * mm.F, m2.F, rtol=1e-12)
        np.testing.assert_allclose(mm.state.values, (K - 1) * m2.state.values, rtol=1e-12)
    X, y = noisy(K)
    shape = {"max_depth": 3, "n_estimators": 10, **EXACT}
    fitted = edge.set_params(**shape).fit(X, y), AdaBoostM2Classifier(**shape).fit(X, y)
    np.testing.assert_allclose(2 * fitted[0].decision_function(X), fitted[1].decision_function(X), rtol=1e-8, atol=1e-8)


class OneLabel(AdaBoostMRClassifier):
    """AdaBoost.MR told to say +1 at one label only: leaf k at label k."""

    def votes(self, W_plus: Floats, W_minus: Floats) -> Floats:
        return 2 * np.eye(W_plus.shape[1]) - 1


@pytest.mark.parametrize("K", [2, 3, 5])
def test_mr_of_single_labels_is_m2(K: int) -> None:
    y, responses = random_labels(K, 30, 6)
    for mr, m2 in zip(drive(OneLabel(leaves="vote"), y, K, responses), drive(AdaBoostM2Classifier(), y, K, responses), strict=True):
        np.testing.assert_allclose(mr.state.values, m2.state.values, rtol=1e-12)
        difference = mr.F - m2.F
        np.testing.assert_allclose(difference, difference[:, :1] + np.zeros(K), rtol=1e-11, atol=1e-11)  # a constant of the row


def test_hm_of_labels_is_m1() -> None:
    y, responses = random_labels(4, 40, 6)
    hm = drive(AdaBoostHMClassifier(response="label", line_search="bound"), y, 4, responses)
    for a, b in zip(hm, drive(AdaBoostM1Classifier(), y, 4, responses), strict=True):
        np.testing.assert_allclose(2 * a.F, b.F, rtol=1e-12)
        np.testing.assert_allclose(a.state.values, b.state.values * b.state.factor * 2.0**b.state.exponent, rtol=1e-12)


def test_m1w_is_samme() -> None:
    """AdaBoost.M1W of Eibl and Pfeiffer: M1 with alpha = ln((K-1)(1-eps)/eps), written out."""
    K = 4
    y, responses = random_labels(K, 300, 6)
    w, F = np.full(300, 1 / 300), np.zeros((300, K))
    for made, h in zip(drive(SAMMEClassifier(), y, K, responses), responses, strict=True):
        error = w[h != y].sum()
        alpha = np.log((K - 1) * (1 - error) / error)
        w, F = w * np.exp(-alpha * (h == y)), F + alpha * one_hot(h, K)
        w /= w.sum()
        np.testing.assert_allclose(made.F, F, rtol=1e-12)
        np.testing.assert_allclose(made.state.values / made.state.values.sum(), w, rtol=1e-12)


# ---- Bylander's transformations --------------------------------------------------------------------------------------------------------


def rewards_of(algorithm: BoostingClassifier, task: Task, D: Floats) -> Floats:
    (problem,) = algorithm.pose(task, Weights.of(D), np.random.default_rng(0))
    return problem.made().dense


def pseudo_loss(D: Floats, y: Integers, h: Floats) -> Floats:
    """Of each row, with the bracket and subscript that eq. (1) lacks."""
    own = h[np.arange(len(y)), y]
    return (D * (1 - own[:, None] + h)).sum(axis=1) / 2


@pytest.mark.parametrize("K", [2, 3, 7])
def test_pseudo_loss_by_rewards(K: int) -> None:
    """Lemmas 1 and 2 row by row, and theorem 3."""
    task, D, h = random_task(K)
    of_row = D.sum(axis=1)
    r = rewards_of(AdaBoostM2Classifier(grow_by="r"), task, D)
    np.testing.assert_allclose(r.sum(axis=1), of_row, rtol=1e-12)
    loss = (r * (1 - h)).sum(axis=1)
    np.testing.assert_allclose(2 * pseudo_loss(D, task.y, h), (2 - K) * of_row + K * loss, rtol=1e-9, atol=1e-15)
    assert 2 * pseudo_loss(D, task.y, h).sum() == pytest.approx(2 - K + K * loss.sum(), rel=1e-12)


@pytest.mark.parametrize("K", [2, 3, 7])
def test_shifted_rewards_keep_differences(K: int) -> None:
    task, D, h = random_task(K)
    other = np.random.default_rng(1).dirichlet(np.ones(K), len(h))
    r, shifted = (rewards_of(AdaBoostM2Classifier(grow_by=name), task, D) for name in ("r", "r_prime"))
    assert (shifted * (h - other)).sum() == pytest.approx((r * (h - other)).sum(), rel=1e-11)
    assert shifted.min(axis=1).tolist() == [0.0] * len(h)
    assert K == 2 or shifted.sum() < r.sum() - 0.1
    first = AdaBoostM2Classifier().start(task)
    wrong = rewards_of(AdaBoostM2Classifier(), task, first.values)[wrong_labels(np.ones(len(h)), task.y, K) > 0]
    assert np.abs(wrong).max() < 1e-15  # in round 1 no wrong label earns anything


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("grow_by", ["r_prime", "r", "classes"])
@pytest.mark.parametrize("response", ["label", "probability"])
def test_step_has_the_pseudo_loss(K: int, grow_by: str, response: str) -> None:
    """What the step works out from sums of leaves is the pseudo-loss of the rows."""
    task, D, _ = random_task(K)
    algorithm = AdaBoostM2Classifier(grow_by=grow_by, response=response)
    (problem,) = algorithm.pose(task, Weights.of(D), np.random.default_rng(0))
    leaf = np.where(np.random.default_rng(3).random(len(D)) < 0.3, 0, task.y)
    sums = np.array([np.hstack([problem.summed.dense[leaf == at].sum(axis=0), np.zeros(problem.summed.n_labels)]) for at in range(K)])
    if problem.summed.n_labels:
        np.add.at(sums, (leaf, K + task.y), problem.summed.weight)
    answer = algorithm.step(task, problem, Leaves(sums, np.arange(K)))
    h = one_hot(np.arange(K), K) if response == "label" else shares(sums[:, -K:])
    error = pseudo_loss(D, task.y, h[leaf]).sum()
    assert error < 0.5
    assert answer.size == pytest.approx(np.log((1 - error) / error), rel=1e-10)
    np.testing.assert_allclose(answer.vectors, answer.size * h, rtol=1e-12)


@pytest.mark.parametrize("K", [2, 3, 7])
def test_hamming_loss_by_rewards(K: int) -> None:
    """Theorem 4, with F(i) the largest weight of a wrong label."""
    task, _, h = random_task(K)
    D = np.random.default_rng(2).exponential(size=h.shape)
    D /= D.sum()
    true = one_hot(task.y, K) > 0
    hamming = (D * np.where(true, 1 - h, h)).sum()
    W = rewards_of(AdaBoostMHClassifier(leaves="label", weights="balanced"), task, D)
    largest, own = np.where(true, 0, D).max(axis=1), D[true].reshape(-1)
    np.testing.assert_allclose(W, largest[:, None] + np.where(true, D, -D), rtol=1e-12, atol=1e-17)  # eq. (15)
    assert W.sum() == pytest.approx(K * largest.sum() - 1 + 2 * own.sum(), rel=1e-12)
    assert (W * (1 - h)).sum() == pytest.approx(hamming - 1 + ((K - 1) * largest + own).sum(), rel=1e-12)


def test_printed_update_of_mht_breaks_its_bound_in_the_long_run() -> None:
    """Figure 2's exponent takes half the step: after an exact step a hypothesis has the error 1/2, after the printed one it has less."""
    y, responses = random_labels(3, 60, 1)
    said = one_hot(responses[0], 3) == one_hot(y, 3)
    errors = {}
    for how in ("corrected", "literal"):
        (made,) = drive(AdaBoostMHClassifier(leaves="label", weights="balanced", weight_update=how), y, 3, responses)
        D = made.state.values / made.state.values.sum()
        errors[how] = D[~said].sum()
    assert errors["corrected"] == pytest.approx(0.5, abs=1e-12)
    assert errors["literal"] < 0.45


# ---- steps -----------------------------------------------------------------------------------------------------------------------------


def test_exponential_step_is_the_minimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, v = rng.exponential(size=8), rng.uniform(-1, 1, 8)
        a, clipped = exponential_step(q, v, MAX_STEP)

        def loss(a: float, q: Floats = q, v: Floats = v) -> float:
            return float((q * np.exp(-a * v)).sum())

        found = minimize_scalar(loss, bounds=(-MAX_STEP, MAX_STEP), method="bounded", options={"xatol": 1e-10})
        assert a == pytest.approx(found.x, abs=1e-4)
        assert clipped or abs((q * v * np.exp(-a * v)).sum()) < 1e-10 * q.sum()
    assert exponential_step(np.ones(3), np.array([0.2, 1.0, 0.0]), MAX_STEP) == (MAX_STEP, True)
    assert exponential_step(np.ones(3), np.array([-0.2, -1.0, 0.0]), MAX_STEP) == (-MAX_STEP, True)


def test_published_step_of_hm_is_short_where_margins_are_small() -> None:
    """Both lower the loss, the exact one more; the bound sqrt(1 - r^2) holds for both."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    responses = [np.where(rng.random(60) < 0.4, rng.integers(0, 3, 60), y) for _ in range(5)]
    exact, bound = (list(drive(AdaBoostHMClassifier(line_search=how), y, 3, responses)) for how in ("exact", "bound"))
    assert bound[0].answers[0].size < 0.8 * exact[0].answers[0].size
    assert exact[0].state.total() < bound[0].state.total() < 1
    r = np.tanh(bound[0].answers[0].size)
    assert bound[0].state.total() <= np.sqrt(1 - r * r) + 1e-12


def test_margins_are_those_of_the_definition() -> None:
    f = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0], [1 / 3, 1 / 3, 1 / 3]])
    expected = [[row[k] - max(row[i] for i in range(3) if i != k) for k in range(3)] for row in f]
    np.testing.assert_allclose(margins(f), expected, atol=1e-16)
    np.testing.assert_allclose(margins(np.array([[0.7, 0.3]])), [[0.4, -0.4]])


def test_votes_and_shares() -> None:
    assert votes(np.array([[1.0, 2.0, 1.0 - 1e-16]]), np.array([[1.0, 3.0, 1.0]])).tolist() == [[1.0, -1.0, 1.0]]
    assert shares(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist() == [[0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize("K", [2, 5])
def test_passes_over_pairs_against_numpy(K: int) -> None:
    rng = np.random.default_rng(0)
    y, v = rng.integers(0, K, 30), rng.normal(size=K)
    D = wrong_labels(np.ones(30), y, K) * rng.exponential(size=(30, K))
    own, of_row = one_hot(y, K), D.sum(axis=1)
    cost = D - of_row[:, None] * own
    rewards, total = pair_rewards(D, y)
    np.testing.assert_allclose(rewards, cost.max(axis=1, keepdims=True) - cost, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(total, of_row, rtol=1e-13)
    along, total = pairs_along(D, v, y)
    np.testing.assert_allclose(along, along_direction(D + of_row[:, None] * own, v, y), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(total, of_row, rtol=1e-13)


def test_weights_of_pairs() -> None:
    rng = np.random.default_rng(0)
    values, exponents = rng.exponential(size=(20, 4)), rng.normal(size=(3, 4))
    y, leaf = rng.integers(0, 4, 20), rng.integers(0, 3, 20).astype(np.int32)
    expected = values * np.exp(exponents[leaf] - exponents[leaf, y][:, None])
    np.testing.assert_allclose(scaled_pairs(values, exponents, y, leaf), expected, rtol=1e-13)
    far = exponents + 1e4  # what all labels have in common is in no pair
    np.testing.assert_allclose(scaled_pairs(values, far, y, leaf), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="do not fit 4 classes"):
        scaled_pairs(values, exponents[:, :3], y, leaf)


# ---- along real runs -------------------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"max_depth": 3, "n_estimators": 20, **EXACT}
RUNS: dict[str, BoostingClassifier] = {
    "m1": AdaBoostM1Classifier(**SMALL),
    "m2": AdaBoostM2Classifier(**SMALL),
    "m2 probability": AdaBoostM2Classifier(response="probability", **SMALL),
    "m2 by r": AdaBoostM2Classifier(response="probability", grow_by="r", **SMALL),
    "m2 by classes": AdaBoostM2Classifier(response="probability", grow_by="classes", **SMALL),
    "m2 direction": AdaBoostM2Classifier(grow_by="direction", **SMALL),
    "m2 shares, direction": AdaBoostM2Classifier(response="probability", grow_by="direction", **SMALL),
    "mm direction": AdaBoostMMClassifier(grow_by="direction", **SMALL),
    "m2t": AdaBoostM2Classifier(**{**SMALL, "sampling": "weight", "subsample": 0.5}),
    "mm": AdaBoostMMClassifier(**SMALL),
    "mm edge": AdaBoostMMClassifier(line_search="edge", **{**SMALL, "learning_rate": 0.5}),
    "mr": AdaBoostMRClassifier(grow_by="labels", **SMALL),
    "mr direction": AdaBoostMRClassifier(**SMALL),
    "mr vote": AdaBoostMRClassifier(leaves="vote", grow_by="labels", **{**SMALL, "learning_rate": 1.0}),
    "hm": AdaBoostHMClassifier(**SMALL),
    "hm bound": AdaBoostHMClassifier(line_search="bound", **SMALL),
    "hm label": AdaBoostHMClassifier(response="label", **SMALL),
    "mh label": AdaBoostMHClassifier(leaves="label", weights="balanced", **{**SMALL, "learning_rate": 1.0}),
    "mh probability": AdaBoostMHClassifier(leaves="probability", weights="balanced", **{**SMALL, "learning_rate": 1.0}),
}


def papers_loss(name: str, F: Floats, y: Integers) -> float | None:
    """The loss as the papers write it, of the scores alone; None where it is no function of them."""
    K = F.shape[1]
    rows = np.arange(len(y))
    if name == "m1":
        return float(np.exp(F.sum(axis=1) / 2 - F[rows, y]).mean())
    if name.startswith("mh"):
        Y = 2 * one_hot(y, K) - 1
        return float((np.exp(-Y * F) * np.where(Y > 0, 1 / 2, 1 / (2 * (K - 1)))).sum(axis=1).mean())
    if name.startswith("hm"):
        return None
    scale = 1.0 if name.startswith("mm") else 0.5
    total = np.exp(scale * (F - F[rows, y][:, None])).sum(axis=1) - 1
    return float(total.mean() / (1 if name.startswith("mm") else K - 1))


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", RUNS)
def test_losses_and_bounds(name: str, K: int) -> None:
    """The history has the paper's loss, which falls each round and bounds the error of every stage, ties being errors."""
    X, y = noisy(K)
    model = clone(RUNS[name]).fit(X, y)
    assert model.n_estimators_ >= (20 if name.startswith(("m2", "mm", "mr")) else 3), model.stop_reason_
    losses = np.append(K - 1.0 if name.startswith("mm") else 1.0, model.history_["loss"])
    assert (np.diff(losses) < 0).all()
    factor = 1.0 if name.startswith(("mm", "m1", "hm")) else np.sqrt(K - 1) if name.startswith("mh") else K - 1
    errors = []
    for F, loss in zip(staged_scores(model, X), losses[1:], strict=True):
        written = papers_loss(name, F, y)
        assert written is None or loss == pytest.approx(written, rel=1e-9)
        errors.append(error_with_ties(F, y))
        assert errors[-1] <= factor * loss * (1 + 1e-9)
    assert errors[-1] < 0.5


@pytest.mark.parametrize("name", ["m2", "m2 probability", "mr vote", "mh label", "mh probability", "hm bound", "m1"])
def test_each_round_keeps_the_product_bound(name: str) -> None:
    """Z <= sqrt(1 - r^2), r = 1 - 2 eps by the history's step; exactly so where every answer is right or wrong."""
    X, y = noisy(5)
    model = clone(RUNS[name]).fit(X, y)
    alpha = model.history_["step"] / (2 if name.startswith(("m1", "m2")) else 1)
    bound = np.sqrt(1 - np.tanh(alpha) ** 2)
    Z = model.history_["loss"] / np.append(1.0, model.history_["loss"][:-1])
    assert (Z <= bound * (1 + 1e-9)).all()
    if name in ("m1", "mh label"):
        np.testing.assert_allclose(Z, bound, rtol=1e-9)
    else:
        assert (Z < 0.9999 * bound).any()


@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize("name", [name for name in RUNS if name != "m2t" and "direction" not in name])
def test_permuted_classes_permute_the_scores(name: str, K: int) -> None:
    X, y = noisy(K)
    rng = np.random.default_rng(K)
    new_name = np.roll(np.arange(K), 1)
    weight = rng.uniform(0.5, 1.5, len(y))
    plain = clone(RUNS[name]).set_params(n_estimators=8).fit(X, y, weight).decision_function(X)
    renamed = clone(RUNS[name]).set_params(n_estimators=8).fit(X, new_name[y], weight).decision_function(X)
    np.testing.assert_allclose(renamed[:, new_name], plain, rtol=1e-8, atol=1e-8)


# ---- what is of no use -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_a_guess_is_refused(name: str) -> None:
    """One leaf, even classes: saying the first is no better than chance."""
    algorithm, y = clone(RUNS[name]), np.arange(12) % 3
    task = Task.of(y, 3, np.ones(12))
    (problem,) = algorithm.pose(task, algorithm.start(task), np.random.default_rng(0))
    summed = problem.summed
    sums = np.append(summed.dense.sum(axis=0), np.bincount(summed.label, summed.weight, summed.n_labels) if summed.n_labels else [])[None]
    answer = algorithm.step(task, problem, Leaves(sums, np.zeros(1, int)))
    assert isinstance(answer, Refusal)
    assert len(answer.reason) > 20


def test_m1_stops_at_once_where_trees_are_mostly_wrong() -> None:
    X, y = noisy(7)
    model = AdaBoostM1Classifier(max_depth=1, n_estimators=10).fit(X, y)
    assert model.n_estimators_ == 0
    assert "not below 1/2" in model.stop_reason_
    np.testing.assert_allclose(model.predict_proba(X[:3]), np.tile(model.class_prior_, (3, 1)))
    assert (model.predict(X) == model.class_prior_.argmax()).all()
    for other in (AdaBoostM2Classifier, AdaBoostMMClassifier):  # theirs need an edge only
        assert other(max_depth=1, n_estimators=10).fit(X, y).n_estimators_ == 10


def test_perfect_trees_end_the_fit() -> None:
    X, y = np.repeat(np.arange(30.0), 2)[:, None], np.repeat(np.arange(3), 20)
    for algorithm in (AdaBoostM1Classifier, AdaBoostM2Classifier, AdaBoostMMClassifier, AdaBoostHMClassifier):
        model = algorithm(n_estimators=10, splitter="best", on_perfect="stop", calibrate=False).fit(X, y)
        assert (model.n_estimators_, model.stop_reason_, model.n_clipped_steps_) == (1, "a tree made no error", 1)
        assert model.score(X, y) == 1.0


# ---- rewards and the tree core ---------------------------------------------------------------------------------------------------------


def test_a_leaf_says_the_label_of_most_reward() -> None:
    """And so do all leaves together that say the same; the steps are those of the edges that follow."""
    X, y = noisy(3)
    model = AdaBoostM2Classifier(max_depth=2, n_estimators=6, **EXACT).fit(X, y)
    D, before = wrong_labels(np.full(len(y), 1 / len(y)), y, 3), np.zeros((len(y), 3))
    for F in staged_scores(model, X):
        added = F - before
        of_row = D.sum(axis=1)
        gain = of_row[:, None] * one_hot(y, 3) - D  # what each label would add to the edge
        for label in np.unique(added.argmax(axis=1)):
            assert gain[added.argmax(axis=1) == label].sum(axis=0).argmax() == label
        edge = gain[np.arange(len(y)), added.argmax(axis=1)].sum() / D.sum()
        assert added.max() == pytest.approx(np.log((1 + edge) / (1 - edge)), rel=1e-9)
        D, before = wrong_labels(np.ones(len(y)), y, 3) * np.exp((F - F[np.arange(len(y)), y][:, None]) / 2), F


@pytest.mark.parametrize("prune", ["merge", "cost_complexity"])
def test_trees_of_rewards_are_pruned(prune: str) -> None:
    X, y = noisy(4)
    pruned, whole = (AdaBoostM2Classifier(max_depth=5, n_estimators=4, prune=how, **EXACT).fit(X, y) for how in (prune, None))
    assert len(pruned.forest_.nodes) < len(whole.forest_.nodes)
    assert pruned.score(X, y) > 0.6
    if prune == "merge":
        first = [next(model.staged_decision_function(X)) for model in (pruned, whole)]
        np.testing.assert_allclose(*first, rtol=1e-12)


def test_missed_weight_of_labels_and_rewards() -> None:
    rows, said = np.array([0, 2, 2]), np.array([1, 0, 1])
    labels = Statistics.of_labels(np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0]), 2)
    assert labels.missed(rows, said) == 1 + 4
    rewards = Statistics.of_rows(one_hot(np.array([0, 1, 1]), 2) * np.array([[1.0], [2.0], [4.0]]))
    assert rewards.missed(rows, said) == 1 + 4


def test_problem_of_rewards_has_no_labels() -> None:
    task, D, _ = random_task(3)
    problems: list[Problem] = [
        *AdaBoostM2Classifier().pose(task, Weights.of(D), np.random.default_rng(0)),
        *AdaBoostMMClassifier().pose(task, Weights.of(D), np.random.default_rng(0)),
    ]
    for problem in problems:
        assert problem.made().n_labels == 0
        assert problem.criterion.of_labels
    np.testing.assert_allclose(problems[1].made().dense, 3 * problems[0].made().dense, rtol=1e-12, atol=1e-16)
