"""Casts: between floats and integers with every way of rounding, to and from quantized numbers, and constants.

`tosa.cast` rounds floats to the nearest integer, ties to even, and saturates; other ways of rounding are made
of floor and ceil first.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BF16, BOOL, F16, F32, F64, I8, I16, I32, FloatType, IntegerType, QuantType, Type, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable, Unsupported
from transload_hub.ops.cast import OF_STORED
from transload_hub.requantizing import meant, scaled_as
from transload_hub.scales import activation_bounds, halves_up

from ... import build
from ...dialect.base import F8E4M3, F8E5M2
from ..arithmetic.rescaling import EXACT, NEAREST, along, clamp_to, dequantize, narrow, requantize, widen
from ..arithmetic.tables import int8_table, lookup
from ..prepare.sources import sources
from .stored_weights import stored_weights

if TYPE_CHECKING:
    from transload_hub.ops.cast import Bitcast, Cast
    from transload_hub.ops.constant import Absent, Input, Weight

__all__ = ["TABLE", "cast_value", "quantize", "round_float"]

TABLE = RewriteTable()

_FLOATS = frozenset((F16, BF16, F32, F64, F8E4M3, F8E5M2))
"""Floats that are cast; of f64, f32 are made."""
QUANTIZING = ("HalfAwayFromZero", "HalfToEven", *OF_STORED)
"""How quantization rounds: before the zero point is added, or with it."""
KNOWN = "it rounds halves away from zero, to even, or up"
_OF_ONNX = ("f8E4M3FNUZ", "f8E5M2FNUZ")


@TABLE("top.Weight")
def weight(op: Weight, rw: Rewriter) -> Any:
    """A constant stays as it is, under its (quantized) type."""
    op.name, op.attributes = "tosa.const", {"values": op.value}
    return CHANGED


@TABLE("top.None")
def absent(op: Absent, rw: Rewriter) -> Any:
    """What stands for absent operands has no users when all else is converted, and goes then."""
    return CHANGED


@TABLE("top.Input")
def marked_input(op: Input, rw: Rewriter) -> Value:
    return op.input


@TABLE("top.Cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    x, target = op.input, op.result.element
    source = x.element
    _need_floats_of_tosa(source, target, x)
    saturate = op.saturate or op in sources().in_range
    if isinstance(source, QuantType) and isinstance(target, QuantType):
        if not source.per_tensor or not target.per_tensor:
            return quantize(rw, dequantize(rw, x), target, op.round_mode)
        return requantize(rw, x, target) if op.round_mode == "HalfAwayFromZero" else _requantized(op, rw, x, target)
    if isinstance(target, QuantType):
        return _to_quantized(rw, x, target, op.round_mode)
    if isinstance(source, QuantType):
        if op.stored and (held := stored_weights(rw, x)) is not None:
            return cast_value(rw, held, target)
        real = dequantize(rw, x, target if isinstance(target, FloatType) else F32)
        return cast_value(rw, real, target, op.round_mode, saturate)
    if op in sources().integers.unsigned:
        x = _unsigned_to_float(rw, x)
    return cast_value(rw, x, target, op.round_mode, saturate)


def _requantized(op: Cast, rw: Rewriter, x: Value, target: QuantType) -> Value:
    """Quantized numbers in another quantized type, rounded as the cast's `round_mode` says.

    RESCALE takes halves up, or away from zero, which most often is the same, as there are none. Of bytes it is a table else.
    """
    source: QuantType = x.element  # type: ignore[assignment]
    if op.round_mode not in QUANTIZING:
        raise Unsupported(f"quantization cannot round with {op.round_mode!r}", KNOWN)
    if source.storage in (I8, I16):
        even = op.round_mode == "HalfToEven" and source.storage == target.storage == I8  # as onnxruntime divides
        wanted = int8_table(source, target, lambda real: real, even=True) if even else meant(op)
        if (way := scaled_as(wanted, source, target)) is not None:
            return requantize(rw, x, target, rounding={"once": NEAREST, "exact": EXACT}[way])
        if source.storage == target.storage == I8:
            return lookup(rw, x, wanted, target)
    if op.round_mode == "HalfUp":
        return quantize(rw, dequantize(rw, x), target, op.round_mode)
    return _halves_to_even(rw, x, target, stored=op.round_mode == "HalfToEvenStored")


def _halves_to_even(rw: Rewriter, x: Value, target: QuantType, stored: bool) -> Value:
    """Quantized numbers in another quantized type, halves to even ones, `stored` with their zero point.

    Midway between two steps of the result are the multiples of `b / 2` that are none of `b`, where its step is `b / a` of
    theirs, without a common divisor. They are moved to where they are rounded to, by less than half a step: what is finer than
    that is no integer, but for numbers that are shifted up first.
    """
    source: QuantType = x.element  # type: ignore[assignment]
    scales = [float(np.float32(type_.scale)) for type_ in (source, target)]
    if not all(0 < scale < math.inf for scale in scales):
        raise Unsupported(f"scales of {scales[0]:g} and {scales[1]:g} cannot be applied to integers",
                          "scales must be positive and finite")
    steps, whole = map(Fraction, scales)
    a, b = (steps / whole).as_integer_ratio()
    up = max(0, math.ceil(math.log2(2 * a / b)))
    most = max(source.storage_max - source.zero_point, source.zero_point - source.storage_min)
    if b % 2 == 0 and up and most << up > I32.range[1]:
        raise Unsupported(
            f"it takes halves to even numbers, and TOSA's RESCALE of {source} to {target} takes them up",
            "cast to float between")
    shifted = widen(rw, x, up)
    odd = (stored and target.zero_point % 2 == 1) != (a % 4 == 3)
    half = (b << up) // 2
    moved = _off_halves(rw, shifted, b << up, 3 * half if odd else half, all_of_them=True)
    return narrow(rw, moved, a / (b << up), target, NEAREST)


def _need_floats_of_tosa(source: Type, target: Type, x: Value) -> None:
    """Refuse casts to small floats that TOSA's CAST does not have; casts from such follow from those to them."""
    for element in (source, target):
        if isinstance(element, FloatType) and element not in _FLOATS:
            raise Unsupported(
                f"{element} is a type that TOSA's CAST does not have, of floats of 8 bits f8E4M3FN and f8E5M2 alone",
                "cast to one of these in the model where its numbers allow, or take the target stablehlo"
                + (", or onnx, which have it" if element.name in _OF_ONNX else ", which has it"),
                follows=element == source and x.op is not None)


