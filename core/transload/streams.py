"""Standard streams, and the descriptors beneath them, as they were before code of others ran."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

from .forks import is_alone

__all__ = ["Streams", "copy_of", "is_on", "reopened"]

_NAMES = ("stdin", "stdout", "stderr")
"""By their descriptors."""


class Streams:
    """The standard streams of now, to be put back; copies of their descriptors are held until then where they are `held`, too.

    Where other threads run then, what is another stream, or a descriptor that leads elsewhere, may be theirs, and stays.
    """

    def __init__(self, held: bool = False) -> None:
        self._known = [getattr(sys, name, None) for name in _NAMES]
        self._held = held
        self._is_alone = held and is_alone()
        self._copies = [copy_of(number) for number in range(len(_NAMES))] if held else []
        self._on = [held and is_on(stream, number) for number, stream in enumerate(self._known)]

    def put_back(self) -> None:
        """Put back what is None; of those that are held what is closed, and, where no other thread runs, what is another."""
        for number, copy in enumerate(self._copies):
            if copy is not None:
                if not _same(number, copy) and (self._is_alone or not _is_open(number)):
                    os.dup2(copy, number, inheritable=True)
                os.close(copy)
        self._copies = []
        stream: Any
        for number, (name, stream) in enumerate(zip(_NAMES, self._known, strict=True)):
            now = getattr(sys, name, None)
            if now is not None and not self._is_alone and not (self._held and _is_closed(now)):
                continue
            if self._on[number] and stream.closed:
                stream = reopened(stream, number)
            if now is not stream:
                setattr(sys, name, stream)


def _is_closed(stream: Any) -> bool:
    """Whether a stream says that it is closed; it may be an object of anybody's."""
    with suppress(Exception):
        return getattr(stream, "closed", False) is True
    return False


def _is_open(number: int) -> bool:
    with suppress(OSError):
        os.fstat(number)
        return True
    return False


def copy_of(number: int) -> int | None:
    """A copy of a descriptor; None of one that is closed."""
    try:
        return os.dup(number)
    except OSError:
        return None


def _same(number: int, copy: int) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(number), os.fstat(copy))
    return False


def is_on(stream: Any, number: int) -> bool:
    """Whether a stream of text is open, and on this descriptor: it can be made anew. What wraps one makes it itself."""
    with suppress(OSError, ValueError):
        return isinstance(stream, io.TextIOWrapper) and stream.fileno() == number
    return False


def reopened(stream: io.TextIOWrapper, number: int) -> io.TextIOWrapper:
    """A stream as one that was closed, on the descriptor that it was on; the closed one where that is closed."""
    try:
        return open(
            number, "w" if number else "r", 1 if stream.line_buffering else -1, encoding=stream.encoding, errors=stream.errors,
            closefd=False)
    except OSError:
        return stream
