"""Quantization: fake, by ranges, and uniform.

Quantized tensors of TensorFlow (`quint8`, `qint32`, ...) are the plain integers they store, as their ranges are tensors of their
own. What is quantized by a scale and a zero point that are known becomes a quantized type of the hub on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I8, I16, I32, UI8, UI16, DialectType, IntegerType, Op, QuantType, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import cast, reshape, scalar_like, splat
from transload_hub.scales import nudged
from transload_hub.simplify.qdq import kept

from .table import TfTable, attr, axis_of, constant_array, constant_float, constant_int, shape_of

__all__ = ["STORED", "TABLE", "stored"]

TABLE = TfTable()

STORED: dict[str, IntegerType] = {
    "tf_type.qint8": I8, "tf_type.quint8": UI8, "tf_type.qint16": I16, "tf_type.quint16": UI16, "tf_type.qint32": I32}
"""The integers that quantized tensors store."""


def stored(element: Type) -> Type:
    """The plain integers of a quantized element type; any other type is itself."""
    return STORED.get(element.text, element) if isinstance(element, DialectType) else element


# --- fake quantization

@TABLE("FakeQuantWithMinMaxArgs")
def fake_quant_args(op: Op, rw: Rewriter) -> Value:
    """FakeQuantWithMinMaxArgs: to a quantized type and back."""
    low, high = (float(attr(op, name)) for name in ("min", "max"))
    return _fake_quant(op, rw, np.array([low]), np.array([high]), None)


@TABLE("FakeQuantWithMinMaxVars")
def fake_quant_vars(op: Op, rw: Rewriter) -> Value:
    """FakeQuantWithMinMaxVars with a constant range."""
    low, high = (np.array([constant_float(rw, value, "the range")]) for value in op.operands[1:])
    return _fake_quant(op, rw, low, high, None)


@TABLE("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_channels(op: Op, rw: Rewriter) -> Value:
    """FakeQuantWithMinMaxVarsPerChannel: a constant range for each of the last dimension."""
    low, high = (constant_array(rw, value, "the range").astype(np.float32) for value in op.operands[1:])
    return _fake_quant(op, rw, low, high, len(shape_of(op.operands[0], least=1)) - 1)


def _fake_quant(op: Op, rw: Rewriter, low: np.ndarray, high: np.ndarray, axis: int | None) -> Value:
    """The nearest of the numbers that so many bits tell apart; the range is moved so that 0 is one of them.

    To a quantized type and back; of constants, which are weights, the integers are there already. `fold-fake-quant` makes integer
    arithmetic of that. Source: the documentation of `tf.quantization.fake_quant_with_min_max_args`, and the kernels' formula
    (`nudged`).
    """
    value, bits = op.operands[0], int(attr(op, "num_bits", 8))
    low, high = low.astype(np.float32).reshape(-1), high.astype(np.float32).reshape(-1)
    wanted = {1 if axis is None else shape_of(value)[axis]}
    if {low.size, high.size} != wanted:
        raise Unsupported(
            f"quantizes by {low.size} lower and {high.size} upper ends of a range, and {min(wanted)} of each are wanted")
    is_nothing = (low == 0) & (high == 0)
    if not 2 <= bits <= 16 or not (np.isfinite(high - low) & ((low < high) | is_nothing)).all():
        raise Unsupported(f"quantizes to {bits} bits between {low.tolist()} and {high.tolist()}")
    least, most = (1 if attr(op, "narrow_range", False) else 0), (1 << bits) - 1
    if is_nothing.all():
        return splat(rw, 0, shape_of(value), value.element)  # of infinities and NaN, too
    scale, zero = nudged(low, high, least, most)
    inverse = None if op.name.endswith("Vars") else np.float32(most - least) / np.where(is_nothing, np.float32(1), high - low)
    given = rw.constant_of(value)
    if given is not None and (is_nothing | (scale > 0)).all():
        live = ~is_nothing  # where nothing is, a bias that is added is to be as fine as that of the others
        scale, zero = np.where(live, scale, scale[live].min()), np.where(live, zero, zero[live][0])
        numbers = np.where(live, _whole(given, scale, inverse, zero - least, most - least), 0) + zero
        kind = _element(bits, scale, zero, axis, least, most, weights=True)
        stored = (numbers - (1 << (bits - 1))).astype(dtype_of(kind.storage))
        return kept(rw, "top.Cast", rw.constant(stored, element=kind), element=F32)
    if (scale == 0).any() or axis is not None:
        below = np.where(is_nothing, 0, zero - least).astype(np.float32)
        ends = [np.where(is_nothing, 0, end).astype(np.float32) for end in (-below * scale, (most - least - below) * scale)]
        return _by_arithmetic(rw, value, np.where(scale == 0, np.float32(1), scale), inverse, below, *ends)
    name = op.origin or None  # of the integers, as everywhere
    held = rw.emit(
        "top.Cast", value, element=_element(bits, scale, zero, None, least, most), round_mode="HalfUp", location=name)
    return rw.emit("top.Cast", held, element=F32, location=name and f"{name}/float")


def _whole(given: np.ndarray, scale: np.ndarray, inverse: np.ndarray | None, below: np.ndarray, count: int) -> np.ndarray:
    """How many steps numbers are from 0, of `count` steps that begin `below` 0: for all, or for each of the last dimension.

    In float32, as the kernels compute: the one of `Vars` divides by a step, the others multiply by its inverse. Halves go up.
    """
    below = below.astype(np.float32)
    low, high = -below * scale, (np.float32(count) - below) * scale
    shifted = np.maximum(np.minimum(given.astype(np.float32), high), low) - low
    steps = shifted / scale if inverse is None else shifted * inverse
    return np.clip(np.floor(steps - below + np.float32(0.5)), -below, count - below)


def _element(
    bits: int, scale: np.ndarray, zero: np.ndarray, axis: int | None, least: int, most: int, *, weights: bool = False,
) -> QuantType:
    """The type of integers from `least` to `most`, made signed ones; of few bits, which only weights are held in, as few."""
    half = 1 << (bits - 1)
    points = (zero - half).astype(int).tolist()
    narrow = weights and bits <= 4 and not any(points)
    storage = IntegerType(4) if narrow else I8 if bits <= 8 else I16
    axis = axis if len(points) > 1 else None
    return QuantType(storage, F32, tuple(scale.astype(float).tolist()), tuple(points), axis, least - half, most - half)


def _by_arithmetic(
    rw: Rewriter, value: Value, scale: np.ndarray, inverse: np.ndarray | None, below: np.ndarray, least: np.ndarray,
    most: np.ndarray,
) -> Value:
    """`floor((clamp(x) - low) / scale - below + 1/2) * scale`, a scale and ends for each of the last dimension; see `_whole`."""
    low, high, step = (rw.constant(each.astype(np.float32)) for each in (least, most, scale))
    clamped = rw.emit("top.Min", rw.emit("top.Max", value, low), high)
    shifted = rw.emit("top.Sub", clamped, low)
    steps = rw.emit("top.Div", shifted, step) if inverse is None else rw.emit("top.Mul", shifted, rw.constant(
        inverse.astype(np.float32)))
    moved = rw.emit("top.Sub", steps, rw.constant(below))
    return rw.emit("top.Mul", rw.emit("top.Floor", rw.emit("top.Add", moved, scalar_like(rw, moved, 0.5))), step)


# --- quantized and back, by a range of the data or a given one

@TABLE("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(op: Op, rw: Rewriter) -> Value | list[Value]:
    """QuantizeAndDequantize, V2 to V4: by the widest scale that the range allows, whose 0 stays 0.

    Source: the documentation of `tf.raw_ops.QuantizeAndDequantizeV2`.
    """
    value = op.operands[0]
    signed, narrow = bool(attr(op, "signed_input", True)), bool(attr(op, "narrow_range", False))
    bits = constant_int(rw, op.operands[3], "the number of bits") if op.name.endswith("V3") else int(attr(op, "num_bits", 8))
    if not 1 + signed <= bits <= 62:
        raise Unsupported(f"quantizes to {bits} bits; {1 + signed} to 62 can be")
    least, most = (-(1 << bits - 1) + narrow, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    rank, axis = len(shape_of(value)), int(attr(op, "axis", -1))
    if axis != -1:
        axis = axis_of(axis, rank)
    low, high = _range(op, rw, value, axis)
    if axis >= 0:
        wide = tuple(-1 if place == axis else 1 for place in range(rank))
        low, high = (rw.emit("top.Reshape", end, shape=wide) for end in (low, high))
    scale = _common_scale(rw, low, high, least, most)
    inverse = rw.emit("top.Reciprocal", scale)
    if attr(op, "range_given", False) or axis >= 0:
        ends = [rw.emit("top.Mul", scalar_like(rw, value, end), inverse) for end in (least, most)]
        value = rw.emit("top.Min", rw.emit("top.Max", value, ends[0]), ends[1])
    steps = rw.emit("top.Mul", value, scale)
    if attr(op, "round_mode", "HALF_TO_EVEN") == "HALF_UP":
        whole = rw.emit("top.Floor", rw.emit("top.Add", steps, scalar_like(rw, steps, 0.5)))
    else:
        whole = rw.emit("top.Round", steps)
    return rw.emit("top.Mul", whole, inverse)


def _range(op: Op, rw: Rewriter, value: Value, axis: int) -> tuple[Value, Value]:
    """The least and the greatest number: given, or those of the data, of all or along an axis."""
    if attr(op, "range_given", False):
        if op.name == "tf.QuantizeAndDequantize":
            low, high = (scalar_like(rw, value, float(attr(op, f"input_{end}", 0.0))) for end in ("min", "max"))
            return low, high
        return op.operands[1], op.operands[2]
    rank = len(shape_of(value))
    axes = tuple(place for place in range(rank) if axis < 0 or place != axis)
    low, high = (rw.emit("top.Reduce", value, axes=axes, keepdims=False, mode=mode) for mode in ("ReduceMin", "ReduceMax"))
    return low, high


def _common_scale(rw: Rewriter, low: Value, high: Value, least: int, most: int) -> Value:
    """The lesser of the scales by which each end of the range becomes that of the integers; an end at 0 sets none."""
    endless = scalar_like(rw, low, 3.4028234663852886e38)
    scales = []
    for end, number in ((low, least), (high, most)):
        sides = rw.emit("top.Mul", end, scalar_like(rw, end, number))
        same_side = rw.emit("top.Compare", sides, scalar_like(rw, end, 0), mode="Greater")
        safe = rw.emit("top.Where", same_side, end, scalar_like(rw, end, 1))
        scales.append(rw.emit("top.Where", same_side, rw.emit("top.Div", scalar_like(rw, end, number), safe), endless))
    return rw.emit("top.Min", *scales)


# --- by ranges that are tensors

def _need_range(low: float, high: float) -> None:
    if not -np.inf < low < high < np.inf:
        raise Unsupported(f"the range from {low} to {high} is none that integers could divide")


@TABLE("QuantizeV2")
def quantize_v2(op: Op, rw: Rewriter) -> list[Value]:
    """QuantizeV2 with a constant range, in its three modes."""
    value = op.operands[0]
    low, high = (constant_float(rw, operand, "the range") for operand in op.operands[1:3])
    element = stored(op.results[0].element)
    if not isinstance(element, IntegerType) or int(attr(op, "axis", -1)) >= 0:
        raise Unsupported("quantizes by a range for each channel")
    mode, least, most = attr(op, "mode", "MIN_COMBINED"), *element.range
    low = min(0.0, low)
    high = max(high, low + max(1.0, abs(low), abs(high)) * float(attr(op, "ensure_minimum_range", 0.01)), 0.0)
    _need_range(low, high)
    if mode == "SCALED":
        least = least + 1 if attr(op, "narrow_range", False) and least else least
        scale = min((end / bound for end, bound in ((least, low), (most, high)) if end * bound > 0), default=1.0)
        steps = rw.emit("top.Mul", value, scalar_like(rw, value, scale))
        even = attr(op, "round_mode", "HALF_AWAY_FROM_ZERO") == "HALF_TO_EVEN"
        low, high = least / scale, most / scale
        return _integers(rw, steps, element, (least, most), "HalfToEven" if even else "HalfAwayFromZero", (low, high))
    scale = (most - least) / (high - low)
    if mode == "MIN_FIRST":
        first = np.round(low * scale)
        steps = rw.emit("top.Round", rw.emit("top.Mul", value, scalar_like(rw, value, scale)))
        steps = rw.emit("top.Add", steps, scalar_like(rw, value, least - float(first)))
    else:
        clamped = rw.emit("top.Clip", value, min=low, max=high)
        steps = rw.emit("top.Mul", rw.emit("top.Sub", clamped, scalar_like(rw, value, low)), scalar_like(rw, value, scale))
        if least:
            steps = rw.emit("top.Sub", steps, scalar_like(rw, value, (most - least + 1) / 2))
    return _integers(rw, steps, element, (least, most), "HalfAwayFromZero", (low, high))


def _integers(
    rw: Rewriter, steps: Value, element: Type, ends: tuple[int, int], rounding: str, given: tuple[float, float],
) -> list[Value]:
    clamped = rw.emit("top.Clip", steps, min=float(ends[0]), max=float(ends[1]))
    whole = rw.emit("top.Cast", clamped, element=element, round_mode=rounding, saturate=True)
    return [whole, *(rw.constant(np.float32(end)) for end in given)]


@TABLE("Dequantize")
def dequantize(op: Op, rw: Rewriter) -> Value:
    """Dequantize with a constant range, in its three modes."""
    value = op.operands[0]
    low, high = (constant_float(rw, operand, "the range") for operand in op.operands[1:3])
    element, mode = value.element, attr(op, "mode", "MIN_COMBINED")
    if not isinstance(element, IntegerType) or int(attr(op, "axis", -1)) >= 0:
        raise Unsupported("dequantizes by a range for each channel")
    least, most = element.range
    if mode != "SCALED":
        _need_range(low, high)
    steps = cast(rw, value, F32)
    if mode == "SCALED":
        least = least + 1 if attr(op, "narrow_range", False) and least else least
        scale = max(low / least if least else 0.0, high / most)
        real = rw.emit("top.Mul", steps, scalar_like(rw, steps, scale))
    elif mode == "MIN_FIRST":
        scale = (high - low) / (most - least)
        first = float(np.round(low / scale)) * scale
        moved = rw.emit("top.Sub", steps, scalar_like(rw, steps, least))
        real = rw.emit("top.Add", rw.emit("top.Mul", moved, scalar_like(rw, steps, scale)), scalar_like(rw, steps, first))
    else:
        if least:
            steps = rw.emit("top.Add", steps, scalar_like(rw, steps, (most - least + 1) / 2))
        scaled = rw.emit("top.Mul", steps, scalar_like(rw, steps, (high - low) / (most - least)))
        real = rw.emit("top.Add", scaled, scalar_like(rw, steps, low))
    return cast(rw, real, op.results[0].element)


# --- uniform quantization: real = scale * (stored - zero point)

def _quantized(op: Op, rw: Rewriter, element: Type, sizes: Sequence[int], first: int, prefix: str = "quantization") -> QuantType:
    """The quantized type of scales and zero points that are constant operands, of a tensor of `sizes` stored in `element`."""
    scales, zeros = (constant_array(rw, op.operands[first + i], "a scale or zero point").reshape(-1) for i in (0, 1))
    axis = int(attr(op, f"{prefix}_axis", -1))
    least, most = (int(attr(op, f"{prefix}_{end}_val")) for end in ("min", "max"))
    if not isinstance(element, IntegerType):
        raise Unsupported(f"is stored as {element}")
    count = sizes[axis_of(axis, len(sizes))] if axis >= 0 else 1
    if scales.size != count or zeros.size != count:
        raise Unsupported(f"has {scales.size} scales and {zeros.size} zero points, and must have {count} of each")
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise Unsupported("has a scale that is not positive and finite")
    if not element.range[0] <= least < most <= element.range[1] or (zeros < least).any() or (zeros > most).any():
        raise Unsupported(f"its zero points, or its least and greatest numbers {least} and {most}, do not fit {element}")
    return QuantType(element, F32, tuple(scales.astype(float).tolist()), tuple(zeros.astype(int).tolist()),
                     axis if axis >= 0 else None, least, most)


@TABLE("UniformQuantize")
def uniform_quantize(op: Op, rw: Rewriter) -> Value:
    """UniformQuantize: `floor(x * (1 / scale) + 1/2)` steps from the zero point, in float32, as TensorFlow's `AffineQuantize`."""
    value, element = op.operands[0], stored(op.results[0].element)
    kind = _quantized(op, rw, element, shape_of(value), 1)
    scales = np.asarray(kind.scales, np.float32)
    steps = rw.emit("top.Mul", value, _along(rw, np.float32(1) / scales, kind, value.rank))
    if kind.storage == I32:
        return _integers_half_up(rw, steps, kind)
    real = rw.emit("top.Mul", _half_up(rw, steps), _along(rw, scales, kind, value.rank))  # of a whole number of steps
    return rw.emit("top.Bitcast", rw.emit("top.Cast", real, element=kind, round_mode="HalfToEven"), element=element)


