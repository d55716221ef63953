"""Functions of int16 numbers in integers alone, rounded once: for chips that compute with no floats.

One table of 513 places is some steps off: its entries are rounded, and between two of them it is straight. Here there are three:
what entries are in steps of `2**_COARSE`, what they are beside that, and how far the function is from the straight line in the
middle between two places. The last one is weighted by a parabola of the place, and what is added up is rounded once.
"""

from __future__ import annotations

import numpy as np

from transload.ir import I16, I32, QuantType, Value
from transload.rewrite import Rewriter

from ... import build
from .rescaling import i32, shift_right, widen
from .tables import Function, reals_of, steep

__all__ = ["LOW", "fine_lookup", "fine_tables", "lookup_from"]

_FRACTION = 6
"""Bits of a step that entries have; interpolating adds `_BETWEEN`."""
_COARSE = 2
"""Bits of the steps that the first table counts: what saturates is bent a good way beyond the ends of int16."""
_BETWEEN = 7
"""Bits of a number that say where it is between two places."""
LOW = 511
"""The last of the numbers from 0 on of which a table has a place for each."""


def fine_tables(source: QuantType, target: QuantType, function: Function) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The three tables from one int16 type to another; None where the function is too steep for them."""
    places = np.arange(-32768, 32769, 1 << _BETWEEN, dtype=np.int64)
    ends = 1 << (15 + _COARSE)
    with np.errstate(all="ignore"):
        at, middle = (
            np.clip(np.nan_to_num(np.asarray(function(reals_of(source, numbers)), np.float64) / target.scale), -ends, ends - 1)
            for numbers in (places, places[:-1] + (1 << (_BETWEEN - 1))))
    coarse = np.clip(np.rint(at / (1 << _COARSE)), *I16.range)
    fine = np.rint((at - coarse * (1 << _COARSE)) * (1 << _FRACTION))
    bow = middle - (at[1:] + at[:-1]) / 2
    bows = np.rint(np.concatenate([bow[:1], (bow[1:] + bow[:-1]) / 2, bow[-1:]]) * (1 << _FRACTION))
    first, second, third = (np.clip(entries, *I16.range).astype(np.int16) for entries in (coarse, fine, bows))
    return None if any(map(steep, (first, second, third))) else (first, second, third)


def fine_lookup(rw: Rewriter, x: Value, tables: tuple[np.ndarray, np.ndarray, np.ndarray], element: QuantType) -> Value:
    """`x` of int16 looked up in the three tables, as type `element` of int16."""
    coarse, fine, bows = (build.table(rw, x, entries) for entries in tables)
    total = build.mul(rw, coarse, i32(rw, 1 << (_COARSE + _FRACTION), x), element=I32)
    total = rw.emit("tosa.add", total, fine, element=I32)
    if tables[2].any():
        wide = widen(rw, x)
        below = build.mul(rw, shift_right(rw, wide, _BETWEEN, rounded=False), i32(rw, 1 << _BETWEEN, x), element=I32)
        along = rw.emit("tosa.sub", wide, below, element=I32)
        parabola = build.mul(rw, along, rw.emit("tosa.sub", i32(rw, 1 << _BETWEEN, x), along, element=I32), element=I32)
        bent = build.mul(rw, shift_right(rw, bows, _BETWEEN), parabola, element=I32)  # in the middle the parabola is 2**12
        total = rw.emit("tosa.add", total, shift_right(rw, bent, _BETWEEN - 2), element=I32)
    return build.rescale(rw, total, [1 << 30], [30 + _FRACTION + _BETWEEN], 0, 0, element)


def lookup_from(
    rw: Rewriter, x: Value, low: np.ndarray, tables: tuple[np.ndarray, np.ndarray, np.ndarray], element: QuantType,
) -> Value:
    """`x` of int16, numbers below 0 as 0, looked up in `low`, results of 0 to `LOW`, and behind those in the three tables.

    All are looked up in both, as `LOW` where they are of the other one, of which the first table holds what it is less.
    """
    less = low.astype(np.int64) - _result(tables, LOW)
    less[LOW] = 0
    few = build.clamp(rw, widen(rw, x), 0, LOW, I32)
    spread = rw.emit("tosa.sub", build.mul(rw, few, i32(rw, 1 << _BETWEEN, x), element=I32), i32(rw, 1 << 15, x), element=I32)
    entries = np.clip(np.append(less, 0), *I16.range).astype(np.int16)
    place = build.rescale(rw, spread, [1 << 30], [30], 0, 0, I16)
    first = shift_right(rw, build.table(rw, place, entries), _BETWEEN, rounded=False)
    behind = widen(rw, fine_lookup(rw, build.clamp(rw, x, LOW, I16.range[1], x.element), tables, element))
    return build.rescale(rw, rw.emit("tosa.add", first, behind, element=I32), [1 << 30], [30], 0, 0, element)


def _result(tables: tuple[np.ndarray, np.ndarray, np.ndarray], number: int) -> int:
    """What `fine_lookup` gives for a number."""
    place, along = divmod(number + (1 << 15), 1 << _BETWEEN)
    coarse, fine, bow = (
        int(entries[place]) * ((1 << _BETWEEN) - along) + int(entries[place + 1]) * along for entries in tables)
    bent = (bow + (1 << _BETWEEN - 1) >> _BETWEEN) * along * ((1 << _BETWEEN) - along)
    total = (coarse << _COARSE + _FRACTION) + fine + (bent + (1 << _BETWEEN - 3) >> _BETWEEN - 2)
    return min(max(total + (1 << _FRACTION + _BETWEEN - 1) >> _FRACTION + _BETWEEN, I16.range[0]), I16.range[1])
