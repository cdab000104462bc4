"""Several columns of a row at once, in a vector register.

The compiler makes vectors of plain loops, but asks before each of them whether the arrays overlap, and where a row has few columns that
takes longer than the loop. So a kernel may hold columns of a row as one value, on which these functions work: a sum over rows then
stays in a register from the first row to the last. LLVM knows such values on every machine; what registers are too short for, it does in
pieces. Nothing here checks bounds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

FEW, MANY = 16, 64  # bins at once; no row of them is shorter than the first
FOUR, EIGHT = 4, 8  # numbers of 64 bits at once


class Lanes(types.Type):
    """The type of ``n`` whole numbers of so many bits, or of as many floats."""

    def __init__(self, element: ir.Type, n: int):
        self.vector = ir.VectorType(element, n)
        super().__init__(name=f"Lanes({element}, {n})")

    @property
    def n(self) -> int:
        return int(self.vector.count)


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes):
        super().__init__(manager, lanes, lanes.vector)


def _place(context: Any, builder: Any, array_type: Any, arguments: Any, vector: ir.VectorType) -> Any:
    array, row, column = arguments[:3]
    held = context.make_array(array_type)(context, builder, array)
    return builder.bitcast(cgutils.get_item_pointer(context, builder, array_type, held, [row, column]), vector.as_pointer())


def _spread(builder: Any, amount: Any, n: int) -> Any:
    vector, first = ir.VectorType(amount.type, n), ir.IntType(32)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), amount, first(0))
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(first, n), None))


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, row: Any, column: Any, n: Any) -> Any:
    """``array[row, column : column + n]``"""
    bits = array.dtype.bitwidth
    lanes = Lanes(ir.IntType(bits), n.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, array, arguments, lanes.vector), align=bits // 8)

    return lanes(array, types.uint64, types.uint64, n), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, column: Any, values: Any) -> Any:
    """``array[row, column : column + n] = values``"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[3], _place(context, builder, array, arguments, values.vector), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, values), generate


@intrinsic(prefer_literal=True)
def zeros(typing: Any, bits: Any, n: Any) -> Any:
    """``n`` whole numbers, all of them 0."""
    lanes = Lanes(ir.IntType(bits.literal_value), n.literal_value)
    return lanes(bits, n), lambda context, builder, signature, arguments: ir.Constant(lanes.vector, None)


@intrinsic(prefer_literal=True)
def spread(typing: Any, number: Any, n: Any) -> Any:
    """``n`` times one number, a float or a whole one of 64 bits."""
    number = types.float64 if isinstance(number, types.Float) else types.int64
    lanes = Lanes(ir.DoubleType() if number is types.float64 else ir.IntType(64), n.literal_value)
    return lanes(number, n), lambda context, builder, signature, arguments: _spread(builder, arguments[0], lanes.n)


@intrinsic
def as_floats(typing: Any, values: Any) -> Any:
    """Whole numbers as floats."""
    lanes = Lanes(ir.DoubleType(), values.n)
    return lanes(values), lambda context, builder, signature, arguments: builder.sitofp(arguments[0], lanes.vector)


@intrinsic
def nearest(typing: Any, values: Any) -> Any:
    """The nearest whole numbers, still as floats."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(values.vector, [values.vector])
        rint = cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{values.n}f64")
        return builder.call(rint, arguments)

    return values(values), generate


@intrinsic
def as_integers(typing: Any, values: Any) -> Any:
    """Whole floats as whole numbers of 64 bits."""
    lanes = Lanes(ir.IntType(64), values.n)
    return lanes(values), lambda context, builder, signature, arguments: builder.fptosi(arguments[0], lanes.vector)


@intrinsic
def as_long(typing: Any, values: Any) -> Any:
    """Whole numbers with 64 bits."""
    lanes = Lanes(ir.IntType(64), values.n)
    return (
        lanes(values),
        lambda context, builder, signature, arguments: (
            arguments[0] if values.vector == lanes.vector else builder.sext(arguments[0], lanes.vector)
        ),
    )


def _of_two(build: Callable[[Any, Any, Any], Any], document: str) -> Any:
    def function(typing: Any, first: Any, second: Any) -> Any:
        return first(first, second), lambda context, builder, signature, arguments: build(builder, *arguments)

    function.__doc__ = document
    return intrinsic(function)


least = _of_two(lambda builder, a, b: builder.select(builder.icmp_unsigned("<", a, b), a, b), "The smaller of each two.")
greatest = _of_two(lambda builder, a, b: builder.select(builder.icmp_unsigned(">", a, b), a, b), "The larger of each two.")


def _arithmetic(function: Callable[[Any, Any], Any], whole: str, broken: str) -> None:
    @intrinsic
    def of_two(typing: Any, first: Any, second: Any) -> Any:
        name = broken if first.vector.element == ir.DoubleType() else whole
        return first(first, second), lambda context, builder, signature, arguments: getattr(builder, name)(*arguments)

    @overload(function)
    def of_lanes(first, second):
        return (lambda first, second: of_two(first, second)) if isinstance(first, Lanes) and first == second else None


_arithmetic(operator.add, "add", "fadd")
_arithmetic(operator.sub, "sub", "fsub")
_arithmetic(operator.mul, "mul", "fmul")


@intrinsic
def plus_below(typing: Any, totals: Any, values: Any, thresholds: Any, amount: Any) -> Any:
    """The totals, with ``amount`` added where a value is at or below its threshold."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, values, threshold, amount = arguments
        amounts = _spread(builder, amount, totals.n)
        below = builder.icmp_unsigned("<=", values, threshold)
        return builder.add(total, builder.select(below, amounts, ir.Constant(amounts.type, None)))

    return totals(totals, values, thresholds, types.int32), generate
