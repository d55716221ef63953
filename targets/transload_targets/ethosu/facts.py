"""What Vela was measured to take: element types of each TOSA op, by family.

`accepted.json` is written by `benchmarks/ethosu_probe.py --write`, which compiles a file of one op for each
combination. An entry `"i16 i8 -> i48": "u55+ u65+ u85"` says that those element types of data operands and
result pass on all three families, on Ethos-U55 and U65 only where a rescale follows; `+u55` at a rescale: only
right after a convolution.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from transload.ir import Op, QuantType, TensorType, Value

__all__ = ["accepted", "element_name", "is_known", "measured_with", "operand_slots", "signature", "signatures_of"]

PARAMETERS = frozenset({
    "bias", "input_zp", "weight_zp", "output_zp", "input1_zp", "a_zp", "b_zp", "multiplier", "shift", "pad_const", "table"})
"""Operands that are no data: they have no part in a signature."""
ANY_TYPES = frozenset({"tosa.cond_if", "tosa.while_loop"})
"""Ops that take whatever tensors their regions take."""


@cache
def _table() -> dict[str, Any]:
    return json.loads(files(__package__).joinpath("accepted.json").read_text(encoding="utf-8"))


def measured_with() -> str:
    """The version of Vela that the table was measured with."""
    return _table()["vela"]


def is_known(op_name: str) -> bool:
    """Whether the op was measured at all."""
    return op_name in _table()["accepted"]


def signatures_of(op_name: str, family: str) -> list[str]:
    """The signatures of an op that pass on a family, some of them only next to another op."""
    row = _table()["accepted"].get(op_name, {})
    return [text for text, families in row.items() if {family, f"{family}+", f"+{family}"} & set(families.split())]


def accepted(op: Op, family: str) -> str:
    """How a family takes an op with its element types: `yes`, `no`, or `fused`, which is: next to the right op."""
    row = _table()["accepted"].get(op.name, {})
    if op.name in ANY_TYPES:
        return "yes" if signatures_of(op.name, family) else "no"
    families = row.get(signature(op), "").split()
    if family in families:
        return "yes"
    return "fused" if f"{family}+" in families or f"+{family}" in families else "no"


def element_name(value: Value) -> str:
    """The stored element type of a tensor, as text: `i8`."""
    element = value.element
    return str(element.storage if isinstance(element, QuantType) else element)


def operand_slots(op: Op) -> list[tuple[str, tuple[Value, ...], bool]]:
    """The operands that are tensors, by their declared names: (name, values, whether any number is allowed)."""
    slots = []
    for slot in op.declaration.operands:
        value = op.operand(slot.name)
        values = value if isinstance(value, tuple) else (value,)
        tensors = tuple(v for v in values if v is not None and isinstance(v.type, TensorType))
        if tensors:
            slots.append((slot.name, tensors, slot.variadic))
    return slots


def signature(op: Op) -> str:
    """Element types of the data operands and results: `i8 i8 -> i32`. Operands of any number count once if alike."""
    names: list[str] = []
    for slot, values, variadic in operand_slots(op):
        if slot not in PARAMETERS:
            elements = [element_name(value) for value in values]
            names += dict.fromkeys(elements) if variadic else elements
    results = [element_name(result) for result in op.results if isinstance(result.type, TensorType)]
    return f"{' '.join(names)} -> {' '.join(results)}"
