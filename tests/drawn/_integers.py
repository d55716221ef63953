"""Draws quantizations and stored integers, those at the ends of what there is more often than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LIMITS", "Draws"]

LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int4": (-8, 7),
    "uint4": (0, 15),
}


@dataclass
class Draws:
    """A generator of random numbers, and what is asked of it."""

    random: np.random.Generator

    def pick(self, *values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def chance(self, of: float) -> bool:
        return bool(self.random.random() < of)

    def zero(self, dtype: str) -> int:
        """A zero point: somewhere, at an end, in the middle; of int16 nearly always 0."""
        low, high = LIMITS[dtype]
        if dtype == "int16":
            return 0 if self.chance(0.97) else int(self.random.integers(-900, 900))
        return int(self.pick(self.random.integers(low, high + 1), low, high, (low + high + 1) // 2))

    def scale_for(self, reach: float, dtype: str) -> float:
        """A scale for numbers up to `reach`: one that fits, or is too small, or too coarse, or a power of two."""
        low, high = LIMITS[dtype]
        fits = max(reach, 1e-9) / ((high - low) / 2)
        scale = fits * self.pick(1.0, self.random.uniform(0.2, 1.5), self.random.uniform(0.02, 5), 0.5, 2.0)
        return float(np.float32(2.0 ** round(np.log2(scale)) if self.chance(0.15) else scale))

    def uneven(self, reach: float, dtype: str) -> float:
        """A scale for sums of products, of which none is in the middle of two steps."""
        return float(np.float32(self.scale_for(reach, dtype) * self.random.uniform(0.9, 1.1)))

    def values(self, shape: Sequence[int], dtype: str, zero: int = 0) -> np.ndarray:
        """Numbers of a type: integers of the whole range, near the zero point, at the ends, or one throughout."""
        if dtype == "float32":
            return self.random.uniform(-5, 5, shape).astype(np.float32)
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        low, high = LIMITS[dtype]
        held = {"int4": "int8", "uint4": "uint8"}.get(dtype, dtype)
        way = self.random.random()
        if way < 0.1:
            return np.full(shape, self.pick(low, high, np.clip(zero, low, high)), held)
        if way < 0.25:
            return np.clip(zero + self.random.integers(-3, 4, shape), low, high).astype(held)
        if way < 0.4:
            return np.asarray(self.random.choice([low, high], shape)).astype(held)
        return self.random.integers(low, high + 1, shape).astype(held)
