"""What the rewrites share: shapes, constants, and operands that are not expanded before they must be.

StableHLO has no broadcasting: operands are expanded first (`broadcast_in_dim`), and scalars are written out as tensors.
`top` broadcasts as numpy does. So an expansion becomes a `top.Expand`, and what reads it looks through it
(`lean`): the expansion is left unused where broadcasting does the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import ComplexType, IntegerType, Op, QuantType, TensorType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.ir.types import BOOL, IndexType
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.tables import distinct

from ..types import compatible, element_of, shape_of, storage_of

__all__ = [
    "Array", "agreed", "as_quantized", "cast", "counting", "cut", "cut_axis", "empty", "expand", "full", "held", "in_shape",
    "is_complex", "is_integer", "is_signed", "lean", "like", "materialized", "permute", "pointwise", "product", "refuse_complex",
    "reshape", "settled", "splat_of", "static", "static_result",
]

Array = np.ndarray[Any, Any]
SETTLED = 1 << 16
"""Elements up to which an expanded constant is written out where it is moved."""
LARGEST = 1 << 26
"""Elements up to which a constant is made at all."""


# --- types

def is_integer(value: Value) -> bool:
    return isinstance(value.element, IntegerType | IndexType) and value.element != BOOL


def is_complex(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.element, ComplexType)


def refuse_complex(op: Op) -> None:
    """`Unsupported` where the op works on complex numbers."""
    if any(is_complex(value) for value in (*op.operands, *op.results)):
        raise Unsupported(
            "is on complex numbers, which the hub does not have in this op",
            "compute with real and imaginary parts as tensors of their own")


def static(value: Value, what: str = "a tensor") -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where a size is not known."""
    if not isinstance(value.type, TensorType) or not value.type.is_static:
        raise OpenSizes(f"{what} is {value.type}: a size is not known")
    return shape_of(value.type)


def static_result(op: Op, index: int = 0) -> tuple[int, ...]:
    return static(op.results[index], "the result")


def agreed(op: Op, shape: Sequence[int | None]) -> None:
    """Refuse a shape that computed numbers give, once they are known, where the type of the op's result has another."""
    if not compatible(shape, shape_of(op.results[0])):
        raise Unsupported(f"gives a result of shape {list(shape)}, whose type is {op.results[0].type}")


# --- constants

def lean(value: Value) -> Value:
    """The value before it was expanded to its shape by broadcasting."""
    while isinstance(value.owner, Op) and value.owner.name == "top.Expand" and getattr(value.type, "is_static", False):
        value = value.owner.operands[0]
    return value


def held(rw: Rewriter, value: Value | None) -> Array | None:
    """The array that a value holds, if it is a constant or one that is expanded, else None."""
    if value is None:
        return None
    array = rw.constant_of(lean(value))
    return None if array is None else np.broadcast_to(array, shape_of(value))


def splat_of(rw: Rewriter, value: Value) -> Any | None:
    """The one number that a constant holds in all places, as a numpy scalar; None of anything else."""
    dense = constant_of(lean(value))
    if dense is None or not math.prod(dense.shape):
        return None
    array = distinct(dense.numpy())
    first = array.reshape(-1)[0]
    if array.size == 1 or (array == first).all():
        return first
    return None


def materialized(rw: Rewriter, value: Value) -> Value:
    """The value as one constant where it is a constant that is expanded; for ops that want their weights so."""
    if lean(value) is value or not getattr(value.type, "is_static", False) or product(shape_of(value)) > LARGEST:
        return value
    array = held(rw, value)
    return value if array is None else rw.constant(np.asarray(array, order="C"), value.element)


def settled(rw: Rewriter, x: Value) -> Value:
    """A small constant that is expanded as one constant, so that what is made of it folds."""
    if lean(x) is x or not getattr(x.type, "is_static", False) or product(shape_of(x)) > SETTLED:
        return x
    return materialized(rw, x)


def like(rw: Rewriter, value: Value, number: Any) -> Value:
    """A scalar constant in the element type of a value."""
    element = value.element
    return rw.constant(np.asarray(number).astype(dtype_of(element)).reshape(()), element)


def is_signed(rw: Rewriter, x: Value) -> Value:
    """Which numbers have a sign: those less than 0, and negative zeros, whose reciprocal is."""
    zero = rw.emit("top.Compare", x, like(rw, x, 0), mode="Equal")
    probe = rw.emit("top.Where", zero, rw.emit("top.Reciprocal", x), x)
    return rw.emit("top.Compare", probe, like(rw, x, 0), mode="Less")


def full(rw: Rewriter, number: Any, shape: Sequence[Any], element: Type) -> Value:
    """A tensor with one number in all places: a scalar, expanded."""
    return expand(rw, rw.constant(np.asarray(number).astype(dtype_of(element)).reshape(()), element), shape)


def empty(rw: Rewriter, op: Op) -> list[Value] | None:
    """Constants for the results of an op that have no elements; None where one has."""
    types = [result.type for result in op.results]
    if not types or not all(isinstance(type_, TensorType) and type_.is_static and 0 in shape_of(type_) for type_ in types):
        return None
    return zeros(rw, op)


