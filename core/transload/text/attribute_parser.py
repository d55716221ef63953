"""Reading attributes (MLIR language reference, "Attributes"; builtin dialect)."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..ir.attributes import DenseArray, FloatAttr, IntAttr, OpaqueAttr, Symbol
from ..ir.constants import ArrayData, Dense, ElidedData, LazyData, SplatData, dtype_of, holds_float, rounded_float
from ..ir.types import BOOL, F64, I64, BuiltinType, DialectType, FloatType, IndexType, IntegerType, QuantType, TensorType, Type
from .attribute_text import attribute_text
from .dense_text import LiteralError, byte_width, from_bytes, parse_literal
from .resources import ELIDED, Blob, Constants
from .strings import BARE_NAME, BLANK, STRING, SUFFIX_NAME
from .type_parser import TypeParser

__all__ = ["AttributeParser"]

MAX_ELEMENTS = 1 << 40
"""Elements that a constant may claim to have (a splat claims any number in a few characters)."""
_SHAPED = ("vector", "memref")
"""Types with a shape, beside tensors, that the IR holds as text."""
_LAZY_ABOVE = 1 << 16  # hexadecimal digits; longer constants are decoded when first asked for

_start = re.compile(
    rf"{BLANK}(?:(?P<float>[-+]?\d+\.\d*(?:[eE][-+]?\d+)?)|(?P<hex>0x[0-9A-Fa-f]+)|(?P<int>-?\d+)"
    rf"|(?P<string>{STRING})|(?P<word>[A-Za-z_][\w$.]*)|(?P<other>[\[{{(@#!]))").match
_colon_type = re.compile(r"\s*:\s*(i\d+|[bt]?f\d+|index|[su]i\d+)(?![\w.$<])").match
_array = re.compile(r"\s*<\s*(i\d+|[su]i\d+|[bt]?f\d+\w*|index)\s*(?::([^<>]*))?>").match
_key = re.compile(rf"{BLANK}(?:(?P<bare>{BARE_NAME})|(?P<string>{STRING}))\s*(?P<equals>=)?").match
_symbol_name = re.compile(rf"@(?:(?P<bare>{BARE_NAME})|(?P<string>{STRING}))").match
_dialect_symbol = re.compile(rf"#{SUFFIX_NAME}")
_resource_key = re.compile(rf"{BARE_NAME}|{STRING}")
_hex_string = re.compile(r'\s*"0x([0-9A-Fa-f]*)"\s*>').match
_literal = re.compile(r'[^<>"]*').match
_open_memref = re.compile(r"memref<\s*(?:\*|(?:\d+\s*x\s*)*\?)").match
_alias_type = re.compile(r"\s*:(?!:)").match


class AttributeParser(TypeParser):
    """Reads attributes into the plain Python values of `transload.ir.attributes`."""

    def __init__(self, text: str, name: str, constants: Constants) -> None:
        super().__init__(text, name)
        self.constants = constants
        self.location_aliases: dict[str, Any] = {}
        self.blobs: dict[str, Blob] = {}
        self.immutable = True  # False once something was read that must not be shared between ops
        self._words = {
            "true": lambda: True, "false": lambda: False, "unit": lambda: None,
            "array": self._take_array, "dense": self._take_dense, "dense_resource": self._take_resource,
            "affine_map": lambda: OpaqueAttr("affine_map" + self._body(affine=True)),
            "affine_set": lambda: OpaqueAttr("affine_set" + self._body(affine=True)),
            "strided": lambda: OpaqueAttr("strided" + self._body()),
            "sparse": lambda: OpaqueAttr(f"sparse{self._body()} : {self._take_constant_type()}"),
            "distinct": self._take_distinct, "loc": self._take_location_attribute,
        }
        self._others = {
            "[": self._take_list, "{": self.take_dictionary, "(": self._take_type_attribute, "!": self._take_type_attribute,
            "@": self._take_symbol, "#": self._take_dialect_attribute,
        }

    def take_location_text(self) -> str:
        raise TypeError("a parser of locations derives from this class")

    def location_alias_text(self, name: str, at: int) -> str:
        raise TypeError("a parser of locations derives from this class")

    # --- entry

    def take_attribute(self) -> Any:
        """Any attribute."""
        match = _start(self.text, self.pos)
        if match is None:
            if self.peek() == "+":
                self.error("a number has no '+' in front of it")
            self.error(f"expected an attribute, found {self.found()}")
        kind = match.lastgroup
        if kind == "int":
            return self._finish_int(match)
        if kind == "word":
            word = match["word"]
            function = self._words.get(word)
            if function is None:
                self.pos = match.start("word")
                return self._take_type_attribute()
            self.pos = match.end()
            return function()
        if kind == "string":
            return self._finish_string(match)
        if kind == "float":
            return self._finish_float(match)
        if kind == "hex":
            return self._finish_hex(match)
        self.pos = match.start("other")
        return self._others[match["other"]]()

    def _optional_type(self) -> Type | None:
        """The type after a colon, if there is one."""
        match = _colon_type(self.text, self.pos)
        if match is not None:
            known = self.types.get(match[1])
            if known is not None:
                self.pos = match.end()
                return known
            self.pos = match.start(1)
            return self.take_type()
        if _alias_type(self.text, self.pos):
            return self._take_colon_type()
        return None

    def _take_colon_type(self) -> Type:
        self.take(":", "before the attribute's type")
        return self.take_type()

    # --- numbers

    def _finish_int(self, match: re.Match[str]) -> Any:
        self.pos = match.end()
        digits = match["int"]
        type_ = self._optional_type()
        number = self.to_int(digits, match.start("int"))
        if type_ is None or type_ is I64 or type_ == I64:
            if -0x8000000000000000 <= number <= 0x7FFFFFFFFFFFFFFF:
                return number
            type_ = I64
        return self._typed_int(number, type_, match.start("int"))

    def _typed_int(self, number: int, type_: Type, at: int) -> Any:
        if isinstance(type_, IndexType):
            width, signedness = 64, ""
        elif isinstance(type_, IntegerType):
            width, signedness = type_.width, type_.signedness
        else:
            self.error(f"an integer cannot be of type {type_}" + (
                "; write a decimal point" if isinstance(type_, FloatType) else ""), at)
        low = 0 if signedness == "u" else -(1 << (width - 1))
        high = (1 << (width - 1)) - 1 if signedness == "s" else (1 << width) - 1
        if not low <= number <= high:
            self.error(f"{number} is out of range for {type_}", at)
        if not signedness and number >> (width - 1) > 0:  # a signless integer, written as its unsigned bits
            number -= 1 << width
        if type_ == BOOL:
            return bool(number)
        return number if type_ == I64 else IntAttr(number, type_)

    def _finish_hex(self, match: re.Match[str]) -> Any:
        self.pos = match.end()
        at = match.start("hex")
        type_ = self._optional_type() or I64
        digits = match["hex"]
        if len(digits) > 34:
            self.error("the number is too large", at)
        if not isinstance(type_, FloatType):
            return self._typed_int(int(digits, 16), type_, at)
        try:
            dtype = dtype_of(type_)
        except ValueError:
            return OpaqueAttr(f"{digits} : {type_}")
        try:
            raw = int(digits, 16).to_bytes(dtype.itemsize, "little")
        except OverflowError:
            self.error(f"{digits} has more bits than {type_}", at)
        value = float(np.frombuffer(raw, dtype)[0])
        return value if type_ == F64 else FloatAttr(value, type_)

    def _finish_float(self, match: re.Match[str]) -> Any:
        self.pos = match.end()
        type_ = self._optional_type()
        value = float(match["float"])
        if type_ is None or type_ == F64:
            return value
        if not isinstance(type_, FloatType):
            self.error(f"a floating-point number cannot be of type {type_}", match.start("float"))
        return FloatAttr(self._held(value, type_), type_)

    @staticmethod
    def _held(value: float, type_: FloatType) -> float:
        """A number as it is written; beyond those of its type what MLIR makes of it, which is infinite or NaN."""
        return value if holds_float(value, type_) else rounded_float(value, type_)

    # --- strings, symbols, types

    def _finish_string(self, match: re.Match[str]) -> Any:
        value = self.unquoted(match["string"], match.start("string"))
        self.pos = match.end()
        if _alias_type(self.text, self.pos):  # a string of a dialect's type
            return OpaqueAttr(f"{match['string']} : {self._take_colon_type()}")
        return value

    def _take_symbol(self) -> Symbol:
        parts = [self.take_symbol_name()]
        while self.text.startswith("::@", self.pos):
            self.pos += 2
            parts.append(self.take_symbol_name())
        return Symbol("::@".join(parts))

    def take_symbol_name(self) -> str:
        """The name in `@name`."""
        self.skip()
        match = _symbol_name(self.text, self.pos)
        if match is None:
            self.error("expected a name after '@'")
        self.pos = match.end()
        return match["bare"] or self.unquoted(match["string"], match.start("string"))

    def _take_type_attribute(self) -> Type:
        return self.take_type()

    def _take_location_attribute(self) -> OpaqueAttr:
        self.immutable = False  # an alias in it may be defined later
        self.take("(", "after 'loc'")
        text = self.take_location_text()
        self.take(")", "after the location")
        return OpaqueAttr(f"loc({text})")

    # --- attributes of dialects

    def _body(self, affine: bool = False) -> str:
        if not self.text.startswith("<", self.pos):
            self.error(f"expected '<', found {self.found()}")
        return self.take_body(affine)

    def _take_dialect_attribute(self) -> Any:
        start = self.pos
        symbol = self.take_match(_dialect_symbol, "the name of an attribute after '#'")
        has_body = self.text.startswith("<", self.pos)
        if "." not in symbol and not has_body:
            return self.use_alias(symbol, start)
        if symbol.startswith("#builtin."):
            self.error("attributes of MLIR's own dialect, builtin, are written without its name", start)
        text = symbol + (self.take_body() if has_body else "")
        if _alias_type(self.text, self.pos):
            text = f"{text} : {self._take_colon_type()}"
        return OpaqueAttr(text)

    def use_alias(self, symbol: str, start: int) -> Any:
        """The attribute that `#name` was defined to be."""
        name = symbol[1:]
        if name in self.location_aliases:
            self.immutable = False
            return OpaqueAttr(f"loc({self.location_alias_text(name, start)})")
        if name not in self.attribute_aliases:
            self.error(f"attribute alias {symbol!r} is not defined", start)
        self.count_expansion(self.alias_sizes.get(symbol, 0))
        value = self.attribute_aliases[name]
        if isinstance(value, (list, dict)):
            self.immutable = False
            return _copy(value)
        return value

    def _take_distinct(self) -> OpaqueAttr:
        self.take("[", "after 'distinct'")
        number = self.take_match(re.compile(r"\d+"), "a number")
        self.take("]")
        return OpaqueAttr(f"distinct[{number}]{self._body()}")

    # --- collections

    def _take_list(self) -> list[Any]:
        self.immutable = False
        self.take("[")
        self.enter()
        values: list[Any] = []
        if self.peek() != "]":
            values.append(self.take_attribute())
            while self.try_take(","):
                values.append(self.take_attribute())
        self.take("]", "after the list")
        self.leave()
        return values

    def take_dictionary(self) -> dict[str, Any]:
        """`{a = 1, b}`."""
        self.immutable = False
        self.take("{")
        self.enter()
        values: dict[str, Any] = {}
        self.take_entries(values)
        self.take("}", "after the attributes")
        self.leave()
        return values

    def take_entries(self, values: dict[str, Any]) -> None:
        """The entries of a dictionary, up to its closing brace."""
        text = self.text
        if self.peek() == "}":
            return
        while True:
            match = _key(text, self.pos)
            if match is None:
                self.error(f"expected the name of an attribute, found {self.found()}")
            key = match["bare"]
            if key is None:
                key = self.unquoted(match["string"], match.start("string"))
            if key in values:
                self.error(f"attribute {key!r} is given twice", match.start())
            self.pos = match.end()
            values[key] = self.take_attribute() if match["equals"] else None
            if text.startswith(",", self.pos):
                self.pos += 1
            elif not self.try_take(","):
                return

    def _take_array(self) -> Any:
        match = _array(self.text, self.pos)
        if match is None:
            self.error("expected the form array<i64: 1, 2>")
        start = match.start(1)
        self.pos = start
        element = self.take_type()
        self.pos = match.end()
        inside = (match[2] or "").strip()
        if match[2] is not None and not inside:
            self.error("expected numbers after ':'", start)
        literals = [literal.strip() for literal in inside.split(",")] if inside else []
        try:
            if element == I64:
                return tuple(parse_literal(f"[{inside}]", TensorType((len(literals),), I64)).numpy().tolist())
            numbers = parse_literal(f"[{inside}]", TensorType((len(literals),), element)).numpy() if literals else np.empty(0)
            if isinstance(element, FloatType):  # as written, not rounded
                return DenseArray([number if "x" in literal else self._held(float(literal), element)
                                   for literal, number in zip(literals, numbers.tolist(), strict=True)], element)
            return DenseArray(numbers.tolist(), element)
        except LiteralError as error:
            self.error(str(error), start)
        except ValueError:
            self.error(f"an array cannot have elements of type {element}", start)

    # --- constants

    def _take_dense(self) -> Any:
        self.take("<", "after 'dense'")
        start = self.pos
        hex_digits = _hex_string(self.text, start)
        if hex_digits is not None:
            self.pos = hex_digits.end()
            type_ = self._take_constant_type()
            if isinstance(type_, TensorType):
                return self._hex_constant(type_, *hex_digits.span(1))
            return OpaqueAttr(f'dense<"0x{hex_digits[1]}"> : {type_}')
        literal = _literal(self.text, start)
        end = literal.end()  # type: ignore[union-attr]
        if not self.text.startswith(">", end):  # strings, or elements of a dialect
            self.pos = start - 1
            return OpaqueAttr(f"dense{self.take_body()} : {self._take_constant_type()}")
        self.pos = end + 1
        type_ = self._take_constant_type()
        inside = self.text[start:end]
        if not isinstance(type_, TensorType):
            return OpaqueAttr(f"dense<{inside}> : {type_}")
        try:
            return Dense(parse_literal(inside, type_), type_)
        except LiteralError as error:
            self.error(str(error), start)

    def _take_constant_type(self, sizes: bool = True) -> Type:
        """The type after a constant, which has a shape; a `TensorType` only where numpy can hold it.

        Without `sizes` the shape may have open ones, as MLIR has it of data that is only named.
        """
        self.take(":", "before the constant's type")
        self.skip()
        start = self.pos
        type_ = self.take_type()
        if not isinstance(type_, TensorType):
            self._need_shape(type_, start, sizes)
            return type_
        if type_.shape is None or not type_.is_static:
            if not sizes:
                return BuiltinType(str(type_))
            self.error(f"a constant's type has a static shape; {type_} has not", start)
        if len(type_.shape) > 64 or math.prod([size or 1 for size in type_.shape]) > MAX_ELEMENTS:
            self.error(f"a constant has at most {MAX_ELEMENTS} elements and 64 dimensions", start)
        try:
            dtype_of(type_.element)
        except ValueError:
            return BuiltinType(str(type_))
        return BuiltinType(str(type_)) if isinstance(type_.element, QuantType) else type_

    def _need_shape(self, type_: Type, at: int, sizes: bool) -> None:
        """Refuse a type other than tensors' that no constant has. Whether a dialect's own type has a shape, the dialect knows."""
        if isinstance(type_, DialectType):
            return
        if not isinstance(type_, BuiltinType) or not type_.text.startswith(_SHAPED):
            self.error(f"a constant's type has a shape, as a tensor's; {type_} has none", at)
        if sizes and _open_memref(type_.text):
            self.error(f"a constant's type has a static shape; {type_} has not", at)

    def _hex_constant(self, type_: TensorType, start: int, end: int) -> Dense:
        if (end - start) % 2:
            self.error("a hexadecimal string has two digits a byte", start)
        blob = Blob("")
        blob.set_text(self.text, start, end)
        return self._blob_constant(blob, type_, start)

    def _blob_constant(self, blob: Blob, type_: TensorType, at: int) -> Dense:
        """The constant that a blob of known length holds."""
        shape = type_.static_shape
        n_bytes, width = blob.n_bytes, byte_width(type_.element)
        count = math.prod(shape)
        if n_bytes != count * width:
            if n_bytes == width and count:  # one element for all
                return Dense(SplatData(from_bytes(blob.bytes(), type_), shape), type_)
            if not (type_.element == BOOL and n_bytes == (count + 7) // 8):
                self.error(f"{type_} takes {count * width} bytes; {n_bytes} are given", at)
        if n_bytes <= _LAZY_ABOVE:
            return Dense(ArrayData(from_bytes(blob.bytes(), type_)), type_)  # type: ignore[arg-type]
        return Dense(LazyData(lambda: from_bytes(blob.bytes(), type_), shape, dtype_of(type_.element)), type_)  # type: ignore[arg-type,return-value]

    def _take_resource(self) -> Any:
        self.take("<", "after 'dense_resource'")
        self.skip()
        start = self.pos
        literal = self.take_match(_resource_key, "the key of a resource")
        key = self.unquoted(literal, start) if literal[0] == '"' else literal
        self.take(">", "after the key")
        type_ = self._take_constant_type(sizes=False)
        if not isinstance(type_, TensorType):
            return OpaqueAttr(f"dense_resource<{literal}> : {type_}")
        if key == ELIDED:
            return Dense(ElidedData(type_.static_shape, dtype_of(type_.element)), type_)
        if key in self.constants:
            try:
                return self.constants.dense(key, type_)
            except ValueError as error:
                self.error(str(error), start)
        # The data comes at the end of the text: leave a place for it.
        blob = self.blobs.get(key)
        if blob is None:
            blob = self.blobs[key] = Blob(key)
        dense = Dense(ElidedData(type_.static_shape, dtype_of(type_.element)), type_)
        blob.wanted.append((dense, start))
        return dense

    def fill_resources(self) -> None:
        """Give every constant that names a resource its data; all that have none are reported."""
        missing = [blob for blob in self.blobs.values() if blob.wanted and not blob.is_set]
        if missing:
            keys = ", ".join(repr(blob.key) for blob in missing[:8])
            keys += f" and {len(missing) - 8} more" if len(missing) > 8 else ""
            self.error(
                f"the text holds no data for {len(missing)} resource(s): {keys}", missing[0].wanted[0][1],
                hint="they may be in a file beside it: give its .npz as constants=")
        for blob in self.blobs.values():
            for dense, at in blob.wanted:
                dense.data = self._blob_constant(blob, dense.type, at).data
            blob.wanted = []


def _copy(value: Any) -> Any:
    """A list or dictionary that can be changed without changing the one it was made from."""
    if isinstance(value, list):
        return [_copy(item) for item in value]
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value


def text_size(value: Any) -> int:
    """About how many characters an attribute takes; constants, which are shared, count as little."""
    if isinstance(value, list):
        return 2 + sum(map(text_size, value))
    if isinstance(value, dict):
        return 2 + sum(len(key) + text_size(item) for key, item in value.items())
    return 40 if isinstance(value, Dense) else len(attribute_text(value))
