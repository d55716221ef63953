"""Computing what is constant."""

from __future__ import annotations

from ..context import current
from ..ir import Op
from ..ir.build import Builder, constants_for, may_fold
from .dce import eliminate_dead_code

__all__ = ["fold_constants"]


def fold_constants(module: Op) -> bool:
    """Replace each op whose operands are all constant by its results, except where that would store much more."""
    fold = current().fold
    modified = False
    for op in module.walk():
        declaration = op.declaration
        if op.parent is None or not op.results or declaration is None or not may_fold(op, declaration):
            continue
        folded = fold(op)
        if folded is None:
            continue
        builder, home = Builder(op.parent, op), constants_for(op)
        op.replace_with([
            builder.constant(array, result.element, dialect=home, location=result.name or op.location)
            for array, result in zip(folded, op.results, strict=True)
        ])
        modified = True
    return eliminate_dead_code(module) or modified if modified else False
