"""Ops that read or write elements by subscripts, and ordering."""

from __future__ import annotations

from transload.ir.core import Op
from transload.ir.declare import BOOLEAN, INT, INT_TENSOR, DeclaredOp, attribute, constraint, enum, operand, result
from transload.ir.types import I32, TensorType, Type

from .base import NUMBER_TENSOR, OWN_NUMBER_TENSOR, TOP
from .infer import Shape, fail, need_rank, normalise_axis, same_as_input, shape_of, show, unify
from .rounding import rounds

REDUCTION = enum("none", "add", "mul", "max", "min")


def _check_batch(op: Gather | GatherND, *shapes: Shape) -> None:
    """Check that the first batch_dims sizes of all shapes are the same."""
    for i in range(op.batch_dims):
        for shape in shapes[1:]:
            unify(op, shapes[0][i], shape[i], f"batch dimension {i}")


@TOP.op("Gather")
class Gather(DeclaredOp):
    """The slices of `axis` that `indices` names: `y[.., i.., ..] = x[.., indices[i..], ..]` (ONNX Gather, TFLite GATHER).

    Negative indices count from the end. With batch_dims = b, the first b dimensions of both are the same
    and are gone through together; axis is at least b.
    """

    input = operand("the tensor")
    indices = operand("which slices", type=INT_TENSOR)
    output = result("input.shape[:axis] + indices.shape[batch_dims:] + input.shape[axis+1:]")
    axis = attribute(INT, "the dimension to take slices of", default=0)
    batch_dims = attribute(INT, "number of leading dimensions in common", default=0)

    def infer(op) -> Type:
        shape = need_rank(op, op.input, "the input", least=1)
        indices = shape_of(op.indices)
        if shape is None or indices is None:
            return TensorType(None, op.input.element)
        axis = normalise_axis(op, op.axis, len(shape))
        if not 0 <= op.batch_dims <= min(axis, len(indices)):
            fail(op, f"batch_dims {op.batch_dims} does not fit axis {axis} and indices {show(indices)}")
        _check_batch(op, shape, indices)
        _not_from_nothing(op, shape[axis : axis + 1], indices)
        return TensorType((*shape[:axis], *indices[op.batch_dims :], *shape[axis + 1 :]), op.input.element)


@TOP.op("GatherND")
class GatherND(DeclaredOp):
    """The elements or slices at subscripts: `y[i..] = x[indices[i.., 0], indices[i.., 1], ..]` (ONNX and TFLite GatherND)."""

    input = operand("the tensor")
    indices = operand("[.., n]: n subscripts each", type=INT_TENSOR)
    output = result("indices.shape[:-1] + input.shape[batch_dims+n:]")
    batch_dims = attribute(INT, "number of leading dimensions in common", default=0)

    def infer(op) -> Type:
        shape = shape_of(op.input)
        indices = need_rank(op, op.indices, "indices", least=1)
        if shape is None or indices is None or indices[-1] is None:
            return TensorType(None, op.input.element)
        if not 0 <= op.batch_dims < max(len(indices), 1) or op.batch_dims + indices[-1] > len(shape):
            fail(op, f"indices {show(indices)} with batch_dims {op.batch_dims} have too many subscripts for {show(shape)}")
        _check_batch(op, shape, indices)
        _not_from_nothing(op, shape[op.batch_dims : op.batch_dims + indices[-1]], indices)
        return TensorType((*indices[:-1], *shape[op.batch_dims + indices[-1] :]), op.input.element)


@TOP.op("GatherElements")
class GatherElements(DeclaredOp):
    """`y[i, j, k] = x[indices[i, j, k], j, k]` for axis 0, and likewise for others (ONNX GatherElements; torch.gather)."""

    input = operand("the tensor")
    indices = operand("of the same rank, not larger in the other dimensions", type=INT_TENSOR)
    output = result("of the shape of indices")
    axis = attribute(INT, "the dimension that indices replace", default=0)

    def infer(op) -> Type:
        shape, indices = shape_of(op.input), shape_of(op.indices)
        if shape is not None and indices is not None:
            _check_elements(op, shape, indices)
            axis = normalise_axis(op, op.axis, len(shape))
            _not_from_nothing(op, shape[axis : axis + 1], indices)
        return TensorType(indices, op.input.element)


def _not_from_nothing(op: Op, taken: Shape, indices: Shape) -> None:
    """Check that what subscripts name is there: of a dimension without elements, none can be taken."""
    if 0 in taken and 0 not in indices:
        fail(op, f"indices {show(indices)} take from dimensions {show(taken)}, which have no elements")


def _check_elements(op: GatherElements | ScatterElements, shape: Shape, indices: Shape) -> None:
    """Check the shapes of an op that replaces one subscript of each element."""
    if len(shape) != len(indices):
        fail(op, f"the input {show(shape)} and indices {show(indices)} have different ranks")
    axis = normalise_axis(op, op.axis, len(shape))
    for place, (size, index) in enumerate(zip(shape, indices, strict=True)):
        if place != axis and size is not None and index is not None and index > size:
            fail(op, f"indices {show(indices)} reach beyond the input {show(shape)} in dimension {place}")


