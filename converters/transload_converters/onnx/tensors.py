"""ONNX tensors as constants, without copying where the bytes can be looked at in place.

A tensor's numbers lie in `raw_data`, in a typed field (`float_data`, ...), or in another file. Sizes
are checked against the shape before anything is made of them: a header can claim any size.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from transload.budget import VARIABLE, allowance
from transload.errors import ReadError
from transload.files import kind_of
from transload.ir import ArrayData, Dense, IntegerType, LazyData, MmapData, Packed4Data, TensorType, Type, dtype_of

from .types import STRING, element_of

__all__ = ["MAX_RANK", "PACKED", "TensorReader", "bytes_needed", "packed", "raw_bytes", "strings_of", "unpacked"]

MAX_RANK = 64
"""numpy's limit; no operator has tensors of more dimensions."""

_MOST = 1 << 56
"""Elements, beside a size of 0, beyond which numpy makes no array."""
_EXTERNAL = 1
_AT_ONCE = 1 << 20
"""Numbers that are packed at a time, as their bits lie apart then, one a byte: a multiple of 8, to end with a whole byte."""
_DENSE_OF_SPARSE = 64
"""Bytes of dense tensors for each byte that is stored of sparse ones, where these are more than constants may grow by."""
PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
"""Bits of an element of the packed types; the others fill their dtype."""


