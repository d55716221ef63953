"""Kernels of gather and scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import RunError

from .lanes import Lanes
from .movement import check_shape, integers
from .reduction import scatter_rounds
from .table import Array, kernel

if TYPE_CHECKING:
    from ..dialect.indexing import DynamicGather, Gather, Scatter, TorchIndexSelect


def _index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Indices with their vectors in the last dimension."""
    indices = np.asarray(indices).astype(np.int64)
    return indices[..., None] if index_vector_dim == indices.ndim else np.moveaxis(indices, index_vector_dim, -1)


def _window_index(
    rank: int,
    shape: tuple[int, ...],
    window_dims: tuple[int, ...],
    gone: tuple[int, ...],
    starts: Array,
    map_: tuple[int, ...],
    batching: tuple[int, ...],
    index_batching: tuple[int, ...],
    index_vector_dim: int,
) -> list[Array]:
    """For each dimension of the operand, the index there of every element of the result (or update), as broadcastable arrays.

    `shape` is the result's, `window_dims` its dimensions that run through a slice, `gone` the operand's dimensions
    that a slice has not.
    """
    outer = [d for d in range(len(shape)) if d not in window_dims]
    window = dict(zip((d for d in range(rank) if d not in gone), window_dims, strict=True))
    out: list[Array] = []

    def along(axis: int) -> Array:
        return np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))])

    spread = [1] * len(shape)
    for d, size in zip(outer, starts.shape[:-1], strict=True):
        spread[d] = size
    for dimension in range(rank):
        index = np.zeros((1,) * len(shape), np.int64)
        if dimension in map_:
            index = index + starts[..., map_.index(dimension)].reshape(spread)
        if dimension in batching:
            place = index_batching[batching.index(dimension)]
            index = index + along(outer[place - (place > index_vector_dim)])
        if dimension in window:
            index = index + along(window[dimension])
        out.append(index)
    return out


def _gather(op: DynamicGather | Gather, operand: Array, indices: Array, sizes: tuple[int, ...]) -> Array:
    d = op.dimension_numbers
    vectors = _index_vectors(indices, d.index_vector_dim)
    most = np.array([operand.shape[i] - sizes[i] for i in d.start_index_map], np.int64)
    starts = np.clip(vectors, 0, most) if len(most) else vectors
    gone = d.collapsed_slice_dims + d.operand_batching_dims
    batch, offsets = iter(vectors.shape[:-1]), iter([size for i, size in enumerate(sizes) if i not in gone])
    total = vectors.ndim - 1 + len(d.offset_dims)
    shape = tuple(next(offsets) if i in d.offset_dims else next(batch) for i in range(total))
    if 0 in sizes:  # no element is taken; where the dimension is collapsed the result has some all the same, of 0 in XLA
        return np.zeros(shape, operand.dtype)
    index = _window_index(
        operand.ndim,
        shape,
        d.offset_dims,
        gone,
        starts,
        d.start_index_map,
        d.operand_batching_dims,
        d.start_indices_batching_dims,
        d.index_vector_dim,
    )
    return operand[tuple(np.broadcast_to(part, shape) for part in index)] if index else np.broadcast_to(operand, shape)


@kernel("gather", quantized="moves")
def gather(op: Gather, operand: Array, indices: Array) -> Array:
    return _gather(op, np.asarray(operand), indices, op.slice_sizes)


@kernel("dynamic_gather", quantized="moves")
def dynamic_gather(op: DynamicGather, operand: Array, indices: Array, sizes: Array) -> Array:
    told, d = integers(sizes), op.dimension_numbers
    if not all(0 <= size <= whole for size, whole in zip(told, np.shape(operand), strict=True)) or any(
        told[axis] > 1 for axis in d.collapsed_slice_dims + d.operand_batching_dims
    ):
        raise RunError(f"{op.called}: takes slices of sizes {told} of a tensor of shape {np.shape(operand)}")
    return check_shape(op, _gather(op, np.asarray(operand), indices, told))


@kernel("torch_index_select", quantized="moves")
def torch_index_select(op: TorchIndexSelect, operand: Array, index: Array) -> Array:
    batch = op.batch_dims
    if not batch:
        return np.take(operand, index, op.dim)
    leading = np.shape(operand)[:batch]
    rows = [np.take(operand[at], index[at], op.dim - batch) for at in np.ndindex(*leading)]
    return np.stack(rows).reshape(*leading, *rows[0].shape)


@kernel("scatter", quantized="native")
def scatter(op: Scatter, *arrays: Array, run: Any) -> tuple[Array, ...]:
    n = len(arrays) // 2
    inputs, indices, updates = arrays[:n], arrays[n], arrays[n + 1 :]
    d = op.scatter_dimension_numbers
    starts = _index_vectors(indices, d.index_vector_dim)
    shape, sizes = np.shape(updates[0]), np.shape(inputs[0])
    index = _window_index(
        len(sizes),
        shape,
        d.update_window_dims,
        d.inserted_window_dims + d.input_batching_dims,
        starts,
        d.scatter_dims_to_operand_dims,
        d.input_batching_dims,
        d.scatter_indices_batching_dims,
        d.index_vector_dim,
    )
    inside = np.ones(shape, bool)
    target = np.zeros(shape, np.int64)
    for part, size in zip(index, sizes, strict=True):
        inside &= (part >= 0) & (part < size)
        target = target * size + part
    places = np.where(inside, target, -1).reshape(-1)
    flat = [np.array(array).reshape(-1) for array in inputs]
    results = scatter_rounds(
        flat, places, [np.asarray(update).reshape(-1) for update in updates], Lanes(op.update_computation, run)
    )
    return tuple(result.reshape(sizes) for result in results)
