"""Weight and bias of a normalization: taken in where they follow it, and told apart where they were multiplied in first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import is_ranked_float, used_once
from ..algebra.match import inputs_of, inverse_root_of, is_static_float, linear, made_by, only_serves, product
from .normalization import groups_apart, groups_of, inverse_roots, is_mean, spread_of

if TYPE_CHECKING:
    from ..ops.elementwise import Add, Div, Mul, Scale

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Mul", "top.Add", "top.Scale")
def weight_and_bias(op: Add | Mul | Scale, rw: Rewriter) -> Value | None:
    """A factor and an addend per channel, or per normalized element, are the normalization's own."""
    if made_by(op.results[0], "Mul", "Add", "Scale") is None or not is_static_float(op.results[0]):
        return None
    if op.name == "top.Scale":
        return _with_affine(rw, op, op.operands[0], op.operands[1], op.operands[2])
    for value, other in inputs_of(op):
        weight, bias = (other, None) if op.name == "top.Mul" else (None, other)
        made = _with_affine(rw, op, value, weight, bias)
        if made is not None:
            return made
    return None


def _with_affine(rw: Rewriter, op: Op, value: Value, weight: Value | None, bias: Value | None) -> Value | None:
    norm = made_by(value, "LayerNorm", "RMSNorm", "InstanceNorm", "GroupNorm")
    if norm is None or not used_once(value) or value.type != op.results[0].type or norm.parent is not op.parent:
        return None
    has_bias = norm.name != "top.RMSNorm"
    if (has_bias and norm.bias is not None) or (weight is not None and norm.weight is not None) or (bias and not has_bias):
        return None
    shape: tuple[Any, ...]
    if norm.name in ("top.LayerNorm", "top.RMSNorm"):
        shape = tuple(value.shape[norm.axis % value.rank:])
        wanted = shape
    else:
        channels = value.rank - 1 if norm.layout == "NHWC" else 1
        wanted = tuple(value.shape[axis] if axis == channels else 1 for axis in range(channels, value.rank))
        shape = (value.shape[channels],)
    given: list[Value | None] = []
    for part in (weight, bias):
        if part is None:
            given.append(None)
            continue
        if not is_ranked_float(part) or part.element != value.element:
            return None
        held = tuple(part.shape)
        while len(held) > len(wanted) and held[0] == 1:
            held = held[1:]
        if held != wanted:
            return None
        given.append(part if tuple(part.shape) == shape else rw.emit("top.Reshape", part, shape=shape))
    return rw.emit(norm.name, norm.input, given[0] if weight is not None else norm.weight,
                   *(given[1:] if has_bias else []), **norm.attributes)


@TABLE("top.Add")
def group_norm_by_affine(op: Add, rw: Rewriter) -> Value | None:
    """`x * k + (beta - mean * k)` with `k = gamma / sqrt(var + eps)` of groups, both reshaped to a number a channel (PyTorch)."""
    result = op.results[0]
    if made_by(result, "Add") is None or not is_static_float(result):
        return None
    for left, right in inputs_of(op):
        scaled, shift = made_by(left, "Mul"), made_by(right, "Reshape", "Unsqueeze", "Squeeze")
        if scaled is None or shift is None:
            continue
        for x, factor in inputs_of(scaled):
            reshape = made_by(factor, "Reshape", "Unsqueeze", "Squeeze")
            if reshape is None or x.type != result.type or factor.shape != right.shape:
                continue
            found = _norm_of_groups(x, reshape.operands[0], shift.operands[0])
            if found is None or not only_serves(op, [x, *(v for v in found.affine if v is not None)]):
                continue
            channels = (result.shape[1],)
            if tuple(factor.shape) != (result.shape[0], *channels, *(1,) * (result.rank - 2)):
                continue
            weight, bias = (None if v is None else rw.emit("top.Reshape", v, shape=channels) for v in found.affine)
            return rw.emit("top.GroupNorm", x, weight, bias, num_groups=found.groups, eps=found.eps, layout="NCHW")
    return None


class _GroupNorm(NamedTuple):
    groups: int
    eps: float
    affine: tuple[Value | None, Value | None]


