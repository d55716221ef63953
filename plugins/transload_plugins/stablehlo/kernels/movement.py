"""Kernels that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.budget import need_elements
from transload.errors import RunError
from transload.ir import Op
from transload.ir.constants import dtype_of
from transload.ir.types import QuantType

from ..types import bits_of
from .table import Array, fit, int_bits, is_int_dtype, kernel, quantize, wide

if TYPE_CHECKING:
    from ..dialect.movement import (
        BitcastConvert,
        Broadcast,
        BroadcastInDim,
        Concatenate,
        DynamicBroadcastInDim,
        DynamicIota,
        DynamicReshape,
        GetDimensionSize,
        Iota,
        Reshape,
        Reverse,
        SetDimensionSize,
        Transpose,
    )
    from ..dialect.slicing import DynamicPad, DynamicSlice, DynamicUpdateSlice, Pad, RealDynamicSlice, Slice


def check_shape(op: Op, array: Array, index: int = 0) -> Array:
    """The array, if its shape is what the result's type says; the specification leaves anything else undefined."""
    type_, wanted = op.results[index].type, op.results[index].shape
    if len(wanted) != array.ndim or any(size not in (None, have) for size, have in zip(wanted, array.shape, strict=True)):
        raise RunError(f"{op.called}: computed a result of shape {array.shape}, where its type is {type_}")
    return array


def integers(array: Array) -> tuple[int, ...]:
    """A tensor of sizes or indices as a flat tuple."""
    return tuple(int(number) for number in np.asarray(array).reshape(-1).tolist())


def _told_shape(op: Op, sizes: Array) -> tuple[int, ...]:
    """The shape that a tensor of sizes says; none is below zero."""
    shape = integers(sizes)
    if min(shape, default=0) < 0:
        raise RunError(f"{op.called}: {list(shape)} is no shape")
    return shape


def _iota(op: DynamicIota | Iota, shape: Sequence[int]) -> Array:
    element = op.results[0].element
    expressed = element.expressed if isinstance(element, QuantType) else element
    dtype = dtype_of(expressed)
    d = op.iota_dimension
    numbers = np.arange(shape[d])
    numbers = (
        numbers.astype(np.float32).astype(dtype)
        if wide(np.zeros(0, dtype)).dtype.kind == "f" and dtype.itemsize < 4
        else (numbers.astype(dtype))
    )
    column = numbers.reshape([-1 if i == d else 1 for i in range(len(shape))])
    out = np.broadcast_to(column, tuple(shape))
    return quantize(out, element) if isinstance(element, QuantType) else out


@kernel("iota", quantized="native")
def iota(op: Iota) -> Array:
    return _iota(op, op.results[0].static_shape)


@kernel("dynamic_iota", quantized="native")
def dynamic_iota(op: DynamicIota, sizes: Array) -> Array:
    return check_shape(op, _iota(op, _told_shape(op, sizes)))


@kernel("reshape", quantized="moves")
def reshape(op: Reshape, x: Array) -> Array:
    shape = [-1 if size is None else size for size in op.result.shape]
    if shape.count(-1) > 1:
        raise RunError(
            f"{op.called}: more than one size of {op.result.type} is unknown", hint="dynamic_reshape says which"
        )
    return np.reshape(x, shape)


@kernel("dynamic_reshape", quantized="moves")
def dynamic_reshape(op: DynamicReshape, x: Array, sizes: Array) -> Array:
    shape = _told_shape(op, sizes)
    if np.size(x) != int(np.prod(shape)):
        raise RunError(f"{op.called}: a tensor of {np.size(x)} elements has no shape {shape}")
    return check_shape(op, np.reshape(x, shape))


def _broadcast(op: BroadcastInDim | DynamicBroadcastInDim, x: Array, shape: Sequence[int]) -> Array:
    x = np.asarray(x)
    dimensions = op.broadcast_dimensions
    order = sorted(range(x.ndim), key=lambda i: dimensions[i])
    x = np.transpose(x, order)
    placed = [1] * len(shape)
    for size, i in zip(x.shape, order, strict=True):
        if size not in (1, shape[dimensions[i]]):
            raise RunError(f"{op.called}: size {size} cannot become {shape[dimensions[i]]}")
        placed[dimensions[i]] = size
    return np.broadcast_to(x.reshape(placed), tuple(shape))


@kernel("broadcast_in_dim", quantized="moves")
def broadcast_in_dim(op: BroadcastInDim, x: Array) -> Array:
    return _broadcast(op, x, op.result.static_shape)


@kernel("dynamic_broadcast_in_dim", quantized="moves")
def dynamic_broadcast_in_dim(op: DynamicBroadcastInDim, x: Array, sizes: Array) -> Array:
    return check_shape(op, _broadcast(op, x, _told_shape(op, sizes)))


@kernel("broadcast", quantized="moves")
def broadcast(op: Broadcast, x: Array) -> Array:
    return np.broadcast_to(x, (*op.broadcast_sizes, *np.shape(x)))


@kernel("transpose", quantized="moves")
def transpose(op: Transpose, x: Array) -> Array:
    return np.transpose(x, op.permutation)


@kernel("reverse", quantized="moves")
def reverse(op: Reverse, x: Array) -> Array:
    return np.flip(x, op.dimensions)


@kernel("concatenate", quantized="moves")
def concatenate(op: Concatenate, *inputs: Array) -> Array:
    return np.concatenate(inputs, op.dimension)


# --- slices


