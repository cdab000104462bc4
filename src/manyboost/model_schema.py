"""What a model file may hold, and the proof that what one does hold is a model.

Nothing here trusts its input: sizes are compared with the bytes that are there before anything is allocated, and what is returned can be
used by kernels that check no bounds. What follows from other parts is never stored (thresholds from cuts, places of leaves from the
order of nodes), so it cannot contradict them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import MAX_CATEGORIES, Columns
from manyboost.learners.similarities import Similarities
from manyboost.learners.similarity_space import METRICS, Space
from manyboost.trees.binning import MAX_BINS, Binning
from manyboost.trees.forest import MEMBER, MEMBER_NODE, Forest
from manyboost.trees.nodes import MASK_WORDS
from manyboost.trees.statistics import Floats

NOT_STORED = ("n_made", "unsolved", "seconds")  # of the history
HISTORY = ("loss", "training_error", "validation_error", "step", "n_trees", "n_clipped")
SIZES = ("features", "cuts", "decoder_rows", "trees", "nodes", "masks", "values", "rounds")
ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "n_cuts": ("<i4", ("features",)),  # of each column; 0 where it holds categories
    "cuts": ("<f8", ("cuts",)),  # column after column
    "class_prior": ("<f8", ("classes",)),
    "decoder": ("<f8", ("decoder_rows", "classes")),  # no rows: the columns of scores are those of the classes
    "tree_size": ("<i4", ("trees",)),  # nodes of each tree
    "width": ("<i4", ("trees",)),  # numbers in each of its leaves
    "column": ("<i4", ("trees",)),  # of scores, which the first of them is added to
    "round": ("<i4", ("trees",)),
    "feature": ("<i4", ("nodes",)),  # -1 at a leaf
    "bin": ("<i2", ("nodes",)),  # the last that goes left; -1 at a leaf and where a mask decides
    "missing_left": ("|u1", ("nodes",)),  # 1: missing values go left
    "left": ("<i4", ("nodes",)),  # left child, counted from the tree's root; the right child follows it; 0 at a leaf
    "cover": ("<i8", ("nodes",)),  # rows the tree was grown on
    "masks": ("<u8", ("masks", MASK_WORDS)),  # of each split by categories in turn: bit c is set where category c goes left
    "values": ("<f8", ("values",)),  # of each leaf in turn
    "history": ("<f8", ("rounds", len(HISTORY))),
}
KEYS = {
    "algorithm", "categories", "class_type", "classes", "feature_names", "parameters", "seed", "sizes", "stop_reason", "temperature",
}  # fmt: skip
SIMILARITY_SIZES = ("features", "shares", "mixed", "decoder_rows", "points", "members", "width", "rounds")
SIMILARITY_ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "exponent": ("<i4", ("features",)),  # a number becomes (x / 2^exponent - centre) * scale
    "centre": ("<f8", ("features",)),
    "scale": ("<f8", ("features",)),  # 0: the column has no part in distances
    "shares": ("<f8", ("shares",)),  # of the categories, column after column
    "matrix": ("<f8", ("mixed", "mixed")),  # what mixes the coordinates; of size 0: nothing does
    "class_prior": ("<f8", ("classes",)),
    "decoder": ("<f8", ("decoder_rows", "classes")),
    "points": ("<f8", ("points", "features")),  # training examples, in the order of their first use
    "label": ("<i4", ("points",)),  # their classes
    "first": ("<i4", ("members",)),  # the example that a member compares with; -1: it says +1 of everything
    "second": ("<i4", ("members",)),  # the other one; -1: there is none, and tau is what the distance is compared with
    "tau": ("<f8", ("members",)),  # 0 where there are two
    "hard": ("|u1", ("members",)),  # 1: only the sign counts
    "column": ("<i4", ("members",)),  # of scores, which the first number of the vector is added to
    "round": ("<i4", ("members",)),
    "vectors": ("<f8", ("members", "width")),
    "history": ("<f8", ("rounds", len(HISTORY))),
}
CLASS_TYPES: dict[str, type] = {
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": float for bits in (16, 32, 64)},
    "str": str,
    "object": str,
}
MAX_CLASSES = 65535
MAX_DEPTH = 12
MAX_PARTS = 1000
MAX_ITEMS = 2**18
MAX_LABEL_BYTES = 2**26  # numpy gives every label the room of the longest
MAX_MANIFEST = 2**23
MAX_ROWS = 2**40
MAX_SCORE = 1e100  # its square is finite, too
MAX_TEXT = 10_000
MAX_EXPONENT = 1100  # of two; no number has a larger one
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


@dataclass(frozen=True)
class Layout:
    """What a file of one kind of members holds: keys of the manifest, sizes and arrays."""

    keys: frozenset[str]
    sizes: tuple[str, ...]
    arrays: Mapping[str, tuple[str, tuple[str | int, ...]]]


OF_TREES = Layout(frozenset(KEYS), SIZES, ARRAYS)
OF_BLENDS = Layout(
    frozenset({"description", "held_out", "lengths", "parameters", "sharpness", "weights"}), (), {}
)  # other files follow in place of arrays
OF_SIMILARITIES = Layout(frozenset(KEYS | {"learner", "metric"}), SIMILARITY_SIZES, SIMILARITY_ARRAYS)


class BadModelFile(ValueError):
    """The file is no valid model and was not loaded; the message says what is wrong with it."""


def require(holds: Any, otherwise: str) -> None:
    """Refuse the file unless a condition holds."""
    if not holds:
        raise BadModelFile(otherwise)


# ---- values of parameters, labels and categories -------------------------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it: numpy's scalars as Python's, all sequences and sets as lists, a dict as its sorted pairs."""
    if depth > MAX_DEPTH - 3:
        raise TypeError("it is nested too deeply")
    if isinstance(value, np.generic):
        value = value.item()
    elif hasattr(value, "tolist"):  # arrays, series and indexes
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise TypeError(f"it holds a text of {len(value)} characters, and at most {MAX_TEXT} are allowed")
        return str.__str__(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise TypeError("it holds a whole number of more than 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"it holds {value}, which is not finite")
        return float(value)
    if isinstance(value, dict):
        return {"pairs": _sorted([plain(key, depth + 3), plain(entry, depth + 3)] for key, entry in value.items())}
    if isinstance(value, (set, frozenset)):  # in an order that does not depend on the hashes of strings
        return _sorted(plain(entry, depth + 1) for entry in value)
    if isinstance(value, (list, tuple)):
        return [plain(entry, depth + 1) for entry in value]
    raise TypeError(f"it holds a {type(value).__name__}, which is no number, text, list or dict of these")


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=lambda value: json.dumps(value))


def from_plain(value: Any) -> Any:
    """The value that :func:`plain` was given, its sequences as lists."""
    if isinstance(value, dict):
        require(value.keys() == {"pairs"} and isinstance(value["pairs"], list), "a parameter holds an object that is no dict of ours")
        pairs = value["pairs"]
        good = (isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], (list, dict)) for pair in pairs)
        require(all(good), "a dict has a bad key")
        return {key: from_plain(entry) for key, entry in pairs}
    return [from_plain(entry) for entry in value] if isinstance(value, list) else value


