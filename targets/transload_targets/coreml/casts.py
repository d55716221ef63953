"""Casts of the hub as calls of MIL: between plain types, and from and to quantized ones.

MIL's cast cuts floats off, and says nothing of numbers beyond int32: what saturates is clipped before, and what wraps round into
fewer bits afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.engine.quantized import dequantize
from transload.errors import Unsupported
from transload.ir import BOOL, F32, FloatType, IntegerType, QuantType, Type
from transload.ir.build import constant_of
from transload_hub.scales import halves_up

from .calculations import within
from .emitters import emits
from .program import INT32, Argument, Program, mil_type

_FLOAT_BITS = 24
"""How many bits of a whole number a float of 32 bits holds."""


@emits("Cast")
def cast(op: Any, p: Program) -> Argument:
    """Between types; from and to quantized ones, QDQ's operators, between these both."""
    source, wanted = op.input.element, op.result.element
    if isinstance(source, QuantType):
        x, source = _dequantized(op, p, source), source.expressed
        if source == wanted:
            return x
    else:
        x = p.of(op.input)
    if isinstance(wanted, QuantType):
        if not isinstance(source, FloatType):
            raise Unsupported(f"Core ML quantizes floats, not numbers of type {source}", "cast to f32 before")
        return _quantized(op, p, _single(p, x, source), wanted)
    if isinstance(wanted, IntegerType) and wanted != BOOL and isinstance(source, FloatType):
        return _whole(op, p, _single(p, x, source), wanted)
    if op.saturate and isinstance(wanted, IntegerType) and isinstance(source, IntegerType) and BOOL not in (wanted, source):
        return within(p, x, *wanted.range, op.input)
    return _as(p, x, source, mil_type(wanted))


def _as(p: Program, x: Argument, source: Type, kind: str) -> Argument:
    return p("identity", x=x) if mil_type(source) == kind else p("cast", x=x, dtype=kind)


def _single(p: Program, x: Argument, source: Type) -> Argument:
    """Floats in 32 bits, which the ends of integers fit in."""
    return x if source == F32 else p("cast", x=x, dtype="fp32")


# --- integers


def _whole(op: Any, p: Program, x: Argument, wanted: IntegerType) -> Argument:
    """Floats of 32 bits as integers. Those of 64 bits are int32 here, and saturate at its ends."""
    mode, (low, high) = str(op.round_mode), wanted.range
    if mode not in ("Trunc", "HalfToEven"):
        raise Unsupported(f"it rounds {mode}, and Core ML cuts off, or rounds halves to even")
    if wanted.unsigned and wanted.width == 32:
        raise Unsupported(f"it gives numbers of type {wanted}, of which Core ML's int32 has the lower half", "cast to i32 or i64")
    if mode == "HalfToEven":
        x = p("round", x=x)
    if op.saturate:
        return _saturated(p, x, max(low, int(INT32.min)), min(high, int(INT32.max)))
    whole = p("cast", x=x, dtype="int32")
    return whole if wanted.width >= 32 else _wrapped(p, whole, wanted)


def _saturated(p: Program, x: Argument, low: int, high: int) -> Argument:
    """Floats between two integers, as int32, and NaN as 0.

    The greatest integer of 32 bits is no float: what lies beyond the greatest float below it is chosen apart.
    """
    extra = max(high.bit_length() - _FLOAT_BITS, 0)
    below = high >> extra << extra
    number = p("select", cond=p("not_equal", x=x, y=x), a=_number(0), b=x)
    inside = p("cast", x=p("clip", x=number, alpha=_number(low), beta=_number(below)), dtype="int32")
    if below == high:
        return inside
    return p("select", cond=p("greater", x=number, y=_number(below)), a=_number(high, np.int32), b=inside)


def _number(number: float, kind: Any = np.float32) -> np.ndarray:
    return np.array(number, kind)


def _wrapped(p: Program, x: Argument, wanted: IntegerType) -> Argument:
    """Numbers of int32 modulo the range of a smaller type."""
    low, size = _number(wanted.range[0], np.int32), _number(1 << wanted.width, np.int32)
    if wanted.unsigned:
        return p("mod", x=x, y=size)
    return p("add", x=p("mod", x=p("sub", x=x, y=low), y=size), y=low)


# --- quantized numbers


def _quantized(op: Any, p: Program, x: Argument, wanted: QuantType) -> Argument:
    """`clamp(round(x / scale) + zero_point)`, halves to even. MIL clamps to all of its type: to less, the reals are clipped.

    With HalfToEvenStored what is stored is even, which differs where zero points are odd: `clamp(round(x / scale + zero_point))`.
    With HalfUp it is rounded before (`HalvesUp`), and with HalfAwayFromZero.
    """
    mode = str(op.round_mode)
    if mode not in ("HalfAwayFromZero", "HalfToEven", "HalfToEvenStored", "HalfUp"):
        raise Unsupported(f"it rounds {mode}, and Core ML quantizes to the nearest number", "round before it")
    kind, scale, point = mil_type(wanted), wanted.scales[0], wanted.zero_points[0]
    if mode == "HalfToEvenStored" and point % 2:
        x = p("add", x=p("real_div", x=x, y=_number(scale)), y=_number(point))
        scale, point = 1.0, 0
    if mode == "HalfUp":
        by = halves_up(wanted)
        steps = p("mul", x=p("sub", x=_single(p, x, op.input.element), y=_number(by.low[0])), y=_number(by.twice[0]))
        moved = p("add", x=p("floor", x=p("clip", x=steps, alpha=_number(0), beta=_number(by.most))), y=_number(by.moved))
        x, scale, point = p("floor", x=p("mul", x=moved, y=_number(0.5))), 1.0, 0
    if mode == "HalfAwayFromZero":
        x, scale = _away_from_zero(p, p("real_div", x=x, y=_number(scale))), 1.0
    low, high = wanted.storage_min, wanted.storage_max
    if (low, high) != wanted.storage.range:
        x = p("clip", x=x, alpha=_number((low - point) * scale), beta=_number((high - point) * scale))
    return p("quantize", input=x, scale=_number(scale), output_dtype=kind, zero_point=_number(point, kind))


def _away_from_zero(p: Program, steps: Argument) -> Argument:
    """Floats as whole ones, halves away from 0: what is behind the point, which is exact, says whether the next one is nearer."""
    size = p("abs", x=steps)
    below = p("floor", x=size)
    up = p("cast", x=p("greater_equal", x=p("sub", x=size, y=below), y=_number(0.5)), dtype="fp32")
    return p("mul", x=p("add", x=below, y=up), y=p("sign", x=steps))


def _dequantized(op: Any, p: Program, source: QuantType) -> Argument:
    held = constant_of(op.input)
    if held is None:
        kind = mil_type(source)
        return p("dequantize", input=p.of(op.input), scale=_number(source.scales[0]),
                 zero_point=_number(source.zero_points[0], kind))
    array = held.numpy()
    if not array.ndim or array.dtype.itemsize > 1 or source.blocks is not None or array.dtype.kind not in "iu":
        return dequantize(array, source).astype(np.float32)
    axis = 0 if source.per_tensor else source.axis
    kind = str(array.dtype)
    shape = () if source.per_tensor else (-1,)
    scales = np.asarray(source.scales, np.float32).reshape(shape)
    zeros = np.asarray(source.zero_points, kind).reshape(shape)
    stored = np.asarray(array, order="C")
    return p("constexpr_affine_dequantize", quantized_data=stored, zero_point=zeros, scale=scales, axis=axis)
