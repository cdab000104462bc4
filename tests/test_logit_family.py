"""LogitBoost, GentleBoost, AOSO, ABC, GAMBLE, AdaBoost.ML and MCBoost: derivatives, identities, population limits, bounds, lengths."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hook_driver import Floats, Integers, drive
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, minimize
from scipy.special import softmax as scipy_softmax
from sklearn.datasets import load_digits
from test_theory import adaboost, error_with_ties, noisy, staged_scores

from manyboost import (
    ABCLogitBoostClassifier,
    AdaBoostMLClassifier,
    AOSOLogitBoostClassifier,
    GambleClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    MCBoostClassifier,
)
from manyboost.estimator import BoostingClassifier
from manyboost.loop import _in_groups, _problems_of
from manyboost.maths.codes import simplex, symmetric
from manyboost.maths.links import ROWS_IN_CACHE, softmax
from manyboost.maths.losses import Scores, first_of_largest, newton_values, sums_of_curvatures
from manyboost.maths.steps import length_of_least_loss
from manyboost.protocol import Answer, Gain, Leaves, Problem, Task
from manyboost.trees.criteria import GINI_CRITERION
from manyboost.trees.exact_sums import sum_leaves
from manyboost.trees.statistics import Statistics

EXACT: dict[str, Any] = {"splitter": "best", "calibrate": False, "random_state": 0}
K, N = 4, 60
RNG = np.random.default_rng(0)
Y, WEIGHT = RNG.integers(0, K, N), RNG.uniform(0.5, 2.0, N)
LEAF = RNG.integers(0, 3, N).astype(np.int32)


def most_weight(problem: Problem, sums: Floats) -> Integers:
    """Each leaf says the label of most weight, if rows have labels."""
    votes = sums[:, problem.summed.n_dense : problem.summed.size]
    return votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(sums), np.intp)


def responses(n_rounds: int, n_leaves: int = 5, seed: int = 1) -> list[Integers]:
    """Leaves that have to do with the class, and overlap."""
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(N) < 0.5, Y, rng.integers(0, n_leaves, N)) for _ in range(n_rounds)]


def after(algorithm: BoostingClassifier, n_rounds: int = 3) -> tuple[Task, Any]:
    """A task, and the state after some rounds with shrunken steps."""
    task = Task.of(Y, K, WEIGHT)
    *_, last = drive(algorithm, Y, K, responses(n_rounds), labels=most_weight, n_leaves=5, weight=WEIGHT)
    return task, last.state


# ---- derivatives -----------------------------------------------------------------------------------------------------------------------

# how far the scores go when a leaf adds one: what step makes of the sums is not asked here
DERIVATIVES = {
    "logitboost": (LogitBoostClassifier(), (K - 1) / K),
    "gentleboost zou": (GentleBoostClassifier(), 1.0),
    "gentleboost ova": (GentleBoostClassifier(variant="ova"), 1.0),
    "abc": (ABCLogitBoostClassifier(search=None), 1.0),
    "abc warm-up": (ABCLogitBoostClassifier(warm_up=99), 1.0),
}


def vectors_of(algorithm: BoostingClassifier, problem: Problem) -> Floats:
    """Leaf 0 adds one to the class of the problem, and takes it from the base class where there is one."""
    vectors = np.zeros((3, max(problem.width, 1)))
    vectors[0, [-1, 0]] = 1.0
    if problem.tag is not None:
        vectors[0, 0 if problem.column == problem.tag else -1] = -1.0
    return vectors


@pytest.mark.parametrize("name", DERIVATIVES)
def test_statistics_are_gradient_and_curvature_of_the_loss(name: str) -> None:
    algorithm, speed = DERIVATIVES[name]
    task, state = after(algorithm)
    n_problems = 0
    for group in _in_groups(algorithm.pose(task, state, np.random.default_rng(0))):
        for problem in group:
            vectors = vectors_of(algorithm, problem)

            def loss(eps: float, problem: Problem = problem, vectors: Floats = vectors) -> float:
                return algorithm.loss(task, algorithm.update(task, state, [Gain(problem, eps * vectors, LEAF)]))

            eps = 1e-4
            slope = (loss(eps) - loss(-eps)) / (2 * eps)
            curvature = (loss(eps) - 2 * loss(0) + loss(-eps)) / eps**2
            (g, h) = sum_leaves(problem.summed, LEAF, 3)[0]
            assert_allclose(-speed * g, slope, atol=1e-8)
            assert_allclose(speed**2 * h, curvature, atol=1e-6)
            n_problems += 1
    assert n_problems == (K * (K - 1) if name == "abc" else K)


@pytest.mark.parametrize("n", [1, ROWS_IN_CACHE, 2 * ROWS_IN_CACHE + 300])
@pytest.mark.parametrize("order", ["C", "F"])
def test_softmax_of_rows_and_of_columns_is_scipys(n: int, order: Literal["C", "F"]) -> None:
    rng = np.random.default_rng(n)
    for K in (2, 3, 7, 26):
        F = np.asarray(rng.normal(size=(n, K)) * rng.choice([1.0, 30.0, 800.0], (n, 1)), order=order)
        assert_array_equal(softmax(F), scipy_softmax(F, axis=1))


def test_curvatures_are_those_of_the_softmax_hessian() -> None:
    F = RNG.normal(size=(5, K))
    scores = Scores.of(F)
    H = np.stack([np.diag(p) - np.outer(p, p) for p in scores.p])
    assert_allclose(scores.curvature(), np.einsum("nkk->nk", H))
    r = np.array([0, 1, 2, 3, 0])
    for k in range(K):
        d = np.eye(K)[r] - np.eye(K)[k]
        expected = np.einsum("nk,nkl,nl->n", d, H, d)
        one_by_one = sums_of_curvatures(scores.p / 5, np.full(5, 0.2), np.arange(5, dtype=np.int32), r)[:, k]  # a leaf for each row
        assert_allclose(np.where(r == k, 0, 5 * one_by_one), expected, atol=1e-12)
        one_by_one = [0 if j == k else scores.along_pair(r, np.ones(5), int(j), k)[i, 1] for i, j in enumerate(r)]
        assert_allclose(one_by_one, expected, atol=1e-12)
    eps = 1e-5
    for k in range(K):
        steps = [Scores.of(F + e * np.eye(K)[k]).cross_entropy(np.arange(5) % K, np.full(5, 0.2)) for e in (-eps, eps)]
        assert_allclose(-scores.residual(np.arange(5) % K)[:, k].mean(), (steps[1] - steps[0]) / (2 * eps), atol=1e-9)


def test_sums_of_curvatures_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    p, leaf, w = rng.dirichlet(np.ones(K), 500), rng.integers(0, 3, 500).astype(np.int32), rng.dirichlet(np.full(500, 0.1))
    w[:5] = 0.0
    w, first, order = w / w.sum(), np.array([2, 0, 1]), rng.permutation(500)
    sums = sums_of_curvatures(w[:, None] * p, w, leaf, first)
    assert (sums == sums_of_curvatures((w[:, None] * p)[order], w[order], leaf[order], first)).all()
    own = np.take_along_axis(p, first[leaf][:, None], axis=1)
    each = w[:, None] * (own + p - (own - p) ** 2)
    assert_allclose(sums, [each[leaf == at].sum(axis=0) for at in range(3)], rtol=1e-12)


def test_aoso_leaves_are_newton_steps_of_the_best_partner() -> None:
    algorithm = AOSOLogitBoostClassifier(max_step=100.0)
    task, state = after(algorithm)
    (problem,) = algorithm.pose(task, state, np.random.default_rng(0))
    sums = sum_leaves(problem.summed, LEAF, 3)
    assert problem.then is not None
    sums = np.hstack([sums, problem.then(sums, LEAF)])
    answer = algorithm.step(task, problem, Leaves(sums, np.zeros(3, np.intp)))
    assert isinstance(answer, Answer)
    for leaf in range(3):
        w, p = task.weight[LEAF == leaf], state.p[LEAF == leaf]
        g = (w[:, None] * (np.eye(K)[task.y[LEAF == leaf]] - p)).sum(axis=0)
        H = np.einsum("n,nkl->kl", w, np.stack([np.diag(q) - np.outer(q, q) for q in p]))
        r = int(g.argmax())
        steps = {s: (g[r] - g[s]) / (H[r, r] + H[s, s] - 2 * H[r, s]) for s in range(K) if s != r}
        s = max(steps, key=lambda s: steps[s] * (g[r] - g[s]))
        assert_allclose(answer.vectors[leaf], steps[s] * (np.eye(K)[r] - np.eye(K)[s]), rtol=1e-9)


@pytest.mark.parametrize(
    "algorithm",
    [AdaBoostMLClassifier(), MCBoostClassifier(), MCBoostClassifier(descent="coordinate")],
    ids=["ml", "gradient", "coordinate"],
)
def test_slopes_are_derivatives_of_the_loss(algorithm: BoostingClassifier) -> None:
    task, state = after(algorithm)
    for group in _in_groups(algorithm.pose(task, state, np.random.default_rng(0))):
        (problem,) = group
        width = K if isinstance(algorithm, AdaBoostMLClassifier) else 1 if len(problem.summed.label) else K - 1
        vectors = np.random.default_rng(3).normal(size=(3, width))
        along = algorithm.slope(task, state, Gain(problem, vectors, LEAF))

        def loss(a: float, problem: Problem = problem, vectors: Floats = vectors) -> float:
            return algorithm.loss(task, algorithm.update(task, state, [Gain(problem, a * vectors, LEAF)]))

        for a in (0.0, 0.3, -0.7):
            eps = 1e-4
            first, second = (part.sum() for part in along(a))
            assert_allclose(first, (loss(a + eps) - loss(a - eps)) / (2 * eps), rtol=1e-6, atol=1e-8)
            assert_allclose(second, (loss(a + eps) - 2 * loss(a) + loss(a - eps)) / eps**2, rtol=1e-4, atol=1e-6)


def test_mcboost_grows_by_minus_the_gradient() -> None:
    algorithm = MCBoostClassifier()
    task, state = after(algorithm)
    (problem,) = algorithm.pose(task, state, np.random.default_rng(0))
    u = sum_leaves(problem.summed, LEAF, 3)[:, :-1]
    s, eps = simplex(K), 1e-5
    slopes = []
    for j in range(K - 1):
        direction = np.zeros((3, K - 1))
        direction[1, j] = eps
        losses = [algorithm.loss(task, algorithm.update(task, state, [Gain(problem, sign * direction, LEAF)])) for sign in (1, -1)]
        slopes.append(-(losses[0] - losses[1]) / (2 * eps))
    found = (u @ s)[1]
    unit = float(found @ slopes / (found @ found))
    assert_allclose(unit * found, slopes, atol=1e-8)
    assert np.abs(problem.made().dense[:, :-1] / task.weight[:, None]).max() == pytest.approx(1)  # the unit: the steepest row


# ---- steps -----------------------------------------------------------------------------------------------------------------------------


def test_first_logitboost_round_is_the_exact_newton_step() -> None:
    """At equal scores the Hessian is a multiple of the centring, so K steps of one class each are Newton's step for all."""
    made = next(drive(LogitBoostClassifier(), Y, K, [LEAF], labels=most_weight, n_leaves=3, weight=WEIGHT))
    w = WEIGHT / WEIGHT.sum()
    for leaf in range(3):
        inside = leaf == LEAF
        g = w[inside] @ (np.eye(K)[Y[inside]] - 1 / K)
        H = w[inside].sum() * (np.eye(K) / K - 1 / K**2)
        assert_allclose(made.F[inside], np.tile(np.linalg.pinv(H) @ g, (inside.sum(), 1)), atol=1e-12)


