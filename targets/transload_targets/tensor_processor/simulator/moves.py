"""What the moving queue does: elements go from one memory to another, as they are.

`load` (global to local), `store` (local to global) and `copy` (within either) put the elements of their input, in row-major
order, to those of their output; of several inputs each to its output, one pair after the other. A copy with an `order` takes the
dimensions of its inputs in that order. `fill` puts one value everywhere.
`gather` takes parts [.., K, ..] of a tensor [.., A, ..] by K indices: negative ones count from the end, and one beyond is moved
to it.
The `barrier` moves nothing: one ends when the same barrier, in the order of the queue, has started on all cores.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ..instructions import Global, Instruction, Local

__all__ = ["BARRIER", "FILL", "GATHER", "MOVES", "ORDER", "Move", "is_barrier", "is_move", "wrong_with"]

BARRIER, FILL, GATHER, ORDER = "barrier", "fill", "gather", "order"
INDICES = ("int32", "int64")
"""What indices may be."""


class Move(NamedTuple):
    """One move: which memories its inputs and outputs may lie in, and which attributes it has."""

    name: str
    doc: str
    sources: tuple[tuple[type, ...], ...]
    destinations: tuple[tuple[type, ...], ...]
    attributes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


MOVES: dict[str, Move] = {move.name: move for move in (
    Move("load", "from global memory to the lanes", ((Global,),), ((Local,),)),
    Move("store", "from the lanes to global memory", ((Local,),), ((Global,),)),
    Move("copy", "within global memory or within the lanes", ((Local, Global),), ((Local, Global),), (), (ORDER,)),
    Move(FILL, "one value, `value`, in all elements", (), ((Local, Global),), ("value",)),
    Move(GATHER, "parts of a tensor in global memory by indices, which lie there, too", ((Global,), (Global,)), ((Global,),)),
    Move(BARRIER, "waits until all cores have come to it", (), ()),
)}


def is_move(instruction: Instruction) -> bool:
    """Whether an instruction is a move; in the other queue, its name would be that of an operation."""
    return instruction.queue == "dma" and instruction.operation in MOVES


def is_barrier(instruction: Instruction) -> bool:
    """Whether an instruction is a barrier."""
    return instruction.queue == "dma" and instruction.operation == BARRIER


def wrong_with(instruction: Instruction) -> str:
    """Why an instruction is no such move as its name says; nothing where it is one."""
    move = MOVES[instruction.operation]
    counts = len(instruction.inputs), len(instruction.outputs)
    pairs = counts[0] if move.sources and move.destinations and counts[0] == counts[1] else 1
    if not pairs or counts != (pairs * len(move.sources), pairs * len(move.destinations)):
        each = " for each other" if move.sources and move.destinations else ""
        return f"has {counts[0]} inputs and {counts[1]} outputs, not {len(move.sources)} and {len(move.destinations)}{each}"
    kinds = (*zip(instruction.inputs, move.sources * pairs, strict=True),
             *zip(instruction.outputs, move.destinations * pairs, strict=True))
    if any(not isinstance(operand, allowed) for operand, allowed in kinds):
        return f"its operands lie in the wrong memory: it moves {move.doc}"
    if sorted(set(instruction.attributes) - set(move.optional)) != sorted(move.attributes):
        return f"has attributes {', '.join(instruction.attributes) or 'none'}, not {', '.join(move.attributes) or 'none'}"
    return _wrong_elements(instruction)


def _wrong_elements(instruction: Instruction) -> str:
    if instruction.operation == FILL:
        value = instruction.attributes["value"]
        return "" if isinstance(value, (bool, int, float)) else f"its value {value!r} is no number"
    if instruction.operation == GATHER:
        return _wrong_gather(instruction)
    order = instruction.attributes.get(ORDER)
    for source, destination in zip(instruction.inputs, instruction.outputs, strict=True):
        if source is None:
            return "its input is left out"
        if order is not None and not _is_order(order, len(source.shape)):
            return f"its order {order!r:.60} is none of {len(source.shape)} dimensions"
        if source.dtype != destination.dtype:
            return f"moves {source.dtype} to {destination.dtype}, and changes no types"
        if prod(source.shape) != prod(destination.shape):
            return f"moves {prod(source.shape):,} elements to {prod(destination.shape):,}"
        if instruction.operation == "copy" and type(source) is not type(destination):
            return "its operands lie in different memories: that is a load or a store"
    return ""


def _is_order(order: object, rank: int) -> bool:
    return isinstance(order, tuple) and all(isinstance(each, int) for each in order) and sorted(order) == list(range(rank))


def _wrong_gather(instruction: Instruction) -> str:
    source, indices = instruction.inputs
    (made,) = instruction.outputs
    if source is None or indices is None:
        return "its input is left out"
    if indices.dtype not in INDICES:
        return f"its indices are {indices.dtype}, not {' or '.join(INDICES)}"
    if source.dtype != made.dtype:
        return f"moves {source.dtype} to {made.dtype}, and changes no types"
    wanted = (*source.shape[:1], *indices.shape, *source.shape[2:])
    if len(source.shape) != 3 or len(indices.shape) != 1 or made.shape != wanted or not (source.shape[1] or not indices.shape[0]):
        return f"takes parts of {list(source.shape)} by {list(indices.shape)} indices, which are not {list(made.shape)}"
    return ""
