"""What ops do with the elements of their operands: move them, index by them, cast them.

These are facts that plugins give (kinds "moves", "indices" and "cast", see `transload.facts`), and the questions that are asked
about them. An op *moves numbers* where every element of every result is an element of one of its operands, or a constant
such as padding: it computes nothing. Which operands move is said by `Moves.data`; others are conditions, or indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..ir import FloatType, IntegerType, NoneType, Op, TensorType, Value
from ..plugin_host import host

__all__ = ["Index", "Moves", "any_rounds", "index_operands", "is_cast", "is_float_of_integers", "moved", "moves_of", "origins"]


@dataclass(frozen=True)
class Moves:
    """Every element of every result is an element of an operand in `data`, or one of `constants`.

    That is said of real numbers, and of stored ones too where the operands in `data` and the results have one element type.
    A fact of kind "moves" is such an object, or a function of the op that gives one or None, where it depends on attributes.
    """

    data: tuple[int, ...] | None = (0,)
    """The operands whose elements the results hold, by number: the first, unless others are said; None: all."""
    by_value: bool = False
    """Whether the numbers decide which of them is taken, so that what is done to the numbers before must keep their order:
    a maximum, a clip. Else their places decide, and whatever is done to each number may as well be done behind the op."""
    constants: tuple[float, ...] = ()
    """Other numbers that the results may hold: padding, limits."""
    keeps_order: bool = False
    """Whether the result is all of its one operand in row-major order: the same memory, another shape."""
    keeps_dimensions: bool = False
    """Whether each dimension of the result, but for those of size 1, is a whole dimension of its one operand."""

    def operands(self, op: Op) -> tuple[Value, ...]:
        """The values whose elements an op's results hold, absent ones left out."""
        given = op.operands
        values = given if self.data is None else [given[index] for index in self.data if index < len(given)]
        return tuple(value for value in values if not isinstance(value.type, NoneType))


FACT = (Moves, Callable)
"""What a fact of kind "moves" may be."""


@dataclass(frozen=True)
class Index:
    """An operand whose integers are places along a dimension, or of bits that are shifted, counted from 0."""

    size: Callable[[Op], int | None]
    """How many places there are; None where that is not known."""
    lies_inside: bool = True
    """Whether the numbers must lie inside, as frameworks demand of subscripts; else one outside is ignored."""
    counts_from_end: bool = False
    """Whether -1 is the last place, and so on down to the first, by what the framework says of the op."""


def moves_of(op: Op) -> Moves | None:
    """How an op moves numbers; None where it computes."""
    fact = host().facts("moves")[op.name]
    return fact if fact is None or isinstance(fact, Moves) else fact(op)


def moved(op: Op, *, by_value: bool = True, constants: bool = True) -> tuple[Value, ...]:
    """The operands of whose elements an op's results consist; none where it computes.

    `by_value=False` leaves out ops that compare the numbers, `constants=False` those that add numbers of their own.
    """
    moves = moves_of(op)
    if moves is None or (moves.by_value and not by_value) or (moves.constants and not constants):
        return ()
    return moves.operands(op)


def origins(value: Value, *, by_value: bool = True, constants: bool = True, limit: int = 1 << 10) -> list[Value]:
    """The values of whose elements `value` consists, each followed back through ops that move numbers (see `moved`).

    `[value]` where what makes it computes; where the way back is longer than `limit` values, what was reached.
    """
    found: list[Value] = []
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        sources = moved(each.op, by_value=by_value, constants=constants) if each.op is not None and len(seen) < limit else ()
        if not sources:
            found.append(each)
        for source in sources:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return found


def index_operands(op: Op) -> Mapping[int, Index]:
    """The operands of an op, by number, that are indices."""
    fact: Mapping[int, Index] | None = host().facts("indices")[op.name]
    return {} if fact is None else fact


def is_cast(op: Op) -> bool:
    """Whether an op gives its first operand's numbers in another element type, rounded and limited to what that holds."""
    return host().facts("cast")[op.name] is not None


def is_float_of_integers(op: Op) -> bool:
    """Whether an op casts integers to floats."""
    return is_cast(op) and _casts(op, IntegerType, FloatType)


def any_rounds(ops: Iterable[Op]) -> bool:
    """Whether one of some ops casts floats to integers."""
    casts = host().facts("cast")
    return any(casts[op.name] is not None and _casts(op, FloatType, IntegerType) for op in ops)


def _casts(op: Op, source: type, target: type) -> bool:
    before, after = op.operands[0].type, op.results[0].type
    return (isinstance(before, TensorType) and isinstance(before.element, source)
            and isinstance(after, TensorType) and isinstance(after.element, target))
