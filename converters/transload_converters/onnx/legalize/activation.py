"""Activation functions, clipping and softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, FloatType, IntegerType, Op, Value
from transload.rewrite import Rewriter

from .table import OnnxTable, attr, axis_of, cast, choice, need, operand, opset, reshape, scalar_like, shape_of

TABLE = OnnxTable()

_PLAIN = {"Sigmoid": "Sigmoid", "HardSwish": "HardSwish", "Softplus": "Softplus", "Softsign": "Softsign", "Mish": "Mish"}
_WITH_ATTRIBUTES: dict[str, tuple[str, dict[str, float]]] = {
    "LeakyRelu": ("LeakyRelu", {"alpha": 0.01}),
    "Elu": ("Elu", {"alpha": 1.0}),
    "Celu": ("Celu", {"alpha": 1.0}),
    "Selu": ("Selu", {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "HardSigmoid": ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    "ThresholdedRelu": ("ThresholdedRelu", {"alpha": 1.0}),
    "Shrink": ("Shrink", {"bias": 0.0, "lambd": 0.5}),
}

_ABOVE_ZERO = {"Shrink": ("lambd",), "Celu": ("alpha",)}


@TABLE(*(f"onnx.{name}" for name in _PLAIN))
def plain(op: Op, rw: Rewriter) -> Value:
    """Activations without attributes."""
    return rw.emit(f"top.{_PLAIN[op.name.rpartition('.')[2]]}", need(op, 0))


@TABLE(*(f"onnx.{name}" for name in _WITH_ATTRIBUTES))
def with_attributes(op: Op, rw: Rewriter) -> Value:
    """Activations whose attributes are the hub's; ONNX's defaults are written out."""
    target, defaults = _WITH_ATTRIBUTES[op.name.rpartition(".")[2]]
    attributes: dict[str, Any] = {key: float(attr(op, key, default)) for key, default in defaults.items()}
    value = need(op, 0)
    for name in _ABOVE_ZERO.get(target, ()):
        if not attributes[name] >= 0.0:
            raise Unsupported(f"has a {name} of {attributes[name]:g}: of less than 0 runtimes make different functions")
    if value.is_float:
        return rw.emit(f"top.{target}", value, **attributes)
    if isinstance(value.element, IntegerType) and target == "Shrink":
        return cast(rw, rw.emit("top.Shrink", cast(rw, value, F32), **attributes), value.element)
    raise Unsupported(f"works on {value.element}, and must work on floats")


@TABLE("onnx.Relu")
def relu(op: Op, rw: Rewriter) -> Value:
    """Relu."""
    return rw.emit("top.Relu", need(op, 0))


@TABLE("onnx.PRelu")
def prelu(op: Op, rw: Rewriter) -> Value:
    """PRelu: the slope broadcasts to the input. One number a channel, which does not, is taken as that, whatever the opset.

    Before opset 7 slopes always are those of channels: `ancient` has given them their axes by then.
    """
    value, slope = need(op, 0), need(op, 1)
    shape, held = shape_of(value), shape_of(slope)
    if len(shape) > 2 and held == (shape[1],) and held[0] not in (1, shape[-1]):
        slope = reshape(rw, slope, (*held, *(1,) * (len(shape) - 2)))
    return rw.emit("top.PRelu", value, slope)


@TABLE("onnx.Gelu")
def gelu(op: Op, rw: Rewriter) -> Value:
    """Gelu, exact or by tanh."""
    approximate = choice(op, "approximate", ("none", "tanh"), "none")
    return rw.emit("top.GELU", need(op, 0), approx=approximate == "tanh")


@TABLE("onnx.Swish")
def swish(op: Op, rw: Rewriter) -> Value:
    """Swish: `x * sigmoid(alpha * x)`."""
    value, alpha = need(op, 0), float(attr(op, "alpha", 1.0))
    if alpha == 1.0:
        return rw.emit("top.SiLU", value)
    gate = rw.emit("top.Sigmoid", rw.emit("top.MulConst", value, const_val=alpha))
    return rw.emit("top.Mul", value, gate)


# --- clipping


@TABLE("onnx.Clip")
def clip(op: Op, rw: Rewriter) -> Value:
    """Clip by attributes (up to opset 10) or operands. Zero to some limit is a Relu."""
    value = need(op, 0)
    if opset(op) < 11:
        return _clip(rw, value, _number(attr(op, "min")), _number(attr(op, "max")))
    low, high = operand(op, 1), operand(op, 2)
    if any(bound is not None and rw.constant_of(bound) is None for bound in (low, high)):
        return _clip_by_values(rw, value, low, high)
    return _clip(rw, value, *(None if bound is None else rw.need_number(bound, "a limit") for bound in (low, high)))


def _number(bound: Any) -> float | int | None:
    return None if bound is None else np.asarray(bound).reshape(-1)[0].item()


def _clip(rw: Rewriter, value: Value, low: float | int | None, high: float | int | None) -> Value:
    if low is None and high is None:
        return value
    if not isinstance(value.element, FloatType):  # integers: exact whatever their width
        if low is not None:
            value = rw.emit("top.Max", value, scalar_like(rw, value, low))
        return value if high is None else rw.emit("top.Min", value, scalar_like(rw, value, high))
    lowest = -math.inf if low is None else float(low)
    highest = math.inf if high is None else float(high)
    if lowest == 0 and highest >= 0:
        # The greatest finite number as a limit is how exporters write "none".
        unlimited = highest >= float(np.finfo(np.float32).max)
        return rw.emit("top.Relu", value, relu_limit=None if unlimited else highest)
    return rw.emit("top.Clip", value, min=min(lowest, highest), max=highest)


def _clip_by_values(rw: Rewriter, value: Value, low: Value | None, high: Value | None) -> Value:
    if low is not None:
        value = rw.emit("top.Max", value, low)
    return value if high is None else rw.emit("top.Min", value, high)


# --- softmax and what is like it


@TABLE("onnx.Softmax", "onnx.LogSoftmax")
def softmax(op: Op, rw: Rewriter) -> Value:
    """Softmax along an axis; up to opset 12, over all dimensions from the axis on together."""
    value = need(op, 0)
    log = op.name == "onnx.LogSoftmax" or None
    return _over_axis(op, rw, value, lambda x, axis: rw.emit("top.Softmax", x, axis=axis, log=log))


@TABLE("onnx.Hardmax")
def hardmax(op: Op, rw: Rewriter) -> Value:
    """Hardmax: 1 at the first greatest element along an axis, 0 elsewhere."""

    def largest(x: Value, axis: int) -> Value:
        place = rw.emit("top.Arg", x, axis=axis, keepdims=False, mode="ArgMax")
        return rw.emit("top.OneHot", place, scalar_like(rw, x, 1), scalar_like(rw, x, 0), depth=shape_of(x)[axis], axis=axis)

    return _over_axis(op, rw, need(op, 0), largest)


def _over_axis(op: Op, rw: Rewriter, value: Value, apply: Any) -> Value:
    """`apply(x, axis)` as Softmax, LogSoftmax and Hardmax mean their axis in the model's opset."""
    shape = shape_of(value)
    rank = len(shape)
    if opset(op) >= 13:
        axis = axis_of(attr(op, "axis", -1), rank)
        return apply(value, axis) if rank else rw.emit("top.Reshape", apply(reshape(rw, value, (1,)), 0), shape=())
    axis = attr(op, "axis", 1)
    if not -rank <= axis <= rank:
        raise Unsupported(f"axis {axis} is outside a tensor of rank {rank}")
    axis = axis + rank if axis < 0 else axis
    if rank and math.prod(shape[axis:]) == shape[-1] and axis < rank:
        return apply(value, rank - 1)
    flat = reshape(rw, value, (math.prod(shape[:axis]), math.prod(shape[axis:])))
    return reshape(rw, apply(flat, 1), shape)
