"""numpy's arrays of a size that a model file says: made where there is room, refused (`Unsupported`) where there is not.

A file of a hundred bytes can ask for a table of 2^31 rows. So rewrites take from here whatever is as large as an attribute, a
shape or a number of a model; `tests/core/test_tables.py` looks that none of them asks numpy itself. The functions are called
as numpy's are. What they give together is counted against the budget of the run (`transload.budget`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from transload.budget import VARIABLE, allowance, budget
from transload.engine.tiled import tiled
from transload.errors import Unsupported

__all__ = [
    "MAX_CONSTANT", "arange", "distinct", "empty", "eye", "full", "has_place", "indices", "linspace", "meshgrid", "ndindex",
    "need_place", "ones", "outer", "pad", "repeat", "tile", "tri", "zeros",
]

MAX_CONSTANT = 1 << 28
"""Elements that a constant which a rewrite makes may have."""
_MOST = MAX_CONSTANT >> 2
"""Elements of a table: what is made of it, in 64 bits, is in memory beside it."""
_SMALL = 1 << 16
"""Elements of a table that no budget need know of."""
_MAX_PLACES = 1 << 16
"""Places that a rewrite may go through one by one."""
Sizes = SupportsIndex | Sequence[SupportsIndex]


def need_place(*sizes: SupportsIndex, width: int = 8) -> None:
    """Refuse tables of these sizes that a rewrite would make, where they, or all of a run's together, are too large.

    What is large is taken from the run's budget; `width` is the bytes of an element.
    """
    if any(size < 0 for size in map(int, sizes)):
        raise Unsupported(f"takes a table of {_by(sizes)} numbers, which is no size")
    if not has_place(*sizes, width=width):
        more = allowance().grown + width * math.prod(map(int, sizes))
        fits = math.prod(map(int, sizes)) <= _MOST
        raise Unsupported(f"takes a table of {_by(sizes)} numbers, which is too large",
                          f"{VARIABLE}=grown={more} allows it" if fits else "")


def has_place(*sizes: SupportsIndex, width: int = 8) -> bool:
    """Whether tables of these sizes may be made, for those who can do without; then they are counted."""
    count = math.prod(map(int, sizes))
    return count <= _MOST and (count <= _SMALL or budget().may_fold(0, width * count))


def distinct(array: np.ndarray) -> np.ndarray:
    """The numbers of an array, each that numpy repeats without storing it only once: what `all` and `any` ask can be asked of it.

    A constant of one number may stand for more than memory holds.
    """
    return array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]


def _by(sizes: Iterable[SupportsIndex]) -> str:
    return " by ".join(f"{int(size):,}" for size in sizes)


def _checked(shape: Sizes, dtype: Any) -> tuple[int, ...]:
    """A shape as numbers of Python's, for which there is room."""
    sizes = tuple(int(size) for size in shape) if isinstance(shape, Iterable) else (int(shape),)
    need_place(*sizes, width=max(np.dtype(dtype).itemsize, 1))
    return sizes


def zeros(shape: Sizes, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.zeros`."""
    return np.zeros(_checked(shape, dtype), dtype)


def ones(shape: Sizes, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.ones`."""
    return np.ones(_checked(shape, dtype), dtype)


def empty(shape: Sizes, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.empty`."""
    return np.empty(_checked(shape, dtype), dtype)


def full(shape: Sizes, number: Any, dtype: Any = None) -> np.ndarray:
    """`numpy.full`."""
    return np.full(_checked(shape, np.float64 if dtype is None else dtype), number, dtype)


def arange(*span: Any, dtype: Any = None) -> np.ndarray:
    """`numpy.arange`."""
    start, stop, step = (0, *span, 1) if len(span) == 1 else (*span, 1)[:3]
    steps = (stop - start) / step if step else math.nan
    if not math.isfinite(steps):
        raise Unsupported(f"takes the numbers from {start} to {stop} in steps of {step}, which have no end")
    need_place(max(math.ceil(steps), 0))
    return np.arange(*span, dtype=dtype)


def linspace(start: Any, stop: Any, count: SupportsIndex) -> np.ndarray:
    """`numpy.linspace`."""
    need_place(count)
    return np.linspace(start, stop, int(count))


def eye(rows: SupportsIndex, columns: SupportsIndex | None = None, k: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.eye`; a diagonal that lies outside of the table is nowhere in it."""
    rows, columns = _checked((rows, rows if columns is None else columns), dtype)
    return np.eye(rows, columns, max(-rows, min(int(k), columns)), dtype)


def tri(rows: SupportsIndex, columns: SupportsIndex | None = None, k: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.tri`; a diagonal outside of the table is as good as one at its end."""
    rows, columns = _checked((rows, rows if columns is None else columns), dtype)
    if not rows * columns:
        return np.zeros((rows, columns), dtype)
    return np.tri(rows, columns, max(-rows - 1, min(int(k), columns)), dtype)


def indices(shape: Sequence[SupportsIndex], dtype: Any = np.int64) -> np.ndarray:
    """`numpy.indices`."""
    sizes = _checked((len(shape), *shape), dtype)
    return np.indices(sizes[1:], dtype)


def repeat(array: Any, times: Any, axis: int | None = None) -> np.ndarray:
    """`numpy.repeat`."""
    array = np.asarray(array)
    length = array.size if axis is None else array.shape[axis]
    whole = int(np.sum(times)) if np.size(times) > 1 else length * int(np.max(times, initial=0))
    need_place(whole, *(() if axis is None else (array.size // max(length, 1),)), width=max(array.itemsize, 1))
    return np.repeat(array, times, axis)


def tile(array: Any, times: Sizes) -> np.ndarray:
    """`numpy.tile`."""
    array = np.asarray(array)
    counts = tuple(int(count) for count in times) if isinstance(times, Iterable) else (int(times),)
    need_place(array.size, *counts, width=max(array.itemsize, 1))
    return tiled(array, counts)


def pad(array: np.ndarray, widths: Sequence[tuple[int, int]], **how: Any) -> np.ndarray:
    """`numpy.pad`."""
    need_place(*(before + size + after for size, (before, after) in zip(array.shape, widths, strict=True)), width=array.itemsize)
    return np.pad(array, widths, **how)


def outer(a: Any, b: Any) -> np.ndarray:
    """`numpy.outer`."""
    need_place(np.size(a), np.size(b))
    return np.outer(a, b)


def meshgrid(*lines: Any, indexing: Any = "xy") -> list[np.ndarray]:
    """`numpy.meshgrid`."""
    need_place(len(lines), *map(np.size, lines))
    return list(np.meshgrid(*lines, indexing=indexing))


def ndindex(*shape: SupportsIndex) -> Iterator[tuple[int, ...]]:
    """`numpy.ndindex`; a rewrite does something for each of them, so that they have to be few."""
    sizes = tuple(map(int, shape))
    if math.prod(sizes) > _MAX_PLACES:
        raise Unsupported(f"has {_by(sizes)} places, each of which would be an op; {_MAX_PLACES:,} are the limit")
    yield from np.ndindex(*sizes)
