"""Activations and arithmetic, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Dense, Op, SplatData, TensorType, Value
from transload.rewrite import Rewriter

from .common import CaffeTable, along, axis_of, bottom, flags, number, reshape, shape_of

__all__ = ["TABLE"]

TABLE = CaffeTable()

_PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "AbsVal": ("top.Abs", {}), "BNLL": ("top.Softplus", {}), "Mish": ("top.Mish", {}), "Sigmoid": ("top.Sigmoid", {}),
    "TanH": ("top.Tanh", {}), "HSwish": ("top.HardSwish", {}), "HSigmoid": ("top.HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
}
"""Layers without parameters, and the hub's ops."""
_CHAIN = 4
"""The greatest power that is written as products."""


@TABLE(*_PLAIN)
def plain(op: Op, rw: Rewriter) -> Value:
    """Functions that the hub has."""
    name, attributes = _PLAIN[op.name.partition(".")[2]]
    return rw.emit(name, op.operands[0], **attributes)


@TABLE("Dropout")
def dropout(op: Any, rw: Rewriter) -> Value:
    """Dropout does nothing in inference, but where training did not make up for what it dropped."""
    if op.sample_weights_test:
        raise Unsupported("it drops at random in inference, too (sample_weights_test)")
    if op.scale_train:
        kept: Value = op.operands[0]
        return kept
    made: Value = rw.emit("top.MulConst", op.operands[0], const_val=1.0 - op.dropout_ratio)
    return made


@TABLE("Split")
def split(op: Op, rw: Rewriter) -> list[Value]:
    """The same value for each that takes it."""
    return [op.operands[0]] * len(op.results)


@TABLE("ReLU")
def relu(op: Any, rw: Rewriter) -> Value:
    """ReLU, leaky where it has a slope."""
    return _leaky(rw, op.operands[0], op.negative_slope)


@TABLE("ReLU6")
def relu6(op: Any, rw: Rewriter) -> Value:
    """ReLU with an upper limit."""
    if op.threshold < 0:
        raise Unsupported(f"its threshold is {op.threshold}")
    if not op.negative_slope:
        made: Value = rw.emit("top.Relu", op.operands[0], relu_limit=op.threshold)
        return made
    return rw.emit("top.Min", _leaky(rw, op.operands[0], op.negative_slope), number(rw, op.threshold))


def _leaky(rw: Rewriter, x: Value, slope: float) -> Value:
    return rw.emit("top.LeakyRelu", x, alpha=slope) if slope else rw.emit("top.Relu", x)


@TABLE("PReLU")
def prelu(op: Op, rw: Rewriter) -> Value:
    """A slope a channel, or one for all."""
    x, slope = op.operands[0], op.operands[1]
    rank = len(shape_of(x))
    return rw.emit("top.PRelu", x, along(rw, slope, min(1, rank - 1), rank))


@TABLE("ELU")
def elu(op: Any, rw: Rewriter) -> Value:
    """ELU."""
    return rw.emit("top.Elu", op.operands[0], alpha=op.alpha)


@TABLE("Swish")
def swish(op: Any, rw: Rewriter) -> Value:
    """`x * sigmoid(beta * x)`."""
    x = op.operands[0]
    if op.beta == 1:
        return rw.emit("top.SiLU", x)
    return rw.emit("top.Mul", x, rw.emit("top.Sigmoid", rw.emit("top.MulConst", x, const_val=op.beta)))


@TABLE("Clip")
def clip(op: Any, rw: Rewriter) -> Value:
    """Between two numbers, both of which Caffe demands."""
    if op.attribute("min") is None or op.attribute("max") is None:
        raise Unsupported("has no min or no max, and Clip needs both")
    return rw.emit("top.Clip", op.operands[0], min=op.attribute("min"), max=op.attribute("max"))


@TABLE("Threshold")
def threshold(op: Any, rw: Rewriter) -> Value:
    """1 above, else 0."""
    return rw.emit("top.Cast", flags(rw, op.operands[0], "Greater", number(rw, op.threshold)), element=F32)


def _affine(rw: Rewriter, x: Value, scale: float, shift: float) -> Value:
    """`shift + scale * x`."""
    if scale != 1:
        x = rw.emit("top.MulConst", x, const_val=scale)
    return rw.emit("top.AddConst", x, const_val=shift) if shift else x


def _everywhere(rw: Rewriter, like: Value, base: float, exponent: float) -> Value:
    """A power of a number in the shape of another value."""
    shape = shape_of(like)
    with np.errstate(all="ignore"):
        value = np.float32(np.float64(base) ** exponent)
    return rw.constant(Dense(SplatData(value, shape, np.float32), TensorType(shape, F32)))


