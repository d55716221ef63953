"""ONNX files: float models, and quantized ones in QDQ form, for onnxruntime and every tool that takes ONNX."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import OnnxTarget

    register(OnnxTarget())
