"""onnxruntime on the CPU: what an ONNX model computes, by its own framework.

Graph optimizations are off (`ORT_DISABLE_ALL`): every node is then computed by itself, as the file
says, and every intermediate value can be had. Measured with onnxruntime 1.31 on random inputs: on float
models and on QOperator models the levels agree; on a QDQ model (mobilenet_v1 0.25, int8) off and basic
are the same, and differ from extended and all, which fuse QDQ patterns into integer kernels, by one or two
steps of the output (cosine 0.992 to 0.998). A sum near a half goes one way in f32 and the other way in
integers, so no level is nearer to the truth; our integers differ from both by as much. So a QDQ model is judged by both
(`alternatives`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import RunError

__all__ = ["alternatives", "available", "open_model"]


def available() -> str | None:
    """None, or what to install."""
    missing = next((name for name in ("onnx", "onnxruntime") if find_spec(name) is None), None)
    return None if missing is None else f"the package {missing!r} is not installed: pip install 'transload[onnx,verify]'"


def alternatives(path: str | Path) -> dict[str, Callable[..., dict[str, np.ndarray]]]:
    """The other way in which onnxruntime computes a QDQ model: in integers, its patterns fused. Nothing for other models."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    if not any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        return {}
    return {"with all graph optimizations": open_model(path, optimized=True)}


def open_model(path: str | Path, optimized: bool = False) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for a model: outputs by name, in order; with `keep`, every named intermediate before them.

    `optimized` turns graph optimizations on, of all levels.
    Raises `RunError` where onnxruntime refuses the model or the inputs.
    """
    file = Path(path)
    sessions: dict[bool, Any] = {}

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if keep not in sessions:
            sessions[keep] = _session(file, keep, optimized)
        session = sessions[keep]
        names = [output.name for output in session.get_outputs()]
        fed = {entry.name: _as_wanted(entry, inputs) for entry in session.get_inputs() if entry.name in inputs}
        try:
            values = dict(zip(names, session.run(names, fed), strict=True))
        except Exception as error:  # onnxruntime's native errors share no class
            raise RunError(f"onnxruntime cannot run {file}: {_first_line(error)}") from None
        outputs = [output.name for output in sessions[False].get_outputs()] if False in sessions else _output_names(file)
        results: dict[str, np.ndarray] = {}
        for index, name in enumerate(outputs):  # one value may be several outputs: named as `output_names` does
            results[name if name not in results else f"{name}_{index}"] = values[name]
        return {**{n: v for n, v in values.items() if n not in results}, **results}

    return run


def _session(file: Path, keep: bool, optimized: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    model: Any = str(file)
    try:
        if keep:
            model = _with_all_outputs(file)
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(file.resolve().parent))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's native errors share no class
        raise RunError(f"onnxruntime cannot load {file}: {_first_line(error)}") from None


def _with_all_outputs(file: Path) -> bytes:
    """The model with every value of its graph as an output, as bytes. Values inside subgraphs cannot be had."""
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    there = {output.name for output in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in there:
                there.add(name)
                model.graph.output.add().name = name
    return model.SerializeToString()


def _output_names(file: Path) -> list[str]:
    import onnx

    return [output.name for output in onnx.load(str(file), load_external_data=False).graph.output]


_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
           "tensor(int32)": np.int32, "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
           "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32, "tensor(uint64)": np.uint64, "tensor(bool)": np.bool_}


def _as_wanted(entry: Any, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The array for an input, in the dtype that the session wants."""
    array = np.asarray(inputs[entry.name])
    return array.astype(_DTYPES.get(entry.type, array.dtype), copy=False)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]
