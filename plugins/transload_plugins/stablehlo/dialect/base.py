"""What the declarations of StableHLO ops share: the dialect, and arithmetic on shapes for inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transload.errors import ShapeError
from transload.ir.constants import Dense
from transload.ir.core import Op, Value
from transload.ir.declare import Dialect
from transload.ir.types import TensorType, Type

from ..types import compatible, compatible_types, shape_of

__all__ = [
    "STABLEHLO",
    "Shape",
    "dilated",
    "infers",
    "merged_shape",
    "numbers_of",
    "ones",
    "padding_of",
    "results_fit",
    "shape_error",
    "unique_and_in",
    "windows",
]

STABLEHLO = Dialect(
    "stablehlo",
    """Portable operations of machine-learning models, the exchange format of JAX, TensorFlow and PyTorch with compilers.

    Names, operands and attributes are those of MLIR's StableHLO dialect; constraints are numbered as in its
    specification.
    """,
    constant="stablehlo.constant", exact=True,
)

Shape = tuple[int | None, ...]


def shape_error(op: Op, why: str) -> ShapeError:
    return ShapeError(f"{op.called}: {why}")


def merged_shape(op: Op, values: Sequence[Value]) -> Shape:
    """The shape that values of one shape have: of each dimension, the size that any of them knows."""
    out = shape_of(values[0])
    for value in values[1:]:
        other = shape_of(value)
        if other == out:
            continue
        if not compatible(out, other):
            raise shape_error(op, f"shapes {out} and {other} differ")
        out = tuple(b if a is None else a for a, b in zip(out, other, strict=True))
    return out


def infers(op: Op) -> list[Type]:
    """The result types that the op's declaration infers, as a list."""
    inferred = op.declaration.infer(op)
    return [inferred] if isinstance(inferred, Type) else list(inferred)


def results_fit(op: Op) -> bool | str:
    """Whether the results can have the shapes that inference gives."""
    try:
        inferred = infers(op)
    except ShapeError as error:
        return error.message
    for type_, value in zip(inferred, op.results, strict=True):
        if isinstance(type_, TensorType) and not compatible_types(type_, value):
            return f"the result is {value.type}, not of shape {shape_of(type_)}"
    return True


def ones(rank: int) -> tuple[int, ...]:
    return (1,) * rank


MOST = 1 << 20
"""Numbers of an attribute that are looked at one by one: a splat may claim any number of them."""


def numbers_of(op: Op, dense: Dense) -> list[Any]:
    """The numbers of an attribute, in lists as its dimensions are. Raises `ShapeError` where there are more than can be meant."""
    if (count := math.prod(dense.shape)) > MOST:
        raise shape_error(op, f"an attribute has {count:,} numbers")
    found: list[Any] = dense.numpy().tolist()
    return found


def padding_of(op: Op, rank: int) -> list[list[int]]:
    """The attribute `padding` as pairs (low, high), a pair a dimension; none is no padding."""
    dense = op.attribute("padding")
    if dense is None:
        return [[0, 0]] * rank
    return numbers_of(op, dense)


def dilated(size: int | None, dilation: int) -> int | None:
    """The extent of `size` elements that lie `dilation` apart."""
    if size is None:
        return None
    return (size - 1) * dilation + 1 if size else 0


def windows(
    size: int | None, padding: Sequence[int], base_dilation: int, window: int | None, window_dilation: int, stride: int
) -> int | None:
    """How many windows fit along a dimension (`num_windows` of convolution and reduce_window)."""
    extent, reach = dilated(size, base_dilation), dilated(window, window_dilation)
    if extent is None or reach is None:
        return None
    extent += padding[0] + padding[1]
    if extent <= 0 or reach > extent:
        return 0
    return (extent - reach) // stride + 1


def unique_and_in(dimensions: Sequence[int], rank: int) -> bool:
    """Whether dimensions are different and of a tensor of this rank."""
    return len(set(dimensions)) == len(dimensions) and all(0 <= d < rank for d in dimensions)


def sorted_unique(dimensions: Sequence[int]) -> bool:
    return list(dimensions) == sorted(set(dimensions))


def all_in(dimensions: Sequence[Any], limit: int) -> bool:
    """Whether `0 <= dimensions < limit`."""
    return all(0 <= d < limit for d in dimensions)
