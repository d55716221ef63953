"""Ops that move elements: shape, order, joining, splitting, padding, blocks."""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import I32, FloatType, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import axes_of, axis_of, constant_ints, emit_like, layout, need_no_activation, static_shape
from .storage import moves_stored, read_as, stored_type

TABLE = RewriteTable()


# --- shape

@TABLE("tfl.reshape")
@moves_stored
def reshape(op: Op, rw: Rewriter) -> Value:
    """RESHAPE: by the shape operand where that is a vector of int32, else by the option `new_shape`; one entry may be -1."""
    wanted = tuple(op.attribute("new_shape"))
    shape = op.operand("shape") if len(op.operands) > 1 else None
    if shape is not None and shape.rank == 1 and stored_type(shape.element) == I32:
        wanted = constant_ints(rw, shape, "the new shape")
    elements = static_shape(op.operands[0], "the input")
    if wanted == (0,) and 0 not in elements:
        wanted = ()  # how old files write the shape of a scalar
    return emit_like(rw, op, "top.Reshape", op.operands[0], shape=wanted)


@TABLE("tfl.squeeze")
@moves_stored
def squeeze(op: Op, rw: Rewriter) -> Value:
    """SQUEEZE: the given dimensions, or all of size 1."""
    sizes = static_shape(op.operands[0], "the input")
    axes = tuple(op.attribute("squeeze_dims")) or tuple(axis for axis, size in enumerate(sizes) if size == 1)
    return emit_like(rw, op, "top.Squeeze", op.operands[0], axes=axes)


@TABLE("tfl.expand_dims")
@moves_stored
def expand_dims(op: Op, rw: Rewriter) -> Value:
    """EXPAND_DIMS."""
    return emit_like(rw, op, "top.Unsqueeze", op.operands[0], axes=(axis_of(rw, op.operands[1]),))


@TABLE("tfl.transpose")
@moves_stored
def transpose(op: Op, rw: Rewriter) -> Value:
    """TRANSPOSE."""
    order = constant_ints(rw, op.operands[1], "the order of dimensions")
    rank = len(order)
    if sorted(axis % rank for axis in order) != list(range(rank)) or not all(-rank <= axis < rank for axis in order):
        raise Unsupported(f"{list(order)} is no order of {rank} dimensions")
    return emit_like(rw, op, "top.Permute", op.operands[0], order=tuple(axis % rank for axis in order))


@TABLE("tfl.broadcast_to")
@moves_stored
def broadcast_to(op: Op, rw: Rewriter) -> Value:
    """BROADCAST_TO."""
    return emit_like(rw, op, "top.Expand", op.operands[0], shape=constant_ints(rw, op.operands[1], "the shape to broadcast to"))


@TABLE("tfl.tile")
@moves_stored
def tile(op: Op, rw: Rewriter) -> Value:
    """TILE."""
    return emit_like(rw, op, "top.Tile", op.operands[0], tile=constant_ints(rw, op.operands[1], "the multiples"))


@TABLE("tfl.reverse_v2")
@moves_stored
def reverse_v2(op: Op, rw: Rewriter) -> Value:
    """REVERSE_V2."""
    value = op.operands[0]
    return emit_like(rw, op, "top.Reverse", value, axes=axes_of(rw, op.operands[1], value.rank))


@TABLE("tfl.reverse_sequence")
@moves_stored
def reverse_sequence(op: Op, rw: Rewriter) -> Value:
    """REVERSE_SEQUENCE."""
    return emit_like(
        rw, op, "top.ReverseSequence", *op.operands, seq_axis=op.attribute("seq_dim"), batch_axis=op.attribute("batch_dim"))


# --- joining and splitting

@TABLE("tfl.concatenation")
def concatenation(op: Op, rw: Rewriter) -> Value:
    """CONCATENATION: inputs of other scales than the result's are requantized, those of 16 bits copied as they are stored."""
    result = op.results[0].element
    copied = isinstance(result, QuantType) and result.storage.width == 16
    operands = [read_as(rw, value, result) if copied else value for value in op.operands]
    need_no_activation(op)
    return emit_like(rw, op, "top.Concat", *operands, axis=op.attribute("axis"))


@TABLE("tfl.pack")
def pack(op: Op, rw: Rewriter) -> Value:
    """PACK."""
    return emit_like(rw, op, "top.Pack", *op.operands, axis=op.attribute("axis"))


@TABLE("tfl.unpack")
def unpack(op: Op, rw: Rewriter) -> Any:
    """UNPACK."""
    sizes, axis = static_shape(op.operands[0], "the input"), op.attribute("axis")
    if not -len(sizes) <= axis < len(sizes) or sizes[axis] != len(op.results):
        raise Unsupported(f"dimension {axis} of a tensor of shape {list(sizes)} does not give {len(op.results)} parts")
    return _parts(op, rw.emit("top.Unpack", op.operands[0], axis=axis, element=op.results[0].element))


