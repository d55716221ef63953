"""Shapes as values, and tensors made from little: constants here, since shapes are static."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import Dense, Op, SplatData, TensorType, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.ops.constant import no_range, range_length

from ..types import element_of
from .table import MAX_CONSTANT, OnnxTable, attr, constant_ints, need, shape_of

TABLE = OnnxTable()


@TABLE("onnx.Shape", stored="native")
def shape(op: Op, rw: Rewriter) -> Value:
    """Shape: a constant, since shapes are static here; from opset 15 of some dimensions."""
    sizes = shape_of(need(op, 0))
    start, end = attr(op, "start", 0), attr(op, "end")
    return rw.constant(np.array(sizes[slice(start, end)], np.int64))


@TABLE("onnx.Size", stored="native")
def size(op: Op, rw: Rewriter) -> Value:
    """Size: a constant."""
    return rw.constant(np.array(math.prod(shape_of(need(op, 0))), np.int64))


@TABLE("onnx.ConstantOfShape")
def constant_of_shape(op: Op, rw: Rewriter) -> Value:
    """ConstantOfShape."""
    sizes = constant_ints(rw, need(op, 0), "the shape")
    given = attr(op, "value")
    number = rw.constant(given) if given is not None else rw.constant(np.zeros(1, np.float32))
    if min(sizes, default=0) < 0 or math.prod(sizes) > MAX_CONSTANT:
        raise Unsupported(f"makes a tensor of shape {sizes}, more than {MAX_CONSTANT:,} elements")
    array = rw.constant_of(number)
    if array.size != 1:
        raise Unsupported(f"fills with a value of shape {array.shape}, and must fill with one number")
    return rw.constant(Dense(SplatData(array.reshape(()), sizes, array.dtype), TensorType(sizes, number.element)))


@TABLE("onnx.Range")
def range_(op: Op, rw: Rewriter) -> Value:
    """Range between constants."""
    bounds = [np.asarray(rw.need_constant(need(op, i), what)) for i, what in enumerate(("start", "limit", "delta"))]
    if any(bound.size != 1 for bound in bounds):
        raise Unsupported(f"start, limit and delta are of shapes {', '.join(str(list(bound.shape)) for bound in bounds)}")
    start, limit, delta = (bound.item() for bound in bounds)
    if (why := no_range(start, limit, delta)) is not None:
        raise Unsupported(f"is no range: {why}")
    count = range_length(start, limit, delta)
    if count > MAX_CONSTANT:
        raise Unsupported(f"makes {count:,} elements, more than {MAX_CONSTANT:,}")
    steps = counted(count)
    return rw.constant((bounds[0] + steps * bounds[2]).astype(bounds[0].dtype))


@TABLE("onnx.EyeLike")
def eye_like(op: Op, rw: Rewriter) -> Value:
    """EyeLike: a constant."""
    value = need(op, 0)
    sizes = shape_of(value)
    if len(sizes) != 2 or math.prod(sizes) > MAX_CONSTANT:
        raise Unsupported(f"makes a matrix of shape {sizes}")
    element = element_of(op.attributes["dtype"]) if "dtype" in op.attributes else value.element
    if element is None:
        raise Unsupported(f"dtype {op.attributes['dtype']} does not exist")
    return rw.constant(tables.eye(*sizes, k=attr(op, "k", 0)).astype(dtype_of(element)), element=element)
