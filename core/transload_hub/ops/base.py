"""The dialect object `TOP`, and what declarations of several families share."""

from __future__ import annotations

import math
from typing import Any

from transload.ir.core import Op
from transload.ir.declare import (
    BOOLEAN,
    FLOAT,
    TENSOR,
    DeclaredOp,
    Dialect,
    TypeConstraint,
    attribute,
    constraint,
    enum,
    operand,
    result,
)
from transload.ir.types import BOOL, FloatType, IndexType, IntegerType, QuantType, TensorType, Type

from .infer import same_as_input
from .rounding import rounds

__all__ = [
    "FLAG_TENSOR", "LAYOUT", "NUMBER_TENSOR", "OWN_NUMBER_TENSOR", "QUANTITY_TENSOR", "REAL_TENSOR", "TOP", "Activated",
    "Elementwise", "PerDimension", "Product", "Unary", "limit_is_a_number",
]

TOP = Dialect(
    "top",
    """
    The hub: hardware-independent, high-level operations. Names and attributes follow chapter 13 of the TPU-MLIR
    manual where it has the op, and ONNX's or TFLite's otherwise. Quantized models live here too: any value may
    have a quantized element type, and an op then means the same computation on the real numbers.
    """,
    constant="top.Weight", none="top.None")

LAYOUT = enum("NHWC", "NCHW")
"""Where the channels are: last ("NHWC") or second ("NCHW"), whatever the number of spatial dimensions."""


def _has(*kinds: type) -> Any:
    return lambda type_: isinstance(type_, TensorType) and isinstance(type_.element, kinds)


REAL_TENSOR = TypeConstraint("a tensor of floats, or a quantized one", _has(FloatType, QuantType))
NUMBER_TENSOR = TypeConstraint(
    "a tensor of numbers", _has(FloatType, QuantType, IntegerType, IndexType))
FLAG_TENSOR = TypeConstraint("a tensor of i1", lambda type_: isinstance(type_, TensorType) and type_.element == BOOL)
QUANTITY_TENSOR = TypeConstraint(
    "a tensor of numbers that are no flags", lambda type_: NUMBER_TENSOR.accepts(type_) and not FLAG_TENSOR.accepts(type_))
OWN_NUMBER_TENSOR = TypeConstraint("a tensor of numbers, of an element type of its own", NUMBER_TENSOR.accepts)


class PerDimension:
    """The default of an attribute with an entry (or `sides` of them) per entry of `kernel_shape`."""

    def __init__(self, value: int, sides: int = 1) -> None:
        self.value = value
        self.sides = sides

    def __call__(self, op: Op) -> tuple[int, ...]:
        return (self.value,) * (self.sides * len(op.attribute("kernel_shape")))

    def __repr__(self) -> str:
        return f"all {self.value}"


@constraint
def limit_is_a_number(op: Any) -> bool:
    """relu_limit is a number"""
    return not math.isnan(op.relu_limit)


class Activated(DeclaredOp):
    """Base of ops that apply a ReLU to the real value of their result when asked to."""

    do_relu = attribute(BOOLEAN, "whether to apply ReLU to the result's real value", default=False)
    relu_limit = attribute(FLOAT, "upper limit where do_relu is set; negative: no upper limit", default=-1.0)
    rounding = rounds("double", "exact", "once")

    limit_is_a_number = limit_is_a_number


class Product(Activated):
    """Base of products with weights, which a framework may compute in integers although the hub has real numbers for them."""

    dynamic_quantization = attribute(
        enum("symmetric", "asymmetric"),
        "how the framework quantizes the input when it runs, where it does; the op computes with real numbers all the same, and "
        "a verification allows for the difference", optional=True)
    rounding = rounds("double", "exact", "once", "float32")
    traits: tuple[str, ...] = ("widens",)


class Elementwise(DeclaredOp):
    """Base of elementwise ops of one operand whose result has the operand's shape and element type."""

    input = operand("the tensor", type=REAL_TENSOR)
    output = result("of the input's shape and element type", type=TENSOR)
    traits: tuple[str, ...] = ("elementwise",)

    def infer(op) -> Type:
        return same_as_input(op)


class Unary(Elementwise):
    """Base of those that are functions of numbers."""

    rounding = rounds("exact", "once")
