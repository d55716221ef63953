"""Attributes and locations as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InternalError
from ..ir.attributes import DenseArray, FloatAttr, IntAttr, OpaqueAttr, Symbol
from ..ir.constants import Dense, dtype_of
from ..ir.locations import FileLocation, FusedLocation, Location, NamedLocation, OpaqueLocation
from ..ir.types import BOOL, F64, I64, FloatType, Type, format_float
from .dense_text import dense_pieces
from .strings import quote, symbol_text, word_or_string

__all__ = ["AttributeFormatter", "attribute_text", "float_text", "location_text"]


def float_text(value: float, type_: Type) -> str:
    """A float without its type: decimal, or the type's bits in hexadecimal where decimal has no word for it."""
    if math.isfinite(value):
        return format_float(value)
    with np.errstate(invalid="ignore"):
        bits = np.asarray(float(value)).astype(dtype_of(type_)).tobytes()
    return f"0x{bits[::-1].hex().upper()}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _array(values: tuple[Any, ...], element: Type) -> str:
    if not values:
        return f"array<{element}>"
    if isinstance(element, FloatType):
        parts = [float_text(value, element) for value in values]
    elif element == BOOL:
        parts = list(map(_bool, values))
    else:
        parts = [str(int(value)) for value in values]
    return f"array<{element}: {', '.join(parts)}>"


def _tuple(values: tuple[Any, ...]) -> str:
    kinds = set(map(type, values))
    if kinds <= {int}:
        return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"
    if kinds == {bool}:
        return _array(values, BOOL)
    try:
        if all(isinstance(value, (int, np.integer)) for value in values):
            return f"array<i64: {', '.join(str(int(value)) for value in values)}>"
    except (TypeError, ValueError):
        pass
    raise InternalError(
        f"a tuple attribute holds integers only, not {values!r:.80}",
        hint="use DenseArray(values, F64) for floats, and a list for other attributes")


class AttributeFormatter:
    """Turns attributes into text. `dense(constant)` says how constants are printed (default: in place)."""

    def __init__(self, dense: Callable[[Dense], str] | None = None) -> None:
        self.dense = dense or (lambda constant: "".join(dense_pieces(constant)))
        self.functions: dict[type, Callable[[Any], str]] = {
            bool: _bool,
            int: lambda v: f"{v} : i64",
            float: lambda v: f"{format_float(v) if math.isfinite(v) else float_text(v, F64)} : f64",
            str: quote,
            list: lambda v: f"[{', '.join(map(self.in_list, v))}]",
            dict: self.dictionary,
            type(None): lambda v: "unit",
            tuple: _tuple,
            IntAttr: lambda v: f"{int(v)} : {v.type}",
            FloatAttr: lambda v: f"{float_text(v, v.type)} : {v.type}",
            DenseArray: lambda v: _array(v, v.element),
            Dense: lambda v: self.dense(v),
            Symbol: symbol_text,
            OpaqueAttr: lambda v: v.text,
        }

    def text(self, value: Any) -> str:
        """One attribute."""
        function = self.functions.get(type(value))
        if function is None:
            function = self.functions[type(value)] = self._function_of(value)
        return function(value)

    def _function_of(self, value: Any) -> Callable[[Any], str]:
        """For a type seen for the first time: a `Type`, a subclass, a numpy number."""
        if isinstance(value, Type):
            return str
        if isinstance(value, np.generic):
            return lambda v: self.text(v.item())
        if isinstance(value, int) and not isinstance(value, IntAttr):  # an enum's member, say
            return lambda v: self.text(int(v))
        for base in type(value).__mro__[1:]:
            if base in self.functions:
                return self.functions[base]
        raise InternalError(
            f"an attribute of Python type {type(value).__name__} has no text form: {value!r:.80}",
            hint="the table in transload/ir/attributes.py lists what an attribute can be")

    def in_list(self, value: Any) -> str:
        """An element of a list, where MLIR leaves out `: i64` and `: f64`."""
        kind = type(value)
        if kind is int or (kind is IntAttr and value.type == I64):
            return str(int(value))
        if kind is float:
            return float_text(value, F64) if math.isfinite(value) else self.text(value)
        if isinstance(value, np.generic):
            return self.in_list(value.item())
        if isinstance(value, int) and not isinstance(value, bool | IntAttr):
            return str(int(value))
        return self.text(value)

    def dictionary(self, values: dict[str, Any]) -> str:
        """`{a = 1 : i64, b}`."""
        return f"{{{', '.join([self.entry(key, value) for key, value in values.items()])}}}"

    def entry(self, key: str, value: Any) -> str:
        """`key = value`; the key alone for a unit."""
        name = word_or_string(key)
        return name if value is None else f"{name} = {self.text(value)}"


_formatter = AttributeFormatter()
attribute_text = _formatter.text


def location_text(location: Location) -> str:
    """What stands between `loc(` and `)`."""
    if location is None:
        return "unknown"
    if isinstance(location, str):
        child = location.child if isinstance(location, NamedLocation) else None
        return quote(location) if child is None else f"{quote(location)}({location_text(child)})"
    if isinstance(location, FusedLocation):
        metadata = "" if location.metadata is None else f"<{quote(location.metadata)}>"
        return f"fused{metadata}[{', '.join(map(location_text, location.locations))}]"
    if isinstance(location, FileLocation):
        return f"{quote(location.file)}:{location.line}:{location.column}"
    if isinstance(location, OpaqueLocation):
        return location.text
    raise InternalError(f"a location of Python type {type(location).__name__} has no text form")
