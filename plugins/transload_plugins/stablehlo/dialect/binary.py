"""Element-wise ops of two and three operands: arithmetic, comparison, selection, conversion."""

from __future__ import annotations

from transload.ir import Op
from transload.ir.declare import DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import BOOL, ComplexType, QuantType, TensorType, Type

from ..attributes import COMPARISON, COMPARISON_TYPE
from ..types import (
    baseline,
    element_of,
    expressed_of,
    is_complex,
    is_float,
    is_per_axis,
    is_quantized,
    same,
    same_baseline,
    same_shape,
    same_type,
    shape_of,
    storage_of,
    tensor,
)
from .base import STABLEHLO, merged_shape
from .elementwise import ELEMENTWISE, SameType, first_type

# --- families: what ops of the same signature and constraint share


class _IntBinary(SameType):
    lhs = operand("the tensor", tensor("i"))
    rhs = operand("how many bits, element by element", tensor("i"))
    result = result("of the same type", tensor("i"))


class _Logical(SameType):
    traits = ("elementwise", "commutative")
    lhs = operand("the first tensor", tensor("bi"))
    rhs = operand("the second tensor", tensor("bi"))
    result = result("of the same type", tensor("bi"))


class _Binary(DeclaredOp):
    traits: tuple[str, ...] = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) lhs, rhs and the result have the same type, but for scales and zero points"""
        return same_baseline(*op.operands, op.result)

    infer = first_type


class _Arithmetic(_Binary):
    lhs = operand("the left operand", tensor("ifcq"))
    rhs = operand("the right operand", tensor("ifcq"))
    result = result("of the same shape", tensor("ifcq"))


class _AnyBinary(_Binary):
    traits = ("elementwise", "commutative")
    lhs = operand("the first operand", tensor("bifcq"))
    rhs = operand("the second operand", tensor("bifcq"))
    result = result("of the same shape", tensor("bifcq"))


# --- two operands


@STABLEHLO.op("add")
class Add(DeclaredOp):
    """Sum; of booleans their disjunction."""

    lhs = operand("the first operand", tensor())
    rhs = operand("the second operand", tensor())
    result = result("of the same shape", tensor())
    traits = ("elementwise", "commutative")

    @constraint
    def c1(op) -> bool | str:
        """(C1) without quantization, lhs, rhs and the result have the same type"""
        return True if any(map(is_quantized, (*op.operands, op.result))) else same_type(*op.operands, op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) lhs, rhs and the result are all quantized, or none is"""
        return same([is_quantized(value) for value in (*op.operands, op.result)])

    @constraint
    def c3(op) -> bool:
        """(C3) lhs, rhs and the result have the same storage type"""
        return same([storage_of(value) for value in (*op.operands, op.result)])

    @constraint
    def c4(op) -> bool:
        """(C4) lhs, rhs and the result have the same expressed type"""
        return same([expressed_of(value) for value in (*op.operands, op.result)])

    @constraint
    def c5(op) -> bool:
        """(C5) the result is quantized per axis if, and only if, an operand is"""
        return (is_per_axis(op.lhs) or is_per_axis(op.rhs)) == is_per_axis(op.result)

    @constraint
    def c6(op) -> bool:
        """(C6) lhs quantized per axis is so along the result's axis"""
        return not is_per_axis(op.lhs) or element_of(op.lhs).axis == getattr(element_of(op.result), "axis", None)

    @constraint
    def c7(op) -> bool:
        """(C7) rhs quantized per axis is so along the result's axis"""
        return not is_per_axis(op.rhs) or element_of(op.rhs).axis == getattr(element_of(op.result), "axis", None)

    @constraint
    def same_shapes(op) -> bool | str:
        """lhs, rhs and the result have the same shape"""
        return same_shape(*op.operands, op.result)

    infer = first_type


@STABLEHLO.op("and")
class And(_Logical):
    """Of booleans the conjunction, of integers bit by bit."""


@STABLEHLO.op("or")
class Or(_Logical):
    """Of booleans the disjunction, of integers bit by bit."""


