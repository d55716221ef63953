"""Weights: the blobs of a file by layer, left where they lie in it.

The numbers are cut out of what the parser sees (`transload.protobuf`), so that a file of 100 MB is parsed as one of some
kilobytes; small ones stay in the messages. Blobs hold floats, doubles, or, in NVIDIA's fork, halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.errors import Finding
from transload.ir import ArrayData, Dense, ElidedData, LazyData, TensorType
from transload.ir.types import F32
from transload.protobuf import Cut, Layout, cut_out

__all__ = ["Weights", "cut_message", "fits", "missing"]

_BLOB: Layout = {5: None, 8: None, 12: None}
_LAYOUT: Layout = {100: {7: _BLOB}, 2: {6: _BLOB, 1: {50: _BLOB}}}
"""Where a network's blobs have their numbers: those of `layer`, of `layers`, and of V0 layers in these."""
_MARK = 30000
_FIELDS = {5: "<f4", 8: "<f8"}
"""The types of the numbers in fields."""
_HALF, _DOUBLE = 2, 0
MAX_ELEMENTS = 1 << 31


def cut_message(data: memoryview) -> tuple[bytes | memoryview, list[Cut]]:
    """A serialized network without its large blobs, each of which has the number of its content instead, and the contents."""
    return cut_out(data, _LAYOUT, mark=_MARK)


@dataclass
class Weights:
    """The blobs of layers by the layer's name; `where` is the file, for messages."""

    where: str
    blobs: dict[str, Sequence[Any]]
    cuts: list[Cut]

    def dense(self, blob: Any, shape: tuple[int, ...] | None, layer: str, findings: list[Finding]) -> Dense | None:
        """A blob as a constant of a shape, or of its own where that is None; None, and a finding, where it is damaged."""
        own = _own_shape(blob)
        wanted = own if shape is None else shape
        count = math.prod(wanted)
        if min(wanted, default=0) < 0 or math.prod(size or 1 for size in wanted) > MAX_ELEMENTS:  # as numpy counts
            return self._wrong(layer, f"a blob claims the shape {list(wanted)}", findings)
        try:
            array = self._numbers(blob)
        except (ValueError, IndexError, OverflowError) as error:
            return self._wrong(layer, f"a blob is damaged: {error}", findings)
        if array.size == 1 and count > 1 and math.prod(own) == 1:
            return self._wrong(layer, f"a blob holds one number, and the layer needs the shape {list(wanted)}", findings)
        if array.size != count:
            return self._wrong(
                layer, f"a blob of the shape {list(own)} holds {array.size} numbers, and the layer needs {list(wanted)}",
                findings)
        if not fits(blob, wanted):
            return self._wrong(layer, f"a blob has the shape {list(own)}, and the layer needs the shape {list(wanted)}", findings)
        if array.dtype == np.float32:
            return Dense(ArrayData(array.reshape(wanted)), TensorType(wanted, F32))
        return Dense(LazyData(lambda: array.astype(np.float32).reshape(wanted), wanted, np.dtype(np.float32)),
                     TensorType(wanted, F32))

    def alike(self, blob: Any, other: Any) -> bool:
        """Whether two blobs hold the same numbers; not so where one is damaged."""
        try:
            return np.array_equal(self._numbers(blob), self._numbers(other))
        except (ValueError, IndexError, OverflowError):
            return False

    def _wrong(self, layer: str, why: str, findings: list[Finding]) -> Dense | None:
        findings.append(Finding(f"weights of layer {layer!r} in {self.where}", why, (layer,)))
        return None

    def _numbers(self, blob: Any) -> np.ndarray:
        """The numbers of a blob, flat; a view of the file where they were cut out of it."""
        if blob.HasField("cut"):
            if blob.cut >= len(self.cuts):
                raise IndexError("it names contents that there are not")
            cut = self.cuts[blob.cut]
            return _viewed(cut.content, _FIELDS.get(cut.field) or _raw_type(blob))
        if len(blob.double_data):  # these, where it has both, as in `Blob::FromProto`
            return np.array(blob.double_data, np.float64)
        if len(blob.data):
            return np.array(blob.data, np.float32)
        if blob.HasField("raw_data"):
            return _viewed(memoryview(blob.raw_data), _raw_type(blob))
        return np.zeros(0, np.float32)


def _raw_type(blob: Any) -> str:
    """The type of raw bytes, which the blob names."""
    kinds = {_DOUBLE: "<f8", 1: "<f4", _HALF: "<f2"}
    if blob.raw_data_type not in kinds:
        raise ValueError("its numbers are integers")
    return kinds[blob.raw_data_type]


def _viewed(content: memoryview, type_: str) -> np.ndarray:
    """Bytes as numbers."""
    dtype = np.dtype(type_)
    if len(content) % dtype.itemsize:
        raise ValueError(f"{len(content)} bytes are no whole number of elements")
    return np.frombuffer(content, dtype)


def fits(blob: Any, wanted: tuple[int, ...]) -> bool:
    """Whether a blob is of a shape, as far as it says its own: in others the same numbers would mean something else.

    The four sizes of older files have ones in front, which do not count, as in Caffe; those around a vector's one size, which
    forks have behind it, neither.
    """
    if not (blob.HasField("shape") or _has_four_sizes(blob)):
        return True
    own, needed = _without_ones(_own_shape(blob)), _without_ones(wanted)
    return own == needed or all(sum(size != 1 for size in shape) <= 1 for shape in (own, needed))


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape from its first size on that is not 1."""
    return next((shape[place:] for place, size in enumerate(shape) if size != 1), ())


def _has_four_sizes(blob: Any) -> bool:
    return any(blob.HasField(name) for name in ("num", "channels", "height", "width"))


def _own_shape(blob: Any) -> tuple[int, ...]:
    """The shape that a blob says it has: older files give four sizes."""
    if blob.HasField("shape"):
        return tuple(blob.shape.dim)
    if _has_four_sizes(blob):
        return blob.num, blob.channels, blob.height, blob.width
    return (len(blob.data) or len(blob.double_data),)


def missing(shape: tuple[int, ...]) -> Dense:
    """The place of weights that no file was given for, of a shape that was looked at."""
    return Dense(ElidedData(shape, np.float32), TensorType(shape, F32))
