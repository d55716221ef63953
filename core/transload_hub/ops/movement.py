"""Ops that move elements and compute nothing: shape, order, joining, splitting, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transload.ir.build import constant_of
from transload.ir.core import Op
from transload.ir.declare import (
    FLOAT,
    INT,
    INT_TENSOR,
    INTS,
    DeclaredOp,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)
from transload.ir.types import QuantType, TensorType, Type

from ..tables import distinct
from .base import TOP, Activated
from .infer import (
    Shape,
    broadcast_shapes,
    fail,
    join_sizes,
    led_element,
    need_rank,
    normalise_axes,
    normalise_axis,
    permuted_element,
    reshaped_element,
    same_as_input,
    shape_of,
    show,
    sliced_element,
    unify,
)

__all__ = ["slice_range"]

_MOST_RESULTS = 1 << 20
"""Tensors that one is taken apart into."""


# --- shape

@TOP.op("Reshape")
class Reshape(DeclaredOp):
    """The same elements in row-major order, in another shape (TPU-MLIR manual 13.1, ReshapeOp; ONNX Reshape and Flatten)."""

    input = operand("the tensor")
    output = result("of the given shape")
    shape = attribute(INTS, "the new shape; one entry may be -1: what is left")

    @constraint
    def at_most_one_is_open(op) -> bool | str:
        """at most one entry of shape is -1, and none is less"""
        sizes = op.attribute("shape")
        return (sizes.count(-1) <= 1 and min(sizes, default=0) >= -1) or f"it is {sizes}"

    def infer(op) -> Type:
        before, wanted = shape_of(op.input), op.attribute("shape")
        if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
            fail(op, f"{wanted} is no shape to reshape to: one entry may be -1, others must not be negative")
        after = _close(op, before, wanted)
        return TensorType(after, reshaped_element(op, op.input.element, before, after))


def _close(op: Op, before: Shape | None, wanted: Sequence[int]) -> Shape:
    """The shape `wanted` with its -1 replaced by what is left of the elements of `before`."""
    total = None if before is None else join_sizes(before)
    given = math.prod(size for size in wanted if size != -1)
    if -1 not in wanted:
        if total is not None and total != given:
            fail(op, f"{show(before)} has {total} elements, {show(tuple(wanted))} {given}")
        return tuple(wanted)
    if total is None:
        return tuple(None if size == -1 else size for size in wanted)
    if given == 0:
        if total:
            fail(op, f"{show(before)} cannot be reshaped to {list(wanted)}")
        return tuple(0 if size == -1 else size for size in wanted)
    if total % given:
        fail(op, f"the {total} elements of {show(before)} cannot be split into {list(wanted)}")
    return tuple(total // given if size == -1 else size for size in wanted)


@TOP.op("Squeeze")
class Squeeze(DeclaredOp):
    """Without the dimensions `axes`, each of size 1 (TPU-MLIR manual 13.1, SqueezeOp; ONNX Squeeze, TFLite SQUEEZE)."""

    input = operand("the tensor")
    output = result("without these dimensions")
    axes = attribute(INTS, "the dimensions to drop")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is None:
            return TensorType(None, op.input.element)
        axes = normalise_axes(op, op.axes, len(shape))
        for axis in axes:
            if shape[axis] not in (1, None):
                fail(op, f"dimension {axis} of {show(shape)} has size {shape[axis]}, not 1")
        after = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        return TensorType(after, reshaped_element(op, op.input.element, shape, after))


@TOP.op("Unsqueeze")
class Unsqueeze(DeclaredOp):
    """With new dimensions of size 1 at `axes`, counted in the result (ONNX Unsqueeze, TFLite EXPAND_DIMS)."""

    input = operand("the tensor")
    output = result("with these dimensions")
    axes = attribute(INTS, "where the new dimensions are in the result")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is None:
            return TensorType(None, op.input.element)
        rank = len(shape) + len(op.axes)
        axes = normalise_axes(op, op.axes, rank)
        sizes = iter(shape)
        after = tuple(1 if axis in axes else next(sizes) for axis in range(rank))
        return TensorType(after, reshaped_element(op, op.input.element, shape, after))


@TOP.op("Permute")
class Permute(DeclaredOp):
    """Dimension i of the result is dimension order[i] of the input (TPU-MLIR manual 13.1, PermuteOp; ONNX Transpose)."""

    input = operand("the tensor")
    output = result("with its dimensions in another order")
    order = attribute(INTS, "which dimension of the input each one of the result is")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        rank = len(op.order) if shape is None else len(shape)
        if sorted(op.order) != list(range(rank)):
            what = f"dimensions of {show(shape)}" if shape is not None else "dimensions, each once, from 0 on"
            fail(op, f"order {list(op.order)} does not name the {rank} {what}")
        if shape is None:
            return TensorType((None,) * rank, op.input.element)
        return TensorType(tuple(shape[axis] for axis in op.order), permuted_element(op.input.element, op.order))


@TOP.op("Expand")
class Expand(DeclaredOp):
    """Broadcast to `shape`, which may itself be broadcast (ONNX Expand, TFLite BROADCAST_TO)."""

    input = operand("the tensor")
    output = result("of the shape that both broadcast to")
    shape = attribute(INTS, "the shape to broadcast with")

    def infer(op) -> Type:
        if min(op.attribute("shape"), default=0) < 0:
            fail(op, f"shape {list(op.attribute('shape'))} has a negative entry")
        shape = broadcast_shapes(op, shape_of(op.input), tuple(op.attribute("shape")))
        return TensorType(shape, _after_leading(op.input, shape))


def _after_leading(value: Any, shape: Shape | None) -> Type:
    """The element type of `value` where dimensions were added in front to get `shape`."""
    before = shape_of(value)
    return value.element if before is None or shape is None else led_element(value.element, len(shape) - len(before))


@TOP.op("Tile")
class Tile(DeclaredOp):
    """Repeated tile[i] times along dimension i (ONNX Tile, TFLite TILE; TPU-MLIR's top.Tile)."""

    input = operand("the tensor")
    output = result("sizes multiplied by tile")
    tile = attribute(INTS, "how often, per dimension")

    def infer(op) -> Type:
        shape = need_rank(op, op.input, "the input", (len(op.tile),))
        if min(op.tile, default=0) < 0:
            fail(op, f"tile {list(op.tile)} has a negative entry")
        if shape is None:
            return TensorType((None,) * len(op.tile), op.input.element)
        return TensorType(tuple(join_sizes(pair) for pair in zip(shape, op.tile, strict=True)), op.input.element)


# --- joining and splitting

@TOP.op("Concat")
class Concat(Activated):
    """The operands one after the other along a dimension (TPU-MLIR manual 13.1, ConcatOp; ONNX Concat)."""

    inputs = variadic("tensors of the same shape but for dimension axis")
    output = result("the sum of their sizes along axis")
    axis = attribute(INT, "the dimension to join along")

    @constraint
    def at_least_one(op) -> bool:
        """there is at least one operand"""
        return len(op.inputs) > 0

    def infer(op) -> Type:
        if not op.operands:
            fail(op, "there are no operands")
        shapes = [shape for shape in map(shape_of, op.inputs) if shape is not None]
        if not shapes:
            return TensorType(None, op.inputs[0].element)
        rank = len(shapes[0])
        axis = normalise_axis(op, op.axis, rank)
        sizes = list(shapes[0])
        for shape in shapes[1:]:
            if len(shape) != rank:
                fail(op, f"{show(shapes[0])} and {show(shape)} have different ranks")
            for place in range(rank):
                if place != axis:
                    sizes[place] = unify(op, sizes[place], shape[place], f"dimension {place} of the operands")
        along = [shape[axis] for shape in shapes]
        sizes[axis] = None if None in along or len(shapes) < len(op.inputs) else sum(along)  # type: ignore[arg-type]
        return TensorType(tuple(sizes), op.inputs[0].element)


@TOP.op("Split")
class Split(DeclaredOp):
    """Cut along a dimension into pieces of the given sizes (ONNX Split, TFLite SPLIT and SPLIT_V)."""

    input = operand("the tensor")
    outputs = variadic_result("the pieces")
    axis = attribute(INT, "the dimension to cut")
    split_size = attribute(INTS, "the sizes of the pieces")

    def infer(op) -> list[Type]:
        if min(op.split_size, default=0) < 0:
            fail(op, f"split_size {list(op.split_size)} has a negative entry")
        shape = shape_of(op.input)
        if shape is None:
            return [TensorType(None, op.input.element)] * len(op.split_size)
        axis = normalise_axis(op, op.axis, len(shape))
        unify(op, shape[axis], sum(op.split_size), f"size of dimension {axis} and sum of split_size")
        types: list[Type] = []
        start = 0
        for size in op.split_size:
            element = sliced_element(op.input.element, len(shape), axis, range(start, start + size))
            types.append(TensorType((*shape[:axis], size, *shape[axis + 1 :]), element))
            start += size
        return types


@TOP.op("Pack")
class Pack(DeclaredOp):
    """Tensors of one shape side by side along a new dimension (TFLite PACK; numpy `stack`)."""

    inputs = variadic("tensors of one shape")
    output = result("with one dimension more")
    axis = attribute(INT, "where the new dimension is in the result", default=0)

    def infer(op) -> Type:
        if not op.operands:
            fail(op, "there are no operands")
        shape = shape_of(op.inputs[0])
        for value in op.inputs[1:]:
            other = shape_of(value)
            if shape is None or other is None:
                shape = other if shape is None else shape
                continue
            if len(other) != len(shape):
                fail(op, f"{show(shape)} and {show(other)} have different ranks")
            shape = tuple(unify(op, a, b, "sizes of the operands") for a, b in zip(shape, other, strict=True))
        if shape is None:
            return TensorType(None, op.inputs[0].element)
        axis = normalise_axis(op, op.axis, len(shape) + 1)
        return TensorType((*shape[:axis], len(op.inputs), *shape[axis:]), op.inputs[0].element)


@TOP.op("Unpack")
class Unpack(DeclaredOp):
    """The slices along a dimension, each without it (TFLite UNPACK)."""

    input = operand("the tensor")
    outputs = variadic_result("as many as the dimension's size")
    axis = attribute(INT, "the dimension to take apart", default=0)

    def infer(op) -> list[Type]:
        shape = shape_of(op.input)
        if shape is None:
            fail(op, "the number of results depends on the input's shape, which is not known")
        axis = normalise_axis(op, op.axis, len(shape))
        size = shape[axis]
        if size is None:
            fail(op, f"the number of results depends on dimension {axis}, whose size is not known")
        if size > _MOST_RESULTS:
            fail(op, f"it would have {size:,} results, of which there are {_MOST_RESULTS:,} at most")
        return [TensorType(shape[:axis] + shape[axis + 1 :], op.input.element)] * size


def slice_range(size: int, offset: int, end: int, step: int) -> range:
    """The subscripts that a slice of a dimension takes: `range(offset, end, step)`, kept inside the dimension."""
    if step > 0:
        return range(min(offset, size), min(end, size), step)
    return range(min(offset, size - 1), max(end, -1), step)


@TOP.op("Slice")
class Slice(DeclaredOp):
    """Elements `offset, offset + steps, ..` of each dimension, up to but without `ends` (TPU-MLIR manual 13.1, SliceOp).

    Offsets are counted from the front. With a negative step, an end of -1 means "past element 0". Ends beyond
    the dimension stop at its end.
    """

    input = operand("the tensor")
    output = result("of the same rank")
    offset = attribute(INTS, "the first element, per dimension")
    ends = attribute(INTS, "where to stop, per dimension")
    steps = attribute(INTS, "the step, per dimension; not 0")

    @constraint
    def one_entry_a_dimension(op) -> bool:
        """offset, ends and steps have as many entries as the input has dimensions"""
        return len(op.offset) == len(op.ends) == len(op.steps) and shape_of(op.input) in (None, *_of_rank(op, len(op.offset)))

    @constraint
    def counted_from_the_front(op) -> bool:
        """offsets are not negative and steps are not 0"""
        return min(op.offset, default=0) >= 0 and 0 not in op.steps

    def infer(op) -> Type:
        n = len(op.offset)
        if len(op.ends) != n or len(op.steps) != n or min(op.offset, default=0) < 0 or 0 in op.steps:
            fail(op, f"offset {op.offset}, ends {op.ends} and steps {op.steps} do not fit together")
        shape = need_rank(op, op.input, "the input", (n,))
        if shape is None:
            return TensorType((None,) * n, op.input.element)
        element = op.input.element
        sizes: list[int | None] = []
        for axis, (size, offset, end, step) in enumerate(zip(shape, op.offset, op.ends, op.steps, strict=True)):
            if size is None:
                sizes.append(None)
                continue
            taken = slice_range(size, offset, end, step)
            sizes.append(len(taken))
            element = sliced_element(element, n, axis, taken)
        return TensorType(tuple(sizes), element)


def _of_rank(op: Slice, rank: int) -> tuple[Shape, ...]:
    """The input's shape if it has `rank`, for a membership test."""
    shape = shape_of(op.input)
    return (shape,) if shape is not None and len(shape) == rank else ()


# --- padding, order

@TOP.op("Pad")
class Pad(DeclaredOp):
    """More elements around a tensor; negative padding takes elements away (ONNX Pad, TFLite PAD, PADV2 and MIRROR_PAD).

    mode: `constant` fills with a value, `edge` repeats the outermost element, `reflect` mirrors without and
    `symmetric` with the outermost element.
    """

    input = operand("the tensor")
    value = operand("scalar to fill with, instead of val", optional=True)
    output = result("sizes plus paddings")
    paddings = attribute(INTS, "all begins, then all ends")
    mode = attribute(enum("constant", "reflect", "symmetric", "edge"), "what to fill with", default="constant")
    val = attribute(FLOAT, "the real value to fill with in mode constant", default=0.0)

    @constraint
    def two_entries_a_dimension(op) -> bool:
        """paddings has two entries per dimension of the input"""
        shape = shape_of(op.input)
        return len(op.paddings) % 2 == 0 and (shape is None or len(op.paddings) == 2 * len(shape))

    def infer(op) -> Type:
        n, odd = divmod(len(op.paddings), 2)
        if odd:
            fail(op, f"paddings {list(op.paddings)} has an odd number of entries")
        shape = need_rank(op, op.input, "the input", (n,))
        if shape is None:
            return TensorType((None,) * n, op.input.element)
        sizes: list[int | None] = []
        for axis, size in enumerate(shape):
            begin, end = op.paddings[axis], op.paddings[n + axis]
            if size is None:
                sizes.append(None)
                continue
            if size + begin + end < 0:
                fail(op, f"dimension {axis} of {show(shape)} padded by {begin} and {end} has a negative size")
            if min(begin, end) < -size:
                fail(op, f"{-min(begin, end)} places are taken off at one end of dimension {axis} of {show(shape)}")
            least = {"reflect": size - 1, "symmetric": size}.get(op.mode)
            if least is not None and max(begin, end) > max(least, 0):
                fail(op, f"mode {op.mode} cannot pad dimension {axis} of {show(shape)} by {max(begin, end)}")
            if op.mode == "edge" and size == 0 and max(begin, end) > 0:
                fail(op, f"mode edge cannot pad dimension {axis} of {show(shape)}: it is empty")
            sizes.append(size + begin + end)
        return TensorType(tuple(sizes), op.input.element)


@TOP.op("Reverse")
class Reverse(DeclaredOp):
    """The order of elements turned round along `axes` (TFLite REVERSE_V2)."""

    input = operand("the tensor")
    output = result("of the input's shape")
    axes = attribute(INTS, "the dimensions to turn round")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        element = op.input.element
        if shape is None:
            return TensorType(None, element)
        for axis in normalise_axes(op, op.axes, len(shape)):
            along = isinstance(element, QuantType) and element.axis == axis and len(element.scales)
            element = sliced_element(element, len(shape), axis, range(shape[axis] or along)[::-1])
        return TensorType(shape, element)


@TOP.op("ReverseSequence")
class ReverseSequence(DeclaredOp):
    """The first `lengths[b]` elements along seq_axis turned round, for each b of batch_axis (ONNX ReverseSequence)."""

    input = operand("the tensor")
    lengths = operand("[size of batch_axis], integers", type=INT_TENSOR)
    output = result("of the input's shape")
    seq_axis = attribute(INT, "the dimension to turn round")
    batch_axis = attribute(INT, "the dimension that lengths belongs to", default=0)

    @constraint
    def lengths_are_within(op) -> bool | str:
        """lengths that are constant are from 0 to the size of seq_axis"""
        held, shape = constant_of(op.lengths), shape_of(op.input)
        size = shape[op.seq_axis] if shape is not None and -len(shape) <= op.seq_axis < len(shape) else None
        if held is None or size is None or not held.type.num_elements:
            return True
        least, most = int(distinct(held.numpy()).min()), int(distinct(held.numpy()).max())
        return 0 <= least <= most <= size or f"they are from {least} to {most}, and the size is {size}"

    def infer(op) -> Type:
        shape = need_rank(op, op.input, "the input", least=2)
        held = need_rank(op, op.lengths, "lengths", (1,))
        if shape is not None:
            batch, _ = normalise_axes(op, (op.batch_axis, op.seq_axis), len(shape))
            if held is not None:
                unify(op, held[0], shape[batch], "number of lengths and size of batch_axis")
        return same_as_input(op)


@TOP.op("Roll")
class Roll(DeclaredOp):
    """Elements moved on by `shifts` along `axes`, those beyond the end put at the front (numpy `roll`)."""

    input = operand("the tensor")
    output = result("of the input's shape")
    shifts = attribute(INTS, "by how much, per entry of axes")
    axes = attribute(INTS, "the dimensions to move along")

    @constraint
    def one_shift_an_axis(op) -> bool:
        """shifts and axes have the same number of entries"""
        return len(op.shifts) == len(op.axes)

    def infer(op) -> Type:
        if len(op.shifts) != len(op.axes):
            fail(op, f"{len(op.shifts)} shifts for {len(op.axes)} axes")
        shape = shape_of(op.input)
        if shape is not None:
            for axis in op.axes:
                normalise_axis(op, axis, len(shape))
        return same_as_input(op)
