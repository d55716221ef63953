"""Arithmetic, comparison and logic, element by element: mostly operators of the same name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F32, F64, I32, I64, UI64, FloatType, IntegerType, Op, Type, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.algebra.powers import whole_power

from .common import broadcast, cast, clipped, constant, emit, finish, quotient, scalar
from .functions_of_f64 import OF_F64, arctangent, has_minus

if TYPE_CHECKING:
    from transload_hub.ops.base import Unary
    from transload_hub.ops.elementwise import (
        Add,
        AddConst,
        Binary,
        Bitwise,
        Compare,
        Div,
        Logical,
        MulConst,
        Pow,
        Scale,
        UnaryNumber,
        Variadic,
        Where,
    )

__all__ = ["TABLE", "same_name"]

TABLE = RewriteTable()

SAME_NAME = (
    "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Tan", "Asin", "Acos",
    "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf")
"""Functions of one operand that ONNX calls the same."""


@TABLE(*(f"top.{name}" for name in SAME_NAME))
def same_name(op: Unary, rw: Rewriter) -> Value:
    """The operator of the same name; of integers, which Floor, Ceil and Round leave alone, nothing."""
    name = op.name.partition(".")[2]
    if isinstance(op.input.element, IntegerType) and name in ("Floor", "Ceil", "Round"):
        return op.input
    if op.input.element == F64 and name in OF_F64:
        return OF_F64[name](rw, op.input)
    return emit(rw, name, op.input)


@TABLE("top.Square")
def square(op: UnaryNumber, rw: Rewriter) -> Value:
    return emit(rw, "Mul", op.input, op.input)


@TABLE("top.Rsqrt")
def rsqrt(op: Unary, rw: Rewriter) -> Value:
    return emit(rw, "Reciprocal", emit(rw, "Sqrt", op.input))


@TABLE("top.Log1p")
def log1p(op: Unary, rw: Rewriter) -> Value:
    """`log(1 + x)`, near 0, where ONNX has no operator that is exact, as `log(u) * (x / (u - 1))` with `u = 1 + x` rounded: the
    error of u cancels. Floats narrower than f32 are computed in that."""
    element = op.input.element
    x = op.input if element == F64 else cast(rw, op.input, F32)
    one = scalar(rw, 1, x.element)
    u = broadcast(rw, "Add", x, one)
    log, step = emit(rw, "Log", u), broadcast(rw, "Sub", u, one)
    near = emit(rw, "Mul", log, emit(rw, "Div", x, step))
    is_nothing = broadcast(rw, "Equal", step, scalar(rw, 0, x.element), element=BOOL)
    near = broadcast(rw, "Where", is_nothing, x, near, element=x.element)
    is_near = broadcast(rw, "Less", emit(rw, "Abs", x), scalar(rw, 0.5, x.element), element=BOOL)
    return cast(rw, broadcast(rw, "Where", is_near, near, log, element=x.element), element)


# --- arithmetic of several operands


def _joined(rw: Rewriter, name: str, values: Sequence[Value]) -> Value:
    element = values[0].element
    return reduce(lambda a, b: broadcast(rw, name, a, b), [cast(rw, value, element) for value in values])


def _wrapped(rw: Rewriter, number: float, element: Type) -> Value:
    """A constant number; one below 0 beside unsigned integers is what wraps round to."""
    wide = np.asarray(number) if isinstance(element, FloatType) else np.asarray(int(number))
    return constant(rw, wide.astype(dtype_of(element)), element)


def _times(rw: Rewriter, x: Value, factor: float) -> Value:
    if x.is_integer and not factor.is_integer():
        raise Unsupported(f"ONNX multiplies integers by integers, and not by {factor:g}", "cast to f32 before, and back behind")
    return emit(rw, "Mul", x, _wrapped(rw, factor, x.element))


@TABLE("top.Add")
def add(op: Add, rw: Rewriter) -> Value:
    """The sum, each operand times its coefficient."""
    terms = list(op.inputs)
    if op.coeff is not None:
        terms = [
            x if factor == 1.0 else _times(rw, x, factor)
            for x, factor in zip(terms, op.coeff, strict=True)]
    return finish(rw, op, _joined(rw, "Add", terms))


@TABLE("top.Sub", "top.Mul")
def several(op: Variadic, rw: Rewriter) -> Value:
    return finish(rw, op, _joined(rw, op.name.partition(".")[2], op.inputs))


@TABLE("top.Div")
def divide(op: Div, rw: Rewriter) -> Value:
    a, b = op.inputs
    return finish(rw, op, quotient(rw, a, cast(rw, b, a.element)))


@TABLE("top.Max", "top.Min")
def extreme(op: Variadic, rw: Rewriter) -> Value:
    """Max and Min; integers of 16 bits, for which runtimes lack them, as i32."""
    element = op.inputs[0].element
    narrow = isinstance(element, IntegerType) and element.width == 16
    values = [cast(rw, value, I32) for value in op.inputs] if narrow else op.inputs
    return finish(rw, op, _joined(rw, op.name.partition(".")[2], values))


@TABLE("top.AddConst")
def add_const(op: AddConst, rw: Rewriter) -> Value:
    return finish(rw, op, emit(rw, "Add", op.input, _wrapped(rw, op.const_val, op.input.element)))


@TABLE("top.MulConst")
def mul_const(op: MulConst, rw: Rewriter) -> Value:
    return finish(rw, op, _times(rw, op.input, op.const_val))


@TABLE("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value:
    return finish(rw, op, broadcast(rw, "Add", broadcast(rw, "Mul", op.input, op.scale), op.bias))


@TABLE("top.Pow")
def power(op: Pow, rw: Rewriter) -> Value:
    """Pow; of integers by integers products, which wrap round: onnxruntime's Pow goes by way of f64, and loses digits."""
    if op.base.is_integer and op.exponent.is_integer:
        return whole_power(rw, op.base, op.exponent)
    return broadcast(rw, "Pow", op.base, op.exponent)


