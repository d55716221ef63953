"""What the kernels have in common: widening of narrow types, ReLU, the result's dtype, checked subscripts."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from transload.errors import Finding, RunError
from transload.ir import Op
from transload.ir.constants import dtype_of
from transload.ir.locations import location_names
from transload.ir.types import IntegerType, QuantType, TensorType

from ..scales import activation_bounds

__all__ = [
    "Array", "activate", "axes_of", "axis_of", "checked_subscripts", "extreme", "finish", "is_integer", "raised", "run_error",
    "whole", "wide"]

Array = np.ndarray[Any, Any]

_NARROW_INTEGERS = {np.dtype(t) for t in (ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4)}


def is_integer(x: Array) -> bool:
    """Whether an array holds integers (bool not counted)."""
    return x.dtype.kind in "iu" or x.dtype in _NARROW_INTEGERS


def extreme(x: Array, least: bool) -> Any:
    """The least number that an array's type has, or the greatest: of truth values, which infinity is none of, False or True."""
    if x.dtype.kind == "b":
        return not least
    if is_integer(x):
        return np.iinfo(x.dtype).min if least else np.iinfo(x.dtype).max
    return -np.inf if least else np.inf


def wide(x: Array) -> Array:
    """`x` in a type that numpy computes well in: f16, bf16 and 8-bit floats as float32, 2- and 4-bit integers as int8."""
    if x.dtype.kind in "biu" or x.dtype.itemsize >= 4:
        return x
    return x.astype(np.int8 if x.dtype in _NARROW_INTEGERS else np.float32)


def raised(base: Array, exponent: Array) -> Array:
    """Powers of floats, broadcast, by IEEE 754-2019, 9.2.1.

    Where numpy repeats an exponent of 1/2, it takes roots, which are NaN of -infinity and negative of -0.
    """
    with np.errstate(all="ignore"):
        made: Array = np.power(base, exponent)
    half = exponent == 0.5
    if not half.any():
        return made
    made = np.where(half & (base == 0), made.dtype.type(0), made)
    return np.where(half & np.isneginf(base), made.dtype.type(np.inf), made)


def finish(op: Op, y: Any, index: int = 0) -> Array:
    """The result `y` after the op's ReLU, where it has one, in the dtype that the result's type asks for.

    Integers wrap round before the ReLU, which is none of sums beyond their type. Where the result is quantized, what is float
    stays so: the engine quantizes it.
    """
    array, type_ = np.asarray(y), op.results[index].type
    if is_integer(array) and isinstance(type_, TensorType) and isinstance(type_.element, IntegerType):
        array = array.astype(dtype_of(type_.element), copy=False)
    array = activate(op, array)
    if not isinstance(type_, TensorType) or (isinstance(type_.element, QuantType) and array.dtype.kind == "f"):
        return array
    return array.astype(dtype_of(type_.element), copy=False)


def whole(op: Op, y: Array) -> Array:
    """Sums of integers that were computed in float64 as integers, so that they wrap round where the result's type is narrow."""
    element = op.results[0].element_or_none
    return y.astype(np.int64) if isinstance(element, IntegerType) and y.dtype.kind == "f" else y


def activate(op: Op, y: Array) -> Array:
    """`y` after the ReLU that the op's attributes do_relu and relu_limit ask for; of stored integers, too."""
    if not op.attributes.get("do_relu", False):
        return y
    y = wide(y)
    limit = op.attributes.get("relu_limit", -1.0)
    element = op.results[0].element
    if is_integer(y) and isinstance(element, QuantType):
        bounds = activation_bounds(element, 0.0, limit if limit >= 0 else math.inf)
        return y if bounds is None else np.clip(y, y.dtype.type(bounds[0]), y.dtype.type(bounds[1]))
    low: Any = 0
    high: Any = limit if limit >= 0 else None
    if is_integer(y) and high is not None:
        high = int(min(limit, np.iinfo(y.dtype).max))
    return np.maximum(y, y.dtype.type(low)) if high is None else np.clip(y, y.dtype.type(low), y.dtype.type(high))


def axis_of(axis: int, rank: int) -> int:
    """`axis` counted from the front; inference has checked that it is in range."""
    return axis + rank if axis < 0 else axis


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """All `axes` counted from the front."""
    return tuple(axis_of(axis, rank) for axis in axes)


def run_error(op: Op, why: str, hint: str = "") -> RunError:
    """The error for values, known only at run time, that an op cannot take."""
    return RunError(f"{op.name} cannot be computed", [Finding(op.name, why, tuple(location_names(op.location)[:1]), hint)])


def checked_subscripts(op: Op, indices: Array, size: int) -> Array:
    """`indices` counted from the front; `RunError` where one is outside `[-size, size)`."""
    indices = wide(indices).astype(np.int64, copy=False)
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -size or high >= size:
            raise run_error(op, f"index {high if high >= size else low} is outside a dimension of size {size}")
        if low < 0:
            return np.where(indices < 0, indices + size, indices)
    return indices
