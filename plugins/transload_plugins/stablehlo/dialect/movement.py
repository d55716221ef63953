"""Ops that move elements: shapes, slices, padding, concatenation, constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transload.ir import Op
from transload.ir.build import constant_of
from transload.ir.declare import CONSTANT, INT, DeclaredOp, attribute, constraint, operand, result, variadic
from transload.ir.types import I32, QuantType, TensorType, Type

from ..attributes import DIMS
from ..types import (
    bits_of,
    bounds_of,
    compatible,
    element_of,
    is_complex,
    is_per_axis,
    same,
    same_shape,
    same_type,
    shape_of,
    sizes_fit,
    storage_of,
    tensor,
)
from .base import STABLEHLO, Shape, all_in, results_fit, shape_error

_operand, _result = operand, result  # the names are also those of operands
PER_TENSOR = tensor("bifcq")


def dims_of(value: Any) -> tuple[int, ...] | None:
    """The numbers in a constant, as a flat tuple; None where they are computed."""
    dense = constant_of(value)
    return None if dense is None else tuple(int(size) for size in dense.numpy().reshape(-1))


# --- shapes


@STABLEHLO.op("constant")
class Constant(DeclaredOp):
    """A constant."""

    output = _result("the value", tensor(static=True))
    value = attribute(CONSTANT, "the numbers, of a quantized tensor as they are stored")
    traits = ("constant",)

    @constraint
    def c1(op) -> bool | str:
        """(C1) value and output have the same type"""
        type_ = op.value.type
        return (storage_of(op.output) == element_of(type_) and compatible(shape_of(type_), shape_of(op.output))) or (
            f"they are {type_} and {op.output.type}"
        )

    def infer(op) -> Type:
        return op.attributes["value"].type


@STABLEHLO.op("iota")
class Iota(DeclaredOp):
    """Numbers that rise from zero along a dimension."""

    output = _result("the numbers", tensor("ifcq", static=True))
    iota_dimension = attribute(INT, "the dimension")

    @constraint
    def c1(op) -> bool:
        """(C1) iota_dimension is a dimension of the output"""
        return 0 <= op.iota_dimension < len(shape_of(op.output))


@STABLEHLO.op("dynamic_iota")
class DynamicIota(DeclaredOp):
    """`iota` of a computed shape."""

    output_shape = _operand("the sizes", tensor("n", rank=1, static=True))
    result = _result("the numbers", tensor("ifcq"))
    iota_dimension = attribute(INT, "the dimension")

    @constraint
    def c1(op) -> bool:
        """(C1) iota_dimension is below the number of sizes"""
        return 0 <= op.iota_dimension < len(shape_of(op.result))

    @constraint
    def c2(op) -> bool | str:
        """(C2) the result has as many dimensions as output_shape has sizes, and these"""
        return _says_shape(op, op.output_shape)


def _says_shape(op: Op, sizes: Any) -> bool | str:
    """Whether a tensor of sizes has as many as the result has dimensions, and, if constant, the same."""
    shape = shape_of(op.result)
    if not sizes_fit(shape_of(sizes)[0], len(shape)):
        return f"{shape_of(sizes)[0]} sizes for a result of rank {len(shape)}"
    known = dims_of(sizes)
    if known is not None and min(known, default=0) < 0:
        return f"sizes {known}, and none is below 0"
    return known is None or compatible(known, shape) or f"sizes {known} for the result {op.result.type}"


def _told_shape(op: Op) -> tuple[Any, ...]:
    """The shape of the result: what a constant operand says it is, else what its type says."""
    told = dims_of(op.operands[1]) if len(op.operands) > 1 else None
    return shape_of(op.result) if told is None else told


def _reshapes(op: Op) -> bool:
    """Whether operand and result have the same elements, of one quantization along perhaps another axis."""
    a, b = element_of(op.operands[0]), element_of(op.result)
    if not is_per_axis(op.operands[0]):
        return a == b
    return isinstance(b, QuantType) and (a.storage, a.expressed, a.scales, a.zero_points, a.storage_min, a.storage_max) == (
        b.storage,
        b.expressed,
        b.scales,
        b.zero_points,
        b.storage_min,
        b.storage_max,
    )


def _nearly_static(value: Any) -> bool:
    """Whether all sizes are known, but for one with a bound."""
    shape, bounds = shape_of(value), bounds_of(value.type) or ()
    unknown = [index for index, size in enumerate(shape) if size is None]
    return not unknown or (len(unknown) == 1 and len(bounds) == len(shape) and bounds[unknown[0]] is not None)


class _Reshaping(DeclaredOp):
    @constraint
    def c1(op) -> bool:
        """(C1) the result has the operand's element type, quantized along perhaps another axis"""
        return _reshapes(op)

    @constraint
    def c2(op) -> bool | str:
        """(C2) operand and result have the same number of elements"""
        a, b = shape_of(op.operands[0]), _told_shape(op)
        return None in a or None in b or math.prod(a) == math.prod(b) or f"{math.prod(a)} and {math.prod(b)}"

    @constraint
    def c3(op) -> bool:
        """(C3) quantized per axis, operand and result have the same size there, and as many elements before and behind"""
        if not (is_per_axis(op.operands[0]) and is_per_axis(op.result)):
            return True
        a, b = shape_of(op.operands[0]), shape_of(op.result)
        i, j = element_of(op.operands[0]).axis, element_of(op.result).axis
        if None in a or None in b:
            return True
        return a[i] == b[j] and math.prod(a[:i]) == math.prod(b[:j]) and math.prod(a[i + 1 :]) == math.prod(b[j + 1 :])


