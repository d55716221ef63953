"""How far results may be from LiteRT's, by operator, and why. What is not named here is exact, or within 1e-5."""

from __future__ import annotations

from .spec import Case

__all__ = ["FLOATS", "STEPS", "float_tolerance", "integer_steps"]

FLOAT_TOLERANCE = 1e-5

STEPS: dict[tuple[str, str], tuple[int, str]] = {}
"""Operator and format -> the steps an integer result may differ by, and the reason."""

FLOATS: dict[str, tuple[float, str]] = {}
"""Operator -> relative tolerance of float results, and the reason."""


def integer_steps(case: Case) -> int:
    return STEPS.get((case.op, case.format), (0, ""))[0]


def float_tolerance(case: Case) -> float:
    return FLOATS.get(case.op, (FLOAT_TOLERANCE, ""))[0]
