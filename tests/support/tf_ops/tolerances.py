"""What is allowed to single ops beyond the tolerance of their type, and why."""

from __future__ import annotations

from .spec import Case

__all__ = ["FLOATS", "REASONS", "STEPS", "float_tolerance", "integer_steps"]

FLOATS = {"float32": 2e-5, "float64": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""By how much results of a type may be off, relative to their size and a tenth of the greatest."""

REASONS: dict[str, tuple[float, str]] = {
    "UniformQuantizedDotHybrid": (500.0, "TensorFlow quantizes the left operand as it runs"),
}
"""Op -> by how many times the tolerance of its type it may be off, and why."""

STEPS: dict[str, tuple[int, str]] = {}
"""Op -> by how many steps integers may be off, and why."""


def float_tolerance(case: Case, dtype: str) -> float:
    """By how much a float may be off; what is computed in halves on the way counts as such."""
    narrow = {"float16", "bfloat16"} & {case.type, dtype}
    base = max((FLOATS[name] for name in narrow), default=FLOATS[dtype])
    return base * REASONS.get(case.op, (1.0, ""))[0]


def integer_steps(case: Case) -> int:
    """By how many steps an integer may be off."""
    return STEPS.get(case.op, (0, ""))[0]
