"""How kernels are compiled: without the GIL, cached on disk where a disk can be written.

Numba refuses ``cache=True`` at import time when neither the package folder nor the user's cache folder is writable. Such an
installation must still work, so the kernel is then compiled anew in each process.

Numba takes a cached kernel for fresh as long as the file it stands in is unchanged, although the kernel contains parts from other
files. After an upgrade it could so run old code. Here the cache of every kernel is stamped with the sources of all of its family, and so
is the version in front of its index: an index of other sources may name classes that have moved, and must not be read at all.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from manyboost.kernel_compilers import KernelCompiler, PartCompiler

Kernel = Callable[..., Any]  # numba infers the types from the call, so there is nothing to check
# No fast-math: a sum has one value whatever the block it is computed in. No C wrappers: nobody calls kernels from C.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _digest_of_sources(*patterns: str) -> str:
    here = Path(__file__).parent
    sources = (path.read_bytes() for pattern in ("compiled.py", *patterns) for path in sorted(here.glob(pattern)))
    return hashlib.sha256(b"".join(text for text in sources if b"@compiled" in text or b"@intrinsic" in text)).hexdigest()


_OF_TREES = ("waiting.py", "rows.py", "decisions.py", "lasting_weights.py", "trees/*.py")
_SOURCES = _digest_of_sources(*_OF_TREES)
_SOURCES_OF_FAMILY = {
    "manyboost.learners": _digest_of_sources(*_OF_TREES, "learners/*.py"),
    "manyboost.maths": _digest_of_sources(*_OF_TREES, "maths/*.py"),
    "manyboost.svm": _digest_of_sources("svm/*.py"),  # which share no part with those of trees
}


def compiled(function: Kernel) -> Kernel:
    """Compile ``function`` lazily, to be called from Python."""
    try:
        kernel: Any = numba.njit(cache=True, pipeline_class=KernelCompiler, **_OPTIONS)(function)
        sources = _SOURCES_OF_FAMILY.get(function.__module__.rpartition(".")[0], _SOURCES)
        kernel._cache._cache_file._source_stamp = sources
        kernel._cache._cache_file._version += f" {sources}"
    except (RuntimeError, AttributeError, OSError):  # no place to keep the cache, or no way to stamp it
        kernel = numba.njit(pipeline_class=KernelCompiler, **_OPTIONS)(function)
    return kernel  # type: ignore[no-any-return]


def compiled_part(function: Kernel) -> Kernel:
    """Compile a part of other kernels, which only they call: it needs no way in from Python and is cached with them."""
    part: Kernel = numba.njit(no_cpython_wrapper=True, pipeline_class=PartCompiler, **_OPTIONS)(function)
    return part
