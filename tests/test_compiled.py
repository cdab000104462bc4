"""The cache of kernels: used while the sources are the same, passed over where they were others. Parts of kernels."""

import gc
import importlib.util
import pickle
import sys

import numba
import numpy as np
import pytest
from numba import types
from numba.core.runtime import _nrt_python as _nrt
from numba.core.runtime import rtsys

SOURCE = """
from manyboost.compiled import compiled

@compiled
def doubled(x):
    return 2 * x
"""


def _kernel(path):
    """A kernel as a new process would have it."""
    spec = importlib.util.spec_from_file_location("some_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


def test_a_kernel_is_compiled_once(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text(SOURCE)
    first = _kernel(path)
    assert first(21) == 42
    assert sum(first.stats.cache_misses.values()) == 1
    second = _kernel(path)
    assert second(21) == 42
    assert sum(second.stats.cache_hits.values()) == 1


def test_an_index_of_other_sources_is_not_read(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text(SOURCE)
    assert _kernel(path)(21) == 42
    (index,) = tmp_path.rglob("*.nbi")
    # numba's own version in front, and behind it a class that is no longer where it was
    index.write_bytes(pickle.dumps(numba.__version__) + b"cmanyboost.trees.nodes\nMovedElsewhere\n.")
    kernel = _kernel(path)
    assert kernel(21) == 42
    assert sum(kernel.stats.cache_misses.values()) == 1


PARTS = """
from manyboost.compiled import compiled, compiled_part

@compiled_part
def one_more(x):
    return x + 1

@compiled_part
def twice_that(x):
    return 2 * one_more(x)

@compiled
def both(x):
    return twice_that(x) + one_more(x)
"""


def test_parts_are_translated_in_what_contains_them_alone(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text(PARTS)
    spec = importlib.util.spec_from_file_location("some_kernels", path)
    for turn in range(2):  # compiled, then read from the cache
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.both(20) == 63
        assert module.both(0.5) == 4.5
        assert sum(module.both.stats.cache_hits.values()) == (0, 2)[turn]
    for part in (module.one_more, module.twice_that):
        numba.njit(lambda x, part=part: part(x))(1)  # as the kernel came from the cache, they are not compiled yet
        (made,) = part.overloads.values()
        name = made.fndesc.llvm_func_name
        assert not made.library.get_function(name).is_declaration
        assert not made.library.codegen._engine.is_symbol_defined(name)


ARRAYS = """
import numpy as np
from manyboost.compiled import compiled, compiled_part

@compiled_part
def total(numbers):
    rest, sum = numbers, 0.0
    while rest.size:
        sum += rest[0]
        rest = rest[1:]
    return sum

@compiled_part
def behind(numbers):
    return numbers[1:]

@compiled_part
def copied(numbers):
    out = np.empty(numbers.size)
    for i in range(out.size):
        out[i] = numbers[i]
    return total(out)

@compiled
def totals(numbers):
    made = np.arange(numbers.size) * numbers
    rest = behind(made)
    return total(numbers) + total(rest) + copied(behind(rest)) + total(made)
"""


def test_parts_count_references_only_where_they_make_or_return_arrays(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text(ARRAYS)
    spec = importlib.util.spec_from_file_location("some_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    numbers = np.linspace(0.0, 1.0, 9)
    made = np.arange(9) * numbers
    expected = numbers.sum() + 2 * made.sum() + made[2:].sum()
    assert module.totals(numbers) == pytest.approx(expected)
    _nrt.memsys_enable_stats()
    try:
        before, allocated = sys.getrefcount(numbers), rtsys.get_allocation_stats()
        for _ in range(50):
            assert module.totals(numbers) == pytest.approx(expected)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt.memsys_disable_stats()
    assert sys.getrefcount(numbers) == before
    assert after.mi_alloc - allocated.mi_alloc == after.mi_free - allocated.mi_free >= 50
    counting = {part: any("NRT" in made.library.get_llvm_str() for made in getattr(module, part).overloads.values())
                for part in ("total", "behind", "copied")}  # fmt: skip
    assert counting == {"total": False, "behind": True, "copied": True}


def test_compiling_leaves_the_garbage_collector_as_it_was(tmp_path):
    path = tmp_path / "some_kernels.py"
    before = gc.get_threshold()
    try:
        for threshold in ((123, 4, 5), (0, 4, 5), (10**6, 4, 5)):
            path.write_text(SOURCE + f"\n# {threshold}\n")
            gc.set_threshold(*threshold)
            assert _kernel(path)(21) == 42
            assert gc.get_threshold() == threshold
    finally:
        gc.set_threshold(*before)


def test_compiling_leaves_numba_as_it_was(tmp_path):
    ask = types.BaseFunction.get_call_type
    path = tmp_path / "some_kernels.py"
    path.write_text(SOURCE)
    kernel = _kernel(path)
    with pytest.raises(numba.TypingError):
        kernel(None)
    assert types.BaseFunction.get_call_type is ask
    assert kernel(21) == 42
    assert types.BaseFunction.get_call_type is ask


MIXED = """
from manyboost.compiled import compiled, compiled_part

@compiled_part
def part(x, y):
    return x + y, x * 2, 2 * y, x // 2, max(x, y) / 2, x - y

@compiled
def doubled(x, y):
    return part(x, y), (x + y, x * 2, 2 * y, x // 2, max(x, y) / 2, x - y)
"""


def test_remembered_calls_are_of_the_same_types(tmp_path):
    path = tmp_path / "mixed_kernels.py"
    path.write_text(MIXED)
    mixed = _kernel(path)
    for given in ((7, 2.5), (7.0, 2), (np.int8(7), np.uint16(2)), (True, 2), (7, 2)):
        x, y = given
        expected = tuple(float(one) for one in (x + y, x * 2, 2 * y, x // 2, max(x, y) / 2, x - y))
        of_part, own = mixed(*given)
        assert of_part == own == expected
        assert [type(one) for one in of_part] == [type(one) for one in own]
    assert type(mixed(7, 2)[0][0]) is int
    assert type(mixed(7.0, 2)[0][0]) is float
