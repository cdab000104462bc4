"""What a kernel borrows from its caller.

Numba counts the references to an array whenever it is taken from a tuple, sliced, or handed to a part, and each count is an atomic
operation. In trees of small nodes, of which each is little work, counting took more than half of the time. What a kernel is called with
outlives the call, so it need not be counted.

Numba hands on a tuple by handing on all that is in it, up to a dozen numbers for each array: some hundred for a tree that grows, at each
call of a part, whatever the part has use for. A quarter of what LLVM was given to read was that. So a part is told where a tuple is, and
reads what it asks for. What it asks for in a loop over rows it should ask for before the loop.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model


class Lent(types.Type):
    """A named tuple that is told by where it is."""

    def __init__(self, given: types.NamedTuple):
        self.given = given
        super().__init__(f"Lent({given})")


@register_model(Lent)
class _Address(models.OpaqueModel):
    pass


@infer_getattr
class _Fields(AttributeTemplate):
    key = Lent

    def generic_resolve(self, kind: Lent, name: str) -> Any:
        return kind.given[kind.given.fields.index(name)] if name in kind.given.fields else None


@lower_getattr_generic(Lent)
def _read(context: Any, builder: Any, kind: Lent, where: Any, name: str) -> Any:
    at = kind.given.fields.index(name)
    place = builder.bitcast(where, context.get_value_type(kind.given).as_pointer())
    value = builder.load(cgutils.gep_inbounds(builder, place, 0, at))
    # nobody writes there: what was read need not be read again
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return _uncounted(context, builder, kind.given[at], value)


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        for field in ("meminfo", "parent"):
            at = context.data_model_manager[kind].get_field_position(field)
            value = builder.insert_value(value, cgutils.get_null_value(value.type.elements[at]), at)
        return value
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


@intrinsic
def lent(typing: Any, given: Any) -> Any:
    """Named tuples, each told by where it is, for parts that are set apart: see :func:`set_apart`."""
    kinds = types.Tuple([Lent(one) for one in given])

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        addresses = []
        for at in range(len(given)):
            place = cgutils.alloca_once_value(builder, builder.extract_value(arguments[0], at))
            addresses.append(builder.bitcast(place, cgutils.voidptr_t))
        return context.make_tuple(builder, kinds, addresses)

    return kinds(given), generate


@intrinsic
def set_apart(typing: Any) -> Any:
    """Keep the part that says this out of the kernel that calls it, which may then write what the part, and all in it, take for fixed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate
