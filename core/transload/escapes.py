"""Text of files that a terminal may show: tensors are named as their makers like."""

from __future__ import annotations

__all__ = ["escaped", "spelt"]


def escaped(text: str, keeps: str = "") -> str:
    """Text whose control characters are escaped, newlines too, but for those that it `keeps`."""
    return "".join(
        character if character.isprintable() or character in keeps else character.encode("unicode_escape").decode("ascii")
        for character in text)


def spelt(text: str) -> str:
    """Text whose halves of characters are spelt out, as `\\udcff`: what is written as UTF-8 has none.

    Files have them where a JSON text names one alone, and Python has one for each byte of a text that is no UTF-8.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
