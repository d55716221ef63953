"""Divisors that are never 0, and that integers would round to 0: they stay float, as what divides by them does.

A quotient of two tensors has no form in integers, so that it is computed of floats, and of what was rounded before. A norm of
`sqrt(n + 1e-8)` comes to lie on 0 for the small vectors then, and the quotient is infinite or no number at all, which runtimes
make integers of as they like. Islands are found by the noise of all, and may not be found where such numbers are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from transload.analysis.movement import moves_of
from transload.ir import Op, QuantType, Value
from transload.ir.build import constant_of

from .groups import Groups
from .scheme import Scheme
from .thresholds import Range

__all__ = ["carries_zero", "least_of", "lost_divisors", "pole_of", "rounded_to_zero"]

_POLES: dict[str, int] = {
    "top.Div": 1, "top.FloorDiv": 1, "top.FloorMod": 1, "top.TruncMod": 1, "top.Reciprocal": 0, "top.Rsqrt": 0, "top.Log": 0}
"""The operand of an op whose 0 gives nothing finite."""


def rounded_to_zero(
    groups: Groups, named: Mapping[str, Value], types: Mapping[Value, QuantType], seen: Mapping[str, Range], scheme: Scheme,
) -> dict[str, str]:
    """The tensors that should stay float for what computes with floats to divide by no 0, each with the reason, by name.

    `named` are the tensors of a module, `groups` those that share a type, `types` these by root; `seen` are the ranges that
    samples had. With a divisor go the tensors that it is made of, as far back as these were never 0 either and would be.
    """
    names = {value: name for name, value in named.items()}

    def step(value: Value) -> float:
        return (types.get(groups.root(value)) or scheme.activation_type(seen[names[value]])).scale

    lost = lost_divisors(named, seen, step, lambda op: op in groups.chosen, lambda op: op not in groups.chosen)
    return {
        name: f"it is never 0 on the samples, but may be {least_of(seen[name]):.3g}, which integers with a step of "
              f"{step(named[name]):.3g} round to 0, and {user!r} takes no 0" for name, user in lost.items()}


def lost_divisors(
    named: Mapping[str, Value], seen: Mapping[str, Range], step: Callable[[Value], float], rounds: Callable[[Op], bool],
    divides: Callable[[Op], bool],
) -> dict[str, str]:
    """The tensors that a divisor is made of and that half a `step` loses, by name; with each the name of what divides.

    `named` are the tensors of a module, `seen` the ranges that samples had. `rounds` says whether what an op gives is rounded to
    such steps, `divides` whether an op makes something that is not finite of a divisor of 0: in integers it saturates.
    """
    names = {value: name for name, value in named.items()}
    found: dict[str, str] = {}
    for op in {user: None for value in names for user in value.uses}:
        pole = pole_of(op)
        if pole is None or not divides(op):
            continue
        pending, looked = [pole], {pole}
        for value in pending:
            maker, name = value.op, names.get(value, "")
            if maker is None or name not in seen or not (least := least_of(seen[name])):
                continue
            is_lost = least <= step(value) / 2
            if is_lost and rounds(maker):
                found.setdefault(name, names.get(op.results[0], op.name))
            more = [each for each in maker.operands if each not in looked and names.get(each) in seen and (
                is_lost or _comes_to_zero(maker, least, step(each)))]
            looked.update(more)
            pending += more
    return found


_OF_ZERO = ("top.Sqrt", "top.Abs", "top.Neg", "top.Square", "top.MulConst", "top.Pow", "top.Mul")
"""Ops that give 0 for an operand of 0, whatever the scale of what they give."""


def _comes_to_zero(op: Op, least: float, step: float) -> bool:
    """Whether an op may give 0 in place of as little as `least`, where an operand is rounded to multiples of `step`."""
    if op.name == "top.Reduce":  # all that is reduced has to be rounded to 0
        sums = op.attribute("mode") in ("ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceL2")
        count = math.prod(op.operands[0].static_shape) / max(math.prod(op.results[0].static_shape), 1)
        return least <= (count if sums else 1) * step / 2
    return carries_zero(op)


def carries_zero(op: Op) -> bool:
    """Whether an op gives 0 for 0, whatever else it gives: by what it computes, or as it moves numbers."""
    moves = moves_of(op)
    return op.name in _OF_ZERO or (moves is not None and not moves.by_value)


def pole_of(op: Op) -> Value | None:
    """The operand of an op that must not be 0, where it is computed."""
    index = _POLES.get(op.name)
    if op.name == "top.Pow":
        exponent = constant_of(op.operands[1])
        index = 0 if exponent is not None and bool((exponent.numpy() < 0).any()) else None
    value = None if index is None else op.operands[index]
    return value if value is not None and value.is_float and constant_of(value) is None else None


def least_of(seen: Range) -> float:
    """The least magnitude of a range's numbers: 0 where it has both signs, or is of nothing that is known."""
    low, high = seen
    return max(low, -high, 0.0) if math.isfinite(low) and math.isfinite(high) else 0.0
