"""A real factor as the multiplier and shift of a chip (TPU-MLIR manual 6.2), and the rounding that comes with them.

With multipliers of 32 bits the integers are those that the quantized op of the hub stands for, bit for bit, where the chip
rounds in the way that the op's attribute `rounding` says:

| rounding of the op | multiplier | rounding of the chip |
|---|---|---|
| double | 31 bits, the nearest | double |
| exact | 31 bits, odd where halves occur, so that they go away from zero | half-up |
| once | 31 bits, the nearest | half-up |
| double, of sums of more than 32 bits | 15 bits | half-up |

What a chip does not round so is not for it. With multipliers of 8 bits a factor is off by as much as 1/128 of itself: the chip's
integers are its own, and where it does not round so, either, it takes the first way it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter
from transload_hub.scales import scale16, scale32, scale_exact

from ..chip import Chip

__all__ = ["Rescale", "eight_bits", "per_channel", "rescale", "rounds", "ways_of"]

_WAYS = {"double": "double", "exact": "half-up", "once": "half-up", "float32": "half-up", "truncate": "half-up"}


@dataclass(frozen=True)
class Rescale:
    """A factor for a whole tensor."""

    multiplier: int
    shift: int
    rounding: str

    @property
    def attributes(self) -> dict[str, Any]:
        """As attributes of a `tpu` op."""
        return {"multiplier": self.multiplier, "shift": self.shift, "rounding": self.rounding}


def rounds(chip: Chip, rounding: str) -> bool:
    """Whether a chip rounds as a word of the hub says."""
    return _WAYS[rounding] in chip.roundings


def ways_of(chip: Chip, rounding: str) -> str:
    """How a chip rounds what an op rounds by a word of the hub.

    `Unsupported` where it would give other integers, and its multipliers are such that it could give the hub's.
    """
    way = _WAYS[rounding]
    if rounds(chip, rounding):
        return way
    if chip.multiplier_bits != 8:
        raise Unsupported(
            f"{chip.name} rounds {' or '.join(chip.roundings)}, and the model's integers are rounded {way}",
            f"a chip with {way!r} among the roundings of its file computes it")
    return chip.roundings[0]


def eight_bits(real: float, most_shift: int) -> tuple[int, int]:
    """The multiplier of 7 bits (and a sign) and the shift that come nearest to a factor."""
    if not math.isfinite(real) or real < 0:
        raise Unsupported(f"a scale of {real} cannot be applied to integers", "scales must be positive and finite")
    if real == 0:
        return 0, 0
    shift = min(6 - math.floor(math.log2(real)), most_shift)
    multiplier = round(math.ldexp(real, shift))
    if multiplier > 127:
        multiplier, shift = round(math.ldexp(real, shift - 1)), shift - 1
    if shift < 0:
        raise Unsupported(f"a scale of {real:g} is too large for a multiplier of 8 bits")
    return multiplier, shift


def pair(chip: Chip, real: float, rounding: str, wide: bool = False) -> tuple[int, int]:
    """Multiplier and shift of a factor on a chip; `wide` where what is scaled has more than 32 bits."""
    most = (1 << chip.shift_bits) - 1
    if chip.multiplier_bits == 8:
        return eight_bits(real, most)
    if wide:
        return scale16(real)
    multiplier, shift = scale_exact(real) if rounding == "exact" else scale32(real)
    if shift > most:
        multiplier, shift = multiplier >> (shift - most), most
    return multiplier, shift


def rescale(chip: Chip, real: float, rounding: str) -> Rescale:
    """A factor for a whole tensor of sums of 32 bits, rounded as the word of the hub says."""
    return Rescale(*pair(chip, real, rounding), ways_of(chip, rounding))


def per_channel(
    rw: Rewriter, chip: Chip, reals: Sequence[float], rounding: str, wide: bool = False,
) -> tuple[Value, Value, str]:
    """Multipliers and shifts, one for each factor, as constants [O] or [1], and how to round.

    `Unsupported` where the chip has one for the whole tensor only, and factors differ.
    """
    if len(set(reals)) == 1:
        reals = reals[:1]
    if len(reals) > 1 and not chip.per_channel:
        raise Unsupported(f"{chip.name} scales all channels alike", "quantize weights with one scale for the whole tensor")
    multipliers, shifts = zip(*(pair(chip, real, rounding, wide) for real in reals), strict=True)
    way = ways_of(chip, "once" if wide else rounding)
    return rw.constant(np.array(multipliers, np.int32)), rw.constant(np.array(shifts, np.int32)), way