@TABLE("UniformDequantize")
def uniform_dequantize(op: Op, rw: Rewriter) -> Value:
    """UniformDequantize."""
    value = op.operands[0]
    kind = _quantized(op, rw, value.element, shape_of(value), 1)
    if kind.storage == I32:  # which is no storage of the hub's quantized tensors that all targets have
        scales = _along(rw, np.asarray(kind.scales, np.float32), kind, value.rank)
        return rw.emit("top.Mul", cast(rw, _from_zero(rw, value, kind), F32), scales)
    return cast(rw, rw.emit("top.Bitcast", value, element=kind), op.results[0].element)


def _along(rw: Rewriter, numbers: np.ndarray, kind: QuantType, rank: int) -> Value:
    """Numbers, one for each scale of a quantized type, as a tensor that broadcasts along their axis."""
    shape = () if kind.axis is None else tuple(-1 if place == kind.axis else 1 for place in range(rank))
    return rw.constant(numbers.reshape(shape))


def _from_zero(rw: Rewriter, value: Value, kind: QuantType) -> Value:
    """How many steps stored numbers are from their zero points, as integers of 32 bits."""
    whole = cast(rw, value, I32)
    if not any(kind.zero_points):
        return whole
    return rw.emit("top.Sub", whole, _along(rw, np.asarray(kind.zero_points, np.int32), kind, value.rank))


