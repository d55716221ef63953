"""Runtimes as they are used for speed: opened once, with one thread where they can be told, and called often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["of_artifact", "of_source"]

Run = Callable[[], Any]
Arrays = Mapping[str, np.ndarray]


def of_artifact(artifact: Any, sample: Arrays) -> Run | None:
    """What runs an artifact on a sample; None where there is no runtime whose time would say anything."""
    by_suffix = {file.suffix: file for file in artifact.files}
    maker = {"tflite": ".tflite", "onnx": ".onnx", "iree-llvm-cpu": ".vmfb", "openvino": ".xml"}.get(artifact.target)
    if artifact.target == "xla-cpu":
        from transload_targets.xla.engine import prepare_cpu

        ready = prepare_cpu(artifact.module)
        given = _for(artifact.module, sample)
        return lambda: ready(given)
    if maker is None or artifact.report.partition is not None:
        return None
    return OPENERS[maker](by_suffix[maker], _for(artifact.module, sample))


def of_source(source: Any, sample: Arrays) -> Run | None:
    """What runs a model's own file on a sample; None where its framework is not here."""
    path = Path(source.source) if source.source is not None else None
    opener = OPENERS.get(path.suffix) if path is not None else None
    if opener is not None and source.source_format in ("tflite", "onnx"):
        return opener(path, sample)
    if source.source_format == "stablehlo":
        from transload_targets.xla.engine import prepare_plain

        ready = prepare_plain(source)
        return lambda: ready(dict(sample))
    if source.source_format == "caffe":
        from transload_converters.caffe.runtime import open_model

        run = open_model(path)
        return lambda: run(dict(sample))
    return None


def _for(module: Any, sample: Arrays) -> dict[str, np.ndarray]:
    """The sample by the names of a module's inputs, in order, with its states."""
    states = [state.initial.numpy() for state in module.states]
    return dict(zip(module.inputs, [*map(np.asarray, sample.values()), *states], strict=True))


def _litert(path: Path, sample: Arrays) -> Run:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), sample.values(), strict=True):
        interpreter.set_tensor(detail["index"], np.ascontiguousarray(array).reshape(detail["shape"]))
    return interpreter.invoke


def _onnxruntime(path: Path, sample: Arrays) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = dict(zip((each.name for each in session.get_inputs()), sample.values(), strict=True))
    return lambda: session.run(None, given)


def _iree(path: Path, sample: Arrays) -> Run:
    from transload_targets.iree.runtime import Session

    session, arrays = Session(str(path), "local-sync"), [np.asarray(array) for array in sample.values()]
    return lambda: session(arrays)


def _openvino(path: Path, sample: Arrays) -> Run:
    from transload_targets.openvino.runtime import Session

    session, arrays = Session(str(path), threads=1), [np.asarray(array) for array in sample.values()]
    return lambda: session(arrays)


OPENERS: dict[str, Callable[[Path, Arrays], Run]] = {
    ".tflite": _litert, ".onnx": _onnxruntime, ".vmfb": _iree, ".xml": _openvino}
