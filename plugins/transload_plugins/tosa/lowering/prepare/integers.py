"""Integers of 64 bits, and unsigned ones of 32, are about to become i32: what would compute other numbers is refused."""

from __future__ import annotations

from typing import Literal

from transload.findings import refuse
from transload.ir import Module
from transload_hub.analysis.integer_widths import narrowing_of

from .sources import sources

__all__ = ["narrow_integers"]


def narrow_integers(module: Module, int64: Literal["proved", "assumed"] = "proved") -> bool:
    """Refuse the ops whose numbers 32 bits may not hold: where that is not proved or, with `int64="assumed"`, not possible."""
    found = sources().integers = narrowing_of(module, assumed=int64 == "assumed")
    refuse(found.findings)
    return False
