"""Casts from one quantized type to another, by all numbers of the first: what a cast means, and what scaled integers are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transload.ir import Op, QuantType, dtype_of

from . import tables
from .kernels.cast import cast
from .scales import Scale, apply_scale, scale32, scale_exact

__all__ = ["COUNTED", "meant", "numbers_of", "rescaled", "scaled_as"]

COUNTED = 16
"""Of types of as many bits all numbers are looked at."""
_STEEPEST = 2.0**28
"""By greater factors every number saturates, and no shift is left for them."""


def numbers_of(type_: QuantType) -> np.ndarray:
    """All numbers that a type of at most `COUNTED` bits stores, in their order."""
    least, most = type_.storage.range
    return tables.arange(least, most + 1, dtype=np.int64)


def meant(op: Op) -> np.ndarray:
    """What a cast between quantized types, with one scale each, makes of all numbers of the first, by its `round_mode`."""
    return cast(op, numbers_of(op.operands[0].element))  # type: ignore[arg-type]


def rescaled(
    source: QuantType, target: QuantType, scale_of: Callable[[float], Scale] = scale32, double_round: bool = True,
) -> np.ndarray:
    """What integers times the quotient of the scales, as `scale_of` has it, are of all numbers of one type in another."""
    factor = min(float(np.float64(np.float32(source.scale)) / np.float64(np.float32(target.scale))), _STEEPEST)
    steps = apply_scale(numbers_of(source) - source.zero_point, scale_of(factor), double_round)
    return np.clip(steps + target.zero_point, target.storage_min, target.storage_max).astype(dtype_of(target))


def scaled_as(wanted: np.ndarray, source: QuantType, target: QuantType) -> str | None:
    """Whether integers scaled "once", halves up, or "exact", away from zero, are what is wanted of all numbers; else None."""
    ways = {"once": scale32, "exact": scale_exact}
    return next((way for way, scale_of in ways.items()
                 if (wanted == rescaled(source, target, scale_of, double_round=False)).all()), None)
