"""Ops that move elements, as moves of the DMA."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.errors import Unsupported
from transload.ir import Op, QuantType, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import quantize_float32

from .common import activation, need, permute, quantized, reshape, same_numbers, static
from .conversion import requantized
from .functions import results_of

if TYPE_CHECKING:
    from transload_hub.ops.movement import Concat, Pack, Pad, Permute, Reshape, Reverse, Slice, Split, Squeeze, Unpack, Unsqueeze
    from transload_hub.ops.space import BatchToSpace, Depth2Space, SpaceToBatch

__all__ = ["TABLE"]

TABLE = RewriteTable()
_MOST_BACKWARDS = 1 << 14
"""Places that a slice may take backwards: the DMA does not go so, and each is a command of its own."""


def _moved(op: Op, rw: Rewriter, operation: str, index: int = 0) -> Value:
    """The operand of an op that moves its elements, in the type of the result."""
    x, result = op.operands[0], op.results[index]
    static(x)
    need(rw, operation, x)
    if x.element == result.element:
        return x
    if isinstance(x.element, QuantType) and isinstance(result.element, QuantType):
        if x.element.axis is not None or result.element.axis is not None:
            raise Unsupported("numbers with a scale for each channel are moved")
        return requantized(rw, x, result.element, "double")
    raise Unsupported(f"{x.element} is moved, and becomes {result.element}")


@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshaped(op: Reshape | Squeeze | Unsqueeze, rw: Rewriter) -> Value:
    return reshape(rw, _moved(op, rw, "reshape"), static(op.result))


@TABLE("top.Permute")
def permuted(op: Permute, rw: Rewriter) -> Value:
    return permute(rw, _moved(op, rw, "permute"), op.order)


@TABLE("top.Concat")
def concat(op: Concat, rw: Rewriter) -> Value:
    return _joined(op, rw, list(op.inputs), op.axis % op.result.rank)


@TABLE("top.Pack")
def pack(op: Pack, rw: Rewriter) -> Value:
    """Each with a new dimension, joined along it."""
    axis = op.axis % op.result.rank
    parts = []
    for value in op.inputs:
        shape = static(value)
        parts.append(reshape(rw, value, (*shape[:axis], 1, *shape[axis:])))
    return _joined(op, rw, parts, axis)


def _joined(op: Op, rw: Rewriter, parts: list[Value], axis: int) -> Value:
    target = op.results[0].quant
    if target is not None:
        others = [value for value in parts if value.quant is None or not same_numbers(value.quant, target)]
        if others and quantized(others[0]) is not None and quantized(others[0]).storage.unsigned:  # type: ignore[union-attr]
            parts = [_joined_alone(op, rw, value, target) for value in parts]
        parts = [requantized(rw, value, target, str(op.attribute("rounding", "double"))) for value in parts]
    elif len({value.element for value in parts} | {op.results[0].element}) != 1:
        raise Unsupported("numbers of several types are joined")
    need(rw, "concat", *parts)
    made: Value = parts[0] if len(parts) == 1 else rw.emit("tpu.concat", *parts, axis=axis, element=op.results[0].element)
    bounds = activation(op)
    if bounds:
        if target is None:
            raise Unsupported("an activation behind a concatenation of floats")
        made = requantized(rw, made, target, "double", **bounds)
    return made


def _joined_alone(op: Op, rw: Rewriter, x: Value, target: QuantType) -> Value:
    """Unsigned numbers in the type of what they are joined to, computed by LiteRT in floats: a table of what the op makes."""
    if x.quant is not None and same_numbers(x.quant, target):
        return x
    if quantized(x) is None or x.quant is None or x.quant.storage != target.storage or target.storage.width != 8:
        raise Unsupported(f"numbers of {x.element} are joined to others of {target}")
    need(rw, "table", x)

    def alone(build: Builder, numbers: Value) -> Value:
        rounding = {"rounding": op.attribute("rounding")} if "rounding" in op.attributes else {}
        made: Value = build.emit("top.Concat", numbers, axis=0, element=target, **rounding)
        return made

    made: Value = rw.emit("tpu.table", x, rw.constant(results_of(x.quant, alone)), element=target)
    return made


def _cut(rw: Rewriter, x: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> Value:
    if tuple(sizes) == static(x) and steps is None:
        return x
    backwards = math.prod(size for size, step in zip(sizes, steps or (), strict=False) if step < 0)
    if backwards > _MOST_BACKWARDS:
        raise Unsupported(f"it takes {backwards:,} places backwards, each by a copy of its own")
    made: Value = rw.emit(
        "tpu.slice", x, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps or (1,) * len(sizes)))
    return made


@TABLE("top.Slice")
def sliced(op: Slice, rw: Rewriter) -> Value:
    x = _moved(op, rw, "slice")
    starts = [
        min(max(start + size if start < 0 else start, 0 if step > 0 else -1), size if step > 0 else size - 1)
        for start, size, step in zip(op.offset, static(x), op.steps, strict=True)]
    return _cut(rw, x, starts, static(op.result), op.steps)


@TABLE("top.Split")
def split(op: Split, rw: Rewriter) -> list[Value]:
    axis = op.axis % op.input.rank
    made, first = [], 0
    for index, result in enumerate(op.results):
        x = _moved(op, rw, "slice", index)
        starts = [first if dim == axis else 0 for dim in range(x.rank)]
        made.append(_cut(rw, x, starts, static(result)))
        first += static(result)[axis]
    return made


@TABLE("top.Unpack")
def unpack(op: Unpack, rw: Rewriter) -> list[Value]:
    axis = op.axis % op.input.rank
    made = []
    for index, result in enumerate(op.results):
        x = _moved(op, rw, "slice", index)
        starts = [index if dim == axis else 0 for dim in range(x.rank)]
        sizes = [1 if dim == axis else size for dim, size in enumerate(static(x))]
        made.append(reshape(rw, _cut(rw, x, starts, sizes), static(result)))
    return made


@TABLE("top.Reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    x = _moved(op, rw, "slice")
    axes = {axis % x.rank for axis in op.axes}
    shape = static(x)
    starts = [size - 1 if dim in axes else 0 for dim, size in enumerate(shape)]
    return _cut(rw, x, starts, shape, [-1 if dim in axes else 1 for dim in range(x.rank)])


@TABLE("top.Pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """Padding with a number; of quantized tensors the stored number of it (manual 6.3.6)."""
    if min(op.paddings, default=0) < 0:
        raise Unsupported("padding that cuts off elements")
    if op.mode != "constant":
        return _mirrored(op, rw)
    x = _moved(op, rw, "pad")
    value: float = op.val
    if op.value is not None:
        array = rw.need_constant(op.value, "what is padded with")
        given = op.value.quant
        value = float(array.reshape(-1)[0])
        value = (value - given.zero_point) * given.scale if given is not None else value
    target = quantized(op.result)
    if target is not None:
        value = quantize_float32(value, target)
    return rw.emit("tpu.pad", x, pads=op.paddings, value=float(value))


def _mirrored(op: Pad, rw: Rewriter) -> Value:
    """Padding by the tensor's own elements: parts of it, in their order or the other way round, joined along each dimension."""
    x = _moved(op, rw, "slice")
    need(rw, "concat", x)
    for axis in range(x.rank):
        before, after = op.paddings[axis], op.paddings[x.rank + axis]
        size = static(x)[axis]
        if not before and not after:
            continue
        inner = op.mode == "reflect"  # the outermost element is not there twice
        if op.mode == "edge":
            parts = [_along(rw, x, axis, 0, 1, 1)] * before + [x] + [_along(rw, x, axis, size - 1, 1, 1)] * after
        elif max(before, after) > size - inner:
            raise Unsupported(f"padding by {op.mode} of more than there is")
        else:
            parts = [_along(rw, x, axis, before - 1 + inner, before, -1)] if before else []
            parts += [x, _along(rw, x, axis, size - 1 - inner, after, -1)] if after else [x]
        x = rw.emit("tpu.concat", *parts, axis=axis, element=x.element)
    return x