def write_manifest(manifest: Mapping[str, Any]) -> bytes:
    """The one way to write these values."""
    return json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_manifest(text: bytes, layout: Layout) -> dict[str, Any]:
    """The manifest, if it is written in the one way: so no key is there twice and no number is infinite."""
    # Depth and length are known before a parser sees it. What stands between quotes is left out: brackets in names do not count.
    outside = b"".join(text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    require(outside.count(b",") < MAX_ITEMS, f"the manifest has more than {MAX_ITEMS} items")
    brackets = np.frombuffer(outside.translate(None, delete=NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), np.int32(1), np.int32(-1))
    require(steps.cumsum().max(initial=0) <= MAX_DEPTH, "the manifest is nested too deeply")
    try:
        manifest = json.loads(text.decode())
        canonical = write_manifest(manifest) == text
    except (ValueError, RecursionError):
        raise BadModelFile("the manifest is not JSON in UTF-8 of finite numbers") from None
    require(canonical, "the manifest is not in its canonical form (keys sorted, each once, no spaces)")
    require(isinstance(manifest, dict) and manifest.keys() == layout.keys, "the manifest does not have the keys it must have")
    return dict(manifest)


def _whole(value: Any, low: int, high: int, name: str) -> int:
    require(type(value) is int and low <= value <= high, f"{name} is not a whole number from {low} to {high}")
    return int(value)


def _text(value: Any, name: str) -> str:
    require(type(value) is str and len(value) <= MAX_TEXT, f"{name} is not a text of at most {MAX_TEXT} characters")
    return str(value)


def read_parameters(stored: Any, known: set[str]) -> dict[str, Any]:
    """The parameters; one that is not there has its default, so that older files stay readable."""
    require(isinstance(stored, dict) and stored.keys() <= known, "there is a parameter that the algorithm does not have")
    values = {name: from_plain(value) for name, value in stored.items()}
    try:
        same = write_manifest({name: plain(value) for name, value in values.items()}) == write_manifest(stored)
    except TypeError as error:
        raise BadModelFile(f"a parameter cannot be: {error}") from None
    require(same, "a parameter is not in its canonical form")
    return values


def read_scalars(manifest: Mapping[str, Any]) -> tuple[float, int, str]:
    """Temperature, seed and reason to stop."""
    temperature = manifest["temperature"]
    require(type(temperature) is float and 0 < temperature < MAX_SCORE, "the temperature is not a positive number")
    seed = _whole(manifest["seed"], 0, 2**31 - 1, "the seed")
    return temperature, seed, _text(manifest["stop_reason"], "stop_reason")


def read_blend(manifest: Mapping[str, Any], n_bytes: int) -> tuple[list[int], Floats, float, str, tuple[float, float]]:
    """The lengths of the files of a blend, their weights, the sharpness, the description, and error and log-loss of held-out rows."""
    lengths, weights, sharpness, held_out = (manifest[name] for name in ("lengths", "weights", "sharpness", "held_out"))
    require(isinstance(lengths, list) and 1 <= len(lengths) <= MAX_PARTS, f"a blend does not have 1 to {MAX_PARTS} models")
    require(sum(_whole(length, 1, MAX_ROWS, "the length of a model") for length in lengths) == n_bytes, "its models have another length")
    require(isinstance(weights, list) and len(weights) == len(lengths), "there is not one weight for each model")
    require(all(type(weight) is float and 0 <= weight <= 1 for weight in weights), "a weight is not between 0 and 1")
    require(abs(math.fsum(weights) - 1) < 1e-9, "the weights do not add up to one")
    require(type(sharpness) is float and 0 < sharpness < MAX_SCORE, "the sharpness is not a positive number")
    require(isinstance(held_out, list) and len(held_out) == 2, "there are not two figures of held-out rows")
    require(all(figure is None or (type(figure) is float and figure >= 0) for figure in held_out), "a figure of held-out rows is none")
    error, loss = (math.nan if figure is None else figure for figure in held_out)
    return lengths, np.array(weights), sharpness, _text(manifest["description"], "the description"), (error, loss)


def read_classes(manifest: Mapping[str, Any]) -> NDArray[Any]:
    """The class labels, in the type they had."""
    labels, name = manifest["classes"], manifest["class_type"]
    require(isinstance(name, str) and name in CLASS_TYPES, "the labels have an unknown type")
    kind = CLASS_TYPES[name]
    require(isinstance(labels, list) and 2 <= len(labels) <= MAX_CLASSES, f"there are not 2 to {MAX_CLASSES} classes")
    require(all(type(label) is kind for label in labels), f"a label is no {kind.__name__}")
    require(all(low < high for low, high in pairwise(labels)), "the labels do not rise")
    if kind is str:
        longest = max(len(_text(label, "a label")) for label in labels)
        require(4 * longest * len(labels) <= MAX_LABEL_BYTES, "the labels are too long")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype=name)
    except OverflowError:
        raise BadModelFile(f"a label is no {name}") from None
    require(classes.tolist() == labels, f"a label is no {name}")  # too precise for the type, or a text that ends in NUL
    return classes