def test_working_responses_are_cut_off() -> None:
    """Newton's sums are those of weighted least squares on z; with a bound on z, of z cut off and w = (y* - p) / z."""
    task, state = after(LogitBoostClassifier(), 6)
    for z_max in (None, 3.0, 1.2):
        problems = LogitBoostClassifier(z_max=z_max).pose(task, state, np.random.default_rng(0))
        for k, problem in enumerate(problems):
            own, p = task.y == k, state.p[:, k]
            z = np.where(own, 1 / p, -1 / (1 - p))
            z = z if z_max is None else np.clip(z, -z_max, z_max)
            w = task.weight * (own - p) / z
            assert_allclose(problem.made().dense, np.column_stack([w * z, w]), rtol=1e-12)
    assert np.abs(z).max() == 1.2


def test_newton_values() -> None:
    value, clipped = newton_values(np.array([1.0, 0.0, -3.0, 1.0]), np.array([2.0, 0.0, 1.0, 0.0]), 2.0)
    assert_array_equal(value, [0.5, 0.0, -2.0, 2.0])
    assert clipped
    assert not newton_values(np.array([1.0]), np.array([1.0]), 1.0)[1]


def test_first_of_largest() -> None:
    values = np.array([[1.0, 1.0 + 1e-13, 0.0], [0.0, 1.0, 2.0]])
    assert_array_equal(first_of_largest(values, 1.0), [0, 2])
    assert_array_equal(first_of_largest(values, np.array([0.0, 1e12])), [1, 0])


