"""The arithmetic of quantized operators, as numbers: scales as multiplier and shift, rounding, ranges, fixed point.

Nothing here builds ops. A real factor becomes a `Scale`: `value * multiplier >> shift`, rounded, which is what
`tosa.rescale` computes and what LiteRT's kernels compute. The rules of rounding are theirs:

- most of LiteRT's 8-bit kernels multiply with doubling and rounding and then divide with rounding, which is
  exactly TOSA's DOUBLE_ROUND;
- its kernels with 64-bit sums use 16-bit multipliers and round once: `scale16`;
- its fully connected kernels multiply in float64 and round halves away from zero: `scale_exact`, SINGLE_ROUND.

Source: TOSA 1.0 section 2.2 (`apply_scale_32`); behaviour of the reference kernels of LiteRT 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from transload.engine.quantized import round_half_away
from transload.ir import QuantType, Type
from transload.rewrite import Unsupported

__all__ = [
    "COMPARED", "HalvesUp", "Scale", "activation_bounds", "apply_scale", "clamp_factor", "compares_reals",
    "divide_by_power_of_two", "exp_on_negative_values", "float_product", "halves_up", "high_multiply", "nudged", "per_step",
    "product_factors", "quantize_float32", "scale16", "scale32", "scale_exact", "scales32", "softmax_input_scale", "split",
]

INT32_MAX = (1 << 31) - 1
COMPARED = 8
"""Bits of fraction with which LiteRT compares quantized numbers, whose scales are below 1."""


class Scale(NamedTuple):
    """A factor `multiplier / 2**shift`, with 2 <= shift <= 62 as TOSA wants it."""

    multiplier: int
    shift: int

    @property
    def real(self) -> float:
        return self.multiplier / 2.0**self.shift


def per_step(real: float, step: float) -> float:
    """`real / step`; infinite, of which no `Scale` is made, where the step of a quantized type is zero."""
    return real / step if step else math.inf


def nudged(low: Any, high: Any, least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The step and the zero point by which integers from `least` to `most` hold numbers from `low` to `high`, for each range.

    The range is moved so that 0 is one of the steps. In float32, as those compute who train with such ranges: of -1 .. 1 the
    zero point is 127.49999 then, not a half, and halves go up. Of ranges that no float32 divides the step is 0 or infinite.

    Source: `Nudge` in `tensorflow/core/kernels/fake_quant_ops_functor.h`; `NudgeQuantizationRange` in
    `tensorflow/lite/kernels/internal/quantization_util.cc`.
    """
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    with np.errstate(all="ignore"):
        scale = (high - low) / np.float32(most - least)
        zero = np.float32(least) - low / scale
        return scale, np.clip(np.floor(zero.astype(np.float64) + 0.5), least, most)


class HalvesUp(NamedTuple):
    """What quantizes float32 numbers with halves up (`top.Cast`), in steps from the lower end of their range on.

    `floor((floor(clamp((x - low) * twice, 0, most)) + moved) / 2)`: in twice the steps halves are whole numbers, and all after
    the product is exact. A half that is added to the steps themselves would be rounded with what is just below it.
    """

    low: np.ndarray
    """The lower end of the real numbers; one, or one for each index of the type's axis, as of `twice`."""
    twice: np.ndarray
    most: float
    moved: float


def halves_up(element: QuantType) -> HalvesUp:
    """What quantizes to a type of 16 bits or less with halves up."""
    least, most = element.storage_min, element.storage_max
    scales, points = (np.asarray(numbers, np.float32) for numbers in (element.scales, element.zero_points))
    return HalvesUp((np.float32(least) - points) * scales, 2 * (np.float32(1) / scales), 2.0 * (most - least), 2.0 * least + 1)