@TABLE("Power")
def power(op: Any, rw: Rewriter) -> Value:
    """Small whole powers are products: those of negative numbers are so, too, on every target."""
    exponent = op.attribute("power")
    if exponent * op.scale == 0:  # no input changes it, infinity and NaN neither
        return _everywhere(rw, op.operands[0], op.shift, exponent)
    x = _affine(rw, op.operands[0], op.scale, op.shift)
    if exponent == 1:
        return x
    if not math.isfinite(exponent):
        raise Unsupported(f"its power is {exponent}")
    if abs(exponent) <= _CHAIN and exponent == int(exponent):
        made = x
        for _ in range(int(abs(exponent)) - 1):
            made = rw.emit("top.Mul", made, x)
        return made if exponent > 0 else rw.emit("top.Div", number(rw, 1.0), made)
    return rw.emit("top.Pow", x, number(rw, exponent))


def _base(op: Any) -> float:
    """The logarithm of a layer's base."""
    if op.base == -1:
        return 1.0
    if not op.base > 0:
        raise Unsupported(f"its base is {op.base}: it must be positive, or -1 for e")
    return math.log(op.base)


@TABLE("Exp")
def exp(op: Any, rw: Rewriter) -> Value:
    """`base^shift * e^(ln(base) * scale * x)`."""
    base = _base(op)
    made: Value = rw.emit("top.Exp", _affine(rw, op.operands[0], base * op.scale, 0.0))
    return _affine(rw, made, math.exp(min(base * op.shift, 700.0)), 0.0) if op.shift else made


@TABLE("Log")
def log(op: Any, rw: Rewriter) -> Value:
    """`ln(shift + scale * x) / ln(base)`."""
    base = _base(op)
    if base == 0:
        raise Unsupported("its base is 1")
    made: Value = rw.emit("top.Log", _affine(rw, op.operands[0], op.scale, op.shift))
    return _affine(rw, made, 1 / base, 0.0)


@TABLE("Eltwise")
def eltwise(op: Any, rw: Rewriter) -> Value:
    """Product, sum or maximum of tensors of one shape."""
    values = op.operands
    shapes = [shape_of(value) for value in values]
    if any(shape != shapes[0] for shape in shapes):
        raise Unsupported(f"its bottoms have the shapes {', '.join(str(list(shape)) for shape in dict.fromkeys(shapes))}")
    coeff = tuple(op.coeff or ())
    if coeff and len(coeff) != len(values):
        raise Unsupported(f"has {len(coeff)} coefficients for {len(values)} bottoms")
    if coeff and op.operation != "SUM":
        raise Unsupported("has coefficients, which only the sum takes")
    if len(values) == 1:
        return rw.emit("top.MulConst", values[0], const_val=coeff[0]) if coeff else values[0]
    name = {"PROD": "top.Mul", "SUM": "top.Add", "MAX": "top.Max"}[op.operation]
    return rw.emit(name, *values, coeff=coeff) if coeff and any(c != 1 for c in coeff) else rw.emit(name, *values)


@TABLE("Scale")
def scale(op: Any, rw: Rewriter) -> Value:
    """A factor, and with bias_term a summand, that broadcast from axis on."""
    x, factor, summand = op.operands[0], op.operands[1], bottom(op, 2)
    rank = len(shape_of(x))
    axis = axis_of(op.axis, rank) if shape_of(factor) else 0
    factor = along(rw, factor, axis, rank)
    if summand is None:
        return rw.emit("top.Mul", x, factor)
    return rw.emit("top.Scale", x, factor, along(rw, summand, axis, rank))


@TABLE("Bias")
def bias(op: Any, rw: Rewriter) -> Value:
    """A summand that broadcasts from axis on."""
    x, summand = op.operands[0], op.operands[1]
    rank = len(shape_of(x))
    axis = axis_of(op.axis, rank) if shape_of(summand) else 0
    return rw.emit("top.Add", x, along(rw, summand, axis, rank))


@TABLE("Axpy")
def axpy(op: Op, rw: Rewriter) -> Value:
    """`scale * x + y`, scale [N, C] or [N, C, 1, 1]."""
    factor, x, y = op.operands
    shape = shape_of(x)
    if len(shape) < 2 or shape_of(y) != shape or shape_of(factor)[:2] != shape[:2] or max(shape_of(factor)[2:], default=1) > 1:
        raise Unsupported(f"its bottoms have the shapes {', '.join(str(list(shape_of(value))) for value in op.operands)}")
    factor = reshape(rw, factor, shape[:2] + (1,) * (len(shape) - 2))
    return rw.emit("top.Add", rw.emit("top.Mul", x, factor), y)
