"""From a block of ops to the buffers that its values need, run in its order."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.memory import bytes_of
from ..errors import UsageError
from ..ir import Block, Op, Value
from ..ir.build import constant_of
from .buffers import Buffer

__all__ = ["buffers_of"]


def buffers_of(
    block: Block, *, size: Callable[[Value], int] | None = None, in_place: Callable[[Op], Value | None] | None = None,
    arguments: bool = True,
) -> list[Buffer]:
    """The buffers of a block's values, named by the values: step `i` is the op number `i`.

    A value is alive from the op that makes it until after the last op that reads it, in regions too; arguments from step 0,
    what the block gives out until its end. Constants lie elsewhere and are left out, with `arguments=False` arguments, too.
    `size` says how many bytes a value needs (without it, those of its type as arrays hold them, 0 of unknown shapes), and
    `in_place(op)` which operand an op may overwrite with its first result, None for none: that is done where the operand dies
    with the op and has as many bytes.
    """
    if not isinstance(block, Block):
        raise UsageError(f"buffers_of() takes a block of ops, and was given {type(block).__name__}",
                         hint="of a module that is module.main.regions[0].block")
    ops = list(block)
    last: dict[Value, int] = {}
    for step, op in enumerate(ops):
        for inner in op.walk():
            for value in inner.operands:
                last[value] = step
    measure = size if size is not None else _bytes
    found: dict[Value, Buffer] = {}
    if arguments:
        for argument in block.arguments:
            found[argument] = Buffer(argument, 0, last.get(argument, 0) + 1, measure(argument))
    for step, op in enumerate(ops):
        over = in_place(op) if in_place is not None and op.results else None
        for number, result in enumerate(op.results):
            if constant_of(result) is not None:
                continue
            place = None
            if number == 0 and over in found and last[over] == step and found[over].size == measure(result):
                place = over
            found[result] = Buffer(result, step, last.get(result, step) + 1, measure(result), shares=place)
    return list(found.values())


def _bytes(value: Value) -> int:
    return bytes_of([value.type])