def _unsigned_to_float(rw: Rewriter, x: Value) -> Value:
    """The bits of a ui32 as f32, in halves of 16 bits: their sum is the only thing that is rounded."""
    high = rw.emit("tosa.logical_right_shift", x, build.scalar(rw, 16, I32, x.rank))
    low = rw.emit("tosa.bitwise_and", x, build.scalar(rw, 0xFFFF, I32, x.rank))
    whole = build.mul(rw, build.cast(rw, high, F32), build.scalar(rw, 65536.0, F32, x.rank))
    return rw.emit("tosa.add", whole, build.cast(rw, low, F32))


@TABLE("top.Bitcast")
def bitcast(op: Bitcast, rw: Rewriter) -> Value:
    """The stored numbers under another type; where one of the types was unsigned, its numbers may be moved (see `signedness`)."""
    x, target = op.input, op.result.element
    before, after = sources().stored[op]
    if isinstance(before, IntegerType) and isinstance(after, IntegerType):
        if after.width >= 32 and x.element == target:
            return x  # i32 holds the same low bits of both, and `int64` has seen to it that no others count
        if after.width <= 32:
            return _integer_bits(rw, x, target, before, after)
    if before == after:
        return x
    raise Unsupported(
        f"it reads the bits of {before} as {after}, and TOSA has no operator for that",
        "compute with the numbers instead of their bits")


def _integer_bits(rw: Rewriter, x: Value, target: Type, before: IntegerType, after: IntegerType) -> Value:
    """The bits of an integer stored as `before` read as `after`, in the element type that stands for that."""
    moved = _moved(before, x.element) - _moved(after, target)
    alike = before.unsigned == after.unsigned
    if alike and not moved and build.storage_of(x) == build.storage(target):
        return rw.emit("tosa.identity", x, element=target)
    number = build.cast(rw, x, I32)
    if moved:
        number = rw.emit("tosa.add", number, build.scalar(rw, moved, I32, x.rank))
    if after.unsigned and not alike:
        number = rw.emit("tosa.bitwise_and", number, build.scalar(rw, after.range[1], I32, x.rank))
    if build.storage(target) == I32:
        return rw.emit("tosa.identity", number, element=target)
    if not after.unsigned and after.width < 8:  # i8 holds it: the sign is that of its highest bit
        number = sign_extended(rw, number, after.width)
    return rw.emit("tosa.cast", number, element=target)  # drops the high bits


def sign_extended(rw: Rewriter, number: Value, width: int) -> Value:
    """The low bits of an i32 as a signed number of that width."""
    last = 1 << (width - 1)
    low = rw.emit("tosa.bitwise_and", number, build.scalar(rw, 2 * last - 1, I32, number.rank))
    return rw.emit("tosa.sub", rw.emit("tosa.bitwise_xor", low, build.scalar(rw, last, I32, number.rank)),
                   build.scalar(rw, last, I32, number.rank))


