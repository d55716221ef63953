"""Arithmetic, comparison and logic, element by element, and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, F64, I32, UI8, FloatType, IntegerType, Op, TensorType, Value, dtype_of
from transload.rewrite import Rewriter

from ..types import element_of
from .numerals import Texts, numbers_of
from .random import dropped
from .table import OnnxTable, attr, cast, choice, first_of, flag, need, need_attr, operand, opset, scalar_like, shape_of, splat

TABLE = OnnxTable()

# --- functions of one operand

_UNARY = {
    "Abs": "Abs", "Neg": "Neg", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Reciprocal": "Reciprocal", "Floor": "Floor",
    "Ceil": "Ceil", "Round": "Round", "Sign": "Sign", "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Asin": "Asin", "Acos": "Acos",
    "Atan": "Atan", "Sinh": "Sinh", "Cosh": "Cosh", "Tanh": "Tanh", "Asinh": "Asinh", "Acosh": "Acosh", "Atanh": "Atanh",
    "Erf": "Erf", "Not": "LogicalNot", "BitwiseNot": "BitwiseNot", "IsNaN": "IsNaN",
}

def _unary(name: str) -> None:
    @TABLE(f"onnx.{name}")
    def rewrite(op: Op, rw: Rewriter) -> Value:
        value = need(op, 0)
        if name == "Erf" and value.is_integer:
            return cast(rw, rw.emit("top.Erf", cast(rw, value, F32)), value.element)
        return rw.emit(f"top.{_UNARY[name]}", value)

    rewrite.__doc__ = f"{name}: the function of the same meaning."


for _name in _UNARY:
    _unary(_name)


@TABLE("onnx.IsInf")
def is_inf(op: Op, rw: Rewriter) -> Value:
    """IsInf, of one sign where an attribute leaves the other out."""
    value = need(op, 0)
    negative, positive = attr(op, "detect_negative", 1), attr(op, "detect_positive", 1)
    infinite = rw.emit("top.IsInf", value)
    if negative and positive:
        return infinite
    if not negative and not positive:
        return splat(rw, False, shape_of(value), BOOL)
    mode = "Greater" if positive else "Less"
    signed = rw.emit("top.Compare", value, scalar_like(rw, value, 0.0), mode=mode)
    return rw.emit("top.LogicalAnd", infinite, signed)


# --- arithmetic of several operands


def _binary(name: str, target: str) -> None:
    @TABLE(f"onnx.{name}")
    def rewrite(op: Op, rw: Rewriter) -> Value:
        return rw.emit(target, need(op, 0), need(op, 1))

    rewrite.__doc__ = f"{name}, broadcast by numpy's rule."


for _name in ("Add", "Sub", "Mul", "Div"):
    _binary(_name, f"top.{_name}")
for _name, _target in {"And": "LogicalAnd", "Or": "LogicalOr", "Xor": "LogicalXor", "BitwiseAnd": "BitwiseAnd",
                       "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor"}.items():
    _binary(_name, f"top.{_target}")


@TABLE("onnx.Sum")
def sum_(op: Op, rw: Rewriter) -> Value:
    """Sum of one or more tensors."""
    return op.operands[0] if len(op.operands) == 1 else rw.emit("top.Add", *op.operands)


@TABLE("onnx.Mean")
def mean(op: Op, rw: Rewriter) -> Value:
    """Mean of one or more tensors: their sum over their number."""
    if len(op.operands) == 1:
        return op.operands[0]
    total = rw.emit("top.Add", *op.operands)
    return rw.emit("top.MulConst", total, const_val=1.0 / len(op.operands))


@TABLE("onnx.Max", "onnx.Min", stored="carried")
def extreme(op: Op, rw: Rewriter) -> Value:
    """The greatest or least of one or more tensors."""
    return op.operands[0] if len(op.operands) == 1 else rw.emit(f"top.{op.name.rpartition('.')[2]}", *op.operands)


@TABLE("onnx.Pow")
def power(op: Op, rw: Rewriter) -> Value:
    """Pow; base and exponent may have different types, the result has the base's."""
    base, exponent = need(op, 0), need(op, 1)
    element = _element_of_powers(rw, base, exponent)
    raised_to = cast(rw, exponent, element) if isinstance(element, FloatType) else _as_narrow(rw, exponent, element)
    return cast(rw, rw.emit("top.Pow", cast(rw, base, element), raised_to), base.element)


_WHOLE_BITS = {"bf16": 8, "f16": 11, "f32": 24}
"""How many bits whole numbers may have that floats all hold; of others 53."""


