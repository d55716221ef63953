"""Arithmetic, comparison, logic and mathematical functions, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import FloatType, IntegerType, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import cast, reshape, scalar_like
from transload_hub.functions import erfc, expm1

from .quantize import stored
from .table import TfTable, attr, channels_last, constant_array, element_of, shape_of

__all__ = ["TABLE", "where_zero"]

TABLE = TfTable()

# --- one operand

_UNARY = {
    "Abs": "Abs", "Neg": "Neg", "Sign": "Sign", "Square": "Square", "Floor": "Floor", "Ceil": "Ceil", "Rint": "Round",
    "Round": "Round", "Exp": "Exp", "Log": "Log", "Log1p": "Log1p", "Sqrt": "Sqrt", "Rsqrt": "Rsqrt", "Sin": "Sin", "Cos": "Cos",
    "Tan": "Tan", "Asin": "Asin", "Acos": "Acos", "Atan": "Atan", "Sinh": "Sinh", "Cosh": "Cosh", "Tanh": "Tanh",
    "Asinh": "Asinh", "Acosh": "Acosh", "Atanh": "Atanh", "Erf": "Erf", "IsNan": "IsNaN", "IsInf": "IsInf",
    "LogicalNot": "LogicalNot", "Invert": "BitwiseNot",
}
"""Ops that the hub has under another name, or the same."""


def _unary(name: str, hub: str) -> None:
    @TABLE(name)
    def rewrite(op: Op, rw: Rewriter) -> Value:
        return rw.emit(f"top.{hub}", op.operands[0])

    rewrite.__doc__ = f"{name}."


for _name, _hub in _UNARY.items():
    _unary(_name, _hub)


@TABLE("Reciprocal", "Inv")
def reciprocal(op: Op, rw: Rewriter) -> Value:
    """Reciprocal, Inv; of integers a quotient truncated towards zero."""
    value = op.operands[0]
    if value.is_float:
        return rw.emit("top.Reciprocal", value)
    return rw.emit("top.Div", scalar_like(rw, value, 1), value)


@TABLE("IsFinite")
def is_finite(op: Op, rw: Rewriter) -> Value:
    """IsFinite: neither infinite nor no number."""
    value = op.operands[0]
    return rw.emit("top.LogicalNot", rw.emit("top.LogicalOr", rw.emit("top.IsInf", value), rw.emit("top.IsNaN", value)))


@TABLE("Expm1")
def exponential_less_one(op: Op, rw: Rewriter) -> Value:
    """Expm1: exact near 0, where `exp(x) - 1` would lose its digits."""
    return expm1(rw, op.operands[0])


@TABLE("Erfc")
def complementary_error_function(op: Op, rw: Rewriter) -> Value:
    """Erfc: what the error function lacks to 1."""
    return erfc(rw, op.operands[0])


@TABLE("PopulationCount")
def population_count(op: Op, rw: Rewriter) -> Value:
    """PopulationCount: the bits of a number, counted one by one."""
    value = op.operands[0]
    element = value.element
    if not isinstance(element, IntegerType):
        raise Unsupported(f"counts bits of {element}")
    one = scalar_like(rw, value, 1)
    bits = [
        rw.emit("top.BitwiseAnd", rw.emit("top.ShiftRight", value, scalar_like(rw, value, place)) if place else value, one)
        for place in range(element.width)]
    total = bits[0]
    for bit in bits[1:]:
        total = rw.emit("top.Add", total, bit)
    return cast(rw, total, element_of(op))


# --- two and more operands

_BINARY = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Div": "Div",
    "FloorDiv": "FloorDiv", "FloorMod": "FloorMod", "Mod": "TruncMod", "TruncateMod": "TruncMod",
    "Pow": "Pow", "SquaredDifference": "SquaredDifference", "Atan2": "Atan2", "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor", "LogicalAnd": "LogicalAnd", "LogicalOr": "LogicalOr",
}


def _binary(name: str, hub: str) -> None:
    @TABLE(name)
    def rewrite(op: Op, rw: Rewriter) -> Value:
        return rw.emit(f"top.{hub}", *op.operands)

    rewrite.__doc__ = f"{name}."


for _name, _hub in _BINARY.items():
    _binary(_name, _hub)


@TABLE("Minimum", "Maximum")
def extreme(op: Op, rw: Rewriter) -> Value:
    """Minimum, Maximum; of integers that are beyond the other operand whatever they are, as in `min(6, max(6, n))`, that operand.

    So TensorFlow writes sizes that are asked for by a least and a greatest one.
    """
    hub, other, beyond = ("top.Min", "top.Max", np.greater_equal) if op.name == "tf.Minimum" else (
        "top.Max", "top.Min", np.less_equal)
    for limit, value in (op.operands, op.operands[::-1]):
        ends = rw.constant_of(limit)
        if ends is None or ends.dtype.kind not in "iu" or value.op is None or value.op.name != other or value.type != limit.type:
            continue
        if any(held is not None and beyond(held, ends).all() for held in map(rw.constant_of, value.op.operands)):
            return limit
    return rw.emit(hub, *op.operands)

@TABLE("TruncateDiv")
def truncate_div(op: Op, rw: Rewriter) -> Value:
    """TruncateDiv: towards zero, of floats, too."""
    quotient = rw.emit("top.Div", *op.operands)
    if not isinstance(quotient.element, FloatType):
        return quotient
    down, up = rw.emit("top.Floor", quotient), rw.emit("top.Ceil", quotient)
    return rw.emit("top.Where", rw.emit("top.Compare", quotient, scalar_like(rw, quotient, 0), mode="Less"), up, down)


def _broadcast(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether shapes broadcast with each other."""
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(left), reversed(right), strict=False))


