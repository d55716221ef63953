"""Inputs that are texts: those that nothing needs are left out."""

from __future__ import annotations

from collections.abc import Sequence

from transload.errors import TransloadError
from transload.ir import Module
from transload.passes.needed import keep_needed

from .passes.inline import inline

__all__ = ["LOOKED_UP", "unneeded"]

LOOKED_UP = "it looks texts or numbers up in a table that is not part of the graph"
"""Why an op of a table is none that can be computed."""


def unneeded(module: Module, places: Sequence[int]) -> tuple[set[int], Module]:
    """Which of the inputs at some places no output needs, and a module in which nothing uses these.

    A function may be given what nothing in it uses, or what only a result uses that nobody asks for: such is put where it is
    called, and what its other results need goes.
    """
    arguments = module.body_of_main.arguments
    unused = {place for place in places if not arguments[place].uses}
    if len(unused) == len(places):
        return unused, module
    copy = module.clone()
    try:
        inline(copy)
        keep_needed(copy)
    except TransloadError:  # whoever converts it says what is wrong
        return unused, module
    found = {place for place in places if not copy.body_of_main.arguments[place].uses}
    return (found, copy) if found > unused else (unused, module)
