"""OpenVINO, asked from here: it works in a process of its own, within limits."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import RunError
from transload.worker import ChildEnded, Worker

__all__ = ["HERE", "OPENVINO", "open_model", "open_onnx", "open_tflite", "unavailable"]

OPENVINO = Worker("OpenVINO", needs=("transload_targets", "numpy", "ml_dtypes", "openvino"))
HERE = "transload_targets.openvino.runtime"


def unavailable() -> str | None:
    """None where OpenVINO is installed, or what to install."""
    if importlib.util.find_spec("openvino") is not None:
        return None
    return "OpenVINO is not installed: pip install 'transload[openvino]'"


def open_model(path: Path) -> Any:
    """What runs a model on the CPU: `run(arrays)` gives arrays. Raises `RunError`."""
    try:
        return OPENVINO.open(f"{HERE}:Session", str(path.resolve()))
    except ChildEnded as error:
        raise RunError(error.message) from None


def open_onnx(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for any `.onnx` file: outputs by name, in order. It gives no intermediate tensors."""
    return _open_source(Path(path), "onnx")


def open_tflite(path: str | Path) -> Callable[..., dict[str, np.ndarray]]:
    """`run(inputs, keep=False)` for any `.tflite` file: outputs by name, in order. It gives no intermediate tensors."""
    return _open_source(Path(path), "tflite")


def _open_source(path: Path, format: str) -> Callable[..., dict[str, np.ndarray]]:
    from transload.api import load_artifact

    outputs: list[str] = []
    made: list[Any] = []

    def run(inputs: Mapping[str, np.ndarray], keep: bool = False) -> dict[str, np.ndarray]:
        if keep:
            raise RunError("OpenVINO gives outputs alone")
        if not made:
            shapes = {name: tuple(np.shape(array)) for name, array in inputs.items()}
            outputs.extend(load_artifact(path, format=format, inputs=shapes).outputs)
            made.append(open_model(path))
        try:
            return dict(zip(outputs, made[0](list(inputs.values())), strict=True))
        except ChildEnded as error:
            raise RunError(error.message) from None

    return run
