"""Resizing of images: RESIZE where its grid can express it, else products with constant matrices, or GATHER.

RESIZE samples dimension y at `(oy * scale_d + offset) / scale_n`, all whole numbers (2.12.1). The coordinate
modes of frameworks are such fractions exactly. lower_resize_op instead rounds the scale to 11 bits and knows one mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F32, I8, I16, I32, I48, QuantType, Type, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.build import need_place
from transload_hub.grids import Grid, fixed_point_grid, grid, interp_grid
from transload_hub.kernels.resize import taps
from transload_hub.scales import per_step, scale32

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import (
    DOUBLE,
    activation_range,
    fused_activation,
    narrow,
    per_tensor,
    quant,
    requantize,
    rounding_of,
    same_numbers,
)
from ..prepare.sources import is_unsigned
from .cast import cast_value
from .common import cast, like, reshape, static_shape, transpose, typed
from .movement import in_type

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp, Upsample

__all__ = ["TABLE"]

TABLE = RewriteTable()

_FITTING = 1 << 14
"""Units in which sums of 16-bit numbers, less a zero point of 16 bits, fit into 32 bits."""

def _resize(rw: Rewriter, x: Value, rows: Grid, columns: Grid, mode: str, element: Type | None = None) -> Value:
    """RESIZE of [N, H, W, C]."""
    return rw.emit(
        "tosa.resize", x, build.shape_const(rw, (rows.n, rows.d, columns.n, columns.d)),
        build.shape_const(rw, (rows.offset, columns.offset)), build.shape_const(rw, (rows.border, columns.border)),
        mode=mode, element=element)


SAME = Grid(1, 1, 0, 0)


def _images(shape: Sequence[int], dims: tuple[int, ...]) -> tuple[int, int, int, int]:
    """`shape` as [N, H, W, C] with spatial dimension(s) `dims`: one is H with W = 1, two adjacent ones are both."""
    first, last = dims[0], dims[-1]
    width = shape[last] if last != first else 1
    return math.prod(shape[:first]), shape[first], width, math.prod(shape[last + 1 :])


def _pairs(spatial: int) -> list[tuple[int, ...]]:
    """The spatial dimensions, of [N, spatial.., C], in pairs from the back."""
    dims = list(range(1, spatial + 1))
    return [tuple(dims[max(0, end - 2) : end]) for end in range(spatial, 0, -2)]


def _need_last_channels(op: Interp | Upsample) -> None:
    if op.layout != "NHWC":
        raise Unsupported(f"{op.name} of layout {op.layout} cannot be lowered", "run the pass layout{to=NHWC} first")


@TABLE("top.Interp")
def interp(op: Interp, rw: Rewriter) -> Value | None:
    """See the module; a pair of dimensions at a time."""
    _need_last_channels(op)
    target = op.result.element
    if op.mode != "nearest" and quant(op.input) is not None:
        return _quantized_bilinear(op, rw)
    x = op.input
    if op.mode == "nearest":
        x = in_type(rw, x, target)
    elif not x.is_float:
        x = cast(rw, x, F32)
    x = _repeated(op, rw, x)
    for dims in _pairs(len(op.sizes)):
        x = _resized(op, rw, x, dims)
    if op.mode != "nearest" and not op.input.is_float:
        return cast_value(rw, x, target, "Trunc", saturate=True)
    return typed(rw, x, target)


def _repeated(op: Interp, rw: Rewriter, x: Value) -> Value:
    """TILE of the dimensions of size 1, which hold one element for every place."""
    shape = static_shape(x)
    return build.tile(rw, x, (1, *(count if size == 1 else 1 for size, count in zip(shape[1:-1], op.sizes, strict=True)), 1))


def _resized(op: Interp, rw: Rewriter, x: Value, dims: tuple[int, ...]) -> Value:
    shape = static_shape(x)
    made = tuple(op.sizes[dim - 1] if dim in dims else size for dim, size in enumerate(shape))
    if all(_stays(op, dim - 1, shape[dim]) for dim in dims):
        return x
    grids = [interp_grid(op, dim - 1, shape[dim]) for dim in dims]
    antialias = op.antialias and any(made[dim] < shape[dim] for dim in dims)
    takes = x.is_float or storage_of(x) in (I8, I16)
    if takes and op.mode in ("nearest", "linear") and not antialias and None not in grids:
        rows, columns = grids if len(grids) == 2 else (grids[0], SAME)
        images = reshape(rw, x, _images(shape, dims))
        return reshape(rw, _resize(rw, images, rows, columns, _MODES[op.mode]), made)  # type: ignore[arg-type]
    for dim in dims:
        if not _stays(op, dim - 1, shape[dim]):
            x = _by_taps(op, rw, x, dim)
    return x


_MODES = {"nearest": "NEAREST_NEIGHBOR", "linear": "BILINEAR"}


def _stays(op: Interp, i: int, size: int) -> bool:
    """Whether each place of spatial dimension `i` of the result is that of the input."""
    if op.sizes[i] != size:
        return False
    where, weights = taps(op, i, size)
    own = where == tables.arange(size)[:, None]
    return bool((np.where(own, weights, 0).sum(axis=1) == 1).all()) and not np.where(own, 0, weights).any()


MOST_WEIGHTS = 1 << 26
"""Numbers in the table by which one dimension is resized."""


def _matrix(where: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Row o holds how much each input element weighs in place o."""
    need_place(len(where), size)
    matrix = tables.zeros((len(where), size))
    np.add.at(matrix, (np.arange(len(where))[:, None], where), weights)
    return matrix


