"""What the lowerings of ops that compute nothing quantized have in common: static shapes, ranks, element types.

TOSA's operators take tensors of rank 6 at most (level 8K). A value of higher rank exists in a lowering
only between reshapes: each operator works on dimensions merged to fewer ones, and `reshape` looks through
the reshape that made its operand, so that what is left between two operators is one reshape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from transload.errors import OpenSizes
from transload.ir import BOOL, F32, I8, I16, I32, FloatType, Op, Type, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.constants import SplatData
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.permuting import merged
from transload_hub.tables import distinct

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.bounds import bounds_of
from ..arithmetic.rescaling import any_quantized, fused_activation

__all__ = [
    "MAX_RANK", "along", "binary", "broadcast_groups", "cast", "compare", "concat", "cut", "exact", "filled", "finished",
    "flat", "from_front", "gather_rows", "has_minus", "in_range_of", "is_constant_splat", "like", "magnitude", "narrowed",
    "negate", "normal_axes", "normal_axis", "pad", "plain_into", "reshape", "select", "static_shape", "transpose", "typed",
    "unary", "widened",
]

MAX_RANK = 6
"""Greatest rank of a tensor (TOSA 1.0, level 8K)."""


def static_shape(value: Value, what: str = "the tensor") -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where a size is not known."""
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"{what} is of type {value.type}, and TOSA needs sizes that are known")
    return shape


def normal_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front."""
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(normal_axis(axis, rank) for axis in axes)


def like(rw: Builder, x: Value, number: float) -> Value:
    """A constant of one element that broadcasts against `x`: of its stored element type and rank."""
    return build.scalar(rw, number, storage_of(x), x.rank)


# --- tables

Rewrite = Callable[[Any, Rewriter], Any]


def plain_into(table: RewriteTable) -> Callable[..., Callable[[Rewrite], Rewrite]]:
    """The decorator that adds to `table` a rewrite of ops none of whose operands and results is quantized."""

    def plain(*names: str) -> Callable[[Rewrite], Rewrite]:
        def add(function: Rewrite) -> Rewrite:
            @wraps(function)
            def rewrite(op: Op, rw: Rewriter) -> Any:
                return None if any_quantized(op) else function(op, rw)

            table(*names)(rewrite)
            return function

        return add

    return plain


# --- shape

def reshape(rw: Builder, x: Value, shape: Sequence[int]) -> Value:
    """`x` in another shape, taken from before an earlier reshape where `x` is the result of one."""
    shape = tuple(shape)
    while x.shape != shape and x.op is not None and x.op.name == "tosa.reshape" and x.op.operands[0].element == x.element:
        x = x.op.operands[0]
    return build.reshape(rw, x, shape)


def transpose(rw: Builder, x: Value, order: Sequence[int]) -> Value:
    """`x` with its dimensions in another order; a reshape where only dimensions of size 1 move.

    Dimensions that stay together are merged. Where more than six are left, one at a time is moved to
    its place, each move a transpose of four.
    """
    shape = static_shape(x)
    order = tuple(order)
    made = tuple(shape[dim] for dim in order)
    sizes, after = merged(shape, order)
    if len(after) <= 1:
        return reshape(rw, x, made)
    if len(after) == sum(size != 1 for size in shape) and len(shape) <= MAX_RANK:
        return build.transpose(rw, x, order)
    x = reshape(rw, x, sizes)
    if len(after) <= MAX_RANK:
        return reshape(rw, build.transpose(rw, x, after), made)
    before = list(range(len(sizes)))
    for place, dim in enumerate(after):
        where = before.index(dim)
        if where == place:
            continue
        outer, middle = before[:place], before[place:where]
        parts = [math.prod(sizes[d] for d in part) for part in (outer, middle, [dim], before[where + 1 :])]
        x = build.transpose(rw, reshape(rw, x, parts), (0, 2, 1, 3))
        before = [*outer, dim, *middle, *before[where + 1 :]]
    return reshape(rw, x, made)


def along(rw: Builder, x: Value, axis: int, make: Callable[[Value, int], Value]) -> Value:
    """`make(x, axis)` of something that changes dimension `axis` only; above rank 6, of x as three dimensions."""
    if x.rank <= MAX_RANK:
        return make(x, axis)
    shape = static_shape(x)
    three = reshape(rw, x, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))
    made = make(three, 1)
    return reshape(rw, made, (*shape[:axis], static_shape(made)[1], *shape[axis + 1 :]))


def cut(rw: Builder, x: Value, axis: int, start: int, size: int) -> Value:
    """`size` places of dimension `axis` from `start` on."""

    def slice_of(x: Value, axis: int) -> Value:
        shape = static_shape(x)
        starts, sizes = [0] * len(shape), list(shape)
        starts[axis], sizes[axis] = start, size
        return build.slice_(rw, x, starts, sizes)

    return x if static_shape(x)[axis] == size else along(rw, x, axis, slice_of)


MAX_LIST = 64
"""Greatest number of tensors in a list (TOSA 1.0, level 8K)."""


def concat(rw: Builder, values: Sequence[Value], axis: int) -> Value:
    """Values joined along an axis, empty ones left out; more than 64 in groups, above rank 6 as three dimensions."""
    parts = [value for value in values if static_shape(value)[axis] != 0] or list(values[:1])
    while len(parts) > 1:
        parts = [_concat_some(rw, parts[i : i + MAX_LIST], axis) for i in range(0, len(parts), MAX_LIST)]
    return parts[0]


def _concat_some(rw: Builder, values: Sequence[Value], axis: int) -> Value:
    if len(values) == 1 or values[0].rank <= MAX_RANK:
        return build.concat(rw, values, axis)
    shapes = [static_shape(value) for value in values]
    three = [
        reshape(rw, value, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))
        for value, shape in zip(values, shapes, strict=True)]
    made = build.concat(rw, three, 1)
    return reshape(rw, made, (*shapes[0][:axis], static_shape(made)[1], *shapes[0][axis + 1 :]))


def pad(rw: Builder, x: Value, axis: int, before: int, after: int, number: float) -> Value:
    """`x` with places of the stored `number` around dimension `axis`."""

    def padded(x: Value, axis: int) -> Value:
        padding = [0] * (2 * x.rank)
        padding[2 * axis : 2 * axis + 2] = before, after
        return build.pad(rw, x, padding, number)

    return along(rw, x, axis, padded) if before or after else x


def gather_rows(rw: Builder, values: Value, indices: Value) -> Value:
    """GATHER of [N, K, C] by [N, W]; truth values, which it does not take, as bytes."""
    if values.element == BOOL:
        return cast(rw, rw.emit("tosa.gather", cast(rw, values, I8), indices), BOOL)
    return rw.emit("tosa.gather", values, indices)


def from_front(rw: Builder, indices: Value, size: int) -> Value:
    """Subscripts of a dimension of `size`, i32, negative ones from its end; what is added is selected, lest a sum leave i32."""
    zero = like(rw, indices, 0)
    negative = compare(rw, "Less", indices, zero)
    return binary(rw, "add", indices, select(rw, negative, like(rw, indices, size), zero))


# --- elementwise operators of several operands

def broadcast_groups(shapes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Dimensions of broadcast operands (of one rank) in runs along which each operand is repeated wholly or not at all."""
    groups: list[list[int]] = []
    kinds: list[tuple[bool, ...] | None] = []
    for dim in range(len(shapes[0])):
        sizes = [shape[dim] for shape in shapes]
        if max(sizes) == 1 and min(sizes) == 1:
            kind = None  # fits with anything
        else:
            kind = tuple(size == 1 for size in sizes)
        if groups and (kind is None or kinds[-1] is None or kind == kinds[-1]):
            groups[-1].append(dim)
            kinds[-1] = kind if kinds[-1] is None else kinds[-1]
        else:
            groups.append([dim])
            kinds.append(kind)
    return groups


