"""Words of commands that are printed for somebody to paste into a shell."""

from __future__ import annotations

import re
import shlex

__all__ = ["quoted"]

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
_OUTSIDE = re.compile(r"[\\']|[^ -~]")


def quoted(text: object) -> str:
    """A name, or a path, as a shell takes it for one word that is the same: bare where it can be, else in quotes.

    Names of tensors come from files, and may hold what a terminal is not shown: as `$'a\\nb'` it is spelt out, by which bash, zsh
    and ksh have the very bytes, and not the two letters that escape them in the message.
    """
    word = str(text)
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + _OUTSIDE.sub(lambda found: _spelt(found[0]), word) + "'"


def _spelt(letter: str) -> str:
    if letter in _SHORT or letter.isprintable():
        return _SHORT.get(letter, letter)
    try:
        raw = letter.encode("utf-8", "surrogateescape")  # of a path that is no UTF-8
    except UnicodeEncodeError:
        raw = letter.encode("utf-8", "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in raw)
