"""Which numbers a tensor can have at all: none beyond the limits of a ReLU or a clip, however far ranges are stretched."""

from __future__ import annotations

from collections.abc import Mapping

from transload.analysis.intervals import Intervals
from transload.ir import Module

from .observe import observed
from .thresholds import Fixed, Range

__all__ = ["possible"]


def possible(module: Module, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """Ranges of a module's tensors, by name, without what follows from the ops to be beyond what they compute."""
    intervals = Intervals()
    found: dict[str, Range] = dict(ranges)
    for name, value in observed(module).items():
        kept = ranges.get(name)
        if kept is None or isinstance(kept, Fixed):
            continue
        least, most = intervals.of(value)
        if kept[0] < least or kept[1] > most:
            low, high = max(kept[0], min(float(least), 0.0)), min(kept[1], max(float(most), 0.0))
            found[name] = (low, high) if low < high else kept
    return found
