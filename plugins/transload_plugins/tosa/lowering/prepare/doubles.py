"""Numbers of f64, which TOSA has not: said where they become f32, or refused."""

from __future__ import annotations

from typing import Literal

from transload.ir import Module
from transload_hub.doubles import tell_doubles

__all__ = ["narrow_doubles"]


def narrow_doubles(module: Module, f64: Literal["narrowed", "refused"] = "narrowed") -> bool:
    """With `f64="narrowed"` a note on the module, which says what becomes f32; with "refused" a finding for each kind of op."""
    return tell_doubles(module, f64)
