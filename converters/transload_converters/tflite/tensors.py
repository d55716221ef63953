"""Tensors of a TFLite file: their types, and the constants behind them.

Source: the TFLite schema, tables `Tensor`, `QuantizationParameters` and `Buffer`; sizes and packing of
constants as `tensorflow/lite/core/subgraph.cc` and `tensorflow/lite/util.cc` check them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.flatbuffer import FlatFile, Table
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    ArrayData,
    ComplexType,
    Dense,
    DialectType,
    FloatType,
    IntegerType,
    LazyData,
    Packed4Data,
    QuantType,
    SplatData,
    TensorType,
    Type,
    dtype_of,
)
from transload.limits import beyond

from .schema import enumeration, numbers
from .sparsity import leaf_places

__all__ = ["Tensor", "constant_data", "element_of", "read_tensor", "tensor_name", "zero_state"]

_ELEMENTS: dict[str, Type] = {
    "FLOAT32": F32, "FLOAT16": F16, "FLOAT64": F64, "BFLOAT16": BF16,
    "FLOAT8_E4M3FN": FloatType("f8E4M3FN"), "FLOAT8_E5M2": FloatType("f8E5M2"),
    "INT2": IntegerType(2), "INT4": I4, "INT8": I8, "INT16": I16, "INT32": I32, "INT64": I64,
    "UINT4": IntegerType(4, "u"), "UINT8": UI8, "UINT16": UI16, "UINT32": UI32, "UINT64": UI64,
    "BOOL": BOOL, "COMPLEX64": ComplexType(F32), "COMPLEX128": ComplexType(F64),
    # Elements without numbers. Such tensors can be read; nothing computes with them.
    "STRING": DialectType("tf_type.string"), "RESOURCE": DialectType("tf_type.resource"),
    "VARIANT": DialectType("tf_type.variant"),
}

_SHAPE, _TYPE, _BUFFER, _NAME, _QUANTIZATION, _IS_VARIABLE, _SPARSITY, _SIGNATURE, _HAS_RANK, _EXTERNAL = numbers(
    "Tensor", "shape", "type", "buffer", "name", "quantization", "is_variable", "sparsity", "shape_signature", "has_rank",
    "external_buffer")
_SCALES, _ZERO_POINTS, _DETAILS_TYPE, _DETAILS, _AXIS = numbers(
    "QuantizationParameters", "scale", "zero_point", "details_type", "details", "quantized_dimension")
_DATA, _OFFSET, _SIZE = numbers("Buffer", "data", "offset", "size")
_BLOCKWISE, _MULTI_AXIS = 2, 3  # members of the union `QuantizationDetails`


class Tensor:
    """A tensor as the file describes it.

    `shape` is the one that the file's tensors were planned for; `signature` the same with None for dimensions that may change,
    as the file says where `has_signature`. `known_rank` is False where the file gives no shape and does not say that this means
    a scalar; `told` is True of an empty shape, too, as converters wrote scalars once, and False where it is left out. `blocks`
    describes the scales of one quantized in blocks, which other tensors hold: until these are read, its element is an integer.
    """

    __slots__ = ("blocks", "buffer", "element", "external", "has_signature", "is_variable", "known_rank", "name", "shape",
                 "signature", "sparse", "told")

    name: str
    element: Type
    shape: tuple[int, ...]
    signature: tuple[int | None, ...]
    has_signature: bool
    buffer: int
    is_variable: bool
    known_rank: bool
    told: bool
    sparse: Table | None
    external: bool
    blocks: Table | None

    @property
    def type(self) -> TensorType:
        """The type with the file's own shape."""
        return TensorType(self.shape, self.element)


def element_of(code: int, file: FlatFile) -> Type:
    """The element type of a `TensorType` code."""
    name = enumeration("TensorType").get(code)
    if name is None or name not in _ELEMENTS:
        file.fail(f"the element type number {code} is not known", "the file is newer than this reader, or damaged")
    return _ELEMENTS[name]


def tensor_name(table: Table) -> str:
    """The name that the file gives a tensor; it may be empty, and others may have the same."""
    return table.text(_NAME)


def read_tensor(table: Table) -> Tensor:
    """Read a tensor's description."""
    tensor = Tensor()
    file = table.file
    tensor.name = tensor_name(table)
    tensor.shape = table.numbers(_SHAPE, "i")
    if tensor.shape and min(tensor.shape) < 0:
        file.fail(f"the shape {list(tensor.shape)} of {tensor.name!r} has a negative dimension")
    signature = table.numbers(_SIGNATURE, "i")
    tensor.has_signature = len(signature) == len(tensor.shape) > 0
    if tensor.has_signature:
        tensor.signature = tuple([None if size < 0 else size for size in signature])
    else:
        tensor.signature = tensor.shape
    tensor.known_rank = bool(tensor.shape) or table.scalar(_HAS_RANK, "?", False)
    tensor.told = tensor.known_rank or table.has(_SHAPE)
    tensor.buffer = table.scalar(_BUFFER, "I")
    tensor.is_variable = table.scalar(_IS_VARIABLE, "?", False)
    tensor.sparse = table.table(_SPARSITY)
    tensor.external = table.scalar(_EXTERNAL, "I") > 0
    tensor.element = element_of(table.scalar(_TYPE, "b"), file)
    tensor.blocks = None
    quantization = table.table(_QUANTIZATION)
    if quantization is not None and isinstance(tensor.element, IntegerType) and tensor.element != BOOL:
        tensor.element = _quantized(tensor, tensor.element, quantization)
    return tensor


