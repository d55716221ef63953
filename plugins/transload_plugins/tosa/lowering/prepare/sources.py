"""What ops worked on before they were prepared for TOSA: tables of a run beside its module, for the rules that lower the ops.

TOSA has no unsigned numbers and none of 64 bits, so the passes before the lowering change the types of values. A few rules have
to know what was there before. An op that such a pass or rule puts in the place of another is in no table, unless it is
entered there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from transload.context import current
from transload.ir import Op, Type
from transload_hub.analysis.integer_widths import Narrowing

__all__ = ["Sources", "is_unsigned", "sources"]


@dataclass
class Sources:
    """What the passes before the lowering noted."""

    unsigned: set[Op] = field(default_factory=set)
    """Ops with an operand or result that was quantized and unsigned: some kernels of frameworks round differently for them."""
    stored: dict[Op, tuple[Type, Type]] = field(default_factory=dict)
    """Of each `top.Bitcast` the types that its operand and its result were stored in."""
    exponents: dict[Op, Type] = field(default_factory=dict)
    """Of each `top.Pow` the type that its exponent was stored in."""
    integers: Narrowing = field(default_factory=Narrowing)
    """What is known of integers of 64 bits, and unsigned ones of 32, that became i32."""
    short_sums: set[Op] = field(default_factory=set)
    """Each `top.Reduce` of plain integers whose sum is known to lie in i32."""
    in_range: set[Op] = field(default_factory=set)
    """Each `top.Cast` of floats to integers whose result is known not to wrap round."""


def sources() -> Sources:
    """The tables of this run."""
    return current().scratch(Sources)


def is_unsigned(op: Op) -> bool:
    """Whether an op worked on unsigned quantized numbers before they were made signed."""
    return op in sources().unsigned