def _together(rw: Builder, name: str, values: Sequence[Value], element: Type | None, attributes: dict[str, Any]) -> Value:
    """An elementwise operator on values brought to one rank, of six at most."""
    extra = (build.scalar(rw, 0, I8),) if name == "tosa.mul" else ()  # the shift of a product
    rank = max(value.rank for value in values)
    if rank <= MAX_RANK:
        return rw.emit(name, *build.equal_rank(rw, *values), *extra, element=element, **attributes)
    shapes = [(1,) * (rank - value.rank) + static_shape(value) for value in values]
    groups = broadcast_groups(shapes)
    if len(groups) > MAX_RANK:
        raise Unsupported(f"operands of rank {rank} broadcast in {len(groups)} different ways along it, and TOSA has 6 of them")
    merged = [
        reshape(rw, value, [math.prod(shape[dim] for dim in group) for group in groups])
        for value, shape in zip(values, shapes, strict=True)]
    return reshape(rw, rw.emit(name, *merged, *extra, element=element, **attributes), np.broadcast_shapes(*shapes))


def binary(rw: Builder, name: str, a: Value, b: Value, element: Type | None = None, **attributes: Any) -> Value:
    """`tosa.<name>` of two values that broadcast; ranks are made equal."""
    return _together(rw, f"tosa.{name}", (a, b), element, attributes)


def select(rw: Builder, condition: Value, a: Value, b: Value, element: Type | None = None) -> Value:
    """`a` where the condition holds, else `b`, broadcast."""
    return _together(rw, "tosa.select", (condition, a, b), element, {})


