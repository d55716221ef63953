"""Memories of the machine, and how operands are read from and written to their bytes.

A memory has a cell for each byte: of one byte, to hold data, or of four, to hold what the checker knows of that byte.
Operands are views with strides, so that nothing is done element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..instructions import ELEMENTS, Element, Global, Local, Machine, Operand
from ..shapes import from_local, to_local

__all__ = ["Memory", "Piece", "pack", "pieces", "seen", "shown", "unpack"]


class Piece(NamedTuple):
    """A part of an operand that one view can show.

    Of a local operand: channels `start` to `stop`, in some slots of some neighbouring lanes; the view has the dimensions (n,
    slots, lanes, h, w), of packed elements (n, slots, lanes, bytes of a row). Of a global one: all of it, with its dimensions.
    """

    start: int
    stop: int
    address: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    """Strides in bytes of the memory; from lane to lane the size of a lane's memory."""


def pieces(operand: Operand, machine: Machine) -> Iterator[Piece]:
    """The views that together are an operand, one or a few: channels fill lanes, which the first and last slot may do in part."""
    if isinstance(operand, Global):
        shape, steps = operand.seen()
        element = ELEMENTS[operand.dtype]
        if element.packed:
            shape, steps = (*shape[:-1], element.size(shape[-1])), (*steps[:-1], 1)
        yield Piece(0, 0, operand.address, shape, steps)
        return
    n, c, h, w = operand.seen()
    ns, cs, hs = operand.steps(machine.lanes, machine.eu_bytes)
    element = ELEMENTS[operand.dtype]
    row: tuple[int, ...] = (element.size(h * w),) if element.packed else (h, w)
    row_steps: tuple[int, ...] = (1,) if element.packed else (hs, element.size(1))
    lanes, size = machine.lanes, machine.local_bytes
    if operand.layout == "copies":
        yield Piece(0, 1, operand.address, (1, 1, lanes, *row), (ns, cs, size, *row_steps))
        return
    start = 0
    while start < c:
        lane = (operand.lane + start) % lanes
        slot = (operand.lane + start) // lanes
        slots = max((c - start) // lanes, 1) if lane == 0 else 1
        width = min(lanes - lane, c - start) if slots == 1 else lanes
        address = operand.address + slot * cs + lane * size
        yield Piece(start, start + slots * width, address, (n, slots, width, *row), (ns, cs, size, *row_steps))
        start += slots * width


def unpack(data: np.ndarray, element: Element, count: int) -> np.ndarray:
    """Elements of four bits from bytes along the last dimension, the lower half first; `count` of them in a row."""
    wide = np.empty((*data.shape[:-1], 2 * data.shape[-1]), np.uint8)
    np.bitwise_and(data, 15, out=wide[..., ::2])
    np.right_shift(data, 4, out=wide[..., 1::2])
    wide = wide[..., :count]
    if element.dtype.kind == "i":
        return (wide.astype(np.int8) ^ np.int8(8)) - np.int8(8)
    return wide


def pack(values: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The bytes of elements of four bits along the last dimension; the half that an odd count leaves is as `before`."""
    halves = values.view(np.uint8) & 15
    data = before.copy()
    low, high = halves[..., ::2], halves[..., 1::2]
    full = high.shape[-1]
    data[..., :full] = low[..., :full] | high << 4
    data[..., full:] = before[..., full:] & 0xF0 | low[..., full:]
    return data


def seen(array: np.ndarray, operand: Local) -> np.ndarray:
    """An array of a local operand's shape in the four dimensions that its layout makes of it."""
    return to_local(array) if operand.layout in ("aligned", "compact") else array.reshape(operand.seen())


def shown(array: np.ndarray, operand: Local) -> np.ndarray:
    """The reverse of `seen`: an array of the operand's shape."""
    return from_local(array, operand.shape) if operand.layout in ("aligned", "compact") else array.reshape(operand.shape)


class Memory:
    """Cells of global memory, or of the lanes of one core one after the other: a cell for each byte.

    With cells of a byte, `read` and `write` know operands as arrays of their elements.
    """

    def __init__(self, machine: Machine, size: int, cell: type[np.generic] = np.uint8) -> None:
        self.machine = machine
        self.cells = np.zeros(size, cell)

    def view(self, piece: Piece, dtype: np.dtype | None = None) -> np.ndarray:
        """The cells of a piece, one for each element (its first byte); with `dtype`, the bytes as elements of this type."""
        size = self.cells.itemsize
        return np.ndarray(
            piece.shape, dtype or self.cells.dtype, self.cells, piece.address * size, tuple(step * size for step in piece.steps))

    def read(self, operand: Operand) -> np.ndarray:
        """The elements of an operand, in its shape, for reading only; it may be a view of the memory."""
        element = ELEMENTS[operand.dtype]
        if not all(operand.shape):
            return np.empty(operand.shape, element.dtype)
        if isinstance(operand, Global):
            array = self._read_global(operand, element).reshape(operand.shape)
        else:
            array = shown(self._read_local(operand, element), operand)
        array.flags.writeable = False
        return array

    def _read_global(self, operand: Global, element: Element) -> np.ndarray:
        (piece,) = pieces(operand, self.machine)
        if element.packed:
            return unpack(self.view(piece), element, operand.seen()[0][-1])
        return self.view(piece, element.dtype)

    def _read_local(self, operand: Local, element: Element) -> np.ndarray:
        n, c, h, w = operand.seen()
        found = []
        for piece in pieces(operand, self.machine):
            array = self.view(piece, None if element.packed else element.dtype)
            if operand.layout == "copies":
                array = array[:, :, :1]
            array = array.reshape(n, -1, *piece.shape[3:])
            found.append(unpack(array, element, h * w) if element.packed else array)
        return (found[0] if len(found) == 1 else np.concatenate(found, 1)).reshape(n, c, h, w)

    def write(self, operand: Operand, array: np.ndarray) -> None:
        """Put the elements of an array in an operand's shape where the operand lies."""
        element = ELEMENTS[operand.dtype]
        if not all(operand.shape):
            return
        if isinstance(operand, Global):
            array = array.reshape(operand.seen()[0])
        else:
            n, c, h, w = operand.seen()
            array = seen(array, operand).reshape((n, c, h * w) if element.packed else (n, c, h, w))
        for piece in pieces(operand, self.machine):
            view = self.view(piece, None if element.packed else element.dtype)
            part = array
            if isinstance(operand, Local):
                part = array[:, piece.start : piece.stop].reshape(n, piece.shape[1], -1, *array.shape[2:])
            if element.packed:
                part = np.broadcast_to(part, (*view.shape[:-1], part.shape[-1]))
                part = pack(np.ascontiguousarray(part), view)
            view[...] = part

    def lanes_agree(self, operand: Local) -> bool:
        """Whether all lanes hold the same bytes, of an operand in `copies`."""
        if not all(operand.shape):
            return True
        (piece,) = pieces(operand, self.machine)
        element = ELEMENTS[operand.dtype]
        view = self.view(piece._replace(
            shape=(*piece.shape[:3], element.size(operand.seen()[3])), steps=(*piece.steps[:3], 1)))
        return bool((view == view[:, :, :1]).all())
