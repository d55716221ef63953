"""What the layout pass may choose from: for each op, the forms in which it can run.

A rule is a function `(op, around) -> options`, a fact of kind "layout" about an op; where there is none, an op
whose declaration has the attribute `layout` is turned to the wanted layout, one with the trait
"elementwise" runs in any form, and every other op runs in the plain form only. The first option is
the plain one, wherever the op can run so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from transload.ir import Op, Value
from transload.outcomes import a_kind

from .forms import Form, Shape, extended, is_plain, plain

__all__ = ["Surroundings", "Option", "broadcast_form", "fixed", "joined_forms", "no_options"]


@dataclass(slots=True, frozen=True)
class Option:
    """One way to run an op: the forms of operands and results, and the attributes that change with them.

    A form longer than its operand's rank asks for the operand reshaped to that rank by leading
    dimensions of size 1. A form of None takes the operand as it is. `name` is that of the op it
    becomes, where that is another one. `then` is called when the option is taken, and may change ops behind.
    """

    operands: tuple[Form | None, ...]
    results: tuple[Form | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str | None = None
    then: Callable[[], None] | None = None

    @property
    def keeps(self) -> bool:
        """Whether the op stays just as it is, given its operands in the plain form."""
        forms = (*self.operands, *self.results)
        return not self.attributes and self.name is None and all(form is None or is_plain(form) for form in forms)


class Surroundings(Protocol):
    """What a rule can ask about the values around an op, in the function as it was before the pass."""

    to: str

    def shape(self, value: Value) -> Shape | None:
        """The shape in the plain form; None of what is no tensor of known rank."""
        ...

    def forms(self, value: Value) -> list[Form]:
        """Forms in which the value may be had, the plain one first."""
        ...

    def target(self, rank: int) -> Form:
        """The form that a tensor of the other layout has when it is turned to the wanted one."""
        ...

    def wishes(self, rank: int) -> list[Form]:
        """Forms that are likely to be wanted of a value of this rank, the plain one first."""
        ...


Rule = Callable[[Any, Surroundings], list[Option]]


def no_options(outcome: Any, *_: Any) -> str | None:
    """What is wrong with what a rule gave, or None; of nothing the op runs as it stands."""
    if outcome is None or (isinstance(outcome, list | tuple) and all(isinstance(each, Option) for each in outcome)):
        return None
    return f"gives {a_kind(outcome)}, where a list of Options is wanted"


def fixed(op: Op, around: Surroundings, **attributes: Any) -> Option:
    """Everything plain."""

    def form(value: Value) -> Form | None:
        shape = around.shape(value)
        return None if shape is None else plain(len(shape))

    return Option(tuple(map(form, op.operands)), tuple(map(form, op.results)), attributes)


def joined_forms(values: Iterable[Value], rank: int, around: Surroundings, limit: int = 6) -> list[Form]:
    """The forms that any of `values` of this rank may be had in, and those that may be wished for."""
    joined = dict.fromkeys(around.wishes(rank))
    for value in values:
        shape = around.shape(value)
        if shape is not None and len(shape) == rank:
            joined.update(dict.fromkeys(around.forms(value)))
    return list(joined)[:limit]


def broadcast_form(value: Value, form: Form, around: Surroundings) -> Form | None:
    """The form that an operand, broadcast from the right, must have where the result has `form`."""
    shape = around.shape(value)
    if shape is None:
        return None
    if all(size == 1 for size in shape):
        return plain(len(shape))
    if len(shape) == len(form):
        return form
    own = extended(form, len(shape))
    return form if own is None else own
