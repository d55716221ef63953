"""onnxruntime's sessions, as the process has them in which it runs (`runtime`)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import MissingKernel, RunError
from transload.ir import dtype_of

from . import imported
from .bundles import element_name
from .saturation import made_exact, saturates
from .tensors import PACKED, packed, unpacked
from .types import ELEMENTS

__all__ = ["Session", "exchanged", "first_line", "told"]


class Session:
    """A model, and the sessions made for it: one for its outputs, one for all values, each when first needed.

    `name` is what errors call the model.
    """

    def __init__(self, path: str, name: str, optimized: bool) -> None:
        self.path, self.name, self.optimized = path, name, optimized
        self._sessions: dict[bool, Any] = {}

    def __call__(self, inputs: Mapping[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """Run once. Inputs of text may be missing, and are empty; with `keep`, what is text is left out."""
        if keep not in self._sessions:
            self._sessions[keep] = _session(self.path, self.name, keep, self.optimized)
        session = self._sessions[keep]
        names = [output.name for output in session.get_outputs()]
        fed = {entry.name: _fed(entry, inputs) for entry in session.get_inputs()
               if entry.name in inputs or not entry.type.startswith("tensor") or entry.type == _TEXTS}
        try:
            made = exchanged(session, names, fed)
            values = dict(each for entry, value in zip(session.get_outputs(), made, strict=True) for each in _given(entry, value))
        except MissingKernel:
            raise
        except Exception as error:  # onnxruntime's native errors share no class
            raise RunError(f"onnxruntime cannot run {self.name}: {first_line(error)}") from None
        whole = self._sessions.get(False)
        outputs = [output.name for output in whole.get_outputs()] if whole is not None else _output_names(self.path)
        results: dict[str, np.ndarray] = {}
        for index, name in enumerate(outputs):  # one value may be several outputs: named as `output_names` does
            if name in values:
                results[name if name not in results else f"{name}_{index}"] = values[name]
            else:
                results.update({key: value for key, value in values.items() if key.startswith(f"{name}[")})
        found = {**{n: v for n, v in values.items() if n not in results}, **results}
        return {name: value for name, value in found.items() if not value.dtype.hasobject} if keep else found


def _session(file: str, name: str, keep: bool, optimized: bool) -> Any:
    onnxruntime = imported.onnxruntime()

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    model: Any = file
    try:
        file.encode()
    except UnicodeEncodeError:  # onnxruntime takes names in UTF-8 alone; weights beside the file it does not find then
        model = Path(file).read_bytes()
    try:
        if (changed := _changed(file, keep)) is not None:
            model = changed
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(Path(file).parent))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's native errors share no class
        kind = MissingKernel if type(error).__name__ == "NotImplemented" else RunError  # else the file may be wrong
        raise kind(f"onnxruntime cannot load {name}: {first_line(error)}") from None


def _changed(file: str, keep: bool) -> bytes | None:
    """The model with all outputs that are to be kept, and exact on this processor, as bytes; None where it is that as it is."""
    exact = not saturates()
    if exact and not keep:
        return None
    import onnx

    model = onnx.load(file, load_external_data=False)
    if keep:
        _give_all_outputs(model)
    if not exact and not made_exact(model) and not keep:
        return None
    made: bytes = model.SerializeToString()
    return made


def _give_all_outputs(model: Any) -> None:
    """Make every value of a model's graph an output. Values inside subgraphs cannot be had."""
    there = {output.name for output in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in there:
                there.add(name)
                model.graph.output.add().name = name


def _output_names(file: str) -> list[str]:
    import onnx

    return [output.name for output in onnx.load(file, load_external_data=False).graph.output]


_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
           "tensor(int32)": np.int32, "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
           "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32, "tensor(uint64)": np.uint64, "tensor(bool)": np.bool_}


_TEXTS = "tensor(string)"
_CARRIED = {f"tensor({name})": code for name, code in (
    ("bfloat16", 16), ("float8e4m3fn", 17), ("float8e4m3fnuz", 18), ("float8e5m2", 19), ("float8e5m2fnuz", 20), ("uint4", 21),
    ("int4", 22), ("float8e8m0", 24), ("uint2", 25), ("int2", 26))}
"""What onnxruntime does not take from numpy, by the number that ONNX has for each type."""


def exchanged(session: Any, names: Sequence[str], fed: Mapping[str, Any], options: Any = None) -> list[Any]:
    """The outputs of one run. Where numbers that numpy lacks go in or out, all goes as onnxruntime's values, and those as bits.

    Raises `MissingKernel` where something else than tensors goes in or out beside them.
    """
    inputs, outputs = ({entry.name: entry.type for entry in entries} for entries in (session.get_inputs(), session.get_outputs()))
    taken = [inputs[name] for name in fed]
    given = [outputs[name] for name in names]
    carried = next((each for each in (*taken, *given) if each in _CARRIED), None)
    if carried is None:
        return list(session.run(names, fed, options))
    if others := [each for each in (*taken, *given) if not each.startswith("tensor(")]:
        raise MissingKernel(f"onnxruntime exchanges {carried} beside tensors alone, and here is {others[0]}")
    onnxruntime = imported.onnxruntime()

    made = onnxruntime.OrtValue
    stored = {name: _bits(np.asarray(array), inputs[name]) for name, array in fed.items()}
    values = {
        name: made.ortvalue_from_numpy_with_onnx_type(array, _CARRIED[inputs[name]])
        if inputs[name] in _CARRIED else made.ortvalue_from_numpy(array) for name, array in stored.items()}
    results = session.run_with_ort_values(list(names), values, options)
    return [_contents(each, type_) if type_ in _CARRIED else each.numpy() for each, type_ in zip(results, given, strict=True)]


def _bits(array: np.ndarray, type_: str) -> np.ndarray:
    """An array as onnxruntime holds it: numbers that numpy lacks as their bits, those of less than a byte packed at its front."""
    array = np.require(array, requirements=["C", "A"])
    if type_ not in _CARRIED:
        return array
    if (bits := PACKED.get(_CARRIED[type_])) is None:
        return array.view(np.dtype(f"u{array.itemsize}"))
    front = np.frombuffer(packed(array.astype(_carried_dtype(type_), copy=False), bits), np.uint8)
    held = np.zeros(array.shape, np.uint8)
    held.reshape(-1)[: front.size] = front
    return held


def _contents(value: Any, type_: str) -> np.ndarray:
    """A copy of the numbers, of a type that numpy lacks, that a value of onnxruntime on the CPU holds."""
    shape, dtype, code = tuple(value.shape()), _carried_dtype(type_), _CARRIED[type_]
    size = math.prod(shape)
    bits = PACKED.get(code, 8 * dtype.itemsize)
    held = np.frombuffer(ctypes.string_at(value.data_ptr(), -(-size * bits // 8)), np.uint8)
    return (unpacked(held, bits, ELEMENTS[code], size) if code in PACKED else held.view(dtype)).reshape(shape)


def _carried_dtype(type_: str) -> np.dtype:
    return dtype_of(ELEMENTS[_CARRIED[type_]])


def _fed(entry: Any, inputs: Mapping[str, np.ndarray]) -> Any:
    """What an input is fed: an array, a list of those in a sequence, None for one that is left out."""
    if entry.name in inputs:
        return _as_wanted(entry, inputs[entry.name])
    if entry.type == _TEXTS:
        return np.full([size if isinstance(size, int) else 0 for size in entry.shape], "", object)
    items: list[np.ndarray] = []
    while (name := element_name(entry.name, len(items))) in inputs:
        items.append(_as_wanted(entry, inputs[name]))
    return items if items or not entry.type.startswith("optional") else None


def _given(entry: Any, value: Any) -> list[tuple[str, Any]]:
    """What an output gives, by name; of a sequence each tensor."""
    if isinstance(value, list):
        return [(element_name(entry.name, place), item) for place, item in enumerate(value)]
    return [(entry.name, told(entry, value))]


def _as_wanted(entry: Any, given: np.ndarray) -> np.ndarray:
    """An array in the dtype that the session wants."""
    array = np.asarray(given)
    if entry.type in _CARRIED:
        return array.astype(_carried_dtype(entry.type), copy=False)
    wanted = next((dtype for name, dtype in _DTYPES.items() if name in entry.type), array.dtype)
    return array.astype(wanted, copy=False)


def told(entry: Any, value: Any) -> Any:
    """An output in its own element type: onnxruntime gives numbers that numpy does not have as the integers of their bits."""
    if entry.type not in _CARRIED:
        return value
    dtype = _carried_dtype(entry.type)
    return value.view(dtype) if value.dtype.kind == "u" and value.dtype.itemsize == dtype.itemsize else value


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]
