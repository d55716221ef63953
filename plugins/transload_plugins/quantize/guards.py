"""Numbers that keep a divisor from 0, and that a float of 16 bits does not hold: what is near 0 by them stays f32.

Whatever lies between such a number and the op that takes no 0, the divisor comes as near to 0 as what is made of the number
where all else is 0. So that is followed through the ops of a module (`_Guard`), by what these give for it: a sum adds to it,
a root takes its root, a product of two such is nearer to 0 than either; a pooling and a product of matrices leave it about
where it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of

from .divisors import carries_zero, pole_of

if TYPE_CHECKING:
    from .beyond import FloatScheme

__all__ = ["lost_guards", "sizes_of"]

MOST = 64
"""Tensors that are followed back from a divisor."""
BESIDE = 2.0**-11
"""Of a sum: what is less does not count beside it, in 16 bits."""
_NUMBERS: Mapping[str, str] = {"top.AddConst": "const_val", "top.Clip": "min"}
"""Ops that keep what they give from 0 by a number of their own, and what that is called."""
_SUMS: Mapping[str, int] = {"top.Add": 0, "top.AddConst": 0, "top.Sub": 1, "top.MatMul": 2, "top.Conv": 2, "top.Scale": 2}
"""Ops that add to what they take, or sum it up, and from which operand on constants are what is added."""
_LIMITS = ("top.Clip", "top.Max", "top.Where")
"""Ops that give a constant in place of what is nearer to 0."""
_NEAR = ("top.Reduce", "top.AvgPool", "top.MaxPool")
"""Ops that give what is as near to 0 as all that they take, about."""
_QUOTIENTS = ("top.Div", "top.Reciprocal")
"""Ops that give what is as far from 0 as the divisor is near."""
_ROOTS = ("top.Rsqrt", "top.Pow")
"""Ops that do so by a root or a power of the divisor."""


@dataclass(frozen=True)
class _Guard:
    """How near to 0 a tensor comes that a constant keeps from it."""

    size: float
    """What it is where all that is computed of inputs is 0."""
    least: float
    """The least such size on the way there, of what counts."""


_Guards = Mapping[Value, _Guard]


def lost_guards(module: Module, scheme: FloatScheme) -> dict[Value, str]:
    """The tensors of a module that are near 0 by a number which a scheme's floats do not hold, and divided by; with the reason.

    That is all that is near 0 together with a divisor, back to where other numbers are computed; and the reciprocal, which is
    as far from 0 as the divisor is near, until it is multiplied with what was small; and a quotient that a logarithm is taken
    of.
    """
    guards, found = _guards_of(module), dict[Value, str]()
    for op in module.body_of_main:
        for value, why in _near_pole(op, guards, scheme).items():
            found.setdefault(value, why)
    return found


def _near_pole(op: Op, guards: _Guards, scheme: FloatScheme) -> dict[Value, str]:
    """What is lost of what an op divides by, or takes the logarithm of, and of what it gives."""
    pole = pole_of(op)
    if pole is None:
        return {}
    way, pending, told = dict[Value, None](), [pole], list[str]()
    while pending and len(way) < MOST:
        value = pending.pop()
        if value.op is None or value in way or not value.is_float or constant_of(value) is not None:
            continue
        why = _lost(value, guards, scheme) or _lost_in_quotient(value.op, guards, scheme)
        if not why and (value in guards or not (value.op.name == "top.Reduce" or carries_zero(value.op))):
            continue
        way[value] = None
        pending += value.op.operands
        told += [why] if why else []
    if op.name != "top.Log" and all(value is pole or constant_of(value) is not None for value in op.operands):
        why = _lost_in_quotient(op, guards, scheme)
        told += [why] if why else []
        way |= dict.fromkeys(op.results)
    return dict.fromkeys(way, told[0]) if told else {}


def _lost(value: Value, guards: _Guards, scheme: FloatScheme) -> str:
    """Why a tensor that a constant keeps from 0 is lost; empty where it is not."""
    guard = guards.get(value)
    if guard is None or guard.least >= scheme.least:
        return ""
    return f"{guard.least:.3g} keeps it from 0, of which {scheme.name} has few bits"


def _lost_in_quotient(op: Op, guards: _Guards, scheme: FloatScheme) -> str:
    """Why a quotient is lost: an operand is, or one divided by the divisor lies beyond the scheme's floats; empty where not."""
    if op.name not in (*_QUOTIENTS, *_ROOTS) or (pole := pole_of(op)) is None:
        return ""
    guard = guards.get(pole)
    if op.name in _QUOTIENTS and guard is not None and guard.least >= scheme.least and (
            guard.size < 1.0 / scheme.greatest):
        return f"{guard.size:.3g} keeps what it is divided by from 0, and one divided by that is beyond {scheme.name}"
    return next((why for value in op.operands if (why := _lost(value, guards, scheme))), "")


