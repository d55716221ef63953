"""Ops over whole rows of elements."""

from __future__ import annotations

from transload.ir import I32, TensorType, Type
from transload.ir.declare import BOOLEAN, FLOAT, INT, INTS, DeclaredOp, attribute, constraint, enum, operand, result

from ..arithmetic.rows import REDUCTIONS
from .base import TPU, Rescaled, fail, shape_of

__all__: list[str] = []


@TPU.op("reduce")
class Reduce(Rescaled):
    """Elements along some dimensions as one; these stay with size 1.

    A sum of integers is `clamp(round(sum of (x - input_zero) * multiplier / 2**shift) + output_zero)`; a mean of them is such a
    sum, with the count in the multiplier. Floats are summed in float32.
    """

    input = operand("the tensor")
    output = result("sizes 1 along the axes; the element type is the caller's")
    function = attribute(enum(*REDUCTIONS), "how; a mean of floats only")
    axes = attribute(INTS, "the dimensions, from 0")
    input_zero = attribute(INT, "zero point of the input", default=0)
    multiplier = attribute(INT, "by what the sum is multiplied; absent: by nothing", optional=True)
    shift = attribute(INT, "by how many bits it is then shifted to the right", default=0)

    def infer(op) -> Type:
        shape = shape_of(op.input, op)
        if any(not 0 <= axis < len(shape) for axis in op.axes):
            raise fail(op, f"{op.input.type} has not all of the dimensions {op.axes}")
        return TensorType(tuple(1 if i in op.axes else size for i, size in enumerate(shape)), op.input.element)


@TPU.op("arg")
class Arg(DeclaredOp):
    """Where along a dimension the greatest or least element is, which stays with size 1; of equal ones the first, or the last."""

    input = operand("the tensor")
    output = result("size 1 along the axis; int32, or the caller's type")
    function = attribute(enum("max", "min"), "which extreme")
    axis = attribute(INT, "the dimension, from 0")
    last = attribute(BOOLEAN, "of equal elements the last", default=False)

    def infer(op) -> Type:
        shape = shape_of(op.input, op)
        if not 0 <= op.axis < len(shape) or not shape[op.axis]:
            raise fail(op, f"{op.input.type} has no elements along dimension {op.axis}")
        return TensorType((*shape[: op.axis], 1, *shape[op.axis + 1 :]), I32)


@TPU.op("softmax")
class Softmax(DeclaredOp):
    """Exponentials of a row over their sum.

    Of 8 bits, with `exponentials[255 + x - greatest]` in Q0.31: their sum in Q12.19, its reciprocal by three steps of Newton's
    method, the product rounded to all numbers of the result's type from 0 to 1 (LiteRT's reference kernel).
    """

    input = operand("the tensor")
    exponentials = operand("[256], int32: exp of differences from -255 to 0; absent of floats", optional=True)
    output = result("of the input's shape; the element type is the caller's")
    axis = attribute(INT, "the dimension, from 0")
    beta = attribute(FLOAT, "by what floats are multiplied before", default=1.0)
    log = attribute(BOOLEAN, "whether the logarithm of it is wanted, of floats", default=False)

    @constraint
    def table_of_integers(op) -> bool:
        """integers come with a table of 256 exponentials, floats without"""
        return op.input.is_float == (op.exponentials is None)

    def infer(op) -> Type:
        if not 0 <= op.axis < len(shape_of(op.input, op)):
            raise fail(op, f"{op.input.type} has no dimension {op.axis}")
        return op.input.type
