"""Activation, elementwise, selection and comparison operators (0.30 sections 2.4 to 2.8)."""

from __future__ import annotations

from transload.ir import BOOL, I8, I16, I32, TensorType
from transload.ir.declare import BOOLEAN, DeclaredOp, attribute, constraint, operand, result

from .base import (
    BOUND,
    FLOATS,
    NAN_MODE,
    SCALAR,
    TOSA,
    DataTypes,
    SameElements,
    bound_type,
    broadcast,
    dims_of,
    equal_sizes,
    inferred_shapes_fit,
    rank,
    same,
    shape_of,
    storage_of,
    typed_rows,
    zero_points_fit,
)

SHIFTED = same("input1 input2 output", "i8 i16 i32", later="i64")
LOGICAL = same("input1 input2 output", "i1")
ARITHMETIC = same("input1 input2 output", f"i32 {FLOATS}", later="i64")
COMPARED = typed_rows("input1 input2 output", *(f"{t} {t} i1" for t in f"i32 {FLOATS}".split()), later=("i64 i64 i1",))


class SameType(SameElements):
    """One tensor (and perhaps parameters), a result of the same type."""

    traits = ("elementwise",)

    @constraint
    def same_shape(op) -> bool | str:
        """the result has the operand's shape"""
        a, b = shape_of(op.operands[0]), shape_of(op.results[0])
        return equal_sizes(a, b) or f"{op.results[0].type} of {op.operands[0].type}"

    def infer(op) -> TensorType:
        return op.operands[0].tensor_type


class Unary(SameType):
    input1 = operand("the tensor")
    output = result("of the same type")


class Activation(SameType):
    input = operand("the tensor")
    output = result("of the same type")


class Binary(DeclaredOp):
    """Two operands of equal rank, broadcast against each other."""

    input1 = operand("left tensor")
    input2 = operand("right tensor, of the same rank; sizes of 1 are repeated")
    output = result("of the broadcast shape")
    traits: tuple[str, ...] = ("elementwise",)

    @constraint
    def broadcasts(op) -> bool | str:
        """the result has the broadcast shape of operands of equal rank (ERROR_IF broadcast_shape fails)"""
        shapes = [shape_of(value) for value in (op.operands[0], op.operands[1], op.results[0])]
        if shapes[0] == shapes[1] == shapes[2] or None in shapes:
            return True
        a, b, out = shapes
        fits = len(a) == len(b) == len(out) and all(  # type: ignore[arg-type]
            (x == y or None in (x, y) or 1 in (x, y)) if z is None
            else ((x is None or x in (1, z)) and (y is None or y in (1, z)) and (z in (x, y) or None in (x, y)))
            for x, y, z in zip(a, b, out, strict=True))  # type: ignore[arg-type]
        return fits or f"{op.operands[0].type} and {op.operands[1].type} give {op.results[0].type}"

    @constraint
    def elements_agree(op) -> bool | str:
        """both operands have the same element type"""
        a, b = storage_of(op.operands[0]), storage_of(op.operands[1])
        return a == b or f"{a} and {b}"

    def infer(op) -> TensorType:
        return TensorType(broadcast(op, op.operands[0], op.operands[1]), op.operands[0].element)


# --- activations (2.4)


@TOSA.op("clamp")
class Clamp(SameElements):
    """`min(max(x, min_val), max_val)` (2.4.1); a NaN stays, or with `nan_mode` IGNORE becomes `min_val`.

    The bounds are stored numbers: no zero point is subtracted. i32 is not taken: use maximum and minimum.
    """

    input = operand("the tensor")
    output = result("of the same type")
    min_val = attribute(BOUND, "least value, with the type of the elements")
    max_val = attribute(BOUND, "greatest value, with the type of the elements")
    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN stays; IGNORE: it becomes min_val", default="PROPAGATE")
    datatypes = same("input output", f"i8 i16 {FLOATS}")
    traits = ("elementwise",)

    @constraint
    def bounds(op) -> bool | str:
        """the bounds have the type of the elements, and min_val is not above max_val"""
        element = storage_of(op.input)
        for value in (op.min_val, op.max_val):
            if bound_type(value) != element:
                return f"a bound is {bound_type(value)}, the elements are {element}"
        return op.min_val <= op.max_val or f"{float(op.min_val)} and {float(op.max_val)}"

    def infer(op) -> TensorType:
        return op.input.tensor_type


@TOSA.op("erf")
class Erf(Activation):
    """The Gauss error function (since 1.0)."""

    datatypes = same("input output", FLOATS)


@TOSA.op("sigmoid")
class Sigmoid(Activation):
    """`1 / (1 + exp(-x))` (2.4.2); for integers use `table`."""

    datatypes = same("input output", FLOATS)


@TOSA.op("tanh")
class Tanh(Activation):
    """Hyperbolic tangent (2.4.3); for integers use `table`."""

    datatypes = same("input output", FLOATS)


# --- binary operators (2.5)


