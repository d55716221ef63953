"""Quantized types in bytecode: those of MLIR's `quant` dialect, and of VHLO, which writes the same members.

Source of the numbers: MLIR, `QuantDialectBytecode.td`.
"""

from __future__ import annotations

from typing import Any

from transload.ir.types import IntegerType, QuantType, Type

from .builtin import double
from .cursor import UnknownConstruct
from .entries import EntryCursor

__all__ = ["per_axis", "per_tensor", "read_attribute", "read_type"]


def read_attribute(r: EntryCursor, code: int) -> Any:
    """The dialect has none."""
    raise UnknownConstruct(f"attribute {code} of the quant dialect in bytecode is not known")


def read_type(r: EntryCursor, code: int) -> Type:
    """A type of the `quant` dialect."""
    if code == 4:
        return per_tensor(r)
    if code == 5:
        return per_axis(r)
    raise UnknownConstruct(f"quantized type {code} in bytecode is not known")


def _head(r: EntryCursor) -> tuple[IntegerType, Type]:
    flags, storage, expressed = r.varint(), r.type(), r.type()
    if not isinstance(storage, IntegerType) or storage.width > 64:
        r.error(f"quantized numbers are not stored in {storage!s:.80}")
    return IntegerType(storage.width, "" if flags & 1 else "u"), expressed


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
