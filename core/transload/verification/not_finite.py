"""Numbers that are finite in the float model and infinite, or none, behind quantizing: in the quantized module already, or
only in what runs the result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..metrics import as_numbers, same_infinities
from .differences import is_counted
from .several_runs import in_pairs

__all__ = ["NotFinite", "agreement", "no_longer_finite"]

Outputs = Mapping[str, np.ndarray]


@dataclass
class NotFinite:
    """How many numbers of which outputs are finite no longer, in words."""

    quantized: list[str] = field(default_factory=list)
    """In the quantized module as well: quantizing made them so."""
    run: list[str] = field(default_factory=list)
    """Not there: what runs the result did."""


def no_longer_finite(
    floats: Sequence[Outputs], wanted: Sequence[Outputs], actual: Sequence[Outputs], excepts: Collection[str] = (),
) -> NotFinite:
    """What of a result's outputs, `actual`, is no longer finite as the float model's are, and whether it is so in the quantized
    module's, `wanted`; outputs that are excepted are not looked at, nor runs of other shapes."""
    found = NotFinite()
    for place, name in enumerate(actual[0]):
        runs = [(real, hub, made)
                for (real, made), (hub, _) in zip(in_pairs(floats, actual, place), in_pairs(wanted, actual, place), strict=True)
                if real.shape == made.shape and name not in excepts]
        of = f"of {sum(made.size for _, _, made in runs)} numbers that are finite in the float model"
        lost = [_are_lost(real, made) for real, _, made in runs]
        held = [_are_lost(hub, made) if hub.shape == made.shape else np.zeros_like(each)
                for each, (_, hub, made) in zip(lost, runs, strict=True)]
        by_run = sum(int((each & kept).sum()) for each, kept in zip(lost, held, strict=True))
        by_quantizing = sum(int(each.sum()) for each in lost) - by_run
        if by_quantizing:
            found.quantized.append(f"{name}: {by_quantizing} {of} are not")
        if by_run:
            found.run.append(f"{name}: {by_run} {of}, and in the quantized module, are not: what runs the result makes them so")
    return found


def _are_lost(reference: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Which numbers, in a row, are finite in one tensor and not in another; the greatest float32 stands for infinity."""
    a, b = as_numbers(reference, actual)
    return np.isfinite(a) & ~np.isfinite(b) & ~same_infinities(a, b)


def agreement(name: str, floats: Sequence[Outputs], actual: Sequence[Outputs]) -> float | None:
    """The share of rows (of outputs that are one vector of scores a sample) whose greatest number is at the same place.

    A row has none that is no number, or infinite, where the float model's is finite.
    """
    place = list(actual[0]).index(name)
    pairs = [(list(a.values())[place], list(b.values())[place]) for a, b in zip(floats, actual, strict=True)]
    if any(is_counted(a.dtype) or a.ndim != 2 or a.shape[0] < 1 or a.shape[1] < 2 or a.shape != b.shape for a, b in pairs):
        return None
    held = [~(_are_lost(a, b).reshape(a.shape) | (np.isnan(b) & ~np.isnan(a))).any(1) for a, b in pairs]
    return float(np.mean([np.mean((a.argmax(1) == b.argmax(1)) & rows) for rows, (a, b) in zip(held, pairs, strict=True)]))
