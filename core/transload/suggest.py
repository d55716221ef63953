"""What to advise: the nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


_NEAR, _BEGUN = 0.6, 3
"""How much two names have in common of which one may be meant by the other; letters of a name that was not written to its end."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is `name` but for capitals, the shortest that begins with it, or else the one most like it; None where
    none is near."""
    known = list(candidates)
    same = [each for each in known if each.lower() == name.lower()]
    if same:
        return name if name in same else same[0]
    begun = [each for each in known if each.startswith(name)] if len(name) >= _BEGUN else []
    found = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return min(begun, key=len, default=found[0] if found else None)
