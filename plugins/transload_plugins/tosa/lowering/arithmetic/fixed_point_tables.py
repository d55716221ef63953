"""Tables filled by LiteRT's fixed-point formulas, where its reference kernels do not go through floats."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from transload.engine.quantized import round_half_away
from transload.errors import Unsupported
from transload.ir import I8, I16, I32, QuantType, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.scales import INT32_MAX, apply_scale, divide_by_power_of_two, high_multiply, scale32

from ... import build
from .rescaling import i32, shift_right, widen
from .tables import int8_numbers, reals_of

__all__ = ["absolute", "hard_swish", "inverse_root", "joined_unsigned", "leaky_relu", "sigmoid_or_tanh", "square_root"]


def _saturated(numbers: np.ndarray, target: QuantType) -> np.ndarray:
    return np.clip(numbers + target.zero_point, target.storage_min, target.storage_max).astype(dtype_of(target.storage))


def leaky_relu(source: QuantType, target: QuantType, up: float, down: float, negated: bool) -> np.ndarray:
    """Numbers times `up` where positive, `down` (negated where asked) elsewhere."""
    x = int8_numbers() - source.zero_point
    below = apply_scale(x, scale32(down))
    return _saturated(np.where(x >= 0, apply_scale(x, scale32(up)), -below if negated else below), target)


_ROOT_BITS = 20
"""Bits of fraction that an inverse root has before it is scaled."""
_HALF_ROOT_OF_2 = 1518500250
"""`sqrt(2) / 2` of Q0.31."""


def inverse_root(source: QuantType, target: QuantType) -> np.ndarray:
    """`1 / sqrt(x)` by five of Newton's steps in fixed point; of what has none, the greatest number.

    Source: `RsqrtEvalQuantized` in `tensorflow/lite/kernels/elementwise.cc` and `GetInvSqrtQuantizedMultiplierExp` in
    `tensorflow/lite/kernels/internal/common.h`.
    """
    real = 1.0 / (math.sqrt(np.float32(source.scale)) * float(np.float32(target.scale)))
    x = int8_numbers() - source.zero_point
    roots = np.array([_inverse_root(int(number)) if number > 0 else 0 for number in x], np.int64)
    made = _saturated(apply_scale(roots, scale32(real / (1 << _ROOT_BITS))), target)
    return np.where(x > 0, made, target.storage_max).astype(made.dtype)


def _inverse_root(number: int) -> int:
    """`2**20 / sqrt(number)` of an integer from 1 to 255."""
    if number == 1:
        return 1 << _ROOT_BITS
    pairs = (31 - number.bit_length()) // 2 - 1  # by how many bits, two by two, it is moved up to lie in Q3.28
    given = (number << 2 * pairs) >> 1
    x, half, three_halves = 1 << 28, divide_by_power_of_two(given, 1), (1 << 28) + (1 << 27)
    for _ in range(5):
        cube = _up(high_multiply(high_multiply(x, x), x), 6)
        x = _up(high_multiply(three_halves, x) - high_multiply(half, cube), 3)
    root, exponent = int(high_multiply(x, _HALF_ROOT_OF_2)), 11 - pairs
    if exponent < 0:
        root, exponent = root << -exponent, 0
    return int(divide_by_power_of_two(root, 31 - _ROOT_BITS + exponent))


def _up(number: Any, bits: int) -> int:
    """A number moved up, saturated to 32 bits."""
    return max(-INT32_MAX - 1, min(INT32_MAX, int(number) << bits))


def absolute(source: QuantType, target: QuantType, ratio: float) -> np.ndarray:
    """Absolute values, scaled where the scales differ."""
    x = np.abs(int8_numbers() - source.zero_point)
    return _saturated(x if source.scale == target.scale else apply_scale(x, scale32(ratio)), target)


def square_root(source: QuantType, target: QuantType) -> np.ndarray:
    """Roots in float32, divided there, their fractions cut off: of all int8 numbers, or of the int16 numbers from 0 on."""
    numbers = int8_numbers() if source.storage == I8 else tables.arange(1 << 15, dtype=np.int64)
    with np.errstate(all="ignore"):
        steps = np.sqrt(np.maximum(reals_of(source, numbers), np.float32(0.0))) / np.float32(target.scale)
    return _saturated(np.trunc(np.nan_to_num(steps)), target)


def joined_unsigned(source: QuantType, target: QuantType) -> np.ndarray:
    """What LiteRT's uint8 concatenation makes of numbers in another type: a float32 factor and offset, rounded.

    The types are those of int8; the arithmetic is that of the unsigned numbers, 128 more.
    """
    factor = np.float32(source.scale) * (np.float32(1.0) / np.float32(target.scale))
    offset = np.float32(-(source.zero_point + 128)) * factor
    scaled = round_half_away((int8_numbers() + 128).astype(np.float32) * factor + offset).astype(np.int64)
    return _saturated(scaled, target)


def _int16_factor(real: float) -> tuple[int, int]:
    """A real factor as a multiplier of 15 bits and an exponent: `multiplier / 2**15 * 2**exponent`."""
    if not math.isfinite(real):
        raise Unsupported("the result has a scale of 0, of which no number is a multiple")
    mantissa, exponent = math.frexp(real)
    multiplier = math.floor(mantissa * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, exponent = multiplier // 2, exponent + 1
    if multiplier >= (1 << 31) - 1 - (1 << 15):
        return 32767, exponent
    return (multiplier + (1 << 15)) >> 16, exponent


def _high_multiply16(a: np.ndarray, b: int) -> np.ndarray:
    """The upper half of `2 * a * b` of int16 numbers, rounded, halves away from zero."""
    product = a * b
    nudge = np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return np.minimum(np.trunc((product + nudge) / (1 << 15)).astype(np.int64), 32767)


def _saturate16(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -32768, 32767)


def hard_swish(source: QuantType, target: QuantType) -> np.ndarray | None:
    """`x * relu6(x + 3) / 6` in 16-bit fixed point; None where the scales do not fit LiteRT's formula."""
    x = (int8_numbers() - source.zero_point) * (1 << 7)
    fine_scale = np.float32(1.0 / 128.0) * np.float32(source.scale)
    output, output_exponent = _int16_factor(float(fine_scale / np.float32(target.scale)))
    if output_exponent > 0:
        return None
    on_output_scale = _high_multiply16(x, output)
    factor, exponent = _int16_factor(float(fine_scale / np.float32(3.0 / 32768.0)))
    gate = x
    if exponent > 0:
        gate = _saturate16(gate << (exponent - 1))
    gate = _high_multiply16(gate, factor)
    if exponent > 0:
        gate = _saturate16(gate << 1)
    elif exponent < 0:
        gate = divide_by_power_of_two(gate, -exponent)
    gate = (gate + (1 << 15)) >> 1  # -1 to 1 becomes 0 to 1
    product = np.trunc(gate * on_output_scale / (1 << 15)).astype(np.int64)
    return _saturated(divide_by_power_of_two(product, -output_exponent), target)


