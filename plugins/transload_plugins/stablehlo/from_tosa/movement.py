"""Data nodes and data layout (2.10, 2.13, 2.14): constants, casts, and operators that move elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from transload.ir import BOOL, F32, F64, FloatType, Value
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from .common import range_of, sizes, static

if TYPE_CHECKING:
    from ...tosa.dialect.conversion import Cast, Const, Identity
    from ...tosa.dialect.movement import Concat, Gather, Pad, Reshape, Reverse, RowGather, Scatter, Slice, Tile, Transpose

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tosa.const")
def const(op: Const, rw: Rewriter) -> Value:
    """The same numbers; of 48 bits, in 64."""
    return build.const(rw, op.values, op.output.element)


@TABLE("tosa.identity")
def identity(op: Identity, rw: Rewriter) -> Value:
    """The operand itself."""
    return op.input1


@TABLE("tosa.cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    """To integers from floats: nearest, ties to even, saturated, NaN is 0. Anything but zero is true."""
    x, wanted = op.input, op.output.element
    if wanted == BOOL:
        return build.compare(rw, "NE", x, 0)
    if not x.is_float or isinstance(wanted, FloatType):
        return build.convert(rw, x, wanted)
    if x.element not in (F32, F64):
        x = build.convert(rw, x, F32)
    low, high = range_of(wanted)
    rounded = build.unary(rw, "round_nearest_even", x)
    made = build.convert(rw, build.clamp(rw, rounded, low, _below(high, x.element)), wanted)
    if _below(high, x.element) != high:  # the greatest integer is no float: what lies above it is set apart
        made = build.select(rw, build.compare(rw, "GE", rounded, float(high + 1)), high, made)
    return build.select(rw, build.compare(rw, "NE", x, x), 0, made)


def _below(bound: int, element: Any) -> float:
    """The greatest float that is not above an integer 2^n - 1."""
    digits = 24 if element == F32 else 53
    bits = (bound + 1).bit_length() - 1
    return float(bound) if bits <= digits else float((1 << bits) - (1 << (bits - digits)))


@TABLE("tosa.reshape")
def reshape(op: Reshape, rw: Rewriter) -> Value:
    """The same elements in another shape."""
    return build.reshape(rw, op.input1, static(op.output))


@TABLE("tosa.transpose")
def transpose(op: Transpose, rw: Rewriter) -> Value:
    """Dimensions in another order."""
    return build.transpose(rw, op.input1, op.perms)


@TABLE("tosa.reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    """One axis backwards."""
    return build.reverse(rw, op.input1, (op.axis,))


@TABLE("tosa.slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """A box."""
    start = sizes(op.start, "the start of a slice")
    return build.slice_(rw, op.input1, start, [a + n for a, n in zip(start, static(op.output), strict=True)])


@TABLE("tosa.concat")
def concat(op: Concat, rw: Rewriter) -> Value:
    """Tensors joined."""
    return build.concat(rw, op.operands, op.axis)


@TABLE("tosa.tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    """Each dimension that is repeated is one of the copies and one of the elements, then both are made one."""
    multiples, shape = sizes(op.multiples, "the multiples of a tile"), static(op.input1)
    spread: list[int] = []
    places: list[int] = []
    for size, count in zip(shape, multiples, strict=True):
        if size != 1 and count != 1:
            spread.append(count)
        places.append(len(spread))
        spread.append(count if size == 1 else size)
    return build.reshape(rw, build.broadcast_in_dim(rw, op.input1, spread, places), static(op.output))


@TABLE("tosa.pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """Places of one value around a tensor."""
    padding = sizes(op.padding, "the padding")
    value = build.reshape(rw, op.pad_const, ())
    return build.pad(rw, op.input1, padding[::2], padding[1::2], value)


# --- gather and scatter (2.11)


def _rows(rw: Rewriter, indices: Value) -> Value:
    """Indices N,W as N,W,2: the batch and the row."""
    shape = (*static(indices), 1)
    batch = build.iota(rw, shape, 0, indices.element)
    return build.concat(rw, [batch, build.reshape(rw, indices, shape)], 2)


@TABLE("tosa.gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    """`output[n, w, :] = values[n, indices[n, w], :]`."""
    return gathered(rw, op.values, op.indices)


def gathered(rw: Rewriter, values: Value, indices: Value) -> Value:
    """Rows of `values` N,K,C at `indices` N,W."""
    batches, count, width = static(values)
    rows = static(indices)[1]
    if math.prod((batches, count, width, rows)) == 0:
        return build.filled(rw, (batches, rows, width), values.element)
    if batches == 1:
        flat = build.reshape(rw, values, (count, width))
        found = build.gather(rw, flat, build.reshape(rw, indices, (rows, 1)), (1, width), (1,), (0,), (0,))
        return build.reshape(rw, found, (1, rows, width))
    return build.gather(rw, values, _rows(rw, indices), (1, 1, width), (2,), (0, 1), (0, 1))


@TABLE("tosa.row_gather")
def row_gather(op: RowGather, rw: Rewriter) -> Value:
    """From each index on, a run of rows."""
    batches, starts = static(op.indices)
    count = static(op.output)[1] // starts if starts else 0
    shape = (batches, starts, count)
    steps = build.iota(rw, shape, 2, op.indices.element)
    rows = build.binary(rw, "add", build.spread(rw, op.indices, shape, (0, 1)), steps)
    return gathered(rw, op.values, build.reshape(rw, rows, (batches, starts * count)))


@TABLE("tosa.scatter")
def scatter(op: Scatter, rw: Rewriter) -> Value:
    """`values` with the rows at `indices` replaced."""
    if math.prod(static(op.input)) == 0:
        return op.values_in
    return build.scatter(
        rw, op.values_in, _rows(rw, op.indices), op.input, build.replace, (2,), (0, 1), (0, 1), unique=True)


