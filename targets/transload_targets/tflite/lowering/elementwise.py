"""Arithmetic, comparison, logic and mathematical functions, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I8, I16, I32, I64, UI8, UI16, UI32, IntegerType, Op, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.quotients import may_leave_range

from .bits import shifted_64
from .common import (
    activated,
    activated_wholly,
    compared_in,
    constant,
    emit,
    fused,
    int32,
    ints,
    need_fine_operands,
    need_quantized_alike,
    need_rounding,
    negative_where_negative,
    quant,
    quantized_result,
    real,
    retyped,
    signed,
    static_shape,
    widened,
    wider,
)

if TYPE_CHECKING:
    from transload_hub.ops.base import Elementwise, Unary
    from transload_hub.ops.elementwise import (
        Add,
        AddConst,
        Binary,
        Bitwise,
        Compare,
        Div,
        Logical,
        Max,
        Min,
        Mul,
        MulConst,
        Pow,
        Scale,
        ShiftRight,
        Sub,
        Where,
    )

__all__ = ["TABLE", "common_power", "spread"]

TABLE = RewriteTable()

_ARITHMETIC = {"top.Add": "add", "top.Sub": "sub", "top.Mul": "mul", "top.Div": "div"}


def _joined(a: Value, b: Value) -> tuple[int, ...]:
    return tuple(np.broadcast_shapes(static_shape(a), static_shape(b)))


def _chain(op: Op, rw: Rewriter, name: str, values: Sequence[Value], **options: Any) -> Value:
    """An operator of two operands over several, from the left; the activation at the end.

    Integers of less than 32 bits that are not quantized, and unsigned ones of 32, are computed in a wider type, and wrap round
    before they are activated.
    """
    element = wider(op.results[0].element)
    if element is not None:
        return _widely(op, rw, [name] * (len(values) - 1), values, element)
    made = values[0]
    for value in values[1:-1]:
        made = emit(rw, name, made, value, like=op.results[0], shape=_joined(made, value), **options)
    return activated(op, rw, emit(
        rw, name, made, values[-1], like=op.results[0], fused_activation_function=fused(op), **options))


def _widely(op: Op, rw: Rewriter, names: Sequence[str], values: Sequence[Value], element: IntegerType) -> Value:
    """Operators over integers, from the left, in a wider type; what wraps round in their own is activated behind that."""
    made, *others = (widened(rw, value, element) for value in values)
    for name, value in zip(names, others, strict=True):
        made = emit(rw, name, made, value, like=op.results[0], shape=_joined(made, value), element=element)
    return activated_wholly(op, rw, emit(rw, "cast", made, like=op.results[0]))


def _whole(rw: Rewriter, number: float, element: Type) -> Value:
    """A constant of integers: what is behind the point is left out."""
    return constant(rw, np.asarray(int(number), dtype_of(element)), element)


def _times(rw: Rewriter, value: Value, factor: float) -> Value:
    """`value * factor`, in its type or a wider one."""
    if value.is_float:
        return emit(rw, "mul", value, real(rw, factor, value), like=value)
    _need_whole(factor)
    element = wider(value.element) or value.element
    wide = widened(rw, value, element)
    return emit(rw, "mul", wide, _whole(rw, factor, element), like=wide)


def _need_whole(factor: float) -> None:
    if not factor.is_integer():
        raise Unsupported(f"LiteRT multiplies integers by integers, and not by {factor:g}", "cast to f32 before, and back behind")


@TABLE("top.Add", "top.Sub", "top.Mul")
def arithmetic(op: Add | Mul | Sub, rw: Rewriter) -> Value | None:
    """ADD, SUB, MUL; factors of operands are multiplied before. Of quantized operands there are two."""
    values = list(op.inputs)
    coefficients = op.attribute("coeff", None)
    if quantized_result(op) is not None:
        if len(values) > 2 or (coefficients is not None and any(factor != 1.0 for factor in coefficients)):
            return None
        need_quantized_alike(op, *values)
        if any((type_ := quant(value)) is None or not type_.per_tensor or type_.storage != quantized_result(op).storage  # type: ignore[union-attr]
               for value in values):
            return None
        need_rounding(op, rw, "double", operator=_ARITHMETIC[op.name].upper())
        need_fine_operands(op, *values)
        options = {"pot_scale_int16": False} if op.name != "top.Mul" else {}
        return _chain(op, rw, _ARITHMETIC[op.name], values, **options)
    if any(quant(value) is not None for value in values):
        return None
    for index, factor in enumerate(coefficients or ()):
        if factor != 1.0:
            values[index] = _times(rw, values[index], factor)
    return _chain(op, rw, _ARITHMETIC[op.name], values)


@TABLE("top.Div")
def divide(op: Div, rw: Rewriter) -> Value | None:
    """DIV, of floats and of int32, of which LiteRT makes the least number by -1 the greatest: it divides what is less by 1."""
    if any(quant(value) is not None for value in (*op.inputs, op.output)):
        return None
    a, b = op.inputs
    if may_leave_range(b, a):
        negative, b = _without_minus_one(rw, b)
        less = emit(rw, "sub", _whole(rw, 0, a.element), a, like=a)
        a = emit(rw, "select_v2", negative, less, a, like=a, shape=_joined(negative, a))
    return _chain(op, rw, "div", [a, b])


def _without_minus_one(rw: Rewriter, divisor: Value) -> tuple[Value, Value]:
    """Where a divisor of integers is -1, and it with 1 there."""
    negative = emit(rw, "equal", divisor, _whole(rw, -1, divisor.element), like=divisor, element=BOOL)
    return negative, emit(rw, "select_v2", negative, _whole(rw, 1, divisor.element), divisor, like=divisor)


def _remainder(rw: Rewriter, op: Op, a: Value, b: Value) -> Value:
    """FLOOR_MOD; of integers that -1 leaves, which is what 1 does: the least number by -1 ends LiteRT's process."""
    if may_leave_range(b, a):
        b = _without_minus_one(rw, b)[1]
    return emit(rw, "floor_mod", a, b, like=op.results[0], element=a.element)


