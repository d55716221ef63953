"""What a case is: a call of one operator, its tensors described by shape, element type and range, their numbers made from a seed.

Nothing here needs torch: what it computes for each case is recorded (`record`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from transload_converters.pytorch.schemas import schema_of

__all__ = ["DTYPES", "Case", "Cases", "Dt", "T", "t"]

DTYPES: dict[str, Any] = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "ui8": np.uint8, "i1": np.bool_, "c64": np.complex64}


@dataclass(frozen=True)
class T:
    """A tensor: uniform numbers from `low` to `high`, or, `distinct`, such that no two are the same; a constant or an
    argument."""

    shape: tuple[int, ...]
    dtype: str = "f32"
    low: float = -2.0
    high: float = 2.0
    distinct: bool = False
    constant: bool = False
    values: tuple[Any, ...] | None = None

    def make(self, rng: np.random.Generator) -> np.ndarray:
        dtype = DTYPES[self.dtype]
        size = int(np.prod(self.shape))
        if self.values is not None:
            return np.array(self.values).reshape(self.shape).astype(dtype)
        if self.dtype == "i1":
            return rng.random(self.shape) < 0.5
        if self.dtype == "c64":
            real, imaginary = (rng.uniform(self.low, self.high, self.shape) for _ in range(2))
            return (real + 1j * imaginary).astype(dtype)
        if self.distinct:
            return (rng.permutation(size) - size // 2).reshape(self.shape).astype(dtype)
        if self.dtype.startswith(("i", "u")):
            return rng.integers(int(self.low), int(self.high) + 1, self.shape).astype(dtype)
        return rng.uniform(self.low, self.high, self.shape).astype(dtype)


def t(*shape: int, d: str = "f32", lo: float = -2.0, hi: float = 2.0, **more: Any) -> T:
    """A tensor, in short."""
    if d == "ui8" and lo < 0:
        lo, hi = 0, 200
    elif d.startswith("i") and (lo, hi) == (-2.0, 2.0):
        lo, hi = -9, 9
    return T(tuple(shape), d, lo, hi, **more)


@dataclass(frozen=True)
class Dt:
    """An element type as an argument."""

    name: str


@dataclass
class Case:
    """A call of an operator. `arguments` are by the names of its signature."""

    name: str
    op: str
    arguments: dict[str, Any]
    arrays: dict[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> str:
        """The number format: of the first tensor."""
        tensors = [each for value in self.arguments.values() for each in (value if isinstance(value, list) else [value])
                   if isinstance(each, T)]
        result = self.arguments.get("dtype")
        return tensors[0].dtype if tensors else result.name if isinstance(result, Dt) else "f32"

    def make(self) -> dict[str, Any]:
        """The arguments, with arrays for tensors."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))

        def made(value: Any) -> Any:
            if isinstance(value, list):
                return [made(each) for each in value]
            return value.make(rng) if isinstance(value, T) else value

        return {key: made(value) for key, value in self.arguments.items()}


class Cases:
    """A list of cases that grows: `add("conv2d.default", t(1, 3, 8, 8), t(4, 3, 3, 3), stride=[2, 2])`."""

    def __init__(self) -> None:
        self.all: list[Case] = []
        self._counts: dict[str, int] = {}

    def add(self, op: str, *arguments: Any, **named: Any) -> None:
        schema = schema_of(f"aten.{op}")
        if schema is None:
            raise KeyError(f"no operator is called {op}")
        given = dict(zip((a.name for a in schema.arguments), arguments, strict=False))
        number = self._counts[op] = self._counts.get(op, 0) + 1
        self.all.append(Case(f"{op}:{number}", op, {**given, **named}))
