"""What must hold by theory: identities, bounds, population limits and invariances, with hand-made hypotheses and along real runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hook_driver import Floats, Integers, drive, most_weight
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.datasets import make_blobs

from manyboost import AdaBoostMHClassifier, PIBoostClassifier, RebelClassifier, SAMMEClassifier
from manyboost.estimator import BoostingClassifier
from manyboost.maths.codes import separator_codes, separators, symmetric, without_complements
from manyboost.maths.links import couple_separators, normalised_sigmoid, separator_logit
from manyboost.maths.steps import KAPPA, confidences, separator_root
from manyboost.maths.weights import Weights
from manyboost.protocol import Answer, Leaves, Problem, Refusal, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.statistics import Statistics

CLASSES = (2, 3, 7)
EXACT: dict[str, Any] = {"splitter": "best", "calibrate": False, "random_state": 0}  # nothing is drawn ...
WHOLE: dict[str, Any] = {"subsample": 1.0, "sampling": "uniform", "prune": None, "min_samples_split": 2, **EXACT}  # ... nor by PIBoost


def noisy(K: int, n: int = 150, p: int = 4, seed: int = 0) -> tuple[Floats, Integers]:
    """Blobs with some wrong labels: small trees mistake rows of every class in every round."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = 1.5 * rng.standard_normal((K, p))[y] + rng.standard_normal((n, p))
    wrong = rng.random(n) < 0.15
    return X, np.where(wrong, rng.permutation(y), y)


def signs(y: Integers, K: int) -> Floats:
    """AdaBoost.MH's Y: +1 at the true class, -1 elsewhere."""
    return 2 * np.eye(K)[y] - 1


def as_columns(decision: Floats) -> Floats:
    """The decision function as (n, K) for any K; for two classes up to a constant of each row."""
    return decision if decision.ndim == 2 else np.column_stack([-decision, decision]) / 2


def staged_scores(model: BoostingClassifier, X: Floats) -> Iterator[Floats]:
    """The K scores F after each round, also for two classes, where ``decision_function`` has only their difference."""
    for columns in model.forest_.staged_columns(X):
        yield model.scores(columns).copy()


def error_with_ties(F: Floats, y: Integers) -> float:
    """The share of rows on which some other class has at least the score of the true one."""
    own = F[np.arange(len(y)), y]
    others = np.where(np.eye(F.shape[1], dtype=bool)[y], -np.inf, F).max(axis=1)
    return float((others >= own).mean())


# ---- two classes: all are AdaBoost ---------------------------------------------------------------------------------------------------

AS_ADABOOST = {
    "samme": SAMMEClassifier(),
    "mh": AdaBoostMHClassifier(leaves="vote", grow_by="classes"),
    "mh balanced": AdaBoostMHClassifier(leaves="vote", grow_by="classes", weights="balanced"),
    "piboost": PIBoostClassifier(separators="singles"),
    "rebel": RebelClassifier(leaves="shared"),
}


def adaboost(y: Integers, weight: Floats, n_rounds: int, rng: np.random.Generator) -> Iterator[tuple[Integers, Floats, Floats]]:
    """Binary AdaBoost with class 0 as +1, on random hypotheses: for each round the leaf (0 says +1, 1 says -1), the weights and H after it.

    Hypotheses are drawn until each of the two leaves says what most of its weight is, since algorithms that choose what a leaf
    says would otherwise say something else.
    """
    s = np.where(y == 0, 1.0, -1.0)
    w, H = weight / weight.sum(), np.zeros(len(y))
    for _ in range(n_rounds):
        while True:
            h = np.where(rng.random(len(y)) < 0.4, -s, s)
            if all((w * s * h)[h == side].sum() > 0.01 for side in (-1, 1)):
                break
        error = w[h != s].sum()
        alpha = 0.5 * np.log((1 - error) / error)
        w, H = w * np.exp(-alpha * s * h), H + alpha * h
        w /= w.sum()
        yield (h < 0).astype(int), w, H


@pytest.mark.parametrize("name", AS_ADABOOST)
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_adaboost(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)
    expected = list(adaboost(y, weight, 8, rng))
    made = list(drive(AS_ADABOOST[name], y, 2, [leaf for leaf, _, _ in expected], weight=weight))
    assert len(made) == 8
    for round_, (_, w, H) in zip(made, expected, strict=True):
        values = round_.state.values
        rows = values[0] if name == "piboost" else values if values.ndim == 1 else values.sum(axis=1)
        np.testing.assert_allclose(rows / rows.sum(), w, rtol=1e-12)
        np.testing.assert_allclose((round_.F[:, 0] - round_.F[:, 1]) / 2, H, rtol=1e-12, atol=1e-12)


# ---- PIBoost's step ------------------------------------------------------------------------------------------------------------------


def separator_step(s: int, K: int, A1: float, e1: float, A2: float, e2: float) -> Answer | Refusal:
    """PIBoost's answer to a tree of two leaves, "not in S" and "in S", with these weights and mistaken weights."""
    S = np.arange(K) < s
    nothing = Statistics.of_labels(np.zeros(K, int), np.ones(K), 2)
    task = Task.of(np.arange(K), K, np.ones(K))
    sums = np.array([[A2 - e2, e1], [e2, A1 - e1]])
    return PIBoostClassifier(separators=[{0}]).step(task, Problem(nothing, GINI_CRITERION, tag=S), Leaves(sums, np.array([0, 1])))


