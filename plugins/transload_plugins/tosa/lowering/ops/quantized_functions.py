"""Functions of one quantized number: tables, and LiteRT's formulas where its kernels have one of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I8, I16, I32, Op, QuantType, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import clamp_factor, scale32, scale_exact

from ... import build
from ..arithmetic import fixed_point_tables
from ..arithmetic.fine_tables import LOW, fine_lookup, fine_tables, lookup_from
from ..arithmetic.rescaling import (
    DOUBLE,
    EXACT,
    NEAREST,
    greatest_product,
    i32,
    narrow,
    quant,
    requantize,
    rounding_of,
    scaled,
    widen,
)
from ..arithmetic.tables import Function, fits, follows_litert, in_integers, int8_table, int16_table, lookup, steep
from .activation import clip_limits
from .common import gather_rows, reshape, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.activation import Clip, HardSwish, LeakyRelu, PRelu, Relu
    from transload_hub.ops.base import Unary
    from transload_hub.ops.elementwise import UnaryNumber

__all__ = ["FALLBACK", "TABLE"]

TABLE = RewriteTable()
FALLBACK = RewriteTable()
"""For every function of one quantized number that has no rewrite of its own."""

def _exactly(function: Any) -> Function:
    """A function of float32 numbers, computed in float64 and rounded once."""
    return lambda x: np.asarray(function(np.asarray(x, np.float64)), np.float32)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    one = np.float32(1.0)
    return one / (one + np.exp(-x.astype(np.float64)).astype(np.float32))


def _log(target: QuantType) -> Function:
    """The logarithm; of what has none, the least number of the result."""
    least = np.float32(target.storage_min - target.zero_point) * np.float32(target.scale)

    def log(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, np.log(np.maximum(x, np.float32(1e-38)).astype(np.float64)).astype(np.float32), least)

    return log


def _rsqrt(target: QuantType) -> Function:
    """1 / sqrt(x); of what has none, the greatest number of the result."""
    most = np.float32(target.storage_max - target.zero_point) * np.float32(target.scale)

    def rsqrt(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, (1.0 / np.sqrt(np.maximum(x, np.float32(1e-38)).astype(np.float64))).astype(np.float32), most)

    return rsqrt


def _function(op: Op, target: QuantType) -> Function | None:
    """What an op computes of one real number, as LiteRT does where it can; None where its kernel is to say."""
    if op.name == "top.Sigmoid" and (op.scale, op.bias, op.log) == (1.0, 0.0, False):
        return _sigmoid
    if op.name == "top.Elu":
        return _exactly(lambda x: np.where(x < 0, op.alpha * np.expm1(np.minimum(x, 0)), x))
    plain: dict[str, Any] = {"top.Tanh": np.tanh, "top.Exp": np.exp}
    if op.name in plain:
        return _exactly(plain[op.name])
    made = {"top.Log": _log, "top.Rsqrt": _rsqrt}.get(op.name)
    return made(target) if made is not None else None


def _kernel_function(op: Op, rw: Rewriter, moving: Value) -> Function | None:
    """What the op's kernel computes of `moving`, its other operands being constant numbers; None where they are not."""
    from transload.engine.quantized import dequantize as reals

    found = host().kernel(op.name)
    declaration = op.declaration
    if found is None or declaration is None or "elementwise" not in declaration.traits or len(op.results) != 1:
        return None
    held: list[Any] = []
    for value in op.operands:
        if value is moving:
            held.append(None)
            continue
        array = rw.constant_of(value)
        if array is None or array.size != 1:
            return None
        type_ = quant(value)
        held.append(np.asarray(array if type_ is None else reals(array, type_)).reshape(-1))
    kernel = found[0]

    def function(x: np.ndarray) -> np.ndarray:
        return np.asarray(kernel(op, *(x if array is None else array for array in held)))

    return function


