"""Kernels: reading and writing by subscripts, and ordering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.quantized import quantized_kernel
from transload.ir import Op
from transload.plugin import KernelTable

from .common import Array, axis_of, checked_subscripts, finish, is_integer, wide

if TYPE_CHECKING:
    from ..ops.gather import CumSum, Gather, GatherElements, GatherND, OneHot, ScatterElements, ScatterND, TopK

__all__ = ["KERNELS", "best_places"]

KERNELS = KernelTable()


@KERNELS("top.Gather", quantized="storage")
def gather(op: Gather, x: Array, indices: Array) -> Array:
    axis, batch_dims = axis_of(op.axis, x.ndim), op.batch_dims
    places = checked_subscripts(op, indices, x.shape[axis])
    if batch_dims == 0:
        return np.take(x, places, axis=axis)
    batch, before, after = x.shape[:batch_dims], x.shape[batch_dims:axis], x.shape[axis + 1 :]
    flat = x.reshape(math.prod(batch), math.prod(before), x.shape[axis], math.prod(after))
    rows = places.reshape(flat.shape[0], math.prod(places.shape[batch_dims:]))
    picked = flat[np.arange(flat.shape[0])[:, None], :, rows]  # [batch, indices, before, after]
    return np.moveaxis(picked, 1, 2).reshape((*batch, *before, *indices.shape[batch_dims:], *after))


def _subscript_tuple(op: Op, indices: Array, sizes: Sequence[int]) -> tuple[Array, ...]:
    """The last dimension of `indices` as one checked array per dimension that it subscripts."""
    return tuple(checked_subscripts(op, indices[..., i], sizes[i]) for i in range(indices.shape[-1]))


@KERNELS("top.GatherND", quantized="storage")
def gather_nd(op: GatherND, x: Array, indices: Array) -> Array:
    batch = x.shape[: op.batch_dims]
    count = math.prod(batch)
    rest = x.shape[op.batch_dims :]
    flat = x.reshape(count, *rest)
    inner = indices.shape[op.batch_dims : -1]
    rows = indices.reshape(count, math.prod(inner), indices.shape[-1])
    picked = flat[(np.arange(count)[:, None], *_subscript_tuple(op, rows, rest))]
    if indices.shape[-1] == 0:
        picked = np.broadcast_to(flat[:, None], (count, math.prod(inner), *rest))
    return picked.reshape((*batch, *inner, *rest[indices.shape[-1] :]))


def _open_grid(op: GatherElements | ScatterElements, x: Array, indices: Array) -> tuple[Array, ...]:
    """Subscripts of `x` for each element of `indices`, which replaces the subscript of dimension axis."""
    axis = axis_of(op.axis, x.ndim)
    grid = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    grid[axis] = checked_subscripts(op, indices, x.shape[axis])
    return tuple(grid)


@KERNELS("top.GatherElements", quantized="storage")
def gather_elements(op: GatherElements, x: Array, indices: Array) -> Array:
    return x[_open_grid(op, x, indices)]


_COMBINE: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _scatter(op: ScatterElements | ScatterND, x: Array, where: tuple[Array, ...], updates: Array) -> Array:
    """A copy of `x` with `updates` written, or combined, at subscripts `where`."""
    if op.reduction == "none":
        y = x.copy()
        y[where] = updates
        return y
    y = wide(x).copy()
    _COMBINE[op.reduction].at(y, where, wide(updates).astype(y.dtype, copy=False))
    return y.astype(x.dtype, copy=False)


def _scatter_nd(op: ScatterND, x: Array, indices: Array, updates: Array) -> Array:
    where = _subscript_tuple(op, indices, x.shape)
    if not where:  # no subscripts: each update is of the whole tensor
        return _scatter(op, x[None], (np.zeros(indices.shape[:-1], np.int64),), updates)[0]
    return _scatter(op, x, where, updates)


def _scatter_elements(op: ScatterElements, x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(op, x, _open_grid(op, x, indices), updates)


def _mode(op: ScatterElements | ScatterND) -> str:
    """Sums and products of stored integers mean nothing; the rest does."""
    return "float" if op.reduction in ("add", "mul") else "storage"


@KERNELS("top.ScatterND", quantized="native")
def scatter_nd(op: ScatterND, *arrays: Array) -> Array:
    return quantized_kernel(op, _scatter_nd, _mode(op))(op, *arrays)


@KERNELS("top.ScatterElements", quantized="native")
def scatter_elements(op: ScatterElements, *arrays: Array) -> Array:
    return quantized_kernel(op, _scatter_elements, _mode(op))(op, *arrays)


@KERNELS("top.OneHot", quantized="storage")
def one_hot(op: OneHot, indices: Array, on_value: Array, off_value: Array) -> Array:
    places = wide(indices).astype(np.int64)
    places = np.where((places < 0) & (places >= -op.depth), places + op.depth, places)
    chosen = np.expand_dims(places, axis_of(op.axis, indices.ndim + 1))
    shape = [1] * chosen.ndim
    shape[axis_of(op.axis, chosen.ndim)] = op.depth
    return np.where(chosen == np.arange(op.depth).reshape(shape), on_value.reshape(()), off_value.reshape(()))


def best_places(x: Array, k: int, largest: bool, axis: int = -1) -> Array:
    """Where the k greatest (or least) elements along a dimension are, best first, of equal ones the first in front."""
    axis = axis_of(axis, x.ndim)
    if largest:  # in descending order: sort the reversed tensor, and reverse the order
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(wide(x), axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(wide(x), axis=axis, kind="stable")
    return order[(slice(None),) * axis + (slice(k),)]


@KERNELS("top.TopK")
def top_k(op: TopK, x: Array) -> tuple[Array, Array]:
    axis = axis_of(op.axis, x.ndim)
    taken = best_places(x, op.k, op.largest, axis)
    return finish(op, np.take_along_axis(x, taken, axis)), finish(op, taken, 1)


@KERNELS("top.CumSum")
def cum_sum(op: CumSum, x: Array) -> Array:
    values = wide(x)
    axis = axis_of(op.axis, x.ndim)
    values = np.flip(values, axis) if op.reverse else values
    sums = np.cumsum(values, axis=axis, dtype=values.dtype if is_integer(values) else np.float64)
    if op.exclusive:
        front = [(1, 0) if place == axis else (0, 0) for place in range(x.ndim)]
        sums = np.pad(sums, front)[(slice(None),) * axis + (slice(x.shape[axis]),)]
    sums = np.flip(sums, axis) if op.reverse else sums
    return finish(op, sums.astype(values.dtype, copy=False))
