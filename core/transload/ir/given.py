"""A look at what is given as values, where that is to be something else than code of ours gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ..errors import BuildError

__all__ = ["values_of"]

V = TypeVar("V")


def values_of(where: str, given: Iterable[V], kind: type[V]) -> tuple[V, ...]:
    """What is given, as a tuple; `BuildError` where it is no list of objects of the class `kind`, as `where` begins to say."""
    shown = type(given).__name__
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | dict):
        raise BuildError(f"{where} {shown}, where a list of values is wanted")
    values = tuple(given)
    for index, value in enumerate(values):
        if value.__class__ is not kind:
            raise BuildError(
                f"{where} a {shown} with {type(value).__name__} in place {index}, where a value is wanted",
                hint="`constant(...)` of a Builder makes one of numbers, and `op.result` is that of an op")
    return values