@FALLBACK("top.*")
def through_table(op: Op, rw: Rewriter) -> Value | None:
    """Any elementwise function of one quantized operand."""
    target = quant(op.result) if len(op.results) == 1 else None
    if target is None or op.name == "top.Cast":
        return None
    moving = {value for value in op.operands if rw.constant_of(value) is None}
    if len(moving) != 1:
        return None
    x = moving.pop()
    source = quant(x)
    if not fits(source, target) or x.tensor_type.shape != op.result.tensor_type.shape:
        return None
    function = _function(op, target) or _kernel_function(op, rw, x)
    if function is None:
        return None
    if target.storage == I8 and op.name == "top.Rsqrt" and rounding_of(op) == DOUBLE:
        return lookup(rw, x, fixed_point_tables.inverse_root(source, target), target)  # type: ignore[arg-type]
    if target.storage == I8:
        return lookup(rw, x, int8_table(source, target, function, rounding_of(op) == NEAREST), target)  # type: ignore[arg-type]
    if not follows_litert(rw):
        made = fine_tables(source, target, function) if in_integers(rw) else None  # type: ignore[arg-type]
        return None if made is None else fine_lookup(rw, x, made, target)
    entries = int16_table(source, target, function)  # type: ignore[arg-type]
    return None if steep(entries) else lookup(rw, x, entries, target)


@TABLE("top.Sigmoid", "top.Tanh")
def sigmoid_int16(op: Op, rw: Rewriter) -> Value | None:
    """LiteRT's int16 kernels, which interpolate a table of their own: exact where the result has a scale of 2**-15."""
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target) or source.storage != I16 or target.scale != 2.0**-15:  # type: ignore[union-attr]
        return None
    if not follows_litert(rw) or (op.name == "top.Sigmoid" and (op.scale, op.bias, op.log) != (1.0, 0.0, False)):
        return None
    return fixed_point_tables.sigmoid_or_tanh(rw, op.input, source, target, tanh=op.name == "top.Tanh")  # type: ignore[arg-type]


def _ratio(op: Op, source: QuantType, target: QuantType, factor: float = 1.0) -> float:
    """Input scale times a factor by output scale: in float32 where the op rounds as LiteRT's activations do, else in float64."""
    number = np.float32 if rounding_of(op) == DOUBLE else np.float64
    return float(number(source.scale) * number(factor) / number(target.scale))


@TABLE("top.Relu", "top.Clip")
def clamp_quantized(op: Clip | Relu, rw: Rewriter) -> Value | None:
    """The numbers in the result's type, between the stored numbers of the limits."""
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or not source.per_tensor or not target.per_tensor or source.storage not in (I8, I16, I32):
        return None
    limits = clip_limits(op)
    return requantize(rw, op.input, target, limits, clamp_factor(source, target, limits, str(op.rounding)))


@TABLE("top.LeakyRelu")
def leaky_relu_quantized(op: LeakyRelu, rw: Rewriter) -> Value | None:
    """Two factors, one for each sign."""
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target) or (source.storage == I8 and rounding_of(op) != DOUBLE):  # type: ignore[union-attr]
        return None  # of int8, a table of rounded reals
    up, down = _ratio(op, source, target), _ratio(op, source, target, abs(op.alpha))  # type: ignore[arg-type]
    if source.storage == I8:  # type: ignore[union-attr]
        return lookup(rw, op.input, fixed_point_tables.leaky_relu(source, target, up, down, op.alpha < 0), target)  # type: ignore[arg-type]
    above, below = _halves(rw, widen(rw, op.input))
    positive, negative = _times(rw, above, up), _times(rw, below, down)
    total = rw.emit("tosa.sub" if op.alpha < 0 else "tosa.add", positive, negative, element=I32)
    return narrow(rw, total, 1.0, target)  # type: ignore[arg-type]


