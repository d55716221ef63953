"""Normalizations by mean and variance, written out as sums, roots and products.

A variance as `mean(x^2) - mean(x)^2` (flax's fast variance) is none: it loses digits that the op, which computes it from the
centred numbers, keeps, and results could differ by more than rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from transload.ir import Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.match import (
    Product,
    axes_of,
    inputs_of,
    inverse_root_of,
    is_static_float,
    linear,
    made_by,
    only_serves,
    product,
    reduced,
    root_of,
    square_of,
)

if TYPE_CHECKING:
    from ..ops.elementwise import Add, Div, Mul, MulConst, Sub

__all__ = ["TABLE", "groups_apart", "groups_of", "inverse_roots", "is_mean", "spread_of"]

TABLE = RewriteTable()


class _Spread(NamedTuple):
    """The variance of `x` over `axes`, or its mean square where not `about_mean`."""

    x: Value
    axes: tuple[int, ...]
    about_mean: bool


def is_mean(value: Value, x: Value, axes: tuple[int, ...], keepdims: bool = True) -> bool:
    """Whether a value is the mean of x over these dimensions."""
    mean = reduced(value, "ReduceMean", keepdims)
    if mean is None and keepdims:  # reduced without these dimensions, which come back by a reshape
        restored = made_by(value, "Reshape", "Unsqueeze")
        mean = reduced(restored.operands[0], "ReduceMean", False) if restored is not None else None
        if value.shape != tuple(1 if axis in axes else size for axis, size in enumerate(x.shape)):
            return False
    return mean is not None and mean.input is x and axes_of(mean) == axes


def _spread(value: Value) -> _Spread | None:
    """A value as a variance or a mean square; PyTorch computes a variance in f64, between casts."""
    cast = made_by(value, "Cast")
    if cast is None or not is_static_float(cast.input):
        return spread_of(value)
    inner = spread_of(cast.input)
    source = made_by(inner.x, "Cast") if inner is not None else None
    if inner is None or source is None or not is_static_float(source.input) or source.input.element != value.element:
        return None
    return inner._replace(x=source.input) if dtype_of(inner.x.element).itemsize > dtype_of(value.element).itemsize else None


def spread_of(value: Value, keepdims: bool = True) -> _Spread | None:
    """A value as a variance or a mean square of numbers of its own type."""
    squares = reduced(value, "ReduceMean", keepdims)
    if squares is None:
        return None
    axes = axes_of(squares)
    paired = made_by(squares.input, "SquaredDifference")
    if paired is not None:  # mean((x - mean(x))^2)
        found = next((x for x, mean in inputs_of(paired) if is_mean(mean, x, axes)), None)
        return None if found is None else _Spread(found, axes, True)
    base = square_of(squares.input)
    if base is None:
        return None
    centred = made_by(base, "Sub")
    if centred is not None and is_mean(centred.operands[1], centred.operands[0], axes):
        return _Spread(centred.operands[0], axes, True)
    return _Spread(base, axes, False)


class _Root(NamedTuple):
    """`1 / sqrt(spread + eps)`."""

    spread: _Spread
    eps: float


def _inverse_root(over: Value | None, under: Value | None) -> _Root | None:
    """A factor `rsqrt(v)` or `v ** -0.5`, or a divisor `sqrt(v)` or `v ** 0.5`, with a variance plus epsilon for v."""
    value = over if over is not None else under
    base = inverse_root_of(value) if over is not None else root_of(value)
    if base is None:
        return None
    inner = linear(base)
    spread = _spread(inner.source)
    if spread is None or inner.scale != 1 or not (0 <= inner.shift < math.inf):
        return None
    return _Root(spread, inner.shift)


def inverse_roots(parts: Product) -> list[tuple[_Root, list[Value], list[Value]]]:
    """The inverse roots among the parts of a product, each with what else is above and below the line."""
    found = []
    for place, value in enumerate(parts.over):
        root = _inverse_root(value, None)
        if root is not None:
            found.append((root, parts.over[:place] + parts.over[place + 1:], list(parts.under)))
    for place, value in enumerate(parts.under):
        root = _inverse_root(None, value)
        if root is not None:
            found.append((root, list(parts.over), parts.under[:place] + parts.under[place + 1:]))
    return found


# --- normalizations


@TABLE("top.Mul", "top.Div", "top.MulConst")
def normalization(op: Div | Mul | MulConst, rw: Rewriter) -> Value | None:
    """`(x - mean(x)) / sqrt(var(x) + eps)` and `x / sqrt(mean(x^2) + eps)`, times whatever else."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu:
        return None
    parts = product(result)
    if not parts.is_held_by(result.element):
        return None
    for (spread, eps), over, under in inverse_roots(parts):
        if spread.x.type != result.type or under:
            continue
        place = next((i for i, value in enumerate(over) if _is_numerator(value, spread)), None)
        if place is None:
            continue
        others = over[:place] + over[place + 1:]
        if not only_serves(op, [spread.x, *others]):
            continue
        made = _emit(rw, spread, eps)
        return None if made is None else _times(rw, made, parts.factor, others)
    return None


def _is_numerator(value: Value, spread: _Spread) -> bool:
    """Whether a value is what the root of its spread divides: x, or x less its mean."""
    if not spread.about_mean:
        return value is spread.x
    difference = made_by(value, "Sub")
    return difference is not None and difference.operands[0] is spread.x and is_mean(
        difference.operands[1], spread.x, spread.axes)


