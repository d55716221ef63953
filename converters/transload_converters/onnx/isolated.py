"""The process in which the packages `onnx` and `onnxruntime` handle models: their C++ trusts models that it should not."""

from __future__ import annotations

from transload.worker import Worker

__all__ = ["ONNX"]

ONNX = Worker(
    "the process of onnx and onnxruntime", needs=("transload_converters", "numpy", "ml_dtypes", "onnx", "onnxruntime"),
    first=("transload_converters.onnx.session", "onnx.shape_inference"))