@TOSA.op("add")
class Add(Binary):
    """Sum (2.5.1)."""

    datatypes = ARITHMETIC
    traits = ("elementwise", "commutative")


@TOSA.op("sub")
class Sub(Binary):
    """Difference (2.5.16)."""

    datatypes = ARITHMETIC


@TOSA.op("arithmetic_right_shift")
class ArithmeticRightShift(Binary):
    """`x >> n`, the sign kept; with `round`, half is added first (2.5.2)."""

    round = attribute(BOOLEAN, "whether to round to nearest, ties up")
    datatypes = SHIFTED


@TOSA.op("bitwise_and")
class BitwiseAnd(Binary):
    """And of the bits (2.5.3)."""

    datatypes = SHIFTED
    traits = ("elementwise", "commutative")


@TOSA.op("bitwise_or")
class BitwiseOr(Binary):
    """Or of the bits (2.5.4)."""

    datatypes = SHIFTED
    traits = ("elementwise", "commutative")


@TOSA.op("bitwise_xor")
class BitwiseXor(Binary):
    """Exclusive or of the bits (2.5.5)."""

    datatypes = SHIFTED
    traits = ("elementwise", "commutative")


@TOSA.op("intdiv")
class IntDiv(Binary):
    """Quotient rounded toward zero; the divisor must not be 0, nor the quotient 2^31 (2.5.6)."""

    datatypes = same("input1 input2 output", "i32", later="i64")


@TOSA.op("logical_and")
class LogicalAnd(Binary):
    """Both are true (2.5.7)."""

    datatypes = LOGICAL
    traits = ("elementwise", "commutative")


@TOSA.op("logical_left_shift")
class LogicalLeftShift(Binary):
    """`x << n` for n from 0 to 31 (2.5.8)."""

    datatypes = SHIFTED


@TOSA.op("logical_right_shift")
class LogicalRightShift(Binary):
    """`x >> n` of the unsigned number, zeros shifted in (2.5.9)."""

    datatypes = SHIFTED


@TOSA.op("logical_or")
class LogicalOr(Binary):
    """One or both are true (2.5.10)."""

    datatypes = LOGICAL
    traits = ("elementwise", "commutative")


@TOSA.op("logical_xor")
class LogicalXor(Binary):
    """Exactly one is true (2.5.11)."""

    datatypes = LOGICAL
    traits = ("elementwise", "commutative")


@TOSA.op("maximum")
class Maximum(Binary):
    """The greater one (2.5.12); a NaN wins, or with `nan_mode` IGNORE loses."""

    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: the other one", default="PROPAGATE")
    datatypes = ARITHMETIC
    traits = ("elementwise", "commutative")


@TOSA.op("minimum")
class Minimum(Binary):
    """The lesser one (2.5.13); a NaN wins, or with `nan_mode` IGNORE loses."""

    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: the other one", default="PROPAGATE")
    datatypes = ARITHMETIC
    traits = ("elementwise", "commutative")


@TOSA.op("mul")
class Mul(Binary):
    """Product (2.5.14); i8 and i16 give i32; of i32 the 64-bit product is shifted right by `shift`, rounded to nearest.

    1.0: `shift` is an operand of one i8, zero unless the operands are i32.
    """

    input1 = operand("left tensor")
    input2 = operand("right tensor, of the same rank; sizes of 1 are repeated")
    shift = operand("bits to shift the product of i32 by, 0 to 63", SCALAR)
    output = result("of the broadcast shape")
    datatypes = typed_rows(
        "input1 input2 shift output", "i8 i8 i8 i32", "i16 i16 i8 i32", "i32 i32 i8 i32",
        *(f"{t} {t} i8 {t}" for t in FLOATS.split()))
    traits = ("elementwise", "commutative")

    @constraint
    def shift_fits(op) -> bool | str:
        """the shift is from 0 to 63, and 0 for other types than i32 (ERROR_IF in_t != int32_t && shift > 0)"""
        shifts = dims_of((op.shift,) if isinstance(op.shift, int) else op.shift)  # an attribute in 0.30
        return shifts is None or set(shifts) <= set(range(64 if storage_of(op.input1) == I32 else 1)) or (
            f"{', '.join(map(str, shifts))} for {storage_of(op.input1)}")

    def infer(op) -> TensorType:
        element = op.input1.element
        if storage_of(op.input1) in (I8, I16):
            element = I32
        return TensorType(broadcast(op, op.input1, op.input2), element)


@TOSA.op("pow")
class Pow(Binary):
    """`input1 ** input2`; not defined for a negative base and a fractional exponent, nor 0 to a power below 1 (2.5.15)."""

    datatypes = same("input1 input2 output", FLOATS)


