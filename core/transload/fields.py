"""Fields of the objects that plugins register, looked at by their annotations: `bool`, `tuple[str, ...]`, `str | None`.

A field is a promise to all who read it, wherever they do: what is of another kind is told as it is registered. Looked at are the
fields of our own classes: those that a plugin's subclass adds, whatever their annotations, are read by the plugin alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

__all__ = ["tuples_of", "wrong_fields"]

_WORDS = {str: "text", bool: "True or False", int: "a whole number", float: "a number", NoneType: "None"}


def wrong_fields(item: Any, of: type) -> Iterator[tuple[str, str]]:
    """Of an object the fields of the dataclass `of` whose values are not what that says of them, and what would be, in words."""
    for name, annotation in _annotations(of).items():
        if not _fits(getattr(item, name), annotation):
            yield name, _words(annotation)


def tuples_of(item: Any, of: type) -> dict[str, tuple[Any, ...]]:
    """Of an object the fields of the dataclass `of` that are lists where tuples are said, as tuples: some who read them need
    such."""
    return {name: tuple(value) for name in _annotations(of) if isinstance(value := getattr(item, name), list)}


@cache
def _annotations(of: Any) -> dict[str, Any]:
    """The annotation of each field of a dataclass."""
    known = get_type_hints(of)
    return {each.name: known[each.name] for each in fields(of)}


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The annotations of which a value fits one: those of a union, or the one itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _fits(value: Any, annotation: Any) -> bool:
    return annotation is Any or any(_fits_one(value, each) for each in _parts(annotation))


def _fits_one(value: Any, annotation: Any) -> bool:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        if not isinstance(value, tuple | list):
            return False
        wanted = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return len(value) == len(wanted) and all(map(_fits, value, wanted))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(key, inner[0]) for key in value)
    wanted = (int, float) if annotation is float else annotation
    return isinstance(value, wanted) and (annotation is bool or not isinstance(value, bool))


def _words(annotation: Any) -> str:
    """What an annotation wants: "a tuple of texts, or None"."""
    return ", or ".join(map(_words_of_one, _parts(annotation)))


def _words_of_one(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        count = "" if inner[-1] is Ellipsis else f"{len(inner)} "
        return f"a tuple of {count}{'texts' if inner[0] is str else 'numbers'}"
    return "a dictionary by texts" if origin is Mapping else _WORDS[annotation]
