"""Constants as text: `dense<...>`, its hexadecimal form, and the bytes of resource blobs.

The bytes are MLIR's: little-endian, row-major, integers of 8 bits and fewer one a byte, `i48` in six
bytes (each width rounded up to whole bytes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from ..ir.constants import ArrayData, Dense, SplatData, dtype_of
from ..ir.types import BOOL, ComplexType, FloatType, IndexType, IntegerType, TensorType, Type, format_float

__all__ = ["HEX_ABOVE", "LiteralError", "byte_width", "dense_pieces", "from_bytes", "parse_literal", "to_bytes"]

HEX_ABOVE = 100
"""Constants of more elements are printed in hexadecimal (MLIR's own default)."""
_CHUNK = 1 << 20

_token = re.compile(r"[\[\](),]|[^\s\[\](),]+")
_int_literal = re.compile(r"-?(?:\d{1,40}|0x[0-9A-Fa-f]{1,32})").fullmatch
_float_literal = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?").fullmatch
_hex_literal = re.compile(r"0x[0-9A-Fa-f]+").fullmatch
_not_flat = re.compile(r"[\[\]()]").search


class LiteralError(ValueError):
    """A literal that does not fit its type; the parser adds the place."""


# --- bytes


def byte_width(element: Type) -> int:
    """Bytes of one element in a hexadecimal string or a resource."""
    if isinstance(element, IntegerType):
        return (element.width + 7) // 8
    return dtype_of(element).itemsize


def _sub_byte_mask(element: Type) -> int:
    return (1 << element.width) - 1 if isinstance(element, IntegerType) and element.width < 8 else 0


def to_bytes(dense: Dense) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of a constant as a flat array of uint8, not copied where they already lie so."""
    array = np.ascontiguousarray(dense.numpy()).reshape(-1)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    raw = array.view(np.uint8)
    width = byte_width(dense.type.element)
    if width != array.dtype.itemsize:  # i48 in int64
        raw = raw.reshape(array.size, array.dtype.itemsize)[:, :width].reshape(-1)
    mask = _sub_byte_mask(dense.type.element)
    if mask and dense.type.element != BOOL:
        raw = raw & np.uint8(mask)  # numpy keeps the sign in the upper half
    return raw


def from_bytes(raw: np.ndarray[Any, np.dtype[np.uint8]], type_: TensorType) -> np.ndarray[Any, Any] | None:
    """The array that bytes stand for: of the type's shape, or of rank 0 where they hold one element for all.

    None where their number fits neither.
    """
    element = type_.element
    dtype = dtype_of(element)
    shape = type_.static_shape
    count, width = math.prod(shape), byte_width(element)
    if raw.size != count * width:
        if raw.size == width:
            shape, count = (), 1
        elif element == BOOL and raw.size == (count + 7) // 8:  # older MLIR packs eight a byte
            return np.unpackbits(raw, count=count, bitorder="little").astype(np.bool_).reshape(shape)
        else:
            return None
    if element == BOOL:
        return (raw != 0).reshape(shape)
    mask = _sub_byte_mask(element)
    if mask:
        numbers = raw & np.uint8(mask)
        if dtype in (np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.uint2)):
            return numbers.astype(dtype).reshape(shape)
        sign = (mask + 1) // 2
        return ((numbers ^ np.uint8(sign)).astype(np.int8) - np.int8(sign)).astype(dtype).reshape(shape)
    if width != dtype.itemsize:  # i48: sign-extend to int64
        wide = np.zeros((count, dtype.itemsize), np.uint8)
        wide[:, -width:] = raw.reshape(count, width)
        return (wide.reshape(-1).view(dtype) >> (8 * (dtype.itemsize - width))).reshape(shape)
    return raw.view(dtype).reshape(shape)


# --- printing


def _scalar(value: Any, element: Type) -> str:
    """One element as text."""
    if isinstance(element, ComplexType):
        real, imag = np.real(value), np.imag(value)
        return f"({_scalar(real, element.element)},{_scalar(imag, element.element)})"
    if isinstance(element, FloatType):
        number = float(value)
        if not math.isfinite(number):
            return "0x" + np.asarray(value).tobytes()[::-1].hex().upper()
        if element.name == "f32":
            short = format_float(float(str(np.float32(value))))
            if np.float32(float(short)) == value:
                return short
        return format_float(number)
    if element == BOOL:
        return "true" if value else "false"
    return str(int(value))


def _nested(array: np.ndarray[Any, Any], element: Type) -> str:
    if array.ndim == 0:
        return _scalar(array[()], element)
    return f"[{', '.join(_nested(part, element) for part in array)}]"


def dense_pieces(dense: Dense) -> Iterator[str]:
    """`dense<...> : type` in pieces, so that writing a large constant needs no copy of it as text."""
    type_ = dense.type
    count = math.prod(dense.shape)
    if count == 0:
        yield f"dense<> : {type_}"
        return
    one = dense.splat_value()
    if one is not None:
        yield f"dense<{_scalar(one[()], type_.element)}> : {type_}"
    elif count <= HEX_ABOVE or type_.element == BOOL:  # versions of MLIR differ in how they pack i1
        yield f"dense<{_nested(dense.numpy(), type_.element)}> : {type_}"
    else:
        raw = to_bytes(dense)
        yield 'dense<"0x'
        for start in range(0, raw.size, _CHUNK):
            yield raw[start : start + _CHUNK].tobytes().hex().upper()
        yield f'"> : {type_}'


# --- parsing


def parse_literal(text: str, type_: TensorType) -> Any:
    """The data of `dense<text>`, a number or nested lists of them; raises `LiteralError`."""
    shape = type_.static_shape
    count = math.prod(shape)
    element = type_.element
    stripped = text.strip()
    if not stripped:
        if count:
            raise LiteralError(f"dense<> has no elements, and {type_} has {count}")
        return ArrayData(np.empty(shape, dtype_of(element)))
    is_complex = isinstance(element, ComplexType)
    if not _not_flat(stripped) or (is_complex and stripped[0] == "("):
        values = _numbers(_pairs(_token.findall(stripped)) if is_complex else [stripped], element)
        if len(values) != 1:
            raise LiteralError("expected one number, or a list in brackets")
        return ArrayData(values.reshape(shape)) if count == 1 else SplatData(values[0], shape)
    literals, found = _flatten(_token.findall(stripped), is_complex)
    if found != shape:
        raise LiteralError(f"the lists are of shape {found}, the type is {type_}")
    return ArrayData(_numbers(literals, element).reshape(shape))


def _flatten(tokens: list[str], is_complex: bool) -> tuple[list[Any], tuple[int, ...]]:
    """The literals in nested lists, and the lists' shape; they must be regular."""
    shape: dict[int, int] = {}  # depth -> length of the lists there
    counts: list[int] = []
    literals: list[Any] = []
    after_item = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == "[":
            if after_item or len(counts) > 64 or (at > 1 and not counts):
                raise LiteralError("'[' out of place")
            counts.append(0)
        elif token == "]":
            if not counts or (not after_item and counts[-1]):
                raise LiteralError("']' out of place")
            length = counts.pop()
            if shape.setdefault(len(counts), length) != length:
                raise LiteralError(f"lists of {shape[len(counts)]} and of {length} elements side by side")
            if counts:
                counts[-1] += 1
            after_item = True
        elif token == ",":
            if not after_item or not counts:
                raise LiteralError("',' out of place")
            after_item = False
        else:
            if after_item or not counts:
                raise LiteralError(f"{token!r} out of place")
            if is_complex:
                literals.append(_pairs(tokens[at - 1 : at + 4])[0])
                at += 4
            else:
                literals.append(token)
            if shape.setdefault(len(counts), -1) != -1:
                raise LiteralError("numbers and lists side by side")
            counts[-1] += 1
            after_item = True
    if counts:
        raise LiteralError("a list is never closed")
    lengths = [shape[depth] for depth in sorted(shape)]
    if -1 in lengths[:-1]:
        raise LiteralError("numbers and lists side by side")
    return literals, tuple(length for length in lengths if length >= 0)


def _pairs(tokens: list[str]) -> list[tuple[str, str]]:
    """The complex number `(a, b)` that tokens are."""
    if len(tokens) != 5 or tokens[0] != "(" or tokens[2] != "," or tokens[4] != ")":
        raise LiteralError("expected a complex number, '(real, imaginary)'")
    return [(tokens[1], tokens[3])]


def _numbers(literals: list[Any], element: Type) -> np.ndarray[Any, Any]:
    """Literals as a flat array of the element type's dtype."""
    dtype = dtype_of(element)
    if isinstance(element, ComplexType):
        parts = _numbers([part for pair in literals for part in pair], element.element)
        return np.ascontiguousarray(parts).view(dtype)
    if isinstance(element, FloatType):
        return _floats(literals, dtype)
    if element == BOOL:
        flags = {literal: _flag(literal) for literal in set(literals)}
        return np.array([flags[literal] for literal in literals], np.bool_)
    width, signedness = (64, "") if isinstance(element, IndexType) else (element.width, element.signedness)  # type: ignore[attr-defined]
    low = 0 if signedness == "u" else -(1 << (width - 1))
    high = (1 << (width - 1)) - 1 if signedness == "s" else (1 << width) - 1
    numbers = []
    for literal in literals:
        if not _int_literal(literal):
            raise LiteralError(f"{literal[:40]!r} is no integer")
        number = _whole(literal)
        if not low <= number <= high or (signedness == "u" and literal[0] == "-"):  # MLIR takes no -0 either
            raise LiteralError(f"{literal} is out of range for {element}")
        # A signless integer may be written as its unsigned bits: 255 : i8 is -1.
        numbers.append(number - (1 << width) if not signedness and number >> (width - 1) > 0 else number)
    if dtype.itemsize == 8:
        return np.array(numbers, dtype)
    return np.array(numbers, np.int64).astype(dtype)


def _whole(literal: str) -> int:
    """An integer in decimal, or in hexadecimal, which may have a sign, too."""
    return int(literal, 16 if "x" in literal else 10)


def _flag(literal: str) -> bool:
    """An element of an i1 tensor: a word, or a number of one bit."""
    if literal not in ("true", "false") and not (_int_literal(literal) and -1 <= _whole(literal) <= 1):
        raise LiteralError("the elements of an i1 tensor are true or false")
    return literal == "true" or (literal != "false" and _whole(literal) != 0)


def _floats(literals: list[str], dtype: np.dtype) -> np.ndarray[Any, Any]:
    try:
        if not any("x" in literal for literal in literals):
            for literal in literals:
                if not _float_literal(literal):
                    raise LiteralError(f"{literal[:40]!r} is no floating-point number (it needs a decimal point)")
            with np.errstate(over="ignore"):
                return np.array(list(map(float, literals)), np.float64).astype(dtype)
        return np.concatenate([_one_float(literal, dtype) for literal in literals])
    except OverflowError:
        raise LiteralError("a hexadecimal number is too long for the element type") from None


def _one_float(literal: str, dtype: np.dtype) -> np.ndarray[Any, Any]:
    """A float in decimal, or its bits in hexadecimal."""
    if _hex_literal(literal):
        bits = int(literal, 16) if len(literal) <= 34 else 1 << 128
        if bits >> ml_dtypes.finfo(dtype).bits:  # of fewer than 8 are the least of a byte
            raise OverflowError
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)
    return _floats([literal], dtype)