@pytest.mark.parametrize(
    ("s", "K", "A1", "e1", "A2", "e2", "log_R", "beta"),
    [
        (2, 5, 0.4, 0.1, 0.6, 0.15, 0.219722457734, 5.273338985607),
        (1, 3, 0.3, 0.05, 0.7, 0.2, 0.425464341938, 1.701857367751),
    ],
)
def test_reference_roots(s: int, K: int, A1: float, e1: float, A2: float, e2: float, log_R: float, beta: float) -> None:
    u, clipped = separator_root(s, K, A1, e1, A2, e2)
    assert not clipped
    assert u == pytest.approx(log_R, abs=1e-12)
    answer = separator_step(s, K, A1, e1, A2, e2)
    assert isinstance(answer, Answer)
    np.testing.assert_allclose(answer.vectors[:, 0], [-beta, beta], rtol=1e-12)
    # the unit of the weights has no say
    assert separator_root(s, K, 8 * A1, 8 * e1, 8 * A2, 8 * e2)[0] == pytest.approx(u, rel=1e-14)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_root_is_the_positive_root_of_the_polynomial(data: st.DataObject) -> None:
    """Lemma 1's polynomial, expanded and solved by its companion matrix, which is how one would not do it."""
    K = data.draw(st.integers(2, 8))
    s = data.draw(st.integers(1, K // 2))
    share = st.floats(0.02, 0.98)
    A1 = data.draw(share)
    A2, e1, e2 = 1 - A1, A1 * data.draw(share), (1 - A1) * data.draw(share)
    polynomial = np.zeros(2 * (K - s) + 1)  # the coefficient of x^j at j
    for power, value in ((2 * (K - s), (K - s) * e1), (K, s * e2), (K - 2 * s, -s * (A2 - e2)), (0, -(K - s) * (A1 - e1))):
        polynomial[power] += value
    roots = np.roots(polynomial[::-1])
    (R,) = roots[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)].real
    u, clipped = separator_root(s, K, A1, e1, A2, e2)
    assert not clipped
    assert u == pytest.approx(np.log(R), abs=1e-8)
    edge = (K - s) * (A1 - 2 * e1) + s * (A2 - 2 * e2)
    assert np.sign(u) == np.sign(edge) or abs(edge) < 1e-9  # a negative edge turns the tree round


@pytest.mark.parametrize(("s", "K"), [(1, 2), (1, 3), (2, 5), (3, 7)])
def test_degenerate_separators(s: int, K: int) -> None:
    cap = 0.5 * np.log((1 - KAPPA) / KAPPA) / (K - s)
    beta = s * (K - s) * (K - 1) * cap
    perfect, hopeless = separator_step(s, K, 0.4, 0.0, 0.6, 0.0), separator_step(s, K, 0.4, 0.4, 0.6, 0.6)
    assert isinstance(perfect, Answer)
    assert isinstance(hopeless, Answer)
    assert (perfect.size, perfect.clipped) == (pytest.approx(beta), True)
    assert (hopeless.size, hopeless.clipped) == (pytest.approx(-beta), True)
    # one side entirely wrong has a finite root: positive here, and where the slope of the stage loss vanishes
    u, clipped = separator_root(s, K, 0.1, 0.1, 0.9, 0.01)
    assert not clipped
    assert 0 < u < cap
    right = (K - s) * 0.1 * np.exp((K - s) * u) + s * 0.01 * np.exp(s * u)
    assert right == pytest.approx(s * 0.89 * np.exp(-s * u), rel=1e-10)
    # one side entirely right
    u, clipped = separator_root(s, K, 0.4, 0.0, 0.6, 0.2)
    assert not clipped
    assert s * 0.2 * np.exp(s * u) == pytest.approx((K - s) * 0.4 * np.exp(-(K - s) * u) + s * 0.4 * np.exp(-s * u), rel=1e-10)
    # the errors are a sum in another order than the total, and may exceed it by a rounding
    beyond = separator_root(s, K, 0.1, np.nextafter(0.1, 1), 0.9, 0.01)
    assert beyond == (pytest.approx(separator_root(s, K, 0.1, 0.1, 0.9, 0.01)[0], rel=1e-12), False)
    assert isinstance(separator_step(s, K, 0.4, 0.2, 0.6, 0.3), Refusal)  # a coin
    assert isinstance(separator_step(s, K, 0.0, 0.0, 1.0, 0.3), Refusal)  # nothing to part
    assert isinstance(separator_step(s, K, 1.0, 0.3, 0.0, 0.0), Refusal)


@pytest.mark.parametrize(("s", "K"), [(1, 3), (2, 5), (1, 26), (1, 50)])
def test_no_separator_steps_further_than_one_without_error(s: int, K: int) -> None:
    """Trees that mistake nothing in S, and ever less outside, step ever further, but none further than one without any mistake."""
    steps = [separator_root(s, K, 0.04, 0.0, 0.96, e2) for e2 in (0.4, 0.1, 1e-2, 1e-3, 1e-5, 1e-7, 0.0)]
    assert all(before[0] <= after[0] for before, after in pairwise(steps))
    assert steps[-1] == (pytest.approx(0.5 * np.log((1 - KAPPA) / KAPPA) / (K - s), rel=1e-15), True)
    turned = [separator_root(s, K, 0.04, 0.04, 0.96, 0.96 - e2)[0] for e2 in (0.4, 1e-2, 1e-5, 0.0)]
    np.testing.assert_allclose(turned, [-separator_root(s, K, 0.04, 0.0, 0.96, e2)[0] for e2 in (0.4, 1e-2, 1e-5, 0.0)], rtol=1e-12)


def test_easy_separators_go_on_voting() -> None:
    """Trees that mistake no row of a class must not take all the weight from it: its separator would have nothing left to part."""
    X, y = make_blobs(800, 5, centers=20, center_box=(-6, 6), random_state=0)
    model = PIBoostClassifier(separators="singles", n_estimators=20, calibrate=False, random_state=0).fit(X, y)
    assert (model.history_["n_trees"] == 20).all()
    assert model.n_clipped_steps_ > 0


def test_a_refusal_of_any_tree_is_not_followed_by_another_tree() -> None:
    class Refuses(PIBoostClassifier):
        of_any = True

        def step(self, task: Task, problem: Problem, leaves: Leaves) -> Answer | Refusal:
            answer = super().step(task, problem, leaves)
            return Refusal("no", of_any=self.of_any) if problem.column == 1 else answer

    X, y = noisy(3)
    found = {}
    for Refuses.of_any in (True, False):
        history = Refuses(separators="singles", n_estimators=2, calibrate=False, random_state=0).fit(X, y).history_
        assert (history["n_trees"] == 2).all()
        found[Refuses.of_any] = history["n_made"]
    assert (found[True] == 3).all()
    assert (found[False] > 3).all()


@pytest.mark.parametrize("K", range(2, 10))
def test_number_of_separators(K: int) -> None:
    expected = {
        "singles": 1 if K == 2 else K,
        "pairs": {2: 1, 3: 3, 4: 7}.get(K, K + K * (K - 1) // 2),
        "all": 2 ** (K - 1) - 1,
    }
    for kind, number in expected.items():
        masks = separators(kind, K)
        assert len(masks) == number
        assert (2 * masks.sum(axis=1) <= K).all()
        assert masks[2 * masks.sum(axis=1) == K, 0].all()  # of two halves, the one with class 0
        both = np.concatenate([masks, ~masks])
        assert len(np.unique(both, axis=0)) == 2 * number  # no set twice, nor with its complement


def test_a_set_and_its_complement_are_one_separator() -> None:
    np.testing.assert_array_equal(without_complements([[1, 2, 3], [0], [2, 3], [0, 1]], 4), [[1, 0, 0, 0], [1, 1, 0, 0]])
    X, y = noisy(4)
    names = np.array(["a", "b", "c", "d"])[y]
    model = PIBoostClassifier(separators=[{"b", "c", "d"}, {"a"}, ["c", "d"], ["a", "b"]], n_estimators=3, max_depth=2, **WHOLE)
    assert model.fit(X, names).forest_.n_columns == 2


@pytest.mark.parametrize("K", [2, 3, 4, 7])
def test_margins_of_separators(K: int) -> None:
    """Eq. (5), and weights that follow it: a miss costs more in the smaller set."""
    masks = separators("all", K)
    s = masks.sum(axis=1)
    margins = symmetric(K) @ separator_codes(masks).T  # (K, separators)
    inside, outside = np.broadcast_to(K / (s * (K - 1)), margins.shape), np.broadcast_to(-K / ((K - s) * (K - 1)), margins.shape)
    np.testing.assert_allclose(margins, np.where(masks.T, inside, outside), rtol=1e-14)
    rng = np.random.default_rng(K)
    y = np.arange(10 * K) % K
    leaf = np.where(rng.random(len(y)) < 0.3, rng.permutation(y), y)
    algorithm = PIBoostClassifier(separators="all")
    (made,) = drive(algorithm, y, K, [leaf])
    for j, (answer, column) in enumerate(zip(made.answers, made.columns.T, strict=True)):
        np.testing.assert_allclose(made.state.values[j], np.exp(-column * margins[y, j] / K) / len(y), rtol=1e-13)
        R = np.exp(answer.size / (s[j] * (K - s[j]) * (K - 1)))
        missed = masks[j][leaf] != masks[j][y]
        power = np.where(masks[j][y], K - s[j], s[j]) * np.where(missed, 1, -1)
        np.testing.assert_allclose(made.state.values[j], R**power / len(y), rtol=1e-12)


# ---- other steps ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", CLASSES)
def test_rebel_sets_signs_and_coefficients_for_one_another(K: int) -> None:
    """No other signs of the leaves lower the loss at the same a, and no other a at the same signs."""
    rng, nothing = np.random.default_rng(K), Statistics.of_rows(np.zeros((K, 2)))
    task = Task.of(np.arange(K), K, np.ones(K))
    patterns = np.array(list(product([1.0, -1.0], repeat=5)))
    for _ in range(60):
        plus, minus = rng.gamma(0.2, size=(2, 5, K))  # steps long enough for a and sinh(a) to differ
        answer = RebelClassifier(leaves="shared").step(
            task, Problem(nothing, GINI_CRITERION), Leaves(np.hstack([plus + minus, plus]), np.zeros(5))
        )
        assert isinstance(answer, Answer)
        f = np.sign(answer.vectors[:, :1] / answer.vectors[0, 0])
        a = answer.vectors[0]
        np.testing.assert_allclose(answer.vectors, f * a, rtol=1e-14)
        losses = [(plus * np.exp(-other[:, None] * a) + minus * np.exp(other[:, None] * a)).sum() for other in patterns]
        best = (plus * np.exp(-answer.vectors) + minus * np.exp(answer.vectors)).sum()
        assert best <= min(losses) * (1 + 1e-12)
        slope = (f * (plus * np.exp(-answer.vectors) - minus * np.exp(answer.vectors))).sum(axis=0)
        np.testing.assert_allclose(slope, 0, atol=1e-12 * best)


def test_rebel_may_begin_with_several_constants() -> None:
    """Many classes and a small step: until the prior is learnt, one sign for all rows lowers the loss more than any split."""
    X, y = noisy(7)
    model = RebelClassifier(leaves="shared", max_depth=3, n_estimators=20, learning_rate=0.2, **EXACT).fit(X, y)
    assert model.n_estimators_ == 20, model.stop_reason_
    assert model.score(X, y) > 0.6


def test_regularisation_of_a_direction_follows_the_weights() -> None:
    """l2 is a multiple of the mean weight of a row, so it does not grow against weights that shrink as the loss falls."""
    y, algorithm = np.arange(12) % 3, AdaBoostMHClassifier(l2=0.5)
    task = Task.of(y, 3, np.ones(12))
    start = algorithm.start(task)
    later = Weights.of(start.values / 64)
    constants = [algorithm.pose(task, state, np.random.default_rng(0))[0].criterion.constants[0] for state in (start, later)]
    assert constants == [pytest.approx(0.5 / 12), pytest.approx(0.5 / 12 / 64)]


@pytest.mark.parametrize("K", CLASSES)
def test_samme_scales_weights_by_the_margins_of_its_code(K: int) -> None:
    """A step of beta = (K-1)^2 alpha / K along c_k: a hit has the margin K / (K-1) and a miss -K / (K-1)^2, over K in the exponent."""
    y, said = np.arange(60) % K, np.where(np.arange(60) < 50, np.arange(60) % K, 0)
    (made,) = drive(SAMMEClassifier(), y, K, [said])
    beta, w = (K - 1) ** 2 * made.answers[0].size / K, made.state
    factors = np.where(said == y, np.exp(-beta / (K - 1)), np.exp(beta / (K - 1) ** 2))
    np.testing.assert_allclose(w.values * w.factor * 2.0**w.exponent, factors / 60, rtol=1e-12)


@pytest.mark.parametrize("K", CLASSES)
def test_the_highest_score_has_the_largest_probability(K: int) -> None:
    """Also where several sigmoids are one to the last bit."""
    scores = np.random.default_rng(0).normal(size=(2000, K)) * np.geomspace(1e-3, 1e3, 2000)[:, None]
    p = normalised_sigmoid(scores)
    np.testing.assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15 * K)
    assert (p <= 1).all()
    assert (-np.logaddexp(0.0, -scores)).max() == 0  # some are


def test_smoothing_costs_little() -> None:
    """Of J leaves and K classes: sum W+ e^{-c} + W- e^{c} <= 2 sum sqrt(W+ W-) + sqrt(4 epsilon J K), for weights that sum to one."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        shape = rng.integers(1, 9, 2)
        W = rng.dirichlet(np.full(2 * shape.prod(), 0.1)).reshape(2, *shape)
        epsilon = 10.0 ** rng.uniform(-8, 0)
        c, _, clipped = confidences(*W, epsilon, np.inf)
        Z, least = (W[0] * np.exp(-c) + W[1] * np.exp(c)).sum(), 2 * np.sqrt(W[0] * W[1]).sum()
        assert not clipped
        assert least - 1e-12 <= Z <= least + np.sqrt(4 * epsilon * shape.prod())


def test_costs_of_a_separator_are_those_of_its_loss() -> None:
    """The plain error prefers the first of two trees that part one of five classes; its stage loss prefers the second, as the costs do."""
    K, s, A1, A2 = 5, 1, 0.3, 0.7
    y, weight = np.arange(10) % K, np.linspace(1.0, 2.0, 10)
    task = Task.of(y, K, weight)
    for of, factor in (("published", (1.0, 1.0)), ("cost", (K - s, s))):
        model = PIBoostClassifier(separators=[{0}], learner_weights=of)
        model.classes_ = np.arange(K)
        (problem,) = model.pose(task, model.start(task), np.random.default_rng(0))
        np.testing.assert_array_equal(problem.made().label, y == 0)
        np.testing.assert_allclose(problem.made().weight, task.weight * np.where(y == 0, *factor), rtol=1e-15)

    def stage_loss(e1: float, e2: float) -> float:
        u, _ = separator_root(s, K, A1, e1, A2, e2)
        terms = (e1, (K - s) * u), (A1 - e1, (s - K) * u), (e2, s * u), (A2 - e2, -s * u)
        return float(sum(weight * np.exp(exponent) for weight, exponent in terms))

    assert (stage_loss(0.18, 0.10), stage_loss(0.10, 0.20)) == (pytest.approx(0.9939, abs=5e-5), pytest.approx(0.9539, abs=5e-5))
    assert 0.18 + 0.10 < 0.10 + 0.20
    assert (K - s) * 0.18 + s * 0.10 > (K - s) * 0.10 + s * 0.20


# ---- losses and bounds along real runs -----------------------------------------------------------------------------------------------

RUNS: dict[str, BoostingClassifier] = {
    "samme": SAMMEClassifier(max_depth=2, n_estimators=25, **EXACT),
    "mh": AdaBoostMHClassifier(max_depth=2, grow_by="classes", learning_rate=1.0, smoothing=0.5, n_estimators=25, **EXACT),
    "mh balanced": AdaBoostMHClassifier(max_depth=2, grow_by="classes", weights="balanced", n_estimators=40, **EXACT),
    "mh balanced vote": AdaBoostMHClassifier(
        leaves="vote", weights="balanced", max_depth=2, grow_by="classes", learning_rate=1.0, n_estimators=25, **EXACT
    ),
    "mh vote": AdaBoostMHClassifier(leaves="vote", max_depth=2, grow_by="classes", learning_rate=1.0, n_estimators=25, **EXACT),
    "mh direction": AdaBoostMHClassifier(max_leaf_nodes=4, n_estimators=40, calibrate=False, random_state=0),
    "piboost": PIBoostClassifier(separators="singles", max_depth=2, n_estimators=15, **WHOLE),
    "piboost pairs": PIBoostClassifier(separators="pairs", learner_weights="cost", max_depth=2, n_estimators=8, **WHOLE),
    "rebel": RebelClassifier(max_depth=2, n_estimators=25, **EXACT),
    "rebel shared": RebelClassifier(leaves="shared", max_depth=2, learning_rate=1.0, n_estimators=25, **EXACT),
}


Fitted = tuple[str, BoostingClassifier, Floats, Integers, list[Floats]]


def named(run: tuple[str, int]) -> str:
    return f"{run[0]} K={run[1]}"


@pytest.fixture(scope="module", params=[(name, K) for name in RUNS for K in CLASSES], ids=named)
def fitted(request: pytest.FixtureRequest) -> Fitted:
    """A run's name, model, rows, classes and staged columns."""
    name, K = request.param
    X, y = noisy(K)
    model = type(RUNS[name])(**RUNS[name].get_params()).fit(X, y)
    assert model.n_estimators_ >= 8, model.stop_reason_
    return name, model, X, y, [columns.copy() for columns in model.forest_.staged_columns(X)]


def papers_loss(name: str, model: BoostingClassifier, columns: Floats, y: Integers) -> float:
    """The loss as the papers write it, of the scores alone."""
    K = len(model.classes_)
    if name == "samme":
        code = (K - 1) * (columns - columns.mean(axis=1, keepdims=True))  # f, of which the votes are the differences
        return float(np.exp(-(symmetric(K)[y] * code).sum(axis=1) / K).mean())
    if name.startswith("mh"):
        losses = np.exp(-signs(y, K) * columns)
        if name.startswith("mh balanced"):
            return float((losses * np.where(np.eye(K)[y] > 0, 1 / 2, 1 / (2 * (K - 1)))).sum(axis=1).mean())
        return float(losses.mean())
    if name.startswith("rebel"):
        return float(np.exp(-signs(y, K) * columns).sum(axis=1).mean() / 2)
    margins = symmetric(K) @ separator_codes(separators(name.removeprefix("piboost").strip() or "singles", K)).T
    return float(np.exp(-columns * margins[y] / K).sum(axis=1).mean())


def test_history_has_the_papers_loss(fitted: Fitted) -> None:
    name, model, _, y, stages = fitted
    np.testing.assert_allclose([papers_loss(name, model, columns, y) for columns in stages], model.history_["loss"], rtol=1e-10)


def test_loss_falls_each_round(fitted: Fitted) -> None:
    name, model, _, y, stages = fitted
    losses = np.array([papers_loss(name, model, np.zeros_like(stages[0]), y), *model.history_["loss"]])
    assert (np.diff(losses) < 0).all()


# the losses of SAMME and PIBoost bound nothing for K > 2; for two classes both are AdaBoost
BOUNDED = [(name, K) for name in RUNS for K in CLASSES if K == 2 or name.startswith(("mh", "rebel"))]


@pytest.mark.parametrize("fitted", BOUNDED, indirect=True, ids=named)
def test_bound_of_the_error(fitted: Fitted) -> None:
    """Schapire and Singer: error <= (K/2) prod Z, or sqrt(K-1) prod Z from balanced weights; REBEL, AdaBoost: error <= L.

    Ties count as errors.
    """
    name, model, _, y, stages = fitted
    K = len(model.classes_)
    factor = np.sqrt(K - 1) if name.startswith("mh balanced") else K / 2 if name.startswith("mh") else 1.0
    errors = np.array([error_with_ties(model.scores(columns), y) for columns in stages])
    assert (errors <= factor * model.history_["loss"]).all()
    assert errors[-1] < errors[0]  # the bound was put to the test


def test_loss_of_votes_is_the_product_of_normalisers() -> None:
    """Z_t = 2 sqrt(e (1-e)), by the history's steps alone: alpha = ln((1-e)/e) / 2."""
    for K in CLASSES:
        X, y = noisy(K)
        model = AdaBoostMHClassifier(**RUNS["mh vote"].get_params()).fit(X, y)
        error = expit(-2 * model.history_["step"])
        np.testing.assert_allclose(np.cumprod(2 * np.sqrt(error * (1 - error))), model.history_["loss"], rtol=1e-11)


@pytest.mark.parametrize("K", CLASSES)
def test_rebel_with_vectors_is_confidence_rated_mh(K: int) -> None:
    X, y = noisy(K)
    shape = {"max_depth": 2, "min_samples_leaf": 10, "n_estimators": 15, "learning_rate": 0.5, **EXACT}
    rebel = RebelClassifier(**shape).fit(X, y)
    as_rebel = {"max_leaf_nodes": None, "grow_by": "classes", "smoothing": 0.0, "max_confidence": 0.5 * np.log(1 / KAPPA)}
    mh = AdaBoostMHClassifier(**as_rebel, **shape).fit(X, y)
    np.testing.assert_allclose(rebel.history_["loss"], K / 2 * mh.history_["loss"], rtol=1e-10)
    np.testing.assert_allclose(rebel.decision_function(X), mh.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", CLASSES)
def test_nothing_is_left_of_the_last_hypothesis(K: int) -> None:
    """After an exact step the new weights make the hypothesis of that step worthless: an error of 1/2, or SAMME's 1 - 1/K."""
    X, y = noisy(K)
    true = np.eye(K, dtype=bool)[y]

    def steps(name: str) -> Iterator[tuple[Floats, Floats]]:
        model = type(RUNS[name])(**RUNS[name].get_params()).fit(X, y)
        before = np.zeros((len(y), model.forest_.n_columns))
        for columns in model.forest_.staged_columns(X):
            yield columns - before, columns.copy()
            before = columns.copy()

    for added, F in steps("samme"):
        w = np.exp(-F[np.arange(len(y)), y])
        assert w[added.argmax(axis=1) != y].sum() / w.sum() == pytest.approx(1 - 1 / K, abs=1e-9)
    for added, F in steps("mh vote"):
        D = np.exp(-signs(y, K) * F)
        assert D[(added > 0) != true].sum() / D.sum() == pytest.approx(0.5, abs=1e-9)
    for added, F in steps("rebel shared"):  # each class by itself: s_T = s_F
        W = np.exp(-signs(y, K) * F)
        moved = np.abs(added).min(axis=0) > 1e-9
        assert moved.any()
        agree = (added > 0) == true
        np.testing.assert_allclose((W * agree).sum(axis=0)[moved], (W * ~agree).sum(axis=0)[moved], rtol=1e-9)
    masks = separators("pairs", K)
    margins = symmetric(K) @ separator_codes(masks).T
    for added, h in steps("piboost pairs"):  # the slope of each separator's stage loss
        slopes = (margins[y] * added * np.exp(-h * margins[y] / K)).sum(axis=0)
        sizes = np.abs(margins[y] * added * np.exp(-h * margins[y] / K)).sum(axis=0)
        assert (sizes > 0).all()
        assert (np.abs(slopes) < 1e-9 * sizes).all()


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("kind", ["singles", "pairs", "all"])
def test_scores_of_piboost_sum_to_zero(K: int, kind: str) -> None:
    X, y = noisy(K)
    model = PIBoostClassifier(separators=kind, max_depth=3, n_estimators=4, **WHOLE).fit(X, y)
    for F in staged_scores(model, X):
        assert np.abs(F).max() > 0.1
        np.testing.assert_allclose(F.sum(axis=1), 0, atol=1e-12 * np.abs(F).max())


def test_single_classes_are_decided_by_their_own_scores() -> None:
    X, y = noisy(5)
    model = PIBoostClassifier(separators="singles", max_depth=2, n_estimators=10, **WHOLE).fit(X, y)
    own = model.forest_.columns(X)
    np.testing.assert_allclose(model.decision_function(X), (5 * own - own.sum(axis=1, keepdims=True)) / 4, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), own.argmax(axis=1))


# ---- invariances ---------------------------------------------------------------------------------------------------------------------

INVARIANT: dict[str, BoostingClassifier] = {
    "samme": SAMMEClassifier(max_depth=3, n_estimators=12, **EXACT),
    "samme entropy": SAMMEClassifier(criterion="entropy", max_depth=2, n_estimators=12, **EXACT),
    "mh": AdaBoostMHClassifier(max_leaf_nodes=6, grow_by="classes", n_estimators=12, **EXACT),
    "mh vote": AdaBoostMHClassifier(leaves="vote", max_leaf_nodes=6, grow_by="classes", n_estimators=12, **EXACT),
    "piboost": PIBoostClassifier(separators="singles", max_depth=2, n_estimators=6, **WHOLE),
    "piboost all": PIBoostClassifier(separators="all", learner_weights="cost", max_depth=2, n_estimators=4, **WHOLE),
    "rebel": RebelClassifier(max_depth=2, n_estimators=12, **EXACT),
    "rebel shared": RebelClassifier(leaves="shared", max_depth=2, n_estimators=12, **EXACT),
}


def fit(name: str, X: Floats, y: Integers, weight: Floats | None = None, **other: Any) -> BoostingClassifier:
    model = type(INVARIANT[name])(**{**INVARIANT[name].get_params(), **other})
    return model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", INVARIANT)
def test_permuted_classes_permute_the_scores(name: str, K: int) -> None:
    X, y = noisy(K)
    rng = np.random.default_rng(K)
    new_name = rng.permutation(K) if K > 2 else np.array([1, 0])
    weight = rng.uniform(0.5, 1.5, len(y))  # no leaf has two labels of most weight, of which the first would win
    plain = as_columns(fit(name, X, y, weight).decision_function(X))
    renamed = as_columns(fit(name, X, new_name[y], weight).decision_function(X))
    np.testing.assert_allclose(renamed[:, new_name], plain, rtol=1e-9, atol=1e-9)
    assert np.abs(renamed - plain).max() > 0.1  # the permutation was no identity


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", INVARIANT)
def test_unit_of_weights(name: str, K: int) -> None:
    X, y = noisy(K)
    rng = np.random.default_rng(0)
    weight, counts = rng.uniform(0.2, 3.0, len(y)), rng.integers(1, 5, len(y)).astype(float)
    plain = fit(name, X, y, weight, max_bins=16).decision_function(X)
    for factor in (2.0**-40, 2.0**7):
        np.testing.assert_array_equal(fit(name, X, y, factor * weight, max_bins=16).decision_function(X), plain)
    np.testing.assert_allclose(fit(name, X, y, 3 * weight, max_bins=16).decision_function(X), plain, rtol=1e-9, atol=1e-9)
    # multiples of whole numbers are exact
    counted = fit(name, X, y, counts).decision_function(X)
    np.testing.assert_array_equal(fit(name, X, y, 3 * counts).decision_function(X), counted)
    assert np.abs(counted - plain).max() > 1e-3  # weights do matter


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostMHClassifier(n_estimators=10, max_leaf_nodes=8, calibrate=False, random_state=0),
        RebelClassifier(splitter="random", n_estimators=10, calibrate=False, random_state=0),
        SAMMEClassifier(subsample=0.5, max_depth=3, n_estimators=10, calibrate=False, random_state=0),
        PIBoostClassifier(sampling="weight", subsample=0.5, max_depth=3, n_estimators=5, calibrate=False, random_state=0),
    ],
    ids=["mh direction", "rebel random", "samme subsample", "piboost by weight"],
)
def test_unit_of_weights_where_splits_and_rows_are_drawn(model: BoostingClassifier) -> None:
    X, y = noisy(3)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    plain = model.fit(X, y, sample_weight=weight).decision_function(X)
    for factor in (2.0**-40, 2.0**7):
        np.testing.assert_array_equal(model.fit(X, y, sample_weight=factor * weight).decision_function(X), plain)


