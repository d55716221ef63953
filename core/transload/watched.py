"""Tables that programs fill: whoever read one is told when there is more in it, as of a cell of a notebook that is run again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol
from weakref import ReferenceType, ref

__all__ = ["Watched", "Watcher", "told"]


_FEW = 3
"""Names that stand in one line; of more there is the number."""


def told(names: Collection[str]) -> str:
    """The ops that a table is about, in some words."""
    first = ", ".join(sorted(names)[:_FEW])
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{first}{more}" if first else "no op"


class Watcher(Protocol):
    """Who keeps what he read in a table."""

    def forget(self) -> None:
        """Read anew, when it is asked for."""


class Watched:
    """What has something added to it, and may have been read before."""

    _watchers: tuple[ReferenceType[Watcher], ...] = ()

    def watch(self, watcher: Watcher) -> None:
        """Have `watcher.forget()` called whenever something is added, as long as there is a watcher."""
        if all(each() is not watcher for each in self._watchers):
            self._watchers = (*(each for each in self._watchers if each() is not None), ref(watcher))

    def changed(self) -> None:
        """Tell those who read it."""
        for each in self._watchers:
            watcher = each()
            if watcher is not None:
                watcher.forget()
