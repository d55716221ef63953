"""Normalizations: by statistics that are given, or of the batch itself."""

from __future__ import annotations

import math

from transload.errors import Unsupported
from transload.ir import F32, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import cast, reshape, scalar_like, splat

from .table import TfTable, attr, channels_last, element_of, shape_of

TABLE = TfTable()


@TABLE("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def fused_batch_norm(op: Op, rw: Rewriter) -> list[Value]:
    """FusedBatchNorm, V2, V3: with the statistics given, or, in training, with those of the batch.

    Halves are computed in f32, in which the statistics are. Further results are the statistics; what only GPUs keep is empty.
    """
    value, scale, offset, mean, variance = op.operands[:5]
    layout = "NHWC" if channels_last(op) else "NCHW"
    element, epsilon = value.element, float(attr(op, "epsilon", 1e-4))
    work = cast(rw, value, scale.element)
    if attr(op, "is_training", True):
        used, kept = _statistics(op, rw, work, layout, (mean, variance))
        saved = used
    else:
        used = kept = saved = (mean, variance)
    normal = rw.emit("top.BatchNorm", work, *used, scale, offset, epsilon=epsilon, layout=layout)
    results = [cast(rw, normal, element), *kept, *saved]
    if len(op.results) > 5:
        results.append(splat(rw, 0, (0,), element_of(op, 5)))
    if op.name == "tf._FusedBatchNormEx":
        results[0] = _activated(op, rw, results[0])
    return results


def _activated(op: Op, rw: Rewriter, value: Value) -> Value:
    for side in op.operands[5:]:
        value = rw.emit("top.Add", value, side)
    mode = attr(op, "activation_mode", "Identity")
    if mode not in ("Identity", "Relu"):
        raise Unsupported(f"the activation is {mode!r}")
    return rw.emit("top.Relu", value) if mode == "Relu" else value


def _statistics(
    op: Op, rw: Rewriter, value: Value, layout: str, running: tuple[Value, Value],
) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    """Mean and variance of the batch, per channel; and what is kept, blended with the running ones."""
    sizes = shape_of(value, least=3)
    channel = len(sizes) - 1 if layout == "NHWC" else 1
    axes = tuple(axis for axis in range(len(sizes)) if axis != channel)
    count = math.prod(sizes[axis] for axis in axes)
    mean = rw.emit("top.Reduce", value, axes=axes, keepdims=True, mode="ReduceMean")
    squares = rw.emit("top.Square", rw.emit("top.Sub", value, mean))
    variance = rw.emit("top.Reduce", squares, axes=axes, keepdims=False, mode="ReduceMean")
    flat = reshape(rw, mean, (sizes[channel],))
    unbiased = rw.emit("top.Mul", variance, scalar_like(rw, variance, count / max(count - 1, 1)))
    factor = float(attr(op, "exponential_avg_factor", 1.0))
    if factor == 1.0:
        return (flat, variance), (flat, unbiased)
    blended = tuple(
        rw.emit("top.Add", old, new, coeff=(1.0 - factor, factor)) for old, new in zip(running, (flat, unbiased), strict=True))
    return (flat, variance), (blended[0], blended[1])


@TABLE("BatchNormWithGlobalNormalization")
def global_normalization(op: Op, rw: Rewriter) -> Value:
    """BatchNormWithGlobalNormalization: gamma counts where `scale_after_normalization` says so."""
    value, mean, variance, beta, gamma = op.operands
    scale = gamma if attr(op, "scale_after_normalization") else None
    epsilon = float(attr(op, "variance_epsilon"))
    return rw.emit("top.BatchNorm", value, mean, variance, scale, beta, epsilon=epsilon, layout="NHWC")


@TABLE("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def fused_batch_norm_grad(op: Op, rw: Rewriter) -> list[Value]:
    """FusedBatchNormGrad, V2, V3: with respect to the input, scale and offset.

    `saved` are mean and variance of the batch in training, the given ones else.
    """
    back, value, scale, mean, variance = op.operands[:5]
    element = value.element
    back, value = cast(rw, back, F32), cast(rw, value, F32)
    sizes = shape_of(value, least=3)
    channel = len(sizes) - 1 if channels_last(op) else 1
    axes = tuple(axis for axis in range(len(sizes)) if axis != channel)
    if 0 in sizes:
        raise Unsupported(f"the batch has the shape {list(sizes)}, of which there is no mean")
    wide = tuple(n if axis == channel else 1 for axis, n in enumerate(sizes))

    def total(part: Value) -> Value:
        return rw.emit("top.Reduce", part, axes=axes, keepdims=True, mode="ReduceSum")

    centered = rw.emit("top.Sub", value, reshape(rw, mean, wide))
    epsilon = scalar_like(rw, value, float(attr(op, "epsilon", 1e-4)))
    inverse = rw.emit("top.Rsqrt", rw.emit("top.Add", reshape(rw, variance, wide), epsilon))
    d_offset, with_center = total(back), total(rw.emit("top.Mul", back, centered))
    d_scale = rw.emit("top.Mul", with_center, inverse)
    factor = rw.emit("top.Mul", reshape(rw, scale, wide), inverse)
    inner = back
    if attr(op, "is_training", True):
        share = scalar_like(rw, value, 1 / math.prod(sizes[axis] for axis in axes))
        slope = rw.emit("top.Mul", rw.emit("top.Mul", rw.emit("top.Mul", with_center, share), inverse), inverse)
        inner = rw.emit("top.Sub", back, rw.emit("top.Mul", d_offset, share))
        inner = rw.emit("top.Sub", inner, rw.emit("top.Mul", centered, slope))
    flat = (sizes[channel],)
    results = [cast(rw, rw.emit("top.Mul", inner, factor), element), reshape(rw, d_scale, flat), reshape(rw, d_offset, flat)]
    return results + [splat(rw, 0, (0,), element_of(op, index)) for index in (3, 4)]


@TABLE("LRN")
def lrn(op: Op, rw: Rewriter) -> Value:
    """LRN: the window has `depth_radius` channels on both sides, whose squares are summed."""
    value = op.operands[0]
    radius, alpha = int(attr(op, "depth_radius", 5)), float(attr(op, "alpha", 1.0))
    if not 0 <= radius < 1 << 30:
        raise Unsupported(f"the window has {radius} channels on both sides")
    size = 2 * radius + 1
    beta, bias = float(attr(op, "beta", 0.5)), float(attr(op, "bias", 1.0))
    return rw.emit("top.LRN", value, size=size, alpha=alpha * size, beta=beta, bias=bias, layout="NHWC")


