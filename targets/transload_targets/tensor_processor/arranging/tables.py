"""Elementwise ops that together make numbers of 8 bits of numbers of 8 bits, as one table: what they make of each of the 256.

Ops are taken together as far back as all that they read is one tensor of 8 bits and constants with one number: a hard swish of
sums and products is one table, and so are a cast to floats, a function of these and a cast back. Ops in the midst that others
read, too, stay besides.

Source: the TPU-MLIR manual's chapter on tables of functions of one number, of 8 bits.
"""

from __future__ import annotations

import numpy as np

from transload.ir import Block, Op, Value, dtype_of, is_absent
from transload.ir.build import Builder, constant_of

from ..arithmetic import operation
from ..chip import Chip
from ..dialect.kernels import attributes_of, dtype_name
from .values import elements_of, is_elementwise, one_number

__all__ = ["one_table"]

BYTES = ("int8", "uint8")
LONGEST = 32
"""Ops that are looked at for a table."""


def one_table(block: Block, chip: Chip) -> bool:
    """Put tables in the place of several ops of one number each."""
    changed = False
    places = {op: number for number, op in enumerate(block)}
    for op in reversed(places):
        if not is_elementwise(op) or not op.results[0].uses or _stored(op.results[0]) not in BYTES:
            continue
        chain = _Chain(op, places)
        if chain.source is None or not chain.is_shorter() or not chip.supports("table", _stored(chain.source)):
            continue
        build = Builder(block, op, op.location)
        made = build.emit("tpu.table", chain.source, build.constant(chain.numbers(chain.source)), element=op.results[0].element)
        op.results[0].replace_all_uses_with(made)
        changed = True
    return changed


class _Chain:
    """An op, and the elementwise ops before it that are taken together with it: `ops`, the last one first.

    `source` is the only tensor of 8 bits that all of them is made of, the farthest back that is one; None where there is none.
    """

    def __init__(self, last: Op, places: dict[Op, int]) -> None:
        self.last = last
        self.shape = last.results[0].static_shape
        self.ops: tuple[Op, ...] = ()
        self.source: Value | None = None
        inside: list[Op] = [last]
        front = self._read(last)
        while front and len(inside) < LONGEST:
            if len(front) == 1:
                (only,) = front
                if _stored(only) in BYTES:
                    self.source, self.ops = only, tuple(inside)
            value = max(front, key=lambda each: places.get(each.op, -1))  # type: ignore[arg-type]
            op = value.op
            if op is None or op not in places or not is_elementwise(op):
                return
            front.remove(value)
            front |= self._read(op)
            inside.append(op)

    def _read(self, op: Op) -> set[Value]:
        """The tensors that an op reads besides constants with one number."""
        return {each for each in op.operands[:elements_of(op)] if one_number(each) is None}

    def is_shorter(self) -> bool:
        """Whether a table saves ops: all are of one shape, and one of those in the midst is read by no other."""
        assert self.source is not None  # it was asked
        if any(value.static_shape != self.shape for value in (self.source, *(op.results[0] for op in self.ops))):
            return False
        return any(all(user in self.ops for user in op.results[0].uses) for op in self.ops[1:])

    def numbers(self, source: Value) -> np.ndarray:
        """What the ops make of each number that 8 bits hold, the least one first."""
        about = np.iinfo(_stored(source))
        every = np.arange(about.min, about.max + 1).astype(_stored(source))
        known: dict[Value, np.ndarray] = {source: every}

        def value_of(value: Value, of_elements: bool) -> np.ndarray | None:
            if is_absent(value):
                return None
            if value in known:
                return known[value]
            if not of_elements:
                dense = constant_of(value)
                assert dense is not None  # a table
                return dense.numpy()
            number = one_number(value)
            assert number is not None  # nothing else is read
            return number

        for op in reversed(self.ops):
            count = elements_of(op)
            arrays = [value_of(value, place < count) for place, value in enumerate(op.operands)]
            known[op.results[0]] = operation(op.name)(*arrays, dtype=dtype_name(op), **attributes_of(op))
        return known[self.last.results[0]]


def _stored(value: Value) -> str:
    element = value.stored_element
    return "" if element is None else str(dtype_of(element))
