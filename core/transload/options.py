"""Options that targets and conversions declare: name -> (type, default, what it does).

Each has an owner. `top-to-tosa.int64=assumed` is the option `int64` of the conversion `top-to-tosa`; `int64=assumed` is that of
whoever on the way declares it, and an error where two declare it differently.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import UsageError, written
from .kinds import is_truth
from .suggest import nearest

__all__ = [
    "Options", "Owner", "as_annotated", "need_names", "need_options", "option_type", "own_options", "own_settings",
    "parameters_of", "required", "same_option", "settings_of", "shared_out", "typed",
]

_WORDS = {bool: "true or false", int: "int", float: "float", str: "text"}

_MOST_BITS = 64
"""Bits of an option that is an integer: no size, count or seed has more, and neither JSON nor what takes them could hold it."""
_SHORT_INTEGER = f"an int of at most {_MOST_BITS} bits"
_INTEGER = re.compile(r"\s*[+-]?\d[\d_]*\s*")
_NUMBERS: dict[type, Any] = {int: Integral, float: Real}

Options = Mapping[str, tuple[type | tuple[str, ...], Any, str]]
"""The type is bool, int, float, str, or a tuple of the words that can be chosen from."""


def settings_of(declared: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every declared option: the one given, as text or as a value, or its default."""
    return {
        name: default if name not in given or given[name] is default is None else typed(name, given[name], wanted)
        for name, (wanted, default, _) in declared.items()
    }


def typed(name: str, value: Any, wanted: type | tuple[str, ...]) -> Any:
    """The value of option `name`, read from text where it is text. Raises `UsageError` where it is not of its type.

    Numbers of numpy's are numbers, whole ones are real ones, too, and a path is text; True is no number.
    """
    if isinstance(wanted, tuple):
        if value not in wanted:
            raise _mistyped(name, ' or '.join(wanted), value)
        return value
    if wanted is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        return _of_type(name, value, wanted)
    if wanted is str:
        return value
    if wanted is bool:
        if value.lower() in ("true", "1", "yes", "on"):
            return True
        if value.lower() in ("false", "0", "no", "off"):
            return False
        raise _mistyped(name, _WORDS[bool], value)
    try:
        return _held(name, wanted(value))
    except ValueError:
        too_long = wanted is int and _INTEGER.fullmatch(value)  # for Python to read
        raise _mistyped(name, _SHORT_INTEGER if too_long else wanted.__name__, value) from None


def _of_type(name: str, value: Any, wanted: type) -> Any:
    """A value that is no text, as its option's type has it; `UsageError` where it is of another."""
    fits = is_truth(value) if wanted is bool else not is_truth(value) and isinstance(value, _NUMBERS.get(wanted, wanted))
    if not fits:
        raise _mistyped(name, _WORDS[wanted], value)
    try:
        return _held(name, wanted(value))
    except OverflowError:  # an integer that is greater than any float
        raise _mistyped(name, _WORDS[wanted], value) from None


def _held(name: str, value: Any) -> Any:
    """A value of an option; `UsageError` for an integer that is too long."""
    if type(value) is int and not -(1 << _MOST_BITS - 1) <= value < 1 << _MOST_BITS:
        raise _mistyped(name, _SHORT_INTEGER, value)
    return value


def _said(value: Any) -> str:
    """A value as a command has it."""
    return value if isinstance(value, str) else written(value)


def _mistyped(name: str, wanted: str, value: Any) -> UsageError:
    return UsageError(f"option {name} must be {wanted}, not {written(value):.100}")


def parameters_of(function: Callable[..., Any], placed: int) -> list[inspect.Parameter]:
    """The parameters of a function behind those that are `placed`, annotations evaluated.

    Those of the others may be of what is imported for type checkers alone.
    """
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inner.func
    scope = getattr(inner if hasattr(inner, "__globals__") else type(inner).__call__, "__globals__", {})
    parameters = list(inspect.signature(function).parameters.values())[placed:]
    said = {each.name: each.annotation for each in parameters if each.annotation is not each.empty}
    known = get_type_hints(SimpleNamespace(__annotations__=said), scope)
    return [each.replace(annotation=known.get(each.name, each.annotation)) for each in parameters]


def required(function: Callable[..., Any], placed: int) -> list[str]:
    """The parameters of a function behind those that are `placed` which have no default.

    None of one that is not written in Python. Annotations may be for type checkers alone, and are let be.
    """
    try:
        given = list(inspect.signature(function).parameters.values())[placed:]
    except (TypeError, ValueError):
        return []
    return [
        each.name for each in given
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]


def option_type(annotation: Any) -> type | tuple[str, ...]:
    """What a parameter's annotation says of the option: a type, or the words to choose from."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:  # `int | None`: as the first of them
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return annotation if annotation in (bool, int, float) else str


def as_annotated(what: str, function: Callable[..., Any], placed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a function as its annotations say. Raises `UsageError` for what is not of its type.

    What is no text passes as it is where an annotation is no type that text is read as, or where it is the default.
    """
    known = {each.name: each for each in parameters_of(function, placed)}
    return {name: _annotated(f"{name} of {what}", value, known.get(name)) for name, value in options.items()}


def _annotated(name: str, value: Any, parameter: inspect.Parameter | None) -> Any:
    if parameter is None:
        return value
    if not isinstance(value, str) and (value is parameter.default or not _is_simple(parameter.annotation, value)):
        return value
    return typed(name, value, option_type(parameter.annotation))