@pytest.mark.parametrize("name", INVARIANT)
def test_a_weight_of_two_is_two_rows(name: str) -> None:
    X, y = noisy(3)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    twice = fit(name, np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
    np.testing.assert_allclose(fit(name, X, y, counts.astype(float)).decision_function(X), twice, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", INVARIANT)
def test_data_given_twice(name: str, K: int) -> None:
    X, y = noisy(K)
    other = {"smoothing": 0.0} if name.startswith("mh") else {}  # the smoothing of MH is that of a row
    once = fit(name, X, y, **other).decision_function(X)
    twice = fit(name, np.vstack([X, X]), np.hstack([y, y]), **other).decision_function(X)
    np.testing.assert_allclose(twice, once, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", INVARIANT)
def test_a_constant_feature_is_of_no_use(name: str) -> None:
    X, y = noisy(3)
    plain = fit(name, X, y).decision_function(X)
    for column in (0, 2, 4):
        wider = np.insert(X, column, 7.0, axis=1)
        np.testing.assert_allclose(fit(name, wider, y).decision_function(wider), plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("max_bins", [255, 12])
@pytest.mark.parametrize("name", INVARIANT)
def test_rising_maps_of_features(name: str, max_bins: int) -> None:
    X, y = noisy(3)
    plain = fit(name, X, y, max_bins=max_bins).decision_function(X)
    for changed in (X**3, np.exp(X), np.column_stack([X[:, 0], np.arctan(X[:, 1]), 1e6 * X[:, 2] - 1e3, np.sinh(X[:, 3])])):
        np.testing.assert_array_equal(fit(name, changed, y, max_bins=max_bins).decision_function(changed), plain)


# ---- populations and links -----------------------------------------------------------------------------------------------------------

# Two features of two values make four cells; so many rows of each class are in each.
CELLS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
COUNTS = {
    2: np.array([[5, 1], [2, 4], [1, 9], [3, 2]]),
    3: np.array([[6, 1, 1], [2, 5, 2], [1, 2, 7], [3, 4, 2]]),
    7: np.array([[8, 1, 2, 1, 1, 2, 1], [1, 7, 1, 3, 1, 1, 2], [2, 1, 5, 1, 6, 1, 1], [1, 2, 1, 4, 1, 5, 3]]),
}


def population(counts: Integers) -> tuple[Floats, Integers, Floats]:
    """One row for each cell and class, weighted by its count."""
    K = counts.shape[1]
    cells = CELLS[: len(counts)] if len(counts) > 1 else np.zeros((1, 1))
    return np.repeat(cells, K, axis=0), np.tile(np.arange(K), len(counts)), counts.ravel().astype(float)


# A split whose gain is below 2**-36 of the weight (2**-18 for random thresholds) is none, so scores come as near as its square root.
NEAR, COARSELY_NEAR = 1e-5, 5e-3


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostMHClassifier(grow_by="classes", smoothing=0.0, max_confidence=100.0, n_estimators=100, **EXACT),
        AdaBoostMHClassifier(grow_by="classes", smoothing=0.0, weights="balanced", n_estimators=100, **EXACT),
        AdaBoostMHClassifier(smoothing=0.1, learning_rate=0.5, n_estimators=400, calibrate=False, random_state=0),
        RebelClassifier(max_depth=2, n_estimators=100, **EXACT),
        RebelClassifier(leaves="shared", max_depth=2, learning_rate=1.0, n_estimators=1000, **EXACT),
    ],
    ids=["mh", "mh balanced", "mh direction", "rebel", "rebel shared"],
)
def test_scores_converge_to_the_logit_of_class_shares(model: BoostingClassifier, K: int) -> None:
    X, y, weight = population(COUNTS[K])
    q = COUNTS[K] / COUNTS[K].sum(axis=1, keepdims=True)
    model = type(model)(**model.get_params()).fit(X, y, sample_weight=weight)
    F = model.scores(model.forest_.columns(CELLS))
    shift = np.log(K - 1) if model.get_params().get("weights") == "balanced" else 0.0
    tolerance = COARSELY_NEAR if model.splitter == "random" else NEAR
    np.testing.assert_allclose(expit(2 * F - shift), q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.predict_proba(CELLS), q, rtol=0, atol=tolerance)


@pytest.mark.parametrize("K", CLASSES)
def test_one_leaf_has_the_class_shares(K: int) -> None:
    """Nothing to split by: one step is exact for MH, REBEL and PIBoost; SAMME steps from class to class."""
    _, y, weight = population(COUNTS[K][1:2])
    q = weight / weight.sum()
    for model, n_rounds, tolerance in (
        (AdaBoostMHClassifier(smoothing=0.0), 1, 1e-12),
        (AdaBoostMHClassifier(smoothing=0.0, weights="balanced"), 1, 1e-12),
        (RebelClassifier(), 1, 1e-12),
        (RebelClassifier(leaves="shared"), 1, 1e-12),
        (PIBoostClassifier(separators="singles"), 1, 1e-12),
        (PIBoostClassifier(separators="pairs", probability="separators"), 1, 1e-4),
        (SAMMEClassifier(), 300, 1e-6),
    ):
        model.set_params(n_estimators=1, calibrate=False).fit(*noisy(K))  # links ask for the classes
        *_, last = drive(model, y, K, np.zeros((n_rounds, K)), n_leaves=1, labels=most_weight, weight=weight)
        np.testing.assert_allclose(model.link(last.columns[:1])[0], q, rtol=0, atol=tolerance, err_msg=str(model))


def test_first_vote_of_samme_has_the_share_of_its_class() -> None:
    _, y, weight = population(COUNTS[3][:1])
    (first,) = drive(SAMMEClassifier(), y, 3, np.zeros((1, 3)), n_leaves=1, labels=most_weight, weight=weight)
    np.testing.assert_allclose(SAMMEClassifier().link(first.columns)[0], [6 / 8, 1 / 8, 1 / 8], rtol=1e-12)


@pytest.mark.parametrize(("s", "K"), [(1, 2), (1, 3), (2, 5), (3, 7)])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.8])
def test_separator_score_of_a_population(s: int, K: int, p: float) -> None:
    """The link undoes the minimum of the population's loss, found by search."""

    def loss(h: float) -> float:
        return p * np.exp(-h / (s * (K - 1))) + (1 - p) * np.exp(h / ((K - s) * (K - 1)))

    h = minimize_scalar(loss, bracket=(-1.0, 1.0), tol=1e-12).x
    assert separator_logit(np.array([[h]]), np.array([s]), K)[0, 0] == pytest.approx(logit(p), abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "K", "tolerance"),
    [("singles", 2, 1e-12), ("singles", 3, 1e-8), ("pairs", 4, 1e-8), ("all", 5, 1e-6), ("singles", 7, 1e-8), ("pairs", 7, 1e-4)],
)
def test_coupling_recovers_probabilities(kind: str, K: int, tolerance: float) -> None:
    masks = separators(kind, K)
    p = np.random.default_rng(0).dirichlet(np.ones(K), 50)
    found = couple_separators(p @ masks.T, masks)
    np.testing.assert_allclose(found, p, atol=tolerance)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_coupling_maximises_the_likelihood_of_sets_that_disagree() -> None:
    K, rng = 5, np.random.default_rng(0)
    masks = separators("pairs", K)
    inside = rng.uniform(0.02, 0.98, (20, len(masks)))

    def likelihood(p: Floats) -> Floats:
        of_sets = p @ masks.T
        return (inside * np.log(of_sets) + (1 - inside) * np.log(1 - of_sets)).sum(axis=1)

    found = couple_separators(inside, masks)
    for other in [np.full((20, K), 1 / K), *rng.dirichlet(np.ones(K), (50, 20))]:
        assert (likelihood(found) >= likelihood(other)).all()
        near = 0.99 * found + 0.01 * other
        assert (likelihood(found) >= likelihood(near) - 1e-9).all()
    # a row's answer does not depend on the rows beside it
    np.testing.assert_allclose(couple_separators(inside[3:4], masks), found[3:4], rtol=1e-13, atol=1e-15)


