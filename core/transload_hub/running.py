"""Running products and their like: each element joined with all before it along a dimension."""

from __future__ import annotations

from collections.abc import Callable

from transload.ir import Value
from transload.ir.build import Builder

from .build import scalar_like, slice_along

__all__ = ["Join", "running", "running_log_sum", "running_product"]

Join = Callable[[Builder, Value, Value], Value]


def running(
    build: Builder, value: Value, axis: int, joined: Join, of_none: float, *, backward: bool = False, exclusive: bool = False,
) -> Value:
    """Each element joined with all before it: with the one before, then with the one two before, four, ...

    The first ones, with nothing so far before them, stay as they are: what else they would be joined with may be infinite,
    which has no range to quantize. `of_none` is what no elements give, which is the first result of an `exclusive` run, that
    leaves each element itself out. `backward` counts from the end. The shape is that of `value`, which is static.
    """
    shape = value.tensor_type.static_shape
    size, rank = shape[axis], len(shape)

    def earlier(by: int) -> Value:
        return slice_along(build, value, axis, by, size) if backward else slice_along(build, value, axis, 0, size - by)

    if size == 0:
        return value
    by = 1
    while by < size:
        if backward:
            rest, first = slice_along(build, value, axis, 0, size - by), slice_along(build, value, axis, size - by, size)
        else:
            first, rest = slice_along(build, value, axis, 0, by), slice_along(build, value, axis, by, size)
        more = joined(build, rest, earlier(by))
        value = build.emit("top.Concat", *((more, first) if backward else (first, more)), axis=axis)
        by *= 2
    if not exclusive:
        return value
    paddings = [0] * (2 * rank)
    paddings[axis + (rank if backward else 0)] = 1
    return build.emit("top.Pad", earlier(1), scalar_like(build, value, of_none), paddings=tuple(paddings))


def running_product(build: Builder, value: Value, axis: int, *, backward: bool = False, exclusive: bool = False) -> Value:
    """The product of each element and all before it, of floats or integers; 1 of none."""
    return running(build, value, axis, lambda build, a, b: build.emit("top.Mul", a, b), 1, backward=backward, exclusive=exclusive)


def running_log_sum(build: Builder, value: Value, axis: int, *, backward: bool = False, exclusive: bool = False) -> Value:
    """The logarithm of the sum of exponentials of each element and all before it; minus infinity of none."""

    def joined(build: Builder, value: Value, moved: Value) -> Value:
        high, low = build.emit("top.Max", value, moved), build.emit("top.Min", value, moved)
        same = build.emit("top.Compare", low, high, mode="Equal")  # as infinities may be, of which there is no difference
        apart = build.emit("top.Where", same, scalar_like(build, low, 0), build.emit("top.Sub", low, high))
        return build.emit("top.Add", high, build.emit("top.Log1p", build.emit("top.Exp", apart)))

    return running(build, value, axis, joined, float("-inf"), backward=backward, exclusive=exclusive)
