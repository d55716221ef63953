"""Ops that move elements, as moves of the DMA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.errors import Unsupported
from transload.ir import Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import quantize_float32

from .common import activation, need, permute, quantized, reshape, same_numbers, static
from .conversion import requantized

if TYPE_CHECKING:
    from transload_hub.ops.movement import Concat, Pack, Pad, Permute, Reshape, Reverse, Slice, Split, Squeeze, Unpack, Unsqueeze
    from transload_hub.ops.space import Depth2Space

__all__ = ["TABLE"]

TABLE = RewriteTable()


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
            raise Unsupported("unsigned numbers of several scales are joined, which LiteRT requantizes in floats")
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


def _cut(rw: Rewriter, x: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> Value:
    if tuple(sizes) == static(x) and steps is None:
        return x
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
    if op.mode != "constant" or min(op.paddings, default=0) < 0:
        raise Unsupported(f"padding by {op.mode}" if op.mode != "constant" else "padding that cuts off elements")
    x = _moved(op, rw, "pad")
    value: float = op.val
    if op.value is not None:
        array = rw.need_constant(op.value, "what is padded with")
        given = op.value.quant
        value = float(array.reshape(-1)[0])
        value = (value - given.zero_point) * given.scale if given is not None else value
    target = quantized(op.result)
    if target is not None:
        value = min(max(quantize_float32(value, target), target.storage_min), target.storage_max)
    return rw.emit("tpu.pad", x, pads=op.paddings, value=float(value))


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
