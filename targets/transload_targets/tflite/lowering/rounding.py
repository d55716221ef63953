"""Operators that round as LiteRT does, where the ops that they were made of round otherwise (`rounding=litert`)."""

from __future__ import annotations

from transload.ir import Module

__all__ = ["rounds_otherwise", "say_rounding"]

_ROUNDING = "tfl.rounding"


def say_rounding(module: Module, *, rounding: str = "kept") -> bool:
    """Note it in the module: its results are single steps off, which add up from layer to layer."""
    if rounding == "litert":
        module.attributes[_ROUNDING] = rounding
    return rounding == "litert"


def rounds_otherwise(module: Module) -> bool:
    """Whether that was noted."""
    return _ROUNDING in module.attributes