@pytest.mark.parametrize("seed", range(20))
def test_length_of_least_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = 10.0 ** rng.uniform(-6, 6, 40), rng.normal(size=40) * 10.0 ** rng.uniform(-2, 3)
    v *= -np.sign((q * v).sum())  # the loss falls at 0

    def slope(a: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            e = q * np.exp(a * v)
            return float((e * v).sum()), float((e * v**2).sum())

    a, clipped = length_of_least_loss(slope, 1e6)
    high = 1.0 / np.abs(v).max()
    while slope(high)[0] < 0:
        high *= 2
    assert not clipped
    assert_allclose(a, brentq(lambda a: slope(a)[0], 0, high, xtol=1e-15, rtol=1e-14), rtol=1e-9)
    assert length_of_least_loss(slope, a / 2) == (a / 2, True)


def test_length_is_cut_off_where_the_loss_falls_for_ever() -> None:
    assert length_of_least_loss(lambda a: (-np.exp(-a), np.exp(-a)), 20.0) == (20.0, True)
    assert length_of_least_loss(lambda a: (-1.0, 0.0), 20.0) == (20.0, True)


@pytest.mark.parametrize("algorithm", [AdaBoostMLClassifier(), MCBoostClassifier(), MCBoostClassifier(descent="coordinate")])
def test_a_step_leaves_nothing_to_gain_along_its_tree(algorithm: BoostingClassifier) -> None:
    """The slope along the direction that was gone vanishes where it ended."""
    task, state = after(algorithm)
    losses = []
    for factor in (0.98, 1.0, 1.02):
        runs = list(drive(Scaled(algorithm, factor), Y, K, [*responses(3), LEAF], labels=most_weight, n_leaves=5, weight=WEIGHT))
        losses.append(algorithm.loss(task, runs[-1].state))
    assert losses[1] < min(losses[0], losses[2])


class Scaled:
    """An algorithm whose fourth update goes too far, or not far enough, by a factor."""

    def __init__(self, algorithm: BoostingClassifier, factor: float):
        self.algorithm, self.factor, self.n_updates = algorithm, factor, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.algorithm, name)

    def update(self, task: Task, state: Any, gains: list[Gain]) -> Any:
        last = isinstance(gains[0].leaf, np.ndarray) and np.array_equal(gains[0].leaf, LEAF)
        return self.algorithm.update(task, state, [g._replace(vectors=g.vectors * (self.factor if last else 1.0)) for g in gains])


