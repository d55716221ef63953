"""Attributes, types and locations of MLIR's builtin dialect in bytecode.

The numbers are those of the builtin dialect's bytecode encoding (MLIR, `BuiltinDialectBytecode.td`), which may not change.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from transload.ir.attributes import DenseArray, FloatAttr, IntAttr, OpaqueAttr, Symbol
from transload.ir.constants import Dense, ElidedData, dtype_of
from transload.ir.locations import FileLocation, FusedLocation, Location, NamedLocation, OpaqueLocation
from transload.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I64,
    INDEX,
    NONE,
    BuiltinType,
    ComplexType,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    TensorType,
    TupleType,
    Type,
)
from transload.text.attribute_text import attribute_text, location_text
from transload.text.resources import ELIDED
from transload.text.strings import quote

from .constants import VectorType, dense_of
from .cursor import UnknownConstruct
from .entries import EntryCursor
from .sdy import is_passed_over

__all__ = ["DYNAMIC_SIZE", "double", "read_attribute", "read_location", "read_type", "scalar", "tensor_type", "typed_integer"]

DYNAMIC_SIZE = -(1 << 63)
"""The size of a dimension that is not known until run time."""
MAX_WIDTH = (1 << 24) - 1
MAX_NUMBER = 1 << 12
"""Bits of a number: what takes longer to print than a model to read has no meaning in a program."""
MAX_LOCATION = 1 << 12
"""Characters of a location's text; the frames of a call that are beyond are left out."""


# --- attributes


def read_attribute(r: EntryCursor, code: int) -> Any:
    """A builtin attribute."""
    if 10 <= code <= 15 or code == 22:
        return r.entries.attribute_of_location(r, code)
    try:
        return _ATTRIBUTES[code](r)
    except KeyError:
        raise UnknownConstruct(f"builtin attribute {code} in bytecode is not known") from None


