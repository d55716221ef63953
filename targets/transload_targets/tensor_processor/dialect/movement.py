"""Ops that only move elements."""

from __future__ import annotations

import math

from transload.ir import TensorType, Type
from transload.ir.declare import FLOAT, INT, INTS, DeclaredOp, attribute, constraint, operand, result, variadic
from transload_hub.ops.infer import permuted_element, reshaped_element, sliced_element

from .base import TPU, fail, shape_of

__all__: list[str] = []


class Movement(DeclaredOp):
    """Base of ops that move the elements of one tensor."""

    input = operand("the tensor")
    output = result("its elements")


@TPU.op("reshape")
class Reshape(Movement):
    """The same elements, row-major, in another shape."""

    shape_ = attribute(INTS, "the result's shape")

    def infer(op) -> Type:
        before, after = shape_of(op.input, op), tuple(op.attribute("shape"))
        if math.prod(after) != math.prod(before):
            raise fail(op, f"{op.input.type} has not as many elements as {after}")
        return TensorType(after, reshaped_element(op, op.input.element, before, after))


@TPU.op("permute")
class Permute(Movement):
    """Dimensions in another order."""

    order = attribute(INTS, "which dimension of the input each of the result's is")

    def infer(op) -> Type:
        shape = shape_of(op.input, op)
        if sorted(op.order) != list(range(len(shape))):
            raise fail(op, f"{op.order} is no order of {len(shape)} dimensions")
        return TensorType(tuple(shape[i] for i in op.order), permuted_element(op.input.element, op.order))


@TPU.op("concat")
class Concat(DeclaredOp):
    """Tensors one after the other along a dimension."""

    inputs = variadic("of one type but for that dimension")
    output = result("all of them")
    axis = attribute(INT, "the dimension, from 0")

    def infer(op) -> Type:
        shapes = [list(shape_of(value, op)) for value in op.operands]
        if not shapes or not 0 <= op.axis < len(shapes[0]) or len(
                {(*shape[: op.axis], -1, *shape[op.axis + 1 :]) for shape in shapes}) != 1:
            raise fail(op, f"{', '.join(str(value.type) for value in op.operands)} cannot be joined along dimension {op.axis}")
        made = shapes[0]
        made[op.axis] = sum(shape[op.axis] for shape in shapes)
        return TensorType(tuple(made), op.operands[0].element)


@TPU.op("slice")
class Slice(Movement):
    """Some elements of each dimension, at equal distances; a negative step goes backwards."""

    starts = attribute(INTS, "the first element of each dimension")
    sizes = attribute(INTS, "how many of each dimension")
    steps = attribute(INTS, "the distance between them")

    @constraint
    def inside(op) -> bool:
        """all elements that are asked for are inside of the input"""
        shape = shape_of(op.input, op)
        if not len(op.starts) == len(op.sizes) == len(op.steps) == len(shape):
            return False
        ends = [start + (count - 1) * step for start, count, step in zip(op.starts, op.sizes, op.steps, strict=True)]
        return all(
            count == 0 or (0 <= start < size and 0 <= end < size)
            for start, count, end, size in zip(op.starts, op.sizes, ends, shape, strict=True))

    def infer(op) -> Type:
        element = op.input.element
        for axis, (start, size, step) in enumerate(zip(op.starts, op.sizes, op.steps, strict=True)):
            element = sliced_element(element, len(op.sizes), axis, range(start, start + size * step, step or 1))
        return TensorType(tuple(op.sizes), element)


@TPU.op("pad")
class Pad(Movement):
    """The tensor with one number around it (TPU-MLIR manual 6.3.6)."""

    pads = attribute(INTS, "elements before each dimension, then behind each; not negative")
    value = attribute(FLOAT, "the stored number around it", default=0.0)

    def infer(op) -> Type:
        shape = shape_of(op.input, op)
        rank = len(shape)
        if len(op.pads) != 2 * rank or min(op.pads, default=0) < 0:
            raise fail(op, f"pads {op.pads} do not fit {op.input.type}")
        return TensorType(
            tuple(size + op.pads[i] + op.pads[rank + i] for i, size in enumerate(shape)), op.input.element)


@TPU.op("gather")
class Gather(DeclaredOp):
    """Parts of a tensor along a dimension, by indices: a negative one counts from the end, one beyond is moved to the end."""

    input = operand("the tensor")
    indices = operand("int32 or int64, of any rank")
    output = result("the input's shape with that of the indices in place of the dimension")
    axis = attribute(INT, "the dimension, from 0", default=0)

    def infer(op) -> Type:
        shape = shape_of(op.input, op)
        if not 0 <= op.axis < len(shape):
            raise fail(op, f"{op.input.type} has no dimension {op.axis}")
        return TensorType((*shape[: op.axis], *shape_of(op.indices, op), *shape[op.axis + 1 :]), op.input.element)