def _element_of_powers(rw: Rewriter, base: Value, exponent: Value) -> FloatType | IntegerType:
    """The type that a power is computed in: one that loses nothing of a float's exponent, nor of a base of 32 bits.

    It is that of the base where that holds the exponent, as it most often does a constant.
    """
    of_base, of_exponent = base.element, exponent.element
    if not isinstance(of_base, FloatType | IntegerType) or not isinstance(of_exponent, FloatType | IntegerType):
        raise Unsupported(f"raises {base.type} to powers of {exponent.type}, where ONNX has real numbers")
    held = rw.constant_of(exponent)
    if held is not None and _holds(of_base, held):
        return of_base
    if isinstance(of_base, IntegerType):
        return F64 if isinstance(of_exponent, FloatType) else of_base  # of floats in the reals, then back
    if isinstance(of_exponent, IntegerType):
        return of_base if of_exponent.width <= _WHOLE_BITS.get(of_base.name, 53) else F64
    own, other = dtype_of(of_base).itemsize, dtype_of(of_exponent).itemsize
    if own == other:
        return of_base if of_base == of_exponent else F32
    return of_base if own > other else of_exponent


def _as_narrow(rw: Rewriter, exponent: Value, element: IntegerType) -> Value:
    """An integer exponent in a type that may not hold it: one beyond is the outermost that is as even or odd.

    Of 0, 1 and -1 these powers are the same, and of other bases no integer of the type.
    """
    given, held = exponent.element, rw.constant_of(exponent)
    if not isinstance(given, IntegerType) or (held is not None and _holds(element, held)):
        return cast(rw, exponent, element)
    (least, most), (lowest, greatest) = element.range, given.range
    if least <= lowest and greatest <= most:
        return cast(rw, exponent, element)
    inside = rw.emit("top.Min", exponent, scalar_like(rw, exponent, most - 1))
    if lowest < least:
        inside = rw.emit("top.Max", inside, scalar_like(rw, exponent, least))
    narrow, two = cast(rw, inside, element), rw.constant(np.asarray(2, dtype_of(element)))
    oddness = [rw.emit("top.FloorMod", value, two) for value in (cast(rw, exponent, element), narrow)]
    return rw.emit("top.Add", narrow, rw.emit("top.Sub", *oddness))  # the limits are even, and nothing inside them changes


def _holds(element: FloatType | IntegerType, numbers: np.ndarray) -> bool:
    """Whether numbers of a type that is another stay what they are as elements of this one."""
    with np.errstate(all="ignore"):
        cast_ = numbers.astype(dtype_of(element))
        if isinstance(element, IntegerType) and numbers.size:
            least, most = element.range
            if not bool(np.all((numbers >= least) & (numbers <= most))):
                return False
        return bool(np.array_equal(cast_.astype(numbers.dtype), numbers, equal_nan=numbers.dtype.kind == "f"))


@TABLE("onnx.Mod")
def modulo(op: Op, rw: Rewriter) -> Value:
    """Mod: the sign of the divisor, or (fmod=1) of the dividend."""
    return rw.emit("top.TruncMod" if flag(op, "fmod", 0) else "top.FloorMod", need(op, 0), need(op, 1))


@TABLE("onnx.BitShift")
def bit_shift(op: Op, rw: Rewriter) -> Value:
    """BitShift by its direction."""
    direction = choice(op, "direction", ("LEFT", "RIGHT"))
    bits, places = need(op, 0), need(op, 1)
    known = rw.constant_of(places)
    element = places.element
    if isinstance(element, IntegerType) and not element.unsigned and (known is None or (known < 0).any()):
        # A negative number of places is, as in C's unsigned view of it, more than there are.
        width = scalar_like(rw, places, element.width)
        places = rw.emit("top.Where", rw.emit("top.Compare", places, scalar_like(rw, places, 0), mode="Less"), width, places)
    return rw.emit(f"top.Shift{direction.capitalize()}", bits, places)


# --- comparison and choice

_COMPARE = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


@TABLE(*(f"onnx.{name}" for name in _COMPARE), stored="carried")
def compare(op: Op, rw: Rewriter) -> Value:
    """Equal, Greater, Less, ... to a tensor of i1."""
    return rw.emit("top.Compare", need(op, 0), need(op, 1), mode=op.name.rpartition(".")[2])


@TABLE("onnx.Where", stored="carried")
def where(op: Op, rw: Rewriter) -> Value:
    """Where."""
    return rw.emit("top.Where", need(op, 0), need(op, 1), need(op, 2))


# --- casts and copies


@TABLE("onnx.Cast")
def cast_(op: Op, rw: Rewriter) -> Value:
    """Cast: floats to integers truncate; saturation matters to 8-bit floats only."""
    element = element_of(need_attr(op, "to"))
    declared = op.results[0].element_or_none
    if isinstance(declared, FloatType | IntegerType) and isinstance(element, FloatType | IntegerType) and declared != element:
        raise Unsupported(
            f"casts to {element}, and the model says that its result is of {declared}",
            "what wrote the model contradicts itself, and onnxruntime refuses it, too: make attribute `to` and the types agree")
    return _cast_to(op, rw, element)


@TABLE("onnx.CastLike")
def cast_like(op: Op, rw: Rewriter) -> Value:
    """CastLike: to the element type of another tensor."""
    like = need(op, 1)
    return _cast_to(op, rw, like.element)


