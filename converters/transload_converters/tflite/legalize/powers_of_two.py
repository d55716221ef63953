"""Sums and differences of 16 bits whose scales are powers of two, which LiteRT computes by a shift, as `pot_scale_int16` says.

The kernel shifts one operand to the steps of the result, which the other one has, and rounds it there, halves away from
zero; the sum is exact then. Kernels of other scales add first and round once.

Source: `tensorflow/lite/kernels/add.cc`, `sub.cc`, CheckedLog2; gemmlowp's RoundingDivideByPOT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from transload.errors import Unsupported
from transload.ir import F32, I16, Op, QuantType, Value
from transload.rewrite import Rewriter

from .common import static_shape
from .storage import read_as

__all__ = ["shifted_operands"]

_NEAR = 1e-3
"""How far the logarithm of a scale may be from a whole number (CheckedLog2)."""
_MOST_PLACES = 15
"""By how many places numbers of 16 bits can be shifted: the kernel's mask of more has no bits left."""


def shifted_operands(op: Op, rw: Rewriter) -> list[Value] | None:
    """The operands of an ADD or SUB in the steps of its result; None where LiteRT takes the kernel for any scales."""
    if not op.attribute("pot_scale_int16", False):
        return None
    elements = [value.element for value in (*op.operands, *op.results)]
    held = [element for element in elements if isinstance(element, QuantType) and element.storage == I16 and element.per_tensor]
    powers = [_power(element.scale) for element in held]
    if len(held) != 3 or None in powers:
        return None
    *given, made = (power for power in powers if power is not None)
    places = [made - power for power in given]
    _need_shifts(op, held, places)
    operands = []
    for value, shift in zip(op.operands, places, strict=True):
        # The kernel looks at the places alone: scales that are nearly powers of two count as such.
        finer = QuantType(I16, F32, (math.ldexp(held[-1].scale, -shift),), (0,))
        value = read_as(rw, value, finer)
        operands.append(rw.emit("top.Cast", value, element=held[-1], rounding="exact") if shift else value)
    return operands


def _power(scale: float) -> int | None:
    """Which power of two a scale is, or None; none where it is no step at all, as 0 or without an end."""
    if not 0 < scale < math.inf:
        return None
    exact = math.log2(scale)
    return round(exact) if abs(exact - round(exact)) < _NEAR else None


def _need_shifts(op: Op, types: Sequence[QuantType], places: Sequence[int]) -> None:
    """Refuse what LiteRT does: its kernel has no zero points, shifts one operand, and that to coarser steps only."""
    beside = "of 16-bit numbers whose scales are powers of two, pot_scale_int16 has LiteRT shift one operand"
    hint = "convert the model again with a converter that writes pot_scale_int16=false"
    if any(any(element.zero_points) for element in types):
        raise Unsupported(f"{beside}, and zero points have to be 0: LiteRT does not run it either", hint)
    if min(places) < 0 or min(map(abs, places)) > 0:
        raise Unsupported(
            f"{beside} to the result's steps, and the operands are {places[0]} and {places[1]} places finer: LiteRT does not run "
            "it either", hint)
    if max(places) > _MOST_PLACES:
        raise Unsupported(f"{beside}, which by {max(places)} places it does not do: numbers of 16 bits have none left", hint)
    sizes = {math.prod(static_shape(value, "an operand")) for value in (*op.operands, *op.results)}
    if op.name == "tfl.add" and len(sizes) > 1:
        raise Unsupported(f"{beside}, and does not broadcast then: it reads beyond the end of the smaller one", hint)
