"""Files that must not load: damaged by chance, changed and signed again, and made by hand to do harm."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from manyboost.model_file.container import DIGEST, HEAD, MAGIC
from manyboost.model_file.formats import FORMATS, LATEST
from manyboost.model_file.trees import ARRAYS
from manyboost.model_file.values import write_manifest

VERSION = 1  # of files of trees, which all of these are

Manifest = dict[str, Any]
Arrays = dict[str, Any]


# ---- taking a file apart and putting it together -------------------------------------------------------------------------------------


def sign(content: bytes) -> bytes:
    """The content with the digest that fits it."""
    return content + hashlib.sha256(content).digest()


def text_of(data: bytes) -> bytes:
    return data[HEAD.size : HEAD.size + HEAD.unpack(data[: HEAD.size])[2]]


def version_of(data: bytes) -> int:
    return int(HEAD.unpack(data[: HEAD.size])[1])


def body_of(data: bytes) -> bytes:
    return data[HEAD.size + len(text_of(data)) : -DIGEST]


def with_text(data: bytes, text: bytes) -> bytes:
    """The file with another manifest, well signed."""
    return sign(HEAD.pack(MAGIC, VERSION, len(text)) + text + body_of(data))


def take_apart(data: bytes) -> tuple[Manifest, Arrays]:
    manifest, arrays, _ = take_all_apart(data)
    return manifest, arrays


def take_all_apart(data: bytes) -> tuple[Manifest, Arrays, list[bytes]]:
    """The manifest, the arrays and the files of other models, of a file of any version."""
    manifest, body, at = json.loads(text_of(data)), body_of(data), 0
    sizes, arrays = {**manifest.get("sizes", {}), "classes": len(manifest.get("classes", []))}, {}
    for name, (code, shape) in FORMATS[version_of(data)].layout.arrays.items():
        lengths = [size if isinstance(size, int) else sizes[size] for size in shape]
        count = int(np.prod(lengths))
        arrays[name] = np.frombuffer(body, code, count, at).reshape(lengths).copy() if count else np.empty(lengths, code)
        at += count * np.dtype(code).itemsize
    parts = []
    for length in manifest.get("lengths", []):
        parts.append(body[at : at + length])
        at += length
    return manifest, arrays, parts


def put_all_together(version: int, manifest: Manifest, arrays: Arrays, parts: Sequence[bytes], *, fit_sizes: bool = True) -> bytes:
    layout = FORMATS[version].layout
    if fit_sizes and layout.arrays:
        manifest["sizes"] = layout.sizes_of(arrays)
    if fit_sizes and layout.nests:
        manifest["lengths"] = [len(part) for part in parts]
    text = write_manifest(manifest)
    return sign(HEAD.pack(MAGIC, version, len(text)) + text + b"".join([*layout.bytes_of(arrays), *parts]))


def put_together(manifest: Manifest, arrays: Arrays, *, fit_sizes: bool = False) -> bytes:
    if fit_sizes:
        for name, (_, shape) in ARRAYS.items():
            if shape[0] != "classes":
                manifest["sizes"][shape[0]] = len(arrays[name])
    text = write_manifest(manifest)
    return sign(HEAD.pack(MAGIC, VERSION, len(text)) + text + b"".join(arrays[name].astype(ARRAYS[name][0]).tobytes() for name in ARRAYS))


# ---- by chance -----------------------------------------------------------------------------------------------------------------------


def scrambled(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut short, bits flipped, numbers changed, pieces deleted, doubled, swapped or put in."""
    size = len(data)
    at = int(rng.integers(size))
    end = int(min(size, at + rng.integers(1, 200)))
    match rng.integers(7):
        case 0:
            return data[:at]
        case 1:
            out = bytearray(data)
            for place in rng.integers(size, size=rng.integers(1, 9)):
                out[place] ^= 1 << int(rng.integers(8))
            return bytes(out)
        case 2:
            number = struct.pack("<i", int(rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 255, 65536])))
            return data[:at] + number + data[at + 4 :]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:end] + data[at:end] + data[end:]
        case 5:
            other = int(rng.integers(size))
            piece = data[other : other + end - at]
            return data[:at] + piece + data[at + len(piece) :]
        case _:
            return data[:at] + rng.bytes(end - at) + data[at:]


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file that is not the one that was saved."""
    while (out := scrambled(data, rng)) == data:
        pass
    return out


ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 255, 256, 2**31 - 1, 2**31, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e-300, 1e300, "", "a",
    "singles", "all", "pairs", "samme", "piboost", "rebel", "adaboost_mh", "x" * 20_000, [], [[]], [0], [1, 2], {}, {"pairs": []},
    {"pairs": [[0, 1]]}, [[[[[[[[[[]]]]]]]]]],
]  # fmt: skip


def _change_manifest(value: Any, rng: np.random.Generator) -> Any:
    """Change one thing somewhere inside."""
    if isinstance(value, (dict, list)) and len(value) and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[int(rng.integers(len(keys)))]
        match rng.integers(8):
            case 0:
                del value[key]
            case 1 if isinstance(value, list):
                value.insert(key, copy.deepcopy(value[int(rng.integers(len(value)))]))
            case 1:
                value[str(rng.choice(["extra", "n_jobs", "callbacks", "pairs", "estimator"]))] = value[key]
            case 2 if isinstance(value, list):
                value.reverse()
            case _:
                value[key] = _change_manifest(value[key], rng)
        return value
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-2, 3))
    return ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]


def _change_array(array: Any, rng: np.random.Generator) -> Any:
    """Change, swap, remove or repeat entries."""
    if not array.size:
        return np.zeros((1, *array.shape[1:]), array.dtype)
    flat, at, other = array.reshape(-1), *(int(number) for number in rng.integers(array.size, size=2))
    floats = array.dtype.kind == "f"
    match rng.integers(8):
        case 0:
            odd = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e90, 1e-300, 0.0, -0.0, -1.0] if floats else [0, 1, 2, 3, 254, 255]
            flat[at] = np.array(odd[int(rng.integers(len(odd)))]).astype(array.dtype)
        case 1:
            flat[at] = flat[other]
        case 2:
            flat[[at, other]] = flat[[other, at]]
        case 3 if floats:
            flat[at] *= rng.standard_normal()
        case 3:
            flat[at] += array.dtype.type(rng.integers(1, 4))
        case 4 if floats:
            flat[at] = -flat[at]
        case 4:
            limits = np.iinfo(array.dtype)
            flat[at] = limits.max if rng.random() < 0.5 else limits.min
        case 5:
            flat.view(np.uint8)[rng.integers(array.nbytes)] ^= np.uint8(1 << rng.integers(8))
        case 6:
            return np.delete(array, int(rng.integers(len(array))), axis=0)
        case _:
            return np.insert(array, int(rng.integers(len(array))), array[int(rng.integers(len(array)))], axis=0)
    return array


def signed_again(data: bytes, rng: np.random.Generator) -> bytes:
    """A changed file with a digest that fits: one to three changes anywhere."""
    if rng.random() < 0.2:
        return sign(damaged(data[:-DIGEST], rng))
    if rng.random() < 0.1:
        return with_text(data, damaged(text_of(data), rng))
    manifest, arrays = take_apart(data)
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.4:
            manifest = _change_manifest(manifest, rng)
        else:
            name = list(ARRAYS)[int(rng.integers(len(ARRAYS)))]
            with np.errstate(all="ignore"):
                arrays[name] = _change_array(arrays[name], rng)
    fit_sizes = rng.random() < 0.8 and isinstance(manifest, dict) and isinstance(manifest.get("sizes"), dict)
    return put_together(manifest, arrays, fit_sizes=fit_sizes)


def signed_again_whole(data: bytes, rng: np.random.Generator) -> bytes:
    """The same for a file of any version: changes in its manifest, its arrays, or one of the models it is made of."""
    version, (manifest, arrays, whole) = version_of(data), take_all_apart(data)
    parts = list(whole)
    for _ in range(rng.integers(1, 3)):
        number = rng.random()
        if parts and number < 0.3:
            at = int(rng.integers(len(parts)))
            parts[at] = signed_again_whole(whole[at], rng) if whole[at] and rng.random() < 0.7 else whole[int(rng.integers(len(whole)))]
        elif arrays and number < 0.7:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            with np.errstate(all="ignore"):
                arrays[name] = _change_array(arrays[name], rng)
        else:
            manifest = _change_manifest(manifest, rng)
    fit_sizes = rng.random() < 0.8 and isinstance(manifest, dict)
    return put_all_together(version, manifest, arrays, parts, fit_sizes=fit_sizes)


# ---- by hand -------------------------------------------------------------------------------------------------------------------------


class _Program:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


def _bytes_by_hand(data: bytes) -> Iterator[tuple[str, bytes]]:
    text, size = text_of(data), len(text_of(data))
    yield "empty", b""
    yield "magic alone", MAGIC
    yield "head alone", data[: HEAD.size]
    yield "digest alone", sign(b"")
    yield "pickle", pickle.dumps(_Program())
    yield "pickle behind the head", sign(data[: HEAD.size] + pickle.dumps(_Program()))
    yield "zip", sign(b"PK\x03\x04" + data[4:-DIGEST])
    yield "wrong magic", sign(b"\x89MBOOST\r" + data[8:-DIGEST])
    for version in (0, LATEST + 1, 2**32 - 1):
        yield f"version {version}", sign(HEAD.pack(MAGIC, version, size) + data[HEAD.size : -DIGEST])
    for length in (0, 1, size - 1, size + 1, len(data), 2**24 + 1, 2**31, 2**32 - 1):
        yield f"manifest of {length}", sign(HEAD.pack(MAGIC, VERSION, length) + data[HEAD.size : -DIGEST])
    yield "a byte more", sign(data[:-DIGEST] + b"\0")
    yield "a byte less", sign(data[: -DIGEST - 1])
    yield "a byte behind the digest", data + b"\0"
    yield "digest of zeros", data[:-DIGEST] + bytes(DIGEST)
    yield "twice", data + data
    for name, other in {
        "deep lists": b"[" * 1_000_000,
        "deep objects": b'{"a":' * 200_000,
        "deep and closed": b"[" * 100_000 + b"]" * 100_000,
        "deep in a parameter": text.replace(b'"parameters":{', b'"parameters":{"prune":' + b"[" * 50 + b"]" * 50 + b",", 1),
        "quotes": b'"' * 1_000_001,
        "escapes": b'"' + b'\\"' * 500_000,
        "a key twice": text.replace(b'"seed":', b'"seed":1,"seed":', 1),
        "an unknown key twice": text[:-1] + b',"x":1,"x":2}',
        "a space": text.replace(b":", b": ", 1),
        "a line end": text + b"\n",
        "keys unsorted": json.dumps(dict(reversed(json.loads(text).items())), separators=(",", ":")).encode(),
        "NaN": text.replace(b'"temperature":', b'"temperature":NaN,"x":', 1),
        "Infinity": text.replace(b'"temperature":', b'"temperature":-Infinity,"x":', 1),
        "1e999": text.replace(b'"seed":', b'"seed":1e999,"x":', 1),
        "5,000 digits": text.replace(b'"seed":', b'"seed":' + b"9" * 5_000 + b',"x":', 1),
        "a million digits": text.replace(b'"seed":', b'"seed":' + b"9" * 1_000_000 + b',"x":', 1),
        "not UTF-8": text.replace(b"algorithm", b"algor\xffthm", 1),
        "UTF-16": text.decode().encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + text,
        "half a surrogate": text.replace(b'"stop_reason":"', b'"stop_reason":"\\ud800', 1),
        "a list": b"[]",
        "null": b"null",
        "nothing": b"",
        "a number": b"1",
    }.items():
        yield name, with_text(data, other)


def _set(*path: Any, to: Any) -> Callable[[Manifest, Arrays], None]:
    def change(manifest: Manifest, arrays: Arrays) -> None:
        place: Any = manifest
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def _at(name: str, index: Any, to: Any) -> Callable[[Manifest, Arrays], None]:
    def change(manifest: Manifest, arrays: Arrays) -> None:
        arrays[name][index] = to

    return change


def _drop(name: str) -> Callable[[Manifest, Arrays], None]:
    def change(manifest: Manifest, arrays: Arrays) -> None:
        arrays[name] = arrays[name][:-1]

    return change


def _repeat(name: str) -> Callable[[Manifest, Arrays], None]:
    def change(manifest: Manifest, arrays: Arrays) -> None:
        arrays[name] = np.concatenate([arrays[name], arrays[name][-1:]])

    return change


def _manifests_by_hand(manifest: Manifest) -> Iterator[tuple[str, Callable[[Manifest, Arrays], None]]]:
    for name in ("nobody", "", "os.system", "__import__('os')", "../samme", "samme\0", None, 0, ["samme"], {"samme": 1}):
        yield f"algorithm {name!r}", _set("algorithm", to=name)
    for name, value in {
        "callbacks": ["print"], "n_jobs": 10**6, "warm_start": True, "__class__": "x", "forest_": 1, "learning_rate": 5.0, "max_depth": "x",
        "n_estimators": 0, "subsample": [1], "max_bins": 1000, "tol": 10**400, "prune": "all", "early_stopping": 1, "verbose": 2,
        "random_state": -1, "class_weight": {"a": 1}, "categorical_features": {"pairs": 1}, "calibrate": {"pairs": [[1, 2], [1, 3]]},
        "handle_unknown": {"pairs": [[[1], 2]]}, "validation_fraction": {"pairs": [[2, 1], [1, 1]]}, "splitter": "x" * 20_000,
        "min_samples_leaf": 2**70,
    }.items():  # fmt: skip
        yield f"parameter {name}", _set("parameters", name, to=value)
    for value in (None, [], "x"):
        yield f"parameters {value!r}", _set("parameters", to=value)
    K = len(manifest["classes"])
    for labels in (
        None, [], ["a"], list(range(K - 1, -1, -1)), [0] * K, ["a", 1], [["a"], ["b"]], "abc", [f"{at}" * 10_001 for at in range(K)],
        ["b", "a"], [0.5, 1.5], [True, False], [0, 2**70], [None, None], ["a\0", "b\0"],
    ):  # fmt: skip
        yield f"classes {str(labels)[:20]}", _set("classes", to=labels)
    much_room = [f"{at:04}" for at in range(2_000)] + ["9" * 9_999]  # 80 MB as an array of numpy's
    for name, texts in {"one long among many": much_room, "NUL": ["a\0", "b\0"], "numbers": list(range(K))}.items():
        yield f"texts: {name}", lambda m, _, texts=texts: m.update(class_type="str", classes=texts)  # type: ignore[misc]
    for kind in ("V8", "M8[s]", "float128", "complex128", "O", "int", "uint128", None, [], "f8,i8"):
        yield f"class_type {kind!r}", _set("class_type", to=kind)
    for name in ("cuts", "decoder_rows", "features", "masks", "nodes", "rounds", "trees", "values"):
        for size in (-1, 2**31 - 1, 2**31, 2**62, True, None):
            yield f"size {name} {size}", _set("sizes", name, to=size)
    yield "size unknown", _set("sizes", "bytes", to=1)
    for key, values in {
        "temperature": (0.0, -1.0, 1e300, 1, None, "1"),
        "seed": (-1, 2**31, 1.0, None, True),
        "stop_reason": (None, 1, "x" * 10_001),
        "feature_names": ([], ["a"] * 10_000, "abc", [1] * manifest["sizes"]["features"], {}),
        "categories": (None, {}, [0], [[0]], [[-1, []]], [[0, []], [0, []]], [[10**9, []]], [[0, list(range(256))]], [[0, [[]]]],
                       [[0, [1, 1]]], [[0, [1, 1.0, True]]], [[0, [None]]], [[0, ["x" * 10_001]]], [[0, [2**70]]]),
        "sizes": (None, [], {}),
    }.items():  # fmt: skip
        for value in values:
            yield f"{key} {str(value)[:20]}", _set(key, to=value)


def _arrays_by_hand(arrays: Arrays) -> Iterator[tuple[str, Callable[[Manifest, Arrays], None]]]:
    splits = np.flatnonzero(arrays["feature"] >= 0)
    leaves = np.flatnonzero(arrays["feature"] < 0)
    first, last = int(splits[0]), int(splits[-1])
    deep = next(int(n) for n in splits if n > 0 and n < arrays["tree_size"][0])  # a split below the first root
    p = len(arrays["n_cuts"])
    yield "cycle to the root", _at("left", deep, 0)
    yield "its own child", _at("left", deep, deep)
    yield "child before its parent", _at("left", deep, deep - 1)
    yield "two parents", _at("left", first, int(arrays["left"][deep]))
    yield "child in the next tree", _at("left", first, int(arrays["tree_size"][0]))
    yield "right child in the next tree", _at("left", first, int(arrays["tree_size"][0]) - 1)
    for child in (-1, -(2**31), 2**31 - 1, 10**6):
        yield f"child {child}", _at("left", last, child)
    yield "a leaf with a child", _at("left", leaves[0], 1)
    yield "a node no one reaches", _at("feature", deep, -1)
    yield "a leaf that splits", _at("feature", leaves[0], 0)
    for column in (-2, p, 2**31 - 1, -(2**31)):
        yield f"feature {column}", _at("feature", first, column)
    for bin_ in (-2, 255, 32767, -32768):
        yield f"bin {bin_}", _at("bin", first, bin_)
    yield "bin of a leaf", _at("bin", leaves[0], 0)
    yield "missing_left 2", _at("missing_left", first, 2)
    yield "missing_left of a leaf", _at("missing_left", leaves[0], 1)
    for rows in (0, -1, 2**62, -(2**63), 1):
        yield f"cover {rows}", _at("cover", first, rows)
    for name, values in {"width": (0, -1, 100, 2**31 - 1), "column": (-1, 100, 2**31 - 1), "tree_size": (0, -1, 1, 2, 2**31 - 1)}.items():
        for value in values:
            yield f"{name} {value}", _at(name, 0, value)
    yield "rounds from 1", _at("round", slice(None), 1)
    yield "a round left out", _at("round", slice(1, None), 7)
    yield "rounds that fall", _at("round", -1, 0)
    yield "2**31 rounds", _at("round", -1, 2**31 - 1)
    for value in (np.nan, np.inf, -np.inf, 1e300, -1e300):
        yield f"leaf value {value}", _at("values", 0, value)
        yield f"decoder or prior {value}", _at("decoder" if len(arrays["decoder"]) else "class_prior", 0, value)
        yield f"n_clipped {value}", _at("history", (0, -1), value)
    for value in (np.nan, np.inf, -np.inf):
        yield f"cut {value}", _at("cuts", 1, value)
    yield "cuts that fall", lambda manifest, a: a["cuts"].__setitem__(slice(None), a["cuts"][::-1].copy())
    yield "equal cuts", _at("cuts", slice(None), 0.0)
    for count in (-1, 255, 2**31 - 1, -(2**31)):
        yield f"{count} cuts", _at("n_cuts", 0, count)
    yield "prior of two", _at("class_prior", slice(None), 1.0)
    for name in ("n_cuts", "cuts", "values", "masks", "tree_size", "feature"):
        if len(arrays[name]):
            for change, what in ((_drop(name), "less"), (_repeat(name), "more")):
                yield f"{name}: one {what}", change
    yield "no history", lambda manifest, a: a.update(history=a["history"][:0])
    yield "other decoder", lambda manifest, a: a.update(decoder=np.ones((0 if len(a["decoder"]) else 1, a["decoder"].shape[1])))


def by_hand(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and files, none of which may load. The file given must be of several rounds, its first tree of two splits or more."""
    yield from _bytes_by_hand(data)
    for name, change in _manifests_by_hand(take_apart(data)[0]):
        manifest, arrays = take_apart(data)
        change(manifest, arrays)
        yield name, put_together(manifest, arrays)
    for name, change in _arrays_by_hand(take_apart(data)[1]):
        manifest, arrays = take_apart(data)
        with np.errstate(all="ignore"):
            change(manifest, arrays)
        for first, *others in (("feature", "bin", "missing_left", "left", "cover"), ("tree_size", "width", "column", "round")):
            for other in others:  # a node or tree less or more is one in every field
                arrays[other] = np.append(arrays[other], arrays[other][-1:])[: len(arrays[first])]
        yield name, put_together(manifest, arrays, fit_sizes=name != "2**31 rounds")
