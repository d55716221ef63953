"""Constants, absent operands, the marks of inputs, and ops that make tensors from little."""

from __future__ import annotations

import math

from transload.ir.build import constant_of
from transload.ir.declare import ANY, BOOLEAN, CONSTANT, INT, INT_TENSOR, INTS, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import I64, NONE, TensorType, Type

from .base import NUMBER_TENSOR, TOP
from .infer import fail, need_rank, same_as_input, shape_of


@TOP.op("Weight")
class Weight(DeclaredOp):
    """A constant (TPU-MLIR manual 13.1, WeightOp). A quantized one holds stored integers; its result has the quantized type."""

    output = result("the constant")
    value = attribute(CONSTANT, "the numbers, in the storage type where the result is quantized")
    traits = ("constant",)

    @constraint
    def result_is_the_constant(op) -> bool | str:
        """the result has the constant's shape, and its element type or a quantized type stored in it"""
        output, held = op.output, op.value.type
        if output.tensor_type.shape == held.shape and output.stored_element == held.element:
            return True
        return f"the constant is {held}, the result {output.type}"

    def infer(op) -> Type:
        return op.value.type


@TOP.op("None")
class Absent(DeclaredOp):
    """Stands for an optional operand that is not there (TPU-MLIR's top.None)."""

    output = result("of type none", type=ANY)

    def infer(op) -> Type:
        return NONE


@TOP.op("Input")
class Input(DeclaredOp):
    """Marks an input of the model; the value is unchanged (TPU-MLIR manual 13.1, InputOp)."""

    input = operand("the tensor")
    output = result("the same tensor")

    def infer(op) -> Type:
        return same_as_input(op)


@TOP.op("Shape")
class Shape(DeclaredOp):
    """The sizes of a tensor's dimensions (ONNX Shape, TFLite SHAPE)."""

    input = operand("the tensor; only its shape matters")
    output = result("[rank], i64 unless the caller says otherwise", type=INT_TENSOR)
    traits = ("shape_only",)

    def infer(op) -> Type:
        shape = shape_of(op.input)
        return TensorType((None if shape is None else len(shape),), I64)


@TOP.op("Range")
class Range(DeclaredOp):
    """`start, start + delta, ...` up to but without `limit` (ONNX Range, TFLite RANGE)."""

    start = operand("scalar, the first number", type=NUMBER_TENSOR)
    limit = operand("scalar, where to stop", type=NUMBER_TENSOR)
    delta = operand("scalar, the step", type=NUMBER_TENSOR)
    output = result("[max(ceil((limit - start) / delta), 0)]")

    def infer(op) -> Type:
        if any(size not in (1, None) for bound in op.operands for size in shape_of(bound) or ()):
            fail(op, f"each bound is one number, and they are {', '.join(str(bound.type) for bound in op.operands)}")
        bounds = [constant_of(value) for value in (op.start, op.limit, op.delta)]
        if None in bounds:
            return TensorType((None,), op.start.element)
        start, limit, delta = (bound.numpy().reshape(-1)[0].item() for bound in bounds)  # type: ignore[union-attr]
        if (why := no_range(start, limit, delta)) is not None:
            fail(op, why)
        return TensorType((range_length(start, limit, delta),), op.start.element)


def no_range(start: float, limit: float, delta: float) -> str | None:
    """Why a range of these numbers has no length, in words; None where it has one."""
    if delta == 0:
        return "the step is 0"
    finite = all(map(math.isfinite, (start, limit, delta))) and math.isfinite((limit - start) / delta)
    return None if finite else f"from {start} to {limit} by steps of {delta} are no numbers that can be counted"


def range_length(start: float, limit: float, delta: float) -> int:
    """How many numbers `Range` makes; exact for integers of any size."""
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return len(range(start, limit, delta))
    return max(math.ceil((limit - start) / delta), 0)


@TOP.op("Fill")
class Fill(DeclaredOp):
    """A tensor with `value` in every place (ONNX ConstantOfShape, TFLite FILL)."""

    value = operand("scalar, or a tensor of one element")
    output = result("of the given shape")
    shape = attribute(INTS, "the result's shape")

    @constraint
    def sizes_are_not_negative(op) -> bool:
        """no size in `shape` is negative"""
        return min(op.attribute("shape"), default=0) >= 0

    def infer(op) -> Type:
        if any(size not in (1, None) for size in shape_of(op.value) or ()):
            fail(op, f"the value is one number, and is {op.value.type}")
        return TensorType(tuple(op.attribute("shape")), op.value.element)


@TOP.op("EyeLike")
class EyeLike(DeclaredOp):
    """Ones on diagonal number `k`, zeros elsewhere, in the shape of a matrix (ONNX EyeLike)."""

    input = operand("a matrix; only its shape matters")
    output = result("of the input's shape")
    k = attribute(INT, "which diagonal: 0 the main one, positive above it", default=0)
    traits = ("shape_only", "retypes")

    def infer(op) -> Type:
        need_rank(op, op.input, "the input", (2,))
        return same_as_input(op)


@TOP.op("Trilu")
class Trilu(DeclaredOp):
    """The upper or lower triangle of each matrix, zeros elsewhere (ONNX Trilu)."""

    input = operand("[.., rows, columns]")
    output = result("of the input's shape")
    upper = attribute(BOOLEAN, "keep what is on and above diagonal k (else: on and below)", default=True)
    k = attribute(INT, "the diagonal: 0 the main one, positive above it", default=0)

    def infer(op) -> Type:
        need_rank(op, op.input, "the input", least=2)
        return same_as_input(op)


@TOP.op("NonZero")
class NonZero(DeclaredOp):
    """The subscripts of all elements that are not zero, in row-major order (ONNX NonZero; TFLite WHERE is its transpose)."""

    input = operand("the tensor")
    output = result("[rank, how many], i64; the number is known only at run time", type=INT_TENSOR)

    def infer(op) -> Type:
        shape = shape_of(op.input)
        rank = None if shape is None else max(len(shape), 1)
        held = constant_of(op.input)
        if held is not None and shape is not None:
            return TensorType((rank, int((held.numpy() != 0).sum())), I64)
        return TensorType((rank, None), I64)
