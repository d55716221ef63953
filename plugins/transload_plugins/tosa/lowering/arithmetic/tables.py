"""Tables that compute a function of one quantized number, filled as LiteRT fills its own.

An int8 table has a result for each of the 256 numbers. An int16 table has 513 places, between which TOSA and LiteRT
interpolate; each place is moved so that the middle of its interval is off by as little as its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transload.engine.quantized import round_half_away
from transload.ir import I8, I16, QuantType, Value
from transload.rewrite import Rewriter

from ... import build
from .rescaling import NEAREST, rounding_of

__all__ = [
    "Function", "fits", "follows_litert", "in_integers", "int8_numbers", "int8_table", "int16_table", "lookup",
    "reals_of", "steep"]

Function = Callable[[np.ndarray], np.ndarray]
"""A function of float32 numbers."""


def int8_numbers() -> np.ndarray:
    """All int8 numbers in the order of a table."""
    return np.arange(-128, 128, dtype=np.int64)


def reals_of(type_: QuantType, numbers: np.ndarray) -> np.ndarray:
    """What stored numbers of a type stand for, in float32."""
    return np.float32(type_.scale) * (numbers - type_.zero_point).astype(np.float32)


def int8_table(source: QuantType, target: QuantType, function: Function, even: bool = False) -> np.ndarray:
    """`function` from one int8 type to another: multiplied by the inverse scale in float32, halves away from zero, as in LiteRT.

    Where halves become `even`, it is divided by the scale, as in onnxruntime.
    """
    with np.errstate(all="ignore"):
        values = np.asarray(function(reals_of(source, int8_numbers())), np.float32)
        scale = np.float32(target.scale)
        scaled = np.rint(values / scale) if even else round_half_away(values * (np.float32(1.0) / scale))
        scaled = scaled + np.float32(target.zero_point)
    return np.clip(np.nan_to_num(scaled, nan=target.zero_point), target.storage_min, target.storage_max).astype(np.int8)


def int16_table(source: QuantType, target: QuantType, function: Function, dtype: Any = np.float32) -> np.ndarray:
    """`function` from one int16 type to another at 513 places.

    A function that ends in infinity, as the exponential does, has the greatest number there, where LiteRT's subtraction of two
    infinities leaves 0.
    """
    number = np.dtype(dtype).type
    least, most = (number(source.scale) * number(limit - source.zero_point) for limit in (-32768, 32767))
    low, high = (number(target.scale) * number(limit - target.zero_point) for limit in (-32768, 32767))
    step = (most - least) / number(512)
    inverse = number(65536) / (high - low)
    places = np.arange(512).astype(dtype)
    with np.errstate(all="ignore"):
        value = np.asarray(function(least + places * step), dtype) * inverse
        middle = np.asarray(function(least + places * step + step / number(2)), dtype) * inverse
        following = np.asarray(function(least + (places + number(1)) * step), dtype) * inverse
        last = round_half_away(np.asarray(function(np.array([most], dtype)), dtype) * inverse)
        sample = round_half_away(value)
        error = round_half_away((following + sample) / number(2)) - round_half_away(middle)
        moved = round_half_away(error / number(2))
        ends = np.logical_and.accumulate(np.isposinf(following + sample)[::-1])[::-1]
        entries = np.concatenate([np.where(ends, sample, sample - moved), last])
    return np.clip(np.nan_to_num(entries), -32768, 32767).astype(np.int16)


def steep(entries: np.ndarray) -> bool:
    """Whether an int16 table rises or falls by more than int16 holds between two places, which TOSA does not allow."""
    slopes = np.diff(entries.astype(np.int64))
    return bool(np.any(slopes != slopes.astype(np.int16)))


def lookup(rw: Rewriter, x: Value, entries: np.ndarray, element: QuantType) -> Value:
    """`x` of int8 or int16 looked up in a table, as type `element` of the same width."""
    if entries.dtype == np.int8:
        return build.table(rw, x, entries, element=element)
    wide = build.table(rw, x, entries)  # with 7 bits of fraction
    return build.rescale(rw, wide, [1 << 23], [30], 0, 0, element)


def fits(source: QuantType | None, target: QuantType | None) -> bool:
    """Whether a table leads from one type to the other: int8 to int8, or int16 to int16 without zero points."""
    if source is None or target is None or not source.per_tensor or not target.per_tensor or source.storage != target.storage:
        return False
    return source.storage == I8 or (source.storage == I16 and source.zero_point == target.zero_point == 0)


def follows_litert(rw: Rewriter) -> bool:
    """Whether int16 results of the op that is converted may be those of LiteRT's kernels: interpolated, or rounded twice.

    These are some steps off what is rounded but once; the option `rounding` takes them for that, too.
    """
    return rounding_of(rw.op) != NEAREST or rw.options.get("rounding") == "litert"


def in_integers(rw: Rewriter) -> bool:
    """Whether what is rounded but once has to be computed without floats, as near as integers come to it (option `rounding`)."""
    return rw.options.get("rounding") == "integers"
