"""How often the process looks for unreachable cycles: more rarely while models are converted."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["rare_collections"]

EVERY = 50_000
"""New objects between two collections of the youngest generation."""


class _Threshold:
    """The collector's threshold is the process's: who comes first raises it, who goes last puts it back.

    Conversions overlap in threads, and end in another order than they began in. A threshold that somebody else set
    meanwhile stays.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.before = self.raised = (0, 0, 0)

    def raise_it(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.before = gc.get_threshold()
                youngest, *others = self.before
                gc.set_threshold(max(EVERY, youngest) if youngest else 0, *others)
                self.raised = gc.get_threshold()

    def put_it_back(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and gc.get_threshold() == self.raised:
                gc.set_threshold(*self.before)


_threshold = _Threshold()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for unreachable cycles every 50,000 new objects only.

    Most of what a conversion makes stays, and a quarter of its time would go into finding that out again and again.
    """
    _threshold.raise_it()
    try:
        yield
    finally:
        _threshold.put_it_back()
