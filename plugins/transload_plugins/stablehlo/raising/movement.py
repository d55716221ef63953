"""Constants, and ops that move elements: shape, order, joining, slices, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import I32, IntegerType, Op, TensorType, Value, dtype_of
from transload.ir.constants import SplatData
from transload.limits import beyond
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from ..dialect.movement import broadcasts
from ..dialect.slicing import lies_inside, padded_sizes, sliced_sizes
from ..types import element_of, shape_of
from .table import (
    agreed,
    as_quantized,
    counting,
    cut,
    cut_axis,
    empty,
    expand,
    held,
    lean,
    permute,
    refuse_complex,
    reshape,
    settled,
    static,
    static_result,
)

if TYPE_CHECKING:
    from ..dialect.movement import (
        Broadcast,
        BroadcastInDim,
        Concatenate,
        Constant,
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
    from ..dialect.slicing import DynamicPad, Pad, RealDynamicSlice, Slice

__all__ = ["TABLE", "integers", "iota_of", "padded"]

TABLE = RewriteTable()


def integers(rw: Rewriter, value: Value, what: str) -> tuple[int, ...]:
    """The numbers of a tensor that must be constant."""
    array = held(rw, value)
    if array is None:
        raise OpenSizes(f"{what} must be constant, and is computed at run time")
    return tuple(int(number) for number in array.reshape(-1))


def result_shape(op: Op, rw: Rewriter, sizes: Value) -> tuple[int, ...]:
    """The shape that an operand gives: its numbers, or what the result's type says, with which they must agree."""
    type_ = op.results[0].type
    if rw.constant_of(lean(sizes)) is None and getattr(type_, "is_static", False):
        return shape_of(type_)
    shape = integers(rw, sizes, "the shape")
    if min(shape, default=0) < 0:
        raise Unsupported(f"{list(shape)} is no shape")
    agreed(op, shape)
    return shape


# --- constants

@TABLE("stablehlo.constant")
def constant(op: Constant, rw: Rewriter) -> Value:
    """A constant; one number in all places as a scalar, expanded."""
    refuse_complex(op)
    dense = op.attributes["value"]
    element = op.results[0].element
    if isinstance(dense.data, SplatData) and math.prod(dense.shape) > 1 and not op.results[0].is_quantized:
        number = np.ascontiguousarray(dense.numpy().reshape(-1)[:1]).reshape(())
        return expand(rw, rw.constant(number, element), dense.shape)
    return rw.constant(dense, element)


def iota_of(rw: Rewriter, shape: Sequence[int], axis: int, element: Any) -> Value:
    """Numbers from 0 on along a dimension."""
    numbers = counting(shape[axis])
    if not isinstance(element, IntegerType):
        numbers = numbers.astype(np.float32)  # from which narrow floats are rounded
    column = [1] * len(shape)
    column[axis] = shape[axis]
    return expand(rw, rw.constant(numbers.astype(dtype_of(element)).reshape(column), element), shape)