@STABLEHLO.op("xor")
class Xor(_Logical):
    """Whether just one is true, of integers bit by bit."""


@STABLEHLO.op("atan2")
class Atan2(_Binary):
    """The angle of the point (rhs, lhs)."""

    lhs = operand("y", tensor("fcq"))
    rhs = operand("x", tensor("fcq"))
    result = result("of the same shape", tensor("fcq"))


@STABLEHLO.op("complex")
class Complex(DeclaredOp):
    """Complex numbers of real and imaginary parts."""

    lhs = operand("real parts", tensor("f"))
    rhs = operand("imaginary parts", tensor("f"))
    result = result("of the same shape", tensor("c"))
    traits = ELEMENTWISE

    @constraint
    def i1(op) -> bool:
        """(I1, I2) the parts are f32 or f64"""
        return all(str(element_of(value)) in ("f32", "f64") for value in op.operands)

    @constraint
    def c1(op) -> bool | str:
        """(C1) lhs and rhs have the same type"""
        return same_type(*op.operands)

    @constraint
    def c2(op) -> bool | str:
        """(C2) the result has the shape of lhs"""
        return same_shape(op.lhs, op.result)

    @constraint
    def c3(op) -> bool:
        """(C3) the result is complex, of parts of the type of lhs"""
        return element_of(op.result) == ComplexType(element_of(op.lhs))

    def infer(op) -> Type:
        return TensorType(merged_shape(op, op.operands), ComplexType(element_of(op.operands[0])))


@STABLEHLO.op("divide")
class Divide(_Arithmetic):
    """Quotient; of integers, its fraction cut off."""


@STABLEHLO.op("maximum")
class Maximum(_AnyBinary):
    """The greater number, NaN where one is; of booleans the disjunction; complex numbers by real, then imaginary part."""


@STABLEHLO.op("minimum")
class Minimum(_AnyBinary):
    """The lesser number, NaN where one is; of booleans the conjunction; complex numbers by real, then imaginary part."""


@STABLEHLO.op("multiply")
class Multiply(_AnyBinary):
    """Product; of booleans the conjunction."""


@STABLEHLO.op("power")
class Power(_Arithmetic):
    """lhs to the power of rhs."""


@STABLEHLO.op("remainder")
class Remainder(_Arithmetic):
    """What division towards zero leaves; it has the sign of lhs."""


@STABLEHLO.op("shift_left")
class ShiftLeft(_IntBinary):
    """Bits moved up."""


@STABLEHLO.op("shift_right_arithmetic")
class ShiftRightArithmetic(_IntBinary):
    """Bits moved down, the sign kept."""


@STABLEHLO.op("shift_right_logical")
class ShiftRightLogical(_IntBinary):
    """Bits moved down, zeros moved in."""


@STABLEHLO.op("subtract")
class Subtract(_Arithmetic):
    """Difference."""


# --- comparison, selection, conversion


def _default_comparison(op: Op) -> str:
    element = element_of(op.operands[0])
    if isinstance(element, QuantType) or is_float(op.operands[0]) or is_complex(op.operands[0]):
        return "FLOAT"
    return "UNSIGNED" if element == BOOL or getattr(element, "unsigned", False) else "SIGNED"


@STABLEHLO.op("compare")
class Compare(DeclaredOp):
    """Comparison; of floats as IEEE-754's quiet comparisons, or in total order; complex numbers by real, then imaginary part."""

    lhs = operand("the left operand", tensor("bifcq"))
    rhs = operand("the right operand", tensor("bifcq"))
    result = result("whether it holds", tensor("b"))
    comparison_direction = attribute(COMPARISON, "how lhs is to be to rhs")
    compare_type = attribute(COMPARISON_TYPE, "in what order numbers are", default=_default_comparison)
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool:
        """(C1) lhs and rhs have the same element type, but for scales and zero points"""
        return baseline(op.lhs) == baseline(op.rhs)

    @constraint
    def c2(op) -> bool | str:
        """(C2) lhs, rhs and the result have the same shape"""
        return same_shape(op.lhs, op.rhs, op.result)

    @constraint
    def c3(op) -> bool | str:
        """(C3) compare_type is SIGNED, UNSIGNED (of booleans, too), or FLOAT or TOTALORDER of floats, as the elements are"""
        natural = _default_comparison(op)
        allowed = {natural, "NOTYPE"}
        if is_float(op.lhs):
            allowed.add("TOTALORDER")
        return op.compare_type in allowed or f"it is {op.compare_type} for {element_of(op.lhs)}"

    def infer(op) -> Type:
        return TensorType(merged_shape(op, op.operands), BOOL)


