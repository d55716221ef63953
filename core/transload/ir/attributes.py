"""Attributes: compile-time data of operations.

An attribute is a plain Python value where one says it all, and otherwise one of the small classes
here:

| Python                    | MLIR text                      |
|---------------------------|--------------------------------|
| `True`                    | `true`                         |
| `3`                       | `3 : i64`                      |
| `1.5`                     | `1.5 : f64`                    |
| `"NHWC"`                  | `"NHWC"`                       |
| `[a, b]`                  | `[a, b]`                       |
| `{"k": v}`                | `{k = v}`                      |
| a `Type`                  | the type                       |
| `None`                    | `unit`                         |
| `(1, 2)`                  | `array<i64: 1, 2>`             |
| `IntAttr(3, I32)`         | `3 : i32`                      |
| `FloatAttr(1.5, F32)`     | `1.5 : f32`                    |
| `DenseArray((1,), I32)`   | `array<i32: 1>`                |
| `Dense(...)`              | `dense<...> : tensor<...>`     |
| `Symbol("f")`             | `@f`                           |
| `OpaqueAttr("#d.x<y>")`   | `#d.x<y>`                      |

Where an op declares its attributes, the declaration gives the text type, so that `op.group` is a
plain `1` and still prints as `1 : i32`.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

from .given import misfit_part, need_part
from .types import F64, I64, TYPES, Type

__all__ = ["Attribute", "DenseArray", "FloatAttr", "IntAttr", "OpaqueAttr", "Symbol", "own_attributes"]

Attribute = Any
"""An attribute value, see the table above."""


def own_attributes(attributes: dict[str, Attribute], op_name: str = "an op") -> dict[str, Attribute]:
    """The same attributes for somebody else, whose lists and dictionaries are new ones; all other values cannot be changed."""
    copy = attributes.copy()
    for key, value in attributes.items():
        if value.__class__ is list or value.__class__ is dict:
            try:
                copy[key] = _own(value)
            except RecursionError:
                raise misfit_part(op_name, f"attribute {key!r}", value, "lists in each other, a hundred deep at most,") from None
    return copy


def _own(value: Any) -> Any:
    if value.__class__ is list:
        return [_own(each) for each in value]
    return own_attributes(value) if value.__class__ is dict else value


class IntAttr(int):
    """An integer with a type other than `i64`."""

    type: Type

    def __new__(cls, value: int, type: Type = I64) -> IntAttr:
        try:
            self = super().__new__(cls, value)
        except (TypeError, ValueError, OverflowError):
            raise misfit_part("IntAttr", "value", value, "a whole number") from None
        if not isinstance(type, Type):
            raise misfit_part("IntAttr", "type", type, "a type", TYPES)
        self.type = type
        return self

    def __eq__(self, other: object) -> bool:
        return int.__eq__(self, other) is True and getattr(other, "type", I64) == self.type

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


class FloatAttr(float):
    """A float with a type other than `f64`."""

    type: Type

    def __new__(cls, value: float, type: Type = F64) -> FloatAttr:
        try:
            self = super().__new__(cls, value)
        except (TypeError, ValueError):
            raise misfit_part("FloatAttr", "value", value, "a number") from None
        if not isinstance(type, Type):
            raise misfit_part("FloatAttr", "type", type, "a type", TYPES)
        self.type = type
        return self


class DenseArray(tuple):
    """MLIR's `array<i32: ...>` of an element type other than `i64` (a plain tuple is `array<i64: ...>`)."""

    element: Type

    def __new__(cls, values: Iterable[Any], element: Type = I64) -> DenseArray:
        try:
            self = super().__new__(cls, values)
        except TypeError:
            raise misfit_part("DenseArray", "values", values, "numbers") from None
        if not isinstance(element, Type):
            raise misfit_part("DenseArray", "element", element, "a type", TYPES)
        for value in self:
            if value.__class__ is not int and not isinstance(value, Number | np.bool_ | np.generic):
                raise misfit_part("DenseArray", "values", value, "a number")
        self.element = element
        return self


class Symbol(str):
    """A reference to a symbol: `@main`; nested ones are joined with `::@`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"@{self}"


class OpaqueAttr:
    """An attribute that is kept as its text: enums and structures of other dialects, affine maps."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        need_part(text, str, "OpaqueAttr", "text", "a text")
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueAttr) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text