def _moved(stored: IntegerType, element: Type) -> int:
    """How much less than the stored number is what stands for it: half of an unsigned range for quantized ones."""
    return 1 << (stored.width - 1) if stored.unsigned and isinstance(element, QuantType) else 0


def _to_quantized(rw: Rewriter, x: Value, target: QuantType, mode: str) -> Value:
    """Numbers in a quantized type, rounded by `mode`; integers by a RESCALE, with which halves go away from zero."""
    if not target.per_tensor or x.element not in (I8, I16, I32) or mode not in QUANTIZING or mode == "HalfUp":
        return quantize(rw, build.cast(rw, x, F32), target, mode)
    odd = mode == "HalfToEvenStored" and target.zero_point % 2
    half = int(target.scale) // 2
    whole = _off_halves(
        rw, build.cast(rw, x, I32), target.scale, None if mode == "HalfAwayFromZero" else 3 * half if odd else half)
    return narrow(rw, whole, float(np.float64(1.0) / np.float64(np.float32(target.scale))), target, EXACT)


def _off_halves(rw: Rewriter, x: Value, scale: float, inwards: int | None, all_of_them: bool = False) -> Value:
    """i32 in which those midway between two multiples of `scale` are moved by one to where they are to be rounded.

    Scales that are even alone have such: numbers with a rest of 1/2 or 3/2 of the scale by twice that. The rest `inwards` goes
    towards zero. Others go away from it, which RESCALE sees to where it multiplies by the reciprocal exactly, and takes halves
    so (`EXACT`); else `all_of_them` are moved.
    """
    last, half = I32.range[1], int(scale) // 2
    exact = math.frexp(scale)[0] == 0.5 and not all_of_them
    moved = [-edge if edge == inwards else edge for edge in (half, 3 * half) if edge <= last and (edge == inwards or not exact)]
    if scale % 2 or not moved:
        return x
    rest = x
    if 4 * half <= last:
        by = build.scalar(rw, 4 * half, I32, x.rank)
        rest = rw.emit("tosa.sub", x, build.mul(rw, rw.emit("tosa.intdiv", x, by), by))
    for number in moved:
        for rested, name in ((number, "tosa.add"), (-number, "tosa.sub")):
            here = rw.emit("tosa.equal", rest, build.scalar(rw, rested, I32, x.rank))
            x = rw.emit(name, x, build.cast(rw, build.cast(rw, here, I8), I32))
    return x


