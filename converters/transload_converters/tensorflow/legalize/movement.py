"""Ops that join, cut, pad and reorder, and move between space, depth and batch."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import pads_for, reshape, splat
from transload_hub.slicing import Masks, Strided, entries, plain_slice, resolved, strided_slice

from .table import (
    TfTable,
    attr,
    axes_of,
    axis_of,
    constant_array,
    constant_int,
    constant_ints,
    constant_sizes,
    ints_attr,
    need_place,
    shape_of,
)

TABLE = TfTable()

# --- joining and cutting

@TABLE("Pack")
def pack(op: Op, rw: Rewriter) -> Value:
    """Pack."""
    return rw.emit("top.Pack", *op.operands, axis=int(attr(op, "axis", 0)))


@TABLE("Unpack")
def unpack(op: Op, rw: Rewriter) -> list[Value]:
    """Unpack."""
    value = op.operands[0]
    axis = axis_of(int(attr(op, "axis", 0)), len(shape_of(value)))
    if shape_of(value)[axis] != len(op.results):
        raise Unsupported(f"takes {shape_of(value)[axis]} slices apart into {len(op.results)}")
    parts = rw.emit("top.Unpack", value, axis=axis)
    return [parts] if isinstance(parts, Value) else list(parts)


@TABLE("Concat", "ConcatV2")
def concat(op: Op, rw: Rewriter) -> Value:
    """Concat, ConcatV2 along a constant dimension."""
    first = op.name == "tf.Concat"
    axis_value, values = (op.operands[0], op.operands[1:]) if first else (op.operands[-1], op.operands[:-1])
    axis = axis_of(constant_int(rw, axis_value, "the dimension"), len(shape_of(values[0])))
    return rw.emit("top.Concat", *values, axis=axis) if len(values) > 1 else values[0]


@TABLE("Split")
def split(op: Op, rw: Rewriter) -> list[Value]:
    """Split into equal parts."""
    axis_value, value = op.operands
    sizes, count = shape_of(value), len(op.results)
    axis = axis_of(constant_int(rw, axis_value, "the dimension"), len(sizes))
    if sizes[axis] % count:
        raise Unsupported(f"{sizes[axis]} elements cannot be split into {count}")
    return _parts(rw, value, axis, (sizes[axis] // count,) * count)


@TABLE("SplitV")
def split_v(op: Op, rw: Rewriter) -> list[Value]:
    """SplitV into parts of constant sizes, of which one may be -1: what is left."""
    value = op.operands[0]
    wanted = list(constant_ints(rw, op.operands[1], "the sizes"))
    axis = axis_of(constant_int(rw, op.operands[2], "the dimension"), len(shape_of(value)))
    if wanted.count(-1) == 1:
        wanted[wanted.index(-1)] = shape_of(value)[axis] - sum(n for n in wanted if n != -1)
    if min(wanted, default=0) < 0 or sum(wanted) != shape_of(value)[axis] or len(wanted) != len(op.results):
        raise Unsupported(f"{shape_of(value)[axis]} elements cannot be split into {len(op.results)} parts of {wanted}")
    return _parts(rw, value, axis, tuple(wanted))


def _parts(rw: Rewriter, value: Value, axis: int, sizes: tuple[int, ...]) -> list[Value]:
    if len(sizes) == 1:
        return [value]
    return list(rw.emit("top.Split", value, axis=axis, split_size=sizes))


@TABLE("Slice")
def slice_(op: Op, rw: Rewriter) -> Value:
    """Slice; a begin that is computed at run time needs a size that is not."""
    value = op.operands[0]
    shape_of(value)
    wanted = constant_ints(rw, op.operands[2], "the size of the slice")
    return plain_slice(rw, value, entries(rw, op.operands[1], "the begin of the slice"), wanted)


def _strided(op: Op, rw: Rewriter, first: int) -> Strided:
    begins, ends = (entries(rw, op.operands[first + i], f"the {what} of the slice") for i, what in enumerate(("begin", "end")))
    strides = constant_ints(rw, op.operands[first + 2], "the stride of the slice")
    masks = Masks(*(int(attr(op, f"{name}_mask", 0)) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")))
    return Strided(begins, ends, strides, masks)


@TABLE("StridedSlice")
def strided_slice_(op: Op, rw: Rewriter) -> Value:
    """StridedSlice with all its masks."""
    shape_of(op.operands[0])
    return strided_slice(rw, op.operands[0], _strided(op, rw, 1))


def _flat_places(op: Op, given: Strided, sizes: tuple[int, ...]) -> np.ndarray:
    """The row-major numbers of all elements that a strided slice takes, in order."""
    taken, _ = resolved(given, sizes)
    if any(isinstance(part, Value) for part in taken):
        raise Unsupported("writes to places that are computed at run time")
    if 0 in sizes:
        return np.zeros(0, np.int64)
    need_place(*sizes)
    grids = tables.meshgrid(*(np.asarray(list(part), np.int64) for part in taken if isinstance(part, range)), indexing="ij")
    return np.ravel_multi_index([grid.reshape(-1) for grid in grids], sizes) if grids else np.zeros(1, np.int64)


@TABLE("StridedSliceGrad")
def strided_slice_grad(op: Op, rw: Rewriter) -> Value:
    """StridedSliceGrad: zeros of a constant shape, with the gradient where the slice was."""
    sizes = constant_sizes(rw, op.operands[0], "the shape")
    dy = op.operands[4]
    return _written(op, rw, splat(rw, 0, (math.prod(sizes),), dy.element), dy, _strided(op, rw, 1), sizes)


@TABLE("TensorStridedSliceUpdate")
def strided_slice_update(op: Op, rw: Rewriter) -> Value:
    """TensorStridedSliceUpdate: a tensor with a slice of it written anew."""
    value = op.operands[0]
    sizes = shape_of(value)
    return _written(op, rw, reshape(rw, value, (math.prod(sizes),)), op.operands[4], _strided(op, rw, 1), sizes)


def _written(op: Op, rw: Rewriter, ground: Value, part: Value, given: Strided, sizes: tuple[int, ...]) -> Value:
    places = _flat_places(op, given, sizes)
    if math.prod(shape_of(part)) != places.size:
        part = rw.emit("top.Expand", part, shape=resolved(given, sizes)[1])
    updates = reshape(rw, part, (places.size,))
    whole = rw.emit("top.ScatterND", ground, rw.constant(places.astype(np.int32).reshape(-1, 1)), updates)
    return reshape(rw, whole, sizes)


# --- padding and order

@TABLE("Pad", "PadV2", "MirrorPad")
def pad(op: Op, rw: Rewriter) -> Value:
    """Pad, PadV2, MirrorPad by constant sizes."""
    value = op.operands[0]
    pairs = np.asarray(constant_ints(rw, op.operands[1], "the paddings", 2 * len(shape_of(value)))).reshape(-1, 2)
    mode = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[attr(op, "mode")] if op.name == "tf.MirrorPad" else None
    fill = op.operands[2] if op.name == "tf.PadV2" else None
    if not pairs.any():
        return value
    if pairs.min() < 0:
        raise Unsupported(f"the paddings are {pairs.tolist()}, and TensorFlow has none below 0")
    paddings = tuple(int(n) for n in (*pairs[:, 0], *pairs[:, 1]))
    return rw.emit("top.Pad", value, fill, paddings=paddings, mode=mode)


@TABLE("Reverse", "ReverseV2")
def reverse(op: Op, rw: Rewriter) -> Value:
    """ReverseV2 along constant axes, Reverse where a constant flag of a dimension says so."""
    value = op.operands[0]
    if op.name == "tf.Reverse":
        flags = constant_array(rw, op.operands[1], "the flags of dimensions").reshape(-1)
        axes = tuple(int(n) for n in np.flatnonzero(flags))
    else:
        axes = axes_of(constant_ints(rw, op.operands[1], "the axes"), len(shape_of(value)))
    return rw.emit("top.Reverse", value, axes=axes) if axes else value


@TABLE("ReverseSequence")
def reverse_sequence(op: Op, rw: Rewriter) -> Value:
    """ReverseSequence."""
    return rw.emit(
        "top.ReverseSequence", *op.operands, seq_axis=int(attr(op, "seq_dim")), batch_axis=int(attr(op, "batch_dim", 0)))


@TABLE("Roll")
def roll(op: Op, rw: Rewriter) -> Value:
    """Roll by constant shifts; of one axis that is named twice, both count."""
    value = op.operands[0]
    rank = len(shape_of(value))
    shifts, axes = constant_ints(rw, op.operands[1], "the shifts"), constant_ints(rw, op.operands[2], "the axes")
    if len(shifts) != len(axes):
        raise Unsupported(f"there are {len(shifts)} shifts and {len(axes)} axes")
    total: dict[int, int] = {}
    for shift, axis in zip(shifts, axes, strict=True):
        place = axis_of(axis, rank)
        total[place] = total.get(place, 0) + shift
    return rw.emit("top.Roll", value, shifts=tuple(total.values()), axes=tuple(total))


# --- space, depth and batch

@TABLE("SpaceToDepth", "DepthToSpace")
def space_and_depth(op: Op, rw: Rewriter) -> Value:
    """SpaceToDepth, DepthToSpace; NCHW_VECT_C has four channels of a place together."""
    value, block = op.operands[0], int(attr(op, "block_size"))
    layout = attr(op, "data_format", "NHWC")
    if layout not in ("NHWC", "NCHW"):
        raise Unsupported(f"data_format is {layout!r}")
    return rw.emit("top.Depth2Space", value, block_h=block, block_w=block, layout=layout,
                   is_inversed=True if op.name == "tf.SpaceToDepth" else None)


@TABLE("SpaceToBatchND", "SpaceToBatch")
def space_to_batch(op: Op, rw: Rewriter) -> Value:
    """SpaceToBatchND, SpaceToBatch with constant blocks and paddings."""
    value, block, edges = _blocks(op, rw, "the paddings")
    if not block:
        return value
    pads = (*(begin for begin, _ in edges), *(end for _, end in edges))
    return _with_channel(rw, value, len(block), lambda work: rw.emit("top.SpaceToBatch", work, block_shape=block, pads=pads))


@TABLE("BatchToSpaceND", "BatchToSpace")
def batch_to_space(op: Op, rw: Rewriter) -> Value:
    """BatchToSpaceND, BatchToSpace with constant blocks and crops."""
    value, block, edges = _blocks(op, rw, "the crops")
    if not block:
        return value
    crops = (*(begin for begin, _ in edges), *(end for _, end in edges))
    return _with_channel(rw, value, len(block), lambda work: rw.emit("top.BatchToSpace", work, block_shape=block, crops=crops))


def _blocks(op: Op, rw: Rewriter, what: str) -> tuple[Value, tuple[int, ...], list[tuple[int, int]]]:
    """The tensor, the block and a pair of edges for each of its dimensions."""
    value = op.operands[0]
    with_block = op.name.endswith("ND")
    block = constant_ints(rw, op.operands[1], "the block") if with_block else (int(attr(op, "block_size")),) * 2
    numbers = constant_sizes(rw, op.operands[-1], what, 2 * len(block))
    if min(block, default=1) < 1:
        raise Unsupported(f"the block is {list(block)}, and must be positive")
    return value, block, list(zip(numbers[::2], numbers[1::2], strict=True))


def _with_channel(rw: Rewriter, value: Value, n_spatial: int, moved: Callable[[Value], Value]) -> Value:
    """What is done to [N, spatial.., rest] of any rank, on a tensor that has one dimension behind the spatial ones."""
    sizes = shape_of(value, least=1 + n_spatial)
    rest = sizes[1 + n_spatial :]
    work = moved(reshape(rw, value, (*sizes[: 1 + n_spatial], math.prod(rest))))
    return reshape(rw, work, (*shape_of(work)[: 1 + n_spatial], *rest))


# --- patches

@TABLE("ExtractImagePatches", "ExtractVolumePatches")
def extract_patches(op: Op, rw: Rewriter) -> Value:
    """ExtractImagePatches, ExtractVolumePatches: the elements of each window in the channels, gathered window place by place."""
    value = op.operands[0]
    sizes = shape_of(value)
    n = len(sizes) - 2
    kernel, strides = ints_attr(op, "ksizes")[1:-1], ints_attr(op, "strides")[1:-1]
    rates = (ints_attr(op, "rates") or (1,) * len(sizes))[1:-1]
    if n < 1 or not len(kernel) == len(strides) == len(rates) == n or min(*kernel, *strides, *rates) < 1:
        raise Unsupported(f"windows {list(kernel)}, strides {list(strides)} and rates {list(rates)} do not fit {list(sizes)}")
    padding = attr(op, "padding")
    pads = pads_for(padding, sizes[1:-1], kernel, strides, rates)
    if any(pads):
        value = rw.emit("top.Pad", value, paddings=(0, *pads[:n], 0, 0, *pads[n:], 0))
    padded = shape_of(value)
    counts = [(size - (k - 1) * rate - 1) // stride + 1
              for size, k, stride, rate in zip(padded[1:-1], kernel, strides, rates, strict=True)]
    if min(counts) < 1:
        raise Unsupported(f"windows of {list(kernel)} do not fit into {list(sizes)}")
    parts = []
    for place in tables.ndindex(*kernel):
        begins = [at * rate for at, rate in zip(place, rates, strict=True)]
        ends = [begin + (count - 1) * stride + 1 for begin, count, stride in zip(begins, counts, strides, strict=True)]
        parts.append(rw.emit(
            "top.Slice", value, offset=(0, *begins, 0), ends=(padded[0], *ends, padded[-1]), steps=(1, *strides, 1)))
    return rw.emit("top.Concat", *parts, axis=n + 1) if len(parts) > 1 else parts[0]


