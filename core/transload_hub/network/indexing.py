"""`tensor[...]`, as numpy reads it: whole numbers, slices, `...`, `None`, and one tensor of subscripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import UsageError

__all__ = ["steps_of"]

Step = tuple[str, tuple[Any, ...], dict[str, Any]]
"""An op of the hub, what it is given besides the tensor, and its attributes."""


def steps_of(key: Any, shape: Sequence[int]) -> list[Step]:
    """The ops that take what a subscript says of a tensor, one after the other.

    Raises `UsageError` for what is not read here, and `IndexError` for what is out of range.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(map(_is_mask, parts)):
        raise UsageError("a mask is no subscript: how many elements it takes is not known while the network is written",
                         hint="ops.Where(mask, x, 0) keeps the shape; known places are subscripts: np.flatnonzero(mask)")
    if any(_is_many(part) for part in parts):
        return [_gathered(parts, len(shape))]
    parts = _spread(parts, len(shape))
    begins: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    dropped: list[int] = []
    added: list[int] = []
    axis = 0
    for part in parts:
        if part is None:
            added.append(axis - len(dropped) + len(added))
            continue
        begin, end, step = _range(part, shape[axis], axis)
        begins.append(begin)
        ends.append(end)
        steps.append(step)
        if not isinstance(part, slice):
            dropped.append(axis)
        axis += 1
    steps_made: list[Step] = []
    if (begins, ends, steps) != ([0] * len(shape), list(shape), [1] * len(shape)):
        steps_made.append(("Slice", (), {"offset": tuple(begins), "ends": tuple(ends), "steps": tuple(steps)}))
    if dropped:
        steps_made.append(("Squeeze", (), {"axes": tuple(dropped)}))
    if added:
        steps_made.append(("Unsqueeze", (), {"axes": tuple(added)}))
    return steps_made


def _is_many(part: Any) -> bool:
    """Whether a subscript is several: a tensor, an array, a list."""
    return isinstance(part, list) or (hasattr(part, "shape") and hasattr(part, "ndim") and part.ndim > 0)


def _is_mask(part: Any) -> bool:
    """Whether a subscript is a truth value, or several."""
    if hasattr(part, "is_truth"):
        return bool(part.is_truth)
    return isinstance(part, bool | np.bool_) or (isinstance(part, list | np.ndarray) and np.asarray(part).dtype == np.bool_)


def _spread(parts: list[Any], rank: int) -> list[Any]:
    """With `...` written out, and whole dimensions behind what is given."""
    if sum(part is Ellipsis for part in parts) > 1:
        raise UsageError("a subscript has ... at most once", hint="slices stand for whole dimensions: x[:, 0, ..., 1]")
    given = sum(part is not None and part is not Ellipsis for part in parts)
    if given > rank:
        raise IndexError(f"{given} subscripts for a tensor of rank {rank}")
    place = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:place], *[slice(None)] * (rank - given), *parts[place + 1 :]]


def _range(part: Any, size: int, axis: int) -> tuple[int, int, int]:
    """Begin, end and step as `top.Slice` has them."""
    if isinstance(part, slice):
        begin, end, step = part.indices(size)
        if step > 0:
            return begin, max(begin, end), step
        return (begin, end, step) if begin > end else (0, 0, 1)
    try:
        index = part.__index__()
    except AttributeError:
        raise UsageError(f"{part!r} is no subscript",
                         hint="whole numbers, slices, ..., None, and one tensor of integers") from None
    if not -size <= index < size:
        raise IndexError(f"subscript {index} of dimension {axis}, of size {size}")
    index %= size
    return index, index + 1, 1


def _gathered(parts: list[Any], rank: int) -> Step:
    """Slices of one dimension that whole numbers name; the others are whole."""
    parts = _spread(parts, rank)
    several = [place for place, part in enumerate(parts) if _is_many(part)]
    others = [part for place, part in enumerate(parts) if place not in several]
    if len(several) != 1 or any(part is None or part != slice(None) for part in others):
        raise UsageError("one tensor of subscripts is taken at a time, the other dimensions whole",
                         hint="ops.GatherND takes several")
    return "Gather", (parts[several[0]],), {"axis": several[0]}
