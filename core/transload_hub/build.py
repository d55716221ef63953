"""Small steps that rewrites of all frameworks make on their way to the hub: casts, reshapes, slices, constants, paddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, F64, I32, Dense, IntegerType, QuantType, SplatData, TensorType, Type, Value, dtype_of
from transload.ir.build import Builder
from transload.ir.quantization import spread

from . import tables
from .scales import halves_up
from .tables import MAX_CONSTANT, need_place

__all__ = [
    "MAX_CONSTANT", "Window", "cast", "compared_not", "counted", "need_place", "padded", "pads_for", "permute",
    "quantized_as_stored", "reduced_over_nothing", "reshape", "same_padding", "scalar_like", "slice_along", "splat",
    "whole_for_each", "wrapped_places",
]

_OPPOSITE = {"Less": "GreaterOrEqual", "GreaterOrEqual": "Less", "Greater": "LessOrEqual", "LessOrEqual": "Greater"}


def counted(*span: int, dtype: Any = np.int64) -> np.ndarray:
    """`tables.arange` of whole numbers from model files, in 64 bits where no other type is said."""
    return tables.arange(*span, dtype=dtype)


def wrapped_places(size: int, low: int, high: int) -> np.ndarray:
    """Where each element of a dimension of `size` comes from that is padded, round its ends, by `low` before and `high` after.

    What negative numbers take off goes first: it does not come back at the other end. `Unsupported` where nothing is left.
    """
    first, kept = max(-low, 0), size + min(low, 0) + min(high, 0)
    if kept < 0 or (kept == 0 and max(low, high) > 0):
        raise Unsupported(f"cannot pad a dimension of size {size} by {low} and {high}, round its ends: nothing of it is left")
    return first + counted(-max(low, 0), kept + max(high, 0)) % max(kept, 1)


def cast(build: Builder, value: Value, element: Type, round_mode: str = "Trunc") -> Value:
    """`value` with elements of another type; itself where it has them."""
    if value.element == element:
        return value
    return build.emit("top.Cast", value, element=element, round_mode=round_mode)


def compared_not(build: Builder, a: Value, b: Value, mode: str) -> Value:
    """Where `a mode b` (an order, as `Less`) does not hold: beside NaN, too, which is in no order, as in binary searches."""
    if a.is_float:
        return build.emit("top.LogicalNot", build.emit("top.Compare", a, b, mode=mode))
    return build.emit("top.Compare", a, b, mode=_OPPOSITE[mode])


def quantized_as_stored(build: Builder, x: Value, element: QuantType, round_mode: str = "HalfToEvenStored") -> Value:
    """A number cast to a quantized type with the round_mode HalfToEvenStored or HalfUp, by ops on plain numbers."""
    if round_mode == "HalfUp":
        counted = _counted(build, cast(build, x, F32), element)
        whole = build.emit("top.Cast", counted, element=element.storage, saturate=True)
        return build.emit("top.Bitcast", whole, element=element)
    x = x if x.is_float else cast(build, x, element.expressed)
    dtype = dtype_of(x.element)
    scales, points = (build.constant(spread(numbers, element, x.rank, dtype), x.element)
                      for numbers in (element.scales, element.zero_points))
    steps = build.emit("top.Add", build.emit("top.Div", x, scales), points)
    inside = build.emit("top.Clip", steps, min=float(element.storage_min), max=float(element.storage_max))
    whole = build.emit("top.Cast", inside, element=element.storage, round_mode="HalfToEven", saturate=True)
    return build.emit("top.Bitcast", whole, element=element)


def _counted(build: Builder, x: Value, element: QuantType) -> Value:
    """The stored numbers of float32 ones, as floats, halves up (`HalvesUp`)."""
    by = halves_up(element)
    low, twice = (build.constant(spread(tuple(numbers), element, x.rank, np.float32), F32) for numbers in (by.low, by.twice))
    steps = build.emit("top.Mul", build.emit("top.Sub", x, low), twice)
    halves = build.emit("top.Floor", build.emit("top.Clip", steps, min=0.0, max=by.most))
    moved = build.emit("top.AddConst", halves, const_val=by.moved)
    return build.emit("top.Floor", build.emit("top.MulConst", moved, const_val=0.5))


def reduced_over_nothing(build: Builder, x: Value, mode: str) -> Value:
    """What `top.Reduce` of a mode makes of plain numbers over no dimensions: its function of each element, most often itself.

    Flags are the numbers 0 and 1, whose squares and sizes they are.
    """
    unsigned = isinstance(x.element, IntegerType) and (x.element.unsigned or x.element == BOOL)
    if mode == "ReduceSumSquare" and x.element != BOOL:
        return build.emit("top.Mul", x, x)
    if mode in ("ReduceL1", "ReduceL2"):
        return x if unsigned else build.emit("top.Abs", x)
    if mode == "ReduceLogSum":
        return cast(build, build.emit("top.Log", x if x.is_float else cast(build, x, F64)), x.element)
    return x


def reshape(build: Builder, value: Value, shape: Sequence[int]) -> Value:
    """`value` in another static shape; itself where it has it."""
    if value.shape == tuple(shape):
        return value
    return build.emit("top.Reshape", value, shape=tuple(int(n) for n in shape))


def whole_for_each(build: Builder, x: Value, places: Sequence[int], common: int, element: Type) -> Value:
    """`x`, as `element`, once for each of `places`, whose first `common` dimensions it has: a gather without subscripts."""
    shape = x.tensor_type.static_shape
    once = reshape(build, x, (*shape[:common], *(1,) * (len(places) - common), *shape[common:]))
    return build.emit("top.Expand", once, shape=(*places, *shape[common:]), element=element)


def permute(build: Builder, value: Value, order: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; itself where that is the order they have."""
    if list(order) == list(range(len(order))):
        return value
    return build.emit("top.Permute", value, order=tuple(int(n) for n in order))


