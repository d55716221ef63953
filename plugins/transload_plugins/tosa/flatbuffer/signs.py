"""What a `.tosa` file says of signs after its flatbuffer, where no op says it.

TOSA's integers have no sign, and eight bits at least. Ops that read or write bytes as unsigned numbers say most of what a model
takes and gives; of an input that nothing reads, of a constant that is given, of 32 bits, and of fewer than eight none does. Then
a line of JSON follows the flatbuffer, which who reads that alone does not see: `{"inputs": {"0": "ui8"}, "outputs": {}}`,
by place, and behind it `_END`.
"""

from __future__ import annotations

import json
from typing import Any

from transload.borders import unsaid
from transload.ir import IntegerType, Op, note_elements, noted_elements
from transload.ir.borders import seen_as

__all__ = ["note_signs", "signs_after"]

_END = b"\ntransload.element\n"
_ELEMENTS = {str(element): element for element in (
    *(IntegerType(width, "u") for width in (2, 4, 8, 16, 32, 64)), *map(IntegerType, (2, 4)))}
_MOST = 1 << 20
"""Bytes that are looked at: names of types, a few each."""


def signs_after(function: Op) -> bytes:
    """What follows the flatbuffer of a function: nothing, where its ops say all that there is to say."""
    sides = {side: {str(place): str(element) for place, element in enumerate(elements) if element is not None}
             for side, elements in zip(("inputs", "outputs"), unsaid(function), strict=True)}
    return b"\n" + json.dumps(sides).encode() + _END if any(sides.values()) else b""


def note_signs(function: Op, data: Any) -> None:
    """Note of a function what follows the flatbuffer in a file's bytes; nothing where that fits no border of it."""
    tail = bytes(data[-_MOST:])
    if not tail.endswith(_END):
        return
    line = tail[:-len(_END)].rpartition(b"\n")[2]
    block = function.regions[0].block
    inputs, outputs = noted_elements(function)
    try:
        said = json.loads(line)
        for side, values, elements in (("inputs", block.arguments, inputs), ("outputs", block.terminator.operands, outputs)):
            for place, text in said[side].items():
                if seen_as(values[int(place)].element_or_none, _ELEMENTS[text]) is not None:
                    elements[int(place)] = _ELEMENTS[text]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):  # bytes of something else
        return
    note_elements(function, inputs, outputs)