def read_columns(manifest: Mapping[str, Any], n_features: int) -> tuple[Columns, NDArray[Any] | None]:
    """The categories of each column, and the columns' names if they had any."""
    stored, names = manifest["categories"], manifest["feature_names"]
    require(isinstance(stored, list), "the categories are no list")
    categories: list[tuple[Any, ...] | None] = [None] * n_features
    last = -1
    for entry in stored:
        require(isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list), "the categories of a column are no list")
        last = _whole(entry[0], last + 1, n_features - 1, "the number of a column of categories")
        require(len(entry[1]) <= MAX_CATEGORIES, f"a column has more than {MAX_CATEGORIES} categories")
        for value in entry[1]:
            if type(value) is int:
                _whole(value, -(2**63), 2**64 - 1, "a category")
            elif type(value) not in (bool, float):
                _text(value, "a category")
        known = tuple(entry[1])
        require(len(set(known)) == len(known), "a column has a category twice")
        categories[last] = known
    if names is None:
        return Columns(tuple(categories)), None
    require(isinstance(names, list) and len(names) == n_features, "there is not one name for each column")
    return Columns(tuple(categories)), np.array([_text(name, "the name of a column") for name in names], dtype=object)


# ---- arrays --------------------------------------------------------------------------------------------------------------------------


