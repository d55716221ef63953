"""Text of files that a terminal may show: tensors are named as their makers like."""

from __future__ import annotations

__all__ = ["escaped"]


def escaped(text: str, keeps: str = "") -> str:
    """Text whose control characters are escaped, newlines too, but for those that it `keeps`."""
    return "".join(
        character if character.isprintable() or character in keeps else character.encode("unicode_escape").decode("ascii")
        for character in text)
