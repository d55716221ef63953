"""`TensorProto`s as constants, without copying where the bytes can be looked at in place.

A tensor's numbers lie in `tensor_content`, or in the field of their type (`float_val`, ...), where the last one stands for all
that follow it. Sizes are checked against the shape before anything is made of them: a header can claim any size.

Source: tensorflow/core/framework/tensor.proto, and `Tensor::FromProto` in tensor.cc beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import ReadError
from transload.ir import I8, I16, I32, UI8, UI16, ArrayData, Dense, DialectType, SplatData, TensorType, Type, dtype_of
from transload.protobuf import Cut, Layout

from .types import STRING, element_of

__all__ = ["CONTENT", "IN_GRAPH", "MAX_RANK", "MAX_STRINGS", "Contents", "Strings", "stored_element"]

MAX_RANK = 64
"""numpy's limit; TensorFlow's tensors have at most 254 dimensions, and its ops take 8."""
MAX_STRINGS = 1 << 16
"""Texts that a tensor may have without the file holding each."""

CONTENT = 4
_IN_NODE: Layout = {5: {2: {8: {CONTENT: None}}}}
IN_GRAPH: Layout = {1: _IN_NODE, 2: {1: {3: _IN_NODE}}}
"""Where contents of tensors lie in a GraphDef: in attributes of its nodes and of the nodes of its functions."""

_STORED = {"tf_type.qint8": I8, "tf_type.quint8": UI8, "tf_type.qint16": I16, "tf_type.quint16": UI16, "tf_type.qint32": I32}
_FIELDS = {
    1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 5: "int_val", 6: "int_val", 8: "scomplex_val", 9: "int64_val",
    10: "bool_val", 11: "int_val", 12: "int_val", 13: "int_val", 14: "half_val", 15: "int_val", 16: "int_val", 17: "int_val",
    18: "dcomplex_val", 19: "half_val", 22: "uint32_val", 23: "uint64_val", 24: "float8_val", 25: "float8_val",
    26: "float8_val", 27: "float8_val", 28: "float8_val", 29: "int_val", 30: "int_val", 31: "int_val", 32: "int_val",
}
_HALVES, _COMPLEX, _BITS = (14, 19), (8, 18), (24, 25, 26, 27, 28)


def stored_element(element: Type) -> Type:
    """The plain numbers that a quantized type of TensorFlow is stored as; any other type is itself."""
    return _STORED.get(element.text, element) if isinstance(element, DialectType) else element


class Strings(list[str]):
    """The texts of a tensor of strings, in row-major order, with its shape. Bytes that are no UTF-8 are escaped."""

    def __init__(self, texts: Sequence[str], shape: tuple[int, ...]) -> None:
        super().__init__(texts)
        self.shape = shape


class Contents:
    """Reads the tensors of one file. `cuts` are the contents that were cut out of it before it was parsed."""

    def __init__(self, name: str, cuts: Sequence[Cut] = ()) -> None:
        self.name = name
        self.cuts = cuts

    def read(self, tensor: Any, what: str) -> Dense | Strings:
        """The constant of a `TensorProto`; `what` names it in messages. Raises `ReadError` for one that is not valid."""
        shape = self._shape(tensor, what)
        element = element_of(tensor.dtype)
        if element == STRING:
            return self._strings(tensor, shape, what)
        if element is None or tensor.dtype not in _FIELDS:
            raise self._error(what, f"has element type number {tensor.dtype}, of which there are no constants")
        type_ = TensorType(shape, stored_element(element))
        content = self._content(tensor, what)
        if content is None:
            return Dense(self._typed(tensor, what, type_), type_)
        needed = math.prod(shape) * dtype_of(type_.element).itemsize
        if len(content) != needed:
            raise self._error(what, f"is {type_} and needs {needed:,} bytes, but has {len(content):,}",
                              "the file is damaged or was cut short")
        return Dense(_from_bytes(content, shape, dtype_of(type_.element)), type_)

    def _error(self, what: str, why: str, hint: str = "") -> ReadError:
        return ReadError(f"{self.name}: tensor {what!r} {why}", hint=hint)

    def _shape(self, tensor: Any, what: str) -> tuple[int, ...]:
        shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
        if tensor.tensor_shape.unknown_rank or any(size < 0 for size in shape) or len(shape) > MAX_RANK:
            raise self._error(what, f"claims the shape {list(shape)[:8]}")
        return shape

    def _content(self, tensor: Any, what: str) -> memoryview | None:
        """The tensor's numbers as bytes, where the file has them so."""
        if not tensor.HasField("cut_content"):
            return memoryview(tensor.tensor_content) if tensor.tensor_content else None
        if not 0 <= tensor.cut_content < len(self.cuts):
            raise self._error(what, "has a field that no tensor has", "the file is damaged")
        return self.cuts[tensor.cut_content].content

    def _typed(self, tensor: Any, what: str, type_: TensorType) -> Any:
        """From the field of the tensor's own type: as many numbers as elements, or fewer, the last of which is repeated."""
        shape, size = type_.static_shape, math.prod(type_.static_shape)
        values = _field_values(tensor, dtype_of(type_.element))
        if len(values) > size:
            raise self._error(what, f"is {type_}, but holds {len(values):,} numbers")
        if len(values) == 0:
            return SplatData(np.zeros((), values.dtype), shape)
        if len(values) == 1:
            return SplatData(values[0], shape)
        if len(values) < size:
            if size > 64 * len(values) + (1 << 16):
                raise self._error(what, f"is {type_}, but holds {len(values):,} numbers")
            values = np.concatenate((values, np.broadcast_to(values[-1], size - len(values))))
        return ArrayData(values.reshape(shape))

    def _strings(self, tensor: Any, shape: tuple[int, ...], what: str) -> Strings:
        size, texts = math.prod(shape), [_text(data) for data in tensor.string_val]
        if len(texts) > size or (len(texts) < size and size > MAX_STRINGS):
            raise self._error(what, f"has the shape {list(shape)}, but holds {len(texts):,} texts")
        return Strings([*texts, *[texts[-1] if texts else ""] * (size - len(texts))], shape)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _from_bytes(content: memoryview, shape: tuple[int, ...], dtype: np.dtype) -> ArrayData:
    """A view of bytes whose number was checked."""
    flat = np.frombuffer(content, np.uint8)
    if dtype.kind == "b":  # any byte but 0 is true
        return ArrayData((flat != 0).reshape(shape))
    if not flat.size:
        return ArrayData(np.zeros(shape, dtype))
    return ArrayData(flat.view(dtype.newbyteorder("<")).view(dtype).reshape(shape))


def _field_values(tensor: Any, dtype: np.dtype) -> np.ndarray:
    """The numbers in the field of a tensor's type, as an array of one dimension."""
    found = getattr(tensor, _FIELDS[tensor.dtype])
    if tensor.dtype in _BITS:
        return np.frombuffer(found, np.uint8).view(dtype)
    if tensor.dtype in _HALVES:  # 16 bits each, in an int32
        return np.array(found, np.int64).astype(np.uint16).view(dtype)
    if tensor.dtype in _COMPLEX:  # real and imaginary parts in turn
        return np.array(found[: len(found) // 2 * 2], np.float32 if tensor.dtype == 8 else np.float64).view(dtype)
    return np.array(found).astype(dtype) if len(found) else np.zeros(0, dtype)
