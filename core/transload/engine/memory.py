"""How much memory the values of a function take when each is dropped after its last use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

from ..errors import Unfit
from ..ir import Block, NoneType, TensorType, Type, Value, dtype_of
from ..ir.build import constant_of

__all__ = ["bytes_of", "machine_bytes", "peak_bytes"]


def machine_bytes() -> int:
    """The memory of this machine; what no run can take is told beforehand, as foreign code ends the process for want of it."""
    if not hasattr(os, "sysconf"):  # Windows says it otherwise
        return 1 << 62
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def bytes_of(types: Iterable[Type]) -> int:
    """The bytes of tensors of these types, those of unknown sizes, and of elements that no array holds, left out."""
    return sum(map(_type_bytes, types))


def peak_bytes(block: Block, *, once: bool = False) -> int:
    """The most bytes that the values of a block hold at one time, run in its order; constants aside.

    Arguments and results count, sizes that are not known do not. An op's results are there before its operands go. With `once`,
    what is computed of constants alone stays: runtimes compute it when they load a model, and hold it from then on.
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
    kept = {*terminator.operands, *(_computed_of_constants(block) if once else ())}
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


def _computed_of_constants(block: Block) -> set[Value]:
    """The values of a block that no argument decides."""
    computed: set[Value] = set()

    def is_known(value: Value) -> bool:
        return value in computed or constant_of(value) is not None or isinstance(value.type, NoneType)

    for op in block:
        if op.operands and not op.regions and all(map(is_known, op.operands)):
            computed.update(op.results)
    return computed


def _bytes(value: Value) -> int:
    return _type_bytes(value.type)


def _type_bytes(type_: Type) -> int:
    if not isinstance(type_, TensorType) or not type_.is_static:
        return 0
    try:
        size = dtype_of(type_.element).itemsize
    except Unfit:  # text, and other elements that no array holds
        return 0
    return math.prod(count or 0 for count in type_.shape or ()) * size
