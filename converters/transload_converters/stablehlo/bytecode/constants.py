"""Constants in bytecode, as views of the file: nothing is copied.

The bytes are MLIR's: little-endian, row-major, elements of fewer than 8 bits one a byte, booleans eight a byte (or one a
byte), and one element for all where all are the same.
"""

from __future__ import annotations

import math

import numpy as np

from transload.ir.constants import ArrayData, Dense, LazyData, SplatData, TensorData, dtype_of
from transload.ir.types import BOOL, BuiltinType, QuantType, TensorType, Type, format_shape
from transload.text.dense_text import byte_width, from_bytes

from .cursor import BytecodeError, UnknownConstruct

__all__ = ["MAX_ELEMENTS", "VectorType", "dense_of"]

MAX_ELEMENTS = 1 << 40
MAX_RANK = 64
_LAZY_ABOVE = 1 << 16


class VectorType(BuiltinType):
    """A vector, which has no meaning here but for its constants: they are read as tensors."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorType) -> None:
        super().__init__(f"vector<{format_shape(tensor.shape or ())}{tensor.element}>")
        self.tensor = tensor


def dense_of(type_: Type, blob: memoryview) -> Dense:
    """The constant of a tensor type that bytes are; `BytecodeError` where they do not fit."""
    if isinstance(type_, VectorType):
        type_ = type_.tensor
    if not isinstance(type_, TensorType) or type_.shape is None or not type_.is_static:
        raise BytecodeError(f"a constant cannot be of type {type_!s:.200}")
    shape: tuple[int, ...] = type_.shape  # type: ignore[assignment]
    if isinstance(type_.element, QuantType):
        raise UnknownConstruct(f"a constant of type {type_!s:.200}")
    if len(shape) > MAX_RANK or math.prod([size or 1 for size in shape]) > MAX_ELEMENTS:
        raise BytecodeError(f"a constant claims to be of type {type_!s:.200}")
    try:
        dtype = dtype_of(type_.element)
        width = byte_width(type_.element)
    except ValueError:
        raise UnknownConstruct(f"constants of type {type_!s:.200}") from None
    return Dense(_data(np.frombuffer(blob, np.uint8) if len(blob) else np.empty(0, np.uint8), type_, shape, dtype, width), type_)


def _data(
    raw: np.ndarray, type_: TensorType, shape: tuple[int, ...], dtype: np.dtype, width: int
) -> TensorData:
    count = math.prod(shape)
    if count == 0:
        return ArrayData(np.empty(shape, dtype))
    if type_.element == BOOL:
        return _booleans(raw, type_, shape, count)
    if raw.size == count * width:
        if width == dtype.itemsize and not (width == 1 and dtype.kind == "V"):
            return ArrayData(raw.view(dtype).reshape(shape))

        def make() -> np.ndarray:
            return from_bytes(raw, type_)  # type: ignore[return-value]

        return LazyData(make, shape, dtype, of=raw) if raw.size > _LAZY_ABOVE else ArrayData(make())
    if raw.size == width:
        return SplatData(from_bytes(raw, TensorType((), type_.element)), shape)
    raise BytecodeError(f"a constant of type {type_!s:.200} takes {count * width} bytes, and {raw.size} are there")


def _booleans(raw: np.ndarray, type_: TensorType, shape: tuple[int, ...], count: int) -> TensorData:
    packed = (count + 7) // 8
    if raw.size == packed and raw.size != count:

        def unpack() -> np.ndarray:
            return np.unpackbits(raw, count=count, bitorder="little").astype(np.bool_).reshape(shape)

        if raw.size == 1:
            bits = unpack()
            return SplatData(bits.flat[0], shape) if bits.all() or not bits.any() else ArrayData(bits)
        return LazyData(unpack, shape, np.bool_, of=raw) if count > _LAZY_ABOVE else ArrayData(unpack())
    if raw.size == count:
        return ArrayData((raw != 0).reshape(shape))
    if raw.size == 1:
        return SplatData(np.bool_(raw[0] != 0), shape)
    raise BytecodeError(f"a constant of type {type_!s:.200} takes {packed} bytes, and {raw.size} are there")
