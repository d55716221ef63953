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
                for result in op.results:
                    if result.uses:
                        break
                else:
                    if is_removable(op):
                        op.erase()
                        modified = True
                op = before
    return modified


def is_removable(op: Op) -> bool:
    """Whether an op may go where its results are unused: it and all inside it are declared, and without effects."""
    declaration = op.declaration
    if declaration is None or not declaration.pure:
        return False
    return not op.regions or all(
        inner.declaration is not None and "effects" not in inner.declaration.traits for inner in op.walk())
