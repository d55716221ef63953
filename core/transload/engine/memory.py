"""How much memory the values of a function take when each is dropped after its last use."""

from __future__ import annotations

import math

from ..ir import Block, TensorType, Value, dtype_of
from ..ir.build import constant_of

__all__ = ["peak_bytes"]


def peak_bytes(block: Block) -> int:
    """The most bytes that the values of a block hold at one time, run in its order; constants aside.

    Arguments and results count, sizes that are not known do not. An op's results are there before its operands go.
    """
    last: dict[Value, int] = {}
    for step, op in enumerate(block):
        for inner in op.walk():
            for value in inner.operands:
                last[value] = step
    live = sum(_bytes(argument) for argument in block.arguments)
    peak = live
    dying: dict[int, list[Value]] = {}
    for value, step in last.items():
        dying.setdefault(step, []).append(value)
    terminator = block.terminator
    kept = set(terminator.operands)
    counted = set(block.arguments)
    for step, op in enumerate(block):
        made = [result for result in op.results if constant_of(result) is None]
        live += sum(map(_bytes, made))
        peak = max(peak, live)
        counted.update(made)
        for value in (*dying.get(step, ()), *(result for result in made if result not in last)):
            if value in counted and value not in kept:
                counted.discard(value)
                live -= _bytes(value)
    return peak


def _bytes(value: Value) -> int:
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.is_static:
        return 0
    return math.prod(size or 0 for size in type_.shape or ()) * dtype_of(type_.element).itemsize
