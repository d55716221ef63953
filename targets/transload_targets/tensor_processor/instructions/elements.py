"""Element types of the machine: how many bits one takes in memory, and which numpy type holds it.

The number of a type is its place in the table; files hold it, so the table grows at its end only.
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

__all__ = ["ELEMENTS", "Element", "element_of"]


class Element(NamedTuple):
    """One type: its name, the bits of an element in memory, and the numpy dtype of an array of them.

    Elements of four bits lie two to the byte, the first in the lower half, and are worked on as bytes.
    """

    name: str
    bits: int
    dtype: np.dtype

    @property
    def packed(self) -> bool:
        """Whether several elements share a byte."""
        return self.bits < 8

    def size(self, count: int) -> int:
        """The bytes that so many neighbours take."""
        return -(-count * self.bits // 8)


def _plain(name: str) -> Element:
    dtype = np.dtype(name)
    return Element(name, dtype.itemsize * 8, dtype)


_FOREIGN = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
ELEMENTS: dict[str, Element] = {element.name: element for element in (
    *map(_plain, (
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")),
    *(Element(name, np.dtype(getattr(ml_dtypes, name)).itemsize * 8, np.dtype(getattr(ml_dtypes, name))) for name in _FOREIGN),
    Element("int4", 4, np.dtype(np.int8)),
    Element("uint4", 4, np.dtype(np.uint8)),
)}
"""By name, in the order of their numbers."""


def element_of(name: str) -> Element:
    """The element type of that name; `KeyError` where there is none."""
    return ELEMENTS[name]
