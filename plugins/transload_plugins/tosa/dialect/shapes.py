"""Shape operators: arithmetic on `!tosa.shape` values (since 1.1, EXT-SHAPE)."""

from __future__ import annotations

from typing import Any

from transload.errors import ShapeError
from transload.ir.declare import BOOLEAN, INT32, DeclaredOp, attribute, constraint, operand, result, variadic

from .base import SCALAR, SHAPE, TOSA, axis_fits, dims_of, shape_rank, shape_type


@TOSA.op("dim")
class Dim(DeclaredOp):
    """The size of one dimension of a tensor (since 1.1)."""

    input1 = operand("the tensor")
    output = result("its size, one number", SHAPE)
    axis = attribute(INT32, "the dimension")
    axis_in_range = axis_fits
    since = "1.1"

    def infer(op) -> Any:
        return shape_type(1)


class _Elementwise(DeclaredOp):
    """Two shapes of equal length, joined number by number."""

    input1 = operand("left sizes", SHAPE)
    input2 = operand("right sizes, as many", SHAPE)
    output = result("as many sizes", SHAPE)
    since = "1.1"

    @constraint
    def lengths_agree(op) -> bool | str:
        """operands and result have the same length"""
        return op.input1.type == op.input2.type == op.output.type or f"{op.input1.type}, {op.input2.type}, {op.output.type}"

    def infer(op) -> Any:
        if op.input1.type != op.input2.type:
            raise ShapeError(f"{op.called}: {op.input1.type} and {op.input2.type}")
        return op.input1.type


class _Unary(DeclaredOp):
    """One shape, changed number by number."""

    input = operand("the sizes", SHAPE)
    output = result("as many sizes", SHAPE)
    since = "1.1"

    def infer(op) -> Any:
        return op.operands[0].type


@TOSA.op("add_shape")
class AddShape(_Elementwise):
    """Sums, number by number (since 1.1)."""


@TOSA.op("sub_shape")
class SubShape(_Elementwise):
    """Differences, number by number (since 1.1)."""


@TOSA.op("mul_shape")
class MulShape(_Elementwise):
    """Products, number by number (since 1.1)."""


@TOSA.op("div_ceil_shape")
class DivCeilShape(_Elementwise):
    """Quotients rounded up; divisors are positive (since 1.1)."""


@TOSA.op("div_floor_shape")
class DivFloorShape(_Elementwise):
    """Quotients rounded down; divisors are positive (since 1.1)."""


@TOSA.op("mod_shape")
class ModShape(_Elementwise):
    """Remainders; divisors are positive (since 1.1)."""


@TOSA.op("max_shape")
class MaxShape(_Elementwise):
    """The greater ones, number by number (since 1.1)."""


@TOSA.op("min_shape")
class MinShape(_Elementwise):
    """The lesser ones, number by number (since 1.1)."""


@TOSA.op("exp2_shape")
class Exp2Shape(_Unary):
    """Powers of two (since 1.1)."""


@TOSA.op("log2_ceil_shape")
class Log2CeilShape(_Unary):
    """Logarithms to base 2, rounded up (since 1.1)."""


@TOSA.op("log2_floor_shape")
class Log2FloorShape(_Unary):
    """Logarithms to base 2, rounded down (since 1.1)."""


@TOSA.op("concat_shape")
class ConcatShape(DeclaredOp):
    """Shapes one after the other (since 1.1)."""

    input = variadic("the shapes", SHAPE)
    output = result("all their sizes", SHAPE)
    since = "1.1"

    @constraint
    def lengths_agree(op) -> bool | str:
        """the result is as long as the operands together, each of them not empty"""
        total = sum(shape_rank(value.type) for value in op.operands)
        return (bool(op.operands) and shape_rank(op.output.type) == total) or f"{op.output.type} of {total} sizes"

    def infer(op) -> Any:
        return shape_type(sum(shape_rank(value.type) for value in op.operands))


@TOSA.op("slice_shape")
class SliceShape(DeclaredOp):
    """Some sizes of a shape, one after another (since 1.1)."""

    input = operand("the sizes", SHAPE)
    start = operand("number of the first, one i32", SCALAR)
    size = operand("how many, one i32", SCALAR)
    output = result("the sizes", SHAPE)
    since = "1.1"

    def infer(op) -> Any:
        size = dims_of(op.size)
        if size is None:
            raise ShapeError(f"{op.called}: the size must be a constant")
        return shape_type(size[0])


@TOSA.op("assert_equal_shape")
class AssertEqualShape(DeclaredOp):
    """States that two shapes are equal, or with `allow_broadcast` that they broadcast (since 1.1)."""

    input1 = operand("the sizes", SHAPE)
    input2 = operand("the sizes that they must be", SHAPE)
    allow_broadcast = attribute(BOOLEAN, "whether sizes of 1 fit any")
    traits = ("effects",)
    since = "1.1"
