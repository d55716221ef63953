"""What is known of the borders of a module that was just read: whether integers without a sign are unsigned outside.

A dialect without signs (TOSA) keeps a model's unsigned bytes in `i8`. Text of ours notes it (`ir.borders`); of other files it
is found out by what works on the values, by facts of kind "signs", and by the report of the conversion that wrote the file, which
lies beside it. What nothing says is taken as signed, and that is noted for the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .analysis.movement import is_cast, moved, origins
from .artifact_set import REPORT
from .contents import dialects_in
from .digests import is_as_written
from .errors import TransloadError
from .files import is_file
from .ir import (
    IntegerType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    input_names,
    note_elements,
    noted_elements,
    output_names,
)
from .ir.borders import same_width, seen_as
from .ir.build import constant_of
from .json_text import of_json_text
from .plugin_host import host

__all__ = ["SIGNS", "note_borders", "unsaid"]

SIGNS = Callable
"""A fact of kind "signs": of an op, which operands it reads and which results it writes as unsigned, both by number."""

_REPORT_BYTES = 1 << 24
_WORD = 32
"""Bits of integers that are unsigned in few models, where the report or the model says so, and read as signed by every op."""


def note_borders(module: Module, model: Module | None = None) -> None:
    """Note what the arguments and results of a module's functions are outside, where their own types have no sign.

    What can be known of neither the file nor the report beside it is as in `model`, where it is given, whose inputs and outputs
    come in the same order; else it is said in the module's notes.
    """
    there = [function for function in module.functions.values() if function.regions[0].blocks]
    values = [value for function in there for block in function.regions[0].blocks[:1]
              for value in (*block.arguments, *block.terminator.operands)]
    if not any(map(_lacks_sign, values)) or not any(host().facts("signs").of_dialect(dialect) for dialect in dialects_in(module)):
        return
    if model is not None:
        said = [list(zip(of_module, of_model.values(), strict=False)) for of_module, of_model in (
            (module.inputs, model.inputs), (module.outputs, model.outputs))]
    else:
        said = _reported(module.source) if module.source is not None else [[], []]
    for function in there:
        block = function.regions[0].block
        noted, known = noted_elements(function), dict[Value, bool]()
        arguments = _Border("input", block.arguments, input_names(function), noted[0], said[0], _read_unsigned, known)
        results = _Border(
            "output", block.terminator.operands, output_names(function), noted[1], said[1], _written_unsigned, known)
        note_elements(function, arguments.elements, results.elements)
        if model is None:
            module.notes = (*module.notes, *arguments.unknown, *results.unknown)


def unsaid(function: Op) -> tuple[list[Type | None], list[Type | None]]:
    """The element types that are noted of a function's arguments and results, unsigned ones and those of fewer bits, and that its
    ops do not say; else None."""
    block, noted, known = function.regions[0].block, noted_elements(function), dict[Value, bool]()
    left: list[list[Type | None]] = []
    for values, elements, is_unsigned in (
            (block.arguments, noted[0], _read_unsigned), (block.terminator.operands, noted[1], _written_unsigned)):
        found = _Border("", values, [""] * len(values), [None] * len(values), [], is_unsigned, known).elements
        left.append([
            element if element != other and _lacks_sign(value) and seen_as(value.tensor_type.element, element) else None
            for value, element, other in zip(values, elements, found, strict=True)])
    return left[0], left[1]


class _Border:
    """One side of a function: the element types outside, as far as they are others, and what is not known, in words.

    `known` is whether values are unsigned, as far as that was said by their names, for those that are handed on under others.
    """

    def __init__(
        self, side: str, values: Iterable[Value], names: Iterable[str], noted: Iterable[Type | None],
        said: list[tuple[str, Type]], is_unsigned: Callable[[Value], bool | None], known: dict[Value, bool],
    ) -> None:
        self.elements: list[Type | None] = []
        self.unknown: list[str] = []
        for index, (value, name, element) in enumerate(zip(values, names, noted, strict=True)):
            if element is None and _lacks_sign(value):
                held = value.tensor_type.element
                unsigned = is_unsigned(value) if held.width < _WORD else None  # type: ignore[attr-defined]
                if unsigned is None and index < len(said) and said[index][0] == name:
                    unsigned = _is_unsigned(said[index][1], held)
                    if unsigned is not None:
                        known.update(dict.fromkeys(origins(value, by_value=False), unsigned))
                if unsigned is None:
                    handed_on = {known.get(origin) for origin in origins(value, by_value=False)}
                    unsigned = handed_on.pop() if len(handed_on) == 1 else None
                if unsigned:
                    element = IntegerType(held.width, "u")  # type: ignore[attr-defined]
                elif unsigned is None and held.width < _WORD:  # type: ignore[attr-defined]
                    self.unknown.append(
                        f"{side} {name!r} is {held}, and nothing says whether it is signed: it is taken as signed")
            self.elements.append(element)


def _is_unsigned(type_: Type, held: Type) -> bool | None:
    """Whether a type that is said of a tensor of `held` is unsigned; None where it cannot be the type of the same bits."""
    element = type_.element if isinstance(type_, TensorType) else None
    stored = element.storage if isinstance(element, QuantType) else element
    return stored.unsigned if isinstance(stored, IntegerType) and same_width(stored, held) else None


def _lacks_sign(value: Value) -> bool:
    """Whether a value is of integers that may be unsigned where its dialect does not say."""
    element = value.type.element if isinstance(value.type, TensorType) else None
    return isinstance(element, IntegerType) and element.width in (8, 16, _WORD) and not element.unsigned


def _read_unsigned(value: Value) -> bool | None:
    """Whether the first op that computes with a value reads its bits as an unsigned number; None where none does."""
    signs = host().facts("signs")
    pending, seen = [value], {value}
    found: bool | None = None
    while pending:
        each = pending.pop()
        for user in each.uses:
            fact = signs[user.name]
            if fact is not None and any(user.operands[index] is each for index in fact(user)[0]):
                return True
            if each in moved(user, by_value=False):
                pending.extend(result for result in user.results if result not in seen)
                seen.update(user.results)
            elif not _only_passes(user):
                found = False
    return found


def _written_unsigned(value: Value) -> bool | None:
    """Whether what computes a value writes it as an unsigned number; None where that cannot be told."""
    signs = host().facts("signs")
    found: bool | None = None
    for origin in origins(value, by_value=False):
        maker = origin.op
        if maker is None:
            unsigned = _read_unsigned(origin)
        elif constant_of(origin) is not None or is_cast(maker) or _only_passes(maker):
            continue  # the low bits of a number are the same with either sign
        else:
            fact = signs[maker.name]
            unsigned = fact is not None and any(maker.results[index] is origin for index in fact(maker)[1])
        if unsigned:
            return True
        found = found if unsigned is None else False
    return found


def _only_passes(op: Op) -> bool:
    """Whether an op hands values on to or from its regions, or out of its block."""
    return bool(op.regions) or (op.declaration is not None and "terminator" in op.declaration.traits)


def _reported(path: Path) -> list[list[tuple[str, Type]]]:
    """Names and types of inputs and of outputs, as the report beside a file says that the conversion made them."""
    from .text import parse_type

    try:
        beside = path.parent / REPORT
        if not is_file(beside) or beside.stat().st_size > _REPORT_BYTES:
            return [[], []]
        report: Any = of_json_text(beside.read_text(encoding="utf-8"))
        if not is_as_written(path.parent, report, path.name):
            return [[], []]
        return [[(entry["name"], parse_type(entry["type"])) for entry in report[side]] for side in ("inputs", "outputs")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, TransloadError):  # none, or damaged
        return [[], []]