def _half_up(rw: Rewriter, steps: Value) -> Value:
    """Floats rounded to whole ones, halves up."""
    return rw.emit("top.Floor", rw.emit("top.Add", steps, scalar_like(rw, steps, 0.5)))


def _integers_half_up(rw: Rewriter, steps: Value, kind: QuantType) -> Value:
    """Floats that count steps from the zero points as the integers that are stored, halves up, within their range."""
    whole = rw.emit("top.Cast", _half_up(rw, steps), element=I32, saturate=True)
    if any(kind.zero_points):
        whole = rw.emit("top.Add", whole, _along(rw, np.asarray(kind.zero_points, np.int32), kind, steps.rank))
    if (kind.storage_min, kind.storage_max) != I32.range:
        above = rw.emit("top.Max", whole, scalar_like(rw, whole, kind.storage_min))
        whole = rw.emit("top.Min", above, scalar_like(rw, whole, kind.storage_max))
    return cast(rw, whole, kind.storage)


def _factor(ratio: np.ndarray) -> np.ndarray:
    """Quotients of scales in float32, by which integers are multiplied: TensorFlow has 31 bits for them.

    A quotient that is next to a number of few bits (0.3 / 0.2, of float32, is more than 1.5) would become it, and what is
    multiplied a half where it is none: so it becomes the next number on its side.
    """
    near, places = ratio.astype(np.float32), 31 - np.frexp(ratio)[1]
    off = np.rint(np.ldexp(ratio, places)) - np.ldexp(near.astype(np.float64), places)
    is_short = (near.view(np.int32) & 0xFF) == 0  # 16 bits are enough: products with 8 bits are exact
    aside = np.nextafter(near, np.where(off > 0, np.float32(np.inf), np.float32(0)))
    return np.where(is_short & (off != 0), aside, near)


