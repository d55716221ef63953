"""Which outputs have to be the same to the bit: integers and truths on whose way from the inputs nothing is rounded.

An integer may be a step away where a float behind it was rounded near a half, or is the place of one of two that are nearly
equal. Where numbers are but moved, or integers computed of integers, no runtime has a reason to be a step away.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.movement import moves_of
from ..ir import BOOL, IntegerType, Module, NoneType, Op, TensorType, Value
from ..ir.build import constant_of
from ..plugin_host import host

__all__ = ["EXACT", "exact_outputs"]

EXACT = (bool, Callable)
"""What a fact of kind "exact" may be: True where results are exact if operands are, or a function of the op that says whether."""


def exact_outputs(hub: Module, floats: bool = True) -> list[bool]:
    """For each output, whether it is integers or truths that no rounding of floats, and no quantized number, has reached.

    Without `floats`, any float may be rounded: a target computes in fewer bits, or each side makes them of pixels on its own.
    """

    def holds(value: Value) -> bool:
        return value in exact or isinstance(value.type, NoneType) or (_is_plain(value, floats) and constant_of(value) is not None)

    body = hub.body_of_main
    exact = {value for value in body.arguments if _is_plain(value, floats)}
    for op in body:
        if not op.regions and all(map(holds, op.operands)) and _keeps(op):
            exact.update(value for value in op.results if _is_plain(value, floats))
    return [_is_whole(value) and holds(value) for value in body.terminator.operands]


def _keeps(op: Op) -> bool:
    """Whether an op rounds nothing: it moves numbers, or says so of itself."""
    moves = moves_of(op)
    if moves is not None:
        whole = all(number == round(number) for number in moves.constants if abs(number) < float("inf"))
        return whole or not any(_is_whole(value) for value in op.results)  # a limit of integers that is none
    fact = host().facts("exact")[op.name]
    return bool(fact(op) if callable(fact) else fact)


def _is_plain(value: Value, floats: bool) -> bool:
    return isinstance(value.type, TensorType) and value.quant is None and (floats or not value.is_float)


def _is_whole(value: Value) -> bool:
    element = value.element_or_none
    return element == BOOL or isinstance(element, IntegerType)
