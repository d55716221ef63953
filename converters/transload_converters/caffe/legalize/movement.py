"""Layers that move elements: shape, order, joining, cutting, taking by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import need_place

from ..geometry import flattened, reshaped, slices, upsampled
from ..shapes import interp_sizes
from .common import CaffeTable, axis_of, bottom, cast, permute, reduced, reshape, shape_of, slab

__all__ = ["TABLE"]

TABLE = CaffeTable()


@TABLE("Concat")
def concat(op: Any, rw: Rewriter) -> Value:
    """Along axis, which was once called concat_dim."""
    legacy = "concat_dim" in op.attributes and "axis" not in op.attributes
    axis = axis_of(op.concat_dim if legacy else op.axis, len(shape_of(op.operands[0])))
    return op.operands[0] if len(op.operands) == 1 else rw.emit("top.Concat", *op.operands, axis=axis)


@TABLE("Slice")
def cut(op: Any, rw: Rewriter) -> list[Value]:
    """At given points, or into equal parts."""
    axis, sizes = slices(op, shape_of(op.operands[0]), len(op.results))
    made = rw.emit("top.Split", op.operands[0], axis=axis, split_size=sizes)
    return [made] if len(sizes) == 1 else list(made)


@TABLE("Crop")
def crop(op: Any, rw: Rewriter) -> Value:
    """The dimensions from axis on, from an offset each or one for all."""
    x, like = shape_of(op.operands[0]), shape_of(op.operands[1])
    if len(x) != len(like):
        raise Unsupported(f"its bottoms have the shapes {list(x)} and {list(like)}")
    axis = axis_of(op.axis, len(x))
    given = tuple(op.offset or (0,))
    if len(given) not in (1, len(x) - axis):
        raise Unsupported(f"has {len(given)} offsets for {len(x) - axis} dimensions")
    offsets = (0,) * axis + (given * (len(x) - axis) if len(given) == 1 else given)
    made = op.operands[0]
    for place in range(axis, len(x)):
        if offsets[place] + like[place] > x[place]:
            raise Unsupported(f"takes {like[place]} from {offsets[place]} on of dimension {place}, of size {x[place]}")
        made = slab(rw, made, place, offsets[place], offsets[place] + like[place])
    return made


@TABLE("Flatten")
def flatten(op: Any, rw: Rewriter) -> Value:
    """Dimensions as one."""
    return reshape(rw, op.operands[0], flattened(op, shape_of(op.operands[0])))


@TABLE("Reshape")
def shaped(op: Any, rw: Rewriter) -> Value:
    """Another shape."""
    return reshape(rw, op.operands[0], reshaped(op, shape_of(op.operands[0])))


@TABLE("Permute")
def permuted(op: Any, rw: Rewriter) -> Value:
    """Dimensions in another order; those not named keep theirs, behind."""
    rank = len(shape_of(op.operands[0]))
    order = tuple(op.order or ())
    return permute(rw, op.operands[0], (*order, *(axis for axis in range(rank) if axis not in order)))


@TABLE("Tile")
def tile(op: Any, rw: Rewriter) -> Value:
    """Repeated along axis."""
    rank = len(shape_of(op.operands[0]))
    axis = axis_of(op.axis, rank)
    return rw.emit("top.Tile", op.operands[0], tile=tuple(op.tiles if place == axis else 1 for place in range(rank)))


@TABLE("Reverse")
def reverse(op: Any, rw: Rewriter) -> Value:
    """Turned round along axis."""
    return rw.emit("top.Reverse", op.operands[0], axes=(axis_of(op.axis, len(shape_of(op.operands[0]))),))


@TABLE("BatchReindex")
def reindex(op: Op, rw: Rewriter) -> Value:
    """Samples by their numbers, which are floats."""
    indices = reshape(rw, op.operands[1], (math.prod(shape_of(op.operands[1])),))
    return rw.emit("top.Gather", op.operands[0], cast(rw, indices), axis=0)


@TABLE("ArgMax")
def argmax(op: Any, rw: Rewriter) -> Value:
    """The places of the greatest; of equal elements Caffe takes the last one first."""
    x = op.operands[0]
    shape = shape_of(x)
    given = op.attribute("axis")
    if given is None:
        x, axis = reshape(rw, x, (shape[0], 1, math.prod(shape[1:]))), 2
    else:
        axis = axis_of(given, len(shape))
    size = shape_of(x)[axis]
    if not 0 < op.top_k <= size:
        raise Unsupported(f"takes the {op.top_k} greatest of {size} elements")
    values, places = rw.emit("top.TopK", rw.emit("top.Reverse", x, axes=(axis,)), axis=axis, k=op.top_k)
    places = cast(rw, rw.emit("top.Sub", rw.constant(np.int32(size - 1)), places), F32)
    if given is not None:
        return values if op.out_max_val else places
    made = rw.emit("top.Concat", places, values, axis=1) if op.out_max_val else places
    return reshape(rw, made, (*shape_of(made), *(1,) * (len(shape) - 3)))  # of the bottom's rank (argmax_layer.cpp: Reshape)


@TABLE("Reduction")
def reduction(op: Any, rw: Rewriter) -> Value:
    """The dimensions from axis on, all of them."""
    x = op.operands[0]
    rank = len(shape_of(x))
    axes = tuple(range(axis_of(op.axis, rank), rank))
    mode = {"SUM": "ReduceSum", "ASUM": "ReduceL1", "SUMSQ": "ReduceSumSquare", "MEAN": "ReduceMean"}[op.operation]
    made = reduced(rw, x, axes, mode, keepdims=False)
    return made if op.coeff == 1 else rw.emit("top.MulConst", made, const_val=op.coeff)


@TABLE("Reorg")
def reorg(op: Any, rw: Rewriter) -> Value:
    """YOLO's order, which takes the image for one of fewer channels: it is not that of space to depth."""
    x = op.operands[0]
    n, c, h, w = shape_of(x, 4)
    s = op.stride
    if op.reverse:
        out = c // (s * s)
        split = reshape(rw, x, (n, s, s, out, h, w))
        return reshape(rw, permute(rw, split, (0, 3, 4, 1, 5, 2)), (n, out, h * s, w * s))
    split = reshape(rw, x, (n, c // (s * s), h, s, w, s))
    return reshape(rw, permute(rw, split, (0, 3, 5, 1, 2, 4)), (n, c * s * s, h // s, w // s))


@TABLE("Upsample")
def upsample(op: Any, rw: Rewriter) -> Value:
    """Pixels repeated, or, with the mask of a pooling, put back where they were."""
    x, mask = op.operands[0], bottom(op, 1)
    n, c, h, w = shape_of(x, 4)
    height, width = upsampled(op, shape_of(x))
    if mask is not None:
        if shape_of(mask) != (n, c, h, w):
            raise Unsupported(f"its bottoms have the shapes {[n, c, h, w]} and {list(shape_of(mask))}")
        zeros = rw.constant(tables.zeros((n * c, height * width), np.float32))
        places, values = (reshape(rw, value, (n * c, h * w)) for value in (cast(rw, mask), x))
        rows = tables.repeat(tables.arange(n * c, dtype=np.int32)[:, None], h * w, axis=1)
        subscripts = rw.emit("top.Pack", rw.constant(rows), places, axis=2)
        return reshape(rw, rw.emit("top.ScatterND", zeros, subscripts, values), (n, c, height, width))
    if height % h or width % w:
        return rw.emit("top.Interp", x, sizes=(height, width), mode="nearest", coord_mode="asymmetric", nearest_mode="floor",
                       layout="NCHW")
    return rw.emit("top.Upsample", x, scale_h=height // h, scale_w=width // w, layout="NCHW")


@TABLE("Interp")
def interp(op: Any, rw: Rewriter) -> Value:
    """Bilinear, corners on corners; negative padding takes pixels of the border away first."""
    x = op.operands[0]
    inner, sizes = interp_sizes(op, shape_of(x))
    for place, size in enumerate(inner):
        x = slab(rw, x, 2 + place, -op.pad_beg, -op.pad_beg + size)
    return rw.emit("top.Interp", x, sizes=sizes, mode="linear", coord_mode="align_corners", layout="NCHW")


@TABLE("ContinuationIndicator")
def continuation(op: Any, rw: Rewriter) -> Value:
    """Known without the data: 0 at the first step, then 1."""
    shape = shape_of(op.operands[0])
    sizes = op.time_step or shape[0], op.batch_size or (shape[1] if len(shape) > 1 else 1)
    need_place(*sizes)
    found = tables.ones(sizes, np.float32)
    found[:1] = 0
    return rw.constant(found)


TABLE.refuse({"caffe.Filter": (
    "gives as many samples as its data say, and shapes are static here", "cut the network before it")})
