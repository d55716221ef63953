"""Ops on floats and on truth values: functions, quotients, normalizations by constants, relations, choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, FloatType, IntegerType, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.quotients import divides_exactly
from transload_hub.simplify.floor_division import floor_division

from .common import activation, need, quantized, reshape, same_numbers, static
from .elementwise import equal_rank
from .functions import limits_of_clamp

if TYPE_CHECKING:
    from transload_hub.ops.activation import GELU, Clip, Elu, HardSigmoid, LeakyRelu, Relu, Sigmoid
    from transload_hub.ops.elementwise import AddConst, Compare, FloorDiv, MulConst, Scale, ShiftRight, Where
    from transload_hub.ops.normalization import BatchNorm, Normalize

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _of_floats(op: Op) -> bool:
    """Whether operands and results are floats of one type."""
    elements = {value.element for value in (*op.operands, *op.results)}
    return len(elements) == 1 and isinstance(elements.pop(), FloatType)


def _unary(op: Op, rw: Rewriter, function: str, alpha: float = 0.0, **bounds: Any) -> Value | None:
    if not _of_floats(op):
        return None
    need(rw, "unary", op.operands[0])
    static(op.operands[0])
    made: Value = rw.emit("tpu.unary", op.operands[0], function=function, alpha=alpha, **bounds)
    return made


_SIMPLE = {
    "Abs": "abs", "Ceil": "ceil", "Cos": "cos", "Erf": "erf", "Exp": "exp", "Floor": "floor", "HardSwish": "hard_swish",
    "Log": "log", "Mish": "mish", "Neg": "negate", "Reciprocal": "reciprocal", "Round": "round", "Rsqrt": "rsqrt", "SiLU": "silu",
    "Sign": "sign", "Sin": "sin", "Softplus": "softplus", "Sqrt": "sqrt", "Square": "square", "Tanh": "tanh",
}


@TABLE(*(f"top.{name}" for name in _SIMPLE))
def simple(op: Op, rw: Rewriter) -> Value | None:
    return _unary(op, rw, _SIMPLE[op.name.removeprefix("top.")])


@TABLE("top.Sigmoid")
def sigmoid(op: Sigmoid, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "sigmoid") if (op.scale, op.bias, op.log) == (1.0, 0.0, False) else None


@TABLE("top.GELU")
def gelu(op: GELU, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "gelu_tanh" if op.approx else "gelu")


@TABLE("top.HardSigmoid")
def hard_sigmoid(op: HardSigmoid, rw: Rewriter) -> Value | None:
    """A product, and a sum between 0 and 1."""
    scaled = _unary(op, rw, "mul", op.alpha)
    return None if scaled is None else rw.emit("tpu.unary", scaled, function="add", alpha=op.beta, low=0.0, high=1.0)


@TABLE("top.Normalize")
def normalize(op: Normalize, rw: Rewriter) -> Value | None:
    """Over the root of the sum of squares, which is not less than `eps`."""
    x = op.input
    squares = _unary(op, rw, "square")
    if squares is None:
        return None
    need(rw, "reduce", x)
    need(rw, "mul", x)
    total = rw.emit("tpu.reduce", squares, function="sum", axes=tuple(sorted(axis % x.rank for axis in op.axes)), low=op.eps)
    made: Value = rw.emit("tpu.mul", x, rw.emit("tpu.unary", total, function="rsqrt"))
    return made


@TABLE("top.LeakyRelu")
def leaky_relu(op: LeakyRelu, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "leaky_relu", op.alpha)


@TABLE("top.Elu")
def elu(op: Elu, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "elu", op.alpha)


@TABLE("top.AddConst")
def add_constant(op: AddConst, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "add", op.const_val, **activation(op))


@TABLE("top.MulConst")
def mul_constant(op: MulConst, rw: Rewriter) -> Value | None:
    return _unary(op, rw, "mul", op.const_val, **activation(op))


@TABLE("top.Relu", "top.Clip")
def clamp(op: Relu | Clip, rw: Rewriter) -> Value | None:
    low, high = limits_of_clamp(op)
    return _unary(op, rw, "identity", **{
        key: value for key, value in (("low", low), ("high", high)) if not math.isinf(value)})


_PAIRS = {"Div": "div", "Pow": "pow", "PRelu": "prelu", "SquaredDifference": "squared_difference", "Atan2": "atan2"}


@TABLE(*(f"top.{name}" for name in _PAIRS))
def pair(op: Op, rw: Rewriter) -> Value | None:
    if not _of_floats(op) or len(op.operands) != 2:
        return None
    if op.attribute("do_relu", False):
        raise Unsupported("an activation behind it")
    return _joined(op, rw, _PAIRS[op.name.removeprefix("top.")], op.operands)


@TABLE("top.FloorDiv")
def floor_divide(op: FloorDiv, rw: Rewriter) -> Value | None:
    """Of the rounded quotient; of another one where the divisor rounds nothing."""
    if not _of_floats(op):
        return None
    if op.quotient == "rounded":
        return _joined(op, rw, "floor_div", op.operands)
    if not divides_exactly(op.b):
        raise Unsupported("the floor of a quotient that is not rounded before")
    return floor_division(op, rw)


@TABLE("top.FloorDiv", "top.ShiftRight")
def whole(op: FloorDiv | ShiftRight, rw: Rewriter) -> Value | None:
    """Of integers of 32 bits."""
    if any(value.element != I32 for value in (*op.operands, op.result)):
        return None
    return _joined(op, rw, "floor_div" if op.name == "top.FloorDiv" else "shift_right", op.operands)


def _joined(op: Op, rw: Rewriter, function: str, values: Sequence[Value]) -> Value:
    need(rw, "binary", *values)
    made: Value = rw.emit("tpu.binary", *equal_rank(rw, *values), function=function)
    if made.shape != op.results[0].shape:
        raise Unsupported(f"a result of {made.type}, which is {op.results[0].type}")
    return made


@TABLE("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value | None:
    """A product and a sum."""
    if not _of_floats(op):
        return None
    return _affine(op, rw, op.input, op.scale, op.bias)


@TABLE("top.BatchNorm")
def batch_norm(op: BatchNorm, rw: Rewriter) -> Value | None:
    """A factor and an addend a channel, made of constants."""
    arrays = [rw.constant_of(value) for value in op.operands[1:]]
    if not isinstance(op.input.element, FloatType) or op.layout != "NCHW" or any(array is None for array in arrays):
        return None
    mean, variance = (np.asarray(array, np.float64) for array in arrays[:2])
    gamma = np.asarray(rw.constant_of(op.gamma), np.float64) if op.gamma is not None else np.ones_like(mean)
    beta = np.asarray(rw.constant_of(op.beta), np.float64) if op.beta is not None else np.zeros_like(mean)
    factor = gamma / np.sqrt(variance + op.epsilon)
    shape = (1, -1, *(1,) * (op.input.rank - 2))
    values = [rw.constant(each.reshape(shape).astype(np.float32), element=op.input.element)
              for each in (factor, beta - mean * factor)]
    return _affine(op, rw, op.input, *values)


def _affine(op: Op, rw: Rewriter, x: Value, factor: Value, addend: Value) -> Value:
    need(rw, "mul", x)
    need(rw, "add", x)
    product = rw.emit("tpu.mul", *equal_rank(rw, x, factor))
    made: Value = rw.emit("tpu.add", *equal_rank(rw, product, addend), **activation(op))
    return made


_RELATIONS = {"Equal": "equal", "NotEqual": "not_equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
              "LessOrEqual": "less_equal"}


@TABLE("top.Compare")
def compare(op: Compare, rw: Rewriter) -> Value | None:
    """Of floats, and of integers of 32 bits."""
    element = op.lhs.element
    plain = isinstance(element, FloatType) or (isinstance(element, IntegerType) and element.width == 32)
    if element != op.rhs.element or not plain:
        return None
    return _joined(op, rw, _RELATIONS[str(op.mode)], (op.lhs, op.rhs))


_LOGIC = {"LogicalAnd": "and", "LogicalOr": "or", "LogicalXor": "xor"}


@TABLE(*(f"top.{name}" for name in _LOGIC))
def connect(op: Op, rw: Rewriter) -> Value | None:
    if any(value.element != BOOL for value in op.operands):
        return None
    return _joined(op, rw, _LOGIC[op.name.removeprefix("top.")], op.operands)


@TABLE("top.LogicalNot")
def negate(op: Op, rw: Rewriter) -> Value | None:
    if op.operands[0].element != BOOL:
        return None
    need(rw, "unary", op.operands[0])
    made: Value = rw.emit("tpu.unary", op.operands[0], function="not")
    return made


@TABLE("top.Where")
def where(op: Where, rw: Rewriter) -> Value | None:
    a, b = op.tbrn, op.fbrn
    target = quantized(op.result)
    alike = a.element == b.element == op.result.element
    if target is not None:
        types: list[Any] = [quantized(a), quantized(b)]
        alike = all(type_ is not None and same_numbers(type_, target) for type_ in types)
    if not alike:
        return None
    need(rw, "select", a)
    made: Value = rw.emit("tpu.select", *equal_rank(rw, op.condition, a, b), element=op.result.element)
    return reshape(rw, made, static(op.result))
