"""Operands: where in a memory the elements of a tensor, or of a part of it, lie.

    Local(0x400, (1, 16, 8, 8), "int8")                      # all of a tensor, in the lanes
    Global(0x1000, (1, 16, 8, 8), "int8")                    # the same in global memory, row-major
    Local(0x400, (1, 16, 4, 8), "int8", part=Part(3, (0, 0, 4, 0)))   # rows 4 to 7 of tensor 3

Addresses and strides are in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..shapes import local_shape
from .elements import element_of

__all__ = ["LAYOUTS", "Global", "Local", "Operand", "Part"]

LAYOUTS = ("aligned", "compact", "weights", "channels", "copies")
"""Layouts of local memory by number; see `Local`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of which tensor an operand is, for whom it may concern: messages, and the checker.

    `tensor` is the tensor's number in the program; `offset` the indices of the part's first element in the shape that the
    program says of it, () for the tensor's beginning. The operand's dimensions are the tensor's, or it has all of its elements,
    in row-major order; what is neither says in `steps` how many elements of the (row-major) tensor lie between neighbours in
    each of the operand's dimensions: (192, 1, 24, 3) of a tensor 1x8x8x3 that is seen as 1x3x8x8.

    The simulator keeps in mind which element each byte holds, and a part that is read must hold what it says.
    """

    tensor: int
    offset: tuple[int, ...] = ()
    steps: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Local:
    """Elements in local memory: byte `address` of each lane on.

    Whatever its shape, an operand is *seen* with four dimensions (n, c, h, w). Element (n, c, h, w) lies in lane
    (lane + c) mod lanes, at byte `address + n·ns + ((lane + c) div lanes)·cs + h·hs + w·itemsize`. How it is seen, and what
    the strides (ns, cs, hs) are where the operand does not say them, the layout tells:

    - `aligned`: as `shapes.local_shape` has it, a shape (n, c, h, w) as it is; hs = w·itemsize, cs = h·w·itemsize rounded up to
      the machine's `eu_bytes`;
    - `compact`: the same, but cs is not rounded;
    - `weights`: shape (out channels, ...), seen as (1, out channels, rows, last): the rest of it in a row of the out channel's
      lane, cs rounded up as above;
    - `channels`: one value a channel, seen as (1, channels, 1, 1), cs = itemsize: biases, multipliers, shifts;
    - `copies`: all of it in every lane, row-major: tables of functions.

    In all of them ns = ceil((lane + c) / lanes)·cs. Strides of its own make an operand a window of a larger one: rows of a tensor
    have the tensor's ns and cs, and an address some hs further. Elements of four bits lie two to the byte; in `aligned`,
    `compact` and `weights` the h·w elements of a row are neighbours then, and hs is not asked for.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    layout: str = "aligned"
    strides: tuple[int, int, int] | None = None
    """(ns, cs, hs); None: as the layout has them."""
    lane: int = 0
    """The lane of channel 0."""
    part: Part | None = None

    def seen(self) -> tuple[int, int, int, int]:
        """The four dimensions (n, c, h, w) that the layout makes of the shape."""
        if self.layout == "weights":
            inner = self.shape[1:]
            last = inner[-1] if inner else 1
            return 1, self.shape[0] if self.shape else 1, prod(inner[:-1]), last
        if self.layout == "channels":
            return 1, prod(self.shape), 1, 1
        if self.layout == "copies":
            return 1, 1, 1, prod(self.shape)
        return local_shape(self.shape)

    def steps(self, lanes: int, eu_bytes: int) -> tuple[int, int, int]:
        """The strides (ns, cs, hs) in bytes, on a machine with so many lanes."""
        if self.strides is not None:
            return self.strides
        _, c, h, w = self.seen()
        element = element_of(self.dtype)
        row = element.size(h * w)
        if self.layout in ("aligned", "weights"):
            row = -(-row // eu_bytes) * eu_bytes
        slots = -(-(self.lane + c) // lanes)
        return slots * row, row, element.size(w)

    def size(self, lanes: int, eu_bytes: int) -> int:
        """The bytes of a lane from the address to behind the last element, 0 where there is none."""
        n, c, h, w = self.seen()
        if not n * c * h * w:
            return 0
        ns, cs, hs = self.steps(lanes, eu_bytes)
        element = element_of(self.dtype)
        last = element.size(h * w) if element.packed else (h - 1) * hs + element.size(w)
        slots = 1 if self.layout == "copies" else -(-(self.lane + c) // lanes)
        return (n - 1) * ns + (slots - 1) * cs + last


@dataclass(frozen=True, slots=True)
class Global:
    """Elements in global memory: index i of the shape lies at byte `address + i · strides`.

    Without strides it is row-major, and elements of four bits lie two to the byte from first to last. With strides these lie so
    along the last dimension, and the stride of that says nothing. A stride may be 0: the same element again, for what is read.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None
    """Bytes, one for each dimension."""
    part: Part | None = None

    def seen(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dimensions and their strides in bytes; several neighbours in a byte are one dimension, the last."""
        element = element_of(self.dtype)
        if self.strides is not None and self.shape:
            return self.shape, self.strides
        if element.packed or not self.shape:
            return (prod(self.shape),), (element.size(1),)
        steps = [element.size(1)]
        for extent in self.shape[:0:-1]:
            steps.append(steps[-1] * extent)
        return self.shape, tuple(reversed(steps))

    def size(self) -> int:
        """The bytes from the address to behind the last element, 0 where there is none."""
        if not prod(self.shape):
            return 0
        element = element_of(self.dtype)
        *outer, last = zip(*self.seen(), strict=True)
        end = element.size(last[0]) if element.packed else (last[0] - 1) * last[1] + element.size(1)
        return sum((extent - 1) * step for extent, step in outer) + end


Operand = Local | Global
