"""Operands of instructions: a part of a tensor, as it lies in a buffer of the lanes or in global memory."""

from __future__ import annotations

from math import prod

from ..groups.forms import Held, Input
from ..groups.machine import Machine
from ..groups.steps import Buffer
from ..instructions import ELEMENTS, Global, Local, Part
from ..regions import Box
from ..regions.boxes import extent
from ..shapes import places_of_rank

__all__ = ["global_part", "image_of", "in_rank", "indices", "local_part", "loaded_part", "own_shape", "part_of"]

LOADED = {"channels": "compact"}
"""How a buffer is written as it is loaded, where that has another name than how it is read."""


def part_of(held: Held, box: Box, number: int, base: tuple[int, ...]) -> Part:
    """Which part of tensor `number`, of shape `base`, a box is."""
    first = held.first + sum(low * step for (low, _), step in zip(box, held.steps, strict=True))
    return Part(number, indices(first, base), held.steps)


def indices(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an element of a row-major tensor by its number."""
    found = []
    for size in reversed(shape):
        place, index = divmod(place, size)
        found.append(index)
    return tuple(reversed(found))


def global_part(address: int, held: Held, box: Box, part: Part) -> Global:
    """A box of a tensor that lies row-major at `address`, in four dimensions."""
    element = ELEMENTS[held.dtype]
    first = held.first + sum(low * step for (low, _), step in zip(box, held.steps, strict=True))
    if element.packed:
        return Global(address + first * element.bits // 8, extent(box), held.dtype, None, part)
    size = element.size(1)
    return Global(address + first * size, extent(box), held.dtype, tuple(step * size for step in held.steps), part)


def loaded_part(address: int, buffer: Buffer, held: Held, part: Part) -> Local:
    """All of a buffer, as it is loaded or computed."""
    layout = "compact" if buffer.compact else LOADED.get(held.layout, held.layout)
    return Local(address, extent(buffer.box), held.dtype, layout, part=part)


def local_part(address: int, buffer: Buffer, held: Held, box: Box, machine: Machine, part: Part) -> Local:
    """A box within a buffer."""
    if box == buffer.box:
        return loaded_part(address, buffer, held, part)
    whole = loaded_part(address, buffer, held, part)
    ns, cs, hs = whole.steps(machine.lanes, machine.eu_bytes)
    n, c, h, w = (low - start for (low, _), (start, _) in zip(box, buffer.box, strict=True))
    if held.layout == "weights":
        n, c = 0, n  # output channels are what lies in the lanes
    row, lane = divmod(c, machine.lanes)
    address += n * ns + row * cs + h * hs + ELEMENTS[held.dtype].size(w)
    return Local(address, extent(box), held.dtype, whole.layout, (ns, cs, hs), lane, part)


def own_shape(operand: Local, base: tuple[int, ...]) -> Local:
    """A whole tensor with its own dimensions."""
    whole = None if operand.part is None else Part(operand.part.tensor)
    return Local(operand.address, base, operand.dtype, operand.layout, operand.strides, operand.lane, whole)


def in_rank(operand: Local, rank: int) -> Local:
    """A whole tensor of four dimensions with those of its rank, in whose order its elements are."""
    places = places_of_rank(rank)
    if places is None:
        return operand
    shape = tuple(operand.shape[place] for place in places)
    part = operand.part
    if part is not None and part.steps is not None:
        part = Part(part.tensor, part.offset, tuple(part.steps[place] for place in places))
    return Local(operand.address, shape, operand.dtype, operand.layout, operand.strides, operand.lane, part)


def image_of(operand: Local, how: Input, machine: Machine, base: tuple[int, ...]) -> Local:
    """An operand in the shape that the operation wants: one image of it, or with the dimensions that the tensor `base` has."""
    if how.shape == "box":
        return operand
    if how.shape == "own":
        return own_shape(operand, base)
    if how.shape == "flat":
        whole = None if operand.part is None else Part(operand.part.tensor)
        return Local(operand.address, (prod(operand.shape),), operand.dtype, operand.layout, None, 0, whole)
    ns, cs, hs = operand.steps(machine.lanes, machine.eu_bytes)
    image, part = how.image or 0, operand.part
    if part is not None and part.steps is not None:
        part = Part(part.tensor, _moved(part, image), (part.steps[1],))
    return Local(operand.address + image * ns, (operand.shape[1],), operand.dtype, "channels", (ns, cs, hs), operand.lane, part)


def _moved(part: Part, image: int) -> tuple[int, ...]:
    """The offset of an image further on: images are the first dimension of joined constants."""
    return (part.offset[0] + image, *part.offset[1:]) if image else part.offset
