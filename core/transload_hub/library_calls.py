"""Calls of libraries (LAPACK's functions, approximate extremes) that stand for operations of the hub.

A dialect's plugin says which of its ops are such calls by the fact `known-call`; a target that has no way to make one has the hub
write it as the operations that it means.
"""

from __future__ import annotations

from collections.abc import Iterator

from transload.ir import Module, Op
from transload.plugin_host import host

__all__ = ["known_calls"]


def known_calls(module: Module) -> Iterator[Op]:
    """The calls in a module whose meaning is known."""
    facts = host().facts("known-call")
    for op in module.walk():
        is_known = facts[op.name]
        if is_known is not None and is_known(op):
            yield op
