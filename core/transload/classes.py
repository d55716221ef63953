"""Of which class something is, whatever it says of that itself."""

from __future__ import annotations

from typing import TypeGuard, TypeVar

__all__ = ["is_a"]


E = TypeVar("E", bound=BaseException)


def is_a(error: BaseException, classes: type[E] | tuple[type[E], ...]) -> TypeGuard[E]:
    """Whether an exception is of a class, as `except` sees it: what it says itself, which `isinstance` asks, may be a lie."""
    return issubclass(type(error), classes)
