"""Weights that stay stored as integers, used as real numbers: a cast, a difference and a product with the scales of their blocks.

TOSA 1.0 casts no i4, and multiplies i4 weights by i8 numbers alone. So two numbers of 4 bits are one of i8: those of the first
half of a tensor in the low bits, of the second half in the high ones, which shifts take apart.
"""

from __future__ import annotations

import math

import numpy as np

from transload.ir import F32, I8, Dense, LazyData, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter
from transload_hub.simplify.weights import blocks_apart

from ... import build

__all__ = ["stored_weights"]


def stored_weights(rw: Rewriter, x: Value) -> Value | None:
    """The real numbers of a quantized constant of i8 in f32, computed when the model runs; None of any other.

    Integers of fewer bits, and unsigned ones, are in i8 by now (`signedness`); the range of their type says what they were.
    """
    dense, kind = constant_of(x), x.quant
    if dense is None or kind is None or kind.storage != I8:
        return None
    split, grid = blocks_apart(kind, dense.shape)
    shift = 0
    if kind.storage_max - kind.storage_min < 16 and math.prod(split) % 2 == 0:
        shift = kind.storage_min + 8
        stored = build.reshape(rw, _halves(rw, dense, shift), split)
    else:
        data = LazyData(lambda: dense.numpy().reshape(split), split, dense.data.dtype)
        stored = build.const(rw, data)
    numbers = build.cast(rw, stored, F32)
    points = np.array(kind.zero_points, np.float32) - np.float32(shift)
    if points.any():
        numbers = rw.emit("tosa.sub", numbers, build.const(rw, points.reshape(grid)))
    numbers = build.mul(rw, numbers, build.const(rw, kind.scale_array.astype(np.float32).reshape(grid)))
    return build.reshape(rw, numbers, dense.shape)


def _halves(rw: Rewriter, dense: Dense, shift: int) -> Value:
    """Integers from `shift - 8` to `shift + 7`, less `shift` [size], from i8 [size / 2] that hold two each."""
    count = math.prod(dense.shape) // 2

    def pairs() -> np.ndarray:
        numbers = (dense.numpy().astype(np.int8) - np.int8(shift)).reshape(2, count).view(np.uint8)
        return (numbers[0] & 0xF | numbers[1] << 4).view(np.int8)

    held = build.const(rw, LazyData(pairs, (count,), np.dtype(np.int8)))
    four = build.scalar(rw, 4, I8, 1)
    low = rw.emit("tosa.arithmetic_right_shift", rw.emit("tosa.logical_left_shift", held, four), four, round=False)
    high = rw.emit("tosa.arithmetic_right_shift", held, four, round=False)
    return rw.emit("tosa.concat", low, high, axis=0)