@TABLE("top.Atan2")
def atan2(op: Binary, rw: Rewriter) -> Value:
    """The angle whose tangent is the quotient; where x is negative, pi less that; on the side of y (IEEE 754-2019, 9.2.1).

    Zeros have signs, which their reciprocals tell. 0 by 0 counts as 0, and infinity by infinity as 1.
    """
    y, x = (cast(rw, value, F32) if value.element not in (F32, F64) else value for value in (op.a, op.b))
    size = [emit(rw, "Abs", value) for value in (y, x)]
    alike = broadcast(rw, "Equal", *size, element=BOOL)  # 0/0 and inf/inf among them
    sides = [has_minus(rw, value) for value in (y, x)]
    quotient = broadcast(rw, "Where", alike, scalar(rw, 1, y.element), broadcast(rw, "Div", *size), element=y.element)
    quotient = broadcast(rw, "Where", broadcast(rw, "Equal", size[0], scalar(rw, 0, y.element), element=BOOL),
                         scalar(rw, 0, y.element), quotient, element=y.element)
    angle = arctangent(rw, quotient) if y.element == F64 else emit(rw, "Atan", quotient)  # in the first quadrant
    turned = emit(rw, "Sub", scalar(rw, math.pi, y.element), angle, like=angle)
    angle = broadcast(rw, "Where", sides[1], turned, angle, element=y.element)
    missing = broadcast(rw, "Or", *(emit(rw, "IsNaN", value, element=BOOL) for value in (y, x)))
    one, less, none = (scalar(rw, number, y.element) for number in (1, -1, math.nan))
    sign = broadcast(rw, "Where", sides[0], less, one, element=y.element)
    sign = broadcast(rw, "Where", missing, none, sign, element=y.element)
    return finish(rw, op, broadcast(rw, "Mul", angle, sign))  # -0 keeps its sign, which onnxruntime's Where takes


@TABLE("top.FloorDiv")
def floor_div(op: Binary, rw: Rewriter) -> Value:
    """The floor of the quotient; of integers the quotient that ONNX cuts off, less 1 where its two remainders differ.

    These are one with a's sign and one with b's. What one takes from a first, to divide the rest, may be more than the type
    holds. Integers of 8 and 16 bits, which runtimes do not compare, are divided as i32.
    """
    element = op.a.element
    if isinstance(element, FloatType):
        return emit(rw, "Floor", broadcast(rw, "Div", op.a, op.b))
    if isinstance(element, IntegerType) and element.unsigned:
        return broadcast(rw, "Div", op.a, op.b)
    narrow = isinstance(element, IntegerType) and element.width < 32
    a, b = (cast(rw, value, I32) if narrow else value for value in op.operands)
    trunc = quotient(rw, a, b)
    cut, floored = broadcast(rw, "Sub", a, broadcast(rw, "Mul", trunc, b)), broadcast(rw, "Mod", a, b)
    whole = emit(rw, "Equal", cut, floored, element=BOOL)
    floor = emit(rw, "Sub", trunc, cast(rw, emit(rw, "Not", whole), trunc.element))
    return cast(rw, floor, element)


@TABLE("top.FloorMod")
def floor_mod(op: Binary, rw: Rewriter) -> Value:
    """Mod, which ONNX has with b's sign of integers alone."""
    if not isinstance(op.a.element, FloatType):
        return broadcast(rw, "Mod", op.a, op.b)
    rest = emit(rw, "Mod", op.a, op.b, like=op.result, fmod=1)  # with a's sign, and exact
    zero = scalar(rw, 0.0, rest.element)
    signs = [emit(rw, "Less", value, zero, element=BOOL) for value in (rest, op.b)]
    other = broadcast(rw, "And", emit(rw, "Not", emit(rw, "Equal", rest, zero, element=BOOL)), broadcast(rw, "Xor", *signs))
    return emit(rw, "Where", other, broadcast(rw, "Add", rest, op.b), rest, like=op.result)


@TABLE("top.TruncMod")
def trunc_mod(op: Binary, rw: Rewriter) -> Value:
    return emit(rw, "Mod", op.a, op.b, like=op.result, fmod=1)


@TABLE("top.SquaredDifference")
def squared_difference(op: Binary, rw: Rewriter) -> Value:
    difference = broadcast(rw, "Sub", op.a, op.b)
    return emit(rw, "Mul", difference, difference)


