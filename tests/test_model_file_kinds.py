"""Learners, machines, reductions and boosted classifiers of these survive being saved; bad files of them do not get in."""

from __future__ import annotations

import json
import pickle
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bad_model_files import damaged, put_all_together, sign, signed_again_whole, take_all_apart, version_of
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import manyboost
from manyboost import BadModelFile, fingerprint, load, save
from manyboost.learners import C45Tree, LocalizedSimilarity, NaiveBayes
from manyboost.model_file.formats import FORMATS, MAX_NESTING, from_bytes, to_bytes

N = 120


def some_rows(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.standard_normal(N), [-0.5, 0.5])
    if kind == "frame":
        frame = pd.DataFrame(X[:, :3], columns=["a", "b [m]", "c"])
        frame.loc[::7, "a"] = np.nan
        frame["word"] = pd.Categorical(np.array(["x", "(y]", "größer"])[(y + rng.integers(2, size=N)) % 3])
        frame.loc[::11, "word"] = None
        return frame, np.array(["high", "low", "μ"])[y]
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) > 1.2, X, 0.0)), y
    return (X @ X.T, y) if kind == "kernel" else (X, y)


SVC, LINEAR = manyboost.MulticlassSVC, manyboost.LinearMulticlassSVC
KINDS: dict[str, tuple[Any, str]] = {
    "C4.5": (C45Tree(), "frame"),
    "C4.5, numbers": (C45Tree(prune=False, laplace=True), "numbers"),
    "naive Bayes": (NaiveBayes(), "frame"),
    "naive Bayes, numbers": (NaiveBayes(binning="frequency"), "numbers"),
    "linear": (LINEAR(random_state=0), "numbers"),
    "linear, sgd": (LINEAR(solver="sgd", fit_intercept=False, random_state=0), "sparse"),
    "kernel": (SVC(C=3.0), "numbers"),
    "kernel, sparse": (SVC(kernel="poly", degree=2), "sparse"),
    "kernel as such": (SVC(kernel="precomputed"), "kernel"),
    "one vs all": (manyboost.OneVsAllClassifier(estimator=NaiveBayes(handle_unknown="missing"), random_state=0), "frame"),
    "one vs one": (manyboost.OneVsOneClassifier(estimator=manyboost.SAMMEClassifier(n_estimators=3), random_state=0), "frame"),
    "output code": (manyboost.OutputCodeClassifier(estimator=LINEAR(), cost_matrix=1 - np.eye(3), calibrate=False), "numbers"),
    "output code, driven apart": (
        manyboost.OutputCodeClassifier(estimator=LINEAR(), code="max_distance", length=2, random_state=0), "numbers"
    ),
    "given code": (
        manyboost.OutputCodeClassifier(
            code=pd.DataFrame([[1, 1], [-1, 1], [0, -1]], index=[0, 1, 2]),
            estimator=manyboost.RebelClassifier(estimator=LocalizedSimilarity(), n_estimators=3),
            random_state=0,
        ),
        "numbers",
    ),
    "M1 of trees": (manyboost.AdaBoostM1Classifier(estimator=C45Tree(), n_estimators=4, random_state=0), "frame"),
    "M2T of naive Bayes": (
        manyboost.AdaBoostM2Classifier(estimator=NaiveBayes(), sampling="weight", n_estimators=3, random_state=0), "frame"
    ),
    "HM, shares": (manyboost.AdaBoostHMClassifier(estimator=NaiveBayes(), n_estimators=3, random_state=0), "frame"),
    "ECC of machines": (manyboost.AdaBoostECCClassifier(estimator=LINEAR(), n_estimators=3, random_state=0), "numbers"),
    "reduction of boosted trees": (
        manyboost.OneVsAllClassifier(estimator=manyboost.AdaBoostM1Classifier(estimator=C45Tree(), n_estimators=2), random_state=0),
        "numbers",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: estimator.fit(*some_rows(kind)) for name, (estimator, kind) in KINDS.items()}


@pytest.fixture(scope="module")
def files(fitted: dict[str, Any]) -> dict[str, bytes]:
    return {name: to_bytes(model) for name, model in fitted.items()}


def loaded(data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(data)
        return load(path)


# ---- what is saved is what is loaded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_round_trip(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    model, X = fitted[name], some_rows(KINDS[name][1])[0]
    digest = save(model, tmp_path / "model")
    again = load(tmp_path / "model", digest=digest)
    assert type(again) is type(model)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert again.classes_.dtype == model.classes_.dtype
    assert vars(model).keys() - vars(again).keys() <= ({"dual_coef_"} if type(model) is LINEAR else set())
    assert vars(again).keys() <= vars(model).keys()
    for attribute, value in vars(model).items():
        assert type(getattr(again, attribute, value)) is type(value) or attribute in ("code", "cost_matrix"), attribute
        if isinstance(value, np.ndarray) and attribute not in model.get_params():  # products of matrices may round by how they lie
            assert value.flags.c_contiguous, attribute
    assert fingerprint(again) == fingerprint(pickle.loads(pickle.dumps(model))) == digest
    assert repr(again.set_params(**dict.fromkeys({"code", "cost_matrix"} & vars(again).keys()))) == repr(
        pickle.loads(pickle.dumps(model)).set_params(**dict.fromkeys({"code", "cost_matrix"} & vars(model).keys()))
    )


def test_the_kinds_are_all_tried(files: dict[str, bytes]) -> None:
    assert {version_of(data) for data in files.values()} == FORMATS.keys() - {1, 2, 3}


def test_a_loaded_committee_goes_on_like_the_saved_one(fitted: dict[str, Any], tmp_path: Path) -> None:
    X, y = some_rows("frame")
    save(fitted["M1 of trees"], tmp_path / "model")
    longer = load(tmp_path / "model").set_params(n_estimators=7, warm_start=True).fit(X, y)
    at_once = manyboost.AdaBoostM1Classifier(estimator=C45Tree(), n_estimators=7, random_state=0).fit(X, y)
    assert longer.n_estimators_ > 4
    assert fingerprint(longer) == fingerprint(at_once)


def test_a_loaded_machine_goes_on_from_its_variables(fitted: dict[str, Any]) -> None:
    X, y = some_rows("numbers")
    again = loaded(to_bytes(fitted["kernel"])).set_params(warm_start=True).fit(X, y)
    assert again.n_iter_ == 1  # nothing was left to do
    np.testing.assert_allclose(again.decision_function(X), fitted["kernel"].decision_function(X), atol=1e-12)


def test_a_committee_without_members(tmp_path: Path) -> None:
    X, y = np.zeros((30, 2)), np.arange(30) % 3
    model = manyboost.SAMMEClassifier(estimator=NaiveBayes(), n_estimators=3).fit(X, y)
    assert model.n_estimators_ == 0
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    X, y = some_rows("numbers")
    path = tmp_path / "model"
    with pytest.raises(TypeError, match="a LogisticRegression cannot be saved as a model file"):
        save(manyboost.OneVsAllClassifier(estimator=LogisticRegression()).fit(X, y), path)
    with pytest.raises(TypeError, match="a LogisticRegression cannot be saved as a model file"):
        save(manyboost.SAMMEClassifier(estimator=LogisticRegression(), n_estimators=2).fit(X, y), path)
    with pytest.raises(TypeError, match="the parameter kernel cannot be stored"):
        save(SVC(kernel=lambda A, B: A @ B.T).fit(X, y), path)
    with pytest.raises(NotFittedError):
        save(C45Tree(), path)
    model = C45Tree().fit(X, y)
    model.nodes_["first_child"][0] += 1
    with pytest.raises(ValueError, match="no place for"):
        save(model, path)
    assert not list(tmp_path.iterdir())


# ---- bad files -------------------------------------------------------------------------------------------------------------------------


def test_damaged_files(files: dict[str, bytes]) -> None:
    rng = np.random.default_rng(0)
    for data in files.values():
        for _ in range(25):
            with pytest.raises(BadModelFile):
                loaded(damaged(data, rng))
        for part in range(10):
            with pytest.raises(BadModelFile):
                loaded(sign(data[: len(data) * part // 10]))


def test_files_signed_again_are_refused_or_usable(files: dict[str, bytes]) -> None:
    rng, n_loaded = np.random.default_rng(1), 0
    for name, data in files.items():
        kind = KINDS[name][1]
        X = some_rows(kind)[0][:20]
        for _ in range(60):
            began = time.process_time()
            try:
                model = loaded(signed_again_whole(data, rng))
            except BadModelFile:
                continue
            finally:
                assert time.process_time() - began < 1.0
            n_loaded += 1
            try:
                P = model.predict_proba(X)
            except ValueError:  # it may know other columns, categories or a kernel that is infinite here, and says so
                continue
            assert P.shape == (20, len(model.classes_))
            assert np.isfinite(P).all()
            assert fingerprint(model)
    assert n_loaded > 100


Change = Callable[[dict[str, Any], dict[str, Any], list[bytes]], None]


def fact(*path: Any, to: Any) -> Change:
    def change(manifest: dict[str, Any], arrays: dict[str, Any], parts: list[bytes]) -> None:
        place: Any = manifest
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def entry(name: str, index: Any, to: Any) -> Change:
    def change(manifest: dict[str, Any], arrays: dict[str, Any], parts: list[bytes]) -> None:
        arrays[name][index] = to

    return change


def fewer(name: str) -> Change:
    def change(manifest: dict[str, Any], arrays: dict[str, Any], parts: list[bytes]) -> None:
        arrays[name] = arrays[name][:-1]

    return change


def part(at: int, to: Callable[[list[bytes]], bytes]) -> Change:
    def change(manifest: dict[str, Any], arrays: dict[str, Any], parts: list[bytes]) -> None:
        parts[at] = to(parts)

    return change


BY_HAND: list[tuple[str, Change, str]] = [
    ("C4.5", entry("feature", 0, 99), "a column that does not exist"),
    ("C4.5", entry("feature", 0, -2), "a column that does not exist"),
    ("C4.5", entry("feature", 0, -1), "not those of one tree"),
    ("C4.5", entry("weight", 1, 1e6), "more weight than its parent"),
    ("C4.5", entry("weight", 0, np.nan), "not a number of at least 0"),
    ("C4.5", entry("weight", slice(None), 0.0), "no row reached is split"),
    ("C4.5", entry("counts", 1, 0.0), "no weight"),
    ("C4.5", entry("counts", (0, 0), -1.0), "no weight"),
    ("C4.5", entry("categorical", 0, 1), "whether it holds categories"),
    ("C4.5", fact("categories", to=[]), "whether it holds categories"),
    ("C4.5", fact("weight_factor", to=0.0), "positive"),
    ("C4.5", fact("parameters", "confidence", to=0.9), "not allowed"),
    ("C4.5, numbers", entry("threshold", 0, np.inf), "one threshold for each split"),
    ("C4.5, numbers", fewer("threshold"), "one threshold for each split"),
    ("C4.5, numbers", lambda m, a, p: a.update(feature=a["feature"][::-1].copy()), "behind its parent"),
    ("naive Bayes", entry("cuts", slice(None), 0.0), "do not rise"),
    ("naive Bayes", entry("n_cuts", 0, -1), "bad number of cuts"),
    ("naive Bayes", fewer("bin_log_prob"), "as many as the columns have"),
    ("naive Bayes", entry("bin_log_prob", 0, 0.5), "a probability is none"),
    ("naive Bayes", entry("class_log_prior", 0, np.nan), "a probability is none"),
    ("linear", entry("weights", (0, 0), np.inf), "a weight is not a number"),
    ("linear", fact("dual_objective", to=None), "bound of the objective"),
    ("linear", fact("objective", to="x"), "objective is not a number"),
    ("linear", fact("temperature", to=-1.0), "positive"),
    ("linear", fact("n_iter", to=-1), "n_iter"),
    ("kernel", entry("support", 1, 0), "rising numbers"),
    ("kernel", lambda m, a, p: a["keys"].__setitem__(1, a["keys"][0]), "the same"),
    ("kernel", entry("dual_coef", 0, 0.0), "bad coefficient"),
    ("kernel", entry("dense", (0, 0), np.nan), "bad coefficient or value"),
    ("kernel", fewer("dense"), "not as many as their coefficients"),
    ("kernel", fact("gamma", to=0.0), "gamma"),
    ("kernel", fact("parameters", "kernel", to="precomputed"), "has support vectors"),
    ("kernel", fact("parameters", "kernel", to="os.system"), "not allowed"),
    ("kernel as such", entry("support", -1, 10**6), "has support vectors"),
    ("kernel, sparse", entry("row_sizes", 0, -1), "entries that there are"),
    ("kernel, sparse", entry("entry_columns", 0, 4), "rising columns"),
    ("kernel, sparse", entry("entries", 0, np.inf), "an entry is not a number"),
    ("one vs all", entry("code", (0, 1), 0), "each class against the others"),
    ("one vs all", fact("algorithm", to="one_vs_one"), "each pair of classes"),
    ("one vs all", fact("algorithm", to="samme"), "reduction that this ManyBoost"),
    ("one vs all", fact("parameters", "estimator", to={"name": "os.system", "parameters": {}}), "does not have"),
    ("one vs all", fact("parameters", "estimator", to={"name": "c45_tree"}), "not described"),
    ("one vs all", fact("parameters", "estimator", to={"name": "c45_tree", "parameters": {"confidence": 7.0}}), "not allowed"),
    ("one vs all", part(0, lambda parts: b""), "not of 0 and 1"),
    ("one vs all", lambda m, a, p: p.pop(), "one classifier for each column"),
    ("one vs one", entry("weight", 0, 0.0), "weight of a column"),
    ("output code", entry("code", (0, 0), 2), "not -1, 0 or 1"),
    ("output code", entry("code", (slice(None), 0), 1), "only one side"),
    ("output code", entry("reliability", (0, 0), 1.5), "not a share"),
    ("output code", entry("reliability", (0, 0), np.nan), "not a share"),
    ("output code", fact("algorithm", to="one_vs_all"), "parameter that the algorithm does not have"),
    ("output code", fact("row_distance", to=-1.0), "a distance of the code"),
    ("output code", fact("sharpness", to=0.0), "positive"),
    ("M1 of trees", entry("n_labels", 0, 2), "a label that does not exist"),
    ("M1 of trees", entry("only", 0, 3), "a label that does not exist"),
    ("M1 of trees", entry("says_shares", 0, 2), "answers"),
    ("M1 of trees", entry("width", 0, 4), "columns that do not exist"),
    ("M1 of trees", entry("round", 0, 1), "numbered 0, 1, 2"),
    ("M1 of trees", entry("values", 0, np.nan), "not finite"),
    ("M1 of trees", entry("values", 0, 9e99), "may become infinite"),
    ("M1 of trees", fewer("values"), "values that there are"),
    ("M1 of trees", entry("categorical", 0, 1), "whether it holds categories"),
    ("M1 of trees", lambda m, a, p: p.pop(), "one model for each member"),
    ("M1 of trees", fact("parameters", "estimator", to=None), "none of its estimator"),
    ("M1 of trees", fact("parameters", "estimator", to={"name": "localized_similarity", "parameters": {}}), "none of its estimator"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), BY_HAND, ids=[f"{name}: {said}" for name, _, said in BY_HAND])
def test_files_made_by_hand(name: str, change: Change, said: str, files: dict[str, bytes]) -> None:
    manifest, arrays, parts = take_all_apart(files[name])
    assert put_all_together(version_of(files[name]), manifest, arrays, parts) == files[name]
    with np.errstate(all="ignore"):
        change(manifest, arrays, parts)
    with pytest.raises(BadModelFile, match=said):
        loaded(put_all_together(version_of(files[name]), manifest, arrays, parts))


def test_output_codes_from_before_columns_were_weighted(files: dict[str, bytes]) -> None:
    manifest, arrays, parts = take_all_apart(files["output code"])
    manifest["parameters"]["decode"] = "logistic"
    del arrays["reliability"]
    model = loaded(put_all_together(9, manifest, arrays, parts))
    assert model.reliability_.tolist() == np.abs(model.code_).tolist()
    assert loaded(files["output code"]).code_.tolist() == model.code_.tolist()


def test_machines_from_before_kernels_had_intercepts(files: dict[str, bytes]) -> None:
    manifest, arrays, parts = take_all_apart(files["kernel, sparse"])
    manifest["parameters"] |= {"kernel": "linear"}
    del manifest["parameters"]["fit_intercept"]
    model = loaded(put_all_together(8, manifest, arrays, parts))
    assert model.fit_intercept is False
    assert not model.intercept_.any()


def test_members_of_another_table_are_refused(files: dict[str, bytes], fitted: dict[str, Any]) -> None:
    X, y = some_rows("numbers")
    narrow = to_bytes(C45Tree().fit(X[:, :2], (y > 0).astype(int)))
    named = to_bytes(C45Tree().fit(X, np.where(y > 0, "yes", "no")))
    for name, other, said in (
        ("M1 of trees", narrow, "another table"),
        ("M1 of trees", named, "a label that does not exist"),
        ("one vs all", narrow, "different tables"),
        ("one vs all", named, "not of 0 and 1"),
    ):
        manifest, arrays, parts = take_all_apart(files[name])
        parts[0] = other
        with pytest.raises(BadModelFile, match=said):
            loaded(put_all_together(version_of(files[name]), manifest, arrays, parts))


def test_models_in_models_have_an_end(files: dict[str, bytes]) -> None:
    manifest, arrays, parts = take_all_apart(files["one vs all"])
    data = files["one vs all"]
    for _ in range(MAX_NESTING):
        data = put_all_together(9, manifest, arrays, [data] * len(parts))
    with pytest.raises(BadModelFile, match="deep"):
        loaded(data)


def test_lengths_are_no_promises(files: dict[str, bytes]) -> None:
    for lengths in ([], "x", [2**40, 1, 1], [-1, 1, 1], [1.0, 1, 1], None, [10**30]):
        manifest, arrays, parts = take_all_apart(files["one vs all"])
        manifest["lengths"] = lengths
        with pytest.raises(BadModelFile):
            loaded(put_all_together(9, manifest, arrays, parts, fit_sizes=False))


def test_claims_take_no_memory(files: dict[str, bytes], tmp_path: Path) -> None:
    for data in files.values():
        version = version_of(data)
        for name in FORMATS[version].layout.sizes:
            manifest, arrays, parts = take_all_apart(data)
            manifest["sizes"][name] = 2**31 - 1
            forged = put_all_together(version, manifest, arrays, parts, fit_sizes=False)
            tracemalloc.start()
            try:
                with suppress(BadModelFile):  # of a sparse table the columns behind the last entry are but a number
                    from_bytes(forged)
                assert tracemalloc.get_traced_memory()[1] < 10 * len(forged) + 2**20
            finally:
                tracemalloc.stop()


# ---- earlier releases ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_files_of_earlier_releases(version: str) -> None:
    """Of a model of trees, of similarities and a blend, as they were written when there were three versions."""
    stored = json.loads((Path(__file__).parent / "old_model_files.json").read_text())[version]
    data = bytes.fromhex(stored["file"])
    model = loaded(data)
    again = to_bytes(model)
    for one in (model, loaded(again)):
        np.testing.assert_array_equal(one.predict_proba(np.array(stored["X"])), np.array(stored["P"]))
    assert again != data  # they have gained parameters since
