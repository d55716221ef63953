"""Floats that become integers with bits of fraction, which are rounded off after that, as one cast.

So are activations quantized that a network quantizes when it runs: a product, a cast to 32 bits, one half added, less 1 for
negative numbers, a shift, and a cast back, each of which reads and writes all of a tensor.
"""

from __future__ import annotations

from transload.ir import I32, Block, FloatType, Op, Value
from transload.ir.build import Builder

from ..chip import Chip
from .values import one_number

__all__ = ["round_at_once"]


def round_at_once(block: Block, chip: Chip) -> bool:
    """Put one cast in the place of a cast, a sum or two and a shift; and of a cast of that to floats."""
    changed = False
    for op in list(block):
        found = _rounded(op) if op.results and op.results[0].uses else None
        if found is None:
            continue
        cast, fraction, away = found
        how = {"mode": cast.attribute("mode"), "wrap": cast.attribute("wrap"), "fraction": fraction, "away": away}
        floats = [user for user in op.results[0].uses if _to_floats(user)]
        for user in [*floats, *([op] if len(floats) < len(list(op.results[0].uses)) else [])]:
            (result,) = user.results
            result.replace_all_uses_with(Builder(block, user, user.location).emit(
                "tpu.cast", cast.operands[0], element=result.element, **how))
        changed = True
    return changed


def _to_floats(op: Op) -> bool:
    return op.name == "tpu.cast" and isinstance(op.results[0].element, FloatType) and op.attribute("scale") is None


def _rounded(op: Op) -> tuple[Op, int, bool] | None:
    """The cast whose fraction a shift rounds off, how many bits that has, and whether 1 is taken from negative numbers."""
    shift = _number(op.operands[1]) if op.name == "tpu.binary" and op.attribute("function") == "shift_right" else None
    total = op.operands[0].op if shift is not None and 0 < shift <= 30 else None
    if total is None or shift is None or not _is_sum(total) or list(total.results[0].uses) != [op]:
        return None
    for whole, half in (total.operands, total.operands[::-1]):
        cast = whole.op
        if cast is None or cast.name != "tpu.cast" or not cast.operands[0].is_float or whole.element != I32:
            continue
        if cast.attribute("scale") is not None or cast.attribute("fraction"):
            continue
        if _number(half) == 1 << (shift - 1):
            return cast, shift, False
        if half.op is not None and _is_sum(half.op) and _is_less_one(half.op, whole, 1 << (shift - 1)):
            return cast, shift, True
    return None


def _is_less_one(op: Op, whole: Value, half: int) -> bool:
    """Whether a sum is that of a half and of -1 for each negative number of `whole`."""
    for sign, number in (op.operands, op.operands[::-1]):
        maker = sign.op
        if maker is None or maker.name != "tpu.binary" or maker.attribute("function") != "shift_right":
            continue
        if maker.operands[0] is whole and _number(maker.operands[1]) == 31 and _number(number) == half:
            return True
    return False


def _is_sum(op: Op) -> bool:
    """Whether an op adds integers of 32 bits as they are."""
    if op.name != "tpu.add" or op.results[0].element != I32:
        return False
    return not any(op.attribute(name) for name in (
        "subtract", "multiplier", "a_multiplier", "b_multiplier", "a_zero", "b_zero", "output_zero")) and (
        op.attribute("low") is None and op.attribute("high") is None)


def _number(value: Value) -> int | None:
    number = one_number(value)
    return None if number is None else int(number[0])
