"""ONNX models changed as protobuf messages, by the fields that their descriptors name."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.messages import change_field, messages_in, other_bytes

__all__ = ["mutate"]

_OPERATORS = (
    "Add", "Conv", "Relu", "Reshape", "Transpose", "Concat", "Split", "Slice", "Gather", "MatMul", "Gemm", "Softmax", "LSTM",
    "GRU", "Einsum", "Resize", "Pad", "TopK", "Where", "Cast", "ReduceSum", "ReduceMax", "BatchNormalization",
    "LayerNormalization", "MaxPool", "AveragePool", "Expand", "Tile", "Range", "OneHot", "ScatterND", "CumSum",
    "QuantizeLinear", "DequantizeLinear", "Shape", "Unsqueeze", "Squeeze", "Identity", "If", "Loop", "Scan", "Sum", "Max",
    "Clip", "Pow", "Mod", "DepthToSpace", "GatherND", "ConvTranspose", "InstanceNormalization", "LpPool", "Trilu",
    "NonMaxSuppression", "RoiAlign", "GroupNormalization", "Attention", "Hardmax")


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The model with one to four changes."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        _change(dice, model)
    written: bytes = model.SerializeToString()
    return written


def _names(model: Any) -> list[str]:
    return [name for node in model.graph.node for name in (*node.input, *node.output)] or [""]


def _change(dice: random.Random, model: Any) -> None:
    """Something else in a field of a message: those of the graph's nodes, attributes and tensors more often than others."""
    messages = messages_in(model)
    kind = dice.choice(("NodeProto", "AttributeProto", "TensorProto", "Dimension", "TypeProto", "ValueInfoProto", ""))
    message = dice.choice([each for each in messages if kind in ("", each.DESCRIPTOR.name)] or messages)
    if message.DESCRIPTOR.name == "NodeProto" and dice.randrange(4) == 0:
        message.op_type = dice.choice(_OPERATORS)
        return
    if message.DESCRIPTOR.name == "TensorProto" and dice.randrange(2) and message.raw_data:
        message.raw_data = other_bytes(dice, message.raw_data)
        return
    change_field(dice, message, _names(model))