@TABLE("UniformRequantize")
def uniform_requantize(op: Op, rw: Rewriter) -> Value:
    """UniformRequantize: rounded once, halves up, by the quotient of the scales.

    Source: `AffineRequantizeWithQuantizedMultiplierAndShift` in `tensorflow/core/kernels/uniform_quant_ops/math_utils.h`.
    """
    value, element = op.operands[0], stored(op.results[0].element)
    sizes = shape_of(value)
    before = _quantized(op, rw, value.element, sizes, 1, "input_quantization")
    after = _quantized(op, rw, element, sizes, 3, "output_quantization")
    if I32 not in (before.storage, after.storage) and before.per_tensor and after.per_tensor:
        real = rw.emit("top.Bitcast", value, element=before)
        return rw.emit("top.Bitcast", rw.emit("top.Cast", real, element=after, rounding="once"), element=element)
    if None not in (before.axis, after.axis) and before.axis != after.axis:
        raise Unsupported(f"has scales along the dimension {before.axis}, and new ones along the dimension {after.axis}")
    factor = _along(rw, _factor(before.scale_array / after.scale_array), after if before.per_tensor else before, value.rank)
    steps = rw.emit("top.Mul", cast(rw, _from_zero(rw, value, before), F32), factor)
    return _integers_half_up(rw, steps, after)


