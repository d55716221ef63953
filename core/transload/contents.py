"""What is in a module: dialects, ops, bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .ir import Dense, Module
from .ir.constants import ArrayData, LazyData, MmapData, Packed4Data

__all__ = ["STRUCTURE", "constant_bytes", "dialects_in", "main_dialect", "op_counts", "unpacked_bytes"]

STRUCTURE = ("builtin", "func")
"""Dialects that only hold a module together and are part of every other."""


def dialects_in(module: Module) -> Counter[str]:
    """How many ops of each dialect a module has; module and functions themselves left out."""
    counts: Counter[str] = Counter()
    for name, count in Counter([op.name for op in module.walk()]).items():
        dialect = name.partition(".")[0]
        if dialect not in STRUCTURE:
            counts[dialect] += count
    return counts


def op_counts(module: Module) -> dict[str, int]:
    """How many ops of each name, the most frequent first; constants and structure left out."""
    counts = Counter(
        op.name for op in module.walk()
        if op.dialect not in STRUCTURE and not (op.declaration is not None and op.declaration.traits & {"constant", "terminator"})
        and not (op.results and str(op.results[0].type) == "none")
    )
    return dict(counts.most_common())


def constant_bytes(module: Module) -> int:
    """Bytes of all constants. Those that lie in the same memory, or the same part of a file, are counted once."""
    total, last, covered = 0, None, 0
    for whose, start, end in sorted(map(_extent, _constants(module))):
        if whose != last:
            last, covered = whose, start
        total += max(end - max(start, covered), 0)
        covered = max(covered, end)
    return total


def unpacked_bytes(module: Module) -> int:
    """Bytes of the constants that become arrays of their own when they are used, each: sparse ones, of a number or none."""
    return sum(data.nbytes for data in _constants(module) if isinstance(data, LazyData) and data.of is not None)


def _constants(module: Module) -> Iterable[Any]:
    """What a module's constants are held by, each once."""
    return {id(a.data): a.data for op in module.walk() for a in op.attributes.values() if isinstance(a, Dense)}.values()


def _extent(data: Any) -> tuple[str, int, int]:
    """Where the bytes of a constant lie: of a file, of this process's memory, or of nothing but itself."""
    while isinstance(data, LazyData) and data.of is not None:
        data = data.of
    if isinstance(data, MmapData):
        return f"file {data.path}", data.offset, data.offset + data.nbytes
    held = data.packed if isinstance(data, Packed4Data) else data.numpy() if isinstance(data, ArrayData) else data
    if not isinstance(held, np.ndarray):
        return f"object {id(held)}", 0, held.nbytes
    start, steps = held.ctypes.data, zip(held.shape, held.strides, strict=True)
    reach = held.itemsize + sum((size - 1) * abs(step) for size, step in steps)
    return "memory", start, start + min(reach, held.nbytes)  # without gaps, and what is repeated once


def main_dialect(module: Module) -> str:
    """The dialect a module is written in: the one most of its ops are of (`builtin` of an empty one)."""
    counts = dialects_in(module)
    return counts.most_common(1)[0][0] if counts else "builtin"
