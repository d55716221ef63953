"""What a public function takes, looked at as it is called: a wrong kind is told before the work, and by the argument's name.

    @takes(out=PATH, options=MAPPING, tell=CALLABLE)
    def convert(model, target=None, out="build", *, options=None, tell=None): ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import index
from os import PathLike, fsencode
from types import UnionType
from typing import Any, ParamSpec, TypeGuard, TypeVar

from .errors import UsageError

__all__ = [
    "CALLABLE", "FLAG", "ITERABLE", "LABELS", "LIMITS", "MAPPING", "MODEL", "MODULE", "PATH", "PREPROCESS", "SAMPLES",
    "SCHEDULER", "SWITCH", "TEXT", "TEXTS", "WHOLE", "Kind", "is_iterable", "need", "need_kinds", "takes"]

Given = ParamSpec("Given")
Made = TypeVar("Made")
_BYTES = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Kind:
    """What an argument may be, besides its default: `what`, in words, and a function that says whether it is."""

    what: str
    fits: Callable[[Any], bool]
    hint: str = ""


def _is_path(value: Any) -> bool:
    """Whether it is a path that a system can have: some text, without a NUL or half of a pair of characters."""
    if not isinstance(value, str | PathLike):
        return False
    try:
        return bool(encoded := fsencode(value)) and b"\0" not in encoded
    except (UnicodeEncodeError, TypeError):
        return False


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether it can be gone through; an array of no dimensions, numpy's or another's, has the method for it, and cannot."""
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def _is_several(value: Any) -> bool:
    return is_iterable(value) and not isinstance(value, str | _BYTES | type)


def _are_texts(value: Any) -> bool:
    """Whether it is a text, or texts one after the other; what can be gone through once is not looked into, and no array is."""
    if isinstance(value, str):
        return True
    if not _is_several(value) or isinstance(value, Mapping) or hasattr(value, "__array__"):
        return False
    return not isinstance(value, Collection) or all(isinstance(each, str) for each in value)


def _is_module(value: Any) -> bool:
    """Whether it is a module, as what its class has tells: the class itself stands above this file."""
    return hasattr(type(value), "body_of_main")


def _is_whole(value: Any) -> bool:
    try:
        index(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_flag(value: Any) -> bool:
    """Whether it is a truth, one of numpy's, or the number of one."""
    return index(value) in (0, 1) if _is_whole(value) else type(value).__name__ in ("bool", "bool_")


def _has(value: Any, name: str) -> bool:
    """Whether it is an object with a method or fact of this name, and not its class."""
    return not isinstance(value, type) and hasattr(value, name)


PATH = Kind("a path", _is_path)
MAPPING = Kind("a dictionary by names", lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value))
TEXT = Kind("a text", lambda value: isinstance(value, str))
SWITCH = Kind("True, False or a text", lambda value: isinstance(value, str) or _is_flag(value))
TEXTS = Kind("a list of texts", _are_texts)
LIMITS = Kind("limits", lambda value: TEXTS.fits(value) or MAPPING.fits(value) or _has(value, "leaving_out"))
ITERABLE = Kind("several, one after the other", _is_several)
CALLABLE = Kind("a function", callable)
PREPROCESS = Kind("a Preprocess", lambda value: _has(value, "as_toml"), "transload.Preprocess.read(path) makes one of a file")
WHOLE = Kind("a whole number", _is_whole)
FLAG = Kind("True or False", _is_flag)
MODULE = Kind("a module", _is_module, 'transload.load("model.tflite") reads one')
MODEL = Kind("a path or a Module", lambda value: PATH.fits(value) or _is_module(value))
SAMPLES = Kind("samples", lambda value: PATH.fits(value) or _is_several(value) or _has(value, "open"))
LABELS = Kind("labels", lambda value: PATH.fits(value) or _is_several(value))
SCHEDULER = Kind("a Dask client, or the address of a scheduler,", lambda value: bool(value) if isinstance(value, str) else (
    _has(value, "submit") or _has(value, "scheduler_address")))


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
                raise UsageError(f"{called}() takes {kind.what} as {name}, and was given {_shown(value)}", hint=kind.hint)

        @wraps(function)
        def checked(*arguments: Given.args, **named: Given.kwargs) -> Made:
            check(arguments, named)
            return function(*arguments, **named)

        checked.need_kinds, checked.kinds = check, kinds  # type: ignore[attr-defined]
        return checked

    return decorated


def need_kinds(function: Callable[..., Any], named: Mapping[str, Any], called: str) -> None:
    """What a function that `takes` kinds of arguments raises for some by name, in the name of another, which passes them on."""
    function.need_kinds((), named, called)  # type: ignore[attr-defined]


def need(value: Any, kind: type | UnionType, function: str, what: str) -> None:
    """Raise `UsageError` where a function was given something else than a `what`, an object of a class."""
    if not isinstance(value, kind):
        raise UsageError(f"{function}() takes a {what}, and was given {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping) and (others := [key for key in value if not isinstance(key, str)]):
        return f"a {type(value).__name__} with the key {others[0]!r:.100}"
    return f"{value!r:.100}" if isinstance(value, str | PathLike) else type(value).__name__
