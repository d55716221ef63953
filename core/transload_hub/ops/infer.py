"""Shape inference: what the `infer` functions of the declarations have in common.

A shape is a tuple with None for an unknown size, or None itself where even the rank is unknown. The
functions answer with what can be known from what is known, and raise `ShapeError` only for what
cannot be, whatever the unknown sizes turn out to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NoReturn

from transload.errors import Finding, ShapeError
from transload.ir import quantization
from transload.ir.core import Op, Value
from transload.ir.locations import location_names
from transload.ir.types import QuantType, TensorType, Type
from transload.ir.verify import same_shape

__all__ = [
    "Shape", "alike", "broadcast_shapes", "channel_axis", "element_of", "fail", "infer_broadcast", "join_sizes", "led_element",
    "need_rank", "normalise_axes", "normalise_axis", "permuted_element", "reshaped_element", "same_as_input",
    "shape_of", "show", "sliced_element", "spatial_axes", "transposed_window_size", "unify", "window_size",
]

Shape = tuple[int | None, ...]


def fail(op: Op, why: str, hint: str = "") -> NoReturn:
    """Raise `ShapeError`: the operands and attributes of `op` do not fit together."""
    names = tuple(location_names(op.location)[:1])
    raise ShapeError(f"{op.name}: shapes or attributes do not fit", [Finding(op.name, why, names, hint)])


def show(shape: Shape | None) -> str:
    """A shape for messages: `[1, ?, 3]`."""
    return "of unknown rank" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def shape_of(value: Value) -> Shape | None:
    """The shape of a tensor value; None where its rank is unknown."""
    return value.type.shape if isinstance(value.type, TensorType) else None


def element_of(value: Value) -> Type:
    """The element type of a tensor value."""
    return value.element


def same_as_input(op: Op) -> TensorType:
    """The type of the first operand, without its encoding."""
    value = op.operands[0]
    return TensorType(shape_of(value), value.element)


def alike(one: Type, other: Type) -> bool:
    """Whether two types are the same as far as they are known: a size that is not may turn out to be the other's."""
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        return one.element == other.element and same_shape(one, other)
    return one == other


def need_rank(op: Op, value: Value, what: str, ranks: Iterable[int] | None = None, least: int = 0) -> Shape | None:
    """The shape of `value`, whose rank must be one of `ranks` or `least` and more; None where unknown."""
    shape = shape_of(value)
    if shape is None:
        return None
    if len(shape) < least or (ranks is not None and len(shape) not in ranks):
        allowed = " or ".join(map(str, ranks)) if ranks is not None else f"{least} or more"
        fail(op, f"{what} must have rank {allowed}, and has shape {show(shape)}")
    return shape