def read_arrays(manifest: Mapping[str, Any], body: memoryview, layout: Layout) -> dict[str, NDArray[Any]]:
    """The arrays, in the machine's byte order, if they fill the body exactly."""
    sizes = manifest["sizes"]
    require(isinstance(sizes, dict) and sizes.keys() == set(layout.sizes), "the sizes do not have the names they must have")
    known = {name: _whole(sizes[name], 0, 2**31 - 1, f"the size {name}") for name in layout.sizes}
    known["classes"] = len(manifest["classes"])
    shapes = {name: tuple(size if isinstance(size, int) else known[size] for size in shape) for name, (_, shape) in layout.arrays.items()}
    types = {name: np.dtype(code) for name, (code, _) in layout.arrays.items()}
    ends = list(accumulate((math.prod(shapes[name]) * types[name].itemsize for name in layout.arrays), initial=0))
    require(ends[-1] == len(body), f"its arrays should take {ends[-1]} bytes, but there are {len(body)}")
    out = {}
    for name, (begin, end) in zip(layout.arrays, pairwise(ends), strict=True):
        flat = np.frombuffer(body[begin:end], types[name]) if end > begin else np.empty(0, types[name])
        out[name] = flat.astype(types[name].newbyteorder("=")).reshape(shapes[name])
    return out


def read_binning(arrays: Mapping[str, NDArray[Any]], columns: Columns) -> Binning:
    """The cuts of each column."""
    n_cuts, cuts, n_categories = arrays["n_cuts"].astype(np.int64), arrays["cuts"], columns.n_categories
    require(len(n_cuts) > 0, "there is no column")
    require(((n_cuts >= 0) & (n_cuts < MAX_BINS) & ((n_categories == 0) | (n_cuts == 0))).all(), "a column has a bad number of cuts")
    offset = np.concatenate([[0], np.cumsum(n_cuts)])
    require(offset[-1] == len(cuts), "the cuts are not as many as the columns have")
    rises = np.ones(len(cuts), bool)
    rises[1:] = cuts[1:] > cuts[:-1]
    rises[offset[:-1][n_cuts > 0]] = True
    require(np.isfinite(cuts).all() and rises.all(), "the cuts of a column do not rise")
    return Binning(cuts, offset, n_categories)


def read_prior(arrays: Mapping[str, NDArray[Any]]) -> Floats:
    """The classes' shares."""
    prior = arrays["class_prior"]
    require(((prior >= 0) & (prior <= 1)).all() and abs(prior.sum() - 1) < 1e-6, "the shares of the classes are no shares")
    return prior


