"""Standard streams, and the descriptors beneath them, as they were before code of others ran."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["Streams", "is_on", "reopened"]

_NAMES = ("stdin", "stdout", "stderr")
"""By their descriptors."""


class Streams:
    """The standard streams of now, to be put back; copies of their descriptors are held until then where they are `held`, too.

    Not where threads write: who exchanges a stream or a descriptor meanwhile has it exchanged back.
    """

    def __init__(self, held: bool = False) -> None:
        self._known = [getattr(sys, name, None) for name in _NAMES]
        self._copies = [_copy_of(number) for number in range(len(_NAMES))] if held else []
        self._on = [held and is_on(stream, number) for number, stream in enumerate(self._known)]

    def put_back(self) -> None:
        """Put back what is None; of those that are held what is another, too, closed, or leads elsewhere."""
        for number, copy in enumerate(self._copies):
            if copy is not None:
                if not _same(number, copy):
                    os.dup2(copy, number, inheritable=True)
                os.close(copy)
        stream: Any
        for number, (name, stream) in enumerate(zip(_NAMES, self._known, strict=True)):
            if self._on[number] and stream.closed:
                stream = reopened(stream, number)
            if self._copies or getattr(sys, name, None) is None:
                setattr(sys, name, stream)
        self._copies = []


def _copy_of(number: int) -> int | None:
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
