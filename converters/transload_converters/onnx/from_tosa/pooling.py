"""Poolings and sampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import F32, F64, I32, IntegerType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables

from ..lowering.common import cast, constant, emit, ints, static_shape
from .common import CHANNELS_LAST, CHANNELS_SECOND, as_float, held, number, passes_nans, scalar_like, sizes, turned, without_nans
from .narrow import digits, is_narrow, summed
from .products import window_sums
from .rescale import Scale, scaled

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _window(op: Op, first: int) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride and padding: attributes, or operands from the number `first` on."""
    if op.name.endswith("_adaptive"):
        kernel, stride, pad = (sizes(value, "the window") for value in op.operands[first:])
        return kernel, stride, pad
    return tuple(op.attributes["kernel"]), tuple(op.attributes["stride"]), tuple(op.attributes["pad"])


@TABLE("tosa.max_pool2d", "tosa.max_pool2d_adaptive")
def max_pool(op: Op, rw: Rewriter) -> Value:
    """MaxPool of floats, which hold the integers; where NaNs are passed over, of the other numbers."""
    window, stride, pad = _window(op, 1)
    x = turned(rw, op.operands[0], CHANNELS_SECOND)
    batch, height, width, channels = static_shape(op.results[0])
    real = as_float(rw, x, F32) if isinstance(x.element, IntegerType) else x

    def greatest(x: Value) -> Value:
        return emit(rw, "MaxPool", x, shape=(batch, channels, height, width), kernel_shape=window, strides=stride,
                    pads=(*pad[::2], *pad[1::2]))

    y = without_nans(rw, real, -np.inf, greatest) if passes_nans(op) else greatest(real)
    return turned(rw, cast(rw, y, x.element), CHANNELS_LAST)


@TABLE("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive")
def average_pool(op: Op, rw: Rewriter) -> Value:
    """AveragePool; of integers sums, times TOSA's reciprocal of how many numbers each window has."""
    window, stride, pad = _window(op, 3)
    x = turned(rw, op.operands[0], CHANNELS_SECOND)
    batch, height, width, channels = static_shape(op.results[0])
    if not isinstance(x.element, IntegerType):
        y = emit(rw, "AveragePool", x, shape=(batch, channels, height, width), kernel_shape=window, strides=stride,
                 pads=(*pad[::2], *pad[1::2]), count_include_pad=0)
        return turned(rw, y, CHANNELS_LAST)
    greatest = window[0] * window[1] << x.element.width
    if greatest >= 1 << 24:
        raise Unsupported(f"the sums of a window of {window[0]}x{window[1]} may need more than the 24 bits of an f32")
    zero_in, zero_out = (number(value, "a zero point") for value in op.operands[1:3])
    x = as_float(rw, x, F32)
    x = emit(rw, "Sub", x, scalar_like(rw, zero_in, x)) if zero_in else x
    sums = cast(rw, window_sums(rw, x, window, stride, pad), I32)
    rows, columns = static_shape(op.operands[0])[1:3]
    counts = np.multiply.outer(
        _counted(rows, window[0], stride[0], pad[0], height), _counted(columns, window[1], stride[1], pad[2], width))
    scale = Scale(*_reciprocals(counts), 0, zero_out, False, *op.results[0].element.range)  # type: ignore[attr-defined]
    return turned(rw, cast(rw, scaled(rw, sums, scale, greatest, 1), op.results[0].element), CHANNELS_LAST)


def _counted(length: int, extent: int, stride: int, before: int, places: int) -> np.ndarray:
    """How many numbers each window of one dimension has."""
    first = tables.arange(places) * stride - before
    return np.minimum(first + extent, length) - np.maximum(first, 0)