def _along(rw: Rewriter, x: Value, axis: int, first: int, count: int, step: int) -> Value:
    """Some elements along a dimension."""
    shape = static(x)
    made: Value = rw.emit(
        "tpu.slice", x, starts=tuple(first if dim == axis else 0 for dim in range(x.rank)),
        sizes=tuple(count if dim == axis else size for dim, size in enumerate(shape)),
        steps=tuple(step if dim == axis else 1 for dim in range(x.rank)))
    return made


@TABLE("top.SpaceToBatch")
def space_to_batch(op: SpaceToBatch, rw: Rewriter) -> Value:
    """Padding, and the places of a block in front of the images."""
    x, block = _moved(op, rw, "permute"), op.block_shape
    n = len(block)
    if any(op.pads):
        need(rw, "pad", x)
        type_ = quantized(x)
        none = (0,) * (x.rank - 1 - n)
        pads = (0, *op.pads[:n], *none, 0, *op.pads[n:], *none)
        x = rw.emit("tpu.pad", x, pads=pads, value=float(0 if type_ is None else type_.zero_point))
    shape = static(x)
    split = [size for i in range(n) for size in (shape[1 + i] // block[i], block[i])]
    order = (*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n + 1, 2), *range(2 * n + 1, x.rank + n))
    return reshape(rw, permute(rw, reshape(rw, x, (shape[0], *split, *shape[1 + n :])), order), static(op.result))


@TABLE("top.BatchToSpace")
def batch_to_space(op: BatchToSpace, rw: Rewriter) -> Value:
    """The places of a block back into the images, which are then cropped."""
    x, block = _moved(op, rw, "permute"), op.block_shape
    n, shape = len(block), static(x)
    batch = shape[0] // math.prod(block)
    parts = reshape(rw, x, (*block, batch, *shape[1:]))
    order = (n, *(axis for i in range(n) for axis in (n + 1 + i, i)), *range(2 * n + 1, x.rank + n))
    whole = (batch, *(shape[1 + i] * block[i] for i in range(n)), *shape[1 + n :])
    made = reshape(rw, permute(rw, parts, order), whole)
    if not any(op.crops):
        return made
    need(rw, "slice", x)
    return _cut(rw, made, (0, *op.crops[:n], *(0,) * (x.rank - 1 - n)), static(op.result))


@TABLE("top.Depth2Space")
def depth_to_space(op: Depth2Space, rw: Rewriter) -> Value:
    """A block of channels as a block of rows and columns, or back, by an order of six dimensions."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    x = _moved(op, rw, "permute")
    n, c, h, w = static(x)
    a, b = op.block_h, op.block_w
    steps: dict[tuple[bool, bool], Any] = {
        (False, False): ((n, a, b, c // (a * b), h, w), (0, 3, 4, 1, 5, 2)),
        (True, False): ((n, c // (a * b), a, b, h, w), (0, 1, 4, 2, 5, 3)),
        (False, True): ((n, c, h // a, a, w // b, b), (0, 3, 5, 1, 2, 4)),
        (True, True): ((n, c, h // a, a, w // b, b), (0, 1, 3, 5, 2, 4)),
    }
    shape, order = steps[op.is_CRD, op.is_inversed]
    return reshape(rw, permute(rw, reshape(rw, x, shape), order), static(op.result))
