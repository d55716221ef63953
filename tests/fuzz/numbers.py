"""Numbers that programs trip over."""

from __future__ import annotations

import random
import struct
from typing import Any

__all__ = ["other_float", "other_integer", "other_number"]

_EDGES = (0, 0, 1, 1, 2, 3, 4, 7, 8, 16, 64, 127, 255, 256, 1000, 32767, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 33, 1 << 40,
          (1 << 62), (1 << 63) - 1, 10**9, 50_000)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 6.0, 1e-45, 1e-30, 3e38, float("inf"), float("-inf"), float("nan"), 255.0, 1e9)


def other_integer(dice: random.Random, old: int, width: int = 64, unsigned: bool = False) -> int:
    """Another integer that fits into `width` bits: near the old one, an edge of some type, or of the other sign."""
    kind = dice.randrange(8)
    if kind < 3:
        new = old + dice.choice((-2, -1, 1, 2))
    elif kind < 4:
        new = -old or -1
    elif kind < 5:
        new = dice.randrange(12)
    elif kind < 6:
        new = -dice.choice(_EDGES)
    else:
        new = dice.choice(_EDGES)
    if unsigned:
        return new % (1 << width)
    return (new + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def other_float(dice: random.Random, old: float) -> float:
    """Another number: an edge of the type, or near the old one."""
    kind = dice.randrange(4)
    return dice.choice(_FLOATS) if kind < 2 else -old if kind == 2 else old * dice.choice((0.5, 2.0, 1e6))


def other_number(dice: random.Random, code: str, old: Any) -> Any:
    """Another number of the `struct` format `code`."""
    if code == "?":
        return not old
    if code in "fd":
        new = other_float(dice, float(old))
        return new if code == "d" or abs(new) <= 3.4e38 or new != new or new in (float("inf"), float("-inf")) else 3e38
    return other_integer(dice, int(old), 8 * struct.calcsize(f"<{code}"), code.isupper())
