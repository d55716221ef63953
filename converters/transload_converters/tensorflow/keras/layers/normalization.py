"""Normalizations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import F16, F32, F64, TensorType, Value

from ..graph import Graph, f32, shape_of
from ..layer import LAYERS, Call


def _along(g: Graph, values: Value, rank: int, axes: Sequence[int]) -> Value:
    """A weight that belongs to dimensions of a tensor, in a shape that is broadcast along the others."""
    shape = [1] * rank
    for axis, size in zip(axes, shape_of(values), strict=True):
        shape[axis] = size
    while shape and shape[0] == 1 and len(shape) > 1:
        shape.pop(0)
    return g.reshape(values, shape)


def _batch_variables(config: Mapping[str, Any]) -> Sequence[str]:
    """Those of renormalization are for training alone."""
    more = ("~moving_stddev", "~renorm_mean", "~renorm_stddev") if config.get("renorm") else ()
    return ("gamma:scale", "beta:center", "~moving_mean", "~moving_variance", *more)


@LAYERS.layer("BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2", "SyncBatchNormalization",
              variables=_batch_variables, passes_mask=True, trained_by=("trainable",))
def batch_normalization(call: Call, x: Value) -> Value:
    """By the mean and variance of training."""
    if (mode := call.option("mode", 0)) != 0:  # of Keras 1
        raise Unsupported(f"its mode {mode!r:.80} is to normalize by what it is given, also at inference; known here is "
                          "mode 0, by the mean and variance of training")
    g, rank = call.g, x.rank
    given = call.option("axis", -1)
    axis = g.axis(given[0] if isinstance(given, list | tuple) and len(given) == 1 else given, rank)
    size, epsilon = (shape_of(x)[axis],), call.option("epsilon", 1e-3)
    inner = F32 if call.element != F64 else F64
    mean, variance = call.weight("moving_mean", size, inner), call.weight("moving_variance", size, inner)
    gamma = call.weight("gamma", size, inner) if call.has("gamma") else g.constant([1.0] * size[0], inner)
    beta = call.weight("beta", size, inner) if call.has("beta") else g.constant([0.0] * size[0], inner)
    if rank == 4 and axis in (1, 3) and inner == F32:
        x = call.floats(x)
        types = [x.tensor_type, *(gamma.tensor_type,) * 4, TensorType((0,), inner)]  # the last is what GPUs keep
        return g.emit_many("FusedBatchNormV3", (x, gamma, beta, mean, variance), types, epsilon=f32(epsilon),
                           data_format="NHWC" if axis == 3 else "NCHW", is_training=False)[0]
    factor = g.Mul(g.Rsqrt(g.AddV2(variance, float(epsilon))), gamma)
    offset = g.Sub(beta, g.Mul(mean, factor))
    y = g.AddV2(g.Mul(g.cast(x, inner), _along(g, factor, rank, [axis])), _along(g, offset, rank, [axis]))
    return g.cast(y, call.element)


def moments(g: Graph, x: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """Mean and variance, their dimensions kept."""
    mean = g.reduce("Mean", x, list(axes), keep=True)
    return mean, g.reduce("Mean", g.SquaredDifference(x, mean), list(axes), keep=True)


def _layer_variables(config: Mapping[str, Any]) -> Sequence[str]:
    return ("gamma",) if config.get("rms_scaling") else ("gamma:scale", "beta:center")


@LAYERS.layer("LayerNormalization", variables=_layer_variables, passes_mask=True)
def layer_normalization(call: Call, x: Value) -> Value:
    """By the mean and variance along dimensions, in 32 bits. What becomes of integers is cut to integers since Keras 3.11."""
    g, rank = call.g, x.rank
    given = call.option("axis", -1)
    axes, epsilon = g.axes(given, rank), float(call.option("epsilon", 1e-3))
    size = tuple(shape_of(x)[g.axis(axis, rank)] for axis in (given if isinstance(given, list | tuple) else [given]))
    inner = F32 if call.element != F64 else F64
    wide, between = g.cast(x, inner), x.element if g.since(3, 11) else call.element
    mean, variance = moments(g, wide, axes)

    def along(name: str) -> Value:
        """A weight, whose shape is in the order of the config: Keras reads it in that of the tensor, and turns nothing."""
        weight = call.weight(name, size, inner)
        return _along(g, g.reshape(weight, [shape_of(x)[axis] for axis in axes]), rank, axes)

    if call.option("rms_scaling", False):
        y = g.Mul(wide, g.Rsqrt(g.AddV2(variance, epsilon)))
        y = g.Mul(y, along("gamma"))
        return g.cast(g.cast(y, between), call.element)
    y = g.Mul(g.Sub(wide, mean), g.Rsqrt(g.AddV2(variance, epsilon)))
    if call.has("gamma"):
        y = g.Mul(y, along("gamma"))
    if call.has("beta"):
        y = g.AddV2(y, along("beta"))
    return g.cast(g.cast(y, between), call.element)


@LAYERS.layer("RMSNormalization", variables=("scale",))
def rms_normalization(call: Call, x: Value) -> Value:
    """By the root of the mean square; of integers an integer. Keras broadcasts the scale along the last dimensions, whichever
    `axis` names.
    """
    g, rank = call.g, x.rank
    axes = g.axes(call.option("axis", -1), rank)
    inner = F32 if call.element != F64 else F64
    wide = g.cast(x, inner)
    size = tuple(shape_of(x)[axis] for axis in axes)
    square = g.reduce("Mean", g.Square(wide), axes, keep=True)
    y = g.Mul(wide, g.Rsqrt(g.AddV2(square, float(call.option("epsilon", 1e-6)))))
    return g.cast(g.Mul(y, call.weight("scale", size, inner)), x.element)


@LAYERS.layer("GroupNormalization", variables=("gamma:scale", "beta:center"), passes_mask=True)
def group_normalization(call: Call, x: Value) -> Value:
    """By the mean and variance of groups of channels, each with all that is not batch.

    Of integers it gives integers, as floats since Keras 3.15.
    """
    g, shape = call.g, list(shape_of(x))
    axis = g.axis(call.option("axis", -1), len(shape))
    groups = int(call.option("groups", 32))
    groups = shape[axis] if groups == -1 else groups
    if groups < 1 or shape[axis] % groups:
        raise Unsupported(f"{shape[axis]} channels do not fall into {groups} groups")
    inner = F32 if call.element != F64 else F64
    split = [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]]
    parts = g.reshape(g.cast(x, inner), split)
    mean, variance = moments(g, parts, [place for place in range(1, len(split)) if place != axis])
    y = g.Mul(g.Sub(parts, mean), g.Rsqrt(g.AddV2(variance, float(call.option("epsilon", 1e-3)))))
    y = g.reshape(y, shape)
    for name, op in (("gamma", "Mul"), ("beta", "AddV2")):
        if call.has(name):
            y = g.binary(op, y, _along(g, call.weight(name, (shape[axis],), inner), len(shape), [axis]))
    y = g.cast(y, x.element)
    return g.cast(y, call.element) if g.since(3, 15) else y


@LAYERS.layer("UnitNormalization", passes_mask=True)
def unit_normalization(call: Call, x: Value) -> Value:
    """To length 1 along dimensions."""
    return unit(call.g, x, call.g.axes(call.option("axis", -1), x.rank), 1e-12)


def unit(g: Graph, x: Value, axes: Any, epsilon: float = 1e-12) -> Value:
    """A tensor by its length along dimensions, which is taken for no less than `epsilon` (before Keras 3: its square is)."""
    square = g.reduce("Sum", g.Square(x), axes, keep=True)
    least = epsilon**2 if g.keras >= 3 else epsilon
    return g.Mul(x, g.Rsqrt(g.Maximum(square, max(least, math.ldexp(1, -24)) if x.element == F16 else least)))
