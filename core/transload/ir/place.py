"""What is around an op while a rule is at it, which is to stay."""

from __future__ import annotations

from typing import TypeAlias

from .core import Block, Op

__all__ = ["Place", "ends_a_region", "need_whole", "place_of"]

Place: TypeAlias = tuple[Block, Op | None, Op | None, Block | None]
"""The block of an op, how that ends, the op around it, and where that is."""


def place_of(op: Op) -> Place:
    """Where an op is that is in a block."""
    block: Block = op.parent  # type: ignore[assignment]
    around = block.parent_op
    return block, block.last, around, around.parent if around is not None else None


def need_whole(place: Place) -> None:
    """Raise `ValueError` where a rule took away what is around its op: the op that the block is in, or the end of the block."""
    block, end, around, above = place
    if around is not None and around.parent is not above:
        raise ValueError(f"it erases the {around.name} around the op that it is for")
    if block.last is not end and end is not None and end.parent is not block and _is_end(end) and not _is_end(block.last):
        raise ValueError(f"it erases the {end.name} at the end of the block that its op is in, and puts none there")


def ends_a_region(op: Op) -> bool:
    """Whether an op is the end of a region of another than a function."""
    around = op.parent_op
    return _is_end(op) and around is not None and around.dialect == op.dialect


def _is_end(op: Op | None) -> bool:
    return op is not None and op.declaration is not None and "terminator" in op.declaration.traits