# ---- decisions -----------------------------------------------------------------------------------------------------------------------

DECIDING: dict[str, BoostingClassifier] = {
    "samme": SAMMEClassifier(max_depth=3, n_estimators=20, random_state=0),
    "mh": AdaBoostMHClassifier(n_estimators=20, random_state=0),
    "mh vote": AdaBoostMHClassifier(leaves="vote", weights="balanced", n_estimators=20, max_leaf_nodes=6, random_state=0),
    "piboost": PIBoostClassifier(separators="singles", n_estimators=10, random_state=0),
    "piboost pairs": PIBoostClassifier(separators="pairs", max_depth=2, n_estimators=6, random_state=0),
    "piboost pairs coupled": PIBoostClassifier(separators="pairs", probability="separators", max_depth=2, n_estimators=6, random_state=0),
    "rebel": RebelClassifier(max_depth=3, n_estimators=20, random_state=0),
    "rebel shared": RebelClassifier(leaves="shared", max_depth=3, learning_rate=1.0, n_estimators=20, random_state=0),
}


@pytest.mark.parametrize("calibrate", ["auto", False])
@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", DECIDING)
def test_decisions_agree(name: str, K: int, calibrate: str | bool) -> None:
    X, y = noisy(K)
    Z = np.random.default_rng(1).uniform(-4, 4, (500, 4))  # far from the classes, where scores are close
    labels = np.array([f"class {k}" for k in range(K)])
    model = type(DECIDING[name])(**{**DECIDING[name].get_params(), "calibrate": calibrate}).fit(X, labels[y])
    stages = zip(model.staged_predict(Z), model.staged_decision_function(Z), model.staged_predict_proba(Z), strict=True)
    whole = model.predict(Z), model.decision_function(Z), model.predict_proba(Z)
    assert len(np.unique(whole[0])) > 1
    for predicted, decision, p in [whole, *stages]:
        by_score = np.where(decision > 0, 1, 0) if K == 2 else decision.argmax(axis=1)
        np.testing.assert_array_equal(predicted, labels[by_score])
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        # two probabilities may round to the same number where their scores do not
        assert (p[np.arange(len(p)), by_score] >= p.max(axis=1) * (1 - 1e-12)).all()
        assert (by_score == p.argmax(axis=1)).mean() > 0.98


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", DECIDING)
def test_probabilities_of_extreme_scores(name: str, K: int) -> None:
    model = type(DECIDING[name])(**{**DECIDING[name].get_params(), "n_estimators": 1, "calibrate": False}).fit(*noisy(K))
    n_columns = model.forest_.n_columns
    for columns in (np.full((1, n_columns), 1e5), np.full((1, n_columns), -1e5), np.zeros((1, n_columns)), 1e5 * np.eye(n_columns)):
        p = model.link(columns)
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
