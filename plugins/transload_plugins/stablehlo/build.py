"""Helpers to build StableHLO ops, for lowerings and passes.

Each takes a `Builder` (a rewrite's `rw`) and returns the value (a tuple of them where it says so). StableHLO's ops
broadcast nothing: `broadcast` and `binary` do, by numpy's rules. Shapes are static.

A number that is the same everywhere is a splat constant of the shape that it is needed in, which takes the memory
of one element and the text of one; a constant that is spread (a bias) stays small and is spread by an op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import BOOL, I64, Block, Dense, FloatType, IntegerType, Region, TensorType, Type, Value, dtype_of
from transload.ir.attributes import OpaqueAttr
from transload.ir.build import Builder, constant_of
from transload.ir.constants import SplatData
from transload.ir.types import ComplexType, QuantType

from .attributes import ConvDims, DotDims, GatherDims, ScatterDims
from .dialect.base import windows

__all__ = [
    "binary",
    "bitcast",
    "broadcast",
    "broadcast_in_dim",
    "clamp",
    "compare",
    "concat",
    "const",
    "convert",
    "convolution",
    "cut",
    "dot_general",
    "filled",
    "gather",
    "greatest",
    "iota",
    "least",
    "like",
    "pad",
    "reduce",
    "reduce_window",
    "region",
    "replace",
    "reshape",
    "reverse",
    "scalar",
    "scatter",
    "select",
    "shape_of",
    "slice_",
    "sort",
    "spread",
    "start_of",
    "together",
    "transpose",
    "unary",
    "unsigned",
    "while_",
    "with_regions",
]

Body = Callable[..., Any]
"""What a region computes: `body(builder, *arguments)` gives a value, or a sequence of them."""

HIGHEST = [OpaqueAttr("#stablehlo<precision HIGHEST>")] * 2
"""Precision of contractions: numbers are multiplied as they are (on TPUs, the default rounds them to bf16)."""


def shape_of(x: Value) -> tuple[int, ...]:
    """The shape of a value that is known to be static."""
    return x.tensor_type.shape  # type: ignore[return-value]


# --- constants


def const(rw: Builder, array: Any, element: Type | None = None) -> Value:
    """A `stablehlo.constant` holding an array (or a `Dense`), of element type `element` where that is not the array's own."""
    return rw.constant(array, element, dialect="stablehlo")


def filled(rw: Builder, shape: Sequence[int], element: Type, number: Any = 0) -> Value:
    """A constant of one number everywhere."""
    return const(rw, SplatData(number, tuple(shape), dtype_of(_stored(element))), element)


def scalar(rw: Builder, number: Any, element: Type) -> Value:
    """A constant of rank 0."""
    return const(rw, np.asarray(number).astype(dtype_of(_stored(element))), element)


def like(rw: Builder, x: Value, number: Any) -> Value:
    """A constant of the type of `x`, one number everywhere."""
    return filled(rw, shape_of(x), x.element, number)


def iota(rw: Builder, shape: Sequence[int], axis: int, element: Type = I64) -> Value:
    """Numbers that rise from zero along an axis; never folded into a constant, which would be as large as they are many."""
    return rw.create("stablehlo.iota", (), (TensorType(tuple(shape), element),), {"iota_dimension": axis}).results[0]


def _stored(element: Type) -> Type:
    return element.storage if isinstance(element, QuantType) else element


def least(element: Type) -> Any:
    """The least number of a type: minus infinity of floats that have it, False of booleans."""
    return _ends(element)[0]


def greatest(element: Type) -> Any:
    """The greatest number of a type: infinity of floats that have it, True of booleans."""
    return _ends(element)[1]


def _ends(element: Type) -> tuple[Any, Any]:
    if isinstance(element, FloatType):
        return _float_ends(element)
    if not isinstance(element, IntegerType):
        raise Unsupported(f"no {element} is the least or the greatest of all")
    return element.range


