"""Kernels: tensors made from shapes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir.constants import dtype_of
from transload.plugin import KernelTable

from .. import tables
from ..ops.constant import no_range, range_length
from .common import Array, finish, run_error, wide

if TYPE_CHECKING:
    from ..ops.constant import EyeLike, Fill, NonZero, Range, Shape, Trilu

__all__ = ["KERNELS"]

KERNELS = KernelTable()


@KERNELS("top.Shape", quantized="storage")
def shape(op: Shape, x: Array) -> Array:
    return finish(op, np.array(x.shape, np.int64))


@KERNELS("top.Range")
def range_(op: Range, start: Array, limit: Array, delta: Array) -> Array:
    first, stop, step = (wide(bound).reshape(-1)[0].item() for bound in (start, limit, delta))
    if (why := no_range(first, stop, step)) is not None:
        raise run_error(op, why)
    return finish(op, first + np.arange(range_length(first, stop, step)) * step)


@KERNELS("top.Fill", quantized="storage")
def fill(op: Fill, value: Array) -> Array:
    return np.broadcast_to(value.reshape(()), op.attribute("shape"))


@KERNELS("top.EyeLike")
def eye_like(op: EyeLike, x: Array) -> Array:
    rows, columns = x.shape
    return tables.eye(rows, columns, op.k).astype(dtype_of(op.result.element))


@KERNELS("top.Trilu")
def trilu(op: Trilu, x: Array) -> Array:
    rows, columns = x.shape[-2:]
    kept = tables.tri(rows, columns, op.k - 1 if op.upper else op.k, bool)
    return np.where(kept != op.upper, x, x.dtype.type(0))


@KERNELS("top.NonZero")
def non_zero(op: NonZero, x: Array) -> Array:
    return finish(op, np.array(np.nonzero(np.atleast_1d(wide(x))), np.int64))
