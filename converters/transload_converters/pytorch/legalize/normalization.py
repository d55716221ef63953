"""Normalization: batch, layer, group, instance, RMS."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Value, dtype_of
from transload.rewrite import Rewriter

from .table import AtenTable, Call, axis_of, cast, number_like, reshape, shape_of, shape_together, splat, wide

TABLE = AtenTable()

_TRAINING = ("normalizes by the statistics of the batch, as in training", "export the network after model.eval()")


def _in_work(rw: Rewriter, value: Value | None, like: Value) -> Value | None:
    return None if value is None else cast(rw, value, like.element)


def _moments(rw: Rewriter, value: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """Mean and variance over dimensions, which stay with size 1."""
    mean = rw.emit("top.Reduce", value, axes=tuple(axes), mode="ReduceMean")
    centred = rw.emit("top.Sub", value, mean)
    return mean, rw.emit("top.Reduce", rw.emit("top.Square", centred), axes=tuple(axes), mode="ReduceMean")


def _inverse(rw: Rewriter, variance: Value, epsilon: float) -> Value:
    return rw.emit("top.Rsqrt", rw.emit("top.AddConst", variance, const_val=epsilon))


@TABLE("batch_norm.default", "_native_batch_norm_legit_no_training.default", "native_batch_norm.default",
       "_native_batch_norm_legit.default", "_native_batch_norm_legit.no_stats", "_batch_norm_no_update.default",
       "_native_batch_norm_legit_functional.default", "_batch_norm_with_update_functional.default",
       "_batch_norm_impl_index.default")
def batch_norm(call: Call, rw: Rewriter) -> list[Value]:
    """By the running statistics, or by those of the batch, which then are results, too."""
    value, element = wide(rw, call.input)
    mean, variance = call.get("running_mean"), call.get("running_var")
    epsilon = float(call.eps)
    training = call.get("training", call.base.endswith("update_functional")) or mean is None
    channels = shape_of(value)[1]
    weight, bias = (_in_work(rw, part, value) for part in (call.weight, call.bias))
    kept: list[Value] = []
    if training:
        axes = [axis for axis in range(len(shape_of(value))) if axis != 1]
        means, variances = (reshape(rw, part, (channels,)) for part in _moments(rw, value, axes))
        kept = [means, _inverse(rw, variances, epsilon)]
    else:
        means, variances = (cast(rw, part, value.element) for part in (mean, variance))
    made = rw.emit("top.BatchNorm", value, means, variances, weight, bias, epsilon=epsilon, layout="NCHW")
    results = [cast(rw, made, element), *kept]
    if training and mean is not None and len(call.op.results) > 3:
        results += _running(call, rw, mean, variance, means, variances, math.prod(shape_of(value)) // max(channels, 1))
    rest = len(call.op.results) - len(results)
    return [*results, *(splat(rw, 0.0, (0,), F32) for _ in range(rest))][: len(call.op.results)]


def _running(call: Call, rw: Rewriter, mean: Value, variance: Value, means: Value, variances: Value, count: int) -> list[Value]:
    """The running statistics after a batch; that of the variance is of a sample."""
    momentum = float(call.momentum)
    sample = rw.emit("top.MulConst", variances, const_val=count / max(count - 1, 1))
    return [rw.emit("top.Add", old, new, coeff=(1.0 - momentum, momentum)) for old, new in ((mean, means), (variance, sample))]


@TABLE("layer_norm.default", "native_layer_norm.default")
def layer_norm(call: Call, rw: Rewriter) -> list[Value]:
    """Over the last dimensions; mean and inverse deviation are results where they are asked for."""
    value, element = wide(rw, call.input)
    rank, n = len(shape_of(value)), len(call.normalized_shape)
    if tuple(call.normalized_shape) != shape_of(value)[rank - n :]:
        raise Unsupported(f"normalizes {list(call.normalized_shape)} of a tensor of shape {list(shape_of(value))}")
    weight, bias = (_in_work(rw, part, value) for part in (call.weight, call.bias))
    made = rw.emit("top.LayerNorm", value, weight, bias, axis=rank - n, eps=float(call.eps))
    results = [cast(rw, made, element)]
    if call.used(1) or call.used(2):
        mean, variance = _moments(rw, value, range(rank - n, rank))
        results += [mean, _inverse(rw, variance, float(call.eps))]
    return [*results, *(results[0],) * 2][: len(call.op.results)]


@TABLE("rms_norm.default")
def rms_norm(call: Call, rw: Rewriter) -> Value:
    """By the root of the mean square of the last dimensions; eps is that of the floats computed in where none is given."""
    value, element = wide(rw, call.input)
    rank, n = len(shape_of(value)), len(call.normalized_shape)
    if not value.is_float:
        raise Unsupported(f"normalizes {value.element}, and PyTorch has no kernel of it but for floats")
    epsilon = float(np.finfo(dtype_of(value.element)).eps) if call.eps is None else float(call.eps)
    return cast(rw, rw.emit("top.RMSNorm", value, _in_work(rw, call.weight, value), axis=rank - n, eps=epsilon), element)


@TABLE("group_norm.default", "native_group_norm.default")
def group_norm(call: Call, rw: Rewriter) -> list[Value]:
    """Of groups of channels."""
    value, element = wide(rw, call.input)
    shape, groups = shape_of(value), call.get("num_groups", call.get("group"))
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise Unsupported(f"{list(shape)} cannot be split into {groups} groups of channels")
    weight, bias = (_in_work(rw, part, value) for part in (call.weight, call.bias))
    made = cast(rw, rw.emit("top.GroupNorm", value, weight, bias, num_groups=groups, eps=float(call.eps), layout="NCHW"), element)
    if not (call.used(1) or call.used(2)):
        return [made] * len(call.op.results)
    apart = reshape(rw, value, (shape[0], groups, math.prod(shape[1:]) // groups))
    mean, variance = (reshape(rw, part, (shape[0], groups)) for part in _moments(rw, apart, (2,)))
    return [made, mean, _inverse(rw, variance, float(call.eps))]


@TABLE("instance_norm.default")
def instance_norm(call: Call, rw: Rewriter) -> Value:
    """Of each channel of each sample, or by running statistics."""
    value, element = wide(rw, call.input)
    weight, bias = (_in_work(rw, part, value) for part in (call.weight, call.bias))
    if not call.use_input_stats:
        means, variances = (cast(rw, part, value.element) for part in (call.running_mean, call.running_var))
        made = rw.emit("top.BatchNorm", value, means, variances, weight, bias, epsilon=float(call.eps), layout="NCHW")
    else:
        made = rw.emit("top.InstanceNorm", value, weight, bias, eps=float(call.eps), layout="NCHW")
    return cast(rw, made, element)


@TABLE("_weight_norm.default", "_weight_norm_interface.default", rounded="once")
def weight_norm(call: Call, rw: Rewriter) -> list[Value]:
    """`v * g / ||v||`, the norm over all dimensions but one."""
    call.refuse_use(1, "the norm")
    shape = shape_of(call.v)
    axes = tuple(axis for axis in range(len(shape)) if axis != call.dim % len(shape))
    norm = rw.emit("top.Reduce", call.v, axes=axes, mode="ReduceL2")
    made = rw.emit("top.Mul", call.v, rw.emit("top.Div", call.g, norm))
    return [made] * len(call.op.results)


@TABLE("cosine_similarity.default")
def cosine_similarity(call: Call, rw: Rewriter) -> Value:
    """The cosine of the angle between vectors along a dimension, each no shorter than eps."""
    shape = shape_together(call.x1, call.x2)
    axis = axis_of(call.dim, len(shape))
    floor = number_like(rw, float(call.eps), call.element)
    units = []
    for value in (call.x1, call.x2):
        from .movement import expand_to

        value = expand_to(rw, value, shape)
        norm = rw.emit("top.Reduce", value, axes=(axis,), mode="ReduceL2")
        units.append(rw.emit("top.Div", value, rw.emit("top.Max", norm, floor)))
    return rw.emit("top.Reduce", rw.emit("top.Mul", *units), axes=(axis,), keepdims=False, mode="ReduceSum")


