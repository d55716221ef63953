"""Functions of one number and of two, and choices."""

from __future__ import annotations

from transload.ir import BOOL, TensorType, Type
from transload.ir.declare import BOOL_TENSOR, FLOAT, DeclaredOp, attribute, enum, operand, result

from ..arithmetic.functions import BINARY_NAMES, RELATIONS, UNARY_NAMES
from .base import TPU, Clamped, broadcast, fail, shape_of

__all__: list[str] = []


@TPU.op("unary")
class Unary(Clamped):
    """A function of each float, in float32, rounded to the type (`not`: of each truth value).

    `add`, `mul`, `leaky_relu` and `elu` have a constant, `alpha`; `identity` only clamps.
    """

    input = operand("floats, or truth values")
    output = result("of the input's type")
    function = attribute(enum(*UNARY_NAMES), "which function")
    alpha = attribute(FLOAT, "the constant of functions that have one", default=0.0)
    traits = ("elementwise",)

    def infer(op) -> Type:
        return op.input.type


@TPU.op("binary")
class Binary(DeclaredOp):
    """A function of two floats, in float32; a relation of numbers or a connection of truth values, which give truth values.

    `floor_div` and `shift_right` are of integers, too, or alone.
    """

    a = operand("a tensor")
    b = operand("another, of the same rank and element type; sizes are equal or 1")
    output = result("of the broadcast shape")
    function = attribute(enum(*BINARY_NAMES), "which function")
    traits = ("elementwise",)

    def infer(op) -> Type:
        made = broadcast(op)
        assert isinstance(made, TensorType)  # `broadcast` gives no others
        return made.with_element(BOOL) if op.function in RELATIONS else made


@TPU.op("select")
class Select(DeclaredOp):
    """`a` where the condition holds, `b` elsewhere; all of one rank, sizes are equal or 1."""

    condition = operand("truth values", type=BOOL_TENSOR)
    a = operand("what is taken where it holds")
    b = operand("what is taken elsewhere, of the same element type")
    output = result("of the broadcast shape")
    traits = ("elementwise",)

    def infer(op) -> Type:
        shapes = [shape_of(value, op) for value in op.operands]
        if len({len(shape) for shape in shapes}) != 1 or any(len(set(sizes) - {1}) > 1 for sizes in zip(*shapes, strict=True)):
            raise fail(op, f"shapes {', '.join(map(str, shapes))} do not broadcast at one rank")
        return TensorType(tuple(
            next((size for size in sizes if size != 1), 1) for sizes in zip(*shapes, strict=True)), op.a.element)
