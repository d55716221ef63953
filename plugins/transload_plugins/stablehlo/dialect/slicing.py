"""Ops that take parts of tensors, replace them, and pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.ir import Op
from transload.ir.core import Value
from transload.ir.declare import DeclaredOp, attribute, constraint, operand, result, variadic
from transload.ir.types import TensorType, Type

from ..attributes import DIMS
from ..types import (
    compatible,
    element_of,
    same,
    same_type,
    shape_of,
    sizes_fit,
    tensor,
)
from .base import STABLEHLO, Shape, dilated, results_fit, shape_error
from .movement import dims_of

_operand, _result = operand, result  # the names are also those of operands
PER_TENSOR = tensor("bifcq")


# --- slices


@STABLEHLO.op("slice")
class Slice(DeclaredOp):
    """Every `strides`-th element from `start_indices` up to, and without, `limit_indices`."""

    operand_ = _operand("the tensor", PER_TENSOR)
    result = _result("the part", PER_TENSOR)
    start_indices = attribute(DIMS, "the first element, a number a dimension")
    limit_indices = attribute(DIMS, "behind the last element")
    strides = attribute(DIMS, "distance of elements")

    @constraint
    def c1(op) -> bool:
        """(C1) operand and result have the same element type"""
        return element_of(op.operands[0]) == element_of(op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) start_indices, limit_indices and strides have a number for each dimension of the operand"""
        return {len(op.start_indices), len(op.limit_indices), len(op.strides)} == {len(shape_of(op.operands[0]))}

    @constraint
    def c3(op) -> bool | str:
        """(C3) 0 <= start_indices <= limit_indices <= shape(operand)"""
        return lies_inside(op.start_indices, op.limit_indices, shape_of(op.operands[0]))

    @constraint
    def c4(op) -> bool:
        """(C4) strides are positive"""
        return all(stride > 0 for stride in op.strides)

    @constraint
    def c5(op) -> bool | str:
        """(C5) the result has size `ceil((limit - start) / stride)` in each dimension"""
        return results_fit(op)

    def infer(op) -> Type:
        a = op.attributes
        return TensorType(sliced_sizes(op, a["start_indices"], a["limit_indices"], a["strides"]), element_of(op.operands[0]))


def lies_inside(starts: Sequence[int], limits: Sequence[int], sizes: Shape) -> bool | str:
    """Whether the bounds of a slice are in order, and inside of a tensor of these sizes."""
    bounds = zip(starts, limits, sizes, strict=False)
    return all(0 <= a <= b and (size is None or b <= size) for a, b, size in bounds) or (
        f"{tuple(starts)} to {tuple(limits)} of shape {sizes}"
    )


