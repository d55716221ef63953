"""Whole numbers in what a user or a file says.

Python calls `²` a digit, which `int` refuses, as it does what has more than 4,300 digits.
"""

from __future__ import annotations

__all__ = ["whole_number"]

_MOST = 18
"""Digits of a number that fits 64 bits."""


def whole_number(text: str) -> int | None:
    """The number that a text says in the digits 0 to 9, of 64 bits; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST else None
