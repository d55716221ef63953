"""The determinant of matrices that are computed, by elimination with pivots as LAPACK does it, step by step."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, I32, FloatType, Value
from transload.ir.build import Builder

from .build import cast, counted, reshape, scalar_like, slice_along, splat

__all__ = ["determinant"]

_MOST = 32
"""Rows of a matrix: each makes a step of about fifteen ops."""


def determinant(build: Builder, matrices: Value) -> Value:
    """The determinants [...] of square matrices [..., n, n] of floats, whose shape is static; of none, 1.

    Up to three rows they are sums of products; of more, the product of the pivots, each the greatest of its column. `Unsupported`
    for what is no square matrix of floats, and for more than 32 rows.
    """
    shape = matrices.tensor_type.static_shape
    if len(shape) < 2 or shape[-1] != shape[-2] or not isinstance(matrices.element, FloatType):
        raise Unsupported(f"the determinant is that of a square matrix of floats, and this is {matrices.type}")
    *outer, _, rows = shape
    if rows > _MOST:
        raise Unsupported(f"takes the determinant of {rows} rows", f"up to {_MOST} can be converted; of constants, any")
    element = matrices.element
    if not rows:
        return splat(build, 1, outer, element)
    x = cast(build, matrices, F32) if element in (F16, BF16) else matrices
    sign: Value | None = None
    product: Value | None = None
    while rows > 3:
        pivot, swapped, x = _eliminated(build, x)
        product = pivot if product is None else build.emit("top.Mul", product, pivot)
        sign = swapped if sign is None else build.emit("top.Mul", sign, swapped)
        rows -= 1
    made = _small(build, x)
    for factor in (product, sign):
        made = made if factor is None else build.emit("top.Mul", made, factor)
    return cast(build, reshape(build, made, tuple(outer)), element)


def _small(build: Builder, x: Value) -> Value:
    """The determinants [..., 1, 1] of matrices of one to three rows, along the first of them."""
    rows = x.tensor_type.static_shape[-1]
    if rows == 1:
        return x
    made: Value | None = None
    for column in range(rows):
        minor = _small(build, _without(build, x, column))
        term = build.emit("top.Mul", _part(build, x, (0, 1), (column, column + 1)), minor)
        made = term if made is None else build.emit("top.Sub" if column % 2 else "top.Add", made, term)
    assert made is not None
    return made


def _without(build: Builder, x: Value, column: int) -> Value:
    """What is left without the first row and a column."""
    rows = x.tensor_type.static_shape[-1]
    parts = [_part(build, x, (1, rows), span) for span in ((0, column), (column + 1, rows)) if span[0] < span[1]]
    return parts[0] if len(parts) == 1 else build.emit("top.Concat", *parts, axis=len(x.tensor_type.static_shape) - 1)


def _eliminated(build: Builder, x: Value) -> tuple[Value, Value, Value]:
    """The pivot of the first column [..., 1, 1], -1 where its row was exchanged for the first, and what is left of the others."""
    rank, rows = len(x.tensor_type.static_shape), x.tensor_type.static_shape[-1]
    column = _part(build, x, (0, rows), (0, 1))
    place = build.emit("top.Arg", build.emit("top.Abs", column), axis=rank - 2, keepdims=True, mode="ArgMax", element=I32)
    here = build.emit("top.Compare", build.constant(counted(rows, dtype="int32").reshape(rows, 1)), place, mode="Equal")
    chosen = build.emit("top.Where", here, x, scalar_like(build, x, 0))
    row = build.emit("top.Reduce", chosen, axes=(rank - 2,), keepdims=True, mode="ReduceSum")
    others = build.emit("top.Where", slice_along(build, here, rank - 2, 1, rows), _part(build, x, (0, 1), (0, rows)),
                        _part(build, x, (1, rows), (0, rows)))
    pivot, zero = _part(build, row, (0, 1), (0, 1)), scalar_like(build, x, 0)
    none = build.emit("top.Compare", pivot, zero, mode="Equal")  # a column of zeros, nothing of which is taken away
    factors = build.emit("top.Div", _part(build, others, (0, rows - 1), (0, 1)),
                         build.emit("top.Where", none, scalar_like(build, x, 1), pivot))
    taken = build.emit("top.Mul", factors, _part(build, row, (0, 1), (1, rows)))
    left = build.emit("top.Sub", _part(build, others, (0, rows - 1), (1, rows)), taken)
    first = build.emit("top.Compare", place, build.constant(counted(1, dtype="int32").reshape(())), mode="Equal")
    return pivot, build.emit("top.Where", first, scalar_like(build, x, 1), scalar_like(build, x, -1)), left


def _part(build: Builder, x: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    """Some rows and columns of the last two dimensions."""
    rank = len(x.tensor_type.static_shape)
    return slice_along(build, slice_along(build, x, rank - 2, *rows), rank - 1, *columns)
