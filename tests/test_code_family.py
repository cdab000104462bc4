"""AdaBoost.OC, ECC, ERP and MO: colourings, codes, and what their papers prove."""

from __future__ import annotations

from itertools import chain, combinations, product, repeat
from typing import Any

import numpy as np
import pytest
from hook_driver import Floats, Integers, drive
from sklearn.base import clone
from test_theory import CLASSES, EXACT, adaboost, error_with_ties, noisy, staged_scores

from manyboost import AdaBoostECCClassifier, AdaBoostMHClassifier, AdaBoostMOClassifier, AdaBoostOCClassifier
from manyboost.algorithms import adaboost_ecc, adaboost_oc
from manyboost.checks import digest
from manyboost.estimator import BoostingClassifier
from manyboost.maths.code_matrices import row_distance
from manyboost.maths.codes import check_code, exhaustive, one_vs_all, random_code
from manyboost.maths.colourings import colouring, greedy_cut, max_cut, pair_weights, repartition
from manyboost.maths.weights import Weights, wrong_labels
from manyboost.protocol import Answer, Gain, Leaves, Problem, Refusal, Task
from manyboost.trees.exact_sums import sum_leaves

SIDES = np.array([-1.0, 1.0])  # what the two leaves of a binary hypothesis say


def random_pairs(K: int, n: int = 40, seed: int = 0) -> tuple[Task, Floats]:
    """Rows and a distribution over their wrong labels."""
    rng = np.random.default_rng(seed)
    task = Task.of(np.arange(n) % K, K, np.ones(n))
    D = wrong_labels(np.ones(n), task.y, K) * rng.exponential(size=(n, K))
    return task, D / D.sum()


