"""Running products and their like: each element joined with all before it along a dimension."""

from __future__ import annotations

from collections.abc import Callable

from transload.ir import Value
from transload.ir.build import Builder

from .build import scalar_like, slice_along

__all__ = ["Join", "running", "running_product"]

Join = Callable[[Builder, Value, Value], Value]


def running(
    build: Builder, value: Value, axis: int, joined: Join, neutral: float, of_none: float | None = None, *,
    backward: bool = False, exclusive: bool = False,
) -> Value:
    """Each element joined with all before it: with the one before, then with the one two before, four, ...

    `neutral` changes nothing where it is joined; `of_none`, by default the same, is what no elements give, which is the first
    result of an `exclusive` run, that leaves each element itself out. `backward` counts from the end. The shape is that of
    `value`, which is static.
    """
    shape = value.tensor_type.static_shape
    size, rank = shape[axis], len(shape)

    def moved(value: Value, by: int, filled: float) -> Value:
        kept = slice_along(build, value, axis, by, size) if backward else slice_along(build, value, axis, 0, size - by)
        paddings = [0] * (2 * rank)
        paddings[axis + (rank if backward else 0)] = by
        return build.emit("top.Pad", kept, scalar_like(build, value, filled), paddings=tuple(paddings))

    if size == 0:
        return value
    by = 1
    while by < size:
        value = joined(build, value, moved(value, by, neutral))
        by *= 2
    return moved(value, 1, neutral if of_none is None else of_none) if exclusive else value


def running_product(build: Builder, value: Value, axis: int, *, backward: bool = False, exclusive: bool = False) -> Value:
    """The product of each element and all before it, of floats or integers; 1 of none."""
    return running(build, value, axis, lambda build, a, b: build.emit("top.Mul", a, b), 1, backward=backward, exclusive=exclusive)