# --- comparison, logic, bits, choice

COMPARISONS = {"Equal": "Equal", "NotEqual": "Equal", "Greater": "Greater", "GreaterOrEqual": "GreaterOrEqual",
               "Less": "Less", "LessOrEqual": "LessOrEqual"}
LOGIC = {"LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor"}


@TABLE("top.Compare")
def compare(op: Compare, rw: Rewriter) -> Value:
    found = broadcast(rw, COMPARISONS[op.mode], op.lhs, op.rhs, element=BOOL)
    return emit(rw, "Not", found) if op.mode == "NotEqual" else found


@TABLE(*(f"top.{name}" for name in LOGIC))
def logical(op: Logical, rw: Rewriter) -> Value:
    return broadcast(rw, LOGIC[op.name.partition(".")[2]], op.a, op.b)


@TABLE("top.BitwiseAnd", "top.BitwiseOr", "top.BitwiseXor")
def bitwise(op: Bitwise, rw: Rewriter) -> Value:
    return broadcast(rw, op.name.partition(".")[2], op.a, op.b)


@TABLE("top.ShiftLeft", "top.ShiftRight")
def shift(op: Bitwise, rw: Rewriter) -> Value:
    """BitShift, which ONNX has for unsigned numbers; of signed ones a product, or floor of a quotient, of powers of two.

    Those of 64 bits are moved as unsigned ones, what is below zero to the right as what it lacks to -1, which is not.
    """
    element = op.a.element
    left = op.name == "top.ShiftLeft"
    if not isinstance(element, IntegerType):
        raise Unsupported(f"ONNX shifts the bits of integers alone, not of {element}")
    if element.unsigned:
        return _moved(rw, op.a, op.b, left, op.result)
    if element.width > 32:
        if left:
            return cast(rw, _moved(rw, cast(rw, op.a, UI64), cast(rw, clipped(rw, op.b, 0, 64), UI64), left, op.result), element)
        below, rest = scalar(rw, 0, element), scalar(rw, -1, element)
        negative = broadcast(rw, "Less", op.a, below, element=BOOL)
        bits = cast(rw, broadcast(rw, "Where", negative, broadcast(rw, "Sub", rest, op.a), op.a, element=element), UI64)
        made = cast(rw, _moved(rw, bits, cast(rw, clipped(rw, op.b, 0, 63), UI64), left, op.result), element)
        return broadcast(rw, "Where", negative, broadcast(rw, "Sub", rest, made), made, element=element)
    # In 64 bits nothing of 32 is lost on the way; beyond 62 places there are none left to tell apart.
    places = clipped(rw, cast(rw, op.b, I64), 0, 62)
    x, factor = cast(rw, op.a, I64), emit(rw, "Pow", scalar(rw, 2, I64), places, like=places)
    if left:
        return cast(rw, broadcast(rw, "Mul", x, factor), element)
    return cast(rw, broadcast(rw, "Div", broadcast(rw, "Sub", x, broadcast(rw, "Mod", x, factor)), factor), element)


def _moved(rw: Rewriter, x: Value, places: Value, left: bool, like: Value) -> Value:
    """BitShift of unsigned numbers. By their width or more, which processors do in ways of their own, they go one place more than
    the most, and nothing is left."""
    element, direction = x.element, "LEFT" if left else "RIGHT"
    assert isinstance(element, IntegerType)
    most, held = element.width - 1, rw.constant_of(places)
    if held is not None and (held <= most).all():
        return emit(rw, "BitShift", x, places, like=like, element=element, direction=direction)
    whole = cast(rw, clipped(rw, places, 0, most + 1), I64)
    first = clipped(rw, whole, 0, most)
    made = emit(rw, "BitShift", x, cast(rw, first, element), like=like, element=element, direction=direction)
    return emit(rw, "BitShift", made, cast(rw, emit(rw, "Sub", whole, first), element), like=made, direction=direction)


@TABLE("top.LogicalNot")
def logical_not(op: Op, rw: Rewriter) -> Value:
    return emit(rw, "Not", op.operands[0])


@TABLE("top.BitwiseNot")
def bitwise_not(op: Op, rw: Rewriter) -> Value:
    return emit(rw, "BitwiseNot", op.operands[0])


@TABLE("top.IsNaN", "top.IsInf")
def question(op: Op, rw: Rewriter) -> Value:
    """Of f32, which all runtimes answer."""
    return emit(rw, op.name.partition(".")[2], cast(rw, op.operands[0], F32), element=BOOL)


@TABLE("top.Where")
def where(op: Where, rw: Rewriter) -> Any:
    """Where; of truth values, for which runtimes lack it, by And and Or."""
    if op.result.element == BOOL:
        chosen = broadcast(rw, "And", op.condition, op.tbrn)
        return broadcast(rw, "Or", chosen, broadcast(rw, "And", emit(rw, "Not", op.condition), op.fbrn))
    return emit(rw, "Where", op.condition, op.tbrn, cast(rw, op.fbrn, op.tbrn.element), like=op.result)
