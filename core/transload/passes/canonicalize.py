"""Simplifying ops by their algebra.

What is simpler is said by facts of kind "canonicalization": the `RewriteTable` that a dialect registers with its
`DialectSpec`, and those that other plugins add for its ops. The pass applies the tables of all dialects in the module until
nothing changes.
"""

from __future__ import annotations

from ..contents import dialects_in
from ..ir import Module, update_function_type
from ..plugin_host import host
from ..rewrite import RewriteTable, apply_greedily
from .dce import eliminate_dead_code

__all__ = ["canonicalize"]


def canonicalize(module: Module) -> bool:
    """Apply every dialect's simplifications until nothing changes, then remove what is unused."""
    table = RewriteTable()
    simplifications = host().facts("canonicalization")
    for name in dialects_in(module):
        table.functions.update(simplifications.of_dialect(name))
    modified = apply_greedily(module, table) if table.functions else False
    modified |= eliminate_dead_code(module)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    return modified
