"""What is around an op while a rule is at it, which is to stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .core import Block, Op, Value

__all__ = ["Place", "ends_a_region", "misplaced", "need_whole", "place_of"]

Place: TypeAlias = tuple[Op, Op | None, Block, Op | None, Op | None, Block | None]
"""An op, the one before it, its block, how that ends, the op around it, and where that is."""
_NEAR = 256
"""So many ops on both sides are looked through for one: constants may lie far from all that take them."""


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


def misplaced(op: Op, before: Op | None, outcome: Sequence[Value], held: Sequence[Value] | None = None) -> str:
    """What is wrong with where values are that a rule gives for an op, or that what it made uses; empty where nothing is.

    What it made lies behind `before`. A value is there for an op where it is defined before it, in its block or one around.
    `held` are the operands that the op had, where the rule may have changed them.
    """
    block = op.parent
    if block is None:
        return ""
    made: dict[Op, int] = {}  # the last first
    earlier, nearest = op.prev, {value.owner for value in (op.operands if held is None else held)}
    while earlier is not before and earlier is not None:
        made[earlier] = len(made)
        earlier = earlier.prev
    for new, number in made.items():
        for inner in new.walk() if new.regions else (new,):
            for value in inner.operands:
                owner = value.owner
                if owner in nearest:
                    continue
                if not _is_around(inner.parent, owner):
                    where = "of another module, or of a region that it is not in"
                    return f"makes a {inner.name} that uses {value!r}, which is {where}"
                if isinstance(owner, Op) and owner.parent is block:
                    if made[owner] <= number if owner in made else _is_behind(owner, op):
                        return f"makes a {inner.name} that uses {value!r}, which is made behind it"
                    if owner not in made:
                        nearest.add(owner)
    nearest.update(made)
    for value in outcome:
        owner = value.owner
        if owner in nearest or owner is block:
            continue
        if held is not None and owner is op:
            return f"gives the {op.name} its own result to use"
        if not _is_around(block, owner):
            return f"gives {value!r}, which is of another module, or of a region that the {op.name} is not in"
        if isinstance(owner, Op) and owner.parent is block and _is_behind(owner, op):
            return f"gives {value!r}, which is made behind the {op.name} that it is for, and maybe behind what uses that"
    return ""


def _is_around(block: Block | None, owner: Op | Block) -> bool:
    """Whether a block, or one around it, is the `owner` of a value or has it."""
    there, around = (owner.parent if isinstance(owner, Op) else owner), block
    while around is not None and around is not there:
        outer = around.parent_op
        around = outer.parent if outer is not None else None
    return around is not None


def _is_behind(other: Op, op: Op) -> bool:
    """Whether an op is one of the next behind another one of its block; farther away it is found as the module is verified."""
    ahead, back = op.next, op.prev
    for _ in range(_NEAR):
        if ahead is None or ahead is other or back is other:
            break
        ahead, back = ahead.next, back.prev if back is not None else None
    return ahead is other


def ends_a_region(op: Op) -> bool:
    """Whether an op is the end of a region of another than a function."""
    around = op.parent_op
    return _is_end(op) and around is not None and around.dialect == op.dialect


def _is_end(op: Op | None) -> bool:
    return op is not None and op.declaration is not None and "terminator" in op.declaration.traits