def _by_taps(op: Interp, rw: Rewriter, x: Value, dim: int) -> Value:
    """One dimension by GATHER (nearest), or by MATMUL with the matrix of weights (linear, cubic)."""
    shape = static_shape(x)
    wanted = static_shape(op.result)[dim]
    if wanted * (math.prod(shape[:dim]) if op.mode == "nearest" else shape[dim]) > MOST_WEIGHTS:
        raise Unsupported(
            f"dimension {dim}, resized from {shape[dim]} to {wanted}, would take a table of more than {MOST_WEIGHTS:,} numbers")
    where, weights = taps(op, dim - 1, shape[dim])
    outer, size, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    made = (*shape[:dim], len(where), *shape[dim + 1 :])
    rows = reshape(rw, x, (outer, size, inner))
    if op.mode == "nearest":
        indices = build.const(rw, np.broadcast_to(where[:, 0].astype(np.int32), (outer, len(where))).copy())
        boolean = rows.element == BOOL
        picked = rw.emit("tosa.gather", cast(rw, rows, I8) if boolean else rows, indices)
        return reshape(rw, cast(rw, picked, BOOL) if boolean else picked, made)
    matrix = _matrix(where, weights, size)
    if outer == 1:
        return reshape(rw, _matmul(rw, _constant_like(rw, matrix[None], rows), rows), made)
    turned = reshape(rw, transpose(rw, rows, (0, 2, 1)), (1, outer * inner, size))
    product = _matmul(rw, turned, _constant_like(rw, matrix.T[None].copy(), rows))
    return reshape(rw, transpose(rw, reshape(rw, product, (outer, inner, len(where))), (0, 2, 1)), made)


def _constant_like(rw: Rewriter, array: np.ndarray, x: Value) -> Value:
    return cast(rw, build.const(rw, array.astype(np.float32)), x.element)


def _matmul(rw: Rewriter, a: Value, b: Value) -> Value:
    """The product in the element type of the factors (of bf16, MATMUL gives f32)."""
    product = rw.emit("tosa.matmul", a, b, build.zero_point(rw, 0, a.element), build.zero_point(rw, 0, b.element))
    return cast(rw, product, a.element)


# --- quantized

