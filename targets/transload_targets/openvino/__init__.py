"""OpenVINO: intermediate representation (`.xml`, `.bin`) for Intel's CPUs, GPUs and NPUs, and for Arm's CPUs."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Pass, Runtime

_HERE = "transload_targets.openvino.session"


@hookimpl
def register_targets(register: Any) -> None:
    from .target import OpenvinoTarget

    register(OpenvinoTarget())


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("openvino-write-otherwise", "transload_targets.openvino.otherwise:write_otherwise",
                  "Write comparisons of floats, and sums of narrow integers, that OpenVINO computes otherwise than ONNX.",
                  ("onnx",), ("onnx",)))
    register(Pass("openvino-tell-inexact", "transload_targets.openvino.inexact:tell_inexact",
                  "Note which integers OpenVINO computes in floats of 32 bits, and from which number on they are inexact.",
                  ("onnx",), ("onnx",)))


@hookimpl
def register_runtimes(register: Any) -> None:
    for format in ("onnx", "tflite"):
        register(Runtime(
            f"openvino-{format}", format, f"{_HERE}:open_{format}", f"{_HERE}:unavailable",
            "OpenVINO on the CPU, floats in 32 bits.", of_target="openvino"))
