"""ONNX's operators that compute each number of a window of others, or multiply: how often (facts of kinds `steps` and
`products`)."""

from __future__ import annotations

from transload.engine.steps import over_windows, size_of, weighted
from transload.facts import FactTable
from transload.ir import Op
from transload.ir.build import constant_of

__all__ = ["PRODUCTS", "STEPS"]

STEPS = FactTable("onnx")
PRODUCTS = FactTable("onnx")

STEPS.add(lambda op: over_windows(op, op.attribute("kernel_shape", ())), "AveragePool", "LpPool", "MaxPool")
STEPS.add(lambda op: over_windows(op, (op.attribute("size", 1),)), "LRN")
PRODUCTS.add(lambda op: weighted(op.results[0], op.operands[1], 0), "Conv", "ConvInteger", "DeformConv")
PRODUCTS.add(lambda op: weighted(op.results[0], op.operands[3], 0), "QLinearConv")
PRODUCTS.add(lambda op: weighted(op.operands[0], op.operands[1], 0), "ConvTranspose")


@PRODUCTS("GRU", "LSTM", "RNN")
def stepped(op: Op) -> int:
    """Each step of a sequence is multiplied by the weights of the input, and by those of the hidden state."""
    shape = op.operands[0].shape_or_none or (1,)
    return size_of(op.operands[0]) // max(shape[-1] or 1, 1) * (size_of(op.operands[1]) + size_of(op.operands[2]))


@STEPS("NonMaxSuppression")
def overlapped(op: Op) -> int:
    """Each box that is chosen, of each class, is laid over all that are left."""
    boxes, scores = (value.shape_or_none or (1,) for value in op.operands[:2])
    most = constant_of(op.operands[2]) if len(op.operands) > 2 else None
    chosen = 0 if most is None else int(most.numpy().reshape(-1)[0]) if most.numpy().size else 0
    count = boxes[1] or 1 if len(boxes) > 1 else 1
    return size_of(op.operands[1]) * min(count, max(chosen, 0) if most is not None else count) if len(scores) > 1 else 0
