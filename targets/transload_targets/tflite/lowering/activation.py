"""Activation functions and softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I16, UI8, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .common import (
    between,
    constant,
    emit,
    int32,
    is_narrow,
    need_rounding,
    quant,
    quantized_result,
    real,
    retyped,
    static_shape,
    transpose,
)
from .functions import log1p_near

if TYPE_CHECKING:
    from transload_hub.ops.activation import (
        GELU,
        Celu,
        Clip,
        Elu,
        HardSigmoid,
        HardSwish,
        LeakyRelu,
        Mish,
        PRelu,
        Relu,
        Selu,
        Shrink,
        SiLU,
        Softmax,
        Softplus,
        Softsign,
        ThresholdedRelu,
    )
    from transload_hub.ops.base import Unary

__all__ = ["TABLE"]

TABLE = RewriteTable()

_CLAMPS = {(0.0, math.inf): "relu", (0.0, 6.0): "relu6", (0.0, 1.0): "relu_0_to_1", (-1.0, 1.0): "relu_n1_to_1"}


@TABLE("top.Relu", "top.Clip")
def clamp(op: Clip | Relu, rw: Rewriter) -> Value:
    """RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1; other limits by MAXIMUM and MINIMUM."""
    if op.input.is_bool:
        raise Unsupported(f"LiteRT keeps no {op.input.element} between limits", "cast to i32 before")
    need_rounding(op, rw, "double", operator="RELU")
    low, high = _limits(op)
    target = quantized_result(op)
    name = _CLAMPS.get((low, high))
    may_fuse = op.input.is_float or (target is not None and quant(op.input) is not None and name in ("relu", "relu6")) or (
        target is not None and target.storage == I8 and name == "relu_n1_to_1" and quant(op.input) is not None)
    if name is not None and may_fuse:
        return emit(rw, name, op.input, like=op.output)
    value = retyped(rw, op.input, op.output.element)
    if value.is_integer:
        return between(rw, value, low, high)
    for extreme, limit in (("maximum", low), ("minimum", high)):
        if math.isfinite(limit):
            value = emit(rw, extreme, value, real(rw, limit, value), like=value)
    return value


def _limits(op: Any) -> tuple[float, float]:
    """Between which numbers a Relu or a Clip keeps its result."""
    if op.name == "top.Clip":
        return op.min, op.max
    return 0.0, op.relu_limit if op.relu_limit >= 0 else math.inf


def _is_unit(type_: QuantType, low: float) -> bool:
    """Whether a quantized type is the one that LiteRT's kernels of functions from `low` to 1 give."""
    if type_.storage == I16:
        return type_.zero_point == 0 and math.isclose(type_.scale, 2.0**-15, rel_tol=1e-3)
    scale, zero_point = (2.0**-8, type_.storage.range[0]) if low == 0.0 else (2.0**-7, type_.storage.range[0] + 128)
    return type_.storage in (I8, UI8) and type_.zero_point == zero_point and math.isclose(type_.scale, scale, rel_tol=1e-3)


@TABLE("top.Sigmoid", "top.Tanh")
def bounded(op: Any, rw: Rewriter) -> Value | None:
    """LOGISTIC, TANH; quantized ones with the result's type that LiteRT fixes."""
    is_tanh = op.name == "top.Tanh"
    source, target = quant(op.input), quant(op.output)
    plain = is_tanh or (op.scale, op.bias, op.log) == (1.0, 0.0, False)
    if source is not None or target is not None:
        if not plain or source is None or target is None or source.storage != target.storage or not source.per_tensor:
            return None
        if not _is_unit(target, -1.0 if is_tanh else 0.0) or (target.storage == I16 and target.scale != 2.0**-15):
            return None
        if str(op.rounding) != "exact" and rw.options.get("rounding") != "litert":
            return None
    made = emit(rw, "tanh" if is_tanh else "logistic", op.input, like=op.output)
    if plain:
        return made
    if op.log:
        if (op.scale, op.bias) != (1.0, 0.0):
            raise Unsupported("the logarithm of a scaled sigmoid")
        return emit(rw, "neg", _softplus(rw, emit(rw, "neg", op.input, like=op.input)), like=op.output)
    made = emit(rw, "mul", made, real(rw, op.scale, op.input), like=op.output)
    return emit(rw, "add", made, real(rw, op.bias, op.input), like=op.output)


_FINEST_EXPONENT = 2.0**-26
"""A step of bytes that are exponents, at or below which LiteRT ends the process: `PreprocessSoftmaxScaling` asserts that it is
above 1, moved up by 26 bits."""