class TensorReader:
    """Reads `TensorProto`s of one model. `folder` is where external data may lie; None if the model has no file."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self.name = name
        self.folder = folder
        self._files: dict[str, tuple[Path, int]] = {}
        self._packed = self._unpacked = 0

    def unpack(self, what: str, size: int, stored: int) -> None:
        """Count what a sparse tensor is as a dense one, of what is `stored` of it, in bytes.

        Raises `ReadError` where all together are more than constants may grow by, and many times what the file has of them: one
        number fills gigabytes, here and in any runtime.
        """
        self._packed += stored
        self._unpacked += size
        if self._unpacked > max(allowance().grown, _DENSE_OF_SPARSE * self._packed):
            raise self._error(what, f"is sparse, and takes {size:,} bytes as a dense one, {self._unpacked:,} with those before",
                              f"{VARIABLE}=grown={self._unpacked} allows them")

    def read(self, tensor: Any, what: str, raw: memoryview | None = None) -> Dense:
        """The constant of a `TensorProto`; `what` names it in messages, `raw` are its bytes where they were cut out."""
        shape = tuple(tensor.dims)
        element = element_of(tensor.data_type)
        if element is None or element == STRING:
            raise self._error(what, f"has element type number {tensor.data_type}, which holds no numbers")
        if any(size < 0 for size in shape) or len(shape) > MAX_RANK or (
                0 in shape and math.prod(size or 1 for size in shape) > _MOST):
            raise self._error(what, f"claims the shape {list(shape)[:8]}")
        type_ = TensorType(shape, element)
        if tensor.data_location == _EXTERNAL:
            return Dense(self._external(tensor, what, type_), type_)
        if raw is None and tensor.HasField("raw_data"):
            raw = memoryview(tensor.raw_data)
        if raw is not None:
            self._check_size(what, type_, tensor.data_type, len(raw))
            return Dense(_from_bytes(raw, type_, tensor.data_type), type_)
        return Dense(self._typed(tensor, what, type_), type_)

    def _error(self, what: str, why: str, hint: str = "") -> ReadError:
        return ReadError(f"{self.name}: tensor {what!r} {why}", hint=hint)

    def _check_size(self, what: str, type_: TensorType, code: int, there: int) -> None:
        needed = bytes_needed(type_, code)
        if there != needed:
            raise self._error(what, f"is {type_} and needs {needed:,} bytes, but has {there:,}",
                              "the file is damaged or was cut short")

    def _typed(self, tensor: Any, what: str, type_: TensorType) -> ArrayData:
        """From the field of the tensor's own type (`float_data`, `int32_data`, ...)."""
        from onnx import numpy_helper

        n_fields = max(len(getattr(tensor, field)) for field in _TYPED_FIELDS)
        if not n_fields and type_.num_elements:
            raise self._error(what, f"is {type_} and holds no data")
        if n_fields > 2 * type_.num_elements or type_.num_elements > 16 * n_fields:  # complex: two numbers an element
            raise self._error(what, f"is {type_}, but holds {n_fields:,} numbers")
        try:
            array = numpy_helper.to_array(tensor)
            return ArrayData(array.astype(dtype_of(type_.element), copy=False).reshape(sizes(type_)))
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise self._error(what, f"is {type_}, and its data does not fit: {error}") from None

    # --- data in other files

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of external data that were read so far."""
        return tuple(dict.fromkeys(path for path, _ in self._files.values()))

    def _external(self, tensor: Any, what: str, type_: TensorType) -> Any:
        entries = {entry.key: os.fsdecode(entry.value) for entry in tensor.external_data}  # bytes where it is not UTF-8
        path, size = self._file(entries.get("location", ""), what)
        needed = bytes_needed(type_, tensor.data_type)
        offset = self._number(entries, "offset", 0, what)
        length = self._number(entries, "length", needed, what)
        if length != needed:
            raise self._error(what, f"is {type_} and needs {needed:,} bytes, but its external data is {length:,}")
        if offset + length > size:
            raise self._error(
                what, f"lies at bytes {offset:,} to {offset + length:,} of {path.name}, which has {size:,}",
                "the file is damaged or was cut short")
        if not needed:
            return ArrayData(np.zeros(sizes(type_), dtype_of(type_.element)))
        dtype = dtype_of(type_.element)
        if tensor.data_type in PACKED or dtype.kind == "b":
            mapped = MmapData(path, offset, (needed,), np.uint8)
            return LazyData(
                lambda: _from_bytes(mapped.numpy().data, type_, tensor.data_type).numpy(), sizes(type_), dtype,
                of=mapped)
        return MmapData(path, offset, sizes(type_), dtype)

    def _number(self, entries: dict[str, str], key: str, default: int, what: str) -> int:
        text = entries.get(key, "")
        if not text:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise self._error(what, f"has external data with {key} {text[:40]!r}, which is no number of bytes")
        return int(text)

    def _file(self, location: str, what: str) -> tuple[Path, int]:
        """An external file, which must lie in the model's folder, and its size."""
        found = self._files.get(location)
        if found is None:
            found = self._files[location] = self._find_file(location, what)
        return found

    def _find_file(self, location: str, what: str) -> tuple[Path, int]:
        if self.folder is None:
            raise self._error(what, f"is in another file ({location!r}), and the model was given as bytes",
                              "load the model by its path")
        if not location or "\0" in location:
            raise self._error(what, "is in another file, but does not say which")
        folder = self.folder.resolve()
        path = Path(location.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise self._error(what, f"names external data at {location!r}, outside the model's folder",
                              "external data must lie beside the model or in a folder below it")
        try:
            resolved = (folder / path).resolve()
            kind = kind_of(resolved.stat().st_mode) if resolved.exists() else ""
        except (OSError, RuntimeError) as error:  # a loop of links, a name that is too long
            raise self._error(what, f"names external data at {location[:80]!r}, which cannot be reached: {error}") from None
        if not resolved.is_relative_to(folder):
            raise self._error(what, f"names external data at {location!r}, a link that leads out of the model's folder",
                              f"replace the link {_first_link(self.folder, path)} by a copy of what it leads to")
        if kind != "file":
            why = f"that is a {kind}, not a file" if kind else f"there is no such file in {self.folder}"
            raise self._error(what, f"is in {location[:80]!r}, and {why}", "external data must be kept beside the model")
        return resolved, resolved.stat().st_size


def _first_link(folder: Path, path: Path) -> Path:
    """The first part of a path in a folder that is a link out of it; the whole path where none is."""
    around = folder.resolve()
    parts = [folder / parent for parent in reversed([path, *path.parents])]
    return next((part for part in parts if part.is_symlink() and not part.resolve().is_relative_to(around)), folder / path)


_TYPED_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")


def sizes(type_: TensorType) -> tuple[int, ...]:
    """The shape of a static type."""
    return tuple(size or 0 for size in type_.shape or ())


def bytes_needed(type_: TensorType, code: int | None) -> int:
    """How many bytes a tensor's numbers take in a file; `code` is None of an element type that ONNX lacks."""
    bits = (code and PACKED.get(code)) or 8 * dtype_of(type_.element).itemsize
    return -(-type_.num_elements * bits // 8)


def _from_bytes(raw: memoryview, type_: TensorType, code: int) -> Any:
    """The data in `raw`, whose size was checked: a view of it wherever its layout is numpy's."""
    shape, element = sizes(type_), type_.element
    dtype = dtype_of(element)
    flat = np.frombuffer(raw, np.uint8)
    if code in (21, 22):
        return Packed4Data(flat, shape, signed=element == IntegerType(4))
    if code in PACKED:
        return ArrayData(unpacked(flat, PACKED[code], element, type_.num_elements).reshape(shape))
    if dtype.kind == "b":  # any byte but 0 is true
        return ArrayData((flat != 0).reshape(shape))
    if not flat.size:
        return ArrayData(np.zeros(shape, dtype))
    return ArrayData(flat.view(dtype.newbyteorder("<")).view(dtype).reshape(shape))


def unpacked(flat: np.ndarray, bits: int, element: Type, size: int) -> np.ndarray:
    """Elements of `bits` bits, the first in the lowest bits of the first byte, one a byte of their dtype."""
    stream = np.unpackbits(flat, bitorder="little")[: size * bits].reshape(size, bits)
    codes = np.packbits(stream, axis=1, bitorder="little").reshape(size)
    if isinstance(element, IntegerType):
        if not element.unsigned:
            sign = 1 << (bits - 1)
            return ((codes.astype(np.int16) ^ sign) - sign).astype(dtype_of(element))
        return codes.astype(dtype_of(element))
    return codes.view(dtype_of(element))


def raw_bytes(dense: Dense, type_: TensorType, code: int) -> bytes:
    """The numbers of a constant as `raw_data` has them, little-endian; `type_` has the element type that ONNX calls `code`."""
    array = np.ascontiguousarray(dense.numpy())
    bits = PACKED.get(code)
    if bits is None:
        return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return packed(array.astype(dtype_of(type_.element), copy=False), bits)


def packed(array: np.ndarray, bits: int) -> bytes:
    """The lowest `bits` bits of each byte, the first number's in the lowest ones of the first byte: what `unpacked` takes."""
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def part(some: np.ndarray) -> bytes:
        apart = np.unpackbits(some.reshape(-1, 1), axis=1, count=bits, bitorder="little")
        return np.packbits(apart, bitorder="little").tobytes()

    return b"".join(part(codes[start : start + _AT_ONCE]) for start in range(0, codes.size, _AT_ONCE))


def strings_of(tensor: Any) -> list[str]:
    """The texts of a tensor of strings."""
    return [text.decode("utf-8", "backslashreplace") for text in tensor.string_data]
