"""Shape, order, joining, cutting and padding: ops that move elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, QuantType, Value
from transload.rewrite import Rewriter
from transload_hub.build import padded, slice_along, wrapped_places

from .table import (
    Impossible,
    OnnxTable,
    attr,
    axes_of,
    axis_of,
    choice,
    constant_ints,
    flag,
    need,
    need_attr,
    operand,
    opset,
    permute,
    reshape,
    shape_of,
)

__all__ = ["TABLE", "slice_along"]

TABLE = OnnxTable()

# --- shape


@TABLE("onnx.Reshape", stored="carried")
def reshape_(op: Op, rw: Rewriter) -> Value:
    """Reshape; 0 keeps a size (unless allowzero), -1 is what is left."""
    value = need(op, 0)
    before = shape_of(value)
    wanted = list(constant_ints(rw, need(op, 1), "the new shape"))
    if not flag(op, "allowzero", 0):
        for place, size in enumerate(wanted):
            if size == 0:
                if place >= len(before):
                    raise Unsupported(f"keeps dimension {place} of a tensor of shape {before}")
                wanted[place] = before[place]
    if wanted.count(-1) == 1 and 0 not in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        wanted[wanted.index(-1)] = math.prod(before) // rest
    return reshape(rw, value, wanted)


@TABLE("onnx.Flatten", stored="carried")
def flatten(op: Op, rw: Rewriter) -> Value:
    """Flatten to a matrix."""
    value = need(op, 0)
    shape = shape_of(value)
    axis = attr(op, "axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unsupported(f"axis {axis} is outside a tensor of rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return reshape(rw, value, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _axes(op: Op, rw: Rewriter, what: str) -> tuple[int, ...] | None:
    """The axes of Squeeze and Unsqueeze: an attribute up to opset 12, then an operand."""
    if opset(op) < 13:
        return attr(op, "axes")
    given = operand(op, 1)
    return None if given is None else constant_ints(rw, given, what)


@TABLE("onnx.Squeeze", stored="carried")
def squeeze(op: Op, rw: Rewriter) -> Value:
    """Squeeze; of all dimensions of size 1 where no axes are given."""
    value = need(op, 0)
    shape = shape_of(value)
    given = _axes(op, rw, "the axes")
    axes = tuple(i for i, size in enumerate(shape) if size == 1) if given is None else axes_of(given, len(shape))
    if not axes:
        return value
    if any(shape[axis] != 1 for axis in axes):
        raise Impossible(f"drops dimensions {axes} of a tensor of shape {shape}; they must have size 1")
    return rw.emit("top.Squeeze", value, axes=axes)


@TABLE("onnx.Unsqueeze", stored="carried")
def unsqueeze(op: Op, rw: Rewriter) -> Value:
    """Unsqueeze."""
    value = need(op, 0)
    given = _axes(op, rw, "the axes")
    if given is None:
        raise Unsupported("does not say which axes to insert")
    axes = axes_of(given, len(shape_of(value)) + len(given))
    if len(set(axes)) != len(axes):
        raise Unsupported(f"inserts dimension {axes} twice")
    return rw.emit("top.Unsqueeze", value, axes=tuple(sorted(axes)))


@TABLE("onnx.Transpose", stored="carried")
def transpose(op: Op, rw: Rewriter) -> Value:
    """Transpose; without perm the dimensions are reversed."""
    value = need(op, 0)
    rank = len(shape_of(value))
    order = attr(op, "perm") or tuple(reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        raise Unsupported(f"perm {order} is no order of {rank} dimensions")
    return permute(rw, value, order)


@TABLE("onnx.Expand", stored="carried")
def expand(op: Op, rw: Rewriter) -> Value:
    """Expand: the input and the shape broadcast with each other."""
    value = need(op, 0)
    before, wanted = shape_of(value), constant_ints(rw, need(op, 1), "the shape")
    try:
        shape = np.broadcast_shapes(before, wanted)
    except ValueError:
        raise Unsupported(f"shapes {before} and {wanted} do not broadcast") from None
    return value if shape == before else rw.emit("top.Expand", value, shape=tuple(map(int, shape)))


@TABLE("onnx.Tile", stored="carried")
def tile(op: Op, rw: Rewriter) -> Value:
    """Tile."""
    value = need(op, 0)
    repeats = constant_ints(rw, need(op, 1), "repeats")
    if len(repeats) != len(shape_of(value)):
        raise Unsupported(f"repeats {repeats} do not fit a tensor of shape {shape_of(value)}")
    return value if set(repeats) <= {1} else rw.emit("top.Tile", value, tile=repeats)


@TABLE("onnx.DepthToSpace", stored="carried")
def depth_to_space(op: Op, rw: Rewriter) -> Value:
    """DepthToSpace, in either order of the channels."""
    block, by_columns = need_attr(op, "blocksize"), choice(op, "mode", ("DCR", "CRD"), "DCR") == "CRD"
    return rw.emit("top.Depth2Space", need(op, 0), block_h=block, block_w=block, is_CRD=by_columns or None, layout="NCHW")


@TABLE("onnx.SpaceToDepth", stored="carried")
def space_to_depth(op: Op, rw: Rewriter) -> Value:
    """SpaceToDepth."""
    block, by_columns = need_attr(op, "blocksize"), choice(op, "mode", ("DCR", "CRD"), "DCR") == "CRD"
    return rw.emit("top.Depth2Space", need(op, 0), block_h=block, block_w=block, is_inversed=True, is_CRD=by_columns or None,
                   layout="NCHW")


@TABLE("onnx.ReverseSequence", stored="carried")
def reverse_sequence(op: Op, rw: Rewriter) -> Value:
    """ReverseSequence."""
    time, batch = attr(op, "time_axis", 0), attr(op, "batch_axis", 1)
    if {time, batch} != {0, 1}:
        raise Unsupported(f"time_axis {time} and batch_axis {batch}: one has to be 0, and the other 1")
    return rw.emit("top.ReverseSequence", need(op, 0), need(op, 1), seq_axis=time, batch_axis=batch)


# --- joining and cutting


@TABLE("onnx.Concat", stored="carried")
def concat(op: Op, rw: Rewriter) -> Value:
    """Concat; of no elements those are left out that add nothing to the size of the result, either."""
    parts = list(op.operands)
    rank = len(shape_of(parts[0])) if parts else 0
    axis = axis_of(need_attr(op, "axis"), rank)
    filled = [part for part in parts if 0 not in (shape := shape_of(part)) or (len(shape) == rank and shape[axis] != 0)]
    filled = filled or parts[:1]
    return filled[0] if len(filled) == 1 else rw.emit("top.Concat", *filled, axis=axis)


@TABLE("onnx.Split", stored="carried")
def split(op: Op, rw: Rewriter) -> list[Value]:
    """Split into given sizes, or into equal parts of which the last may be smaller."""
    value = need(op, 0)
    shape = shape_of(value)
    axis = axis_of(attr(op, "axis", 0), len(shape))
    given = attr(op, "split") if opset(op) < 13 else (
        None if operand(op, 1) is None else constant_ints(rw, operand(op, 1), "the sizes of the parts"))
    parts = attr(op, "num_outputs") or len(op.results)
    if given is None and not 0 < parts <= max(shape[axis], len(op.results)):
        outputs = len(op.results)
        raise Unsupported(f"splits dimension {axis} of a tensor of shape {shape} into {parts} parts for {outputs} outputs")
    sizes = tuple(given) if given is not None else _equal_parts(shape[axis], parts)
    if sum(sizes) != shape[axis] or len(sizes) < len(op.results):
        raise Unsupported(f"splits dimension {axis} of a tensor of shape {shape} into {sizes} for {len(op.results)} outputs")
    if len(sizes) == 1:
        return [value]
    return list(rw.emit("top.Split", value, axis=axis, split_size=sizes))[: len(op.results)]


def _equal_parts(size: int, n: int) -> tuple[int, ...]:
    part = -(-size // n)
    return tuple(max(min(part, size - i * part), 0) for i in range(n))


@TABLE("onnx.Slice", stored="carried")
def slice_(op: Op, rw: Rewriter) -> Value:
    """Slice by attributes (up to opset 9) or operands; starts and ends may be negative, steps too."""
    value = need(op, 0)
    shape = shape_of(value)
    if opset(op) < 10:
        starts, ends, axes, steps = need_attr(op, "starts"), need_attr(op, "ends"), attr(op, "axes"), None
    else:
        starts = constant_ints(rw, need(op, 1), "starts")
        ends = constant_ints(rw, need(op, 2), "ends")
        axes = constant_ints(rw, operand(op, 3), "axes") if operand(op, 3) is not None else None
        steps = constant_ints(rw, operand(op, 4), "steps") if operand(op, 4) is not None else None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Unsupported(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit together")
    offset, stop, step = [0] * len(shape), list(shape), [1] * len(shape)
    for start, end, axis, stride in zip(starts, ends, axes_of(axes, len(shape)), steps, strict=True):
        offset[axis], stop[axis], step[axis] = _normal_slice(shape[axis], start, end, stride)
    if (offset, stop, step) == ([0] * len(shape), list(shape), [1] * len(shape)):
        return value
    return rw.emit("top.Slice", value, offset=tuple(offset), ends=tuple(stop), steps=tuple(step))


def _normal_slice(size: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Begin, end and step as `top.Slice` has them: counted from the front, -1 for "past element 0".

    Unlike numpy's, a slice with a negative step that starts before the first element starts there.
    """
    begin, stop, step = slice(start, end, step).indices(size)
    if step > 0:
        return begin, max(begin, stop), step
    begin = max(begin, 0)
    if begin <= stop or not size:  # nothing is taken
        return 0, 0, 1
    return begin, stop, step


