"""What to advise: the nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


_NEAR, _BEGUN = 0.6, 3
"""How much two names have in common of which one may be meant by the other; letters of a name that was not written to its end."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The shortest candidate that begins with `name`, or else the one most like it; None where none is near."""
    known = list(candidates)
    begun = [each for each in known if each.startswith(name)] if len(name) >= _BEGUN else []
    found = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return min(begun, key=len, default=found[0] if found else None)
