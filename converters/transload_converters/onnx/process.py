"""What of the package `onnx` runs in a process of its own: its C++ trusts models that it should not."""

from __future__ import annotations

__all__ = ["inlined", "upgraded"]


def inlined(model: bytes) -> bytes:
    """The model with its functions in the places of their calls."""
    from onnx import ModelProto, inliner

    return inliner.inline_local_functions(ModelProto.FromString(model), convert_version=True).SerializeToString()


def upgraded(model: bytes, opset: int) -> bytes:
    """The model in a newer version of its operators."""
    from onnx import ModelProto, version_converter

    return version_converter.convert_version(ModelProto.FromString(model), opset).SerializeToString()
