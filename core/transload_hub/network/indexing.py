"""`tensor[...]`, as numpy reads it: whole numbers, slices, `...`, `None`, and one tensor of subscripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import UsageError

from .tensor import Tensor, emit

__all__ = ["taken"]


def taken(tensor: Tensor, key: Any) -> Tensor:
    """What a subscript takes. Raises `UsageError` for what is not read here, and `IndexError` for what is out of range."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(part, Tensor | np.ndarray | list) for part in parts):
        return _gathered(tensor, parts)
    parts = _spread(parts, tensor.ndim)
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
        begin, end, step = _range(part, tensor.shape[axis], axis)
        begins.append(begin)
        ends.append(end)
        steps.append(step)
        if not isinstance(part, slice):
            dropped.append(axis)
        axis += 1
    made = tensor
    if (begins, ends, steps) != ([0] * tensor.ndim, list(tensor.shape), [1] * tensor.ndim):
        made = emit("top.Slice", [tensor], {"offset": tuple(begins), "ends": tuple(ends), "steps": tuple(steps)})
    if dropped:
        made = emit("top.Squeeze", [made], {"axes": tuple(dropped)})
    return emit("top.Unsqueeze", [made], {"axes": tuple(added)}) if added else made


def _spread(parts: list[Any], rank: int) -> list[Any]:
    """With `...` written out, and whole dimensions behind what is given."""
    given = sum(part is not None and part is not Ellipsis for part in parts)
    if given > rank:
        raise IndexError(f"{given} subscripts for a tensor of rank {rank}")
    if Ellipsis not in parts:
        parts = [*parts, Ellipsis]
    place = parts.index(Ellipsis)
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


def _gathered(tensor: Tensor, parts: list[Any]) -> Tensor:
    """Slices of one dimension that a tensor of integers names; the others are whole."""
    parts = _spread(parts, tensor.ndim)
    others = [part for part in parts if not isinstance(part, Tensor | np.ndarray | list)]
    if len(parts) - len(others) != 1 or any(part != slice(None) for part in others):
        raise UsageError("one tensor of subscripts is taken at a time, the other dimensions whole",
                         hint="ops.GatherND takes several")
    axis = next(i for i, part in enumerate(parts) if isinstance(part, Tensor | np.ndarray | list))
    indices = parts[axis] if isinstance(parts[axis], Tensor) else np.asarray(parts[axis], np.int64)
    made: Tensor = emit("top.Gather", [tensor, indices], {"axis": axis})
    return made