@TABLE("UniformQuantizedDot", "UniformQuantizedDotHybrid")
def uniform_dot(op: Op, rw: Rewriter) -> Value:
    """UniformQuantizedDot, UniformQuantizedDotHybrid (of floats with quantized weights).

    What is stored less its zero point is multiplied; the sums are scaled to the type of the result, and rounded.
    """
    left, right = op.operands[:2]
    if op.name == "tf.UniformQuantizedDotHybrid":
        kind = _quantized(op, rw, right.element, shape_of(right, 2), 2, "rhs_quantization")
        if kind.axis == 0:
            raise Unsupported("has scales for each row of its weights")
        steps = rw.emit("top.Sub", cast(rw, right, F32), rw.constant(np.asarray(kind.zero_points, np.float32)))
        return rw.emit("top.MatMul", left, rw.emit("top.Mul", steps, rw.constant(np.asarray(kind.scales, np.float32))))
    kinds = [_quantized(op, rw, value.element, shape_of(value, 2), 2 + 2 * i, f"{side}_quantization")
             for i, (value, side) in enumerate(((left, "lhs"), (right, "rhs")))]
    columns = shape_of(right)[1]
    made = _quantized(op, rw, stored(op.results[0].element), (shape_of(left)[0], columns), 6, "output_quantization")
    if kinds[0].axis is not None or kinds[1].axis == 0 or made.axis == 0:
        raise Unsupported("has scales for each row")
    less = [rw.emit("top.Sub", cast(rw, value, I32), rw.constant(np.asarray(kind.zero_points, np.int32)))
            for value, kind in zip((left, right), kinds, strict=True)]
    sums = cast(rw, rw.emit("top.MatMul", *less), F32)
    factor = _factor(kinds[0].scale_array * kinds[1].scale_array / made.scale_array)
    return _integers_half_up(rw, rw.emit("top.Mul", sums, rw.constant(factor)), made)


@TABLE("UniformQuantizedClipByValue")
def uniform_clip(op: Op, rw: Rewriter) -> Value:
    """UniformQuantizedClipByValue: of what is stored, between two numbers or two for each place of the quantization axis."""
    value, *ends = op.operands[:3]
    sizes, axis = shape_of(value), int(attr(op, "quantization_axis", -1))
    held: tuple[int, ...] = ()
    wide: tuple[int, ...] = ()
    if axis != -1:
        axis = axis_of(axis, len(sizes), "the quantization axis")
        held, wide = (sizes[axis],), tuple(size if place == axis else 1 for place, size in enumerate(sizes))
    if {shape_of(end) for end in ends} != {held}:
        raise Unsupported(f"clips between ends of shapes {[list(shape_of(end)) for end in ends]}, and {list(held)} is wanted")
    low, high = (reshape(rw, end, wide) for end in ends)
    return rw.emit("top.Min", rw.emit("top.Max", value, low), high)


