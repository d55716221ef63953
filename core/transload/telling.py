"""What is told of work that takes long, as it goes: `say(stage, share)`, for whoever listens, as a terminal's bar does.

    with told_to(lambda stage, share: print(stage)):
        transload.quantize(model, "int8", samples, effort="best")

Whoever works says so where it works, and needs no argument for it; where nobody listens, nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Tell", "say", "told_to"]

Tell = Callable[[str, "float | None"], None]
"""Told what is done, and which share of it is, or None where that is not known."""

_listener: ContextVar[Tell | None] = ContextVar("transload.listener", default=None)


@contextmanager
def told_to(tell: Tell | None) -> Iterator[None]:
    """Have `tell` called by what runs inside, in this thread or task; None leaves whoever listens around it."""
    token = _listener.set(tell or _listener.get())
    try:
        yield
    finally:
        _listener.reset(token)


def say(stage: str, share: float | None = None) -> None:
    """Tell whoever listens what is done, and which share of it is."""
    tell = _listener.get()
    if tell is not None:
        tell(stage, share)
