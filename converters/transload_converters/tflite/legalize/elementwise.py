"""Arithmetic, comparison, logic and mathematical functions, element by element."""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import as_stored, emit_activated, emit_like, need_plain, static_shape

TABLE = RewriteTable()

_ARITHMETIC = {"tfl.add": "top.Add", "tfl.sub": "top.Sub", "tfl.mul": "top.Mul", "tfl.div": "top.Div"}
_BINARY = {
    "tfl.maximum": "top.Max", "tfl.minimum": "top.Min", "tfl.pow": "top.Pow", "tfl.floor_div": "top.FloorDiv",
    "tfl.floor_mod": "top.FloorMod", "tfl.squared_difference": "top.SquaredDifference", "tfl.atan2": "top.Atan2",
    "tfl.logical_and": "top.LogicalAnd", "tfl.logical_or": "top.LogicalOr",
}
_COMPARISONS = {
    "tfl.equal": "Equal", "tfl.not_equal": "NotEqual", "tfl.greater": "Greater", "tfl.greater_equal": "GreaterOrEqual",
    "tfl.less": "Less", "tfl.less_equal": "LessOrEqual",
}
_UNARY = {
    "tfl.abs": "top.Abs", "tfl.neg": "top.Neg", "tfl.exp": "top.Exp", "tfl.log": "top.Log", "tfl.sqrt": "top.Sqrt",
    "tfl.rsqrt": "top.Rsqrt", "tfl.square": "top.Square", "tfl.floor": "top.Floor", "tfl.ceil": "top.Ceil",
    "tfl.round": "top.Round", "tfl.sign": "top.Sign", "tfl.sin": "top.Sin", "tfl.cos": "top.Cos",
    "tfl.logical_not": "top.LogicalNot",
}


@TABLE(*_ARITHMETIC)
def arithmetic(op: Op, rw: Rewriter) -> Value:
    """ADD, SUB, MUL, DIV: with broadcast and a fused activation."""
    return emit_activated(rw, op, _ARITHMETIC[op.name], *op.operands)


@TABLE("tfl.add_n")
def add_n(op: Op, rw: Rewriter) -> Value:
    """ADD_N: the sum of all inputs."""
    return op.operands[0] if len(op.operands) == 1 else emit_like(rw, op, "top.Add", *op.operands)


@TABLE(*_BINARY)
def binary(op: Op, rw: Rewriter) -> Value:
    """MAXIMUM, MINIMUM, POW, FLOOR_DIV, FLOOR_MOD, SQUARED_DIFFERENCE, ATAN2, LOGICAL_AND, LOGICAL_OR."""
    return emit_like(rw, op, _BINARY[op.name], *op.operands)


@TABLE("tfl.bitwise_xor")
def bitwise_xor(op: Op, rw: Rewriter) -> Value:
    """BITWISE_XOR: of the bits of integers, or of booleans."""
    need_plain(op)
    name = "top.LogicalXor" if op.operands[0].element == BOOL else "top.BitwiseXor"
    return emit_like(rw, op, name, *op.operands)


@TABLE("tfl.right_shift")
def right_shift(op: Op, rw: Rewriter) -> Value:
    """RIGHT_SHIFT: keeps the sign."""
    need_plain(op)
    return emit_like(rw, op, "top.ShiftRight", *op.operands)


@TABLE(*_COMPARISONS)
def comparison(op: Op, rw: Rewriter) -> Value:
    """EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL."""
    return rw.emit("top.Compare", *op.operands, mode=_COMPARISONS[op.name])


@TABLE(*_UNARY)
def unary(op: Op, rw: Rewriter) -> Value:
    """ABS, NEG, EXP, LOG, SQRT, RSQRT, SQUARE, FLOOR, CEIL, ROUND, SIGN, SIN, COS, LOGICAL_NOT."""
    return emit_like(rw, op, _UNARY[op.name], *op.operands)


@TABLE("tfl.select_v2")
def select_v2(op: Op, rw: Rewriter) -> Value:
    """SELECT_V2: all three broadcast."""
    return _selected(op, rw, *op.operands)


def _selected(op: Op, rw: Rewriter, condition: Value, x: Value, y: Value) -> Value:
    element = op.results[0].element
    return emit_like(rw, op, "top.Where", condition, as_stored(rw, x, element), as_stored(rw, y, element))


@TABLE("tfl.select")
def select(op: Op, rw: Rewriter) -> Any:
    """SELECT: no broadcast, but that a vector (or scalar) condition chooses whole rows."""
    condition, x, y = op.operands
    rank = len(static_shape(x, "what to select"))
    chosen = static_shape(condition, "the condition")
    if len(chosen) == 1 and rank > 1:
        condition = rw.emit("top.Reshape", condition, shape=(chosen[0],) + (1,) * (rank - 1))
    elif len(chosen) not in (0, rank):
        raise Unsupported(f"a condition of rank {len(chosen)} does not choose among tensors of rank {rank}")
    return _selected(op, rw, condition, x, y)
