"""What a kind of model file holds: keys of the manifest, arrays in their order, types and shapes, and files of other models behind them.

Sizes are compared with the bytes that are there before anything is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.model_file.container import require
from manyboost.model_file.values import whole

Arrays = Mapping[str, NDArray[Any]]
Manifest = Mapping[str, Any]
Shapes = Mapping[str, tuple[str, tuple[str | int, ...]]]  # of each array numpy's code of its type, and its lengths by name
MAX_PARTS = 65535
MAX_BYTES = 2**40


@dataclass(frozen=True)
class Layout:
    """What is in a file.

    Attributes
    ----------
    facts : keys of the manifest, beside those that follow from the rest: ``sizes`` where there are arrays, ``lengths`` where it nests
    arrays : their types and shapes; the length "classes" is the number of labels
    nests : files of other models stand behind the arrays; a length of 0 is no file
    """

    facts: frozenset[str]
    arrays: Shapes
    nests: bool = False

    @property
    def keys(self) -> frozenset[str]:
        return self.facts | ({"sizes"} if self.arrays else set()) | ({"lengths"} if self.nests else set())

    @property
    def sizes(self) -> list[str]:
        """Names of the lengths that the manifest says."""
        named = (size for _, shape in self.arrays.values() for size in shape if isinstance(size, str) and size != "classes")
        return list(dict.fromkeys(named))

    def sizes_of(self, arrays: Arrays) -> dict[str, int]:
        lengths = {size: n for name, (_, shape) in self.arrays.items() for size, n in zip(shape, arrays[name].shape, strict=True)}
        return {name: lengths[name] for name in self.sizes}

    def bytes_of(self, arrays: Arrays) -> Iterator[bytes]:
        return (np.ascontiguousarray(arrays[name], dtype=code).tobytes() for name, (code, _) in self.arrays.items())

    def read_arrays(self, manifest: Manifest, body: memoryview) -> dict[str, NDArray[Any]]:
        """The arrays, in the machine's byte order, if they fill the body exactly."""
        if not self.arrays:
            require(not len(body), "its models have another length")
            return {}
        sizes = manifest["sizes"]
        require(isinstance(sizes, dict) and sizes.keys() == set(self.sizes), "the sizes do not have the names they must have")
        known = {name: whole(sizes[name], 0, 2**31 - 1, f"the size {name}") for name in self.sizes}
        known["classes"] = len(manifest.get("classes", ()))
        shapes = {name: tuple(size if isinstance(size, int) else known[size] for size in shape) for name, (_, shape) in self.arrays.items()}
        types = {name: np.dtype(code) for name, (code, _) in self.arrays.items()}
        ends = list(accumulate((math.prod(shapes[name]) * types[name].itemsize for name in self.arrays), initial=0))
        require(ends[-1] == len(body), f"its arrays should take {ends[-1]} bytes, but there are {len(body)}")
        out = {}
        for name, (begin, end) in zip(self.arrays, pairwise(ends), strict=True):
            flat = np.frombuffer(body[begin:end], types[name]) if end > begin else np.empty(0, types[name])
            out[name] = flat.astype(types[name].newbyteorder("=")).reshape(shapes[name])
        return out


def read_parts(manifest: Manifest, body: memoryview) -> tuple[memoryview, list[bytes]]:
    """What stands before the files of other models, and these."""
    lengths = manifest["lengths"]
    require(isinstance(lengths, list) and len(lengths) <= MAX_PARTS, f"it is not made of up to {MAX_PARTS} models")
    total = sum(whole(length, 0, MAX_BYTES, "the length of a model") for length in lengths)
    require(total <= len(body), "its models have another length")
    start = len(body) - total
    return body[:start], [bytes(body[begin:end]) for begin, end in pairwise(accumulate(lengths, initial=start))]


@dataclass(frozen=True)
class Format:
    """How models of one kind are written and read.

    Attributes
    ----------
    takes : is a fitted model of this kind?
    write : facts of the manifest, and arrays
    read : the model, from the manifest, the arrays and the models it is made of; whatever is wrong with these is refused
    parts : the models it is made of, None where there is none
    worked_out : arrays that are not stored because they follow from others
    """

    layout: Layout
    takes: Callable[[Any], bool]
    write: Callable[[Any], tuple[dict[str, Any], dict[str, NDArray[Any]]]]
    read: Callable[[Manifest, Arrays, Sequence[Any]], Any]
    parts: Callable[[Any], Sequence[Any]] = lambda model: ()
    worked_out: Callable[[Any], list[NDArray[Any]]] = lambda model: []
