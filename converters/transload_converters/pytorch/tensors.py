"""The tensors of an archive as constants, looked at where their bytes lie in the file."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import ReadError
from transload.ir import ArrayData, Dense, TensorType, dtype_of
from transload.limits import beyond

from .archive import Members
from .payload import Payload

__all__ = ["tensor_of"]


def tensor_of(archive: Members, payload: Payload, name: str) -> Dense:
    """The constant of a payload: a view of the file, also where it lies in its storage transposed or with gaps.

    Raises `ReadError` where it reaches beyond its storage, or has more elements than any tensor.
    """
    meta = payload.meta
    numbers = (*meta.sizes, *meta.strides, meta.offset)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ReadError(f"{archive.where}: the tensor {name!r} has sizes that are no numbers")
    shape: tuple[int, ...] = meta.sizes  # type: ignore[assignment]
    strides: tuple[int, ...] = meta.strides  # type: ignore[assignment]
    dtype = dtype_of(meta.element)
    data = (payload.archive or archive).view(payload.member)
    type_ = TensorType(shape, meta.element)
    if why := beyond(type_):  # also beside a size of 0, where numpy multiplies the others
        raise ReadError(f"{archive.where}: the tensor {name!r} {why}", hint="the file is damaged")
    count = math.prod(shape)
    last = meta.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if count else -1  # type: ignore[operator]
    if (last + 1) * dtype.itemsize > len(data):
        raise ReadError(
            f"{archive.where}: the tensor {name!r}, {type_}, needs {(last + 1) * dtype.itemsize:,} bytes, and {payload.member} "
            f"has "
            f"{len(data):,}", hint="the file is damaged or was cut short")
    if not count:
        return Dense(ArrayData(np.zeros(shape, dtype)), type_)
    held = np.frombuffer(data, dtype, len(data) // dtype.itemsize)[meta.offset :]
    if _is_contiguous(shape, strides):
        return Dense(ArrayData(held[:count].reshape(shape)), type_)
    steps = tuple(stride * dtype.itemsize for stride in strides)
    return Dense(ArrayData(np.lib.stride_tricks.as_strided(held, shape, steps, writeable=False)), type_)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