@STABLEHLO.op("reshape")
class Reshape(_Reshaping):
    """The same elements, in order, in another shape."""

    operand_ = _operand("the tensor", tensor())
    result = _result("of the new shape", tensor())

    @constraint
    def sizes_are_known(op) -> bool:
        """the result's sizes are known, but for one with a bound (dynamic_reshape takes computed ones)"""
        return _nearly_static(op.result)


@STABLEHLO.op("dynamic_reshape")
class DynamicReshape(_Reshaping):
    """`reshape` to a computed shape."""

    operand_ = _operand("the tensor", tensor())
    output_shape = _operand("the sizes", tensor("n", rank=1, static=True))
    result = _result("of the new shape", tensor())

    @constraint
    def c4(op) -> bool | str:
        """(C4) output_shape has as many sizes as the result has dimensions, and these"""
        return _says_shape(op, op.output_shape)


def broadcasts(sizes: Shape, dimensions: Sequence[int], shape: Shape) -> bool | str:
    """Whether a tensor of these sizes, which go to `dimensions` of a shape, can be repeated to that shape (C5)."""
    for size, dimension in zip(sizes, dimensions, strict=False):
        if size not in (1, None) and dimension < len(shape) and not sizes_fit(size, shape[dimension]):
            return f"size {size} to {shape[dimension]} at dimension {dimension}"
    return True


class _Broadcasting(DeclaredOp):
    broadcast_dimensions: tuple[int, ...]  # declared by each op, in its order of members

    @constraint
    def c1(op) -> bool:
        """(C1) the result has the operand's element type (quantized per axis, of other scales, zero points and axis)"""
        a, b = element_of(op.operands[0]), element_of(op.result)
        if not is_per_axis(op.operands[0]):
            return a == b
        return isinstance(b, QuantType) and (a.storage, a.expressed) == (b.storage, b.expressed)

    @constraint
    def c2(op) -> bool:
        """(C2) broadcast_dimensions has one dimension for each of the operand"""
        return len(op.broadcast_dimensions) == len(shape_of(op.operands[0]))

    @constraint
    def c3(op) -> bool:
        """(C3) broadcast_dimensions are dimensions of the result"""
        return all_in(op.broadcast_dimensions, len(shape_of(op.result)))

    @constraint
    def c4(op) -> bool:
        """(C4) broadcast_dimensions are all different"""
        return len(set(op.broadcast_dimensions)) == len(op.broadcast_dimensions)

    @constraint
    def c5(op) -> bool | str:
        """(C5) each dimension of the operand has size 1, or that of its dimension of the result"""
        return broadcasts(shape_of(op.operands[0]), op.broadcast_dimensions, _told_shape(op))

    @constraint
    def c6(op) -> bool:
        """(C6) quantized per axis, the result's axis is where the operand's goes, with its parameters where it is spread"""
        if not (is_per_axis(op.result) and is_per_axis(op.operands[0])):
            return True
        a, b = element_of(op.operands[0]), element_of(op.result)
        spread = shape_of(op.operands[0])[a.axis] == 1
        return b.axis == op.broadcast_dimensions[a.axis] and (
            not spread or (set(b.scales) == {a.scales[0]} and set(b.zero_points) == {a.zero_points[0]})
        )


@STABLEHLO.op("broadcast_in_dim")
class BroadcastInDim(_Broadcasting):
    """The operand repeated along new dimensions, and along those where its size is 1."""

    operand_ = _operand("the tensor", tensor())
    result = _result("of the larger shape", tensor())
    broadcast_dimensions = attribute(DIMS, "for each dimension of the operand, the one of the result")

    @constraint
    def sizes_are_known(op) -> bool:
        """the result's sizes are known, but for one with a bound (dynamic_broadcast_in_dim takes computed ones)"""
        return _nearly_static(op.result)