@TOP.op("ScatterND")
class ScatterND(DeclaredOp):
    """A copy of the input with `updates` written at subscripts, or combined with what is there (ONNX ScatterND).

    TFLite's SCATTER_ND is an addition to zeros. Where subscripts repeat and reduction is none, the last one stays.
    """

    input = operand("the tensor")
    indices = operand("[.., n]: n subscripts each", type=INT_TENSOR)
    updates = operand("indices.shape[:-1] + input.shape[n:]")
    output = result("of the input's shape")
    reduction = attribute(REDUCTION, "how to combine", default="none")

    def infer(op) -> Type:
        shape, updates = shape_of(op.input), shape_of(op.updates)
        indices = need_rank(op, op.indices, "indices", least=1)
        if shape is None or indices is None or updates is None or indices[-1] is None:
            return same_as_input(op)
        if indices[-1] > len(shape):
            fail(op, f"indices {show(indices)} have too many subscripts for {show(shape)}")
        wanted = (*indices[:-1], *shape[indices[-1] :])
        if len(wanted) != len(updates):
            fail(op, f"updates must be {show(wanted)}, and are {show(updates)}")
        for a, b in zip(wanted, updates, strict=True):
            unify(op, a, b, f"updates must be {show(wanted)}, and are {show(updates)}")
        return same_as_input(op)


@TOP.op("ScatterElements")
class ScatterElements(DeclaredOp):
    """A copy of the input with `y[indices[i, j], j] = updates[i, j]` for axis 0, likewise for others (ONNX ScatterElements)."""

    input = operand("the tensor")
    indices = operand("of the same rank, not larger in the other dimensions", type=INT_TENSOR)
    updates = operand("of the shape of indices")
    output = result("of the input's shape")
    axis = attribute(INT, "the dimension that indices replace", default=0)
    reduction = attribute(REDUCTION, "how to combine", default="none")

    def infer(op) -> Type:
        shape, indices, updates = shape_of(op.input), shape_of(op.indices), shape_of(op.updates)
        if shape is not None and indices is not None:
            _check_elements(op, shape, indices)
        if indices is not None and updates is not None:
            if len(indices) != len(updates):
                fail(op, f"indices {show(indices)} and updates {show(updates)} have different ranks")
            for a, b in zip(indices, updates, strict=True):
                unify(op, a, b, f"indices {show(indices)} and updates {show(updates)} have different shapes")
        return same_as_input(op)


@TOP.op("OneHot")
class OneHot(DeclaredOp):
    """`on_value` at the place that each index names along a new dimension, `off_value` elsewhere (ONNX OneHot, TFLite ONE_HOT).

    An index from -depth to -1 counts from the end; one further out gives no on_value.
    """

    indices = operand("the places", type=OWN_NUMBER_TENSOR)
    on_value = operand("scalar")
    off_value = operand("scalar")
    output = result("with a dimension of size depth more, in the element type of on_value")
    depth = attribute(INT, "size of the new dimension")
    axis = attribute(INT, "where the new dimension is in the result", default=-1)

    @constraint
    def depth_is_not_negative(op) -> bool:
        """depth is not negative"""
        return op.depth >= 0

    def infer(op) -> Type:
        indices = shape_of(op.indices)
        if indices is None:
            return TensorType(None, op.on_value.element)
        axis = normalise_axis(op, op.axis, len(indices) + 1)
        return TensorType((*indices[:axis], op.depth, *indices[axis:]), op.on_value.element)


@TOP.op("TopK")
class TopK(DeclaredOp):
    """The k greatest (or least) elements along a dimension, and where they were (ONNX TopK, TFLite TOPK_V2).

    Of equal elements the one with the lower index comes first. With sorted=False they come in any order.
    """

    input = operand("the tensor", type=NUMBER_TENSOR)
    values = result("size k along axis, best first")
    indices = result("where they were, i32", type=INT_TENSOR)
    axis = attribute(INT, "the dimension to look along", default=-1)
    k = attribute(INT, "how many")
    largest = attribute(BOOLEAN, "the greatest, else the least", default=True)
    sorted = attribute(BOOLEAN, "whether the result is in order", default=True)

    def infer(op) -> list[Type]:
        shape = need_rank(op, op.input, "the input", least=1)
        if shape is None:
            return [TensorType(None, op.input.element), TensorType(None, I32)]
        axis = normalise_axis(op, op.axis, len(shape))
        size = shape[axis]
        if op.k < 0 or (size is not None and op.k > size):
            fail(op, f"cannot take {op.k} of the {size} elements of dimension {axis}")
        taken = (*shape[:axis], op.k, *shape[axis + 1 :])
        return [TensorType(taken, op.input.element), TensorType(taken, I32)]


@TOP.op("CumSum")
class CumSum(DeclaredOp):
    """The sum of all elements up to each one along a dimension (ONNX CumSum, TFLite CUMSUM)."""

    input = operand("the tensor", type=NUMBER_TENSOR)
    output = result("of the input's shape")
    axis = attribute(INT, "the dimension to sum along")
    exclusive = attribute(BOOLEAN, "leave the element itself out", default=False)
    reverse = attribute(BOOLEAN, "sum from the end", default=False)
    rounding = rounds("double", "exact", "once")

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is not None:
            normalise_axis(op, op.axis, len(shape))
        return same_as_input(op)