def sigmoid_values() -> np.ndarray:
    """LiteRT's table: sigmoid(i / 24) with 16 bits of fraction, for i from 0 to 255.

    Each value is moved by half of what interpolation is off in the middle of its interval; the last one is the end.
    """

    def exact(place: np.ndarray) -> np.ndarray:
        return 65536.0 / (1.0 + np.exp(-place / 24.0))

    i = np.arange(256)
    error = (exact(i) + exact(i + 1)) / 2 - exact(i + 0.5)
    values = np.floor(exact(i) - error / 2 + 0.5).astype(np.int64)
    values[255] = 65535
    return values


def input_multiplier(scale: float, power_shifts: tuple[int, ...]) -> tuple[int, int]:
    """How LiteRT scales int16 numbers for the table: `(x * multiplier + half) >> shift`, to units of 1 / (3 * 4096).

    Where the scale is 2**-12 (or another power of two in `power_shifts`, relative to it) the multiplier is exact.
    """
    if not scale:
        raise Unsupported("the input has a scale of 0: LiteRT's kernel takes its logarithm", "the scale is damaged")
    exponent = round(math.log2(scale))
    if abs(math.log2(scale) - exponent) < 1e-3 and exponent + 12 in power_shifts:
        return 3 << (exponent + 12), 0
    multiplier, shift = float(np.float32(scale)) * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        multiplier *= 2.0
    return int(multiplier), shift