@STABLEHLO.op("dynamic_broadcast_in_dim")
class DynamicBroadcastInDim(_Broadcasting):
    """`broadcast_in_dim` to a computed shape."""

    operand_ = _operand("the tensor", tensor())
    output_dimensions = _operand("the sizes", tensor("n", rank=1, static=True))
    result = _result("of the larger shape", tensor())
    broadcast_dimensions = attribute(DIMS, "for each dimension of the operand, the one of the result")
    known_expanding_dimensions = attribute(DIMS, "dimensions of the operand that are known to be repeated", optional=True)
    known_nonexpanding_dimensions = attribute(DIMS, "dimensions of the operand that are known not to be", optional=True)

    @constraint
    def c7(op) -> bool | str:
        """(C7) output_dimensions has as many sizes as the result has dimensions, and these"""
        return _says_shape(op, op.output_dimensions)

    @constraint
    def c8(op) -> bool:
        """(C8) no dimension is known to be expanding and not, or twice"""
        both = (op.known_expanding_dimensions or ()) + (op.known_nonexpanding_dimensions or ())
        return len(set(both)) == len(both)

    @constraint
    def c9(op) -> bool:
        """(C9) known_expanding_dimensions are dimensions of the operand"""
        return all_in(op.known_expanding_dimensions or (), len(shape_of(op.operands[0])))

    @constraint
    def c10(op) -> bool:
        """(C10) known_nonexpanding_dimensions are dimensions of the operand"""
        return all_in(op.known_nonexpanding_dimensions or (), len(shape_of(op.operands[0])))


@STABLEHLO.op("transpose")
class Transpose(DeclaredOp):
    """Dimensions in another order: dimension `i` of the result is `permutation[i]` of the operand."""

    operand_ = _operand("the tensor", tensor())
    result = _result("the permuted tensor", tensor())
    permutation = attribute(DIMS, "for each dimension of the result, the one of the operand")

    @constraint
    def c1(op) -> bool:
        """(C1) the result has the operand's element type, quantized along perhaps another axis"""
        return _reshapes(op)

    @constraint
    def c2(op) -> bool:
        """(C2) permutation is one of the operand's dimensions"""
        return sorted(op.permutation) == list(range(len(shape_of(op.operands[0]))))

    @constraint
    def c3(op) -> bool | str:
        """(C3) the result's sizes are the operand's, permuted"""
        return results_fit(op)

    @constraint
    def c4(op) -> bool:
        """(C4) quantized per axis, the result's axis is where the operand's goes"""
        return not is_per_axis(op.result) or element_of(op.operands[0]).axis == op.permutation[element_of(op.result).axis]

    def infer(op) -> Type:
        shape, element = shape_of(op.operands[0]), element_of(op.operands[0])
        order = op.attributes["permutation"]
        if sorted(order) != list(range(len(shape))):
            raise shape_error(op, f"{order} is no permutation of {len(shape)} dimensions")
        if isinstance(element, QuantType) and element.axis is not None:
            element = QuantType(
                element.storage,
                element.expressed,
                element.scales,
                element.zero_points,
                order.index(element.axis),
                element.storage_min,
                element.storage_max,
            )
        return TensorType(tuple(shape[d] for d in order), element)


@STABLEHLO.op("reverse")
class Reverse(DeclaredOp):
    """Elements in reverse order along some dimensions."""

    operand_ = _operand("the tensor", PER_TENSOR)
    result = _result("of the same type", PER_TENSOR)
    dimensions = attribute(DIMS, "the dimensions")

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same type"""
        return same_type(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) dimensions are all different"""
        return len(set(op.dimensions)) == len(op.dimensions)

    @constraint
    def c3(op) -> bool:
        """(C3) dimensions are dimensions of the result"""
        return all_in(op.dimensions, len(shape_of(op.result)))

    def infer(op) -> Type:
        return op.operands[0].type


