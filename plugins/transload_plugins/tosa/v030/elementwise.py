"""Activation, elementwise, comparison and reduction operators of TOSA 0.30 (sections 2.4 to 2.9)."""

from __future__ import annotations

from typing import Any

from transload.ir import I8, I16, I32, TensorType
from transload.ir.declare import BOOLEAN, INT, attribute, constraint, operand, result

from ..dialect.base import BOUND, SameElements, bound_type, broadcast, rank, same, storage_of, typed_rows
from ..dialect.elementwise import Activation, Binary, Comparison, SameType, Select, Table, Unary
from ..dialect.reduction import Reduction
from .base import COMPARABLE, FLOATS, INTEGER_ROWS, TOSA030, lacks_zero_point, zero_point

_SHIFTED = same("input1 input2 output", INTEGER_ROWS)
_LOGICAL = same("input1 input2 output", "i1")
_ARITHMETIC = same("input1 input2 output", COMPARABLE)
_COMPARED = typed_rows("input1 input2 output", *(f"{t} {t} i1" for t in COMPARABLE.split()))
_COMMUTES = ("elementwise", "commutative")


def _declare(base: type, name: str, doc: str, datatypes: Any, **more: Any) -> None:
    """An op that has only the parts of `base`."""
    TOSA030.op(name)(type(name, (base,), {"__doc__": doc, "datatypes": datatypes, **more}))


@TOSA030.op("clamp")
class Clamp(SameElements):
    """`min(max(x, min_val), max_val)` of the stored numbers, no zero point subtracted; a NaN stays (2.4.1)."""

    input = operand("the tensor")
    output = result("of the same type")
    min_val = attribute(BOUND, "least value, with the type of the elements")
    max_val = attribute(BOUND, "greatest value, with the type of the elements")
    datatypes = same("input output", f"i8 i16 {FLOATS}")
    traits = ("elementwise",)

    @constraint
    def bounds(op) -> bool | str:
        """the bounds have the type of the elements, and min_val is not above max_val (ERROR_IF max_val < min_val)"""
        element = storage_of(op.input)
        for value in (op.min_val, op.max_val):
            if bound_type(value) != element:
                return f"a bound is {bound_type(value)}, the elements are {element}"
        return op.min_val <= op.max_val or f"{float(op.min_val)} and {float(op.max_val)}"

    def infer(op) -> TensorType:
        return op.input.tensor_type


_declare(Activation, "sigmoid", "`1 / (1 + exp(-x))` (2.4.2); for integers use `table`.", same("input output", FLOATS))
_declare(Activation, "tanh", "Hyperbolic tangent (2.4.3); for integers use `table`.", same("input output", FLOATS))

_declare(Binary, "add", "Sum (2.5.1).", _ARITHMETIC, traits=_COMMUTES)
_declare(Binary, "sub", "Difference (2.5.16).", _ARITHMETIC)
_declare(Binary, "bitwise_and", "And of the bits (2.5.3).", _SHIFTED, traits=_COMMUTES)
_declare(Binary, "bitwise_or", "Or of the bits (2.5.4).", _SHIFTED, traits=_COMMUTES)
_declare(Binary, "bitwise_xor", "Exclusive or of the bits (2.5.5).", _SHIFTED, traits=_COMMUTES)
_declare(Binary, "intdiv", "Quotient rounded toward zero; the divisor must not be 0, nor the quotient 2^31 (2.5.6).",
         same("input1 input2 output", "i32"))
_declare(Binary, "logical_and", "Both are true (2.5.7).", _LOGICAL, traits=_COMMUTES)
_declare(Binary, "logical_left_shift", "`x << n` for n from 0 to 31 (2.5.8).", _SHIFTED)
_declare(Binary, "logical_right_shift", "`x >> n` of the unsigned number, zeros shifted in (2.5.9).", _SHIFTED)
_declare(Binary, "logical_or", "One or both are true (2.5.10).", _LOGICAL, traits=_COMMUTES)
_declare(Binary, "logical_xor", "Exactly one is true (2.5.11).", _LOGICAL, traits=_COMMUTES)
_declare(Binary, "maximum", "The greater one; a NaN wins (2.5.12).", _ARITHMETIC, traits=_COMMUTES)
_declare(Binary, "minimum", "The lesser one; a NaN wins (2.5.13).", _ARITHMETIC, traits=_COMMUTES)
_declare(Binary, "pow", "`input1 ** input2` (2.5.15).", same("input1 input2 output", FLOATS), ranks=(0, 4))


