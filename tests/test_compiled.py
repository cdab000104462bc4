"""The cache of kernels: used while the sources are the same, passed over where they were others."""

import importlib.util
import pickle

import numba

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