def normalise_axis(op: Op, axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front; `ShapeError` where it is outside `[-rank, rank)`."""
    if not -rank <= axis < rank:
        fail(op, f"{what} {axis} is outside a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def normalise_axes(op: Op, axes: Sequence[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """All `axes` counted from the front; `ShapeError` where one is out of range or occurs twice."""
    normal = tuple(normalise_axis(op, axis, rank, what) for axis in axes)
    if len(set(normal)) != len(normal):
        fail(op, f"{what} occurs twice in {list(axes)}")
    return normal


def unify(op: Op, a: int | None, b: int | None, what: str) -> int | None:
    """The size that `a` and `b` must both be; the known one where one is unknown."""
    if a is None:
        return b
    if b is not None and a != b:
        fail(op, f"{what}: {a} and {b} are not the same")
    return a


def broadcast_shapes(op: Op, *shapes: Shape | None) -> Shape | None:
    """The shape that all of `shapes` broadcast to, by numpy's rule (trailing dimensions are aligned).

    A size that is unknown in one shape and n > 1 in another is n: at run time it can only be n or 1.
    """
    if any(shape is None for shape in shapes):
        return None
    known: list[Shape] = [shape for shape in shapes if shape is not None]
    if known and all(shape == known[0] for shape in known):
        return known[0]
    rank = max(map(len, known), default=0)
    sizes: list[int | None] = [1] * rank
    for shape in known:
        for place, size in enumerate(shape, rank - len(shape)):
            old = sizes[place]
            if size == old or size == 1:
                continue
            if old == 1 or (old is None and size is not None):
                sizes[place] = size
            elif size is not None:
                fail(op, f"shapes {' and '.join(map(show, known))} do not broadcast: {old} against {size}")
    return tuple(sizes)


def infer_broadcast(op: Op, values: Sequence[Value], element: Type | None = None) -> TensorType:
    """The type of an elementwise op of several operands; elements as in the first unless given."""
    shape = broadcast_shapes(op, *map(shape_of, values))
    return TensorType(shape, values[0].element if element is None else element)


def channel_axis(layout: str, rank: int) -> int:
    """Where the channels are in a tensor of `rank` (a tensor of rank 1 has only channels)."""
    return rank - 1 if layout == "NHWC" or rank < 2 else 1


def spatial_axes(layout: str, rank: int) -> range:
    """The spatial dimensions of a tensor of `rank` with batch and channels."""
    return range(1, rank - 1) if layout == "NHWC" else range(2, rank)


def window_size(
    op: Op, size: int | None, kernel: int, stride: int, dilation: int, begin: int, end: int,
) -> int | None:
    """How many windows fit: `(size + begin + end - ((kernel-1)*dilation + 1)) // stride + 1`."""
    if size is None:
        return None
    extent = (kernel - 1) * dilation + 1
    padded = size + begin + end
    if padded < extent:
        fail(op, f"a window of {extent} does not fit into {size} padded by {begin} and {end}")
    return (padded - extent) // stride + 1


def transposed_window_size(
    op: Op, size: int | None, kernel: int, stride: int, dilation: int, begin: int, end: int, extra: int,
) -> int | None:
    """The size that a transposed window op makes: `(size-1)*stride + (kernel-1)*dilation + 1 - begin - end + extra`."""
    if size is None:
        return None
    made = (size - 1) * stride + (kernel - 1) * dilation + 1 - begin - end + extra
    if made < 1:
        fail(op, f"the result would have size {made}")
    return made


def join_sizes(sizes: Iterable[int | None]) -> int | None:
    """The product of sizes: 0 where one is 0, None where one is unknown."""
    known = list(sizes)
    if 0 in known:
        return 0
    return None if None in known else math.prod(known)  # type: ignore[arg-type]


# --- element types that name dimensions: quantization per axis and per block

def led_element(element: Type, added: int) -> Type:
    """The element type of a tensor that got so many dimensions in front."""
    return quantization.with_leading(element, added) if added and isinstance(element, QuantType) else element


def permuted_element(element: Type, order: Sequence[int]) -> Type:
    """The element type after dimensions were put into `order`, which may leave dimensions out (reduced ones)."""
    if not isinstance(element, QuantType) or element.per_tensor:
        return element
    if element.axis is not None:
        return element.replace(axis=list(order).index(element.axis)) if element.axis in order else element
    return quantization.permuted(element, order) if len(order) == len(element.blocks.grid) else element  # type: ignore[union-attr]


def reshaped_element(op: Op, element: Type, before: Shape | None, after: Shape | None) -> Type:
    """The element type after a reshape: the quantized dimension is where the same number of elements lies before it.

    Blocks of scales stay those of the same numbers; a shape in which they are none is refused.
    """
    if not isinstance(element, QuantType) or element.per_tensor or before is None or after is None:
        return element
    if element.axis is not None:
        leading = join_sizes(before[: element.axis])
        for axis, size in enumerate(after):
            if size == len(element.scales) and join_sizes(after[:axis]) == leading:
                return element.replace(axis=axis)
        return element
    known = None if None in before or None in after else quantization.reshaped(element, before, after)  # type: ignore[arg-type]
    if known is None:
        fail(op, f"the blocks of {show(before)} that share a scale are no blocks of {show(after)}: dequantize before")
    return known


def sliced_element(element: Type, rank: int, axis: int, places: range) -> Type:
    """The element type after these places of dimension `axis` were taken: their scales are taken with them."""
    if not isinstance(element, QuantType) or element.per_tensor or element.axis not in (None, axis):
        return element
    return quantization.sliced(element, rank, axis, places) or element
