"""Damaged artifacts that jaxlib refuses: what is of another kind than it has to be, missing or left over is no default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.ir import BOOL, F32, I32, I64, NONE, TensorType, Type, dtype_of
from transload.ir.attributes import IntAttr, OpaqueAttr
from transload.ir.constants import ArrayData, Dense
from transload_converters.stablehlo.bytecode import BytecodeError, UnknownConstruct, read_bytecode
from transload_converters.stablehlo.bytecode.container import Container
from transload_converters.stablehlo.bytecode.splice import varint
from transload_converters.stablehlo.bytecode.upgrade import properties_of, upgraded

pytest.importorskip("jaxlib", reason="jaxlib writes the artifacts")
from tests.converters.stablehlo.jaxlib_oracle import forms

LOCATION = OpaqueAttr("loc(unknown)")


def _list(numbers: list[int], element: Type = I64) -> Dense:
    array = np.array(numbers, dtype_of(element))
    return Dense(ArrayData(array), TensorType(array.shape, element))


NUMBERS = {f"{side}_{what}_dimensions": _list([]) for side in ("lhs", "rhs") for what in ("batching", "contracting")}
NO_ALGORITHM = {key: NONE for key, _ in properties_of("vhlo.dot_general_v2") if key not in (*NUMBERS, "precision_config")}
DOT = {**NUMBERS, **NO_ALGORITHM, "precision_config": []}
ALGORITHM = {
    "lhs_precision_type": F32, "rhs_precision_type": F32, "accumulation_type": F32, "lhs_component_count": 1,
    "rhs_component_count": 1, "num_primitive_operations": 1, "allow_imprecise_accumulation": False}
GATHERED = {"channel_id": 0, "replica_groups": _list([]), "all_gather_dim": 0, "use_global_device_ids": False}
DYNAMIC_CONV = {
    **{key: 1 for key, _ in properties_of("vhlo.dynamic_conv_v1") if key.endswith(("_count", "_dimension"))},
    **{key: _list([]) for key, _ in properties_of("vhlo.dynamic_conv_v1") if key.endswith(("dimensions", "dilation", "strides"))},
    "precision_config": [], "window_reversal": _list([], BOOL), "padding": _list([])}
FUNCTION = {"sym_name": "main", "sym_visibility": "", "arg_attrs": [], "res_attrs": []}
SENT = {"channel_id": 1, "channel_type": 1, "is_host_transfer": False, "source_target_pairs": _list([])}
OTHERWISE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "an algorithm that is none in part": ("dot_general_v2", DOT, {"allow_imprecise_accumulation": LOCATION}),
    "an algorithm whose first type is none": ("dot_general_v2", {**DOT, **ALGORITHM}, {"lhs_precision_type": NONE}),
    "a count that is a truth value": ("dot_general_v2", {**DOT, **ALGORITHM}, {"lhs_component_count": True}),
    "whether it is exact as a number": ("dot_general_v2", {**DOT, **ALGORITHM}, {"allow_imprecise_accumulation": 2}),
    "an empty list of other integers": ("broadcast_in_dim_v1", {"broadcast_dimensions": _list([])}, {
        "broadcast_dimensions": _list([], I32)}),
    "a list of truth values": ("transpose_v1", {"permutation": _list([0])}, {"permutation": _list([0], BOOL)}),
    "dimensions for truth values": ("dynamic_conv_v1", DYNAMIC_CONV, {"window_reversal": _list([])}),
    "a padding that is none": ("dynamic_conv_v1", DYNAMIC_CONV, {"padding": LOCATION}),
    "a truth value that is none": ("all_gather_v1", GATHERED, {"use_global_device_ids": LOCATION}),
    "a channel that is a truth value": ("all_gather_v1", GATHERED, {"channel_id": True}),
    "a channel of other integers": ("all_gather_v1", GATHERED, {"channel_id": IntAttr(0, I32)}),
    "pairs that are none": ("send_v2", SENT, {"source_target_pairs": LOCATION}),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_attributes_of_another_kind_are_refused(name: str) -> None:
    op, right, damage = OTHERWISE[name]
    upgraded(f"vhlo.{op}", dict(right))
    with pytest.raises(BytecodeError):
        upgraded(f"vhlo.{op}", {**right, **damage})


@pytest.mark.parametrize(("op", "right"), [(op, right) for op, right, _ in OTHERWISE.values()])
def test_attributes_that_are_missing_are_refused(op: str, right: dict[str, Any]) -> None:
    """VHLO leaves nothing to defaults."""
    for missing in right:
        with pytest.raises(BytecodeError, match=rf"{op} has no attribute '{missing}'"):
            upgraded(f"vhlo.{op}", {key: value for key, value in right.items() if key != missing})


TEXT = 'func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n%0 = stablehlo.abs %x : tensor<3xf32> loc("here":1:2)\n' \
       "return %0 : tensor<3xf32>\n}"
FILE, UNKNOWN = 11, 15
"""Codes of locations: a file's line, and none."""


def _artifact() -> bytes:
    return dict(forms(TEXT, ("1.0.0",), range(0)))["artifact 1.0.0"]


def test_attributes_of_functions_under_other_names_are_refused() -> None:
    older = dict(forms(TEXT, ("0.9.0",), range(0)))["artifact 0.9.0"]
    assert older.count(b"res_attrs") == 1
    with pytest.raises(BytecodeError, match="func_v1 has no attribute 'res_attrs'"):
        read_bytecode(memoryview(older.replace(b"res_attrs", b"res_attr_")))


def test_bytes_behind_a_location_are_refused() -> None:
    data = bytearray(_artifact())
    files = [entry for entry in Container(memoryview(bytes(data))).attributes
             if entry.dialect == "builtin" and data[entry.start] == FILE << 1 | 1]
    assert files
    data[files[0].start] = UNKNOWN << 1 | 1
    with pytest.raises(BytecodeError, match="left over"):
        read_bytecode(memoryview(bytes(data)))


def test_sections_that_are_not_known_are() -> None:
    for kind in (9, 69, 127):
        with pytest.raises(UnknownConstruct, match=f"section {kind}"):
            read_bytecode(memoryview(_artifact() + bytes([kind, 1])))


@pytest.mark.parametrize("kind", [0, 3, 8])
def test_bytes_behind_what_sections_hold_are_refused(kind: int) -> None:
    """Of strings, offsets and properties; a section's length stands behind its kind."""
    data = _artifact()
    container = Container(memoryview(data))
    start, end = container.sections[kind]
    head = next(place for place in range(start, 0, -1) if data[place] & 0x7F == kind and place < start)
    assert not data[head] & 0x80
    grown = data[: head + 1] + varint(end - start + 1) + data[start:end] + b"\1" + data[end:]
    with pytest.raises(BytecodeError, match="left over"):
        read_bytecode(memoryview(grown))