def _is_simple(annotation: Any, value: Any) -> bool:
    """Whether an annotation says all of what a value that is no text may be: a type of options, or words."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        parts = [part for part in get_args(annotation) if part is not NoneType]
        return len(parts) == 1 and value is not None and _is_simple(parts[0], value)
    return annotation in (bool, int, float, str) or get_origin(annotation) is Literal


def need_options(what: str, function: Callable[..., Any], placed: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise `UsageError` where a function, called with what is `placed` before them, has not the `options` that are given it.

    Of a function whose parameters are not known nothing is said.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    parameters = list(signature.parameters.values())
    taken = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)][:len(placed)]
    known = [each.name for each in parameters
             if each not in taken and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    open_ended = any(each.kind == each.VAR_KEYWORD for each in parameters)
    named = [each.name for each in taken if each.kind == each.POSITIONAL_OR_KEYWORD]
    unknown = [name for name in options if name in named or (not open_ended and name not in known)]
    if unknown:
        raise UsageError(f"{what} has no option {', '.join(unknown)}", hint=_which(unknown[0], known))


@dataclass(frozen=True)
class Owner:
    """Who declares options: a target, a conversion, or one that extends a conversion."""

    name: str
    options: Options
    takes: str = ""
    """Whose options these are added to, where not its own: those of the conversion that is extended."""

    @property
    def taker(self) -> str:
        return self.takes or self.name


def own_options(owner: Owner, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options given those that an owner takes: by name alone, or by `owner.name`, which wins."""
    found = {name: given[name] for name in owner.options if name in given}
    found.update({name: given[f"{owner.name}.{name}"] for name in owner.options if f"{owner.name}.{name}" in given})
    return found


def need_names(given: Mapping[Any, Any]) -> None:
    """Raise `UsageError` where options are not given by name."""
    wrong = next((key for key in given if not isinstance(key, str)), None)
    if wrong is not None:
        raise UsageError(f"options are given by name, and {written(wrong):.100} ({type(wrong).__name__}) is none")


def same_option(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two declarations of an option mean the same: type and default; what they say of it may differ."""
    return tuple(one[:2]) == tuple(other[:2])


def shared_out(given: Mapping[str, Any], owners: Sequence[Owner], way: str) -> dict[str, dict[str, Any]]:
    """The options given, by whose they are: the taker's name to option to value. `way` is what messages call the owners.

    Raises `UsageError` for an option that no owner has, or that two declare differently and no owner is named for.
    """
    need_names(given)
    for key in given:
        if "." in key:
            _check_qualified(key, owners, way)
            continue
        declaring = [owner for owner in owners if key in owner.options]
        if not declaring:
            raise UsageError(f"{way} has no option {key}", hint=_which(key, [name for each in owners for name in each.options]))
        other = next((each for each in declaring if not same_option(each.options[key], declaring[0].options[key])), None)
        if other is not None:
            raise _of_two(key, given[key], declaring[0], other)
        if all(f"{owner.name}.{key}" in given for owner in declaring):
            raise UsageError(f"option {key}={_said(given[key])} has no effect: {declaring[0].name}.{key} is given, which wins",
                             hint="leave one of them out")
    assigned: dict[str, dict[str, Any]] = {}
    for owner in owners:
        assigned.setdefault(owner.taker, {}).update(own_options(owner, given))
    return assigned


def own_settings(owner: Owner, given: Mapping[str, Any], others: Callable[[], Iterable[Owner]]) -> dict[str, Any]:
    """The value of every option of an owner, of those given or its default, before it is known who else is on the way.

    Raises `UsageError` for what is not of its type; where one of `others` has an option of that name of which it is a value,
    for not saying whose it is.
    """
    try:
        return settings_of(owner.options, own_options(owner, given))
    except UsageError:
        for key in owner.options:
            if key in given and f"{owner.name}.{key}" not in given and not _is_value(key, given[key], owner):
                for other in others():
                    if key in other.options and _is_value(key, given[key], other):
                        raise _of_two(key, given[key], owner, other) from None
        raise


def _is_value(key: str, value: Any, owner: Owner) -> bool:
    try:
        settings_of({key: owner.options[key]}, {key: value})
    except UsageError:
        return False
    return True


def _of_two(key: str, value: Any, one: Owner, other: Owner) -> UsageError:
    """What to say of an option that two declare differently: of those that it is a value of, how to say so."""
    fitting = [owner.name for owner in (one, other) if _is_value(key, value, owner)] or [one.name, other.name]
    return UsageError(f"option {key} is declared by {one.name!r} and, differently, by {other.name!r}",
                      hint=f"say whose it is: {' or '.join(f'{name}.{key}={_said(value)}' for name in fitting)}")


def _check_qualified(key: str, owners: Sequence[Owner], way: str) -> None:
    named = max((owner for owner in owners if key.startswith(f"{owner.name}.")), key=lambda each: len(each.name), default=None)
    if named is None:
        name = key.rpartition(".")[0]
        raise UsageError(
            f"{way} has no {name!r}, whose option {key} would be", hint=_which(name, [owner.name for owner in owners]))
    option = key[len(named.name) + 1:]
    if option not in named.options:
        raise UsageError(f"{named.name!r} has no option {option}", hint=_which(option, named.options))


def _which(name: str, there: Sequence[str] | Options) -> str:
    guess = nearest(name, there)
    return (f"did you mean {guess!r}? " if guess else "") + f"there are: {', '.join(dict.fromkeys(there)) or 'none'}"
