"""Softmax, its logarithm, and division by a vector's length, written out.

A softmax without the maximum taken off is recognised too: where `exp` of the inputs neither overflows nor vanishes,
both give the same up to rounding, and where it does only `Softmax` gives numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transload.ir import Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.match import (
    axes_of,
    inputs_of,
    inverse_root_of,
    is_static_float,
    made_by,
    number,
    only_serves,
    product,
    reduced,
    root_of,
    same_axes,
    square_of,
)

if TYPE_CHECKING:
    from ..ops.elementwise import Add, Div, Mul, Sub

__all__ = ["TABLE"]

TABLE = RewriteTable()


class _Powers(NamedTuple):
    """`exp(x - max(x))`, or `exp(x)`, whose sum over some dimensions is wanted; `moved` is the argument of `exp`."""

    x: Value
    moved: Value
    axes: tuple[int, ...]


def _summed_powers(total: Value, keepdims: bool = True) -> _Powers | None:
    """What a sum is the sum of, where that is a softmax's numerator; of narrow floats summed in wider ones, too."""
    cast = made_by(total, "Cast")
    reduction = reduced(total if cast is None else cast.input, "ReduceSum", keepdims)
    if reduction is None:
        return None
    powers = reduction.input
    if cast is not None:
        widened = made_by(powers, "Cast")
        if widened is None or not is_static_float(widened.input) or widened.input.element != total.element:
            return None
        if dtype_of(powers.element).itemsize < dtype_of(total.element).itemsize:
            return None
        powers = widened.input
    curve = made_by(powers, "Exp")
    if curve is None:
        return None
    moved = curve.input
    shift = made_by(moved, "Sub")
    if shift is not None and _is_greatest(shift.operands[1], shift.operands[0], reduction):
        return _Powers(shift.operands[0], moved, axes_of(reduction))
    return _Powers(moved, moved, axes_of(reduction))


def _bare(value: Value) -> Value:
    """What a value is, but for dimensions of size 1."""
    op = made_by(value, "Reshape", "Unsqueeze", "Squeeze")
    if op is None or not is_static_float(op.operands[0]):
        return value
    inner: Value = op.operands[0]
    return inner if [size for size in inner.shape if size != 1] == [size for size in value.shape if size != 1] else value


def _is_greatest(value: Value, x: Value, like: Any) -> bool:
    """Whether a value is the maximum of x over the dimensions of another reduction; also with a guard against infinity."""
    axes = axes_of(like)
    kept = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    if [1] * (x.rank - value.rank) + list(value.shape) != kept:
        return False
    value = _bare(value)
    guard = made_by(value, "Where")  # JAX: where(is_finite(max), max, 0); PyTorch: where(|max| == inf, 0, max)
    if guard is not None:
        value = guard.tbrn if number(guard.fbrn) == 0 else guard.fbrn if number(guard.tbrn) == 0 else value
    greatest = reduced(value, "ReduceMax") or reduced(value, "ReduceMax", keepdims=False)
    return greatest is not None and greatest.input is x and same_axes(greatest, like)


