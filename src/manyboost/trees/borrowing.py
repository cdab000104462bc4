"""Arrays that a kernel borrows from its caller.

Numba counts the references to an array whenever it is taken from a tuple, sliced, or handed to a part, and each count is an atomic
operation. In trees of small nodes, of which each is little work, counting took more than half of the time. What a kernel is called with
outlives the call, so it need not be counted.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = (builder.extract_value(value, at) for at in range(len(kind)))
        return context.make_tuple(builder, kind, [_uncounted(context, builder, *one) for one in zip(kind, parts, strict=True)])
    return value


@intrinsic
def borrowed(typing: Any, given: Any) -> Any:
    """An array, or a tuple with all arrays in it, whose references nobody counts.

    It may be used only while the caller holds what it was made of, and never be returned.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _uncounted(context, builder, given, arguments[0])

    return given(given), generate
