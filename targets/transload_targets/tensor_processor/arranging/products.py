"""Products of parts of the weights, where what is made of all is only taken apart; and weights in as few bits as hold them.

The gates of a recurrent cell are slices of one product, each of which would be a copy in the lanes, for which computing waits.
Products of slices of constants cost a start each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transload.ir import F32, I8, Block, Op, TensorType, Value, is_absent
from transload.ir.build import Builder, constant_of

from ..chip import Chip
from .values import bits_of, by_channel, elements_of, is_elementwise

__all__ = ["narrow_weights", "slice_products"]

PRODUCTS = ("tpu.conv2d", "tpu.matmul")


class _Part(NamedTuple):
    """Channels that a slice takes."""

    start: int
    size: int


def slice_products(block: Block, chip: Chip) -> bool:
    """Take slices over channels, of what is elementwise of products with constants, by products with slices of the constants."""
    changed = False
    held: dict[tuple[Value, int, _Part], Value] = {}
    for op in list(block):
        if not (op.name in PRODUCTS or is_elementwise(op)) or not op.results[0].uses:
            continue
        parts = _parts(op.results[0])
        if len(parts) < 2:
            continue
        ops = _made_of(op)
        if ops is None or not _pays(ops, parts, op.results[0], chip):
            continue
        for part, slices in parts.items():
            made = _Sliced(block, op, part, held).of(op.results[0])
            for each in slices:
                each.results[0].replace_all_uses_with(made)
        changed = True
    return changed


def narrow_weights(block: Block, chip: Chip) -> bool:
    """Hold constant weights of floats that are whole numbers of 8 bits in 8 bits, where the chip multiplies by these."""
    changed = False
    if not chip.narrow_weights:
        return False
    for op in list(block):
        if op.name not in PRODUCTS or op.operands[0].element != F32 or op.operands[1].element != F32:
            continue
        dense = constant_of(op.operands[1])
        if dense is None:
            continue
        array = dense.numpy()
        limits = np.iinfo(np.int8)
        if not array.size or not ((array >= limits.min) & (array <= limits.max) & (array == np.rint(array))).all():
            continue
        if (np.signbit(array) & (array == 0)).any():  # times infinity, or for the sign of a sum, it is not the same
            continue
        op.set_operand(1, Builder(block, op, op.location).constant(array.astype(np.int8), element=I8))
        changed = True
    return changed


def _axis(value: Value) -> int:
    """The dimension that lies over the lanes."""
    return 1 if value.rank in (2, 4) else value.rank - 1


def _parts(value: Value) -> dict[_Part, list[Op]]:
    """The slices that are all that reads a tensor, by the channels that they take; none where others do, or take other things."""
    parts: dict[_Part, list[Op]] = {}
    if value.rank not in (2, 4) or by_channel(value):
        return {}
    axis = _axis(value)
    for user in value.uses:
        if user.name != "tpu.slice" or user.results[0].element != value.element:
            return {}
        taken = list(zip(user.attribute("starts"), user.attribute("sizes"), user.attribute("steps"), strict=True))
        start, size, step = taken.pop(axis)
        others = [count for place, count in enumerate(value.static_shape) if place != axis]
        if (step != 1 and size > 1) or not size or taken != [(0, count, 1) for count in others]:
            return {}
        parts.setdefault(_Part(start, size), []).append(user)
    return parts


def _made_of(last: Op) -> list[Op] | None:
    """The elementwise ops and products with constants, read by nothing else, that an op's result is made of; None where others
    are among them.
    """
    ops: list[Op] = []
    open_, shape = [last], last.results[0].static_shape
    while open_:
        op = open_.pop()
        if op in ops:
            continue
        ops.append(op)
        if op is not last and any(user not in ops for user in op.results[0].uses):
            return None
        if op.results[0].static_shape != shape or by_channel(op.results[0]):
            return None
        if op.name in PRODUCTS and _is_of_constants(op):
            continue
        if not is_elementwise(op) or len(op.results) != 1:
            return None
        for value in op.operands[:elements_of(op)]:
            if is_absent(value) or by_channel(value):
                return None
            if constant_of(value) is not None or value.static_shape[_axis(value)] == 1:
                continue
            if value.op is None:
                return None
            open_.append(value.op)
    return ops if any(op.name in PRODUCTS for op in ops) else None


def _is_of_constants(op: Op) -> bool:
    """Whether channels of a product are made by rows of a constant, each by its own."""
    weights = op.operands[1]
    rows = op.results[0].static_shape[_axis(op.results[0])]
    alone = weights.static_shape[0] == rows and (
        op.attribute("groups") == 1 if op.name == "tpu.conv2d" else
        op.attribute("transposed") and weights.rank == op.results[0].rank == 2)
    return alone and constant_of(weights) is not None and all(
        is_absent(value) or constant_of(value) is not None or value.tensor_type.num_elements == 1 for value in op.operands[2:])


def _pays(ops: Sequence[Op], parts: dict[_Part, list[Op]], last: Value, chip: Chip) -> bool:
    """Whether products of parts take fewer cycles than those of all, and a copy of each part."""
    lanes, whole = chip.lanes, last.static_shape[_axis(last)]
    slots = sum(-(-part.size // lanes) for part in parts) - -(-whole // lanes)
    more = 0.0
    for op in ops:
        more += (len(parts) - 1) * chip.start_cycles
        if op.name in PRODUCTS:
            products = op.operands[1].tensor_type.num_elements / op.operands[1].static_shape[0]
            places = last.tensor_type.num_elements / whole
            rate = chip.macs.get(str(op.operands[0].stored_element), 0) or 1
            more += max(slots, 0) * products * places / rate
    moved = sum(part.size for part in parts) * last.tensor_type.num_elements / whole * bits_of(last) / 8
    return more < len(parts) * chip.dma_latency + moved / chip.dma_bytes


class _Sliced:
    """The channels of a part of what ops make, in front of an op."""

    def __init__(self, block: Block, before: Op, part: _Part, held: dict[tuple[Value, int, _Part], Value]) -> None:
        self.block, self.before, self.part, self.held = block, before, part, held
        self.made: dict[Value, Value] = {}

    def of(self, value: Value) -> Value:
        """That of a result, or of what it is made of."""
        if is_absent(value):
            return value
        if value not in self.made:
            self.made[value] = self._now(value)
        return self.made[value]

    def _now(self, value: Value) -> Value:
        axis, op = _axis(value), value.op
        if constant_of(value) is not None:
            return self._constant(value, axis)
        if op is None or value.static_shape[axis] == 1:
            return value
        if op.name in PRODUCTS:
            operands = [op.operands[0], *(self._constant(each, 0) for each in op.operands[1:])]
        else:
            count = elements_of(op)
            operands = [*map(self.of, op.operands[:count]), *op.operands[count:]]
        shape = tuple(self.part.size if place == axis else size for place, size in enumerate(value.static_shape))
        made = Op(op.name, operands, [TensorType(shape, value.element)], op.attributes.copy(), (), op.location)
        self.block.insert(made, self.before)
        return made.results[0]

    def _constant(self, value: Value, axis: int) -> Value:
        """A constant's part, the same one each time; itself where it has one number for all channels."""
        dense = None if is_absent(value) else constant_of(value)
        if dense is None or not value.rank or value.static_shape[axis] == 1:
            return value
        key = value, axis, self.part
        if key not in self.held:
            start, size = self.part
            array = np.ascontiguousarray(dense.numpy()[(slice(None),) * axis + (slice(start, start + size),)])
            first = next(iter(self.block))
            element = value.stored_element if by_channel(value) else value.element  # products ask for what is stored alone
            self.held[key] = Builder(self.block, first, self.before.location).constant(array, element=element)
        return self.held[key]
