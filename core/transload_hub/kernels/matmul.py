"""Kernels: matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.plugin import KernelTable

from ..ops.matmul import expand_equation
from .common import Array, finish, is_integer, whole, wide
from .sums import rows_of

if TYPE_CHECKING:
    from ..ops.matmul import Einsum, MatMul

__all__ = ["KERNELS"]

KERNELS = KernelTable()


def _factors(*arrays: Array) -> list[Array]:
    """Arrays in types that they multiply fast and exactly in: integers of up to 16 bits as float64, wider ones as int64."""
    arrays = tuple(map(wide, arrays))
    if not any(map(is_integer, arrays)):
        return list(arrays)
    small = all(x.dtype.kind not in "iu" or x.dtype.itemsize <= 2 for x in arrays)
    return [x.astype(np.float64 if small or not is_integer(x) else np.int64) for x in arrays]


@KERNELS("top.MatMul")
def matmul(op: MatMul, left: Array, right: Array, bias: Array | None = None) -> Array:
    a, b = _factors(left, right)
    if op.left_transpose and a.ndim > 1:
        a = a.swapaxes(-1, -2)
    if op.right_transpose and b.ndim > 1:
        b = b.swapaxes(-1, -2)
    if b.ndim == 2 and a.ndim > 2:
        # one large product instead of many small ones
        y = np.matmul(rows_of(a, a.ndim - 1), b).reshape(*a.shape[:-1], b.shape[-1])
    else:
        y = np.matmul(a, b)
    y = whole(op, y)  # before the bias, which may be one of 64 bits
    if bias is not None:
        y = y + wide(bias).astype(y.dtype, copy=False)
    return finish(op, y)


@KERNELS("top.Einsum")
def einsum(op: Einsum, *inputs: Array) -> Array:
    terms, outcome = expand_equation(op, [x.ndim for x in inputs])
    return finish(op, whole(op, np.einsum(f"{','.join(terms)}->{outcome}", *_factors(*inputs), optimize="greedy")))