@TABLE("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(op: DynamicIota | Iota, rw: Rewriter) -> Value:
    """Numbers from 0 on along a dimension: a constant."""
    refuse_complex(op)
    shape = result_shape(op, rw, op.operands[0]) if op.operands else static_result(op)
    element = element_of(op.results[0])
    if op.results[0].is_quantized:
        return as_quantized(rw, iota_of(rw, shape, op.iota_dimension, element.expressed), element)
    return iota_of(rw, shape, op.iota_dimension, element)


# --- shape

def _sizes(shape: Sequence[int | None]) -> tuple[int, ...]:
    """A shape for `top.Reshape`, whose one unknown size is what is left."""
    if sum(size is None for size in shape) > 1:
        raise OpenSizes(f"more than one size of {list(shape)} is not known")
    return tuple(-1 if size is None else size for size in shape)


@TABLE("stablehlo.reshape")
def reshape_(op: Reshape, rw: Rewriter) -> Value:
    """The same elements in another shape."""
    x, wanted = op.operands[0], op.results[0].shape
    if x.is_quantized:
        return rw.emit("top.Reshape", x, shape=_sizes(wanted), element=op.results[0].element)
    return _reshaped(rw, x, _sizes(wanted))


def _reshaped(rw: Rewriter, x: Value, sizes: tuple[int, ...]) -> Value:
    """`reshape`, and of a tensor expanded where a dimension of size 1 comes or goes, the expansion of what it was."""
    inner = lean(x)
    if inner is not x and -1 not in sizes and getattr(x.type, "is_static", False):
        kept = [size for size in x.shape if size != 1]
        if kept == [size for size in sizes if size != 1]:
            before = (1,) * (x.rank - inner.rank) + tuple(inner.shape)
            narrow = iter([size for size, whole in zip(before, x.shape, strict=True) if whole != 1])
            return expand(rw, reshape(rw, inner, [size if size == 1 else next(narrow) for size in sizes]), sizes)
    return reshape(rw, x, sizes)


@TABLE("stablehlo.dynamic_reshape")
def dynamic_reshape(op: DynamicReshape, rw: Rewriter) -> Value:
    """A reshape to constant sizes."""
    return _reshaped(rw, op.operands[0], result_shape(op, rw, op.operands[1]))


@TABLE("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(op: BroadcastInDim | DynamicBroadcastInDim, rw: Rewriter) -> Value:
    """Dimensions of size 1 put in, then an expansion."""
    x = op.operands[0]
    shape = result_shape(op, rw, op.operands[1]) if len(op.operands) > 1 else op.results[0].shape
    if (why := broadcasts(shape_of(x), op.broadcast_dimensions, shape)) is not True:
        raise Unsupported(f"cannot be repeated: {why}")
    return broadcast(rw, x, op.broadcast_dimensions, shape)


def broadcast(rw: Rewriter, x: Value, dimensions: Sequence[int], shape: Sequence[int | None]) -> Value:
    """`x` whose dimension i becomes dimension `dimensions[i]` of a shape, repeated where it has size 1."""
    if None in shape:
        raise OpenSizes(f"the result's shape {list(shape)} is not known")
    inner = lean(x)
    if inner.rank < x.rank:  # dimensions in front that broadcasting puts in
        dimensions = dimensions[x.rank - inner.rank :]
    if inner.is_quantized:
        inner = x
    order = sorted(range(len(dimensions)), key=lambda i: dimensions[i])
    inner = permute(rw, inner, order)
    places = [dimensions[i] for i in order]
    first = len(shape) - len(places)
    if places != list(range(first, len(shape))):
        spread = [1] * len(shape)
        for place, size in zip(places, inner.shape, strict=True):
            spread[place] = -1 if size is None else size
        inner = rw.emit("top.Reshape", inner, shape=tuple(spread))
    return expand(rw, inner, shape)


@TABLE("stablehlo.broadcast")
def broadcast_in_front(op: Broadcast, rw: Rewriter) -> Value:
    """New dimensions in front."""
    x = op.operands[0]
    return broadcast(rw, x, range(len(op.broadcast_sizes), len(op.broadcast_sizes) + x.rank), (*op.broadcast_sizes, *x.shape))


@TABLE("stablehlo.transpose")
def transpose(op: Transpose, rw: Rewriter) -> Value:
    """The dimensions in another order."""
    return permute(rw, op.operands[0], op.permutation)


@TABLE("stablehlo.reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    """The order of elements turned round."""
    x = op.operands[0]
    axes = tuple(axis for axis in op.dimensions if x.shape[axis] != 1)
    return x if not axes else rw.emit("top.Reverse", settled(rw, x), axes=axes)


@TABLE("stablehlo.concatenate")
def concatenate(op: Concatenate, rw: Rewriter) -> Value:
    """Tensors one after the other; those of no elements are left out."""
    made = empty(rw, op)
    if made:
        return made[0]
    parts = [value for value in op.operands if value.shape[op.dimension] != 0]
    if len(parts) == 1:
        return parts[0]
    if all(rw.constant_of(lean(part)) is not None for part in parts):
        parts = [settled(rw, part) for part in parts]
    return rw.emit("top.Concat", *parts, axis=op.dimension, element=op.results[0].element)


@TABLE("stablehlo.get_dimension_size")
def get_dimension_size(op: GetDimensionSize, rw: Rewriter) -> Value:
    """A size, which is known of a static shape."""
    x = op.operands[0]
    size = x.shape[op.dimension]
    if size is not None:
        return rw.constant(np.array(size, np.int32))
    sizes = rw.emit("top.Shape", x, element=I32)
    return rw.emit("top.Reshape", cut_axis(rw, sizes, 0, op.dimension, op.dimension + 1), shape=())


@TABLE("stablehlo.set_dimension_size")
def set_dimension_size(op: SetDimensionSize, rw: Rewriter) -> Value:
    """A part, of a constant size."""
    x = op.operands[0]
    size = integers(rw, op.operands[1], "the size")[0]
    whole = static(x, "the operand")[op.dimension]
    if not 0 <= size <= whole:
        raise Unsupported(f"size {size} of a dimension of {whole} elements")
    agreed(op, [size if axis == op.dimension else n for axis, n in enumerate(shape_of(x))])
    return cut_axis(rw, x, op.dimension, 0, size)


# --- slices

@TABLE("stablehlo.slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """A part at constant places."""
    return _sliced(rw, op.operands[0], op.start_indices, op.limit_indices, op.strides)


def _sliced(rw: Rewriter, x: Value, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Value:
    first = _first_of_ordered(rw, x, starts, ends, steps)
    return cut(rw, x, starts, ends, steps) if first is None else first


def _first_of_ordered(
    rw: Rewriter, x: Value, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Value | None:
    """The first ones of elements that were put in order are the greatest (or least): fewer need to be found."""
    maker = x.op
    if maker is None or maker.name != "top.TopK" or any(starts) or any(step != 1 for step in steps):
        return None
    axis = maker.axis % x.rank
    if any(end != size for place, (end, size) in enumerate(zip(ends, x.shape, strict=True)) if place != axis):
        return None
    if ends[axis] == x.shape[axis]:
        return None
    fewer = rw.emit("top.TopK", maker.input, axis=maker.axis, k=ends[axis], largest=maker.largest, sorted=maker.sorted)
    chosen: Value = fewer[x.index]
    return chosen


@TABLE("stablehlo.real_dynamic_slice")
def real_dynamic_slice(op: RealDynamicSlice, rw: Rewriter) -> Value:
    """A part at places that must be constant."""
    bounds = [integers(rw, value, what) for value, what in zip(op.operands[1:], ("starts", "limits", "strides"), strict=True)]
    agreed(op, sliced_sizes(op, *bounds))
    if (why := lies_inside(bounds[0], bounds[1], shape_of(op.operands[0]))) is not True:
        raise Unsupported(f"a slice has to lie inside: {why}")
    return _sliced(rw, op.operands[0], *bounds)


# --- padding

@TABLE("stablehlo.pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """Elements around and between those of a tensor."""
    return padded(rw, op.operands[0], op.operands[1], op.edge_padding_low, op.edge_padding_high, op.interior_padding)


@TABLE("stablehlo.dynamic_pad")
def dynamic_pad(op: DynamicPad, rw: Rewriter) -> Value:
    """`pad` by numbers that must be constant."""
    amounts = [
        integers(rw, value, f"{what} padding") for value, what in zip(op.operands[2:], ("low", "high", "interior"), strict=True)]
    if min(amounts[2], default=0) < 0:
        raise Unsupported(f"interior padding is {list(amounts[2])}, and none is below 0")
    agreed(op, padded_sizes(op, *amounts))
    return padded(rw, op.operands[0], op.operands[1], *amounts)


def padded(
    rw: Rewriter, x: Value, value: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Value:
    """`x` with elements put around and between its own; negative edges take elements away.

    Between elements: each is padded in a new dimension of its own behind it, which is then merged with the one before.
    """
    shape = static(x, "the operand")
    wide = [n + max(a, 0) + max(b, 0) + n * max(between, 0) for n, a, b, between in zip(shape, low, high, interior, strict=True)]
    if why := beyond(TensorType(tuple(wide), element_of(x))):
        raise Unsupported(f"with its padding the operand {why}")
    spread = [axis for axis, between in enumerate(interior) if between and shape[axis] > 1]
    for axis in spread:
        step = interior[axis] + 1
        before = shape_of(x)
        apart = reshape(rw, x, (*before[: axis + 1], 1, *before[axis + 1 :]))
        behind = [0] * apart.rank
        behind[axis + 1] = step - 1
        apart = _edged(rw, apart, value, [0] * apart.rank, behind)
        joined = reshape(rw, apart, (*before[:axis], before[axis] * step, *before[axis + 1 :]))
        x = cut_axis(rw, joined, axis, 0, (before[axis] - 1) * step + 1)
    return _edged(rw, x, value, low, high)


def _edged(rw: Rewriter, x: Value, value: Value, low: Sequence[int], high: Sequence[int]) -> Value:
    """Edges put on; those that are negative are cut off first, as far as they reach into the tensor."""
    size = static(x)
    after = [n + a + b for n, a, b in zip(size, low, high, strict=True)]
    if 0 in after:
        return rw.constant(tables.zeros(after, dtype_of(_stored(x))), x.element)
    starts = [min(max(-a, 0), n) for n, a in zip(size, low, strict=True)]
    ends = [max(n - max(-b, 0), start) for n, b, start in zip(size, high, starts, strict=True)]
    if any(start == end for start, end in zip(starts, ends, strict=True)):  # nothing of the tensor is left
        return expand(rw, lean(value), after)
    x = cut(rw, x, starts, ends)
    begins, behinds = [max(a, 0) for a in low], [max(b, 0) for b in high]
    if not any(begins) and not any(behinds):
        return x
    known = rw.constant_of(lean(value)) if not value.is_quantized else None
    paddings = (*begins, *behinds)
    if known is not None and known.dtype.kind == "f" and np.isfinite(known).all():
        return rw.emit("top.Pad", x, paddings=paddings, val=float(known.reshape(-1)[0]))
    if known is not None and not np.any(known):
        return rw.emit("top.Pad", x, paddings=paddings)
    return rw.emit("top.Pad", x, reshape(rw, lean(value), ()), paddings=paddings)


def _stored(x: Value) -> Any:
    return element_of(x).storage if x.is_quantized else x.element