@cache
def sigmoid_entries() -> np.ndarray:
    """An int16 table of 513 places that interpolates LiteRT's between its 256 values, by 8 bits, with nothing lost.

    Each interval is two of TOSA's, of 7 bits. Entries are doubled, so that the one in the middle is a whole number, and
    moved by `ENTRY_OFFSET` into 16 bits, which is possible as no value is less than 32768.
    """
    values = sigmoid_values()
    doubled = np.full(513, 2 * values[255])
    doubled[0:511:2] = 2 * values
    doubled[1:510:2] = values[:-1] + values[1:]
    entries = (doubled - ENTRY_OFFSET).astype(np.int16)
    entries.setflags(write=False)
    return entries


ENTRY_OFFSET = 3 << 15


def sigmoid_or_tanh(rw: Rewriter, x: Value, source: QuantType, target: QuantType, tanh: bool) -> Value:
    """The int16 kernels of sigmoid and tanh bit for bit: interpolation between 256 values by 9 or 8 bits.

    Both take the absolute value, interpolate in one and the same table - so a compiler for a chip may load it
    once - and turn the result round where `x` is negative. With 9 bits the result is that of 8 bits twice, for half of the
    place rounded down and rounded up, as the function is straight in between.
    """
    multiplier, shift = input_multiplier(source.scale, (0, 1) if tanh else (0,))
    if multiplier < 1 << 15:
        moved = build.rescale(rw, x, [multiplier << 16], [shift + 16], 0, 0, I32)
    else:  # four steps from zero are beyond the table's end, or with a multiplier of more bits one
        near = build.clamp(rw, widen(rw, x), -4, 4)
        moved = build.mul(rw, near, i32(rw, min(multiplier, 1 << 17), near), element=I32)
    size = rw.emit("tosa.abs", moved)
    if tanh:
        found = _interpolated(rw, size, 0)
    else:
        if (32768 * multiplier + (1 << shift >> 1)) >> shift > LAST_PLACE:
            size = rw.emit("tosa.minimum", size, i32(rw, LAST_PLACE, size))
        found = rw.emit("tosa.add", _interpolated(rw, size, 1, down=True), _interpolated(rw, size, 1))
    # less the function's value at zero: what the sign is of
    zero = 1 << (22 if tanh else 23)
    found = rw.emit("tosa.add", found, i32(rw, zero, found))
    negative = shift_right(rw, moved, 31, rounded=False)  # -1 or 0
    sign = rw.emit("tosa.add", rw.emit("tosa.add", negative, negative), i32(rw, 1, negative))  # not `negative | 1`: chips lack it
    turned = build.mul(rw, found, sign, element=I32)
    # LiteRT takes halves away from zero, RESCALE up
    nudge = negative if tanh else rw.emit("tosa.add", negative, i32(rw, 1 << 24, negative))
    return build.rescale(
        rw, rw.emit("tosa.add", turned, nudge), [1 << 30], [38 if tanh else 40], 0, 0, target)


LAST_PLACE = 254 << 9
"""From here on the sigmoid is 32767 in units of 2**-15, or 1 where it is turned round, in LiteRT's kernel."""


def _interpolated(rw: Rewriter, place: Value, bits: int, down: bool = False) -> Value:
    """The entry for `place / 2**bits`, rounded to the nearest (halves up) or down, saturated at the table's end."""
    index = rw.emit("tosa.sub", place, i32(rw, (32768 << bits) + (bits if down else 0), place))
    index = build.rescale(rw, index, [1 << 30], [30 + bits], 0, 0, I16)
    return build.table(rw, index, sigmoid_entries())
