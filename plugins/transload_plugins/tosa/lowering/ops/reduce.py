"""Reductions, and the index of the extreme.

Adjacent reduced dimensions are merged, so that one operator reduces them (lower_reduce_op takes one after the
other). Sums of quantized numbers are taken in i32 and rescaled once, with the scale and rounding of LiteRT's
reference kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.analysis.intervals import inside, limits, product
from transload.ir import BOOL, F32, I8, I16, I32, FloatType, IntegerType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.build import counted
from transload_hub.scales import Scale, per_step, scale16, scale32

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.bounds import bounds_of
from ..arithmetic.rescaling import DOUBLE, any_quantized, narrow, quant, requantize, rounding_of, widen
from ..prepare.sources import sources
from .cast import cast_value
from .common import (
    MAX_RANK,
    binary,
    cast,
    compare,
    cut,
    flat,
    like,
    magnitude,
    normal_axes,
    normal_axis,
    pad,
    reshape,
    select,
    static_shape,
    transpose,
    unary,
    widened,
)
from .elementwise import square_root

if TYPE_CHECKING:
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE", "mean", "product_by_halves", "reduce_axes", "total"]

TABLE = RewriteTable()


def reduce_axes(rw: Rewriter, x: Value, axes: Sequence[int], make: Callable[[Value, int], Value]) -> Value:
    """`x` reduced to size 1 along `axes`; `make(x, axis)` reduces one dimension, which may stand for several."""
    shape = static_shape(x)
    made = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    sizes = list(shape)
    for first, last in reversed(_runs(sorted(axes))):
        count = math.prod(sizes[first : last + 1])
        if count == 1:
            continue
        merged = (*sizes[:first], count, *sizes[last + 1 :])
        if len(merged) > MAX_RANK:
            x = make(reshape(rw, x, (math.prod(merged[:first]), count, math.prod(merged[first + 1 :]))), 1)
        else:
            x = make(reshape(rw, x, merged), first)
        sizes[first : last + 1] = [1] * (last + 1 - first)
    return reshape(rw, x, made)


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of adjacent axes."""
    runs: list[tuple[int, int]] = []
    for axis in axes:
        if runs and runs[-1][1] == axis - 1:
            runs[-1] = (runs[-1][0], axis)
        else:
            runs.append((axis, axis))
    return runs


def _by(rw: Rewriter, name: str) -> Callable[[Value, int], Value]:
    """The operator `tosa.reduce_<name>`."""
    return lambda x, axis: rw.emit(f"tosa.reduce_{name}", x, axis=axis)


def product_by_halves(rw: Rewriter, x: Value, axis: int) -> Value:
    """The product along an axis by MUL of the two halves, again and again: REDUCE_PRODUCT takes floats only."""
    size = static_shape(x)[axis]
    while size > 1:
        half = size // 2
        joined = binary(rw, "mul", cut(rw, x, axis, 0, half), cut(rw, x, axis, half, half))
        if size % 2:
            joined = build.concat(rw, [joined, cut(rw, x, axis, size - 1, 1)], axis)
        x, size = joined, half + size % 2
    return x


# --- floats, integers and truth values

_Mode = Callable[[Rewriter, Value, Sequence[int]], Value]
_MODES: dict[str, _Mode] = {}


def _mode(name: str) -> Callable[[_Mode], _Mode]:
    def add(function: _Mode) -> _Mode:
        _MODES[name] = function
        return function

    return add


