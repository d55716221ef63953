"""The pass `onnx-set-opset`."""

from __future__ import annotations

from transload.ir import Module

from ..reader import OPSET
from ..types import OPSET_WRITTEN

__all__ = ["set_opset"]


def set_opset(module: Module) -> bool:
    """Note on the module the opset in which the lowering's operators are meant."""
    module.attributes[OPSET] = {"ai.onnx": OPSET_WRITTEN}
    return True
