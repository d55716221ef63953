"""What a public function takes, looked at as it is called: a wrong kind is told before the work, and by the argument's name.

    @takes(out=PATH, options=MAPPING, tell=CALLABLE)
    def convert(model, target=None, out="build", *, options=None, tell=None): ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import index
from os import PathLike, fsencode
from types import UnionType
from typing import Any, ParamSpec, TypeGuard, TypeVar

from .errors import UsageError
from .interrupts import interrupts_kept

__all__ = [
    "CALLABLE", "FLAG", "ITERABLE", "LABELS", "LIMITS", "MAPPING", "MODEL", "MODULE", "PATH", "PREPROCESS", "SAMPLES",
    "SCHEDULER", "SWITCH", "TEXT", "TEXTS", "WHOLE", "Kind", "is_iterable", "is_truth", "listed", "need",
    "need_kinds", "takes"]

Given = ParamSpec("Given")
Made = TypeVar("Made")
_BYTES = bytes | bytearray | memoryview


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Kind:
    """What an argument may be, besides its default: `what`, in words, and a function that says whether it is.

    `taken` makes of what was given what is looked at, and what the function gets: a list of what can be gone through once.
    """

    what: str
    fits: Callable[[Any], bool]
    hint: str = ""
    taken: Callable[[Any], Any] = _itself


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
    if not isinstance(value, Iterable):
        return False
    try:
        return len(value.shape) > 0  # type: ignore[attr-defined]  # that of others' objects is a tuple, an array, or anything
    except (AttributeError, TypeError, ValueError):  # there is none, it has no length, or TensorFlow does not know that
        return True


def _is_several(value: Any) -> bool:
    return is_iterable(value) and not isinstance(value, str | _BYTES | type)


def listed(value: Any) -> Any:
    """Texts that can be gone through once, as a generator's, as a list, to the first that is none; what else it is, as it is."""
    if not isinstance(value, Iterator):
        return value
    found = []
    with interrupts_kept():  # which the caller's own code may be in
        for each in value:
            found.append(each)
            if not isinstance(each, str):
                break
    return found


def _are_texts(value: Any) -> bool:
    """Whether it is a text, or texts one after the other; what is no collection is not looked into, and no array is."""
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


def is_truth(value: Any) -> bool:
    """Whether it is True or False, or numpy's, whose class has another name in older ones."""
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_flag(value: Any) -> bool:
    """Whether it is a truth, or the number of one."""
    return is_truth(value) or (_is_whole(value) and index(value) in (0, 1))


def _as_truth(value: Any) -> Any:
    """A truth as Python's, whoever's it is; what else it is, as it is."""
    return bool(value) if _is_flag(value) else value


def _has(value: Any, name: str) -> bool:
    """Whether it is an object with a method or fact of this name, and not its class."""
    return not isinstance(value, type) and hasattr(value, name)


PATH = Kind("a path", _is_path)
MAPPING = Kind("a dictionary by names", lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value))
TEXT = Kind("a text", lambda value: isinstance(value, str))
SWITCH = Kind("True, False or a text", lambda value: isinstance(value, str) or _is_flag(value), taken=_as_truth)
TEXTS = Kind("a list of texts", _are_texts, taken=listed)
LIMITS = Kind(
    "limits", lambda value: TEXTS.fits(value) or MAPPING.fits(value) or _has(value, "leaving_out"), taken=listed)
ITERABLE = Kind("several, one after the other", _is_several)
CALLABLE = Kind("a function", callable)
PREPROCESS = Kind("a Preprocess", lambda value: _has(value, "as_toml"), "transload.Preprocess.read(path) makes one of a file")
WHOLE = Kind("a whole number", _is_whole)
FLAG = Kind("True or False", _is_flag, taken=_as_truth)
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

        def taken(arguments: tuple[Any, ...], named: Mapping[str, Any], called: str = function.__name__) -> dict[str, Any]:
            """By name, what the function gets in place of arguments."""
            others = {}
            for name, kind in kinds.items():
                place, default = places[name]
                given = named[name] if name in named else arguments[place] if place < len(arguments) else default
                if given is default:
                    continue
                value = kind.taken(given)
                if not kind.fits(value):
                    raise UsageError(f"{called}() takes {kind.what} as {name}, and was given {_shown(given)}", hint=kind.hint)
                if value is not given:
                    others[name] = value
            return others

        @wraps(function)
        def checked(*arguments: Given.args, **named: Given.kwargs) -> Made:
            given: list[Any] = list(arguments)
            for name, value in taken(arguments, named).items():
                if name in named:
                    named[name] = value
                else:
                    given[places[name][0]] = value
            return function(*given, **named)

        checked.need_kinds, checked.kinds = taken, kinds  # type: ignore[attr-defined]
        return checked

    return decorated


def need_kinds(function: Callable[..., Any], named: Mapping[str, Any], called: str) -> dict[str, Any]:
    """Arguments by name as a function that `takes` kinds of them gets them, and what it raises for some, in the name of another,
    which passes them on."""
    return {**named, **function.need_kinds((), named, called)}  # type: ignore[attr-defined]


def need(value: Any, kind: type | UnionType, function: str, what: str) -> None:
    """Raise `UsageError` where a function was given something else than a `what`, an object of a class."""
    if not isinstance(value, kind):
        raise UsageError(f"{function}() takes a {what}, and was given {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping) and (others := [key for key in value if not isinstance(key, str)]):
        return f"a {type(value).__name__} with the key {others[0]!r:.100}"
    return f"{value!r:.100}" if isinstance(value, str | PathLike) else type(value).__name__
