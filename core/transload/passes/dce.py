"""Removing ops whose results are unused."""

from __future__ import annotations

from ..ir import Op

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(module: Op) -> bool:
    """Erase every op without effects whose results nobody uses, users before what they use.

    Unregistered ops stay: nobody knows what they do.
    """
    modified = False
    for region in module.regions:
        for block in region.blocks:
            op = block.last
            while op is not None:
                before = op.prev
                if op.regions:
                    modified |= eliminate_dead_code(op)
                if not any(result.uses for result in op.results) and is_removable(op):
                    op.erase()
                    modified = True
                op = before
    return modified


def is_removable(op: Op) -> bool:
    """Whether an op may go where its results are unused: it and all inside it are declared, and without effects."""
    for inner in op.walk():
        declaration = inner.declaration
        if declaration is None or "effects" in declaration.traits or (inner is op and "terminator" in declaration.traits):
            return False
    return True
