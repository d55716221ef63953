"""Normalization: batch, instance, layer, group, RMS, Lp, and the local response."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Op, Value
from transload.ir.types import BF16, F16
from transload.rewrite import Rewriter

from .table import OnnxTable, attr, axis_of, cast, flag, need, need_attr, operand, opset, reshape, scalar_like, shape_of

TABLE = OnnxTable()


@TABLE("onnx.BatchNormalization")
def batch_norm(op: Op, rw: Rewriter) -> list[Value]:
    """BatchNormalization by the given statistics, or (training_mode) by those of the batch."""
    value, gamma, beta, mean, variance = (need(op, i) for i in range(5))
    if opset(op) < 9 and attr(op, "spatial", 1) == 0 and len(shape_of(value)) > 2:
        raise Unsupported("normalizes each activation by itself (spatial=0)", "export the model with opset 9 or newer")
    epsilon = float(attr(op, "epsilon", 1e-5))
    if flag(op, "training_mode", 0):
        return _batch_norm_in_training(op, rw, value, gamma, beta, mean, variance, epsilon)
    parts = [cast(rw, part, value.element) for part in (mean, variance, gamma, beta)]
    normal = rw.emit("top.BatchNorm", value, *parts, epsilon=epsilon, layout="NCHW")
    return [normal, *_unused(op, 1, normal)]


def _batch_norm_in_training(
    op: Op, rw: Rewriter, value: Value, gamma: Value, beta: Value, mean: Value, variance: Value, epsilon: float,
) -> list[Value]:
    rank = len(shape_of(value))
    axes = tuple(axis for axis in range(rank) if axis != 1)
    batch_mean, batch_variance = _moments(rw, value, axes)
    channels = shape_of(value, least=2)[1]
    flat_mean, flat_variance = reshape(rw, batch_mean, (channels,)), reshape(rw, batch_variance, (channels,))
    normal = rw.emit("top.BatchNorm", value, flat_mean, flat_variance, gamma, beta, epsilon=epsilon, layout="NCHW")
    momentum = float(attr(op, "momentum", 0.9))

    def running(old: Value, new: Value) -> Value:
        return rw.emit("top.Add", old, new, coeff=(momentum, 1.0 - momentum))

    return [normal, running(mean, flat_mean), running(variance, flat_variance)][: len(op.results)]


def _moments(rw: Rewriter, value: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """Mean and variance over `axes`, which stay with size 1."""
    mean = rw.emit("top.Reduce", value, axes=axes, mode="ReduceMean")
    centered = rw.emit("top.Sub", value, mean)
    return mean, rw.emit("top.Reduce", rw.emit("top.Square", centered), axes=axes, mode="ReduceMean")


def _unused(op: Op, first: int, value: Value) -> list[Value]:
    """Replacements for results that only training uses."""
    for result in op.results[first:]:
        if result.uses:
            raise Unsupported(f"its output {result.name!r} is used, and exists in training only", "export it for inference")
    return [value] * (len(op.results) - first)


@TABLE("onnx.InstanceNormalization")
def instance_norm(op: Op, rw: Rewriter) -> Value:
    """InstanceNormalization."""
    return rw.emit("top.InstanceNorm", need(op, 0), need(op, 1), need(op, 2), eps=float(attr(op, "epsilon", 1e-5)), layout="NCHW")


@TABLE("onnx.LayerNormalization")
def layer_norm(op: Op, rw: Rewriter) -> list[Value]:
    """LayerNormalization; mean and inverse deviation where they are used."""
    value = need(op, 0)
    rank = len(shape_of(value))
    axis = axis_of(attr(op, "axis", -1), rank)
    epsilon = float(attr(op, "epsilon", 1e-5))
    results = [trailing_norm(rw, "top.LayerNorm", value, (need(op, 1), operand(op, 2)), axis, epsilon)]
    if any(result.uses for result in op.results[1:]):
        mean, variance = _moments(rw, cast(rw, value, F32), tuple(range(axis, rank)))
        inverse = rw.emit("top.Rsqrt", rw.emit("top.AddConst", variance, const_val=epsilon))
        return [*results, mean, inverse][: len(op.results)]
    return results * len(op.results)


def trailing_norm(
    rw: Rewriter, name: str, value: Value, scales: tuple[Value | None, ...], axis: int, epsilon: float,
) -> Value:
    """LayerNorm or RMSNorm. 16-bit floats are normalized as f32 and cast back, as ONNX says (stash_type)."""
    rank = len(shape_of(value))
    shift = scales[1] if len(scales) > 1 else None
    element = value.element
    work = cast(rw, value, F32) if element in (F16, BF16) else value
    fits = all(scale is None or len(shape_of(scale)) <= rank - axis for scale in scales)
    weights = [None if scale is None else cast(rw, scale, work.element) for scale in scales]
    if fits:
        return cast(rw, rw.emit(name, work, *weights, axis=axis, eps=epsilon), element)
    # The scale varies along dimensions that are not normalized.
    normal = rw.emit(name, work, axis=axis, eps=epsilon)
    normal = rw.emit("top.Mul", normal, weights[0])
    return cast(rw, normal if shift is None else rw.emit("top.Add", normal, weights[1]), element)


@TABLE("onnx.RMSNormalization")
def rms_norm(op: Op, rw: Rewriter) -> Value:
    """RMSNormalization."""
    value = need(op, 0)
    axis = axis_of(attr(op, "axis", -1), len(shape_of(value)))
    return trailing_norm(rw, "top.RMSNorm", value, (need(op, 1),), axis, float(attr(op, "epsilon", 1e-5)))


@TABLE("onnx.GroupNormalization")
def group_norm(op: Op, rw: Rewriter) -> Value:
    """GroupNormalization; up to opset 20 scale and bias have an entry per group, then per channel."""
    value, scale, bias = need(op, 0), need(op, 1), need(op, 2)
    groups, channels = need_attr(op, "num_groups"), shape_of(value, least=2)[1]
    if groups < 1 or channels % groups:
        raise Unsupported(f"{channels} channels cannot be split into {groups} groups")
    if opset(op) < 21 and shape_of(scale) == (groups,):
        scale, bias = (_repeat(rw, part, channels // groups) for part in (scale, bias))
    element = value.element
    work = [cast(rw, part, F32) if element in (F16, BF16) else part for part in (value, scale, bias)]
    normal = rw.emit("top.GroupNorm", *work, num_groups=groups, eps=float(attr(op, "epsilon", 1e-5)), layout="NCHW")
    return cast(rw, normal, element)


def _repeat(rw: Rewriter, value: Value, times: int) -> Value:
    """[n] with each element repeated."""
    if times == 1:
        return value
    (size,) = shape_of(value)
    tiled = rw.emit("top.Tile", reshape(rw, value, (size, 1)), tile=(1, times))
    return reshape(rw, tiled, (size * times,))


@TABLE("onnx.LRN")
def lrn(op: Op, rw: Rewriter) -> Value:
    """LRN."""
    return rw.emit(
        "top.LRN", need(op, 0), size=need_attr(op, "size"), alpha=float(attr(op, "alpha", 1e-4)),
        beta=float(attr(op, "beta", 0.75)), bias=float(attr(op, "bias", 1.0)), layout="NCHW")


@TABLE("onnx.LpNormalization")
def lp_norm(op: Op, rw: Rewriter) -> Value:
    """LpNormalization by the 1- or 2-norm along an axis; where the norm is 0, so is the result."""
    value, p = need(op, 0), attr(op, "p", 2)
    axis = axis_of(attr(op, "axis", -1), len(shape_of(value)))
    if p == 2:
        return rw.emit("top.Normalize", value, axes=(axis,), eps=float(np.finfo(np.float32).tiny))
    if p != 1:
        raise Unsupported(f"normalizes by the {p}-norm; 1 and 2 can be converted")
    norm = rw.emit("top.Reduce", value, axes=(axis,), mode="ReduceL1")
    floor = rw.emit("top.Max", norm, scalar_like(rw, value, float(np.finfo(np.float32).tiny)))
    return rw.emit("top.Div", value, floor)


@TABLE("onnx.MeanVarianceNormalization")
def mean_variance_norm(op: Op, rw: Rewriter) -> Value:
    """MeanVarianceNormalization: `(x - mean) / (deviation + 1e-9)` over axes."""
    value = need(op, 0)
    rank = len(shape_of(value))
    axes = tuple(sorted(axis_of(axis, rank) for axis in attr(op, "axes", (0, 2, 3))))
    mean, variance = _moments(rw, value, axes)
    deviation = rw.emit("top.AddConst", rw.emit("top.Sqrt", variance), const_val=1e-9)
    return rw.emit("top.Div", rw.emit("top.Sub", value, mean), deviation)