# --- padding

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge"}


@TABLE("onnx.Pad", stored="carried")
def pad(op: Op, rw: Rewriter) -> Value:
    """Pad by attributes (up to opset 10) or operands, of all dimensions or of some axes (from opset 18)."""
    value = need(op, 0)
    rank = len(shape_of(value))
    mode = attr(op, "mode", "constant")
    fill: Value | None = None
    number: float = 0.0
    if opset(op) < 11:
        pads, axes = need_attr(op, "pads"), None
        number = float(attr(op, "value", 0.0))
    else:
        pads = constant_ints(rw, need(op, 1), "pads")
        fill = operand(op, 2)
        axes = constant_ints(rw, operand(op, 3), "axes") if operand(op, 3) is not None else None
    if axes is not None:
        axes = axes_of(axes, rank)
        if len(pads) != 2 * len(axes):
            raise Unsupported(f"pads {pads} do not fit axes {axes}")
        full = [0] * 2 * rank
        for i, axis in enumerate(axes):
            full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
        pads = tuple(full)
    if len(pads) != 2 * rank:
        raise Unsupported(f"pads {pads} do not fit a tensor of shape {shape_of(value)}")
    if not any(pads):
        return value
    if mode == "wrap":
        return _wrap(rw, value, pads)
    if mode not in _PAD_MODES:
        raise Unsupported(f"mode is {mode!r}, and must be constant, reflect, edge or wrap")
    if fill is not None and mode == "constant":
        constant = rw.constant_of(fill)
        if constant is None:
            return rw.emit("top.Pad", value, reshape(rw, fill, ()), paddings=tuple(pads), mode=mode)
        number = rw.need_number(fill, "the number to pad with")
        if isinstance(value.element, QuantType) and not isinstance(fill.element, QuantType):
            number = (float(number) - value.element.zero_point) * value.element.scale
        elif value.is_integer:
            number = int(number)
    if mode == "constant":
        return padded(rw, value, pads, number)
    return rw.emit("top.Pad", value, paddings=tuple(pads), mode=mode)


def _wrap(rw: Rewriter, value: Value, pads: Sequence[int]) -> Value:
    """Padding by what lies at the other end: pieces of the tensor, joined."""
    rank = len(pads) // 2
    for axis in range(rank):
        low, high = pads[axis], pads[rank + axis]
        if low or high:
            places = wrapped_places(shape_of(value)[axis], low, high)
            value = rw.emit("top.Gather", value, rw.constant(places), axis=axis)
    return value


@TABLE("onnx.CenterCropPad", stored="carried")
def center_crop_pad(op: Op, rw: Rewriter) -> Value:
    """CenterCropPad: cuts or pads with zeros at both ends, the odd element at the end."""
    value = need(op, 0)
    shape = shape_of(value)
    wanted = constant_ints(rw, need(op, 1), "the new shape")
    axes = axes_of(attr(op, "axes") or tuple(range(len(shape))), len(shape))
    pads = [0] * 2 * len(shape)
    for size, axis in zip(wanted, axes, strict=False):
        more = size - shape[axis]
        pads[axis] = -(-more // 2) if more < 0 else more // 2
        pads[len(shape) + axis] = more - pads[axis]
    return rw.emit("top.Pad", value, paddings=tuple(pads), mode="constant") if any(pads) else value