# ---- identities ------------------------------------------------------------------------------------------------------------------------

LOGITS = {
    "logitboost": LogitBoostClassifier(max_step=50.0, max_leaf_nodes=8, learning_rate=0.3, n_estimators=12, **EXACT),
    "aoso": AOSOLogitBoostClassifier(max_step=50.0, max_leaf_nodes=8, learning_rate=0.3, n_estimators=12, **EXACT),
    "abc": ABCLogitBoostClassifier(max_step=50.0, max_leaf_nodes=8, learning_rate=0.3, n_estimators=12, **EXACT),
}
GENTLE = {
    "zou": GentleBoostClassifier(),
    "ova": GentleBoostClassifier(variant="ova"),
    "gamble": GambleClassifier(),
}
ZERO_SUM: dict[str, BoostingClassifier] = {
    **LOGITS,
    **GENTLE,
    "abc, searching": ABCLogitBoostClassifier(search=None, warm_up=2, n_estimators=5, **EXACT),
    "ml": AdaBoostMLClassifier(),
    "mcboost": MCBoostClassifier(),
    "coordinate": MCBoostClassifier(descent="coordinate"),
    "shared": LogitBoostClassifier(trees="shared"),
}


def test_two_classes_make_one_logitboost_of_three() -> None:
    """The same trees, steps and scores: F = 1/2 sum (y* - p) / sum p (1 - p)."""
    X, y = noisy(2)
    models = {name: algorithm.fit(X, y) for name, algorithm in LOGITS.items()}
    expected = models["logitboost"].decision_function(X)
    assert np.abs(expected).max() > 1
    for name in ("aoso", "abc"):
        assert_allclose(models[name].decision_function(X), expected, atol=1e-9)
        assert_allclose(models[name].history_["loss"], models["logitboost"].history_["loss"], atol=1e-12)