def answer_of(algorithm: BoostingClassifier, task: Task, D: Floats, leaf: Integers) -> tuple[Answer, Problem, Weights]:
    """The answer to a tree of two leaves, -1 and +1, and the weights after it."""
    (problem,) = algorithm.pose(task, Weights.of(D), np.random.default_rng(0))
    answer = algorithm.step(task, problem, Leaves(sum_leaves(problem.summed, leaf, 2), np.array([0, 1])))
    assert isinstance(answer, Answer)
    return answer, problem, algorithm.update(task, Weights.of(D), [Gain(problem, answer.vectors, leaf)])


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the colouring of the next rounds."""

    def give(mu: Floats) -> None:
        for module in (adaboost_oc, adaboost_ecc):
            monkeypatch.setattr(module, "colouring", lambda *asked: np.asarray(mu, float))

    return give


# ---- two classes ---------------------------------------------------------------------------------------------------------------------

AS_ADABOOST: dict[str, BoostingClassifier] = {
    "oc": AdaBoostOCClassifier(),
    "oc max_cut": AdaBoostOCClassifier(colouring="max_cut"),
    "ecc": AdaBoostECCClassifier(),
    "ecc random": AdaBoostECCClassifier(colouring="random"),
    "ecc max_cut_greedy": AdaBoostECCClassifier(colouring="max_cut_greedy"),
    "erp": AdaBoostECCClassifier(repartition=True),
    "erp max_pair": AdaBoostECCClassifier(repartition=True, colouring="max_pair"),
    "mo": AdaBoostMOClassifier(code=[[1], [-1]], leaves="vote", grow_by="columns"),
}


@pytest.mark.parametrize("name", AS_ADABOOST)
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_adaboost(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)

    def says_the_class(problem: Problem, sums: Floats) -> Integers:
        """Leaf 0 says class 0 and leaf 1 class 1, by the colours that rows of these have."""
        first = int(problem.made().label[y == 0][0]) if problem.made().n_labels else 0
        return np.array([first, 1 - first])

    expected = list(adaboost(y, weight, 8, rng))
    made = list(drive(AS_ADABOOST[name], y, 2, [leaf for leaf, _, _ in expected], labels=says_the_class, weight=weight))
    assert len(made) == 8
    for round_, (_, w, H) in zip(made, expected, strict=True):
        rows = round_.state.values.sum(axis=1)
        np.testing.assert_allclose(rows / rows.sum(), w, rtol=1e-11)
        np.testing.assert_allclose((round_.F[:, 0] - round_.F[:, 1]) / 2, H, rtol=1e-11, atol=1e-11)


# ---- steps of OC and ECC ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [3, 4, 6])
def test_oc_and_ecc_are_one_where_every_pair_is_parted(K: int, given: Any) -> None:
    """With U = 1; otherwise OC's step, by the pseudo-loss, is the shorter."""
    mu = np.where(np.arange(K) < K // 2, 1.0, -1.0)
    given(mu)
    task, D = random_pairs(K)
    leaf = np.where(np.random.default_rng(1).random(40) < 0.3, 1 - (mu[task.y] > 0), mu[task.y] > 0).astype(np.int32)
    oc, ecc = (answer_of(algorithm, task, D, leaf)[0] for algorithm in (AdaBoostOCClassifier(), AdaBoostECCClassifier()))
    assert 0 < oc.size < 0.9 * ecc.size
    parted = D * (mu[task.y][:, None] != mu)
    oc, ecc = (answer_of(algorithm, task, parted, leaf)[0] for algorithm in (AdaBoostOCClassifier(), AdaBoostECCClassifier()))
    assert oc.size == pytest.approx(ecc.size, rel=1e-12)
    np.testing.assert_allclose(oc.vectors, ecc.vectors, rtol=1e-12)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_pseudo_loss_of_a_colour(K: int, given: Any) -> None:
    """eps~ is the pseudo-loss of the answer "any label of this colour"."""
    mu = np.where(np.arange(K) % 2 == 0, 1.0, -1.0)
    given(mu)
    task, D = random_pairs(K)
    leaf = np.where(np.random.default_rng(1).random(40) < 0.3, 1 - (mu[task.y] > 0), mu[task.y] > 0).astype(np.int32)
    answer, _, _ = answer_of(AdaBoostOCClassifier(), task, D, leaf)
    said = (SIDES[leaf][:, None] == mu).astype(float)  # h~(x, l)
    pseudo = (D * (1 - said[np.arange(40), task.y][:, None] + said)).sum() / 2
    assert answer.size == pytest.approx(np.log((1 - pseudo) / pseudo) / 2, rel=1e-12)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_normaliser_of_ecc(K: int, given: Any) -> None:
    """Z = 1 - U + 2 U sqrt(eps (1-eps)), the slope vanishes, and one coefficient for each answer is never worse."""
    mu = np.where(np.arange(K) % 2 == 0, 1.0, -1.0)
    given(mu)
    task, D = random_pairs(K)
    task = Task(task.codes, K, task.weight, 1e12)  # no smoothing to speak of
    for seed in range(5):
        leaf = np.where(np.random.default_rng(seed).random(40) < 0.3, 1 - (mu[task.y] > 0), mu[task.y] > 0).astype(np.int32)
        h, apart = SIDES[leaf], mu[task.y][:, None] != mu
        w = (D * apart).sum(axis=1)
        U, error = w.sum(), w[h != mu[task.y]].sum() / w.sum()
        answer, _, after = answer_of(AdaBoostECCClassifier(), task, D, leaf)
        assert answer.size == pytest.approx(np.log((1 - error) / error) / 2, rel=1e-12)
        assert after.total() == pytest.approx(1 - U + 2 * U * np.sqrt(error * (1 - error)), rel=1e-12)
        slope = (after.values * (mu - mu[task.y][:, None]) * h[:, None]).sum()
        assert abs(slope) < 1e-12
        sides = [(w[(h == s) & (mu[task.y] == s)].sum(), w[(h == s) & (mu[task.y] != s)].sum()) for s in SIDES]
        _, _, by_side = answer_of(AdaBoostECCClassifier(votes="asymmetric"), task, D, leaf)
        assert by_side.total() == pytest.approx(1 - U + 2 * sum(np.sqrt(right * wrong) for right, wrong in sides), rel=1e-9)
        assert by_side.total() <= after.total() + 1e-12


@pytest.mark.parametrize("K", [2, 3, 4, 6])
def test_repartition_is_best_of_all_colourings(K: int) -> None:
    for seed in range(10):
        task, D = random_pairs(K, seed=seed)
        leaf = np.random.default_rng(seed).integers(0, 2, 40).astype(np.int32)
        h = SIDES[leaf]

        def edge(mu: Floats, D: Floats = D, h: Floats = h, y: Integers = task.y) -> float:
            return float((D * (mu[y][:, None] - mu) * h[:, None]).sum())

        best = max(edge(np.array(mu)) for mu in product([-1.0, 1.0], repeat=K))
        answer, _, after = answer_of(AdaBoostECCClassifier(repartition=True, colouring="random_pair"), task, D, leaf)
        mu = np.sign(answer.vectors[1] / answer.size)
        assert edge(mu) == pytest.approx(best, rel=1e-12)
        np.testing.assert_allclose(answer.vectors, answer.size * SIDES[:, None] * mu, rtol=1e-12)
        U = D[mu[task.y][:, None] != mu].sum()  # the step and the loss are those of the new colouring
        error = (1 - best / 2 / U) / 2
        assert after.total() == pytest.approx(1 - U + 2 * U * np.sqrt(error * (1 - error)), rel=1e-12)


def test_no_preference_is_plus() -> None:
    assert repartition(np.array([0.5, -0.5, 0.0, -1e-17])).tolist() == [1.0, -1.0, 1.0, 1.0]
    assert repartition(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


# ---- colourings ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 5, 8])
def test_cuts(K: int) -> None:
    for seed in range(10):
        task, D = random_pairs(K, seed=seed)
        graph = pair_weights(D, task.y, K)
        graph = graph + graph.T

        def cut(mu: Floats, graph: Floats = graph) -> float:
            return float(graph[mu[:, None] != mu].sum() / 2)

        best = max(cut(np.array(mu)) for mu in product([-1.0, 1.0], repeat=K))
        assert cut(max_cut(graph)) == pytest.approx(best, rel=1e-9)
        assert best >= cut(greedy_cut(graph)) >= 0.6 * best
        assert cut(max_cut(graph)) == pytest.approx((D * (max_cut(graph)[task.y][:, None] != max_cut(graph))).sum(), rel=1e-9)
        chosen = colouring("max_cut", D, task.y, K, np.random.default_rng(0))
        assert cut(chosen) == pytest.approx(best, rel=1e-6)
        pair = colouring("max_pair", D, task.y, K, np.random.default_rng(0))
        assert graph[pair == 1, pair == -1].tolist() == [graph.max()]


@pytest.mark.parametrize("K", [2, 3, 5, 8])
def test_drawn_colourings(K: int) -> None:
    task, D = random_pairs(K)
    seen = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        half = colouring("random_half", D, task.y, K, rng)
        assert (half == 1).sum() == K // 2
        assert (half == -1).sum() == K - K // 2
        free = colouring("random", D, task.y, K, rng)
        assert set(free.tolist()) == {-1.0, 1.0}
        seen.add(tuple(free))
        pair = colouring("random_pair", D, task.y, K, rng)
        assert sorted(pair.tolist()) == [-1.0] + [0.0] * (K - 2) + [1.0]
    assert len(seen) >= min(2**K - 2, 50)


def test_errors_of_colourings() -> None:
    X, y = noisy(3)
    with pytest.raises(ValueError, match="colouring='max_pair' colours two classes only; use repartition=True"):
        AdaBoostECCClassifier(colouring="max_pair").fit(X, y)
    with pytest.raises(ValueError, match="votes='asymmetric' needs repartition=False"):
        AdaBoostECCClassifier(votes="asymmetric", repartition=True).fit(X, y)
    with pytest.raises(ValueError, match="colouring='max_cut' tries .* K = 17 classes .* use colouring='max_cut_greedy'"):
        AdaBoostOCClassifier(colouring="max_cut").fit(np.arange(34.0)[:, None], np.arange(34) % 17)
    with pytest.raises(ValueError, match="colouring='pairs' is not allowed"):
        AdaBoostECCClassifier(colouring="pairs").fit(X, y)


# ---- codes -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", range(2, 9))
def test_exhaustive_code(K: int) -> None:
    code = exhaustive(K)
    assert code.shape == (K, 2 ** (K - 1) - 1)
    check_code(code)
    for a, b in combinations(range(K), 2):
        assert (code[a] != code[b]).sum() == 2 ** (K - 2)
    both = np.hstack([code, -code])
    assert len(np.unique(both, axis=1).T) == both.shape[1]  # no column twice, nor its opposite


@pytest.mark.parametrize("K", [7, 12, 26])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_random_codes(kind: str, K: int) -> None:
    code = random_code(kind, K, 3)
    assert code.shape == (K, int(np.ceil((10 if kind == "dense" else 15) * np.log2(K))))
    check_code(code)
    both = np.hstack([code, -code])
    assert len(np.unique(both, axis=1).T) == both.shape[1]
    assert row_distance(code) >= 0.25 * code.shape[1]
    assert (code == 0).mean() == pytest.approx(0.0 if kind == "dense" else 0.5, abs=0.1)
    np.testing.assert_array_equal(random_code(kind, K, 3), code)
    assert (random_code(kind, K, 4) != code).any()


def test_codes_of_few_classes() -> None:
    np.testing.assert_array_equal(random_code("dense", 4, 0), exhaustive(4))
    np.testing.assert_array_equal(one_vs_all(3), 2 * np.eye(3) - 1)
    np.testing.assert_array_equal(one_vs_all(2), [[1], [-1]])
    assert row_distance(one_vs_all(4)) == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([[1, -1], [1, -1], [-1, 1]], "code has equal rows 0 and 1"),
        ([[1, 1], [-1, 1], [0, 1]], "code has column 1 without both"),
        ([[1, 0], [-1, 1], [0, 1]], "code has column 1 without both"),
        ([[1, 2], [-1, 1], [1, 1]], "must be a matrix of -1, 0 and [+]1"),
        ([1, -1, 1], "must be a matrix of -1, 0 and [+]1"),
        ([[1, 1], [-1, 1]], "code has 2 rows; give one for each of the 3 classes"),
        ("golay", "code='golay' is not allowed"),
    ],
)
def test_bad_codes(code: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaBoostMOClassifier(code=code, n_estimators=2).fit(*noisy(3))
    with pytest.raises(ValueError, match="code='exhaustive' has .* K = 17 classes .* use code='dense'"):
        exhaustive(17)


# ---- MO --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [3, 5])
@pytest.mark.parametrize(
    ("mo", "mh"),
    [
        ({"grow_by": "columns"}, {"grow_by": "classes"}),
        ({"grow_by": "columns", "leaves": "vote", "learning_rate": 1.0}, {"grow_by": "classes", "leaves": "vote", "learning_rate": 1.0}),
        ({}, {}),
    ],
    ids=["confidence", "vote", "direction"],
)
def test_mo_of_single_classes_is_mh(K: int, mo: dict[str, Any], mh: dict[str, Any]) -> None:
    X, y = noisy(K)
    common = {"n_estimators": 10, "max_leaf_nodes": 8, **EXACT}
    a = AdaBoostMOClassifier(code="one_vs_all", **common, **mo).fit(X, y)
    b = AdaBoostMHClassifier(**common, **mh).fit(X, y)
    np.testing.assert_allclose(a.forest_.columns(X), b.forest_.columns(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(a.history_["loss"], b.history_["loss"], rtol=1e-9)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))  # sum_r M_kr f_r = 2 f_k - sum f


def test_decoding_by_hand() -> None:
    X, y = noisy(3)
    M = np.array([[1, 1, 0], [-1, 1, 1], [-1, -1, -1]])
    f = np.array([[0.5, -0.2, 0.1], [-3.0, 1.0, 0.0]])
    for decode in ("linear", "loss", "hamming"):
        model = AdaBoostMOClassifier(code=M, decode=decode, n_estimators=2, calibrate=False).fit(X, y)
        scores, p = model.scores(f), model.link(f)
        for i, k in product(range(2), range(3)):
            z = M[k] * f[i]
            losses = {"linear": -z.sum(), "loss": np.log(np.exp(-z).sum()), "hamming": ((1 - np.sign(z)) / 2).sum()}
            assert scores[i, k] == pytest.approx(-losses[decode], rel=1e-12, abs=1e-15)
        np.testing.assert_array_equal(scores.argmax(axis=1), p.argmax(axis=1))
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert np.isfinite(model.link(1e5 * f)).all()


@pytest.mark.parametrize("code", ["one_vs_all", "exhaustive", [[1, 1, 0, 1], [-1, 1, 1, -1], [-1, -1, -1, 1]]], ids=str)
@pytest.mark.parametrize("leaves", ["confidence", "vote"])
def test_bounds_of_mo(code: Any, leaves: str) -> None:
    """error <= (c/rho) prod Z by loss-based decoding, twice that by Hamming distance; the loss is that of all bits."""
    X, y = noisy(3)
    common = {"code": code, "leaves": leaves, "grow_by": "columns", "n_estimators": 25, "max_leaf_nodes": 6, **EXACT}
    for decode, factor in (("loss", 1), ("hamming", 2)):
        model = AdaBoostMOClassifier(decode=decode, **common, learning_rate=1.0).fit(X, y)
        M = model._decoder.T
        c, rho = M.shape[1], row_distance(M)
        errors = []
        for columns, loss in zip(model.forest_.staged_columns(X), model.history_["loss"], strict=True):
            assert loss == pytest.approx((np.abs(M[y]) * np.exp(-M[y] * columns)).mean(), rel=1e-9)
            errors.append(error_with_ties(model.scores(columns), y))
            if (M != 0).all():
                assert errors[-1] <= factor * c / rho * loss
        assert errors[-1] < 0.35
        assert (np.diff(model.history_["loss"]) < 0).all()


def test_code_of_a_fit_stays_when_the_parameter_changes() -> None:
    X, y = noisy(7)
    model = AdaBoostMOClassifier(n_estimators=5, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(code="one_vs_all").predict_proba(X), before)
    assert model.forest_.n_columns == int(np.ceil(10 * np.log2(7)))


# ---- along real runs -------------------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"max_depth": 3, "n_estimators": 20, **EXACT}
RUNS: dict[str, BoostingClassifier] = {
    "oc": AdaBoostOCClassifier(**SMALL),
    "oc max_cut": AdaBoostOCClassifier(colouring="max_cut", **SMALL),
    "oc greedy": AdaBoostOCClassifier(colouring="max_cut_greedy", **SMALL),
    "ecc": AdaBoostECCClassifier(**SMALL),
    "ecc random": AdaBoostECCClassifier(colouring="random", **{**SMALL, "learning_rate": 0.5}),
    "ecc max_cut": AdaBoostECCClassifier(colouring="max_cut", **SMALL),
    "ecc asymmetric": AdaBoostECCClassifier(colouring="max_cut", votes="asymmetric", **SMALL),
    "erp": AdaBoostECCClassifier(repartition=True, **SMALL),
    "erp max_pair": AdaBoostECCClassifier(repartition=True, colouring="max_pair", **SMALL),
    "erp random_pair": AdaBoostECCClassifier(repartition=True, colouring="random_pair", **SMALL),
}


@pytest.mark.parametrize("K", CLASSES)
@pytest.mark.parametrize("name", RUNS)
def test_losses_and_bounds(name: str, K: int) -> None:
    """The loss is the mean of exp(-(F_y - F_l)/2) over wrong labels, falls each round, and K-1 times it bounds the error."""
    X, y = noisy(K)
    model = clone(RUNS[name]).fit(X, y)
    assert model.n_estimators_ == 20, model.stop_reason_
    losses = np.append(1.0, model.history_["loss"])
    assert (np.diff(losses) < 0).all()
    rows, errors = np.arange(len(y)), []
    for F, loss in zip(staged_scores(model, X), losses[1:], strict=True):
        pairs = np.exp((F - F[rows, y][:, None]) / 2)
        assert loss == pytest.approx((pairs.sum(axis=1) - 1).mean() / (K - 1), rel=1e-9)
        errors.append(error_with_ties(F, y))
        assert errors[-1] <= (K - 1) * loss * (1 + 1e-9)
    assert errors[-1] < 0.45


@pytest.mark.parametrize("K", CLASSES)
def test_bound_of_oc(K: int) -> None:
    """Each round's factor is at most sqrt(1 - 4 gamma^2 U^2) = 2 sqrt(eps~ (1 - eps~))."""
    X, y = noisy(K)
    model = clone(RUNS["oc"]).fit(X, y)
    Z = model.history_["loss"] / np.append(1.0, model.history_["loss"][:-1])
    bound = np.sqrt(1 - np.tanh(model.history_["step"]) ** 2)
    assert (Z <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["oc max_cut", "oc greedy", "ecc max_cut", "ecc asymmetric", "erp max_pair"])
def test_permuted_classes_permute_the_scores(name: str) -> None:
    K = 5
    X, y = noisy(K)
    new_name, weight = np.roll(np.arange(K), 2), np.random.default_rng(K).uniform(0.5, 1.5, len(y))
    plain = clone(RUNS[name]).set_params(n_estimators=8).fit(X, y, weight).decision_function(X)
    renamed = clone(RUNS[name]).set_params(n_estimators=8).fit(X, new_name[y], weight).decision_function(X)
    np.testing.assert_allclose(renamed[:, new_name], plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", RUNS)
def test_a_guess_is_refused(name: str) -> None:
    """One leaf, even classes, even colours: nothing is told apart."""
    algorithm, y = clone(RUNS[name]), np.arange(12) % 3
    task = Task.of(y, 3, np.ones(12))
    (problem,) = algorithm.pose(task, algorithm.start(task), np.random.default_rng(0))
    sums = sum_leaves(problem.summed, np.zeros(12, np.int32), 1)
    answer = algorithm.step(task, problem, Leaves(sums, np.zeros(1, int)))
    assert isinstance(answer, Refusal)
    assert "no better than chance" in answer.reason


def test_a_tree_without_error_goes_on_while_pairs_are_left() -> None:
    X, y = np.repeat(np.arange(30.0), 2)[:, None], np.repeat(np.arange(3), 20)
    model = AdaBoostECCClassifier(n_estimators=10, random_state=0, calibrate=False).fit(X, y)
    assert model.n_estimators_ == 10
    assert model.n_clipped_steps_ >= 5
    assert model.score(X, y) == 1.0
    two = AdaBoostECCClassifier(n_estimators=10, on_perfect="stop", random_state=0, calibrate=False).fit(X[:40], y[:40])
    assert (two.n_estimators_, two.stop_reason_) == (1, "a tree made no error")


ALIKE = [AdaBoostECCClassifier(), AdaBoostECCClassifier(votes="asymmetric"), AdaBoostOCClassifier()]


def pairs_of_classes_that_are_alike() -> tuple[Floats, Integers]:
    """Classes 0 and 1 cannot be told apart, nor can 2 and 3: of the three ways to part them in halves, one is of no use."""
    return np.repeat(np.arange(2.0), 20)[:, None], np.repeat([0, 2], 20) + np.arange(40) % 2


@pytest.mark.parametrize("model", ALIKE)
def test_a_colouring_of_no_use_is_drawn_again(model: Any) -> None:
    X, y = pairs_of_classes_that_are_alike()
    whole = clone(model).set_params(n_estimators=12, random_state=0, calibrate=False).fit(X, y)
    assert whole.n_estimators_ == 12, whole.stop_reason_
    assert (whole.history_["n_trees"] == 1).all()
    assert (whole.history_["n_made"] > 1).any()
    assert (whole.predict(X) // 2 == y // 2).all()
    part = clone(whole).set_params(n_estimators=5, warm_start=True).fit(X, y)
    assert digest(part.set_params(n_estimators=12).fit(X, y)) == digest(whole)  # though what was refused is not kept


@pytest.mark.parametrize(("drawn", "ending"), [(True, ", in each of 10 draws"), (False, "")])
def test_colourings_are_drawn_ten_times_at_most(drawn: bool, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where chance has no part in a colouring, the same one again would be no better."""
    n_asked = 2 if drawn else 1  # in the first round: again by its own numbers, once it is known that any are drawn
    colours = chain([np.array([1.0, 1, -1, -1])] * n_asked, repeat(np.array([1.0, -1, 1, -1])))

    def useless_but_the_first(kind: str, D: Floats, y: Integers, K: int, rng: np.random.Generator) -> Floats:
        if drawn:
            rng.random()
        return next(colours)

    monkeypatch.setattr(adaboost_ecc, "colouring", useless_but_the_first)
    model = AdaBoostECCClassifier(calibrate=False).fit(*pairs_of_classes_that_are_alike())
    assert model.n_estimators_ == 1
    assert model.stop_reason_ == "the tree tells the two colours apart no better than chance" + ending


def test_a_tree_is_told_how_much_each_row_weighs_against_the_other_colour() -> None:
    task, D = random_pairs(4)
    (problem,) = AdaBoostOCClassifier(colouring="max_cut").pose(task, Weights.of(D), np.random.default_rng(0))
    mu, total = problem.tag
    assert total == pytest.approx(1)
    np.testing.assert_array_equal(problem.made().label, mu[task.y] > 0)
    expected = [(D[i] * (mu != mu[task.y[i]])).sum() for i in range(40)]
    np.testing.assert_allclose(problem.made().weight, expected, rtol=1e-12)