def slice_along(build: Builder, value: Value, axis: int, begin: int, end: int) -> Value:
    """The elements `begin` to `end` (exclusive) of dimension `axis`, counted from the front; all of them: the value itself."""
    shape = value.tensor_type.static_shape
    if (begin, end) == (0, shape[axis]):
        return value
    offset = tuple(begin if place == axis else 0 for place in range(len(shape)))
    ends = tuple(end if place == axis else size for place, size in enumerate(shape))
    return build.emit("top.Slice", value, offset=offset, ends=ends, steps=(1,) * len(shape))


def splat(build: Builder, number: Any, shape: Sequence[int], element: Type) -> Value:
    """A constant with one number in every place; it takes no memory."""
    if math.prod(shape) > MAX_CONSTANT:
        raise Unsupported(f"makes a constant of shape {tuple(shape)}, more than {MAX_CONSTANT:,} elements")
    return build.constant(Dense(SplatData(number, tuple(shape), dtype_of(element)), TensorType(tuple(shape), element)))


def scalar_like(build: Builder, value: Value, number: float) -> Value:
    """A constant of rank 0 with the element type of `value`."""
    element = value.element
    try:
        return build.constant(np.array(number, dtype_of(element)), element=element)
    except (OverflowError, ValueError):  # an integer out of range, no number
        raise Unsupported(f"{number} is none of {element}, which the tensor is of") from None


def padded(build: Builder, value: Value, paddings: Sequence[int], number: float) -> Value:
    """`value` with a number around it; a real one, where the elements are quantized.

    `top.Pad` says it as a float. A plain integer beyond 32 bits may be none, and is an operand.
    """
    if value.is_integer and not I32.range[0] <= number <= I32.range[1]:
        return build.emit("top.Pad", value, scalar_like(build, value, number), paddings=tuple(paddings))
    return build.emit("top.Pad", value, paddings=tuple(paddings), val=float(number))


# --- windows

@dataclass(frozen=True)
class Window:
    """How a window moves over the spatial dimensions; `pads` are all begins, then all ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    def extent(self, dimension: int) -> int:
        """From the first to the last element of the window, holes included."""
        return (self.kernel[dimension] - 1) * self.dilations[dimension] + 1

    def count(self, size: int, dimension: int) -> int:
        """How many windows lie in a dimension of `size` elements, its padding included; none where that is less than 1."""
        return self._free(size, dimension) // self.strides[dimension] + 1

    def left_over(self, size: int, dimension: int) -> int:
        """How many elements at the end of a dimension the last window does not reach."""
        return self._free(size, dimension) % self.strides[dimension]

    def _free(self, size: int, dimension: int) -> int:
        n = len(self.kernel)
        return size + self.pads[dimension] + self.pads[n + dimension] - self.extent(dimension)


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Padding before and after so that there are `ceil(size / stride)` windows; the odd one goes behind.

    TensorFlow's and TFLite's "SAME". Source: `tensorflow/lite/kernels/padding.h`.
    """
    windows = -(-size // stride)
    total = max((windows - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def pads_for(
    padding: str, sizes: Sequence[int], kernels: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
) -> tuple[int, ...]:
    """The explicit padding for "SAME" or "VALID": all begins, then all ends."""
    if padding == "VALID":
        return (0,) * (2 * len(sizes))
    pairs = [same_padding(*each) for each in zip(sizes, kernels, strides, dilations, strict=True)]
    return (*(begin for begin, _ in pairs), *(end for _, end in pairs))