def test_two_classes_make_one_gentleboost_of_three() -> None:
    y = (Y > 1).astype(int)
    runs = {
        name: list(drive(algorithm, y, 2, responses(6), labels=most_weight, n_leaves=5, weight=WEIGHT))
        for name, algorithm in GENTLE.items()
    }
    # binary GentleBoost: F += the weighted mean of Y in a leaf
    s, F = np.where(y == 1, 1.0, -1.0), np.zeros(N)
    for leaf in responses(6):
        w = WEIGHT * np.exp(-s * F)
        F += (np.bincount(leaf, w * s, 5) / np.maximum(np.bincount(leaf, w, 5), 1e-300))[leaf]
    for run in runs.values():
        assert_allclose(run[-1].F[:, 1], F, atol=1e-10)


def test_undamped_steps_of_two_classes_never_end() -> None:
    """Why damp is the default: at one leaf of shares 2/3 and 1/3 the published steps swing to and fro for ever."""
    y, one = np.array([0, 0, 1]), [np.zeros(3, int)] * 30
    damped, published = (
        [made.F[0, 0] for made in drive(GentleBoostClassifier(damp=damp), y, 2, one, labels=most_weight, n_leaves=1)]
        for damp in (True, False)
    )
    best = np.log(2) / 2
    assert_allclose(damped[-1], best, atol=1e-12)
    assert min(abs(F - best) for F in published[-2:]) > 0.01
    assert (published[-1] - best) * (published[-2] - best) < 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("leaves", ["coordinate", "code"])
