"""At which numbers of a value something else begins to show: what it is compared with, cut at, divided by or looked up in.

A table of a hundred rows that is read at `ids + 2` shows all of itself where `ids` goes from -2 to 97, and a comparison with
65 shows where there are numbers on both sides of it. A value's *landmarks* are such numbers, found by going back from the results
of ops to their operands. What an op asks of its operands is a fact of kind "landmarks"; ops that only move or cast numbers need
none, nor do operands that are indices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ..ir import FloatType, IntegerType, Module, Op, Value
from ..plugin_host import host
from .movement import index_operands, is_cast, moves_of

__all__ = ["NOTHING", "Landmarks", "asked_alone", "landmarks_of_inputs", "together"]

_MOST_POINTS = 32
"""Of more numbers, as many are kept, evenly spread among them."""


@dataclass(frozen=True)
class Landmarks:
    """What is asked about a value's numbers, which are integers or floats."""

    points: tuple[float, ...] = ()
    """The numbers beside which something changes, in order: thresholds, the first and the last place of a table."""
    least: float = -math.inf
    most: float = math.inf
    """Between which numbers it has to lie: a place outside of a table is none."""
    as_floats: bool = False
    """Whether integers are asked about as floats: on a landmark itself, roundings decide."""
    stepped: bool = False
    """Whether it is rounded to integers further on."""
    unsteady: bool = False
    """Whether roundings of floats on the way decide to which."""
    divides: bool = False
    """Whether something is divided by it, of which zero has none: it is another number."""
    endless: frozenset[str] = frozenset()
    """Whether it is asked for what is no finite number: "nan", or "inf", of either sign."""

    @property
    def finite(self) -> Landmarks:
        """Without what is asked about numbers that are not finite."""
        return replace(self, endless=frozenset()) if self.endless else self


NOTHING = Landmarks()
"""That nothing is asked."""

FACT = Callable
"""A fact of kind "landmarks" is a function `(op, shown) -> {operand number: Landmarks}`, `shown` is asked of the results."""


def landmarks_of_inputs(hub: Module, function: str = "main") -> dict[int, Landmarks]:
    """What is asked about the arguments of a function, by number; of those about which anything is.

    Ops in regions are not looked into. There is nothing where the module has no such function.
    """
    if function not in hub.functions:
        return {}
    block = hub.function(function).regions[0].block
    asked = dict[Value, Landmarks]()
    for op in reversed(list(block)):
        for number, landmarks in _asked_by(op, together(asked.get(result, NOTHING) for result in op.results)).items():
            if number < len(op.operands) and landmarks != NOTHING:
                operand = op.operands[number]
                asked[operand] = together((asked.get(operand, NOTHING), landmarks))
    return {number: asked[argument] for number, argument in enumerate(block.arguments) if argument in asked}


def asked_alone(op: Op) -> Mapping[int, Landmarks]:
    """What an op asks about its operands, by number, whatever becomes of its results."""
    return _asked_by(op, NOTHING)


def _asked_by(op: Op, shown: Landmarks) -> Mapping[int, Landmarks]:
    """What an op asks about its operands, by number, where `shown` is asked about its results."""
    rule = host().facts("landmarks")[op.name]
    if rule is not None:
        said: Mapping[int, Landmarks] = rule(op, shown)
        return said
    places = {number: _places(index.size(op), index.lies_inside) for number, index in index_operands(op).items()
              if number < len(op.operands)}
    moves = moves_of(op)
    if is_cast(op):
        return {0: _before_cast(op, shown)}
    passing = moves.operands(op) if moves is not None and op.operands else ()
    return {number: shown for number, operand in enumerate(op.operands) if operand in passing} | places


def _places(size: int | None, lies_inside: bool) -> Landmarks:
    """What is asked about a place in a dimension."""
    if not size:
        return NOTHING
    return Landmarks((0, size - 1), 0, size - 1) if lies_inside else Landmarks((0, size - 1))


def _before_cast(op: Op, shown: Landmarks) -> Landmarks:
    before, after = op.operands[0].element_or_none, op.results[0].element_or_none
    if not isinstance(before, IntegerType | FloatType) or not isinstance(after, IntegerType | FloatType):
        return NOTHING
    if isinstance(after, IntegerType) and after.width == 1:
        return NOTHING
    if isinstance(before, FloatType):
        return replace(shown.finite, stepped=True) if isinstance(after, IntegerType) else shown
    return replace(shown, as_floats=True) if isinstance(after, FloatType) and shown != NOTHING else shown


def together(several: Iterable[Landmarks]) -> Landmarks:
    """What is asked by one or another. Where no number lies between the limits of both, those count that lie above zero:
    frameworks count places from the end, too, below it."""
    total = NOTHING
    for each in several:
        if each in (NOTHING, total):
            continue
        least, most = max(total.least, each.least), min(total.most, each.most)
        if least > most:
            least, most = max((total.least, total.most), (each.least, each.most))
        points = sorted({*total.points, *each.points})
        if len(points) > _MOST_POINTS:
            last = len(points) - 1
            points = [points[round(number * last / (_MOST_POINTS - 1))] for number in range(_MOST_POINTS)]
        total = Landmarks(tuple(points), least, most, total.as_floats or each.as_floats, total.stepped or each.stepped,
                          total.unsteady or each.unsteady, total.divides or each.divides, total.endless | each.endless)
    return total