def _dictionary(r: EntryCursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(r.count("attributes", 2)):
        name = r.attribute()
        if not isinstance(name, str) or name in found:
            r.error("a name in a dictionary is no text, or there twice")
        found[name] = r.attribute()
    return {name: value for name, value in found.items() if not is_passed_over(name, value)}


def _typed_string(r: EntryCursor) -> Any:
    text, type_ = r.string(), r.type()
    return text if type_ == NONE else OpaqueAttr(f"{quote(text)} : {type_}")


def _symbol(r: EntryCursor) -> Symbol:
    name = r.attribute()
    if not isinstance(name, str):
        r.error("a symbol's name is no text")
    return Symbol(name)


def _nested_symbol(r: EntryCursor) -> Symbol:
    names = [_symbol(r), *(r.attribute() for _ in range(r.count("symbols")))]
    if not all(isinstance(name, str) for name in names):
        r.error("a symbol's name is no text")
    return Symbol("::@".join(names))


def typed_integer(r: EntryCursor, type_: Type) -> Any:
    """The number that follows, as an attribute of its type."""
    if isinstance(type_, IndexType):
        width, unsigned = 64, False
    elif isinstance(type_, IntegerType):
        width, unsigned = type_.width, type_.unsigned
    else:
        r.error(f"an integer cannot be of type {type_!s:.80}")
    if width > MAX_NUMBER:
        r.error(f"a number of {width} bits; up to {MAX_NUMBER} are read")
    bits = r.integer(width)
    if type_ == BOOL:
        return bool(bits)
    value = bits if unsigned or not bits >> (width - 1) else bits - (1 << width)
    return value if type_ == I64 else IntAttr(value, type_)


def scalar(r: EntryCursor, type_: Type) -> Any:
    """The floating-point number that follows, as an attribute of its type."""
    try:
        dtype = dtype_of(type_) if isinstance(type_, FloatType) else None
    except ValueError:
        dtype = None
    if dtype is None:
        raise UnknownConstruct(f"numbers of type {type_!s:.80} in bytecode are not known")
    value = float(np.frombuffer(r.integer(8 * dtype.itemsize).to_bytes(dtype.itemsize, "little"), dtype)[0])
    return value if type_ == F64 else FloatAttr(value, type_)


def double(r: EntryCursor) -> float:
    """The bits of a float64."""
    return struct.unpack("<d", r.integer(64).to_bytes(8, "little"))[0]


def _dense_resource(r: EntryCursor) -> Dense:
    type_, index = r.type(), r.varint()
    resources = r.entries.container.resources
    if index >= len(resources):
        r.error(f"resource {index} of {len(resources)}")
    key, blob = resources[index]
    if blob is not None:
        return dense_of(type_, blob)
    if not isinstance(type_, TensorType) or not type_.is_static:
        r.error(f"a constant cannot be of type {type_!s:.80}")
    if key in r.entries.resources:
        return r.entries.resources[key].dense(type_)
    if key != ELIDED:
        r.error(f"resource {key!r:.80} has no data")
    return Dense(ElidedData(type_.shape, _dtype(r, type_.element)), type_)  # type: ignore[arg-type]


def _dtype(r: EntryCursor, type_: Type) -> np.dtype:
    """The numpy dtype of numbers that stand there."""
    try:
        return dtype_of(type_)
    except ValueError:
        r.error(f"there are no numbers of type {type_!s:.80}")


def _dense_array(r: EntryCursor) -> Any:
    type_, size, blob = r.type(), r.varint(), r.blob()
    if not isinstance(type_, (IntegerType, FloatType)):
        r.error(f"an array cannot have elements of type {type_!s:.80}")
    width = _dtype(r, type_).itemsize
    if isinstance(type_, IntegerType) and type_.width != 1 and type_.width != 8 * width:
        r.error(f"an array cannot have elements of type {type_}, which are not whole bytes")
    if size * width != len(blob):
        r.error(f"an array of {size} elements has {len(blob)} bytes")
    r.weight += size >> 3
    if not size:
        return () if type_ == I64 else DenseArray((), type_)
    if type_ == BOOL:
        return DenseArray([byte != 0 for byte in blob], BOOL)
    values = np.frombuffer(blob, _dtype(r, type_)).tolist()
    return tuple(values) if type_ == I64 else DenseArray(values, type_)


def _dense(r: EntryCursor) -> Dense:
    type_ = r.type()
    return dense_of(type_, r.blob())


def _float(r: EntryCursor) -> Any:
    return scalar(r, r.type())


def _integer(r: EntryCursor) -> Any:
    return typed_integer(r, r.type())


_ATTRIBUTES: dict[int, Any] = {
    0: lambda r: r.attributes(), 1: _dictionary, 2: lambda r: r.string(), 3: _typed_string, 4: _symbol, 5: _nested_symbol,
    6: lambda r: r.type(), 7: lambda r: None, 8: _integer, 9: _float, 16: _dense_resource, 17: _dense_array, 18: _dense,
}


# --- locations


def read_location(r: EntryCursor, code: int) -> Location:
    """A builtin location."""
    if code == 10:
        callee, caller = r.location(), r.location()
        text = f"callsite({_location_text(callee)} at {_location_text(caller)})"
        return OpaqueLocation(text) if len(text) <= MAX_LOCATION else callee
    if code == 11:
        return FileLocation(_name(r), r.varint(), r.varint())
    if code == 12:
        return FusedLocation(tuple(r.location() for _ in range(r.count("locations"))))
    if code == 13:
        parts = tuple(r.location() for _ in range(r.count("locations")))
        metadata = r.attribute()
        if isinstance(metadata, str) and not isinstance(metadata, Symbol):
            return FusedLocation(parts, metadata)
        return OpaqueLocation(f"fused<{attribute_text(metadata)}>[{', '.join(map(_location_text, parts))}]")
    if code == 14:
        name, child = _name(r), r.location()
        return name if child is None else NamedLocation(name, child)
    if code == 15:
        return None
    if code == 22:
        return _file_range(r)
    raise UnknownConstruct(f"location {code} in bytecode is not known")


def _name(r: EntryCursor) -> str:
    name = r.attribute()
    if not isinstance(name, str):
        r.error("a location's name is no text")
    return str(name)


def _location_text(location: Location) -> str:
    return location_text(location)


def _file_range(r: EntryCursor) -> Location:
    """A range of places: its line and column, then the end's column alone where the line is the same, else line and column."""
    name = _name(r)
    numbers = [r.varint() for _ in range(r.count("numbers"))]
    if len(numbers) == 2:
        return FileLocation(name, numbers[0], numbers[1])
    quoted = quote(name)
    if len(numbers) < 2:
        return OpaqueLocation(f"{quoted}:{numbers[0] if numbers else 0}")
    line, column, *end = numbers
    to = f"{end[0]}:{end[1]}" if len(end) > 1 and end[0] != line else f":{end[-1]}"
    return OpaqueLocation(f"{quoted}:{line}:{column} to {to}")


# --- types


def read_type(r: EntryCursor, code: int) -> Type:
    """A builtin type."""
    try:
        return _TYPES[code](r)
    except KeyError:
        raise UnknownConstruct(f"builtin type {code} in bytecode is not known") from None


def _integer_type(r: EntryCursor) -> Type:
    value = r.varint()
    width, signedness = value >> 2, value & 3
    if not 0 < width <= MAX_WIDTH or signedness == 3:
        r.error(f"an integer type of {width} bits")
    return IntegerType(width, ("", "s", "u")[signedness])


def tensor_type(r: EntryCursor, encoding: Any = None) -> Type:
    """Sizes and an element type."""
    shape = tuple(None if size == DYNAMIC_SIZE else size for size in r.signed_list())
    if any(size is not None and size < 0 for size in shape):
        r.error("a size is negative")
    r.weight += len(shape)
    return TensorType(shape, _element(r), None if encoding is None else attribute_text(encoding))


def _vector(r: EntryCursor) -> Type:
    tensor = tensor_type(r)
    if not isinstance(tensor, TensorType) or not tensor.is_static:
        r.error("a vector of unknown size")
    return VectorType(tensor)


def buffer_type(r: EntryCursor) -> BuiltinType:
    """Memory: sizes and an element type."""
    return BuiltinType(f"memref<{str(tensor_type(r)).removeprefix('tensor<')}")


def _buffer(r: EntryCursor, space: Any = None) -> Type:
    """Memory in a space, and how its dimensions lie in it where that is not in their order."""
    buffer, layout = buffer_type(r), attribute_text(r.attribute())
    said = [] if _in_order(layout) else [layout]
    said += [] if space is None else [attribute_text(space)]
    return BuiltinType(f"{', '.join([buffer.text[:-1], *said])}>") if said else buffer


_map = re.compile(r"affine_map<\(([\w, ]*)\) -> \(([\w, ]*)\)>").fullmatch


def _in_order(layout: str) -> bool:
    """Whether a layout is the identity."""
    match = _map(layout)
    return match is not None and match[1] == match[2]


def _element(r: EntryCursor) -> Type:
    element = r.type()
    if isinstance(element, (TensorType, FunctionType, TupleType)) or element == NONE:
        r.error(f"a tensor cannot have elements of type {element!s:.80}")
    return element


_TYPES: dict[int, Any] = {
    0: _integer_type, 1: lambda r: INDEX, 2: lambda r: FunctionType(r.types(), r.types()), 3: lambda r: BF16, 4: lambda r: F16,
    5: lambda r: F32, 6: lambda r: F64, 7: lambda r: FloatType("f80"), 8: lambda r: FloatType("f128"),
    9: lambda r: ComplexType(r.type()), 10: _buffer, 11: lambda r: _buffer(r, r.attribute()), 12: lambda r: NONE,
    13: tensor_type, 14: lambda r: tensor_type(r, r.attribute()),
    15: lambda r: TupleType(r.types()), 18: lambda r: TensorType(None, _element(r)), 19: _vector,
}
_TYPES.update({  # the smaller floating-point formats
    code: (lambda type_: lambda r: type_)(FloatType(name))
    for code, name in enumerate(
        ("tf32", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E3M4", "f4E2M1FN", "f6E2M3FN",
         "f6E3M2FN", "f8E8M0FNU"), 21)
})