@cache
def _float_ends(element: FloatType) -> tuple[float, float]:
    """Infinities, or of types without any, to which they would be NaN, the greatest finite numbers."""
    dtype = dtype_of(element)
    if np.isinf(np.asarray(math.inf).astype(dtype).astype(np.float64)):
        return -math.inf, math.inf
    finite = ml_dtypes.finfo(dtype)
    return float(finite.min), float(finite.max)


# --- element types


def convert(rw: Builder, x: Value, element: Type) -> Value:
    """`stablehlo.convert`; `x` itself where it has that element type."""
    if x.element == element:
        return x
    return rw.emit("stablehlo.convert", x, types=[TensorType(shape_of(x), element)])


def bitcast(rw: Builder, x: Value, element: Type) -> Value:
    """The same bits as numbers of another type of the same width."""
    if x.element == element:
        return x
    return rw.emit("stablehlo.bitcast_convert", x, types=[TensorType(shape_of(x), element)])


def unsigned(element: Type) -> Type:
    """The unsigned integer type of the width of an integer type."""
    return IntegerType(element.width, "u")  # type: ignore[attr-defined]


# --- shape


def reshape(rw: Builder, x: Value, shape: Sequence[int]) -> Value:
    """`x` in another shape, taken from before an earlier reshape; `x` itself where it has that shape."""
    shape = tuple(shape)
    while shape_of(x) != shape and x.op is not None and x.op.name == "stablehlo.reshape":
        x = x.op.operands[0]
    if shape_of(x) == shape:
        return x
    dense = constant_of(x)
    splat = None if dense is None or isinstance(x.element, QuantType) else dense.splat_value()
    if splat is not None:
        return filled(rw, shape, x.element, splat)
    if None in shape_of(x):
        raise OpenSizes(f"a value is of type {x.type}")
    return rw.emit("stablehlo.reshape", x, types=[TensorType(shape, x.element)])


def transpose(rw: Builder, x: Value, order: Sequence[int]) -> Value:
    """`x` with its dimensions in another order; a reshape where only those of size 1 move."""
    order = tuple(order)
    shape = shape_of(x)
    moving = [axis for axis in order if shape[axis] != 1]
    if moving == sorted(moving):
        return reshape(rw, x, [shape[axis] for axis in order])
    return rw.emit("stablehlo.transpose", x, permutation=order)


