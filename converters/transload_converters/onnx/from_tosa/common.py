"""What the rewrites of TOSA's operators share: numbers behind operands, integers as floats that hold them, order of dimensions.

TOSA has channels last, ONNX second. A tensor that a convolution gives is turned back at once, by a Transpose; what is computed
element by element of a turned tensor is computed of the tensor itself, and turned afterwards (`elementwise`). So transposes
wander down to where the order matters, and the next convolution takes what is before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.ir import BOOL, F32, F64, I32, I48, I64, UI64, FloatType, IntegerType, Op, TensorType, Type, Value
from transload.ir.build import Builder, constant_of
from transload.rewrite import Rewriter, Unsupported
from transload_hub.tables import distinct

from ..lowering.common import cast, constant, emit, ints, static_shape, transposed

__all__ = [
    "CHANNELS_LAST", "CHANNELS_SECOND", "along", "as_float", "broadcast", "elementwise", "held", "number", "passes_nans",
    "power_of_two", "reshaped", "scalar_like", "shift_right", "sizes", "turned", "vector", "wide", "without_nans",
]  # fmt: skip

CHANNELS_SECOND = (0, 3, 1, 2)
CHANNELS_LAST = (0, 2, 3, 1)


def held(element: Type) -> Type:
    """The type of ONNX that holds numbers of a type of TOSA: i64 those of 48 bits."""
    return I64 if element == I48 else element


def vector(value: Value) -> np.ndarray | None:
    """The numbers of a constant as a flat int64 array, None where they are computed."""
    dense = constant_of(value)
    return None if dense is None else dense.numpy().reshape(-1).astype(np.int64)


def number(value: Value, what: str, unsigned: bool = False) -> int:
    """The integer in a constant of one element, its bits read as unsigned if asked; `Unsupported` where it is computed."""
    found = vector(value)
    if found is None or found.size != 1:
        raise Unsupported(f"{what} must be one constant number, and is computed at run time")
    bits = value.element.width if isinstance(value.element, IntegerType) else 64
    return int(found[0]) + (1 << bits if unsigned and found[0] < 0 else 0)


def sizes(value: Value, what: str) -> tuple[int, ...]:
    """The numbers behind a `!tosa.shape` operand; `Unsupported` where they are computed."""
    found = vector(value)
    if found is None:
        raise Unsupported(f"{what} must be a constant, and is computed at run time")
    return tuple(map(int, found))


def turned(rw: Builder, x: Value, order: Sequence[int]) -> Value:
    """`x` with its dimensions in another order; two transposes become one, or none."""
    before = _order(x)
    if before is not None and x.op is not None:
        x, order = x.op.operands[0], [before[axis] for axis in order]
    return x if list(order) == sorted(order) else transposed(rw, x, order)


def _order(x: Value) -> tuple[int, ...] | None:
    """The order in which a Transpose gives the dimensions of what it takes; None of other values."""
    owner = x.op
    return tuple(owner.attributes["perm"]) if owner is not None and owner.name == "onnx.Transpose" else None


def elementwise(rw: Builder, compute: Callable[..., Value], *values: Value) -> Value:
    """`compute(*values, last)` of tensors of one rank that broadcast, before they are turned where all are turned alike.

    `last` is the number of the dimension that is the last one of TOSA's tensors. Constants among the values are turned here.
    """
    orders = {_order(value) for value in values if constant_of(value) is None}
    order = orders.pop() if len(orders) == 1 else None
    rank = len(static_shape(values[0]))
    if order is None or any(len(static_shape(value)) != rank for value in values):
        return compute(*values, rank - 1)
    back = [order.index(axis) for axis in range(rank)]
    return turned(rw, compute(*(turned(rw, value, back) for value in values), order[rank - 1]), order)


def wide(rw: Builder, x: Value) -> Value:
    """Integers of fewer than 32 bits in i32, in which onnxruntime has all operators; others, and floats, as they are."""
    narrow = isinstance(x.element, IntegerType) and x.element.width < 32
    return cast(rw, x, I32) if narrow else x


def as_float(rw: Builder, x: Value, element: Type = F64) -> Value:
    """Integers as floats that hold them exactly. Where `x` is a cast of such floats, these."""
    owner = x.op
    if owner is not None and owner.name == "onnx.Cast" and isinstance(x.element, IntegerType) and (
            owner.operands[0].element in (F32, F64)):
        x = owner.operands[0]
    return cast(rw, x, element)


def scalar_like(rw: Builder, value: float, x: Value) -> Value:
    """A constant of rank 0 and of the element type of `x`."""
    return constant(rw, value if isinstance(x.element, FloatType) else int(value), x.element)


def along(rw: Builder, numbers: Any, element: Type, rank: int, axis: int) -> Value:
    """A constant with a number for each index of one dimension of a tensor; of rank 0 where all are the same.

    Numbers of more dimensions than one stay as they are.
    """
    array = np.asarray(numbers)
    if array.size == 1 or (distinct(array) == array.flat[0]).all():
        return constant(rw, array.flat[0], element)
    if array.ndim > 1:
        return constant(rw, array, element)
    return constant(rw, array.reshape([-1 if place == axis else 1 for place in range(rank)]), element)


def broadcast(rw: Builder, name: str, *operands: Value, element: Type | None = None) -> Value:
    """An operator on tensors that broadcast."""
    shape = np.broadcast_shapes(*(static_shape(value) for value in operands))
    made: Value = rw.emit(f"onnx.{name}", *operands, types=[TensorType(shape, element or operands[0].element)])
    return made


def passes_nans(op: Op) -> bool:
    """Whether an operator is to pass over the NaNs of its first operand."""
    return isinstance(op.operands[0].element, FloatType) and op.attributes.get("nan_mode", "PROPAGATE") == "IGNORE"


def without_nans(rw: Builder, x: Value, least: float, combine: Callable[[Value], Value]) -> Value:
    """`combine` of the numbers of `x` that are no NaN, and NaN of NaNs alone; `least` changes no combination."""
    missing, neutral = emit(rw, "IsNaN", x, element=BOOL), constant(rw, least, x.element)
    made = combine(emit(rw, "Where", missing, neutral, x, like=x))
    there = combine(emit(rw, "Where", missing, neutral, scalar_like(rw, 0.0, x), like=x))
    found = broadcast(rw, "Equal", there, scalar_like(rw, 0.0, x), element=BOOL)
    return broadcast(rw, "Where", found, made, scalar_like(rw, np.nan, x), element=made.element)


def shift_right(rw: Builder, x: Value, places: Value) -> Value:
    """`x >> places` of i64, `places` of ui64: BitShift moves unsigned numbers, so 2^63 is added first, and its rest taken off."""
    top = 1 << 63
    moved = emit(rw, "Add", cast(rw, x, UI64), constant(rw, np.uint64(top), UI64))
    shifted = rw.emit(
        "onnx.BitShift", moved, places, types=[TensorType(_joint(moved, places), UI64)], direction="RIGHT")
    rest = rw.emit("onnx.BitShift", constant(rw, np.uint64(top), UI64), places, types=[places.type], direction="RIGHT")
    return broadcast(rw, "Sub", cast(rw, shifted, I64), cast(rw, rest, I64))


def _joint(*values: Value) -> tuple[int, ...]:
    return np.broadcast_shapes(*(static_shape(value) for value in values))


def power_of_two(rw: Builder, places: Value) -> Value:
    """2 to the power of numbers from 0 to 63, ui64."""
    made: Value = rw.emit(
        "onnx.BitShift", constant(rw, np.uint64(1), UI64), cast(rw, places, UI64),
        types=[TensorType(static_shape(places), UI64)], direction="LEFT")
    return made


def reshaped(rw: Rewriter, x: Value, shape: Sequence[int]) -> Value:
    """Reshape to sizes that are known; `x` itself where it has them."""
    if static_shape(x) == tuple(shape):
        return x
    return emit(rw, "Reshape", x, ints(rw, shape), shape=shape, allowzero=1 if 0 in shape else None)
