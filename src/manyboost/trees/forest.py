"""Many trees as plain arrays that score rows.

Every tree adds the vector of a row's leaf to some neighbouring columns of that row. What the columns mean is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manyboost.compiled import compiled
from manyboost.trees.binning import Binning, Table
from manyboost.trees.growing import Tree
from manyboost.trees.nodes import MASK_WORDS, NODE
from manyboost.trees.scoring import ROWS_PER_BLOCK, Scorer, add_scores, goes_right, make_scorer
from manyboost.trees.statistics import Floats

MEMBER_NODE = np.dtype(
    [
        ("threshold", np.float64),  # at or below: left
        ("left", np.int32),  # the right child follows it; at a leaf, where its vector starts
        ("feature", np.int32),  # -1 at a leaf
        ("categories", np.int32),  # row of the forest's masks, -1 where a threshold decides
        ("bin", np.int16),
        ("missing_left", np.bool_),
        ("cover", np.int64),  # rows the tree was grown on
    ],
    align=True,
)
CELLS_PER_BLOCK = 1 << 22  # of sparse rows made dense by a thread, 32 MB: fewer rows than usual where trees ask for over 8192 features
FEWEST_ROWS = 16  # of a block, which reads all trees anew
MEMBER = np.dtype([("root", np.int64), ("width", np.int32), ("column", np.int32), ("round", np.int32)], align=True)


@compiled
def _mean_vectors(nodes, values, members, means):
    """What the rows that pass each node are given in the mean: (nodes, width), by the rows the trees were grown on."""
    for t in range(len(members)):
        root, width = members[t].root, members[t].width
        end = members[t + 1].root if t + 1 < len(members) else len(nodes)
        for n in range(end - 1, root - 1, -1):  # children come after their parents
            if nodes[n].feature < 0:
                for k in range(width):
                    means[n, k] = values[nodes[n].left + k]
            else:
                left = root + nodes[n].left
                total = nodes[left].cover + nodes[left + 1].cover
                share = nodes[left].cover / total if total > 0 else 0.5
                for k in range(width):
                    means[n, k] = share * means[left, k] + (1.0 - share) * means[left + 1, k]


@compiled
def _add_contributions(X, nodes, masks, means, members, features, out):
    """Add to ``out`` (n, p, C) what each split on a row's way changes in the mean vector; the nodes' feature f is ``features[f]`` there."""
    for t in range(len(members)):
        root, width, column = members[t].root, members[t].width, members[t].column
        for i in range(X.shape[0]):
            n = root
            f = nodes[n].feature
            while f >= 0:
                child = root + nodes[n].left + goes_right(X[i, f], nodes, n, masks)
                for k in range(width):
                    out[i, features[f], column + k] += means[child, k] - means[n, k]
                n = child
                f = nodes[n].feature


def _dense(block: Any, features: NDArray[np.int32]) -> Floats:
    """Rows as scoring wants them; of sparse ones only these features, for a row may have a million."""
    return np.ascontiguousarray(block[:, features].toarray() if sparse.issparse(block) else block, dtype=np.float64)


@dataclass(frozen=True)
class Forest:
    """Members in the order they were added.

    Attributes
    ----------
    nodes : all nodes, tree after tree; children are numbered from their tree's root
    masks : (m, 4) sets of categories that go left
    values : leaf vectors, one after the other
    members : one entry per tree: its root, the columns it adds to, its round
    n_columns : columns in all
    """

    nodes: NDArray[np.void]
    masks: NDArray[np.uint64]
    values: Floats
    members: NDArray[np.void]
    n_columns: int

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no more than the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def empty(cls, n_columns: int) -> Forest:
        return cls(np.empty(0, MEMBER_NODE), np.empty((0, MASK_WORDS), np.uint64), np.empty(0), np.empty(0, MEMBER), n_columns)

    @property
    def n_rounds(self) -> int:
        return int(self.members["round"][-1]) + 1 if len(self.members) else 0

    @property
    def is_constant(self) -> bool:
        """Does no tree split?"""
        return not bool((self.nodes["feature"] >= 0).any())

    def extended(self, grown: Sequence[tuple[Tree, Floats, int, int]], binning: Binning) -> Forest:
        """This forest and, behind it, trees with their leaf vectors (L, width), first column and round."""
        if not grown:
            return self
        trees = [tree for tree, _, _, _ in grown]
        lengths = np.array([len(tree.nodes) for tree in trees])
        sizes = np.array([vectors.size for _, vectors, _, _ in grown])
        source = np.empty(lengths.sum(), trees[0].nodes.dtype)  # faster than to concatenate records
        for tree, end in zip(trees, np.cumsum(lengths), strict=True):
            source[end - len(tree.nodes) : end] = tree.nodes
        number = np.concatenate([tree.leaf_number() for tree in trees])
        members = np.zeros(len(grown), MEMBER)
        members["root"] = len(self.nodes) + np.cumsum(lengths) - lengths
        members["width"] = [vectors.shape[1] for _, vectors, _, _ in grown]
        members["column"] = [column for _, _, column, _ in grown]
        members["round"] = [round_ for _, _, _, round_ in grown]
        if (members["column"] + members["width"] > self.n_columns).any():  # scores would be written where there is no room for them
            raise ValueError(f"A tree adds to columns of scores beyond the {self.n_columns} of the forest.")
        first_value = len(self.values) + np.cumsum(sizes) - sizes
        leaf = source["feature"] < 0
        by_category = ~leaf & (source["bin"] < 0)
        nodes = np.zeros(len(source), MEMBER_NODE)
        for name in ("feature", "bin", "missing_left"):
            nodes[name] = source[name]
        nodes["cover"] = source["end"] - source["start"]
        nodes["threshold"] = binning.thresholds(source["feature"], source["bin"])
        nodes["left"] = np.where(leaf, np.repeat(first_value, lengths) + number * np.repeat(members["width"], lengths), source["left"])
        nodes["categories"] = np.where(by_category, len(self.masks) + np.cumsum(by_category) - 1, -1)
        return Forest(
            np.concatenate([self.nodes, nodes]),
            np.concatenate([self.masks, source["mask"][by_category]]),
            np.concatenate([self.values, *(vectors.ravel() for _, vectors, _, _ in grown)]),
            np.concatenate([self.members, members]),
            self.n_columns,
        )

    @cached_property
    def _scorer(self) -> Scorer:
        return make_scorer(self.nodes, self.values, self.members)

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.int32], Forest]:
        """The features that any node asks for, and this forest as one of these features alone."""
        inner = self.nodes["feature"] >= 0
        features, place = np.unique(self.nodes["feature"][inner], return_inverse=True)
        nodes = self.nodes.copy()
        nodes["feature"][inner] = place
        return features, replace(self, nodes=nodes)

    def _to_read(self, X: Any) -> tuple[NDArray[np.int32], Forest, int]:
        """The features to be read, of sparse rows no more than are asked for; the forest that reads them; rows to be taken at a time."""
        if not sparse.issparse(X):
            return np.arange(X.shape[1], dtype=np.int32), self, ROWS_PER_BLOCK
        features, narrow = self._narrow
        return features, narrow, min(ROWS_PER_BLOCK, max(FEWEST_ROWS, CELLS_PER_BLOCK // max(1, len(features))))

    def first_rounds(self, n_rounds: int) -> Forest:
        """Only the members of the first rounds."""
        n = int(np.searchsorted(self.members["round"], n_rounds))
        if n == len(self.members):
            return self
        end = int(self.members["root"][n])
        nodes = self.nodes[:end]
        n_values = int((nodes["left"][nodes["feature"] < 0]).min(initial=0))
        if len(nodes):
            last = self.members[n - 1]
            n_values = int(nodes["left"][nodes["feature"] < 0].max()) + int(last["width"])
        n_masks = int(nodes["categories"].max(initial=-1)) + 1
        return Forest(nodes, self.masks[:n_masks], self.values[:n_values], self.members[:n], self.n_columns)

    def tree(self, member: int) -> tuple[Tree, Floats]:
        """A member as a tree in terms of bins, and its leaf vectors."""
        begin = int(self.members["root"][member])
        end = int(self.members["root"][member + 1]) if member + 1 < len(self.members) else len(self.nodes)
        part = self.nodes[begin:end]
        leaf = part["feature"] < 0
        nodes = np.zeros(len(part), NODE)
        for name in ("feature", "bin", "missing_left"):
            nodes[name] = part[name]
        nodes["left"] = np.where(leaf, -1, part["left"])
        nodes["right"] = np.where(leaf, -1, part["left"] + 1)
        nodes["mask"][part["categories"] >= 0] = self.masks[part["categories"][part["categories"] >= 0]]
        width = int(self.members["width"][member])
        vectors = self.values[part["left"][leaf][:, None] + np.arange(width)]
        return Tree(nodes, np.empty((len(part), 0))), vectors

    def members_of_round(self, round_: int) -> range:
        begin, end = np.searchsorted(self.members["round"], [round_, round_ + 1])
        return range(int(begin), int(end))

    def add_to(self, columns: Floats, X: Any, members: range | None = None, each: Callable[..., Iterable[Any]] = map) -> None:
        """Add the members' leaf vectors to ``columns`` (n, C) for the rows of ``X``; ``each`` may be a thread pool's map."""
        chosen = range(len(self.members)) if members is None else members
        features, forest, n_rows = self._to_read(X)
        scorer = forest._scorer  # made once, not by each thread

        def add(start: int) -> None:
            dense = _dense(X[start : start + n_rows], features)
            part = columns[start : start + n_rows]
            place = np.empty(len(dense), np.int32)
            add_scores(dense, forest.nodes, forest.masks, forest.values, scorer, chosen.start, chosen.stop, place, part)

        list(each(add, range(0, X.shape[0], n_rows)))

    def columns(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> Floats:
        """The sum of all members for each row, (n, C)."""
        columns = np.zeros((X.shape[0], self.n_columns))
        self.add_to(columns, X, each=each)
        return columns

    def contributions(self, X: Any, each: Callable[..., Iterable[Any]] = map) -> tuple[Floats, Floats]:
        """What each feature adds to the columns of each row, (n, p, C), and the sum of the trees' means, (C,): together, :meth:`columns`.

        On its way through a tree a row passes nodes of ever fewer training rows; the feature of a split is given the change of their mean.
        """
        means = np.zeros((len(self.nodes), int(self.members["width"].max(initial=0))))
        _mean_vectors(self.nodes, self.values, self.members, means)
        start = np.zeros(self.n_columns)
        for member in self.members:
            start[member["column"] : member["column"] + member["width"]] += means[member["root"], : member["width"]]
        out = np.zeros((X.shape[0], X.shape[1], self.n_columns))
        features, forest, n_rows = self._to_read(X)

        def add(first: int) -> None:
            dense = _dense(X[first : first + n_rows], features)
            _add_contributions(dense, forest.nodes, forest.masks, means, forest.members, features, out[first : first + n_rows])

        list(each(add, range(0, X.shape[0], n_rows)))
        return out, start

    def explained(self, row: Any) -> Any:
        """Why a row is decided as it is: by its features. What is made of that, ``row`` knows, which says what was decided."""
        added, start = self.contributions(row.numeric)
        return row.by_features(added[0], start)

    def staged_columns(self, X: Any) -> Iterator[Floats]:
        """The same sum after each round; the array is one and the same."""
        columns = np.zeros((X.shape[0], self.n_columns))
        for round_ in range(self.n_rounds):
            self.add_to(columns, X, self.members_of_round(round_))
            yield columns

    def replay(self, table: Table) -> Iterator[tuple[int, int, Floats, NDArray[np.int32]]]:
        """For each member its round, first column, leaf vectors and the leaf of each row of a binned table."""
        for member in range(len(self.members)):
            tree, vectors = self.tree(member)
            yield int(self.members["round"][member]), int(self.members["column"][member]), vectors, tree.leaves_of(table)

    def importances(self, n_features: int, decoder: Floats) -> Floats:
        """How far each feature moves the score of each class, (p, K).

        At a split, the squared distance between the mean vectors of its sides, times ``n_left * n_right / n``: what the split adds to the
        variance of the scores over the rows the tree was grown on.
        """
        out = np.zeros((n_features, decoder.shape[1]))
        for member in range(len(self.members)):
            tree, vectors = self.tree(member)
            begin = int(self.members["root"][member])
            cover = self.nodes["cover"][begin : begin + len(tree.nodes)].astype(np.float64)
            column = int(self.members["column"][member])
            means = np.zeros((len(tree.nodes), decoder.shape[1]))
            means[tree.is_leaf] = vectors @ decoder[column : column + vectors.shape[1]]
            for n in np.flatnonzero(~tree.is_leaf)[::-1]:  # children come after their parents
                left, right = tree.nodes["left"][n], tree.nodes["right"][n]
                share = cover[left] / cover[n]
                means[n] = share * means[left] + (1 - share) * means[right]
                out[tree.nodes["feature"][n]] += cover[n] * share * (1 - share) * (means[left] - means[right]) ** 2
        return out