def _quantized_bilinear(op: Interp, rw: Rewriter) -> Value | None:
    """RESIZE of stored numbers to i32 (i48 of int16), and RESCALE back, as LiteRT's kernels for the type compute.

    Those of int8 and int16 take steps of 10 bits of fraction, that of uint8 exact ones, as do 8 and 16 bits of other
    frameworks; unsigned bytes that round `double` are the numbers of int8, 128 more. LiteRT's have one type for both; a
    result of another, of a QDQ graph, is rounded in its own steps. None, and then in float, where RESIZE has no such grid, or
    RESCALE cannot divide exactly.
    """
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or not source.per_tensor or not target.per_tensor or op.mode != "linear" or op.antialias:
        return None
    if len(op.sizes) > 2 or source.storage not in (I8, I16):
        return None
    x = _repeated(op, rw, op.input)
    shape, dims = static_shape(x), range(len(op.sizes))
    if not all(_stays(op, i, shape[1 + i]) for i in dims):
        exact_wide = source.storage == I16 and (is_unsigned(op) or op.rounding != "double")
        plan = interp_grid if _has_exact_places(op, source) or exact_wide else fixed_point_grid
        grids = [plan(op, i, shape[1 + i]) for i in dims]
        if None in grids and not exact_wide and not is_unsigned(op) and same_numbers(source, target):
            plan = fixed_point_grid  # a step off at most, where RESIZE takes no such fractions
            grids = [plan(op, i, shape[1 + i]) for i in dims]
        if len(grids) == 1:  # rows of one column, which the grids of LiteRT's kernel hold as 1024ths
            x = reshape(rw, x, (shape[0], shape[1], 1, shape[2]))
            grids.append(SAME if plan is interp_grid else Grid(1024, 1024, 0, 0))
        rows, columns = grids
        if rows is None or columns is None:
            return None
        unit = rows.n * columns.n
        if exact_wide and unit & (unit - 1):
            return None
        sums = _resize(rw, x, rows, columns, "BILINEAR", I32 if source.storage == I8 else I48)
        if not same_numbers(source, target) and unit < _FITTING:
            return reshape(rw, _in_other_steps(op, rw, sums, unit, target), (shape[0], *op.sizes, shape[-1]))
        if exact_wide:
            x = build.rescale(rw, sums, [1 << 14], [13 + unit.bit_length()], 0, 0, source)
        else:
            x = _rounded_back(op, rw, x, sums, source, rows, columns)
        x = reshape(rw, x, (shape[0], *op.sizes, shape[-1]))
    return requantize(rw, x, target)


def _has_exact_places(op: Interp, source: QuantType) -> bool:
    """Whether places of bytes are fractions, halves up: of those rounded once, and of unsigned ones but as LiteRT's of int8."""
    return source.storage == I8 and (op.rounding == "once" or (is_unsigned(op) and op.rounding != "double"))


def _in_other_steps(op: Interp, rw: Rewriter, sums: Value, unit: int, target: QuantType) -> Value:
    """Sums of `unit` times stored numbers in another type, rounded once: steps may be much finer than those of the operand."""
    source = per_tensor(op.input)
    if source.storage == I16:
        sums = build.rescale(rw, sums, [1 << 14], [14], 0, 0, I32)
    if source.zero_point:
        sums = rw.emit("tosa.sub", sums, like(rw, sums, unit * source.zero_point))
    return narrow(rw, sums, per_step(source.scale, unit * target.scale), target, rounding_of(op))


