"""Normalization and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter

from .common import CaffeTable, along, axis_of, bottom, number, reduced, reshape, shape_of

__all__ = ["TABLE"]

TABLE = CaffeTable()


@TABLE("Softmax")
def softmax(op: Any, rw: Rewriter) -> Value:
    """Along axis."""
    x = op.operands[0]
    return rw.emit("top.Softmax", x, axis=axis_of(op.axis, len(shape_of(x))))


@TABLE("BatchNorm")
def batch_norm(op: Any, rw: Rewriter) -> Value:
    """By the sums that training gathered, divided by how many they are; or, where the layer says so, by the batch's own."""
    x = op.operands[0]
    slope, summand = bottom(op, 4), bottom(op, 5)
    if op.attribute("use_global_stats") is False:
        return _scaled(rw, _by_batch(rw, x, op.eps), slope, summand)
    mean, variance = (_flat(rw.need_constant(value, "its statistics")) for value in op.operands[1:3])
    if bottom(op, 3) is not None:
        factor = float(_flat(rw.need_constant(op.operands[3], "its factor"))[0])
        # The product in single precision, as Caffe has it.
        share = np.float32(0 if factor == 0 else 1 / factor)
        mean, variance = mean * share, variance * share
    return _normalized(rw, x, mean, variance, op.eps, slope, summand)


def _flat(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, np.float32).reshape(-1)


def _normalized(
    rw: Rewriter, x: Value, mean: np.ndarray, variance: np.ndarray, eps: float, slope: Value | None, summand: Value | None,
) -> Value:
    shape = shape_of(x)
    if len(shape) == 1:
        made = rw.emit("top.BatchNorm", reshape(rw, x, (*shape, 1)), rw.constant(mean), rw.constant(variance), slope, summand,
                       epsilon=eps, layout="NCHW")
        return reshape(rw, made, shape)
    return rw.emit(
        "top.BatchNorm", x, rw.constant(mean), rw.constant(variance), slope, summand, epsilon=eps, layout="NCHW")


def _by_batch(rw: Rewriter, x: Value, eps: float) -> Value:
    rank = len(shape_of(x))
    axes = tuple(axis for axis in range(rank) if axis != 1)
    centred = rw.emit("top.Sub", x, reduced(rw, x, axes, "ReduceMean"))
    variance = reduced(rw, rw.emit("top.Mul", centred, centred), axes, "ReduceMean")
    return rw.emit("top.Div", centred, rw.emit("top.Sqrt", rw.emit("top.AddConst", variance, const_val=eps)))


def _scaled(rw: Rewriter, x: Value, slope: Value | None, summand: Value | None) -> Value:
    rank = len(shape_of(x))
    if slope is not None:
        x = rw.emit("top.Mul", x, along(rw, slope, 1, rank))
    return x if summand is None else rw.emit("top.Add", x, along(rw, summand, 1, rank))


@TABLE("BN")
def bn(op: Any, rw: Rewriter) -> Value:
    """With statistics (PSPNet), or where they are part of factor and summand already (SegNet, ENet)."""
    x, slope, summand = op.operands[:3]
    if bottom(op, 3) is None:
        return _scaled(rw, x, slope, summand)
    mean, variance = (_flat(rw.need_constant(value, "its statistics")) for value in op.operands[3:5])
    return _normalized(rw, x, mean, variance, op.eps, slope, summand)


@TABLE("MVN")
def mvn(op: Any, rw: Rewriter) -> Value:
    """eps is added to the standard deviation, not to the variance."""
    x = op.operands[0]
    rank = len(shape_of(x))
    axes = tuple(range(1 if op.across_channels else min(2, rank), rank))
    if not axes:
        raise Unsupported("has no pixels to normalize over")
    centred = rw.emit("top.Sub", x, reduced(rw, x, axes, "ReduceMean"))
    if not op.normalize_variance:
        return centred
    deviation = rw.emit("top.Sqrt", reduced(rw, rw.emit("top.Mul", centred, centred), axes, "ReduceMean"))
    return rw.emit("top.Div", centred, rw.emit("top.AddConst", deviation, const_val=op.eps))


@TABLE("Normalize")
def normalize(op: Any, rw: Rewriter) -> Value:
    """By the length of the vector of all of a sample, or of a pixel's channels; times a factor, or one a channel."""
    x, factor = op.operands[:2]
    rank = len(shape_of(x))
    axes = tuple(range(1, rank)) if op.across_spatial else (1,)
    squares = reduced(rw, x, axes, "ReduceSumSquare")
    made = rw.emit("top.Div", x, rw.emit("top.Sqrt", rw.emit("top.AddConst", squares, const_val=op.eps)))
    return rw.emit("top.Mul", made, along(rw, factor, 1, rank))


@TABLE("LRN")
def lrn(op: Any, rw: Rewriter) -> Value:
    """Across channels, or within them over a window of pixels, where k is 1 whatever is said."""
    x = op.operands[0]
    size = op.local_size
    if size < 1 or size % 2 == 0:
        raise Unsupported(f"its local_size is {size}, and must be odd")
    if op.norm_region == "ACROSS_CHANNELS":
        return rw.emit("top.LRN", x, size=size, alpha=op.alpha, beta=op.beta, bias=op.k, layout="NCHW")
    shape_of(x, 4)
    half = (size - 1) // 2
    means = rw.emit(
        "top.AvgPool", rw.emit("top.Mul", x, x), kernel_shape=(size, size), pads=(half,) * 4, count_include_pad=True,
        layout="NCHW")
    base = rw.emit("top.AddConst", rw.emit("top.MulConst", means, const_val=op.alpha), const_val=1.0)
    return rw.emit("top.Mul", x, rw.emit("top.Pow", base, number(rw, -op.beta)))
