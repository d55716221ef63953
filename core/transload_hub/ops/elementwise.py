"""Arithmetic, comparison and logic of two or more operands, element by element, and mathematical functions of one."""

from __future__ import annotations

from transload.ir.declare import (
    FLOAT,
    FLOATS,
    INT_TENSOR,
    DeclaredOp,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
)
from transload.ir.types import BOOL, TensorType, Type

from .base import FLAG_TENSOR, OWN_NUMBER_TENSOR, QUANTITY_TENSOR, TOP, Activated, Elementwise, Unary
from .infer import broadcast_shapes, fail, infer_broadcast, same_as_input, shape_of
from .rounding import rounds

QUOTIENTS = ("rounded", "exact", "fmod")
"""What floats are meant by the floor of a quotient: see `FloorDiv`."""

# --- arithmetic of several operands

class Variadic(DeclaredOp):
    """Base of ops on two or more tensors that broadcast."""

    inputs = variadic("two or more tensors that broadcast", type=QUANTITY_TENSOR)
    output = result("of the broadcast shape")
    rounding = rounds("double", "exact", "once")
    traits: tuple[str, ...] = ("elementwise",)

    @constraint
    def at_least_two(op) -> bool | str:
        """there are two or more operands"""
        return len(op.inputs) >= 2 or f"there is {len(op.inputs)}"

    def infer(op) -> Type:
        if not op.operands:
            fail(op, "there are no operands")
        return infer_broadcast(op, op.inputs)


class ExactlyTwo(Variadic):
    """Base of such ops where the order matters."""

    @constraint
    def exactly_two(op) -> bool | str:
        """there are exactly two operands"""
        return len(op.inputs) == 2 or f"there are {len(op.inputs)}"


@TOP.op("Add")
class Add(Activated, Variadic):
    """`coeff[0] * inputs[0] + coeff[1] * inputs[1] + ...` (TPU-MLIR manual 13.1, AddOp; ONNX Add and Sum, TFLite ADD)."""

    coeff = attribute(FLOATS, "a factor per operand; absent: all 1", optional=True)
    rounding = rounds("double", "exact", "once", "float32")
    traits = ("elementwise", "commutative")

    @constraint
    def one_factor_each(op) -> bool:
        """coeff has one entry per operand"""
        return op.coeff is None or len(op.coeff) == len(op.inputs)


@TOP.op("Sub")
class Sub(Activated, ExactlyTwo):
    """`inputs[0] - inputs[1]` (ONNX Sub, TFLite SUB)."""


@TOP.op("Mul")
class Mul(Activated, Variadic):
    """The product of all operands (TPU-MLIR manual 13.1, MulOp; ONNX Mul, TFLite MUL)."""

    rounding = rounds("double", "exact", "once", "float32")
    traits = ("elementwise", "commutative")


@TOP.op("Div")
class Div(Activated, ExactlyTwo):
    """`inputs[0] / inputs[1]`; of integers the quotient truncated towards zero (TPU-MLIR manual 13.1, DivOp; ONNX Div)."""

    rounding = rounds("exact", "once")


@TOP.op("Max")
class Max(Variadic):
    """The greatest of the operands; NaN where one is NaN (ONNX Max, TFLite MAXIMUM)."""

    traits = ("elementwise", "commutative")


@TOP.op("Min")
class Min(Variadic):
    """The least of the operands; NaN where one is NaN (ONNX Min, TFLite MINIMUM)."""

    traits = ("elementwise", "commutative")


@TOP.op("AddConst")
class AddConst(Activated, Unary):
    """`input + const_val` (TPU-MLIR's top.AddConst)."""

    input = operand("the tensor", type=QUANTITY_TENSOR)
    const_val = attribute(FLOAT, "the number to add")
    rounding = rounds("exact", "once")


@TOP.op("MulConst")
class MulConst(Activated, Unary):
    """`input * const_val` (TPU-MLIR manual 13.1, MulConstOp)."""

    input = operand("the tensor", type=QUANTITY_TENSOR)
    const_val = attribute(FLOAT, "the factor")
    rounding = rounds("exact", "once")


@TOP.op("Scale")
class Scale(Activated):
    """`input * scale + bias`, the latter two broadcast to the input (TPU-MLIR manual 13.1, ScaleOp)."""

    input = operand("the tensor", type=QUANTITY_TENSOR)
    scale = operand("broadcasts to the input, as [1, C, 1, 1]", type=QUANTITY_TENSOR)
    bias = operand("broadcasts to the input", type=QUANTITY_TENSOR)
    output = result("of the input's shape")
    rounding = rounds("exact", "once")
    traits = ("elementwise",)

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands)


# --- arithmetic of two operands

class Binary(DeclaredOp):
    """Base of ops on tensors `a` and `b` that broadcast."""

    a = operand("left operand", type=QUANTITY_TENSOR)
    b = operand("right operand; broadcasts with the left one", type=QUANTITY_TENSOR)
    output = result("of the broadcast shape, with the left operand's element type")
    rounding = rounds("exact", "once")
    traits: tuple[str, ...] = ("elementwise",)

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands)


