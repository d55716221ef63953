"""What is around an op while a rule is at it, which is to stay."""

from __future__ import annotations

from typing import TypeAlias

from .core import Block, Op

__all__ = ["Place", "ends_a_region", "need_whole", "place_of"]

Place: TypeAlias = tuple[Op, Op | None, Block, Op | None, Op | None, Block | None]
"""An op, the one before it, its block, how that ends, the op around it, and where that is."""


def place_of(op: Op) -> Place:
    """Where an op is that is in a block."""
    block: Block = op.parent  # type: ignore[assignment]
    around = block.parent_op
    return op, op.prev, block, block.last, around, around.parent if around is not None else None


def need_whole(place: Place, gave_up: bool = False) -> None:
    """Raise `ValueError` where a rule took away what is around its op: the op that the block is in, or the end of the block.

    Or what is used: its op, or the one before it, which a rule that `gave_up` leaves alone whoever uses them.
    """
    op, before, block, end, around, above = place
    if around is not None and around.parent is not above:
        raise ValueError(f"it erases the {around.name} around the op that it is for")
    if block.last is not end and end is not None and end.parent is not block and _is_end(end) and not _is_end(block.last):
        raise ValueError(f"it erases the {end.name} at the end of the block that its op is in, and puts none there")
    for gone, where in ((op, "that it is for"), (before, "before the op that it is for")):
        if gone is not None and gone.parent is None and (gave_up or any(result.uses for result in gone.results)):
            left = "whose results are used" if any(result.uses for result in gone.results) else "and says that it changes nothing"
            raise ValueError(f"it takes away the {gone.name} {where}, {left}")


def ends_a_region(op: Op) -> bool:
    """Whether an op is the end of a region of another than a function."""
    around = op.parent_op
    return _is_end(op) and around is not None and around.dialect == op.dialect


def _is_end(op: Op | None) -> bool:
    return op is not None and op.declaration is not None and "terminator" in op.declaration.traits
