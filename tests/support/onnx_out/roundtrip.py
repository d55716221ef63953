"""ONNX's own tests of single operators through the hub and back: what becomes of them, run by onnxruntime.

    python -m tests.support.onnx_out.roundtrip [NAME ...]
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime

from transload.api import lower
from transload.errors import TransloadError
from transload_converters.onnx import backend
from transload_converters.onnx.writer import model_of, unwritable

from tests.support.onnx_ops.measure import _array, cell_of, node_cases

__all__ = ["main", "outcome", "run_model"]


def run_model(model: onnx.ModelProto, arrays: dict[str, np.ndarray], optimized: bool = False) -> list[np.ndarray]:
    """The outputs of a model in onnxruntime, without its optimizations unless they are asked for."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: arrays[each.name] for each in session.get_inputs()})


def _viewed(mine: np.ndarray, theirs: np.ndarray | None) -> np.ndarray:
    """A result in a type of 8 bits that numpy lacks, which onnxruntime gives as bytes."""
    return mine.view(theirs.dtype) if theirs is not None and theirs.dtype.kind == "V" and mine.dtype == np.uint8 else mine


def outcome(case: Any) -> tuple[str, str]:
    """How a case ends, in a word, and what was said."""
    rep = backend.prepare(case.model)
    given, wanted = case.data_sets[0]
    try:
        rep.run(given)  # finds which inputs have to be constants
        arrays = {name: _array(value) for name, value in zip(rep.inputs, given, strict=False)}
        constants = {name: arrays.pop(name) for name in rep.made_constant}
        module = rep.module(arrays, constants)
    except TransloadError as error:
        return "not read", str(error)
    try:
        made = lower(module, "onnx")
    except TransloadError as error:
        return "refused", str(error)
    refusals = unwritable(made)
    if refusals:
        return "refused", str(refusals[0])
    model = model_of(made)
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # whatever the checker raises
        return "invalid", str(error)
    try:
        outputs = run_model(model, arrays)
    except Exception as error:  # what onnxruntime, or its Python interface, does not have
        if not any(word in str(error) for word in ("NOT_IMPLEMENTED", "Numpy_type", "Numpy type", "not supported")):
            return "fails", str(error)
        outputs = onnx.reference.ReferenceEvaluator(model).run(None, {each.name: arrays[each.name] for each in model.graph.input})
    outputs = [_viewed(mine, _array(theirs)) for mine, theirs in zip(outputs, wanted, strict=True)]
    different = backend.difference(wanted, outputs, case.rtol, case.atol)
    return ("different", different) if different else ("right", "")


def main(names: list[str]) -> None:
    counts: Counter[str] = Counter()
    for case in node_cases():
        if (names and case.name not in names) or cell_of(case) is None:
            continue
        word, said = outcome(case)
        counts[word] += 1
        if word not in ("right", "not read"):
            print(f"{case.name}: {word}: {' '.join(said.split())[:260]}")
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