def cast_value(rw: Rewriter, x: Value, target: Type, mode: str = "Trunc", saturate: bool = False) -> Value:
    """A plain value in another plain element type; floats to integers rounded by `mode`.

    What is out of an integer's range wraps round, or saturates, which is one operator less: right, too, where nothing is.
    """
    if x.element == target:
        return x
    if x.element in (F8E4M3, F8E5M2) and isinstance(target, IntegerType):
        x = build.cast(rw, x, F32)  # the operators that round and compare do not take floats of 8 bits
    source = x.element
    if isinstance(source, FloatType) and target == BOOL:
        zero = build.float_scalar_like(rw, x, 0.0)
        return rw.emit("tosa.logical_not", rw.emit("tosa.equal", x, zero))
    if isinstance(source, FloatType) and isinstance(target, IntegerType):
        whole = round_float(rw, x, mode)
        if target.width < 32 and not saturate:  # of floats `tosa.cast` saturates, of integers it drops the high bits
            whole = build.cast(rw, whole, I32)
        return build.cast(rw, whole, target)
    if source == BOOL and isinstance(target, FloatType):
        return build.cast(rw, build.cast(rw, x, I8), target)
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and saturate and source != BOOL:
        low, high = (max(ends) if end == 0 else min(ends) for end, ends in enumerate(zip(target.range, I32.range, strict=True)))
        if source.range[0] < low or source.range[1] > target.range[1]:
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

    TFLite divides by the scale. Here `x` is multiplied by the reciprocal: where that differs by the last bit of a
    float32, the result may on the edge differ by one.
    """
    stored = element.storage
    if stored not in (I8, I16, I32):
        raise Unsupported(f"TOSA cannot quantize to {stored}")
    if mode not in QUANTIZING:
        raise Unsupported(f"quantization cannot round with {mode!r}", KNOWN)
    x = build.cast(rw, x, F32)
    if mode == "HalfUp":
        return _counted(rw, x, element)
    factor = along(tuple(1.0 / np.asarray(element.scales, np.float64)), element, x.rank)
    if mode == "HalfToEvenStored":
        return _as_stored(rw, x, factor, element)
    bounds = None if not element.per_tensor else activation_bounds(element)
    all_of_storage = stored.range[0] >= element.storage_min and stored.range[1] <= element.storage_max
    if mode == "HalfToEven" and not any(element.zero_points) and stored != I32 and (element.per_tensor or all_of_storage):
        return clamp_to(rw, rw.emit("tosa.cast", build.mul(rw, x, build.const(rw, factor)), element=element), bounds, element)
    # i16 holds twice any number that int8 does not saturate; what is wider is clamped, and stays exact
    wide = I16 if stored == I8 else I32
    whole = _whole(rw, x, factor, wide, mode)
    if stored == I32:
        whole = _with_large(rw, x, factor, whole)
    if wide == I16 and element.per_tensor:
        made = build.rescale(rw, whole, [1 << 30], [30], 0, element.zero_point, element)
        return clamp_to(rw, made, bounds, element)
    whole = build.cast(rw, whole, I32)
    if any(element.zero_points):
        points = along(element.zero_points, element, x.rank).astype(np.int32)
        whole = rw.emit("tosa.add", whole, build.const(rw, points))
    made = build.clamp(rw, whole, max(stored.range[0], element.storage_min), min(stored.range[1], element.storage_max))
    return rw.emit("tosa.identity" if stored == I32 else "tosa.cast", made, element=element)


def _as_stored(rw: Rewriter, x: Value, factor: np.ndarray, element: QuantType) -> Value:
    """`x * factor + zero_point`, cast, which rounds halves to even and saturates."""
    points = build.const(rw, along(element.zero_points, element, x.rank).astype(np.float32))
    moved = rw.emit("tosa.add", build.mul(rw, x, build.const(rw, factor.astype(np.float32))), points)
    low, high = element.storage.range
    if element.storage_min > low or element.storage_max < high:
        moved = build.clamp(rw, moved, float(element.storage_min), float(element.storage_max))
    return rw.emit("tosa.cast", moved, element=element)


def _counted(rw: Rewriter, x: Value, element: QuantType) -> Value:
    """Steps from the lower end on, halves up (`HalvesUp`)."""
    by = halves_up(element)
    low, twice = (build.const(rw, along(tuple(numbers), element, x.rank).astype(np.float32)) for numbers in (by.low, by.twice))
    steps = build.mul(rw, rw.emit("tosa.sub", x, low), twice)
    halves = rw.emit("tosa.floor", build.clamp(rw, steps, 0.0, by.most))
    moved, half = (build.float_scalar_like(rw, x, number) for number in (by.moved, 0.5))
    whole = rw.emit("tosa.floor", build.mul(rw, rw.emit("tosa.add", halves, moved), half))
    return rw.emit("tosa.cast", whole, element=element)


LIMIT = float(1 << 25)
"""Floats are whole numbers from 2**24 on, and 2**25 is more than twice what can be stored in 16 bits."""
GREATEST_I32 = float((1 << 31) - (1 << 7))
"""The greatest float of 32 bits that is below 2**31."""


def _with_large(rw: Rewriter, x: Value, factor: np.ndarray, whole: Value) -> Value:
    """`whole`, which is right up to 2**24, or the product itself, where that is beyond and needs no rounding."""
    product = build.clamp(rw, build.mul(rw, x, build.const(rw, factor.astype(np.float32))), -GREATEST_I32, GREATEST_I32)
    rounded = build.float_scalar_like(rw, x, LIMIT / 2)
    is_large = rw.emit("tosa.greater_equal", rw.emit("tosa.abs", product), rounded)
    return rw.emit("tosa.select", is_large, rw.emit("tosa.cast", product, element=I32), build.cast(rw, whole, I32))


def _whole(rw: Rewriter, x: Value, factor: np.ndarray, integer: IntegerType, mode: str) -> Value:
    """`x * factor` as whole numbers. Halves away from zero: of the absolute value, doubled and cut, then halved."""
    doubled = 1.0 if mode == "HalfToEven" else 2.0
    y = build.mul(rw, x, build.const(rw, (factor * np.float32(doubled)).astype(np.float32)))
    if integer == I32:
        y = build.clamp(rw, y, -LIMIT, LIMIT)
    if mode == "HalfToEven":
        return rw.emit("tosa.cast", y, element=integer)
    cut = rw.emit("tosa.cast", rw.emit("tosa.floor", rw.emit("tosa.abs", y)), element=integer)
    size = rw.emit("tosa.arithmetic_right_shift", cut, build.scalar(rw, 1, integer, cut.rank), round=True)
    positive = rw.emit("tosa.greater_equal", x, build.float_scalar_like(rw, x, 0.0))
    return rw.emit("tosa.select", positive, size, build.negate(rw, size))
