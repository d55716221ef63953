"""Kernels: ops that move elements. They work on stored integers as on reals, and return views where they can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.quantized import quantize
from transload.engine.tiled import tiled
from transload.ir import Op
from transload.ir.quantization import spread
from transload.ir.types import QuantType
from transload.plugin import KernelTable

from ..ops.infer import channel_axis
from ..ops.movement import slice_range
from ..scales import quantize_float32
from .common import Array, axes_of, axis_of, finish, wide
from .conv import pad_spatial

if TYPE_CHECKING:
    from ..ops.constant import Input
    from ..ops.movement import (
        Concat,
        Expand,
        Pack,
        Pad,
        Permute,
        Reshape,
        Reverse,
        ReverseSequence,
        Roll,
        Slice,
        Split,
        Squeeze,
        Tile,
        Unpack,
        Unsqueeze,
    )
    from ..ops.resize import Upsample
    from ..ops.space import BatchToSpace, Depth2Space, SpaceToBatch

__all__ = ["KERNELS", "fill_value"]

KERNELS = KernelTable()


@KERNELS("top.Input", quantized="storage")
def identity(op: Input, x: Array) -> Array:
    return x


@KERNELS("top.Reshape", quantized="storage")
def reshape(op: Reshape, x: Array) -> Array:
    shape = op.attribute("shape")
    if 0 in shape:
        shape = tuple(0 if size == -1 else size for size in shape)
    return x.reshape(shape)


@KERNELS("top.Squeeze", quantized="storage")
def squeeze(op: Squeeze, x: Array) -> Array:
    return np.squeeze(x, axes_of(op.axes, x.ndim))


@KERNELS("top.Unsqueeze", quantized="storage")
def unsqueeze(op: Unsqueeze, x: Array) -> Array:
    return np.expand_dims(x, axes_of(op.axes, x.ndim + len(op.axes)))


@KERNELS("top.Permute", quantized="storage")
def permute(op: Permute, x: Array) -> Array:
    return x.transpose(op.order)


@KERNELS("top.Expand", quantized="storage")
def expand(op: Expand, x: Array) -> Array:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(op.attribute("shape"))))


@KERNELS("top.Tile", quantized="storage")
def tile(op: Tile, x: Array) -> Array:
    return tiled(x, op.tile)


@KERNELS("top.Concat", quantized="storage")
def concat(op: Concat, *inputs: Array) -> Array:
    return finish(op, np.concatenate(inputs, axis=op.axis))


@KERNELS("top.Split", quantized="storage")
def split(op: Split, x: Array) -> tuple[Array, ...]:
    if not op.split_size:
        return ()
    return tuple(np.split(x, np.cumsum(op.split_size)[:-1], axis=op.axis))


@KERNELS("top.Pack", quantized="storage")
def pack(op: Pack, *inputs: Array) -> Array:
    return np.stack(inputs, axis=op.axis)


@KERNELS("top.Unpack", quantized="storage")
def unpack(op: Unpack, x: Array) -> tuple[Array, ...]:
    return tuple(np.moveaxis(x, op.axis, 0)[index] for index in range(x.shape[op.axis]))


@KERNELS("top.Slice", quantized="storage")
def slice_(op: Slice, x: Array) -> Array:
    taken = [slice_range(*part) for part in zip(x.shape, op.offset, op.ends, op.steps, strict=True)]
    return x[tuple(
        slice(part.start, part.stop if part.stop >= 0 else None, part.step) if part else slice(0, 0) for part in taken)]


def fill_value(op: Op, x: Array, real: float) -> Any:
    """The number that stands for `real` in an array of the op's input: stored or real.

    Of a tensor with more than one scale, an array that broadcasts to it.
    """
    element = op.operands[0].element
    if x.dtype.kind == "f" or not isinstance(element, QuantType):
        return x.dtype.type(real)
    if element.per_tensor:
        return quantize_float32(real, element)
    shape = spread(element.scales, element, x.ndim, np.float64).shape
    return quantize(np.full(shape or (1,) * x.ndim, real), element)


@KERNELS("top.Pad", quantized="storage")
def pad(op: Pad, x: Array, value: Array | None = None) -> Array:
    n = x.ndim
    if not n:
        return x
    if op.mode != "constant":
        width = [(max(op.paddings[i], 0), max(op.paddings[n + i], 0)) for i in range(n)]
        mode: Any = op.mode  # numpy has the same names
        grown = np.pad(x, width, mode=mode)
        return pad_spatial(grown, range(n), [min(p, 0) for p in op.paddings])
    fill = fill_value(op, x, op.val) if value is None else value
    fill = np.asarray(fill, x.dtype)
    if fill.size == 1:
        return pad_spatial(x, range(n), op.paddings, fill.reshape(-1)[0])
    y = np.empty([size + op.paddings[i] + op.paddings[n + i] for i, size in enumerate(x.shape)], x.dtype)
    y[...] = fill
    inner = tuple(slice(max(op.paddings[i], 0), y.shape[i] - max(op.paddings[n + i], 0)) for i in range(n))
    y[inner] = pad_spatial(x, range(n), [min(p, 0) for p in op.paddings])
    return y


@KERNELS("top.Reverse", quantized="storage")
def reverse(op: Reverse, x: Array) -> Array:
    return np.flip(x, axes_of(op.axes, x.ndim)) if op.axes else x


@KERNELS("top.ReverseSequence", quantized="storage")
def reverse_sequence(op: ReverseSequence, x: Array, lengths: Array) -> Array:
    seq, batch = axis_of(op.seq_axis, x.ndim), axis_of(op.batch_axis, x.ndim)
    lengths = np.clip(wide(lengths).astype(np.int64), 0, x.shape[seq])[:, None]
    time = np.arange(x.shape[seq])[None, :]
    where = np.where(time < lengths, lengths - 1 - time, time)  # [batch, time]
    where = where if batch < seq else where.T
    shape = [size if axis in (seq, batch) else 1 for axis, size in enumerate(x.shape)]
    return np.take_along_axis(x, where.reshape(shape), axis=seq)


@KERNELS("top.Roll", quantized="storage")
def roll(op: Roll, x: Array) -> Array:
    return np.roll(x, op.shifts, axis=op.axes) if op.axes else x


# --- between space and depth or batch

@KERNELS("top.Depth2Space", quantized="storage")
def depth_to_space(op: Depth2Space, x: Array) -> Array:
    bh, bw = op.block_h, op.block_w
    last = channel_axis(op.layout, 4) == 3
    x = np.moveaxis(x, -1, 1) if last else x
    n, c, h, w = x.shape
    if op.is_inversed:
        parts = x.reshape(n, c, h // bh, bh, w // bw, bw)
        parts = parts.transpose(0, 1, 3, 5, 2, 4) if op.is_CRD else parts.transpose(0, 3, 5, 1, 2, 4)
        y = parts.reshape(n, c * bh * bw, h // bh, w // bw)
    else:
        depth = c // (bh * bw)
        if op.is_CRD:
            parts = x.reshape(n, depth, bh, bw, h, w).transpose(0, 1, 4, 2, 5, 3)
        else:
            parts = x.reshape(n, bh, bw, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
        y = parts.reshape(n, depth, h * bh, w * bw)
    return np.moveaxis(y, 1, -1) if last else y


@KERNELS("top.SpaceToBatch", quantized="storage")
def space_to_batch(op: SpaceToBatch, x: Array) -> Array:
    block = op.block_shape
    n = len(block)
    zero = np.asarray(fill_value(op, x, 0.0)).reshape(-1)[0]
    x = pad_spatial(x, range(1, 1 + n), op.pads, zero)
    counts = [x.shape[1 + i] // block[i] for i in range(n)]
    rest = x.shape[1 + n :]
    split = [size for pair in zip(counts, block, strict=True) for size in pair]
    parts = x.reshape(x.shape[0], *split, *rest)
    order = [*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n + 1, 2), *range(2 * n + 1, parts.ndim)]
    return parts.transpose(order).reshape(-1 if x.size else x.shape[0] * int(np.prod(block)), *counts, *rest)


@KERNELS("top.BatchToSpace", quantized="storage")
def batch_to_space(op: BatchToSpace, x: Array) -> Array:
    block = op.block_shape
    n = len(block)
    batch = x.shape[0] // int(np.prod(block))
    parts = x.reshape(*block, batch, *x.shape[1:])
    order = [n, *(axis for i in range(n) for axis in (n + 1 + i, i)), *range(2 * n + 1, parts.ndim)]
    y = parts.transpose(order).reshape(batch, *(x.shape[1 + i] * block[i] for i in range(n)), *x.shape[1 + n :])
    return pad_spatial(y, range(1, 1 + n), [-crop for crop in op.crops])


@KERNELS("top.Upsample", quantized="storage")
def upsample(op: Upsample, x: Array) -> Array:
    rows, columns = (1, 2) if op.layout == "NHWC" else (2, 3)
    return finish(op, x.repeat(op.scale_h, axis=rows).repeat(op.scale_w, axis=columns))