_COMPARISONS = {
    "Equal": "Equal", "NotEqual": "NotEqual", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less",
    "LessEqual": "LessOrEqual",
}


@TABLE(*_COMPARISONS)
def compare(op: Op, rw: Rewriter) -> Value:
    """Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual.

    Without `incompatible_shape_error` tensors whose shapes do not broadcast are not equal, which is one flag.
    """
    if not attr(op, "incompatible_shape_error", True) and not _broadcast(*map(shape_of, op.operands)):
        return rw.constant(np.asarray(op.name == "tf.NotEqual"))
    return rw.emit("top.Compare", *op.operands, mode=_COMPARISONS[op.name.removeprefix("tf.")])


@TABLE("ApproximateEqual")
def approximate_equal(op: Op, rw: Rewriter) -> Value:
    """ApproximateEqual: less than `tolerance` apart."""
    off = rw.emit("top.Abs", rw.emit("top.Sub", *op.operands))
    return rw.emit("top.Compare", off, scalar_like(rw, off, attr(op, "tolerance", 1e-5)), mode="Less")


@TABLE("AddN", "AccumulateNV2")
def add_n(op: Op, rw: Rewriter) -> Value:
    """AddN, AccumulateNV2."""
    values = op.operands
    return rw.emit("top.Add", *values) if len(values) > 1 else values[0]


def where_zero(rw: Rewriter, tested: Value, otherwise: Callable[[Value], Value]) -> Value:
    """0 where `tested` is 0, elsewhere what `otherwise(tested, but 1 where it is 0)` gives."""
    is_zero = rw.emit("top.Compare", tested, scalar_like(rw, tested, 0), mode="Equal")
    safe = rw.emit("top.Where", is_zero, scalar_like(rw, tested, 1), tested)
    return rw.emit("top.Where", is_zero, scalar_like(rw, tested, 0), otherwise(safe))


@TABLE("DivNoNan")
def div_no_nan(op: Op, rw: Rewriter) -> Value:
    """DivNoNan: 0 where the divisor is."""
    x, y = op.operands
    return where_zero(rw, y, lambda safe: rw.emit("top.Div", x, safe))


@TABLE("MulNoNan")
def mul_no_nan(op: Op, rw: Rewriter) -> Value:
    """MulNoNan: 0 where the second factor is, whatever the first one is."""
    x, y = op.operands
    return where_zero(rw, y, lambda safe: rw.emit("top.Mul", x, safe))


@TABLE("Xdivy", "Xlogy", "Xlog1py")
def zero_times(op: Op, rw: Rewriter) -> Value:
    """Xdivy, Xlogy, Xlog1py: `x / y`, `x log(y)`, `x log(1 + y)`, and 0 where x is."""
    x, y = op.operands

    def otherwise(safe: Value) -> Value:
        if op.name == "tf.Xdivy":
            return rw.emit("top.Div", safe, y)
        return rw.emit("top.Mul", safe, rw.emit("top.Log" if op.name == "tf.Xlogy" else "top.Log1p", y))

    return where_zero(rw, x, otherwise)


