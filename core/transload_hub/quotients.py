"""What is known of quotients by their divisors: whether integers hold them, and whether floats do.

Integers do not hold that of the least number by -1, which processors trap, and runtimes with them.
"""

from __future__ import annotations

import numpy as np

from transload.ir import IntegerType, Value
from transload.ir.build import constant_of

from .tables import distinct

__all__ = ["divides_exactly", "may_leave_range"]


def divides_exactly(divisor: Value) -> bool:
    """Whether floats are divided by nothing but powers of two: the quotient is not rounded, unless it is too small for floats.

    Rounded down it is the same then, however a framework divides: of what is left, in more bits, or of the quotient itself.
    """
    dense = constant_of(divisor)
    return dense is not None and bool((np.abs(np.frexp(np.asarray(dense.numpy(), np.float64))[0]) == 0.5).all())


def may_leave_range(divisor: Value, dividend: Value | None = None) -> bool:
    """Whether a division of signed integers of 32 bits or more, of values of any dialect, may be that of the least number by -1.

    Narrower ones are divided as i32. Without `dividend` it may be any number.
    """
    element = divisor.element_or_none
    if not isinstance(element, IntegerType) or element.unsigned or element.width < 32:
        return False
    return _may_be(divisor, -1) and (dividend is None or _may_be(dividend, element.range[0]))


def _may_be(value: Value, number: int) -> bool:
    """Whether an element of a value may be a number, which is among a constant's and in the range of what was cast to it.

    A cast from a range that the type does not hold wraps round, to any number.
    """
    dense, op = constant_of(value), value.op
    if dense is not None:
        return bool(np.any(distinct(dense.numpy()) == number))
    source = op.operands[0].element_or_none if op is not None and op.name.endswith((".cast", ".Cast")) else None
    if not isinstance(source, IntegerType) or source.range[1] > value.element_or_none.range[1]:  # type: ignore[union-attr]
        return True
    return source.range[0] <= number