def read_history(arrays: Mapping[str, NDArray[Any]], n_rounds: int) -> dict[str, Floats]:
    """What was noted of each round; how it was come by is not stored."""
    rows = arrays["history"]
    require(len(rows) >= n_rounds, "the history is shorter than the rounds")
    history = dict(zip(HISTORY, rows.T.copy(), strict=True))
    for name in ("n_trees", "n_clipped"):
        counts = history[name]
        require(((counts >= 0) & (counts < 2**31) & (counts == np.floor(counts))).all(), f"{name} of a round is not a count")
    return {**history, **{name: np.full(len(rows), np.nan) for name in NOT_STORED}}


def read_decoder(arrays: Mapping[str, NDArray[Any]], has_one: bool) -> Floats | None:
    """What the columns of scores mean for the classes."""
    decoder = arrays["decoder"]
    require((len(decoder) > 0) == has_one, "the decoder is missing" if has_one else "the algorithm has no decoder")
    if not has_one:
        return None
    tells = np.isfinite(decoder).all(axis=1) & (decoder.max(axis=1) > decoder.min(axis=1))
    require(tells.all(), "a row of the decoder does not part classes from others")
    return decoder


def read_forest(arrays: Mapping[str, NDArray[Any]], binning: Binning, n_columns: int) -> Forest:
    """The trees, proved to be trees."""
    size, width, column, round_ = (arrays[name].astype(np.int64) for name in ("tree_size", "width", "column", "round"))
    feature, bin_, left, cover = (arrays[name].astype(np.int64) for name in ("feature", "bin", "left", "cover"))
    missing_left, values = arrays["missing_left"], arrays["values"]
    n_nodes = len(feature)
    require((size > 0).all() and size.sum() == n_nodes, "the trees do not have the nodes that there are")
    require(((width > 0) & (column >= 0) & (column + width <= n_columns)).all(), "a tree adds to columns that do not exist")
    steps = np.diff(round_, prepend=-1)
    require((steps[:1] == 1).all() and ((steps == 0) | (steps == 1)).all(), "the rounds are not numbered 0, 1, 2, ...")

    root = np.cumsum(size) - size
    tree = np.repeat(np.arange(len(size)), size)
    base = root[tree]
    number = np.arange(n_nodes) - base  # in its own tree
    require(((feature >= -1) & (feature < binning.n_features)).all(), "a node asks for a column that does not exist")
    split, leaf = feature >= 0, feature < 0
    require(((left > number) & (left + 1 < size[tree]))[split].all(), "a child does not stand behind its parent in the same tree")
    children = (base + left)[split]
    n_parents = np.bincount(np.concatenate([children, children + 1]), minlength=n_nodes)
    require((n_parents == (number > 0)).all(), "a node does not have exactly one parent")
    require(((left == 0) & (bin_ == -1) & (missing_left == 0))[leaf].all(), "a leaf has a way on")
    require((missing_left <= 1).all(), "missing values go neither left nor right")
    require(((cover > 0) & (cover <= MAX_ROWS)).all(), "a node has a bad number of rows")
    require((cover[split] == cover[children] + cover[children + 1]).all(), "the rows of a node are not those of its children")

    by_category = split & (binning.n_categories[feature] > 0)
    n_bins = binning.n_bins()[feature]
    require(np.where(by_category, bin_ == -1, (bin_ >= 0) & (bin_ < n_bins))[split].all(), "a node is split at a bin that does not exist")
    require(by_category.sum() == len(arrays["masks"]), "there is not one mask for each split by categories")
    room = np.where(leaf, width[tree], 0)
    require(room.sum() == len(values) and len(values) < 2**31, "the leaves do not have the values that there are")
    require(np.isfinite(values).all(), "a value of a leaf is not finite")

    nodes = np.zeros(n_nodes, MEMBER_NODE)
    nodes["feature"], nodes["bin"], nodes["missing_left"], nodes["cover"] = feature, bin_, missing_left, cover
    nodes["threshold"] = binning.thresholds(nodes["feature"], nodes["bin"])
    nodes["left"] = np.where(leaf, np.cumsum(room) - room, left)
    nodes["categories"] = np.where(by_category, np.cumsum(by_category) - 1, -1)
    members = np.zeros(len(size), MEMBER)
    members["root"], members["width"], members["column"], members["round"] = root, width, column, round_
    return Forest(nodes, arrays["masks"], values, members, n_columns)


