"""What the distributions that are installed name in their entry points, whatever one of them has in its file.

What finds them, on `sys.meta_path`, and their files are others': reading them may raise anything, and nobody's mistake is to end
what has nothing to do with it.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points

__all__ = ["ENTRIES", "installed", "named"]

ENTRIES = "entry_points.txt"
"""The file of a distribution that has them."""


def installed(group: str) -> tuple[list[EntryPoint], dict[Distribution, Exception]]:
    """The entry points of a group; and the distributions whose file of them, which may name it, does not read, and why."""
    try:
        return list(entry_points(group=group)), {}
    except Exception:  # of a distribution that is not said: a line without `=`, bytes that are no text
        pass
    points: list[EntryPoint] = []
    unreadable: dict[Distribution, Exception] = {}
    seen: set[str] = set()
    for each in distributions():
        name = named(each)[0].lower().replace("-", "_")
        if name and name in seen:
            continue  # the one that comes first on sys.path hides it
        seen.add(name)
        try:
            points.extend(each.entry_points.select(group=group))
        except Exception as error:
            if _may_name(each, group):
                unreadable[each] = error
    return points, unreadable


def _may_name(distribution: Distribution, group: str) -> bool:
    """Whether a file of entry points that does not read has some of a group."""
    try:
        return f"[{group}]" in (distribution.read_text(ENTRIES) or "")
    except Exception:  # nobody knows: it is told rather than left out
        return True


@lru_cache(64)
def named(distribution: Distribution) -> tuple[str, str]:
    """Name and version: each reading of one parses the file of metadata, and a distribution has many plugins."""
    try:
        return distribution.name or "", distribution.version or ""
    except Exception:  # it has no metadata, or none that reads
        return "", ""