@TABLE("top.AddConst", "top.MulConst")
def with_number(op: AddConst | MulConst, rw: Rewriter) -> Value | None:
    """ADD and MUL with a constant; quantized ones are functions of one number."""
    if quantized_result(op) is not None or quant(op.input) is not None:
        return None
    name = "add" if op.name == "top.AddConst" else "mul"
    if op.input.is_float:
        return _chain(op, rw, name, [op.input, real(rw, op.const_val, op.input)])
    if name == "mul":
        _need_whole(op.const_val)
    return _chain(op, rw, name, [op.input, _whole(rw, op.const_val, wider(op.input.element) or op.input.element)])


@TABLE("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value | None:
    """MUL, ADD."""
    if quantized_result(op) is not None:
        return None
    element = wider(op.output.element)
    if element is not None:
        return _widely(op, rw, ("mul", "add"), (op.input, op.scale, op.bias), element)
    made = emit(rw, "mul", op.input, op.scale, like=op.output)
    return activated(op, rw, emit(rw, "add", made, op.bias, like=op.output, fused_activation_function=fused(op)))


@TABLE("top.Max", "top.Min")
def extreme(op: Max | Min, rw: Rewriter) -> Value | None:
    """MAXIMUM, MINIMUM; quantized operands in the type of the result."""
    name = "maximum" if op.name == "top.Max" else "minimum"
    need_rounding(op, rw, "double", operator="QUANTIZE")
    values = [retyped(rw, value, op.output.element) for value in op.inputs]
    if quantized_result(op) is not None and any(quant(value) is None for value in values):
        return None
    held = compared_in(op.output.element)
    made, *others = (widened(rw, value, held) for value in values)
    for value in others:
        made = emit(rw, name, made, value, like=op.output, shape=_joined(made, value), element=held)
    return widened(rw, made, op.output.element)


def _floor_of_rounded(rw: Rewriter, op: Op) -> Value | None:
    """FLOOR of DIV, as FLOOR_DIV divides in f64, and rounds no quotient; for others there is a table of their own."""
    if op.attribute("quotient") != "rounded":
        return None
    return emit(rw, "floor", emit(rw, "div", *op.operands, like=op.results[0]), like=op.results[0])


_BINARY = {
    "top.Pow": "pow", "top.FloorDiv": "floor_div", "top.FloorMod": "floor_mod", "top.SquaredDifference": "squared_difference",
    "top.Atan2": "atan2", "top.LogicalAnd": "logical_and", "top.LogicalOr": "logical_or", "top.LogicalXor": "not_equal",
    "top.BitwiseXor": "bitwise_xor",
}
_QUANTIZED_BINARY = {"top.SquaredDifference": "SQUARED_DIFFERENCE"}


@TABLE(*_BINARY)
def binary(op: Binary | Bitwise | Logical | Pow, rw: Rewriter) -> Value | None:
    """POW, FLOOR_DIV, FLOOR_MOD, ATAN2 and the like; xor of truth is NOT_EQUAL."""
    a, b = op.operands
    if any(quant(value) is not None for value in (a, b, op.result)):
        types = [quant(value) for value in (a, b, op.result)]
        if op.name not in _QUANTIZED_BINARY or any(
                type_ is None or not type_.per_tensor or type_.storage not in (I8, UI8) for type_ in types):
            return None
        need_rounding(op, rw, "double", operator=_QUANTIZED_BINARY[op.name])
        need_fine_operands(op, a, b)
        known = [type_ for type_ in types if type_ is not None]
        if UI8 in (type_.storage for type_ in known):
            return _of_signed_bytes(rw, op, *map(signed, known))
    if op.name == "top.Pow" and a.element != b.element:
        b = emit(rw, "cast", b, like=b, element=a.element)
    if op.name == "top.Atan2":
        if not a.is_float:
            raise Unsupported(f"LiteRT's ATAN2 takes floats alone, and this is {a.element}")
        a, b = (spread(rw, value, op.result) for value in (a, b))
    if op.name == "top.FloorDiv" and a.is_float and (op.attribute("quotient"), a.element) != ("exact", F32):
        return _floor_of_rounded(rw, op)
    if op.name in ("top.FloorDiv", "top.FloorMod") and op.result.element in (UI8, UI16, UI32):
        return _chain(op, rw, _BINARY[op.name], (a, b))
    if op.name == "top.FloorMod":
        return _remainder(rw, op, a, b)
    if op.name == "top.Pow" and (exponent := common_power(op)) is not None:
        return _power(op, rw, exponent)
    if op.name == "top.SquaredDifference" and isinstance(op.result.element, IntegerType) and op.result.element != I32:
        element = wider(op.result.element) or op.result.element
        a, b = (widened(rw, value, element) for value in (a, b))
        less = emit(rw, "sub", a, b, like=op.result, element=element)
        return widened(rw, emit(rw, "mul", less, less, like=less), op.result.element)
    return emit(rw, _BINARY[op.name], a, b, like=op.result)


def _of_signed_bytes(rw: Rewriter, op: Op, left: Type, right: Type, made: Type) -> Value:
    """SQUARED_DIFFERENCE of unsigned bytes, for which LiteRT has no kernel, of signed ones, which are the same numbers."""
    values = [retyped(rw, value, type_) for value, type_ in zip(op.operands, (left, right), strict=True)]
    return retyped(rw, emit(rw, "squared_difference", *values, like=op.results[0], element=made), op.results[0].element)


_MOST_POWER = 64


def common_power(op: Op) -> int | None:
    """The exponent of integers that are all raised to the same constant power; None of others."""
    a, b = op.operands
    dense = constant_of(b)
    number = None if dense is None else dense.splat_value()
    if number is None or not isinstance(a.element, IntegerType) or a.shape != op.results[0].shape:
        return None
    return int(number) if 1 <= number <= _MOST_POWER and int(number) == number else None


def _power(op: Op, rw: Rewriter, exponent: int) -> Value:
    """Integers to a power by products, which wrap round: POW has 32 bits alone, and no more than these in between."""
    element = wider(op.results[0].element) or op.results[0].element
    square = widened(rw, op.operands[0], element)
    made = None
    while exponent:
        if exponent & 1:
            made = square if made is None else emit(rw, "mul", made, square, like=square)
        exponent >>= 1
        if exponent:
            square = emit(rw, "mul", square, square, like=square)
    assert made is not None
    return widened(rw, made, op.results[0].element)


def spread(rw: Rewriter, value: Value, like: Value) -> Value:
    """A value of the shape of another, for an operator whose kernel goes through both without a look at their sizes."""
    shape = static_shape(like)
    return value if value.shape == shape else emit(rw, "broadcast_to", value, ints(rw, *shape), like=value, shape=shape)


@TABLE("top.TruncMod")
def truncated_remainder(op: Binary, rw: Rewriter) -> Value:
    """`a - trunc(a / b) * b`; of floats by the remainders of their magnitudes, with the sign of a."""
    a, b = op.operands
    if not a.is_float or quant(a) is not None:
        if quant(a) is not None:
            raise Unsupported("LiteRT has no remainder of quantized numbers")
        return _remainder_of_integers(op, rw)
    rest = emit(rw, "floor_mod", emit(rw, "abs", a, like=a), emit(rw, "abs", b, like=b), like=op.result)
    return negative_where_negative(rw, rest, a, like=op.result)


def _remainder_of_integers(op: Binary, rw: Rewriter) -> Value:
    """What FLOOR_MOD gives, which has the sign of b, less b where a has the other: there is no quotient of 64 bits."""
    element = wider(op.result.element)
    a, b = (value if element is None else emit(rw, "cast", value, like=value, element=element) for value in op.operands)
    rest = _remainder(rw, op, a, b)
    made = rest
    if not op.result.element.unsigned:  # type: ignore[attr-defined]
        zero = constant(rw, np.zeros((), dtype_of(a.element)))
        below, under = (emit(rw, "less", value, zero, like=value, element=BOOL) for value in (a, rest))
        differs = emit(rw, "not_equal", below, under, like=rest, element=BOOL)
        some = emit(rw, "not_equal", rest, zero, like=rest, element=BOOL)
        other = emit(rw, "logical_and", differs, some, like=rest, element=BOOL)
        made = emit(rw, "select_v2", other, emit(rw, "sub", rest, b, like=rest), rest, like=rest)
    return made if element is None else emit(rw, "cast", made, like=op.result)


@TABLE("top.ShiftRight")
def shift_right(op: ShiftRight, rw: Rewriter) -> Value:
    """RIGHT_SHIFT, which shifts by less than the width alone: of unsigned numbers, nothing is left by more."""
    if op.a.element == I64:
        return shifted_64(rw, op)
    made = emit(rw, "right_shift", op.a, op.b, like=op.output)
    element = op.a.element
    if not isinstance(element, IntegerType) or not element.unsigned or _is_below(op.b, element.width):
        return made
    far = emit(rw, "greater_equal", int32(rw, op.b), constant(rw, np.int32(element.width)), like=op.b, element=BOOL)
    return emit(rw, "select_v2", far, constant(rw, np.zeros((), dtype_of(element))), made, like=op.output)


def _is_below(value: Value, limit: int) -> bool:
    """Whether numbers are known to be less than a limit: constants, and what is at most one."""
    maker = value.op
    least_of = maker.operands if maker is not None and maker.name in ("top.Min", "tfl.minimum") else (value,)
    held = [dense.numpy() for each in least_of if (dense := constant_of(each)) is not None]
    return any((numbers < limit).all() for numbers in held)


_COMPARISONS = {
    "Equal": "equal", "NotEqual": "not_equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
    "LessOrEqual": "less_equal",
}
_MIRRORED = {
    "Equal": "Equal", "NotEqual": "NotEqual", "Greater": "Less", "GreaterOrEqual": "LessOrEqual", "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
}


@TABLE("top.Compare")
def compare(op: Compare, rw: Rewriter) -> Value | None:
    """EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL.

    Integers are compared in a wider type: for most LiteRT has a kernel only where they stand for quantized numbers.
    """
    types = [quant(value) for value in (op.lhs, op.rhs)]
    if any(type_ is not None for type_ in types) and any(
            type_ is None or not type_.per_tensor or type_.storage not in (I8, UI8) or type_.scale >= 1.0 for type_ in types):
        return None
    element = wider(op.lhs.element)
    sides = [value if element is None else widened(rw, value, element) for value in (op.lhs, op.rhs)]
    return _with_infinity(op, rw) or emit(rw, _COMPARISONS[op.mode], *sides, like=op.output)


def _with_infinity(op: Compare, rw: Rewriter) -> Value | None:
    """A comparison with a constant infinity; None for others.

    LiteRT's arithmetic saturates: a sum that is infinite comes out as the last finite number, and so do extremes of infinities.
    What is at or beyond that number is taken for infinite, therefore.
    """
    for value, other, mode in ((op.lhs, op.rhs, op.mode), (op.rhs, op.lhs, _MIRRORED[op.mode])):
        dense = constant_of(other) if other.is_float else None
        numbers = dense.numpy().astype(np.float64) if dense is not None else np.zeros(0)
        if numbers.size != 1 or not np.isinf(numbers).all():
            continue
        number = float(numbers.reshape(()))
        if mode in (("Greater", "LessOrEqual") if number < 0 else ("Less", "GreaterOrEqual")):
            reached = _COMPARISONS[mode]
        elif mode in ("Equal", "NotEqual"):
            reached = "less_equal" if number < 0 else "greater_equal"
        else:
            return None  # all numbers are, or none
        last = real(rw, math.copysign(float(ml_dtypes.finfo(dtype_of(value.element)).max), number), value)
        made = emit(rw, reached, value, last, like=op.output)
        return emit(rw, "logical_not", made, like=op.output) if mode == "NotEqual" else made
    return None


@TABLE("top.Where")
def where(op: Where, rw: Rewriter) -> Value | None:
    """SELECT_V2; quantized choices in the type of the result."""
    need_rounding(op, rw, "double", operator="QUANTIZE")
    chosen = [retyped(rw, value, op.output.element) for value in (op.tbrn, op.fbrn)]
    return emit(rw, "select_v2", op.condition, *chosen, like=op.output)


# --- functions of one operand

_UNARY = {
    "top.Abs": "abs", "top.Exp": "exp", "top.Log": "log", "top.Sqrt": "sqrt", "top.Rsqrt": "rsqrt", "top.Square": "square",
    "top.Floor": "floor", "top.Ceil": "ceil", "top.Round": "round", "top.Sign": "sign", "top.Sin": "sin", "top.Cos": "cos",
    "top.LogicalNot": "logical_not", "top.Neg": "neg", "top.Tanh": "tanh",
}
_QUANTIZED_UNARY = {
    "top.Abs": ("double", (I8, I16)), "top.Exp": ("exact", (I8, I16)), "top.Log": ("exact", (I8, I16)),
    "top.Rsqrt": ("double", (I8,)), "top.Sqrt": ("truncate", (I8, I16)),
}
"""Functions that LiteRT has kernels for of quantized numbers: how they round, and of which types."""


@TABLE(*(name for name in _UNARY if name != "top.Tanh"))
def unary(op: Elementwise, rw: Rewriter) -> Value | None:
    """ABS, EXP, LOG, SQRT, RSQRT, SQUARE, FLOOR, CEIL, ROUND, SIGN, SIN, COS, NEG, LOGICAL_NOT."""
    source, target = quant(op.input), quant(op.output)
    if source is not None or target is not None:
        word, storages = _QUANTIZED_UNARY.get(op.name, ("", ()))
        if source is None or target is None or source.storage not in storages or source.storage != target.storage:
            return None
        if not source.per_tensor or (str(op.attribute("rounding")) != word and rw.options.get("rounding") != "litert"):
            return None
    elif isinstance(op.input.element, IntegerType) and op.input.element != BOOL and op.name in (
            "top.Floor", "top.Ceil", "top.Round"):
        return op.input
    elif isinstance(op.input.element, IntegerType) and op.input.element not in (BOOL, I32) and op.name in ("top.Abs", "top.Sign"):
        return _without_sign(op, rw) if op.name == "top.Abs" else _sign(op, rw)
    elif isinstance(op.input.element, IntegerType) and op.name == "top.Square":
        return _chain(op, rw, "mul", [op.input, op.input])
    elif op.name == "top.Neg" and (element := wider(op.input.element)) is not None:
        wide = widened(rw, op.input, element)
        return emit(rw, "cast", emit(rw, "neg", wide, like=wide), like=op.output)
    return emit(rw, _UNARY[op.name], op.input, like=op.output)


def _without_sign(op: Elementwise, rw: Rewriter) -> Value:
    """The absolute value of integers that ABS has no kernel of; the least one stays what it is, as there is no greater."""
    element = op.input.element
    if element.unsigned:  # type: ignore[attr-defined]
        return op.input
    if element != I64:
        wide = int32(rw, op.input)
        return emit(rw, "cast", emit(rw, "abs", wide, like=wide), like=op.output)
    return emit(rw, "maximum", op.input, emit(rw, "neg", op.input, like=op.input), like=op.output)


def _sign(op: Elementwise, rw: Rewriter) -> Value:
    """-1, 0 or 1 of integers that SIGN has no kernel of: what they are, kept between these."""
    element = wider(op.input.element) or op.input.element
    value = widened(rw, op.input, element)
    for name, limit in (("maximum", -1), ("minimum", 1)):
        if limit > 0 or not op.input.element.unsigned:  # type: ignore[attr-defined]
            value = emit(rw, name, value, _whole(rw, limit, element), like=value)
    return widened(rw, value, op.output.element)


@TABLE("top.Reciprocal")
def reciprocal(op: Unary, rw: Rewriter) -> Value | None:
    """DIV of 1."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "div", real(rw, 1.0, op.input), op.input, like=op.output)


@TABLE("top.IsNaN")
def is_nan(op: Elementwise, rw: Rewriter) -> Value:
    """Whether it differs from itself."""
    return emit(rw, "not_equal", op.input, op.input, like=op.output)


@TABLE("top.IsInf")
def is_inf(op: Elementwise, rw: Rewriter) -> Value:
    """Whether the magnitude is infinite, or the last finite number: see `_with_infinity`. No quantized number is."""
    if op.input.quant is not None:
        return constant(rw, tables.zeros(static_shape(op.input), bool))
    last = real(rw, float(ml_dtypes.finfo(dtype_of(op.input.element)).max), op.input)
    return emit(rw, "greater_equal", emit(rw, "abs", op.input, like=op.input), last, like=op.output)
