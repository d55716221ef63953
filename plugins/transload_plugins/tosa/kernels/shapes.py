"""Shape operators (since 1.1): on int64 arrays of sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import RunError
from transload.ir import Op

from .base import kernel

if TYPE_CHECKING:
    from ..dialect.shapes import (
        AssertEqualShape,
        ConcatShape,
        Dim,
        DivCeilShape,
        DivFloorShape,
        Exp2Shape,
        Log2CeilShape,
        Log2FloorShape,
        ModShape,
        SliceShape,
    )


def _positive(op: Op, divisor: np.ndarray) -> np.ndarray:
    if (divisor <= 0).any():
        raise RunError(f"{op.called}: divides by {divisor.tolist()}", hint="divisors must be positive")
    return divisor


_ELEMENTWISE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "tosa.add_shape": np.add, "tosa.sub_shape": np.subtract, "tosa.mul_shape": np.multiply, "tosa.max_shape": np.maximum,
    "tosa.min_shape": np.minimum,
}
_DIVISIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "tosa.div_floor_shape": np.floor_divide, "tosa.div_ceil_shape": lambda a, b: -(-a // b), "tosa.mod_shape": np.mod,
}


@kernel(*_ELEMENTWISE)
def elementwise(op: Op, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _ELEMENTWISE[op.name](a, b)


@kernel(*_DIVISIONS)
def division(op: DivCeilShape | DivFloorShape | ModShape, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _DIVISIONS[op.name](a, _positive(op, b))


@kernel("tosa.exp2_shape")
def exp2(op: Exp2Shape, a: np.ndarray) -> np.ndarray:
    return np.left_shift(np.int64(1), a)


@kernel("tosa.log2_ceil_shape", "tosa.log2_floor_shape")
def log2(op: Log2CeilShape | Log2FloorShape, a: np.ndarray) -> np.ndarray:
    values = [int(n) for n in _positive(op, a)]
    ceil = op.name == "tosa.log2_ceil_shape"
    return np.array([(n - 1).bit_length() if ceil else n.bit_length() - 1 for n in values], np.int64)


@kernel("tosa.concat_shape")
def concat(op: ConcatShape, *parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts)


@kernel("tosa.slice_shape")
def slice_(op: SliceShape, a: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    first, count = int(start.reshape(-1)[0]), int(size.reshape(-1)[0])
    if first < 0 or count < 0 or first + count > len(a):
        raise RunError(f"{op.called}: {count} sizes from {first} of {len(a)}")
    return a[first : first + count]


@kernel("tosa.dim")
def dim(op: Dim, x: np.ndarray) -> np.ndarray:
    return np.array([x.shape[op.attributes["axis"]]], np.int64)


@kernel("tosa.assert_equal_shape")
def assert_equal(op: AssertEqualShape, a: np.ndarray, b: np.ndarray) -> tuple[()]:
    """Nothing, or a `RunError` where the shapes are not equal (with `allow_broadcast`, do not broadcast)."""
    broadcast = op.attributes["allow_broadcast"]
    if len(a) != len(b) or any(x != y and not (broadcast and 1 in (x, y)) for x, y in zip(a, b, strict=True)):
        raise RunError(f"{op.called}: {a.tolist()} and {b.tolist()}")
    return ()
