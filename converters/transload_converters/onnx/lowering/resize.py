"""Resizing of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir import F32, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import constant, emit, finish, ints, need_channels_second, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp, Upsample

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """Resize that takes of each pixel the one above and before."""
    need_channels_second(op)
    sizes = ints(rw, static_shape(op.result))
    return finish(rw, op, emit(
        rw, "Resize", op.input, None, None, sizes, like=op.result, mode="nearest", coordinate_transformation_mode="asymmetric",
        nearest_mode="floor"))


@TABLE("top.Interp")
def interp(op: Interp, rw: Rewriter) -> Value:
    """Resize, of the modes of the same names; by scales where the op has its own, else by sizes."""
    need_channels_second(op)
    scales = sizes = None
    if op.scales is not None and _gives_the_sizes(op):
        scales = constant(rw, np.array((1.0, 1.0, *op.scales), np.float32), F32)
    else:
        sizes = ints(rw, static_shape(op.result))
    return emit(
        rw, "Resize", op.input, None, scales, sizes, like=op.result, mode=op.mode, coordinate_transformation_mode=op.coord_mode,
        nearest_mode=op.nearest_mode, cubic_coeff_a=op.cubic_coeff, exclude_outside=int(op.exclude_outside),
        antialias=int(op.antialias))


def _gives_the_sizes(op: Interp) -> bool:
    """Whether the op's scales give its sizes, as ONNX computes them."""
    before = static_shape(op.input)[2:]
    assert op.scales is not None
    return all(int(np.floor(np.float32(size) * np.float32(scale))) == after for size, scale, after in zip(
        before, op.scales, op.sizes, strict=True))
