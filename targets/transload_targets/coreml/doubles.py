"""Numbers of f64, which Core ML has not: they become f32, which is said, or are refused."""

from __future__ import annotations

from typing import Literal

from transload.ir import Module
from transload_hub.doubles import make_singles, tell_doubles

__all__ = ["narrow_doubles"]


def narrow_doubles(module: Module, f64: Literal["narrowed", "refused"] = "narrowed") -> bool:
    """Make tensors of f64 ones of f32, with a note on the module; or refuse them."""
    return tell_doubles(module, f64, "Core ML has f32") and make_singles(module)
