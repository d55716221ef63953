"""Weights that are quantized in blocks: their scales are the constants of another tensor.

A block is so many numbers along the last dimension, or, where the file gives a shape for it, one of that shape.

Source: the TFLite schema, table `BlockwiseQuantization`; `tensorflow/lite/core/interpreter_builder.cc` (ParseQuantization) and
`tensorflow/lite/kernels/embedding_lookup.cc` (EvalBlockwise), where tensor 0 as zero points means that there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import F32, FloatType, IntegerType, QuantType
from transload.ir.quantization import quantized_over

from .schema import numbers

if TYPE_CHECKING:
    from transload.flatbuffer import FlatFile, Table

    from .tensors import Tensor

__all__ = ["blocked_element"]

_SCALES, _ZERO_POINTS, _BLOCK_SIZE, _BLOCK_SHAPE = numbers(
    "BlockwiseQuantization", "scales", "zero_points", "block_size", "block_shape")


def blocked_element(
    tensor: Tensor, details: Table, tensors: Sequence[Tensor], constant: Callable[[Tensor], np.ndarray | None],
) -> QuantType:
    """The element type of a tensor of integers with blocks described by `details`.

    `tensors` are those of the subgraph; `constant` gives the numbers of one, or None where it is computed. Raises
    `ReadError` where scales and blocks do not fit the tensor.
    """
    file, shape, storage = details.file, tensor.shape, tensor.element
    assert isinstance(storage, IntegerType)
    sizes = _block_shape(tensor, details)
    grid = tuple(size // block for size, block in zip(shape, sizes, strict=True))
    scales = _numbers(tensor, details.scalar(_SCALES, "i"), "scales", tensors, constant, grid, file)
    points = np.zeros(grid, np.int64)
    if details.scalar(_ZERO_POINTS, "i") > 0:
        points = _numbers(tensor, details.scalar(_ZERO_POINTS, "i"), "zero points", tensors, constant, grid, file)
    if scales.dtype.kind != "f" and not isinstance(tensors[details.scalar(_SCALES, "i")].element, FloatType):
        file.fail(f"the scales of tensor {tensor.name!r} are no floats")
    reals = scales.astype(np.float64)
    if not (np.isfinite(reals) & (reals >= 0)).all():
        file.fail(f"tensor {tensor.name!r} has a scale that is negative or not a number")
    low, high = storage.range
    if points.dtype.kind not in "iu" or points.min(initial=0) < low or points.max(initial=0) > high:
        file.fail(f"tensor {tensor.name!r} has a zero point that is none of the numbers {low} to {high} of {storage}")
    return quantized_over(QuantType(storage, F32, (1.0,), (0,)), reals, points, sizes)


def _block_shape(tensor: Tensor, details: Table) -> tuple[int, ...]:
    """The size of a block along each dimension."""
    file, shape = details.file, tensor.shape
    given, size = details.numbers(_BLOCK_SHAPE, "i"), details.scalar(_BLOCK_SIZE, "i")
    sizes = given or (*(1,) * (len(shape) - 1), size)
    fits = len(sizes) == len(shape) and all(block > 0 and n % block == 0 for n, block in zip(shape, sizes, strict=True))
    if not shape or not fits or 0 in shape:
        file.fail(f"tensor {tensor.name!r} of shape {list(shape)} cannot be divided into blocks of {list(sizes)}")
    return tuple(sizes)


def _numbers(
    tensor: Tensor, index: int, what: str, tensors: Sequence[Tensor], constant: Callable[[Tensor], np.ndarray | None],
    grid: tuple[int, ...], file: FlatFile,
) -> np.ndarray:
    """The constants of another tensor, one for each block."""
    if not 0 <= index < len(tensors):
        file.fail(f"the {what} of tensor {tensor.name!r} are in tensor {index}, which does not exist; there are {len(tensors)}")
    held = constant(tensors[index])
    if held is None:
        file.fail(f"the {what} of tensor {tensor.name!r} are no constants")
    if held.size != math.prod(grid):
        file.fail(f"tensor {tensor.name!r} has {held.size} {what} for {math.prod(grid)} blocks")
    return held.reshape(grid)
