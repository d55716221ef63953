"""Casts: between floats and integers with every way of rounding, to and from quantized numbers, and constants.

`tosa.cast` rounds floats to the nearest integer, ties to even, and saturates; other ways of rounding are made
of floor and ceil first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir import BOOL, F32, I8, I16, I32, FloatType, IntegerType, Op, QuantType, Type, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable, Unsupported

from .. import build
from .arith import activation_bounds
from .rescaling import along, clamp_to, dequantize, narrow, requantize

__all__ = ["TABLE", "cast_value", "quantize", "round_float"]

TABLE = RewriteTable()


@TABLE("top.Weight")
def weight(op: Op, rw: Rewriter) -> Value:
    """A constant stays as it is, under its (quantized) type."""
    return rw.create("tosa.const", (), (op.result.type,), {"values": op.value}).result


@TABLE("top.None")
def absent(op: Op, rw: Rewriter) -> Any:
    """What stands for absent operands has no users when all else is converted, and goes then."""
    return CHANGED


@TABLE("top.Input")
def marked_input(op: Op, rw: Rewriter) -> Value:
    return op.input


@TABLE("top.Cast")
def cast(op: Op, rw: Rewriter) -> Value:
    x, target = op.input, op.result.element
    source = x.element
    if isinstance(source, QuantType) and isinstance(target, QuantType):
        if source.per_axis or target.per_axis:
            return quantize(rw, dequantize(rw, x), target, op.round_mode)
        return requantize(rw, x, target)
    if isinstance(target, QuantType):
        return _to_quantized(rw, x, target, op.round_mode)
    if isinstance(source, QuantType):
        real = dequantize(rw, x, target if isinstance(target, FloatType) else F32)
        return cast_value(rw, real, target, op.round_mode, op.saturate)
    return cast_value(rw, x, target, op.round_mode, op.saturate)


def _to_quantized(rw: Rewriter, x: Value, target: QuantType, mode: str) -> Value:
    if isinstance(x.element, IntegerType) and not target.per_axis and x.element in (I8, I16, I32):
        wide = build.cast(rw, x, I32)
        return narrow(rw, wide, float(np.float64(1.0) / np.float64(np.float32(target.scale))), target)
    return quantize(rw, build.cast(rw, x, F32), target, mode)


def cast_value(rw: Rewriter, x: Value, target: Type, mode: str = "Trunc", saturate: bool = False) -> Value:
    """A plain value in another plain element type; floats to integers rounded by `mode`, integers wrapped."""
    source = x.element
    if source == target:
        return x
    if isinstance(source, FloatType) and target == BOOL:
        zero = build.float_scalar_like(rw, x, 0.0)
        return rw.emit("tosa.logical_not", rw.emit("tosa.equal", x, zero))
    if isinstance(source, FloatType) and isinstance(target, IntegerType):
        return build.cast(rw, round_float(rw, x, mode), target)
    if source == BOOL and isinstance(target, FloatType):
        return build.cast(rw, build.cast(rw, x, I8), target)
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and saturate and target.width < source.width:
        low, high = target.range
        x = build.clamp(rw, build.cast(rw, x, I32), low, high)
    return build.cast(rw, x, target)


def round_float(rw: Rewriter, x: Value, mode: str) -> Value:
    """Floats that are whole numbers, rounded by `mode`; with HalfToEven left as they are, which `tosa.cast` then rounds."""
    if mode == "HalfToEven":
        return x
    if mode == "Trunc":
        below, above = rw.emit("tosa.floor", x), rw.emit("tosa.ceil", x)
        positive = rw.emit("tosa.greater_equal", x, build.float_scalar_like(rw, x, 0.0))
        return rw.emit("tosa.select", positive, below, above)
    if mode == "HalfAwayFromZero":
        size = rw.emit("tosa.abs", x)
        whole = rw.emit("tosa.floor", size)
        rest = rw.emit("tosa.sub", size, whole)  # exact
        up = rw.emit("tosa.greater_equal", rest, build.float_scalar_like(rw, x, 0.5))
        rounded = rw.emit("tosa.select", up, rw.emit("tosa.add", whole, build.float_scalar_like(rw, x, 1.0)), whole)
        positive = rw.emit("tosa.greater_equal", x, build.float_scalar_like(rw, x, 0.0))
        return rw.emit("tosa.select", positive, rounded, build.negate(rw, rounded))
    raise Unsupported(f"rounding {mode!r} is not known")


def quantize(rw: Rewriter, x: Value, element: QuantType, mode: str = "HalfAwayFromZero") -> Value:
    """Floats in a quantized type, rounded by `mode`, saturated.

    TFLite divides by the scale and takes halves away from zero. Here `x` is multiplied by the reciprocal,
    made greater by one part in 2**23 so that ties fall away from zero, too, and rounded to nearest. The results
    differ where `x / scale` lies within about one float32 step of a half.
    """
    stored = element.storage
    if stored not in (I8, I16, I32):
        raise Unsupported(f"TOSA cannot quantize to {stored}")
    reciprocal = 1.0 / np.asarray(element.scales, np.float64)
    if mode == "HalfAwayFromZero":
        reciprocal = reciprocal * (1.0 + 2.0**-23)
    elif mode != "HalfToEven":
        raise Unsupported(f"quantization cannot round with {mode!r}", "it rounds halves away from zero or to even")
    if x.element != F32:
        x = build.cast(rw, x, F32)
    y = build.mul(rw, x, build.const(rw, along(tuple(reciprocal), element.axis, x.rank)))
    bounds = activation_bounds(element) if not element.per_axis else None
    if not any(element.zero_points):
        return clamp_to(rw, rw.emit("tosa.cast", y, element=element), bounds, element)
    if stored == I8 and not element.per_axis:  # i16 holds any number that does not saturate, and a zero point fits in the rescale
        wide = rw.emit("tosa.cast", y, element=I16)
        made = build.rescale(rw, wide, [1 << 30], [30], 0, element.zero_point, element)
        return clamp_to(rw, made, bounds, element)
    limit = float(1 << 24)
    wide = rw.emit("tosa.cast", build.clamp(rw, y, -limit, limit), element=I32)
    zero_points = np.asarray(element.zero_points, np.int32).reshape(along(element.zero_points, element.axis, x.rank).shape)
    moved = rw.emit("tosa.add", wide, build.const(rw, zero_points))
    low, high = stored.range
    moved = build.clamp(rw, moved, max(low, element.storage_min), min(high, element.storage_max))
    return moved if stored == I32 else rw.emit("tosa.cast", moved, element=element)
