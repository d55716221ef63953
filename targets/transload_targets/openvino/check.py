"""What of a module OpenVINO cannot take: everything at once, under the names that the user knows.

Its converter is asked; where it refuses a model, about each operator by itself (`transload.trials`). What it takes and computes
otherwise than it says is refused here: its CPU plugin computes numbers of 64 bits in 32.
"""

from __future__ import annotations

import math

from transload.contents import STRUCTURE
from transload.errors import Finding, RunError, TransloadError, merge_findings
from transload.ir import F64, Module, Op
from transload.plugin import resolve
from transload.plugin_host import host
from transload.scratch import ScratchFolder
from transload.trials import is_of_files, refused_ops
from transload.worker import ChildEnded

from .otherwise import keeps_proportions, plain_sizes
from .session import HERE, OPENVINO
from .short import OPSET

__all__ = ["converted", "findings_of"]

_DEAF = frozenset({"onnx.ReduceL1", "onnx.ReduceLogSum", "onnx.ReduceLogSumExp"})
"""Operators whose attribute `axes` OpenVINO 2026.4 does not read; it reads the operand that later opsets have in its place."""
_SOFTMAX = 13
"""The opset from which on a softmax is along its axis alone."""
_RECURRENT = frozenset({"onnx.RNN", "onnx.GRU", "onnx.LSTM"})
_ACTIVATIONS = frozenset({"sigmoid", "tanh", "relu"})
"""Of those layers, that the CPU plugin of OpenVINO 2026.4 has."""


def findings_of(module: Module) -> list[Finding]:
    """Everything in a module of `onnx` that OpenVINO does not take, or would not compute as it is."""
    foreign = [Finding(op.name, "is no operator of ONNX", _names(op), "`transload coverage` says which conversions are there")
               for op in module.ops() if op.dialect not in ("onnx", *STRUCTURE)]
    if foreign:
        return merge_findings(foreign)
    wide = [
        Finding(op.name, "computes in f64, for which OpenVINO takes f32", _names(op),
                "quantized models go to it in QDQ form (--option form=qdq), floats of 64 bits cast to f32 where they are made")
        for op in module.ops() if op.dialect == "onnx" and any(value.element_or_none == F64 for value in op.results)]
    if wide:
        return merge_findings(wide)
    opset = module.attributes.get(OPSET, {}).get("ai.onnx", _SOFTMAX)
    deaf = [Finding(op.name, told[0], _names(op), told[1])
            for op in module.walk() if (told := _unread(op) or (_flattened(op) if opset < _SOFTMAX else None)) is not None]
    if deaf:
        return merge_findings(deaf)
    why = _refusal(module)
    if why is None:
        return []
    found = [Finding(op.name, f"OpenVINO says: {reason}", _names(op)) for op, reason in refused_ops(module, _refusal)]
    return merge_findings(found) or [Finding("the model", f"OpenVINO says: {why}")]


def _unread(op: Op) -> tuple[str, str] | None:
    """What of an op OpenVINO 2026.4 does not read, or reads otherwise, and what there is to do."""
    if op.name in _DEAF and op.attribute("axes") is not None:
        return ("OpenVINO reduces all dimensions where `axes` are an attribute (before opset 18)",
                "export the model in opset 18 or later, which has them as an operand")
    if op.name == "onnx.Resize":
        mode = str(op.attribute("mode", "nearest"))
        if op.attribute("antialias", 0) and mode != "nearest" and _shrinks(op):
            return "OpenVINO does not read `antialias`", "resize without it, or before the model"
        if op.attribute("exclude_outside", 0) and mode == "cubic":
            return "OpenVINO does not read `exclude_outside`", "resize without it, or before the model"
        if keeps_proportions(op) and plain_sizes(op) is None:
            return "OpenVINO does not read `keep_aspect_ratio_policy`", "resize to sizes that have the input's proportions"
    if op.name in _RECURRENT and (others := _others(op)):
        return (f"OpenVINO's CPU plugin has no recurrent layers with {', '.join(others)}",
                "write it out, step by step: --passes unroll-recurrent")
    if op.name == "onnx.LRN" and op.attribute("size", 1) % 2 == 0:
        return "OpenVINO takes windows of an even size for odd ones", "an odd size can be converted"
    if op.name == "onnx.TopK" and any(0 in (value.known_shape or ()) for value in op.results):
        return "OpenVINO's CPU plugin does not load what is empty", "leave out what takes none"
    return None


def _flattened(op: Op) -> tuple[str, str] | None:
    """A softmax of opsets before 13 that is over several dimensions, of which OpenVINO 2026.4 takes the first alone."""
    shape = op.operands[0].known_shape if op.name == "onnx.Softmax" else None
    if shape is None or math.prod((size or 2) for size in shape[op.attribute("axis", 1) % max(len(shape), 1) + 1:]) <= 1:
        return None
    return ("OpenVINO takes it along one dimension, and it is over all from its axis on (before opset 13)",
            "export the model in opset 13 or later, or along the last dimension")


def _others(op: Op) -> list[str]:
    """Activations of a recurrent layer that OpenVINO 2026.4 converts, and does not load."""
    given = map(str, op.attribute("activations") or ())
    return sorted({name for name in given if name.lower() not in _ACTIVATIONS})


def _shrinks(op: Op) -> bool:
    """Whether a dimension becomes smaller, or may."""
    before, after = op.operands[0].known_shape, op.results[0].known_shape
    return before is None or after is None or any(
        old is None or new is None or new < old for old, new in zip(before, after, strict=True))


def converted(module: Module) -> dict[str, bytes]:
    """A module as OpenVINO's two files. Raises `RunError`."""
    with ScratchFolder() as folder:
        path = folder / "model.onnx"
        resolve(host().get("writers", "onnx").write)(module, path)
        try:
            made: dict[str, bytes] = OPENVINO.call(f"{HERE}:convert", str(path))
        except ChildEnded as error:
            raise RunError(error.message) from None
    return made


def _refusal(module: Module) -> str | None:
    with ScratchFolder() as folder:
        path = folder / "model.onnx"
        try:
            resolve(host().get("writers", "onnx").write)(module, path)
            why: str | None = OPENVINO.call(f"{HERE}:refusal_of", str(path))
        except TransloadError as error:  # it cannot be written alone, or OpenVINO ended
            if is_of_files(error):
                raise
            return error.message
    return why


def _names(op: Op) -> tuple[str, ...]:
    return (op.origin,) if op.origin else ()