def zeros(rw: Rewriter, op: Op) -> list[Value]:
    """Constants of zeros for the results of an op, whose shapes are known."""
    made: list[Value] = []
    for result in op.results:
        element = element_of(result)
        made.append(rw.constant(tables.zeros(shape_of(result), dtype_of(storage_of(result))), element))
    return made


def counting(size: int) -> Array:
    """0, 1, 2, ..., of a number that a file may claim."""
    if size > LARGEST:
        raise Unsupported(f"would need a constant of {size:,} elements", f"up to {LARGEST:,} are made")
    return tables.arange(size)


# --- movement

def reshape(rw: Rewriter, x: Value, shape: Sequence[Any]) -> Value:
    """`x` in another shape; itself where it has that shape."""
    if x.shape == tuple(shape):
        return x
    inner = lean(x)
    if inner is not x and all(size == 1 for size in shape_of(inner)):
        return expand(rw, reshape(rw, inner, ()), shape)
    return rw.emit("top.Reshape", settled(rw, x), shape=tuple(shape))


def permute(rw: Rewriter, x: Value, order: Sequence[int]) -> Value:
    """`x` with its dimensions in another order."""
    if tuple(order) == tuple(range(len(order))):
        return x
    inner = lean(x)
    if inner is not x and inner.rank == x.rank:
        return expand(rw, permute(rw, inner, order), [shape_of(x)[axis] for axis in order])
    if inner is not x and all(size == 1 for size in shape_of(inner)):
        return expand(rw, reshape(rw, inner, ()), [shape_of(x)[axis] for axis in order])
    return rw.emit("top.Permute", settled(rw, x), order=tuple(int(axis) for axis in order))


def expand(rw: Rewriter, x: Value, shape: Sequence[Any]) -> Value:
    """`x` broadcast to a shape. Never computed here, even of a constant: what reads it may not need it."""
    if x.shape == tuple(shape):
        return x
    inner = lean(x)
    return rw.create("top.Expand", (inner,), (TensorType(tuple(shape), x.element),), {"shape": tuple(shape)}).results[0]


def cut(rw: Rewriter, x: Value, starts: Sequence[Any], ends: Sequence[Any], steps: Sequence[int] | None = None) -> Value:
    """A slice with bounds for every dimension; `x` itself where it is all of it."""
    steps = (1,) * x.rank if steps is None else tuple(steps)
    if None in shape_of(x):
        raise Unsupported(f"cuts a tensor whose sizes are known only at run time: {x.type}")
    if all(s == 0 and e >= n and t == 1 for s, e, n, t in zip(starts, ends, shape_of(x), steps, strict=True)):
        return x
    inner = lean(x)
    if inner is not x and all(size == 1 for size in shape_of(inner)):
        sizes = [max(-((s - e) // t), 0) for s, e, t in zip(starts, ends, steps, strict=True)]
        return expand(rw, reshape(rw, inner, ()), sizes)
    return rw.emit(
        "top.Slice", settled(rw, x), offset=tuple(map(int, starts)), ends=tuple(map(int, ends)), steps=tuple(map(int, steps)))


def cut_axis(rw: Rewriter, x: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
    """A slice of one dimension."""
    starts, ends, steps = [0] * x.rank, list(shape_of(x)), [1] * x.rank
    starts[axis], ends[axis], steps[axis] = start, end, step
    return cut(rw, x, starts, ends, steps)


def cast(rw: Rewriter, x: Value, element: Type, **how: Any) -> Value:
    """`x` in another element type."""
    if x.element == element:
        return x
    inner = lean(x)
    made = rw.emit("top.Cast", inner, element=element, **how)
    return made if inner is x else expand(rw, made, shape_of(x))


def as_quantized(rw: Rewriter, x: Value, element: Type) -> Value:
    """Quantized: `round_nearest_even(x / scale + zero_point)`; zero points that are even may be added afterwards."""
    assert isinstance(element, QuantType)
    odd = any(point % 2 for point in element.zero_points)
    return cast(rw, x, element, round_mode="HalfToEvenStored" if odd else "HalfToEven")


# --- element by element

def pointwise(rw: Rewriter, op: Op, name: str, *values: Value, **attributes: Any) -> Value:
    """An op on elements, of operands as they were before they were expanded, in the shape of `op`'s result."""
    result = op.results[0].type
    element = element_of(result)
    if not getattr(result, "is_static", False):
        return rw.emit(name, *values, element=element, **attributes)
    return expand(rw, rw.emit(name, *map(lean, values), element=element, **attributes), shape_of(result))


def in_shape(rw: Rewriter, op: Op, value: Value) -> Value:
    """A value that was computed of lean operands in the shape of `op`'s result."""
    result = op.results[0].type
    return expand(rw, value, shape_of(result)) if getattr(result, "is_static", False) else value


def product(sizes: Sequence[Any]) -> int:
    """How many elements there are. Raises `Unsupported` where a size is open."""
    if any(size is None for size in sizes):
        raise Unsupported("sizes that are known only when the model runs")
    return math.prod(int(size) for size in sizes)
