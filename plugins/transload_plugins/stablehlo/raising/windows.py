"""Reductions over windows: pooling, running sums, and any other function place by place; select_and_scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, IntegerType, Op, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from ..dialect.base import padding_of, windows
from ..types import element_of, shape_of
from .binary import MODES as RELATIONS
from .bodies import apply_body, run_region, single_op
from .movement import padded
from .reduction import COMBINE, identity_of, is_identity
from .table import (
    as_quantized,
    cast,
    cut,
    cut_axis,
    empty,
    expand,
    lean,
    like,
    permute,
    product,
    refuse_complex,
    reshape,
    splat_of,
    static,
)

if TYPE_CHECKING:
    from ..dialect.reduction import ReduceWindow, SelectAndScatter

__all__ = ["TABLE"]

TABLE = RewriteTable()

PLACES = 4096
"""How many places of a window are gone through one by one in `select_and_scatter`."""


@TABLE("stablehlo.reduce_window")
def reduce_window(op: ReduceWindow, rw: Rewriter) -> Value | list[Value]:
    """Maximum and sum as pooling, sums from one end as `top.CumSum`; any other function dimension by dimension."""
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing
    n = len(op.results)
    inputs, inits = op.operands[:n], op.operands[n:]
    for value in inputs:
        static(value, "the operand")
    if n == 1:
        name = single_op(op.body)
        counted = _of_constant(op, rw)
        if counted is not None:
            return counted
        if name in COMBINE and not inputs[0].is_bool:
            return _known(op, rw, name, inputs[0], inits[0])
    if any(value.is_quantized for value in op.operands):
        raise Unsupported("a function of quantized numbers other than a sum or maximum", "dequantize first")
    return _by_places(op, rw, inputs, inits)


def _of_constant(op: ReduceWindow, rw: Rewriter) -> Value | None:
    """Of one number everywhere (ones, that are counted): computed here, for one element of the other dimensions."""
    x, init = op.operands
    number, start = splat_of(rw, x), rw.constant_of(lean(init))
    if number is None or start is None or x.is_quantized:
        return None
    padding = padding_of(op, x.rank)
    still = [_is_still(op, axis, padding) for axis in range(x.rank)]
    shape = [1 if alone else size for alone, size in zip(still, shape_of(x), strict=True)]
    if math.prod(shape) * product(op.window_dimensions) > 1 << 22:
        return None
    found = host().kernel(op.name)
    if found is None:
        return None
    array = tables.full(shape, number)

    def run(region: Any, *arrays: Any) -> list[Any]:
        given = run_region(region, op, arrays)
        if given is None:
            raise Unsupported("its function uses values from around it, or loops")
        return given

    with np.errstate(all="ignore"):
        computed = found[0](op, array, start.reshape(()), run=run)
    made = np.asarray(computed[0])
    return expand(rw, rw.constant(made, op.results[0].element), shape_of(op.results[0]))


def _is_still(op: ReduceWindow, axis: int, padding: Sequence[Sequence[int]]) -> bool:
    """Whether windows are of one element, one after the other, along a dimension."""
    return (
        op.window_dimensions[axis] == op.window_strides[axis] == op.base_dilations[axis] == 1 and not any(padding[axis]))


def _known(op: ReduceWindow, rw: Rewriter, name: str, x: Value, init: Value) -> Value:
    """One of the functions that have an identity: padding with the initial value is padding with that."""
    result = op.results[0]
    if not x.is_quantized:
        element = op.body.block.arguments[0].element
        x, init = cast(rw, x, element), cast(rw, init, element)
    padding = [list(pair) for pair in padding_of(op, x.rank)]
    neutral = is_identity(rw, name, init)
    wide_enough = all(min(pair) >= 0 for pair in padding)
    if any(dilation > 1 for dilation in op.base_dilations) or not neutral or not wide_enough:
        low, high = [pair[0] for pair in padding], [pair[1] for pair in padding]
        x = padded(rw, x, init, low, high, [dilation - 1 for dilation in op.base_dilations])
        padding = [[0, 0] for _ in padding]
    moving = [axis for axis in range(x.rank) if not _stays(op, axis, padding)]
    made: Value | None = None
    if not moving:
        made = x
    elif name == "add" and len(moving) == 1 and not x.is_quantized:
        made = _running_sum(op, rw, x, moving[0], padding)
    if made is None and name == "maximum" and _is_pooled(x) and len(moving) <= 3:
        made = _pooled(op, rw, "top.MaxPool", x, moving, padding)
    if made is None and name == "minimum" and x.is_float and len(moving) <= 3:
        turned = rw.emit("top.Neg", x)
        made = rw.emit("top.Neg", _pooled(op, rw, "top.MaxPool", turned, moving, padding))
    undilated = all(op.window_dilations[axis] == 1 for axis in moving)
    if made is None and name == "add" and (x.is_float or x.is_quantized) and undilated and len(moving) <= 3:
        made = _summed(op, rw, x, moving, padding)
    if made is None:
        if x.is_quantized:
            raise Unsupported("windows of quantized numbers in this form", "dequantize first")
        return _by_places(op, rw, [x], [init], padding)[0]
    if neutral:
        return made
    if x.is_quantized:
        zero = splat_of(rw, init)
        if zero is not None and name in ("maximum", "minimum"):
            return rw.emit(f"top.{COMBINE[name]}", made, lean(init), element=result.element)
        return made
    return rw.emit(f"top.{COMBINE[name]}", made, lean(init))


def _is_pooled(x: Value) -> bool:
    """Whether targets take the maximum of windows of this type: of floats, and of integers as quantized networks have."""
    return x.is_float or x.is_quantized or (
        isinstance(x.element, IntegerType) and x.element.width <= 16 and not x.element.unsigned)


def _stays(op: ReduceWindow, axis: int, padding: Sequence[Sequence[int]]) -> bool:
    return op.window_dimensions[axis] == op.window_strides[axis] == 1 and not any(padding[axis])


def _running_sum(op: ReduceWindow, rw: Rewriter, x: Value, axis: int, padding: Sequence[Sequence[int]]) -> Value | None:
    """A window over all that comes before, or behind, each element: a sum that goes on."""
    size = shape_of(x)[axis]
    if op.window_dimensions[axis] != size or op.window_strides[axis] != 1 or op.window_dilations[axis] != 1 or size == 1:
        return None
    before, behind = padding[axis]
    if (before, behind) not in ((size - 1, 0), (0, size - 1)):
        return None
    made: Value = rw.emit("top.CumSum", x, axis=axis, reverse=True if behind else None)
    return made


# --- pooling

def _pooled(op: ReduceWindow, rw: Rewriter, name: str, x: Value, moving: list[int], padding: Sequence[Sequence[int]]) -> Value:
    """Pooling over dimensions that lie where a layout has them, or else are brought to the end, with one channel."""
    n = len(moving)
    kernel = tuple(op.window_dimensions[axis] for axis in moving)
    dilations = tuple(op.window_dilations[axis] for axis in moving)
    strides = tuple(op.window_strides[axis] for axis in moving)
    pads = [padding[axis][0] for axis in moving] + [padding[axis][1] for axis in moving]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if any(pads[i] >= reach[i % n] for i in range(2 * n)):  # more than a window's own size: put there as elements
        low, high = [0] * x.rank, [0] * x.rank
        for i, axis in enumerate(moving):
            low[axis], high[axis] = pads[i], pads[n + i]
        combine = "maximum" if name == "top.MaxPool" else "add"
        x = padded(rw, x, like(rw, x, identity_of(combine, x.element)), low, high, [0] * x.rank)
        pads = [0] * (2 * n)
    how: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": tuple(pads)}
    if name == "top.MaxPool":
        how["dilations"] = dilations
    else:
        how["count_include_pad"] = True
    if x.rank == n + 2 and moving in (list(range(1, n + 1)), list(range(2, n + 2))):
        pooled: Value = rw.emit(name, x, layout="NHWC" if moving[0] == 1 else "NCHW", **how)
        return pooled
    others = [axis for axis in range(x.rank) if axis not in moving]
    order = [*others, *moving]
    x = permute(rw, x, order)
    outer = shape_of(x)[: len(others)]
    flat = reshape(rw, x, (product(outer), *shape_of(x)[len(others) :], 1))
    made = rw.emit(name, flat, layout="NHWC", **how)
    apart = reshape(rw, made, (*outer, *shape_of(made)[1:-1]))
    return permute(rw, apart, [order.index(axis) for axis in range(len(order))])


def _summed(op: ReduceWindow, rw: Rewriter, x: Value, moving: list[int], padding: Sequence[Sequence[int]]) -> Value:
    """The mean of windows, zeros of the padding counted, times their size (which a division that follows takes back)."""
    count = product([op.window_dimensions[axis] for axis in moving])
    result = op.results[0]
    if x.is_quantized:
        real = cast(rw, x, element_of(x).expressed)
        mean = _pooled(op, rw, "top.AvgPool", real, moving, padding)
        return as_quantized(rw, rw.emit("top.MulConst", mean, const_val=float(count)), result.element)
    mean = _pooled(op, rw, "top.AvgPool", x, moving, padding)
    total: Value = rw.emit("top.MulConst", mean, const_val=float(count))
    return total


# --- any function

def _by_places(
    op: ReduceWindow, rw: Rewriter, inputs: Sequence[Value], inits: Sequence[Value],
    padding: Sequence[Sequence[int]] | None = None,
) -> list[Value]:
    """One dimension after the other; windows of 2, 4, 8, ... elements are made of two of half the size.

    The last dimension is the first, so that rows are combined with rows: in the order of elements, which tells equal ones apart.
    """
    rank = inputs[0].rank
    n = len(inputs)
    arguments = op.body.block.arguments
    if padding is None or any(any(pair) for pair in padding):
        pairs = padding_of(op, rank) if padding is None else padding
        interior = [dilation - 1 for dilation in op.base_dilations] if padding is None else [0] * rank
        low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        inputs = [padded(rw, x, init, low, high, interior) for x, init in zip(inputs, inits, strict=True)]
    current = [cast(rw, x, argument.element) for x, argument in zip(inputs, arguments[:n], strict=True)]
    for axis in reversed(range(rank)):
        current = _along(op, rw, current, axis)
    made = apply_body(rw, op.body, [*(lean(init) for init in inits), *current])
    return [expand(rw, value, shape_of(result)) for value, result in zip(made, op.results, strict=True)]


def _along(op: ReduceWindow, rw: Rewriter, current: list[Value], axis: int) -> list[Value]:
    """Windows along one dimension."""
    size, dilation, stride = op.window_dimensions[axis], op.window_dilations[axis], op.window_strides[axis]
    if size == 1 and stride == 1:
        return current

    def joined(first: list[Value], second: list[Value], offset: int) -> list[Value]:
        """Windows of `first`, and those of `second` that begin so far behind them, as far as both reach."""
        length = second[0].static_shape[axis] - offset
        sides = [[cut_axis(rw, x, axis, start, start + length) for x in values]
                 for values, start in ((first, 0), (second, offset))]
        return apply_body(rw, op.body, [*sides[0], *sides[1]], sides[0][0].static_shape)

    made: list[Value] | None = None
    done, width, doubled = 0, 1, current
    while True:
        if size & width:
            if made is None:
                made = doubled
            else:
                made = joined(made, doubled, done * dilation)
            done += width
        if done == size:
            break
        doubled = joined(doubled, doubled, width * dilation)
        width *= 2
    count = (current[0].static_shape[axis] - (size - 1) * dilation - 1) // stride + 1
    return [cut_axis(rw, x, axis, 0, (count - 1) * stride + 1, stride) for x in made or current]


# --- select_and_scatter

@TABLE("stablehlo.select_and_scatter")
def select_and_scatter(op: SelectAndScatter, rw: Rewriter) -> Value:
    """What max pooling's gradient does: each window's source goes to the place of its greatest (or least) element.

    Place by place of a window: the best so far and where it is; then from each place the sources of the windows that
    chose it, spread out to where the place lies in the operand, and summed.
    """
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing[0]
    operand, source, init = op.operands
    shape, rank = static(operand), operand.rank
    direction = _direction(op)
    if single_op(op.regions[1]) != "add" or direction is None or operand.is_quantized:
        raise Unsupported("selects or combines by other functions than a comparison and a sum")
    window, strides = op.window_dimensions, op.window_strides
    if product(window) > PLACES:
        raise Unsupported(f"a window of {product(window)} places is too large")
    padding = padding_of(op, rank)
    low, high = [pair[0] for pair in padding], [pair[1] for pair in padding]
    counts = [
        windows(size, pair, 1, k, 1, s) or 0 for size, pair, k, s in zip(shape, padding, window, strides, strict=True)]
    none, zero = [0] * rank, like(rw, operand, 0)
    values = padded(rw, operand, zero, low, high, none)
    inside = None
    if any(low) or any(high):
        one, outside = (rw.constant(np.array(number, np.int32)) for number in (1, 0))
        inside = padded(rw, expand(rw, one, shape), outside, low, high, none)
    places = list(tables.ndindex(*window))

    def seen(x: Value, place: Sequence[int]) -> Value:
        ends = [at + (count - 1) * stride + 1 for at, count, stride in zip(place, counts, strides, strict=True)]
        return cut(rw, x, place, ends, strides)

    where = _chosen(rw, [seen(values, place) for place in places], direction, counts,
                    None if inside is None else [seen(inside, place) for place in places])
    parts: list[Value] = []
    extent = [size + a + b for size, a, b in zip(shape, low, high, strict=True)]
    for number, place in enumerate(places):
        chosen = rw.emit("top.Compare", where, rw.constant(np.array(number, np.int32)), mode="Equal")
        given = rw.emit("top.Where", chosen, source, like(rw, source, 0))
        behind = [
            size - at - ((count - 1) * stride + 1)
            for size, at, count, stride in zip(extent, place, counts, strides, strict=True)]
        parts.append(padded(rw, given, like(rw, source, 0), place, behind, [stride - 1 for stride in strides]))
    total = parts[0] if len(parts) == 1 else rw.emit("top.Add", *parts)
    made = padded(rw, total, zero, [-a for a in low], [-b for b in high], none)
    return made if is_identity(rw, "add", init) else rw.emit("top.Add", made, lean(init))


def _chosen(
    rw: Rewriter, values: Sequence[Value], direction: str, counts: Sequence[int], inside: Sequence[Value] | None,
) -> Value:
    """For each window the number of the place whose value is chosen, of its values place by place.

    `inside` says of each place with 1 and 0 where it is one of the operand, and not padding, which is never chosen.
    """
    best: Value | None = None
    where: Value | None = None
    for number, value in enumerate(values):
        here = rw.constant(np.array(number, np.int32))
        real = None if inside is None else rw.emit("top.Cast", inside[number], element=BOOL)
        if best is None or where is None:
            best = value
            where = rw.constant(np.array(0, np.int32)) if real is None else rw.emit("top.Where", real, here, _nowhere(rw))
            where = expand(rw, where, counts)
            continue
        take = rw.emit("top.LogicalNot", rw.emit("top.Compare", best, value, mode=direction))
        if real is not None:
            free = rw.emit("top.Compare", where, rw.constant(np.array(0, np.int32)), mode="Less")
            take = rw.emit("top.LogicalAnd", rw.emit("top.LogicalOr", take, free), real)
        best = rw.emit("top.Where", take, value, best)
        where = rw.emit("top.Where", take, here, where)
    return where  # type: ignore[return-value]


def _nowhere(rw: Rewriter) -> Value:
    return rw.constant(np.array(-1, np.int32))


def _direction(op: Op) -> str | None:
    """The comparison that `select` is."""
    region = op.regions[0]
    value = region.block.terminator.operands[0]
    if value.op is None or value.op.name != "stablehlo.compare":
        return None
    if list(value.op.operands) != list(region.block.arguments):
        return None
    mode = RELATIONS[value.op.comparison_direction]
    return mode if mode not in ("Equal", "NotEqual") else None
