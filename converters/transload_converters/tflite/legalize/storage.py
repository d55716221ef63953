"""Operators whose kernels work on stored numbers, whatever the file says they mean.

LiteRT's kernels that move, choose or compare numbers seldom look at scales: they copy what is stored, also into a result
of another scale. Others were made for plain integers and take quantized ones for such. To get the same bits, a rule is
marked:

- `moves_stored`: quantized operands are read with the type of the result;
- `plain_integers`: quantized operands are read as plain integers, and the plain result with the type of the file's;
- `any_scale`: plain integers of 8 and 16 bits are read as quantized ones, by a scale of 1.

Source: the kernels in `tensorflow/lite/kernels`; that they do so is what the cases with other scales in the tests show.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import F32, I8, I16, UI8, IntegerType, Op, QuantType, TensorType, Type, Value
from transload.rewrite import Rewriter

__all__ = ["any_scale", "applied", "moves_stored", "plain_integers", "read_as", "stored_type"]

Rule = Callable[[Op, Rewriter], Any]


def read_as(rw: Rewriter, value: Value, element: Type) -> Value:
    """The stored numbers of a value as those of another type with the same storage; `value` itself where there is none."""
    if _element(value) == element or stored_type(_element(value)) != stored_type(element):
        return value
    return rw.emit("top.Bitcast", value, element=element)


def stored_type(element: Type) -> Type:
    """The type in which numbers are stored."""
    return element.storage if isinstance(element, QuantType) else element


def moves_stored(rule: Rule) -> Rule:
    """Make a rule read quantized operands, stored as the (first) result is, with that result's type."""

    @functools.wraps(rule)
    def marked(op: Op, rw: Rewriter) -> Any:
        made = _element(op.results[0]) if op.results else None
        if not isinstance(made, QuantType):
            return rule(op, rw)
        operands = [_quantized_as(rw, operand, made) for operand in op.operands]
        return rule(op, rw) if operands == list(op.operands) else applied(rule, op, rw, operands, None)

    return marked


def plain_integers(rule: Rule) -> Rule:
    """Make a rule read quantized operands as plain integers, and compute a plain result that is read as a quantized one."""

    @functools.wraps(rule)
    def marked(op: Op, rw: Rewriter) -> Any:
        if not op.results:
            return rule(op, rw)
        operands = [read_as(rw, operand, stored_type(_element(operand))) for operand in op.operands]
        result = _element(op.results[0])
        if operands == list(op.operands) and not isinstance(result, QuantType):
            return rule(op, rw)
        return read_as(rw, applied(rule, op, rw, operands, stored_type(result)), result)

    return marked


def any_scale(rule: Rule) -> Rule:
    """Make a rule read plain integers of 8 and 16 bits as quantized ones, where LiteRT's kernel is the same for both."""

    @functools.wraps(rule)
    def marked(op: Op, rw: Rewriter) -> Any:
        stored = _element(op.results[0])
        if not isinstance(stored, IntegerType) or stored not in (I8, UI8, I16):
            return rule(op, rw)
        if op.attributes.get("fused_activation_function", "NONE") != "NONE":
            raise Unsupported("a fused activation of integers that have no scale: LiteRT's kernel divides by one of 0")
        element = QuantType(stored, F32, (1.0,), (0,))
        operands = [read_as(rw, operand, element) if operand.element == stored else operand for operand in op.operands]
        return read_as(rw, applied(rule, op, rw, operands, element), stored)

    return marked


def _element(value: Value) -> Type:
    return value.element if isinstance(value.type, TensorType) else value.type


def _quantized_as(rw: Rewriter, value: Value, element: QuantType) -> Value:
    return read_as(rw, value, element) if isinstance(_element(value), QuantType) else value


def applied(rule: Rule, op: Op, rw: Rewriter, operands: Sequence[Value], element: Type | None) -> Any:
    """What a rule makes of an op like `op`, of other operands and with a result of another element type."""
    types = [result.type for result in op.results]
    if element is not None:
        types[0] = types[0].with_element(element)  # type: ignore[attr-defined]
    other = Op(op.name, operands, types, op.attributes, (), op.location)
    try:
        return rule(other, rw)
    finally:
        other.drop_references()
