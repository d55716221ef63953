"""What a public function takes, looked at as it is called: a wrong kind is told before the work, and by the argument's name.

    @takes(out=PATH, options=MAPPING, tell=CALLABLE)
    def convert(model, target=None, out="build", *, options=None, tell=None): ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from types import UnionType
from typing import Any, ParamSpec, TypeVar

from .errors import UsageError

__all__ = [
    "CALLABLE", "ITERABLE", "LIMITS", "MAPPING", "PATH", "PREPROCESS", "TEXT", "TEXTS", "WHOLE", "Kind", "need", "need_kinds",
    "takes"]

Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Kind:
    """What an argument may be, besides its default: `what`, in words, and a function that says whether it is."""

    what: str
    fits: Callable[[Any], bool]


PATH = Kind("a path", lambda value: isinstance(value, str | PathLike) and not isinstance(value, bytes))
MAPPING = Kind("a dictionary", lambda value: isinstance(value, Mapping))
TEXT = Kind("a text", lambda value: isinstance(value, str))
TEXTS = Kind("a list of texts", lambda value: isinstance(value, Iterable) and not isinstance(value, Mapping) and (
    not isinstance(value, list | tuple | set | frozenset) or all(isinstance(each, str) for each in value)))
LIMITS = Kind("limits", lambda value: TEXTS.fits(value) or MAPPING.fits(value) or hasattr(value, "leaving_out"))
ITERABLE = Kind("several, one after the other", lambda value: isinstance(value, Iterable))
CALLABLE = Kind("a function", callable)
PREPROCESS = Kind("a Preprocess", lambda value: hasattr(value, "as_toml"))
WHOLE = Kind("a whole number", lambda value: hasattr(value, "__index__"))


def takes(**kinds: Kind) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """A function that raises `UsageError` where one of its arguments, by name, is not of its kind."""
    def decorated(function: Callable[Given, Made]) -> Callable[Given, Made]:
        signature = inspect.signature(function)
        places = {name: (place, signature.parameters[name].default) for place, name in enumerate(signature.parameters)}

        def check(arguments: tuple[Any, ...], named: Mapping[str, Any], called: str = function.__name__) -> None:
            for name, kind in kinds.items():
                place, default = places[name]
                value = named[name] if name in named else arguments[place] if place < len(arguments) else default
                if value is default or kind.fits(value):
                    continue
                raise UsageError(f"{called}() takes {kind.what} as {name}, and was given {type(value).__name__}")

        @wraps(function)
        def checked(*arguments: Given.args, **named: Given.kwargs) -> Made:
            check(arguments, named)
            return function(*arguments, **named)

        checked.need_kinds = check  # type: ignore[attr-defined]
        return checked

    return decorated


def need_kinds(function: Callable[..., Any], named: Mapping[str, Any], called: str) -> None:
    """What a function that `takes` kinds of arguments raises for some by name, in the name of another, which passes them on."""
    function.need_kinds((), named, called)  # type: ignore[attr-defined]


def need(value: Any, kind: type | UnionType, function: str, what: str) -> None:
    """Raise `UsageError` where a function was given something else than a `what`, an object of a class."""
    if not isinstance(value, kind):
        shown = repr(value) if isinstance(value, str | PathLike) else type(value).__name__
        raise UsageError(f"{function}() takes a {what}, and was given {shown:.100}")
