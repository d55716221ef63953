"""The operands of an op that has many: replaced one by one, each in a time that does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .core import Op, Value

__all__ = ["MANY", "ManyOperands", "many_of"]

MANY = 64
"""Operands from which on an op finds their places in a table."""


class ManyOperands(list["Value"]):
    """The operands of an op that has many, while they are replaced one by one: none of these takes time for the others."""

    __slots__ = ("places",)

    def __init__(self, operands: Iterable[Value]) -> None:
        super().__init__(operands)
        self.places: dict[Value, list[int]] = {}
        for place, operand in enumerate(self):
            self.places.setdefault(operand, []).append(place)

    def exchange(self, old: Value, new: Value) -> None:
        places = self.places.pop(old)
        for place in places:
            self[place] = new
        self.places.setdefault(new, []).extend(places)


def many_of(op: Op) -> ManyOperands:
    held = op._operands
    if not isinstance(held, ManyOperands):
        held = op._operands = ManyOperands(held)
    return held