def _times(rw: Rewriter, x: Value, real: float) -> Value:
    """`x` of i32 times a factor, rounded as the op that is converted says."""
    rounding = rounding_of(rw.op)
    factor = scale_exact(real) if rounding == EXACT else scale32(real)
    return scaled(rw, x, factor, DOUBLE if rounding == DOUBLE else NEAREST)


def _halves(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """`x` where it is positive, and where it is negative, zero elsewhere: what is computed of both apart can be added."""
    zero = i32(rw, 0, x)
    return rw.emit("tosa.maximum", x, zero, element=I32), rw.emit("tosa.minimum", x, zero, element=I32)


@TABLE("top.PRelu")
def prelu_quantized(op: PRelu, rw: Rewriter) -> Value | None:
    source, slope, target = quant(op.input), quant(op.slope), quant(op.result)
    if source is None or slope is None or target is None:
        return None
    if any(not type_.per_tensor or type_.storage not in (I8, I16) for type_ in (source, slope, target)):
        return None
    if greatest_product(source, slope) > I32.range[1]:
        return None
    x, factor = build.equal_rank(rw, widen(rw, op.input), widen(rw, op.slope))
    above, below = _halves(rw, x)
    positive = _times(rw, above, _ratio(op, source, target))
    real = _ratio(op, source, target, slope.scale)
    negative = _times(rw, build.mul(rw, below, factor, element=I32), real)
    return narrow(rw, rw.emit("tosa.add", positive, negative, element=I32), 1.0, target)


@TABLE("top.HardSwish")
def hard_swish_quantized(op: HardSwish, rw: Rewriter) -> Value | None:
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target) or source.storage != I8 or rounding_of(op) != DOUBLE:  # type: ignore[union-attr]
        return None
    entries = fixed_point_tables.hard_swish(source, target)  # type: ignore[arg-type]
    return None if entries is None else lookup(rw, op.input, entries, target)  # type: ignore[arg-type]


@TABLE("top.Abs")
def abs_quantized(op: UnaryNumber, rw: Rewriter) -> Value | None:
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or not source.per_tensor or not target.per_tensor or source.storage not in (I8, I16):
        return None
    if fits(source, target) and source.storage == I8:
        if rounding_of(op) != DOUBLE:
            return None
        return lookup(rw, op.input, fixed_point_tables.absolute(source, target, _ratio(op, source, target)), target)
    return narrow(rw, rw.emit("tosa.abs", widen(rw, op.input)), _ratio(op, source, target), target)


@TABLE("top.Sqrt")
def sqrt_quantized(op: Unary, rw: Rewriter) -> Value | None:
    """LiteRT's kernels compute each root, and do not round; a table of int16 would be interpolated, and is far off near 0."""
    source, target = quant(op.input), quant(op.result)
    if op.rounding != "truncate" or not fits(source, target):
        return None
    entries = fixed_point_tables.square_root(source, target)  # type: ignore[arg-type]
    if entries.dtype == np.int8:
        return lookup(rw, op.input, entries, target)  # type: ignore[arg-type]
    if in_integers(rw):  # of which not all chips gather
        half = np.float32(target.scale / 2)  # type: ignore[union-attr]
        made = fine_tables(source, target, lambda x: np.sqrt(np.maximum(x, np.float32(0))) - half)  # type: ignore[arg-type]
        return None if made is None else lookup_from(rw, op.input, entries[: LOW + 1], made, target)  # type: ignore[arg-type]
    return _picked(rw, op.input, entries, target)  # type: ignore[arg-type]


def _picked(rw: Rewriter, x: Value, entries: np.ndarray, element: QuantType) -> Value:
    """The entry for each number of `x`, of int16, from 0 on; the first for those below."""
    shape = static_shape(x)
    wide = reshape(rw, widen(rw, x), (1, math.prod(shape)))
    places = rw.emit("tosa.maximum", wide, i32(rw, 0, wide), element=I32)
    rows = build.const(rw, entries.reshape(1, -1, 1), element)
    return reshape(rw, gather_rows(rw, rows, places), shape)
