"""Numbers of f64: LiteRT moves them, and computes with hardly any, so that they become f32, which is said, or are refused."""

from __future__ import annotations

from typing import Literal

from transload.ir import Module
from transload_hub.doubles import make_singles, tell_doubles

__all__ = ["narrow_doubles"]

_OF_BITS = "--option f64=kept leaves such numbers to LiteRT, which takes their bits, and moves and casts them"


def narrow_doubles(module: Module, f64: Literal["narrowed", "kept", "refused"] = "narrowed") -> bool:
    """Make tensors of f64 ones of f32, with a note on the module; or refuse them; or leave them to LiteRT's few kernels."""
    if f64 == "kept" or not tell_doubles(module, f64, "LiteRT computes in f32"):
        return False
    return make_singles(module, _OF_BITS)
