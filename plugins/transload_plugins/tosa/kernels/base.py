"""What the kernels share: the table, element types, fixed-point scaling, prepared constants."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from transload.ir import FloatType, Op, dtype_of
from transload.plugin import KernelTable

from ..dialect.base import storage_of

__all__ = [
    "KERNELS", "Prepared", "apply_scale", "float_of", "is_float", "kernel", "limits", "prepared", "reciprocal_scale",
    "result_dtype",
    "scalar_of", "to_result",
]

KERNELS = KernelTable()


def kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the kernel of these ops, which works on stored numbers whatever the tensors' quantized types say."""
    return KERNELS(*names, quantized="native")


def is_float(value: Any) -> bool:
    """Whether a value's stored elements are floats."""
    return isinstance(storage_of(value), FloatType)


def result_dtype(op: Op, index: int = 0) -> np.dtype:
    """The numpy dtype of a result's stored elements."""
    return dtype_of(storage_of(op.results[index]))


def float_of(array: np.ndarray) -> np.ndarray:
    """Floats of 8 and 16 bits as float32, in which they are computed; others as they are."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def to_result(op: Op, array: np.ndarray) -> np.ndarray:
    """An array in the dtype of the op's result (numpy makes scalars of rank 0 into numbers: back into an array)."""
    return np.asarray(array).astype(result_dtype(op), copy=False)


def scalar_of(array: np.ndarray, unsigned: bool = False) -> int:
    """The number in a tensor of one element, its bits read as unsigned if asked."""
    value = int(array.reshape(-1)[0])
    return value + (1 << (8 * array.dtype.itemsize)) if unsigned and value < 0 else value


def limits(op: Op, index: int = 0) -> tuple[int, int]:
    """Least and greatest number of a result's stored integer type."""
    return storage_of(op.results[index]).range  # type: ignore[attr-defined]


# --- fixed-point scaling (0.30 section 1.9.2)


def apply_scale(value: np.ndarray, multiplier: Any, shift: Any, double_round: bool = False) -> np.ndarray:
    """`(value * multiplier + round) >> shift`, in place on an int64 array.

    `multiplier` and `shift` are numbers or int64 arrays that broadcast. With `double_round`, shifts above 31
    round as gemmlowp does: first to 31 bits away from zero, then up.
    """
    half = np.left_shift(np.int64(1), np.subtract(shift, 1, dtype=np.int64))
    if double_round:
        extra = np.where(np.asarray(shift) > 31, np.int64(1 << 30), np.int64(0))
        half = half + np.where(value >= 0, extra, -extra)
    np.multiply(value, multiplier, out=value)
    np.add(value, half, out=value)
    return np.right_shift(value, shift, out=value)


def reciprocal_scale(count: int) -> tuple[int, int]:
    """Multiplier and shift by which `apply_scale` divides by `count`."""
    k = (count - 1).bit_length()
    return (((1 << 30) + 1) << k) // count, 30 + k


# --- constants prepared once


class Prepared:
    """What kernels make of their constant operands, kept while those live.

    Weights as float matrices, for example. `limit` bounds the bytes kept; beyond it, things are made anew
    each time.
    """

    def __init__(self, limit: int = 1 << 29) -> None:
        self.limit = limit
        self.held: dict[tuple[int, Any], tuple[Any, Any, int]] = {}
        self.size = 0

    def get(self, array: np.ndarray, key: Any, make: Callable[[], Any]) -> Any:
        """What `make()` gave for this array (by identity) and key; only read-only arrays are remembered."""
        if array.flags.writeable:
            return make()
        place = (id(array), key)
        found = self.held.get(place)
        if found is not None and found[0]() is array:
            return found[1]
        made = make()
        parts = made if isinstance(made, tuple) else (made,)
        size = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        if self.size + size <= self.limit:
            self.held[place] = (weakref.ref(array, lambda _: self._drop(place)), made, size)
            self.size += size
        return made

    def _drop(self, place: tuple[int, Any]) -> None:
        found = self.held.pop(place, None)
        if found is not None:
            self.size -= found[2]


prepared = Prepared()
