"""What a compiled artifact takes and gives, as its report says it: so that it can be run where the module is no more.

    report = {**interface(module), ...}                      # when it is written
    arrays = arguments(report, inputs)                       # when it is run: in order, of the types that it takes
    outputs = results(report, compiled(arrays))              # by name, of the types that the model gives
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ArtifactError, ReadError, RunError
from .escapes import spelt
from .ir import IntegerType, Module, TensorType, dtype_of, input_names, output_names
from .ir.types import Type
from .outcomes import wrong_outputs
from .text import parse_type

__all__ = ["arguments", "described", "in_utf8", "interface", "named", "results", "typed"]


def interface(module: Module) -> dict[str, list[dict[str, str]]]:
    """The `inputs` and `outputs` of a module's main function: name and type of each, in order."""
    block = module.body_of_main
    return {
        "inputs": described(input_names(module.main), [value.type for value in block.arguments]),
        "outputs": described(output_names(module.main), [value.type for value in block.terminator.operands])}


def described(names: Sequence[str], types: Sequence[Type]) -> list[dict[str, str]]:
    """Names and types as a report has them."""
    return [{"name": name, "type": str(type_)} for name, type_ in zip(names, types, strict=True)]


def arguments(report: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[np.ndarray]:
    """Arrays by name in the order in which the artifact takes them. `RunError` where one is missing."""
    entries = _entries(report, "inputs")
    missing = [one["name"] for one in entries if one["name"] not in inputs]
    if missing:
        raise RunError(f"inputs are missing: {', '.join(missing)}")
    return [np.asarray(inputs[one["name"]]) for one in entries]


def results(report: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """What the artifact gave, in order, by name and as numbers of the model's types."""
    entries = _entries(report, "outputs")
    if len(arrays) != len(entries):
        raise RunError(f"the program gave {len(arrays)} results, and the model has {len(entries)}")
    return {one["name"]: typed(array, parse_type(one["type"])) for one, array in zip(entries, arrays, strict=True)}


def in_utf8(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays by the names that files of UTF-8 alone have for the model's: a runtime of such a format is told these."""
    return {spelt(name): array for name, array in inputs.items()}


def named(report: Mapping[str, Any], found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a format's own runtime gave, in order, by the names of the model, where the report has them: the file's may differ.

    `ArtifactError` where it gave another kind of numbers than the report says: of a file that contradicts its operators.
    """
    if "outputs" not in report:
        return dict(found)
    entries = _entries(report, "outputs")
    if len(entries) != len(found):
        raise RunError(f"the program gave {len(found)} results, and the model has {len(entries)}")
    outputs = {one["name"]: array for one, array in zip(entries, found.values(), strict=True)}
    if wrong := wrong_outputs(outputs, {one["name"]: parse_type(one["type"]) for one in entries}):
        raise ArtifactError(f"the format's own runtime {wrong}",
                            hint="the types in the model's file contradict its operators, or the runtime is wrong")
    return outputs


def _entries(report: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    """What a report says of an artifact's inputs, or outputs. `ReadError` where it does not, as a file may be edited."""
    found: Any = report.get(key)
    is_list = isinstance(found, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("type"), str) for one in found)
    if not is_list:
        raise ReadError(f"the report beside the artifact does not say its {key}", hint="convert the model again")
    return list(found)


def typed(array: np.ndarray, type_: Type) -> np.ndarray:
    """An array that came from a runtime as one of its type: the same bits, where signed ones come as unsigned."""
    element = type_.element if isinstance(type_, TensorType) else type_
    dtype = dtype_of(element)
    if array.dtype == dtype:
        return array
    if array.dtype.itemsize == dtype.itemsize and not (isinstance(element, IntegerType) and element.width < 8):
        return np.ascontiguousarray(array).view(dtype).reshape(array.shape)
    return array.astype(dtype)
