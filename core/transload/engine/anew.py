"""Runs that begin anew: what a program keeps from one run to the next has its first value in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["beginning", "begun_anew"]

_BEGINNING: ContextVar[object | None] = ContextVar("_BEGINNING", default=None)


@contextmanager
def begun_anew() -> Iterator[None]:
    """What is run within begins anew, by kernels that ask for the `beginning`."""
    token = _BEGINNING.set(object())
    try:
        yield
    finally:
        _BEGINNING.reset(token)


def beginning() -> object | None:
    """An object of the innermost `begun_anew` around; None outside of any, where what was kept lives on."""
    return _BEGINNING.get()
