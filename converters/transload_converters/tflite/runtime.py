"""LiteRT, the judge of what a TFLite model computes.

Its reference kernels (`BUILTIN_REF`) are used: the optimised ones differ from them by several steps on quantized
models. A model that these do not run, or run wrongly (`uses_other_kernels`), is run by the optimised ones. Names of tensors are
those that our reader gives, so that results can be compared by name.

Source: https://ai.google.dev/edge/litert, package `ai-edge-litert`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from transload.budget import VARIABLE, allowance
from transload.errors import Finding, RunError, Unsupported
from transload.ir import I16, DialectType, Module, QuantType
from transload.plugin import Source
from transload.worker import Remote, Worker

from .dialect import BLOCKWISE
from .expansion import expanded
from .legalize.detection import rows_of_one
from .reader import Names, read, tensor_names
from .reader import open_model as open_file
from .scales import LOOKING, WIDE
from .undefined import has_narrow_bias

__all__ = ["available", "open_model", "uses_other_kernels", "warm"]

_STRING = DialectType("tf_type.string")
_INSTALL = "pip install ai-edge-litert"
_WITHOUT_REFERENCE = (
    "tfl.ceil", "tfl.elu", "tfl.round", "tfl.segment_sum", "tfl.stablehlo_and", "tfl.stablehlo_case", "tfl.stablehlo_shift_left")
"""Operators that LiteRT has no reference kernels of."""
_DETECTED = 4
"""Results of TFLite_Detection_PostProcess."""
LITERT = Worker(
    "LiteRT", needs=("transload_converters", "numpy", "ml_dtypes", "ai_edge_litert"),
    first=("transload_converters.tflite.litert", "ai_edge_litert.interpreter"))


def available() -> str | None:
    """None, or what to install."""
    from importlib.util import find_spec

    try:
        found = find_spec("ai_edge_litert.interpreter") is not None
    except ModuleNotFoundError:
        found = False
    return None if found else f"LiteRT is not installed; {_INSTALL}"


def open_model(path: str | Path, function: str = "main") -> Callable[..., dict[str, np.ndarray]]:
    """Load a model, or a function that a signature of its file is of, by the name with which it was read; returns `run(inputs,
    keep=False)`, input arrays by name to outputs by name, in the model's order.

    Inputs may have other shapes than the model's own where it can be resized; those of text may be missing, and are empty. With
    `keep`, every intermediate tensor of numbers that LiteRT still has after the run comes before the outputs. State starts in
    every run as in the first one.
    Raises `RunError` where LiteRT refuses the model or the inputs.
    """
    return _Session(Path(path), function).run


class _Session:
    """A model, and what runs it in a process of its own: LiteRT trusts files that it should not (`litert`)."""

    def __init__(self, path: Path, function: str) -> None:
        why = available()
        if why is not None:
            raise RunError(f"{path} cannot be run: {why}")
        self.path = path
        asked = function if function != "main" else None
        module = read(Source(path=path, name=str(path), function=asked), as_planned=True)
        dangerous = _beyond_memory(Source(path=path, name=str(path))) or _dangerous(module)
        if dangerous:
            raise RunError(f"{path}: LiteRT cannot run the model: {dangerous}")
        names = tensor_names(Source(path=path, name=str(path)), asked)
        self.inputs, self.outputs, self.names = names.inputs, names.outputs, names.tensors
        self._signature = _signature(path, function, names) if asked is not None else ()
        self._afresh = _keeps_variables(module, asked is not None)
        self._texts = {name for name, type_ in module.inputs.items() if getattr(type_, "element", None) == _STRING}
        self._kernels = "delegate" if _needs_delegate(module) else "usual" if uses_other_kernels(module) else "reference"
        self._found = _detections(module)
        self._there: Remote | None = None

    def run(self, inputs: Mapping[str, Any], keep: bool = False) -> dict[str, np.ndarray]:
        """Run once."""
        missing = [name for name in self.inputs if name not in inputs and name not in self._texts]
        wrong = [Finding(f"input {name!r}", "is missing") for name in missing]
        known = set(self.inputs)
        wrong += [Finding(f"input {name!r}", "is not an input of the model") for name in inputs if name not in known]
        if wrong:
            there = ", ".join(map(repr, self.inputs))
            raise RunError(f"{self.path}: the inputs do not fit", wrong, hint=f"its inputs are {there}")
        if self._there is None:
            self._there = LITERT.open(
                "transload_converters.tflite.litert:Session", str(self.path.resolve()), str(self.path), self.outputs, self.names,
                self._kernels, self._signature, self._afresh, _room(size := self.path.stat().st_size), about=size)
        given = [np.asarray(inputs[name]) if name in inputs else None for name in self.inputs]
        results: dict[str, np.ndarray] = self._there(given, keep)
        for (*rows, number), each in self._found:
            for name in rows:
                if name in results and number in results:
                    results[name] = _without_unwritten(results[name], results[number], each)
        return results


def _signature(path: Path, function: str, names: Names) -> tuple[str, list[str], list[str], int]:
    """By which signature LiteRT runs a function that is not the main one: key, what it calls inputs and outputs, and where."""
    taken, given = ({name: called for called, name in part.items()} for part in names.signature)
    if not {*names.inputs} <= {*taken} or not {*names.outputs} <= {*given}:
        raise RunError(
            f"{path} cannot be run: LiteRT runs functions by their signatures, and no {function!r} has all inputs and outputs")
    return names.key, [taken[name] for name in names.inputs], [given[name] for name in names.outputs], names.subgraph


def _beyond_memory(source: Source) -> str:
    """Why LiteRT would take more memory for a file's lists than a judge may; nothing where it would not."""
    file, model = open_file(source)
    most = _room(file.size)
    needed = expanded(model)
    if needed <= most:
        return ""
    return f"it would take {needed:,} bytes for what its parts share; {VARIABLE}=memory={needed} allows that"


