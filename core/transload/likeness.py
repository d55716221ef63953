"""What a rule gives for a result of its op can stand for it: looked at where the rule is known, and not where it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

from .context import current
from .ir.core import Op, Value
from .ir.place import misplaced
from .ir.types import FloatType, IntegerType
from .ir.verify import same_shape

__all__ = ["need_like", "need_operands_there", "need_there"]


def need_like(
    function: Callable[..., Any], op: Op, made: Sequence[Value], *, in_pass: bool = False, to_hub: bool = False,
) -> None:
    """Raise `TypeError` where a rule of somebody else's gives what cannot stand for a result of its op.

    A dialect of a chip may lay out numbers, and write them, in its own way: they are as many, and no integers for floats. Within
    one dialect they are of the same type, as far as sizes are known, and so is what a rule `in_pass` makes of any dialect, as a
    constant, as those that use it stay. What goes `to_hub` keeps the model's floats, too.
    """
    for result, value in zip(op.results, made, strict=True):
        if value is result:
            raise TypeError(f"gives the result of {op.name} itself, which is to be replaced")
        if result.type == value.type or not _is_unlike(op, result, value, in_pass, to_hub):
            continue
        plugin = current().host.plugin_of(unwrap(function))
        if plugin is not None and not plugin.is_ours:
            raise TypeError(f"gives a {value.type} for a result of {op.name} which is {result.type}")


def need_there(
    function: Callable[..., Any], op: Op, before: Op | None, made: Sequence[Value], held: Sequence[Value] | None = None,
) -> None:
    """Raise `ValueError` where a rule of somebody else's gives, or uses, a value that is not there where its op is."""
    if wrong := misplaced(op, before, made, held):
        plugin = current().host.plugin_of(unwrap(function))
        if plugin is not None and not plugin.is_ours:
            raise ValueError(wrong)


def need_operands_there(function: Callable[..., Any], op: Op, before: Op | None, held: Sequence[Value]) -> None:
    """The same of an op that was changed in place, and `held` these operands before."""
    had = set(map(id, held))
    need_there(function, op, before, [value for value in op.operands if id(value) not in had], held)


def _is_unlike(op: Op, result: Value, value: Value, in_pass: bool, to_hub: bool) -> bool:
    kinds = {type(result.element_or_none), type(value.element_or_none)}
    if kinds == {FloatType, IntegerType}:
        return True
    before, now, maker = result.known_shape, value.known_shape, value.owner
    other = kinds == {FloatType} and result.element_or_none != value.element_or_none
    is_within = in_pass or (isinstance(maker, Op) and maker.dialect == op.dialect)
    if other and (is_within or to_hub):
        return True
    if is_within:
        return not same_shape(result.type, value.type)
    return before is not None and now is not None and math.prod(before) != math.prod(now)
