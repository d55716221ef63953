"""The answer of a command whose standard output is data, as of `--json`: it has that alone.

What plugins and libraries print, in C, too, goes to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Any

__all__ = ["COMPLETION", "data_alone", "print_data", "print_json"]

COMPLETION = "_TRANSLOAD_COMPLETE"
"""The environment's variable by which a shell asks how a line may go on."""


class _Answer:
    """Standard output, for what is data."""

    def __init__(self, stream: Any, real: int | None) -> None:
        self.stream = stream
        self.real = real
        """What its descriptor is a copy of, while that is standard error's; None where it has none."""

    def write(self, text: str) -> None:
        if self.real is None:
            self.stream.write(text)
            return
        os.dup2(self.real, 1)
        try:
            self.stream.write(text)
            self.stream.flush()
        finally:
            os.dup2(1, self.real)  # where nobody reads any more it is another one now
            os.dup2(2, 1)


_answer: ContextVar[_Answer | None] = ContextVar("transload.answer", default=None)


@contextmanager
def data_alone() -> Iterator[None]:
    """Standard output is for `print_data` and `print_json`. One in another is the same."""
    if _answer.get() is not None:
        yield
        return
    answer = _Answer(sys.stdout, _lent(sys.stdout))
    token = _answer.set(answer)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _answer.reset(token)
        if answer.real is not None:
            os.dup2(answer.real, 1)
            os.close(answer.real)


def _lent(stream: Any) -> int | None:
    """A copy of the process's first descriptor, which is standard error's from now on; None where the stream is not of it."""
    copy = None
    try:
        if stream.fileno() != 1:
            return None
        stream.flush()
        copy = os.dup(1)
        os.dup2(2, 1)
    except (OSError, ValueError, AttributeError):  # a stream without one, or one that is closed
        if copy is not None:
            os.close(copy)
        return None
    return copy


def print_data(text: str) -> None:
    """Print text that is the answer."""
    from .process import answering

    answering()
    (_answer.get() or sys.stdout).write(text)


def print_json(value: Any) -> None:
    """Print a value as JSON, a dataclass among others."""
    from ..json_text import json_text

    print_data(json_text(value) + "\n")
