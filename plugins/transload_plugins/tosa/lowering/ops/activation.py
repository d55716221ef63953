"""Activation functions of floats, by TOSA's operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import F32, I32, FloatType, IntegerType, Op, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import clamp_reals, dequantize, quant
from .common import binary, cast, compare, exact, flat, like, narrowed, negate, plain_into, select, unary
from .functions import expm1_below, softplus

if TYPE_CHECKING:
    from transload_hub.ops.activation import (
        GELU,
        Clip,
        HardSigmoid,
        HardSwish,
        LeakyRelu,
        Mish,
        PRelu,
        Relu,
        Shrink,
        Sigmoid,
        SiLU,
        Softplus,
        Softsign,
        ThresholdedRelu,
    )
    from transload_hub.ops.base import Unary

__all__ = ["TABLE", "by_sign", "clip_limits"]

TABLE = RewriteTable()

plain = plain_into(TABLE)


def _add(rw: Rewriter, a: Value, b: Value | float) -> Value:
    return binary(rw, "add", a, b if isinstance(b, Value) else like(rw, a, b))


def _mul(rw: Rewriter, a: Value, b: Value | float) -> Value:
    if not isinstance(b, Value) and b == 1.0:
        return a
    return binary(rw, "mul", a, b if isinstance(b, Value) else like(rw, a, b))


def _clamp(rw: Rewriter, x: Value, low: float, high: float) -> Value:
    return flat(rw, x, lambda x: build.clamp(rw, x, low, high))


def by_sign(rw: Rewriter, x: Value, positive: Value, negative: Value) -> Value:
    """`positive` where `x` is not negative, `negative` elsewhere."""
    return select(rw, compare(rw, "GreaterOrEqual", x, like(rw, x, 0)), positive, negative)


def clip_limits(op: Op) -> tuple[float, float]:
    """The reals between which Relu and Clip leave a number as it is; of limits the wrong way round the upper one holds."""
    if op.name == "top.Relu":
        return 0.0, op.relu_limit if op.relu_limit >= 0 else math.inf
    return min(op.min, op.max), op.max


@plain("top.Relu", "top.Clip")
def clamp(op: Clip | Relu, rw: Rewriter) -> Value:
    """CLAMP; of i32, which CLAMP does not take, MAXIMUM and MINIMUM."""
    low, high = clip_limits(op)
    element = storage_of(op.input)
    if isinstance(element, FloatType):
        return flat(rw, op.input, lambda x: clamp_reals(rw, x, low, high))
    if isinstance(element, IntegerType) and element.width > 1:
        least, greatest = element.range
        low, high = (min(max(limit, least), greatest) for limit in (low, high))
        return _clamp(rw, op.input, math.ceil(low), math.floor(high))
    raise Unsupported(f"TOSA has no clamp of {element}")


@plain("top.Sigmoid")
def sigmoid(op: Sigmoid, rw: Rewriter) -> Value:
    """SIGMOID; its logarithm as `-softplus(-x)`, which does not lose small numbers."""
    x = op.input
    if op.log and (op.scale, op.bias) == (1.0, 0.0):
        return narrowed(rw, negate(rw, softplus(rw, negate(rw, cast(rw, x, F32)))), op)
    y = _mul(rw, unary(rw, "sigmoid", x), op.scale)
    y = _add(rw, y, op.bias) if op.bias else y
    return unary(rw, "log", y) if op.log else y


@plain("top.Tanh", "top.Erf")
def direct(op: Unary, rw: Rewriter) -> Value:
    """TANH, ERF."""
    return unary(rw, op.name.partition(".")[2].lower(), op.input)


@plain("top.SiLU")
def silu(op: SiLU, rw: Rewriter) -> Value:
    """`x * SIGMOID(x)`."""
    return _mul(rw, op.input, unary(rw, "sigmoid", op.input))


@plain("top.HardSigmoid")
def hard_sigmoid(op: HardSigmoid, rw: Rewriter) -> Value:
    """`CLAMP(alpha * x + beta, 0, 1)`; of narrow floats in f32, as what is clamped may be beyond their range."""
    x = exact(rw, op.input)
    return narrowed(rw, _clamp(rw, _add(rw, _mul(rw, x, op.alpha), op.beta), 0.0, 1.0), op)


@plain("top.HardSwish")
def hard_swish(op: HardSwish, rw: Rewriter) -> Value:
    """`x * CLAMP(x + 3, 0, 6) / 6` (tfl.hard_swish); in f32, as `6 * x` is beyond f16 where x is not."""
    x = cast(rw, op.input, F32)
    gate = _clamp(rw, _add(rw, x, 3.0), 0.0, 6.0)
    return narrowed(rw, _mul(rw, _mul(rw, x, gate), 1.0 / 6.0), op)


@plain("top.GELU")
def gelu(op: GELU, rw: Rewriter) -> Value:
    """`x / 2 * (1 + ERF(x / sqrt(2)))`, or the form with TANH."""
    x = op.input
    if op.approx:
        cubed = _mul(rw, _mul(rw, x, x), x)
        inner = unary(rw, "tanh", _mul(rw, _add(rw, x, _mul(rw, cubed, 0.044715)), math.sqrt(2.0 / math.pi)))
    else:
        inner = unary(rw, "erf", _mul(rw, x, math.sqrt(0.5)))
    return _mul(rw, _mul(rw, x, 0.5), _add(rw, inner, 1.0))


@plain("top.Elu", "top.Selu", "top.Celu")
def elu(op: Op, rw: Rewriter) -> Value:
    """`alpha * (EXP(x) - 1)` below zero, where lower_elu_op loses small numbers: see `expm1_below`. Narrow floats in f32."""
    x = cast(rw, op.operands[0], F32)
    exponent = _mul(rw, x, 1.0 / op.alpha) if op.name == "top.Celu" else x
    if op.name == "top.Celu" and op.alpha < 0:  # the exponent of what is below zero is above it
        below = negate(rw, _mul(rw, expm1_below(rw, negate(rw, exponent)), unary(rw, "exp", exponent)))
    else:
        below = expm1_below(rw, exponent)
    y = select(rw, compare(rw, "Greater", x, like(rw, x, 0)), x, _mul(rw, below, op.alpha))
    return narrowed(rw, _mul(rw, y, op.gamma) if op.name == "top.Selu" else y, op)


@plain("top.Softplus")
def softplus_of(op: Softplus, rw: Rewriter) -> Value:
    """See `softplus`; of floats narrower than f32 in that."""
    return narrowed(rw, softplus(rw, cast(rw, op.input, F32)), op)


@plain("top.Softsign")
def softsign(op: Softsign, rw: Rewriter) -> Value:
    """`x * RECIPROCAL(1 + |x|)`."""
    return _mul(rw, op.input, unary(rw, "reciprocal", _add(rw, unary(rw, "abs", op.input), 1.0)))


@plain("top.Mish")
def mish(op: Mish, rw: Rewriter) -> Value:
    """`x * tanh(log(1 + e))` with `e = EXP(x)` as `x * n / (n + 2)` with `n = e (e + 2)`, whose quotient is 1 from x = 20 on.

    Neither logarithm nor TANH, which lose small numbers; in f32, as n of an f16 is beyond it, or has few bits left.
    """
    x = cast(rw, op.input, F32)
    power = unary(rw, "exp", binary(rw, "minimum", x, like(rw, x, 20)))
    above = _mul(rw, power, _add(rw, power, 2.0))
    return narrowed(rw, _mul(rw, x, _mul(rw, above, unary(rw, "reciprocal", _add(rw, above, 2.0)))), op)


@plain("top.ThresholdedRelu")
def thresholded_relu(op: ThresholdedRelu, rw: Rewriter) -> Value:
    """`x` where it is GREATER than alpha: than that itself, which as f16 would be another number."""
    x, wide = op.input, exact(rw, op.input)
    return select(rw, compare(rw, "Greater", wide, like(rw, wide, op.alpha)), x, like(rw, x, 0))


@plain("top.Shrink")
def shrink(op: Shrink, rw: Rewriter) -> Value:
    """`x` moved towards zero by `bias` outside `lambd`, zero inside; in f32, which holds the two as they are."""
    x = exact(rw, op.input)
    below = select(rw, compare(rw, "Less", x, like(rw, x, -op.lambd)), _add(rw, x, op.bias), like(rw, x, 0))
    return narrowed(rw, select(rw, compare(rw, "Greater", x, like(rw, x, op.lambd)), _add(rw, x, -op.bias), below), op)


@plain("top.LeakyRelu")
def leaky_relu(op: LeakyRelu, rw: Rewriter) -> Value:
    """`MAXIMUM(x, alpha * x)` where that says it, else SELECT: an alpha that is 0 in the type makes NaN of infinity."""
    x = op.input
    below = _mul(rw, x, op.alpha)
    if 0.0 < dtype_of(x.element).type(op.alpha) <= 1.0:
        return binary(rw, "maximum", x, below)
    return by_sign(rw, x, x, below)


@TABLE("top.PRelu")
def prelu(op: PRelu, rw: Rewriter) -> Value | None:
    """`x` or `slope * x`; a quantized constant slope of floats is dequantized."""
    x = op.input
    if quant(x) is not None or quant(op.result) is not None:
        return None
    if isinstance(x.element, IntegerType) and x.element != I32:
        raise Unsupported(f"a slope of {x.element}, whose products are of 32 bits", "quantize them, or cast them to i32")
    slope = dequantize(rw, op.slope, x.element) if quant(op.slope) is not None else op.slope
    return by_sign(rw, x, x, binary(rw, "mul", x, slope))
