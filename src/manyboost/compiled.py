"""How kernels are compiled: without the GIL, cached on disk where a disk can be written.

Numba refuses ``cache=True`` at import time when neither the package folder nor the user's cache folder is writable. Such an
installation must still work, so the kernel is then compiled anew in each process.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
# No fast-math: a sum has one value whatever the block it is computed in. No C wrappers: nobody calls kernels from C.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile ``function`` lazily, to be called from Python."""
    try:
        return cast(Function, numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no place to keep the cache
        return cast(Function, numba.njit(**_OPTIONS)(function))


def compiled_part(function: Function) -> Function:
    """Compile a part of other kernels, which only they call: it needs no way in from Python and is cached with them."""
    return cast(Function, numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function))