@_mode("ReduceSum")
def total(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """The sum over `axes`, which stay with size 1."""
    return reduce_axes(rw, x, axes, _by(rw, "sum"))


@_mode("ReduceMean")
def mean(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """The sum times the reciprocal of the count; of integers divided by it, truncated."""
    shape = static_shape(x)
    count = math.prod(shape[axis] for axis in axes)
    summed = total(rw, x, axes)
    if count == 1:
        return summed
    if x.is_float:
        return binary(rw, "mul", summed, like(rw, summed, 1.0 / count if count else math.nan))  # the mean of nothing
    return binary(rw, "intdiv", summed, like(rw, summed, count))


def _long_mean(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """The mean of i32 whose sum 32 bits may not hold, truncated, without that sum: frameworks add in 64 bits.

    With `n` numbers `x = q * n + r` each, the sum is `sum(q) * n + sum(r)`, and `sum(q)` lies in i32, as the mean does.
    """
    shape = static_shape(x)
    count = math.prod(shape[axis] for axis in axes)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rows = reshape(rw, transpose(rw, x, [*kept, *sorted(axes)]), (math.prod(shape[axis] for axis in kept), count))
    quotient, rest = _divided_sum(rw, rows, count)
    zero, one = like(rw, rest, 0), like(rw, rest, 1)
    below = binary(rw, "logical_and", compare(rw, "Greater", quotient, zero), compare(rw, "Less", rest, zero))
    above = binary(rw, "logical_and", compare(rw, "Less", quotient, zero), compare(rw, "Greater", rest, zero))
    towards_zero = binary(rw, "sub", select(rw, above, one, zero), select(rw, below, one, zero))
    made = binary(rw, "add", quotient, towards_zero)
    return reshape(rw, made, tuple(1 if axis in axes else size for axis, size in enumerate(shape)))


def _divided_sum(rw: Rewriter, x: Value, divisor: int) -> tuple[Value, Value]:
    """Quotient and rest, less than `divisor` and of either sign, of the sums of the rows of `x`, i32 of [rows, size].

    Rests are added in groups of as many as 32 bits hold; the sums of groups are divided again.
    """
    rows, size = static_shape(x)
    by = like(rw, x, divisor)
    quotient = binary(rw, "intdiv", x, by)
    rest = binary(rw, "sub", x, binary(rw, "mul", quotient, by))
    quotient = rw.emit("tosa.reduce_sum", quotient, axis=1)
    if size == 1:
        return quotient, rest
    group = min(I32.range[1] // (divisor - 1), size)
    if group < 2:
        raise Unsupported(f"the mean of {divisor} integers", "cast them to floats first")
    groups = -(-size // group)
    rest = pad(rw, rest, 1, 0, groups * group - size, 0)
    rest = reshape(rw, rest, (rows * groups, group))
    rest = reshape(rw, rw.emit("tosa.reduce_sum", rest, axis=1), (rows, groups))
    carried, rest = _divided_sum(rw, rest, divisor)
    return binary(rw, "add", quotient, carried), rest


@_mode("ReduceMax")
def _max(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return reduce_axes(rw, x, axes, _by(rw, "any" if x.element == BOOL else "max"))


@_mode("ReduceMin")
def _min(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return reduce_axes(rw, x, axes, _by(rw, "all" if x.element == BOOL else "min"))


@_mode("ReduceAll")
def _all(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return reduce_axes(rw, x, axes, _by(rw, "all"))


@_mode("ReduceAny")
def _any(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return reduce_axes(rw, x, axes, _by(rw, "any"))


@_mode("ReduceProd")
def _product(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    make = _by(rw, "product") if x.is_float else lambda x, axis: product_by_halves(rw, x, axis)
    return reduce_axes(rw, x, axes, make)


@_mode("ReduceL1")
def _l1(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return total(rw, magnitude(rw, x), axes)


@_mode("ReduceSumSquare")
def _sum_of_squares(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return total(rw, binary(rw, "mul", x, x), axes)


@_mode("ReduceL2")
def _l2(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return square_root(rw, _sum_of_squares(rw, x, axes))


def _whole_l2(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """The root of the sum of squares of i32, cut off: that which f32 gives, a step of which is corrected by its square in i32.

    Where 32 bits do not hold the sum, it and its root are those of f32, whose last bits may be others.
    """
    shape = static_shape(x)
    count = math.prod(shape[axis] for axis in axes)
    low, high = bounds_of(x)
    fits = None
    if count * max(low * low, high * high) > I32.range[1]:
        in_float = _sum_of_squares(rw, cast(rw, x, F32), axes)
        fits = compare(rw, "Less", in_float, like(rw, in_float, 2.0**31 / (1.0 + (count + 2) * 2.0**-23)))  # roundings included
        x = select(rw, fits, x, like(rw, x, 0))
    summed = _sum_of_squares(rw, x, axes)
    made = _whole_root(rw, summed)
    if fits is None:
        return made
    return select(rw, fits, made, flat(rw, square_root(rw, in_float), lambda root: cast_value(rw, root, I32)))


def _whole_root(rw: Rewriter, square: Value) -> Value:
    """The root of i32 that are not negative, cut off; no number on the way is beyond 32 bits."""
    root = flat(rw, square_root(rw, cast(rw, square, F32)), lambda root: cast_value(rw, root, I32))
    root = binary(rw, "minimum", root, like(rw, root, math.isqrt(I32.range[1])))
    zero, one = like(rw, root, 0), like(rw, root, 1)
    above = compare(rw, "Greater", binary(rw, "mul", root, root), square)
    root = binary(rw, "sub", root, select(rw, above, one, zero))
    rest = binary(rw, "sub", square, binary(rw, "mul", root, root))
    below = compare(rw, "Greater", rest, binary(rw, "add", root, root))  # (root + 1) ** 2 is not greater than the square
    return binary(rw, "add", root, select(rw, below, one, zero))


@_mode("ReduceLogSum")
def _log_sum(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    return unary(rw, "log", total(rw, x, axes))


@_mode("ReduceLogSumExp")
def _log_sum_exp(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """`log(sum(exp(x - m))) + m` with the greatest element m, or 0 where that is infinite: nothing overflows."""
    greatest = _max(rw, x, axes)
    finite = compare(rw, "Less", unary(rw, "abs", greatest), like(rw, greatest, math.inf))
    moved = select(rw, finite, greatest, like(rw, greatest, 0))
    summed = total(rw, unary(rw, "exp", binary(rw, "sub", x, moved)), axes)
    return binary(rw, "add", unary(rw, "log", summed), moved)


_IN_FLOAT = frozenset({"ReduceLogSum", "ReduceLogSumExp"})


@TABLE("top.Reduce")
def reduce_(op: Reduce, rw: Rewriter) -> Value | None:
    """REDUCE_SUM, REDUCE_MAX, ... (tf.Sum, tf.Mean, tf.All, ...; there is no REDUCE_MEAN in TOSA 1.0)."""
    if any_quantized(op):
        return None
    x = op.input
    if x.element != BOOL:
        x = widened(rw, x)
    elif op.mode not in ("ReduceAll", "ReduceAny", "ReduceMax", "ReduceMin"):
        raise Unsupported(f"{op.mode} of truth values", "cast them to integers first")
    if op.mode in _IN_FLOAT or (x.is_float and op.mode not in ("ReduceMax", "ReduceMin")):
        x = cast(rw, x, F32)  # sums of narrower floats are beyond their range, and what is made of them seldom is
    axes = normal_axes(op.axes, x.rank)
    make = _MODES[op.mode]
    if op.mode == "ReduceL2" and not x.is_float:
        make = _whole_l2
    elif op.mode == "ReduceMean" and not x.is_float and _may_wrap(op, axes):
        make = _long_mean
    made = make(rw, x, axes)
    made = reshape(rw, made, static_shape(op.result))
    return flat(rw, made, lambda made: cast_value(rw, made, op.result.element, "Trunc"))


def _may_wrap(op: Reduce, axes: Sequence[int]) -> bool:
    """Whether the sum of an op's plain integers may need more than 32 bits, as far as is known."""
    count = math.prod(static_shape(op.input)[axis] for axis in axes)
    if count < 2 or op in sources().short_sums:
        return False
    return not inside(product(limits(op.input.type), (count, count)), I32.range)


# --- quantized numbers

@TABLE("top.Reduce")
def reduce_quantized(op: Reduce, rw: Rewriter) -> Value | None:
    """Sums and means in i32, rescaled once; extremes of the stored numbers; products by `_quantized_product`.

    Source: LiteRT's reference kernels of MEAN, REDUCE_MAX, REDUCE_MIN and REDUCE_PROD, and its usual one of SUM, whose reference
    kernel adds in the input's own type.
    """
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or not source.per_tensor or not target.per_tensor:
        return None
    if source.storage not in (I8, I16, I32) or target.storage not in (I8, I16, I32):
        return None
    axes = normal_axes(op.axes, op.input.rank)
    if op.mode in ("ReduceMax", "ReduceMin"):
        made = reduce_axes(rw, op.input, axes, _by(rw, "max" if op.mode == "ReduceMax" else "min"))
        return requantize(rw, reshape(rw, made, static_shape(op.result)), target)
    if op.mode in ("ReduceSum", "ReduceMean"):
        count = math.prod(static_shape(op.input)[axis] for axis in axes)
        largest = max(abs(source.storage_min - source.zero_point), abs(source.storage_max - source.zero_point))
        if (target.storage != I8 and target.zero_point != 0) or (source.storage != I32 and count * largest >> 31):
            return None
        summed = reduce_axes(rw, widen(rw, op.input), axes, _by(rw, "sum"))
        if rounding_of(op) != DOUBLE:
            real = per_step(source.scale, target.scale) / (max(count, 1) if op.mode == "ReduceMean" else 1)
            summed = reshape(rw, summed, static_shape(op.result))
            return flat(rw, summed, lambda x: narrow(rw, x, real, target))
        scale = scale32(per_step(float(np.float32(source.scale)), float(np.float32(target.scale))))
        if op.mode == "ReduceMean":
            scale = _divided(scale, count)
        summed = reshape(rw, summed, static_shape(op.result))
        return flat(rw, summed, lambda x: _rescaled(rw, x, scale, target))
    if op.mode == "ReduceProd" and I32 not in (source.storage, target.storage):
        return _quantized_product(op, rw, axes, source, target)
    return None


def _rescaled(rw: Rewriter, x: Value, scale: Scale, target: QuantType, once: bool = False) -> Value:
    """i32 numbers times `scale`, rounded as 8-bit kernels do (or `once` with a 16-bit multiplier), in type `target`."""
    rounding = "SINGLE_ROUND" if once else "DOUBLE_ROUND"
    made = build.rescale(
        rw, x, [scale.multiplier], [scale.shift], 0, target.zero_point, target, rounding=rounding, scale32=not once)
    low, high = target.storage.range
    if (target.storage_min, target.storage_max) == (low, high):
        return made
    return build.clamp(rw, made, target.storage_min, target.storage_max, target)


def _divided(scale: Scale, count: int) -> Scale:
    """`scale / count` as LiteRT has it: the multiplier, shifted up by as many bits as count has, divided and truncated."""
    shift = min(max(count, 1).bit_length() - 1, 32, 62 - scale.shift)
    return Scale((scale.multiplier << shift) // max(count, 1), scale.shift + shift)


PRODUCT_LIMIT = 64
"""How many factors of a quantized product are multiplied one by one."""


def _quantized_product(op: Reduce, rw: Rewriter, axes: Sequence[int], source: QuantType, target: QuantType) -> Value | None:
    """One factor after the other, each product rescaled by the n-th root of the whole scale, as LiteRT does.

    None (and then in float) where there are none or many factors, or a product could leave 32 bits.
    """
    shape = static_shape(op.input)
    count = math.prod(shape[axis] for axis in axes)
    if not 0 < count <= PRODUCT_LIMIT or (target.storage != I8 and target.zero_point != 0):
        return None
    real = per_step(float(np.float32(source.scale)), float(np.float32(target.scale)) ** (1.0 / count))
    scale = scale16(real)
    largest = max(abs(source.storage_min - source.zero_point), abs(source.storage_max - source.zero_point))
    bound = float(largest)
    for _ in range(count - 1):
        if bound * largest >= 1 << 31:
            return None
        bound = bound * largest * real + 1
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    first = transpose(rw, widen(rw, op.input), [*sorted(axes), *kept])
    factors = reshape(rw, first, (count, math.prod(shape[axis] for axis in kept)))
    made = cut(rw, factors, 0, 0, 1)
    for index in range(1, count):
        product = binary(rw, "mul", made, cut(rw, factors, 0, index, 1))
        made = build.rescale(rw, product, [scale.multiplier], [scale.shift], 0, 0, I32, scale32=False)
    return _rescaled(rw, reshape(rw, made, static_shape(op.result)), scale, target, once=True)


# --- the index of the extreme

@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value | None:
    """ARGMAX (tf.ArgMax); ArgMin by the order turned round (tf.ArgMin has no lowering), the last index by REVERSE.

    Stored numbers of one scale have the order of the reals. i32, which ARGMAX does not take: the least (or last) place
    of those that hold the extreme.
    """
    x = op.input
    type_ = quant(x)
    if type_ is not None and not type_.per_tensor:
        return None
    axis = normal_axis(op.axis, x.rank)
    shape = static_shape(x)
    three = x if x.rank <= MAX_RANK else reshape(rw, x, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))
    place = axis if three is x else 1
    stored = storage_of(x)
    if stored == BOOL:
        three, stored = cast(rw, three, I8), I8
    if isinstance(stored, FloatType) or stored in (I8, I16):
        made = _arg_by_operator(op, rw, three, place)
    elif isinstance(stored, IntegerType):
        made = _arg_by_search(op, rw, three, place)
    else:
        raise Unsupported(f"TOSA cannot search {stored}")
    return cast(rw, reshape(rw, made, static_shape(op.result)), op.result.element)


def _arg_by_operator(op: Arg, rw: Rewriter, x: Value, axis: int) -> Value:
    if op.mode == "ArgMin":
        # All bits turned is -1 - x, which turns the order round and cannot overflow.
        x = build.negate(rw, x) if x.is_float else rw.emit("tosa.bitwise_not", x)
    if op.select_last_index:
        x = rw.emit("tosa.reverse", x, axis=axis)
    made = rw.emit("tosa.argmax", x, axis=axis)
    if op.select_last_index:
        made = binary(rw, "sub", like(rw, made, static_shape(x)[axis] - 1), made)
    return made


def _arg_by_search(op: Arg, rw: Rewriter, x: Value, axis: int) -> Value:
    size = static_shape(x)[axis]
    extreme = rw.emit("tosa.reduce_max" if op.mode == "ArgMax" else "tosa.reduce_min", x, axis=axis)
    holds = compare(rw, "Equal", x, extreme)
    places = build.const(rw, counted(size, dtype=np.int32).reshape([size if dim == axis else 1 for dim in range(x.rank)]))
    nowhere = build.scalar(rw, -1 if op.select_last_index else size, I32, x.rank)
    return rw.emit(
        "tosa.reduce_max" if op.select_last_index else "tosa.reduce_min", select(rw, holds, places, nowhere), axis=axis)