def _rounded_back(op: Interp, rw: Rewriter, x: Value, sums: Value, element: QuantType, rows: Grid, columns: Grid) -> Value:
    """Sums of `rows.n * columns.n` times stored numbers as stored numbers, rounded to the nearest.

    RESCALE takes halves up, as LiteRT's kernel of uint8 does, and its kernels of int8 and int16 away from zero. For
    the latter see `_away_from_zero`; sums of int16 fit in 32 bits where they are divided by 32 or more first, which their
    factors are multiples of (as where one of the sizes is doubled), and else are made twice (`_both_ways`). For uint8, halves
    that no multiplier is exact for are made positive, and multiplied by a little more than the inverse of the unit.
    """
    unit = rows.n * columns.n
    if _has_exact_places(op, element):
        multiplier, shift = scale32(1.0 / unit)
        if unit & (unit - 1) == 0 or (unit % 2 and unit < 1 << 22):  # exact, or there are no halves
            return build.rescale(rw, sums, [multiplier], [shift], 0, 0, element)
        positive = rw.emit("tosa.add", sums, like(rw, sums, 128 * unit))
        return build.rescale(rw, positive, [multiplier + 1], [shift], 0, -128, element)
    common = math.prod(math.gcd(n, step, offset) for n, step, offset, _ in (rows, columns))
    if element.storage == I8:
        return _away_from_zero(rw, sums, 20, common, element)
    bits = min(8, (common & -common).bit_length() - 1)
    if bits < 5:
        return _both_ways(rw, x, sums, element, rows, columns)
    return _away_from_zero(rw, build.rescale(rw, sums, [1 << 14], [14 + bits], 0, 0, I32), 20 - bits, common >> bits, element)


def _both_ways(rw: Rewriter, x: Value, sums: Value, element: QuantType, rows: Grid, columns: Grid) -> Value:
    """Sums of 48 bits, of which TOSA knows no sign, with halves away from zero.

    RESCALE takes those up. Of `~x`, which is `-1 - x` and stays within 16 bits (a negation does not), the same sums rounded
    so and inverted again are the numbers with halves down. The one is right where it is positive, the other where it is not.
    """
    turned = _resize(rw, rw.emit("tosa.bitwise_not", x), rows, columns, "BILINEAR", I48)
    above, below = (build.rescale(rw, each, [1 << 14], [34], 0, 0, I32) for each in (sums, turned))
    more = rw.emit("tosa.maximum", above, like(rw, above, 0))
    less = rw.emit("tosa.minimum", rw.emit("tosa.bitwise_not", below), like(rw, below, 0))
    return build.rescale(rw, rw.emit("tosa.add", more, less), [1 << 30], [30], 0, 0, element)


def _away_from_zero(rw: Rewriter, sums: Value, bits: int, common: int, element: QuantType) -> Value:
    """`sums / 2**bits` in a quantized type, halves away from zero, of multiples of `common`.

    DOUBLE_ROUND adds 1 to a number, with its sign, before RESCALE takes halves up, which is right for even numbers. Of
    others, those that are negative are made less by one.
    """
    if common % 2 == 0:
        return build.rescale(rw, sums, [1 << 30], [30 + bits], 0, 0, element, rounding=DOUBLE)
    sign = rw.emit("tosa.arithmetic_right_shift", sums, like(rw, sums, 31), round=False)  # -1 of negative numbers, else 0
    return build.rescale(rw, rw.emit("tosa.add", sums, sign), [1 << 30], [30 + bits], 0, 0, element)


# --- whole factors

@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """RESIZE with NEAREST: place o is element `floor(o / scale)`; types that it does not take by TILE."""
    _need_last_channels(op)
    shape, made = static_shape(op.input), static_shape(op.result)
    x: Any = in_type(rw, op.input, op.result.element)
    grids = [
        grid(Fraction(1, scale), Fraction(0), size, size * scale, "floor")
        for scale, size in ((op.scale_h, shape[1]), (op.scale_w, shape[2]))]
    if (x.is_float or storage_of(x) in (I8, I16)) and all(g.fits(shape[1 + i], made[1 + i]) for i, g in enumerate(grids)):
        x = _resize(rw, x, grids[0], grids[1], "NEAREST_NEIGHBOR")
    else:
        n, h, w, c = shape
        x = build.tile(rw, reshape(rw, x, (n * h, 1, w, 1, c)), (1, op.scale_h, 1, op.scale_w, 1))
        x = reshape(rw, x, made)
    if isinstance(op.result.element, QuantType):
        x = typed(rw, x, op.result.element)
        return x if not op.result.element.per_tensor else requantize(rw, x, op.result.element, activation_range(op))
    return fused_activation(rw, x, op)
