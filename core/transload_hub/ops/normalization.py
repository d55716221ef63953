"""Normalization."""

from __future__ import annotations

from transload.ir.declare import FLOAT, INT, INTS, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import Type

from .base import LAYOUT, REAL_TENSOR, TOP, Activated
from .infer import (
    broadcast_shapes,
    channel_axis,
    fail,
    need_rank,
    normalise_axes,
    normalise_axis,
    same_as_input,
    shape_of,
    show,
    unify,
)
from .rounding import rounds


def _check_per_channel(op: BatchNorm | GroupNorm | InstanceNorm, *names: str) -> None:
    """Check that operands `names` have one element per channel of the input."""
    shape = need_rank(op, op.input, "the input", least=2)
    for name in names:
        value = op.operand(name)
        held = None if value is None else need_rank(op, value, name, (1,))
        if shape is not None and held is not None:
            unify(op, shape[channel_axis(op.layout, len(shape))], held[0], f"channels and elements of {name}")


def _check_trailing(op: LayerNorm | RMSNorm, *names: str) -> None:
    """Check that operands `names` broadcast to the dimensions from `axis` on."""
    shape = shape_of(op.input)
    if shape is None:
        return
    normalise_axis(op, op.axis, len(shape))
    for name in names:
        value = op.operand(name)
        held = None if value is None else shape_of(value)
        if held is None:
            continue
        joined = broadcast_shapes(op, shape, held) or ()
        if len(joined) > len(shape) or any(size == 1 and wide not in (None, 1) for size, wide in zip(shape, joined, strict=True)):
            fail(op, f"{name} {show(held)} does not broadcast to the input {show(shape)}")


