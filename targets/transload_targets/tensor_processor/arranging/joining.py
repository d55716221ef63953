"""Moves behind elementwise ops, where what they give is joined or given out.

What is computed is stored right where a move and a join would put it, by strides. So a move costs nothing between an op that
computes and a join; in front of a last elementwise op it is a copy in the lanes, for which computing waits.
"""

from __future__ import annotations

from transload.ir import Block, Op, TensorType, Value
from transload.ir.build import Builder, constant_of

from ..chip import Chip
from .values import bits_of, by_channel, elements_of, is_elementwise, is_move

__all__ = ["is_joined", "join_late"]

_MOVES = ("tpu.reshape", "tpu.permute")


def join_late(block: Block, chip: Chip) -> bool:
    """Put moves behind elementwise ops of one tensor that make nothing wider of it, and whose results are joined or given out."""
    changed = False
    for op in list(block):
        if not is_elementwise(op) or elements_of(op) != 1 or not _is_last(op.results[0]) or by_channel(op.results[0]):
            continue
        source, (result,) = op.operands[0], op.results
        moves = _before(source)
        first = moves[0].operands[0] if moves else source
        if first.op is None or constant_of(first) is not None or by_channel(first) or bits_of(result) > bits_of(source):
            continue
        if moves:
            _put_behind(moves, op, block)
            changed = True
    return changed


def is_joined(value: Value) -> bool:
    """Whether a tensor, or what moves make of it alone, is only joined or given out."""
    while len(value.uses) == 1 and next(iter(value.uses)).name in _MOVES:
        value = next(iter(value.uses)).results[0]
    return _is_last(value)


def _is_last(value: Value) -> bool:
    return bool(value.uses) and all(user.name in ("tpu.concat", "func.return") for user in value.uses)


def _before(value: Value) -> list[Op]:
    """The moves that make a tensor, the first one first; none whose result others read, too."""
    found: list[Op] = []
    while value.op is not None and value.op.name in _MOVES and is_move(value.op) and len(value.uses) == 1:
        found.insert(0, value.op)
        value = value.op.operands[0]
    return found


def _put_behind(moves: list[Op], op: Op, block: Block) -> None:
    build = Builder(block, op, op.location)
    first, (result,) = moves[0].operands[0], op.results
    made = Op(op.name, [first, *op.operands[1:]], [TensorType(first.static_shape, result.element)], op.attributes.copy(), (),
              op.location)
    block.insert(made, op)
    moved = made.results[0]
    for move in moves:
        moved = build.emit(move.name, moved, **move.attributes)
    result.replace_all_uses_with(moved)
