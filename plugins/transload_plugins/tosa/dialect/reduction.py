"""Reductions along one axis (0.30 section 2.9)."""

from __future__ import annotations

from transload.ir import TensorType
from transload.ir.declare import INT32, TENSOR, attribute, constraint, operand, result

from .base import FLOATS, NAN_MODE, TOSA, SameElements, axis_fits, axis_of, equal_sizes, same, shape_of


class Reduction(SameElements):
    """Joins the elements along one axis, whose size becomes 1."""

    input = operand("the tensor", TENSOR)
    output = result("of the same shape but 1 along the axis")
    axis = attribute(INT32, "the dimension to reduce")
    axis_in_range = axis_fits

    @constraint
    def reduced_shape(op) -> bool | str:
        """the result has size 1 along the axis, and the input's sizes elsewhere"""
        shape = shape_of(op.input)
        if shape is None:
            return True
        expected = (*shape[: op.axis], 1, *shape[op.axis + 1 :])
        return equal_sizes(expected, shape_of(op.output)) or f"{op.output.type} of {op.input.type}"

    def infer(op) -> TensorType:
        shape = shape_of(op.input)
        if shape is not None:
            axis = axis_of(op, shape)
            shape = (*shape[:axis], 1, *shape[axis + 1 :])
        return TensorType(shape, op.input.element)


@TOSA.op("reduce_all")
class ReduceAll(Reduction):
    """Whether all are true (2.9.1)."""

    datatypes = same("input output", "i1")


@TOSA.op("reduce_any")
class ReduceAny(Reduction):
    """Whether one is true (2.9.2)."""

    datatypes = same("input output", "i1")


@TOSA.op("reduce_max")
class ReduceMax(Reduction):
    """The greatest (2.9.3)."""

    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: it is passed over", default="PROPAGATE")
    datatypes = same("input output", f"i8 i16 i32 {FLOATS}")


@TOSA.op("reduce_min")
class ReduceMin(Reduction):
    """The least (2.9.4)."""

    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: it is passed over", default="PROPAGATE")
    datatypes = same("input output", f"i8 i16 i32 {FLOATS}")


@TOSA.op("reduce_product")
class ReduceProduct(Reduction):
    """The product (2.9.5)."""

    datatypes = same("input output", FLOATS)


@TOSA.op("reduce_sum")
class ReduceSum(Reduction):
    """The sum (2.9.6)."""

    datatypes = same("input output", f"i32 {FLOATS}", later="i64")
