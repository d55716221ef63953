"""OpenVINO: intermediate representation (`.xml`, `.bin`) for Intel's CPUs, GPUs and NPUs, and for Arm's CPUs."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Runtime

_HERE = "transload_targets.openvino.session"


@hookimpl
def register_targets(register: Any) -> None:
    from .target import OpenvinoTarget

    register(OpenvinoTarget())


@hookimpl
def register_runtimes(register: Any) -> None:
    for format in ("onnx", "tflite"):
        register(Runtime(
            f"openvino-{format}", format, f"{_HERE}:open_{format}", f"{_HERE}:unavailable",
            "OpenVINO on the CPU, floats in 32 bits.", of_target="openvino"))
