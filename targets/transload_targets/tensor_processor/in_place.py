"""Which operations may write their result over an operand.

An operation that computes an element of its result of the operands' elements at the same place alone reads these before it writes
there. So the result may lie where an operand does, element for element. Of all others nothing says in which order they read and
write: their results lie apart from their operands.
"""

from __future__ import annotations

from transload.facts import FactTable
from transload.plugin_host import host

__all__ = ["IN_PLACE", "in_place"]

IN_PLACE = FactTable("tpu")
IN_PLACE.add(True, "add", "mul", "maximum", "minimum", "requantize", "cast", "table", "unary", "binary", "select")


def in_place(name: str) -> bool:
    """Whether an operation, by the name of its op (of `tpu` where it says no dialect), may write over an operand."""
    return bool(host().facts("in-place")[name if "." in name else f"tpu.{name}"])
