"""Activation, elementwise, comparison and reduction operators of TOSA 0.30 (sections 2.4 to 2.9): how they differ from 1.0."""

from __future__ import annotations

from transload.ir.declare import INT

from ..dialect import elementwise
from .base import instead, older, unchanged, zero_point

_AS_IN_1_0 = """
    sigmoid tanh add sub arithmetic_right_shift bitwise_and bitwise_or bitwise_xor intdiv logical_and logical_left_shift
    logical_right_shift logical_or logical_xor bitwise_not ceil clz exp floor log logical_not reciprocal rsqrt select equal
    greater greater_equal
"""
for _name in _AS_IN_1_0.split():
    unchanged(_name)

unchanged("clamp", "`min(max(x, min_val), max_val)` of the stored numbers, no zero point subtracted; a NaN stays (2.4.1).")
unchanged("maximum", "The greater one; a NaN wins (2.5.12).")
unchanged("minimum", "The lesser one; a NaN wins (2.5.13).")
unchanged("pow", ranks=(0, 4))
unchanged(
    "table", "Look-up (2.5.17): of i8 one of 256 numbers; of i16 one of 513, interpolated with 7 bits to an i32 of 23 bits.",
    constants=("table",))
unchanged("abs", "Absolute value (2.6.1).")
unchanged("reduce_all", ranks=(1, 4))
unchanged("reduce_any", ranks=(1, 4))
unchanged("reduce_max", "The greatest; a NaN wins (2.9.3).", ranks=(1, 4))
unchanged("reduce_min", "The least; a NaN wins (2.9.4).", ranks=(1, 4))
unchanged("reduce_product", ranks=(1, 4))
unchanged("reduce_sum", ranks=(1, 4))


@older("mul")
class Mul(elementwise.Mul):
    """Product (2.5.14); i8 and i16 give i32; of i32 the 64-bit product is shifted right by `shift`, rounded to nearest."""

    shift = instead(INT, "bits to shift the product of i32 by, 0 to 63", default=0)


@older("negate")
class Negate(elementwise.Negate):
    """`output_zp - (x - input1_zp)`, saturated (2.6.9)."""

    input1_zp = zero_point("the input")
    output_zp = zero_point("the result")
