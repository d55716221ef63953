"""What the rewrites share: numbers behind operands, wider types, operands of equal shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import OpenSizes
from transload.ir import F32, F64, IntegerType, Type, Value
from transload.ir.build import Builder, constant_of
from transload.rewrite import Unsupported

from ...tosa.dialect.base import dims_of
from .. import build

__all__ = ["is_zero", "number", "range_of", "shifted", "sizes", "static", "vector", "wide_float", "widen"]

KEPT_NARROW = 64
"""Elements of a constant from which on it stays as it is, and an op widens it: weights keep their size in files."""


def static(value: Value) -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where it is not known (TOSA's shapes are)."""
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"a value is of type {value.type}")
    return shape


def range_of(element: Type) -> tuple[int, int]:
    """The least and the greatest integer of an element type that holds integers."""
    if isinstance(element, IntegerType):
        return element.range
    raise Unsupported(f"{element} is no integer type")


def sizes(value: Value, what: str) -> tuple[int, ...]:
    """The numbers behind a `!tosa.shape` operand."""
    found = dims_of(value)
    if found is None:
        raise Unsupported(f"{what} must be a constant, and is computed at run time")
    return found


def vector(value: Value) -> np.ndarray | None:
    """The numbers of a constant as a flat int64 array, None where they are computed."""
    dense = constant_of(value)
    return None if dense is None else dense.numpy().reshape(-1).astype(np.int64)


def number(value: Value, unsigned: bool = False) -> int | None:
    """The number in a constant of one element, its bits read as unsigned if asked; None where it is computed."""
    found = vector(value)
    if found is None or not found.size:
        return None
    width = value.element.width if isinstance(value.element, IntegerType) else 64
    return int(found[0]) + (1 << width if unsigned and found[0] < 0 else 0)


def is_zero(value: Value) -> bool:
    """Whether a value is a constant of zeros."""
    dense = constant_of(value)
    if dense is None:
        return False
    splat = dense.splat_value()
    return splat is not None and not splat.any()


def widen(rw: Builder, x: Value, element: Type) -> Value:
    """`x` in a wider type. A large constant is not converted here and now: its file would grow with it."""
    if x.element == element:
        return x
    dense = constant_of(x)
    if dense is None or dense.splat_value() is not None or int(np.prod(dense.shape)) <= KEPT_NARROW:
        return build.convert(rw, x, element)
    return rw.create("stablehlo.convert", (x,), (x.tensor_type.with_element(element),)).results[0]


def wide_float(rw: Builder, x: Value) -> Value:
    """`x` in the type that sums of it are formed in: f32, or its own where that is wider."""
    return x if x.element in (F32, F64) else widen(rw, x, F32)


def shifted(rw: Builder, x: Value, zero_point: Value, element: Type) -> Value:
    """`x - zero_point` in a wider integer type."""
    wide = widen(rw, x, element)
    if is_zero(zero_point):
        return wide
    point: Any = build.reshape(rw, build.convert(rw, zero_point, element), ())
    return build.binary(rw, "subtract", wide, point)