@TOP.op("BatchNorm")
class BatchNorm(Activated):
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta`, per channel (TPU-MLIR manual 13.1, BatchNormOp)."""

    input = operand("[N, C, ..] (NCHW) or [N, .., C] (NHWC)", type=REAL_TENSOR)
    mean = operand("[C]", type=REAL_TENSOR)
    variance = operand("[C]", type=REAL_TENSOR)
    gamma = operand("[C]; absent: ones", type=REAL_TENSOR, optional=True)
    beta = operand("[C]; absent: zeros", type=REAL_TENSOR, optional=True)
    output = result("of the input's shape")
    epsilon = attribute(FLOAT, "added to the variance", default=1e-5)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    rounding = rounds("exact", "once")
    traits = ("layout",)

    def infer(op) -> Type:
        _check_per_channel(op, "mean", "variance", "gamma", "beta")
        return same_as_input(op)


@TOP.op("LayerNorm")
class LayerNorm(DeclaredOp):
    """`(x - mean) / sqrt(variance + eps) * weight + bias` over the dimensions from `axis` on (ONNX LayerNormalization)."""

    input = operand("the tensor", type=REAL_TENSOR)
    weight = operand("broadcasts to the dimensions from axis on; absent: ones", type=REAL_TENSOR, optional=True)
    bias = operand("broadcasts to the dimensions from axis on; absent: zeros", type=REAL_TENSOR, optional=True)
    output = result("of the input's shape")
    axis = attribute(INT, "the first normalized dimension", default=-1)
    eps = attribute(FLOAT, "added to the variance", default=1e-5)
    rounding = rounds("exact", "once")

    def infer(op) -> Type:
        _check_trailing(op, "weight", "bias")
        return same_as_input(op)


@TOP.op("RMSNorm")
class RMSNorm(DeclaredOp):
    """`x / sqrt(mean(x^2) + eps) * weight` over the dimensions from `axis` on (ONNX RMSNormalization)."""

    input = operand("the tensor", type=REAL_TENSOR)
    weight = operand("broadcasts to the dimensions from axis on; absent: ones", type=REAL_TENSOR, optional=True)
    output = result("of the input's shape")
    axis = attribute(INT, "the first normalized dimension", default=-1)
    eps = attribute(FLOAT, "added to the mean square", default=1e-5)
    rounding = rounds("exact", "once")

    def infer(op) -> Type:
        _check_trailing(op, "weight")
        return same_as_input(op)


@TOP.op("InstanceNorm")
class InstanceNorm(DeclaredOp):
    """`(x - mean) / sqrt(variance + eps) * weight + bias` per sample and channel (ONNX InstanceNormalization)."""

    input = operand("[N, C, ..] (NCHW) or [N, .., C] (NHWC)", type=REAL_TENSOR)
    weight = operand("[C]; absent: ones", type=REAL_TENSOR, optional=True)
    bias = operand("[C]; absent: zeros", type=REAL_TENSOR, optional=True)
    output = result("of the input's shape")
    eps = attribute(FLOAT, "added to the variance", default=1e-5)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    rounding = rounds("exact", "once")
    traits = ("layout",)

    def infer(op) -> Type:
        _check_per_channel(op, "weight", "bias")
        return same_as_input(op)


@TOP.op("GroupNorm")
class GroupNorm(DeclaredOp):
    """`(x - mean) / sqrt(variance + eps) * weight + bias` per sample and group of channels (ONNX GroupNormalization)."""

    input = operand("[N, C, ..] (NCHW) or [N, .., C] (NHWC)", type=REAL_TENSOR)
    weight = operand("[C]; absent: ones", type=REAL_TENSOR, optional=True)
    bias = operand("[C]; absent: zeros", type=REAL_TENSOR, optional=True)
    output = result("of the input's shape")
    num_groups = attribute(INT, "number of groups; divides the number of channels")
    eps = attribute(FLOAT, "added to the variance", default=1e-5)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    rounding = rounds("exact", "once")
    traits = ("layout",)

    @constraint
    def groups_are_positive(op) -> bool:
        """num_groups is positive"""
        return op.num_groups > 0

    def infer(op) -> Type:
        _check_per_channel(op, "weight", "bias")
        shape = shape_of(op.input)
        channels = None if shape is None else shape[channel_axis(op.layout, len(shape))]
        if op.num_groups < 1 or (channels is not None and channels % op.num_groups):
            fail(op, f"{channels} channels cannot be split into {op.num_groups} groups")
        return same_as_input(op)


@TOP.op("LRN")
class LRN(DeclaredOp):
    """`x / (bias + alpha/size * s)^beta`, s the sum of squares over a window of channels (ONNX LRN; TPU-MLIR's top.LRN).

    The window of channel c is `c - floor((size-1)/2)` to `c + ceil((size-1)/2)`, as far as there are channels.
    TFLite's LOCAL_RESPONSE_NORMALIZATION of radius r has `size = 2r+1` and `alpha * size`.
    """

    input = operand("[N, C, ..] (NCHW) or [N, .., C] (NHWC)", type=REAL_TENSOR)
    output = result("of the input's shape")
    size = attribute(INT, "number of channels in the window")
    alpha = attribute(FLOAT, "factor of the mean square", default=1e-4)
    beta = attribute(FLOAT, "exponent", default=0.75)
    bias = attribute(FLOAT, "added to the mean square", default=1.0)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    rounding = rounds("exact", "once")
    traits = ("layout",)

    @constraint
    def window_is_positive(op) -> bool:
        """size is positive"""
        return op.size > 0

    def infer(op) -> Type:
        need_rank(op, op.input, "the input", least=2)
        return same_as_input(op)


@TOP.op("Normalize")
class Normalize(DeclaredOp):
    """`x / sqrt(max(sum(x^2), eps))` over `axes` (ONNX LpNormalization with p=2, TFLite L2_NORMALIZATION)."""

    input = operand("the tensor", type=REAL_TENSOR)
    output = result("of the input's shape")
    axes = attribute(INTS, "dimensions to sum over")
    eps = attribute(FLOAT, "least sum of squares", default=1e-12)
    rounding = rounds("double", "exact", "once")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is not None:
            normalise_axes(op, op.axes, len(shape))
        return same_as_input(op)
