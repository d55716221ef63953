"""Element-wise ops of one operand."""

from __future__ import annotations

from transload.ir import Op
from transload.ir.declare import INT32, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import BOOL, ComplexType, TensorType, Type

from ..attributes import ACCURACY
from ..types import (
    baseline,
    element_of,
    same_baseline,
    same_shape,
    same_type,
    shape_of,
    tensor,
)
from .base import STABLEHLO, merged_shape

ELEMENTWISE: tuple[str, ...] = ("elementwise",)


def first_type(op: Op) -> Type:
    """All operands' common shape with the first operand's elements."""
    return TensorType(merged_shape(op, op.operands), element_of(op.operands[0]))


# --- families: what ops of the same signature and constraint share


class _Unary(DeclaredOp):
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same type, but for scales and zero points"""
        return same_baseline(op.operands[0], op.result)

    infer = first_type


class _FloatUnary(_Unary):
    operand_ = operand("the tensor", tensor("fq"))
    result = result("of the same shape", tensor("fq"))


class _ComplexUnary(_Unary):
    operand_ = operand("the tensor", tensor("fcq"))
    result = result("of the same shape", tensor("fcq"))
    result_accuracy = attribute(ACCURACY, "how near it must come", optional=True)


class SameType(DeclaredOp):
    traits: tuple[str, ...] = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) all operands and the result have the same type"""
        return same_type(*op.operands, op.result)

    infer = first_type


class _IntUnary(SameType):
    operand_ = operand("the tensor", tensor("i"))
    result = result("of the same type", tensor("i"))


# --- one operand


@STABLEHLO.op("abs")
class Abs(DeclaredOp):
    """Absolute value; of complex numbers their modulus, which is a float."""

    operand_ = operand("the tensor", tensor("sfcq"))
    result = result("of the same shape", tensor("sfq"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) the result has the shape of the operand"""
        return same_shape(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool | str:
        """(C2) the result has the operand's element type, of a complex one that of its parts"""
        element = element_of(op.operands[0])
        return baseline(op.result) == (element.element if isinstance(element, ComplexType) else baseline(op.operands[0]))

    def infer(op) -> Type:
        return _real_type(op)


def _real_type(op: Op) -> Type:
    element = element_of(op.operands[0])
    return TensorType(shape_of(op.operands[0]), element.element if isinstance(element, ComplexType) else element)


@STABLEHLO.op("cbrt")
class Cbrt(_ComplexUnary):
    """Cubic root, `rootn(x, 3)`; of complex numbers the principal one."""


@STABLEHLO.op("ceil")
class Ceil(_FloatUnary):
    """The least integer that is not below, IEEE-754 `roundToIntegralTowardPositive`."""


@STABLEHLO.op("cosine")
class Cosine(_ComplexUnary):
    """Cosine."""


@STABLEHLO.op("count_leading_zeros")
class CountLeadingZeros(_IntUnary):
    """How many bits from the highest one down are zero."""


@STABLEHLO.op("exponential")
class Exponential(_ComplexUnary):
    """The exponential function."""


@STABLEHLO.op("exponential_minus_one")
class ExponentialMinusOne(_ComplexUnary):
    """`exp(x) - 1`, exact near zero."""


@STABLEHLO.op("floor")
class Floor(_FloatUnary):
    """The greatest integer that is not above, IEEE-754 `roundToIntegralTowardNegative`."""


class _Part(DeclaredOp):
    operand_ = operand("the tensor", tensor("fc"))
    result = result("of the same shape", tensor("f"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) the result has the shape of the operand"""
        return same_shape(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool | str:
        """(C2) the result has the operand's element type, of a complex one that of its parts"""
        return element_of(op.result) == element_of(_real_type(op))

    infer = _real_type


@STABLEHLO.op("imag")
class Imag(_Part):
    """The imaginary part; zero of what is not complex."""


@STABLEHLO.op("real")
class Real(_Part):
    """The real part."""


@STABLEHLO.op("is_finite")
class IsFinite(DeclaredOp):
    """Whether a number is neither infinite nor NaN; always of quantized ones."""

    x = operand("the tensor", tensor("fq"))
    y = result("of the same shape", tensor("b"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) x and y have the same shape"""
        return same_shape(op.x, op.y)

    def infer(op) -> Type:
        return TensorType(shape_of(op.operands[0]), BOOL)


@STABLEHLO.op("log")
class Log(_ComplexUnary):
    """Natural logarithm."""


@STABLEHLO.op("log_plus_one")
class LogPlusOne(_ComplexUnary):
    """`log(x + 1)`, exact near zero."""


@STABLEHLO.op("logistic")
class Logistic(_ComplexUnary):
    """`1 / (1 + exp(-x))`."""


@STABLEHLO.op("negate")
class Negate(_Unary):
    """`-x`; of unsigned integers, of the same bits read as signed."""

    operand_ = operand("the tensor", tensor("ifcq"))
    result = result("of the same shape", tensor("ifcq"))


@STABLEHLO.op("not")
class Not(SameType):
    """Of booleans the logical, of integers the bitwise complement."""

    operand_ = operand("the tensor", tensor("bi"))
    result = result("of the same type", tensor("bi"))


@STABLEHLO.op("popcnt")
class Popcnt(_IntUnary):
    """How many bits are set."""


@STABLEHLO.op("round_nearest_afz")
class RoundNearestAfz(_FloatUnary):
    """The nearest integer, halves away from zero (IEEE-754 `roundToIntegralTiesToAway`)."""


@STABLEHLO.op("round_nearest_even")
class RoundNearestEven(_FloatUnary):
    """The nearest integer, halves to the even one (IEEE-754 `roundToIntegralTiesToEven`)."""


@STABLEHLO.op("rsqrt")
class Rsqrt(_ComplexUnary):
    """Reciprocal of the square root."""


@STABLEHLO.op("sign")
class Sign(_Unary):
    """-1, 0 or 1; NaN of NaN, a zero of a zero with its sign; of complex numbers `x / abs(x)`."""

    operand_ = operand("the tensor", tensor("sfcq"))
    result = result("of the same shape", tensor("sfcq"))


@STABLEHLO.op("sine")
class Sine(_ComplexUnary):
    """Sine."""


@STABLEHLO.op("sqrt")
class Sqrt(_ComplexUnary):
    """Square root."""


@STABLEHLO.op("tan")
class Tan(_ComplexUnary):
    """Tangent."""


@STABLEHLO.op("tanh")
class Tanh(_ComplexUnary):
    """Hyperbolic tangent."""


@STABLEHLO.op("reduce_precision")
class ReducePrecision(DeclaredOp):
    """The number as a float of fewer bits would hold it: rounded to even, then overflown to infinity or flushed to zero."""

    operand_ = operand("the tensor", tensor("fq"))
    output = result("of the same shape", tensor("fq"))
    exponent_bits = attribute(INT32, "bits of the exponent")
    mantissa_bits = attribute(INT32, "bits of the mantissa")
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and output have the same type, but for scales and zero points"""
        return same_baseline(op.operands[0], op.output)

    @constraint
    def c2(op) -> bool:
        """(C2) exponent_bits is at least 1"""
        return op.exponent_bits >= 1

    @constraint
    def c3(op) -> bool:
        """(C3) mantissa_bits is not negative"""
        return op.mantissa_bits >= 0

    infer = first_type
