"""Where the places of a resized image lie in the image, as fractions of whole numbers: `(place * d + offset) / n`.

The coordinate modes of frameworks are such fractions exactly (`top.Interp`). TOSA's RESIZE takes them (2.12.1), and its
limits are those of `Grid.fits`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from transload.ir import Op

__all__ = ["MAX_SIZE", "Grid", "fixed_point_grid", "grid", "interp_grid"]

MAX_SIZE = 16384
"""Rows and columns from which on RESIZE takes no image, at level 8K."""
MAX_SCALE_N = 1 << 11
MAX_SCALE = 256


class Grid(NamedTuple):
    """One dimension of a RESIZE: place o of the result lies at `(o * d + offset) / n` of the input."""

    n: int
    d: int
    offset: int
    border: int

    def fits(self, size: int, count: int) -> bool:
        """Whether RESIZE takes it (its ERROR_IFs and level 8K)."""
        return (
            max(size, count) < MAX_SIZE and 0 < self.n <= MAX_SCALE_N and 0 < self.d < 16 * self.n
            and self.n <= MAX_SCALE * self.d and -self.n <= self.offset < 16 * self.n and -16 * self.n <= self.border < self.n)


def grid(scale_d: Fraction, offset: Fraction, size: int, count: int, rounding: str | None) -> Grid:
    """The grid of step `scale_d` from `offset`, in input elements.

    RESIZE's NEAREST rounds halves up. Other roundings are that of a coordinate moved by a half, or by less than
    the grid can tell apart: `floor(x) = round(x - 1/2)`, `ceil(x - 1/2) = round(x - e)`. Each element repeated `f`
    times is written with the centres of places, of which `floor(o / f) = round((o + 1/2) / f - 1/2)`: Ethos-U55 takes that.
    """
    if rounding == "floor" and scale_d.numerator == 1 and 0 <= offset < scale_d:
        offset, rounding = (scale_d - 1) / 2, "round_prefer_ceil"
    n = math.lcm(scale_d.denominator, offset.denominator)
    if rounding is not None and n % 2:
        n *= 2
    d, start = int(scale_d * n), int(offset * n)
    start += {"floor": -n // 2, "ceil": n // 2 - 1, "round_prefer_floor": -1, "round_prefer_ceil": 0, None: 0}[rounding]
    return Grid(n, d, start, (count - 1) * d + start - (size - 1) * n)


def interp_grid(op: Op, i: int, size: int) -> Grid | None:
    """The grid of spatial dimension `i` of a `top.Interp`; None where it has none that RESIZE takes.

    To the nearest, places by the centres of pixels that are moved may not be fractions: how far they are is rounded
    (`kernels.resize`), which halves and whole numbers tell.
    """
    count = op.sizes[i]
    rounding = op.nearest_mode if op.mode == "nearest" else None
    if op.scales is None:
        step = Fraction(size, count)
    else:
        step = 1 / Fraction(op.scales[i]).limit_denominator(1 << 12)
        if abs(float(1 / step) - op.scales[i]) > 1e-9 * op.scales[i]:
            return None
    offset = Fraction(0)
    mode = op.coord_mode
    if mode == "align_corners":
        step = Fraction(size - 1, count - 1) if count > 1 else Fraction(1)
    elif mode == "tf_half_pixel_for_nn":
        offset = step / 2
    elif mode == "pytorch_half_pixel" and count == 1:
        offset = Fraction(0)
    elif mode in ("half_pixel", "pytorch_half_pixel"):
        offset = step / 2 - Fraction(1, 2)
    elif mode == "half_pixel_symmetric":
        moved = Fraction(size, 2) * (1 - count * step / size)
        if moved and rounding is not None and op.scales is not None:
            return None
        offset = step / 2 - Fraction(1, 2) + moved
    if count == 1:
        step = Fraction(1)  # has no effect, and must not be out of range
    if step == 0:
        return None
    made = grid(step, offset, size, count, rounding)
    return made if made.fits(size, count) else None


def fixed_point_grid(op: Op, i: int, size: int) -> Grid | None:
    """The grid of LiteRT's integer kernel: steps and coordinates with 10 bits of fraction."""
    count = op.sizes[i]
    if op.scales is not None or op.coord_mode not in ("half_pixel", "align_corners", "asymmetric"):
        return None
    if op.coord_mode == "align_corners" and count > 1:
        step = ((size - 1) * 1024 + (count - 1) // 2) // (count - 1)
    else:
        step = (size * 1024 + count // 2) // count
    offset = step // 2 - 512 if op.coord_mode == "half_pixel" else 0
    made = Grid(1024, step, offset, (count - 1) * step + offset - (size - 1) * 1024)
    return made if made.fits(size, count) else None
