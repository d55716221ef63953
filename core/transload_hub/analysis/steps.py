"""Ops of the hub that compute each number of a window of others, or multiply: how often (facts of kinds `steps` and
`products`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.engine.steps import over_windows, size_of, weighted
from transload.facts import FactTable

if TYPE_CHECKING:
    from ..ops.conv import Deconv
    from ..ops.recurrent import Recurrent

__all__ = ["PRODUCTS", "STEPS"]

STEPS = FactTable("top")
PRODUCTS = FactTable("top")

STEPS.add(lambda op: over_windows(op, op.kernel_shape), "AvgPool", "MaxPool")
STEPS.add(lambda op: over_windows(op, (op.size,)), "LRN")
PRODUCTS.add(lambda op: weighted(op.output, op.filter, 0), "Conv")


@PRODUCTS("Deconv")
def spread(op: Deconv) -> int:
    """Each number of the input is multiplied by the weights of its channel."""
    return weighted(op.input, op.filter, 0 if op.layout == "NCHW" else -1)


@PRODUCTS("GRU", "LSTM", "RNN")
def stepped(op: Recurrent) -> int:
    """Each step of a sequence is multiplied by the weights of the input, and by those of the hidden state."""
    shape = op.input.shape_or_none or (1,)
    return size_of(op.input) // max(shape[-1] or 1, 1) * (size_of(op.filter) + size_of(op.recurrence))
