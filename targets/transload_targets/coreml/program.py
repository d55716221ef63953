"""A module of the hub as calls of MIL, the language of Core ML's programs: plain data, which another process builds.

A call is the name of an operation, its arguments, and the numbers that its results get; an argument that is such a number is a
`Wire`. Source: https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F16, F32, FloatType, IntegerType, QuantType, Type, Value
from transload.ir.build import constant_of

__all__ = ["INT32", "Program", "Wire", "identifiers", "mil_type"]

INT32 = np.iinfo(np.int32)
"""The ends of the only integers that MIL computes in."""
_FLOATS = "convert the model of float32: without --quantize, where that made other floats of it"
_QUANTIZED = {"i8": "int8", "ui8": "uint8"}


@dataclass(frozen=True)
class Wire:
    """What an earlier call gave, by its number."""

    number: int

    def plain(self) -> dict[str, int]:
        return {"wire": self.number}


Argument = Any
"""A `Wire`, an array, a number, a text, or a list of these."""


@dataclass
class Program:
    """Calls in order, and the values of the module that they stand for."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    values: dict[Value, Argument] = field(default_factory=dict)
    count: int = 0

    def wire(self) -> Wire:
        self.count += 1
        return Wire(self.count - 1)

    def __call__(self, operation: str, results: int = 1, **arguments: Argument) -> Any:
        """A call; its result, or the list of them where it has several."""
        made = [self.wire() for _ in range(results)]
        self.calls.append({
            "operation": operation, "arguments": {name: _plain(value) for name, value in arguments.items() if value is not None},
            "results": [wire.number for wire in made]})
        return made[0] if results == 1 else made

    def of(self, value: Value) -> Argument:
        """What stands for a value: a constant array, as MIL holds it, or a wire."""
        if value not in self.values:
            held = constant_of(value)
            if held is None:
                raise Unsupported("what it takes is not computed here")
            self.values[value] = constant(held.numpy(), value.element)
        return self.values[value]

    def expect(self, wire: Argument, value: Value) -> None:
        """Let a value be a wire, and have the builder check its shape and type."""
        self.values[value] = wire
        if isinstance(wire, Wire):
            self.calls.append({
                "operation": "", "arguments": {"x": wire.plain()}, "results": [],
                "shape": list(value.static_shape), "type": mil_type(value.element)})


def mil_type(element: Type) -> str:
    """The name of an element type in MIL. `Unsupported` where it has none; integers of other widths are computed in int32."""
    if element == F32:
        return "fp32"
    if element == F16:
        return "fp16"
    if element == BOOL:
        return "bool"
    if isinstance(element, QuantType):
        name = _QUANTIZED.get(str(element.storage)) if element.per_tensor else None
        if name is None:
            raise Unsupported(f"Core ML has quantized numbers of 8 bits with one scale, not {element}",
                              "quantize to 8 bits, or leave the model float")
        return name
    if isinstance(element, IntegerType):
        return "int32"
    raise Unsupported(f"Core ML has no type {element}", _FLOATS if isinstance(element, FloatType) else "")


def constant(array: np.ndarray, element: Type) -> np.ndarray:
    """A constant's numbers in the type that MIL has for them; `Unsupported` for integers beyond 32 bits."""
    kind = mil_type(element) if not isinstance(element, QuantType) else str(element.storage)
    if kind != "int32":
        return np.asarray(array, order="C")
    if array.size and (array.min() < INT32.min or array.max() > INT32.max):
        clipped = np.clip(array, INT32.min, INT32.max)
        if not np.isin(array[array != clipped], (np.iinfo(np.int64).min, np.iinfo(np.int64).max)).all():
            raise Unsupported(f"Core ML's integers have 32 bits, and {int(array.flat[np.abs(array).argmax()])} does not fit")
        return clipped.astype(np.int32)
    return array.astype(np.int32)


def identifiers(names: Iterable[str]) -> Mapping[str, str]:
    """Names of a model's inputs and outputs as identifiers of Core ML, each another one."""
    made: dict[str, str] = {}
    for name in names:
        base = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        word, number = base, 2
        while word in made.values():
            word, number = f"{base}_{number}", number + 1
        made[name] = word
    return made


def _plain(value: Argument) -> Any:
    if isinstance(value, Wire):
        return value.plain()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