@TOSA030.op("arithmetic_right_shift")
class ArithmeticRightShift(Binary):
    """`x >> n`, the sign kept; with `round`, half is added first (2.5.2)."""

    round = attribute(BOOLEAN, "whether to round to nearest, ties up")
    datatypes = _SHIFTED


@TOSA030.op("mul")
class Mul(Binary):
    """Product (2.5.14); i8 and i16 give i32; of i32 the 64-bit product is shifted right by `shift`, rounded to nearest."""

    shift = attribute(INT, "bits to shift the product of i32 by, 0 to 63", default=0)
    datatypes = typed_rows(
        "input1 input2 output", "i8 i8 i32", "i16 i16 i32", "i32 i32 i32", *(f"{t} {t} {t}" for t in FLOATS.split()))
    traits = _COMMUTES

    @constraint
    def shift_fits(op) -> bool | str:
        """the shift is from 0 to 63, and 0 for other types than i32 (ERROR_IF in_t != int32_t && shift > 0)"""
        return op.shift == 0 or (0 < op.shift < 64 and storage_of(op.input1) == I32) or f"{op.shift} for {storage_of(op.input1)}"

    def infer(op) -> TensorType:
        element = I32 if storage_of(op.input1) in (I8, I16) else op.input1.element
        return TensorType(broadcast(op, op.input1, op.input2), element)


@TOSA030.op("table")
class Table030(Table):
    """Look-up (2.5.17): of i8 one of 256 numbers; of i16 one of 513, interpolated with 7 bits to an i32 of 23 bits."""

    table = operand("256 numbers of i8 for i8, 513 of i16 for i16", rank(1))
    constants = ("table",)


_declare(Unary, "abs", "Absolute value (2.6.1).", same("input1 output", COMPARABLE))
_declare(Unary, "bitwise_not", "All bits turned (2.6.2).", same("input1 output", INTEGER_ROWS))
_declare(Unary, "ceil", "The next integer not below (2.6.3).", same("input1 output", FLOATS))
_declare(Unary, "clz", "How many leading bits are zero (2.6.4).", same("input1 output", "i32"))
_declare(Unary, "exp", "e to the power (2.6.5).", same("input1 output", FLOATS))
_declare(Unary, "floor", "The next integer not above (2.6.6).", same("input1 output", FLOATS))
_declare(Unary, "log", "Natural logarithm (2.6.7).", same("input1 output", FLOATS))
_declare(Unary, "logical_not", "True becomes false (2.6.8).", same("input1 output", "i1"))
_declare(Unary, "reciprocal", "`1 / x` (2.6.10).", same("input1 output", FLOATS))
_declare(Unary, "rsqrt", "`1 / sqrt(x)` (2.6.11).", same("input1 output", FLOATS))


@TOSA030.op("negate")
class Negate(SameType):
    """`output_zp - (x - input1_zp)`, saturated (2.6.9)."""

    input1 = operand("the tensor")
    output = result("of the same type")
    input1_zp = zero_point("the input")
    output_zp = zero_point("the result")
    datatypes = same("input1 output", f"{INTEGER_ROWS} {FLOATS}")

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8 (ERROR_IF in_out_t != int8_t && zp != 0)"""
        return lacks_zero_point(op, ("input1", "input1_zp"), ("output", "output_zp"))


@TOSA030.op("select")
class Select030(Select):
    """`input2` where `input1` is true, else `input3`; all broadcast (2.7.1)."""

    datatypes = typed_rows("input1 input2 input3 output", *(f"i1 {t} {t} {t}" for t in f"i1 {INTEGER_ROWS} {FLOATS}".split()))


_declare(Comparison, "equal", "They are equal; false where one is a NaN (2.8.1).", _COMPARED, traits=_COMMUTES)
_declare(Comparison, "greater", "The first one is greater; false where one is a NaN (2.8.2).", _COMPARED)
_declare(Comparison, "greater_equal", "The first one is not less; false where one is a NaN (2.8.3).", _COMPARED)

for _name, _doc, _types in (
    ("reduce_all", "Whether all are true (2.9.1).", "i1"), ("reduce_any", "Whether one is true (2.9.2).", "i1"),
    ("reduce_max", "The greatest; a NaN wins (2.9.3).", f"{INTEGER_ROWS} {FLOATS}"),
    ("reduce_min", "The least; a NaN wins (2.9.4).", f"{INTEGER_ROWS} {FLOATS}"),
    ("reduce_product", "The product (2.9.5).", FLOATS), ("reduce_sum", "The sum (2.9.6).", f"i32 {FLOATS}"),
):
    _declare(Reduction, _name, _doc, same("input output", _types), ranks=(1, 4))
