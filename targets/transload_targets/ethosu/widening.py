"""What Vela's compiler core does not survive on Ethos-U85, written otherwise.

Vela 5.2.0 makes a rescale part of the operation behind it where it changes nothing but the type: 8 bits to 16, by exactly 1. A
convolution of 8-bit numbers has no 48-bit sums, and Vela ends with SIGSEGV. Measured (`tests/targets/ethosu/test_widening.py`):
all four kinds of convolution, behind signed and unsigned bytes, whatever the zero point, also where reshapes, padding, slices or
identities stand between; not behind transposes, concatenations or tiles, not where the factor is any other, not on Ethos-U55 and
U65, and no other operation. A clamp to all of 16 bits, which changes nothing, keeps the two apart.
"""

from __future__ import annotations

from transload.ir import I8, I16, IntAttr, Module, Op, Value
from transload.ir.build import Builder, constant_of

__all__ = ["keep_widening"]

CONVOLUTIONS = frozenset({"tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.transpose_conv2d"})
PASSED = frozenset({"tosa.identity", "tosa.pad", "tosa.reshape", "tosa.slice"})
"""Ops through which Vela reaches from a convolution to a rescale."""


def keep_widening(module: Module) -> bool:
    """Keep rescales from 8 to 16 bits by exactly 1 apart from 16-bit convolutions behind them, by clamps that change nothing.

    Returns whether there were any.
    """
    found = dict.fromkeys(
        source for op in module.walk() if op.name in CONVOLUTIONS and op.operands[0].stored_element == I16
        if (source := _widened(op.operands[0])) is not None)
    for rescale in found:
        wide, users = rescale.results[0], list(rescale.results[0].uses)
        builder = Builder(rescale.parent, rescale.next, rescale.location)  # type: ignore[arg-type]
        least, greatest = (IntAttr(bound, I16) for bound in I16.range)
        kept = builder.emit("tosa.clamp", wide, element=wide.element, min_val=least, max_val=greatest)
        for user in users:
            user.operands = tuple(kept if operand is wide else operand for operand in user.operands)
    return bool(found)


def _widened(value: Value) -> Op | None:
    """The rescale from 8 bits by exactly 1 that a 16-bit tensor holds the numbers of, None where it is of none."""
    while (op := value.op) is not None:
        if op.name == "tosa.rescale" and _by_one(op):
            if op.operands[0].stored_element == I8:
                return op
        elif op.name not in PASSED:
            return None
        value = op.operands[0]
    return None


def _by_one(op: Op) -> bool:
    """Whether a rescale multiplies all its numbers by exactly 1."""
    multiplier, shift = (constant_of(value) for value in op.operands[1:3])
    if multiplier is None or shift is None:
        return False
    factors = zip(multiplier.numpy().reshape(-1).tolist(), shift.numpy().reshape(-1).tolist(), strict=True)
    return all(factor == 1 << places for factor, places in factors)
