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

import numpy as np

from transload.worker import Remote

from .isolated import ONNX

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

    `optimized` turns graph optimizations on, of all levels. It runs in a process of its own.
    Raises `RunError` where onnxruntime refuses the model or the inputs.
    """
    file = Path(path)
    there: list[Remote] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if not there:
            there.append(ONNX.open(
                "transload_converters.onnx.session:Session", str(file.resolve()), str(file), optimized))
        found: dict[str, np.ndarray] = there[0](dict(inputs), keep)
        return found

    return run