def _guards_of(module: Module) -> dict[Value, _Guard]:
    """The tensors of a module that constants keep from 0."""
    found: dict[Value, _Guard] = {}
    for op in module.body_of_main:
        if op.results and not op.regions and constant_of(op.results[0]) is None:
            guard = _guard(op, found)
            if guard is not None and guard.size > 0.0:
                found |= dict.fromkeys(op.results, guard)
    return found


def _guard(op: Op, found: _Guards) -> _Guard | None:
    """How near to 0 an op's results come, where its operands come as near as is `found`."""
    given = [found[value] for value in op.operands if value in found]
    own = _own(op)
    if own is not None and op.name in _LIMITS:
        return _Guard(own, own)
    if op.name == "top.Sub" and constant_of(op.operands[0]) is not None:  # 1 - x may be 0 itself
        return None
    if op.name in _SUMS:
        size = (own or 0.0) + sum(guard.size for guard in given)
        return _Guard(size, min([size, *(guard.least for guard in given if guard.size >= BESIDE * size)]))
    if not given or not _keeps_near(op):
        return None
    size = _size(op, [guard.size for guard in given])
    return _Guard(size, min(size, *(guard.least for guard in given)))


def _own(op: Op) -> float | None:
    """The number by which an op keeps what it gives from 0; None where it has none."""
    if op.name in _NUMBERS:
        number = op.attribute(_NUMBERS[op.name])
        sizes = sizes_of(np.array(number)) if number is not None else np.zeros(0)
        return float(sizes.max()) if sizes.size else None
    first = _SUMS.get(op.name, 0 if op.name in _LIMITS else None)
    return min(_greatest(op.operands[first:]), default=None) if first is not None else None


def _keeps_near(op: Op) -> bool:
    """Whether what an op gives is as near to 0 as its operands are, or a power of that."""
    if op.name in ("top.Pow", "top.Div"):
        dense = constant_of(op.operands[1])
        numbers = dense.numpy() if dense is not None else np.zeros(1)
        return bool((numbers > 0.0 if op.name == "top.Pow" else numbers != 0.0).all() and np.isfinite(numbers).any())
    return op.name in _NEAR or moves_of(op) is not None or carries_zero(op)


def _size(op: Op, given: Sequence[float]) -> float:
    """What an op makes of operands of such sizes, and of its constants; where that is more than 1, something near it."""
    near = min(*given, 1.0)
    match op.name:
        case "top.Max":
            return max(given)
        case "top.MulConst":
            return near * abs(float(op.attribute("const_val")))
        case "top.Mul":
            return math.prod([*given, *_greatest(op.operands)])
        case "top.Div":
            return near / _greatest(op.operands)[0]
        case "top.Pow":
            return near ** _greatest(op.operands)[0]
        case "top.Sqrt":
            return math.sqrt(near)
        case "top.Square":
            return near * near
    return near


def _greatest(values: Sequence[Value]) -> list[float]:
    """The greatest magnitude of each that is a float constant, and not 0."""
    constants = (constant_of(value) for value in values if value.is_float)
    each = [sizes_of(dense.numpy()) for dense in constants if dense is not None]
    return [float(sizes.max()) for sizes in each if sizes.size]


def sizes_of(numbers: np.ndarray) -> np.ndarray:
    """The magnitudes of numbers that are finite and not 0."""
    sizes = np.abs(numbers.astype(np.float64))
    return sizes[np.isfinite(sizes) & (sizes > 0.0)]