def _cast_to(op: Op, rw: Rewriter, element: Any) -> Value:
    texts = rw.scratch(Texts).held.get(op.operands[0]) if op.operands else None
    value = need(op, 0) if texts is None else rw.constant(numbers_of(*texts, element))
    if not isinstance(element, FloatType | IntegerType) or not isinstance(value.element, FloatType | IntegerType):
        raise Unsupported(f"casts {value.type} to {element}; only numbers and truth values can be cast")
    saturate = flag(op, "saturate", 1)
    if value.element == element:
        return value
    if isinstance(element, FloatType) and element.name == "f8E8M0FNU":
        return _to_power(op, rw, value, element)
    if isinstance(element, FloatType) and element.name.startswith("f8"):
        return to_float8(rw, value, element, saturate)
    return rw.emit("top.Cast", value, element=element)


def to_float8(rw: Rewriter, value: Value, element: FloatType, saturate: bool) -> Value:
    """A cast to an 8-bit float; with `saturate`, what is beyond its range becomes its greatest finite number."""
    real = value if isinstance(value.element, FloatType) else cast(rw, value, F32)
    if saturate:
        import ml_dtypes

        most = float(ml_dtypes.finfo(dtype_of(element)).max)
        real = rw.emit("top.Clip", real, min=-most, max=most)
    return rw.emit("top.Cast", real, element=element)


def _to_power(op: Op, rw: Rewriter, value: Value, element: FloatType) -> Value:
    """A cast to powers of two (float8e8m0): the exponent of an f32, one more where `round_mode` says so.

    Signs are lost. What is beyond the greatest power becomes that with `saturate`, else NaN (255), as infinities and NaN do.
    """
    mode, saturate = choice(op, "round_mode", ("up", "down", "nearest"), "up"), flag(op, "saturate", 1)
    bits = rw.emit("top.Bitcast", cast(rw, value, F32), element=I32)
    exponent = rw.emit("top.BitwiseAnd", rw.emit("top.ShiftRight", bits, rw.constant(np.int32(23))), rw.constant(np.int32(255)))
    finite = rw.emit("top.Compare", exponent, rw.constant(np.int32(255)), mode="Less")
    if mode != "down":
        fraction = rw.emit("top.BitwiseAnd", bits, rw.constant(np.int32((1 << 23) - 1)))
        if mode == "up":
            more = rw.emit("top.Compare", fraction, rw.constant(np.int32(0)), mode="Greater")
        else:  # a half goes up, but for the least power
            half = rw.emit("top.Compare", fraction, rw.constant(np.int32(1 << 22)), mode="GreaterOrEqual")
            least = rw.emit("top.Compare", rw.emit("top.Add", exponent, fraction), rw.constant(np.int32(1 << 22)), mode="Equal")
            more = rw.emit("top.LogicalAnd", half, rw.emit("top.LogicalNot", least))
        higher = rw.emit("top.Add", exponent, cast(rw, rw.emit("top.LogicalAnd", more, finite), I32))
        exponent = rw.emit("top.Where", finite, rw.emit("top.Clip", higher, min=0.0, max=254.0), exponent) if saturate else higher
    return rw.emit("top.Bitcast", cast(rw, exponent, UI8), element=element)


@TABLE("onnx.BitCast", stored="integers")
def bit_cast(op: Op, rw: Rewriter) -> Value:
    """BitCast: the same bits as another type of as many; truth values are bytes of 0 and 1."""
    value, element = need(op, 0), element_of(need_attr(op, "to"))
    if not isinstance(element, FloatType | IntegerType) or not isinstance(value.element, FloatType | IntegerType):
        raise Unsupported(f"reads {value.type} as {element}; only numbers and truth values can be")
    if dtype_of(element).itemsize != dtype_of(value.element).itemsize:
        raise Unsupported(f"reads elements of {value.element} as {element}, which have another number of bits")
    if BOOL in (element, value.element):
        byte = cast(rw, value, UI8) if value.element == BOOL else rw.emit("top.Bitcast", value, element=UI8)
        if element == BOOL:
            return cast(rw, byte, BOOL)
        return byte if element == UI8 else rw.emit("top.Bitcast", byte, element=element)
    return value if value.element == element else rw.emit("top.Bitcast", value, element=element)


@TABLE("onnx.Identity", stored="native")
def identity(op: Op, rw: Rewriter) -> Value:
    """Identity: the operand itself."""
    return need(op, 0)


@TABLE("onnx.Dropout", stored="native")
def dropout(op: Op, rw: Rewriter) -> list[Value]:
    """Dropout at inference: the operand itself, and a mask that is true everywhere."""
    value = need(op, 0)
    if opset(op) >= 12 and operand(op, 2) is not None:
        training = np.asarray(rw.need_constant(operand(op, 2), "training_mode")).any()
        ratio = float(rw.need_number(operand(op, 1), "ratio")) if operand(op, 1) is not None else 0.5
        if training and ratio:
            return dropped(op, rw, value, ratio)
    if len(op.results) < 2:
        return [value]
    if not isinstance(value.type, TensorType) or not value.type.is_static:
        return first_of(op, value)
    mask = BOOL if opset(op) >= 10 else value.element
    return [value, splat(rw, 1, shape_of(value), mask)] if op.results[1].uses else [value, value]