def broadcast_in_dim(rw: Builder, x: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
    """`x` spread to a shape, its dimension `i` going to `dimensions[i]`."""
    shape, dimensions = tuple(shape), tuple(dimensions)
    if shape_of(x) == shape and dimensions == tuple(range(len(shape))):
        return x
    dense = constant_of(x)
    splat = None if dense is None or isinstance(x.element, QuantType) else dense.splat_value()
    if splat is not None:
        return filled(rw, shape, x.element, splat)
    types = [TensorType(shape, x.element)]
    return rw.create("stablehlo.broadcast_in_dim", (x,), types, {"broadcast_dimensions": dimensions}).results[0]


def broadcast(rw: Builder, x: Value, shape: Sequence[int]) -> Value:
    """`x` broadcast to a shape by numpy's rules: its dimensions are the last ones."""
    rank = len(shape_of(x))
    return broadcast_in_dim(rw, x, shape, range(len(shape) - rank, len(shape)))


spread = broadcast_in_dim
"""The same, where what counts is which axes of the result a value lies along."""


def together(rw: Builder, *values: Value) -> tuple[Value, ...]:
    """Values broadcast to their common shape."""
    shape = _common_shape(values)
    return tuple(broadcast(rw, value, shape) for value in values)


def slice_(rw: Builder, x: Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> Value:
    """A box of `x`, strides positive; `x` itself where it is all of it."""
    steps = tuple(strides) if strides is not None else (1,) * len(shape_of(x))
    if not any(starts) and tuple(limits) == shape_of(x) and all(step == 1 for step in steps):
        return x
    return rw.emit("stablehlo.slice", x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=steps)


def cut(rw: Builder, x: Value, axis: int, start: int, size: int) -> Value:
    """`size` places of an axis from `start` on."""
    starts, limits = [0] * len(shape_of(x)), list(shape_of(x))
    starts[axis], limits[axis] = start, start + size
    return slice_(rw, x, starts, limits)


def pad(
    rw: Builder, x: Value, low: Sequence[int], high: Sequence[int], value: Value, interior: Sequence[int] | None = None
) -> Value:
    """`x` with a scalar around it, and between its elements; negative numbers cut off. `x` itself where nothing changes."""
    between = tuple(interior) if interior is not None else (0,) * len(shape_of(x))
    if not any(low) and not any(high) and not any(between):
        return x
    return rw.emit(
        "stablehlo.pad", x, value, edge_padding_low=tuple(low), edge_padding_high=tuple(high), interior_padding=between)


def concat(rw: Builder, values: Sequence[Value], axis: int) -> Value:
    """Values joined along an axis; the value itself where there is one."""
    if len(values) == 1:
        return values[0]
    return rw.emit("stablehlo.concatenate", *values, dimension=axis)


def reverse(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    """`x` backwards along some axes."""
    kept = tuple(sorted(axis for axis in axes if shape_of(x)[axis] != 1))
    return rw.emit("stablehlo.reverse", x, dimensions=kept) if kept else x


# --- elementwise


def unary(rw: Builder, name: str, x: Value) -> Value:
    """`stablehlo.<name>` of one value."""
    return rw.emit(f"stablehlo.{name}", x)


def _operands(rw: Builder, *given: Value | complex) -> tuple[Value, ...]:
    """Values broadcast to their common shape; a number becomes a splat constant of the values' element type."""
    values = [value for value in given if isinstance(value, Value)]
    shape = _common_shape(values)
    element = values[-1].element
    return tuple(
        broadcast(rw, value, shape) if isinstance(value, Value) else filled(rw, shape, element, value) for value in given)


def _common_shape(values: Sequence[Value]) -> tuple[int, ...]:
    """The shape that values broadcast to; `Unsupported` where there is none."""
    shapes = [shape_of(value) for value in values]
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, TypeError):
        types = " and ".join(str(value.type) for value in values)
        raise Unsupported(f"the shapes of {types} do not broadcast, or are not known") from None


def binary(rw: Builder, name: str, a: Value | complex, b: Value | complex) -> Value:
    """`stablehlo.<name>` of two values, broadcast; one of them may be a number, of the other one's element type."""
    return rw.emit(f"stablehlo.{name}", *_operands(rw, a, b))


def compare(rw: Builder, direction: str, a: Value | complex, b: Value | complex) -> Value:
    """`a <direction> b` (EQ, NE, GE, GT, LE, LT), broadcast; one of them may be a number."""
    left, right = _operands(rw, a, b)
    element = left.element
    if isinstance(element, FloatType | ComplexType | QuantType):
        order = "FLOAT"
    else:
        order = "UNSIGNED" if element == BOOL or getattr(element, "unsigned", False) else "SIGNED"
    return rw.emit("stablehlo.compare", left, right, comparison_direction=direction, compare_type=order)


def select(rw: Builder, condition: Value, a: Value | complex, b: Value | complex) -> Value:
    """`a` where the condition holds, else `b`, broadcast; one of them may be a number, of the other one's element type."""
    return rw.emit("stablehlo.select", *_operands(rw, condition, a, b))


def clamp(rw: Builder, x: Value, low: float, high: float) -> Value:
    """`x` between two numbers of its type (NaN stays NaN)."""
    return rw.emit("stablehlo.clamp", scalar(rw, low, x.element), x, scalar(rw, high, x.element))


# --- regions


def region(rw: Builder, types: Sequence[Type], body: Body) -> Region:
    """A region of one block that computes `body(builder, *arguments)` and returns it."""
    block = Block(types)
    inner = Builder(block, None, rw.location, rw.fold)
    made = body(inner, *block.arguments)
    inner.create("stablehlo.return", (made,) if isinstance(made, Value) else tuple(made))
    return Region([block])


def with_regions(
    rw: Builder, name: str, operands: Sequence[Value], regions: Sequence[Region], types: Sequence[Type], **attributes: Any
) -> tuple[Value, ...]:
    """The results of an op with regions."""
    return tuple(rw.create(f"stablehlo.{name}", operands, types, attributes, regions).results)


def _combining(rw: Builder, name: str | Body, elements: Sequence[Type]) -> Region:
    """A region on two sets of scalars: an op's name, or what it computes."""
    types = [TensorType((), element) for element in elements]
    if callable(name):
        return region(rw, types * 2, name)
    return region(rw, types * 2, lambda inner, a, b: inner.emit(f"stablehlo.{name}", a, b))


def start_of(name: str, element: Type) -> Any:
    """The neutral element of a combining op: what a reduction starts from."""
    starts = {"add": 0, "multiply": 1, "and": True, "or": False, "xor": False}
    if name in ("and", "or", "xor") and element != BOOL:
        return -1 if name == "and" and not element.unsigned else element.range[1] if name == "and" else 0  # type: ignore[attr-defined]
    if name in starts:
        return starts[name]
    return least(element) if name == "maximum" else greatest(element)


def reduce(rw: Builder, x: Value, axes: Sequence[int], name: str, keep: bool = False) -> Value:
    """`x` combined by an op (add, maximum, ...) over axes, which go, or with `keep` stay with size 1."""
    axes = tuple(sorted(axis % len(shape_of(x)) for axis in axes))
    shape = shape_of(x)
    out = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    made = x
    if axes:
        start = scalar(rw, start_of(name, x.element), x.element)
        body = _combining(rw, name, [x.element])
        made = with_regions(rw, "reduce", (x, start), [body], [TensorType(out, x.element)], dimensions=axes)[0]
    return reshape(rw, made, [1 if axis in axes else size for axis, size in enumerate(shape)]) if keep else made


def reduce_window(
    rw: Builder, x: Value, name: str, window: Sequence[int], strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None, dilations: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
) -> Value:
    """`x` combined by an op over windows; all numbers are of all dimensions, `padding` pairs of them."""
    rank = len(shape_of(x))
    ones = (1,) * rank
    pairs = [list(pair) for pair in padding] if padding is not None else [[0, 0]] * rank
    attributes = {
        "window_dimensions": tuple(window), "window_strides": tuple(strides or ones),
        "base_dilations": tuple(base_dilations or ones), "window_dilations": tuple(dilations or ones),
        "padding": Dense(np.array(pairs, np.int64).reshape(rank, 2)),
    }
    start = scalar(rw, start_of(name, x.element), x.element)
    out = tuple(
        windows(size, pairs[i], attributes["base_dilations"][i], window[i], attributes["window_dilations"][i],  # type: ignore[index]
                 attributes["window_strides"][i])  # type: ignore[index]
        for i, size in enumerate(shape_of(x)))
    body = _combining(rw, name, [x.element])
    return with_regions(rw, "reduce_window", (x, start), [body], [TensorType(out, x.element)], **attributes)[0]


def sort(rw: Builder, inputs: Sequence[Value], axis: int, comparator: Body, stable: bool = True) -> tuple[Value, ...]:
    """Tensors sorted together along an axis: `comparator(builder, a0, b0, a1, b1, ...)` says whether a comes first."""
    types = [TensorType((), x.element) for x in inputs for _ in range(2)]
    body = region(rw, types, comparator)
    return with_regions(rw, "sort", inputs, [body], [x.type for x in inputs], dimension=axis, is_stable=stable)


def while_(rw: Builder, values: Sequence[Value], cond: Body, body: Body) -> tuple[Value, ...]:
    """`body` repeated on values while `cond` holds for them."""
    types = [value.type for value in values]
    return with_regions(rw, "while", values, [region(rw, types, cond), region(rw, types, body)], types)


# --- contractions


def dot_general(
    rw: Builder, a: Value, b: Value, contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()), element: Type | None = None,
) -> Value:
    """Sums of products over `contract`ed axes of `a` and `b`, for each index of the `batch` axes: batch, rest of a, rest of b.

    `element` is the type in which products are summed, where it is not the operands' own.
    """
    dims = DotDims(
        lhs_batching_dimensions=tuple(batch[0]), rhs_batching_dimensions=tuple(batch[1]),
        lhs_contracting_dimensions=tuple(contract[0]), rhs_contracting_dimensions=tuple(contract[1]))
    return rw.emit("stablehlo.dot_general", a, b, dot_dimension_numbers=dims, precision_config=HIGHEST, element=element)


def convolution(
    rw: Builder, x: Value, kernel: Value, dims: ConvDims, strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilations: Sequence[int] | None = None, input_dilations: Sequence[int] | None = None, groups: int = 1,
    element: Type | None = None, batch_groups: int = 1,
) -> Value:
    """A convolution; all numbers are of the spatial dimensions, `padding` pairs of them. `element`: see `dot_general`."""
    rank = len(dims.input_spatial_dimensions)
    ones = (1,) * rank
    return rw.emit(
        "stablehlo.convolution", x, kernel, element=element, window_strides=tuple(strides),
        padding=Dense(np.array([list(pair) for pair in padding], np.int64).reshape(rank, 2)),
        lhs_dilation=tuple(input_dilations or ones), rhs_dilation=tuple(dilations or ones), window_reversal=(False,) * rank,
        dimension_numbers=dims, feature_group_count=groups, batch_group_count=batch_groups, precision_config=HIGHEST)


# --- gather and scatter


def gather(
    rw: Builder, x: Value, indices: Value, sizes: Sequence[int], offset_dims: Sequence[int], collapsed: Sequence[int],
    index_map: Sequence[int], batching: Sequence[int] = (), index_batching: Sequence[int] = (), vector_dim: int | None = None,
) -> Value:
    """Slices of `x` of some sizes at places in `indices`, moved so that they lie inside; names are the specification's."""
    dims = GatherDims(
        offset_dims=offset_dims, collapsed_slice_dims=collapsed, operand_batching_dims=batching,
        start_indices_batching_dims=index_batching, start_index_map=index_map,
        index_vector_dim=len(shape_of(indices)) - 1 if vector_dim is None else vector_dim)
    return rw.emit("stablehlo.gather", x, indices, dimension_numbers=dims, slice_sizes=tuple(sizes), indices_are_sorted=False)


def scatter(
    rw: Builder, x: Value, indices: Value, updates: Value, name: str | Body, window: Sequence[int], inserted: Sequence[int],
    index_map: Sequence[int], batching: Sequence[int] = (), index_batching: Sequence[int] = (), vector_dim: int | None = None,
    unique: bool = False,
) -> Value:
    """`x` with updates worked in by an op (add, ...) or a body; what lies outside is left out. Names are the specification's."""
    dims = ScatterDims(
        update_window_dims=window, inserted_window_dims=inserted, input_batching_dims=batching,
        scatter_indices_batching_dims=index_batching, scatter_dims_to_operand_dims=index_map,
        index_vector_dim=len(shape_of(indices)) - 1 if vector_dim is None else vector_dim)
    body = _combining(rw, name, [x.element])
    return with_regions(
        rw, "scatter", (x, indices, updates), [body], [x.type], scatter_dimension_numbers=dims, indices_are_sorted=False,
        unique_indices=unique)[0]


def replace(inner: Builder, old: Value, new: Value) -> Value:
    """A body for `scatter`: the update takes the old element's place."""
    return new
