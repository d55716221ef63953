"""Elementwise operators: arithmetic, comparisons, logic, bits, functions of one number, selection."""

from __future__ import annotations

from .spec import bools, cases, each, i32, number, x, y, z

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
QUANTIZED = "i8t u8 i16t"
BROADCASTS = ((x(2, 3, 4), z(2, 3, 4)), (x(2, 3, 4), z(4)), (x(3, 1), z(1, 5)), (x(), z(2, 3)), (x(1, 2, 1, 3), z(4, 1, 5, 1)), (x(2, 2, 1, 2, 3), z(2, 1, 3)))

CASES = [
    *(case for op in ("ADD", "SUB", "MUL") for a, b in BROADCASTS[:5] for case in cases(op, a, b, formats=f"f32 i32 i64 {QUANTIZED}")),
    *(case for op in ("ADD", "SUB", "MUL") for case in cases(op, x(4, 5), z(4, 5), formats="f32 i8t u8 i16t", fused_activation_function=ACTIVATIONS)),
    *(case for op in ("ADD", "SUB", "MUL") for case in cases(op, x(4, 5), z(5).const, formats=f"f32 i32 {QUANTIZED}")),
    *(case for op in ("ADD", "SUB", "MUL") for case in cases(op, x(5).const, z(4, 5), formats=f"f32 i32 {QUANTIZED}")),
    *(case for op in ("ADD", "SUB", "MUL") for case in cases(op, x(1, 5).sized(3, 5), z(1, 5).sized(3, 5), formats="f32 i8t")),
    *cases("ADD", x(3, 4), x(3, 4), result=x(), formats=QUANTIZED),
    *cases("ADD", x(3, 40), z(3, 40, by=7.3), result=y(by=0.1), formats=QUANTIZED),
]
