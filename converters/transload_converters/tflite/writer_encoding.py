"""How tensor values become the bytes of a TFLite buffer.

Sources: the TFLite schema (``tensorflow/lite/schema/schema.fbs``: ``TensorType`` and ``Buffer``) and, for
the layout of string tensors, ``tensorflow/lite/string_util.h``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from .schema import enumeration

#: The element types whose values NumPy (helped by ml_dtypes) can hold, by their schema name in lower case.
#: The schema also has ``string``, ``resource`` and ``variant``, whose elements have no fixed size.
NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
    "bool": np.dtype(np.bool_),
    "int2": np.dtype(ml_dtypes.int2),
    "int4": np.dtype(ml_dtypes.int4),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
}

_PACKED_RANGES = {"int2": (-2, 1), "int4": (-8, 7)}
_INEXACT_TYPES = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}


def type_name(dtype: str | DTypeLike) -> str:
    """Return the schema name of an element type in lower case, such as ``"float32"`` or ``"int4"``.

    Args:
        dtype: a schema name (in any case), or anything that NumPy takes as a dtype.

    Raises:
        ValueError: the schema has no such element type.
    """
    name = dtype.lower() if isinstance(dtype, str) else np.dtype(dtype).name
    if name.upper() not in enumeration("TensorType").values():
        raise ValueError(f"the TFLite schema has no element type {name!r}")
    return name


def type_code(dtype: str | DTypeLike) -> int:
    """Return the value of the schema's ``TensorType`` enumeration for an element type."""
    name = type_name(dtype).upper()
    return next(code for code, member in enumeration("TensorType").items() if member == name)


def encode_tensor_data(data: Any, dtype: str | DTypeLike, shape: Sequence[int]) -> bytes:
    """Return the bytes that a TFLite buffer holds for the values of a constant tensor.

    Numbers are stored in C order, little-endian; a bool takes one byte; int4 values are packed (see
    :func:`pack_int4`) and strings are laid out by :func:`encode_strings`.

    Args:
        data: an array or nested sequence of ``shape``; for strings a flat sequence of ``str`` or ``bytes``;
            or ready ``bytes``, which are returned as they are, whatever they hold.
        dtype: the element type, as :func:`type_name` takes it.
        shape: the tensor's shape.

    Raises:
        ValueError: the values do not fill the shape, or the element type cannot hold them. Rounding to a
            floating-point type is no error; losing part of an integer is.
    """
    if isinstance(data, bytes):
        return data
    name = type_name(dtype)
    if name == "string":
        strings = [item.encode() if isinstance(item, str) else bytes(item) for item in data]
        if len(strings) != math.prod(shape):
            raise ValueError(f"{len(strings)} strings do not fill the shape {tuple(shape)}")
        return encode_strings(strings)
    if name not in NUMPY_TYPES:
        raise ValueError(f"a {name} tensor cannot be a constant")

    given = np.asarray(data)
    if given.shape != tuple(shape):
        raise ValueError(f"values of shape {given.shape} given for a tensor of shape {tuple(shape)}")
    stored = _convert(given, name)
    if name == "int4":
        return pack_int4(stored)
    if name == "int2":
        return pack_int2(stored)
    return stored.astype(stored.dtype.newbyteorder("<")).tobytes()


def _convert(given: np.ndarray, name: str) -> np.ndarray:
    """Return the array in the element type ``name``, or raise ValueError where that would change integers."""
    target = NUMPY_TYPES[name]
    if given.dtype == target or name in _INEXACT_TYPES:
        return given.astype(target)
    # NumPy cannot compare an int4 array with every other type; int8 holds the same values until packing.
    holder = np.dtype(np.int8) if name in _PACKED_RANGES else target
    with np.errstate(invalid="ignore"):
        stored = given.astype(holder)
    fits = np.array_equal(stored, given)
    low, high = _PACKED_RANGES.get(name, (0, 0))
    if not fits or (low and np.any((stored < low) | (stored > high))):
        raise ValueError(f"{name} cannot hold these {given.dtype} values exactly")
    return stored


def pack_int4(values: np.ndarray) -> bytes:
    """Pack 4-bit integers two to a byte, the earlier one in the low half (the layout that TFLite uses).

    Args:
        values: integers -8..7 in any shape; taken in C order. An odd count leaves the last high half zero.
    """
    nibbles = values.astype(np.int8).reshape(-1).view(np.uint8) & 0x0F
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    return (nibbles[0::2] | (nibbles[1::2] << 4)).tobytes()


def pack_int2(values: np.ndarray) -> bytes:
    """Pack 2-bit integers -2..1 four to a byte, the first in the lowest bits; what is missing in the last byte is zero."""
    fields = values.astype(np.int8).reshape(-1).view(np.uint8) & 3
    fields = np.append(fields, np.zeros(-len(fields) % 4, np.uint8)).reshape(-1, 4)
    return (fields << np.array([0, 2, 4, 6], np.uint8)).sum(axis=1).astype(np.uint8).tobytes()


def encode_strings(strings: Sequence[bytes]) -> bytes:
    """Lay out strings as a TFLite string buffer.

    The layout is: int32 count; count + 1 int32 offsets from the start of the buffer, the last of them being
    the end of the buffer; then the strings' bytes one after another.
    """
    header_size = 4 * (1 + len(strings) + 1)
    lengths = [len(string) for string in strings]
    offsets = header_size + np.cumsum([0, *lengths])
    header = np.array([len(strings), *offsets], dtype="<i4")
    return header.tobytes() + b"".join(strings)