def scale32(real: float) -> Scale:
    """The factor with a multiplier of 31 bits: TFLite's `QuantizeMultiplier`, its shift counted the other way."""
    if not math.isfinite(real) or real < 0:
        raise Unsupported(f"a scale of {real} cannot be applied to integers", "scales must be positive and finite")
    mantissa, exponent = math.frexp(real)
    multiplier = math.floor(mantissa * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier //= 2
        exponent += 1
    shift = 31 - exponent
    if shift > 62:  # less than 2**-32: nothing of a 32-bit number is left
        return Scale(0, 62)
    if shift < 2:
        raise Unsupported(f"a scale of {real} is too large for 32-bit arithmetic", "input by output scale must be below 2**29")
    return Scale(multiplier, shift)


def scales32(reals: np.ndarray) -> tuple[Sequence[int], Sequence[int]]:
    """The multipliers and the shifts that `scale32` gives for many factors, at once where none is out of range."""
    # Neither bound holds where one is not a number.
    if len(reals) >= 8 and np.minimum.reduce(reals) >= 2.0**-30 and np.maximum.reduce(reals) < 2.0**28:
        mantissas, exponents = np.frexp(reals)
        multipliers = np.floor(mantissas * (1 << 31) + 0.5).astype(np.int64)
        over = multipliers >> 31  # 1 where it was rounded up to a power of two
        return multipliers >> over, 31 - exponents - over
    return split(map(scale32, reals.tolist()))


def split(scales: Iterable[Scale]) -> tuple[Sequence[int], Sequence[int]]:
    """The multipliers and the shifts of some scales."""
    pairs = list(scales)
    return [scale.multiplier for scale in pairs], [scale.shift for scale in pairs]


def scale16(real: float) -> Scale:
    """The factor with a multiplier of 15 bits, for sums of 48 bits; LiteRT's for 64-bit sums."""
    multiplier, shift = scale32(real)
    reduced = (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    if shift < 18:
        raise Unsupported(f"a scale of {real} is too large for 16-bit multipliers", "input by output scale must be below 2**13")
    return Scale(reduced, shift - 16)


def scale_exact(real: float) -> Scale:
    """The factor for SINGLE_ROUND that rounds as `round(real * value)` does: halves away from zero.

    SINGLE_ROUND takes halves upwards. Halves occur only where the multiplier ends in many zeros; one added
    to such a multiplier moves every half away from zero, and nothing else over a boundary.
    """
    multiplier, shift = scale32(real)
    return Scale(multiplier | 1, shift) if multiplier and multiplier % (1 << 12) == 0 else Scale(multiplier, shift)


def float_product(a: float, b: float) -> float:
    """The product as LiteRT's 8-bit kernels take it in places: in float32."""
    return float(np.float32(a) * np.float32(b))


def product_factors(x: QuantType, w: QuantType, target: Type, *, rounding: str, in_float32: bool) -> np.ndarray:
    """What sums of products of numbers of `x` and `w` are multiplied by to be of type `target`, for each scale of `w`.

    LiteRT computes it in float64, but the product of two single scales `in_float32` in some kernels. Of the words for `rounding`
    (`transload_hub.ops.rounding`) "float32", onnxruntime's kernels, has all of it so, and "once", the real result, nothing.
    """
    if rounding == "float32" and isinstance(target, QuantType):
        return (np.float32(x.scale) * w.scale_array.astype(np.float32) / np.float32(target.scale)).astype(np.float64)
    divisor = float(np.float32(target.scale)) if isinstance(target, QuantType) else 1.0
    if in_float32 and w.per_tensor and rounding != "once":
        return np.array([per_step(float_product(x.scale, w.scale), divisor)])
    return float(np.float32(x.scale)) * w.scale_array.astype(np.float32).astype(np.float64) / divisor


RELUS = ((0.0, math.inf), (0.0, 6.0))
RELUS_OF_BYTES = (*RELUS, (0.0, 1.0), (-1.0, 1.0))


def clamp_factor(source: QuantType, target: QuantType, limits: tuple[float, float], rounding: str) -> float:
    """What numbers of a type are multiplied by to be of another one, which then has `limits`, as a ReLU and a clip have them.

    LiteRT's activations divide the scales in float32. Other limits are a QUANTIZE there, and a maximum and a minimum: as of all
    that is rounded otherwise than "double" (`transload_hub.ops.rounding`), the quotient is in float64.
    """
    known = RELUS_OF_BYTES if source.storage.width == 8 else RELUS
    if rounding == "double" and limits in known:
        return float(np.float32(source.scale) / np.float32(target.scale))
    return float(np.float64(np.float32(source.scale)) / np.float64(np.float32(target.scale)))


def apply_scale(values: Any, scale: Scale, double_round: bool = True) -> np.ndarray:
    """`value * multiplier >> shift` with TOSA's rounding, of integers that fit in 32 bits, as int64."""
    values = np.asarray(values, np.int64)
    half: Any = np.int64(1) << np.int64(scale.shift - 1)
    if double_round and scale.shift > 31:
        half = half + np.where(values >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
    return (values * np.int64(scale.multiplier) + half) >> np.int64(scale.shift)


def quantize_float32(real: float, type_: QuantType) -> int:
    """The stored number of a real one in a per-tensor type, saturated; divided in float32, halves away from zero, as LiteRT."""
    with np.errstate(all="ignore"):
        scaled = np.asarray(np.float32(real) / np.float32(type_.scale))
    if not type_.scale or np.isnan(scaled):
        raise Unsupported(f"{real:g} is no number of a type of scale {type_.scale:g}", "the scale is damaged")
    return int(np.clip(float(round_half_away(scaled)) + type_.zero_point, type_.storage_min, type_.storage_max))


def compares_reals(a: QuantType, b: QuantType) -> bool:
    """Whether LiteRT compares numbers of two types as the real numbers that they stand for, whatever they are.

    It rounds each side to `COMPARED` bits of fraction. Numbers of one type stay apart, and in their order, where its step is
    no less than the last of these; those of two types may be rounded to one number, or past each other. Of scales of 1 and
    more, and of one for each channel, it has no comparison: these are of real numbers.
    """
    if not (a.per_tensor and b.per_tensor) or max(a.scale, b.scale) >= 1:
        return True
    return (a.storage, a.scale, a.zero_point) == (b.storage, b.scale, b.zero_point) and a.scale * (1 << COMPARED) >= 1


def activation_bounds(type_: QuantType, low: float = -math.inf, high: float = math.inf) -> tuple[int, int] | None:
    """The stored range of a result that is clamped to reals `low` to `high`; None where that is all of the storage."""
    least = type_.storage_min if math.isinf(low) else quantize_float32(low, type_)
    most = type_.storage_max if math.isinf(high) else quantize_float32(high, type_)
    return None if (least, most) == type_.storage.range else (min(least, most), most)


# --- fixed point, as gemmlowp defines it: 32-bit numbers with some integer bits, here int64 arrays


def high_multiply(a: Any, b: Any) -> np.ndarray:
    """The upper half of `2 * a * b`, rounded, halves up; saturated where both are the least number."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.minimum((product + (1 << 30)) >> 31, INT32_MAX)


def divide_by_power_of_two(x: Any, exponent: int) -> np.ndarray:
    """`x / 2**exponent`, rounded, halves away from zero."""
    x = np.asarray(x, np.int64)
    if exponent == 0:
        return x
    if exponent > 62:  # nothing is left of a number of 62 bits
        return np.zeros_like(x)
    rest = x & ((1 << exponent) - 1)
    threshold = (((1 << exponent) - 1) >> 1) + (x < 0)
    return (x >> exponent) + (rest > threshold)


def exp_on_negative_values(x: Any, integer_bits: int) -> np.ndarray:
    """`exp(x)` of fixed-point numbers `x <= 0` with `integer_bits`, as fixed point with none (Q0.31).

    A polynomial on [-1/4, 0) around -1/8, then a factor for each further bit of `x`.
    """
    x = np.asarray(x, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    part = (x & (quarter - 1)) - quarter
    y = (part << integer_bits) + (1 << 28)  # moved to around 0
    squared = high_multiply(y, y)
    cubed = high_multiply(squared, y)
    fourth = divide_by_power_of_two(high_multiply(squared, squared), 2)
    series = divide_by_power_of_two(high_multiply(fourth + cubed, 715827883) + squared, 1)  # x^4/24 + x^3/6 + x^2/2
    at_eighth = 1895147668  # exp(-1/8)
    result = at_eighth + high_multiply(at_eighth, y + series)
    remainder = part - x
    for exponent, factor in zip(range(-2, 5), _EXP_FACTORS, strict=True):
        if integer_bits > exponent:
            bit = remainder & (1 << (fraction_bits + exponent))
            result = np.where(bit != 0, high_multiply(result, factor), result)
    return np.where(x == 0, INT32_MAX, result)


_EXP_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2**e) for e = -2 to 4, in Q0.31."""


def softmax_input_scale(beta: float, scale: float, integer_bits: int = 5) -> tuple[Scale, int]:
    """How LiteRT's softmax scales differences to fixed point, and the least difference that it does not take as zero.

    The scale is for `(difference << left)` with the left shift already in it; returned as multiplier and left
    shift in the form `Scale(multiplier, 31 - left)`.
    """
    if not beta > 0:
        raise Unsupported(f"a softmax of integers with a beta of {beta}: LiteRT's fixed point has exponents of one sign",
                          "keep it in floats")
    real = min(float(np.float32(beta)) * float(np.float32(scale)) * (1 << (31 - integer_bits)), float(INT32_MAX))
    mantissa, left = math.frexp(real)
    if not math.isfinite(mantissa):
        raise Unsupported(f"a softmax of beta {beta} and scale {scale} has no meaning", "the model is damaged")
    multiplier = math.floor(mantissa * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, left = multiplier // 2, left + 1
    if left < 0:
        raise Unsupported(f"softmax of numbers with scale {scale} cannot be computed in fixed point", "the scale is too small")
    radius = math.floor(((1 << integer_bits) - 1) * (1 << (31 - integer_bits)) / (1 << left))
    return Scale(multiplier, 31 - left), -radius


