"""Which ops of a module Vela means by its own names for kinds of ops."""

from __future__ import annotations

import re

from transload.ir import Module, Op

__all__ = ["ops_of_kind"]

KINDS = {
    "And": "bitwise_and", "Or": "bitwise_or", "Xor": "bitwise_xor", "Not": "bitwise_not", "Asr": "arithmetic_right_shift",
    "SHL": "logical_left_shift", "SHR": "logical_right_shift", "CLZ": "clz", "Div": "intdiv", "LUT": "table", "ArgMax": "argmax",
    "MatMul": "matmul", "AvgPool": "avg_pool2d", "MaxPool": "max_pool2d", "Conv2D": "conv2d", "Conv3D": "conv3d",
    "DepthwiseConv2D": "depthwise_conv2d", "TransposeConv2D": "transpose_conv2d", "If": "cond_if", "While": "while_loop",
    "MemoryCopy": "identity", "Neg": "negate",
}
"""Vela's names that are not the TOSA name written differently."""


def ops_of_kind(module: Module, kind: str) -> list[Op]:
    """The module's ops that Vela calls `kind`; none where it is a kind that Vela makes of other ops."""
    name = KINDS.get(kind) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()
    return [op for op in module.ops() if op.name == f"tosa.{name}"]
