"""Layers: biases added after a product, and means over windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I32, ElidedData, FloatType, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import is_ranked_float, relu_of, used_once
from ..algebra.match import inputs_of, is_static_float, linear, made_by
from ..ops.infer import channel_axis, spatial_axes
from ..tables import has_place

if TYPE_CHECKING:
    from ..ops.elementwise import Add, Div, Mul, MulConst

__all__ = ["TABLE"]

TABLE = RewriteTable()


def is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


@TABLE("top.Add")
def bias(op: Add, rw: Rewriter) -> Value | None:
    """What is added per output channel to a Conv, Deconv or MatMul without a bias is its bias; of sums in i32, too."""
    whole = op.results[0].element == I32 and not op.attribute("do_relu", False)
    if len(op.operands) != 2 or op.attribute("coeff") is not None or not (is_static_float(op.results[0]) or whole):
        return None
    for value, other in inputs_of(op):
        maker = made_by(value, "Conv", "Deconv", "MatMul")
        if maker is None or maker.bias is not None or not used_once(value) or maker.parent is not op.parent:
            continue
        if value.type != op.results[0].type or not is_static(other) or other.element != value.element or value.rank < 2:
            continue
        if maker.name == "top.MatMul" and (maker.input.rank < 2 or maker.right.rank < 2):
            continue
        axis = value.rank - 1 if maker.name == "top.MatMul" else channel_axis(maker.layout, value.rank)
        shape = (1,) * (value.rank - other.rank) + tuple(other.shape)
        if any(size != (value.shape[place] if place == axis else 1) for place, size in enumerate(shape)):
            continue
        vector = other if other.rank == 1 else rw.emit("top.Reshape", other, shape=(value.shape[axis],))
        return rw.emit(maker.name, maker.operands[0], maker.operands[1], vector, element=value.element,
                       **{**maker.attributes, **relu_of(op)})
    return None


@TABLE("top.Add")
def bias_of_a_term(op: Add, rw: Rewriter) -> Value | None:
    """`(x + product) + c` is `x + (product + c)`: a residual connection written before the layer's bias."""
    if made_by(op.results[0], "Add") is None or len(op.operands) != 2 or not is_static_float(op.results[0]):
        return None
    for total, vector in inputs_of(op):
        inner = made_by(total, "Add")
        if inner is None or constant_of(vector) is None or not used_once(total) or len(inner.operands) != 2:
            continue
        for x, layer in inputs_of(inner):
            maker = made_by(layer, "Conv", "Deconv", "MatMul")
            if maker is None or maker.bias is not None or layer.type != op.results[0].type or not used_once(layer):
                continue
            axis = layer.rank - 1 if maker.name == "top.MatMul" else channel_axis(maker.layout, layer.rank)
            shape = (1,) * (layer.rank - vector.rank) + tuple(vector.shape)
            if all(size == (layer.shape[place] if place == axis else 1) for place, size in enumerate(shape)):
                return rw.emit("top.Add", x, rw.emit("top.Add", layer, vector))
    return None


@TABLE("top.Mul", "top.Div")
def mean_without_padding(op: Div | Mul, rw: Rewriter) -> Value | None:
    """The mean of a window, padding counted, times the window's size over the number of elements that are no padding."""
    if not is_static_float(op.results[0]) or op.do_relu or len(op.operands) != 2:
        return None
    pairs = inputs_of(op) if op.name == "top.Mul" else [tuple(op.operands)]
    for value, other in pairs:
        dense = constant_of(other)
        if dense is None or isinstance(dense.data, ElidedData) or not isinstance(dense.type.element, FloatType):
            continue
        factor, source = 1.0, value
        scaled = made_by(value, "MulConst", "Mul")
        if scaled is not None and used_once(value):
            inner = linear(value)
            if inner.shift != 0:
                continue
            factor, source = inner.scale, inner.source
        pool = made_by(source, "AvgPool")
        if pool is None or not pool.count_include_pad or not used_once(source) or source.type != op.results[0].type:
            continue
        if not has_place(*source.static_shape):
            continue
        array = dense.numpy().astype(np.float64)
        with np.errstate(all="ignore"):
            given = factor * (array if op.name == "top.Mul" else 1 / array)
        wanted = math.prod(pool.kernel_shape) / _elements(pool)
        if np.broadcast_shapes(given.shape, wanted.shape) != wanted.shape and any(
                size not in (1, value.shape[place - given.ndim]) for place, size in enumerate(given.shape)):
            continue
        shape = source.static_shape
        if given.ndim <= source.rank and np.allclose(
                np.broadcast_to(given, shape), np.broadcast_to(wanted, shape), rtol=2e-6, atol=0):
            return rw.emit("top.AvgPool", pool.input, **{**pool.attributes, "count_include_pad": False})
    return None


def _elements(pool: Any) -> np.ndarray:
    """How many elements of each window are no padding, shaped to broadcast with the result."""
    rank = pool.output.rank
    counts = np.ones((1,) * rank)
    for i, axis in enumerate(spatial_axes(pool.layout, rank)):
        size = pool.input.shape[axis]
        starts = np.arange(pool.output.shape[axis]) * pool.strides[i] - pool.pads[i]
        inside = np.minimum(starts + pool.kernel_shape[i], size) - np.maximum(starts, 0)
        shape = [1] * rank
        shape[axis] = -1
        counts = counts * np.maximum(inside, 0).reshape(shape)
    return np.maximum(counts, 1)


@TABLE("top.Mul", "top.MulConst", "top.Div")
def factor_of_one(op: Div | Mul | MulConst, rw: Rewriter) -> Value | None:
    """A factor that is one but for its rounding goes: the sum over n elements, as n times their mean, divided by n."""
    result = op.results[0]
    if op.do_relu or not is_ranked_float(result):
        return None
    inner = linear(result)
    pooled = inner.source is not result and made_by(inner.source, "AvgPool", "Reduce") is not None and used_once(inner.source)
    return inner.source if pooled and inner.shift == 0 and abs(inner.scale - 1) <= 2e-7 else None
