"""Quantized types in bytecode: those of MLIR's `quant` dialect, and of VHLO, which writes the same members.

Source of the numbers: MLIR, `QuantDialectBytecode.td`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir.constants import Dense
from transload.ir.quantization import quantized_over
from transload.ir.types import DialectType, IntegerType, QuantType, Type

from .builtin import double
from .cursor import UnknownConstruct
from .entries import EntryCursor

__all__ = ["per_axis", "per_block", "per_tensor", "read_attribute", "read_type"]


def read_attribute(r: EntryCursor, code: int) -> Any:
    """The dialect has none."""
    raise UnknownConstruct(f"attribute {code} of the quant dialect in bytecode is not known")


def read_type(r: EntryCursor, code: int) -> Type:
    """A type of the `quant` dialect; those that say less than a scale are kept as their text."""
    if code in (1, 2):
        return _any(r, is_expressed=code == 2)
    if code == 3:
        return DialectType(f"quant.calibrated<{r.type()}<{double(r)}:{double(r)}>>")
    if code == 4:
        return per_tensor(r)
    if code == 5:
        return per_axis(r)
    if code == 6:
        return per_block(r)
    raise UnknownConstruct(f"quantized type {code} in bytecode is not known")


def _head(r: EntryCursor) -> tuple[IntegerType, Type]:
    flags, storage, expressed = r.varint(), r.type(), r.type()
    if not isinstance(storage, IntegerType) or storage.width > 64:
        r.error(f"quantized numbers are not stored in {storage!s:.80}")
    return IntegerType(storage.width, "" if flags & 1 else "u"), expressed


def _any(r: EntryCursor, is_expressed: bool) -> DialectType:
    """How numbers are stored, perhaps what they stand for, and not how."""
    flags, stored = r.varint(), r.type()
    if not isinstance(stored, IntegerType) or stored.width > 64:
        r.error(f"quantized numbers are not stored in {stored!s:.80}")
    storage = IntegerType(stored.width, "" if flags & 1 else "u")
    expressed = f":{r.type()}" if is_expressed else ""
    low, high = r.signed(), r.signed()
    limits = "" if (low, high) == storage.range else f"<{low}:{high}>"
    return DialectType(f"quant.any<{'i' if flags & 1 else 'u'}{storage.width}{limits}{expressed}>")


def per_tensor(r: EntryCursor) -> QuantType:
    """One scale and zero point for all."""
    storage, expressed = _head(r)
    scale, zero_point, low, high = double(r), r.signed(), r.signed(), r.signed()
    return QuantType(storage, expressed, (scale,), (zero_point,), None, low, high)


def per_axis(r: EntryCursor) -> QuantType:
    """A scale and zero point for each index of a dimension."""
    storage, expressed = _head(r)
    axis, low, high = r.varint(), r.signed(), r.signed()
    scales = tuple(double(r) for _ in range(r.count("scales")))
    zero_points = tuple(r.signed_list())
    if not scales or len(scales) != len(zero_points):
        r.error(f"{len(scales)} scales and {len(zero_points)} zero points")
    r.weight += len(scales)
    return QuantType(storage, expressed, scales, zero_points, axis, low, high)


def per_block(r: EntryCursor) -> QuantType:
    """A scale and zero point for each block; sizes of blocks along some of the dimensions."""
    storage, expressed = _head(r)
    low, high = r.signed(), r.signed()
    dimensions, sizes = r.signed_list(), r.signed_list()
    scales, zero_points = r.attribute(), r.attribute()
    if not isinstance(scales, Dense) or not isinstance(zero_points, Dense) or scales.shape != zero_points.shape:
        r.error("scales and zero points of blocks are no constants of one shape")
    grid: tuple[int, ...] = scales.shape
    known = dict(zip(dimensions, sizes, strict=False))
    fits = len(dimensions) == len(sizes) == len(known) and all(0 <= dim < len(grid) and known[dim] > 0 for dim in known)
    if not fits or 0 in grid or any(count > 1 and dim not in known for dim, count in enumerate(grid)):
        r.error(f"scales of shape {list(grid)} do not fit blocks of {list(sizes)} along dimensions {list(dimensions)}")
    points = np.asarray(zero_points.numpy()).astype(np.int64)
    points = np.where((points < 0) & storage.unsigned, points + (1 << storage.width), points)
    head = QuantType(storage, expressed, (1.0,), (0,), None, low, high)
    r.weight += points.size
    return quantized_over(head, scales.numpy(), points, [known.get(dim) for dim in range(len(grid))])
