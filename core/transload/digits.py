"""Numbers in what a user or a file says.

Python calls `²` a digit, which `int` refuses, as it does what has more than 4,300 digits. An integer of 400 digits, which TOML
and JSON may have, is no float.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["real_number", "whole_number"]

_MOST = 18
"""Digits of a number that fits 64 bits."""


def whole_number(text: str) -> int | None:
    """The number that a text says in the digits 0 to 9, of 64 bits; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST else None


def real_number(value: Any) -> float | None:
    """The float that an integer or a float of a file is; None for what is neither, is not finite or is beyond all floats."""
    try:
        return float(value) if type(value) in (int, float) and math.isfinite(value) else None
    except OverflowError:
        return None
