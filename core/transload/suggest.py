"""The nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, or None where none is near."""
    found = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)
    return found[0] if found else None