def _quantized(tensor: Tensor, storage: IntegerType, table: Table) -> Type:
    """The element type of a tensor of integers with these quantization parameters.

    Without a scale (old converters leave only the range seen in training) it is a plain integer.
    """
    file, shape, name = table.file, tensor.shape, tensor.name
    count = table.count(_SCALES)
    details = table.scalar(_DETAILS_TYPE, "B")
    if details == _BLOCKWISE:
        tensor.blocks = table.table(_DETAILS)
        return storage
    if details == _MULTI_AXIS:
        file.fail(
            f"tensor {name!r} is quantized along several dimensions (MultiAxisQuantization), which no runtime computes yet",
            "quantize the model per tensor, per channel or blockwise")
    if not count:
        return storage
    zero_points = table.numbers(_ZERO_POINTS, "q") or (0,)
    if len(zero_points) not in (1, count):
        file.fail(f"tensor {name!r} has {count} scales and {len(zero_points)} zero points")
    low, high = storage.range
    if any(zero_points) and (min(zero_points) < low or max(zero_points) > high):
        file.fail(f"tensor {name!r} has a zero point outside the range {low} to {high} of {storage}")
    axis = None
    if count > 1:
        axis = table.scalar(_AXIS, "i")
        if not 0 <= axis < len(shape) and len(shape) == 1:
            axis = 0  # some converters give a bias the axis of its filter; a vector has one axis only
        if not 0 <= axis < len(shape) or shape[axis] != count:
            file.fail(
                f"tensor {name!r} of shape {list(shape)} has {count} scales along dimension {axis}, which does not fit")
    scales = table.numbers(_SCALES, "f") if count < 8 else table.array(_SCALES, "f")
    element = QuantType(storage, F32, scales, zero_points, axis)
    if not element.has_sound_scales:
        file.fail(f"tensor {name!r} has a scale that is negative or not a number")
    return element


def constant_data(tensor: Tensor, buffer: Table) -> Any:
    """The constant in a buffer as `TensorData` viewing the mapped file; None where the buffer is empty.

    The bytes are in the buffer's vector, or, in files over 2 GiB, behind the FlatBuffer at `offset`.
    """
    file = buffer.file
    start, n_bytes = buffer.extent(_DATA)
    if not n_bytes:
        start, n_bytes = buffer.scalar(_OFFSET, "Q"), buffer.scalar(_SIZE, "Q")
        if start <= 1 or not n_bytes:  # a placeholder of 1 means that nothing is there
            return None
        if start + n_bytes > file.size:
            file.fail(f"the data of {tensor.name!r} lies outside the file: bytes {start} to {start + n_bytes} of {file.size}")
    element, shape = tensor.element, tensor.shape
    storage = element.storage if isinstance(element, QuantType) else element
    count = math.prod(shape)
    bits = storage.width if isinstance(storage, IntegerType) and storage.width in (2, 4) else 0
    signed = not (isinstance(storage, IntegerType) and storage.unsigned)
    dtype = dtype_of(storage)
    if tensor.sparse is not None:
        return _dense_data(tensor, dtype, np.frombuffer(file.data, np.uint8, n_bytes, start), bits)
    needed = (count * bits + 7) // 8 if bits else count * dtype.itemsize
    if why := beyond(tensor.type):
        file.fail(f"constant {tensor.name!r} {why}")
    if needed > n_bytes:  # what a buffer has beyond that is not looked at, as by LiteRT
        file.fail(
            f"constant {tensor.name!r} of shape {list(shape)} and type {storage} takes {needed} bytes; its buffer has {n_bytes}")
    if bits == 4:
        packed = np.frombuffer(file.data, np.uint8, needed, start)
        return Packed4Data(packed, shape, signed=signed)
    if bits == 2:
        packed = np.frombuffer(file.data, np.uint8, needed, start)
        return LazyData(lambda: _unpack2(packed, shape).astype(dtype), shape, dtype, of=packed)
    return ArrayData(np.frombuffer(file.data, dtype, count, start).reshape(shape))


def _dense_data(tensor: Tensor, dtype: np.dtype[Any], stored: np.ndarray, bits: int) -> LazyData:
    """A sparse constant as a dense one: zeros, but for what is stored."""
    sparsity: Table = tensor.sparse  # type: ignore[assignment]
    if bits or len(stored) % dtype.itemsize:
        sparsity.file.fail(
            f"sparse constant {tensor.name!r} has {len(stored)} bytes for elements of {bits or 8 * dtype.itemsize} bits")
    values = np.frombuffer(stored, dtype)
    places = leaf_places(sparsity, tensor.shape, tensor.name, len(values))

    def make() -> np.ndarray:
        dense = np.zeros(math.prod(tensor.shape), dtype)
        dense[places] = values
        return dense.reshape(tensor.shape)

    return LazyData(make, tensor.shape, dtype, of=stored)


def _unpack2(packed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Four signed 2-bit integers a byte, the first in the lowest bits."""
    fields = (packed[:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return ((fields.reshape(-1)[: math.prod(shape)] ^ 2).astype(np.int8) - 2).reshape(shape)


def zero_state(tensor: Tensor) -> Dense:
    """What a variable tensor holds before the first run: real zeros."""
    element = tensor.element
    storage = element.storage if isinstance(element, QuantType) else element
    value = element.zero_points[0] if isinstance(element, QuantType) else 0
    return Dense(SplatData(value, tensor.shape, dtype_of(storage)), TensorType(tensor.shape, storage))
