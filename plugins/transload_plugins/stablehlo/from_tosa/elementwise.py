"""Activations, elementwise operators, comparisons, selection and tables (2.4 to 2.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I32, I64, Op, Type, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.tables import distinct

from .. import build
from ..functions import erf as error_function
from .common import is_zero, number, range_of, static, wide_float, widen

if TYPE_CHECKING:
    from ...tosa.dialect.elementwise import (
        Abs,
        ArithmeticRightShift,
        Clamp,
        Equal,
        Erf,
        Greater,
        GreaterEqual,
        Maximum,
        Minimum,
        Mul,
        Negate,
        Reciprocal,
        Select,
        Table,
    )

__all__ = ["TABLE"]

TABLE = RewriteTable()

BINARY = {
    "tosa.add": "add", "tosa.sub": "subtract", "tosa.bitwise_and": "and", "tosa.bitwise_or": "or", "tosa.bitwise_xor": "xor",
    "tosa.logical_and": "and", "tosa.logical_or": "or", "tosa.logical_xor": "xor", "tosa.pow": "power",
    "tosa.intdiv": "divide", "tosa.logical_left_shift": "shift_left", "tosa.logical_right_shift": "shift_right_logical",
}
UNARY = {
    "tosa.bitwise_not": "not", "tosa.logical_not": "not", "tosa.clz": "count_leading_zeros", "tosa.ceil": "ceil",
    "tosa.floor": "floor", "tosa.exp": "exponential", "tosa.log": "log", "tosa.rsqrt": "rsqrt", "tosa.sin": "sine",
    "tosa.cos": "cosine", "tosa.tanh": "tanh", "tosa.sigmoid": "logistic",
}
COMPARISONS = {"tosa.equal": "EQ", "tosa.greater": "GT", "tosa.greater_equal": "GE"}


@TABLE(*BINARY)
def binary(op: Op, rw: Rewriter) -> Value:
    """The operator of the same meaning; the division of integers rounds toward zero in both."""
    return build.binary(rw, BINARY[op.name], op.operands[0], op.operands[1])


@TABLE(*UNARY)
def unary(op: Op, rw: Rewriter) -> Value:
    """The operator of the same meaning."""
    return build.unary(rw, UNARY[op.name], op.operands[0])


@TABLE(*COMPARISONS)
def comparison(op: Equal | Greater | GreaterEqual, rw: Rewriter) -> Value:
    """A comparison."""
    return build.compare(rw, COMPARISONS[op.name], op.input1, op.input2)


@TABLE("tosa.select")
def select(op: Select, rw: Rewriter) -> Value:
    """One of two, by a condition."""
    return build.select(rw, op.input1, op.input2, op.input3)


@TABLE("tosa.erf")
def erf(op: Erf, rw: Rewriter) -> Value:
    """The error function, which StableHLO does not have, in polynomials; of narrow floats in f32."""
    return build.convert(rw, error_function(rw, wide_float(rw, op.input)), op.output.element)


@TABLE("tosa.reciprocal")
def reciprocal(op: Reciprocal, rw: Rewriter) -> Value:
    """`1 / x`."""
    return build.binary(rw, "divide", 1, op.input1)


@TABLE("tosa.clamp")
def clamp(op: Clamp, rw: Rewriter) -> Value:
    """Between two numbers; a NaN stays, or with `nan_mode` IGNORE becomes the least."""
    x = op.input
    low, high = (float(bound) if x.is_float else int(bound) for bound in (op.min_val, op.max_val))
    made = build.clamp(rw, x, low, high)
    if x.is_float and op.nan_mode == "IGNORE":
        made = build.select(rw, build.compare(rw, "NE", x, x), low, made)
    return made


@TABLE("tosa.maximum", "tosa.minimum")
def extremum(op: Maximum | Minimum, rw: Rewriter) -> Value:
    """The greater or lesser; a NaN wins, or with `nan_mode` IGNORE loses."""
    a, b = build.together(rw, op.input1, op.input2)
    made = build.binary(rw, op.name.partition(".")[2], a, b)
    if a.is_float and op.nan_mode == "IGNORE":
        made = build.select(rw, build.compare(rw, "NE", a, a), b, made)
        made = build.select(rw, build.compare(rw, "NE", b, b), a, made)
    return made


@TABLE("tosa.abs")
def absolute(op: Abs, rw: Rewriter) -> Value:
    """Absolute value; of the least integer, the greatest."""
    x = op.input1
    if not x.is_float:
        x = build.binary(rw, "maximum", x, range_of(x.element)[0] + 1)
    return build.unary(rw, "abs", x)


@TABLE("tosa.negate")
def negate(op: Negate, rw: Rewriter) -> Value:
    """`output_zp - (x - input_zp)`, saturated."""
    x: Value = op.input1
    if x.is_float:
        return build.unary(rw, "negate", x)
    element: Any = x.element
    low, high = element.range
    if is_zero(op.input1_zp) and is_zero(op.output_zp):
        return build.unary(rw, "negate", build.binary(rw, "maximum", x, low + 1))
    wide: Type = I32 if element.width < 32 else I64
    points = [build.reshape(rw, build.convert(rw, point, wide), ()) for point in (op.input1_zp, op.output_zp)]
    made = build.binary(rw, "subtract", build.binary(rw, "add", *points), build.convert(rw, x, wide))
    return build.convert(rw, build.clamp(rw, made, low, high), element)


@TABLE("tosa.arithmetic_right_shift")
def arithmetic_right_shift(op: ArithmeticRightShift, rw: Rewriter) -> Value:
    """`a >> b`, plus the last bit shifted out where it rounds."""
    a, b = op.input1, op.input2
    made = build.binary(rw, "shift_right_arithmetic", a, b)
    if not op.round:
        return made
    held = constant_of(b)
    least = int(distinct(held.numpy()).min(initial=0)) if held is not None and held.numpy().size else 0
    before = build.binary(rw, "subtract", b if least > 0 else build.binary(rw, "maximum", b, 1), 1)
    last = build.binary(rw, "and", build.binary(rw, "shift_right_arithmetic", a, before), 1)
    if least <= 0:
        last = build.select(rw, build.compare(rw, "GT", b, 0), last, 0)
    return build.binary(rw, "add", made, last)


@TABLE("tosa.mul")
def multiply(op: Mul, rw: Rewriter) -> Value:
    """The product: of i8 and i16 in i32; of i32 with a shift in i64, rounded to nearest."""
    element = op.output.element
    bits = number(op.shift)
    if bits is not None and not 0 <= bits <= 63:
        raise Unsupported(f"shifts are from 0 to 63, and there is {bits}")
    if op.input1.is_float or bits == 0 or op.input1.element != I32:
        return build.binary(rw, "multiply", widen(rw, op.input1, element), widen(rw, op.input2, element))
    product = build.binary(rw, "multiply", widen(rw, op.input1, I64), widen(rw, op.input2, I64))
    if bits is not None:
        product = build.binary(rw, "add", product, 1 << (bits - 1))
        return build.convert(rw, build.binary(rw, "shift_right_arithmetic", product, bits), I32)
    shift = build.convert(rw, build.reshape(rw, op.shift, ()), I64)
    half = build.binary(rw, "shift_left", build.scalar(rw, 1, I64), build.binary(rw, "maximum", shift, 1))
    half = build.binary(rw, "shift_right_arithmetic", half, 1)  # 2^(shift - 1), and 1 for a shift of 0, which is set apart
    rounded = build.binary(rw, "shift_right_arithmetic", build.binary(rw, "add", product, half), shift)
    return build.convert(rw, build.select(rw, build.compare(rw, "GT", shift, 0), rounded, product), I32)


@TABLE("tosa.table")
def table(op: Table, rw: Rewriter) -> Value:
    """Of i8 the entry at `x + 128`; of i16 between the entries around `x / 128`, by 7 bits of fraction (1.9.5)."""
    if op.input1.element == I8:
        return looked_up(rw, op.table, build.binary(rw, "add", build.convert(rw, op.input1, I32), 128))
    x = build.convert(rw, op.input1, I32)
    place = build.binary(rw, "shift_right_arithmetic", build.binary(rw, "add", x, 1 << 15), 7)
    fraction = build.binary(rw, "and", x, 127)
    entries = build.convert(rw, op.table, I32)
    low = build.cut(rw, entries, 0, 0, 512)
    step = build.binary(rw, "subtract", build.cut(rw, entries, 0, 1, 512), low)
    base = build.binary(rw, "shift_left", looked_up(rw, low, place), 7)
    return build.binary(rw, "add", base, build.binary(rw, "multiply", looked_up(rw, step, place), fraction))


def looked_up(rw: Rewriter, entries: Value, places: Value) -> Value:
    """The entries of a vector at places of any shape."""
    shape = static(places)
    if not int(np.prod(shape)):
        return build.filled(rw, shape, entries.element)
    indices = build.reshape(rw, places, (*shape, 1))
    return build.gather(rw, entries, indices, (1,), (), (0,), (0,))
