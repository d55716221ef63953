"""Where results are not LiteRT's to the bit (integers) or to 1e-5 (floats), and why. All else is exact."""

from __future__ import annotations

from .spec import Case

__all__ = ["FLOATS", "STEPS", "USUAL_KERNELS", "float_tolerance", "integer_steps", "needs_usual_kernels"]

FLOAT_TOLERANCE = 1e-5

_FLOAT32_WEIGHTS = "LiteRT interpolates uint8 in float32, whose error decides halves; TOSA's RESIZE is exact"
_WIDE_PRODUCT = "products that may leave 32 bits are taken in float; LiteRT rounds after each factor, in 64 bits"
_QUOTIENT = "LiteRT divides by a fixed-point reciprocal; quotients of half a step are rounded otherwise in float"
_LAST_BIT = "LiteRT's table is made of float32's erf, whose last bit decides a rounding"
_RECIPROCAL = "floats are multiplied by the scale's reciprocal, LiteRT divides: quotients within a float's last bit of a half"
_USUAL_SUM = "judged by LiteRT's usual kernels (see USUAL_KERNELS), which round otherwise than the reference ones"
STEPS: dict[tuple[str, str], tuple[int, str]] = {
    ("RESIZE_BILINEAR", "u8"): (1, _FLOAT32_WEIGHTS),
    ("REDUCE_PROD", "i16t"): (1, _WIDE_PRODUCT),
    ("DIV", "i8t"): (1, _QUOTIENT),
    ("DIV", "u8"): (1, _QUOTIENT),
    ("GELU", "i16t"): (1, _LAST_BIT),
    ("QUANTIZE", "f32"): (1, _RECIPROCAL),
    ("QUANTIZE", "i8t"): (1, _RECIPROCAL),
    ("QUANTIZE", "u8"): (1, _RECIPROCAL),
    ("QUANTIZE", "i16t"): (1, _RECIPROCAL),
    ("SUM", "i8t"): (1, _USUAL_SUM),
    ("SUM", "i16t"): (1, _USUAL_SUM),
}
"""Operator and format -> by how many steps an integer may differ, and the reason."""

FLOATS: dict[tuple[str, str], tuple[float, str]] = {}
"""Operator and format -> relative tolerance of floats, and the reason."""

_WRONG_SUM = "the reference kernel adds stored numbers without their zero points, and wraps"
USUAL_KERNELS: dict[tuple[str, str], str] = {
    ("SUM", "i8t"): _WRONG_SUM,
    ("SUM", "i16t"): _WRONG_SUM,
    ("LOCAL_RESPONSE_NORMALIZATION", "f32"): "the reference kernel leaves out the last channel of each window",
}
"""Operator and format -> why LiteRT's usual kernels are the judge, and not its reference kernels."""


def integer_steps(case: Case) -> int:
    """By how many steps the integers of a case may differ."""
    return STEPS.get((case.op, case.format), (0, ""))[0]


def float_tolerance(case: Case) -> float:
    """By what factor the floats of a case may differ."""
    return FLOATS.get((case.op, case.format), (FLOAT_TOLERANCE, ""))[0]


def needs_usual_kernels(case: Case) -> bool:
    """Whether LiteRT's reference kernel is wrong."""
    return (case.op, case.format) in USUAL_KERNELS
