"""The process in which the packages `onnx` and `onnxruntime` handle models: their C++ trusts models that it should not."""

from __future__ import annotations

from importlib.util import find_spec

from transload.worker import Worker

__all__ = ["ONNX", "warm"]

ONNX = Worker(
    "the process of onnx and onnxruntime", needs=("transload_converters", "numpy", "ml_dtypes", "onnx", "onnxruntime"),
    first=("transload_converters.onnx.session", "onnx.shape_inference"))


def warm() -> None:
    """Start the process, where there is something for it to import."""
    if find_spec("onnx") is not None:
        ONNX.start()