@STABLEHLO.op("concatenate")
class Concatenate(DeclaredOp):
    """Tensors one behind the other along a dimension."""

    inputs = variadic("the tensors", PER_TENSOR)
    result = _result("all of them", PER_TENSOR)
    dimension = attribute(INT, "the dimension")

    @constraint
    def c3(op) -> bool:
        """(C3) there is an input"""
        return len(op.inputs) > 0

    @constraint
    def c1(op) -> bool:
        """(C1) all inputs have the same element type"""
        return same([element_of(value) for value in op.inputs])

    @constraint
    def c4(op) -> bool:
        """(C4) dimension is a dimension of the inputs"""
        return not op.inputs or 0 <= op.dimension < len(shape_of(op.inputs[0]))

    @constraint
    def c2(op) -> bool:
        """(C2) all inputs have the same shape but for the size of the dimension"""
        shapes = [shape_of(value) for value in op.inputs]
        d = op.dimension
        return all(
            compatible(shapes[0][:d] + shapes[0][d + 1 :], s[:d] + s[d + 1 :]) and len(s) == len(shapes[0]) for s in shapes
        )

    @constraint
    def c5(op) -> bool:
        """(C5) the result has the element type of the inputs"""
        return not op.inputs or element_of(op.result) == element_of(op.inputs[0])

    @constraint
    def c6(op) -> bool | str:
        """(C6) the result has the shape of the inputs, and the sum of their sizes in the dimension"""
        return not op.inputs or results_fit(op)

    def infer(op) -> Type:
        shapes = [shape_of(value) for value in op.operands]
        d = op.attributes["dimension"]
        if not shapes or not 0 <= d < len(shapes[0]) or not same([len(shape) for shape in shapes]):
            raise shape_error(op, f"dimension {d} of inputs of shapes {shapes}")
        out: list[int | None] = []
        for index, sizes in enumerate(zip(*shapes, strict=True)):
            known = [size for size in sizes if size is not None]
            if index == d:
                out.append(sum(known) if len(known) == len(sizes) else None)
                continue
            if not same(known):
                raise shape_error(op, f"inputs of shapes {shapes} differ outside of dimension {d}")
            out.append(known[0] if known else None)
        return TensorType(tuple(out), element_of(op.operands[0]))


# --- sizes


@STABLEHLO.op("get_dimension_size")
class GetDimensionSize(DeclaredOp):
    """The size of a dimension."""

    operand_ = _operand("the tensor", tensor())
    result = _result("its size", tensor(rank=0, element=I32))
    dimension = attribute(INT, "the dimension")
    traits = ("shape_only",)

    @constraint
    def c1(op) -> bool:
        """(C1) dimension is a dimension of the operand"""
        return 0 <= op.dimension < len(shape_of(op.operands[0]))

    def infer(op) -> Type:
        return TensorType((), I32)


@STABLEHLO.op("set_dimension_size")
class SetDimensionSize(DeclaredOp):
    """The operand cut in a dimension to a computed size (an op of the dialect that its specification leaves out)."""

    operand_ = _operand("the tensor", tensor())
    size = _operand("the size", tensor(rank=0, element=I32))
    result = _result("the part", tensor())
    dimension = attribute(INT, "the dimension")

    @constraint
    def dimension_exists(op) -> bool:
        """dimension is a dimension of the operand"""
        return 0 <= op.dimension < len(shape_of(op.operands[0]))

    @constraint
    def same_elements(op) -> bool:
        """operand and result have the same element type and rank"""
        return element_of(op.operands[0]) == element_of(op.result) and len(shape_of(op.operands[0])) == len(shape_of(op.result))


@STABLEHLO.op("bitcast_convert")
class BitcastConvert(DeclaredOp):
    """The operand's bits read as elements of another type; a last dimension takes up the difference in width."""

    operand_ = _operand("the tensor", tensor())
    result = _result("the same bits", tensor())

    @constraint
    def c1(op) -> bool | str:
        """(C1) the shapes are the same, but for a last dimension of the narrower type, which makes up one element of the wider"""
        a, b = shape_of(op.operands[0]), shape_of(op.result)
        wide, narrow = bits_of(element_of(op.operands[0])), bits_of(element_of(op.result))
        if wide == narrow:
            return same_shape(op.operands[0], op.result)
        if wide < narrow:
            a, b, wide, narrow = b, a, narrow, wide
        return (len(b) == len(a) + 1 and compatible(a, b[:-1]) and (b[-1] is None or b[-1] * narrow == wide)) or (
            f"{op.operands[0].type} to {op.result.type}"
        )

    @constraint
    def c2(op) -> bool:
        """(C2) both are complex, or neither is"""
        return is_complex(op.operands[0]) == is_complex(op.result)


# --- deprecated


@STABLEHLO.op("broadcast")
class Broadcast(DeclaredOp):
    """New leading dimensions (deprecated: broadcast_in_dim)."""

    operand_ = _operand("the tensor", tensor())
    result = _result("of the larger shape", tensor())
    broadcast_sizes = attribute(DIMS, "sizes of the new dimensions")

    @constraint
    def shapes(op) -> bool | str:
        """the result has the operand's element type, and the new sizes before those of the operand"""
        a, b = op.operands[0], op.result
        return results_fit(op) if element_of(a) == element_of(b) else f"{a.type} to {b.type}"

    def infer(op) -> Type:
        return TensorType(op.attributes["broadcast_sizes"] + shape_of(op.operands[0]), element_of(op.operands[0]))
