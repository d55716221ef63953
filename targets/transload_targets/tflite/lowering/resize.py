"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.

What these do not compute is a product with a matrix of weights along each dimension: the kernel of the hub's own op says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, UI8, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import need_place
from transload_hub.kernels.resize import taps

from .common import (
    activated_wholly,
    constant,
    emit,
    ints,
    need_rounding,
    quant,
    reshape,
    retyped,
    same_numbers,
    signed,
    static_shape,
    transpose,
)

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp, Upsample

__all__ = ["TABLE"]

TABLE = RewriteTable()

_NEAREST = ((False, False), (False, True), (True, False))
_LINEAR = {"asymmetric": (False, False), "half_pixel": (False, True), "align_corners": (True, False)}
"""How places map to coordinates: align_corners, half_pixel_centers."""


def _is_exact(op: Interp) -> bool:
    """Whether the scales are `out / in`, as TFLite has them always."""
    if op.scales is None:
        return True
    sizes = static_shape(op.input)[1:-1]
    return all(np.float32(scale) == np.float32(out / size) for scale, out, size in zip(op.scales, op.sizes, sizes, strict=True))


@TABLE("top.Interp")
def resize(op: Interp, rw: Rewriter) -> Value | None:
    """The operators, where they compute what the op says."""
    if op.layout != "NHWC":
        raise Unsupported("TFLite resizes images of channels last", "run the pass layout{to=NHWC} first")
    options = _options(op)
    source, target = quant(op.input), quant(op.output)
    if options is None or (source is None) != (target is None):
        return None
    value = op.input
    if source is not None and target is not None and not same_numbers(source, target):
        if op.mode != "nearest":
            return None
        value = retyped(rw, value, target)
    by_floats = source is not None and source.storage == UI8 and op.mode == "linear" and op.rounding in ("once", "exact")
    need_rounding(op, rw, "once" if by_floats else "double", "exact" if by_floats else "double", operator="RESIZE_BILINEAR")
    if source is not None and op.mode == "linear" and not by_floats:  # of unsigned bytes, which that kernel computes in floats
        value = retyped(rw, value, signed(source))
    shape = static_shape(value)
    sizes = (1, *op.sizes) if len(op.sizes) == 1 else tuple(op.sizes)
    value = reshape(rw, value, (shape[0], 1, *shape[1:]) if len(op.sizes) == 1 else shape)
    name = "resize_nearest_neighbor" if op.mode == "nearest" else "resize_bilinear"
    of_plain = op.input.is_integer and op.mode != "nearest"  # whose fraction is cut off, and not rounded
    if of_plain:
        value = emit(rw, "cast", value, like=value, element=F32)
    made = emit(
        rw, name, value, ints(rw, *sizes), like=op.output, shape=(shape[0], *sizes, shape[-1]), align_corners=options[0],
        element=F32 if of_plain else value.element, half_pixel_centers=options[1])
    if of_plain:
        made = emit(rw, "cast", made, like=made, element=op.output.element)
    return reshape(rw, retyped(rw, made, op.output.element), static_shape(op.output))


def _options(op: Interp) -> tuple[bool, bool] | None:
    """align_corners and half_pixel_centers with which an operator computes what the op says; None where none does."""
    if len(op.sizes) > 2 or op.antialias or op.exclude_outside or op.mode == "cubic":
        return None
    if op.mode == "nearest":
        sizes = static_shape(op.input)[1:-1]
        wanted = [taps(op, dim, size)[0][:, 0].tolist() for dim, size in enumerate(sizes)]
        for options in _NEAREST:
            if wanted == [_nearest(*options, size, count) for size, count in zip(sizes, op.sizes, strict=True)]:
                return options
        return None
    if not _is_exact(op):
        return None
    if op.coord_mode == "pytorch_half_pixel" and min(op.sizes) > 1:
        return _LINEAR["half_pixel"]
    return _LINEAR.get(op.coord_mode)


def _nearest(align_corners: bool, half_pixel_centers: bool, size: int, count: int) -> list[int]:
    """The places that RESIZE_NEAREST_NEIGHBOR takes along a dimension, computed in float32 as LiteRT does."""
    corners = align_corners and count > 1
    scale = np.float32(size - 1) / np.float32(count - 1) if corners else np.float32(size) / np.float32(count)
    place = (tables.arange(count, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0.0)) * scale
    rounded = np.floor(place + np.float32(0.5)) if align_corners else np.floor(place)
    return np.clip(rounded, 0, size - 1).astype(int).tolist()


@TABLE("top.Interp")
def by_dimension(op: Interp, rw: Rewriter) -> Value | None:
    """Along each dimension GATHER of the nearest elements, or of floats a product with the matrix of weights."""
    if op.mode != "nearest" and not (op.input.is_float and op.output.is_float):
        return None
    value = retyped(rw, op.input, op.output.element)
    for dim, axis in enumerate(range(1, op.input.rank - 1)):
        shape = static_shape(value)
        where, weights = taps(op, dim, shape[axis])
        made = (*shape[:axis], op.sizes[dim], *shape[axis + 1 :])
        if op.mode == "nearest":
            value = emit(rw, "gather", value, ints(rw, *where[:, 0].tolist()), like=value, shape=made, axis=axis)
            continue
        need_place(op.sizes[dim], shape[axis])
        matrix = tables.zeros((op.sizes[dim], shape[axis]))
        np.add.at(matrix, (np.arange(len(where))[:, None], where), weights)
        order = (*(i for i in range(len(shape)) if i != axis), axis)
        turned = transpose(rw, value, order)
        spread = emit(
            rw, "fully_connected", turned, constant(rw, matrix.astype(np.float32)), like=value,
            shape=(*(made[i] for i in order[:-1]), op.sizes[dim]), keep_num_dims=True)
        value = transpose(rw, spread, tuple(int(i) for i in np.argsort(order)))
    return value


@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """RESIZE_NEAREST_NEIGHBOR by whole numbers."""
    if op.layout != "NHWC":
        raise Unsupported("TFLite resizes images of channels last", "run the pass layout{to=NHWC} first")
    value, shape = retyped(rw, op.input, op.output.element), static_shape(op.output)
    made = emit(rw, "resize_nearest_neighbor", value, ints(rw, *shape[1:3]), like=op.output)
    return activated_wholly(op, rw, made)