def sliced_sizes(op: Op, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> Shape:
    """Sizes of a slice; `ShapeError` where its strides are not positive, or not as many as the operand has dimensions."""
    if any(stride <= 0 for stride in strides):
        raise shape_error(op, "strides must be positive")
    shape = tuple(-((start - limit) // stride) for start, limit, stride in zip(starts, limits, strides, strict=False))
    if len(shape) != len(shape_of(op.operands[0])):
        raise shape_error(op, f"{len(shape)} bounds for a tensor of rank {len(shape_of(op.operands[0]))}")
    return shape


@STABLEHLO.op("real_dynamic_slice")
class RealDynamicSlice(DeclaredOp):
    """`slice` with computed bounds (an op of the dialect that its specification leaves out)."""

    operand_ = _operand("the tensor", PER_TENSOR)
    start_indices = _operand("the first element", tensor("n", rank=1, static=True))
    limit_indices = _operand("behind the last element", tensor("n", rank=1, static=True))
    strides = _operand("distance of elements", tensor("n", rank=1, static=True))
    result = _result("the part", PER_TENSOR)

    @constraint
    def same_elements(op) -> bool:
        """operand and result have the same element type and rank"""
        return element_of(op.operands[0]) == element_of(op.result) and len(shape_of(op.operands[0])) == len(shape_of(op.result))

    @constraint
    def bounds_are_of_one_type(op) -> bool:
        """start_indices, limit_indices and strides have the same type, a number a dimension"""
        types = {value.type for value in op.operands[1:]}
        return len(types) == 1 and shape_of(op.start_indices) == (len(shape_of(op.operands[0])),)

    @constraint
    def bounds_lie_inside(op) -> bool | str:
        """constant bounds have 0 <= start_indices <= limit_indices <= shape(operand), as those of slice"""
        starts, limits = dims_of(op.start_indices), dims_of(op.limit_indices)
        return starts is None or limits is None or lies_inside(starts, limits, shape_of(op.operands[0]))

    @constraint
    def strides_are_positive(op) -> bool:
        """constant strides are positive"""
        return all(stride > 0 for stride in dims_of(op.strides) or ())

    @constraint
    def result_fits(op) -> bool | str:
        """of constant bounds, the result has size `ceil((limit - start) / stride)` in each dimension"""
        starts, limits, strides = map(dims_of, op.operands[1:])
        if starts is None or limits is None or strides is None or min(strides, default=1) <= 0:
            return True
        sizes = sliced_sizes(op, starts, limits, strides)
        return compatible(sizes, shape_of(op.result)) or f"{list(sizes)} for the result {op.result.type}"


@STABLEHLO.op("dynamic_slice")
class DynamicSlice(DeclaredOp):
    """A part of a given size from a computed start, moved so that it lies inside."""

    operand_ = _operand("the tensor", PER_TENSOR)
    start_indices = variadic("the first element, a scalar a dimension", tensor("i", rank=0))
    result = _result("the part", PER_TENSOR)
    slice_sizes = attribute(DIMS, "sizes of the part")

    @constraint
    def c1(op) -> bool:
        """(C1) operand and result have the same element type"""
        return element_of(op.operands[0]) == element_of(op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) start_indices and slice_sizes have a number for each dimension of the operand"""
        return len(op.start_indices) == len(op.slice_sizes) == len(shape_of(op.operands[0]))

    @constraint
    def c3(op) -> bool:
        """(C3) start_indices all have the same type"""
        return same([value.type for value in op.start_indices])

    @constraint
    def c4(op) -> bool:
        """(C4) 0 <= slice_sizes <= shape(operand)"""
        return all(
            size >= 0 and (most is None or size <= most)
            for size, most in zip(op.slice_sizes, shape_of(op.operands[0]), strict=False)
        )

    @constraint
    def c5(op) -> bool | str:
        """(C5) the result has the shape slice_sizes"""
        return results_fit(op)

    def infer(op) -> Type:
        return TensorType(op.attributes["slice_sizes"], element_of(op.operands[0]))


@STABLEHLO.op("dynamic_update_slice")
class DynamicUpdateSlice(DeclaredOp):
    """The operand with a part replaced, from a computed start, moved so that it lies inside."""

    operand_ = _operand("the tensor", PER_TENSOR)
    update = _operand("the part", PER_TENSOR)
    start_indices = variadic("its first element, a scalar a dimension", tensor("i", rank=0))
    result = _result("of the operand's type", PER_TENSOR)

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same type"""
        return same_type(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) update has the operand's element type"""
        return element_of(op.update) == element_of(op.operands[0])

    @constraint
    def c3(op) -> bool:
        """(C3) update has the operand's rank"""
        return len(shape_of(op.update)) == len(shape_of(op.operands[0]))

    @constraint
    def c4(op) -> bool:
        """(C4) start_indices has a scalar for each dimension of the operand"""
        return len(op.start_indices) == len(shape_of(op.operands[0]))

    @constraint
    def c5(op) -> bool:
        """(C5) start_indices all have the same type"""
        return same([value.type for value in op.start_indices])

    @constraint
    def c6(op) -> bool:
        """(C6) 0 <= shape(update) <= shape(operand)"""
        return all(a is None or b is None or a <= b for a, b in zip(shape_of(op.update), shape_of(op.operands[0]), strict=False))

    def infer(op) -> Type:
        return op.operands[0].type


# --- padding


class _Padding(DeclaredOp):
    padding_value: Value  # declared by each op, in its order of members

    @constraint
    def c1(op) -> bool:
        """(C1) operand, padding_value and result have the same element type"""
        return same([element_of(value) for value in (op.operands[0], op.padding_value, op.result)])


@STABLEHLO.op("pad")
class Pad(_Padding):
    """Elements put around the operand and between its elements; negative padding takes elements away."""

    operand_ = _operand("the tensor", PER_TENSOR)
    padding_value = _operand("the element", tensor("bifcq", rank=0))
    result = _result("the larger tensor", PER_TENSOR)
    edge_padding_low = attribute(DIMS, "how many before, a number a dimension")
    edge_padding_high = attribute(DIMS, "how many behind")
    interior_padding = attribute(DIMS, "how many between any two")

    @constraint
    def c2(op) -> bool:
        """(C2) edge_padding_low, edge_padding_high and interior_padding have a number for each dimension of the operand"""
        return {len(op.edge_padding_low), len(op.edge_padding_high), len(op.interior_padding)} == {len(shape_of(op.operands[0]))}

    @constraint
    def c3(op) -> bool:
        """(C3) interior_padding is not negative"""
        return all(number >= 0 for number in op.interior_padding)

    @constraint
    def c4(op) -> bool | str:
        """(C4) the result's sizes are the operand's with the padding"""
        return results_fit(op)

    def infer(op) -> Type:
        a = op.attributes
        sizes = padded_sizes(op, a["edge_padding_low"], a["edge_padding_high"], a["interior_padding"])
        return TensorType(sizes, element_of(op.operands[0]))


def padded_sizes(op: Op, low: Any, high: Any, interior: Any) -> Shape:
    """Sizes after padding; `ShapeError` where more is taken away than there is."""
    shape = shape_of(op.operands[0])
    if not len(low) == len(high) == len(interior) == len(shape):
        raise shape_error(
            op, f"padding of {len(low)}, {len(high)} and {len(interior)} dimensions for a tensor of rank {len(shape)}"
        )
    out: list[int | None] = []
    for size, a, b, between in zip(shape, low, high, interior, strict=True):
        extent = dilated(size, between + 1)
        out.append(None if extent is None else extent + a + b)
        if extent is not None and extent + a + b < 0:
            raise shape_error(op, f"padding {a} and {b} takes away more than the {extent} there are")
    return tuple(out)


@STABLEHLO.op("dynamic_pad")
class DynamicPad(_Padding):
    """`pad` with computed paddings."""

    operand_ = _operand("the tensor", PER_TENSOR)
    padding_value = _operand("the element", tensor("bifcq", rank=0))
    edge_padding_low = _operand("how many before, a number a dimension", tensor("n", rank=1, static=True))
    edge_padding_high = _operand("how many behind", tensor("n", rank=1, static=True))
    interior_padding = _operand("how many between any two", tensor("n", rank=1, static=True))
    result = _result("the larger tensor", PER_TENSOR)

    @constraint
    def c2(op) -> bool:
        """(C2) edge_padding_low, edge_padding_high and interior_padding have a number for each dimension of the operand"""
        rank = len(shape_of(op.operands[0]))
        return all(sizes_fit(shape_of(value)[0], rank) for value in op.operands[2:])

    @constraint
    def c3(op) -> bool:
        """(C3) interior_padding is not negative"""
        return all(number >= 0 for number in dims_of(op.interior_padding) or ())

    @constraint
    def c4(op) -> bool | str:
        """(C4) the result's sizes are the operand's with the padding"""
        known = [dims_of(value) for value in op.operands[2:]]
        if any(numbers is None for numbers in known):
            return len(shape_of(op.operands[0])) == len(shape_of(op.result))
        return compatible(padded_sizes(op, *known), shape_of(op.result))
