"""Reading types (MLIR language reference, "Type System"; quant dialect for `!quant.uniform`)."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from ..ir.quantization import quantized_over
from ..ir.types import (
    BF16,
    F16,
    F32,
    F64,
    FLOAT_NAME,
    INDEX,
    NONE,
    BuiltinType,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IntegerType,
    NoneType,
    QuantType,
    TensorType,
    TupleType,
    Type,
)
from .scanner import Scanner
from .strings import STRING, SUFFIX_NAME

__all__ = ["MAX_EXPANSION", "TypeParser"]

MAX_EXPANSION = 1 << 24
"""Characters that all uses of long aliases together may stand for. Without a limit, forty lines of aliases
that each name the one before twice stand for more text than there is memory."""
_SHORT_ALIAS = 256
_MAX_WIDTH = (1 << 24) - 1  # MLIR's own limit of an integer type's bits
_MAX_STORAGE = 64
_MAX_SIZE = (1 << 63) - 1

# A type whose extent a pattern can tell: read once, looked up by its text from then on.
_NESTED = r'[^<>"#]*(?:<[^<>"#]*(?:<[^<>"#]*>[^<>"#]*)*>[^<>"#]*)*'
_simple = re.compile(rf"\s*((?:tensor|complex|!quant\.uniform)<{_NESTED}>|[a-z]\w*(?![\w.$<]))").match
_word = re.compile(r"[A-Za-z]\w*")
_sizes = re.compile(r"(?:(?:\d+|\?)\s*x\s*)*")
_size = re.compile(r"\d+|\?")
_integer_type = re.compile(r"([su]?)i([1-9]\d*)").fullmatch
_float_type = FLOAT_NAME.fullmatch
_symbol = re.compile(rf"[!#]{SUFFIX_NAME}")
_number = re.compile(r"0x[0-9A-Fa-f]{1,16}(?![0-9A-Za-z])|[-+]?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?")
_count = re.compile(r"\d+")
_signed = re.compile(r"-?\d+")
_storage = re.compile(r"(ui|u|i)([1-9]\d*)(?!\w)").match
_signed_storage = re.compile(r"quant\.uniform<\s*si").match
_body = re.compile(rf'{STRING}|->|[#!]{SUFFIX_NAME}|[^"<>()\[\]{{}}#!-]+|.', re.DOTALL).match
_affine_body = re.compile(rf'{STRING}|->|[<>]=|[^"<>()\[\]{{}}-]+|.', re.DOTALL).match
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}
_KEYWORDS: dict[str, Type] = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "index": INDEX, "none": NONE}
_AS_TEXT = {"vector", "memref", "graph"}  # builtin types that the IR gives no meaning


class TypeParser(Scanner):
    """Reads types. The same text gives the same object, so that most comparisons end at identity."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.types: dict[str, Type] = {}
        self.type_aliases: dict[str, Type] = {}
        self.attribute_aliases: dict[str, Any] = {}
        self.alias_sizes: dict[str, int] = {}
        self.expansion = 0

    def take_attribute(self) -> Any:
        raise TypeError("a parser of attributes derives from this class")

    # --- entry

    def take_type(self) -> Type:
        """A type, functions' included."""
        match = _simple(self.text, self.pos)
        if match is not None:
            text = match[1]
            known = self.types.get(text)
            if known is not None:
                self.pos = match.end()
                return known
            type_ = self._take_type()
            if self.pos == match.end():
                self.types[text] = type_
            return type_
        return self._take_type()

    def _take_type(self) -> Type:
        first = self.peek()
        if first == "(":
            self.enter()
            type_: Type = FunctionType(*self.take_signature())
            self.leave()
            return type_
        if first == "!":
            return self._take_dialect_type()
        start = self.pos
        word = self.take_match(_word, "a type")
        if word == "tensor":
            self.enter()
            type_ = self._take_tensor()
            self.leave()
            return type_
        if word in _KEYWORDS:
            return _KEYWORDS[word]
        integer = _integer_type(word)
        if integer is not None:
            if len(integer[2]) > 8 or int(integer[2]) > _MAX_WIDTH:
                self.error(f"an integer type has at most {_MAX_WIDTH} bits", start)
            return IntegerType(int(integer[2]), integer[1])
        if _float_type(word):
            return FloatType(word)
        if word == "complex":
            self.take("<")
            self.enter()
            type_ = ComplexType(self.take_type())
            self.leave()
            self.take(">")
            return type_
        if word == "tuple":
            self.take("<")
            self.enter()
            types = [] if self.peek() == ">" else self._take_types()
            self.leave()
            self.take(">")
            return TupleType(tuple(types))
        if word in _AS_TEXT and self.text.startswith("<", self.pos):
            return BuiltinType(word + self.take_body())
        return self.error(f"{word!r} is no type", start)

    def _take_types(self) -> list[Type]:
        types = [self.take_type()]
        while self.try_take(","):
            types.append(self.take_type())
        return types

    def take_signature(self) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
        """`(i32, f32) -> i32` or `() -> (i32, i32)`: argument and result types."""
        self.take("(", "to begin a list of types")
        inputs = [] if self.peek() == ")" else self._take_types()
        self.take(")", "after the types")
        self.take("->", "between arguments and results")
        if not self.try_take("("):
            return tuple(inputs), (self.take_type(),)
        results = [] if self.peek() == ")" else self._take_types()
        self.take(")", "after the types")
        return tuple(inputs), tuple(results)

    # --- tensors

    def _take_tensor(self) -> Type:
        self.take("<", "after 'tensor'")
        shape: tuple[int | None, ...] | None
        if self.try_take("*"):
            self.take("x", "after '*'")
            shape = None
        else:
            start = self.pos
            sizes = _size.findall(self.try_match(_sizes) or "")
            shape = tuple(None if size == "?" else self.to_int(size, start) for size in sizes)
            if any(size is not None and size > _MAX_SIZE for size in shape):
                self.error("a dimension is too large", start)
        self.skip()
        start = self.pos
        element = self.take_type()
        if isinstance(element, (TensorType, FunctionType, TupleType, NoneType)) or (
                isinstance(element, BuiltinType) and not element.text.startswith("vector")):
            self.error(f"a tensor cannot have elements of type {element}", start)
        encoding = None
        if self.try_take(","):
            from .attribute_text import attribute_text

            encoding = attribute_text(self.take_attribute())
        self.take(">", "after the tensor's element type")
        return TensorType(shape, element, encoding)

    # --- types of dialects

    def _take_dialect_type(self) -> Type:
        start = self.pos
        symbol = self.take_match(_symbol, "the name of a type after '!'")
        name = symbol[1:]
        has_body = self.text.startswith("<", self.pos)
        if "." not in name and not has_body:
            alias = self.type_aliases.get(name)
            if alias is None:
                self.error(f"type alias {symbol!r} is not defined", start)
            self.count_expansion(self.alias_sizes[symbol])
            return alias
        if name == "quant.uniform" and has_body and not _signed_storage(self.text, start + 1):
            return self._take_quant()
        if name.startswith("builtin."):
            self.error("types of MLIR's own dialect, builtin, are written without its name", start)
        return DialectType(name + (self.take_body() if has_body else ""))

    def _take_quant(self) -> QuantType:
        self.take("<")
        self.skip()
        start = self.pos
        match = _storage(self.text, start)
        if match is None:
            self.error(f"expected the storage type of a quantized type (i8, u8, ...), found {self.found()}")
        width = int(match[2]) if len(match[2]) < 4 else _MAX_STORAGE + 1
        if width > _MAX_STORAGE:
            self.error(f"a quantized type is stored in at most {_MAX_STORAGE} bits")
        self.pos = match.end()
        storage = IntegerType(width, "" if match[1] == "i" else "u")
        low, high = storage.range
        if self.try_take("<"):
            least = self.to_int(self.take_match(_signed, "the least stored value"))
            self.take(":")
            greatest = self.to_int(self.take_match(_signed, "the greatest stored value"))
            self.take(">")
            if not low <= least <= greatest <= high:
                self.error(f"the stored range {least}:{greatest} does not lie in {storage}'s {low}:{high}", start)
            low, high = least, greatest
        self.take(":", "before the expressed type")
        expressed = self.take_type()
        if not isinstance(expressed, FloatType):
            self.error(f"the expressed type of a quantized type is a float, not {expressed}", start)
        axis = None
        if self.try_take(":"):
            if self.peek() == "{":
                return self._take_blocks(QuantType(storage, expressed, (1.0,), (0,), None, low, high))
            axis = self.to_int(self.take_match(_size, "the axis"))
        self.take(",", "before the scale")
        scales: list[float] = []
        zero_points: list[int] = []
        if axis is not None:
            self.take("{")
        while True:
            scales.append(self._take_scale())
            zero_points.append(self.to_int(self.take_match(_signed, "a zero point")) if self.try_take(":") else 0)
            if axis is None or not self.try_take(","):
                break
        if axis is not None:
            self.take("}")
        self.take(">")
        return QuantType(storage, expressed, tuple(scales), tuple(zero_points), axis, low, high)

    def _take_blocks(self, head: QuantType) -> QuantType:
        """`{0:1, 1:32}, {{0.5, 0.25:3}, {0.5, 0.125}}>`: sizes of blocks by dimension, and a scale for each block."""
        start = self.pos
        self.take("{")
        sizes: dict[int, int] = {}
        while self.peek() != "}":
            dim = self.to_int(self.take_match(_count, "a dimension"))
            self.take(":", "between a dimension and the size of its blocks")
            size = self.to_int(self.take_match(_count, "the size of a block"))
            if size < 1 or size > _MAX_SIZE:
                self.error(f"a block has no size of {size}", start)
            if dim in sizes:
                self.error(f"dimension {dim} has blocks of two sizes", start)
            sizes[dim] = size
            if not self.try_take(","):
                break
        self.take("}")
        self.take(",", "before the scales")
        start = self.pos
        scales: list[float] = []
        zero_points: list[int] = []
        grid = self._take_grid(head, scales, zero_points)
        self.take(">")
        if any(dim >= len(grid) for dim in sizes):
            self.error(f"scales of {len(grid)} dimensions for blocks along dimension {max(sizes)}", start)
        if any(count > 1 and dim not in sizes for dim, count in enumerate(grid)):
            self.error("there are scales along a dimension that is not divided into blocks", start)
        return quantized_over(
            head, np.array(scales).reshape(grid), np.array(zero_points).reshape(grid), [sizes.get(d) for d in range(len(grid))])

    def _take_grid(self, head: QuantType, scales: list[float], zero_points: list[int]) -> tuple[int, ...]:
        """Nested braces with scales and zero points, which are added to the lists; the shape that they have."""
        self.take("{")
        self.enter()
        start = self.pos
        below: tuple[int, ...] | None = None
        count = 0
        while True:
            shape: tuple[int, ...] = ()
            if self.peek() == "{":
                shape = self._take_grid(head, scales, zero_points)
            else:
                scales.append(self._take_scale())
                point = self.to_int(self.take_match(_signed, "a zero point")) if self.try_take(":") else 0
                # MLIR prints the bits of an unsigned zero point as a signed number
                zero_points.append(point + (1 << head.storage.width) if point < 0 and head.storage.unsigned else point)
            if below not in (None, shape):
                self.error("the scales are not as many in all rows", start)
            below, count = shape, count + 1
            if not self.try_take(","):
                break
        self.leave()
        self.take("}")
        return (count, *below)

    def _take_scale(self) -> float:
        text = self.take_match(_number, "a scale")
        if text.startswith("0x"):  # the bits of what six digits do not say: of a float32 for blocks, else of a float64
            digits = len(text) - 2
            return struct.unpack("<f" if digits <= 8 else "<d", int(text, 16).to_bytes(4 if digits <= 8 else 8, "little"))[0]
        return float(text)

    # --- help

    def count_expansion(self, size: int) -> None:
        """Take note that an alias was put in; text whose aliases stand for too much is refused."""
        if size > _SHORT_ALIAS:
            self.expansion += size
        if self.expansion > MAX_EXPANSION:
            self.error(f"the aliases of this text stand for more than {MAX_EXPANSION} characters")

    def to_int(self, digits: str, at: int | None = None) -> int:
        """A decimal integer; one longer than any type holds is refused."""
        if len(digits) > 40:
            self.error(f"the number {digits[:20]}... is too large", at)
        return int(digits)

    def take_body(self, affine: bool = False) -> str:
        """`<...>` with balanced brackets, as text; aliases within are written out."""
        text, pos, start = self.text, self.pos, self.pos
        open_brackets: list[str] = []
        parts: list[str] = []
        match_token = _affine_body if affine else _body
        while True:
            match = match_token(text, pos)
            if match is None:
                self.error("'<' is never closed", start)
            token = match[0]
            first = token[0]
            pos = match.end()
            if len(token) == 1 and first in "<([{":
                open_brackets.append(_CLOSING[first])
            elif len(token) == 1 and first in ">)]}":
                if not open_brackets or first != open_brackets[-1]:
                    self.error(f"{first!r} closes nothing here" if not open_brackets else
                               f"expected {open_brackets[-1]!r}, found {first!r}", pos - 1)
                open_brackets.pop()
            elif first in "#!" and len(token) > 1:
                token = self._alias_as_text(token)
            elif token == '"':
                self.error("the string is never closed", pos - 1)
            parts.append(token)
            if not open_brackets:
                break
        self.pos = pos
        return "".join(parts)

    def _alias_as_text(self, symbol: str) -> str:
        self.count_expansion(self.alias_sizes.get(symbol, 0))
        if symbol[0] == "!":
            alias = self.type_aliases.get(symbol[1:])
            return symbol if alias is None else str(alias)
        if symbol[1:] in self.attribute_aliases:
            from .attribute_text import attribute_text

            return attribute_text(self.attribute_aliases[symbol[1:]])
        return symbol