@TABLE("tfl.split")
@moves_stored
def split(op: Op, rw: Rewriter) -> Any:
    """SPLIT: into equal parts."""
    axis, value = axis_of(rw, op.operands[0]), op.operands[1]
    sizes, parts = static_shape(value, "the input"), len(op.results)
    if not -len(sizes) <= axis < len(sizes) or not parts or sizes[axis] % parts:
        raise Unsupported(f"a tensor of shape {list(sizes)} cannot be split into {parts} along dimension {axis}")
    return _parts(op, rw.emit("top.Split", value, axis=axis, split_size=(sizes[axis] // parts,) * parts))


@TABLE("tfl.split_v")
@moves_stored
def split_v(op: Op, rw: Rewriter) -> Any:
    """SPLIT_V: into parts of given sizes, one of which may be -1: what is left."""
    value = op.operands[0]
    wanted = constant_ints(rw, op.operands[1], "the sizes of the parts")
    axis = axis_of(rw, op.operands[2])
    sizes = static_shape(value, "the input")
    if not -len(sizes) <= axis < len(sizes) or wanted.count(-1) > 1 or len(wanted) != len(op.results):
        raise Unsupported(f"a tensor of shape {list(sizes)} cannot be split into {len(op.results)} parts of {list(wanted)} along "
                          f"dimension {axis}")
    left = sizes[axis] - sum(size for size in wanted if size != -1)
    return _parts(op, rw.emit("top.Split", value, axis=axis, split_size=tuple(left if size == -1 else size for size in wanted)))


def _parts(op: Op, outcome: Any) -> Any:
    """The values for the results: an op with one result gives it bare."""
    return (outcome,) if isinstance(outcome, Value) else outcome


# --- padding and blocks

def _paddings(rw: Rewriter, padding: Value, what: str = "the padding") -> tuple[int, ...]:
    """Padding given as `[begin, end]` a dimension: all begins, then all ends."""
    numbers = constant_ints(rw, padding, what)
    if len(numbers) % 2:
        raise Unsupported(f"{what} must be pairs of numbers, and is {list(numbers)}")
    return numbers[0::2] + numbers[1::2]


@TABLE("tfl.pad")
@moves_stored
def pad(op: Op, rw: Rewriter) -> Value:
    """PAD: with real zeros."""
    value = op.operands[0]
    return emit_like(rw, op, "top.Pad", value, paddings=_paddings(rw, op.operands[1]))


@TABLE("tfl.padv2")
@moves_stored
def padv2(op: Op, rw: Rewriter) -> Value:
    """PADV2: with a value."""
    value, padding, fill = op.operands
    paddings = _paddings(rw, padding)
    number = rw.constant_of(fill)
    if number is None or not isinstance(fill.element, FloatType | QuantType):
        scalar = rw.emit("top.Reshape", fill, shape=()) if fill.rank else fill
        return emit_like(rw, op, "top.Pad", value, scalar, paddings=paddings)
    real = float(rw.need_number(fill, "the number to pad with"))
    if isinstance(fill.element, QuantType):
        real = (real - fill.element.zero_point) * fill.element.scale
    return emit_like(rw, op, "top.Pad", value, paddings=paddings, val=real)


@TABLE("tfl.mirror_pad")
def mirror_pad(op: Op, rw: Rewriter) -> Value:
    """MIRROR_PAD: REFLECT leaves the outermost element out, SYMMETRIC repeats it."""
    value = op.operands[0]
    return emit_like(
        rw, op, "top.Pad", value, paddings=_paddings(rw, op.operands[1]), mode=op.attribute("mode").lower())


@TABLE("tfl.depth_to_space", "tfl.space_to_depth")
@moves_stored
def depth_to_space(op: Op, rw: Rewriter) -> Value:
    """DEPTH_TO_SPACE, SPACE_TO_DEPTH."""
    block = op.attribute("block_size")
    return emit_like(
        rw, op, "top.Depth2Space", op.operands[0], block_h=block, block_w=block, layout=layout,
        is_inversed=op.name == "tfl.space_to_depth")


@TABLE("tfl.space_to_batch_nd")
def space_to_batch_nd(op: Op, rw: Rewriter) -> Value:
    """SPACE_TO_BATCH_ND."""
    value, block, pads = op.operands
    return emit_like(
        rw, op, "top.SpaceToBatch", value, block_shape=constant_ints(rw, block, "the block's shape"),
        pads=_paddings(rw, pads))


@TABLE("tfl.batch_to_space_nd")
def batch_to_space_nd(op: Op, rw: Rewriter) -> Value:
    """BATCH_TO_SPACE_ND."""
    value, block, crops = op.operands
    return emit_like(
        rw, op, "top.BatchToSpace", value, block_shape=constant_ints(rw, block, "the block's shape"),
        crops=_paddings(rw, crops, "the crops"))


@TABLE("tfl.dilate")
@moves_stored
def dilate(op: Op, rw: Rewriter) -> Value:
    """DILATE: each dimension in turn gets its elements apart by padding behind each, less the last one's."""
    value, dilations, fill = op.operands
    steps = constant_ints(rw, dilations, "the dilations")
    scalar = rw.emit("top.Reshape", fill, shape=()) if fill.rank else fill
    for axis, step in enumerate(steps):
        if step == 1:
            continue
        sizes = static_shape(value, "the input")
        apart = rw.emit("top.Unsqueeze", value, axes=(axis + 1,))
        ends = tuple(step - 1 if place == axis + 1 else 0 for place in range(len(sizes) + 1))
        wide = rw.emit("top.Pad", apart, scalar, paddings=(*(0,) * (len(sizes) + 1), *ends))
        joined = rw.emit("top.Reshape", wide, shape=(*sizes[:axis], sizes[axis] * step, *sizes[axis + 1 :]))
        kept = (*sizes[:axis], (sizes[axis] - 1) * step + 1, *sizes[axis + 1 :])
        value = rw.emit("top.Slice", joined, offset=(0,) * len(kept), ends=kept, steps=(1,) * len(kept))
    return value
