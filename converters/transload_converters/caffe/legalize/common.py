"""What the rewrite functions of all families share: their table, and how they read layers and make values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from transload.errors import ShapeError, Unsupported, is_short
from transload.ir import I32, NoneType, Op, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

__all__ = [
    "CaffeTable", "along", "axis_of", "bottom", "cast", "flags", "joined", "need", "number", "permute", "reduced", "reshape",
    "shape_of", "slab",
]

F = TypeVar("F", bound=Callable[..., Any])


class CaffeTable(RewriteTable):
    """A rewrite table for types of layers: `@TABLE("ReLU")` is for `caffe.ReLU`.

    A function is not called where an operand comes of a layer that could not be converted; sizes that do not fit are a reason.
    """

    def __call__(self, *types: str) -> Callable[[F], F]:
        enter = super().__call__(*(f"caffe.{type_}" for type_ in types))

        def add(function: F) -> F:
            enter(_guarded(function))
            return function

        return add


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def rewrite(op: Op, rw: Rewriter) -> Any:
        for value in op.operands:
            if isinstance(value.owner, Op) and value.owner.dialect == op.dialect:
                raise Unsupported("uses a value whose layer cannot be converted", follows=True)
        try:
            return function(op, rw)
        except ShapeError as error:
            why = "; ".join(finding.why for finding in error.findings) or error.message
            raise Unsupported(why, "; ".join(finding.hint for finding in error.findings if finding.hint)) from None
        except (IndexError, ValueError) as error:
            if not is_short(error):
                raise
            types = ", ".join(str(value.type) for value in op.operands)
            raise Unsupported(f"has bottoms of fewer dimensions than it needs: {types}"[:300]) from None

    rewrite.__doc__ = function.__doc__
    rewrite.__wrapped__ = function  # type: ignore[attr-defined]
    return rewrite


def bottom(op: Op, index: int) -> Value | None:
    """Operand number `index`; None where it is absent."""
    values = op.operands
    return None if index >= len(values) or isinstance(values[index].type, NoneType) else values[index]


def need(op: Op, index: int, what: str) -> Value:
    """Operand number `index`, which must be there."""
    value = bottom(op, index)
    if value is None:
        raise Unsupported(f"has no {what}")
    return value


def shape_of(value: Value, rank: int | None = None) -> tuple[int, ...]:
    """The static shape of a value."""
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise Unsupported(f"the shape of {value.name or 'a bottom'!r} is not known")
    shape: tuple[int, ...] = type_.static_shape
    if rank is not None and len(shape) != rank:
        raise Unsupported(f"{value.name or 'a bottom'!r} must have {rank} dimensions, and has the shape {list(shape)}")
    return shape


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} is outside a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


# --- making values


def number(rw: Rewriter, value: float) -> Value:
    """A constant of rank 0."""
    return rw.constant(np.float32(value))


def reshape(rw: Rewriter, value: Value, shape: Sequence[int]) -> Value:
    """`value` in another shape; itself where it has it."""
    if shape_of(value) == tuple(shape):
        return value
    return rw.emit("top.Reshape", value, shape=tuple(int(size) for size in shape))


def permute(rw: Rewriter, value: Value, order: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; itself where that is the order they have."""
    if list(order) == list(range(len(order))):
        return value
    return rw.emit("top.Permute", value, order=tuple(order))


def along(rw: Rewriter, value: Value, axis: int, rank: int) -> Value:
    """A tensor of some dimensions, so that it broadcasts to those from `axis` on of one of rank `rank`."""
    shape = shape_of(value)
    if axis + len(shape) > rank:
        raise Unsupported(f"a tensor of the shape {list(shape)} reaches beyond rank {rank} from axis {axis} on")
    return reshape(rw, value, (1,) * axis + shape + (1,) * (rank - axis - len(shape)))


def joined(rw: Rewriter, values: Sequence[Value], axis: int = 0) -> Value:
    """Values behind one another along a dimension; a single one as it is."""
    return values[0] if len(values) == 1 else rw.emit("top.Concat", *values, axis=axis)


def slab(rw: Rewriter, value: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
    """Elements `start` to `end` along one dimension."""
    shape = shape_of(value)
    if (start, end, step) == (0, shape[axis], 1):
        return value
    offset, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
    offset[axis], ends[axis], steps[axis] = start, end, step
    return rw.emit("top.Slice", value, offset=tuple(offset), ends=tuple(ends), steps=tuple(steps))


def reduced(rw: Rewriter, value: Value, axes: Sequence[int], mode: str, keepdims: bool = True) -> Value:
    """A reduction; of nothing where there are no axes."""
    return rw.emit("top.Reduce", value, axes=tuple(axes), mode=mode, keepdims=keepdims)


def cast(rw: Rewriter, value: Value, element: Any = I32) -> Value:
    """Floats that hold whole numbers as integers, or back."""
    return value if value.element == element else rw.emit("top.Cast", value, element=element)


def flags(rw: Rewriter, left: Value, mode: str, right: Value) -> Value:
    """A comparison."""
    return rw.emit("top.Compare", left, right, mode=mode)
