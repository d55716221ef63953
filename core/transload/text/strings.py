"""Strings and identifiers of MLIR text: escapes, and which names may stand bare.

Source: MLIR language reference, "Notation" and `string-literal`; escapes as LLVM's
`printEscapedString` writes them.
"""

from __future__ import annotations

import re

from ..errors import InternalError

__all__ = ["BARE_NAME", "BLANK", "STRING", "SUFFIX_NAME", "quote", "symbol_text", "unquote", "word_or_string"]

BLANK = r"[ \t\r\n]*(?://[^\n]*(?:\n[ \t\r\n]*|\Z))*"
"""Blanks and comments. There is one way only to match it, so that patterns which begin with it never backtrack far."""
STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*){0,4000000}"'
"""A string literal, quotes included. Matching takes memory for each escape alone, of which there are no more than so many."""
BARE_NAME = r"[A-Za-z_][A-Za-z0-9_$.]*"
"""What may stand without quotes as an attribute's name, a symbol or a resource's key."""
SUFFIX_NAME = r"(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)"
"""What may follow `%`, `^`, `#` and `!`."""

_bare = re.compile(BARE_NAME).fullmatch
_plain = re.compile(r'[ !#-\[\]-~]*').fullmatch  # printable ASCII but for `"` and the backslash
_escape = re.compile(rb'[^ !#-\[\]-~]')
_escaped = re.compile(rb"\\(?:([\"\\nt])|([0-9A-Fa-f]{2}))?")
_SHORT = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}


def quote(text: str) -> str:
    """`text` as a string literal. Bytes that were no UTF-8 when read come out as they were."""
    if _plain(text):
        return f'"{text}"'
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        raw = text.encode("utf-8", "surrogatepass")
    escaped = _escape.sub(lambda m: b"\\\\" if m[0] == b"\\" else b"\\%02X" % m[0][0], raw)
    return f'"{escaped.decode("ascii")}"'


def unquote(literal: str) -> str:
    """What a string literal (quotes included) stands for; raises `ValueError` for an unknown escape."""
    body = literal[1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[bytes]) -> bytes:
        short, code = match.groups()
        if short is not None:
            return _SHORT[short]
        if code is None:
            raise ValueError("unknown escape in string: a backslash is followed by \", \\, n, t or two hexadecimal digits")
        return bytes((int(code, 16),))

    try:
        raw = body.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = body.encode("utf-8", "surrogatepass")
    return _escaped.sub(replace, raw).decode("utf-8", "surrogateescape")


def word_or_string(name: str) -> str:
    """A name as it stands in a dictionary: bare where it can be, else quoted."""
    if not isinstance(name, str):
        raise InternalError(f"an attribute is called {name!r:.80}, and names are text")
    return name if _bare(name) else quote(name)


def symbol_text(symbol: str) -> str:
    """`main` is `@main`, `a::@b c` is `@a::@"b c"`."""
    return "::".join(f"@{word_or_string(part)}" for part in symbol.split("::@"))
