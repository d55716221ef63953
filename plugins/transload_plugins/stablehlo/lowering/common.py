"""What the lowerings of `top` ops have in common: widening of narrow types, the ReLU of an op, its result's type.

They follow the reference kernels: floats of less than 32 bits are computed in f32 and rounded once, integers of less
than 8 bits in i8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.errors import OpenSizes
from transload.ir import BOOL, F32, F64, I8, FloatType, IntegerType, Op, Type, Value, dtype_of, element_type_of
from transload.ir.build import Builder
from transload.rewrite import Rewriter
from transload_hub.ops.infer import channel_axis

from .. import build

__all__ = [
    "activated", "finish", "normal_axes", "normal_axis", "per_channel", "promoted", "static_shape",
    "widened",
]  # fmt: skip


def static_shape(value: Value) -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where a size is not known."""
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"a tensor is of type {value.type}")
    return shape


def normal_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front."""
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(normal_axis(axis, rank) for axis in axes)


def wide_type(element: Type) -> Type:
    """The type in which numbers of an element type are computed."""
    if isinstance(element, FloatType):
        return element if element in (F32, F64) else F32
    if isinstance(element, IntegerType) and 1 < element.width < 8:
        return I8
    return element


def widened(rw: Builder, x: Value) -> Value:
    """`x` in the type in which its numbers are computed."""
    return build.convert(rw, x, wide_type(x.element))


def promoted(rw: Builder, *values: Value) -> list[Value]:
    """Values, widened, in one type: that which numpy computes them in."""
    wide = [widened(rw, value) for value in values]
    if all(value.element == wide[0].element for value in wide):
        return wide
    common = element_type_of(np.result_type(*(dtype_of(value.element) for value in wide)))
    return [build.convert(rw, value, common) for value in wide]


def activated(rw: Builder, op: Op, y: Value) -> Value:
    """`y` after the ReLU that the op's attributes do_relu and relu_limit ask for."""
    if not op.attributes.get("do_relu", False):
        return y
    limit = op.attributes.get("relu_limit", -1.0)
    if limit < 0 or (y.is_integer and limit >= build.greatest(y.element)):
        return build.binary(rw, "maximum", y, 0)
    return build.clamp(rw, y, 0, int(limit) if y.is_integer else limit)


def finish(rw: Rewriter, op: Op, y: Value, index: int = 0) -> Value:
    """`y` after the op's ReLU, in the element type of its result. Integers are taken modulo their range, before the ReLU."""
    target = op.results[index].element
    if y.is_integer and op.results[index].is_integer and target != BOOL:
        y = build.convert(rw, y, target)
    y = activated(rw, op, y)
    if target == BOOL and y.element != BOOL:
        return build.compare(rw, "NE", y, 0)
    return build.convert(rw, y, target)


def per_channel(rw: Builder, value: Value, shape: Sequence[int], layout: str) -> Value:
    """A vector of channels, spread over a tensor."""
    return build.spread(rw, value, shape, (channel_axis(layout, len(shape)),))
