"""Which bytes of a memory an operand covers, exactly, and whether two operands share one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..instructions import ELEMENTS, Local, Machine, Operand
from .memory import Piece, pieces

__all__ = ["Footprint"]


def _runs(shape: tuple[int, ...], steps: tuple[int, ...], width: int) -> np.ndarray:
    """Beginnings and ends of the runs of neighbouring bytes, in order, that elements of `width` bytes with these strides make."""
    dimensions = sorted((step, extent) for step, extent in zip(steps, shape, strict=True) if extent > 1 and step)
    while dimensions and dimensions[0][0] <= width:
        step, extent = dimensions.pop(0)
        width += (extent - 1) * step
    starts = np.zeros(1, np.int64)
    for step, extent in dimensions:
        starts = (np.arange(extent, dtype=np.int64)[:, None] * step + starts).reshape(-1)
    starts.sort()
    return np.stack((starts, starts + width), 1)


@dataclass(frozen=True)
class Footprint:
    """The bytes of one operand.

    `low` and `high` bound them: of global memory, or, of an operand in lanes, within a lane. Exact questions are worked out
    when they are asked.
    """

    operand: Operand
    machine: Machine
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        operand = self.operand
        size = operand.size(self.machine.lanes, self.machine.eu_bytes) if isinstance(operand, Local) else operand.size()
        object.__setattr__(self, "low", operand.address)
        object.__setattr__(self, "high", operand.address + size)

    @cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        return tuple(pieces(self.operand, self.machine)) if self.high > self.low else ()

    @cached_property
    def _width(self) -> int:
        element = ELEMENTS[self.operand.dtype]
        return 1 if element.packed else element.size(1)

    @cached_property
    def rows(self) -> np.ndarray:
        """Runs of bytes, beginnings and ends: of global memory, or within a lane, of any of the lanes."""
        found = [np.empty((0, 2), np.int64)]
        for piece in self._pieces:
            shape, steps, address = piece.shape, piece.steps, piece.address
            if isinstance(self.operand, Local):  # the third dimension goes from lane to lane
                shape, steps, address = shape[:2] + shape[3:], steps[:2] + steps[3:], address % self.machine.local_bytes
            found.append(_runs(shape, steps, self._width) + address)
        return _joined(np.concatenate(found))

    @cached_property
    def cells(self) -> np.ndarray:
        """Runs of bytes of the memory as a whole, lane after lane."""
        if not isinstance(self.operand, Local):
            return self.rows
        found = [_runs(piece.shape, piece.steps, self._width) + piece.address for piece in self._pieces]
        return _joined(np.concatenate(found or [np.empty((0, 2), np.int64)]))

    @cached_property
    def banks(self) -> int:
        """The banks that it touches, of a local operand: bit i stands for bank i."""
        size = self.machine.local_bytes // self.machine.banks
        found = 0
        for first, last in np.unique(np.stack((self.rows[:, 0] // size, (self.rows[:, 1] - 1) // size), 1), axis=0).tolist():
            found |= (1 << last + 1) - (1 << first)
        return found

    def overlaps(self, other: Footprint) -> bool:
        """Whether the two share a byte of the same memory."""
        if self.low >= other.high or other.low >= self.high:
            return False
        return _meet(self.rows, other.rows) and (not isinstance(self.operand, Local) or _meet(self.cells, other.cells))


def _joined(runs: np.ndarray) -> np.ndarray:
    """Runs in order, those that touch each other as one."""
    if len(runs) < 2:
        return runs
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(runs[:, 1])
    first = np.concatenate(([True], runs[1:, 0] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((runs[first, 0], ends[last]), 1)


def _meet(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether a run of one, in order, shares a byte with one of the other's."""
    if not len(ours) or not len(theirs):
        return False
    at = np.searchsorted(theirs[:, 1], ours[:, 0], side="right")  # the first that ends behind our beginning
    inside = at < len(theirs)
    return bool((theirs[at[inside], 0] < ours[inside, 1]).any())