def _reciprocals(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers and shifts that divide by counts, as TOSA's `reciprocal_scale` (1.9.2)."""
    shifts = np.array([30 + (int(count) - 1).bit_length() for count in counts.flat], np.int64).reshape(counts.shape)
    return np.left_shift(np.int64((1 << 30) + 1), shifts - 30) // counts, shifts


@TABLE("tosa.resize")
def resize(op: Op, rw: Rewriter) -> Value:
    """Nearest: rows and columns picked. Bilinear: products by matrices of the weights; of integers in f64, which holds them."""
    x = op.operands[0]
    (y_n, y_d, x_n, x_d), offset = sizes(op.operands[1], "the scale"), sizes(op.operands[2], "the offset")
    batch, height, width, channels = static_shape(x)
    _, rows, columns, _ = static_shape(op.results[0])
    down, across = _places(height, rows, y_n, y_d, offset[0]), _places(width, columns, x_n, x_d, offset[1])
    if op.attributes["mode"] != "BILINEAR":
        picked = [np.where(2 * fraction >= n, after, before) for (before, after, fraction), n in ((down, y_n), (across, x_n))]
        lines = emit(rw, "Gather", x, ints(rw, picked[0].tolist()), shape=(batch, rows, width, channels), axis=1)
        return emit(rw, "Gather", lines, ints(rw, picked[1].tolist()), shape=(batch, rows, columns, channels), axis=2)
    integers = isinstance(x.element, IntegerType)
    x = turned(rw, x, CHANNELS_SECOND)
    size, stretched = (batch, channels, rows, columns), (batch, channels, rows, width)
    vertical, horizontal = _weights(down, height, y_n, integers), _weights(across, width, x_n, integers).T
    if integers and is_narrow(rw):
        return turned(rw, cast(rw, _weighed(rw, x, vertical, horizontal, (y_n, x_n)), held(op.results[0].element)), CHANNELS_LAST)
    x = as_float(rw, x, F64) if integers else cast(rw, x, F32)
    y = emit(rw, "MatMul", constant(rw, vertical, x.element), x, like=x, shape=stretched)
    y = emit(rw, "MatMul", y, constant(rw, horizontal, x.element), shape=size)
    return turned(rw, cast(rw, y, held(op.results[0].element)), CHANNELS_LAST)


def _weighed(rw: Rewriter, x: Value, vertical: np.ndarray, horizontal: np.ndarray, units: tuple[int, int]) -> Value:
    """`vertical @ x @ horizontal` of integers, in i32: the second product is of digits. Weights of a place sum to `units`."""
    assert isinstance(x.element, IntegerType)
    magnitude = units[0] << (x.element.width - 1)
    if magnitude >= 1 << 24 or units[1] >= 1 << 12 or magnitude * units[1] >= 1 << 31:
        raise Unsupported("what it gives may need more than 32 bits, or products of it more than the 24 of an f32")
    batch, channels, _, width = static_shape(x)
    y = emit(rw, "MatMul", constant(rw, vertical, F32), as_float(rw, x, F32), element=F32,
             shape=(batch, channels, len(vertical), width))
    return summed(rw, [
        emit(rw, "MatMul", digit, constant(rw, horizontal, F32), shape=(batch, channels, len(vertical), horizontal.shape[1]))
        for digit in digits(rw, y, magnitude)])


def _places(size: int, places: int, n: int, d: int, offset: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each place of the result: the input before it, the one after it, and how far it lies between, in units of 1/n."""
    position = tables.arange(places, dtype=np.int64) * d + offset
    before = np.floor_divide(position, n)
    return np.clip(before, 0, size - 1), np.clip(before + 1, 0, size - 1), position - before * n


def _weights(places: Sequence[np.ndarray], size: int, n: int, integers: bool) -> np.ndarray:
    """How much each input has of each place of the result: in units of 1/n of integers, whose results are in these."""
    before, after, fraction = places
    weights = tables.zeros((len(before), size))
    share = fraction if integers else fraction / n
    np.add.at(weights, (np.arange(len(before)), before), (n if integers else 1) - share)
    np.add.at(weights, (np.arange(len(before)), after), share)
    return weights
