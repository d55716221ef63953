"""Reading text from left to right: position, blanks, tokens, and errors that show the place."""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import TextError
from .strings import BLANK, STRING, unquote

__all__ = ["MAX_NESTING", "Scanner"]

MAX_NESTING = 100
"""How deep types, attributes and regions may lie in each other; text beyond it is refused, not recursed into."""

_blank = re.compile(BLANK).match
_string = re.compile(STRING).match
_word = re.compile(r"[A-Za-z0-9_$.%#@!^-]+|.", re.DOTALL).match


class Scanner:
    """A position in a text; the parsers derive from it, each adding what it can read.

    `take*` methods read something at the position, after blanks and comments, or raise `TextError`;
    `try_*` methods return whether it was there.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.pos = 0
        self.depth = 0

    # --- errors

    def error(self, what: str, at: int | None = None, hint: str = "") -> NoReturn:
        """Raise `TextError` for the place `at` (default: the next token)."""
        if at is None:
            self.skip()
            at = self.pos
        text = self.text
        line = text.count("\n", 0, at) + 1
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        column = at - start + 1
        shown_from = max(start, at - 60)  # lines can hold megabytes of constants
        shown = text[shown_from : min(end, at + 60)].replace("\t", " ")
        shown = shown.encode("utf-8", "replace").decode("utf-8")
        marker = " " * (at - shown_from) + "^"
        raise TextError(f"{self.name}:{line}:{column}: {what}\n    {shown}\n    {marker}", hint=hint)

    def found(self) -> str:
        """What stands at the position, for messages."""
        self.skip()
        match = _word(self.text, self.pos)
        return repr(match[0][:40]) if match else "the end of the text"

    # --- tokens

    def skip(self) -> None:
        """Go over blanks and comments."""
        self.pos = _blank(self.text, self.pos).end()  # type: ignore[union-attr]

    def peek(self) -> str:
        """The next character that is no blank; "" at the end."""
        self.skip()
        return self.text[self.pos : self.pos + 1]

    def try_take(self, token: str) -> bool:
        """Go over `token` if it is next."""
        self.skip()
        if self.text.startswith(token, self.pos):
            self.pos += len(token)
            return True
        return False

    def take(self, token: str, what: str = "") -> None:
        """Go over `token`."""
        if not self.try_take(token):
            self.error(f"expected {token!r}{what and ' ' + what}, found {self.found()}")

    def try_match(self, pattern: re.Pattern[str]) -> str | None:
        """The text that `pattern` matches here, or None."""
        self.skip()
        match = pattern.match(self.text, self.pos)
        if match is None:
            return None
        self.pos = match.end()
        return match[0]

    def take_match(self, pattern: re.Pattern[str], what: str) -> str:
        """The text that `pattern` matches here."""
        found = self.try_match(pattern)
        if found is None:
            self.error(f"expected {what}, found {self.found()}")
        return found

    def take_string(self) -> str:
        """A string literal, decoded."""
        self.skip()
        match = _string(self.text, self.pos)
        if match is None:
            self.error(f"expected a string, found {self.found()}")
        value = self.unquoted(match[0], self.pos)
        self.pos = match.end()
        return value

    def unquoted(self, literal: str, at: int) -> str:
        """What the string literal at `at` stands for."""
        try:
            return unquote(literal)
        except ValueError as error:
            self.error(str(error), at)

    # --- limits

    def enter(self) -> None:
        """One level deeper."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.error(f"nested more than {MAX_NESTING} levels deep")

    def leave(self) -> None:
        self.depth -= 1
