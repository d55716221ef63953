"""What of a module IREE cannot take: everything at once, under the names that the user knows.

Its compiler is asked, with the constants left out: it turns StableHLO into what it compiles, and stops at the first op that it
cannot. So when a module is refused, each of its ops is tried by itself (`transload.trials`). For tensors that end within a byte
it has no memory, unless what it makes of the ops around them needs none: where there are any, it is asked to compile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from transload.contents import STRUCTURE
from transload.errors import Finding, merge_findings
from transload.ir import IntegerType, Module, TensorType, dtype_of
from transload.ir.types import Type
from transload.text import print_module
from transload.trials import refused_ops, without_data

from .compiling import compiled, complaints

__all__ = ["findings_of", "findings_said"]

_LEGALIZE = re.compile(r"failed to legalize operation '([\w.]+)'")
_FOLLOWS = re.compile(r"failed to (run translation of source executable|serialize executables|translate executables)")
"""What is said of a program when one of its kernels cannot be compiled."""
_PART_OF_A_BYTE = re.compile(r"'[\w.]+' op failed to calculate total byte count: '(tensor<[^']*)'")
_OWN = re.compile(r"'[\w.]+' op ")
"""How MLIR begins what it says of an op that it made itself: of the model, or of a device, nothing is wrong."""
ELSEWHERE = "this version of its compiler fails at what it made of the model itself: --target xla-cpu runs the same StableHLO"
NO_MEMORY = "IREE's compiler has no memory for numbers of less than 8 bits that end within a byte"
WHOLE_BYTES = "make their count such that they fill bytes, or of 8 bits in the model: --target xla-cpu runs the same StableHLO"
_CARRIED = frozenset((
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16",
    "complex64", "complex128"))
"""Types of arrays that go into IREE's runtime and come out of it."""


def findings_of(module: Module, flags: Sequence[str]) -> list[Finding]:
    """Everything in a module of StableHLO that IREE's compiler does not take in."""
    foreign = [
        Finding(op.name, "is no operation of StableHLO", (op.origin,) if op.origin else (),
                "`transload coverage` says which conversions are there")
        for op in module.ops() if op.dialect not in ("stablehlo", *STRUCTURE)]
    if foreign:
        return merge_findings(foreign)
    block = module.body_of_main
    borders = [
        Finding(str(value.type), "is no type that IREE's runtime takes or gives", (value.name,) if value.name else ())
        for value in (*block.arguments, *block.terminator.operands) if not _crosses(value.type)]
    bare = without_data(module)
    said = complaints(_text(bare), flags)
    if not said:
        return merge_findings([*borders, *_without_memory(bare, flags)])
    found = [
        Finding(op.name, why, (op.origin,) if op.origin else ())
        for op, why in refused_ops(bare, lambda alone: _reason(complaints(_text(alone), flags)))]
    return merge_findings([*borders, *(found or findings_said(said))])


def _without_memory(bare: Module, flags: Sequence[str]) -> list[Finding]:
    """The tensors that end within a byte and that IREE's compiler has no memory for."""
    if not any(_ends_within_a_byte(value.type) for op in bare.walk() for value in op.results):
        return []
    return [each for each in findings_said(compiled(_text(bare), flags)[1]) if each.why == NO_MEMORY]


def findings_said(said: Sequence[Sequence[Any]], device: str = "") -> list[Finding]:
    """The compiler's complaints as findings: what only follows from others is left out.

    `device` is what to do about what this device has not. What the compiler stumbles over by itself, another would not mend.
    """
    told = dict.fromkeys((message, tuple(names)) for message, names in said)  # some are told for each device and step
    own = [each for each in told if not _FOLLOWS.match(each[0])] or told
    return merge_findings([_finding(message, names, device) for message, names in own])


def _finding(message: str, names: tuple[str, ...], device: str) -> Finding:
    if part := _PART_OF_A_BYTE.match(message):
        return Finding(part[1], NO_MEMORY, names, WHOLE_BYTES)
    refused = _LEGALIZE.match(message)
    if refused and refused[1].startswith("stablehlo."):
        return Finding(refused[1], "IREE's compiler has no way for it", names, ELSEWHERE)
    if refused:
        return Finding("a kernel", f"IREE has no {refused[1]} on this device", names, device)
    hint = ELSEWHERE if _OWN.match(message) else device
    return Finding("the program", f"IREE's compiler says: {_first_line(message)}", names, hint)


def _reason(said: Sequence[Sequence[Any]]) -> str | None:
    """Why one op was refused; None where it was not."""
    if not said:
        return None
    message = said[0][0]
    return "IREE's compiler has no way for it" if _LEGALIZE.match(message) else f"IREE's compiler says: {_first_line(message)}"


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "nothing")[:200]


def _text(module: Module) -> bytes:
    return print_module(module).encode()


def _ends_within_a_byte(type_: Type) -> bool:
    """Whether several integers of less than 8 bits end within a byte."""
    if not isinstance(type_, TensorType) or not isinstance(type_.element, IntegerType) or not 1 < type_.element.width < 8:
        return False
    return type_.is_static and type_.num_elements > 1 and type_.num_elements * type_.element.width % 8 > 0


def _crosses(type_: Type) -> bool:
    if not isinstance(type_, TensorType):
        return False
    try:
        return dtype_of(type_.element).name in _CARRIED
    except ValueError:
        return False
