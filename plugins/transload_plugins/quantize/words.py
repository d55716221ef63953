"""Names of tensors in tables of text, a line each: as they are, or in quotes where they would be read as something else.

    conv1/relu F32
    "#relu" F32

Names that begin with `#` would be comments, those with line ends several lines. Quoted ones are strings as JSON has them; a name
that needs no quotes and has some, in another tool's table, is called so.
"""

from __future__ import annotations

import json

__all__ = ["as_word", "of_word"]


def as_word(name: str) -> str:
    """A name as a line begins with it; `of_word` reads it."""
    plain = name == name.strip() and not name.startswith(("#", '"')) and len(name.splitlines()) == 1
    return name if plain else json.dumps(name)


def of_word(word: str) -> str:
    """The name that a line says."""
    if word.startswith('"'):
        try:
            name = json.loads(word)
        except (ValueError, RecursionError):
            return word
        if isinstance(name, str) and as_word(name) == word:
            return name
    return word
