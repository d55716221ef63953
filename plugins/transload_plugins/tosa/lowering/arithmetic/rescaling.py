"""Building blocks of quantized lowerings: to 32-bit sums, back to a quantized type, and through floats.

`widen` takes a quantized value to i32 without its zero point, `narrow` takes an i32 or i48 sum back to a
quantized type with a real factor, zero point and activation. Both are one `tosa.rescale`, with `clamp`
behind it where an activation narrows the range, which is the form that NPU compilers fuse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from transload.budget import budget
from transload.engine.quantized import dequantize as dequantize_array
from transload.ir import F32, I8, I16, I32, I48, FloatType, IntegerType, Op, QuantType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.ir.constants import LazyData
from transload.ir.quantization import spread
from transload.rewrite import Rewriter, Unsupported
from transload_hub import tables
from transload_hub.scales import Scale, activation_bounds, apply_scale, scale16, scale32, scale_exact, scales32, split

from ... import build
from ...dialect.base import storage_of

__all__ = [
    "DOUBLE", "EXACT", "NEAREST", "STEEP", "WIDE", "activation_range", "along", "any_quantized", "dequantize",
    "fused_activation", "greatest_product", "i32", "narrow", "quant", "requantize", "rounding_of", "shift_right", "widen",
]

DOUBLE, EXACT, WIDE, NEAREST = "DOUBLE_ROUND", "EXACT", "WIDE", "SINGLE_ROUND"
"""How `narrow` rounds: as gemmlowp, halves away from zero, once with 16-bit multipliers (64-bit sums), or halves up."""

_MODES = {"double": DOUBLE, "exact": EXACT, "once": NEAREST, "float32": NEAREST}


def rounding_of(op: Op) -> str:
    """How the scaled sums of a `top` op are rounded, by its attribute `rounding` (see `transload_hub.ops.rounding`)."""
    return _MODES[str(op.attribute("rounding", "double"))]


def quant(value: Value | None) -> QuantType | None:
    """The quantized element type of a value, None where it has another or is absent."""
    return None if value is None else value.quant


def any_quantized(op: Op) -> bool:
    """Whether an operand or result is quantized."""
    return any(quant(value) is not None for value in (*op.operands, *op.results))


def per_tensor(value: Value) -> QuantType:
    """The type of a value that is quantized with one scale; `Unsupported` where it is not."""
    type_ = quant(value)
    if type_ is None or not type_.per_tensor:
        raise Unsupported(f"{value.type} is not quantized per tensor", "quantize with one scale for the whole tensor")
    return type_


def i32(rw: Rewriter, number: int, like: Value) -> Value:
    """A constant i32 that broadcasts against `like`."""
    return build.scalar(rw, number, I32, like.rank)


def widen(rw: Rewriter, x: Value, left_shift: int = 0) -> Value:
    """`(x - zero_point) << left_shift` in i32, of a value that is quantized per tensor or a plain integer."""
    type_ = x.element
    zero_point = per_tensor(x).zero_point if isinstance(type_, QuantType) else 0
    stored = storage_of(x)
    if stored == I8 or (stored == I16 and zero_point == left_shift == 0):
        return build.rescale(rw, x, [1 << 30], [30 - left_shift], zero_point, 0, I32)
    if stored == I16:  # a rescale would not take such large numbers with so small a shift
        x = build.cast(rw, x, I32)
    elif stored != I32:
        raise Unsupported(f"TOSA has no arithmetic on {stored}")
    if zero_point:
        x = rw.emit("tosa.sub", x, i32(rw, zero_point, x), element=I32)
    if left_shift:
        x = rw.emit("tosa.logical_left_shift", x, i32(rw, left_shift, x), element=I32)
    return x


def shift_right(rw: Rewriter, x: Value, bits: int, rounded: bool = True) -> Value:
    """`x / 2**bits` of i32, halves up where rounded, else down."""
    return rw.emit("tosa.arithmetic_right_shift", x, i32(rw, bits, x), round=rounded, element=I32) if bits else x


def scaled(rw: Rewriter, x: Value, factor: Scale, rounding: str = DOUBLE) -> Value:
    """`x` of i32 times a factor, rounded, in i32; `x` itself where the factor is one."""
    if factor.multiplier == 1 << factor.shift:
        return x
    return build.rescale(rw, x, [factor.multiplier], [factor.shift], 0, 0, I32, rounding=rounding)


def activation_range(op: Op) -> tuple[float, float]:
    """The reals between which an op with `do_relu` clamps its result."""
    if not op.attribute("do_relu", False):
        return -math.inf, math.inf
    limit = op.attribute("relu_limit", -1.0)
    return 0.0, limit if limit >= 0 else math.inf


def clamp_to(rw: Rewriter, x: Value, bounds: tuple[int, int] | None, element: Type) -> Value:
    """A stored value between stored bounds, where there are any."""
    return x if bounds is None else build.clamp(rw, x, *bounds, element=element)


def clamp_reals(rw: Rewriter, x: Value, low: float, high: float) -> Value:
    """Floats between two reals; one beyond the type's numbers is infinite, so that infinity stays what it is (1.9.2: infinities
    are numbers of the type)."""
    most = float(ml_dtypes.finfo(dtype_of(x.element)).max)
    low, high = (math.copysign(math.inf, limit) if abs(limit) > most else limit for limit in (low, high))
    return build.clamp(rw, x, low, high)


def fused_activation(rw: Rewriter, x: Value, op: Op) -> Value:
    """The activation that `op` asks for with `do_relu`, applied to its float or plain integer result."""
    low, high = activation_range(op)
    if math.isinf(low):
        return x
    element = storage_of(x)
    if isinstance(element, IntegerType):
        least, most = element.range
        return build.clamp(rw, x, max(least, int(low)), most if math.isinf(high) else min(most, int(high)), x.element)
    return clamp_reals(rw, x, low, high)


def narrow(
    rw: Rewriter, x: Value, factors: np.ndarray | float, element: Type, rounding: str | None = None,
    activation: tuple[float, float] = (-math.inf, math.inf), sum_bits: int = 32,
) -> Value:
    """A sum `x` of i32 or i48 times real factors (one, or one for each index of the last dimension) in type `element`.

    `sum_bits` is how many bits the sum may take, where that is more than 32.

    To a quantized type: rescaled, rounded as `rounding` or else the op that is converted says, with zero point and
    saturation, and clamped to the reals of `activation`. To a float type: multiplied in float.
    """
    reals = np.array(factors, np.float64, ndmin=1)
    if len(reals) > 1 and reals[0] == reals[-1] and (reals == reals[0]).all():
        reals = reals[:1]
    if not isinstance(element, QuantType):
        return _narrow_to_float(rw, x, reals, element, activation, sum_bits)
    if not element.per_tensor:
        raise Unsupported("the result is quantized per axis", "quantize activations with one scale for the whole tensor")
    rounding = rounding or rounding_of(rw.op)
    bounds = activation_bounds(element, *activation)
    per_channel = len(reals) > 1
    if storage_of(x) == I48 and rounding != WIDE:
        shift = max(0, sum_bits - 32)
        x = _to_i32(rw, x, shift)
        reals = reals * 2.0**shift
    if len(reals) == 1 and reals[0] >= STEEP and element.storage in (I8, I16) and storage_of(x) == I32:
        x, reals = _bounded(rw, x, reals)
    if rounding == WIDE:
        multipliers, shifts = split(map(scale16, reals.tolist()))
    else:
        multipliers, shifts = split(map(scale_exact, reals.tolist())) if rounding == EXACT else scales32(reals)
    mode = DOUBLE if rounding == DOUBLE else "SINGLE_ROUND"
    target = element.storage
    zero_point = element.zero_point
    if target not in (I8, I16, I32) or (bounds is not None and bounds[1] > target.range[1]):
        raise Unsupported(f"TOSA cannot rescale to {target}")
    direct = target == I8 or zero_point == 0
    made = build.rescale(
        rw, x, multipliers, shifts, 0, zero_point if direct else 0,
        element if direct else I32, per_channel=per_channel, rounding=mode, scale32=rounding != WIDE)
    if not direct:  # only i8 has zero points
        made = rw.emit("tosa.add", made, i32(rw, zero_point, made), element=I32)
        least, most = bounds or target.range
        if target == I32:
            return build.clamp(rw, made, least, most, element=element)
        return rw.emit("tosa.cast", build.clamp(rw, made, least, most), element=element)
    return clamp_to(rw, made, bounds, element)


STEEP = float(1 << 13)
"""Factors from here on make of few steps more than 16 bits hold, and perhaps more than a rescale may result in."""


def _bounded(rw: Rewriter, x: Value, reals: np.ndarray) -> tuple[Value, np.ndarray]:
    """A sum that saturates 16 bits nearly at once, clamped to where it does, and the factor as a rescale can take it."""
    reals = np.minimum(reals, 2.0**28)
    most = math.ceil(2.0**17 / float(reals[0]))
    return build.clamp(rw, x, -most, most), reals


def _to_i32(rw: Rewriter, x: Value, shift: int) -> Value:
    """A sum of 48 bits shifted to the right, so that it fits in 32."""
    return build.rescale(rw, x, [1 << 14], [14 + shift], 0, 0, I32, scale32=False)


def _narrow_to_float(
    rw: Rewriter, x: Value, reals: np.ndarray, element: Type, activation: tuple[float, float], sum_bits: int,
) -> Value:
    if not isinstance(element, FloatType):
        raise Unsupported(f"a quantized sum cannot become {element}")
    shift = 0
    if storage_of(x) == I48:
        shift = max(0, sum_bits - 32)
        x = _to_i32(rw, x, shift)
    real = build.cast(rw, x, F32)
    factor = reals * 2.0**shift
    constant = build.const(rw, factor.astype(np.float32).reshape((1,) * max(x.rank - 1, 0) + (-1,)) if x.rank else factor[0])
    made = build.mul(rw, real, constant)
    if activation != (-math.inf, math.inf):
        made = clamp_reals(rw, made, *activation)
    return build.cast(rw, made, element)


def same_numbers(a: QuantType, b: QuantType) -> bool:
    """Whether a stored number means the same in both types."""
    return (a.storage, a.scales, a.zero_points, a.axis, a.blocks) == (b.storage, b.scales, b.zero_points, b.axis, b.blocks)


def greatest_product(a: QuantType, b: QuantType) -> int:
    """The greatest product of two stored numbers less their zero points; of 16 bits, with zero points to one side, beyond 32."""
    return math.prod(max(each.zero_point - each.storage_min, each.storage_max - each.zero_point) for each in (a, b))


def retyped(rw: Rewriter, x: Value, element: Type) -> Value:
    """The same stored numbers under another quantized type."""
    return x if x.element == element else rw.emit("tosa.identity", x, element=element)


def requantize(
    rw: Rewriter, x: Value, element: QuantType, activation: tuple[float, float] = (-math.inf, math.inf),
    factor: float | None = None, rounding: str | None = None,
) -> Value:
    """A quantized value in another quantized type (TFLite's QUANTIZE of a quantized tensor), clamped to reals.

    It is rounded as `rounding` or else the op that is converted says. `factor` is the ratio of the scales where that is to be
    another than their quotient in float64.
    """
    rounding = rounding or rounding_of(rw.op)
    source = per_tensor(x)
    if not element.per_tensor:
        raise Unsupported("the result is quantized per axis", "quantize activations with one scale for the whole tensor")
    if same_numbers(source, element):
        bounds = activation_bounds(element, *activation)
        return retyped(rw, x, element) if bounds is None else clamp_to(rw, x, bounds, element)
    if factor is None:
        factor = float(np.float64(np.float32(source.scale)) / np.float64(np.float32(element.scale)))
    stored, target = source.storage, element.storage
    direct = all(zero_point == 0 or t == I8 for zero_point, t in ((source.zero_point, stored), (element.zero_point, target)))
    if not direct or stored == I32 or target == I32 or factor >= STEEP:
        return narrow(rw, widen(rw, x), factor, element, rounding, activation)
    scale = scale_exact(factor) if rounding == EXACT else scale32(factor)
    made = build.rescale(
        rw, x, [scale.multiplier], [scale.shift], source.zero_point, element.zero_point, element,
        rounding=DOUBLE if rounding == DOUBLE else "SINGLE_ROUND")
    return clamp_to(rw, made, activation_bounds(element, *activation), element)


def along(values: Sequence[float], type_: QuantType, rank: int) -> np.ndarray:
    """A number for each scale of a type, as a float32 array of `rank` that broadcasts against its tensor."""
    array = spread(values, type_, rank, np.float32)
    return array if array.ndim else array.reshape((1,) * rank)


def dequantize(rw: Rewriter, x: Value, element: Type = F32) -> Value:
    """The real numbers of a quantized value; of a constant computed at once, as far as they may grow. A float stays as it is."""
    type_ = quant(x)
    if type_ is None:
        return build.cast(rw, x, element)
    dense = constant_of(x)
    if dense is not None and budget().may_fold(dense.nbytes, dtype_of(F32).itemsize * math.prod(dense.shape)):
        data: Any = LazyData(lambda: dequantize_array(dense.numpy(), type_), tuple(dense.shape), np.float32)
        return build.cast(rw, build.const(rw, data), element)
    if type_.storage not in (I8, I16, I32):
        raise Unsupported(f"TOSA cannot convert {type_.storage} to float")
    real = rw.emit("tosa.cast", x, element=F32)
    if any(type_.zero_points):
        real = rw.emit("tosa.sub", real, build.const(rw, along(type_.zero_points, type_, x.rank)), element=F32)
    return build.cast(rw, build.mul(rw, real, build.const(rw, along(type_.scales, type_, x.rank))), element)


def fits_shift(numbers: np.ndarray, shift: int) -> bool:
    """Whether TOSA allows a rescale of these numbers with this shift: it takes `shift` bits, sign included."""
    return 2 <= shift <= 62 and int(numbers.min()) >= -(1 << (shift - 1)) and int(numbers.max()) < 1 << (shift - 1)


@lru_cache(maxsize=1024)
def single_rescale_agrees(source: QuantType, first: Scale, then: Scale) -> bool:
    """Whether one rescale by both factors, rounded once, gives what two do for every stored number."""
    numbers = tables.arange(source.storage_min, source.storage_max + 1, dtype=np.int64) - source.zero_point
    shift = first.shift + then.shift - 30
    if first.multiplier != 1 << 30 or not fits_shift(numbers, shift):
        return False
    twice = apply_scale(apply_scale(numbers, first), then)
    return bool(np.array_equal(twice, apply_scale(numbers, Scale(then.multiplier, shift), double_round=False)))
