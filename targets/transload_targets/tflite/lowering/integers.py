"""Integers of 64 bits and unsigned ones of 32, computed in int32 as far as they fit; powers beyond as products.

What frameworks give as 64 bits is mostly small: the place of a maximum, a size, an index. Where it follows from the model that
all numbers of such an op lie in 32 bits (`transload.analysis.intervals`), the op is computed there, between casts.
"""

from __future__ import annotations

from transload.analysis.intervals import Interval, Intervals, inside, result_intervals
from transload.errors import Finding, merge_findings
from transload.findings import refuse
from transload.ir import I32, I64, UI32, Module, Op, Value
from transload.ir.build import Builder, constant_of
from transload_hub.algebra.powers import whole_power
from transload_hub.build import cast

from .elementwise import common_power

__all__ = ["WITHOUT_64", "narrow_integers"]

WITHOUT_64 = ("top.Div", "top.FloorDiv", "top.BitwiseXor")
"""Ops that LiteRT has kernels of for 32 bits and for no more."""
_NARROWED = (*WITHOUT_64, "top.Pow", "top.ShiftRight")
"""Those, and ops of which that is so but where an operand is constant."""
_I32: Interval = (-(1 << 31), (1 << 31) - 1)
_PLACES: Interval = (0, 31)
_EXPONENTS: Interval = (0, _I32[1])


def narrow_integers(module: Module) -> bool:
    """Compute ops of `_NARROWED` in int32 whose operands and results lie there; whether there were any."""
    has_powers = _spell_out_powers(module)
    intervals = Intervals()
    found = [op for op in module.walk() if op.name in _NARROWED and _fits(op, intervals)]
    for op in found:
        _narrow(op)
    return bool(found) or has_powers


def _spell_out_powers(module: Module) -> bool:
    """Make products of powers of integers that POW may not give: it computes in f64, and cuts what lies beyond int32.

    Exponents have 32 bits for it, of which it must be known, or are constant: LiteRT divides no others, and of them the power is
    refused. Whether there were any.
    """
    intervals = Intervals()
    powers = [op for op in module.walk() if op.name == "top.Pow" and all(value.is_integer for value in op.operands)]
    beyond = [op for op in powers if op.operands[1].element == I64 != op.operands[0].element  # of i64 the target says it
              and not _is_known(op.operands[1], intervals)]
    refuse(merge_findings([Finding(
        op.name, "its exponents are integers of 64 bits, which LiteRT's POW does not take", (op.origin,) if op.origin else (),
        "cast them to int32 in the model, where they fit") for op in beyond]))
    found = [op for op in powers if _needs_products(op, intervals)]
    for op in found:
        base, exponent = op.operands
        most = intervals.of(exponent)[1]
        before = Builder(op.parent, before=op, location=op.location)  # type: ignore[arg-type]
        if constant_of(exponent) is None:
            exponent = _cast(before, exponent)
        op.replace_with([whole_power(before, base, exponent, max(int(most), 1).bit_length())])
    return bool(found)


def _is_known(exponent: Value, intervals: Intervals) -> bool:
    return constant_of(exponent) is not None or inside(intervals.of(exponent), _I32)


def _needs_products(op: Op, intervals: Intervals) -> bool:
    base, exponent = op.operands
    if not _is_known(exponent, intervals):
        return False
    held = constant_of(exponent)
    has_kernel = base.element == I32 or _fits(op, intervals) or (held is not None and held.splat_value() is not None)
    made = intervals.of(op.results[0])  # of products that the lowering makes by itself, which wrap round
    if common_power(op) is None:  # of what POW gives, which must not
        made, = result_intervals(op, [intervals.of(value) for value in op.operands])
    return not (has_kernel and inside(intervals.of(exponent), _EXPONENTS) and inside(made, _I32))


def _fits(op: Op, intervals: Intervals) -> bool:
    values = (*op.operands, *op.results)
    if any(value.element_or_none not in (I64, UI32, I32) for value in values) or op.results[0].element == I32:
        return False
    if op.name == "top.ShiftRight" and not inside(intervals.of(op.operands[1]), _PLACES):
        return False
    return all(inside(intervals.of(value), _I32) for value in values)


def _narrow(op: Op) -> None:
    """Make the op one of int32, and what it gives of the type that it was."""
    result = op.results[0]
    before = Builder(op.parent, before=op, location=op.location)  # type: ignore[arg-type]
    op.operands = tuple(_cast(before, value) for value in op.operands)
    users, wide = list(result.uses), result.tensor_type
    result.type = wide.with_element(I32)
    made = cast(Builder(op.parent, before=op.next, location=op.location), result, wide.element)  # type: ignore[arg-type]
    for user in users:
        user.operands = tuple(made if operand is result else operand for operand in user.operands)


def _cast(builder: Builder, value: Value) -> Value:
    return value if value.element == I32 else cast(builder, value, I32)