def _norm_of_groups(x: Value, factor: Value, shift: Value) -> _GroupNorm | None:
    """The group norm of x of which `factor` is `gamma / sqrt(var + eps)` and `shift` is `beta - mean * factor`."""
    parts = product(factor)
    for (spread, eps), over, under in inverse_roots(parts):
        found = groups_apart(spread.x, spread.axes)
        if found is None or found[0] is not x or found[2] != "NCHW" or under or len(over) > 1 or parts.factor != 1:
            continue
        if not spread.about_mean or math.prod(factor.shape[2:]) not in (1, x.shape[1] // found[1]):  # type: ignore[arg-type, operator]
            continue
        sum_ = made_by(shift, "Add", "Sub")
        pairs: list[tuple[Value | None, Value, float]] = [(None, shift, -1.0)]
        if sum_ is not None:
            pairs = [(sum_.operands[0], sum_.operands[1], 1.0)] if sum_.name == "top.Sub" else [
                (beta, other, -1.0) for beta, other in inputs_of(sum_)]
        for beta, taken, sign in pairs:
            moved = product(taken)
            if moved.factor != sign or len(moved.over) != 2 or moved.under or not any(v is factor for v in moved.over):
                continue
            mean = moved.over[1] if moved.over[0] is factor else moved.over[0]
            affine = (over[0] if over else None, beta)
            if is_mean(mean, spread.x, spread.axes) and all(
                    v is None or math.prod(v.shape) == x.shape[1] for v in affine):  # type: ignore[arg-type]
                return _GroupNorm(found[1], eps, affine)
    return None


@TABLE("top.Mul", "top.Div")
def group_norm_by_repeats(op: Div | Mul, rw: Rewriter) -> Value | None:
    """`(x - repeat(mean)) * rsqrt(repeat(var) + eps)`, mean and variance of a group repeated for each of its channels (flax)."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu or result.rank < 3:
        return None
    parts = product(result)
    if parts.under or not parts.is_held_by(result.element):
        return None
    for place, value in enumerate(parts.over):
        under_root = inverse_root_of(value)
        inner = linear(under_root) if under_root is not None else None
        variance = _of_group(inner.source) if inner is not None else None
        spread = spread_of(variance, keepdims=False) if variance is not None else None
        if inner is None or spread is None or not spread.about_mean or inner.scale != 1 or not 0 <= inner.shift < math.inf:
            continue
        others = parts.over[:place] + parts.over[place + 1:]
        for index, numerator in enumerate(others):
            difference = made_by(numerator, "Sub")
            mean = _of_group(difference.operands[1]) if difference is not None else None
            if difference is None or mean is None or not is_mean(mean, spread.x, spread.axes, keepdims=False):
                continue
            x: Value = difference.operands[0]
            found = groups_of(x, spread.x, spread.axes) if _same_elements(x, spread.x) and x.type == result.type else None
            factors = others[:index] + others[index + 1:]
            if found is None or found[1] != "NHWC" or mean.shape[1] != found[0]:
                continue
            if not only_serves(op, [x, *_source_of(spread.x, x), *factors]):
                continue
            made = rw.emit("top.GroupNorm", x, num_groups=found[0], eps=inner.shift, layout="NHWC")
            for factor in factors:
                made = rw.emit("top.Mul", made, factor)
            return made if parts.factor == 1 else rw.emit("top.MulConst", made, const_val=parts.factor)
    return None


def _of_group(value: Value) -> Value | None:
    """The `[N, G]` of which a `[N, 1, .., 1, C]` repeats each number for the C/G channels of a group; or None."""
    joined = made_by(value, "Reshape")
    repeated = made_by(joined.input, "Expand") if joined is not None else None
    apart = made_by(repeated.input, "Reshape", "Unsqueeze") if repeated is not None else None
    if repeated is None or apart is None or apart.operands[0].rank != 2:
        return None
    source: Value = apart.operands[0]
    samples, groups = source.shape
    if tuple(repeated.input.shape) != (samples, groups, 1) or tuple(repeated.output.shape[:2]) != (samples, groups):
        return None
    shape = value.shape
    return source if shape[0] == samples and all(size == 1 for size in shape[1:-1]) else None


def _same_elements(x: Value, apart: Value) -> bool:
    """Whether `apart` is a reshape of x, or both are reshapes of one value."""
    reshape = made_by(apart, "Reshape")
    other = made_by(x, "Reshape")
    return reshape is not None and (reshape.input is x or (other is not None and other.input is reshape.input))


def _source_of(apart: Value, x: Value) -> list[Value]:
    """What `apart` is a reshape of, where that is not x itself."""
    reshape = made_by(apart, "Reshape")
    return [] if reshape is None or reshape.input is x else [reshape.input]