def test_mcboost_of_two_classes_is_adaboost(seed: int, leaves: str) -> None:
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)
    expected = list(adaboost(y, weight, 8, rng))
    algorithm = MCBoostClassifier(descent="coordinate") if leaves == "coordinate" else MCBoostClassifier(leaves="code")
    made = list(drive(algorithm, y, 2, [leaf for leaf, _, _ in expected], labels=most_weight, weight=weight))
    for round_, (_, w, H) in zip(made, expected, strict=True):
        rows = round_.state.values.sum(axis=1)
        assert_allclose(rows / rows.sum(), w, rtol=1e-9)
        assert_allclose((round_.F[:, 0] - round_.F[:, 1]) / 2, H, atol=1e-9)


def test_warm_up_of_abc_is_logitboost() -> None:
    X, y = noisy(3)
    same: dict[str, Any] = {
        "max_step": 5.0,
        "max_leaf_nodes": 6,
        "learning_rate": 0.2,
        "n_estimators": 6,
        "random_state": 0,
        "calibrate": False,
    }
    plain = LogitBoostClassifier(**same).fit(X, y)
    warm = ABCLogitBoostClassifier(warm_up=6, **same).fit(X, y)
    assert_allclose(warm.decision_function(X), plain.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("name", ZERO_SUM)
def test_scores_sum_to_zero(name: str) -> None:
    made = list(drive(ZERO_SUM[name], Y, K, responses(5), labels=most_weight, n_leaves=5, weight=WEIGHT))
    assert np.abs(made[-1].F).max() > 0.1
    assert_allclose(made[-1].F.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in ZERO_SUM if name not in ("coordinate", "shared")])
def test_permuting_labels_permutes_scores(name: str) -> None:
    permutation = np.array([2, 0, 3, 1])
    plain, permuted = (
        list(drive(ZERO_SUM[name], y, K, responses(5), labels=most_weight, n_leaves=5, weight=WEIGHT))[-1].F for y in (Y, permutation[Y])
    )
    assert_allclose(permuted[:, permutation], plain, atol=1e-8)


def test_codes_of_the_simplex() -> None:
    for n in (2, 3, 7):
        s = simplex(n)
        assert_allclose(s @ s.T, np.where(np.eye(n) > 0, 1.0, -1 / (n - 1)), atol=1e-14)
        assert_allclose(s.sum(axis=0), 0, atol=1e-14)
    # <c_y, f> / K of GAMBLE's loss is f_y / (K-1) where f sums to zero
    f = RNG.normal(size=K)
    f -= f.mean()
    assert_allclose(symmetric(K) @ f / K, f / (K - 1))


# ---- population links ------------------------------------------------------------------------------------------------------------------

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
ONE_LEAF = {
    "logitboost": (LogitBoostClassifier(), 30),
    "gentleboost": (GentleBoostClassifier(), 200),
    "gentleboost ova": (GentleBoostClassifier(variant="ova"), 60),
    "aoso": (AOSOLogitBoostClassifier(), 300),
    "abc": (ABCLogitBoostClassifier(search=None), 60),
    "gamble": (GambleClassifier(), 60),
    "mcboost": (MCBoostClassifier(), 300),
}


@pytest.mark.parametrize("name", ONE_LEAF)
def test_one_leaf_converges_to_the_shares_of_the_classes(name: str) -> None:
    """For GentleBoost one against the rest, sigma(2 F_k) is the share; the others' probabilities are the link itself."""
    algorithm, n_rounds = ONE_LEAF[name]
    made = list(drive(algorithm, np.arange(K), K, [np.zeros(K, int)] * n_rounds, labels=most_weight, n_leaves=1, weight=SHARES))
    last = made[-1]
    if name == "gentleboost ova":
        sigmoid = 1 / (1 + np.exp(-2 * last.columns[0]))
        assert_allclose(sigmoid, SHARES, atol=1e-6)
        assert_allclose(algorithm.link(last.columns)[0], sigmoid / sigmoid.sum(), atol=1e-12)
    else:
        assert_allclose(algorithm.link(last.columns)[0], SHARES, atol=1e-4)


