"""Kernel: resampling. Each dimension by itself: a few taps (subscript and weight) per output place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.plugin import KernelTable

from ..ops.infer import spatial_axes
from .common import Array, finish, is_integer, wide

if TYPE_CHECKING:
    from ..ops.resize import Interp

__all__ = ["KERNELS", "coordinates", "nearest", "taps"]

KERNELS = KernelTable()


def coordinates(op: Interp, i: int, size: int) -> Array:
    """Where the output places of spatial dimension `i` lie in an input of `size` elements.

    Without scales, in float64 and with size / count kept as a fraction, so that whole coordinates come out whole.
    A scale is a float32, which already rounds: with float32 quotients, as runtimes have them, most that should be
    whole are again.
    """
    count, mode = op.sizes[i], op.coord_mode
    place = np.arange(count, dtype=np.float64)
    if mode == "align_corners":
        return place * (size - 1) / (count - 1) if count > 1 else place

    def scaled(x: Array) -> Array:
        if op.scales is None:
            return x * size / count
        return x.astype(np.float32) / np.float32(op.scales[i])

    if mode == "asymmetric":
        return scaled(place).astype(np.float64)
    if mode == "tf_half_pixel_for_nn":
        return scaled(place + 0.5).astype(np.float64)
    if mode == "pytorch_half_pixel" and count == 1:
        return np.zeros(1)
    if mode == "half_pixel_symmetric" and op.scales is not None:
        return _symmetric(place, size, count, np.float32(op.scales[i]))
    return (scaled(place + 0.5) - np.float32(0.5)).astype(np.float64)


def _symmetric(place: Array, size: int, count: int, scale: np.float32) -> Array:
    """Where places lie by the centres of pixels, moved so that what rounding left out of the size is missing on both sides.

    As onnxruntime has it: how far they are moved, and the whole, are rounded to float32, and nothing between.
    """
    moved = np.float32(size / 2) * (1 - np.float32(count) / (np.float32(size) * scale))
    return (float(moved) + (place + 0.5) / float(scale) - 0.5).astype(np.float32).astype(np.float64)


_TIE = 1e-6
"""How near a coordinate that a rounded scale gave lies to a half that it is, for onnxruntime."""


def nearest(mode: str, x: Array, scaled: bool) -> Array:
    """Which elements coordinates are rounded to, before they are moved onto the border: `nearest_mode` of `top.Interp`.

    Those of sizes are exact. A half between two elements that a scale gave, `scaled`, may have lost its last bits: what lies
    less than a millionth away is one.
    """
    if mode in ("floor", "ceil"):
        return np.floor(x) if mode == "floor" else np.ceil(x)
    away = 0.5 + _TIE if scaled else 0.5
    return np.ceil(x - away) if mode == "round_prefer_floor" else np.floor(x + away)


def _triangle(distance: Array) -> Array:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: Array, a: float) -> Array:
    """Keys's cubic convolution kernel with coefficient `a`."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def taps(op: Interp, i: int, size: int) -> tuple[Array, Array]:
    """Subscripts and weights, [out, taps] each, of spatial dimension `i` of an input of `size` elements."""
    x = coordinates(op, i, size)
    if op.mode == "nearest":
        where = nearest(op.nearest_mode, x, op.scales is not None)
        return np.clip(where, 0, size - 1).astype(np.int64)[:, None], np.ones((len(x), 1))
    shrink = 1.0
    if op.antialias:
        scale = op.sizes[i] / size if op.scales is None else op.scales[i]
        shrink = min(scale, 1.0)
    radius = (1 if op.mode == "linear" else 2) / shrink
    first = np.floor(x) - math.ceil(radius) + 1
    where = first[:, None] + np.arange(2 * math.ceil(radius))
    distance = (where - x[:, None]) * shrink
    weights = _triangle(distance) if op.mode == "linear" else _cubic(distance, op.cubic_coeff)
    if op.exclude_outside:
        weights = np.where((where < 0) | (where > size - 1), 0, weights)
    if op.exclude_outside or shrink < 1:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(where, 0, size - 1).astype(np.int64), weights


def _weighted(x: Array, axis: int, where: Array, weights: Array) -> Array:
    """The sum over taps of the elements at `where` along a dimension, times their weights."""
    shape = [-1 if place == axis else 1 for place in range(x.ndim)]
    total: Array | None = None
    for tap in range(where.shape[1]):
        if not weights[:, tap].any():
            continue
        part = x.take(where[:, tap], axis=axis)
        part *= weights[:, tap].reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    return np.zeros((*x.shape[:axis], len(where), *x.shape[axis + 1 :]), x.dtype) if total is None else total


_WHOLE = 1e-6
"""What is a whole number but for that, of the weights' roundings, is one, and is not cut to the one below."""


@KERNELS("top.Interp")
def interp(op: Interp, x: Array) -> Array:
    y = wide(x)
    if is_integer(y) and op.mode != "nearest":
        y = y.astype(np.float64)  # what comes between integers is truncated at the end
    for i, axis in enumerate(spatial_axes(op.layout, x.ndim)):
        size = x.shape[axis]
        if not op.antialias and np.array_equal(coordinates(op, i, size), np.arange(size)):
            continue  # every place falls on its own element
        where, weights = taps(op, i, size)
        if op.mode == "nearest":
            y = y.take(where[:, 0], axis=axis)
            continue
        y = _weighted(y, axis, where, weights.astype(y.dtype))
    if is_integer(wide(x)) and op.mode != "nearest":
        whole = np.rint(y)
        y = np.where(np.abs(y - whole) < _WHOLE, whole, y)
    if is_integer(wide(x)) and op.mode == "cubic":
        limits = np.iinfo(wide(x).dtype)
        y = np.clip(y, limits.min, limits.max)  # cubic interpolation overshoots
    return finish(op, y)