def _times(rw: Rewriter, value: Value, factor: float, others: Sequence[Value]) -> Value:
    for other in others:
        value = rw.emit("top.Mul", value, other)
    return value if factor == 1 else rw.emit("top.MulConst", value, const_val=factor)


@TABLE("top.Add", "top.Sub")
def normalization_by_affine(op: Add | Sub, rw: Rewriter) -> Value | None:
    """`x * k + (beta - mean(x) * k)` with `k = gamma / sqrt(var(x) + eps)`: TensorFlow's batch_normalization of any axes."""
    result = op.results[0]
    if made_by(result, "Add", "Sub") is None or not is_static_float(result) or len(op.operands) != 2:
        return None
    for left, right in inputs_of(op) if op.name == "top.Add" else [op.operands]:
        scaled = made_by(left, "Mul")
        shift = made_by(right, "Sub") if op.name == "top.Add" else None
        taken = made_by(shift.operands[1] if shift is not None else right, "Mul") if shift or op.name == "top.Sub" else None
        if scaled is None or taken is None:
            continue
        beta = shift.operands[0] if shift is not None else None
        for x, factor in inputs_of(scaled):
            if x.type != result.type or not any(other is factor for other in taken.operands):
                continue
            mean = next((a for a, b in inputs_of(taken) if b is factor), None)
            parts = product(factor)
            if not parts.is_held_by(result.element):
                continue
            for (spread, eps), over, under in inverse_roots(parts):
                if under or spread.x is not x or mean is None or not spread.about_mean or not is_mean(mean, x, spread.axes):
                    continue
                if not only_serves(op, [x, *over, *([] if beta is None else [beta])]):
                    continue
                made = _emit(rw, spread, eps)
                if made is None:
                    continue
                made = _times(rw, made, parts.factor, over)
                return made if beta is None else rw.emit("top.Add", made, beta)
    return None


def _emit(rw: Rewriter, spread: _Spread, eps: float) -> Value | None:
    """The normalization over the dimensions of a variance or a mean square, without weight and bias."""
    x, rank = spread.x, spread.x.rank
    first = next((axis for axis in range(rank) if _same(x, spread.axes, range(axis, rank))), None)
    if first is not None and _same(x, spread.axes, range(min(spread.axes), rank)):
        first = min(spread.axes)  # without dimensions of size 1 before it that are not named
    if not spread.about_mean:
        return rw.emit("top.RMSNorm", x, axis=first, eps=eps) if first is not None else None
    grouped = _group_norm(rw, x, spread.axes, eps)
    if grouped is not None:
        return grouped
    if rank >= 4 and _same(x, spread.axes, range(2, rank)):
        return rw.emit("top.InstanceNorm", x, eps=eps, layout="NCHW")
    if first is not None:
        return rw.emit("top.LayerNorm", x, axis=first, eps=eps)
    if rank >= 3 and _same(x, spread.axes, range(1, rank - 1)):
        return rw.emit("top.InstanceNorm", x, eps=eps, layout="NHWC")
    return None


def _same(x: Value, a: Iterable[int], b: Iterable[int]) -> bool:
    """Whether two sets of dimensions of x are the same, but for dimensions of size 1, over which a mean is no mean."""
    return {axis for axis in a if x.shape[axis] != 1} == {axis for axis in b if x.shape[axis] != 1}


def _group_norm(rw: Rewriter, x: Value, axes: tuple[int, ...], eps: float) -> Value | None:
    """Where x is a reshape that sets groups of channels apart: GroupNorm before it, in the shape of x."""
    found = groups_apart(x, axes)
    if found is None:
        return None
    whole, groups, layout = found
    made = rw.emit("top.GroupNorm", whole, num_groups=groups, eps=eps, layout=layout)
    return rw.emit("top.Reshape", made, shape=tuple(x.shape))


def groups_apart(x: Value, axes: tuple[int, ...]) -> tuple[Value, int, str] | None:
    """What x, normalized over `axes`, is a reshape of to `[N, G, ..]` or `[N, .., G, C/G]`; with groups and layout."""
    reshape = made_by(x, "Reshape", "Unsqueeze", "Squeeze")
    if reshape is None or x.rank < 3:
        return None
    whole: Value = reshape.operands[0]
    found = groups_of(whole, x, axes)
    return None if found is None else (whole, *found)


def groups_of(whole: Value, x: Value, axes: tuple[int, ...]) -> tuple[int, str] | None:
    """Groups and layout where x, normalized over `axes`, has the elements of `whole` as `[N, G, ..]` or `[N, .., G, C/G]`."""
    if not is_static_float(whole) or whole.rank < 3 or whole.shape[0] != x.shape[0] or whole.element != x.element:
        return None
    for layout, groups, inner, channels in (
            ("NCHW", x.shape[1], range(2, x.rank), whole.shape[1]),
            ("NHWC", x.shape[-2], (*range(1, x.rank - 2), x.rank - 1), whole.shape[-1])):
        if not _same(x, axes, inner) or not groups or not channels or channels % groups:
            continue
        if layout == "NHWC" and x.shape[-1] != channels // groups:
            continue
        return groups, layout
    return None
