"""Integers of 64 bits, and unsigned ones of 32, are about to become i32: what would compute other numbers is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from transload.analysis.intervals import Intervals, inside, integer_of, product
from transload.findings import refuse
from transload.ir import BOOL, I32, UI32, UI64, IntegerType, Module, Op
from transload.rewrite import Rewriter
from transload_hub.analysis.integer_widths import narrowing_of

from .sources import sources

__all__ = ["narrow_integers"]


def narrow_integers(module: Module, int64: Literal["proved", "assumed"] = "proved") -> bool:
    """Refuse the ops whose numbers 32 bits may not hold: where that is not proved or, with `int64="assumed"`, not possible.

    Returns whether what saturates was written otherwise (`_clip_what_saturates`).
    """
    changed = _clip_what_saturates(module)
    found = sources().integers = narrowing_of(module, assumed=int64 == "assumed")
    sources().short_sums = set(_short_sums(module))
    sources().in_range = set(_casts_in_range(module))
    refuse(found.findings)
    return changed


def _clip_what_saturates(module: Module) -> bool:
    """Put a Clip in front of casts that saturate from integers with a sign to unsigned ones that are held as if they had one: of
    the types that they have then, nothing is out of range."""
    changed = False
    for op in list(module.walk()):
        if op.name != "top.Cast" or not op.attribute("saturate", False):
            continue
        source, target = (value.element_or_none for value in (op.operands[0], op.results[0]))
        if not isinstance(source, IntegerType) or source.unsigned or source == BOOL or target not in (UI32, UI64):
            continue
        rw = Rewriter(op)
        most = float(UI32.range[1]) if target == UI32 and source.width > 32 else math.inf
        inside_it = rw.emit("top.Clip", op.operands[0], min=0.0, max=most)
        rw.replace([rw.emit("top.Cast", inside_it, element=target)])
        changed = True
    return changed


def _short_sums(module: Module) -> Iterator[Op]:
    """The means of plain integers whose sums lie in i32, so that they are divided sums there too."""
    intervals = Intervals()
    for op in module.walk():
        if op.name != "top.Reduce" or op.attribute("mode") != "ReduceMean":
            continue
        shape = op.operands[0].known_shape
        if shape is None or not isinstance(op.operands[0].element, IntegerType):
            continue
        count = math.prod(shape[axis] for axis in op.attribute("axes"))
        if inside(product(intervals.of(op.operands[0]), (count, count)), I32.range):
            yield op


def _casts_in_range(module: Module) -> Iterator[Op]:
    """The casts of floats to integers of few bits whose results, however they are rounded, lie in their type."""
    intervals = Intervals()
    for op in module.walk():
        if op.name != "top.Cast" or isinstance(op.operands[0].element_or_none, IntegerType):
            continue
        element = integer_of(op.results[0])
        if element is None or not 1 < element.width < 32:
            continue
        (low, high), (least, most) = intervals.of(op.operands[0]), element.range
        if least - 0.5 < low and high < most + 0.5:
            yield op