@TOSA.op("table")
class Table(DeclaredOp):
    """Look-up (2.5.17): of i8 one of 256 numbers; of i16 one of 513, interpolated with 7 bits to an i32 of 23 bits.

    1.0: the table is an operand.
    """

    input1 = operand("the indices")
    table = operand("256 numbers of i8 for i8, 513 of i16 for i16", rank(1))
    output = result("i8 for i8, i32 for i16")
    datatypes = typed_rows("input1 table output", "i8 i8 i8", "i16 i16 i32")
    traits = ("elementwise",)

    @constraint
    def table_size(op) -> bool | str:
        """the table has 256 entries for i8, 513 for i16"""
        size = shape_of(op.table)
        if size is None or size[0] is None:
            return True
        return size[0] == (256 if storage_of(op.input1) == I8 else 513) or f"{size[0]} entries"

    @constraint
    def same_shape(op) -> bool | str:
        """the result has the operand's shape"""
        return equal_sizes(shape_of(op.input1), shape_of(op.output)) or f"{op.output.type}"

    def infer(op) -> TensorType:
        element = op.table.element if storage_of(op.input1) == I8 else I32
        return TensorType(shape_of(op.input1), element)


# --- unary operators (2.6)


@TOSA.op("abs")
class Abs(Unary):
    """Absolute value (2.6.1); of -2^31, 2^31 - 1 (1.0)."""

    datatypes = same("input1 output", f"i32 {FLOATS}", later="i64")


@TOSA.op("bitwise_not")
class BitwiseNot(Unary):
    """All bits turned (2.6.2)."""

    datatypes = same("input1 output", "i8 i16 i32", later="i64")


@TOSA.op("ceil")
class Ceil(Unary):
    """The next integer not below (2.6.3)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("clz")
class Clz(Unary):
    """How many leading bits are zero (2.6.4)."""

    datatypes = same("input1 output", "i32", later="i64")


@TOSA.op("cos")
class Cos(Unary):
    """Cosine of radians (since 1.0)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("exp")
class Exp(Unary):
    """e to the power (2.6.5)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("floor")
class Floor(Unary):
    """The next integer not above (2.6.6)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("log")
class Log(Unary):
    """Natural logarithm (2.6.7)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("logical_not")
class LogicalNot(Unary):
    """True becomes false (2.6.8)."""

    datatypes = same("input1 output", "i1")


@TOSA.op("negate")
class Negate(SameType):
    """`output_zp - (x - input1_zp)`, saturated (2.6.9); 1.0: the zero points are operands, zero for other types than i8."""

    input1 = operand("the tensor")
    input1_zp = operand("zero point of the input", SCALAR)
    output_zp = operand("zero point of the result", SCALAR)
    output = result("of the same type")
    datatypes = same("input1 input1_zp output_zp output", f"i8 i16 i32 {FLOATS}")

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8"""
        return zero_points_fit(op, ("input1", "input1_zp"), ("output", "output_zp"))


@TOSA.op("reciprocal")
class Reciprocal(Unary):
    """`1 / x` (2.6.10)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("rsqrt")
class Rsqrt(Unary):
    """`1 / sqrt(x)` (2.6.11)."""

    datatypes = same("input1 output", FLOATS)


@TOSA.op("sin")
class Sin(Unary):
    """Sine of radians (since 1.0)."""

    datatypes = same("input1 output", FLOATS)


# --- selection and comparison (2.7, 2.8)


@TOSA.op("select")
class Select(DeclaredOp):
    """`input2` where `input1` is true, else `input3`; all broadcast (2.7.1)."""

    input1 = operand("the condition, i1")
    input2 = operand("where it is true")
    input3 = operand("where it is false")
    output = result("of the broadcast shape")
    datatypes = DataTypes(
        "input1 input2 input3 output", [f"i1 {t} {t} {t}" for t in f"i1 i8 i16 i32 {FLOATS}".split()], ["i1 i64 i64 i64"])
    traits = ("elementwise",)

    @constraint
    def condition_is_boolean(op) -> bool | str:
        """the condition is i1"""
        return storage_of(op.input1) == BOOL or str(storage_of(op.input1))

    @constraint
    def choices_agree(op) -> bool | str:
        """both choices and the result have the same element type"""
        a, b, c = storage_of(op.input2), storage_of(op.input3), storage_of(op.output)
        return a == b == c or f"{a}, {b} and {c}"

    @constraint
    def broadcasts(op) -> bool | str:
        """the result has the broadcast shape of operands of equal rank"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        return TensorType(broadcast(op, *op.operands), op.input2.element)


class Comparison(Binary):
    def infer(op) -> TensorType:
        return TensorType(broadcast(op, op.input1, op.input2), BOOL)


@TOSA.op("equal")
class Equal(Comparison):
    """They are equal; false where one is a NaN (2.8.1)."""

    datatypes = COMPARED
    traits = ("elementwise", "commutative")


@TOSA.op("greater")
class Greater(Comparison):
    """The first one is greater (2.8.2)."""

    datatypes = COMPARED


@TOSA.op("greater_equal")
class GreaterEqual(Comparison):
    """The first one is not less (2.8.3)."""

    datatypes = COMPARED
