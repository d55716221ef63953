"""Elementwise operators of two and more tensors: arithmetic, comparisons, logic, bits, selection."""

from __future__ import annotations

from dataclasses import replace

from .spec import Tensor, bools, cases, each, i8, i16, number, u8, x, y, z

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
QUANTIZED = "i8t u8 i16t"
Pairs = tuple[tuple[Tensor, Tensor], ...]

PAIRS: Pairs = (
    (x(2, 3, 4), z(2, 3, 4)), (x(2, 3, 4), z(4)), (x(3, 1), z(1, 5)), (x(), z(2, 3)), (x(1, 2, 1, 3), z(4, 1, 5, 1)),
    (x(5).const, z(4, 5)), (x(4, 5), z(5).const), (x(4, 5), z().const), (x(1, 5).sized(3, 5), z(1, 5).sized(3, 5)),
)
FIVE_AND_SIX: Pairs = ((x(2, 2, 1, 2, 3), z(2, 1, 3)), (x(2, 1, 2, 1, 2, 1), z(3, 1, 2, 1, 3)))
LARGE: Pairs = ((x(3, 40), z(3, 40)),)


def ranged(pairs: Pairs, low: float, high: float, right_low: float, right_high: float) -> Pairs:
    """The pairs with numbers of other ranges: divisors that are not zero, shifts that are small."""
    return tuple((replace(a, low=low, high=high), replace(b, low=right_low, high=right_high)) for a, b in pairs)


def alike(pairs: Pairs) -> Pairs:
    """The pairs with one quantization on both sides."""
    return tuple((a, replace(b, role="x")) for a, b in pairs)


ARITHMETIC = [
    *cases("ADD SUB MUL", on=PAIRS, formats=f"f32 i32 {QUANTIZED}"),
    *cases("ADD SUB MUL", on=PAIRS[:2], formats="i64"),
    *cases("ADD MUL", on=PAIRS[:3], formats="raw_i16"),
    *cases("ADD SUB MUL", on=FIVE_AND_SIX, formats="f32"),
    *cases("ADD SUB MUL", on=FIVE_AND_SIX[:1], formats="i8t i16t"),
    *cases("ADD SUB MUL", on=PAIRS[:1], formats=f"f32 {QUANTIZED}", fused_activation_function=ACTIVATIONS),
    *cases("ADD SUB MUL", on=PAIRS[:1], formats="i32", fused_activation_function=each("RELU", "RELU6")),
    *cases("ADD SUB MUL", on=LARGE, formats=QUANTIZED, result=each(x(), y(by=0.1), y(by=8.0))),
    *cases("ADD SUB", on=((x(3, 40, by=9.0), z(3, 40)), (x(3, 40), z(3, 40, by=11.0))), formats=QUANTIZED),
    *cases("DIV", on=ranged(PAIRS, -2, 2, 0.5, 3), formats="f32 i32"),
    *cases("DIV", on=PAIRS[:2], formats="u8", fused_activation_function=each("NONE", "RELU")),
    *cases("DIV", on=(*PAIRS[:2], PAIRS[7]), formats="i8t i16t"),
    *cases("MUL", on=ranged(PAIRS[:2], 0, 50, 0, 50), formats="raw_u32"),
    *cases("DIV", x(4, 5), z(4, 5, low=1.0), fused_activation_function=ACTIVATIONS),
    *cases("MAXIMUM MINIMUM", on=PAIRS, formats="f32 i32 i64 raw_i8 raw_u8 raw_i16"),
    *cases("MAXIMUM MINIMUM", on=alike(PAIRS), formats=QUANTIZED, result=x()),
    *cases("MAXIMUM MINIMUM", on=PAIRS[:2], formats=QUANTIZED, result=each(x(), y())),
    *cases("FLOOR_DIV FLOOR_MOD", on=ranged(PAIRS[:5], -2, 2, 0.5, 3), formats="f32 i32"),
    *cases("FLOOR_DIV FLOOR_MOD", x(3, 7, low=-9, high=9), x(7, low=1, high=4), formats="f32 i32 raw_i8 raw_i16"),
    *cases("FLOOR_DIV FLOOR_MOD", x(3, 7, low=-9, high=9), x(7, low=-4, high=-1), formats="f32 i32"),
    *cases("FLOOR_DIV FLOOR_MOD", x(3, 7), z(7, data=[3, -4, 1, 9, -1, 100, -50]), formats="i8t i16t"),
    *cases("FLOOR_DIV FLOOR_MOD", x(8, data=[6, 3, 0.9, 1.2, 12, -6, -0.9, 0]), each(*(z(1, data=[b]) for b in (0.3, 0.1)))),
    *cases("FLOOR_DIV FLOOR_MOD", x(8, data=[6, 3, 0.9, 1.2, 12, -6, -0.9, 0]), z(1, data=[-0.3])),
    *cases("FLOOR_DIV", x(8, data=[6, 3.5, 0.9, -0.1, 12, -6, -0.9, 0]), each(*(z(1, data=[b]).const for b in (2, 0.25, -4)))),
    *cases("FLOOR_MOD", x(3, 7, low=-9, high=9), each(x(7, low=1, high=4), x(7, low=-4, high=-1)), formats="i64"),
    *cases("SQUARED_DIFFERENCE", on=PAIRS[:5], formats="f32 i32 i8t"),
    *cases("ATAN2", x(2, 3, 4), z(2, 3, 4)),
    *cases("POW", x(3, 4, low=0.1, high=3.0), each(x(3, 4), x().const, x(4), x(4).const)),
    *cases("POW", x(3, 4, low=-4, high=4), each(number(2), number(3), number(0)), formats="i32"),
    *cases("POW", x(3, 4, low=-4, high=4), x(3, 4, low=0, high=9), formats="i32"),
    *cases("POW", x(6, data=[-1, 0, 1, 2, 3, -2]), x(7, 1, low=0, high=18), formats="i32"),
    *cases("POW", x(3, data=[-1, 0, 1]), x(5, 1, low=0, high=99), formats="i32"),
    *cases("ADD_N", on=((x(3, 4),) * 2, (x(3, 4), x(3, 4), x(3, 4), x(3, 4).const)), formats="f32 i32"),
]

