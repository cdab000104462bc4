"""Models survive being saved, to the last bit; bad files do not get in."""

from __future__ import annotations

import copy
import errno
import io
import os
import pickle
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from bad_model_files import by_hand, damaged, put_together, sign, signed_again, take_apart
from estimators import CALIBRATED, each_with_settings
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import manyboost
from manyboost import BadModelFile, PIBoostClassifier, SAMMEClassifier, fingerprint, load, save
from manyboost.algorithms import ALGORITHMS
from manyboost.checks import parts_of
from manyboost.model_file.boosted import NOT_STORED
from manyboost.model_file.formats import FORMATS, LATEST
from manyboost.model_file.names import HOW_TO_RUN
from manyboost.model_file.values import from_plain, plain

ROUNDS = 6
SMALL: dict[str, Any] = {  # trees of a few splits, whatever the defaults are
    "n_estimators": ROUNDS, "max_depth": 3, "min_samples_split": 2, "subsample": 1.0, "sampling": "uniform", "prune": None,
    "random_state": 3,
}  # fmt: skip
DATA = ("numbers", "frame", "sparse", "strings", "two classes")


def make_data(kind: str, n: int = 240) -> tuple[Any, Any]:
    """Rows of three classes (or two) that are learnt by small trees, but not at once."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n), [-0.6, 0.6])
    if kind == "frame":
        frame = pd.DataFrame(X[:, :3], columns=["a", "b [m]", 'c"'])
        frame.loc[::7, "a"] = np.nan
        frame["word"] = pd.Categorical(np.array(["(0, 1]", "[1, 2)", "größer"])[(y + rng.integers(2, size=n)) % 3])
        frame["flag"] = X[:, 3] > 0
        frame["number"] = pd.Categorical(np.where(rng.random(n) < 0.1, None, rng.integers(3, size=n) * 10))
        return frame, y
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) > 0.4, X, 0.0)), y
    if kind == "strings":
        return X, np.array(["high", "low", "μ"], dtype=object)[y]
    if kind == "two classes":
        return X, y > 0
    return X, y


@pytest.fixture(scope="module")
def fitted() -> Any:
    """Fitted models by algorithm and kind of data, each fitted once."""
    known: dict[tuple[str, str], Any] = {}

    def get(algorithm: str, kind: str = "numbers") -> Any:
        if (algorithm, kind) not in known:
            known[algorithm, kind] = ALGORITHMS[algorithm](**SMALL).fit(*make_data(kind))
        return known[algorithm, kind]

    return get


def assert_same(model: Any, again: Any, X: Any) -> None:
    """Everything that can be asked of a model is the same, bit for bit."""
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X), strict=method != "predict")
    for method in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        stages = list(zip(getattr(again, method)(X), getattr(model, method)(X), strict=True))
        assert len(stages) == model.n_estimators_
        for mine, other in stages:
            np.testing.assert_array_equal(mine, other)
    for attribute in ("feature_importances_", "class_importances_", "class_prior_"):
        np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute), strict=True)
    assert again.classes_.dtype.kind == model.classes_.dtype.kind
    assert [type(label) for label in again.classes_] == [type(label) for label in model.classes_]
    assert vars(again).keys() == vars(model).keys(), "a new attribute needs a place in the model file"
    for name in ("n_estimators_", "stop_reason_", "n_clipped_steps_", "n_features_in_", "temperature_", "_seed", "_columns"):
        assert getattr(again, name) == getattr(model, name), name
        assert type(getattr(again, name)) is type(getattr(model, name)), name
    for part in ("forest_", "_binning", "_space"):
        for mine, other in zip(parts_of(getattr(again, part)), parts_of(getattr(model, part)), strict=True):
            np.testing.assert_array_equal(mine, other, strict=isinstance(mine, np.ndarray))
    assert again.history_.keys() == model.history_.keys()
    for name in model.history_.keys() - set(NOT_STORED):
        np.testing.assert_array_equal(again.history_[name], model.history_[name], strict=True)


# ---- what is saved is what is loaded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "kind"), [(name, kind) for name in ALGORITHMS for kind in DATA if name in CALIBRATED or kind == "frame"]
)
def test_round_trip(algorithm: str, kind: str, fitted: Any, tmp_path: Path) -> None:
    model, path = fitted(algorithm, kind), tmp_path / "model"
    digest = save(model, path)
    again = load(path, digest=digest)
    assert type(again) is type(model)
    assert_same(model, again, make_data(kind)[0])
    assert np.isnan(again.history_["seconds"]).all()
    assert fingerprint(model) == fingerprint(again) == save(again, tmp_path / "again") == digest
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    kept = [name for name in model.get_params() if name not in HOW_TO_RUN]
    assert {name: again.get_params()[name] for name in kept} == {name: model.get_params()[name] for name in kept}
    assert sorted(os.listdir(tmp_path)) == ["again", "model"]


@pytest.mark.parametrize("estimator", each_with_settings(random_state=3), ids=repr)
def test_round_trip_with_other_settings(estimator: Any, tmp_path: Path) -> None:
    X, y = make_data("frame")
    model = clone(estimator).fit(X, y)
    digest = save(model, tmp_path / "model")
    assert_same(model, load(tmp_path / "model", digest=digest), X)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_loaded_model_goes_on_like_the_saved_one(algorithm: str, tmp_path: Path) -> None:
    X, y = make_data("frame")
    settings: dict[str, Any] = {"max_depth": 2, "random_state": 1, "subsample": 0.7, "calibrate": False}
    short = ALGORITHMS[algorithm](n_estimators=4, **settings).fit(X, y)
    save(short, tmp_path / "model")
    longer = load(tmp_path / "model").set_params(n_estimators=9, warm_start=True).fit(X, y)
    at_once = ALGORITHMS[algorithm](n_estimators=9, **settings).fit(X, y)
    assert longer.n_estimators_ > 4
    assert fingerprint(longer) == fingerprint(at_once)
    np.testing.assert_array_equal(longer.predict_proba(X), at_once.predict_proba(X))


@pytest.mark.parametrize("labels", [np.int8, np.uint64, np.float32, np.float64, bool, str, object, ">i4"])
def test_labels_keep_their_type(labels: Any, tmp_path: Path) -> None:
    X, y = make_data("numbers")
    y = y.astype(str).astype(object) if labels is object else y.astype(labels)
    model = SAMMEClassifier(n_estimators=2, random_state=0).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    if labels is not str:  # texts have the room that the longest needs
        assert again.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    assert_same(model, again, X)


@pytest.mark.parametrize(
    "options",
    [
        {"separators": [{0}, {1, 2}]},
        {"separators": [frozenset([np.int64(1)]), (np.int32(0), 2), np.array([2])]},
        {"separators": "pairs", "probability": "separators"},
        {"class_weight": {0: 1, 2: np.float32(2.5), 1: np.int64(3)}},
        {"categorical_features": np.array([False, True, False, False, False])},
        {"categorical_features": (1, 3)},
        {"min_samples_leaf": np.float64(0.01), "max_depth": np.int64(2), "learning_rate": np.float32(0.5)},
        {"early_stopping": True, "n_iter_no_change": 2},
    ],
)
def test_parameters_of_every_kind(options: dict[str, Any], tmp_path: Path) -> None:
    X, y = make_data("numbers")
    X[:, [1, 3]] = np.round(X[:, [1, 3]])
    model = PIBoostClassifier(n_estimators=8, random_state=np.int64(5)).set_params(**options).fit(X, y)
    digest = save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same(model, again, X)
    assert save(again, tmp_path / "again") == digest
    assert fingerprint(clone(again).fit(X, y)) == digest, "its parameters give the same model again"
    for name in options:
        assert plain(getattr(again, name)) == plain(options[name])


def test_a_model_without_trees(tmp_path: Path) -> None:
    X, y = np.zeros((30, 2)), np.arange(30) % 3
    model = SAMMEClassifier(n_estimators=3).fit(X, y)
    assert model.n_estimators_ == 0
    digest = save(model, tmp_path / "model")
    assert_same(model, load(tmp_path / "model", digest=digest), X)


def test_the_fingerprint_is_of_the_model_alone() -> None:
    X, y = make_data("numbers")

    def fit(**options: Any) -> Any:
        return manyboost.AdaBoostMHClassifier(n_estimators=4, random_state=0, calibrate=False).set_params(**options).fit(X, y)

    one = fingerprint(fit())
    assert one == fingerprint(fit(n_jobs=2)) == fingerprint(fit(callbacks=[lambda record: None])) == fingerprint(fit(warm_start=True))
    assert len(one) == 64
    assert one != fingerprint(fit(random_state=1))
    assert one != fingerprint(fit(n_estimators=5))


def test_a_random_state_that_is_an_object_is_not_stored(tmp_path: Path) -> None:
    X, y = make_data("numbers")
    model = SAMMEClassifier(n_estimators=3, subsample=0.5, random_state=np.random.RandomState(4)).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.random_state is None
    assert again._seed == model._seed


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_other_ways_to_copy_a_model(algorithm: str, loaded: bool, fitted: Any, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    model, X = fitted(algorithm, "frame"), make_data("frame")[0]
    if loaded:
        save(model, tmp_path / "model")
        model = load(tmp_path / "model")
    joblib.dump(model, tmp_path / "joblib")
    by_skops = skops.dumps(model)
    copies = {
        "pickle": pickle.loads(pickle.dumps(model)),
        "joblib": joblib.load(tmp_path / "joblib"),
        "deepcopy": copy.deepcopy(model),
        "skops": skops.loads(by_skops, trusted=skops.get_untrusted_types(data=by_skops)),
    }
    for name, again in copies.items():
        assert_same(model, again, X)
        assert fingerprint(again) == fingerprint(model), name
    assert not hasattr(clone(model), "forest_")
    assert clone(model).get_params() == model.get_params()


# ---- saving --------------------------------------------------------------------------------------------------------------------------


def test_only_fitted_models_of_ours_are_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save(SAMMEClassifier(), tmp_path / "model")
    with pytest.raises(NotFittedError):
        fingerprint(SAMMEClassifier())
    with pytest.raises(TypeError, match="LogisticRegression"):
        save(LogisticRegression(), tmp_path / "model")

    class Own(SAMMEClassifier):
        """An algorithm that no loader would find."""

    with pytest.raises(TypeError, match="Own"):
        save(Own(n_estimators=1).fit(*make_data("numbers")), tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("class_weight", {0: 1j}), ("class_weight", {0: np.nan}), ("categorical_features", [object()]), ("class_weight", {2**70: 1}),
     ("categorical_features", "x" * 20_000), ("categorical_features", [[[[[[[[[[[[1]]]]]]]]]]]])],
)  # fmt: skip
def test_a_parameter_that_cannot_be_stored_is_named(name: str, value: Any, tmp_path: Path) -> None:
    model = SAMMEClassifier(n_estimators=1).fit(*make_data("numbers")).set_params(**{name: value})
    with pytest.raises(TypeError, match=f"the parameter {name} cannot be stored"):
        save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_categories_that_cannot_be_stored_are_named(tmp_path: Path) -> None:
    frame, y = make_data("frame")
    frame["when"] = pd.Categorical(pd.to_datetime("2020-01-01") + pd.to_timedelta(y, unit="D"))
    model = SAMMEClassifier(n_estimators=1).fit(frame, y)
    with pytest.raises(TypeError, match="the categories of column 6 cannot be stored"):
        save(model, tmp_path / "model")


def test_what_could_not_be_loaded_is_not_saved(fitted: Any, tmp_path: Path) -> None:
    model = copy.deepcopy(fitted("samme"))
    model.set_params(learning_rate=7.0)
    with pytest.raises(ValueError, match="cannot be saved.*learning_rate"):
        save(model, tmp_path / "model")
    model.set_params(learning_rate=1.0)
    model.forest_.nodes["threshold"][0] += 1.0
    with pytest.raises(ValueError, match="no place for"):
        save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("fails", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_the_old_file(
    fails: str, error: BaseException, fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    digest = save(fitted("samme"), path)

    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, fails, fail)
        with pytest.raises(type(error)):
            save(fitted("rebel"), path)
    assert os.listdir(tmp_path) == ["model"]
    assert type(load(path, digest=digest)) is SAMMEClassifier
    assert save(fitted("rebel"), path) != digest
    assert os.listdir(tmp_path) == ["model"]


def test_a_disk_that_fills_up_while_writing(fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            super().write(bytes(data)[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.open", lambda path, mode="r", *rest, **more: Full(path, mode.replace("b", "")))
    with pytest.raises(OSError, match="No space left"):
        save(fitted("samme"), tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_where_a_model_is_saved(fitted: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        save(fitted("samme"), tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        save(fitted("samme"), tmp_path / "nowhere" / "model")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "model")
    digest = save(fitted("samme"), str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    load(tmp_path / "folder" / "model", digest=digest)
    assert os.listdir(tmp_path / "folder") == ["model"]


def test_what_is_no_file_is_not_replaced_by_one(fitted: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(ValueError, match=f"path='{tmp_path / name}' is a pipe, .*; give the name of a file"):
            save(fitted("samme"), tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_file_keeps_its_mode(mode: int, fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(fitted("rebel"), path)
    path.chmod(mode)
    digest = save(fitted("samme"), path)
    assert path.stat().st_mode & 0o777 == mode
    load(path, digest=digest)


def test_an_error_names_the_path_that_was_asked_for(fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as missing:
        save(fitted("samme"), Path("nowhere") / "model")
    assert missing.value.filename == os.path.join("nowhere", "model")
    assert "into a folder that exists and takes new files" in str(missing.value)

    def forbid(path: Any, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", forbid)
        with pytest.raises(PermissionError, match="Permission denied.*'model'") as forbidden:
            save(fitted("samme"), "model")
    assert ".tmp" not in str(forbidden.value)
    with pytest.raises(IsADirectoryError, match="give the name of a file in it"):
        save(fitted("samme"), tmp_path)


def test_a_path_may_be_bytes(fitted: Any, tmp_path: Path) -> None:
    digest = save(fitted("samme"), os.fsencode(tmp_path / "model"))
    load(os.fsencode(tmp_path / "model"), digest=digest)


# ---- bad files -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(fitted: Any) -> dict[str, bytes]:
    """A saved model of each algorithm, with categories and missing values."""
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for algorithm in ALGORITHMS:
            save(fitted(algorithm, "frame"), Path(folder) / "model")
            out[algorithm] = (Path(folder) / "model").read_bytes()
    return out


def refused(data: bytes, path: Path) -> str:
    """The message, if the file is refused as it should be: by one kind of error, and soon."""
    path.write_bytes(data)
    began = time.process_time()
    with pytest.raises(BadModelFile) as error:
        load(path)
    assert time.process_time() - began < 1.0
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert len(message) < 1000 + len(str(path))
    return message


def test_a_digest_that_was_kept_tells_another_model(fitted: Any, tmp_path: Path) -> None:
    digest = save(fitted("samme"), tmp_path / "model")
    save(fitted("rebel"), tmp_path / "other")
    load(tmp_path / "model", digest=digest.upper())
    with pytest.raises(BadModelFile, match=f"this is another model: its digest is [0-9a-f]{{64}}, and {digest} was asked for"):
        load(tmp_path / "other", digest=digest)
    with pytest.raises(BadModelFile, match="another model"):
        load(tmp_path / "model", digest="")
    for given in (123, digest.encode(), bytes.fromhex(digest)):
        with pytest.raises(TypeError, match="digest=.* is no string; give the hexadecimal one that save returned"):
            load(tmp_path / "model", digest=given)  # type: ignore[arg-type]


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(BadModelFile, match="no regular file"):
        load(tmp_path)


def test_what_the_messages_say(files: dict[str, bytes], tmp_path: Path) -> None:
    data, path = files["samme"], tmp_path / "model"
    assert "pickled models are programs" in refused(pickle.dumps([1, 2, 3] * 20), path)
    assert f"reads up to {LATEST}; update ManyBoost" in refused(sign(data[:8] + b"\x63\0\0\0" + data[12:-32]), path)
    assert "damaged" in refused(data[:-1] + bytes([data[-1] ^ 1]), path)
    manifest, arrays = take_apart(data)
    manifest["parameters"]["learning_rate"] = 5.0
    assert "SAMMEClassifier: learning_rate=5.0 is not allowed" in refused(put_together(manifest, arrays), path)


def test_parameters_of_an_older_version_may_be_missing(files: dict[str, bytes], tmp_path: Path) -> None:
    manifest, arrays = take_apart(files["samme"])
    del manifest["parameters"]["tol"]
    (tmp_path / "model").write_bytes(put_together(manifest, arrays))
    assert load(tmp_path / "model").tol == SAMMEClassifier().tol


def test_truncated_files(files: dict[str, bytes], tmp_path: Path) -> None:
    data = files["piboost"]
    for part in range(50):
        refused(data[: len(data) * part // 50], tmp_path / "model")
        refused(sign(data[: len(data) * part // 50]), tmp_path / "model")


def test_damaged_files(files: dict[str, bytes], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        refused(damaged(files[str(rng.choice(list(files)))], rng), tmp_path / "model")


@pytest.mark.parametrize("algorithm", CALIBRATED)
def test_files_made_by_hand(algorithm: str, files: dict[str, bytes], tmp_path: Path) -> None:
    assert put_together(*take_apart(files[algorithm])) == files[algorithm]
    for name, data in by_hand(files[algorithm]):
        try:
            refused(data, tmp_path / "model")
        except BaseException as error:
            raise AssertionError(f"{name}: {error!r}") from error


def test_files_signed_again_are_refused_or_usable(files: dict[str, bytes], tmp_path: Path) -> None:
    rng, X, path, n_loaded = np.random.default_rng(1), make_data("frame")[0][:20], tmp_path / "model", 0
    X = X.assign(word=None, flag=None, number=None)  # a changed file may know other categories
    for _ in range(400):
        path.write_bytes(signed_again(files[str(rng.choice(list(files)))], rng))
        try:
            model = load(path)
        except BadModelFile:
            continue
        n_loaded += 1
        X = X.set_axis(getattr(model, "feature_names_in_", X.columns), axis=1)
        P = model.predict_proba(X)
        assert P.shape == (20, len(model.classes_))
        assert np.isfinite(P).all()
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.feature_importances_).all()
        assert fingerprint(model)
    assert n_loaded > 10


def test_claims_take_no_memory(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "model"
    for name in FORMATS[1].layout.sizes:
        manifest, arrays = take_apart(files["piboost"])
        manifest["sizes"][name] = 2**31 - 1
        path.write_bytes(put_together(manifest, arrays))
        tracemalloc.start()
        try:
            with pytest.raises(BadModelFile, match="bytes"):
                load(path)
            assert tracemalloc.get_traced_memory()[1] < 10 * path.stat().st_size + 2**20
        finally:
            tracemalloc.stop()


def test_no_algorithm_works_on_claims(files: dict[str, bytes], tmp_path: Path) -> None:
    """A short file may ask for separators of which there are billions: neither load nor predict makes them."""
    manifest, arrays = take_apart(files["piboost"])
    K = 60_000
    manifest["classes"], manifest["parameters"]["separators"] = list(range(K)), "pairs"
    arrays["class_prior"], arrays["decoder"] = np.full(K, 1 / K), np.where(np.arange(K) == 0, 1.0, -1 / (K - 1))[None]
    arrays["column"][:] = 0
    (tmp_path / "model").write_bytes(put_together(manifest, arrays, fit_sizes=True))
    began = time.process_time()
    P = load(tmp_path / "model").predict_proba(make_data("frame")[0][:3])
    assert P.shape == (3, K)
    assert np.isfinite(P).all()
    assert time.process_time() - began < 2.0


def test_a_forged_model_is_safe_to_go_on_from(files: dict[str, bytes], tmp_path: Path) -> None:
    """Leaves of another width than the algorithm's are a valid sum of trees, but no fit can go on from them."""
    for algorithm, width in (("adaboost_mh", 1), ("rebel", 1), ("samme", 1), ("piboost", 2)):
        manifest, arrays = take_apart(files[algorithm])
        n_leaves = int((arrays["feature"] < 0).sum())
        arrays["width"][:], arrays["column"][:], arrays["values"] = width, 0, np.ones(n_leaves * width)
        (tmp_path / "model").write_bytes(put_together(manifest, arrays, fit_sizes=True))
        model = load(tmp_path / "model").set_params(warm_start=True, n_estimators=ROUNDS + 3)
        with pytest.raises((ValueError, IndexError, KeyError)):
            model.fit(*make_data("frame"))


def test_a_long_other_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "model", "wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(BadModelFile, match="no model file of ManyBoost"):
        load(tmp_path / "model")


@pytest.mark.parametrize("value", [None, True, 1, -1.5, "a", [], [1, [2.0, None]], {}, {1: [2], "a": {"b": True}, None: 0.0}])
def test_plain_values_come_back(value: Any) -> None:
    assert from_plain(plain(value)) == value
