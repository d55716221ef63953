"""Numbers that are chosen, not rounded: truths, labels, and what only such decide.

Whether one number is greater than another, which of some is the greatest, where they are not zero: what says it is right or
wrong. That it is a step away from what is right says nothing, as it does of a number that was rounded: class 1 is no nearer to
class 0 than class 7 is. Facts of kind "choice" (`Choice`) say which ops choose, and which compute truths of truths.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..ir import BOOL, Module, NoneType, Op, Value
from ..ir.build import constant_of
from ..plugin_host import host
from .movement import is_cast, moves_of

__all__ = ["Choice", "chosen_outputs", "chosen_values", "scores_behind"]


@dataclass(frozen=True)
class Choice:
    """What of an op's results is chosen. Truths always are: of them nothing has to be said."""

    results: tuple[int, ...] = ()
    """The results, by number, that are chosen by what the operands are: places, say."""
    keeps: bool = False
    """Whether each element of the results is computed of one of each operand: of chosen ones such come again, `255 * truth`.
    (A sum of truths is a count: one that is off by one is near.)"""


def chosen_values(hub: Module) -> frozenset[Value]:
    """The values of the main function that are chosen: truths, labels, and what is moved, cast or computed of these alone."""
    body = hub.body_of_main
    found = {value for value in body.arguments if value.element_or_none == BOOL}
    for op in body:
        fact = host().facts("choice")[op.name] or Choice()
        is_kept = not op.regions and _is_of_chosen(op, fact, found)
        found.update(value for number, value in enumerate(op.results)
                     if is_kept or value.element_or_none == BOOL or number in fact.results)
    return frozenset(found)


def chosen_outputs(hub: Module) -> frozenset[int]:
    """The places of the outputs that are chosen, and no floats."""
    chosen = chosen_values(hub)
    outputs = enumerate(hub.body_of_main.terminator.operands)
    return frozenset(place for place, value in outputs if value in chosen and not value.is_float)


def scores_behind(value: Value, chosen: Collection[Value]) -> list[Value]:
    """What a chosen value is chosen by: the nearest values behind it that are computed, and themselves not chosen."""
    found: list[Value] = []
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        if each not in chosen:
            found.append(each)
            continue
        for operand in each.op.operands if each.op is not None else ():
            if operand not in seen and operand.op is not None and constant_of(operand) is None:
                seen.add(operand)
                pending.append(operand)
    return found


def _is_of_chosen(op: Op, fact: Choice, chosen: Collection[Value]) -> bool:
    """Whether an op's results are elements of chosen ones and of constants alone, or computed of such."""
    given = [value for value in op.operands if not isinstance(value.type, NoneType)]
    if not any(value in chosen for value in given):
        return False
    moves = moves_of(op)
    held = moves.operands(op) if moves is not None else given if fact.keeps or is_cast(op) else None
    return held is not None and all(value in chosen or constant_of(value) is not None for value in held)
