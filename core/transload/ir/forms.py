"""Which Python values are attributes: those of the table in `attributes`, all the way down, as text and other tools have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .attributes import DenseArray, FloatAttr, IntAttr, OpaqueAttr
from .constants import Dense, holds_float
from .given import shown
from .types import BOOL, I64, FloatType, IndexType, IntegerType, NoneType, TensorType, Type

__all__ = ["DEEPEST", "is_attribute", "no_attribute", "no_type"]

DEEPEST = 100
"""How many lists and dictionaries an attribute may have in each other: MLIR's and our parsers, and who walks them, recurse."""
_WHOLE = (int, np.integer)


def is_attribute(value: Any) -> bool:
    """Whether a value is an attribute, with all that is in it."""
    return no_attribute(value) is None


def no_attribute(value: Any, depth: int = 0) -> str | None:
    """Why a value is no attribute; None where it is one."""
    kind = value.__class__
    if kind is str or kind is bool or kind is float or value is None:
        return None
    if kind is int:
        return _no_integer(value, I64)
    for classes, why in _CHECKS:
        if isinstance(value, classes):
            return why(value, depth)
    return f"is {shown(value)}, which has no text form"


def _no_integer(value: int, type_: Type) -> str | None:
    """Why a whole number cannot be of a type."""
    if isinstance(type_, IndexType):
        type_ = I64
    if not isinstance(type_, IntegerType):
        return f"is a whole number of type {type_}, which has none"
    least = 0 if type_.unsigned else -1 << max(type_.width - 1, 0)
    # What has no sign may be written by its bits, as MLIR reads it.
    most = (1 << (type_.width - 1 if type_.signedness == "s" else type_.width)) - 1 if type_ is not I64 else (1 << 63) - 1
    return None if least <= value <= most else f"is {shown(int(value))}, which no {type_} is"


def _no_array(value: DenseArray, depth: int) -> str | None:
    element = value.element
    if element == BOOL:
        wrong = next((each for each in value if each not in (0, 1)), None)
        return None if wrong is None else f"has {shown(wrong)} in it, which no {element} is"
    if isinstance(element, FloatType):
        wrong = next((each for each in value if not holds_float(each, element)), None)
        return None if wrong is None else f"has {shown(wrong)} in it, which no {element} is"
    return next(filter(None, (
        _no_integer(int(each), element) if isinstance(each, _WHOLE) else f"has {shown(each)} in it, which no {element} is"
        for each in value)), None)


def _no_float(value: FloatAttr, depth: int) -> str | None:
    if not isinstance(value.type, FloatType):
        return f"is a float of type {value.type}"
    return None if holds_float(value, value.type) else f"is {shown(float(value))}, which no {value.type} is"


def _no_tuple(value: tuple[Any, ...], depth: int) -> str | None:
    if all(isinstance(each, bool) for each in value):
        return None
    for each in value:
        if isinstance(each, bool) or not isinstance(each, _WHOLE):
            return f"is a tuple with {shown(each)} in it, and a tuple holds whole numbers: DenseArray(values, F64), or a list"
        if (why := _no_integer(int(each), I64)) is not None:
            return f"is a tuple with a number that {why}"
    return None


def _no_list(value: Iterable[Any], depth: int) -> str | None:
    if depth >= DEEPEST:
        return f"holds lists and dictionaries more than {DEEPEST} deep in each other"
    return next((f"holds what {why}" if why.startswith("is") else why for each in value
                 if (why := no_attribute(each, depth + 1)) is not None), None)


def _no_dictionary(value: dict[Any, Any], depth: int) -> str | None:
    for key in value:
        if not isinstance(key, str) or not key:
            return f"is a dictionary with the key {shown(key)}, and keys are texts"
    return _no_list(value.values(), depth)


def no_type(value: Type, depth: int = 0) -> str | None:
    """Why a type is none that text can have; None where it is one."""
    if isinstance(value, TensorType) and isinstance(value.element, NoneType | TensorType):
        return f"is a tensor of {value.element}, which there is not"
    if isinstance(value, TensorType) and any(size is not None and not 0 <= size < 1 << 63 for size in value.shape or ()):
        return "is a tensor with a size that is below 0, or no i64"
    return None


_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|->')
_BRACKETS = {">": "<", ")": "(", "]": "[", "}": "{"}


def _is_written(text: str) -> bool:
    """Whether a text of another dialect may be an attribute's: it has a dialect or brackets, and these are in order."""
    left = _STRING.sub("", text)
    if not re.match(r"#[A-Za-z_]|[a-z_]+[<(\[]", left):
        return False
    opened: list[str] = []
    for letter in left:
        if letter in "<([{":
            opened.append(letter)
        elif letter in _BRACKETS and (not opened or opened.pop() != _BRACKETS[letter]):
            return False
    return not opened and '"' not in left


_Check = Callable[[Any, int], "str | None"]
_CHECKS: list[tuple[type | tuple[type, ...], _Check]] = [
    (Type, no_type),
    (DenseArray, _no_array),
    (tuple, _no_tuple),
    (list, _no_list),
    (dict, _no_dictionary),
    (IntAttr, lambda value, depth: _no_integer(value, value.type)),
    (FloatAttr, _no_float),
    (OpaqueAttr, lambda value, depth: None if _is_written(value.text) else (
        f"is {shown(value.text)}, which is no attribute's text")),
    ((str, float, bool, np.bool_, np.floating, Dense), lambda value, depth: None),
    (_WHOLE, lambda value, depth: _no_integer(int(value), I64)),
]
"""What is asked of the objects of a class, the first that fits."""
