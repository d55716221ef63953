"""Constants as bytes of a `.tosa` file, and back.

Elements are little-endian and row-major; `i4` two a byte, the first in the low half; `i48` six bytes; `i1`
a byte; shapes int64. The serializer pads data to a multiple of eight bytes, and so do we.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.ir import Dense, FloatType, IntegerType, Packed4Data, TensorType, Type, dtype_of
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.types import INDEX

__all__ = ["byte_length", "decode", "decode_number", "decode_shape", "encode", "encode_number", "encode_shape"]


_SMALL = 1 << 12
"""Bytes up to which a copy costs less than a view."""


def byte_length(element: Type, count: int) -> int:
    """How many bytes `count` elements take, padding left out."""
    if isinstance(element, IntegerType):
        return -(-count * element.width // 8) if element.width != 1 else count
    return count * dtype_of(element).itemsize


def _padded(data: Any) -> Any:
    """Bytes, with zeros up to a multiple of 8."""
    length = data.nbytes if isinstance(data, memoryview) else len(data)
    return data if length % 8 == 0 else bytes(data) + bytes(-length % 8)


def encode(dense: Dense) -> Any:
    """The bytes of a constant; a view of the array where it can be, and the array itself where it lies in another order."""
    element = dense.type.element
    if isinstance(element, IntegerType) and element.width == 4:
        if isinstance(dense.data, Packed4Data):
            return _padded(np.ascontiguousarray(dense.data.packed).tobytes()[: byte_length(element, dense.type.num_elements)])
        flat = dense.numpy().reshape(-1).astype(np.int8).view(np.uint8) & 0xF
        if len(flat) % 2:
            flat = np.append(flat, np.uint8(0))
        return _padded((flat[0::2] | flat[1::2] << 4).tobytes())
    array = dense.numpy()
    if isinstance(element, IntegerType) and element.width == 48:
        return _padded(array.reshape(-1).astype("<i8").view(np.uint8).reshape(-1, 8)[:, :6].tobytes())
    if array.nbytes % 8 or array.nbytes <= _SMALL:
        return _padded(array.tobytes())
    return array.reshape(-1).view(np.uint8).data if array.flags.c_contiguous else array


def encode_shape(dense: Dense) -> bytes:
    """The bytes of a constant shape."""
    return dense.numpy().reshape(-1).astype("<i8").tobytes()


def encode_number(value: Any, element: Type) -> bytes:
    """The bytes of a clamp's bound, eight of them."""
    return _padded(np.array(value).astype(dtype_of(element)).tobytes())


def decode(data: memoryview, shape: tuple[int, ...], element: Type) -> Dense | None:
    """The constant in `data`, sharing its memory where numpy can; None where it has too few bytes or too many."""
    count = math.prod(shape)
    length = byte_length(element, count)
    if not length <= len(data) <= max(length + 8, -(-length // 8) * 8):
        return None
    type_ = TensorType(shape, element)
    raw = np.frombuffer(data, np.uint8, length)
    if isinstance(element, IntegerType) and element.width == 4:
        return Dense(Packed4Data(raw, shape), type_)
    if isinstance(element, IntegerType) and element.width == 48:
        wide = np.zeros((count, 8), np.uint8)
        wide[:, :6] = raw.reshape(count, 6)
        wide[:, 6:] = np.where(wide[:, 5:6] & 0x80, 0xFF, 0)
        return Dense(wide.reshape(-1).view("<i8").reshape(shape), type_)
    if isinstance(element, IntegerType) and element.width == 1:
        return Dense((raw != 0).reshape(shape), type_)
    return Dense(raw.view(dtype_of(element)).reshape(shape), type_)


def decode_shape(data: memoryview, rank: int) -> Dense | None:
    """The constant shape in `data`, None where its length is wrong."""
    if not 8 * rank <= len(data) <= 8 * rank + 8:
        return None
    return Dense(np.frombuffer(data, "<i8", rank).astype(np.int64), TensorType((rank,), INDEX))


def decode_number(data: memoryview, element: Type) -> Any:
    """A clamp's bound with the type of the elements, None where there are too few bytes."""
    try:
        dtype = dtype_of(element)
    except ValueError:
        return None
    if len(data) < dtype.itemsize:
        return None
    value = np.frombuffer(data, np.uint8, dtype.itemsize).view(dtype)[0]
    return FloatAttr(float(value), element) if isinstance(element, FloatType) else IntAttr(int(value), element)
