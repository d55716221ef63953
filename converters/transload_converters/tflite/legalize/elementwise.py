"""Arithmetic, comparison, logic and mathematical functions, element by element."""

from __future__ import annotations

import math
from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, I16, IntegerType, Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import emit_activated, emit_like, scalar, static_shape
from .powers_of_two import shifted_operands
from .storage import moves_stored, plain_integers, read_as

TABLE = RewriteTable()

_ARITHMETIC = {"tfl.add": "top.Add", "tfl.sub": "top.Sub", "tfl.mul": "top.Mul", "tfl.div": "top.Div"}
_BINARY = {
    "tfl.pow": "top.Pow", "tfl.squared_difference": "top.SquaredDifference", "tfl.atan2": "top.Atan2",
    "tfl.logical_and": "top.LogicalAnd", "tfl.logical_or": "top.LogicalOr",
}
_EXTREMES = {"tfl.maximum": "top.Max", "tfl.minimum": "top.Min"}
_FLOORED = {"tfl.floor_div": "top.FloorDiv", "tfl.floor_mod": "top.FloorMod"}
_COMPARISONS = {
    "tfl.equal": "Equal", "tfl.not_equal": "NotEqual", "tfl.greater": "Greater", "tfl.greater_equal": "GreaterOrEqual",
    "tfl.less": "Less", "tfl.less_equal": "LessOrEqual",
}
_MOST_STEPS = 2.0**60
"""How many steps of the result a step of an operand may be: beyond, LiteRT's kernels shift by more bits than there are."""
_UNARY = {
    "tfl.abs": "top.Abs", "tfl.exp": "top.Exp", "tfl.log": "top.Log", "tfl.sqrt": "top.Sqrt",
    "tfl.rsqrt": "top.Rsqrt", "tfl.square": "top.Square", "tfl.floor": "top.Floor", "tfl.ceil": "top.Ceil",
    "tfl.round": "top.Round", "tfl.sign": "top.Sign", "tfl.sin": "top.Sin", "tfl.cos": "top.Cos",
    "tfl.logical_not": "top.LogicalNot",
}


@TABLE(*_ARITHMETIC)
def arithmetic(op: Op, rw: Rewriter) -> Value:
    """ADD, SUB, MUL, DIV: with broadcast and a fused activation; of 16 bits by powers of two, operands are rounded first."""
    made, given = op.results[0].quant, [operand.quant for operand in op.operands]
    if made is not None and any(held is not None and held.scale > made.scale * _MOST_STEPS for held in given):
        raise Unsupported(f"a step of an operand is more than {_MOST_STEPS:.0e} of the result's: LiteRT cannot count them")
    return emit_activated(rw, op, _ARITHMETIC[op.name], *(shifted_operands(op, rw) or op.operands))


@TABLE("tfl.add_n")
def add_n(op: Op, rw: Rewriter) -> Value:
    """ADD_N: the sum of all inputs."""
    return op.operands[0] if len(op.operands) == 1 else emit_like(rw, op, "top.Add", *op.operands)


@TABLE(*_BINARY)
def binary(op: Op, rw: Rewriter) -> Value:
    """POW, SQUARED_DIFFERENCE, ATAN2, LOGICAL_AND, LOGICAL_OR; the kernel of ATAN2 alone does not broadcast."""
    if op.name == "tfl.atan2" and op.operands[0].known_shape != op.operands[1].known_shape:
        raise Unsupported("its operands are of unlike shapes, and LiteRT reads beyond the end of the smaller one")
    return emit_like(rw, op, _BINARY[op.name], *op.operands)


@TABLE(*_EXTREMES)
@moves_stored
def extreme(op: Op, rw: Rewriter) -> Value:
    """MAXIMUM, MINIMUM: of stored numbers."""
    return emit_like(rw, op, _EXTREMES[op.name], *op.operands)


@TABLE(*_FLOORED)
@plain_integers
def floored(op: Op, rw: Rewriter) -> Value:
    """FLOOR_DIV, FLOOR_MOD: of integers as they are stored; FLOOR_DIV divides floats in f64."""
    exact = op.name == "tfl.floor_div" and op.operands[0].is_float
    return emit_like(rw, op, _FLOORED[op.name], *op.operands, **({"quotient": "exact"} if exact else {}))


@TABLE("tfl.bitwise_xor")
@plain_integers
def bitwise_xor(op: Op, rw: Rewriter) -> Value:
    """BITWISE_XOR: of the bits of integers as they are stored, or of booleans."""
    name = "top.LogicalXor" if op.operands[0].element == BOOL else "top.BitwiseXor"
    return emit_like(rw, op, name, *op.operands)


@TABLE("tfl.right_shift")
@plain_integers
def right_shift(op: Op, rw: Rewriter) -> Value:
    """RIGHT_SHIFT: of integers as they are stored; keeps the sign. By the width and more is by one less than the width."""
    value, places = op.operands
    element = value.element
    if isinstance(element, IntegerType) and element.unsigned:
        places = rw.emit("top.Min", places, scalar(rw, element.width - 1, element))
    return emit_like(rw, op, "top.ShiftRight", value, places)


@TABLE(*_COMPARISONS)
def comparison(op: Op, rw: Rewriter) -> Value:
    """EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL: of real numbers.

    Which of two 16-bit numbers is greater, LiteRT finds by what is stored.
    """
    operands = op.operands if op.name in ("tfl.equal", "tfl.not_equal") else [read_as(rw, value, I16) for value in op.operands]
    return rw.emit("top.Compare", *operands, mode=_COMPARISONS[op.name])


@TABLE(*_UNARY)
def unary(op: Op, rw: Rewriter) -> Value:
    """ABS, EXP, LOG, SQRT, RSQRT, SQUARE, FLOOR, CEIL, ROUND, SIGN, SIN, COS, LOGICAL_NOT."""
    return emit_like(rw, op, _UNARY[op.name], *op.operands)


@TABLE("tfl.neg")
@plain_integers
def neg(op: Op, rw: Rewriter) -> Value:
    """NEG: of integers as they are stored; the least one stays."""
    return emit_like(rw, op, "top.Neg", op.operands[0])


@TABLE("tfl.select_v2")
@moves_stored
def select_v2(op: Op, rw: Rewriter) -> Value:
    """SELECT_V2: all three broadcast."""
    return emit_like(rw, op, "top.Where", *op.operands)


@TABLE("tfl.select")
@moves_stored
def select(op: Op, rw: Rewriter) -> Any:
    """SELECT: no broadcast, but that a vector (or scalar) condition chooses whole rows, and one of one element scalars."""
    condition, x, y = op.operands
    rank = len(static_shape(x, "what to select"))
    chosen = static_shape(condition, "the condition")
    if len(chosen) == 1 and rank > 1:
        condition = rw.emit("top.Reshape", condition, shape=(chosen[0],) + (1,) * (rank - 1))
    elif chosen and rank == 0 and math.prod(chosen) == 1:
        condition = rw.emit("top.Reshape", condition, shape=())
    elif len(chosen) not in (0, rank):
        raise Unsupported(f"a condition of rank {len(chosen)} does not choose among tensors of rank {rank}")
    return emit_like(rw, op, "top.Where", condition, x, y)
