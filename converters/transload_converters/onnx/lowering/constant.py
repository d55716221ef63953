"""Constants, absent operands, and tensors made from shapes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transload.errors import Unsupported
from transload.ir import I64, IntegerType, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable

from .common import cast, emit, ints, scalar, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.constant import Absent, EyeLike, Fill, Input, NonZero, Range, Shape, Trilu, Weight

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Weight")
def weight(op: Weight, rw: Rewriter) -> Value:
    """A constant; its numbers are not copied."""
    return rw.constant(op.value, op.result.element, dialect="onnx")


@TABLE("top.None")
def absent(op: Absent, rw: Rewriter) -> Any:
    """What stands for absent operands has no users when all else is converted; DCE removes it then."""
    return CHANGED


@TABLE("top.Input")
def input_(op: Input, rw: Rewriter) -> Value:
    return op.input


@TABLE("top.Shape")
def shape(op: Shape, rw: Rewriter) -> Value:
    return cast(rw, emit(rw, "Shape", op.input, like=op.result, element=I64), op.result.element)


@TABLE("top.Range")
def range_(op: Range, rw: Rewriter) -> Value:
    return emit(rw, "Range", *(reshaped(rw, value, ()) for value in (op.start, op.limit, op.delta)), like=op.result)


def reshaped(rw: Rewriter, x: Value, shape: tuple[int, ...]) -> Value:
    """Reshape to a shape that is known; `x` itself where it has it."""
    if x.known_shape == shape:
        return x
    return emit(rw, "Reshape", x, ints(rw, shape), shape=shape, allowzero=1 if 0 in shape else None)


@TABLE("top.Fill")
def fill(op: Fill, rw: Rewriter) -> Value:
    sizes = static_shape(op.result)
    return emit(rw, "Expand", reshaped(rw, op.value, ()), ints(rw, sizes), shape=sizes)


@TABLE("top.EyeLike")
def eye_like(op: EyeLike, rw: Rewriter) -> Value:
    from ..types import element_code

    if op.result.is_quantized:
        raise Unsupported("a diagonal of quantized ones", "leave it float")
    return emit(rw, "EyeLike", op.input, like=op.result, dtype=element_code(op.result.element), k=op.k)


@TABLE("top.Trilu")
def trilu(op: Trilu, rw: Rewriter) -> Value:
    return emit(rw, "Trilu", op.input, scalar(rw, op.k, I64), like=op.result, upper=int(op.upper))


@TABLE("top.NonZero")
def non_zero(op: NonZero, rw: Rewriter) -> Value:
    found = emit(rw, "NonZero", op.input, like=op.result, element=I64)
    return cast(rw, found, op.result.element) if isinstance(op.result.element, IntegerType) else found