@TABLE("top.Softmax")
def softmax(op: Softmax, rw: Rewriter) -> Value | None:
    """SOFTMAX and LOG_SOFTMAX, along the last dimension."""
    source, target = quant(op.input), quant(op.output)
    if source is not None or target is not None:
        if source is None or target is None or op.log or source.storage not in (I8, UI8, I16) or not source.per_tensor:
            return None
        wide = source.storage == I8 and target.storage == I16
        unit = target.zero_point == -32768 and math.isclose(target.scale, 2.0**-16, rel_tol=1e-3) if wide else (
            source.storage == target.storage and _is_unit(target, 0.0))
        too_fine = source.storage != I16 and op.beta * source.scale <= _FINEST_EXPONENT
        if not unit or not op.beta > 0 or too_fine:
            return None
        need_rounding(op, rw, "double", operator="SOFTMAX")
    shape = static_shape(op.input)
    axis = op.axis % len(shape)
    order = (*(i for i in range(len(shape)) if i != axis), axis)
    value = transpose(rw, op.input, order)
    if op.log:
        if op.beta != 1.0:
            value = emit(rw, "mul", value, real(rw, op.beta, value), like=value)
        made = emit(rw, "log_softmax", value, like=op.output, shape=static_shape(value))
    else:
        made = emit(rw, "softmax", value, like=op.output, shape=static_shape(value), beta=op.beta)
    return transpose(rw, made, tuple(int(axis) for axis in np.argsort(order)))


@TABLE("top.LeakyRelu")
def leaky_relu(op: LeakyRelu, rw: Rewriter) -> Value | None:
    """LEAKY_RELU."""
    if not _alike(op, I8, UI8, I16) or (quantized_result(op) is not None and _rounds_otherwise(op, rw, "double")):
        return None
    return emit(rw, "leaky_relu", op.input, like=op.output, alpha=op.alpha)


@TABLE("top.PRelu")
def prelu(op: PRelu, rw: Rewriter) -> Value | None:
    """PRELU: one slope a channel, or of the shape of the rest. Of plain integers what is below 0 times the slope."""
    if op.input.is_integer:
        narrow = is_narrow(op.input)
        x, factor = (int32(rw, value) if narrow else value for value in (op.input, op.slope))
        zero = constant(rw, np.zeros((), dtype_of(x.element)))
        above, below = (emit(rw, name, x, zero, like=x) for name in ("maximum", "minimum"))
        made = emit(rw, "add", above, emit(rw, "mul", below, factor, like=x), like=x)
        return emit(rw, "cast", made, like=op.output) if narrow else made
    source, slope, target = quant(op.input), quant(op.slope), quant(op.output)
    if source is not None and slope is not None and target is not None:
        if source.storage != target.storage or not (source.per_tensor and slope.per_tensor and target.per_tensor):
            return None
        needed = UI8 if source.storage == UI8 else I8
        if slope.storage != needed:
            raise Unsupported(
                f"its slopes are stored as {slope.storage}, and beside {source.storage} LiteRT's PRELU reads {needed}",
                "make the slopes a constant, and quantize the model again")
        need_rounding(op, rw, "double", operator="PRELU")
    elif source is not None or slope is not None or target is not None:
        return None
    return emit(rw, "prelu", op.input, op.slope, like=op.output)


@TABLE("top.HardSwish")
def hard_swish(op: HardSwish, rw: Rewriter) -> Value | None:
    """HARD_SWISH."""
    if not _alike(op, I8, UI8) or (quantized_result(op) is not None and _rounds_otherwise(op, rw, "double")):
        return None
    return emit(rw, "hard_swish", op.input, like=op.output)


@TABLE("top.Elu")
def elu(op: Elu, rw: Rewriter) -> Value | None:
    """ELU; with another alpha, by sign."""
    if not _alike(op, I8) or (quantized_result(op) is not None and (_rounds_otherwise(op, rw, "exact") or op.alpha != 1.0)):
        return None
    if op.alpha == 1.0:
        return emit(rw, "elu", op.input, like=op.output)
    return _exponential_unit(rw, op, op.alpha, 1.0, 1.0)


@TABLE("top.Selu")
def selu(op: Selu, rw: Rewriter) -> Value | None:
    return None if quantized_result(op) is not None else _exponential_unit(rw, op, op.alpha, op.gamma, 1.0)


@TABLE("top.Celu")
def celu(op: Celu, rw: Rewriter) -> Value | None:
    return None if quantized_result(op) is not None else _exponential_unit(rw, op, op.alpha, 1.0, op.alpha)


def _exponential_unit(rw: Rewriter, op: Op, alpha: float, gamma: float, width: float) -> Value:
    """`gamma * (max(x, 0) + alpha * elu(min(x, 0) / width))`: ELU of what is not positive is its exponential less one.

    With a negative width the exponent is not negative: `exp(e) - 1` is `-exp(e) * elu(-e)`.
    """
    x = op.operands[0]
    above = emit(rw, "relu", x, like=x)
    below = emit(rw, "minimum", x, real(rw, 0.0, x), like=x)
    exponent = below if width == 1.0 else emit(rw, "div", below, real(rw, width, x), like=x)
    bent = emit(rw, "elu", exponent if width > 0 else emit(rw, "neg", exponent, like=x), like=x)
    if width < 0:
        bent = emit(rw, "neg", emit(rw, "mul", bent, emit(rw, "exp", exponent, like=x), like=x), like=x)
    made = emit(rw, "add", above, emit(rw, "mul", bent, real(rw, alpha, x), like=x), like=x)
    return made if gamma == 1.0 else emit(rw, "mul", made, real(rw, gamma, x), like=op.results[0])


