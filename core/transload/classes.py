"""Of which class something is, whatever it says of that itself."""

from __future__ import annotations

from typing import TypeGuard, TypeVar

__all__ = ["is_a"]


T = TypeVar("T")


def is_a(thing: object, classes: type[T] | tuple[type[T], ...]) -> TypeGuard[T]:
    """Whether something is of a class, as `except` sees it: what it says itself, which `isinstance` asks, may be a lie, as a
    mock's is."""
    return issubclass(type(thing), classes)