def test_population_minimiser_of_adaboost_ml() -> None:
    """Where sum_k q_k ln(1 + e^-f_k) is least among f that sum to zero, 1 + e^f_k is proportional to q_k if all q_k exceed a bound."""
    q = np.array([0.4, 0.3, 0.3])

    def risk(free: Floats) -> float:
        f = np.append(free, -free.sum())
        return float((q * np.logaddexp(0, -f)).sum())

    f = minimize(risk, np.zeros(2), tol=1e-14).x
    assert_allclose(AdaBoostMLClassifier().link(np.append(f, -f.sum())[None])[0], q, atol=1e-5)


# ---- along real runs -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("descent", ["gradient", "coordinate"])
def test_mcboost_mistakes_no_more_than_its_loss(descent: str) -> None:
    X, y = noisy(4)
    model = MCBoostClassifier(descent=descent, max_leaf_nodes=4, n_estimators=15, learning_rate=1.0, **EXACT).fit(X, y)
    for F, loss in zip(staged_scores(model, X), model.history_["loss"], strict=True):
        assert error_with_ties(F, y) <= loss
    assert model.history_["loss"][-1] < 0.8 * 3  # it begins at K - 1


@pytest.mark.parametrize(
    "algorithm",
    [
        *LOGITS.values(),
        *(algorithm.set_params(n_estimators=12, max_leaf_nodes=6, **EXACT) for algorithm in GENTLE.values()),
        AdaBoostMLClassifier(n_estimators=12, max_leaf_nodes=6, **EXACT),
        LogitBoostClassifier(trees="shared", n_estimators=12, max_leaf_nodes=6, **EXACT),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_the_loss_is_that_of_the_scores_and_falls(algorithm: BoostingClassifier) -> None:
    X, y = noisy(3)
    model = algorithm.fit(X, y)
    losses = model.history_["loss"]
    assert (np.diff(losses) < 0).all()
    *_, F = staged_scores(model, X)
    own = F[np.arange(len(y)), y]
    signs = np.where(np.eye(3)[y] > 0, 1.0, -1.0)
    expected = {
        "GentleBoostClassifier": np.exp(-own).mean() if getattr(model, "variant", "") == "zou" else None,
        "GambleClassifier": np.exp(-own / 2).mean(),
        "AdaBoostMLClassifier": np.logaddexp(0, -own).mean(),
    }.get(type(model).__name__, -np.log(np.exp(own) / np.exp(F).sum(axis=1)).mean())
    if expected is None:  # the columns before they are centred
        *_, G = model.forest_.staged_columns(X)
        expected = np.exp(-signs * G).mean()
    assert_allclose(losses[-1], expected, rtol=1e-9)


def test_aoso_leaves_move_a_pair() -> None:
    X, y = noisy(5)
    model = AOSOLogitBoostClassifier(n_estimators=8, **EXACT).fit(X, y)
    pairs = set()
    for member in range(len(model.forest_.members)):
        for vector in model.forest_.tree(member)[1]:
            assert (vector != 0).sum() in (0, 2)
            assert vector.sum() == 0
            pairs.add((int(vector.argmax()), int(vector.argmin())))
    raised, lowered = (set(classes) for classes in zip(*pairs, strict=True))
    assert len(raised) == 5
    assert len(lowered) > 1


def test_abc_keeps_the_base_class_of_least_loss() -> None:
    """Searching all classes is never worse in a round than the worst class alone, and picks another one now and then."""
    X, y = noisy(4)
    settings: dict[str, Any] = {"n_estimators": 1, "max_leaf_nodes": 4, **EXACT}
    alone = [ABCLogitBoostClassifierOf(base, **settings).fit(X, y).history_["loss"][0] for base in range(4)]
    assert len(set(alone)) == 4
    best = ABCLogitBoostClassifier(search=None, **settings).fit(X, y)
    assert best.history_["loss"][0] == min(alone)
    assert best.history_["n_trees"][0] == 3


class ABCLogitBoostClassifierOf(ABCLogitBoostClassifier):
    """ABC with a given base class."""

    def __init__(self, base: int, **parameters: Any):
        super().__init__(**parameters)
        self.given = base

    def candidates(self, task: Task, state: Any) -> list[int]:
        return [self.given]


def test_abc_swings_ever_wider_with_many_classes_unless_damped() -> None:
    """One leaf of equal shares but for one class: the first step of 40 classes at nu = 1 overshoots twenty times."""
    n_classes = 40
    y, weight, one = np.arange(n_classes), np.r_[2.0, np.ones(n_classes - 1)], [np.zeros(n_classes, int)] * 12
    task = Task.of(y, n_classes, weight)
    damped, published = (
        [algorithm.loss(task, made.state) for made in drive(algorithm, y, n_classes, one, labels=most_weight, n_leaves=1, weight=weight)]
        for algorithm in (ABCLogitBoostClassifier(damp=damp, learning_rate=1.0) for damp in (True, False))
    )
    assert damped[-1] < np.log(n_classes)
    assert published[-1] > 1.5 * damped[-1]


def test_gap_keeps_the_base_class() -> None:
    algorithm = ABCLogitBoostClassifier(gap=2)
    bases = [made.state.base for made in drive(algorithm, Y, K, responses(9), labels=most_weight, n_leaves=5, weight=WEIGHT)]
    assert all(len(set(bases[at : at + 3])) == 1 for at in (0, 3, 6))
    assert len(set(bases)) > 1
    every = [
        made.state.base for made in drive(ABCLogitBoostClassifier(), Y, K, responses(9), labels=most_weight, n_leaves=5, weight=WEIGHT)
    ]
    assert len({tuple(every[at : at + 3]) for at in (0, 3, 6)} & {(b, b, b) for b in range(K)}) < 3


def test_a_replay_knows_the_group_of_each_tree() -> None:
    nothing = Statistics.of_labels(np.zeros(2, int), np.ones(2), 2)
    groups = [
        [Problem(nothing, GINI_CRITERION, column=c, width=w, tag=g) for c, w in pairs]
        for g, pairs in enumerate([[(0, 2), (0, 3)], [(0, 2), (1, 2)]])
    ]
    assert [problem.tag for problem in _problems_of(groups, [(0, 2), (1, 2)])] == [1, 1]
    assert [problem.tag for problem in _problems_of(groups, [(0, 3)])] == [0]
    with pytest.raises(ValueError, match="warm_start"):
        _problems_of(groups, [(5, 1)])


def test_mcboost_goes_on_where_slopes_have_become_small() -> None:
    """Gains of splits are compared as shares of the rows' weight; once few rows are mistaken, slopes are a tiny share of it."""
    X, y = load_digits(return_X_y=True)
    model = MCBoostClassifier(n_estimators=60, random_state=0, calibrate=False).fit(X, y)
    assert (model.history_["n_made"] == 1).all()  # no tree was of no use
    assert (np.diff(model.history_["loss"]) < 0).all()
    assert model.history_["loss"][-1] < 1e-4 * model.history_["loss"][0]


def test_rows_that_are_alike_are_summed_together() -> None:
    rng = np.random.default_rng(0)
    leaf, y, values = rng.integers(0, 5, 60).astype(np.int32), rng.integers(0, 3, 60), rng.random((60, 2))
    leaf[leaf == 2] = 1  # a leaf may be empty
    y[leaf == 3] = 1
    sums, of_leaf, of_class = Gain(Problem(Statistics.of_rows(values), GINI_CRITERION), np.zeros((5, 1)), leaf).sums_of_alike(values, y, 3)
    met = sorted(set(zip(leaf.tolist(), y.tolist(), strict=True)))
    assert list(zip(of_leaf.tolist(), of_class.tolist(), strict=True)) == met
    for row, (a, b) in zip(sums, met, strict=True):
        np.testing.assert_allclose(row, values[(leaf == a) & (y == b)].sum(axis=0), rtol=1e-12)