def _room(size: int) -> int:
    """The bytes that a judge may take for what a model of a size shares, or gives."""
    return max(allowance().memory, 64 * size)


def _dangerous(module: Module) -> str:
    """What LiteRT would not refuse, but fall over; nothing where there is no such thing."""
    for op in module.walk():
        if op.name == "tfl.svdf" and isinstance(op.operands[0].element, QuantType):
            state = op.operands[4].element_or_none if len(op.operands) > 4 else None
            if not isinstance(state, QuantType) or state.storage != I16:
                return f"the state of SVDF {op.origin!r} is {state}; LiteRT would take it for int16 and write behind it"
        for value in (*op.operands, *op.results):
            element = value.element_or_none
            if not isinstance(element, QuantType) or not op.operands or op.dialect != "tfl" or all(element.scales):
                continue
            if element.storage.width < WIDE or op.name in LOOKING:
                return f"{op.name} has a tensor with a scale of 0, {value.name or op.origin!r}; LiteRT would end the process"
    return ""


def _detections(module: Module) -> list[tuple[list[str], int]]:
    """The names of boxes, classes, scores and their number, of each operator that finds as many as the data hold, and the rows
    that each of these has."""
    found = []
    for op in module.walk():
        detects = op.name == "tfl.custom" and op.attribute("custom_code") == "TFLite_Detection_PostProcess"
        if detects and len(op.results) == _DETECTED:
            with suppress(Unsupported):  # LiteRT will say what is wrong with its options
                found.append(([value.name or "" for value in op.results], rows_of_one(op)))
    return found


def _without_unwritten(rows: np.ndarray, number: np.ndarray, each: int) -> np.ndarray:
    """What was found, [1, M, ...] with `each` rows of one, and zeros behind it, where LiteRT leaves what was in memory.

    Source: `NonMaxSuppressionMultiClassFastHelper` in `tensorflow/lite/kernels/detection_postprocess.cc`, which writes the places
    of what it chose alone.
    """
    if rows.ndim < 2 or number.size != 1:
        return rows
    written = np.zeros_like(rows)
    count = max(int(number.flat[0]), 0) * each
    written[:, :count] = rows[:, :count]
    return written


def _keeps_variables(module: Module, by_signature: bool) -> bool:
    """Whether LiteRT has no way to reset what a model keeps: it has for tensors of the first subgraph that are variables."""
    return any(op.name == "tfl.var_handle" or (by_signature and "is_variable" in op.attributes) for op in module.walk())


def _needs_delegate(module: Module) -> bool:
    """Whether a model has a layer with weights quantized in blocks, whose scales LiteRT's own kernels do not look at.

    XNNPACK, which LiteRT uses by default, computes it.
    """
    return any(BLOCKWISE in op.attributes for op in module.walk())


def uses_other_kernels(module: Module) -> bool:
    """Whether a model is run by other kernels than the reference, which round quantized numbers on their own."""
    return _needs_delegate(module) or _has_wrong_reference(module) or any(op.name in _WITHOUT_REFERENCE for op in module.walk())


def _has_wrong_reference(module: Module) -> bool:
    """Whether a model has an operator that the reference kernels compute wrongly, and the usual ones rightly.

    Of SUM on quantized tensors the reference adds stored numbers without their zero points, and wraps; of
    LOCAL_RESPONSE_NORMALIZATION it leaves out the last channel of each window; of FULLY_CONNECTED it takes a bias of 32 bits
    beside activations of 16 for one of 64 (`has_narrow_bias`).
    """
    return any(
        op.name == "tfl.local_response_normalization" or (op.name == "tfl.sum" and isinstance(op.operands[0].element, QuantType))
        or (op.name == "tfl.fully_connected" and has_narrow_bias(op)) for op in module.walk())


def warm() -> None:
    """Start the process that a verification will need."""
    LITERT.start()
