"""TOML of users, read within bounds of time: Python's reader takes the square of how many parts a key has."""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MAX_BYTES", "toml_table"]

MAX_BYTES = 1 << 20
"""Bytes that a file may have."""
_PARTS = 32
"""Parts that a key may have, each a table within that of the part before."""
_LONG_KEY = re.compile(rf"""(?:(?:"[^"\n]*"|'[^'\n]*'|(?<![\w-])[\w-]+)[ \t]*\.[ \t]*){{{_PARTS}}}""")


def toml_table(data: bytes | str) -> dict[str, Any]:
    """The table that a TOML file's content is. Raises `ValueError`, in words, for what is none, or beyond such files."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data):,} bytes are more than such a file has; {MAX_BYTES:,} are the limit")
    try:
        text = data.removeprefix("\ufeff") if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is no text") from None
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key in line {line} has more than {_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
