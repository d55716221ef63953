"""Pooling, with Caffe's windows: rounded up, averages divided by what of the window lies in the padded image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import need_place

from ..geometry import Windows, fail, outputs_of, pool_windows
from .common import CaffeTable, cast, reshape, shape_of

__all__ = ["TABLE", "average_counts"]

TABLE = CaffeTable()
_LEAST = -3.0e38
_MOST_WINDOW = 1 << 12


@TABLE("Pooling")
def pooling(op: Any, rw: Rewriter) -> Value | list[Value]:
    """The greatest or the mean of each window; with a second top, where the greatest were."""
    x = op.operands[0]
    windows = pool_windows(op, shape_of(x))
    if len(op.results) > 1 and op.pool != "MAX":
        raise Unsupported("gives a mask, which only the greatest elements have")
    if op.pool == "STOCHASTIC":
        # In the phase TEST Caffe weighs each element of a window by itself.
        return _expected(rw, x, windows)
    made = _pooled(rw, x, windows, op.pool)
    return made if len(op.results) == 1 else [made, _places(rw, x, windows)]


def _ends(windows: Windows, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """How far the last windows reach beyond the image."""
    return tuple(
        max(0, (out - 1) * step + kernel - pad - size) for out, step, kernel, pad, size in zip(
            windows.outputs, windows.stride, windows.kernel, windows.pad, spatial, strict=True))


def _pooled(rw: Rewriter, x: Value, windows: Windows, method: str) -> Value:
    spatial = shape_of(x, 4)[2:]
    kernel, stride, pad, _, outputs = windows
    pads = (*pad, *_ends(windows, spatial))
    where: dict[str, Any] = {"kernel_shape": kernel, "strides": stride, "pads": pads, "layout": "NCHW"}
    if method == "MAX":
        return rw.emit("top.MaxPool", x, **where)
    counts = average_counts(windows, spatial)
    if not any(pad):  # what lies beyond the image is not counted
        return rw.emit("top.AvgPool", x, count_include_pad=False, **where)
    made = rw.emit("top.AvgPool", x, count_include_pad=True, **where)
    whole = float(math.prod(kernel))
    if (counts == whole).all():
        return made
    factors = (whole / counts).astype(np.float32)
    return rw.emit("top.Mul", made, rw.constant(factors.reshape(1, 1, *outputs)))


def average_counts(windows: Windows, spatial: tuple[int, ...]) -> np.ndarray:
    """How many pixels of each window lie in the image and its padding, of one width on both sides."""
    need_place(*windows.outputs)
    sides = []
    for size, kernel, stride, pad, out in zip(
            spatial, windows.kernel, windows.stride, windows.pad, windows.outputs, strict=True):
        starts = tables.arange(out) * stride - pad
        sides.append(np.minimum(starts + kernel, size + pad) - starts)
    return np.multiply.outer(*sides).astype(np.float64)


def _expected(rw: Rewriter, x: Value, windows: Windows) -> Value:
    """Stochastic pooling when testing: the sum of squares of a window by its sum, of numbers that are not negative."""
    if any(windows.pad):
        raise Unsupported("is stochastic, and has padding")
    kernel, stride, _, _, _ = windows
    where: dict[str, Any] = {
        "kernel_shape": kernel, "strides": stride, "pads": (0, 0, *_ends(windows, shape_of(x, 4)[2:])), "layout": "NCHW"}
    squares = rw.emit("top.AvgPool", rw.emit("top.Mul", x, x), count_include_pad=True, **where)
    sums = rw.emit("top.AvgPool", x, count_include_pad=True, **where)
    zero = rw.constant(np.float32(0))
    one = rw.constant(np.float32(1))
    some = rw.emit("top.Compare", sums, zero, mode="Greater")
    return rw.emit("top.Where", some, rw.emit("top.Div", squares, rw.emit("top.Where", some, sums, one)), zero)


def window_places(windows: Windows, spatial: tuple[int, ...]) -> np.ndarray:
    """[windows, pixels]: which pixel of the flat image each one of a window is; the number of pixels where it is none."""
    need_place(*windows.outputs, *windows.kernel)
    height, width = spatial
    sides = []
    for size, kernel, stride, pad, out in zip(
            spatial, windows.kernel, windows.stride, windows.pad, windows.outputs, strict=True):
        places = tables.arange(out)[:, None] * stride - pad + tables.arange(kernel)
        sides.append(np.where((places >= 0) & (places < size), places, -1))
    rows, columns = sides[0][:, None, :, None], sides[1][None, :, None, :]
    flat = np.where((rows < 0) | (columns < 0), height * width, rows * width + columns)
    return flat.reshape(math.prod(windows.outputs), -1)


def _places(rw: Rewriter, x: Value, windows: Windows) -> Value:
    """The place in the image of the greatest element of each window, the first where several are, as floats."""
    n, c, height, width = shape_of(x, 4)
    table = window_places(windows, (height, width))
    count, size = table.shape
    if size > _MOST_WINDOW:
        raise Unsupported(f"gives a mask of windows of {size} pixels")
    flat = reshape(rw, x, (n, c, height * width))
    least = rw.constant(tables.full((n, c, 1), _LEAST, np.float32))
    seen = rw.emit("top.Gather", rw.emit("top.Concat", flat, least, axis=2), rw.constant(table.astype(np.int32)), axis=2)
    first = rw.emit("top.Arg", seen, axis=3, keepdims=False, mode="ArgMax", element=I32)
    rows = rw.emit("top.Add", first, rw.constant((tables.arange(count, dtype=np.int32) * size).reshape(1, 1, count)))
    places = rw.emit("top.Gather", rw.constant(table.reshape(-1).astype(np.int32)), rows)
    return reshape(rw, cast(rw, places, F32), (n, c, *windows.outputs))


@TABLE("SPP")
def pyramid(op: Any, rw: Rewriter) -> Value:
    """Pooling over a grid of 1, 2 x 2, 4 x 4, .. bins, each level flat and one after the other; one level stays an image."""
    x = op.operands[0]
    n, c, *spatial = shape_of(x, 4)
    if op.pool == "STOCHASTIC":
        raise Unsupported("pools by chance")
    levels = []
    for level in range(op.pyramid_height):
        bins = 2**level
        kernel = tuple(-(-size // bins) for size in spatial)
        pad = tuple((k * bins - size + 1) // 2 for k, size in zip(kernel, spatial, strict=True))
        if any(p >= k for p, k in zip(pad, kernel, strict=True)):
            fail(op, f"an image of {spatial[0]} x {spatial[1]} cannot be cut into {bins} x {bins} bins")
        windows = Windows(kernel, kernel, pad, (1, 1), outputs_of(tuple(spatial), kernel, kernel, pad, True))
        if windows.outputs != (bins, bins):
            fail(op, f"an image of {spatial[0]} x {spatial[1]} gives {windows.outputs} bins, not {bins} x {bins}")
        levels.append(_pooled(rw, x, windows, op.pool))
    if len(levels) == 1:
        return levels[0]
    return rw.emit(
        "top.Concat", *(reshape(rw, made, (n, c * 4**level)) for level, made in enumerate(levels)), axis=1)