COMPARISONS = "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL"
BYTES = "raw_i8 raw_u8 raw_i16 raw_u16 i32 raw_u32"
LOGIC = [
    *cases(COMPARISONS, on=PAIRS[:5], formats="f32 i32 i64", result=bools()),
    *cases(COMPARISONS, on=PAIRS[5:7], formats="f32 i8t u8", result=bools()),
    *cases(COMPARISONS, on=PAIRS[:3], formats="i8t u8", result=bools()),
    *cases(COMPARISONS, x(4, 70), each(x(4, 70), z(70)), formats="i8t u8 i16t", result=bools()),
    *cases("EQUAL NOT_EQUAL", on=PAIRS[:3], formats="bool", result=bools()),
    *cases("LOGICAL_AND LOGICAL_OR", on=PAIRS, formats="bool"),
    *cases("LOGICAL_NOT", each(x(), x(5), x(2, 3, 4)), formats="bool"),
    *cases("BITWISE_XOR", on=ranged(PAIRS[:5], -100, 100, -100, 100), formats=BYTES),
    *cases("BITWISE_XOR", x(4, 70), z(70), formats=QUANTIZED, result=each(x(), y())),
    *cases("RIGHT_SHIFT", x(4, 70), i8(data=3), formats="i8t"),
    *cases("RIGHT_SHIFT", x(4, 70), u8(data=3), formats="u8"),
    *cases("RIGHT_SHIFT", x(4, 70), i16(data=3), formats="i16t"),
    *cases("RIGHT_SHIFT", on=ranged(PAIRS[:5], -100, 100, 0, 7), formats=BYTES),
]

SELECTED = f"f32 i32 i64 bool {QUANTIZED}"
SELECTION = [
    *cases("SELECT", on=(
        (bools(2, 3), x(2, 3), x(2, 3)), (bools(4), x(4, 2, 3), x(4, 2, 3)), (bools(), x(2, 3), x(2, 3)),
        (bools(4).const, x(4), x(4)),
    ), formats=SELECTED, result=x()),
    *cases("SELECT_V2", on=(
        (bools(2, 3), x(2, 3), x(2, 3)), (bools(2, 1), x(3), x()), (bools(3), x(2, 3), x(2, 1)),
        (bools(1, 4, 1), x(2, 1, 3), x(3).const), (bools(2, 1, 1, 1, 1), x(2, 3, 1, 2, 1), x(2)),
    ), formats=SELECTED, result=x()),
    *cases("SELECT SELECT_V2", bools(2, 3), x(2, 3), x(2, 3), formats="raw_i8 raw_u8 raw_i16 raw_u16 raw_u32", result=x()),
    *cases("SELECT SELECT_V2", bools(4, 6), x(4, 6), z(4, 6), formats=QUANTIZED, result=each(x(), y())),
    *cases("ZEROS_LIKE", x(2, 3), formats="f32 i32 i64", result=x()),
]

CASES = ARITHMETIC + LOGIC + SELECTION