def _slice(op: Op, x: Array, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Array:
    for start, limit, stride, size in zip(starts, limits, strides, np.shape(x), strict=True):
        if not 0 <= start <= limit <= size or stride < 1:
            raise RunError(f"{op.called}: cannot slice {start} to {limit} by {stride} of {size} elements")
    return x[tuple(slice(*bounds) for bounds in zip(starts, limits, strides, strict=True))]


@kernel("slice", quantized="moves")
def static_slice(op: Slice, x: Array) -> Array:
    return _slice(op, x, op.start_indices, op.limit_indices, op.strides)


@kernel("real_dynamic_slice", quantized="moves")
def real_dynamic_slice(op: RealDynamicSlice, x: Array, starts: Array, limits: Array, strides: Array) -> Array:
    return check_shape(op, _slice(op, x, integers(starts), integers(limits), integers(strides)))


def clamped_starts(starts: Sequence[Array], shape: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Starts moved so that a part of these sizes lies inside."""
    return [min(max(int(start), 0), size - part) for start, size, part in zip(starts, shape, sizes, strict=True)]


@kernel("dynamic_slice", quantized="moves")
def dynamic_slice(op: DynamicSlice, x: Array, *starts: Array) -> Array:
    sizes = op.slice_sizes
    begin = clamped_starts(starts, np.shape(x), sizes)
    return x[tuple(slice(start, start + size) for start, size in zip(begin, sizes, strict=True))]


@kernel("dynamic_update_slice", quantized="moves")
def dynamic_update_slice(op: DynamicUpdateSlice, x: Array, update: Array, *starts: Array) -> Array:
    begin = clamped_starts(starts, np.shape(x), np.shape(update))
    out = np.array(x)
    out[tuple(slice(start, start + size) for start, size in zip(begin, np.shape(update), strict=True))] = update
    return out


# --- padding


def spread_sizes(shape: Sequence[int], interior: Sequence[int]) -> list[int]:
    """Sizes once so many elements are put between any two."""
    return [(size - 1) * (between + 1) + 1 if size else 0 for size, between in zip(shape, interior, strict=True)]


def padded(x: Array, value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Array:
    """An array with elements put around it and between its elements; negative edges take elements away."""
    x = np.asarray(x)
    shape = [size + a + b for size, a, b in zip(spread_sizes(x.shape, interior), low, high, strict=True)]
    need_elements(shape, "what is padded")
    out = np.empty(shape, x.dtype)
    out[...] = value
    source: list[slice] = []
    target: list[slice] = []
    for size, a, between, extent in zip(x.shape, low, interior, shape, strict=True):
        step = between + 1
        first = max(0, -(a // step)) if a < 0 else 0  # the first element that is not cut off
        last = min(size, (extent - 1 - a) // step + 1) if extent > 0 else 0
        if last <= first:
            return out
        source.append(slice(first, last))
        target.append(slice(a + first * step, a + (last - 1) * step + 1, step))
    out[tuple(target)] = x[tuple(source)]
    return out


@kernel("pad", quantized="moves")
def pad(op: Pad, x: Array, value: Array) -> Array:
    return padded(x, value, op.edge_padding_low, op.edge_padding_high, op.interior_padding)


@kernel("dynamic_pad", quantized="moves")
def dynamic_pad(op: DynamicPad, x: Array, value: Array, low: Array, high: Array, interior: Array) -> Array:
    edges, between = (integers(low), integers(high)), integers(interior)
    spread = spread_sizes(np.shape(x), between)
    if min(between, default=0) < 0 or any(size + a + b < 0 for size, a, b in zip(spread, *edges, strict=True)):
        raise RunError(f"{op.called}: cannot pad {np.shape(x)} by {edges[0]}, {edges[1]}, and {between} between elements")
    return check_shape(op, padded(x, value, *edges, between))


# --- sizes and bits


@kernel("get_dimension_size", quantized="native")
def get_dimension_size(op: GetDimensionSize, x: Array) -> Array:
    return np.array(np.shape(x)[op.dimension], np.int32)


@kernel("set_dimension_size", quantized="native")
def set_dimension_size(op: SetDimensionSize, x: Array, size: Array) -> Array:
    count = int(size)
    if not 0 <= count <= np.shape(x)[op.dimension]:
        raise RunError(f"{op.called}: size {count} of a dimension of {np.shape(x)[op.dimension]} elements")
    return x[(slice(None),) * op.dimension + (slice(0, count),)]


def _to_bits(x: Array, width: int) -> Array:
    """The elements' bits, the lowest first, in a new last dimension."""
    if x.dtype == np.bool_:
        return x[..., None].astype(np.uint8)
    if is_int_dtype(x.dtype) and width < 8:
        x = (x.astype(np.int16) & ((1 << width) - 1)).astype(np.uint8)
    raw = np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    return np.unpackbits(raw, axis=-1, bitorder="little")[..., :width]


def _from_bits(bits: Array, dtype: Any, width: int) -> Array:
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return bits[..., 0].astype(np.bool_)
    raw = np.packbits(bits, axis=-1, bitorder="little")
    if is_int_dtype(dtype) and int_bits(dtype) < 8:
        return fit(raw[..., 0].astype(np.int64), dtype)
    return np.ascontiguousarray(raw).reshape(-1).view(dtype).reshape(bits.shape[:-1])


@kernel("bitcast_convert", quantized="native")
def bitcast_convert(op: BitcastConvert, x: Array) -> Array:
    before, after = bits_of(op.operands[0].element), bits_of(op.result.element)
    dtype = dtype_of(op.result.element)
    x = np.asarray(x)
    bits = _to_bits(x, before)
    if after < before:
        bits = bits.reshape(*x.shape, before // after, after)
    elif after > before:
        bits = bits.reshape(*x.shape[:-1], after)
    return _from_bits(bits, dtype, after)