@TOP.op("Pow")
class Pow(DeclaredOp):
    """`base ** exponent`, in the base's element type (ONNX Pow, TFLite POW)."""

    base = operand("the base", type=QUANTITY_TENSOR)
    exponent = operand("the exponent", type=OWN_NUMBER_TENSOR)
    output = result("of the broadcast shape, with the base's element type")
    rounding = rounds("exact", "once")
    traits = ("elementwise",)

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands)


@TOP.op("FloorDiv")
class FloorDiv(Binary):
    """`floor(a / b)`, which integers have one of (TFLite FLOOR_DIV). Of floats frameworks mean different ones, by `quotient`:

    - rounded: of the quotient as floats round it, so that 6 by 0.3 is 20 (TensorFlow's FloorDiv, TFLite FLOOR of DIV);
    - exact: of the quotient itself, f32 and narrower floats divided in f64: 6 by 0.3 is 19, as 0.3 is a little more in binary
      (TFLite FLOOR_DIV);
    - fmod: the whole number that `(a - fmod(a, b)) / b` is, or is nearest to, one less where what is left has not b's sign;
      NaN of an infinite a, and `a / b` where b is 0. Floats of 16 bits are rounded at each step (PyTorch's `floor_divide`).
    """

    quotient = attribute(enum(*QUOTIENTS), "which quotient of floats is rounded down", default="rounded")


@TOP.op("FloorMod")
class FloorMod(Binary):
    """`a - floor(a / b) * b`, with the sign of b, a zero with that of a (TFLite FLOOR_MOD, ONNX Mod with fmod=0)."""


@TOP.op("TruncMod")
class TruncMod(Binary):
    """`a - trunc(a / b) * b`, with the sign of a (ONNX Mod with fmod=1; C's `fmod`)."""


@TOP.op("SquaredDifference")
class SquaredDifference(Binary):
    """`(a - b) ** 2` (TFLite SQUARED_DIFFERENCE)."""

    rounding = rounds("double", "exact", "once")
    traits = ("elementwise", "commutative")


@TOP.op("Atan2")
class Atan2(Binary):
    """The angle of the point (b, a), `atan(a / b)` in the right quadrant (TFLite ATAN2)."""


# --- comparison and logic

@TOP.op("Compare")
class Compare(DeclaredOp):
    """Whether `lhs <mode> rhs` (ONNX Equal, Greater, Less, ...; TFLite EQUAL, NOT_EQUAL, ...; TPU-MLIR's top.Compare).

    Quantized numbers per tensor are compared as LiteRT does, rounded to 8 bits of fraction (`transload_hub.scales.COMPARED`).
    """

    lhs = operand("left operand")
    rhs = operand("right operand; broadcasts with the left one")
    output = result("i1 of the broadcast shape", type=FLAG_TENSOR)
    mode = attribute(enum("Equal", "NotEqual", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), "the relation")
    traits = ("elementwise",)

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands, BOOL)


class Logical(DeclaredOp):
    """Base of logical ops on i1."""

    a = operand("left operand", type=FLAG_TENSOR)
    b = operand("right operand; broadcasts with the left one", type=FLAG_TENSOR)
    output = result("i1 of the broadcast shape", type=FLAG_TENSOR)
    traits = ("elementwise", "commutative")

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands)


@TOP.op("LogicalAnd")
class LogicalAnd(Logical):
    """Whether both are true (ONNX And, TFLite LOGICAL_AND)."""


@TOP.op("LogicalOr")
class LogicalOr(Logical):
    """Whether one or both are true (ONNX Or, TFLite LOGICAL_OR)."""


@TOP.op("LogicalXor")
class LogicalXor(Logical):
    """Whether exactly one is true (ONNX Xor)."""


class Bitwise(DeclaredOp):
    """Base of ops on the bits of integers."""

    a = operand("left operand", type=INT_TENSOR)
    b = operand("right operand; broadcasts with the left one", type=INT_TENSOR)
    output = result("of the broadcast shape")
    traits: tuple[str, ...] = ("elementwise", "commutative")

    def infer(op) -> Type:
        return infer_broadcast(op, op.operands)


@TOP.op("BitwiseAnd")
class BitwiseAnd(Bitwise):
    """The bits set in both (ONNX BitwiseAnd)."""


@TOP.op("BitwiseOr")
class BitwiseOr(Bitwise):
    """The bits set in one or both (ONNX BitwiseOr)."""


@TOP.op("BitwiseXor")
class BitwiseXor(Bitwise):
    """The bits set in exactly one (ONNX BitwiseXor, TFLite BITWISE_XOR)."""


@TOP.op("ShiftLeft")
class ShiftLeft(Bitwise):
    """The bits of a moved up by b places; all are gone where b is the width or more (ONNX BitShift LEFT)."""

    traits = ("elementwise",)


