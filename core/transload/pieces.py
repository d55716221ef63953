"""Bytes of arrays for files: views where an array lies in one piece, else some rows at a time, so that it is never held twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["CHUNK", "in_order", "spelled_out"]

CHUNK = 1 << 24
"""Bytes of an array that are made at once, where it does not lie in one piece."""


def in_order(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array in the order of its elements."""
    if array.flags.c_contiguous or not array.ndim:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        return
    rows = max(1, CHUNK // max(1, array[:1].nbytes))
    for first in range(0, len(array), rows):
        yield np.ascontiguousarray(array[first : first + rows]).reshape(-1).view(np.uint8).data


def spelled_out(pieces: Iterable[Any]) -> Iterator[bytes | memoryview]:
    """Pieces of a file, those that are arrays as their bytes."""
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            yield from in_order(piece)
        else:
            yield piece
