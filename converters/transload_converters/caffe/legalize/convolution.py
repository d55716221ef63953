"""Convolutions and products with weights."""

from __future__ import annotations

import math
from typing import Any

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter

from ..geometry import conv_sizes, conv_windows
from ..shapes import DEPTHWISE, group_of, product_axis
from .common import CaffeTable, bottom, cast, permute, reshape, shape_of, slab

__all__ = ["TABLE"]

TABLE = CaffeTable()
_MOST_PIECES = 1024


@TABLE("Convolution", "Deconvolution", *DEPTHWISE)
def convolution(op: Any, rw: Rewriter) -> Value:
    """Dimensions before the channels are independent of each other."""
    x, weight = op.operands[0], op.operands[1]
    shape = shape_of(x)
    axis, windows = conv_windows(op, shape)
    channels, spatial = shape[axis], shape[axis + 1 :]
    folded = reshape(rw, x, (math.prod(shape[:axis]), channels, *spatial))
    name = "top.Deconv" if op.name == "caffe.Deconvolution" else "top.Conv"
    made = rw.emit(
        name, folded, weight, bottom(op, 2), kernel_shape=windows.kernel, strides=windows.stride, pads=windows.pad * 2,
        dilations=windows.dilation, group=group_of(op, channels), layout="NCHW")
    return reshape(rw, made, (*shape[:axis], *shape_of(made)[1:]))


@TABLE("Im2col")
def im2col(op: Any, rw: Rewriter) -> Value:
    """A slice of the padded image for each place in the window."""
    x = op.operands[0]
    shape = shape_of(x)
    axis, windows = conv_windows(op, shape)
    if axis != 1 or len(shape) != 4:
        raise Unsupported(f"works on images here, and is given {list(shape)} with axis {axis}")
    outputs = conv_sizes(op, windows)
    (kernel_h, kernel_w), (step_h, step_w) = windows.kernel, windows.stride
    if kernel_h * kernel_w > _MOST_PIECES:
        raise Unsupported(f"has windows of {kernel_h} x {kernel_w}")
    padded = rw.emit("top.Pad", x, paddings=(0, 0, *windows.pad) * 2) if any(windows.pad) else x
    pieces = []
    for row in range(kernel_h):
        for column in range(kernel_w):
            top, left = row * windows.dilation[0], column * windows.dilation[1]
            piece = slab(rw, padded, 2, top, top + (outputs[0] - 1) * step_h + 1, step_h)
            piece = slab(rw, piece, 3, left, left + (outputs[1] - 1) * step_w + 1, step_w)
            pieces.append(reshape(rw, piece, (*shape[:2], 1, *outputs)))
    joined = rw.emit("top.Concat", *pieces, axis=2) if len(pieces) > 1 else pieces[0]
    return reshape(rw, joined, (shape[0], shape[1] * kernel_h * kernel_w, *outputs))


@TABLE("InnerProduct")
def inner_product(op: Any, rw: Rewriter) -> Value:
    """The dimensions from axis on as one, times the weights."""
    x, weight = op.operands[0], op.operands[1]
    shape = shape_of(x)
    axis = product_axis(op, shape)
    rows = reshape(rw, x, (math.prod(shape[:axis]), math.prod(shape[axis:])))
    made = rw.emit("top.MatMul", rows, weight, bottom(op, 2), right_transpose=not op.transpose)
    return reshape(rw, made, (*shape[:axis], op.num_output))


@TABLE("Embed")
def embed(op: Any, rw: Rewriter) -> Value:
    """Rows of the weights; the numbers of rows are floats."""
    x, weight, summand = op.operands[0], op.operands[1], bottom(op, 2)
    made = rw.emit("top.Gather", weight, cast(rw, x))
    return made if summand is None else rw.emit("top.Add", made, summand)


@TABLE("MatMul")
def matmul(op: Any, rw: Rewriter) -> Value:
    """Products of matrices, one after the other."""
    a, b = op.operands
    shape_a, shape_b = shape_of(a), shape_of(b)
    rows, inner, columns = op.dim_1, op.dim_2, op.dim_3
    if not (rows and inner and columns):
        return rw.emit("top.MatMul", a, b)
    made = rw.emit("top.MatMul", reshape(rw, a, (math.prod(shape_a) // (rows * inner), rows, inner)),
                   reshape(rw, b, (math.prod(shape_b) // (inner * columns), inner, columns)))
    return reshape(rw, made, shape_of(made) if len(shape_a) == 3 else (*shape_a[:-2], rows, columns))


@TABLE("ShuffleChannel")
def shuffle(op: Any, rw: Rewriter) -> Value:
    """Groups of channels interleaved."""
    x = op.operands[0]
    shape = shape_of(x)
    if len(shape) < 2 or op.group < 1 or shape[1] % op.group:
        raise Unsupported(f"the channels of {list(shape)} cannot be split into {op.group} groups")
    split = reshape(rw, x, (shape[0], op.group, shape[1] // op.group, math.prod(shape[2:])))
    return reshape(rw, permute(rw, split, (0, 2, 1, 3)), shape)


@TABLE("Parameter")
def parameter(op: Op, rw: Rewriter) -> Value:
    """Its blob."""
    return op.operands[0]