@TABLE("LeftShift", "RightShift")
def shift(op: Op, rw: Rewriter) -> Value:
    """LeftShift, RightShift; the number of places is brought between 0 and the width less one, as TensorFlow does."""
    value, places = op.operands
    element = value.element
    if not isinstance(element, IntegerType):
        raise Unsupported(f"shifts {element}")
    most = element.width - 1
    held = rw.constant_of(places)
    if held is None or (held.size and (held.min() < 0 or held.max() > most)):
        places = rw.emit("top.Min", rw.emit("top.Max", places, scalar_like(rw, places, 0)), scalar_like(rw, places, most))
    return rw.emit("top.ShiftLeft" if op.name == "tf.LeftShift" else "top.ShiftRight", value, places)


@TABLE("Select", "SelectV2")
def select(op: Op, rw: Rewriter) -> Value:
    """Select, SelectV2; a vector of conditions chooses rows in Select, and broadcasts from behind in SelectV2."""
    condition, chosen, other = op.operands
    rank = len(shape_of(chosen))
    if op.name == "tf.Select" and len(shape_of(condition)) == 1 and rank > 1:
        condition = reshape(rw, condition, (*shape_of(condition), *(1,) * (rank - 1)))
    return rw.emit("top.Where", condition, chosen, other)


@TABLE("ClipByValue")
def clip_by_value(op: Op, rw: Rewriter) -> Value:
    """ClipByValue."""
    value, low, high = op.operands
    return rw.emit("top.Min", rw.emit("top.Max", value, low), high)


@TABLE("BiasAdd", "BiasAddV1")
def bias_add(op: Op, rw: Rewriter) -> Value:
    """BiasAdd: a number for each channel."""
    value, bias = op.operands
    rank = len(shape_of(value, least=2))
    if not channels_last(op) and rank > 2:
        bias = reshape(rw, bias, (*shape_of(bias, 1), *(1,) * (rank - 2)))
    return rw.emit("top.Add", value, bias)


@TABLE("BiasAddGrad")
def bias_add_grad(op: Op, rw: Rewriter) -> Value:
    """BiasAddGrad: the sum over all dimensions but that of the channels."""
    value = op.operands[0]
    rank = len(shape_of(value, least=2))
    channel = rank - 1 if channels_last(op) else 1
    others = tuple(axis for axis in range(rank) if axis != channel)
    return rw.emit("top.Reduce", value, axes=others, keepdims=False, mode="ReduceSum")


# --- types

@TABLE("Cast")
def cast_(op: Op, rw: Rewriter) -> Value:
    """Cast: numbers lose their fraction, and what is out of an integer's range wraps round, as C++ mostly does."""
    value, element = op.operands[0], stored(element_of(op))
    floats = isinstance(value.element, FloatType) and isinstance(element, FloatType)
    if attr(op, "Truncate", False) and floats and dtype_of(element).itemsize < dtype_of(value.element).itemsize:
        raise Unsupported(f"cuts off the bits of {value.element} that {element} has not, where casts round",
                          "cast without `Truncate`, if the last bits do not matter")
    return cast(rw, value, element)


@TABLE("Bitcast")
def bitcast(op: Op, rw: Rewriter) -> Value:
    """Bitcast between types of one width; of a constant between any."""
    value, element = op.operands[0], stored(element_of(op))
    if value.element == element:
        return value
    if dtype_of(value.element).itemsize == dtype_of(element).itemsize:
        return rw.emit("top.Bitcast", value, element=element)
    held = np.asarray(constant_array(rw, value, "what is read as a type of another width"), order="C")
    wanted = dtype_of(element)
    if wanted.itemsize < held.dtype.itemsize:
        return rw.constant(held[..., None].view(wanted), element=element)
    if not held.ndim or held.shape[-1] * held.dtype.itemsize != wanted.itemsize:
        raise Unsupported(f"reads {held.dtype} of shape {list(held.shape)} as {element}")
    return rw.constant(held.view(wanted)[..., 0], element=element)