def compare(rw: Builder, mode: str, a: Value, b: Value) -> Value:
    """`a <mode> b` by what TOSA has: equal, greater and greater_equal, swapped or negated."""
    if mode in ("Less", "LessOrEqual"):
        a, b, mode = b, a, mode.replace("Less", "Greater")
    name = {"Equal": "equal", "NotEqual": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal"}[mode]
    found = binary(rw, name, a, b)
    return unary(rw, "logical_not", found) if mode == "NotEqual" else found


def flat(rw: Builder, x: Value, make: Callable[[Value], Value]) -> Value:
    """`make(x)` of an elementwise `make`; a rank above 6 is flattened for it."""
    if x.rank <= MAX_RANK:
        return make(x)
    shape = static_shape(x)
    return reshape(rw, make(reshape(rw, x, (math.prod(shape),))), shape)


def unary(rw: Builder, name: str, x: Value) -> Value:
    """`tosa.<name>` of one value."""
    return flat(rw, x, lambda x: rw.emit(f"tosa.{name}", x))


def negate(rw: Builder, x: Value) -> Value:
    """`-x` of a float or i32."""
    return flat(rw, x, lambda x: build.negate(rw, x))


def has_minus(rw: Builder, x: Value) -> Value:
    """Whether a float is below 0, or is -0, whose reciprocal is negative infinity."""
    zero = like(rw, x, 0)
    return binary(rw, "logical_or", compare(rw, "Less", x, zero), compare(rw, "Less", unary(rw, "reciprocal", x), zero))


# --- element types

def typed(rw: Rewriter, x: Value, element: Type) -> Value:
    """The same stored numbers under another (quantized) element type."""
    if x.element == element:
        return x
    if x.op is not None and not x.uses and x.op is not rw.op and x.op.name.startswith("tosa.") and x.op.name != "tosa.const":
        x.type = x.tensor_type.with_element(element)
        return x
    return rw.emit("tosa.identity", x, element=element)


def cast(rw: Builder, x: Value, element: Type) -> Value:
    """`x` as another element type; `x` itself where it has that type."""
    return x if x.element == element else flat(rw, x, lambda x: build.cast(rw, x, element))


def widened(rw: Builder, x: Value) -> Value:
    """A plain integer in i32, in which TOSA computes; a float as it is."""
    element = storage_of(x)
    if isinstance(element, FloatType) or element == I32:
        return x
    if element in (I8, I16):
        return flat(rw, x, lambda x: build.cast(rw, x, I32))
    raise Unsupported(f"TOSA has no arithmetic on {element}")


def exact(rw: Builder, x: Value) -> Value:
    """A float narrower than f32 as f32, in which what is computed of it on the way is rounded, at the end, once."""
    return cast(rw, x, F32) if x.is_float else x


def in_range_of(rw: Builder, x: Value, *numbers: float) -> Value:
    """`exact`, where one of `numbers` is beyond the type of `x`, or so small that few bits of it are left there."""
    if not x.is_float or x.element == F32:
        return x
    limits = ml_dtypes.finfo(dtype_of(x.element))
    fit = all(number == 0 or float(limits.tiny) <= abs(number) <= float(limits.max) for number in numbers)
    return x if fit else exact(rw, x)


def narrowed(rw: Rewriter, x: Value, op: Op) -> Value:
    """`x` of i32 or f32, in which it was computed, in the result's element type; integers wrapped."""
    return cast(rw, x, op.results[0].element)


def finished(rw: Rewriter, x: Value, op: Op) -> Value:
    """`narrowed`, then the activation that `op` asks for."""
    return flat(rw, narrowed(rw, x, op), lambda x: fused_activation(rw, x, op))


def magnitude(rw: Builder, x: Value) -> Value:
    """`|x|` of floats or i32, that of the least i32 wrapping round to itself: ABS is not defined of it."""
    if x.is_float or bounds_of(x)[0] > I32.range[0]:
        return unary(rw, "abs", x)
    least = like(rw, x, I32.range[0])
    inside = binary(rw, "maximum", x, like(rw, x, I32.range[0] + 1))
    return select(rw, compare(rw, "Equal", x, least), x, unary(rw, "abs", inside))


def is_constant_splat(value: Value) -> float | None:
    """The number that a constant holds everywhere, or None."""
    dense = constant_of(value)
    if dense is None or 0 in dense.shape:
        return None
    array = distinct(dense.numpy())
    first = array.reshape(-1)[0] if array.ndim else array[()]
    return first.item() if bool(np.all(array == first)) else None


def filled(rw: Builder, shape: Sequence[int], element: Type, number: float = 0) -> Value:
    """A constant of one number everywhere, which takes the memory of one."""
    return build.const(rw, SplatData(number, tuple(shape), dtype_of(element)), element)

