"""What Core ML's programs compute, as coremltools knows it: Core ML itself runs on Apple's systems alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.analysis.intervals import Intervals
from transload.errors import Unsupported
from transload.ir import Module
from transload_targets.coreml.check import _emitted, _wrapping
from transload_targets.coreml.program import Program, Wire, constant
from transload_targets.coreml.runtime import _called

__all__ = ["folded"]


def folded(module: Module, arrays: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """What coremltools says the program gives of constants; None where it does not say.

    `Unsupported` where there is no program.
    """
    from coremltools import target
    from coremltools.converters.mil.mil import Builder, Function, types

    program, intervals = Program(), Intervals()
    block = module.body_of_main
    program.values.update(
        (value, constant(array, value.element)) for value, array in zip(block.arguments, arrays, strict=True))
    for op in block:
        if op is block.terminator or op.name in ("top.Weight", "top.None"):
            continue
        why = _emitted(op, program) or _wrapping(op, intervals)
        if why is not None:
            raise why
    wires: dict[int, Any] = {}
    with Function({"unused": Builder.placeholder([1])}, opset_version=target.iOS17):
        for call in program.calls:
            try:
                _called(Builder, types, call, wires)
            except Exception as error:
                raise Unsupported(f"coremltools says: {error}") from error
    made = [program.values[value] for value in block.terminator.operands]
    known = [wires[each.number].val if isinstance(each, Wire) else each for each in made]
    return [None if each is None else np.asarray(each) for each in known]
