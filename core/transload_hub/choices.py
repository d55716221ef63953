"""What users can choose alike of conversions of several frameworks. What registers plugins imports this: without numpy."""

from __future__ import annotations

from transload.options import Options

__all__ = ["LOOP_OPTIONS"]

LOOP_OPTIONS: Options = {
    "loops": (
        ("auto", "unroll", "keep"), "auto",
        "loops: one op where its sizes allow it and else step by step, always step by step, or always one op"),
    "unroll_limit": (int, 10_000, "how many steps of a loop may be written out"),
}
"""What a user can choose of conversions that have loops."""
