"""The answer of `--json`: standard output has it alone. What plugins and libraries print goes to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Any

__all__ = ["json_alone", "print_json"]

_answers: ContextVar[Any] = ContextVar("answers", default=None)


@contextmanager
def json_alone() -> Iterator[None]:
    """Standard output is for `print_json`."""
    token = _answers.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _answers.reset(token)


def print_json(value: Any) -> None:
    """Print a value as JSON, a dataclass among others."""
    from ..json_text import json_text

    print(json_text(value), file=_answers.get())
