"""The processes in which the packages `onnx` and `onnxruntime` handle models: their C++ trusts models that it should not."""

from __future__ import annotations

from importlib.util import find_spec

from transload.worker import Worker

__all__ = ["ONNX", "SHAPES", "warm", "warm_shapes"]

ONNX = Worker(
    "the process of onnx and onnxruntime", needs=("transload_converters", "numpy", "ml_dtypes", "onnx", "onnxruntime"),
    first=("transload_converters.onnx.session", "onnx.shape_inference"))
SHAPES = Worker(
    "the process that infers shapes", needs=("transload_converters", "numpy", "ml_dtypes", "onnx"),
    first=("transload_converters.onnx.inference",))
"""Beside the other, which is ready in three times as long: nearly every model that is read waits for this one."""


def warm() -> None:
    """Start the process of the runtime, where there is something for it to import."""
    if find_spec("onnx") is not None:
        ONNX.start()


def warm_shapes() -> None:
    """Start the process that infers shapes, where it can."""
    if find_spec("onnx") is not None:
        SHAPES.start()
