"""Between which numbers integers lie, as far as the ops of TOSA tell that made them."""

from __future__ import annotations

from transload.ir import I8, IntegerType, Op, Value
from transload.ir.build import constant_of

from ...dialect.base import storage_of

__all__ = ["DEPTH", "Bounds", "bounds_of"]

Bounds = tuple[int, int]

DEPTH = 8
"""How many ops back it is looked where numbers come from."""


def bounds_of(x: Value, depth: int = DEPTH) -> Bounds:
    """Between which numbers integers lie, from the ops that made them."""
    whole: Bounds = storage_of(x).range  # type: ignore[attr-defined]
    held = constant_of(x)
    if held is not None:
        numbers = held.numpy()
        return (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
    maker = x.op
    if maker is None or depth == 0:
        return whole
    found = _bounds_of_result(maker, depth - 1)
    return found if found is not None and whole[0] <= found[0] and found[1] <= whole[1] else whole


def _bounds_of_result(op: Op, depth: int) -> Bounds | None:
    """The same of an op's result, if nothing wraps round; None where nothing is known."""
    if op.name == "tosa.rescale":  # of an unsigned argument, to what it stands for
        alone = op.input_unsigned and not op.output_unsigned and storage_of(op.input) == I8
        same = all(constant_of(value) is not None and (constant_of(value).numpy() == number).all()  # type: ignore[union-attr]
                   for value, number in zip(op.operands[1:], (1 << 30, 30, 0, 0), strict=True))
        return (0, 255) if alone and same else None
    operands = op.operands[: _BOUNDED.get(op.name, 0)]
    if not operands or not all(isinstance(storage_of(value), IntegerType) for value in operands):
        return None
    known = [bounds_of(value, depth) for value in operands]
    (low, high), (least, most) = known[0], known[-1]
    if op.name == "tosa.add":
        return low + least, high + most
    if op.name == "tosa.sub":
        return low - most, high - least
    if op.name == "tosa.maximum":
        return max(low, least), max(high, most)
    if op.name == "tosa.minimum":
        return min(low, least), min(high, most)
    return low, high


_BOUNDED = {
    "tosa.add": 2, "tosa.sub": 2, "tosa.maximum": 2, "tosa.minimum": 2, "tosa.cast": 1, "tosa.identity": 1, "tosa.reshape": 1,
    "tosa.transpose": 1, "tosa.slice": 1, "tosa.reverse": 1, "tosa.tile": 1}
"""Ops whose results' bounds follow from those of so many operands."""
