"""Where OpenCV computes something else than Caffe: what it has no field for it passes over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transload.ir import Module

__all__ = ["undefined"]


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why OpenCV's results cannot be compared; nothing where they can."""
    turned = [str(op.location) for op in source.walk() if op.name == "caffe.InnerProduct" and op.attributes.get("transpose")]
    if not turned:
        return ""
    return (f"{', '.join(turned[:3])}: an inner product with `transpose`, which OpenCV does not have: it takes the weights as if "
            "they were not transposed; `transpose: false` with the weights turned computes the same")