@TABLE("top.GELU")
def gelu(op: GELU, rw: Rewriter) -> Value | None:
    """GELU, of floats."""
    if quantized_result(op) is not None or quant(op.input) is not None:
        return None
    return emit(rw, "gelu", op.input, like=op.output, approximate=op.approx)


@TABLE("top.SiLU")
def silu(op: SiLU, rw: Rewriter) -> Value | None:
    """`x * logistic(x)`."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "mul", op.input, emit(rw, "logistic", op.input, like=op.input), like=op.output)


@TABLE("top.HardSigmoid")
def hard_sigmoid(op: HardSigmoid, rw: Rewriter) -> Value | None:
    """A line, between 0 and 1."""
    if quantized_result(op) is not None:
        return None
    x = op.input
    line = emit(rw, "add", emit(rw, "mul", x, real(rw, op.alpha, x), like=x), real(rw, op.beta, x), like=x)
    return emit(rw, "relu_0_to_1", line, like=op.output)


def _softplus(rw: Rewriter, x: Value) -> Value:
    """`max(x, 0) + log(1 + exp(-|x|))`."""
    small = emit(rw, "exp", emit(rw, "neg", emit(rw, "abs", x, like=x), like=x), like=x)
    return emit(rw, "add", emit(rw, "relu", x, like=x), log1p_near(rw, small), like=x)


@TABLE("top.Softplus")
def softplus(op: Softplus, rw: Rewriter) -> Value | None:
    """See `_softplus`."""
    return None if quantized_result(op) is not None else _softplus(rw, op.input)


@TABLE("top.Mish")
def mish(op: Mish, rw: Rewriter) -> Value | None:
    """`x * tanh(log(1 + e))` with `e = exp(x)` as `x * n / (n + 2)` with `n = e (e + 2)`, whose quotient is 1 from x = 20 on."""
    if quantized_result(op) is not None:
        return None
    x, two = op.input, real(rw, 2.0, op.input)
    power = emit(rw, "exp", emit(rw, "minimum", x, real(rw, 20.0, x), like=x), like=x)
    above = emit(rw, "mul", power, emit(rw, "add", power, two, like=x), like=x)
    share = emit(rw, "div", above, emit(rw, "add", above, two, like=x), like=x)
    return emit(rw, "mul", x, share, like=op.output)


@TABLE("top.Softsign")
def softsign(op: Softsign, rw: Rewriter) -> Value | None:
    """`x / (1 + |x|)`."""
    if quantized_result(op) is not None:
        return None
    x = op.input
    return emit(rw, "div", x, emit(rw, "add", emit(rw, "abs", x, like=x), real(rw, 1.0, x), like=x), like=op.output)


@TABLE("top.ThresholdedRelu")
def thresholded_relu(op: ThresholdedRelu, rw: Rewriter) -> Value | None:
    """x where it is greater, 0 elsewhere."""
    if quantized_result(op) is not None:
        return None
    return _where_greater(rw, op, op.input, op.alpha, op.input, real(rw, 0.0, op.input))


@TABLE("top.Shrink")
def shrink(op: Shrink, rw: Rewriter) -> Value | None:
    """x moved towards 0 by the bias where it is far enough from it, 0 elsewhere."""
    if quantized_result(op) is not None:
        return None
    x, bias = op.input, real(rw, op.bias, op.input)
    below = _where_greater(
        rw, op, emit(rw, "neg", x, like=x), op.lambd, emit(rw, "add", x, bias, like=x), real(rw, 0.0, x))
    return _where_greater(rw, op, x, op.lambd, emit(rw, "sub", x, bias, like=x), below)


def _where_greater(rw: Rewriter, op: Op, x: Value, limit: float, chosen: Value, other: Value) -> Value:
    from transload.ir import BOOL

    condition = emit(rw, "greater", x, real(rw, limit, x), like=x, element=BOOL)
    return emit(rw, "select_v2", condition, chosen, other, like=op.results[0])


def _alike(op: Op, *storages: Any) -> bool:
    """Whether all operands and the result are floats, or all are quantized per tensor and stored in one of these types."""
    types = [quant(value) for value in (*op.operands, *op.results)]
    if all(type_ is None for type_ in types):
        return True
    first = types[0]
    return all(type_ is not None and first is not None and type_.per_tensor and type_.storage in storages
               and type_.storage == first.storage for type_ in types)


def _rounds_otherwise(op: Op | Unary, rw: Rewriter, word: str) -> bool:
    return str(op.attribute("rounding", word)) != word and rw.options.get("rounding") != "litert"