@TABLE("top.Div", "top.Mul")
def softmax(op: Div | Mul, rw: Rewriter) -> Value | None:
    """`exp(x - max(x)) / sum(exp(x - max(x)))`."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu:
        return None
    parts = product(result)
    if len(parts.over) != 1 or len(parts.under) != 1 or parts.factor != 1:
        return None
    curve, powers = made_by(parts.over[0], "Exp"), _summed_powers(parts.under[0])
    if curve is None or powers is None or curve.input is not powers.moved or powers.x.type != result.type:
        return None
    if len(powers.axes) != 1:
        return None
    return rw.emit("top.Softmax", powers.x, axis=powers.axes[0]) if only_serves(op, [powers.x]) else None


@TABLE("top.Sub")
def log_softmax(op: Sub, rw: Rewriter) -> Value | None:
    """`z - log(sum(exp(z)))` with `z = x - max(x)`, and `x - logsumexp(x)`."""
    left, right = op.operands
    if not is_static_float(op.results[0]) or op.do_relu or left.type != op.results[0].type:
        return None
    logarithm = made_by(right, "Log")
    if logarithm is not None:
        powers = _summed_powers(logarithm.input)
        if powers is not None and left is powers.moved and len(powers.axes) == 1 and only_serves(op, [powers.x]):
            return rw.emit("top.Softmax", powers.x, axis=powers.axes[0], log=True)
    total = reduced(right, "ReduceLogSumExp")
    if total is not None and len(total.axes) == 1 and total.input is left and only_serves(op, [left]):
        return rw.emit("top.Softmax", left, axis=axes_of(total)[0], log=True)
    return None


@TABLE("top.Add")
def log_sum_exp(op: Add, rw: Rewriter) -> Value | None:
    """`log(sum(exp(x - max(x)))) + max(x)`, with the dimension kept or not."""
    if made_by(op.results[0], "Add") is None or not is_static_float(op.results[0]):
        return None
    for left, right in inputs_of(op):
        logarithm = made_by(left, "Log")
        if logarithm is None or left.type != op.results[0].type:
            continue
        for keepdims in (True, False):
            powers = _summed_powers(logarithm.input, keepdims)
            if powers is None or powers.moved is powers.x:
                continue
            greatest = powers.moved.op.operands[1]  # type: ignore[union-attr]
            if _bare(right) is _bare(greatest) and right.type == left.type and only_serves(op, [powers.x]):
                return rw.emit("top.Reduce", powers.x, axes=powers.axes, keepdims=keepdims, mode="ReduceLogSumExp")
    return None


# --- length


@TABLE("top.Mul", "top.Div")
def l2_normalize(op: Div | Mul, rw: Rewriter) -> Value | None:
    """`x * rsqrt(max(sum(x^2), eps))`, `x / sqrt(sum(x^2))` and `x / max(norm(x), e)`, whose eps is `e^2`."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu:
        return None
    parts = product(result)
    if len(parts.over) + len(parts.under) != 2 or not parts.over or parts.factor != 1:
        return None
    pairs = [(parts.over[0], parts.under[0], False)] if parts.under else [(a, b, True) for a, b in (parts.over, parts.over[::-1])]
    for x, length, inverse in pairs:
        found = _length_of(length, inverse)
        if found is None or found[0] is not x or x.type != result.type or not only_serves(op, [x]):
            continue
        _, axes, eps = found
        if eps and eps < float(np.finfo(np.dtype(dtype_of(x.element)) if str(x.element) != "bf16" else np.float32).tiny):
            continue  # it would vanish
        return rw.emit("top.Normalize", x, axes=axes, eps=eps)
    return None


def _length_of(value: Value, inverse: bool) -> tuple[Value, tuple[int, ...], float] | None:
    """A vector's length or one over it: the vector, the dimensions it lies along, and the least square of the length."""
    if inverse:
        under_root = inverse_root_of(value)
        return None if under_root is None else _square_sum(under_root)
    least = 0.0
    limited = made_by(value, "Max")
    if limited is not None:
        found = next(((v, number(c)) for v, c in inputs_of(limited) if number(c) is not None), None)
        if found is None or found[1] is None or found[1] < 0:
            return None
        value, least = found[0], found[1]
    clipped = made_by(value, "Clip")
    if clipped is not None and clipped.max == math.inf and clipped.min >= 0:
        value, least = clipped.input, max(least, clipped.min)
    norm = reduced(value, "ReduceL2")
    if norm is not None:
        return norm.input, axes_of(norm), least * least
    under_root = root_of(value)
    inner = _square_sum(under_root) if under_root is not None else None
    return None if inner is None else (inner[0], inner[1], max(inner[2], least * least))


def _square_sum(value: Value) -> tuple[Value, tuple[int, ...], float] | None:
    """`max(sum(x^2), eps)`, the limit not needed."""
    eps = 0.0
    limited = made_by(value, "Max")
    if limited is not None:
        found = next(((v, number(c)) for v, c in inputs_of(limited) if number(c) is not None), None)
        if found is None or found[1] is None or found[1] < 0:
            return None
        value, eps = found[0], found[1]
    clipped = made_by(value, "Clip")
    if clipped is not None and clipped.max == math.inf and clipped.min >= 0:
        value, eps = clipped.input, max(eps, clipped.min)
    squares = reduced(value, "ReduceSumSquare")
    if squares is not None:
        return squares.input, axes_of(squares), eps
    total = reduced(value, "ReduceSum")
    x = square_of(total.input) if total is not None else None
    return None if x is None else (x, axes_of(total), eps)
