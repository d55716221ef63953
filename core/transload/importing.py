"""How Python imports, as it was before code of others ran: what is imported after it is found all the same."""

from __future__ import annotations

import builtins
import sys

from .forks import is_alone

__all__ = ["Imports"]

_LISTS = ("path", "meta_path", "path_hooks")
"""Of `sys`."""


class Imports:
    """Where and how modules are looked for now, to be put back.

    What is added meanwhile stays, as packages bring modules of their own so. Where other threads run, what is taken away may be
    what one of them had added for a while: only a list that is empty, or none any more, is filled then.
    """

    def __init__(self) -> None:
        self._is_alone = is_alone()
        self._function = builtins.__import__
        self._lists = {name: list(getattr(sys, name)) for name in _LISTS}

    def put_back(self, function: bool = False) -> None:
        """Put back what is gone of the places and of those that look there; `function`: and `__import__`, which some packages
        wrap for good."""
        if function:
            builtins.__import__ = self._function
        for name, before in self._lists.items():
            now = getattr(sys, name, None)
            if not isinstance(now, list):
                setattr(sys, name, before)
            elif self._is_alone or not now:
                now.extend([each for each in before if each not in now])
