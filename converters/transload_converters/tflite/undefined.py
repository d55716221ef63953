"""What LiteRT gives that says nothing of a model: a verification that fails there is not conclusive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transload.ir import IntegerType, Module, Op, QuantType

from .overflow import overflows

__all__ = ["undefined"]


def undefined(source: Module, hub: Module | None, given: Mapping[str, Any]) -> str:
    """Why LiteRT's results cannot be compared on these inputs; nothing where they can."""
    empty = [str(op.origin or op.name) for op in source.walk() if _is_unwritten(op)]
    found = [f"{', '.join(empty[:3])}: LiteRT reduces nothing, and leaves in its result what was there"] if empty else []
    return "; ".join(filter(None, (*found, overflows(hub, given))))


def _is_unwritten(op: Op) -> bool:
    """Whether it is a sum or product of nothing in integers of 8 or 16 bits.

    Measured with LiteRT 2.3: of its usual kernels some write nothing, and some a 0, whatever the zero point is.
    """
    if op.name not in ("tfl.sum", "tfl.reduce_prod") or not op.operands or not op.operands[0].is_static:
        return False
    element = op.operands[0].element
    stored = element.storage if isinstance(element, QuantType) else element
    return isinstance(stored, IntegerType) and stored.width < 32 and 0 in op.operands[0].static_shape
