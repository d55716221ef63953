"""A module as the page draws it: ops and values as plain data, with constants apart.

Constants are no nodes: an op lists those that it takes. Every other op is a node, those in regions, too, which lie in a group of
the op that has the regions. Groups are the parts of names: `block1/conv/Relu` lies in `conv`, which lies in `block1`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from transload.engine.memory import bytes_of
from transload.errors import TransloadError
from transload.ir import Dense, Module, NoneType, Op, QuantType, TensorType, Type, Value
from transload.ir.attributes import Attribute
from transload.ir.build import constant_of
from transload.text.attribute_text import AttributeFormatter

from .constants import Constants

__all__ = ["Graph", "group_of"]

LONGEST = 400
"""Characters of an attribute's or a type's text that the page is given."""
DEEPEST = 8
"""Groups in groups."""
_CUT = re.compile(r"[/]|\.(?=[A-Za-z_0-9])|::")
"""Where names are cut into groups: `a/b`, `layer1.0.conv`."""


class Graph:
    """What the page is told of one module, and which op stands at which place there."""

    def __init__(self, module: Module, constants: Constants) -> None:
        self.constants = constants
        self.ops: list[Op] = []
        self.places: dict[Op, int] = {}
        self._values: dict[Value, int] = {}
        self._types: dict[str, int] = {}
        self._told: dict[str, Any] = {"ops": [], "values": [], "types": [], "inputs": [], "outputs": []}
        functions = {name: function for name, function in module.functions.items() if function.regions[0].blocks}
        for name, function in functions.items():
            self._function(function, [] if len(functions) == 1 else [name])

    def plain(self) -> dict[str, Any]:
        """As JSON has it: ops with the numbers of the values that they take and give."""
        return self._told

    def _function(self, function: Op, group: list[str]) -> None:
        block = function.regions[0].block
        self._told["inputs"] += [self._value(argument) for argument in block.arguments]
        split: Counter[str | None] = Counter(op.origin for op in function.walk() if op.origin)
        for op in block:
            self._op(op, group, split)
        if block.last is not None and not block.last.results:
            self._told["outputs"] += [self._value(value) for value in block.last.operands]

    def _op(self, op: Op, group: list[str], split: Counter[str | None]) -> None:
        if not op.results and op.name in ("func.return", "builtin.unrealized_conversion_cast"):
            return
        if op.results and all(constant_of(result) is not None or isinstance(result.type, NoneType) for result in op.results):
            return  # constants, and what stands for an operand that is not there
        place = self.places[op] = len(self.ops)
        self.ops.append(op)
        name = (op.results[0].name if op.results else None) or op.origin or ""
        mine = [*group, *group_of(name, split[op.origin] > 1 or bool(op.regions))]
        self._told["ops"].append({
            "op": op.name, "name": name, "group": mine, "in": [self._value(value) for value in op.operands],
            "out": [self._value(value, place) for value in op.results],
            "attributes": [[key, _text(value)] for key, value in op.attributes.items()],
            **({"part": True} if op.results and not op.results[0].name else {})})
        for index, region in enumerate(op.regions):
            for block in region.blocks:
                inner = [*mine, f"region {index}"] if len(op.regions) > 1 else mine
                for argument in block.arguments:
                    self._value(argument)
                for each in block:
                    self._op(each, inner, split)

    def _value(self, value: Value, made_by: int | None = None) -> int:
        known = self._values.get(value)
        if known is not None:
            if made_by is not None:
                self._told["values"][known]["by"] = made_by
            return known
        known = self._values[value] = len(self._values)
        told: dict[str, Any] = {"type": self._type(value.type)}
        dense = constant_of(value)
        if value.name:
            told["name"] = value.name
        if dense is not None:
            told["constant"] = self.constants.place(dense)
        elif made_by is not None:
            told["by"] = made_by
        size = bytes_of([value.type])
        if size:
            told["bytes"] = size
        self._told["values"].append(told)
        return known

    def _type(self, type_: Type) -> int:
        text = _type_text(type_)
        known = self._types.setdefault(text, len(self._types))
        if known == len(self._told["types"]):
            self._told["types"].append(text)
        return known


def group_of(name: str, as_leaf: bool = False) -> list[str]:
    """The groups in which a tensor of this name lies, outer first; `as_leaf` with one that is called as itself."""
    parts = [part for part in _CUT.split(name.partition(";")[0].strip("/")) if part]
    return [part[:80] for part in (parts if as_leaf else parts[:-1])][:DEEPEST]


def _type_text(type_: Type) -> str:
    """`1×8×8×16 f32`; of a quantized tensor what stores it, and its scale."""
    if not isinstance(type_, TensorType):
        return str(type_)[:LONGEST]
    shape = "?" if type_.shape is None else "×".join("?" if size is None else str(size) for size in type_.shape) or "scalar"
    element = type_.element
    if not isinstance(element, QuantType):
        return f"{shape} {element}"[:LONGEST]
    if element.per_tensor:
        return f"{shape} {element.storage}, scale {element.scale:.6g}, zero point {element.zero_point}"
    return f"{shape} {element.storage}, {len(element.scales)} scales" + (
        f" along axis {element.axis}" if element.blocks is None else "")


def _dense_text(dense: Dense) -> str:
    return f"dense<…> : {dense.type}"


_formatter = AttributeFormatter(_dense_text)


def _text(value: Attribute) -> str:
    """An attribute as MLIR writes it, or, where MLIR has no word for it, as Python does; constants by their type alone."""
    try:
        return _formatter.text(value)[:LONGEST]
    except TransloadError:
        return repr(value)[:LONGEST]