@TOP.op("ShiftRight")
class ShiftRight(Bitwise):
    """The bits of a moved down by b places, keeping the sign of signed ones (ONNX BitShift RIGHT, TFLite RIGHT_SHIFT).

    By as many places as there are, or more, the sign is left, or 0; by fewer than none all is left, as LiteRT has it.
    """

    traits = ("elementwise",)


@TOP.op("Where")
class Where(DeclaredOp):
    """`tbrn` where the condition holds, `fbrn` elsewhere (ONNX Where, TFLite SELECT_V2; TPU-MLIR's top.Where)."""

    condition = operand("what to choose by", type=FLAG_TENSOR)
    tbrn = operand("chosen where it is true")
    fbrn = operand("chosen where it is false")
    output = result("of the broadcast shape, with the element type of tbrn")
    rounding = rounds("double", "exact", "once")
    traits = ("elementwise",)

    def infer(op) -> Type:
        return TensorType(broadcast_shapes(op, *map(shape_of, op.operands)), op.tbrn.element)


# --- functions of one operand

class UnaryNumber(Unary):
    """Base of functions that integers have too."""

    input = operand("the tensor", type=QUANTITY_TENSOR)


_BY_KERNEL = {
    "Abs": rounds("double", "exact", "once"), "Rsqrt": rounds("double", "exact", "once"),
    "Sqrt": rounds("truncate", "exact", "once")}
"""Functions that LiteRT does not look up in a table of rounded results."""


def _unary(name: str, doc: str, base: type = Unary) -> None:
    """Declare a function of one operand that has no attributes of its own."""
    members = {"rounding": _BY_KERNEL[name]} if name in _BY_KERNEL else {}
    TOP.op(name)(type(name, (base,), {"__doc__": doc, "__module__": __name__, **members}))


for _name, _doc in {
    "Abs": "The absolute value (ONNX Abs, TFLite ABS).",
    "Neg": "`-x` (ONNX Neg, TFLite NEG).",
    "Floor": "The greatest integer that is not greater (ONNX Floor, TFLite FLOOR).",
    "Ceil": "The least integer that is not less (ONNX Ceil, TFLite CEIL).",
    "Round": "The nearest integer, halves to the even one (ONNX Round, TFLite ROUND).",
    "Sign": "-1, 0 or 1; NaN of NaN (ONNX Sign, TFLite SIGN).",
    "Square": "`x * x` (TFLite SQUARE).",
}.items():
    _unary(_name, _doc, UnaryNumber)

for _name, _doc in {
    "Exp": "`e ** x` (ONNX Exp, TFLite EXP).",
    "Log": "The natural logarithm (TPU-MLIR manual 13.1, LogOp; ONNX Log, TFLite LOG).",
    "Log1p": "`log(1 + x)`, exact near 0 (StableHLO log_plus_one).",
    "Sqrt": "The square root (ONNX Sqrt, TFLite SQRT).",
    "Rsqrt": "`1 / sqrt(x)` (TFLite RSQRT).",
    "Reciprocal": "`1 / x` (ONNX Reciprocal).",
    "Sin": "The sine (ONNX Sin, TFLite SIN).",
    "Cos": "The cosine (ONNX Cos, TFLite COS).",
    "Tan": "The tangent (ONNX Tan).",
    "Asin": "The inverse of the sine (ONNX Asin).",
    "Acos": "The inverse of the cosine (ONNX Acos).",
    "Atan": "The inverse of the tangent (ONNX Atan).",
    "Sinh": "The hyperbolic sine (ONNX Sinh).",
    "Cosh": "The hyperbolic cosine (ONNX Cosh).",
    "Tanh": "The hyperbolic tangent (ONNX Tanh, TFLite TANH).",
    "Asinh": "The inverse of the hyperbolic sine (ONNX Asinh).",
    "Acosh": "The inverse of the hyperbolic cosine (ONNX Acosh).",
    "Atanh": "The inverse of the hyperbolic tangent (ONNX Atanh).",
    "Erf": "The error function, `2/sqrt(pi)` times the integral of `exp(-t*t)` from 0 to x (ONNX Erf).",
}.items():
    _unary(_name, _doc)


class Question(Elementwise):
    """Base of questions about each element."""

    output = result("i1 of the input's shape", type=FLAG_TENSOR)

    def infer(op) -> Type:
        return same_as_input(op).with_element(BOOL)


@TOP.op("IsNaN")
class IsNaN(Question):
    """Whether it is not a number (ONNX IsNaN)."""


@TOP.op("IsInf")
class IsInf(Question):
    """Whether it is infinite (ONNX IsInf with both signs)."""


@TOP.op("LogicalNot")
class LogicalNot(Elementwise):
    """True where it is false (ONNX Not, TFLite LOGICAL_NOT)."""

    input = operand("the tensor", type=FLAG_TENSOR)
    output = result("i1 of the input's shape", type=FLAG_TENSOR)


@TOP.op("BitwiseNot")
class BitwiseNot(Elementwise):
    """All bits turned (ONNX BitwiseNot)."""

    input = operand("the tensor", type=INT_TENSOR)