@STABLEHLO.op("select")
class Select(DeclaredOp):
    """on_true where the condition holds, on_false elsewhere."""

    pred = operand("the condition, one for all or one an element", tensor("b"))
    on_true = operand("chosen where it holds", tensor("bifcQ"))
    on_false = operand("chosen where it does not", tensor("bifcQ"))
    result = result("of their shape", tensor("bifcQ"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) pred has rank 0 or the shape of on_true"""
        return shape_of(op.pred) == () or same_shape(op.pred, op.on_true)

    @constraint
    def c2(op) -> bool | str:
        """(C2) on_true, on_false and the result have the same type, but for scales and zero points"""
        return same_baseline(op.on_true, op.on_false, op.result)

    def infer(op) -> Type:
        return TensorType(merged_shape(op, op.operands[1:]), element_of(op.operands[1]))


_operand, _result = operand, result  # the names are also those of operands


@STABLEHLO.op("clamp")
class Clamp(DeclaredOp):
    """Numbers brought between a least and a greatest one: `minimum(maximum(operand, min), max)`."""

    min = _operand("the least, one for all or one an element", tensor("bifcq"))
    operand_ = _operand("the tensor", tensor("bifcq"))
    max = _operand("the greatest, one for all or one an element", tensor("bifcq"))
    result = _result("of the operand's shape", tensor("bifcq"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) min has rank 0 or the operand's shape"""
        return shape_of(op.operands[0]) == () or same_shape(op.operands[0], op.operands[1])

    @constraint
    def c2(op) -> bool | str:
        """(C2) max has rank 0 or the operand's shape"""
        return shape_of(op.operands[2]) == () or same_shape(op.operands[2], op.operands[1])

    @constraint
    def c3(op) -> bool:
        """(C3) min, operand and max have the same element type, but for scales and zero points"""
        return same([baseline(value) for value in op.operands])

    @constraint
    def c4(op) -> bool | str:
        """(C4) operand and result have the same type, but for scales and zero points"""
        return same_baseline(op.operands[1], op.result)

    def infer(op) -> Type:
        return op.operands[1].type


@STABLEHLO.op("convert")
class Convert(DeclaredOp):
    """Numbers as another type: floats to integers cut off, to booleans whether not zero, of complex ones the real part."""

    operand_ = _operand("the tensor", tensor("bifc"))
    result = _result("of the same shape", tensor("bifc"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same shape"""
        return same_shape(op.operands[0], op.result)


@STABLEHLO.op("uniform_quantize")
class UniformQuantize(DeclaredOp):
    """Floats, or quantized numbers, as numbers of the result's quantized type."""

    operand_ = _operand("the tensor", tensor("fQ"))
    result = _result("of the same shape", tensor("Q"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same shape"""
        return same_shape(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) the result's expressed type is the operand's, or the operand's element type where that is a float"""
        return expressed_of(op.result) == expressed_of(op.operands[0])


@STABLEHLO.op("uniform_dequantize")
class UniformDequantize(DeclaredOp):
    """Quantized numbers as the floats they stand for."""

    operand_ = _operand("the tensor", tensor("Q"))
    result = _result("of the same shape", tensor("f"))
    traits = ELEMENTWISE

    @constraint
    def c1(op) -> bool | str:
        """(C1) operand and result have the same shape"""
        return same_shape(op.operands[0], op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) the result has the operand's expressed type"""
        return element_of(op.result) == expressed_of(op.operands[0])

    def infer(op) -> Type:
        return TensorType(shape_of(op.operands[0]), expressed_of(op.operands[0]))