def read_similarities(manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], columns: Columns, n_columns: int) -> Similarities:
    """The members and their examples, which are all there."""
    space = _read_space(manifest["metric"], arrays, columns)
    points, label = arrays["points"], arrays["label"].astype(np.int64)
    for at, n in enumerate(space.n_categories):
        known = points[:, at][~np.isnan(points[:, at])]
        require(np.isfinite(known).all(), "an example has an infinite value")
        require(n == 0 or ((known >= 0) & (known < n) & (known == np.floor(known))).all(), "an example has a category that does not exist")
    require(((label >= 0) & (label < len(arrays["class_prior"]))).all(), "an example has a class that does not exist")
    first, second, column, round_ = (arrays[name].astype(np.int64) for name in ("first", "second", "column", "round"))
    tau, hard, vectors = arrays["tau"], arrays["hard"], arrays["vectors"]
    used = np.column_stack([first, second]).ravel()
    require(((used >= -1) & (used < len(points))).all(), "a member compares with an example that does not exist")
    require(((second < 0) | ((first >= 0) & (first != second))).all(), "a member does not compare with two different examples")
    used = used[used >= 0]
    in_order = used[np.sort(np.unique(used, return_index=True)[1])]
    require(np.array_equal(in_order, np.arange(len(points))), "the examples do not stand in the order of their first use")
    require(np.where((first >= 0) & (second < 0), (tau > 0) & (tau < MAX_SCORE), tau == 0).all(), "a member's tau is not what it must be")
    require((hard <= 1).all(), "a member is neither hard nor not")
    require(((column >= 0) & (column + vectors.shape[1] <= n_columns)).all(), "a member adds to columns that do not exist")
    require(vectors.shape[1] > 0 and np.isfinite(vectors).all(), "a member's vector is not finite")
    steps = np.diff(round_, prepend=-1)
    require((steps[:1] == 1).all() and ((steps == 0) | (steps == 1)).all(), "the rounds are not numbered 0, 1, 2, ...")
    return Similarities(
        space=space,
        points=points,
        label=label.astype(np.int32),
        row=np.full(len(points), -1, np.int64),
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        tau=tau,
        hard=hard.astype(bool),
        column=column.astype(np.int32),
        round=round_.astype(np.int32),
        vectors=vectors,
        n_columns=n_columns,
    )


def _read_space(metric: Any, arrays: Mapping[str, NDArray[Any]], columns: Columns) -> Space:
    """How rows become coordinates."""
    exponent, centre, scale, shares, matrix = (arrays[name] for name in ("exponent", "centre", "scale", "shares", "matrix"))
    require(isinstance(metric, str) and metric in METRICS, "the metric is unknown")
    require(len(scale) > 0, "there is no column")
    require((np.abs(exponent.astype(np.int64)) <= MAX_EXPONENT).all(), "the exponent of a column is none of a number")
    require((np.abs(centre) <= 1).all(), "the centre of a column is not within it")
    require(((scale >= 0) & (scale < MAX_SCORE)).all(), "the scale of a column is not a number of at least 0")
    require(len(shares) == columns.n_categories.sum() and ((shares >= 0) & (shares <= 1)).all(), "the categories' shares are no shares")
    space = Space(metric, exponent.astype(np.int32), centre, scale, columns.n_categories, shares, matrix)
    require(len(matrix) in (0, len(space.column)) and (np.abs(matrix) < MAX_SCORE).all(), "the matrix is none of these coordinates")
    return space


def check_scores(largest: float, n_members: int, decoder: Floats | None, temperature: float) -> None:
    """No sum of what members add, however it is multiplied later, is too large for a number."""
    largest = largest * max(n_members, 1) * max(temperature, 1.0)
    if decoder is not None:
        largest *= max(float(np.abs(decoder).max()) * len(decoder), 1.0)
    require(largest < MAX_SCORE, "its scores may become infinite")
