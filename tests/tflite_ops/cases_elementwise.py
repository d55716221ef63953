"""Elementwise operators of two and more tensors: arithmetic, comparisons, logic, bits, selection."""

from __future__ import annotations

from .spec import Case, Tensor, bools, cases, each, number, x, y, z

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
QUANTIZED = "i8t u8 i16t"
PAIRS: tuple[tuple[Tensor, Tensor], ...] = (
    (x(2, 3, 4), z(2, 3, 4)), (x(2, 3, 4), z(4)), (x(3, 1), z(1, 5)), (x(), z(2, 3)), (x(1, 2, 1, 3), z(4, 1, 5, 1)),
    (x(5).const, z(4, 5)), (x(4, 5), z(5).const), (x(4, 5), z().const), (x(1, 5).sized(3, 5), z(1, 5).sized(3, 5)),
)
FIVE_AND_SIX = ((x(2, 2, 1, 2, 3), z(2, 1, 3)), (x(2, 1, 2, 1, 2, 1), z(3, 1, 2, 1, 3)))


def over(pairs: tuple[tuple[Tensor, ...], ...], *operators: str, **more: object) -> list[Case]:
    """Cases of each operator on each pair of operands."""
    return [case for op in operators for operands in pairs for case in cases(op, *operands, **more)]  # type: ignore[arg-type]


def positive(pairs: tuple[tuple[Tensor, Tensor], ...], least: float = 0.5) -> tuple[tuple[Tensor, Tensor], ...]:
    """The pairs with a second operand that one may divide by."""
    from dataclasses import replace

    return tuple((left, replace(right, low=least, high=3.0)) for left, right in pairs)


ARITHMETIC = [
    *over(PAIRS, "ADD", "SUB", "MUL", formats=f"f32 i32 {QUANTIZED}"),
    *over(PAIRS[:2], "ADD", "SUB", "MUL", formats="i64"),
    *over(PAIRS[:3], "ADD", "MUL", formats="raw_i16"),
    *over(FIVE_AND_SIX, "ADD", "SUB", "MUL", formats="f32"),
    *over(FIVE_AND_SIX[:1], "ADD", "SUB", "MUL", formats="i8t i16t"),
    *over(PAIRS[:1], "ADD", "SUB", "MUL", formats=f"f32 {QUANTIZED}", fused_activation_function=ACTIVATIONS),
    *over(PAIRS[:1], "ADD", "SUB", "MUL", formats="i32", fused_activation_function=each("RELU", "RELU6")),
    *over(((x(3, 40), z(3, 40)),), "ADD", "SUB", "MUL", formats=QUANTIZED, result=each(x(), y(by=0.1), y(by=8.0))),
    *over(((x(3, 40, by=9.0), z(3, 40)), (x(3, 40), z(3, 40, by=11.0))), "ADD", "SUB", formats=QUANTIZED),
    *over(positive(PAIRS), "DIV", formats="f32 i32"),
    *over(PAIRS[:2], "DIV", formats="u8", fused_activation_function=each("NONE", "RELU")),
    *cases("DIV", x(4, 5), z(4, 5, low=1.0), fused_activation_function=ACTIVATIONS),
    *over(PAIRS, "MAXIMUM", "MINIMUM", formats="f32 i32 i64 raw_u8"),
    *over(tuple((a, x(*c.shape, data=c.data, fed=c.fed)) for a, c in PAIRS), "MAXIMUM", "MINIMUM", formats=QUANTIZED, result=x()),
    *over(positive(PAIRS[:5]), "FLOOR_DIV", "FLOOR_MOD", formats="f32 i32"),
    *cases("FLOOR_DIV", x(3, 7, low=-9, high=9), x(7, low=1, high=4), formats="f32 i32 raw_i8 raw_i16"),
    *cases("FLOOR_MOD", x(3, 7, low=-9, high=9), x(7, low=1, high=4), formats="f32 i32 i64 raw_i8 raw_i16"),
    *cases("FLOOR_MOD", x(3, 7, low=-9, high=9), x(7, low=-4, high=-1), formats="f32 i32 i64"),
    *cases("FLOOR_DIV", x(3, 7, low=-9, high=9), x(7, low=-4, high=-1), formats="f32 i32"),
    *over(PAIRS[:5], "SQUARED_DIFFERENCE", formats="f32 i32 i8t"),
    *cases("ATAN2", x(2, 3, 4), z(2, 3, 4)),
    *cases("POW", x(3, 4, low=0.1, high=3.0), x(3, 4)),
    *cases("POW", x(3, 4, low=0.1, high=3.0), each(x().const, x(4), x(4).const)),
    *cases("POW", x(3, 4, low=-4, high=4), each(number(2), number(3), number(0)), formats="i32"),
    *cases("ADD_N", x(3, 4), x(3, 4), formats="f32 i32"),
    *cases("ADD_N", x(3, 4), x(3, 4), x(3, 4), x(3, 4).const, formats="f32 i32"),
]

COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
LOGIC = [
    *over(PAIRS[:5], *COMPARISONS, formats="f32 i32 i64", result=bools()),
    *over(PAIRS[5:7], *COMPARISONS, formats="f32 i8t u8", result=bools()),
    *over(PAIRS[:3], *COMPARISONS, formats="i8t u8", result=bools()),
    *over(((x(4, 70), x(4, 70)), (x(4, 70), z(70))), *COMPARISONS, formats="i8t u8", result=bools()),
    *over(PAIRS[:3], "EQUAL", "NOT_EQUAL", formats="bool", result=bools()),
    *over(PAIRS, "LOGICAL_AND", "LOGICAL_OR", formats="bool"),
    *cases("LOGICAL_NOT", each(x(), x(5), x(2, 3, 4)), formats="bool"),
    *over(tuple((x(*a.shape, low=-100, high=100), x(*c.shape, low=-100, high=100)) for a, c in PAIRS[:5]), "BITWISE_XOR",
          formats="raw_i8 raw_u8 raw_i16 raw_u16 i32 raw_u32"),
    *over(tuple((x(*a.shape, low=-100, high=100), x(*c.shape, low=0, high=7)) for a, c in PAIRS[:5]), "RIGHT_SHIFT",
          formats="raw_i8 raw_u8 raw_i16 raw_u16 i32 raw_u32"),
]

SELECTION = [
    *over(((bools(2, 3), x(2, 3), x(2, 3)), (bools(4), x(4, 2, 3), x(4, 2, 3)), (bools(), x(2, 3), x(2, 3)), (bools(4).const, x(4), x(4))),
          "SELECT", formats=f"f32 i32 i64 bool {QUANTIZED}", result=x()),
    *over(((bools(2, 3), x(2, 3), x(2, 3)), (bools(2, 1), x(3), x()), (bools(3), x(2, 3), x(2, 1)), (bools(1, 4, 1), x(2, 1, 3), x(3).const),
           (bools(2, 1, 1, 1, 1), x(2, 3, 1, 2, 1), x(2))),
          "SELECT_V2", formats=f"f32 i32 i64 bool {QUANTIZED}", result=x()),
    *cases("ZEROS_LIKE", x(2, 3), formats="f32 i32 i64", result=x()),
]

CASES = ARITHMETIC + LOGIC + SELECTION
