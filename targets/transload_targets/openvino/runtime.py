"""OpenVINO, as it runs in a process of its own: its converter of ONNX files, and its runtime.

Source: https://docs.openvino.ai (package `openvino`: `convert_model`, `save_model`, `Core`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from transload.errors import RunError

__all__ = ["Session", "convert", "refusal_of"]

_TELEMETRY = "openvino_telemetry"
"""The package through which OpenVINO tells its maker that it was imported, and what it converts; it works without."""


def _openvino() -> Any:
    """The package, imported so that it sends and keeps nothing. A process that has the other one already is the user's own."""
    sys.modules.setdefault(_TELEMETRY, None)  # type: ignore[arg-type]
    import openvino

    return openvino


def refusal_of(model: str) -> str | None:
    """Why an ONNX file cannot be converted; None where it can."""
    openvino = _openvino()
    try:
        openvino.convert_model(model)
    except Exception as error:  # openvino.tools.ovc.error.Error, RuntimeError: what it says is what is known
        return _said(error)
    return None


def convert(model: str) -> dict[str, bytes]:
    """An ONNX file as intermediate representation: the text of `.xml` and the bytes of `.bin`. Floats keep their 32 bits."""
    openvino = _openvino()
    try:
        made = openvino.convert_model(model)
        openvino.save_model(made, "model.xml", compress_to_fp16=False)  # in this process's own folder
    except Exception as error:
        raise RunError(_said(error)) from None
    return {"xml": Path("model.xml").read_bytes(), "bin": Path("model.bin").read_bytes()}


class Session:
    """A model compiled for the CPU, floats computed in 32 bits: called with arrays in order, it gives arrays.

    Arrays are copied into tensors that OpenVINO allocated. By default it would borrow them, for as long as its request lives
    and longer than a call does: kernels then read memory that is aligned otherwise than its own, and what lies behind it.
    """

    def __init__(self, path: str, threads: int = 0) -> None:
        openvino = _openvino()
        self._short = openvino.Type.bf16
        config: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
        if threads:
            config |= {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1"}
        try:
            self._compiled = openvino.Core().compile_model(path, "CPU", config)
            self._request = self._compiled.create_infer_request()
        except Exception as error:  # RuntimeError: damaged, or what the plugin does not take
            raise RunError(f"{path}: OpenVINO cannot load the model: {_said(error)}") from None

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            given = [_short(array) if port.get_element_type() == self._short else array
                     for array, port in zip(arrays, self._compiled.inputs, strict=True)]
            found = self._request.infer(given, share_inputs=False, share_outputs=False)
            return [_long(found[port]) if port.get_element_type() == self._short else np.array(found[port])
                    for port in self._compiled.outputs]
        except Exception as error:
            raise RunError(f"OpenVINO stopped: {_said(error)}") from None


def _short(array: np.ndarray) -> np.ndarray:
    """Numbers of bf16 as OpenVINO takes them of numpy, which has no such: their bits in its type of as many."""
    return np.ascontiguousarray(np.asarray(array).astype(bfloat16)).view(np.float16)


def _long(array: np.ndarray) -> np.ndarray:
    return np.array(array).view(bfloat16)


def _said(error: Exception) -> str:
    """The last lines of a message, which say what is wrong; those before them say where in OpenVINO's sources."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Exception from", "Check '", "While validating"))]
    return " ".join(" ".join((told or lines)[:3]).split())[:300] or type(error).__name__
